// SPDX-License-Identifier: GPL-2.0-only
/* lib/plan*.c: rules 2.x and 3.x of tierd.conf(5), each on a small pool made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan.h"

#define MAX_EXTENTS	64
#define MAX_DEVICES	6
#define MAX_VOLUMES	4

struct pool {
	struct tier_device_info devices[MAX_DEVICES];
	struct tier_pool_info info;
	struct tier_plan_volume volumes[MAX_VOLUMES];
	struct tier_plan_input input;
	uint8_t device[MAX_VOLUMES][MAX_EXTENTS];
	float heat[MAX_VOLUMES][MAX_EXTENTS];
	uint8_t hold[MAX_VOLUMES][MAX_EXTENTS];
	uint8_t reason[MAX_VOLUMES][MAX_EXTENTS];
	uint16_t valid[MAX_VOLUMES][MAX_EXTENTS];
	struct tier_plan_config config;
	struct tier_planner *planner;
	struct tier_plan plan;
};

static int setup(void **state)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool || tier_planner_new(MAX_VOLUMES * MAX_EXTENTS, &pool->planner))
		return -1;
	pool->info.extent_sectors = 2048;
	pool->info.region_sectors = 128;
	pool->info.devices = pool->devices;
	pool->input.pool = &pool->info;
	pool->input.volumes = pool->volumes;
	/* No headroom, no benefit: each test switches on what it is about. */
	pool->config = (struct tier_plan_config) {
		.hysteresis = 2,
		.gain_realised = { 1, 1, 1, 1, 1 },
		.rebalance = 1.5,
		.headroom_min_slots = 1,
	};
	*state = pool;
	return 0;
}

static int teardown(void **state)
{
	struct pool *pool = *state;

	tier_planner_free(pool->planner);
	free(pool);
	return 0;
}

static uint8_t add_device(struct pool *pool, uint32_t tier, uint64_t slots)
{
	uint8_t idx = (uint8_t)pool->info.nr_devices++;

	pool->devices[idx] = (struct tier_device_info) {
		.idx = idx,
		.tier = tier,
		.state = TIER_DEVICE_ONLINE,
		.total_slots = slots,
	};
	return idx;
}

static uint32_t add_volume(struct pool *pool, enum tier_policy policy)
{
	uint32_t v = (uint32_t)pool->input.nr_volumes++;

	pool->volumes[v] = (struct tier_plan_volume) {
		.id = v + 10,
		.policy = policy,
		.in_scope = true,
		.device = pool->device[v],
		.heat = pool->heat[v],
		.hold = pool->hold[v],
		.ret_reason = pool->reason[v],
	};
	return v;
}

static uint32_t add_extent(struct pool *pool, uint32_t v, uint8_t device, float heat)
{
	uint32_t extent = (uint32_t)pool->volumes[v].nr_extents++;

	pool->device[v][extent] = device;
	pool->heat[v][extent] = heat;
	if (device != TIER_PLAN_NO_DEVICE)
		pool->devices[device].used_slots++;
	return extent;
}

static void add_extents(struct pool *pool, uint32_t v, uint8_t device, unsigned int count,
			float heat)
{
	while (count--)
		add_extent(pool, v, device, heat);
}

static void make_plan(struct pool *pool)
{
	assert_int_equal(tier_plan(pool->planner, &pool->config, &pool->input, &pool->plan), 0);
}

static const struct tier_plan_move *find_move(const struct pool *pool, uint32_t v,
					      uint64_t extent)
{
	for (size_t i = 0; i < pool->plan.nr_moves; i++)
		if (pool->plan.moves[i].volume_index == v && pool->plan.moves[i].extent == extent)
			return &pool->plan.moves[i];
	return NULL;
}

static void assert_reason(const struct pool *pool, uint32_t v, uint64_t extent,
			  enum tier_reason reason)
{
	assert_string_equal(tier_reason_word(pool->reason[v][extent]), tier_reason_word(reason));
}

