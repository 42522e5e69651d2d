// SPDX-License-Identifier: GPL-2.0-only
/*
 * What plan.h promises, over thousands of random pools: every prefix feasible,
 * capacity and headroom, no extent twice, nothing moves that must not, the same
 * plan for the same input, rest under a load that does not change. A failure
 * prints the seed; TIER_SEED=<n> runs that pool alone, TIER_POOLS=<n> more pools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan.h"
#include "sim.h"

#define MAX_DEVICES	10
#define MAX_VOLUMES	6
#define MAX_EXTENTS	120
#define MAX_ROUNDS	12

struct pool {
	uint64_t seed;
	struct tier_rng rng;
	struct tier_device_info devices[MAX_DEVICES];
	struct tier_pool_info info;
	struct tier_plan_volume volumes[MAX_VOLUMES];
	struct tier_plan_input input;
	uint8_t device[MAX_VOLUMES][MAX_EXTENTS];
	float heat[MAX_VOLUMES][MAX_EXTENTS];
	uint8_t hold[MAX_VOLUMES][MAX_EXTENTS];
	uint8_t reason[MAX_VOLUMES][MAX_EXTENTS];
	bool moved[MAX_VOLUMES][MAX_EXTENTS];
	struct tier_plan_config config;
	struct tier_planner *planner;
};

#define check(pool, condition) do { \
	if (!(condition)) { \
		print_error("TIER_SEED=%llu: not so: %s\n", \
			    (unsigned long long)(pool)->seed, #condition); \
		fail(); \
	} \
} while (0)

static unsigned int below(struct pool *pool, unsigned int limit)
{
	return (unsigned int)tier_rng_below(&pool->rng, limit);
}

static bool chance(struct pool *pool, double p)
{
	return tier_rng_unit(&pool->rng) < p;
}

static void random_devices(struct pool *pool)
{
	static const enum tier_device_state broken[] = {
		TIER_DEVICE_NEW, TIER_DEVICE_DRAINING, TIER_DEVICE_DRAINING,
		TIER_DEVICE_MISSING, TIER_DEVICE_FAILED, TIER_DEVICE_LOST,
	};
	unsigned int nr_tiers = 1 + below(pool, 4);
	bool is_healthy = chance(pool, 0.6);

	for (unsigned int tier = 0; tier < nr_tiers; tier++) {
		for (unsigned int n = 1 + below(pool, 2); n--;) {
			struct tier_device_info *device = &pool->devices[pool->info.nr_devices];

			*device = (struct tier_device_info) {
				.idx = (uint32_t)pool->info.nr_devices++,
				.tier = tier,
				.state = TIER_DEVICE_ONLINE,
				.total_slots = 1 + below(pool, 4u << 2 * below(pool, 3)),
			};
			if (chance(pool, 0.2))
				device->quarantined_slots = below(pool, 3);
			if (device->quarantined_slots > device->total_slots)
				device->quarantined_slots = device->total_slots;
			if (!is_healthy && chance(pool, 0.2))
				device->state = broken[below(pool, 6)];
		}
	}
}

static float random_heat(struct pool *pool, unsigned int kind)
{
	switch (kind) {
	case 0:
		return (float)pow(tier_rng_unit(&pool->rng), -1.2);
	case 1:
		return (float)below(pool, 4);
	case 2:
		return 7;
	default:
		return chance(pool, 0.3) ? 255 : -1;
	}
}

/* A device with a slot to put an extent on at first; -1: the pool is full. */
static int random_place(struct pool *pool)
{
	unsigned int start = below(pool, (unsigned int)pool->info.nr_devices);

	for (unsigned int i = 0; i < pool->info.nr_devices; i++) {
		unsigned int idx = (start + i) % (unsigned int)pool->info.nr_devices;
		struct tier_device_info *device = &pool->devices[idx];

		if (device->state != TIER_DEVICE_NEW && tier_device_free_slots(device)) {
			device->used_slots++;
			return (int)idx;
		}
	}
	return -1;
}

