// SPDX-License-Identifier: GPL-2.0-only
// link: libconfig
/*
 * The whole daemon on a simulated pool and a clock that only the test turns:
 * windows, by hand, pause, faults, restarts, death.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "util.h"
#include "world.h"

#define EXTENT_SECTORS	WORLD_EXTENT_SECTORS
#define HOUR_S		WORLD_HOUR_S
#define NOON_S		WORLD_NOON_S
#define MIDNIGHT_S	WORLD_MIDNIGHT_S

static struct tierd_pool_row pool_row(struct world *w)
{
	struct tierd_pool_row row;

	assert_true(tierd_pool_row(w->tierd, 0, &row));
	assert_false(tierd_pool_row(w->tierd, 1, &row));
	assert_true(tierd_pool_row(w->tierd, 0, &row));
	return row;
}

static void assert_state(struct world *w, const char *state, const char *reason)
{
	struct tierd_pool_row row = pool_row(w);

	assert_string_equal(row.state, state);
	assert_string_equal(row.reason, reason);
}

static void heat_up(struct world *w, uint32_t volume, uint64_t first, uint64_t count, uint64_t ios)
{
	const struct tier_sim_io io = { .writes = ios, .sectors = 8 };

	for (uint64_t i = first; i < first + count; i++)
		assert_int_equal(tier_sim_io(w->sim, volume, i, &io), 0);
}

/* 40 extents on the lowest tier, of which 0 - 4 get hot while tierd watches. */
static void make_hot_spot(struct world *w)
{
	world_run_for(w, 60);
	assert_int_equal(tier_sim_add_volume(w->sim, 40, "name=v;policy=lowest"), 0);
	heat_up(w, 0, 0, 40, 1);
	world_run_for(w, 600);
	tier_sim_set_policy(w->sim, 0, "name=v");
	heat_up(w, 0, 0, 5, 100000);
	world_run_for(w, 600);
}

static void relocate(struct world *w, const char *target, bool now_and_here, const char *rate)
{
	const struct clock_time now = world_now(w);
	struct tierd_error error = { .text = "" };

	if (tierd_relocate(w->tierd, target, now_and_here, rate, &now, &error))
		fail_msg("%s", error.text);
}

static void assert_refused(struct world *w, const char *target, const char *rate,
			   enum tierd_error_kind kind, const char *text)
{
	const struct clock_time now = world_now(w);
	struct tierd_error error;

	assert_true(tierd_relocate(w->tierd, target, true, rate, &now, &error) < 0);
	assert_int_equal(error.kind, kind);
	assert_string_equal(error.text, text);
}

static int look_at(struct world *w, const char *volume, struct tierd_extents *ret_extents)
{
	const struct clock_time now = world_now(w);
	struct tierd_error error;

	return tierd_extents(w->tierd, volume, &now, ret_extents, &error);
}

static void set_paused(struct world *w, bool pause)
{
	const struct clock_time now = world_now(w);
	struct tierd_error error;

	assert_int_equal(tierd_pause(w->tierd, "sim", pause, &now, &error), 0);
}

static void abort_relocation(struct world *w)
{
	const struct clock_time now = world_now(w);
	struct tierd_error error;

	assert_int_equal(tierd_abort(w->tierd, "sim", &now, &error), 0);
}

static uint64_t on_tier(struct world *w, uint32_t tier)
{
	return tier_sim_count_on(w->sim, 0, 0, 5, tier);
}

/* ---------------------------------------------------------------- windows */

static void test_window(void **state)
{
	struct world *w = world_new("");
	const struct log_record *done;
	struct tierd_pool_row row;

	make_hot_spot(w);
	row = pool_row(w);
	assert_string_equal(row.window, "daily 00:00 8h fast");
	assert_false(row.window_open);
	assert_int_equal(row.window_start, MIDNIGHT_S);
	assert_int_equal(row.window_end, MIDNIGHT_S + 8 * HOUR_S);
	assert_int_equal(row.pending_moves, 5);
	assert_true(row.pending_up_bytes > 0 && !row.pending_down_bytes);
	assert_state(w, "idle", "outside_window");

	world_run_until(w, MIDNIGHT_S - 1);
	assert_int_equal(on_tier(w, 0), 0);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 0);
	world_run_until(w, MIDNIGHT_S + 30);
	assert_int_equal(on_tier(w, 0), 5);
	row = pool_row(w);
	assert_true(row.window_open);
	assert_int_equal(row.begin, MIDNIGHT_S);
	assert_int_equal(row.end, 0);
	assert_int_equal(row.up_moves, 5);
	assert_int_equal(row.done_moves, 5);
	assert_int_equal(row.failed_moves, 0);
	assert_int_equal(row.pending_moves, 0);
	assert_state(w, "idle", "-");
	assert_int_equal(w->events[LOG_RELOCATION_BEGAN_EVENT], 1);
	assert_int_equal(w->events[LOG_RELOCATION_ENDED_EVENT], 0);

	world_run_until(w, MIDNIGHT_S + 9 * HOUR_S);
	row = pool_row(w);
	assert_int_equal(row.end, MIDNIGHT_S + 8 * HOUR_S);
	assert_false(row.window_open);
	assert_int_equal(row.window_start, MIDNIGHT_S + 24 * HOUR_S);
	assert_int_equal(w->events[LOG_RELOCATION_ENDED_EVENT], 1);
	/* Each move is told, with its reason. */
	assert_int_equal(w->events[LOG_MOVE_DONE_EVENT], 5);
	assert_string_equal(w->last_text[LOG_MOVE_DONE_EVENT],
			    "volume v extent 4, tier 2 to 0: moved (hotter)");
	done = &w->last[LOG_MOVE_DONE_EVENT];
	assert_int_equal(done->priority, LOG_INFO);
	assert_true(done->has_extent && done->extent == 4 && done->has_bytes && done->bytes == 1 << 20);
	assert_int_equal(done->from_tier, 2);
	assert_int_equal(done->to_tier, 0);
	assert_int_equal(done->reason, TIER_REASON_HOTTER);
	assert_string_equal(w->last_text[LOG_RELOCATION_ENDED_EVENT],
			    "relocation ended (the window closed): 5 moves up (5MiB), 0 down, 0 "
			    "inside tiers, 0 given up, 5MiB into tier 0");
	world_free(w);
}

