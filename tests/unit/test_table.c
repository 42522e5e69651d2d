// SPDX-License-Identifier: GPL-2.0-only
/* Table lines (lib/table.c), words (lib/words.c) and names (lib/name.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "name.h"
#include "table.h"
#include "util.h"
#include "words.h"

static const struct {
	const char *line;
	struct tier_pool_table table;
} pool_lines[] = {
	{ "253:0 1 8:16", { { 253, 0 }, 1, { { 8, 16 } }, .no_space_timeout_s = 60 } },
	{ "253:0 2 8:16 259:7 1 read_only",
	  { { 253, 0 }, 2, { { 8, 16 }, { 259, 7 } }, .read_only = true,
	    .no_space_timeout_s = 60 } },
	{ "1:2 1 3:4 5 read_only partial error_if_no_space no_space_timeout 0",
	  { { 1, 2 }, 1, { { 3, 4 } }, true, true, true, 0 } },
	{ "1:2 1 3:4 2 no_space_timeout 7", { { 1, 2 }, 1, { { 3, 4 } }, .no_space_timeout_s = 7 } },
};

static void test_pool_both_ways(void **state)
{
	for (size_t i = 0; i < TIER_NR(pool_lines); i++) {
		struct tier_pool_table parsed;
		char line[TIER_TABLE_SIZE];

		assert_int_equal(tier_table_build_pool(&pool_lines[i].table, line, sizeof(line)), 0);
		assert_string_equal(line, pool_lines[i].line);
		assert_int_equal(tier_table_parse_pool(line, &parsed), 0);
		assert_memory_equal(&parsed, &pool_lines[i].table, sizeof(parsed));
	}
}

/* What the kernel accepts but does not write itself: an empty feature list, other orders. */
static void test_pool_other_spellings(void **state)
{
	struct tier_pool_table table;

	assert_int_equal(tier_table_parse_pool("1:2 1 3:4 0", &table), 0);
	assert_int_equal(table.no_space_timeout_s, 60);
	assert_int_equal(tier_table_parse_pool(" 1:2  1 3:4 3 no_space_timeout 9 partial ", &table), 0);
	assert_true(table.partial);
	assert_int_equal(table.no_space_timeout_s, 9);
}

static void test_pool_refuses(void **state)
{
	static const char *const lines[] = {
		"", "1:2", "1:2 x", "1:2 65", "1:2 1", "1:2 2 3:4", "/dev/sda 1 3:4", "1:2 1 /dev/sda",
		"1:2 1 3:4 1", "1:2 1 3:4 2 read_only", "1:2 1 3:4 1 read_only partial",
		"1:2 1 3:4 1 no_such_feature", "1:2 1 3:4 1 no_space_timeout",
		"1:2 1 3:4 1 no_space_timeout 5", "1:2 1 3:4 2 no_space_timeout x", "1:2 1 3:-4",
		"1:2 1 3:4 x", "1:4294967296 1 3:4", "1: 1 3:4", "1:2 1 3:4:5",
	};
	struct tier_pool_table table, untouched;

	memset(&table, 0x5a, sizeof(table));
	untouched = table;
	for (size_t i = 0; i < TIER_NR(lines); i++) {
		if (tier_table_parse_pool(lines[i], &table) != -EPROTO)
			fail_msg("accepted: \"%s\"", lines[i]);
		assert_memory_equal(&table, &untouched, sizeof(table));
	}
}

static void test_pool_biggest_line(void **state)
{
	struct tier_pool_table table = {
		.metadata = { UINT32_MAX, UINT32_MAX }, .nr_devices = TIER_MAX_DEVICES,
		.read_only = true, .partial = true, .error_if_no_space = true,
		.no_space_timeout_s = UINT32_MAX,
	};
	struct tier_pool_table parsed;
	char line[TIER_TABLE_SIZE], small[20] = "as it was";

	for (int i = 0; i < TIER_MAX_DEVICES; i++)
		table.devices[i] = (struct tier_devno){ UINT32_MAX, UINT32_MAX };
	assert_int_equal(tier_table_build_pool(&table, line, sizeof(line)), 0);
	assert_int_equal(tier_table_parse_pool(line, &parsed), 0);
	assert_memory_equal(&parsed, &table, sizeof(parsed));
	assert_int_equal(tier_table_build_pool(&table, small, sizeof(small)), -ENOSPC);
	assert_string_equal(small, "as it was");
}

static void test_volume(void **state)
{
	static const char *const bad[] = { "", "253:1", "253:1 4096", "253:1 -1", "253:1 1 1", "253 1" };
	struct tier_volume_table table = { { 253, 1 }, 4095 }, parsed;
	char line[TIER_TABLE_SIZE], small[5] = "old";

	assert_int_equal(tier_table_build_volume(&table, line, sizeof(line)), 0);
	assert_string_equal(line, "253:1 4095");
	assert_int_equal(tier_table_parse_volume(line, &parsed), 0);
	assert_memory_equal(&parsed, &table, sizeof(parsed));
	assert_int_equal(tier_table_build_volume(&table, small, sizeof(small)), -ENOSPC);
	assert_string_equal(small, "old");
	for (size_t i = 0; i < TIER_NR(bad); i++)
		if (tier_table_parse_volume(bad[i], &parsed) != -EPROTO)
			fail_msg("accepted: \"%s\"", bad[i]);
}

