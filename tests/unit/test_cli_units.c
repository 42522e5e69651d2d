// SPDX-License-Identifier: GPL-2.0-only
/* Sizes as users write and read them (cli/units.c, compiled in: the CLI is no library). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../cli/units.c"
#include "util.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		uint64_t sectors;
	} sizes[] = {
		{ "1", 2048 }, { "1m", 2048 }, { "1M", 2048 }, { "1MiB", 2048 }, { "1s", 1 },
		{ "512b", 1 }, { "1k", 2 }, { "1.5g", 3 << 20 }, { "0.5t", 1ULL << 30 },
		{ "1p", 1ULL << 41 }, { "1e", 1ULL << 51 }, { "7e", 7ULL << 51 }, { "1b", 1 }, { "513B", 2 },
		{ "1.3g", 2726298 },	/* rounded up */
		{ ".5g", 0 },		/* not a number as lvm2 takes it */
	};
	uint64_t sectors;

	for (size_t i = 0; i < TIER_NR(sizes); i++) {
		sectors = 0;
		if (cli_parse_size(sizes[i].text, &sectors) != (sizes[i].sectors ? 0 : -EINVAL) ||
		    sectors != sizes[i].sectors)
			fail_msg("%s: %llu", sizes[i].text, (unsigned long long)sectors);
	}
}

static void test_parse_refuses(void **state)
{
	static const char *const bad[] = { "", "m", "-1g", "+1g", "1x", "1 g", " 1g", "1gb", "1bib",
					   "1sib", "0x10", "1e5", "nan", "inf", "1..5", "1,5g", "1g " };
	uint64_t sectors = 77;

	for (size_t i = 0; i < TIER_NR(bad); i++)
		if (cli_parse_size(bad[i], &sectors) != -EINVAL)
			fail_msg("accepted: '%s'", bad[i]);
	assert_int_equal(cli_parse_size("0", &sectors), -ERANGE);
	assert_int_equal(cli_parse_size("0.0g", &sectors), -ERANGE);
	assert_int_equal(cli_parse_size("8e", &sectors), -ERANGE);
	assert_int_equal(cli_parse_size("99999999999999999999999999999", &sectors), -ERANGE);
	assert_int_equal(sectors, 77);
}

static void test_format(void **state)
{
	static const struct {
		uint64_t sectors;
		char unit;
		bool suffix;
		const char *text;
	} sizes[] = {
		{ 0, 'h', true, "0" }, { 0, 'm', true, "0m" }, { 0, 'b', false, "0" },
		{ 1, 'h', true, "512b" }, { 2, 'h', true, "1.00k" }, { 2047, 'h', true, "1023.50k" },
		{ 2048, 'h', true, "1.00m" }, { 3 << 20, 'h', true, "1.50g" },
		{ 3 << 20, 'h', false, "1.50" }, { 3 << 20, 'm', true, "1536.00m" },
		{ 2048, 'b', true, "1048576b" }, { 2048, 's', false, "2048" },
		{ 2048, 'H', true, "1.05M" }, { 1953125, 'G', true, "1.00G" },
		{ 1953125, 'g', true, "0.93g" }, { UINT64_C(1) << 54, 'h', true, "8.00e" },
		{ UINT64_C(1) << 54, 'b', true, "9223372036854775808b" },
	};
	char text[CLI_SIZE_TEXT];

	for (size_t i = 0; i < TIER_NR(sizes); i++)
		assert_string_equal(cli_format_size(sizes[i].sectors, sizes[i].unit, sizes[i].suffix,
						    text), sizes[i].text);
}

static void test_units(void **state)
{
	for (const char *unit = "hHbBsSkKmMgGtTpPeE"; *unit; unit++)
		assert_true(cli_is_unit(*unit));
	for (const char *unit = "xXrR1 "; *unit; unit++)
		assert_false(cli_is_unit(*unit));
	assert_false(cli_is_unit('\0'));
}

static void test_estimate(void **state)
{
	char text[CLI_ESTIMATE_TEXT];

	assert_string_equal(cli_estimate(0, text), "");
	assert_string_equal(cli_estimate(1, text), ", about 0:00:01 hours");
	assert_string_equal(cli_estimate(3600 * 100 + 61, text), ", about 100:01:01 hours");
	assert_string_equal(cli_estimate(UINT64_MAX, text), ", about 5124095576030431:00:15 hours");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