/* Moves that take longer than the window are cancelled when it closes, and done the next night. */
static void test_window_closes(void **state)
{
	struct world *w = world_new("");
	struct tierd_pool_row row;

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);		/* an extent takes 12 days */
	world_run_until(w, MIDNIGHT_S + 60);
	assert_state(w, "relocating", "-");
	assert_int_equal(pool_row(w).active_moves, 2);
	assert_int_equal(pool_row(w).pending_moves, 3);
	world_run_until(w, MIDNIGHT_S + 8 * HOUR_S + 2);
	row = pool_row(w);
	assert_int_equal(row.active_moves, 0);
	assert_int_equal(row.end, MIDNIGHT_S + 8 * HOUR_S);
	assert_int_equal(row.done_moves + row.failed_moves + row.retried_moves, 0);
	world_run_for(w, HOUR_S);
	assert_state(w, "idle", "outside_window");
	assert_int_equal(pool_row(w).pending_moves, 5);

	tier_sim_set_speed(w->sim, 1 << 20);
	world_run_until(w, MIDNIGHT_S + 25 * HOUR_S);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

/* Always open: one run a day, without a gap in which something would be cancelled. */
static void test_always_open(void **state)
{
	struct world *w = world_new("schedule = ( { days = \"daily\"; start = \"00:00\"; duration = \"24h\"; "
				    "rate = \"1MiB/s\"; } );");

	make_hot_spot(w);
	assert_true(pool_row(w).window_open);
	world_run_until(w, MIDNIGHT_S - 100);
	assert_int_equal(on_tier(w, 0), 5);
	tier_sim_set_speed(w->sim, 20 << 10);
	heat_up(w, 0, 20, 3, 1000000);
	world_run_until(w, MIDNIGHT_S + 3 * HOUR_S);
	assert_int_equal(w->events[LOG_RELOCATION_BEGAN_EVENT], 2);
	assert_int_equal(w->events[LOG_RELOCATION_ENDED_EVENT], 1);
	assert_int_equal(tier_sim_count_on(w->sim, 0, 20, 3, 0), 3);
	assert_string_equal(pool_row(w).rate, "1MiB/s");
	assert_int_equal(pool_row(w).rate_bytes_per_s, 1 << 20);
	world_free(w);
}

/* Continuous: a small plan every few minutes. */
static void test_continuous(void **state)
{
	struct world *w = world_new("schedule = ( { days = \"daily\"; start = \"00:00\"; duration = \"24h\"; } );"
				    "collect_interval = \"1min\"; plan_interval = \"10min\"; plan_moves = 2;");
	uint64_t before;

	world_run_for(w, 60);
	assert_int_equal(tier_sim_add_volume(w->sim, 40, "name=v;policy=lowest"), 0);
	heat_up(w, 0, 0, 40, 1);
	world_run_for(w, 1200);
	tier_sim_set_policy(w->sim, 0, "name=v");
	heat_up(w, 0, 0, 5, 100000);
	before = tier_sim_nr_migrates(w->sim);
	world_run_for(w, 10 * 60);
	assert_int_equal(tier_sim_nr_migrates(w->sim) - before, 2);
	world_run_for(w, 10 * 60);
	assert_int_equal(tier_sim_nr_migrates(w->sim) - before, 4);
	world_run_for(w, 10 * 60);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

static void test_measure_only(void **state)
{
	struct world *w = world_new("mode = \"measure\";");

	make_hot_spot(w);
	world_run_until(w, MIDNIGHT_S + HOUR_S);
	assert_state(w, "measure", "-");
	assert_int_equal(pool_row(w).pending_moves, 5);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 0);
	assert_refused(w, "sim", "", TIERD_MEASURE_ONLY,
		       "Pool sim is only measured: tierd.conf says mode = \"measure\"; change that and "
		       "run tierctl reload.");
	world_free(w);
}

/* I/O outside of the measure mask does not count, to the second. */
static void test_measure_mask(void **state)
{
	struct world *w = world_new("measure = ( { days = \"daily\"; start = \"13:00\"; duration = \"1h\"; } );"
				    "collect_interval = \"1h\";");
	struct tierd_extents extents;

	world_run_for(w, 60);
	assert_int_equal(tier_sim_add_volume(w->sim, 3, "name=v"), 0);
	world_run_until(w, NOON_S + HOUR_S - 10);
	heat_up(w, 0, 0, 1, 1000);
	world_run_until(w, NOON_S + HOUR_S + 10);
	heat_up(w, 0, 1, 1, 1000);
	world_run_until(w, NOON_S + 2 * HOUR_S - 10);
	heat_up(w, 0, 1, 1, 1000);
	world_run_until(w, NOON_S + 2 * HOUR_S + 10);
	heat_up(w, 0, 2, 1, 1000);
	world_run_for(w, 3 * HOUR_S);
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	assert_int_equal(extents.nr_extents, 3);
	assert_true(extents.heat[0] == 0);
	assert_in_range((int)extents.heat[1], 1000, 3000);
	assert_true(extents.heat[2] == 0);
	world_free(w);
}

static void test_skipped(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 60);
	/* The clock is set to the day after tomorrow: two nights have passed. */
	w->real_offset_s += 48 * HOUR_S;
	world_run_for(w, 60);
	assert_int_equal(w->events[LOG_WINDOW_SKIPPED_EVENT], 1);
	assert_string_equal(w->last_text[LOG_WINDOW_SKIPPED_EVENT],
			    "2 relocation windows passed unused: the machine slept, or its clock was "
			    "set");
	/* And back: nothing, above all no run of the night before. */
	w->real_offset_s -= 24 * HOUR_S;
	world_run_for(w, 60);
	assert_int_equal(w->events[LOG_WINDOW_SKIPPED_EVENT], 1);
	assert_int_equal(w->events[LOG_RELOCATION_BEGAN_EVENT], 0);
	world_free(w);
}

/* The clock is set into a window: it is open. Out of it: it is closed. */
static void test_clock_is_set(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	w->real_offset_s += 14 * HOUR_S;
	world_tick(w);
	assert_state(w, "relocating", "-");
	w->real_offset_s += 10 * HOUR_S;
	world_tick(w);
	assert_state(w, "stopping", "outside_window");
	world_run_for(w, 2);
	assert_state(w, "idle", "outside_window");
	world_free(w);
}

/* Nothing to do is nothing done: a tick for each collection, a few for windows. */
static void test_idle_is_quiet(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	world_run_until(w, MIDNIGHT_S + 12 * HOUR_S);
	w->ticks = 0;
	world_run_for(w, 24 * HOUR_S);
	assert_in_range(w->ticks, 24 * 12, 24 * 12 + 80);
	world_free(w);
}

