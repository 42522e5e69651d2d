// SPDX-License-Identifier: GPL-2.0-only
/* lib/policy.c, lib/reason.c, lib/backend.c: words, and what a label says about the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "backend.h"
#include "dm-tier.h"
#include "policy.h"
#include "reason.h"

static void test_policy_words(void **state)
{
	enum tier_policy policy;

	(void)state;
	for (int i = 0; i < TIER_POLICY_COUNT; i++) {
		assert_int_equal(tier_policy_from_word(tier_policy_word(i), &policy), 0);
		assert_int_equal(policy, i);
	}
	assert_int_equal(tier_policy_from_word("start_highest", &policy), -EINVAL);
	assert_int_equal(tier_policy_from_word("", &policy), -EINVAL);
	assert_string_equal(tier_policy_word(TIER_POLICY_COUNT), "unknown");
}

/* Each reason has its own word, and every word of the kernel is a reason. */
static void test_reason_words(void **state)
{
#define KERNEL_WORD(name, word) word,
	static const char *const kernel_words[] = { DM_TIER_MOVE_REASONS(KERNEL_WORD) };
#undef KERNEL_WORD

	(void)state;
	for (int i = 0; i < TIER_REASON_COUNT; i++)
		assert_int_equal(tier_reason_from_word(tier_reason_word(i)), i);
	for (size_t i = 0; i < sizeof(kernel_words) / sizeof(kernel_words[0]); i++)
		assert_int_not_equal(tier_reason_from_word(kernel_words[i]), TIER_REASON_UNKNOWN);
	assert_int_equal(tier_reason_from_word("-"), TIER_REASON_NONE);
	assert_int_equal(tier_reason_from_word("hott"), TIER_REASON_UNKNOWN);
	assert_string_equal(tier_reason_word(TIER_REASON_COUNT), "unknown");
}

static void test_state_words(void **state)
{
	enum tier_device_state device;
	enum tier_pool_mode mode;

	(void)state;
	for (int i = TIER_POOL_RW; i <= TIER_POOL_FAIL; i++) {
		assert_int_equal(tier_pool_mode_from_word(tier_pool_mode_word(i), &mode), 0);
		assert_int_equal(mode, i);
	}
	for (int i = TIER_DEVICE_NEW; i <= TIER_DEVICE_LOST; i++) {
		assert_int_equal(tier_device_state_from_word(tier_device_state_word(i), &device),
				 0);
		assert_int_equal(device, i);
	}
	assert_int_equal(tier_pool_mode_from_word("ro", &mode), -EINVAL);
	assert_int_equal(tier_device_state_from_word("", &device), -EINVAL);
}

static void test_label_values(void **state)
{
	char value[5];

	(void)state;
	assert_int_equal(tier_label_value("name=vol;x=;policy=auto", "name", value, 5), 3);
	assert_string_equal(value, "vol");
	assert_int_equal(tier_label_value("name=vol;x=;policy=auto", "policy", value, 5), 4);
	assert_string_equal(value, "auto");
	assert_int_equal(tier_label_value("name=vol;x=;policy=auto", "x", value, 5), 0);
	assert_string_equal(value, "");
	assert_int_equal(tier_label_value("name=vol;x=;policy=auto", "ame", value, 5), -ENOENT);
	assert_int_equal(tier_label_value("name=volume", "name", value, 5), -ENOSPC);
	assert_int_equal(tier_label_value("", "name", value, 5), -ENOENT);
	assert_int_equal(tier_label_value("name", "name", value, 5), -ENOENT);
}

static void test_label_policy(void **state)
{
	static const char *const bad[] = {
		"policy=", "policy=fast", "policy=AUTO", "pin=", "pin=highest", "pin=highest:",
		"pin=highest:x", "pin=highest:-5", "pin=highest:5x", "pin=fast:5",
		"pin=highest:99999999999999999999", "policy=auto;pin=:5",
		"policy=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct tier_label_policy policy = { .pin_until_s = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tier_label_policy(bad[i], 0, &policy), -EINVAL);
	assert_int_equal(policy.pin_until_s, 7);

	assert_int_equal(tier_label_policy("name=vol", 0, &policy), 0);
	assert_false(policy.is_set);
	assert_int_equal(policy.policy, TIER_POLICY_AUTO);

	assert_int_equal(tier_label_policy("policy=lowest;pin=highest:100", 99, &policy), 0);
	assert_true(policy.is_set && policy.pinned);
	assert_int_equal(policy.policy, TIER_POLICY_HIGHEST);
	assert_int_equal(policy.pin_until_s, 100);

	/* Then the old one is back by itself. */
	assert_int_equal(tier_label_policy("policy=lowest;pin=highest:100", 100, &policy), 0);
	assert_true(policy.is_set);
	assert_false(policy.pinned);
	assert_int_equal(policy.policy, TIER_POLICY_LOWEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy_words),
		cmocka_unit_test(test_reason_words),
		cmocka_unit_test(test_state_words),
		cmocka_unit_test(test_label_values),
		cmocka_unit_test(test_label_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
