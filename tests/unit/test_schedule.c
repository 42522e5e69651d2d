// SPDX-License-Identifier: GPL-2.0-only
/* lib/schedule.c and lib/throttle.c: rules 4.x of tierd.conf(5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schedule.h"
#include "throttle.h"

#define HOUR	3600

/* Zones as POSIX rules, so that no time zone files are needed. */
static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";
static const char new_york[] = "EST5EDT,M3.2.0,M11.1.0";
static const char samoa[] = "<+14>-14";

static int64_t process_offset(void *ctx, int64_t utc_s)
{
	time_t t = utc_s;
	struct tm tm;

	(void)ctx;
	assert_non_null(localtime_r(&t, &tm));
	return tm.tm_gmtoff;
}

static const struct tier_time_zone zone = { .offset_s = process_offset };

static void set_zone(const char *name)
{
	assert_int_equal(setenv("TZ", name, 1), 0);
	tzset();
}

/* UTC. */
static int64_t utc(int year, int month, int day, int hour, int minute)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day,
			 .tm_hour = hour, .tm_min = minute };

	return timegm(&tm);
}

static struct tier_schedule_state at(const struct tier_window *windows, size_t count, int64_t now_s)
{
	struct tier_schedule schedule = { .windows = windows, .nr_windows = count };
	struct tier_schedule_state state;

	tier_schedule_at(&schedule, &zone, now_s, &state);
	return state;
}

static void test_default(void **state)
{
	struct tier_schedule_state s;

	(void)state;
	set_zone("UTC0");
	s = at(&tier_window_default, 1, utc(2024, 5, 15, 0, 0));
	assert_true(s.is_open);
	assert_int_equal(s.opens_at_s, utc(2024, 5, 15, 0, 0));
	assert_int_equal(s.closes_at_s, utc(2024, 5, 15, 8, 0));
	assert_int_equal(s.next_open_s, utc(2024, 5, 16, 0, 0));
	s = at(&tier_window_default, 1, utc(2024, 5, 15, 7, 59) + 59);
	assert_true(s.is_open);
	s = at(&tier_window_default, 1, utc(2024, 5, 15, 8, 0));
	assert_false(s.is_open);
	assert_int_equal(s.window, 0);
	assert_int_equal(s.opens_at_s, utc(2024, 5, 16, 0, 0));
	assert_int_equal(s.closes_at_s, utc(2024, 5, 16, 8, 0));
	assert_int_equal(s.next_open_s, utc(2024, 5, 16, 0, 0));
	s = at(NULL, 0, 0);
	assert_false(s.is_open);
	assert_int_equal(s.next_open_s, TIER_SCHEDULE_NEVER);
}

/* Over midnight a window belongs to the day on which it opened. */
static void test_days_and_midnight(void **state)
{
	struct tier_window windows[] = {
		{ .days = 0, .start_s = 22 * HOUR, .duration_s = 6 * HOUR },
		{ .days = 0, .start_s = 6 * HOUR, .duration_s = 24 * HOUR },
	};
	struct tier_schedule_state s;

	(void)state;
	set_zone("UTC0");
	assert_int_equal(tier_days_from_text("mon-fri", &windows[0].days), 0);
	assert_int_equal(tier_days_from_text("sun", &windows[1].days), 0);
	/* 17 May 2024 is a Friday. */
	s = at(windows, 2, utc(2024, 5, 18, 3, 0));
	assert_true(s.is_open);
	assert_int_equal(s.window, 0);
	assert_int_equal(s.opens_at_s, utc(2024, 5, 17, 22, 0));
	s = at(windows, 2, utc(2024, 5, 18, 4, 0));
	assert_false(s.is_open);
	assert_int_equal(s.window, 1);
	assert_int_equal(s.next_open_s, utc(2024, 5, 19, 6, 0));
	s = at(windows, 2, utc(2024, 5, 20, 5, 59));
	assert_true(s.is_open);
	assert_int_equal(s.window, 1);
	assert_int_equal(s.closes_at_s, utc(2024, 5, 20, 6, 0));
	assert_int_equal(s.next_open_s, utc(2024, 5, 20, 22, 0));
	/* Where windows overlap, the first one listed counts. */
	windows[1].days = TIER_DAYS_ALL;
	assert_int_equal(at(windows, 2, utc(2024, 5, 20, 23, 0)).window, 0);
	assert_int_equal(at(windows, 2, utc(2024, 5, 20, 21, 0)).window, 1);
}

