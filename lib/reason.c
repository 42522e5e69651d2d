// SPDX-License-Identifier: GPL-2.0-only
/* The words of enum tier_reason. Pure. */
#include "reason.h"

#include <string.h>

static const char *const words[TIER_REASON_COUNT] = {
	[TIER_REASON_NONE] = "-",
	[TIER_REASON_HOTTER] = "hotter",
	[TIER_REASON_POLICY_HIGHEST] = "policy_highest",
	[TIER_REASON_POLICY_LOWEST] = "policy_lowest",
	[TIER_REASON_HEADROOM] = "headroom",
	[TIER_REASON_DRAIN] = "drain",
	[TIER_REASON_REBALANCE] = "rebalance",
	[TIER_REASON_MAKE_ROOM] = "make_room",
	[TIER_REASON_PINNED] = "pinned",
	[TIER_REASON_HYSTERESIS] = "hysteresis",
	[TIER_REASON_NO_SPACE] = "no_space",
	[TIER_REASON_BELOW_BENEFIT] = "below_benefit",
	[TIER_REASON_POLICY_NONE] = "policy_none",
	[TIER_REASON_OUTSIDE_WINDOW] = "outside_window",
	[TIER_REASON_PAUSED] = "paused",
	[TIER_REASON_THROTTLED] = "throttled",
	[TIER_REASON_NO_HEAT_YET] = "no_heat_yet",
	[TIER_REASON_DEVICE_MISSING] = "device_missing",
	[TIER_REASON_SRC_READ_ERROR] = "src_read_error",
	[TIER_REASON_DST_WRITE_ERROR] = "dst_write_error",
	[TIER_REASON_NOT_CONVERGING] = "not_converging",
	[TIER_REASON_DEADLINE] = "deadline",
	[TIER_REASON_CANCELLED] = "cancelled",
	[TIER_REASON_META_ERROR] = "meta_error",
	[TIER_REASON_SUSPENDED] = "suspended",
	[TIER_REASON_GONE] = "gone",
	[TIER_REASON_UNKNOWN] = "unknown",
};

const char *tier_reason_word(enum tier_reason reason)
{
	if ((unsigned int)reason >= TIER_REASON_COUNT)
		return words[TIER_REASON_UNKNOWN];
	return words[reason];
}

enum tier_reason tier_reason_from_word(const char *word)
{
	for (int i = 0; i < TIER_REASON_COUNT; i++)
		if (!strcmp(words[i], word))
			return i;
	return TIER_REASON_UNKNOWN;
}
