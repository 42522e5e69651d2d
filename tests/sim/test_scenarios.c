// SPDX-License-Identifier: GPL-2.0-only
/*
 * Situations of whole pools that must come out right, on the simulated pool: heat
 * and planner as tierd uses them, counters read every hour, relocation at night.
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

#include "brain.h"

#define SECOND		INT64_C(1000000000)
#define HOUR		(3600 * SECOND)
#define GIB_SECTORS	2097152
#define MIB_SECTORS	2048

struct world {
	struct tier_sim *sim;
	struct tier_brain *brain;
	struct tier_rng rng;
};

static void world_begin(struct world *world, uint64_t extent_sectors, uint64_t region_sectors,
			const uint64_t *tier_slots, uint32_t nr_tiers)
{
	world->rng.state = 7;
	world->sim = tier_sim_new(extent_sectors, region_sectors);
	for (uint32_t tier = 0; tier < nr_tiers; tier++)
		tier_sim_add_device(world->sim, tier, tier_slots[tier]);
	world->brain = tier_brain_new(world->sim);
}

static void world_end(struct world *world)
{
	assert_null(tier_sim_check(world->sim));
	tier_brain_free(world->brain);
	tier_sim_free(world->sim);
}

static void let_pass(struct world *world, int64_t ns)
{
	for (; ns > 0; ns -= HOUR) {
		tier_sim_advance(world->sim, ns < HOUR ? ns : HOUR);
		tier_brain_collect(world->brain);
	}
}

/* A file written once from end to end, in I/Os of 1 MiB. */
static void write_file(struct world *world, uint32_t volume, uint64_t first, uint64_t count)
{
	struct tier_sim_io io = { .writes = 1024, .sectors = MIB_SECTORS, .sequential = 1024 };

	for (uint64_t extent = first; extent < first + count; extent++)
		assert_int_equal(tier_sim_io(world->sim, volume, extent, &io), 0);
}

static void io(struct world *world, uint32_t volume, uint64_t extent, uint64_t count)
{
	struct tier_sim_io random = { .writes = count, .sectors = 16 };

	assert_int_equal(tier_sim_io(world->sim, volume, extent, &random), 0);
}

static void assert_rests(struct world *world)
{
	tier_brain_plan(world->brain);
	assert_int_equal(world->brain->plan.nr_moves, 0);
}

/*
 * Video editing: files of 100 slots one after the other, into tiers of 185, 558
 * and 1,392. Twice: the first two on one day, or one a day with a relocation every
 * night; the numbers are the same.
 */
static void test_video(void **state)
{
	static const uint64_t slots[] = { 185, 558, 1392 };

	(void)state;
	for (int is_daily = 0; is_daily < 2; is_daily++) {
		struct tier_brain_result night;
		struct world world;
		uint32_t volume;

		world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 3);
		volume = tier_sim_add_volume(world.sim, 2000, "name=video;policy=start-highest");
		tier_brain_collect(world.brain);

		write_file(&world, volume, 0, 100);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 100, 0), 100);
		let_pass(&world, is_daily ? 24 * HOUR : 3 * HOUR);
		if (is_daily) {
			night = tier_brain_relocate(world.brain);
			assert_int_equal(night.up + night.down + night.side, 0);
		}

		write_file(&world, volume, 100, 100);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 100, 100, 0), 85);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 100, 100, 1), 15);
		let_pass(&world, 24 * HOUR);

		night = tier_brain_relocate(world.brain);
		assert_int_equal(night.down, 18);
		assert_int_equal(night.up, 0);
		assert_int_equal(night.side, 0);
		for (size_t i = 0; i < world.brain->plan.nr_moves; i++)
			assert_int_equal(world.brain->plan.moves[i].reason, TIER_REASON_HEADROOM);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 200, 0), 167);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 200, 1), 33);
		assert_rests(&world);

		write_file(&world, volume, 200, 100);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 200, 100, 0), 18);
		assert_int_equal(tier_sim_count_on(world.sim, volume, 200, 100, 1), 82);
		world_end(&world);
	}
}

