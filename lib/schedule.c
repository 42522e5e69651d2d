// SPDX-License-Identifier: GPL-2.0-only
/* Relocation windows; schedule.h is the contract. */
#include "schedule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY_S		((int64_t)TIER_WINDOW_DAY_S)
#define DAYS_A_WEEK	7
#define LOOK_BACK_DAYS	31

static const char day_names[DAYS_A_WEEK][4] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

#define WEEKDAYS	0x3eU
#define WEEKEND		0x41U

const struct tier_window tier_window_default = {
	.days = TIER_DAYS_ALL,
	.start_s = 0,
	.duration_s = 8 * 3600,
	.rate = { .kind = TIER_RATE_FAST },
};

static int64_t offset_at(const struct tier_time_zone *zone, int64_t utc_s)
{
	return zone->offset_s(zone->ctx, utc_s);
}

/* Days since 1970 by the local calendar. */
static int64_t local_day(const struct tier_time_zone *zone, int64_t utc_s)
{
	int64_t local_s = utc_s + offset_at(zone, utc_s);

	return local_s >= 0 ? local_s / DAY_S : -((-local_s + DAY_S - 1) / DAY_S);
}

/* 1 January 1970 was a Thursday. */
static uint32_t day_bit(int64_t day)
{
	return 1U << (((day + 4) % DAYS_A_WEEK + DAYS_A_WEEK) % DAYS_A_WEEK);
}

/*
 * The first instant at which local clocks show local_s (seconds since 1970 as if
 * they were UTC). Offsets are within 14 hours, so a day before and a day after
 * are on either side of it. If the clocks never show it, they are put forward
 * over it: the instant when they are.
 */
static int64_t utc_of_local(const struct tier_time_zone *zone, int64_t local_s)
{
	int64_t before_s = local_s - DAY_S, after_s = local_s + DAY_S;
	int64_t early_s = local_s - offset_at(zone, before_s);
	int64_t late_s = local_s - offset_at(zone, after_s);

	if (early_s + offset_at(zone, early_s) == local_s)
		return early_s;
	if (late_s + offset_at(zone, late_s) == local_s)
		return late_s;
	while (after_s - before_s > 1) {
		int64_t middle_s = before_s + (after_s - before_s) / 2;

		if (offset_at(zone, middle_s) == offset_at(zone, before_s))
			before_s = middle_s;
		else
			after_s = middle_s;
	}
	return after_s;
}

struct occurrence {
	int64_t opens_at_s;
	int64_t closes_at_s;
};

/* The window as of one local day; false: not on that day. */
static bool occurs_on(const struct tier_window *window, const struct tier_time_zone *zone,
		      int64_t day, struct occurrence *ret)
{
	if (!(window->days & day_bit(day)))
		return false;
	ret->opens_at_s = utc_of_local(zone, day * DAY_S + window->start_s);
	ret->closes_at_s = ret->opens_at_s + window->duration_s;
	if (window->duration_s >= TIER_WINDOW_DAY_S && window->days & day_bit(day + 1))
		ret->closes_at_s = utc_of_local(zone, (day + 1) * DAY_S + window->start_s);
	if (window->duration_s >= TIER_WINDOW_DAY_S && window->days == TIER_DAYS_ALL)
		ret->closes_at_s = TIER_SCHEDULE_NEVER;
	return true;
}

/* A window that never closes opened once; every day it would seem to open again. */
static bool is_always(const struct occurrence *occurrence)
{
	return occurrence->closes_at_s == TIER_SCHEDULE_NEVER;
}

void tier_schedule_at(const struct tier_schedule *schedule, const struct tier_time_zone *zone,
		      int64_t now_s, struct tier_schedule_state *ret_state)
{
	struct tier_schedule_state state = {
		.window = schedule->nr_windows,
		.opens_at_s = TIER_SCHEDULE_NEVER,
		.closes_at_s = TIER_SCHEDULE_NEVER,
		.next_open_s = TIER_SCHEDULE_NEVER,
	};
	int64_t today = local_day(zone, now_s);

	for (size_t i = 0; i < schedule->nr_windows; i++) {
		/* One that is open began yesterday or today; a day of slack for changed clocks. */
		for (int64_t day = today - 2; day <= today + DAYS_A_WEEK + 1; day++) {
			struct occurrence occurrence;

			if (!occurs_on(&schedule->windows[i], zone, day, &occurrence))
				continue;
			if (occurrence.opens_at_s <= now_s && now_s < occurrence.closes_at_s) {
				if (state.is_open && state.window != i)
					continue;
				/* Of one that never closes, this is the last midnight. */
				state.is_open = true;
				state.window = i;
				state.opens_at_s = occurrence.opens_at_s;
				state.closes_at_s = occurrence.closes_at_s;
				continue;
			}
			if (occurrence.opens_at_s <= now_s || is_always(&occurrence) ||
			    occurrence.opens_at_s >= state.next_open_s)
				continue;
			state.next_open_s = occurrence.opens_at_s;
			if (state.is_open)
				continue;
			state.window = i;
			state.opens_at_s = occurrence.opens_at_s;
			state.closes_at_s = occurrence.closes_at_s;
		}
	}
	*ret_state = state;
}