static void random_volumes(struct pool *pool)
{
	uint64_t slots = 0, extents;
	double fill = chance(pool, 0.3) ? 1 : tier_rng_unit(&pool->rng);
	bool has_scope = chance(pool, 0.15);

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		slots += tier_device_free_slots(&pool->devices[i]);
	extents = (uint64_t)ceil((double)slots * fill);
	pool->input.nr_volumes = 1 + below(pool, MAX_VOLUMES);
	for (unsigned int v = 0; v < pool->input.nr_volumes; v++) {
		unsigned int kind = below(pool, 8) ? below(pool, 3) : 3;
		bool is_held = chance(pool, 0.1);

		pool->volumes[v] = (struct tier_plan_volume) {
			.id = v,
			.policy = below(pool, TIER_POLICY_COUNT),
			.in_scope = !has_scope || chance(pool, 0.5),
			.nr_extents = 1 + below(pool, MAX_EXTENTS),
			.device = pool->device[v],
			.heat = pool->heat[v],
			.hold = is_held ? pool->hold[v] : NULL,
			.ret_reason = pool->reason[v],
		};
		for (uint64_t e = 0; e < pool->volumes[v].nr_extents; e++) {
			int idx = extents && chance(pool, 0.9) ? random_place(pool) : -1;

			pool->device[v][e] = idx < 0 ? TIER_PLAN_NO_DEVICE : (uint8_t)idx;
			if (idx >= 0)
				extents--;
			pool->heat[v][e] = random_heat(pool, kind);
			if (is_held && chance(pool, 0.2))
				pool->hold[v][e] = TIER_REASON_THROTTLED;
		}
	}
}

static void make_pool(struct pool *pool, uint64_t seed, struct tier_planner *planner)
{
	memset(pool, 0, sizeof(*pool));
	pool->seed = seed;
	pool->rng.state = seed * 1000003 + 12345;
	pool->planner = planner;
	pool->info.extent_sectors = 2048;
	pool->info.region_sectors = 128;
	pool->info.devices = pool->devices;
	pool->input.pool = &pool->info;
	pool->input.volumes = pool->volumes;
	tier_plan_config_init(&pool->config, 2048, 0.001);
	pool->config.headroom_percent = below(pool, 3) * 10;
	pool->config.headroom_min_slots = chance(pool, 0.8);
	pool->config.hysteresis = 1 + below(pool, 3) * 0.5;
	pool->config.benefit = chance(pool, 0.5) ? 0.1 : 0;
	for (int bin = 0; bin < TIER_PLAN_GAIN_BINS; bin++)
		pool->config.gain_realised[bin] = chance(pool, 0.8) ? 1 : 0.5;
	random_devices(pool);
	random_volumes(pool);
}

static bool is_stay_reason(enum tier_reason reason)
{
	return reason == TIER_REASON_NONE ||
	       (reason >= TIER_REASON_PINNED && reason <= TIER_REASON_DEVICE_MISSING);
}

static void check_allowed(struct pool *pool, const struct tier_plan_move *move)
{
	const struct tier_plan_volume *volume = &pool->volumes[move->volume_index];
	const struct tier_device_info *from = &pool->devices[move->from_device];
	bool is_drain = from->state == TIER_DEVICE_DRAINING;

	check(pool, !volume->hold || !volume->hold[move->extent]);
	check(pool, from->state == TIER_DEVICE_ONLINE || is_drain);
	check(pool, move->from_tier == from->tier);
	check(pool, move->to_tier == pool->devices[move->to_device].tier);
	check(pool, move->force == is_drain);
	check(pool, (move->reason == TIER_REASON_DRAIN) <= is_drain);
	check(pool, !is_stay_reason(move->reason));
	if (volume->policy == TIER_POLICY_NONE)
		check(pool, move->from_tier == move->to_tier || is_drain);
	if (!volume->in_scope && !is_drain)
		check(pool, move->reason == TIER_REASON_MAKE_ROOM ||
		      move->reason == TIER_REASON_POLICY_LOWEST ||
		      move->reason == TIER_REASON_POLICY_HIGHEST);
	if (move->reason == TIER_REASON_HOTTER)
		check(pool, move->to_tier < move->from_tier && move->heat > move->threshold);
	if (move->reason == TIER_REASON_HEADROOM)
		check(pool, move->to_tier > move->from_tier &&
		      pool->heat[move->volume_index][move->extent] >= 0);
	if (move->reason == TIER_REASON_REBALANCE)
		check(pool, move->from_tier == move->to_tier && move->heat > 0);
}

static uint64_t tier_free(const struct pool *pool, unsigned int tier)
{
	uint64_t count = 0;

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->devices[i].tier == tier && pool->devices[i].state == TIER_DEVICE_ONLINE)
			count += tier_device_free_slots(&pool->devices[i]);
	return count;
}

