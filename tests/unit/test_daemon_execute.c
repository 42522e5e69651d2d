// SPDX-License-Identifier: GPL-2.0-only
/* The executor on a simulated pool: order, limits, back-off, loss of all kinds. */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "execute.h"
#include "sim.h"

#define MAX_MOVES	512
#define STEP_NS		(CLOCK_NS_PER_S / 5)
#define EXTENT_SECTORS	2048
#define REGION_SECTORS	128
#define REGION_BYTES	(REGION_SECTORS << 9)	/* each extent has one: what a move copies */

struct fixture {
	struct tier_sim *sim;
	struct tier_backend backend;
	struct execute *execute;
	struct tier_pool_info pool;
	struct tier_plan_move moves[MAX_MOVES];
	struct tier_plan plan;
	struct execute_limits limits;

	/* What the observer saw. */
	unsigned int moved, failed, given_up, cancelled, needless;
	unsigned int untried;
	enum tier_reason last_reason;
	int64_t last_wait_ns;
	uint64_t order[MAX_MOVES];	/* extents in the order in which they were moved */
	size_t max_active;
};

static void observe(void *ctx, const struct execute_result *result)
{
	struct fixture *f = ctx;

	switch (result->outcome) {
	case EXECUTE_MOVED:
		f->order[f->moved++] = result->move->extent;
		assert_true(result->copied_bytes > 0);
		break;
	case EXECUTE_FAILED:
		f->failed++;
		f->last_wait_ns = result->wait_ns;
		break;
	case EXECUTE_GIVEN_UP:
		f->given_up++;
		f->untried += !result->was_tried;
		break;
	case EXECUTE_CANCELLED:
		f->cancelled++;
		break;
	case EXECUTE_NEEDLESS:
		f->needless++;
		break;
	}
	if (result->outcome == EXECUTE_FAILED || result->outcome == EXECUTE_GIVEN_UP)
		f->last_reason = result->reason;
}

static void new_executor(struct fixture *f)
{
	const struct execute_observer observer = { .ended = observe, .ctx = f };

	execute_free(f->execute);
	assert_int_equal(execute_new(&f->backend, &observer, &f->execute), 0);
	tier_pool_info_clear(&f->pool);
	assert_int_equal(f->backend.ops->read_pool(f->backend.ctx, &f->pool), 0);
	assert_int_equal(execute_adopt(f->execute, &f->pool), 0);
}

/* Two tiers of one device each, a volume with `extents` of them, all on tier 1. */
static struct fixture *fixture_new(uint64_t fast_slots, uint64_t slow_slots, uint64_t extents)
{
	const struct tier_sim_io io = { .writes = 1, .sectors = 8 };
	struct fixture *f = calloc(1, sizeof(*f));

	f->sim = tier_sim_new(EXTENT_SECTORS, REGION_SECTORS);
	tier_sim_add_device(f->sim, 0, fast_slots);
	tier_sim_add_device(f->sim, 1, slow_slots);
	f->backend = tier_sim_backend(f->sim);
	assert_int_equal(tier_sim_add_volume(f->sim, extents, "name=v;policy=lowest"), 0);
	for (uint64_t i = 0; i < extents; i++)
		assert_int_equal(tier_sim_io(f->sim, 0, i, &io), 0);
	f->limits = (struct execute_limits) { .max_moves = 4, .moves_per_device = 2 };
	new_executor(f);
	assert_int_equal(f->backend.ops->set_moves(f->backend.ctx, 4), 0);
	return f;
}

static void fixture_free(struct fixture *f)
{
	assert_null(tier_sim_check(f->sim));
	execute_free(f->execute);
	tier_pool_info_clear(&f->pool);
	tier_sim_free(f->sim);
	free(f);
}

static void add_move(struct fixture *f, uint64_t extent, uint8_t to)
{
	f->moves[f->plan.nr_moves++] = (struct tier_plan_move) {
		.extent = extent,
		.bytes = REGION_BYTES,
		.from_tier = !to, .to_tier = to,
		.from_device = !to, .to_device = to,
		.reason = TIER_REASON_HOTTER,
	};
	f->plan.moves = f->moves;
}

static void begin_plan(struct fixture *f)
{
	execute_plan(f->execute, &f->plan, &f->limits);
}

static struct execute_status status_of(struct fixture *f)
{
	struct execute_status status;

	execute_status(f->execute, &status);
	return status;
}

