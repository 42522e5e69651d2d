/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Relocation windows: which one is open, when the next one opens. Rules 4.1 of
 * tierd.conf(5).
 *
 * A window opens at a time of day on some days of the week, local time, and
 * lasts a duration of real time: 8 hours are 8 hours also when the clocks change
 * in between. A time of day that a change of clocks leaves out opens it right
 * after the gap; one that comes twice opens it the first time. A window may run
 * over midnight and belongs to the day on which it opened. One of 24 h lasts
 * until the same window opens again, so "daily 00:00 24h" is always open.
 *
 * Times are seconds since 1970 (UTC). Pure: the caller brings the time and the
 * time zone.
 */
#ifndef TIER_SCHEDULE_H
#define TIER_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "throttle.h"

#define TIER_DAY_SUNDAY		(1U << 0)	/* bit n = tm_wday n */
#define TIER_DAYS_ALL		0x7fU
#define TIER_SCHEDULE_NEVER	INT64_MAX
#define TIER_WINDOW_DAY_S	86400U

struct tier_window {
	uint32_t days;			/* bits, at least one */
	uint32_t start_s;		/* after midnight, < 86400 */
	uint32_t duration_s;		/* 1 .. TIER_WINDOW_DAY_S */
	struct tier_rate rate;
};

struct tier_schedule {
	const struct tier_window *windows;	/* none: never open */
	size_t nr_windows;
};

/*
 * Offset of local time from UTC at this instant, in seconds (east positive). For
 * the process's own time zone:
 *	time_t t = utc_s; struct tm tm; localtime_r(&t, &tm); return tm.tm_gmtoff;
 */
struct tier_time_zone {
	int64_t (*offset_s)(void *ctx, int64_t utc_s);
	void *ctx;
};

struct tier_schedule_state {
	bool is_open;
	size_t window;			/* index of the open one, or of the next; nr_windows: none */
	int64_t opens_at_s;		/* of that window: past if it is open, else to come */
	int64_t closes_at_s;		/* likewise. Ask again then: the next one may open at once */
	int64_t next_open_s;		/* first opening after now, of any window */
};

/* daily 00:00 for 8 h, fast. */
extern const struct tier_window tier_window_default;

/*
 * Where are we at now_s? Open is [opens, closes). If windows overlap, the one that
 * is listed first counts. Times that never come are TIER_SCHEDULE_NEVER.
 */
void tier_schedule_at(const struct tier_schedule *schedule, const struct tier_time_zone *zone,
		      int64_t now_s, struct tier_schedule_state *ret_state);

/*
 * How many windows opened and closed wholly inside after_s < t <= until_s: the
 * ones that a daemon which slept that long has skipped. *ret_last_s (may be NULL)
 * = when the last of them opened. Looks back at most 31 days.
 */
unsigned int tier_schedule_skipped(const struct tier_schedule *schedule,
				   const struct tier_time_zone *zone,
				   int64_t after_s, int64_t until_s, int64_t *ret_last_s);

/* 0, or -EINVAL and the two windows of which one opens while the other is open. */
int tier_schedule_check_overlap(const struct tier_schedule *schedule,
				size_t *ret_first, size_t *ret_second);

/*
 * "daily", "weekdays", "weekend", or days and ranges: "mon", "mon,wed,fri",
 * "fri-mon". "HH:MM", 00:00 .. 23:59. 0 or -EINVAL.
 */
int tier_days_from_text(const char *text, uint32_t *ret_days);
int tier_time_of_day_from_text(const char *text, uint32_t *ret_start_s);

/* The other way round; at most TIER_DAYS_TEXT_SIZE with the NUL. */
#define TIER_DAYS_TEXT_SIZE	32
void tier_days_to_text(uint32_t days, char *ret_text);

#endif