/* Eight virtual machines; then only the first one runs for a while. */
static void test_eight_machines(void **state)
{
	static const uint64_t slots[] = { 40, 90, 240 };
	static const uint64_t areas[] = { 10, 10, 10, 10, 20, 20, 20, 20 };
	struct world world;
	uint64_t first = 0;
	uint32_t volume;

	(void)state;
	world_begin(&world, 32768, 128, slots, 3);
	volume = tier_sim_add_volume(world.sim, 120, "policy=auto");
	tier_brain_collect(world.brain);
	/* 40 s of 20 MB/s in I/Os of 256 KiB, an eighth each; then 30 s for the first alone. */
	for (int vm = 0; vm < 8; vm++) {
		for (uint64_t i = 0; i < areas[vm]; i++) {
			struct tier_sim_io all = {
				.writes = 400 / areas[vm] + tier_rng_below(&world.rng, 10),
				.sectors = 512,
			};
			struct tier_sim_io alone = { .writes = 240, .sectors = 512 };

			assert_int_equal(tier_sim_io(world.sim, volume, first + i, &all), 0);
			if (!vm)
				assert_int_equal(tier_sim_io(world.sim, volume, i, &alone), 0);
		}
		first += areas[vm];
	}
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 120, 2), 120);
	tier_sim_advance(world.sim, 70 * SECOND);
	tier_brain_relocate(world.brain);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 10, 0), 10);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 120, 0), 36);
	/* The first machine's went first. */
	for (int i = 0; i < 10; i++)
		assert_in_range(world.brain->plan.moves[i].extent, 0, 9);
	assert_rests(&world);
	world_end(&world);
}

/* A sleeping volume is needed at once, and later not any more. */
static void test_sudden_event(void **state)
{
	static const uint64_t slots[] = { 185, 558, 1392 };

	(void)state;
	for (int is_busy = 0; is_busy < 2; is_busy++) {
		struct tier_brain_result result;
		struct world world;
		uint32_t archive, other;

		world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 3);
		other = tier_sim_add_volume(world.sim, 1000, "policy=start-highest");
		archive = tier_sim_add_volume(world.sim, 52, "policy=lowest");
		tier_brain_collect(world.brain);
		/* Tier 0 empty, or full of hot extents. */
		for (uint64_t extent = 0; is_busy && extent < 600; extent++)
			io(&world, other, extent, 5000 + extent);
		write_file(&world, archive, 0, 52);
		let_pass(&world, 24 * HOUR);
		tier_brain_relocate(world.brain);
		assert_int_equal(tier_sim_count_on(world.sim, archive, 0, 52, 2), 52);

		tier_sim_set_policy(world.sim, archive, "policy=highest");
		result = tier_brain_relocate(world.brain);
		assert_int_equal(tier_sim_count_on(world.sim, archive, 0, 52, 0), 52);
		assert_int_equal(result.up, 52);
		assert_int_equal(result.down, is_busy ? 52 : 0);
		assert_rests(&world);

		tier_sim_set_policy(world.sim, archive, "policy=lowest");
		result = tier_brain_relocate(world.brain);
		assert_int_equal(tier_sim_count_on(world.sim, archive, 0, 52, 2), 52);
		assert_int_equal(result.down, 52);
		assert_rests(&world);
		world_end(&world);
	}
}

