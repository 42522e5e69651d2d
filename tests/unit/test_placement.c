// SPDX-License-Identifier: GPL-2.0-only
/* Placements of policies (lib/placement.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "message.h"
#include "placement.h"
#include "util.h"

static const struct tier_device_info devices[] = {
	{ .idx = 0, .tier = 2, .state = TIER_DEVICE_ONLINE },
	{ .idx = 1, .tier = 0, .state = TIER_DEVICE_ONLINE },
	{ .idx = 2, .tier = 2, .state = TIER_DEVICE_DRAINING },
	{ .idx = 3, .tier = 5, .state = TIER_DEVICE_MISSING },
	{ .idx = 4, .tier = 7, .state = TIER_DEVICE_LOST },
	{ .idx = 5, .tier = 1, .state = TIER_DEVICE_NEW },
};

static void test_policies(void **state)
{
	static const char *const words[TIER_POLICY_COUNT] = {
		[TIER_POLICY_AUTO] = "auto",
		[TIER_POLICY_START_HIGHEST] = "0,1,2,5",
		[TIER_POLICY_HIGHEST] = "0,1,2,5",
		[TIER_POLICY_LOWEST] = "5,2,1,0",
		[TIER_POLICY_NONE] = "auto",
	};
	struct tier_placement placement;
	char word[TIER_PLACEMENT_SIZE];

	for (int policy = 0; policy < TIER_POLICY_COUNT; policy++) {
		tier_placement_of_policy(policy, devices, TIER_NR(devices), &placement);
		tier_placement_word(&placement, word);
		assert_string_equal(word, words[policy]);
		tier_placement_of_policy(policy, NULL, 0, &placement);
		assert_true(placement.is_auto);
	}
}

static void test_equal(void **state)
{
	struct tier_placement automatic = { .is_auto = true, .tiers = { 9 } };
	struct tier_placement other_auto = { .is_auto = true };
	struct tier_placement a = { .nr_tiers = 2, .tiers = { 0, 1, 7 } };
	struct tier_placement b = { .nr_tiers = 2, .tiers = { 0, 1, 3 } };
	struct tier_placement c = { .nr_tiers = 2, .tiers = { 1, 0 } };
	struct tier_placement d = { .nr_tiers = 1, .tiers = { 0 } };

	assert_true(tier_placement_equal(&automatic, &other_auto));
	assert_true(tier_placement_equal(&a, &b));	/* what is behind the list does not count */
	assert_false(tier_placement_equal(&a, &c));
	assert_false(tier_placement_equal(&a, &d));
	assert_false(tier_placement_equal(&a, &automatic));
	assert_false(tier_placement_equal(&automatic, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