/* ---------------------------------------------------------------- by hand */

static void test_relocate_now(void **state)
{
	struct world *w = world_new("");
	struct tierd_pool_row row;

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 64 << 10);
	/* What was counted since the last time is counted first. */
	heat_up(w, 0, 30, 1, 1000000);
	relocate(w, "sim", true, "medium");
	row = pool_row(w);
	assert_true(row.by_hand && !row.window_open);
	assert_string_equal(row.state, "relocating");
	assert_int_equal(row.active_moves, 2);
	assert_int_equal(row.pending_moves, 4);
	assert_string_equal(row.rate, "medium");
	assert_int_equal(row.rate_bytes_per_s, UINT64_C(160) << 20);
	world_run_for(w, 120);
	row = pool_row(w);
	assert_false(row.by_hand);
	assert_int_equal(row.up_moves, 6);
	assert_true(row.end > row.begin);
	assert_state(w, "idle", "-");
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(tier_sim_tier_of(w->sim, 0, 30), 0);
	assert_string_equal(row.rate, "fast");
	assert_int_equal(w->events[LOG_RELOCATION_BEGAN_EVENT], 1);
	assert_int_equal(w->events[LOG_RELOCATION_ENDED_EVENT], 1);
	world_free(w);
}

/* One volume only: the other's extents stay, unless they have to make room. */
static void test_relocate_volume(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	assert_int_equal(tier_sim_add_volume(w->sim, 4, "name=w;policy=lowest"), 1);
	heat_up(w, 1, 0, 4, 100);
	world_run_for(w, 600);
	tier_sim_set_policy(w->sim, 1, "name=w;policy=highest");
	relocate(w, "sim/w", true, "");
	world_run_for(w, 60);
	assert_int_equal(tier_sim_count_on(w->sim, 1, 0, 4, 0), 4);
	assert_int_equal(on_tier(w, 0), 0);
	assert_false(pool_row(w).by_hand);
	/* Sudden event, the other way: back to lowest. */
	tier_sim_set_policy(w->sim, 1, "name=w;policy=lowest");
	relocate(w, "sim/w", true, "");
	world_run_for(w, 60);
	assert_int_equal(tier_sim_count_on(w->sim, 1, 0, 4, 2), 4);
	assert_int_equal(pool_row(w).down_moves, 4);
	world_free(w);
}

static void test_relocate_refused(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	assert_refused(w, "nope", "", TIERD_NO_SUCH_POOL,
		       "There is no active pool \"nope\"; activate it with tpchange -ay, or see tps for "
		       "those that there are.");
	assert_refused(w, "sim/nope", "", TIERD_NO_SUCH_VOLUME,
		       "Pool sim has no volume \"nope\"; see tvs sim.");
	assert_refused(w, "sim/v/x", "", TIERD_INVALID, "\"sim/v/x\" is not a pool or <pool>/<volume>.");
	assert_refused(w, "sim", "quick", TIERD_INVALID,
		       "\"quick\" is not a rate: say fast, medium, slow or bytes per second like 100MiB.");
	set_paused(w, true);
	assert_refused(w, "sim", "", TIERD_PAUSED,
		       "Pool sim is paused; resume it first: tierctl resume sim");
	world_free(w);
}

/* In a window that was aborted it begins again; outside, the next window has the rate. */
static void test_relocate_later(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	relocate(w, "sim/v", false, "10MiB");
	assert_state(w, "idle", "outside_window");
	assert_string_equal(pool_row(w).rate, "10MiB/s");
	tier_sim_set_speed(w->sim, 1);
	world_run_until(w, MIDNIGHT_S + 10);
	assert_state(w, "relocating", "-");
	abort_relocation(w);
	world_run_for(w, 2);
	assert_state(w, "idle", "outside_window");
	assert_string_equal(pool_row(w).rate, "fast");
	world_run_for(w, HOUR_S);
	assert_state(w, "idle", "outside_window");
	relocate(w, "sim", false, "");
	assert_state(w, "relocating", "-");
	assert_false(pool_row(w).by_hand);
	world_free(w);
}

static void test_pause(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	world_run_until(w, MIDNIGHT_S + 10);
	set_paused(w, true);
	assert_state(w, "stopping", "paused");
	world_run_for(w, 2);
	assert_state(w, "paused", "paused");
	assert_int_equal(pool_row(w).active_moves, 0);
	assert_true(pool_row(w).end != 0);
	world_run_for(w, 600);
	assert_int_equal(pool_row(w).pending_moves, 5);

	/* It survives a restart, in an open window. */
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_run_for(w, 60);
	assert_state(w, "paused", "paused");
	tier_sim_set_speed(w->sim, 1 << 20);
	set_paused(w, false);
	assert_state(w, "relocating", "-");
	world_run_for(w, 60);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(w->events[LOG_PAUSED_EVENT], 1);
	assert_int_equal(w->events[LOG_RESUMED_EVENT], 1);
	world_free(w);
}

/* What was asked for by hand goes on after a pause. */
static void test_pause_by_hand(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	relocate(w, "sim", true, "slow");
	set_paused(w, true);
	world_run_for(w, 10);
	assert_state(w, "paused", "paused");
	tier_sim_set_speed(w->sim, 1 << 20);
	set_paused(w, false);
	assert_true(pool_row(w).by_hand);
	assert_string_equal(pool_row(w).rate, "slow");
	world_run_for(w, 60);
	assert_int_equal(on_tier(w, 0), 5);
	assert_false(pool_row(w).by_hand);
	world_free(w);
}

