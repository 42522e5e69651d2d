// SPDX-License-Identifier: GPL-2.0-only
/* Sentences out of kernel log records (lib/dm_kmsg.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "dm_kmsg.h"
#include "util.h"

static const struct {
	const char *record;
	int rank;
	const char *text;
} records[] = {
	{ "3,1000,123456,-;device-mapper: table: 253:3: tier-pool: no label on 8:16 (-EINVAL)\n", 2,
	  "no label on 8:16" },
	{ "3,1,2,-;device-mapper: table: 253:3: tier-pool: unknown target type\n SUBSYSTEM=x\n", 2,
	  "unknown target type" },
	{ "3,1,2,-;device-mapper: table: 253:3: tier-pool: preresume failed, error = -22\n", 0 },
	{ "3,1,2,-;device-mapper: tier: metadata needs a check\n", 1, "metadata needs a check" },
	{ "3,1,2,-;device-mapper: tier-pool: two owners", 1, "two owners" },
	{ "3,1,2,-;device-mapper: table: 253:33: tier-pool: not ours (-EINVAL)\n", 0 },
	{ "3,1,2,-;device-mapper: table: 253:3: tier: a volume's (-EINVAL)\n", 0 },
	{ "3,1,2,-;device-mapper: ioctl: error adding target to table\n", 0 },
	{ "6,1,2,-;loop0: detected capacity change\n", 0 },
	{ "no semicolon", 0 }, { "", 0 }, { ";", 0 },
	{ ";device-mapper: tier: ", 1, "" },
	{ ";device-mapper: tier: odd (-E no bracket at the end\n", 1, "odd (-E no bracket at the end" },
};

static void test_match(void **state)
{
	for (size_t i = 0; i < TIER_NR(records); i++) {
		char text[64] = "old";
		int rank = tier_kmsg_match(records[i].record, "253:3", "tier-pool", text,
					   sizeof(text));

		if (rank != records[i].rank)
			fail_msg("rank %d: %s", rank, records[i].record);
		assert_string_equal(text, rank ? records[i].text : "old");
	}
}

static void test_cut(void **state)
{
	char text[5];

	assert_int_equal(tier_kmsg_match(";device-mapper: tier: sentence\n", "1:1", "tier", text,
					 sizeof(text)), 1);
	assert_string_equal(text, "sent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
