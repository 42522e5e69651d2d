// SPDX-License-Identifier: GPL-2.0-only
/* The journal of the load: records go into sectors, sectors to the disk, always ahead. */
#include <err.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disks.h"
#include "record.h"

#define BATCH_SECTORS	256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct journal_sector *filling, *writing;	/* BATCH_SECTORS each */
static uint32_t nr_filling;				/* records */
static uint64_t added, written;				/* records, ever */
static off_t offset;
static int fd;
static _Atomic uint32_t last_number;

void numbers_begin(uint32_t run)
{
	atomic_store(&last_number, run << 24);
}

uint32_t next_number(void)
{
	return atomic_fetch_add(&last_number, 1) + 1;
}

static struct journal_sector *batch(void)
{
	void *p = aligned_alloc(4096, BATCH_SECTORS * SECTOR);

	if (!p)
		err(2, "memory");
	memset(p, 0, BATCH_SECTORS * SECTOR);
	return p;
}

static void write_batch(uint32_t records)
{
	size_t bytes = (records + JOURNAL_RECORDS - 1) / JOURNAL_RECORDS * SECTOR;

	if (pwrite(fd, writing, bytes, offset) != (ssize_t)bytes)
		err(2, "the journal");
	offset += bytes;
	memset(writing, 0, bytes);
}

static void *write_journal(void *context)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		uint32_t records = nr_filling;
		uint64_t upto = added;

		if (!records) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		struct journal_sector *full = filling;

		filling = writing;
		writing = full;
		nr_filling = 0;
		pthread_mutex_unlock(&lock);
		write_batch(records);
		pthread_mutex_lock(&lock);
		written = upto;
		pthread_cond_broadcast(&changed);
	}
	return context;
}

void journal_open(const char *path)
{
	pthread_t thread;

	fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", path);
	filling = batch();
	writing = batch();
	if (pthread_create(&thread, NULL, write_journal, NULL))
		errx(2, "no thread");
}

void journal_add(const struct journal_record *record, bool wait)
{
	struct journal_sector *sector;
	uint64_t mine;

	pthread_mutex_lock(&lock);
	while (nr_filling == BATCH_SECTORS * JOURNAL_RECORDS)
		pthread_cond_wait(&changed, &lock);
	sector = &filling[nr_filling / JOURNAL_RECORDS];
	sector->magic = JOURNAL_MAGIC;
	sector->record[sector->count++] = *record;
	nr_filling++;
	mine = ++added;
	pthread_cond_broadcast(&changed);
	while (wait && written < mine)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