static void test_abort(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	abort_relocation(w);		/* nothing runs: nothing happens */
	assert_int_equal(w->events[LOG_ABORTED_EVENT], 0);
	tier_sim_set_speed(w->sim, 1);
	relocate(w, "sim", true, "");
	abort_relocation(w);
	assert_state(w, "stopping", "outside_window");
	world_run_for(w, 5);
	assert_state(w, "idle", "outside_window");
	assert_false(pool_row(w).by_hand);

	/* In a window: not before the next one, not even after a restart. */
	world_run_until(w, MIDNIGHT_S + 10);
	assert_state(w, "relocating", "-");
	abort_relocation(w);
	world_run_for(w, 5);
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_run_for(w, HOUR_S);
	assert_state(w, "idle", "outside_window");
	tier_sim_set_speed(w->sim, 1 << 20);
	world_run_until(w, MIDNIGHT_S + 24 * HOUR_S - 10);
	assert_int_equal(on_tier(w, 0), 0);
	world_run_until(w, MIDNIGHT_S + 24 * HOUR_S + 10);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

static void test_plan(void **state)
{
	struct world *w = world_new("");
	const struct clock_time earlier = world_now(w);
	struct tierd_plan plan;
	struct tierd_extents extents;
	struct tierd_error error;
	struct clock_time now;

	assert_int_equal(tierd_plan(w->tierd, "nope", &earlier, &plan, &error), -ENOENT);
	make_hot_spot(w);
	now = world_now(w);
	assert_int_equal(tierd_plan(w->tierd, "sim", &now, &plan, &error), 0);
	assert_int_equal(plan.nr_moves, 5);
	assert_int_equal(plan.bytes, 5 * EXTENT_SECTORS << 9);
	assert_int_equal(plan.moves[0].from_tier, 2);
	assert_int_equal(plan.moves[0].to_tier, 0);
	assert_int_equal(plan.moves[0].reason, TIER_REASON_HOTTER);
	assert_string_equal(tierd_volume_name(w->tierd, "sim", plan.moves[0].volume), "v");
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	assert_int_equal(extents.reason[0], TIER_REASON_OUTSIDE_WINDOW);
	assert_true(extents.heat[0] > 10000 && extents.heat[20] < 10);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 0);

	/* While it runs, a look at the plan does not disturb it. */
	tier_sim_set_speed(w->sim, 64 << 10);
	relocate(w, "sim", true, "");
	now = world_now(w);
	assert_int_equal(tierd_plan(w->tierd, "sim", &now, &plan, &error), 0);
	assert_int_equal(plan.nr_moves, 3);
	world_run_for(w, 120);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(pool_row(w).up_moves, 5);
	world_free(w);
}

/* A volume that was made, renamed or removed since the last plan. */
static void test_extents_of_new_volume(void **state)
{
	struct world *w = world_new("");
	struct tierd_extents extents;

	make_hot_spot(w);
	assert_int_equal(tier_sim_add_volume(w->sim, 7, "name=new"), 1);
	heat_up(w, 1, 2, 1, 100);
	assert_int_equal(look_at(w, "sim/new", &extents), 0);
	assert_int_equal(extents.nr_extents, 7);
	assert_true(extents.heat[1] == 0 && extents.heat[2] > 0);
	assert_int_equal(look_at(w, "sim/old", &extents), -ENOENT);
	tier_sim_set_policy(w->sim, 1, "name=old");
	assert_int_equal(look_at(w, "sim/old", &extents), 0);
	assert_int_equal(look_at(w, "sim/new", &extents), -ENOENT);
	assert_int_equal(look_at(w, "nope/v", &extents), -ENOENT);
	/* What is known can be looked at in a fault, what is not cannot. */
	w->read_error = -EPROTO;
	assert_int_equal(look_at(w, "sim/new", &extents), -EIO);
	assert_int_equal(look_at(w, "sim/old", &extents), 0);
	world_free(w);
}

/* ---------------------------------------------------------------- faults */

static void test_moves_fail(void **state)
{
	struct world *w = world_new("");
	struct tierd_extents extents;
	struct tierd_pool_row row;

	make_hot_spot(w);
	tier_sim_fail_moves(w->sim, 0, TIER_REASON_NOT_CONVERGING, 3);
	relocate(w, "sim", true, "");
	world_run_for(w, 2);
	row = pool_row(w);
	assert_int_equal(row.up_moves, 2);
	assert_int_equal(row.retried_moves, 3);
	assert_state(w, "idle", "throttled");
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	world_run_for(w, 20);
	row = pool_row(w);
	assert_int_equal(row.up_moves, 5);
	assert_int_equal(row.failed_moves, 0);
	assert_false(row.by_hand);
	assert_int_equal(w->events[LOG_MOVE_FAILED_EVENT], 3);
	world_free(w);
}

static void test_device_dies(void **state)
{
	struct world *w = world_new("");
	struct tierd_pool_row row;
	struct tierd_tier_row tier;

	make_hot_spot(w);
	tier_sim_fail_moves(w->sim, 0, TIER_REASON_DST_WRITE_ERROR, 1000000);
	relocate(w, "sim", true, "");
	world_run_for(w, 600);
	row = pool_row(w);
	assert_int_equal(row.up_moves, 0);
	assert_int_equal(row.failed_moves, 5);
	assert_false(row.by_hand);
	assert_true(tier_sim_nr_migrates(w->sim) <= 30);

	tier_sim_set_device_state(w->sim, 0, TIER_DEVICE_FAILED);
	world_run_for(w, 600);
	assert_true(tierd_tier_row(w->tierd, 0, &tier));
	assert_string_equal(tier.reason, "device_missing");
	assert_int_equal(tier.online_devices, 0);
	/* A tier that is not there is a state, not a loop. */
	w->ticks = 0;
	world_run_until(w, MIDNIGHT_S + 8 * HOUR_S);
	assert_true(w->ticks < 400);
	world_free(w);
}

static void test_meta_ro(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_mode(w->sim, TIER_POOL_META_RO);
	world_run_until(w, MIDNIGHT_S + 600);
	assert_state(w, "error", "meta_error");
	assert_string_equal(pool_row(w).mode, "meta_ro");
	assert_string_equal(pool_row(w).detail, "the pool is in mode meta_ro: its metadata cannot be "
			    "written, so nothing can be moved");
	assert_int_equal(w->events[LOG_POOL_ERROR_EVENT], 1);
	tier_sim_set_mode(w->sim, TIER_POOL_RW);
	world_run_for(w, 600);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);
	world_free(w);
}

/* It turns read-only under a run: the run ends, and begins again afterwards. */
static void test_meta_ro_while_moving(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 64 << 10);
	world_run_until(w, MIDNIGHT_S);
	tier_sim_set_mode(w->sim, TIER_POOL_META_RO);
	world_run_for(w, 60);
	assert_state(w, "error", "meta_error");
	assert_int_equal(pool_row(w).active_moves, 0);
	tier_sim_set_mode(w->sim, TIER_POOL_RW);
	world_run_for(w, 600);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

