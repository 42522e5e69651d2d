// SPDX-License-Identifier: GPL-2.0-only
/*
 * The planner's bar: 1,048,576 extents in less than 100 ms on one core, growing
 * linearly. Measured in CPU time of this process, the best of five, because the
 * machine may be busy. Sanitizers make everything slower: then only the order of
 * growth is judged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plan.h"
#include "sim.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#define NR_TIERS	3
#define NR_VOLUMES	16

struct pool {
	uint64_t nr_extents;
	struct tier_device_info devices[NR_TIERS];
	struct tier_pool_info info;
	struct tier_plan_volume volumes[NR_VOLUMES];
	struct tier_plan_input input;
	uint8_t *device;
	float *heat;
	uint8_t *reason;
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/*
 * Tiers of 10, 30 and 65 % of the extents, so the pool is nearly full; heat like
 * Zipf's, and nothing lies where it should: the most that a plan can have to do.
 */
static void make_pool(struct pool *pool, uint64_t nr_extents)
{
	static const double share[NR_TIERS] = { 0.10, 0.30, 0.65 };
	struct tier_rng rng = { .state = 42 };
	uint64_t slots[NR_TIERS];

	*pool = (struct pool) { .nr_extents = nr_extents };
	pool->device = malloc(nr_extents);
	pool->heat = malloc(nr_extents * sizeof(*pool->heat));
	pool->reason = malloc(nr_extents);
	assert_true(pool->device && pool->heat && pool->reason);
	for (uint32_t t = 0; t < NR_TIERS; t++) {
		slots[t] = (uint64_t)(share[t] * (double)nr_extents);
		pool->devices[t] = (struct tier_device_info) {
			.idx = t,
			.tier = t,
			.state = TIER_DEVICE_ONLINE,
			.total_slots = slots[t],
		};
	}
	for (uint64_t i = 0; i < nr_extents; i++) {
		uint32_t t = (uint32_t)tier_rng_below(&rng, NR_TIERS);

		while (pool->devices[t].used_slots == slots[t])
			t = (t + 1) % NR_TIERS;
		pool->devices[t].used_slots++;
		pool->device[i] = (uint8_t)t;
		pool->heat[i] = (float)pow((double)tier_rng_below(&rng, nr_extents) + 1, -1.15) * 1e6f;
	}
	for (uint32_t v = 0; v < NR_VOLUMES; v++) {
		uint64_t first = nr_extents / NR_VOLUMES * v;

		pool->volumes[v] = (struct tier_plan_volume) {
			.id = v,
			.policy = TIER_POLICY_AUTO,
			.in_scope = true,
			.nr_extents = nr_extents / NR_VOLUMES,
			.device = pool->device + first,
			.heat = pool->heat + first,
			.ret_reason = pool->reason + first,
		};
	}
	pool->info = (struct tier_pool_info) {
		.extent_sectors = 2097152,
		.region_sectors = 2048,
		.devices = pool->devices,
		.nr_devices = NR_TIERS,
	};
	pool->input = (struct tier_plan_input) {
		.pool = &pool->info,
		.volumes = pool->volumes,
		.nr_volumes = NR_VOLUMES,
	};
}

static void free_pool(struct pool *pool)
{
	free(pool->device);
	free(pool->heat);
	free(pool->reason);
}

static double plan_ms(uint64_t nr_extents, size_t *ret_nr_moves)
{
	struct tier_plan_config config;
	struct tier_planner *planner;
	struct tier_plan plan;
	double best_ms = HUGE_VAL;
	struct pool pool;

	make_pool(&pool, nr_extents);
	tier_plan_config_init(&config, pool.info.extent_sectors, 0.001);
	assert_int_equal(tier_planner_new(nr_extents, &planner), 0);
	for (int i = 0; i < 5; i++) {
		double start_ms = now_ms();

		assert_int_equal(tier_plan(planner, &config, &pool.input, &plan), 0);
		best_ms = fmin(best_ms, now_ms() - start_ms);
	}
	*ret_nr_moves = plan.nr_moves;
	tier_planner_free(planner);
	free_pool(&pool);
	return best_ms;
}

static void test_scale(void **state)
{
	double small_ms = 0, ms = 0;

	(void)state;
	for (unsigned int bits = 14; bits <= 22; bits += 2) {
		size_t nr_moves;

		ms = plan_ms(UINT64_C(1) << bits, &nr_moves);
		print_message("%8u extents: %7.2f ms, %zu moves\n", 1u << bits, ms, nr_moves);
		assert_true(nr_moves > 0);
		if (bits == 18)
			small_ms = ms;
		if (bits == 20 && !IS_SANITIZED)
			assert_true(ms < 100);
	}
	/* 16 times as many, past all caches. */
	assert_true(ms < 40 * small_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
