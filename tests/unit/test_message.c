// SPDX-License-Identifier: GPL-2.0-only
/* Messages (lib/message.c), percent-encoding (lib/text.c); the kernel's parser reads them back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "text.h"
#include "util.h"

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"

static char message[TIER_MESSAGE_SIZE];

#define CHECK(text, call) do {					\
	assert_int_equal(call, 0);				\
	assert_string_equal(message, text);			\
} while (0)
#define OUT	message, sizeof(message)

static void test_grammar(void **state)
{
	struct tier_placement automatic = { .is_auto = true };
	struct tier_placement tiers = { .nr_tiers = 3, .tiers = { 2, 0, 1 } };

	CHECK("create_volume 7 2048 " UUID " name=a%20b",
	      tier_message_create_volume(7, 2048, UUID, "name=a b", OUT));
	CHECK("create_volume 0 2048 " UUID " -", tier_message_create_volume(0, 2048, UUID, "", OUT));
	CHECK("resize_volume 7 18446744073709551615",
	      tier_message_resize_volume(7, UINT64_MAX, OUT));
	CHECK("delete_volume 4095", tier_message_delete_volume(4095, OUT));
	CHECK("set_label 3 name=v;policy=highest",
	      tier_message_set_label(3, "name=v;policy=highest", OUT));
	CHECK("set_pool_label -", tier_message_set_pool_label("", OUT));
	CHECK("set_placement 1 auto", tier_message_set_placement(1, &automatic, OUT));
	CHECK("set_placement 1 2,0,1", tier_message_set_placement(1, &tiers, OUT));
	CHECK("migrate 1 2 0", tier_message_migrate(1, 2, (struct tier_target){ false, 0 }, false, OUT));
	CHECK("migrate 1 2 dev:63 force",
	      tier_message_migrate(1, 2, (struct tier_target){ true, 63 }, true, OUT));
	CHECK("cancel 1 2", tier_message_cancel(1, 2, OUT));
	CHECK("set_rate 0", tier_message_set_rate(0, OUT));
	CHECK("set_moves 4", tier_message_set_moves(4, OUT));
	CHECK("add_device " UUID " 1 5", tier_message_add_device(UUID, 1, 5, OUT));
	CHECK("grow_device 2 9", tier_message_grow_device(2, 9, OUT));
	CHECK("set_device 2 online", tier_message_set_device(2, false, OUT));
	CHECK("set_device 2 draining", tier_message_set_device(2, true, OUT));
	CHECK("forget_device 2", tier_message_forget_device(2, false, OUT));
	CHECK("forget_device 2 lost", tier_message_forget_device(2, true, OUT));
	CHECK("set_reserve 2 1", tier_message_set_reserve(2, 1, OUT));
	CHECK("moves since 10", tier_message_moves_since(10, OUT));
	CHECK("map 1 0 64", tier_message_map(1, 0, 64, OUT));
	CHECK("counters 1 0 64", tier_message_counters(1, 0, 64, 0, OUT));
	CHECK("counters 1 0 64 since 5", tier_message_counters(1, 0, 64, 5, OUT));
}

static void test_limits(void **state)
{
	struct tier_placement none = { 0 }, all = { .nr_tiers = TIER_MAX_TIERS };
	char text[TIER_LABEL_SIZE + 1], word[TIER_PLACEMENT_SIZE], small[8] = "old";

	memset(text, '\n', sizeof(text));	/* three bytes each when encoded */
	text[TIER_LABEL_SIZE - 1] = '\0';
	assert_int_equal(tier_message_create_volume(4095, UINT64_MAX, UUID, text, OUT), 0);
	assert_int_equal(tier_message_set_label(4095, text, OUT), 0);
	text[TIER_LABEL_SIZE - 1] = 'x';
	text[TIER_LABEL_SIZE] = '\0';
	assert_int_equal(tier_message_create_volume(1, 1, UUID, text, OUT), -ENAMETOOLONG);
	assert_int_equal(tier_message_set_label(1, text, OUT), -ENAMETOOLONG);
	assert_int_equal(tier_message_set_pool_label(text, OUT), -ENAMETOOLONG);
	assert_int_equal(tier_message_set_placement(1, &none, OUT), -EINVAL);
	memset(all.tiers, 255, sizeof(all.tiers));
	tier_placement_word(&all, word);	/* no overflow (sanitizer) */
	assert_int_equal(strlen(word), TIER_PLACEMENT_SIZE - 2);
	assert_int_equal(tier_message_cancel(1, 2, small, sizeof(small)), -ENOSPC);
	assert_string_equal(small, "old");
}

static void test_text(void **state)
{
	static const char *const bad[] = { "", "a b", "%", "%4", "%zz", "a%00", "\xff" };
	char word[TIER_ENCODED_SIZE], text[TIER_LABEL_SIZE], back[TIER_LABEL_SIZE] = "old";

	for (size_t i = 0; i < TIER_NR(bad); i++) {
		if (tier_text_decode(bad[i], back) != -EINVAL)
			fail_msg("accepted: \"%s\"", bad[i]);
		assert_string_equal(back, "old");
	}
	assert_int_equal(tier_text_decode("-", back), 0);
	assert_string_equal(back, "");

	srand(1);
	for (int round = 0; round < 2000; round++) {
		int length = rand() % TIER_LABEL_SIZE;

		for (int i = 0; i < length; i++)
			text[i] = (char)(1 + rand() % 255);
		text[length] = '\0';
		assert_int_equal(tier_text_encode(text, word), 0);
		assert_int_equal(word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
						   "0123456789_.,:;=+-/@%")], '\0');
		assert_int_equal(tier_text_decode(word, back), 0);
		assert_string_equal(back, text);
	}
}

static void test_clean(void **state)
{
	static const struct {
		const char *text, *clean;
	} texts[] = {
		{ "", "" },
		{ "plain ~ text", "plain ~ text" },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7" },
		{ "m\xe4", "m?" },			/* Latin-1 */
		{ "a\xe2\x82", "a??" },			/* cut */
		{ "\xe2(\x82", "?(?" },
		{ "\x1b[31m\tb\n\x7f", "?[31m?b??" },	/* a terminal's colours */
		{ "\xc2\x9b", "??" },			/* and in one character */
		{ "\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "?? ??? ????" },	/* too long */
		{ "\xed\xa0\x80", "???" },		/* half of a pair */
		{ "\xf4\x90\x80\x80 \xff\xfe", "???? ??" },	/* beyond the last one */
		{ "\xef\xbf\xbe \xef\xb7\x90", "??? ???" },	/* never characters */
	};

	for (size_t i = 0; i < TIER_NR(texts); i++) {
		char text[40];

		strcpy(text, texts[i].text);
		tier_text_clean(text);
		assert_string_equal(text, texts[i].clean);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