/* Calls fail for a while: shown, logged once, tried again ever more rarely. */
static void test_calls_fail(void **state)
{
	struct world *w = world_new("");
	struct tierd_error error;
	struct tierd_plan plan;
	struct clock_time now;

	make_hot_spot(w);
	w->read_error = -EPROTO;
	world_run_for(w, 600);
	assert_state(w, "error", "throttled");
	assert_string_equal(pool_row(w).detail, "reading the pool failed: Protocol error");
	assert_int_equal(w->events[LOG_POOL_ERROR_EVENT], 6);	/* one above debug level */
	now = world_now(w);
	assert_true(tierd_plan(w->tierd, "sim", &now, &plan, &error) < 0);
	assert_int_equal(error.kind, TIERD_UNAVAILABLE);
	w->ticks = 0;
	world_run_for(w, HOUR_S);
	assert_true(w->ticks < 20);
	w->read_error = 0;
	world_run_for(w, 600);
	assert_state(w, "idle", "outside_window");
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);

	/* The same while a relocation by hand runs: it is not lost. */
	w->migrate_error = -EPROTO;
	relocate(w, "sim", false, "");
	now = world_now(w);
	assert_true(tierd_relocate(w->tierd, "sim", true, "", &now, &error) < 0);
	world_run_for(w, 60);
	assert_state(w, "error", "throttled");
	w->migrate_error = 0;
	world_run_for(w, 600);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(pool_row(w).up_moves, 5);
	assert_false(pool_row(w).by_hand);
	world_free(w);
}

/* While the pool is loaded anew it cannot be read: an error only if that lasts. */
static void test_pool_not_loaded(void **state)
{
	struct world *w = world_new("");
	struct tierd_error error;
	struct tierd_plan plan;
	struct clock_time now;

	make_hot_spot(w);
	w->read_error = -ENODATA;
	world_run_for(w, 600);
	assert_state(w, "error", "throttled");
	assert_string_equal(pool_row(w).detail,
			    "reading the pool failed: " TIER_NOT_LOADED_TEXT);
	assert_int_equal(w->priorities[LOG_ERR], 1);
	w->read_error = 0;
	world_run_for(w, 600);
	assert_state(w, "idle", "outside_window");
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);

	w->read_error = -ENODATA;
	now = world_now(w);
	assert_int_equal(tierd_plan(w->tierd, "sim", &now, &plan, &error), -EIO);
	assert_non_null(strstr(error.text, TIER_NOT_LOADED_TEXT));
	w->read_error = 0;
	world_run_for(w, 600);
	assert_state(w, "idle", "outside_window");
	assert_int_equal(w->priorities[LOG_ERR], 1);
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);
	world_free(w);
}

/* ... also while it relocates: the reason is said, not what fails because of it. */
static void test_pool_not_loaded_while_it_relocates(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	relocate(w, "sim", true, "");
	world_run_for(w, 10);
	w->read_error = -ENODATA;
	w->message_error = -ENXIO;
	world_run_for(w, 600);
	assert_string_equal(pool_row(w).detail,
			    "reading the pool failed: " TIER_NOT_LOADED_TEXT);
	assert_int_equal(w->priorities[LOG_ERR], 1);
	assert_non_null(strstr(w->last_text[LOG_POOL_ERROR_EVENT], TIER_NOT_LOADED_TEXT));
	w->read_error = w->message_error = 0;
	tier_sim_set_speed(w->sim, 500000000);
	world_run_for(w, 600);
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

static void test_pool_vanishes(void **state)
{
	struct world *w = world_new("");
	struct tierd_extents extents;
	struct tierd_pool_row row;
	struct clock_time now;
	float heat;

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	relocate(w, "sim", true, "");
	w->read_error = -ENODEV;
	world_run_for(w, 400);
	assert_true(w->next.has_lost_pools);
	now = world_now(w);
	assert_int_equal(tierd_remove_pool(w->tierd, "sim", &now), 0);
	assert_int_equal(tierd_remove_pool(w->tierd, "sim", &now), -ENOENT);
	assert_false(tierd_pool_row(w->tierd, 0, &row));
	world_tick(w);
	assert_false(w->next.has_lost_pools);
	assert_int_equal(w->next.at_ns, CLOCK_NEVER);

	/* It comes back with new counters: the heat is still there. */
	w->read_error = 0;
	tier_sim_reload(w->sim);
	tier_sim_set_speed(w->sim, 1 << 20);
	world_add_pool(w);
	world_run_for(w, 60);
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	heat = extents.heat[0];
	assert_true(heat > 10000);
	heat_up(w, 0, 0, 1, 50000);
	world_run_for(w, 600);
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	assert_true(extents.heat[0] > 1.3 * heat && extents.heat[0] < 1.7 * heat);
	world_free(w);
}

static void test_volumes_come_and_go(void **state)
{
	struct world *w = world_new("");
	struct tierd_volume_row row;
	struct tierd_extents extents;
	struct tierd_error error;
	struct clock_time now;

	make_hot_spot(w);
	assert_int_equal(tier_sim_add_volume(w->sim, 7, ""), 1);
	world_run_for(w, 600);
	assert_true(tierd_volume_row(w->tierd, 1, &row));
	assert_string_equal(row.name, row.uuid);
	assert_string_equal(row.policy, "auto");
	assert_string_equal(row.policy_from, "default");
	assert_int_equal(row.size_bytes, 7 * EXTENT_SECTORS * 512);
	assert_false(tierd_volume_row(w->tierd, 2, &row));

	/* Another volume under the same id inherits nothing. */
	tier_sim_remove_volume(w->sim, 0);
	assert_int_equal(tier_sim_add_volume(w->sim, 40, "name=new"), 0);
	heat_up(w, 0, 1, 1, 10);
	world_run_for(w, 600);
	now = world_now(w);
	assert_int_equal(tierd_extents(w->tierd, "sim/v", &now, &extents, &error), -ENOENT);
	assert_int_equal(error.kind, TIERD_NO_SUCH_VOLUME);
	assert_int_equal(look_at(w, "sim/new", &extents), 0);
	assert_true(extents.heat[0] == 0);
	assert_true(extents.heat[1] > 0 && extents.heat[1] < 100);
	world_free(w);
}

/* ---------------------------------------------------------------- policies */

static void test_policies(void **state)
{
	struct world *w = world_new("policy = \"lowest\"; pools = ( { name = \"sim\"; "
				    "volumes = ( { name = \"c\"; policy = \"none\"; } ); } );");
	struct tierd_volume_row row;
	char label[64];

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 1, "name=a;policy=highest");
	tier_sim_add_volume(w->sim, 1, "name=b");
	tier_sim_add_volume(w->sim, 1, "name=c");
	tier_sim_add_volume(w->sim, 1, "name=d");
	assert_int_equal(w->sim_backend.ops->set_label(w->sim, 3, "name=d;policy=hihgest"), 0);
	snprintf(label, sizeof(label), "name=e;policy=auto;pin=highest:%lld",
		 (long long)(NOON_S + HOUR_S));
	tier_sim_add_volume(w->sim, 1, label);
	world_run_for(w, 600);
	tierd_volume_row(w->tierd, 0, &row);
	assert_string_equal(row.policy, "highest");
	assert_string_equal(row.policy_from, "label");
	tierd_volume_row(w->tierd, 1, &row);
	assert_string_equal(row.policy, "lowest");
	assert_string_equal(row.policy_from, "default");
	tierd_volume_row(w->tierd, 2, &row);
	assert_string_equal(row.policy, "none");
	assert_string_equal(row.policy_from, "config");
	tierd_volume_row(w->tierd, 3, &row);
	assert_string_equal(row.policy, "none");
	assert_string_equal(row.policy_from, "error");
	tierd_volume_row(w->tierd, 4, &row);
	assert_string_equal(row.policy, "highest");
	assert_string_equal(row.policy_from, "pin");
	assert_int_equal(row.pin_until, NOON_S + HOUR_S);

	/* Only c is listed, and nothing outvotes that. */
	assert_int_equal(w->events[LOG_CONFIG_OUTVOTED_EVENT], 0);

	/* First writes follow: the placement of b by tierd.conf, of e until its pin ends. */
	heat_up(w, 1, 0, 1, 1);
	assert_int_equal(tier_sim_tier_of(w->sim, 1, 0), 2);
	heat_up(w, 4, 0, 1, 1);
	assert_int_equal(tier_sim_tier_of(w->sim, 4, 0), 0);
	world_run_until(w, NOON_S + HOUR_S + 600);
	tierd_volume_row(w->tierd, 4, &row);
	assert_string_equal(row.policy, "auto");
	assert_string_equal(row.policy_from, "label");
	assert_int_equal(row.pin_until, 0);
	tier_sim_discard(w->sim, 4, 0);
	heat_up(w, 4, 0, 1, 1);
	assert_int_equal(tier_sim_tier_of(w->sim, 4, 0), 2);
	world_free(w);
}

