// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves random extents of a volume up, down and sideways, and keeps the account:
 *
 *   mover [-n MOVES] [-t SECONDS] [-k AT_ONCE] [-f] [-c PERCENT] [-d] [-R SEED] POOL VOLUME
 *
 * -n and -t: until so many were queued (200) or so long has passed (600).
 * -f: forced.  -c: so many are cancelled, sooner or later.  -d: the volume is being discarded meanwhile, so extents may
 * vanish.  Ends well by SIGTERM.  Prints one line, words of name=number: how they ended, where they
 * went, each reason; then, with no move left,
 *
 *   each one that was queued has ended once, and the last word on an extent is
 *   where the map says it is
 *
 * or it says what is wrong and ends with 1.  2: the test itself cannot run.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"

#define MAX_EXTENTS	65536u
#define END_SECONDS	60		/* a move must have ended by then */

struct extent {
	uint32_t device;		/* by the map, or TIER_NO_DEVICE */
	uint64_t move;			/* id of the move under way, 0 = none */
	uint32_t to;			/* of that move */
	uint32_t last;			/* where the last one that ended has left it */
	bool moved;
};

static struct {
	uint64_t moves, seconds, at_once, seed, cancels;
	uint32_t volume;
	bool force, discards;
} opt = { .moves = 200, .seconds = 600, .at_once = 8, .seed = 1 };

static struct tier_backend pool;
static struct tier_pool_info info;
static struct extent *extents;
static uint64_t nr_extents, in_flight, last_seq;
static uint64_t planned[TIER_MAX_DEVICES];	/* moves under way to each device */
static uint64_t queued, refused, done, cancelled, failed, up, down, sideways, bytes, passes, longest_us;
static uint64_t reasons[TIER_REASON_COUNT];
static int verdict;
static volatile sig_atomic_t stop;

static uint64_t random_below(uint64_t limit)
{
	static uint64_t state;

	if (!state)
		state = opt.seed * 2685821657736338717ULL;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ULL >> 11) % limit;
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void must(int r, const char *what)
{
	if (r)
		errx(2, "%s: %s", what, strerror(-r));
}

static void bad(const char *what, uint64_t extent, uint64_t number)
{
	printf("WRONG: extent %" PRIu64 ": %s (%" PRIu64 ")\n", extent, what, number);
	verdict = 1;
}

/* What there is --------------------------------------------------------------*/

static struct tier_device_info *device(uint32_t idx)
{
	size_t i;

	for (i = 0; i < info.nr_devices; i++)
		if (info.devices[i].idx == idx)
			return &info.devices[i];
	errx(2, "there is no device %u", idx);
}

static void read_map(void)
{
	struct tier_map_run runs[64];
	uint64_t next = 0, i;
	size_t count, r;

	while (next < nr_extents) {
		must(pool.ops->read_map(pool.ctx, opt.volume, next, nr_extents - next, runs, 64,
					&count, &next), "map");
		for (r = 0; r < count; r++)
			for (i = 0; i < runs[r].count; i++)
				extents[runs[r].first + i].device = runs[r].device;
	}
}

static void read_all(void)
{
	size_t i;

	tier_pool_info_clear(&info);
	must(pool.ops->read_pool(pool.ctx, &info), "pool");
	if (!extents) {
		for (i = 0; i < info.nr_volumes; i++)
			if (info.volumes[i].id == opt.volume)
				nr_extents = info.volumes[i].sectors / info.extent_sectors;
		if (!nr_extents || nr_extents > MAX_EXTENTS)
			errx(2, "no such volume, or it is too large");
		extents = calloc(nr_extents, sizeof(*extents));
		if (!extents)
			err(2, "memory");
	}
	read_map();
}

/* Ends -----------------------------------------------------------------------*/

static void account(const struct tier_finished_move *m)
{
	struct extent *x;
	uint32_t from, to;

	if (m->volume != opt.volume)
		return;
	x = &extents[m->extent];
	if (x->move != m->id) {
		bad("a move has ended that is not under way", m->extent, m->id);
		return;
	}
	in_flight--;
	planned[x->to]--;
	x->move = 0;
	reasons[m->reason]++;
	passes += m->passes;
	if (m->freeze_us > longest_us)
		longest_us = m->freeze_us;
	if (m->result == 0) {
		from = device(m->from_device)->tier;
		to = device(m->to_device)->tier;
		up += to < from;
		down += to > from;
		sideways += to == from;
		bytes += m->copied_bytes;
		done++;
		x->last = m->to_device;
		x->moved = true;
	} else if (m->reason == TIER_REASON_CANCELLED || m->reason == TIER_REASON_SUSPENDED) {
		cancelled++;
	} else {
		failed++;
		if (m->reason == TIER_REASON_NONE || m->reason == TIER_REASON_UNKNOWN)
			bad("it failed without a reason", m->extent, m->id);
	}
}

/* Those of before are nobody's business. */
static void skip_ends(void)
{
	struct tier_finished_head head;
	struct tier_finished_move move;
	size_t count;

	must(pool.ops->read_finished(pool.ctx, UINT64_MAX - 1, &head, &move, 1, &count), "moves");
	last_seq = head.last_seq;
}

