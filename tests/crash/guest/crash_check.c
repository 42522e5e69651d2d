// SPDX-License-Identifier: GPL-2.0-only
/*
 * Activates the pools that the host shows one after the other (report.h), and
 * tells it what is in their volumes:
 *
 *	crash_check CONTROL REPORT TABLE
 *
 * TABLE: the pool's table, without "0 <sectors> tier-pool".  Ends when there are no
 * more; the verdict is the host's.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "report.h"
#include "status.h"

#define CHUNK		(1u << 20)

static int control, report_fd;
static uint8_t *buffer;				/* CHUNK, aligned */
static struct report *report;			/* a sector, aligned */
static struct sector *looks;			/* of a chunk, aligned */
static uint32_t nr_looks;			/* that the report has so far */

static void *aligned(size_t bytes)
{
	void *p = aligned_alloc(4096, bytes);

	if (!p)
		err(2, "memory");
	memset(p, 0, bytes);
	return p;
}

static void say(const char *word)
{
	memset(buffer, 0, SECTOR);
	strcpy((char *)buffer, word);
	if (pwrite(control, buffer, SECTOR, 0) != SECTOR)
		err(2, "control");
}

/* False: there is no more. */
static bool next_point(uint64_t *ret_point)
{
	say("next");
	if (pread(control, buffer, SECTOR, 0) != SECTOR)
		err(2, "control");
	return sscanf((char *)buffer, "point %" SCNu64, ret_point) == 1;
}

/* The report's sectors of one chunk; a chunk is a whole number of its sectors. */
static void report_chunk(const uint8_t *data)
{
	uint32_t i, count = CHUNK / SECTOR;
	size_t bytes = count * sizeof(struct sector);

	for (i = 0; i < count; i++)
		looks[i] = sector_look((const uint64_t *)(data + i * SECTOR));
	if (pwrite(report_fd, looks, bytes, SECTOR + (off_t)nr_looks * sizeof(struct sector)) !=
	    (ssize_t)bytes)
		err(2, "report");
	nr_looks += count;
}

static void read_volume(const char *name, uint64_t bytes)
{
	char path[64];
	uint64_t at;
	int fd;

	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", path);
	for (at = 0; at < bytes; at += CHUNK) {
		/* What cannot be read is no data. */
		if (pread(fd, buffer, CHUNK, at) != CHUNK)
			memset(buffer, 0xee, CHUNK);
		report_chunk(buffer);
	}
	close(fd);
}

static void report_volume(const struct tier_volume_info *found)
{
	struct report_volume *rv = &report->volume[report->nr_volumes++];
	char name[16], params[64], cause[TIER_CAUSE_SIZE] = "";
	const struct tier_dm_table_line line = {
		.name = name, .target = "tier", .sectors = found->sectors, .params = params,
		.is_private = true,
	};

	if (report->nr_volumes > MAX_VOLUMES || found->sectors > MAX_SECTORS)
		errx(2, "more volumes than were made");
	rv->id = found->id;
	rv->life = strtoul(found->uuid + 28, NULL, 16);
	rv->extents = found->sectors / EXTENT_SECTORS;
	rv->first = nr_looks;
	snprintf(name, sizeof(name), "v%u", found->id);
	snprintf(params, sizeof(params), "/dev/mapper/tp %u", found->id);
	if (tier_dm_create(&line, cause)) {
		snprintf(report->mode, sizeof(report->mode), "volume %u refused", found->id);
		snprintf(report->why, sizeof(report->why), "%.100s", cause);
		return;
	}
	read_volume(name, found->sectors * SECTOR);
	if (tier_dm_remove(name))
		errx(2, "%s cannot be removed", name);
}

static void report_volumes(void)
{
	struct tier_volume_info found;
	char *answer = NULL;
	const char *at;

	if (tier_dm_message("tp", "volumes", &answer)) {
		strcpy(report->mode, "no answer");
		return;
	}
	at = answer;
	while (tier_answer_volume(&at, &found) > 0)
		report_volume(&found);
	free(answer);
}

/* Mode and needs_check are the first and fourth word. */
static void report_status(void)
{
	char *status = NULL;

	if (tier_dm_status(TIER_DM_POOL, "tp", &status) ||
	    sscanf(status, "%31s %*s %*s %" SCNu32, report->mode, &report->needs_check) < 1)
		strcpy(report->mode, "no status");
	free(status);
}

static void activate(const char *table)
{
	const struct tier_dm_table_line line = {
		.name = "tp", .target = "tier-pool", .sectors = EXTENT_SECTORS, .params = table,
		.is_private = true,
	};
	char cause[TIER_CAUSE_SIZE] = "";

	memset(report, 0, SECTOR);
	report->magic = REPORT_MAGIC;
	nr_looks = 0;
	if (tier_dm_create(&line, cause)) {
		strcpy(report->mode, "refused");
		snprintf(report->why, sizeof(report->why), "%.100s", cause);
	} else {
		report_status();
		if (!strcmp(report->mode, "rw"))
			report_volumes();
		if (tier_dm_remove("tp"))
			errx(2, "the pool cannot be removed");
	}
	if (pwrite(report_fd, report, SECTOR, 0) != SECTOR)
		err(2, "report");
}

static int open_slice(const char *path)
{
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		err(2, "%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t point, count = 0;

	if (argc != 4)
		errx(2, "usage: crash_check CONTROL REPORT TABLE");
	buffer = aligned(CHUNK);
	report = aligned(SECTOR);
	looks = aligned(CHUNK / SECTOR * sizeof(struct sector));
	control = open_slice(argv[1]);
	report_fd = open_slice(argv[2]);
	while (next_point(&point)) {
		activate(argv[3]);
		say("judge");
		count++;
	}
	printf("%" PRIu64 " pools were activated\n", count);
	return 0;
}