static void tick(struct fixture *f)
{
	assert_int_equal(execute_tick(f->execute, tier_sim_now_ns(f->sim)), 0);
	if (status_of(f).active > f->max_active)
		f->max_active = status_of(f).active;
	assert_null(tier_sim_check(f->sim));
}

/* Until nothing is left to do, or `seconds` have passed. */
static void run(struct fixture *f, int64_t seconds)
{
	int64_t end_ns = tier_sim_now_ns(f->sim) + seconds * CLOCK_NS_PER_S;
	struct execute_status status;

	do {
		tick(f);
		status = status_of(f);
		if (!status.active && !status.pending && !status.waiting)
			return;
		tier_sim_advance(f->sim, STEP_NS);
	} while (tier_sim_now_ns(f->sim) < end_ns);
}

/* ---------------------------------------------------------------- the ordinary way */

static void test_in_order(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	for (uint64_t i = 0; i < 40; i++)
		add_move(f, (i * 7) % 40, 0);
	f->limits.moves_per_device = 3;
	begin_plan(f);
	assert_int_equal(status_of(f).pending, 40);
	run(f, 60);
	assert_int_equal(f->moved, 40);
	assert_int_equal(f->max_active, 3);
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(f->order[i], (i * 7) % 40);
	assert_int_equal(tier_sim_count_on(f->sim, 0, 0, 40, 0), 40);
	assert_int_equal(tier_sim_nr_migrates(f->sim), 40);
	fixture_free(f);
}

static void test_max_moves(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	for (uint64_t i = 0; i < 40; i++)
		add_move(f, i, 0);
	f->limits = (struct execute_limits) { .max_moves = 1, .moves_per_device = 16 };
	begin_plan(f);
	run(f, 60);
	assert_int_equal(f->moved, 40);
	assert_int_equal(f->max_active, 1);
	fixture_free(f);
}

/* Both tiers full but for one slot: every exchange turns through it, and none fails. */
static void test_exchange(void **state)
{
	struct fixture *f = fixture_new(10, 10, 10);
	const struct tier_sim_io io = { .writes = 1, .sectors = 8 };

	assert_int_equal(tier_sim_add_volume(f->sim, 9, "name=w;policy=highest"), 1);
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(tier_sim_io(f->sim, 1, i, &io), 0);
	/* Tier 0: 9 of 10, tier 1: 10 of 10. Up, then down into the slot that it left. */
	for (uint64_t i = 0; i < 9; i++) {
		add_move(f, i, 0);
		add_move(f, i, 1);
		f->moves[f->plan.nr_moves - 1].volume = 1;
	}
	begin_plan(f);
	run(f, 60);
	assert_int_equal(f->moved, 18);
	assert_int_equal(f->failed + f->given_up, 0);
	assert_int_equal(tier_sim_count_on(f->sim, 0, 0, 9, 0), 9);
	assert_int_equal(tier_sim_count_on(f->sim, 1, 0, 9, 1), 9);
	fixture_free(f);
}

static void test_another_plan(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	for (uint64_t i = 0; i < 20; i++)
		add_move(f, i, 0);
	begin_plan(f);
	tick(f);
	assert_int_equal(status_of(f).active, 2);
	f->plan.nr_moves = 0;
	add_move(f, 30, 0);
	begin_plan(f);
	run(f, 60);
	/* The two that were under way, and the new one. */
	assert_int_equal(f->moved, 3);
	assert_int_equal(tier_sim_tier_of(f->sim, 0, 30), 0);
	fixture_free(f);
}

/* ---------------------------------------------------------------- failures */

static void test_back_off(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);
	uint8_t device[4], hold[4];

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_NOT_CONVERGING, 2);
	add_move(f, 3, 0);
	begin_plan(f);
	run(f, 1);
	assert_int_equal(f->failed, 1);
	assert_int_equal(f->last_reason, TIER_REASON_NOT_CONVERGING);
	assert_int_equal(f->last_wait_ns, 5 * CLOCK_NS_PER_S);
	assert_int_equal(status_of(f).waiting, 1);
	run(f, 4);
	assert_int_equal(f->failed, 1);
	run(f, 2);
	assert_int_equal(f->failed, 2);
	assert_int_equal(f->last_wait_ns, 10 * CLOCK_NS_PER_S);

	/* A plan made meanwhile leaves it alone. */
	memset(device, 1, 4);
	memset(hold, 0, 4);
	execute_hold(f->execute, 0, 4, tier_sim_now_ns(f->sim), device, hold);
	assert_int_equal(hold[3], TIER_REASON_NOT_CONVERGING);
	assert_int_equal(hold[2] + hold[1] + hold[0], 0);
	assert_int_equal(device[3], 1);

	run(f, 12);
	assert_int_equal(f->moved, 1);
	memset(hold, 0, 4);
	execute_hold(f->execute, 0, 4, tier_sim_now_ns(f->sim), device, hold);
	assert_int_equal(hold[3], 0);
	fixture_free(f);
}