/* One I/O: half after a day, a quarter after two, however often the counters are read. */
static void test_decay(void **state)
{
	static const int64_t steps[] = { HOUR / 12, HOUR, 5 * HOUR, 24 * HOUR };
	static const uint64_t slots[] = { 4 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct world world;
		uint32_t volume;

		world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 1);
		volume = tier_sim_add_volume(world.sim, 1, "policy=auto");
		tier_brain_collect(world.brain);
		io(&world, volume, 0, 1);
		tier_brain_collect(world.brain);
		for (int day = 1; day <= 2; day++) {
			double heat;

			while (tier_sim_now_ns(world.sim) + steps[i] <= day * 24 * HOUR) {
				tier_sim_advance(world.sim, steps[i]);
				tier_brain_collect(world.brain);
			}
			heat = tier_heat_now(&world.brain->volumes[volume].heat,
					     &world.brain->heat_config, 0, day * 24 * HOUR);
			assert_true(fabs(heat - (day == 1 ? 0.5 : 0.25)) < 1e-5);
		}
		world_end(&world);
	}
}

/* ---- loads that go on for days ---- */

#define DAYS_EXTENTS	1024

/* I/Os per hour of each extent: Zipf's law, dealt out at random. */
static void deal(struct tier_rng *rng, double *rate)
{
	for (int i = 0; i < DAYS_EXTENTS; i++)
		rate[i] = 20000 * pow(i + 1, -1.15);
	for (int i = DAYS_EXTENTS - 1; i > 0; i--) {
		int j = (int)tier_rng_below(rng, (uint64_t)i + 1);
		double other = rate[j];

		rate[j] = rate[i];
		rate[i] = other;
	}
}

/* A day of I/O with bursts, hour by hour, then a night's relocation. */
static struct tier_brain_result day(struct world *world, uint32_t volume, const double *rate,
				    double factor)
{
	for (int hour = 0; hour < 24; hour++) {
		for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++) {
			double burst = -log(tier_rng_unit(&world->rng));

			io(world, volume, extent, (uint64_t)(rate[extent] * factor * burst + 0.5));
		}
		let_pass(world, HOUR);
	}
	return tier_brain_relocate(world->brain);
}

static void days_begin(struct world *world, uint32_t *ret_volume, double *rate)
{
	static const uint64_t slots[] = { 110, 1100 };

	world_begin(world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	*ret_volume = tier_sim_add_volume(world->sim, DAYS_EXTENTS, "policy=auto");
	tier_brain_collect(world->brain);
	for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++)
		io(world, *ret_volume, extent, 1);
	deal(&world->rng, rate);
}

/* Share of the I/O of `rate` that tier 0 serves as extents lie now. */
static double share_of(struct world *world, uint32_t volume, const double *rate)
{
	double total = 0, served = 0;

	for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++) {
		total += rate[extent];
		if (!tier_sim_tier_of(world->sim, volume, extent))
			served += rate[extent];
	}
	return served / total;
}

/* What the best placement would serve: 99 slots of 110 may be filled. */
static double best_share(const double *rate)
{
	double sorted[DAYS_EXTENTS], total = 0, served = 0;

	memcpy(sorted, rate, sizeof(sorted));
	for (int i = 0; i < DAYS_EXTENTS; i++) {
		for (int j = i + 1; j < DAYS_EXTENTS; j++) {
			if (sorted[j] > sorted[i]) {
				double other = sorted[i];

				sorted[i] = sorted[j];
				sorted[j] = other;
			}
		}
		total += sorted[i];
		if (i < 99)
			served += sorted[i];
	}
	return served / total;
}

/* A full sequential backup of everything each night changes no placement. */
static void test_nightly_backup(void **state)
{
	static uint32_t tiers[2][10][DAYS_EXTENTS];
	unsigned int different = 0;

	(void)state;
	for (int has_backup = 0; has_backup < 2; has_backup++) {
		double rate[DAYS_EXTENTS];
		struct world world;
		uint32_t volume;

		days_begin(&world, &volume, rate);
		for (int d = 0; d < 10; d++) {
			struct tier_sim_io backup = {
				.reads = 4096, .sectors = 512, .sequential = 4096,
			};

			for (uint64_t e = 0; has_backup && e < DAYS_EXTENTS; e++)
				assert_int_equal(tier_sim_io(world.sim, volume, e, &backup), 0);
			day(&world, volume, rate, 1);
			for (uint64_t e = 0; e < DAYS_EXTENTS; e++)
				tiers[has_backup][d][e] = tier_sim_tier_of(world.sim, volume, e);
		}
		world_end(&world);
	}
	for (int d = 0; d < 10; d++)
		for (int e = 0; e < DAYS_EXTENTS; e++)
			different += tiers[0][d][e] != tiers[1][d][e];
	print_message("nightly backup: %u of %u placements differ\n", different, 10 * DAYS_EXTENTS);
	assert_int_equal(different, 0);
}

