// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's choice of a device for a first write and for a move. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dm-tier-map.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct dm_tier_space pool[] = {
	{ .usable = true, .tier = 0, .free = 10, .reserve = 0 },
	{ .usable = true, .tier = 1, .free = 30, .reserve = 0 },
	{ .usable = true, .tier = 1, .free = 40, .reserve = 0 },
	{ .usable = true, .tier = 2, .free = 60, .reserve = 1 },
};

static int place(const struct dm_tier_space *space, size_t count, const char *tiers)
{
	u8 placement[DM_TIER_MAX_TIERS] = { 0 }, n = 0;

	for (; tiers[n]; n++)
		placement[n] = (u8)(tiers[n] - '0');
	return dm_tier_map_place(space, (u32)count, placement, n);
}

static void auto_takes_the_roomiest_tier(void **state)
{
	/* 70 free slots on tier 1, though one device of tier 2 has 60. */
	assert_int_equal(place(pool, COUNT(pool), ""), 2);
}

static void auto_prefers_the_faster_tier_when_even(void **state)
{
	const struct dm_tier_space even[] = {
		{ .usable = true, .tier = 1, .free = 5 },
		{ .usable = true, .tier = 0, .free = 5 },
	};

	assert_int_equal(place(even, COUNT(even), ""), 1);
}

static void a_list_is_tried_in_its_order(void **state)
{
	struct dm_tier_space space[COUNT(pool)];
	size_t i;

	for (i = 0; i < COUNT(pool); i++)
		space[i] = pool[i];
	assert_int_equal(place(space, COUNT(pool), "012"), 0);
	assert_int_equal(place(space, COUNT(pool), "210"), 3);
	space[0].free = 0;
	assert_int_equal(place(space, COUNT(pool), "012"), 2);
	assert_int_equal(place(space, COUNT(pool), "0"), -ENOSPC);
}

static void first_writes_leave_the_reserve(void **state)
{
	const struct dm_tier_space last[] = {
		{ .usable = true, .tier = 2, .free = 1, .reserve = 1 },
	};

	assert_int_equal(place(last, 1, ""), -ENOSPC);
	assert_int_equal(place(last, 1, "2"), -ENOSPC);
	assert_int_equal(dm_tier_map_move(last, 1, 2), 0);
}

static void what_is_not_usable_is_not_taken(void **state)
{
	const struct dm_tier_space space[] = {
		{ .usable = false, .tier = 0, .free = 100 },
		{ .usable = true, .tier = 1, .free = 1 },
	};

	assert_int_equal(place(space, COUNT(space), ""), 1);
	assert_int_equal(place(space, COUNT(space), "0"), -ENOSPC);
	assert_int_equal(dm_tier_map_move(space, COUNT(space), 0), -ENXIO);
}

static void a_move_takes_the_emptiest_device(void **state)
{
	assert_int_equal(dm_tier_map_move(pool, COUNT(pool), 1), 2);
	assert_int_equal(dm_tier_map_move(pool, COUNT(pool), 7), -ENXIO);
}

static void a_full_tier_is_no_missing_tier(void **state)
{
	const struct dm_tier_space full[] = {
		{ .usable = true, .tier = 0, .free = 0 },
	};

	assert_int_equal(dm_tier_map_move(full, 1, 0), -ENOSPC);
	assert_int_equal(place(full, 1, ""), -ENOSPC);
	assert_int_equal(place(NULL, 0, ""), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_takes_the_roomiest_tier),
		cmocka_unit_test(auto_prefers_the_faster_tier_when_even),
		cmocka_unit_test(a_list_is_tried_in_its_order),
		cmocka_unit_test(first_writes_leave_the_reserve),
		cmocka_unit_test(what_is_not_usable_is_not_taken),
		cmocka_unit_test(a_move_takes_the_emptiest_device),
		cmocka_unit_test(a_full_tier_is_no_missing_tier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