static void test_give_up(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);
	uint8_t device[4] = { 1, 1, 1, 1 }, hold[4] = { 0 };

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DEADLINE, 1000);
	add_move(f, 0, 0);
	begin_plan(f);
	run(f, 1000);
	assert_int_equal(f->failed, EXECUTE_ATTEMPTS - 1);
	assert_int_equal(f->given_up, 1);
	assert_int_equal(f->last_reason, TIER_REASON_DEADLINE);
	assert_int_equal(tier_sim_nr_migrates(f->sim), EXECUTE_ATTEMPTS);
	execute_hold(f->execute, 0, 4, tier_sim_now_ns(f->sim), device, hold);
	assert_int_equal(hold[0], TIER_REASON_DEADLINE);

	/* The next plan gives it one more chance only, and a longer rest. */
	tier_sim_advance(f->sim, 400 * CLOCK_NS_PER_S);
	hold[0] = 0;
	execute_hold(f->execute, 0, 4, tier_sim_now_ns(f->sim), device, hold);
	assert_int_equal(hold[0], 0);
	begin_plan(f);
	run(f, 1000);
	assert_int_equal(f->given_up, 2);
	assert_int_equal(tier_sim_nr_migrates(f->sim), EXECUTE_ATTEMPTS + 1);

	/* After a quiet day it is like any other. */
	tier_sim_advance(f->sim, 86400 * CLOCK_NS_PER_S);
	tick(f);
	f->failed = 0;
	begin_plan(f);
	run(f, 1);
	assert_int_equal(f->failed, 1);
	assert_int_equal(f->last_wait_ns, 5 * CLOCK_NS_PER_S);
	fixture_free(f);
}

/* A dead device costs a few attempts, not some for each of a hundred extents. */
static void test_dead_device(void **state)
{
	struct fixture *f = fixture_new(300, 200, 100);

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DST_WRITE_ERROR, 100000);
	for (uint64_t i = 0; i < 100; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 3600);
	assert_int_equal(status_of(f).pending + status_of(f).waiting, 0);
	assert_int_equal(f->moved, 0);
	assert_int_equal(f->given_up, 100);
	assert_true(f->untried >= 80);
	assert_in_range(tier_sim_nr_migrates(f->sim), 6, 30);

	/* It works again: the next plan finds out. */
	tier_sim_fail_moves(f->sim, 0, TIER_REASON_NONE, 0);
	tier_sim_advance(f->sim, 3600 * CLOCK_NS_PER_S);
	begin_plan(f);
	run(f, 60);
	assert_int_equal(f->moved, 100);
	fixture_free(f);
}

/* One bad extent does not stop its device. */
static void test_bad_extent(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DST_WRITE_ERROR, 1);
	for (uint64_t i = 0; i < 40; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 4);
	assert_int_equal(f->failed, 1);
	assert_in_range(f->moved, 30, 39);
	run(f, 10);
	assert_int_equal(f->moved, 40);
	fixture_free(f);
}

static void test_no_space(void **state)
{
	struct fixture *f = fixture_new(5, 50, 40);
	int64_t start_ns = tier_sim_now_ns(f->sim);

	/* The plan means well, but a tier is smaller than it thought. */
	for (uint64_t i = 0; i < 8; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 3600);
	assert_int_equal(f->moved, 5);
	assert_int_equal(f->given_up, 3);
	assert_int_equal(f->last_reason, TIER_REASON_NO_SPACE);
	/* Bounded: nothing of it is a loop. */
	assert_true(tier_sim_now_ns(f->sim) - start_ns < 1200 * CLOCK_NS_PER_S);
	fixture_free(f);
}

static void test_offline(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);

	tier_sim_set_device_state(f->sim, 0, TIER_DEVICE_DRAINING);
	add_move(f, 0, 0);
	begin_plan(f);
	run(f, 1);
	assert_int_equal(f->failed, 1);
	assert_int_equal(f->last_reason, TIER_REASON_DEVICE_MISSING);
	tier_sim_set_device_state(f->sim, 0, TIER_DEVICE_ONLINE);
	run(f, 10);
	assert_int_equal(f->moved, 1);
	fixture_free(f);
}

