// SPDX-License-Identifier: GPL-2.0-only
/* lib/heat.c: rules 1.x of tierd.conf(5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heat.h"

#define MINUTE	(60 * INT64_C(1000000000))
#define HOUR	(60 * MINUTE)
#define DAY	(24 * HOUR)

static struct tier_heat_config config;

static int setup(void **state)
{
	(void)state;
	tier_heat_config_init(&config);
	return 0;
}

static void init(struct tier_heat_volume *volume, uint64_t nr_extents, int64_t now_ns)
{
	assert_int_equal(tier_heat_volume_init(volume, &config, nr_extents, true, now_ns), 0);
}

/* One round with the counters of one extent. */
static void round_of(struct tier_heat_volume *volume, int64_t now_ns,
		     const struct tier_counter *counter)
{
	struct tier_counter_head head = { .instance = 1, .volume_generation = 1,
					  .counter_generation = 1 };
	struct tier_heat_round round;

	tier_heat_begin(volume, &config, &head, true, now_ns, &round);
	if (counter)
		assert_int_equal(tier_heat_count(volume, &config, &round, counter, 1), 0);
	tier_heat_end(volume, &round);
}

#define assert_near(a, b, tolerance) do { \
	if (fabs((a) - (b)) > (tolerance)) { \
		print_error("%s = %.9g, expected %.9g\n", #a, (double)(a), (double)(b)); \
		fail(); \
	} \
} while (0)

/* One I/O: 1 when it is counted, 0.5 a day later, 0.25 after two, however often one looks. */
static void test_half_life(void **state)
{
	static const int64_t steps[] = { 5 * MINUTE, HOUR, 7 * HOUR, DAY };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		struct tier_counter counter = { .extent = 0, .reads = 1 };
		struct tier_heat_volume volume;
		int64_t start_ns = 3 * HOUR, now_ns = start_ns;
		int64_t days = 1 + (int64_t)i / 4;

		init(&volume, 1, now_ns);
		round_of(&volume, now_ns, &counter);
		assert_near(tier_heat_now(&volume, &config, 0, now_ns), 1, 1e-6);
		while (now_ns + steps[i % 4] <= start_ns + days * DAY) {
			now_ns += steps[i % 4];
			round_of(&volume, now_ns, NULL);
		}
		assert_near(tier_heat_now(&volume, &config, 0, start_ns + days * DAY),
			    days == 1 ? 0.5 : 0.25, 1e-5);
		tier_heat_volume_clear(&volume);
	}
}

/* The same I/O, evenly spread, counted every 5 minutes, every hour, or once after two days. */
static void test_sampling_does_not_matter(void **state)
{
	static const int64_t steps[] = { 5 * MINUTE, HOUR, 12 * HOUR, 2 * DAY };
	double first = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct tier_counter counter = { .extent = 0 };
		struct tier_heat_volume volume;

		init(&volume, 1, 0);
		for (int64_t now_ns = steps[i]; now_ns <= 2 * DAY; now_ns += steps[i]) {
			counter.writes = (uint64_t)(now_ns / MINUTE) * 100;
			round_of(&volume, now_ns, &counter);
		}
		if (!i)
			first = tier_heat_now(&volume, &config, 0, 2 * DAY);
		assert_near(tier_heat_now(&volume, &config, 0, 2 * DAY), first, first * 1e-4);
		tier_heat_volume_clear(&volume);
	}
}

/* A steady rate ranks as that rate per day, from the first day on. */
static void test_young_extents_are_not_cold(void **state)
{
	struct tier_counter counter = { .extent = 0 };
	struct tier_heat_volume volume;
	float rank;

	(void)state;
	init(&volume, 1, 0);
	tier_heat_map(&volume, 0, 1, true, 0);
	for (int64_t now_ns = HOUR; now_ns <= 10 * DAY; now_ns += HOUR) {
		counter.reads += 10;
		round_of(&volume, now_ns, &counter);
		tier_heat_rank(&volume, &config, now_ns, &rank);
		if (now_ns >= DAY)
			assert_near(rank, 240, 0.5);
		else
			assert_true(rank < 240.5);	/* age counts as a day at least */
	}
	tier_heat_volume_clear(&volume);
}

/* Two memories, 6 h and 96 h: each is corrected on its own, their mean is the rank. */
static void test_two_terms(void **state)
{
	struct tier_counter counter = { .extent = 0 };
	struct tier_heat_volume volume;
	float rank;

	(void)state;
	config.nr_terms = 2;
	config.half_life_ns[0] = 6 * HOUR;
	config.half_life_ns[1] = 96 * HOUR;
	init(&volume, 1, 0);
	tier_heat_map(&volume, 0, 1, true, 0);
	for (int64_t now_ns = HOUR; now_ns <= 30 * DAY; now_ns += HOUR) {
		counter.reads += 10;
		round_of(&volume, now_ns, &counter);
	}
	tier_heat_rank(&volume, &config, 30 * DAY, &rank);
	assert_near(rank, 240, 0.5);
	/* A day of silence: 2^-4 of the short one, 2^-0.25 of the long one. */
	tier_heat_rank(&volume, &config, 31 * DAY, &rank);
	assert_near(rank, 120 * (exp2(-4) + exp2(-0.25)), 0.5);
	tier_heat_volume_clear(&volume);

	config.nr_terms = TIER_HEAT_TERMS + 1;
	assert_int_equal(tier_heat_volume_init(&volume, &config, 1, true, 0), -EINVAL);
}

