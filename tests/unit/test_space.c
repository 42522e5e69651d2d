// SPDX-License-Identifier: GPL-2.0-only
/* How full a pool is, and what is said of it (lib/space.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "space.h"
#include "util.h"

static void test_counts(void **state)
{
	struct tier_device_info devices[] = {
		{ .tier = 0, .state = TIER_DEVICE_ONLINE, .total_slots = 10, .used_slots = 8,
		  .quarantined_slots = 1 },
		{ .tier = 1, .state = TIER_DEVICE_ONLINE, .total_slots = 90, .used_slots = 70,
		  .reserved_slots = 5, .parked_slots = 5 },
		{ .tier = 2, .state = TIER_DEVICE_LOST, .total_slots = 1000 },
		{ .tier = 0, .state = TIER_DEVICE_MISSING, .total_slots = 1000 },
		{ .tier = 0, .state = TIER_DEVICE_DRAINING, .total_slots = 1000, .used_slots = 1 },
	};
	struct tier_pool_info info = { .devices = devices, .nr_devices = TIER_NR(devices) };
	struct tier_space space;

	tier_space_of(&info, &space);
	assert_int_equal(space.total_slots, 100);
	assert_int_equal(space.used_slots, 79);
	assert_int_equal(space.used_percent, 79);
	assert_int_equal(space.first_write_slots, 1 + 10 - 1);
	assert_false(space.is_full);

	/* Above the last tier everything may be taken; there one slot stays. */
	devices[0].used_slots = 9;
	devices[1].used_slots = 79;
	tier_space_of(&info, &space);
	assert_int_equal(space.first_write_slots, 0);
	assert_true(space.is_full);
	devices[0].used_slots = 8;
	tier_space_of(&info, &space);
	assert_int_equal(space.first_write_slots, 1);
	assert_false(space.is_full);
	info.mode = TIER_POOL_OUT_OF_SPACE;
	tier_space_of(&info, &space);
	assert_true(space.is_full);

	info.nr_devices = 0;
	info.mode = TIER_POOL_RW;
	tier_space_of(&info, &space);
	assert_int_equal(space.used_percent, 100);
	assert_true(space.is_full);

	/* The largest pool that there can be. */
	for (size_t i = 0; i < TIER_NR(devices); i++)
		devices[i] = (struct tier_device_info) {
			.state = TIER_DEVICE_ONLINE, .total_slots = 1 << 24, .used_slots = 1 << 24,
		};
	info.nr_devices = TIER_NR(devices);
	tier_space_of(&info, &space);
	assert_int_equal(space.used_percent, 100);
}

/* A look at a pool of 1000 slots. */
static enum tier_space_news look(struct tier_space_watch *watch, uint64_t used, bool is_waiting)
{
	struct tier_device_info device = {
		.state = TIER_DEVICE_ONLINE, .total_slots = 1000, .used_slots = used,
	};
	const struct tier_pool_info info = {
		.devices = &device, .nr_devices = 1,
		.mode = is_waiting ? TIER_POOL_OUT_OF_SPACE : TIER_POOL_RW,
	};
	struct tier_space space;

	tier_space_of(&info, &space);
	return tier_space_watch(watch, &space);
}

static void test_watch(void **state)
{
	static const struct {
		uint64_t used;
		bool is_waiting;
		enum tier_space_news news;
	} looks[] = {
		{ 0, false, TIER_SPACE_NO_NEWS },
		{ 799, false, TIER_SPACE_NO_NEWS },
		{ 800, false, TIER_SPACE_FILLING },
		{ 800, false, TIER_SPACE_NO_NEWS },
		{ 899, false, TIER_SPACE_NO_NEWS },
		{ 900, false, TIER_SPACE_FILLING },
		/* One that comes and goes at the edge is no news, nor is a lower one that is high. */
		{ 899, false, TIER_SPACE_NO_NEWS },
		{ 880, false, TIER_SPACE_NO_NEWS },
		{ 900, false, TIER_SPACE_NO_NEWS },
		{ 879, false, TIER_SPACE_NO_NEWS },
		{ 900, false, TIER_SPACE_FILLING },
		{ 950, false, TIER_SPACE_FILLING },
		{ 990, false, TIER_SPACE_NO_NEWS },
		{ 998, false, TIER_SPACE_NO_NEWS },
		/* All but the slot in reserve; then a write waits, and fails: still full. */
		{ 999, false, TIER_SPACE_FULL },
		{ 999, true, TIER_SPACE_NO_NEWS },
		{ 999, false, TIER_SPACE_NO_NEWS },
		{ 989, false, TIER_SPACE_NO_NEWS },
		{ 988, false, TIER_SPACE_BACK },
		{ 988, false, TIER_SPACE_NO_NEWS },
		/* Writes wait although there is space: a volume that may not go there. */
		{ 988, true, TIER_SPACE_FULL },
		{ 988, false, TIER_SPACE_BACK },
		{ 780, false, TIER_SPACE_NO_NEWS },
		{ 779, false, TIER_SPACE_BACK },
		{ 779, false, TIER_SPACE_NO_NEWS },
		/* Several at once are said once. */
		{ 960, false, TIER_SPACE_FILLING },
		{ 0, false, TIER_SPACE_BACK },
		{ 1000, true, TIER_SPACE_FULL },
		{ 0, false, TIER_SPACE_BACK },
		{ 0, false, TIER_SPACE_NO_NEWS },
	};
	struct tier_space_watch watch = { 0 }, young = { 0 };

	for (size_t i = 0; i < TIER_NR(looks); i++)
		if (look(&watch, looks[i].used, looks[i].is_waiting) != looks[i].news)
			fail_msg("look %zu at %llu of 1000", i,
				 (unsigned long long)looks[i].used);
	/* Who looks for the first time is told how it is. */
	assert_int_equal(look(&young, 920, false), TIER_SPACE_FILLING);
	assert_int_equal(look(&young, 920, false), TIER_SPACE_NO_NEWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