static void test_read_only(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);

	add_move(f, 0, 0);
	begin_plan(f);
	tier_sim_set_mode(f->sim, TIER_POOL_META_RO);
	assert_int_equal(execute_tick(f->execute, tier_sim_now_ns(f->sim)), -EROFS);
	assert_int_equal(status_of(f).pending, 1);
	tier_sim_set_mode(f->sim, TIER_POOL_RW);
	run(f, 10);
	assert_int_equal(f->moved, 1);
	assert_int_equal(f->failed, 0);
	fixture_free(f);
}

static void test_needless(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);

	add_move(f, 0, 0);
	add_move(f, 1, 0);
	add_move(f, 2, 1);	/* is there */
	add_move(f, 99, 0);	/* beyond the end */
	tier_sim_discard(f->sim, 0, 0);
	begin_plan(f);
	run(f, 10);
	assert_int_equal(f->moved, 1);
	assert_int_equal(f->needless, 3);
	assert_int_equal(status_of(f).waiting, 0);
	fixture_free(f);
}

static void test_queue_full(void **state)
{
	struct fixture *f = fixture_new(400, 400, 300);
	struct tier_target to = { .is_device = true, .index = 0 };
	uint64_t id;

	for (uint64_t i = 0; i < TIER_SIM_QUEUE; i++)
		assert_int_equal(f->backend.ops->migrate(f->backend.ctx, 0, i, to, false, &id), 0);
	add_move(f, 299, 0);
	begin_plan(f);
	tick(f);
	assert_int_equal(status_of(f).pending, 1);
	assert_int_equal(status_of(f).active, 0);
	run(f, 10);
	assert_int_equal(f->moved, 1);
	assert_int_equal(f->failed, 0);
	fixture_free(f);
}

/* ---------------------------------------------------------------- the end of it */

static void test_stop(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	tier_sim_set_speed(f->sim, 1000);	/* for ever */
	for (uint64_t i = 0; i < 40; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 2);
	assert_int_equal(status_of(f).active, 2);
	assert_int_equal(execute_stop(f->execute, tier_sim_now_ns(f->sim)), 0);
	assert_int_equal(status_of(f).pending, 0);
	tier_sim_advance(f->sim, STEP_NS);
	tick(f);
	assert_int_equal(status_of(f).active, 0);
	assert_int_equal(f->cancelled, 2);
	assert_int_equal(f->failed + f->moved + f->given_up, 0);
	fixture_free(f);
}

static void test_stop_forgets_attempts(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DEADLINE, 1);
	add_move(f, 0, 0);
	begin_plan(f);
	run(f, 1);
	assert_int_equal(status_of(f).waiting, 1);
	assert_int_equal(execute_stop(f->execute, tier_sim_now_ns(f->sim)), 0);
	assert_int_equal(status_of(f).waiting, 0);
	run(f, 20);
	assert_int_equal(f->moved, 0);
	fixture_free(f);
}

/* ---------------------------------------------------------------- losing sight */

/* tierd dies and comes back: what is under way is counted, held, and seen to end. */
static void test_adopt(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);
	uint8_t device[40], hold[40] = { 0 };

	tier_sim_set_speed(f->sim, REGION_BYTES);
	for (uint64_t i = 0; i < 6; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 5);
	assert_int_equal(f->moved, 4);
	f->moved = 0;
	new_executor(f);
	assert_int_equal(status_of(f).active, 2);
	memset(device, 1, sizeof(device));
	execute_hold(f->execute, 0, 40, tier_sim_now_ns(f->sim), device, hold);
	assert_int_equal(device[4], 0);
	assert_int_equal(hold[4], TIER_REASON_UNKNOWN);
	assert_int_equal(device[6], 1);
	run(f, 10);
	assert_int_equal(f->moved, 2);
	assert_int_equal(f->order[0], 4);
	/* Adopting again finds nothing new. */
	assert_int_equal(execute_adopt(f->execute, &f->pool), 0);
	assert_int_equal(status_of(f).active, 0);
	fixture_free(f);
}