static const char *const outvoting_config =
	"pools = ( { name = \"sim\"; volumes = ( { name = \"a\"; policy = \"lowest\"; }, "
	"{ name = \"b\"; policy = \"none\"; }, { name = \"c\"; policy = \"none\"; }, "
	"{ name = \"d\"; policy = \"none\"; } ); } );";

/* Lines of tierd.conf that do nothing are told of when it is loaded, not whenever a label changes. */
static void test_outvoted(void **state)
{
	struct world *w = world_new(outvoting_config);
	struct clock_time now;
	char label[64];

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 1, "name=a;policy=highest");
	tier_sim_add_volume(w->sim, 1, "name=b");
	tier_sim_add_volume(w->sim, 1, "name=c;policy=none");
	snprintf(label, sizeof(label), "name=d;pin=highest:%lld", (long long)(NOON_S + HOUR_S));
	tier_sim_add_volume(w->sim, 1, label);
	world_run_for(w, 600);
	assert_int_equal(w->events[LOG_CONFIG_OUTVOTED_EVENT], 0);
	now = world_now(w);
	tierd_set_config(w->tierd, world_config(outvoting_config), &now);
	world_run_for(w, 3 * HOUR_S);
	assert_int_equal(w->events[LOG_CONFIG_OUTVOTED_EVENT], 1);
	assert_non_null(strstr(w->last_text[LOG_CONFIG_OUTVOTED_EVENT],
			       "volume a has the policy highest of its own"));
	now = world_now(w);
	tierd_set_config(w->tierd, world_config(outvoting_config), &now);
	world_run_for(w, HOUR_S);
	assert_int_equal(w->events[LOG_CONFIG_OUTVOTED_EVENT], 2);
	world_free(w);
}

/* A device that is not there is told of once, another one again, and when all are back. */
static void test_missing_devices(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 600);
	assert_int_equal(w->events[LOG_POOL_PARTIAL_EVENT], 0);
	tier_sim_set_device_state(w->sim, 1, TIER_DEVICE_MISSING);
	world_run_for(w, HOUR_S);
	assert_int_equal(w->events[LOG_POOL_PARTIAL_EVENT], 1);
	assert_string_equal(w->last_text[LOG_POOL_PARTIAL_EVENT],
			    "1 of its 3 devices is missing or failed (the first: device 1 of tier 1): "
			    "I/O to what lies there gives errors");
	tier_sim_set_device_state(w->sim, 0, TIER_DEVICE_FAILED);
	world_run_for(w, HOUR_S);
	assert_int_equal(w->events[LOG_POOL_PARTIAL_EVENT], 2);
	assert_non_null(strstr(w->last_text[LOG_POOL_PARTIAL_EVENT], "2 of its 3 devices are"));
	tier_sim_set_device_state(w->sim, 1, TIER_DEVICE_ONLINE);
	world_run_for(w, HOUR_S);
	assert_int_equal(w->events[LOG_POOL_PARTIAL_EVENT], 2);
	assert_int_equal(w->events[LOG_POOL_WHOLE_EVENT], 0);
	tier_sim_set_device_state(w->sim, 0, TIER_DEVICE_ONLINE);
	world_run_for(w, HOUR_S);
	assert_int_equal(w->events[LOG_POOL_WHOLE_EVENT], 1);
	world_free(w);
}