static void assert_move(const struct pool *pool, uint32_t v, uint64_t extent, uint8_t to_tier,
			enum tier_reason reason)
{
	const struct tier_plan_move *move = find_move(pool, v, extent);

	assert_non_null(move);
	assert_int_equal(move->to_tier, to_tier);
	assert_string_equal(tier_reason_word(move->reason), tier_reason_word(reason));
	assert_int_equal(move->volume, v + 10);
	assert_reason(pool, v, extent, reason);
}

static void test_empty_pools(void **state)
{
	struct pool *pool = *state;
	uint32_t v;

	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	add_device(pool, 0, 10);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extent(pool, v, TIER_PLAN_NO_DEVICE, 5);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 0, TIER_REASON_NONE);
	assert_true(pool->plan.heat == 0);
}

static void test_one_extent(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 1);
	slow = add_device(pool, 1, 1);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extent(pool, v, slow, 5);
	make_plan(pool);
	/* A tier of one slot has no headroom: that would leave none. */
	assert_int_equal(pool->plan.nr_moves, 1);
	assert_move(pool, v, 0, 0, TIER_REASON_HOTTER);
	assert_int_equal(pool->plan.tiers[1].up_bytes, 1 << 20);
	assert_int_equal(pool->plan.tiers[0].in_bytes, 1 << 20);
	assert_int_equal(pool->plan.tiers[0].planned_slots, 1);
	assert_int_equal(tier_plan_seconds(pool->plan.bytes, 1000000), 2);
}

/* 3.4: free slots are filled with the hottest, as long as that pays. */
static void test_free_slots(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 10);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_START_HIGHEST);
	pool->config.headroom_percent = 30;
	pool->config.benefit = 0.1;
	add_extents(pool, v, slow, 4, 1000);
	add_extents(pool, v, slow, 2, 1);	/* 0.1 * 4002 / 10 = 40 is the bar */
	add_extent(pool, v, slow, 0);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 4);
	assert_int_equal(pool->plan.tiers[0].headroom_slots, 3);
	assert_int_equal(pool->plan.tiers[1].headroom_slots, 1);	/* the lowest: the minimum */
	for (int extent = 0; extent < 4; extent++)
		assert_move(pool, v, extent, 0, TIER_REASON_HOTTER);
	assert_reason(pool, v, 4, TIER_REASON_BELOW_BENEFIT);
	assert_reason(pool, v, 5, TIER_REASON_BELOW_BENEFIT);
	assert_reason(pool, v, 6, TIER_REASON_NONE);
	assert_true(pool->plan.moves[0].threshold > 40 && pool->plan.moves[0].threshold < 41);
}

/* 3.1: by heat, however little it differs; equals by their order. */
static void test_ranking(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 11);
	slow = add_device(pool, 1, 100);
	v = add_volume(pool, TIER_POLICY_AUTO);
	for (int i = 0; i < 60; i++)
		add_extent(pool, v, slow, 1e6f + (float)(i * 7 % 60));
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 10);
	for (int i = 0; i < 10; i++)
		assert_true(pool->plan.moves[i].heat == 1e6f + (float)(59 - i));

	for (int i = 0; i < 60; i++)
		pool->heat[v][i] = 5;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(pool->plan.moves[i].extent, i);
}

/* 3.2: the headroom is refilled by the coldest; 3.7: the hottest go up first. */
static void test_headroom(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v;

	fast = add_device(pool, 0, 10);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	pool->config.headroom_percent = 20;
	for (int i = 0; i < 10; i++)
		add_extent(pool, v, fast, 100 + (float)i);
	add_extent(pool, v, slow, 150);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);
	assert_move(pool, v, 0, 1, TIER_REASON_HEADROOM);
	assert_move(pool, v, 1, 1, TIER_REASON_HEADROOM);
	/* Hotter than the coldest that stay, but not by the factor. */
	assert_reason(pool, v, 10, TIER_REASON_HYSTERESIS);
	assert_reason(pool, v, 2, TIER_REASON_NONE);
}

