// SPDX-License-Identifier: GPL-2.0-only
// link: libconfig
/*
 * Whatever happens, in whatever order: administrators, users, faults, clocks,
 * restarts, at random with known seeds. tierd neither crashes nor spins, the pool
 * stays consistent, and when all is well again everything comes to rest.
 *
 * DAEMON_SEEDS=<first>:<count> runs others.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util.h"
#include "world.h"

#define STEPS		120
#define MAX_VOLUMES	6

static const char *const configs[] = {
	"",
	"mode = \"measure\";",
	"schedule = ( );",
	"schedule = ( { days = \"daily\"; start = \"00:00\"; duration = \"24h\"; rate = \"medium\"; } );"
	"collect_interval = \"1min\"; plan_interval = \"2min\"; plan_moves = 3;",
	"schedule = ( { days = \"mon,wed\"; start = \"22:00\"; duration = \"4h\"; rate = \"slow\"; },"
	"{ days = \"fri\"; start = \"10:00\"; duration = \"20min\"; rate = \"1MiB/s\"; } );"
	"half_life = ( \"6h\", \"48h\" ); headroom_percent = 20; hysteresis = 1;",
	"policy = \"highest\"; moves_per_device = 8;"
	"measure = ( { days = \"daily\"; start = \"08:00\"; duration = \"10h\"; } );",
};

static const char *const labels[] = {
	"name=a", "name=b;policy=highest", "name=c;policy=lowest", "name=d;policy=start-highest",
	"name=e;policy=none", "",
};

struct random_world {
	struct world *w;
	struct tier_rng rng;
	uint64_t extents[MAX_VOLUMES];	/* by id; 0 = there is none */
	bool is_removed;		/* tierd has let the pool go */
};

static uint64_t below(struct random_world *r, uint64_t limit)
{
	return tier_rng_below(&r->rng, limit);
}

static uint32_t some_volume(struct random_world *r)
{
	uint32_t first = below(r, MAX_VOLUMES);

	for (uint32_t i = 0; i < MAX_VOLUMES; i++)
		if (r->extents[(first + i) % MAX_VOLUMES])
			return (first + i) % MAX_VOLUMES;
	return UINT32_MAX;
}

static void use(struct random_world *r)
{
	uint32_t id = some_volume(r);
	struct tier_sim_io io = { .reads = below(r, 1000), .writes = 1 + below(r, 1000), .sectors = 8 };

	for (uint64_t i = below(r, 20); id != UINT32_MAX && i > 0; i--)
		tier_sim_io(r->w->sim, id, below(r, r->extents[id]), &io);
}

static void change_volumes(struct random_world *r)
{
	uint32_t id = some_volume(r);

	switch (below(r, 4)) {
	case 0:
		for (id = 0; id < MAX_VOLUMES; id++) {
			if (r->extents[id])
				continue;
			r->extents[id] = 1 + below(r, 40);
			assert_int_equal(tier_sim_add_volume(r->w->sim, r->extents[id],
							     labels[below(r, TIER_NR(labels))]),
					 id);
			return;
		}
		break;
	case 1:
		if (id != UINT32_MAX && !below(r, 3)) {
			tier_sim_remove_volume(r->w->sim, id);
			r->extents[id] = 0;
		}
		break;
	case 2:
		if (id != UINT32_MAX)
			tier_sim_set_policy(r->w->sim, id, labels[below(r, TIER_NR(labels))]);
		break;
	case 3:
		if (id != UINT32_MAX)
			tier_sim_discard(r->w->sim, id, below(r, r->extents[id]));
		break;
	}
}

static void command(struct random_world *r)
{
	static const char *const targets[] = { "", "sim", "sim/a", "sim/b", "sim/nope", "nope" };
	const char *target = targets[below(r, TIER_NR(targets))];
	const struct clock_time now = world_now(r->w);
	struct tierd_error error;
	struct tierd_plan plan;

	switch (below(r, 5)) {
	case 0:
		tierd_relocate(r->w->tierd, target, below(r, 2), below(r, 2) ? "" : "1MiB", &now,
			       &error);
		break;
	case 1:
		tierd_pause(r->w->tierd, "", true, &now, &error);
		break;
	case 2:
		tierd_pause(r->w->tierd, "", false, &now, &error);
		break;
	case 3:
		tierd_abort(r->w->tierd, "", &now, &error);
		break;
	case 4:
		tierd_plan(r->w->tierd, "sim", &now, &plan, &error);
		break;
	}
}

static void break_something(struct random_world *r)
{
	static const enum tier_reason reasons[] = {
		TIER_REASON_DST_WRITE_ERROR, TIER_REASON_SRC_READ_ERROR, TIER_REASON_DEADLINE,
		TIER_REASON_NOT_CONVERGING, TIER_REASON_NO_SPACE, TIER_REASON_SUSPENDED,
	};
	static const enum tier_device_state states[] = {
		TIER_DEVICE_ONLINE, TIER_DEVICE_DRAINING, TIER_DEVICE_MISSING, TIER_DEVICE_FAILED,
	};
	static const int errors[] = { 0, -EPROTO, -EINTR, -ENOMEM };
	static const enum tier_pool_mode modes[] = {
		TIER_POOL_RW, TIER_POOL_OUT_OF_SPACE, TIER_POOL_META_RO, TIER_POOL_FAIL,
	};

	switch (below(r, 6)) {
	case 0:
		tier_sim_fail_moves(r->w->sim, below(r, 3), reasons[below(r, TIER_NR(reasons))],
				    below(r, 20));
		break;
	case 1:
		tier_sim_set_device_state(r->w->sim, below(r, 3), states[below(r, TIER_NR(states))]);
		break;
	case 2:
		tier_sim_set_mode(r->w->sim, modes[below(r, TIER_NR(modes))]);
		break;
	case 3:
		r->w->read_error = errors[below(r, TIER_NR(errors))];
		r->w->migrate_error = errors[below(r, TIER_NR(errors))];
		break;
	case 4:
		tier_sim_set_speed(r->w->sim, 1 << below(r, 30));
		break;
	case 5:
		tier_sim_reload(r->w->sim);
		break;
	}
}