static void test_words(void **state)
{
	struct tier_words words = { .at = " one 18446744073709551615 7/9 \nlast" };
	uint64_t a, b;
	char word[4];

	tier_words_take(&words, word, sizeof(word));
	assert_string_equal(word, "one");
	assert_true(tier_words_u64(&words, UINT64_MAX) == UINT64_MAX);
	tier_words_pair(&words, '/', 9, &a, &b);
	assert_int_equal(a, 7);
	assert_int_equal(b, 9);
	assert_true(tier_words_at_end(&words));
	tier_words_next_line(&words);
	assert_false(tier_words_take_if(&words, "las"));
	assert_false(tier_words_take_if(&words, "lasting"));
	assert_true(tier_words_take_if(&words, "last"));
	tier_words_next_line(&words);		/* stays at the NUL */
	assert_false(words.bad);
	assert_int_equal(*words.at, '\0');
}

static void test_words_errors_stick(void **state)
{
	static const char *const bad[] = { "x", "", "-1", "+1", "1x", "0x1", "18446744073709551616",
					   "99999999999999999999999", "101" };
	uint64_t a = 1, b = 1;
	char word[4] = "old";

	for (size_t i = 0; i < TIER_NR(bad); i++) {
		struct tier_words words = { .at = bad[i] };

		if (tier_words_u64(&words, 100) || !words.bad)
			fail_msg("accepted: \"%s\"", bad[i]);
		words.at = "5 word";
		assert_int_equal(tier_words_u64(&words, 100), 0);
		tier_words_pair(&words, '/', 100, &a, &b);
		assert_int_equal(a + b, 0);
		tier_words_take(&words, word, sizeof(word));
		assert_string_equal(word, "");
		assert_true(words.bad);
	}
}

static void test_names(void **state)
{
	static const char *const good[] = { "a", "pool0", "a-b", "A_b+c.d-", ".hidden", "_", "+" };
	static const char *const bad[] = { "", "-a", ".", "..", "a b", "a/b", "a\n", "\xc3\xa4", "a:b",
					   "a;b", "a=b", "control" };
	char name[TIER_NAME_SIZE + 1];
	const char *reason;

	for (size_t i = 0; i < TIER_NR(good); i++)
		assert_int_equal(tier_name_check(good[i], NULL), 0);
	for (size_t i = 0; i < TIER_NR(bad); i++) {
		reason = NULL;
		assert_int_equal(tier_name_check(bad[i], &reason), -EINVAL);
		assert_non_null(reason);
	}
	memset(name, 'a', TIER_NAME_SIZE);
	name[TIER_NAME_SIZE] = '\0';
	assert_int_equal(tier_name_check(name, NULL), -EINVAL);
	name[TIER_NAME_SIZE - 1] = '\0';
	assert_int_equal(tier_name_check(name, NULL), 0);
}

static void test_dm_names(void **state)
{
	static const struct {
		const char *pool, *volume, *dm;
	} names[] = {
		{ "p", NULL, "p" },		{ "p", "v", "p-v" },
		{ "a-b", NULL, "a--b" },	{ "a-b", "c-d", "a--b-c--d" },
		{ "a", "b-", "a-b--" },		{ "a--", "b", "a-----b" },
	};
	char name[TIER_NAME_SIZE], pool[TIER_NAME_SIZE];

	for (size_t i = 0; i < TIER_NR(names); i++) {
		int r = names[i].volume ?
			tier_name_volume_to_dm(names[i].pool, names[i].volume, name, sizeof(name)) :
			tier_name_pool_to_dm(names[i].pool, name, sizeof(name));

		assert_int_equal(r, 0);
		assert_string_equal(name, names[i].dm);
		if (names[i].volume)
			continue;
		tier_name_dm_to_pool(name, pool, sizeof(pool));
		assert_string_equal(pool, names[i].pool);
	}
	assert_int_equal(tier_name_pool_to_dm("control", name, sizeof(name)), -EINVAL);
	/* Someone else's names stay what they are. */
	tier_name_dm_to_pool("my-pool", pool, sizeof(pool));
	assert_string_equal(pool, "my-pool");
	tier_name_dm_to_pool("a---b", pool, sizeof(pool));
	assert_string_equal(pool, "a---b");
	tier_name_dm_to_pool("pool", pool, 3);
	assert_string_equal(pool, "po");
	/* What does not fit leaves the output alone: a dash counts twice. */
	strcpy(name, "old");
	assert_int_equal(tier_name_volume_to_dm("a", "b-", name, 5), -ENAMETOOLONG);
	assert_int_equal(tier_name_pool_to_dm("abcde", name, 5), -ENAMETOOLONG);
	assert_string_equal(name, "old");
	assert_int_equal(tier_name_volume_to_dm("a", "b-", name, 6), 0);
}

static void test_split(void **state)
{
	static const struct {
		const char *word;
		int r;
		const char *pool, *volume;
	} words[] = {
		{ "p", 0, "p", "" },		{ "p/v", 0, "p", "v" },
		{ "/dev/tier/p/v", 0, "p", "v" }, { "/dev/tier/p", 0, "p", "" },
		{ "", -EINVAL },		{ "p/", -EINVAL },
		{ "/v", -EINVAL },		{ "p/v/w", -EINVAL },
		{ "/dev/sda", -EINVAL },	{ "toolong/v", -ENAMETOOLONG },
		{ "p/toolong", -ENAMETOOLONG },
	};

	for (size_t i = 0; i < TIER_NR(words); i++) {
		char pool[7] = "-", volume[7] = "-";

		assert_int_equal(tier_name_split(words[i].word, pool, volume, sizeof(pool)),
				 words[i].r);
		if (!words[i].r) {
			assert_string_equal(pool, words[i].pool);
			assert_string_equal(volume, words[i].volume);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_both_ways),
		cmocka_unit_test(test_pool_other_spellings),
		cmocka_unit_test(test_pool_refuses),
		cmocka_unit_test(test_pool_biggest_line),
		cmocka_unit_test(test_volume),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_errors_stick),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_dm_names),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