static void test_adopted_fails(void **state)
{
	struct fixture *f = fixture_new(50, 50, 4);
	struct tier_target to = { .is_device = true, .index = 0 };
	uint64_t id;

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DEADLINE, 1);
	assert_int_equal(f->backend.ops->migrate(f->backend.ctx, 0, 1, to, false, &id), 0);
	tier_sim_advance(f->sim, 0);
	assert_int_equal(execute_adopt(f->execute, &f->pool), 0);
	assert_int_equal(status_of(f).active, 1);
	run(f, 30);
	/* Nobody here wanted it: it is not repeated. */
	assert_int_equal(f->given_up, 1);
	assert_int_equal(tier_sim_nr_migrates(f->sim), 1);
	fixture_free(f);
}

/* So many other moves end that the ring has lost ours: the map tells. */
static void test_ring_overrun(void **state)
{
	struct fixture *f = fixture_new(400, 400, 300);
	struct tier_target to = { .is_device = true, .index = 0 };
	uint64_t id;

	add_move(f, 0, 0);
	add_move(f, 1, 0);
	begin_plan(f);
	tick(f);
	assert_int_equal(status_of(f).active, 2);
	/* The second one is undone by someone else afterwards. */
	tier_sim_settle(f->sim);
	to.index = 1;
	assert_int_equal(f->backend.ops->migrate(f->backend.ctx, 0, 1, to, false, &id), 0);
	tier_sim_settle(f->sim);
	to.index = 0;
	for (uint64_t i = 2; i < 2 + TIER_SIM_RING; i++)
		assert_int_equal(f->backend.ops->migrate(f->backend.ctx, 0, i, to, false, &id), 0);
	tier_sim_settle(f->sim);
	tick(f);
	assert_int_equal(f->moved, 1);
	assert_int_equal(f->failed, 1);
	assert_int_equal(f->last_reason, TIER_REASON_UNKNOWN);
	run(f, 10);
	assert_int_equal(f->moved, 2);
	fixture_free(f);
}

/* The pool is loaded anew: ring and ids begin again. */
static void test_new_instance(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	for (uint64_t i = 0; i < 10; i++)
		add_move(f, i, 0);
	begin_plan(f);
	run(f, 10);
	assert_int_equal(f->moved, 10);
	f->plan.nr_moves = 0;
	for (uint64_t i = 10; i < 20; i++)
		add_move(f, i, 0);
	begin_plan(f);
	tick(f);
	assert_int_equal(status_of(f).active, 2);
	/* Which ends the two; nothing tells how, but the map. */
	tier_sim_reload(f->sim);
	run(f, 20);
	assert_int_equal(f->failed, 2);
	assert_int_equal(f->last_reason, TIER_REASON_UNKNOWN);
	assert_int_equal(f->moved, 20);
	fixture_free(f);
}

static void test_volume_vanishes(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);

	for (uint64_t i = 0; i < 40; i++)
		add_move(f, i, 0);
	begin_plan(f);
	tick(f);
	tier_sim_remove_volume(f->sim, 0);
	run(f, 60);
	assert_int_equal(status_of(f).active + status_of(f).pending + status_of(f).waiting, 0);
	assert_true(f->needless + f->moved + f->given_up >= 38);
	fixture_free(f);
}

static void test_unfinished(void **state)
{
	struct fixture *f = fixture_new(50, 50, 40);
	size_t nr = 0;

	tier_sim_fail_moves(f->sim, 0, TIER_REASON_DEADLINE, 1);
	for (uint64_t i = 0; i < 10; i++)
		add_move(f, i, 0);
	begin_plan(f);
	tick(f);
	tier_sim_advance(f->sim, STEP_NS);
	tier_sim_set_speed(f->sim, 1000);
	tick(f);
	/* 2 ended, one of them badly; 2 under way; 6 to come. */
	assert_int_equal(f->moved, 1);
	while (execute_unfinished(f->execute, nr))
		nr++;
	assert_int_equal(nr, 9);
	assert_int_equal(execute_unfinished(f->execute, 0)->extent, 2);
	assert_int_equal(execute_unfinished(f->execute, 2)->extent, 0);
	assert_int_equal(execute_unfinished(f->execute, 3)->extent, 4);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_max_moves),
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_another_plan),
		cmocka_unit_test(test_back_off),
		cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_dead_device),
		cmocka_unit_test(test_bad_extent),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_offline),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_needless),
		cmocka_unit_test(test_queue_full),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_forgets_attempts),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_adopted_fails),
		cmocka_unit_test(test_ring_overrun),
		cmocka_unit_test(test_new_instance),
		cmocka_unit_test(test_volume_vanishes),
		cmocka_unit_test(test_unfinished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
