// SPDX-License-Identifier: GPL-2.0-only
/*
 * The load of the crash test, on the active pool `tp`:
 *
 *	crash_load [-k] RUN SEED OPERATIONS JOURNAL
 *
 * Threads write (crash_io.c); meanwhile this one moves extents to anywhere, makes,
 * resizes and deletes volumes, drains devices, asks for commits and checkpoints.
 * The volumes that it finds are those of the run before.  After so many OPERATIONS,
 * and a tenth as many moves, it says "load is going" and goes on, to be killed (-k),
 * or takes its volumes down.  So a busy machine makes it slow, not weak.
 *
 * What is asked of the pool may be refused because of something else that is under
 * way, which changes nothing; any other error ends the program: exit code 1.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disks.h"
#include "dm.h"
#include "record.h"
#include "status.h"

#define WRITERS		6u
#define READERS		4u
#define DRAIN_SECONDS	3

/* What is said once a commit has made it durable. */
#define MAX_OWED	64u

static struct rng {
	uint64_t state;
} rng;
static uint32_t run, last_life;
static struct journal_record owed[MAX_OWED];
static uint32_t nr_owed;
static int draining = -1;		/* device */
static uint64_t drain_until;
static uint64_t moves, cancels, checkpoints, commits, lives, resizes, deletes, drains, refused;