unsigned int tier_schedule_skipped(const struct tier_schedule *schedule,
				   const struct tier_time_zone *zone,
				   int64_t after_s, int64_t until_s, int64_t *ret_last_s)
{
	int64_t last_day = local_day(zone, until_s);
	int64_t first_day = local_day(zone, after_s) - 1;
	int64_t last_s = TIER_SCHEDULE_NEVER;
	unsigned int count = 0;

	if (first_day < last_day - LOOK_BACK_DAYS)
		first_day = last_day - LOOK_BACK_DAYS;
	for (size_t i = 0; i < schedule->nr_windows; i++) {
		for (int64_t day = first_day; day <= last_day; day++) {
			struct occurrence occurrence;

			if (!occurs_on(&schedule->windows[i], zone, day, &occurrence) ||
			    is_always(&occurrence) || occurrence.opens_at_s <= after_s ||
			    occurrence.closes_at_s > until_s)
				continue;
			if (!count++ || occurrence.opens_at_s > last_s)
				last_s = occurrence.opens_at_s;
		}
	}
	if (count && ret_last_s)
		*ret_last_s = last_s;
	return count;
}

/* Whether window `a` of week day i is open when `b` of week day j opens, or the other way round. */
static bool overlap(const struct tier_window *a, uint32_t i, const struct tier_window *b,
		    uint32_t j)
{
	int64_t week_s = DAYS_A_WEEK * DAY_S;
	int64_t start_a = i * DAY_S + a->start_s, start_b = j * DAY_S + b->start_s;

	return (start_b - start_a + week_s) % week_s < a->duration_s ||
	       (start_a - start_b + week_s) % week_s < b->duration_s;
}

int tier_schedule_check_overlap(const struct tier_schedule *schedule,
				size_t *ret_first, size_t *ret_second)
{
	for (size_t a = 0; a < schedule->nr_windows; a++) {
		for (size_t b = a + 1; b < schedule->nr_windows; b++) {
			for (uint32_t pair = 0; pair < DAYS_A_WEEK * DAYS_A_WEEK; pair++) {
				uint32_t i = pair / DAYS_A_WEEK, j = pair % DAYS_A_WEEK;

				if (!(schedule->windows[a].days & 1U << i) ||
				    !(schedule->windows[b].days & 1U << j) ||
				    !overlap(&schedule->windows[a], i, &schedule->windows[b], j))
					continue;
				*ret_first = a;
				*ret_second = b;
				return -EINVAL;
			}
		}
	}
	return 0;
}

/* Day whose name the text begins with, or -1. */
static int day_of(const char *text)
{
	for (int day = 0; day < DAYS_A_WEEK; day++)
		if (!strncasecmp(text, day_names[day], 3))
			return day;
	return -1;
}

/* One word: a day or a range of days. 0 = none. */
static uint32_t days_of_word(const char *word, size_t length)
{
	int first = length >= 3 ? day_of(word) : -1, last;
	uint32_t days = 0;

	if (first < 0)
		return 0;
	if (length == 3)
		return 1U << first;
	if (length != 7 || word[3] != '-')
		return 0;
	last = day_of(word + 4);
	if (last < 0)
		return 0;
	for (int day = first;; day = (day + 1) % DAYS_A_WEEK) {
		days |= 1U << day;
		if (day == last)
			return days;
	}
}

int tier_days_from_text(const char *text, uint32_t *ret_days)
{
	uint32_t days = 0;

	if (!strcasecmp(text, "daily")) {
		days = TIER_DAYS_ALL;
	} else if (!strcasecmp(text, "weekdays")) {
		days = WEEKDAYS;
	} else if (!strcasecmp(text, "weekend")) {
		days = WEEKEND;
	} else {
		for (;;) {
			size_t length = strcspn(text, ",");
			uint32_t more = days_of_word(text, length);

			if (!more)
				return -EINVAL;
			days |= more;
			if (!text[length])
				break;
			text += length + 1;
		}
	}
	*ret_days = days;
	return 0;
}

static int two_digits(const char *text)
{
	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return -1;
	return (text[0] - '0') * 10 + text[1] - '0';
}

int tier_time_of_day_from_text(const char *text, uint32_t *ret_start_s)
{
	int hours, minutes;

	if (strlen(text) != 5 || text[2] != ':')
		return -EINVAL;
	hours = two_digits(text);
	minutes = two_digits(text + 3);
	if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return -EINVAL;
	*ret_start_s = (uint32_t)(hours * 3600 + minutes * 60);
	return 0;
}

void tier_days_to_text(uint32_t days, char *ret_text)
{
	char *end = ret_text;

	days &= TIER_DAYS_ALL;
	if (days == TIER_DAYS_ALL || days == WEEKDAYS || days == WEEKEND) {
		snprintf(ret_text, TIER_DAYS_TEXT_SIZE, "%s", days == TIER_DAYS_ALL ? "daily" :
			 days == WEEKDAYS ? "weekdays" : "weekend");
		return;
	}
	/* Monday first. */
	for (int i = 1; i <= DAYS_A_WEEK; i++) {
		int day = i % DAYS_A_WEEK;

		if (!(days & 1U << day))
			continue;
		if (end != ret_text)
			*end++ = ',';
		memcpy(end, day_names[day], 3);
		end += 3;
	}
	*end = '\0';
}