static void test_weights(void **state)
{
	struct tier_counter counters[] = {
		{ .extent = 0, .reads = 1000 },
		{ .extent = 1, .writes = 1000 },
		{ .extent = 2, .reads = 1000, .sequential_ios = 1000 },
		{ .extent = 3, .reads = 500, .writes = 500, .sequential_ios = 500 },
		{ .extent = 4, .reads = 1000, .large_ios = 1000 },
		{ .extent = 5, .reads = 10, .sequential_ios = 12 },	/* read at two instants */
	};
	struct tier_counter_head head = { .instance = 1, .volume_generation = 1 };
	struct tier_heat_volume volume;
	struct tier_heat_round round;

	(void)state;
	config.write_weight = 2;
	config.large_weight = 0.5;
	init(&volume, 6, 0);
	tier_heat_begin(&volume, &config, &head, true, 0, &round);
	assert_int_equal(tier_heat_count(&volume, &config, &round, counters, 6), 0);
	tier_heat_end(&volume, &round);
	assert_near(tier_heat_now(&volume, &config, 0, 0), 1000, 1e-3);
	assert_near(tier_heat_now(&volume, &config, 1, 0), 2000, 1e-3);
	assert_near(tier_heat_now(&volume, &config, 2, 0), 1, 1e-6);
	assert_near(tier_heat_now(&volume, &config, 3, 0), 1500 * 0.5005, 1e-3);
	assert_near(tier_heat_now(&volume, &config, 4, 0), 500, 1e-3);
	assert_near(tier_heat_now(&volume, &config, 5, 0), 0.01, 1e-6);
	tier_heat_volume_clear(&volume);
}

/* Reloaded module, counters that go back, another volume under the id, a paused measurement. */
static void test_counters_that_start_again(void **state)
{
	struct tier_counter counter = { .extent = 0, .reads = 1000 };
	struct tier_counter_head head = { .instance = 1, .volume_generation = 7,
					  .counter_generation = 5 };
	struct tier_heat_volume volume;
	struct tier_heat_round round;

	(void)state;
	init(&volume, 1, 0);
	for (int i = 0; i < 5; i++) {
		static const uint64_t reads[] = { 1000, 1300, 200, 250, 60 };
		static const double heats[] = { 1000, 1300, 1300, 1350, 1410 };

		/* 200 in the same instance: a new base. 60 in a new instance: 60 I/Os. */
		counter.reads = reads[i];
		head.instance = i == 4 ? 2 : 1;
		tier_heat_begin(&volume, &config, &head, true, 0, &round);
		assert_int_equal(tier_heat_count(&volume, &config, &round, &counter, 1), 0);
		tier_heat_end(&volume, &round);
		assert_near(tier_heat_now(&volume, &config, 0, 0), heats[i], 1e-3);
	}
	assert_int_equal(volume.since, 5);

	counter.reads = 1060;
	tier_heat_begin(&volume, &config, &head, false, 0, &round);
	assert_int_equal(tier_heat_count(&volume, &config, &round, &counter, 1), 0);
	tier_heat_end(&volume, &round);
	assert_near(tier_heat_now(&volume, &config, 0, 0), 1410, 1e-3);
	counter.reads = 1061;
	tier_heat_begin(&volume, &config, &head, true, 0, &round);
	assert_int_equal(tier_heat_count(&volume, &config, &round, &counter, 1), 0);
	assert_near(tier_heat_now(&volume, &config, 0, 0), 1411, 1e-3);

	head.volume_generation = 8;
	counter.reads = 3;
	tier_heat_begin(&volume, &config, &head, true, 0, &round);
	assert_int_equal(tier_heat_count(&volume, &config, &round, &counter, 1), 0);
	assert_near(tier_heat_now(&volume, &config, 0, 0), 3, 1e-6);

	counter.extent = 1;
	assert_int_equal(tier_heat_count(&volume, &config, &round, &counter, 1), -ERANGE);
	tier_heat_volume_clear(&volume);
}