static void test_reload(void **state)
{
	struct world *w = world_new("");
	struct tierd_tier_row row;
	struct clock_time now;

	make_hot_spot(w);
	now = world_now(w);
	tierd_set_config(w->tierd, world_config("schedule = ( ); half_life = (\"1h\", \"24h\");"
					     "pools = ( { name = \"sim\"; headroom_percent = 50;"
					     "tiers = ( { tier = 0; name = \"ssd\"; } ); } );"), &now);
	world_run_for(w, 60);
	assert_string_equal(pool_row(w).window, "");
	assert_int_equal(pool_row(w).window_start, 0);
	assert_true(tierd_tier_row(w->tierd, 0, &row));
	assert_string_equal(row.name, "ssd");
	assert_int_equal(row.headroom_bytes, 5 * EXTENT_SECTORS * 512);
	assert_true(tierd_tier_row(w->tierd, 2, &row));
	assert_string_equal(row.name, "2");
	assert_false(tierd_tier_row(w->tierd, 3, &row));
	world_run_until(w, MIDNIGHT_S + HOUR_S);
	assert_state(w, "idle", "outside_window");
	assert_int_equal(tier_sim_nr_migrates(w->sim), 0);
	now = world_now(w);
	tierd_set_config(w->tierd, world_config(""), &now);
	world_run_for(w, 60);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

/* ---------------------------------------------------------------- restarts */

static void copy_heat(struct world *w, float *ret_heat)
{
	const struct clock_time now = world_now(w);
	struct tierd_extents extents;
	struct tierd_error error;
	struct tierd_plan plan;

	/* Ranks are as of the last plan: make one now. */
	assert_int_equal(tierd_plan(w->tierd, "sim", &now, &plan, &error), 0);
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	assert_int_equal(extents.nr_extents, 40);
	memcpy(ret_heat, extents.heat, 40 * sizeof(float));
}

static void reboot(struct world *w)
{
	w->boot_offset_ns = -tier_sim_now_ns(w->sim) + 20 * CLOCK_NS_PER_S;
	snprintf(w->boot_id, sizeof(w->boot_id), "boot 2");
}

static void test_restart(void **state)
{
	struct world *w = world_new("mode = \"measure\";");
	float before[40], after[40];
	struct clock_time now;
	int64_t since;

	make_hot_spot(w);
	world_run_for(w, 5 * HOUR_S + 17);
	copy_heat(w, before);
	since = pool_row(w).heat_since;
	assert_int_equal(since, NOON_S);
	now = world_now(w);
	assert_int_equal(tierd_save(w->tierd, &now), 0);
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_tick(w);
	copy_heat(w, after);
	assert_memory_equal(before, after, sizeof(before));
	assert_int_equal(pool_row(w).heat_since, since);

	/* Another boot: the clock's zero is another, the heat the same. */
	now = world_now(w);
	assert_int_equal(tierd_save(w->tierd, &now), 0);
	tierd_free(w->tierd);
	reboot(w);
	world_start_tierd(w);
	world_tick(w);
	copy_heat(w, after);
	for (int i = 0; i < 40; i++)
		assert_true(fabsf(after[i] - before[i]) <= before[i] * 1e-5f);
	world_free(w);
}

static void restart(struct world *w, bool is_boot)
{
	const struct clock_time now = world_now(w);

	assert_int_equal(tierd_save(w->tierd, &now), 0);
	tierd_free(w->tierd);
	if (is_boot)
		reboot(w);
	world_start_tierd(w);
	world_tick(w);
}

/* Extents whose moves failed are left alone as long as they would have been. */
static void test_restart_keeps_failures(void **state)
{
	struct world *w = world_new("");
	struct clock_time now;

	make_hot_spot(w);
	tier_sim_fail_moves(w->sim, 0, TIER_REASON_NOT_CONVERGING, 1000000);
	relocate(w, "sim", true, "");
	world_run_for(w, 200);
	assert_int_equal(pool_row(w).failed_moves, 5);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 30);
	for (int is_boot = 0; is_boot <= 1; is_boot++) {
		restart(w, is_boot);
		relocate(w, "sim", true, "");
		world_run_for(w, 30);
		assert_int_equal(tier_sim_nr_migrates(w->sim), 30);
	}
	/* Then they are tried again, once each. */
	world_run_for(w, 100);
	relocate(w, "sim", true, "");
	world_run_for(w, 100);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 35);
	/* Who takes the pool down has seen to the cause. */
	now = world_now(w);
	assert_int_equal(tierd_remove_pool(w->tierd, "sim", &now), 0);
	world_add_pool(w);
	tier_sim_fail_moves(w->sim, 0, TIER_REASON_NOT_CONVERGING, 0);
	relocate(w, "sim", true, "");
	world_run_for(w, 10);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 40);
	assert_int_equal(on_tier(w, 0), 5);
	world_free(w);
}

/*
 * Killed at any moment, never saved by hand: I/O between the last save and the
 * death is still in the kernel's counters, and so is I/O while it was dead.
 */
static void test_killed(void **state)
{
	struct world *w = world_new("mode = \"measure\";"), *twin = world_new("mode = \"measure\";");
	float killed[40], lived[40];

	make_hot_spot(w);
	make_hot_spot(twin);
	for (int i = 0; i < 20; i++) {
		heat_up(w, 0, i, 5, 5000);
		heat_up(twin, 0, i, 5, 5000);
		world_run_for(w, 1700);
		world_run_for(twin, 1700);
		tierd_free(w->tierd);
		world_start_tierd(w);
		world_tick(w);
	}
	copy_heat(w, killed);
	copy_heat(twin, lived);
	for (int i = 0; i < 40; i++)
		/* Only when within the hour before the save it came is not known any more. */
		if (fabsf(killed[i] - lived[i]) > lived[i] * 0.03f)
			fail_msg("extent %d: %g instead of %g", i, killed[i], lived[i]);
	assert_true(lived[0] > 1000);
	world_free(twin);
	world_free(w);
}

/* Without a state nothing is known of volumes that were there: nothing moves on ignorance. */
static void test_no_heat_yet(void **state)
{
	struct world *w = world_new("");
	struct tierd_extents extents;

	make_hot_spot(w);
	relocate(w, "sim", true, "");
	world_run_for(w, 60);
	assert_int_equal(on_tier(w, 0), 5);
	tierd_free(w->tierd);
	assert_int_equal(unlinkat(w->setup.state_dirfd, "00000000-0000-4000-8000-000000000001.0", 0) &
			 unlinkat(w->setup.state_dirfd, "00000000-0000-4000-8000-000000000001.1", 0),
			 0);
	tier_sim_reload(w->sim);
	world_start_tierd(w);
	world_run_until(w, MIDNIGHT_S + HOUR_S);
	assert_int_equal(look_at(w, "sim/v", &extents), 0);
	assert_true(extents.heat[0] < 0);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(pool_row(w).pending_moves, 0);
	world_free(w);
}

