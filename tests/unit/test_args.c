// SPDX-License-Identifier: GPL-2.0-only
/* Words of table lines and messages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "dm-tier-args.h"
#include "ring.h"

static void test_u64(void **state)
{
	u64 value = 77;

	assert_int_equal(dm_tier_args_u64("0", 0, 0, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(dm_tier_args_u64("18446744073709551615", 0, U64_MAX, &value), 0);
	assert_true(value == U64_MAX);
	assert_int_equal(dm_tier_args_u64("007", 7, 7, &value), 0);
	assert_int_equal(value, 7);

	value = 77;
	assert_int_equal(dm_tier_args_u64("18446744073709551616", 0, U64_MAX, &value), -ERANGE);
	assert_int_equal(dm_tier_args_u64("99999999999999999999", 0, U64_MAX, &value), -ERANGE);
	assert_int_equal(dm_tier_args_u64("4", 5, 9, &value), -ERANGE);
	assert_int_equal(dm_tier_args_u64("10", 5, 9, &value), -ERANGE);
	assert_int_equal(dm_tier_args_u64("", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("-1", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("+1", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64(" 1", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("1 ", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("0x1", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("1k", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("1/", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("1:", 0, 9, &value), -EINVAL);
	assert_int_equal(dm_tier_args_u64("99999999999999999999x", 0, 9, &value), -EINVAL);
	assert_int_equal(value, 77);
}

static void test_uuid(void **state)
{
	static const char text[] = "01234567-89ab-cdef-fedc-ba9876543210";
	static const u8 bytes[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
				      0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 };
	char got[DM_TIER_UUID_CHARS], bad[DM_TIER_UUID_CHARS + 1];
	u8 uuid[16];

	assert_int_equal(dm_tier_args_uuid(text, uuid), 0);
	assert_memory_equal(uuid, bytes, 16);
	dm_tier_format_uuid(uuid, got);
	assert_string_equal(got, text);
	assert_int_equal(dm_tier_args_uuid("01234567-89AB-CDEF-fEdC-Ba9876543210", uuid), 0);
	assert_memory_equal(uuid, bytes, 16);

	memset(uuid, 0, 16);
	/* Every character counts, and so does the length. */
	for (u32 i = 0; i < 36; i++) {
		strcpy(bad, text);
		bad[i] = bad[i] == '-' ? '0' : '-';
		assert_int_equal(dm_tier_args_uuid(bad, uuid), -EINVAL);
		bad[i] = 'g';
		assert_int_equal(dm_tier_args_uuid(bad, uuid), -EINVAL);
		bad[i] = '\0';
		assert_int_equal(dm_tier_args_uuid(bad, uuid), -EINVAL);
	}
	strcpy(bad, text);
	strcat(bad, "0");
	assert_int_equal(dm_tier_args_uuid(bad, uuid), -EINVAL);
	for (u32 i = 0; i < 16; i++)
		assert_int_equal(uuid[i], 0);
}

static void expect_text(const char *word, const char *text, u32 bytes)
{
	char got[DM_TIER_MAX_LABEL];
	u8 got_bytes = 255;

	assert_int_equal(dm_tier_args_text(word, got, &got_bytes), 0);
	assert_int_equal(got_bytes, bytes);
	assert_memory_equal(got, text, bytes);
}

