// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel counted and where extents lie, for all volumes of a pool. A
 * round that fails on the way changes nothing that the next one would not put
 * right: the counters are read again from where the last whole round began.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "util.h"

/* One ioctl each; an answer of the kernel is text of about 60 bytes an entry. */
#define COUNTERS_A_CALL	2048
#define RUNS_A_CALL	2048

/* How often a volume that changes under the hands is begun again. */
#define ATTEMPTS	3

struct collect {
	struct tier_counter *counters;
	struct tier_map_run *runs;
	struct tier_heat_config config;
	bool is_measured;
	int64_t now_ns;
};

static void cleanup_collect(struct collect *collect)
{
	free(collect->counters);
	free(collect->runs);
}

/*
 * All counters of one volume. -EAGAIN: the pool or the volume became another
 * one between two calls.
 */
static int collect_counters(struct pool *pool, struct pool_volume *volume,
			    struct collect *collect)
{
	struct tier_heat_volume *heat = &volume->heat;
	uint64_t next = 0, nr_extents = heat->nr_extents;
	struct tier_counter_head head, first = { 0 };
	struct tier_heat_round round = { 0 };
	size_t nr;
	int r;

	do {
		bool is_first = !next;

		r = pool->backend.ops->read_counters(pool->backend.ctx, volume->info.id, next,
						     nr_extents - next, heat->since, &head,
						     collect->counters, COUNTERS_A_CALL, &nr,
						     &next);
		if (r)
			return r;
		if (is_first) {
			/* `since` is another instance's: it says nothing about this one's. */
			if (heat->since && (head.instance != heat->instance ||
					    head.volume_generation != heat->volume_generation)) {
				heat->since = 0;
				return -EAGAIN;
			}
			first = head;
			tier_heat_begin(heat, &collect->config, &head, collect->is_measured,
					collect->now_ns, &round);
		}
		if (head.instance != first.instance ||
		    head.volume_generation != first.volume_generation)
			return -EAGAIN;
		r = tier_heat_count(heat, &collect->config, &round, collect->counters, nr);
		if (r)
			return r;
	} while (next < nr_extents);
	tier_heat_end(heat, &round);
	return 0;
}

static void take_run(struct pool_volume *volume, const struct tier_map_run *run)
{
	bool has_slot = run->device != TIER_NO_DEVICE;
	uint16_t valid = run->valid_regions < UINT16_MAX ? run->valid_regions : UINT16_MAX;

	memset(volume->device + run->first, has_slot ? (int)run->device : TIER_PLAN_NO_DEVICE,
	       run->count);
	for (uint64_t i = 0; i < run->count; i++)
		volume->valid_regions[run->first + i] = has_slot ? valid : 0;
	if (has_slot)
		volume->nr_slots += run->count;
}

static int collect_map(struct pool *pool, struct pool_volume *volume, struct collect *collect)
{
	uint64_t next = 0, nr_extents = volume->heat.nr_extents;
	size_t nr;
	int r;

	volume->nr_slots = 0;
	do {
		r = pool->backend.ops->read_map(pool->backend.ctx, volume->info.id, next,
						nr_extents - next, collect->runs, RUNS_A_CALL, &nr,
						&next);
		if (r)
			return r;
		for (size_t i = 0; i < nr; i++) {
			const struct tier_map_run *run = &collect->runs[i];

			if (run->first > nr_extents || run->count > nr_extents - run->first ||
			    (run->device != TIER_NO_DEVICE && run->device >= TIER_MAX_DEVICES))
				return -EPROTO;
			take_run(volume, run);
			tier_heat_map(&volume->heat, run->first, run->count,
				      run->device != TIER_NO_DEVICE, collect->now_ns);
		}
	} while (next < nr_extents);
	return 0;
}

static int collect_volume(struct pool *pool, struct pool_volume *volume, struct collect *collect)
{
	int r = -EAGAIN;

	if (!volume->heat.nr_extents)
		return 0;
	for (int i = 0; i < ATTEMPTS && r == -EAGAIN; i++)
		r = collect_counters(pool, volume, collect);
	if (!r)
		r = collect_map(pool, volume, collect);
	/* Deleted or shrunk since the pool was read: the next reading tells. */
	if (r == -ENOENT || r == -ERANGE || r == -EAGAIN)
		return 0;
	return r;
}

int pool_collect(struct pool *pool, bool is_measured, bool fold, const struct clock_time *now)
{
	_cleanup_(cleanup_collect) struct collect collect = {
		.config = pool->settings->heat,
		.is_measured = is_measured,
		.now_ns = now->boot_ns,
		.counters = calloc(COUNTERS_A_CALL, sizeof(*collect.counters)),
		.runs = calloc(RUNS_A_CALL, sizeof(*collect.runs)),
	};
	int r;

	if (fold)
		collect.config.fold_ns = 0;
	if (!collect.counters || !collect.runs)
		return -ENOMEM;
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		r = collect_volume(pool, pool->volumes[i], &collect);
		if (r)
			return r;
	}
	pool->has_history = true;
	pool->collected_s = now->real_s;
	if (!pool->heat_since_s)
		pool->heat_since_s = now->real_s;
	pool->changes++;
	return 0;
}