static void test_damaged_state(void **state)
{
	static const char *const names[] = { "00000000-0000-4000-8000-000000000001.0",
					     "00000000-0000-4000-8000-000000000001.1" };
	struct world *w = world_new("");

	make_hot_spot(w);
	world_run_for(w, 3 * HOUR_S);
	tierd_free(w->tierd);
	for (int i = 0; i < 2; i++) {
		int fd = openat(w->setup.state_dirfd, names[i], O_RDWR);

		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, "x", 1, 500), 1);
		close(fd);
	}
	world_start_tierd(w);
	assert_int_equal(w->events[LOG_STATE_UNUSABLE_EVENT], 1);
	world_run_for(w, 60);
	/* What the kernel still counts is heat; the rest is not known. */
	assert_true(pool_row(w).heat_since > NOON_S);
	world_free(w);
}

/* tierd dies with moves under way: they just finish, and the next one counts them. */
static void test_dies_while_moving(void **state)
{
	struct world *w = world_new("");
	struct tierd_pool_row row;

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 64 << 10);
	world_run_until(w, MIDNIGHT_S + 4);
	assert_int_equal(pool_row(w).active_moves, 2);
	tierd_free(w->tierd);
	world_start_tierd(w);
	assert_int_equal(pool_row(w).active_moves, 2);
	world_run_for(w, 200);
	row = pool_row(w);
	assert_int_equal(on_tier(w, 0), 5);
	assert_int_equal(row.up_moves, 5);
	assert_int_equal(row.failed_moves, 0);
	assert_int_equal(tier_sim_nr_migrates(w->sim), 5);
	world_free(w);
}

/* Outside of a window they finish too: nobody there wants them cancelled. */
static void test_dies_outside_window(void **state)
{
	struct world *w = world_new("");

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 64 << 10);
	relocate(w, "sim", true, "");
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_run_for(w, 100);
	assert_int_equal(on_tier(w, 0), 2);
	assert_int_equal(pool_row(w).active_moves, 0);
	assert_state(w, "idle", "outside_window");
	world_free(w);
}

static void test_leave(void **state)
{
	struct world *w = world_new("");
	struct clock_time now;

	make_hot_spot(w);
	tier_sim_set_speed(w->sim, 1);
	world_run_until(w, MIDNIGHT_S + 60);
	assert_false(tierd_is_idle(w->tierd));
	tierd_leave(w->tierd);
	world_tick(w);
	assert_false(tierd_is_idle(w->tierd));
	world_run_for(w, 2);
	assert_true(tierd_is_idle(w->tierd));
	now = world_now(w);
	assert_int_equal(tierd_save(w->tierd, &now), 0);
	world_run_for(w, HOUR_S);
	assert_int_equal(on_tier(w, 0), 0);
	world_free(w);
}

static void test_state_cannot_be_saved(void **state)
{
	struct world *w = world_new("");
	int dirfd = w->setup.state_dirfd, null = open("/dev/null", O_RDONLY);
	struct clock_time now = world_now(w);
	struct tierd_error error;

	world_run_for(w, 60);
	/* The folder is gone from under it. */
	tierd_free(w->tierd);
	w->setup.state_dirfd = null;
	world_start_tierd(w);
	assert_true(tierd_pause(w->tierd, "sim", true, &now, &error) < 0);
	assert_int_equal(error.kind, TIERD_UNAVAILABLE);
	assert_state(w, "paused", "paused");
	w->ticks = 0;
	world_run_for(w, HOUR_S);
	assert_true(w->ticks < 100);
	w->setup.state_dirfd = dirfd;
	close(null);
	world_free(w);
}

/* A file of the state folder, as old as that. */
static void put_file(struct world *w, const char *name, int64_t age_s)
{
	const struct timespec times[2] = {
		{ .tv_sec = WORLD_NOON_S - age_s }, { .tv_sec = WORLD_NOON_S - age_s },
	};
	int fd = openat(w->setup.state_dirfd, name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool has_file(struct world *w, const char *name)
{
	return !faccessat(w->setup.state_dirfd, name, F_OK, 0);
}

/* The state of a pool that nobody has used for a year goes; of one that is active it stays. */
static void test_old_states(void **state)
{
	static const char old[] = "11111111-2222-3333-4444-555555555555.0";
	static const char young[] = "11111111-2222-3333-4444-555555555555.1";
	struct world *w = world_new("");
	char active[64];

	put_file(w, old, 367 * 24 * HOUR_S);
	put_file(w, young, 360 * 24 * HOUR_S);
	put_file(w, "notes", 400 * 24 * HOUR_S);
	put_file(w, ".0", 400 * 24 * HOUR_S);
	/* As if it could not be saved for a year. */
	snprintf(active, sizeof(active), "%s.1", pool_row(w).uuid);
	world_run_for(w, HOUR_S - 10);
	assert_true(has_file(w, old) && has_file(w, active));
	put_file(w, active, 400 * 24 * HOUR_S);
	world_run_for(w, HOUR_S);
	assert_false(has_file(w, old));
	assert_true(has_file(w, young) && has_file(w, "notes") && has_file(w, ".0"));
	assert_true(has_file(w, active));
	world_run_for(w, 8 * 24 * HOUR_S);
	assert_false(has_file(w, young));
	assert_true(has_file(w, "notes"));
	assert_int_equal(unlinkat(w->setup.state_dirfd, ".0", 0), 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_closes),
		cmocka_unit_test(test_always_open),
		cmocka_unit_test(test_continuous),
		cmocka_unit_test(test_measure_only),
		cmocka_unit_test(test_measure_mask),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_clock_is_set),
		cmocka_unit_test(test_idle_is_quiet),
		cmocka_unit_test(test_relocate_now),
		cmocka_unit_test(test_relocate_volume),
		cmocka_unit_test(test_relocate_refused),
		cmocka_unit_test(test_relocate_later),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_pause_by_hand),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_extents_of_new_volume),
		cmocka_unit_test(test_moves_fail),
		cmocka_unit_test(test_device_dies),
		cmocka_unit_test(test_meta_ro),
		cmocka_unit_test(test_meta_ro_while_moving),
		cmocka_unit_test(test_calls_fail),
		cmocka_unit_test(test_pool_not_loaded),
		cmocka_unit_test(test_pool_not_loaded_while_it_relocates),
		cmocka_unit_test(test_pool_vanishes),
		cmocka_unit_test(test_volumes_come_and_go),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_outvoted),
		cmocka_unit_test(test_missing_devices),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_restart_keeps_failures),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_no_heat_yet),
		cmocka_unit_test(test_damaged_state),
		cmocka_unit_test(test_dies_while_moving),
		cmocka_unit_test(test_dies_outside_window),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_state_cannot_be_saved),
		cmocka_unit_test(test_old_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