static void test_text(void **state)
{
	char word[DM_TIER_ENCODED_CHARS + 1], got[DM_TIER_MAX_LABEL] = "kept";
	u8 bytes = 99;

	expect_text("-", "", 0);
	expect_text("name=a;policy=auto", "name=a;policy=auto", 18);
	expect_text("--", "--", 2);
	expect_text("%2D", "-", 1);
	expect_text("a%20b%ff%Ff", "a b\xff\xff", 5);

	assert_int_equal(dm_tier_args_text("", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("a b", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("a\xc3", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("a*", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("%", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("%4", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("%4g", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("%g4", got, &bytes), -EINVAL);
	assert_int_equal(dm_tier_args_text("%00", got, &bytes), -EINVAL);
	memset(word, 'a', sizeof(word));
	word[DM_TIER_MAX_LABEL + 1] = '\0';
	assert_int_equal(dm_tier_args_text(word, got, &bytes), -ENAMETOOLONG);
	assert_string_equal(got, "kept");
	assert_int_equal(bytes, 99);
	word[DM_TIER_MAX_LABEL] = '\0';
	assert_int_equal(dm_tier_args_text(word, got, &bytes), 0);
	assert_int_equal(bytes, DM_TIER_MAX_LABEL);
}

static void test_text_round_trip(void **state)
{
	char word[DM_TIER_ENCODED_CHARS], text[DM_TIER_MAX_LABEL];
	struct rng rng = { 21 };

	dm_tier_encode_text("", 0, word);
	assert_string_equal(word, "-");
	dm_tier_encode_text("-", 1, word);
	assert_string_equal(word, "%2D");
	dm_tier_encode_text("a-b c", 5, word);
	assert_string_equal(word, "a-b%20c");

	/* Each byte alone, then the longest word, then anything. */
	for (u32 c = 1; c < 256; c++) {
		text[0] = c;
		dm_tier_encode_text(text, 1, word);
		expect_text(word, text, 1);
	}
	memset(text, 0xff, sizeof(text));
	dm_tier_encode_text(text, DM_TIER_MAX_LABEL, word);
	assert_int_equal(strlen(word), DM_TIER_ENCODED_CHARS - 1);
	expect_text(word, text, DM_TIER_MAX_LABEL);
	for (u32 i = 0; i < 5000; i++) {
		const u32 bytes = rng_below(&rng, DM_TIER_MAX_LABEL + 1);

		for (u32 j = 0; j < bytes; j++)
			text[j] = 1 + rng_below(&rng, 255);
		dm_tier_encode_text(text, bytes, word);
		expect_text(word, text, bytes);
	}
}

static void test_placement(void **state)
{
	static const char *const bad[] = {
		"", ",", "0,", ",0", "0,,1", "0,0", "1,2,1", "8", "9", "10", "a", "auto,0",
		"Auto", "0 ,1", "0,1,2,3,4,5,6,7,0", "-1",
	};
	u8 tiers = 9, placement[DM_TIER_MAX_TIERS] = { 99 };

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(dm_tier_args_placement(bad[i], &tiers, placement), -EINVAL);
	assert_int_equal(tiers, 9);
	assert_int_equal(placement[0], 99);

	assert_int_equal(dm_tier_args_placement("auto", &tiers, placement), 0);
	assert_int_equal(tiers, 0);
	assert_int_equal(dm_tier_args_placement("7,6,5,4,3,2,1,0", &tiers, placement), 0);
	assert_int_equal(tiers, 8);
	for (u32 i = 0; i < 8; i++)
		assert_int_equal(placement[i], 7 - i);
	assert_int_equal(dm_tier_args_placement("2", &tiers, placement), 0);
	assert_int_equal(tiers, 1);
	assert_int_equal(placement[0], 2);
}

static void test_target(void **state)
{
	int tier = 5, device = 5;

	assert_int_equal(dm_tier_args_target("8", &tier, &device), -EINVAL);
	assert_int_equal(dm_tier_args_target("dev:64", &tier, &device), -EINVAL);
	assert_int_equal(dm_tier_args_target("dev:", &tier, &device), -EINVAL);
	assert_int_equal(dm_tier_args_target("dev", &tier, &device), -EINVAL);
	assert_int_equal(dm_tier_args_target("dev:-1", &tier, &device), -EINVAL);
	assert_int_equal(dm_tier_args_target("", &tier, &device), -EINVAL);
	assert_int_equal(tier, 5);
	assert_int_equal(device, 5);
	assert_int_equal(dm_tier_args_target("7", &tier, &device), 0);
	assert_int_equal(tier, 7);
	assert_int_equal(device, -1);
	assert_int_equal(dm_tier_args_target("dev:63", &tier, &device), 0);
	assert_int_equal(tier, -1);
	assert_int_equal(device, 63);
}

/* Splits at spaces. */
static int features(const char *line, struct dm_tier_features *ret, const char **ret_error)
{
	char text[100], *argv[10], *save = NULL;
	u32 argc = 0;

	strcpy(text, line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	return dm_tier_args_features(argc, argv, ret, ret_error);
}

static void test_features(void **state)
{
	static const char *const bad[] = {
		"readonly", "no_space_timeout", "no_space_timeout -1", "no_space_timeout 1 2",
		"no_space_timeout 4294967296", "partial read_only x",
	};
	struct dm_tier_features f;
	const char *error = NULL;

	memset(&f, 0x5a, sizeof(f));
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		error = NULL;
		assert_int_equal(features(bad[i], &f, &error), -EINVAL);
		assert_non_null(error);
	}
	assert_int_equal(f.no_space_timeout_s, 0x5a5a5a5a);

	error = NULL;
	assert_int_equal(features("", &f, &error), 0);
	assert_false(f.read_only || f.partial || f.error_if_no_space);
	assert_int_equal(f.no_space_timeout_s, 60);
	assert_int_equal(features("read_only partial error_if_no_space no_space_timeout 0", &f,
				  &error), 0);
	assert_true(f.read_only && f.partial && f.error_if_no_space);
	assert_int_equal(f.no_space_timeout_s, 0);
	assert_int_equal(features("no_space_timeout 4294967295", &f, &error), 0);
	assert_int_equal(f.no_space_timeout_s, U32_MAX);
	assert_null(error);
}

static void test_verb(void **state)
{
	/* As the module has them: the verb heads a larger row. */
	static const struct {
		struct dm_tier_verb verb;
		int (*fn)(void);
	} rows[] = {
		{ { "commit", 1, 1 } },
		{ { "moves", 1, 1 } },
		{ { "moves", 3, 3 } },
		{ { "migrate", 4, 5 } },
	};
	char commit[] = "commit", moves[] = "moves", migrate[] = "migrate", none[] = "commi";
	char *argv[5] = { commit };

#define VERB(argc) dm_tier_args_verb(&rows[0].verb, sizeof(rows[0]), 4, argc, argv)
	assert_int_equal(VERB(0), -EINVAL);
	assert_int_equal(VERB(1), 0);
	assert_int_equal(VERB(2), -EINVAL);
	argv[0] = moves;
	assert_int_equal(VERB(1), 1);
	assert_int_equal(VERB(2), -EINVAL);
	assert_int_equal(VERB(3), 2);
	assert_int_equal(VERB(4), -EINVAL);
	argv[0] = migrate;
	assert_int_equal(VERB(3), -EINVAL);
	assert_int_equal(VERB(4), 3);
	assert_int_equal(VERB(5), 3);
	assert_int_equal(VERB(6), -EINVAL);
	argv[0] = none;
	assert_int_equal(VERB(1), -ENOENT);
#undef VERB
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_round_trip),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