/* A load that stays the same: the best places, then hardly a move any more. */
static void test_steady_load(void **state)
{
	double rate[DAYS_EXTENTS];
	struct world world;
	uint32_t volume;
	unsigned int late = 0;

	(void)state;
	days_begin(&world, &volume, rate);
	for (int d = 0; d < 10; d++) {
		struct tier_brain_result night = day(&world, volume, rate, 1);

		if (d >= 3)
			late += night.up + night.down;
	}
	print_message("steady load: %.3f of the best share, %u moves in the last 7 nights\n",
		      share_of(&world, volume, rate) / best_share(rate), late);
	assert_true(share_of(&world, volume, rate) > 0.97 * best_share(rate));
	assert_true(late <= 7);
	world_end(&world);
}

/* All becomes different at once: in two nights the new load is served. */
static void test_step_change(void **state)
{
	double rate[DAYS_EXTENTS];
	struct world world;
	uint32_t volume;

	(void)state;
	days_begin(&world, &volume, rate);
	for (int d = 0; d < 5; d++)
		day(&world, volume, rate, 1);
	deal(&world.rng, rate);
	assert_true(share_of(&world, volume, rate) < 0.5 * best_share(rate));
	day(&world, volume, rate, 1);
	day(&world, volume, rate, 1);
	print_message("step change: %.3f of the best share after two nights\n",
		      share_of(&world, volume, rate) / best_share(rate));
	assert_true(share_of(&world, volume, rate) > 0.9 * best_share(rate));
	world_end(&world);
}

/* A job at the end of the month: one day 50 times the I/O on a tenth, then as before. */
static void test_month_end(void **state)
{
	double rate[DAYS_EXTENTS], busy[DAYS_EXTENTS];
	unsigned int last = 0;
	struct world world;
	uint32_t volume;

	(void)state;
	days_begin(&world, &volume, rate);
	for (int d = 0; d < 5; d++)
		day(&world, volume, rate, 1);
	memcpy(busy, rate, sizeof(busy));
	for (int i = 0; i < DAYS_EXTENTS / 10; i++)
		busy[i * 10] *= 50;
	day(&world, volume, busy, 1);
	for (int d = 0; d < 6; d++) {
		struct tier_brain_result night = day(&world, volume, rate, 1);

		last = night.up + night.down;
	}
	print_message("month end: %.3f of the best share six days later, %u moves in the last night\n",
		      share_of(&world, volume, rate) / best_share(rate), last);
	assert_true(share_of(&world, volume, rate) > 0.95 * best_share(rate));
	assert_true(last <= 20);
	world_end(&world);
}

/* ---- devices that go, tiers that are full ---- */

/* Tier 0 of two devices; one of them drains away under a load. */
static void test_shrinking_tier(void **state)
{
	static const uint64_t slots[] = { 60, 1100 };
	double rate[DAYS_EXTENTS];
	struct world world;
	uint32_t volume, extra;
	uint64_t on_extra = 0;

	(void)state;
	world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	extra = tier_sim_add_device(world.sim, 0, 60);
	volume = tier_sim_add_volume(world.sim, DAYS_EXTENTS, "policy=auto");
	tier_brain_collect(world.brain);
	deal(&world.rng, rate);
	for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++)
		io(&world, volume, extent, 1);
	for (int d = 0; d < 3; d++)
		day(&world, volume, rate, 1);
	assert_true(tier_sim_count_on(world.sim, volume, 0, DAYS_EXTENTS, 0) > 90);

	tier_sim_set_device_state(world.sim, extra, TIER_DEVICE_DRAINING);
	tier_brain_relocate(world.brain);
	for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++)
		on_extra += tier_sim_device_of(world.sim, volume, extent) == extra;
	assert_int_equal(on_extra, 0);
	/* The hottest are those that stayed: nothing on tier 1 is twice as hot as the coldest. */
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, DAYS_EXTENTS, 0), 54);
	assert_rests(&world);
	world_end(&world);
}

