// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes, FUA writes, discards and flushes of many threads.  Who writes or discards
 * sectors has them alone.  FUA goes by asynchronous I/O, since a write call with
 * RWF_DSYNC flushes the device besides.
 */
#include <err.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disks.h"
#include "record.h"

#define MAX_WORKERS		16u
#define MAX_WRITE		1024u		/* sectors */
#define REGION			128u		/* the largest that a pool here has */

struct worker {
	pthread_t thread;
	bool writes;
	uint64_t random;
	uint64_t *buffer;
	aio_context_t aio;
};

struct volume volumes[NR_VOLUMES];
struct io_counts io_counts;
bool after_crash;
_Atomic bool calm;
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker workers[MAX_WORKERS];
static unsigned int nr_workers;
static _Atomic bool stop;

static uint32_t below(struct worker *w, uint32_t limit)
{
	w->random += 0x9e3779b97f4a7c15ULL;
	return mix(w->random) % limit;
}

static bool take(struct volume *v, uint32_t first, uint32_t count)
{
	bool free = true;
	uint32_t i;

	pthread_mutex_lock(&busy_lock);
	for (i = first; free && i < first + count; i++)
		free = !v->busy[i];
	for (i = first; free && i < first + count; i++)
		v->busy[i] = 1;
	pthread_mutex_unlock(&busy_lock);
	return free;
}

static void give(struct volume *v, uint32_t first, uint32_t count)
{
	pthread_mutex_lock(&busy_lock);
	while (count--)
		v->busy[first + count] = 0;
	pthread_mutex_unlock(&busy_lock);
}

static void note(enum journal_type type, const struct volume *v, uint32_t first, uint32_t count,
		 uint32_t number, bool wait)
{
	const struct journal_record record = {
		.type = type, .life = v->life, .first = first, .count = count, .number = number,
	};

	journal_add(&record, wait);
}

/* Writes ---------------------------------------------------------------------------*/

static void write_fua(struct worker *w, struct volume *v, uint32_t first, uint32_t count)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = v->fd,
		.aio_buf = (uintptr_t)w->buffer, .aio_nbytes = count * SECTOR,
		.aio_offset = (uint64_t)first * SECTOR, .aio_rw_flags = RWF_DSYNC,
	}, *list = &cb;
	struct io_event event;
	long n;

	if (syscall(SYS_io_submit, w->aio, 1, &list) != 1)
		err(1, "volume %u: FUA write", v->id);
	do {
		n = syscall(SYS_io_getevents, w->aio, 1, 1, &event, NULL);
	} while (n < 0 && errno == EINTR);
	if (n != 1 || event.res != (int64_t)count * SECTOR)
		errx(1, "volume %u: a FUA write has ended with %lld", v->id, (long long)event.res);
}

/* Half of them where much is written, so that sectors are written again and again. */
static void choose_range(struct worker *w, struct volume *v, uint32_t *ret_first,
			 uint32_t *ret_count)
{
	static const uint16_t sizes[] = { 1, 3, 8, 8, 8, 16, 32, 128, 256, MAX_WRITE };
	uint32_t sectors = v->extents * EXTENT_SECTORS, count, first;

	count = sizes[below(w, sizeof(sizes) / sizeof(sizes[0]))];
	if (count == MAX_WRITE && below(w, 4))
		count = 8;
	first = below(w, sectors);
	if (below(w, 2))
		first = first / EXTENT_SECTORS * EXTENT_SECTORS + below(w, REGION);
	if (count % 8 == 0 && below(w, 4))
		first = first / 8 * 8;
	if (first + count > sectors)
		first = sectors - count;
	*ret_first = first;
	*ret_count = count;
}

static void write_something(struct worker *w, struct volume *v, bool fua)
{
	uint32_t first, count, number, i;

	choose_range(w, v, &first, &count);
	if (!take(v, first, count))
		return;
	number = next_number();
	for (i = 0; i < count; i++)
		sector_fill(w->buffer + i * SECTOR_WORDS, v->life, first + i, number);
	if (fua)
		write_fua(w, v, first, count);
	else if (pwrite(v->fd, w->buffer, count * SECTOR, (off_t)first * SECTOR) !=
		 (ssize_t)(count * SECTOR))
		err(1, "volume %u: write", v->id);
	note(fua ? JOURNAL_WROTE_FUA : JOURNAL_WROTE, v, first, count, number, false);
	give(v, first, count);
	atomic_fetch_add(fua ? &io_counts.fua : &io_counts.writes, 1);
}