static uint32_t below(uint32_t limit)
{
	rng.state += 0x9e3779b97f4a7c15ULL;
	return mix(rng.state) % limit;
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Messages -------------------------------------------------------------------------*/

__attribute__((format(printf, 2, 3)))
static int message(char **ret_answer, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return tier_dm_message("tp", text, ret_answer);
}

static void must(int r, const char *what)
{
	if (r)
		errx(1, "%s: %s", what, strerror(-r));
}

static void owe(enum journal_type type, const struct volume *v, uint32_t number)
{
	if (nr_owed == MAX_OWED)
		errx(2, "too much is owed");
	owed[nr_owed++] = (struct journal_record){
		.type = type, .life = v->life, .count = v->extents, .number = number,
	};
}

static void commit(void)
{
	uint32_t i;

	must(message(NULL, "commit"), "commit");
	for (i = 0; i < nr_owed; i++)
		journal_add(&owed[i], false);
	nr_owed = 0;
	commits++;
}

/* Volumes --------------------------------------------------------------------------*/

static void volume_up(struct volume *v)
{
	char name[16], params[64], cause[TIER_CAUSE_SIZE] = "";
	const struct tier_dm_table_line line = {
		.name = name, .target = "tier", .sectors = (uint64_t)v->extents * EXTENT_SECTORS,
		.params = params, .is_private = true,
	};

	snprintf(name, sizeof(name), "v%u", v->id);
	snprintf(params, sizeof(params), "/dev/mapper/tp %u", v->id);
	if (tier_dm_create(&line, cause))
		errx(1, "volume %u does not come up: %s", v->id, cause);
	snprintf(params, sizeof(params), "/dev/mapper/%s", name);
	v->fd = open(params, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (v->fd < 0)
		err(1, "%s", params);
}

static void volume_down(struct volume *v)
{
	char name[16];

	if (v->fd < 0)
		return;
	close(v->fd);
	v->fd = -1;
	snprintf(name, sizeof(name), "v%u", v->id);
	must(tier_dm_remove(name), name);
}

static void create(struct volume *v, uint32_t extents)
{
	struct journal_record record = { .type = JOURNAL_CREATE, .count = extents };

	v->life = record.life = run << 16 | ++last_life;
	v->extents = extents;
	journal_add(&record, true);
	must(message(NULL, "create_volume %u %u c4a54000-0000-0000-0000-0000%08x", v->id,
		     extents * EXTENT_SECTORS, v->life), "create_volume");
	owe(JOURNAL_CREATED, v, 0);
	if (below(2))
		commit();
	volume_up(v);
	lives++;
}

/* One change of a volume's size at a time is not known to be durable. */
static void resize(struct volume *v, uint32_t extents)
{
	struct journal_record record = { .type = JOURNAL_RESIZE, .life = v->life, .count = extents };

	commit();
	volume_down(v);
	record.number = next_number();
	journal_add(&record, true);
	must(message(NULL, "resize_volume %u %u", v->id, extents * EXTENT_SECTORS), "resize_volume");
	v->extents = extents;
	owe(JOURNAL_RESIZED, v, record.number);
	if (below(2))
		commit();
	volume_up(v);
	resizes++;
}

static void delete(struct volume *v)
{
	const struct journal_record record = { .type = JOURNAL_DELETE, .life = v->life };

	volume_down(v);
	journal_add(&record, true);
	must(message(NULL, "delete_volume %u", v->id), "delete_volume");
	owe(JOURNAL_DELETED, v, 0);
	if (below(2))
		commit();
	v->life = 0;
	deletes++;
}

/* The last volume comes and goes, the one before it changes its size, too. */
static void change_volume(void)
{
	struct volume *v = &volumes[below(3) ? NR_VOLUMES - 1 : NR_VOLUMES - 2];
	bool may_go = v->id == NR_VOLUMES - 1;
	uint32_t extents = may_go ? 2 + below(5) : 7 + below(4);
	struct timespec until;

	/* Who has it may wait for space, which only we can make. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_rwlock_timedwrlock(&v->lock, &until))
		return;
	if (!v->life)
		create(v, extents);
	else if (may_go && !below(3))
		delete(v);
	else if (extents != v->extents)
		resize(v, extents);
	pthread_rwlock_unlock(&v->lock);
}

/* Moves ----------------------------------------------------------------------------*/

static void try(int r)
{
	if (!r)
		moves++;
	else if (r == -EAGAIN || r == -EALREADY || r == -ENXIO || r == -ENODATA ||
		 r == -EBUSY || r == -ENOSPC)
		refused++;
	else
		must(r, "migrate");
}

static struct volume *any_volume(void)
{
	struct volume *v = &volumes[below(NR_VOLUMES)];

	return v->fd >= 0 ? v : &volumes[0];
}

static void move(void)
{
	struct volume *v = any_volume();
	const char *force = below(6) ? "" : " force";

	if (below(2))
		try(message(NULL, "migrate %u %u %u%s", v->id, below(v->extents), below(3), force));
	else
		try(message(NULL, "migrate %u %u dev:%u%s", v->id, below(v->extents),
			    below(NR_DATA), force));
}

static void cancel(void)
{
	struct volume *v = any_volume();
	int r = message(NULL, "cancel %u %u", v->id, below(v->extents));

	if (r && r != -ENOENT)
		must(r, "cancel");
	cancels += !r;
}

/* Drains ---------------------------------------------------------------------------*/

/* Everything leaves the draining device; true if there is nothing on it. */
static bool move_away(void)
{
	struct tier_map_run found;
	const char *at;
	bool empty = true;
	uint32_t i;
	uint64_t e;

	for (i = 0; i < NR_VOLUMES; i++) {
		char *answer = NULL;

		if (volumes[i].fd < 0)
			continue;
		must(message(&answer, "map %u 0 %u", i, volumes[i].extents), "map");
		at = answer;
		while (tier_answer_map(&at, &found) > 0) {
			if (found.device != (uint32_t)draining)
				continue;
			empty = false;
			for (e = 0; e < found.count; e++)
				try(message(NULL, "migrate %u %" PRIu64 " %u force", i,
					    found.first + e, below(3)));
		}
		free(answer);
	}
	return empty;
}

static void drain(void)
{
	if (draining < 0) {
		/* All but the largest. */
		draining = below(NR_DATA - 1);
		must(message(NULL, "set_device %d draining", draining), "set_device");
		drain_until = now_s() + DRAIN_SECONDS;
		return;
	}
	if (!move_away() && now_s() < drain_until)
		return;
	must(message(NULL, "set_device %d online", draining), "set_device");
	draining = -1;
	drains++;
}

/* All together ---------------------------------------------------------------------*/

static void do_something(void)
{
	uint32_t what = below(1000);

	calm = now_s() % 8 < 2;
	if (calm)
		return;
	if (what < 700) {
		move();
	} else if (what < 750) {
		cancel();
	} else if (what < 765) {
		must(message(NULL, "checkpoint"), "checkpoint");
		checkpoints++;
	} else if (what < 800) {
		commit();
	} else if (what < 840) {
		change_volume();
	} else if (what < (draining < 0 ? 850u : 950u)) {
		drain();
	}
}

static bool done_enough(uint64_t operations)
{
	return io_counts.writes + io_counts.fua + io_counts.discards + io_counts.flushes >=
	       operations && moves >= operations / 10;
}

/* Volumes of the run before, as the pool has them. */
static void find_volumes(void)
{
	struct tier_volume_info found;
	struct journal_record record = { .type = JOURNAL_SEEN };
	char *answer = NULL;
	const char *at;

	must(message(&answer, "volumes"), "volumes");
	at = answer;
	while (tier_answer_volume(&at, &found) > 0) {
		struct volume *v = &volumes[found.id];

		if (found.id >= NR_VOLUMES)
			errx(1, "there is a volume %u", found.id);
		v->life = strtoul(found.uuid + 28, NULL, 16);
		v->extents = found.sectors / EXTENT_SECTORS;
		record.life = v->life;
		record.count = v->extents;
		record.number = next_number();
		journal_add(&record, false);
	}
	free(answer);
}

static void begin(const char *journal)
{
	const struct journal_record begins = { .type = JOURNAL_RUN };
	const struct journal_record ready = { .type = JOURNAL_READY };
	pthread_rwlockattr_t writers_first;
	uint32_t i;

	pthread_rwlockattr_init(&writers_first);
	pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	journal_open(journal);
	numbers_begin(run);
	for (i = 0; i < NR_VOLUMES; i++) {
		pthread_rwlock_init(&volumes[i].lock, &writers_first);
		volumes[i].id = i;
		volumes[i].fd = -1;
	}
	journal_add(&begins, false);
	find_volumes();
	journal_add(&ready, true);
	for (i = 0; i < NR_DATA; i++)
		must(message(NULL, "set_device %u online", i), "set_device");
	for (i = 0; i < NR_VOLUMES; i++) {
		if (volumes[i].life)
			volume_up(&volumes[i]);
		else if (i < NR_VOLUMES - 1)
			create(&volumes[i], i ? 9 : 14);
	}
}

int main(int argc, char **argv)
{
	bool be_killed = argc > 1 && !strcmp(argv[1], "-k");
	uint64_t seed, operations;
	uint32_t i;

	argv += be_killed;
	argc -= be_killed;
	if (argc != 5)
		errx(2, "usage: crash_load [-k] RUN SEED OPERATIONS JOURNAL");
	run = strtoul(argv[1], NULL, 10);
	after_crash = run > 1;
	seed = strtoull(argv[2], NULL, 10) * 256 + run;
	rng.state = mix(seed);
	setvbuf(stdout, NULL, _IOLBF, 0);
	begin(argv[4]);
	for (i = 0; i < WRITERS + READERS; i++)
		start_worker(seed, i < WRITERS);
	operations = strtoul(argv[3], NULL, 10);
	while (!done_enough(operations)) {
		do_something();
		usleep(1000 * below(20));
	}
	printf("reads=%" PRIu64 " writes=%" PRIu64 " fua=%" PRIu64 " discards=%" PRIu64 " flushes=%" PRIu64
	       " moves=%" PRIu64 " refused=%" PRIu64 " cancels=%" PRIu64 " checkpoints=%" PRIu64
	       " commits=%" PRIu64 " lives=%" PRIu64 " resizes=%" PRIu64 " deletes=%" PRIu64
	       " drains=%" PRIu64 "\n", io_counts.reads, io_counts.writes, io_counts.fua, io_counts.discards,
	       io_counts.flushes, moves, refused, cancels, checkpoints, commits, lives, resizes,
	       deletes, drains);
	if (be_killed) {
		printf("load is going\n");
		for (;;) {
			do_something();
			usleep(1000 * below(20));
		}
	}
	stop_workers();
	for (i = 0; i < NR_VOLUMES; i++)
		volume_down(&volumes[i]);
	commit();
	return 0;
}
