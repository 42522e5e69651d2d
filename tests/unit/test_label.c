// SPDX-License-Identifier: GPL-2.0-only
/* Writing labels (lib/label.c) so that policy.h reads back what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "backend.h"
#include "label.h"
#include "policy.h"
#include "util.h"

static void test_set(void **state)
{
	static const struct {
		const char *label, *key, *value, *result;
	} cases[] = {
		{ "", "name", "v", "name=v" },
		{ "name=v", "policy", "highest", "name=v;policy=highest" },
		{ "name=v;policy=auto;pin=x", "policy", "none", "name=v;policy=none;pin=x" },
		{ "name=v;policy=auto", "policy", NULL, "name=v" },
		{ "name=v", "policy", NULL, "name=v" },
		{ "name=v", "name", NULL, "" },
		{ "", "name", NULL, "" },
		/* Words of others stay, also what is not key=value; doubled ones become one. */
		{ "x=1;odd;;name=a;name=b;y=2", "name", "c", "x=1;odd;name=c;y=2" },
		/* A key is the whole word before the =. */
		{ "rename=a;names=b", "name", "c", "rename=a;names=b;name=c" },
		{ "name=a", "name", "b=c", "name=b=c" },
	};

	for (size_t i = 0; i < TIER_NR(cases); i++) {
		char label[TIER_LABEL_SIZE] = "old";

		assert_int_equal(tier_label_set(cases[i].label, cases[i].key, cases[i].value, label,
						sizeof(label)), 0);
		assert_string_equal(label, cases[i].result);
	}
}

static void test_in_place_and_read_back(void **state)
{
	char label[TIER_LABEL_SIZE] = "name=v", value[TIER_LABEL_SIZE];
	struct tier_label_policy policy;

	assert_int_equal(tier_label_set(label, "policy", "lowest", label, sizeof(label)), 0);
	assert_int_equal(tier_label_set(label, "pin", "highest:1000", label, sizeof(label)), 0);
	assert_int_equal(tier_label_value(label, "name", value, sizeof(value)), 1);
	assert_int_equal(tier_label_policy(label, 999, &policy), 0);
	assert_true(policy.pinned);
	assert_int_equal(policy.policy, TIER_POLICY_HIGHEST);
	assert_int_equal(tier_label_policy(label, 1000, &policy), 0);
	assert_false(policy.pinned);
	assert_int_equal(policy.policy, TIER_POLICY_LOWEST);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "name", "" }, { "name", "a;b" }, { "name", "a\nb" }, { "", "a" }, { "a=b", "c" },
		{ "a;b", "c" }, { "a\tb", "c" },
	};
	char label[TIER_LABEL_SIZE] = "name=old";

	for (size_t i = 0; i < TIER_NR(bad); i++) {
		assert_int_equal(tier_label_set(label, bad[i].key, bad[i].value, label,
						sizeof(label)), -EINVAL);
		assert_string_equal(label, "name=old");
	}
}

static void test_limit(void **state)
{
	char label[TIER_LABEL_SIZE] = "name=old", value[TIER_LABEL_SIZE + 10];

	memset(value, 'x', sizeof(value));
	value[TIER_LABEL_SIZE - 1 - 5] = '\0';	/* with "name=" exactly the limit */
	assert_int_equal(tier_label_set(label, "name", value, label, sizeof(label)), 0);
	assert_int_equal(strlen(label), TIER_LABEL_SIZE - 1);
	assert_int_equal(tier_label_set(label, "a", "b", label, sizeof(label)), -ENOSPC);
	assert_int_equal(tier_label_set("a=b", "name", value, label, sizeof(label)), -ENOSPC);
	value[TIER_LABEL_SIZE - 1 - 5] = 'x';
	value[TIER_LABEL_SIZE - 1 - 4] = '\0';
	assert_int_equal(tier_label_set("", "name", value, label, sizeof(label)), -ENOSPC);
	assert_int_equal(strlen(label), TIER_LABEL_SIZE - 1);
	assert_int_equal(tier_label_set("a=b", "c", "d", label, 7), -ENOSPC);
	assert_int_equal(tier_label_set("a=b", "c", "d", label, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_in_place_and_read_back),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
