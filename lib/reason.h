/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every decision to move an extent, to leave it where it is, or to give a move
 * up has one reason. The same word appears in the log, on the bus and in the
 * CLI; this header is the only place that lists them.
 *
 * Pure: names only.
 */
#ifndef TIER_REASON_H
#define TIER_REASON_H

enum tier_reason {
	TIER_REASON_NONE,		/* nothing to say: it is where one expects it */

	/* Why an extent moves. */
	TIER_REASON_HOTTER,		/* hotter than what it displaces, or than a free slot is worth */
	TIER_REASON_POLICY_HIGHEST,
	TIER_REASON_POLICY_LOWEST,
	TIER_REASON_HEADROOM,		/* coldest of a tier whose headroom has to be refilled */
	TIER_REASON_DRAIN,		/* its device is draining */
	TIER_REASON_REBALANCE,		/* between the devices of one tier */
	TIER_REASON_MAKE_ROOM,		/* displaced by a hotter extent */
	TIER_REASON_PINNED,		/* moves or stays because of a pin with an end */

	/* Why an extent stays though one might expect a move. */
	TIER_REASON_HYSTERESIS,		/* hotter than what it would displace, but not by the factor */
	TIER_REASON_NO_SPACE,		/* no slot where it should go */
	TIER_REASON_BELOW_BENEFIT,	/* the gain is not worth a move */
	TIER_REASON_POLICY_NONE,
	TIER_REASON_OUTSIDE_WINDOW,
	TIER_REASON_PAUSED,
	TIER_REASON_THROTTLED,		/* cut off by the window's budget or the back-off of an error */
	TIER_REASON_NO_HEAT_YET,	/* counted for too short a time: nothing moves on ignorance */
	TIER_REASON_DEVICE_MISSING,	/* its device, or all of the wanted tier, is not there */

	/* Why the kernel gave a move up. */
	TIER_REASON_SRC_READ_ERROR,
	TIER_REASON_DST_WRITE_ERROR,
	TIER_REASON_NOT_CONVERGING,
	TIER_REASON_DEADLINE,
	TIER_REASON_CANCELLED,
	TIER_REASON_META_ERROR,
	TIER_REASON_SUSPENDED,
	TIER_REASON_GONE,		/* discarded or deleted meanwhile */

	TIER_REASON_UNKNOWN,		/* a word of a newer kernel */
	TIER_REASON_COUNT
};

/* The word, as in the names above in lower case; "-" for NONE. Never NULL. */
const char *tier_reason_word(enum tier_reason reason);

/* The reason of a word; TIER_REASON_UNKNOWN for one that is not listed. */
enum tier_reason tier_reason_from_word(const char *word);

#endif
