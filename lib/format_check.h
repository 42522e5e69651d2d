/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the parts of tier_check(): format_check.c reads and judges blocks and
 * records, format_judge.c what they add up to. Insides of lib/format_*.c.
 */
#ifndef TIER_FORMAT_CHECK_H
#define TIER_FORMAT_CHECK_H

#include "format_survey.h"

/* An extent that was on a device when that device went. */
struct tier_check_dropped {
	u32 device, extent;
	u64 generation;
	bool is_owned;		/* it has a slot after all */
};

struct tier_checker {
	struct tier_survey survey;
	struct tier_findings *findings;
	struct dm_tier_image *image;
	struct dm_tier_log_end end;
	struct tier_check_dropped *dropped;
	size_t nr_dropped;
	bool seen_pool;		/* a POOL record */
	bool is_loaded;
	u64 stale;
};

#define damage(c, kind, ...)	tier_find((c)->findings, TIER_FOUND_##kind, true, __VA_ARGS__)
#define note(c, kind, ...)	tier_find((c)->findings, TIER_FOUND_##kind, false, __VA_ARGS__)

/* Of the image, after all records. 0 or -ENOMEM. */
int tier_check_image(struct tier_checker *c);

#endif