/* Play the list as it stands, with the checks that hold for every prefix. */
static void play(struct pool *pool, const struct tier_plan *plan)
{
	uint64_t floor[TIER_MAX_TIERS];

	memset(pool->moved, 0, sizeof(pool->moved));
	for (unsigned int t = 0; t < plan->nr_tiers; t++) {
		/* Never fuller than headroom allows, or than it was. */
		floor[t] = tier_free(pool, t);
		if (floor[t] > plan->tiers[t].headroom_slots)
			floor[t] = plan->tiers[t].headroom_slots;
	}
	for (size_t i = 0; i < plan->nr_moves; i++) {
		const struct tier_plan_move *move = &plan->moves[i];
		struct tier_device_info *from = &pool->devices[move->from_device];
		struct tier_device_info *to = &pool->devices[move->to_device];
		uint8_t *device = &pool->device[move->volume_index][move->extent];

		check_allowed(pool, move);
		check(pool, *device == move->from_device);
		check(pool, move->from_device != move->to_device);
		check(pool, !pool->moved[move->volume_index][move->extent]);
		check(pool, to->state == TIER_DEVICE_ONLINE);
		check(pool, tier_device_free_slots(to) > 0);
		check(pool, pool->reason[move->volume_index][move->extent] == move->reason);
		pool->moved[move->volume_index][move->extent] = true;
		*device = move->to_device;
		to->used_slots++;
		from->used_slots--;
		check(pool, tier_free(pool, move->to_tier) + 1 >= floor[move->to_tier]);
	}
	for (unsigned int t = 0; t < plan->nr_tiers; t++) {
		uint64_t used = 0;

		check(pool, tier_free(pool, t) >= floor[t]);
		for (unsigned int v = 0; v < pool->input.nr_volumes; v++)
			for (uint64_t e = 0; e < pool->volumes[v].nr_extents; e++)
				used += pool->device[v][e] != TIER_PLAN_NO_DEVICE &&
					pool->devices[pool->device[v][e]].tier == t;
		check(pool, used == plan->tiers[t].planned_slots);
	}
	for (unsigned int v = 0; v < pool->input.nr_volumes; v++)
		for (uint64_t e = 0; e < pool->volumes[v].nr_extents; e++)
			check(pool, pool->moved[v][e] || is_stay_reason(pool->reason[v][e]));
}

static void check_same(struct pool *pool, const struct tier_plan *plan)
{
	size_t size = plan->nr_moves * sizeof(*plan->moves);
	struct tier_plan_move *copy = malloc(size + 1);
	struct tier_plan again;

	assert_non_null(copy);
	if (size)
		memcpy(copy, plan->moves, size);
	check(pool, !tier_plan(pool->planner, &pool->config, &pool->input, &again));
	check(pool, again.nr_moves == plan->nr_moves);
	check(pool, !size || !memcmp(copy, again.moves, size));
	free(copy);
}

/* A cut list is a prefix of the whole one: max_moves changes nothing else. */
static void check_prefix(struct pool *pool)
{
	struct tier_plan whole, cut;
	struct tier_plan_move *copy;
	size_t size;

	check(pool, !tier_plan(pool->planner, &pool->config, &pool->input, &whole));
	size = whole.nr_moves * sizeof(*whole.moves);
	copy = malloc(size + 1);
	assert_non_null(copy);
	if (size)
		memcpy(copy, whole.moves, size);
	pool->config.max_moves = 1 + below(pool, (unsigned int)whole.nr_moves + 1);
	check(pool, !tier_plan(pool->planner, &pool->config, &pool->input, &cut));
	check(pool, cut.nr_moves <= pool->config.max_moves);
	check(pool, cut.nr_wanted == whole.nr_moves);
	check(pool, !cut.nr_moves ||
	      !memcmp(copy, cut.moves, cut.nr_moves * sizeof(*cut.moves)));
	pool->config.max_moves = 0;
	free(copy);
}

static unsigned long parameter(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

static void test_promises(void **state)
{
	unsigned long first = parameter("TIER_SEED", 1), count = parameter("TIER_POOLS", 50000);
	unsigned long moves = 0, rounds = 0, most_rounds = 0, moving = 0;
	struct tier_planner *planner;
	struct pool *pool = malloc(sizeof(*pool));

	(void)state;
	assert_non_null(pool);
	assert_int_equal(tier_planner_new(MAX_VOLUMES * MAX_EXTENTS, &planner), 0);
	if (getenv("TIER_SEED"))
		count = 1;
	for (unsigned long seed = first; seed < first + count; seed++) {
		struct tier_plan plan;
		unsigned long round = 0;

		make_pool(pool, seed, planner);
		check_prefix(pool);
		for (;;) {
			check(pool, !tier_plan(planner, &pool->config, &pool->input, &plan));
			check_same(pool, &plan);
			check(pool, !tier_plan(planner, &pool->config, &pool->input, &plan));
			play(pool, &plan);
			if (!plan.nr_moves)
				break;
			moving += !round;
			moves += plan.nr_moves;
			rounds++;
			check(pool, ++round < MAX_ROUNDS);
		}
		if (round > most_rounds)
			most_rounds = round;
	}
	print_message("%lu pools, %lu of them moved %lu extents in %lu rounds, at most %lu until rest\n",
		      count, moving, moves, rounds, most_rounds);
	tier_planner_free(planner);
	free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