static void test_always(void **state)
{
	struct tier_window window = { .days = TIER_DAYS_ALL, .duration_s = 24 * HOUR };

	(void)state;
	set_zone(berlin);
	for (int64_t now_s = utc(2024, 1, 1, 0, 0); now_s < utc(2025, 1, 1, 0, 0);
	     now_s += 1787) {
		struct tier_schedule_state s = at(&window, 1, now_s);

		assert_true(s.is_open);
		assert_int_equal(s.closes_at_s, TIER_SCHEDULE_NEVER);
		assert_int_equal(s.next_open_s, TIER_SCHEDULE_NEVER);
	}
}

/* Eight hours are eight hours; the opening goes by the clock on the wall. */
static void test_clock_changes(void **state)
{
	struct tier_window window = tier_window_default;
	struct tier_schedule_state s;

	(void)state;
	set_zone(berlin);
	/* 31 March 2024: 02:00 -> 03:00. Open from 00:00 to 09:00 by the wall. */
	s = at(&window, 1, utc(2024, 3, 31, 1, 0));
	assert_int_equal(s.opens_at_s, utc(2024, 3, 30, 23, 0));
	assert_int_equal(s.closes_at_s, utc(2024, 3, 31, 7, 0));
	assert_int_equal(s.next_open_s, utc(2024, 3, 31, 22, 0));
	/* 27 October 2024: 03:00 -> 02:00. */
	s = at(&window, 1, utc(2024, 10, 27, 1, 0));
	assert_int_equal(s.opens_at_s, utc(2024, 10, 26, 22, 0));
	assert_int_equal(s.closes_at_s, utc(2024, 10, 27, 6, 0));
	assert_int_equal(s.next_open_s, utc(2024, 10, 27, 23, 0));

	/* 02:30 is left out in spring: opens at 03:00. It comes twice in autumn: the first. */
	window.start_s = 2 * HOUR + 1800;
	window.duration_s = 1800;
	s = at(&window, 1, utc(2024, 3, 31, 0, 0));
	assert_int_equal(s.next_open_s, utc(2024, 3, 31, 1, 0));
	s = at(&window, 1, utc(2024, 10, 27, 0, 35));
	assert_true(s.is_open);
	assert_int_equal(s.opens_at_s, utc(2024, 10, 27, 0, 30));
	s = at(&window, 1, utc(2024, 10, 27, 1, 35));
	assert_false(s.is_open);
	assert_int_equal(s.next_open_s, utc(2024, 10, 28, 1, 30));
}

/* Against a slow and simple definition, hour by hour through a year, in three zones. */
static void test_year(void **state)
{
	static const char *const zones[] = { berlin, new_york, samoa };
	struct tier_window window = { .days = 0, .start_s = 20 * HOUR, .duration_s = 10 * HOUR };

	(void)state;
	assert_int_equal(tier_days_from_text("tue,sat-sun", &window.days), 0);
	for (size_t z = 0; z < 3; z++) {
		int64_t opened_s = 0;
		unsigned int openings = 0;

		set_zone(zones[z]);
		/* The first days only to see a window open. */
		for (int64_t now_s = utc(2022, 12, 25, 12, 0); now_s < utc(2024, 1, 1, 12, 0);
		     now_s += 900) {
			time_t t = now_s;
			struct tm tm;

			localtime_r(&t, &tm);
			if (tm.tm_hour == 20 && tm.tm_min == 0 &&
			    (tm.tm_wday == 0 || tm.tm_wday == 2 || tm.tm_wday == 6)) {
				opened_s = now_s;
				openings++;
			}
			if (opened_s)
				assert_int_equal(at(&window, 1, now_s).is_open,
						 now_s < opened_s + 10 * HOUR);
		}
		assert_in_range(openings, 159, 161);
	}
}

static void test_skipped(void **state)
{
	struct tier_schedule schedule = { .windows = &tier_window_default, .nr_windows = 1 };
	int64_t last_s = 0;

	(void)state;
	set_zone("UTC0");
	/* Slept from Monday noon to Thursday 03:00: two whole nights; the third is open. */
	assert_int_equal(tier_schedule_skipped(&schedule, &zone, utc(2024, 5, 13, 12, 0),
					       utc(2024, 5, 16, 3, 0), &last_s), 2);
	assert_int_equal(last_s, utc(2024, 5, 15, 0, 0));
	/* Part of a window was used: not skipped. */
	assert_int_equal(tier_schedule_skipped(&schedule, &zone, utc(2024, 5, 13, 7, 0),
					       utc(2024, 5, 13, 23, 0), &last_s), 0);
	assert_int_equal(tier_schedule_skipped(&schedule, &zone, utc(1999, 1, 1, 0, 0),
					       utc(2024, 5, 13, 23, 0), &last_s), 32);
}