/* A device is gone: its extents stay where they are, with the reason; nothing else stops. */
static void test_lost_device(void **state)
{
	double rate[DAYS_EXTENTS];
	struct world world;
	uint32_t volume;

	(void)state;
	days_begin(&world, &volume, rate);
	for (int d = 0; d < 3; d++)
		day(&world, volume, rate, 1);
	for (int gone = TIER_DEVICE_MISSING; gone <= TIER_DEVICE_LOST; gone++) {
		tier_sim_set_device_state(world.sim, 0, (enum tier_device_state)gone);
		assert_rests(&world);
		for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++)
			if (tier_sim_tier_of(world.sim, volume, extent) == 0)
				assert_int_equal(tier_brain_reason(world.brain, volume, extent),
						 TIER_REASON_DEVICE_MISSING);
	}
	tier_sim_set_device_state(world.sim, 0, TIER_DEVICE_ONLINE);
	assert_rests(&world);
	world_end(&world);
}

/* Both tiers full but for one slot: everything can still be exchanged. */
static void test_both_full(void **state)
{
	static const uint64_t slots[] = { 20, 81 };
	struct world world;
	uint32_t volume;

	(void)state;
	world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	volume = tier_sim_add_volume(world.sim, 100, "policy=start-highest");
	tier_brain_collect(world.brain);
	/* The last to be written are the hottest. */
	for (uint64_t extent = 0; extent < 100; extent++)
		io(&world, volume, extent, extent < 80 ? 10 : 100000);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 80, 20, 1), 20);
	let_pass(&world, 24 * HOUR);
	tier_brain_relocate(world.brain);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 80, 20, 0), 19);
	assert_rests(&world);
	world_end(&world);
}

/* Everything is `highest`: the hottest on top, no churn, and a reason for the rest. */
static void test_all_highest(void **state)
{
	double rate[DAYS_EXTENTS];
	struct world world;
	uint32_t volume;
	unsigned int without_space = 0;

	(void)state;
	days_begin(&world, &volume, rate);
	tier_sim_set_policy(world.sim, volume, "policy=highest");
	for (int d = 0; d < 3; d++)
		day(&world, volume, rate, 1);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, DAYS_EXTENTS, 0), 99);
	assert_true(share_of(&world, volume, rate) > 0.95 * best_share(rate));
	assert_rests(&world);
	for (uint64_t extent = 0; extent < DAYS_EXTENTS; extent++)
		without_space += tier_brain_reason(world.brain, volume, extent) !=
				 TIER_REASON_NONE;
	assert_int_equal(without_space, DAYS_EXTENTS - 99);
	world_end(&world);
}

static void test_empty_and_tiny(void **state)
{
	static const uint64_t slots[] = { 1, 1 };
	struct tier_brain_result result;
	struct world world;
	uint32_t volume;

	(void)state;
	world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	assert_rests(&world);
	volume = tier_sim_add_volume(world.sim, 1, "policy=lowest");
	assert_rests(&world);
	io(&world, volume, 0, 1000);
	tier_sim_set_policy(world.sim, volume, "policy=auto");
	let_pass(&world, HOUR);
	result = tier_brain_relocate(world.brain);
	assert_int_equal(result.up, 1);
	assert_rests(&world);
	world_end(&world);
}