/* Reads ----------------------------------------------------------------------------*/

/* A sector is its own, or zeros. What a discard has left is seen only after a crash. */
static void read_something(struct worker *w, struct volume *v)
{
	uint32_t first, count, i;

	choose_range(w, v, &first, &count);
	if (!take(v, first, count))
		return;
	if (pread(v->fd, w->buffer, count * SECTOR, (off_t)first * SECTOR) !=
	    (ssize_t)(count * SECTOR))
		err(1, "volume %u: read", v->id);
	for (i = 0; i < count; i++) {
		struct sector found = sector_look(w->buffer + i * SECTOR_WORDS);

		if (found.kind == SECTOR_ZEROS ||
		    (found.kind == SECTOR_DISCARDED && after_crash) ||
		    (found.kind == SECTOR_DATA && found.life == v->life &&
		     found.number == first + i))
			continue;
		errx(1, "FAIL volume life %#x sector %u: read kind %u, life %#x sector %u write %#x",
		     v->life, first + i, found.kind, found.life, found.number, found.write);
	}
	give(v, first, count);
	atomic_fetch_add(&io_counts.reads, 1);
}

/* Discards, flushes ------------------------------------------------------------------*/

/* Whole regions, or an extent; with parts of regions before and behind, which must stay. */
static void discard_something(struct worker *w, struct volume *v)
{
	uint32_t sectors = v->extents * EXTENT_SECTORS;
	uint32_t count = below(w, 2) ? REGION * (1 + below(w, 4)) : EXTENT_SECTORS;
	uint32_t unit = count == EXTENT_SECTORS ? EXTENT_SECTORS : REGION;
	uint32_t first = below(w, sectors / unit) * unit, before = 0, behind = 0, number;
	uint64_t range[2];

	if (first + count > sectors)
		count = unit;
	/* Less than the smallest region, and not on the borders of one. */
	if (first && below(w, 2))
		before = 1 + below(w, 7);
	if (first + count < sectors && below(w, 2))
		behind = 1 + below(w, 7);
	if (!take(v, first, count))
		return;
	number = next_number();
	note(JOURNAL_DISCARD, v, first, count, number, true);
	range[0] = (uint64_t)(first - before) * SECTOR;
	range[1] = (uint64_t)(before + count + behind) * SECTOR;
	if (ioctl(v->fd, BLKDISCARD, range))
		err(1, "volume %u: discard", v->id);
	note(JOURNAL_DISCARDED, v, first, count, number, false);
	give(v, first, count);
	atomic_fetch_add(&io_counts.discards, 1);
}

static void flush(struct volume *v)
{
	uint32_t number = next_number();

	note(JOURNAL_FLUSH, v, 0, 0, number, false);
	if (fdatasync(v->fd))
		err(1, "volume %u: flush", v->id);
	note(JOURNAL_FLUSHED, v, 0, 0, number, false);
	atomic_fetch_add(&io_counts.flushes, 1);
}

/* Threads --------------------------------------------------------------------------*/

static void do_something(struct worker *w, struct volume *v)
{
	uint32_t what = below(w, 100);

	if (!w->writes || what < 5)
		read_something(w, v);
	else if (what < 62 || (calm && what < 84))
		write_something(w, v, false);
	else if (what < 84)
		write_something(w, v, true);
	else if (what < 91)
		discard_something(w, v);
	else if (!calm)
		flush(v);
}

static void *work(void *context)
{
	struct worker *w = context;

	while (!atomic_load(&stop)) {
		struct volume *v = &volumes[below(w, NR_VOLUMES)];

		pthread_rwlock_rdlock(&v->lock);
		if (v->fd >= 0)
			do_something(w, v);
		pthread_rwlock_unlock(&v->lock);
		usleep(below(w, 4) ? 300 : 10000);
	}
	return NULL;
}

void start_worker(uint64_t seed, bool writes)
{
	struct worker *w = &workers[nr_workers];

	if (nr_workers == MAX_WORKERS)
		errx(2, "too many workers");
	w->writes = writes;
	w->random = mix(seed * 64 + nr_workers);
	w->buffer = aligned_alloc(4096, MAX_WRITE * SECTOR);
	if (!w->buffer || syscall(SYS_io_setup, 1, &w->aio) ||
	    pthread_create(&w->thread, NULL, work, w))
		err(2, "no thread");
	nr_workers++;
}

void stop_workers(void)
{
	atomic_store(&stop, true);
	while (nr_workers)
		pthread_join(workers[--nr_workers].thread, NULL);
}