static void heal(struct random_world *r)
{
	for (uint32_t idx = 0; idx < 3; idx++) {
		tier_sim_fail_moves(r->w->sim, idx, TIER_REASON_NONE, 0);
		tier_sim_set_device_state(r->w->sim, idx, TIER_DEVICE_ONLINE);
	}
	tier_sim_set_mode(r->w->sim, TIER_POOL_RW);
	tier_sim_set_speed(r->w->sim, 100 << 20);
	r->w->read_error = 0;
	r->w->migrate_error = 0;
}

static void set_clocks(struct random_world *r)
{
	r->w->real_offset_s += (int64_t)below(r, 72 * WORLD_HOUR_S) - 36 * WORLD_HOUR_S;
}

static void move_by_hand(struct random_world *r)
{
	struct tier_target to = { .is_device = below(r, 2), .index = below(r, 3) };
	uint32_t id = some_volume(r);
	uint64_t move;

	if (id != UINT32_MAX)
		r->w->sim_backend.ops->migrate(r->w->sim, id, below(r, r->extents[id]), to, false,
					       &move);
}

static void restart(struct random_world *r)
{
	const struct clock_time now = world_now(r->w);

	if (below(r, 2)) {
		tierd_leave(r->w->tierd);
		world_tick(r->w);
		tierd_save(r->w->tierd, &now);
	}
	tierd_free(r->w->tierd);
	r->w->config = configs[below(r, TIER_NR(configs))];
	if (below(r, 4) == 0) {
		r->w->boot_offset_ns = -tier_sim_now_ns(r->w->sim) + (int64_t)below(r, 1000000);
		snprintf(r->w->boot_id, sizeof(r->w->boot_id), "boot %u", (unsigned int)below(r, 1000));
	}
	heal(r);
	world_start_tierd(r->w);
	r->is_removed = false;
}

static void come_or_go(struct random_world *r)
{
	const struct clock_time now = world_now(r->w);

	if (r->is_removed) {
		r->w->read_error = 0;
		world_add_pool(r->w);
	} else {
		r->w->read_error = -ENODEV;
		world_run_for(r->w, 400);
		assert_int_equal(tierd_remove_pool(r->w->tierd, "sim", &now), 0);
	}
	r->is_removed = !r->is_removed;
}

static void step(struct random_world *r)
{
	const struct clock_time now = world_now(r->w);

	switch (below(r, 20)) {
	case 0:
	case 1:
	case 2:
	case 3:
		use(r);
		break;
	case 4:
	case 5:
	case 6:
		change_volumes(r);
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		command(r);
		break;
	case 11:
	case 12:
		break_something(r);
		break;
	case 13:
	case 14:
		heal(r);
		break;
	case 15:
		set_clocks(r);
		break;
	case 16:
		move_by_hand(r);
		break;
	case 17:
		restart(r);
		break;
	case 18:
		come_or_go(r);
		break;
	case 19:
		tierd_set_config(r->w->tierd, world_config(configs[below(r, TIER_NR(configs))]), &now);
		break;
	}
	world_run_for(r->w, (int64_t)below(r, below(r, 4) ? 60 : 3 * WORLD_HOUR_S));
}

/* All is well and nobody does anything: after a day all is where it should be. */
static void come_to_rest(struct random_world *r)
{
	struct clock_time now = world_now(r->w);
	struct tierd_pool_row row;
	struct tierd_error error;
	uint64_t migrates;

	heal(r);
	if (r->is_removed)
		come_or_go(r);
	tierd_set_config(r->w->tierd, world_config(configs[3]), &now);
	world_run_for(r->w, 60);
	now = world_now(r->w);
	assert_int_equal(tierd_pause(r->w->tierd, "", false, &now, &error), 0);
	world_run_for(r->w, 26 * WORLD_HOUR_S);
	migrates = tier_sim_nr_migrates(r->w->sim);
	world_run_for(r->w, WORLD_HOUR_S);
	assert_true(tierd_pool_row(r->w->tierd, 0, &row));
	/* Extents of different age fade at slightly different pace: one may cross a threshold. */
	if (row.active_moves + row.pending_moves) {
		world_run_for(r->w, 10);
		assert_true(tierd_pool_row(r->w->tierd, 0, &row));
	}
	assert_string_equal(row.state, "idle");
	assert_string_equal(row.reason, "-");
	assert_string_equal(row.detail, "");
	assert_int_equal(row.active_moves, 0);
	assert_int_equal(row.pending_moves, 0);
	assert_in_range(tier_sim_nr_migrates(r->w->sim), migrates, migrates + 2);
}

static void run_seed(uint64_t seed)
{
	struct random_world r = { .rng = { seed } };

	r.w = world_new(configs[seed % TIER_NR(configs)]);
	for (int i = 0; i < STEPS; i++)
		step(&r);
	come_to_rest(&r);
	world_free(r.w);
}

static void test_random(void **state)
{
	const char *seeds = getenv("DAEMON_SEEDS");
	unsigned long first = 1, count = 100;

	if (seeds && sscanf(seeds, "%lu:%lu", &first, &count) != 2)
		fail_msg("DAEMON_SEEDS is <first>:<count>");
	for (unsigned long seed = first; seed < first + count; seed++) {
		/* Seen only if it fails. */
		print_message("seed %lu\r", seed);
		run_seed(seed);
	}
	print_message("\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
