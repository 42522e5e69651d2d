// SPDX-License-Identifier: GPL-2.0-only
/* Log records: every event has an identifier of its own, and the catalog explains each. */
#include <ctype.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log.h"
#include "util.h"

static void test_message_ids(void **state)
{
	for (int i = 0; i < LOG_EVENT_COUNT; i++) {
		const char *id = log_event_message_id(i);

		assert_int_equal(strlen(id), 32);
		for (const char *c = id; *c; c++)
			assert_true(isxdigit((unsigned char)*c) && !isupper((unsigned char)*c));
		for (int other = 0; other < i; other++)
			assert_string_not_equal(id, log_event_message_id(other));
	}
}

static void test_catalog(void **state)
{
	_cleanup_fclose_ FILE *file = fopen("systemd/tierd.catalog", "r");
	_cleanup_free_ char *text = calloc(1, 65536);
	int entries = 0;
	size_t size;

	assert_non_null(file);
	size = fread(text, 1, 65535, file);
	assert_in_range(size, 1000, 65000);
	for (const char *at = text; (at = strstr(at, "\n-- ")); at++)
		entries++;
	assert_int_equal(entries, LOG_EVENT_COUNT);
	for (int i = 0; i < LOG_EVENT_COUNT; i++) {
		char head[64];

		snprintf(head, sizeof(head), "\n-- %s\nSubject: ", log_event_message_id(i));
		assert_non_null(strstr(text, head));
	}
}

static void take(void *ctx, const struct log_record *record)
{
	struct log_record *taken = ctx;

	*taken = *record;
	taken->text = strdup(record->text);
}

static void test_records(void **state)
{
	struct log_record taken = { 0 }, record = LOG_RECORD(LOG_MOVE_DONE_EVENT, LOG_DEBUG, "p");
	const struct log_sink sink = { .write = take, .ctx = &taken };
	char longer[2000];

	record.to_tier = 1;
	log_write(&sink, record, "extent %d", 7);
	assert_string_equal(taken.text, "extent 7");
	assert_string_equal(taken.pool, "p");
	assert_int_equal(taken.from_tier, LOG_NO_TIER);
	assert_int_equal(taken.to_tier, 1);
	assert_int_equal(taken.reason, TIER_REASON_NONE);
	assert_false(taken.has_extent || taken.has_bytes);
	free((char *)taken.text);

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	log_plain(&sink, LOG_STARTED_EVENT, LOG_INFO, NULL, "%s", longer);
	assert_int_equal(strlen(taken.text), 1023);
	assert_null(taken.pool);
	free((char *)taken.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_ids),
		cmocka_unit_test(test_catalog),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