static void test_overlap(void **state)
{
	struct tier_window windows[] = {
		{ .days = TIER_DAYS_ALL, .start_s = 0, .duration_s = 8 * HOUR },
		{ .days = TIER_DAYS_ALL, .start_s = 8 * HOUR, .duration_s = 16 * HOUR },
		{ .days = TIER_DAY_SUNDAY << 6, .start_s = 23 * HOUR, .duration_s = 2 * HOUR },
	};
	struct tier_schedule schedule = { .windows = windows, .nr_windows = 2 };
	size_t first = 9, second = 9;

	(void)state;
	assert_int_equal(tier_schedule_check_overlap(&schedule, &first, &second), 0);
	assert_int_equal(first, 9);
	schedule.nr_windows = 3;
	assert_int_equal(tier_schedule_check_overlap(&schedule, &first, &second), -EINVAL);
	assert_int_equal(first, 0);
	assert_int_equal(second, 2);
	/* Saturday's runs into Sunday, over the end of the week. */
	windows[0].days = TIER_DAY_SUNDAY;
	windows[1].days = TIER_DAY_SUNDAY << 1;
	assert_int_equal(tier_schedule_check_overlap(&schedule, &first, &second), -EINVAL);
	windows[0].start_s = HOUR;
	assert_int_equal(tier_schedule_check_overlap(&schedule, &first, &second), 0);
}

static void test_text(void **state)
{
	static const char *const bad_days[] = {
		"", "mo", "monday", "mon,", ",mon", "mon fri", "mon-", "mon-xyz", "daily,mon", "mon--fri",
	};
	static const char *const bad_times[] = {
		"", "0:00", "24:00", "00:60", "00-00", "00:000", "aa:bb", "-1:00", "+1:00",
	};
	static const char *const texts[] = { "daily", "weekdays", "weekend", "tue", "mon,wed,fri" };
	char text[TIER_DAYS_TEXT_SIZE];
	uint32_t value;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(tier_days_from_text(texts[i], &value), 0);
		tier_days_to_text(value, text);
		assert_string_equal(text, texts[i]);
	}
	for (value = 1; value <= TIER_DAYS_ALL; value++) {
		uint32_t again;

		tier_days_to_text(value, text);
		assert_true(strlen(text) < sizeof(text));
		assert_int_equal(tier_days_from_text(text, &again), 0);
		assert_int_equal(again, value);
	}
	assert_int_equal(tier_days_from_text("Fri-Mon", &value), 0);
	assert_int_equal(value, 0x63);
	assert_int_equal(tier_time_of_day_from_text("23:59", &value), 0);
	assert_int_equal(value, 86340);
	value = 7;
	for (size_t i = 0; i < sizeof(bad_days) / sizeof(bad_days[0]); i++)
		assert_int_equal(tier_days_from_text(bad_days[i], &value), -EINVAL);
	for (size_t i = 0; i < sizeof(bad_times) / sizeof(bad_times[0]); i++)
		assert_int_equal(tier_time_of_day_from_text(bad_times[i], &value), -EINVAL);
	assert_int_equal(value, 7);
}

static void test_rates(void **state)
{
	struct tier_rate_table table;
	struct tier_rate rate;

	(void)state;
	tier_rate_table_init(&table);
	assert_int_equal(tier_rate_from_word("fast", &rate), 0);
	assert_int_equal(tier_rate_resolve(&rate, &table), 0);
	assert_int_equal(tier_rate_from_word("medium", &rate), 0);
	assert_int_equal(tier_rate_resolve(&rate, &table), 160 << 20);
	assert_int_equal(tier_rate_from_word("slow", &rate), 0);
	assert_int_equal(tier_rate_resolve(&rate, &table), 40 << 20);
	assert_string_equal(tier_rate_word(rate.kind), "slow");
	rate = (struct tier_rate) { .kind = TIER_RATE_BYTES, .bytes_per_s = 12345 };
	assert_int_equal(tier_rate_resolve(&rate, &table), 12345);
	assert_int_equal(tier_rate_from_word("bytes", &rate), -EINVAL);
	assert_int_equal(tier_rate_from_word("", &rate), -EINVAL);
	assert_int_equal(rate.bytes_per_s, 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_days_and_midnight),
		cmocka_unit_test(test_always),
		cmocka_unit_test(test_clock_changes),
		cmocka_unit_test(test_year),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