/* 3.4, 3.6: pairs; both tiers full but for one slot, each step finds a free one. */
static void test_exchange_when_full(void **state)
{
	struct pool *pool = *state;
	uint64_t free_slots[2] = { 0, 1 };
	uint8_t fast, slow;
	uint32_t v;

	fast = add_device(pool, 0, 4);
	slow = add_device(pool, 1, 5);
	v = add_volume(pool, TIER_POLICY_AUTO);
	for (int i = 0; i < 4; i++)
		add_extent(pool, v, fast, 10 + (float)i);
	add_extent(pool, v, slow, 300);
	add_extent(pool, v, slow, 200);
	add_extent(pool, v, slow, 23);	/* less than twice 12: stays */
	add_extent(pool, v, slow, 5);
	make_plan(pool);
	/* Headroom: one down at once; the two hot ones against the two next coldest. */
	assert_int_equal(pool->plan.nr_moves, 5);
	for (size_t i = 0; i < pool->plan.nr_moves; i++) {
		const struct tier_plan_move *move = &pool->plan.moves[i];

		assert_true(free_slots[move->to_tier] > 0);
		free_slots[move->to_tier]--;
		free_slots[move->from_tier]++;
		/* What the headroom lends comes back with the next move. */
		if (i)
			assert_int_equal(free_slots[0], move->to_tier ? 1 : 0);
	}
	assert_int_equal(free_slots[0], 1);
	assert_move(pool, v, 4, 0, TIER_REASON_HOTTER);
	assert_move(pool, v, 5, 0, TIER_REASON_HOTTER);
	assert_move(pool, v, 0, 1, TIER_REASON_HEADROOM);
	assert_move(pool, v, 1, 1, TIER_REASON_MAKE_ROOM);
	assert_move(pool, v, 2, 1, TIER_REASON_MAKE_ROOM);
	assert_reason(pool, v, 6, TIER_REASON_HYSTERESIS);
	assert_true(find_move(pool, v, 4)->threshold == 22);
	assert_true(find_move(pool, v, 1)->threshold == 300);
}

/* No free slot anywhere: nothing can turn, and it is said. */
static void test_no_slot_anywhere(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v;

	fast = add_device(pool, 0, 2);
	slow = add_device(pool, 1, 2);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, fast, 2, 1);
	add_extents(pool, v, slow, 2, 100);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 2, TIER_REASON_NO_SPACE);
	assert_reason(pool, v, 3, TIER_REASON_NO_SPACE);
}

/* 2.3: `highest` goes before hotter extents, hottest first, then the next tier. */
static void test_highest(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, middle, slow;
	uint32_t v, w;

	fast = add_device(pool, 0, 3);
	middle = add_device(pool, 1, 3);
	slow = add_device(pool, 2, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	w = add_volume(pool, TIER_POLICY_HIGHEST);
	add_extents(pool, v, fast, 2, 1000);
	add_extents(pool, v, middle, 1, 500);
	for (int i = 0; i < 5; i++)
		add_extent(pool, w, slow, (float)i);	/* also the one that is cold */
	make_plan(pool);
	assert_move(pool, w, 4, 0, TIER_REASON_POLICY_HIGHEST);
	assert_move(pool, w, 3, 0, TIER_REASON_POLICY_HIGHEST);
	assert_move(pool, w, 2, 1, TIER_REASON_POLICY_HIGHEST);
	assert_move(pool, w, 1, 1, TIER_REASON_POLICY_HIGHEST);
	assert_reason(pool, w, 0, TIER_REASON_NO_SPACE);
	assert_move(pool, v, 0, 2, TIER_REASON_MAKE_ROOM);
	assert_move(pool, v, 1, 2, TIER_REASON_MAKE_ROOM);
	assert_move(pool, v, 2, 2, TIER_REASON_MAKE_ROOM);
}

/* 2.4: `lowest` leaves whatever its heat; if the lowest tier is full, what is there comes up. */
static void test_lowest(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v, w;

	fast = add_device(pool, 0, 5);
	slow = add_device(pool, 1, 4);
	v = add_volume(pool, TIER_POLICY_AUTO);
	w = add_volume(pool, TIER_POLICY_LOWEST);
	add_extent(pool, v, slow, 1);
	add_extent(pool, v, slow, 2);
	add_extent(pool, v, slow, 3);
	add_extents(pool, w, fast, 3, 1000);
	make_plan(pool);
	assert_move(pool, w, 0, 1, TIER_REASON_POLICY_LOWEST);
	assert_move(pool, w, 1, 1, TIER_REASON_POLICY_LOWEST);
	assert_move(pool, w, 2, 1, TIER_REASON_POLICY_LOWEST);
	assert_int_equal(pool->plan.tiers[1].planned_slots, 3);
	assert_int_equal(pool->plan.nr_moves, 6);
}

static void test_more_lowest_than_fits(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t w;

	fast = add_device(pool, 0, 5);
	slow = add_device(pool, 1, 4);
	w = add_volume(pool, TIER_POLICY_LOWEST);
	add_extents(pool, w, slow, 3, 1);
	add_extent(pool, w, fast, 7);
	add_extent(pool, w, fast, 1000);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, w, 3, TIER_REASON_NO_SPACE);
	assert_reason(pool, w, 4, TIER_REASON_NO_SPACE);
	assert_reason(pool, w, 0, TIER_REASON_NONE);
}