static void read_ends(void)
{
	struct tier_finished_move moves[64];
	struct tier_finished_head head;
	size_t count, i;

	do {
		must(pool.ops->read_finished(pool.ctx, last_seq, &head, moves, 64, &count), "moves");
		if (head.lost)
			errx(2, "%" PRIu64 " ends were lost: too many at once", head.lost);
		for (i = 0; i < count; i++) {
			account(&moves[i]);
			last_seq = moves[i].seq;
		}
	} while (count);
}

/* Moves ----------------------------------------------------------------------*/

static bool has_room(const struct tier_device_info *d)
{
	return d->state == TIER_DEVICE_ONLINE && tier_device_free_slots(d) > planned[d->idx];
}

/* A direction first, so that tiers with many devices get no more than others. */
static struct tier_device_info *choose_target(uint32_t from)
{
	struct tier_device_info *fits[TIER_MAX_DEVICES];
	uint32_t tier = device(from)->tier, count = 0;
	int direction = (int)random_below(3) - 1, sign;
	size_t i;

	for (i = 0; i < info.nr_devices; i++) {
		struct tier_device_info *d = &info.devices[i];

		sign = (d->tier > tier) - (d->tier < tier);
		if (sign == direction && d->idx != from && has_room(d))
			fits[count++] = d;
	}
	return count ? fits[random_below(count)] : NULL;
}

/* Half of the moves to another tier name the tier only: the kernel chooses the device. */
static struct tier_target target_of(uint32_t from, const struct tier_device_info *to)
{
	if (device(from)->tier != to->tier && random_below(2))
		return (struct tier_target){ .index = to->tier };
	return (struct tier_target){ .is_device = true, .index = to->idx };
}

static void queue_one(void)
{
	uint64_t number = random_below(nr_extents), id;
	struct extent *x = &extents[number];
	struct tier_device_info *to;
	int r;

	if (x->move || x->device == TIER_NO_DEVICE)
		return;
	to = choose_target(x->device);
	if (!to)
		return;
	r = pool.ops->migrate(pool.ctx, opt.volume, number, target_of(x->device, to), opt.force, &id);
	if (r == -EAGAIN || r == -EALREADY || r == -ENXIO || r == -EROFS ||
	    (opt.discards && r == -ENODATA)) {
		refused++;
		return;
	}
	must(r, "migrate");
	queued++;
	in_flight++;
	planned[to->idx]++;
	x->move = id;
	x->to = to->idx;
}

/* Asks for the end of some moves under way; each may have ended just before. */
static void cancel_some(void)
{
	uint64_t i;
	int r;

	for (i = 0; i < nr_extents; i++) {
		if (!extents[i].move || random_below(100) >= opt.cancels)
			continue;
		r = pool.ops->cancel(pool.ctx, opt.volume, i);
		if (r != -ENOENT)
			must(r, "cancel");
	}
}

static void run(void)
{
	uint64_t end = now_s() + opt.seconds, tries, ended;

	while (!stop && queued < opt.moves && now_s() < end) {
		ended = done + cancelled + failed;
		read_all();
		for (tries = 0; tries < 8 * opt.at_once; tries++)
			if (in_flight < opt.at_once && queued < opt.moves)
				queue_one();
		cancel_some();
		read_ends();
		if (ended == done + cancelled + failed)
			usleep(1000);
	}
	end = now_s() + END_SECONDS;
	while (in_flight && now_s() < end) {
		usleep(1000);
		read_ends();
	}
}

static void check_ends(void)
{
	uint64_t i;

	read_all();
	for (i = 0; i < nr_extents; i++) {
		struct extent *x = &extents[i];

		if (x->move)
			bad("its move never ended", i, x->move);
		else if (x->moved && x->device != x->last && !opt.discards)
			bad("it is not where its last move has left it", i, x->device);
	}
}

static void on_signal(int number)
{
	stop = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int option, i;

	sigaction(SIGTERM, &action, NULL);
	while ((option = getopt(argc, argv, "n:t:k:fc:dR:")) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (option == 'n')
			opt.moves = value;
		else if (option == 't')
			opt.seconds = value;
		else if (option == 'k')
			opt.at_once = value;
		else if (option == 'c')
			opt.cancels = value;
		else if (option == 'f')
			opt.force = true;
		else if (option == 'd')
			opt.discards = true;
		else if (option == 'R')
			opt.seed = value;
		else
			return 2;
	}
	if (optind + 2 != argc || !opt.at_once || !opt.seed)
		errx(2, "usage: mover [options] POOL VOLUME");
	opt.volume = strtoul(argv[optind + 1], NULL, 10);
	must(tier_dm_backend_open(argv[optind], &pool), argv[optind]);
	skip_ends();
	run();
	check_ends();
	printf("queued=%" PRIu64 " done=%" PRIu64 " cancelled=%" PRIu64 " failed=%" PRIu64
	       " up=%" PRIu64 " down=%" PRIu64 " sideways=%" PRIu64 " refused=%" PRIu64
	       " passes=%" PRIu64 " bytes=%" PRIu64 " longest_freeze_us=%" PRIu64,
	       queued, done, cancelled, failed, up, down, sideways, refused, passes, bytes, longest_us);
	for (i = 1; i < TIER_REASON_COUNT; i++)
		if (reasons[i])
			printf(" %s=%" PRIu64, tier_reason_word(i), reasons[i]);
	printf("\n");
	tier_dm_backend_close(&pool);
	return verdict;
}