/* No state: what was there before is unknown until it was used, or watched for a day. */
static void test_unknown_is_not_cold(void **state)
{
	struct tier_counter counter = { .extent = 1, .reads = 1 };
	struct tier_heat_volume volume;
	float rank[4];

	(void)state;
	assert_int_equal(tier_heat_volume_init(&volume, &config, 4, false, 0), 0);
	round_of(&volume, 0, &counter);
	tier_heat_map(&volume, 0, 2, true, 0);
	tier_heat_map(&volume, 2, 2, false, 0);
	round_of(&volume, HOUR, NULL);
	tier_heat_map(&volume, 0, 3, true, HOUR);	/* 2 was first written while we watched */
	tier_heat_map(&volume, 3, 1, false, HOUR);
	tier_heat_rank(&volume, &config, HOUR, rank);
	assert_true(rank[0] < 0);
	assert_true(rank[1] > 0);
	assert_true(rank[2] == 0);
	assert_true(rank[3] == 0);
	tier_heat_rank(&volume, &config, DAY, rank);
	assert_true(rank[0] == 0);

	/* A discard ends the heat. */
	tier_heat_map(&volume, 1, 1, false, DAY);
	assert_true(tier_heat_now(&volume, &config, 1, DAY) == 0);
	tier_heat_volume_clear(&volume);
}

static void test_resize_and_shift(void **state)
{
	struct tier_counter counter = { .extent = 1, .reads = 8 };
	struct tier_heat_volume volume;
	float rank[5];

	(void)state;
	init(&volume, 2, 0);
	round_of(&volume, 0, &counter);
	tier_heat_map(&volume, 0, 2, true, 0);
	assert_int_equal(tier_heat_volume_resize(&volume, 5), 0);
	tier_heat_rank(&volume, &config, 0, rank);
	assert_true(rank[1] > 0 && rank[4] == 0);
	counter.extent = 4;
	round_of(&volume, 0, &counter);
	assert_near(tier_heat_now(&volume, &config, 4, 0), 8, 1e-6);

	/* Saved at 0, used in another boot whose clock says -23 h when a day has passed. */
	tier_heat_shift(&volume, -2 * DAY + HOUR);
	assert_near(tier_heat_now(&volume, &config, 4, -DAY + HOUR), 4, 1e-5);
	assert_int_equal(tier_heat_volume_resize(&volume, 2), 0);
	assert_near(tier_heat_now(&volume, &config, 1, -DAY + HOUR), 4, 1e-5);
	tier_heat_volume_clear(&volume);
}

/* A year of folds: nothing drifts, overflows, or becomes a NaN. */
static void test_long_run_stays_finite(void **state)
{
	struct tier_counter counter = { .extent = 0 };
	struct tier_heat_volume volume;
	float rank[2];

	(void)state;
	init(&volume, 2, 0);
	tier_heat_map(&volume, 0, 2, true, 0);
	counter.writes = UINT64_C(1) << 40;
	counter.extent = 1;
	round_of(&volume, 0, &counter);
	counter.extent = 0;
	for (int64_t now_ns = HOUR; now_ns <= 365 * DAY; now_ns += HOUR) {
		counter.writes += 1000000;
		round_of(&volume, now_ns, &counter);
	}
	tier_heat_rank(&volume, &config, 365 * DAY, rank);
	assert_near(rank[0], 24e6, 24e3);
	assert_true(rank[1] == 0);
	tier_heat_volume_clear(&volume);
}

static double elapsed_ms(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - from->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - from->tv_nsec) / 1e6;
}

/* The figure is printed, and bounded so loosely that only a wrong order of growth fails. */
static void test_a_million_extents(void **state)
{
	enum { NR = 1 << 20 };
	struct tier_counter_head head = { .instance = 1, .volume_generation = 1 };
	struct tier_counter *counters = calloc(NR, sizeof(*counters));
	float *rank = calloc(NR, sizeof(*rank));
	struct tier_heat_volume volume;
	struct tier_heat_round round;
	struct timespec start;
	double update_ms, rank_ms;

	(void)state;
	assert_non_null(counters);
	assert_non_null(rank);
	init(&volume, NR, 0);
	tier_heat_map(&volume, 0, NR, true, 0);
	for (uint64_t i = 0; i < NR; i++)
		counters[i] = (struct tier_counter) { .extent = i, .reads = i * 7 % 1000 };
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	tier_heat_begin(&volume, &config, &head, true, HOUR, &round);
	assert_int_equal(tier_heat_count(&volume, &config, &round, counters, NR), 0);
	tier_heat_end(&volume, &round);
	update_ms = elapsed_ms(&start);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	tier_heat_rank(&volume, &config, HOUR, rank);
	rank_ms = elapsed_ms(&start);
	print_message("%d extents: heat update %.1f ms, rank %.1f ms\n", NR, update_ms, rank_ms);
	assert_true(update_ms < 2000 && rank_ms < 2000);
	tier_heat_volume_clear(&volume);
	free(counters);
	free(rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_half_life, setup),
		cmocka_unit_test_setup(test_sampling_does_not_matter, setup),
		cmocka_unit_test_setup(test_young_extents_are_not_cold, setup),
		cmocka_unit_test_setup(test_two_terms, setup),
		cmocka_unit_test_setup(test_weights, setup),
		cmocka_unit_test_setup(test_counters_that_start_again, setup),
		cmocka_unit_test_setup(test_unknown_is_not_cold, setup),
		cmocka_unit_test_setup(test_resize_and_shift, setup),
		cmocka_unit_test_setup(test_long_run_stays_finite, setup),
		cmocka_unit_test_setup(test_a_million_extents, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