/* 2.5, 2.6: none stays on its tier; a pin says that it is one. */
static void test_none_and_pins(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v, w, x;

	fast = add_device(pool, 0, 4);
	slow = add_device(pool, 1, 10);
	v = add_volume(pool, TIER_POLICY_NONE);
	w = add_volume(pool, TIER_POLICY_HIGHEST);
	x = add_volume(pool, TIER_POLICY_NONE);
	pool->volumes[w].pinned = true;
	pool->volumes[x].pinned = true;
	add_extent(pool, v, slow, 1000);
	add_extent(pool, v, fast, 0);
	add_extent(pool, w, slow, 1);
	add_extent(pool, x, slow, 1000);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 1);
	assert_move(pool, w, 0, 0, TIER_REASON_PINNED);
	assert_reason(pool, v, 0, TIER_REASON_POLICY_NONE);
	assert_reason(pool, v, 1, TIER_REASON_POLICY_NONE);
	assert_reason(pool, x, 0, TIER_REASON_PINNED);
}

/* 1.5: what is not known is neither promoted nor displaced, but by policy. */
static void test_unknown_heat(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v, w;

	fast = add_device(pool, 0, 3);
	slow = add_device(pool, 1, 10);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, fast, 3, -1);
	add_extent(pool, v, slow, 100);
	add_extent(pool, v, slow, -1);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 0, TIER_REASON_NO_HEAT_YET);
	assert_reason(pool, v, 3, TIER_REASON_NO_HEAT_YET);

	w = add_volume(pool, TIER_POLICY_HIGHEST);
	add_extent(pool, w, slow, 1);
	make_plan(pool);
	assert_move(pool, w, 0, 0, TIER_REASON_POLICY_HIGHEST);
	assert_int_equal(pool->plan.nr_moves, 2);
}

/* 3.3: a tier is filled until its I/O limit. */
static void test_max_iops(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 10);
	slow = add_device(pool, 1, 10);
	v = add_volume(pool, TIER_POLICY_AUTO);
	pool->config.max_iops[0] = 25;
	add_extents(pool, v, slow, 5, 86400 * 10);	/* 10 IOPS each */
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);
	assert_reason(pool, v, 2, TIER_REASON_NO_SPACE);
}

