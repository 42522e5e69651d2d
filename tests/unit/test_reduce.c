// SPDX-License-Identifier: GPL-2.0-only
/* Emptying devices (lib/reduce.c). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reduce.h"
#include "util.h"

static const struct tier_device_info devices[] = {
	{ .idx = 0, .tier = 0, .state = TIER_DEVICE_ONLINE, .total_slots = 40, .used_slots = 30 },
	{ .idx = 1, .tier = 1, .state = TIER_DEVICE_ONLINE, .total_slots = 5, .used_slots = 4 },
	{ .idx = 3, .tier = 1, .state = TIER_DEVICE_ONLINE, .total_slots = 20, .used_slots = 9,
	  .reserved_slots = 1 },
	{ .idx = 4, .tier = 1, .state = TIER_DEVICE_DRAINING, .total_slots = 20 },
	{ .idx = 5, .tier = 1, .state = TIER_DEVICE_FAILED, .total_slots = 20 },
	{ .idx = 63, .tier = 3, .state = TIER_DEVICE_ONLINE, .total_slots = 100, .used_slots = 90,
	  .quarantined_slots = 2, .parked_slots = 1 },
};

/* The room without the devices of this list, which ends with -1. */
static struct tier_reduce_room room_without(const int *list)
{
	bool leaving[TIER_MAX_DEVICES] = { false };
	struct tier_reduce_room room;

	while (*list >= 0)
		leaving[*list++] = true;
	tier_reduce_room(devices, TIER_NR(devices), leaving, &room);
	return room;
}

static void test_room(void **state)
{
	struct tier_reduce_room room = room_without((int[]){ 3, -1 });

	assert_int_equal(room.nr_online, 3);
	assert_int_equal(room.free_slots[0], 10);
	assert_int_equal(room.free_slots[1], 1);	/* only what is online and stays */
	assert_int_equal(room.free_slots[2], 0);
	assert_int_equal(room.free_slots[3], 7);
	assert_int_equal(room.headroom_slots[0], 4);
	assert_int_equal(room.headroom_slots[1], 1);	/* 10 % of 5, but not none */
	assert_int_equal(room.headroom_slots[2], 0);
	assert_int_equal(room.headroom_slots[3], 1);	/* the lowest */
	assert_int_equal(tier_reduce_spare_slots(&room), 17);

	room = room_without((int[]){ 63, -1 });
	assert_int_equal(room.headroom_slots[1], 1);	/* now that is the lowest */
	room = room_without((int[]){ 0, 1, 3, 63, -1 });
	assert_int_equal(room.nr_online, 0);
	assert_int_equal(tier_reduce_spare_slots(&room), -ENOSPC);
	room.free_slots[2] = 1;
	assert_int_equal(tier_reduce_spare_slots(&room), 0);
}

static void test_tier(void **state)
{
	struct tier_reduce_room room = room_without((int[]){ -1 });

	/* Its own tier has room: it stays there, whatever the policy. */
	for (int policy = 0; policy < TIER_POLICY_COUNT; policy++)
		assert_int_equal(tier_reduce_tier(&room, policy, 1, 0), 1);
	/* It has not: */
	room.free_slots[1] = 2;
	assert_int_equal(room.headroom_slots[1], 2);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 0), 3);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_START_HIGHEST, 1, 0), 3);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_LOWEST, 1, 0), 3);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_HIGHEST, 1, 0), 0);
	/* `none` takes headroom rather than another tier. */
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_NONE, 1, 0), 1);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_NONE, 1, 1U << 1), 3);
	/* The other direction, when there is nothing in the better one. */
	room.free_slots[3] = 1;
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 0), 0);
	room.free_slots[0] = 4;
	/* Headroom everywhere: its own first. */
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 0), 1);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 1U << 1), 3);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_HIGHEST, 1, 1U << 1), 0);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 1U << 1 | 1U << 3), 0);
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 1, 0xff), -ENOSPC);
	room = (struct tier_reduce_room){ 0 };
	assert_int_equal(tier_reduce_tier(&room, TIER_POLICY_AUTO, 7, 0), -ENOSPC);
}

static void test_turn(void **state)
{
	assert_true(tier_reduce_turn(TIER_POLICY_NONE) < tier_reduce_turn(TIER_POLICY_HIGHEST));
	assert_true(tier_reduce_turn(TIER_POLICY_HIGHEST) < tier_reduce_turn(TIER_POLICY_AUTO));
	assert_int_equal(tier_reduce_turn(TIER_POLICY_AUTO),
			 tier_reduce_turn(TIER_POLICY_START_HIGHEST));
	assert_true(tier_reduce_turn(TIER_POLICY_AUTO) < tier_reduce_turn(TIER_POLICY_LOWEST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_tier),
		cmocka_unit_test(test_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