/*
 * The state was lost: nothing is demoted on ignorance, policies still act, and
 * after a day everything is as if it had always been watched.
 */
static void test_lost_state(void **state)
{
	static const uint64_t slots[] = { 20, 100 };
	struct world world;
	uint32_t volume;

	(void)state;
	world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	volume = tier_sim_add_volume(world.sim, 60, "policy=start-highest");
	for (uint64_t extent = 0; extent < 60; extent++)
		io(&world, volume, extent, 100);
	tier_sim_reload(world.sim);		/* the counters are gone, too */
	world.brain->has_history = false;
	tier_brain_collect(world.brain);
	for (uint64_t extent = 40; extent < 50; extent++)
		io(&world, volume, extent, 10000);
	let_pass(&world, HOUR);
	assert_rests(&world);
	assert_int_equal(tier_brain_reason(world.brain, volume, 0), TIER_REASON_NO_HEAT_YET);
	assert_int_equal(tier_brain_reason(world.brain, volume, 45), TIER_REASON_NO_HEAT_YET);
	let_pass(&world, 24 * HOUR);
	tier_brain_relocate(world.brain);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 40, 10, 0), 10);
	assert_rests(&world);
	world_end(&world);
}

/* What happens below while moves run: the simulated pool itself keeps its word. */
static void test_failing_moves(void **state)
{
	static const uint64_t slots[] = { 10, 100 };
	struct tier_finished_move moves[8];
	struct tier_finished_head head;
	struct tier_backend backend;
	struct world world;
	uint32_t volume;
	uint64_t id;
	size_t count;

	(void)state;
	world_begin(&world, GIB_SECTORS, MIB_SECTORS, slots, 2);
	backend = tier_sim_backend(world.sim);
	volume = tier_sim_add_volume(world.sim, 20, "policy=lowest");
	for (uint64_t extent = 0; extent < 20; extent++)
		io(&world, volume, extent, 100000);
	tier_sim_fail_moves(world.sim, 0, TIER_REASON_DST_WRITE_ERROR, 1);
	for (uint64_t extent = 0; extent < 3; extent++)
		assert_int_equal(backend.ops->migrate(backend.ctx, volume, extent,
						      (struct tier_target) { .index = 0 },
						      false, &id), 0);
	assert_int_equal(backend.ops->cancel(backend.ctx, volume, 2), 0);
	tier_sim_settle(world.sim);
	assert_int_equal(backend.ops->read_finished(backend.ctx, 0, &head, moves, 8, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(head.last_seq, 3);
	for (size_t i = 0; i < count; i++) {
		static const enum tier_reason reasons[] = {
			TIER_REASON_DST_WRITE_ERROR, TIER_REASON_NONE, TIER_REASON_CANCELLED,
		};

		assert_int_equal(moves[i].reason, reasons[moves[i].extent]);
		assert_int_equal(moves[i].result == 0, moves[i].extent == 1);
	}
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 20, 0), 1);
	/* The bad slot is quarantined, so the tier has one less to plan with. */
	tier_sim_set_policy(world.sim, volume, "policy=highest");
	tier_brain_relocate(world.brain);
	assert_int_equal(tier_sim_count_on(world.sim, volume, 0, 20, 0), 8);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_video),
		cmocka_unit_test(test_eight_machines),
		cmocka_unit_test(test_sudden_event),
		cmocka_unit_test(test_decay),
		cmocka_unit_test(test_nightly_backup),
		cmocka_unit_test(test_steady_load),
		cmocka_unit_test(test_step_change),
		cmocka_unit_test(test_month_end),
		cmocka_unit_test(test_shrinking_tier),
		cmocka_unit_test(test_lost_device),
		cmocka_unit_test(test_both_full),
		cmocka_unit_test(test_all_highest),
		cmocka_unit_test(test_empty_and_tiny),
		cmocka_unit_test(test_lost_state),
		cmocka_unit_test(test_failing_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