/* 3.4: what came true of earlier gains decides with; so does the least gain of a pair. */
static void test_gain_realised(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v;

	fast = add_device(pool, 0, 3);
	slow = add_device(pool, 1, 10);
	v = add_volume(pool, TIER_POLICY_AUTO);
	pool->config.benefit = 0.1;
	add_extents(pool, v, fast, 2, 10);
	add_extent(pool, v, slow, 40);		/* gain 30; bar 0.1 * 60 / 3 = 2 */
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);

	pool->config.gain_realised[3] = 0.05;	/* 2.5 .. 5 times apart */
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 2, TIER_REASON_BELOW_BENEFIT);

	/* A free slot that does not pay stays free, and no exchange is better than it. */
	pool->devices[fast].total_slots = 4;
	pool->config.gain_realised[3] = 1;
	pool->config.gain_realised[4] = 0.01;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 2, TIER_REASON_BELOW_BENEFIT);

	pool->devices[fast].total_slots = 3;
	pool->config.gain_realised[4] = 1;
	pool->config.min_gain = 31;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 2, TIER_REASON_BELOW_BENEFIT);
}

/* 3.9: a draining device is left, inside its tier if it has room, else downwards. */
static void test_drain(void **state)
{
	struct pool *pool = *state;
	uint8_t old, new, slow;
	uint32_t v, w;

	old = add_device(pool, 0, 5);
	new = add_device(pool, 0, 4);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	w = add_volume(pool, TIER_POLICY_NONE);
	for (int i = 0; i < 4; i++)
		add_extent(pool, v, old, (float)i);
	add_extent(pool, w, old, 0);
	pool->devices[old].state = TIER_DEVICE_DRAINING;
	make_plan(pool);
	/* 4 slots, one is headroom, one the `none` extent's. */
	assert_int_equal(pool->plan.nr_moves, 5);
	assert_move(pool, v, 3, 0, TIER_REASON_DRAIN);
	assert_move(pool, v, 2, 0, TIER_REASON_DRAIN);
	assert_move(pool, v, 1, 1, TIER_REASON_DRAIN);
	assert_move(pool, v, 0, 1, TIER_REASON_DRAIN);
	assert_move(pool, w, 0, 0, TIER_REASON_DRAIN);
	assert_int_equal(find_move(pool, w, 0)->to_device, new);
	assert_true(find_move(pool, w, 0)->force);
	assert_int_equal(find_move(pool, v, 0)->to_device, slow);

	/* The whole tier drains: `none` has to leave it, too. */
	pool->devices[new].state = TIER_DEVICE_DRAINING;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 5);
	assert_move(pool, w, 0, 1, TIER_REASON_DRAIN);

	/* And if there is nowhere to go, it says so and does not loop. */
	pool->devices[slow].state = TIER_DEVICE_MISSING;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 0, TIER_REASON_NO_SPACE);
}

static void test_devices_that_are_not_there(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v, w;

	fast = add_device(pool, 0, 10);
	slow = add_device(pool, 1, 10);
	v = add_volume(pool, TIER_POLICY_AUTO);
	w = add_volume(pool, TIER_POLICY_HIGHEST);
	add_extent(pool, v, fast, 1);
	add_extent(pool, v, slow, 100);
	add_extent(pool, w, slow, 100);
	pool->devices[fast].state = TIER_DEVICE_MISSING;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
	assert_reason(pool, v, 0, TIER_REASON_DEVICE_MISSING);
	assert_reason(pool, w, 0, TIER_REASON_DEVICE_MISSING);
}

/* 3.8: devices of a tier share the heat; a new one gets its part. */
static void test_rebalance(void **state)
{
	struct pool *pool = *state;
	uint8_t first, second;
	double heat = 0;
	uint32_t v;

	first = add_device(pool, 0, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	for (int i = 0; i < 10; i++)
		add_extent(pool, v, first, 100);
	second = add_device(pool, 0, 20);
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 5);
	for (size_t i = 0; i < pool->plan.nr_moves; i++) {
		assert_int_equal(pool->plan.moves[i].reason, TIER_REASON_REBALANCE);
		assert_int_equal(pool->plan.moves[i].to_device, second);
		heat += pool->plan.moves[i].heat;
	}
	assert_true(heat == 500);
	assert_int_equal(pool->plan.tiers[0].side_bytes, 5 << 20);
	assert_int_equal(pool->plan.tiers[0].in_bytes, 0);

	/* A tier that is even enough is left alone. */
	pool->config.rebalance = 2;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 0);
}

/* Relocating one volume by hand: the others only make room. */
static void test_scope(void **state)
{
	struct pool *pool = *state;
	uint8_t fast, slow;
	uint32_t v, w;

	fast = add_device(pool, 0, 3);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	w = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, fast, 2, 1);
	add_extent(pool, v, slow, 1000);
	add_extent(pool, w, slow, 100);
	pool->volumes[v].in_scope = false;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);
	assert_move(pool, w, 0, 0, TIER_REASON_HOTTER);
}

/* Held extents stay with their reason and take up their slot. */
static void test_hold_and_max_moves(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 10);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, slow, 5, 100);
	pool->hold[v][1] = TIER_REASON_THROTTLED;
	pool->config.max_moves = 2;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);
	assert_int_equal(pool->plan.nr_wanted, 4);
	assert_null(find_move(pool, v, 1));
	assert_reason(pool, v, 1, TIER_REASON_THROTTLED);
	assert_reason(pool, v, 4, TIER_REASON_THROTTLED);	/* beyond max_moves */
	assert_int_equal(pool->plan.tiers[0].planned_slots, 2);
	tier_plan_hold(&pool->input, &pool->plan, 1, TIER_REASON_OUTSIDE_WINDOW);
	assert_reason(pool, v, 0, TIER_REASON_HOTTER);
	assert_reason(pool, v, 2, TIER_REASON_OUTSIDE_WINDOW);
}

/* A partly written extent costs what it holds. */
static void test_bytes(void **state)
{
	struct pool *pool = *state;
	uint8_t slow;
	uint32_t v;

	add_device(pool, 0, 10);
	slow = add_device(pool, 1, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, slow, 2, 100);
	pool->volumes[v].valid_regions = pool->valid[v];
	pool->valid[v][0] = 3;
	pool->valid[v][1] = 16;
	make_plan(pool);
	assert_int_equal(pool->plan.nr_moves, 2);
	assert_int_equal(pool->plan.bytes, 19 * 65536);
}

static void test_bad_input(void **state)
{
	struct pool *pool = *state;
	struct tier_planner *small;
	uint8_t slow;
	uint32_t v;

	slow = add_device(pool, 0, 20);
	v = add_volume(pool, TIER_POLICY_AUTO);
	add_extents(pool, v, slow, 3, 1);
	assert_int_equal(tier_planner_new(2, &small), 0);
	assert_int_equal(tier_plan(small, &pool->config, &pool->input, &pool->plan), -ENOSPC);
	tier_planner_free(small);
	pool->device[v][0] = 5;
	assert_int_equal(tier_plan(pool->planner, &pool->config, &pool->input, &pool->plan),
			 -EINVAL);
	pool->device[v][0] = slow;
	pool->config.hysteresis = 0.5;
	assert_int_equal(tier_plan(pool->planner, &pool->config, &pool->input, &pool->plan),
			 -EINVAL);
	pool->config.hysteresis = 2;
	pool->devices[0].tier = TIER_MAX_TIERS;
	assert_int_equal(tier_plan(pool->planner, &pool->config, &pool->input, &pool->plan),
			 -EINVAL);
}

#define RULE(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(test_empty_pools),
		RULE(test_one_extent),
		RULE(test_free_slots),
		RULE(test_ranking),
		RULE(test_headroom),
		RULE(test_exchange_when_full),
		RULE(test_no_slot_anywhere),
		RULE(test_highest),
		RULE(test_lowest),
		RULE(test_more_lowest_than_fits),
		RULE(test_none_and_pins),
		RULE(test_unknown_heat),
		RULE(test_max_iops),
		RULE(test_gain_realised),
		RULE(test_drain),
		RULE(test_devices_that_are_not_there),
		RULE(test_rebalance),
		RULE(test_scope),
		RULE(test_hold_and_max_moves),
		RULE(test_bytes),
		RULE(test_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
