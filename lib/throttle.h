/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast relocation may copy: the words fast, medium, slow, or a number. Rule
 * 4.2 of tierd.conf(5). Pure.
 */
#ifndef TIER_THROTTLE_H
#define TIER_THROTTLE_H

#include <stdint.h>

enum tier_rate_kind {
	TIER_RATE_FAST,
	TIER_RATE_MEDIUM,
	TIER_RATE_SLOW,
	TIER_RATE_BYTES		/* bytes_per_s of struct tier_rate */
};

struct tier_rate {
	enum tier_rate_kind kind;
	uint64_t bytes_per_s;	/* only for TIER_RATE_BYTES; > 0 */
};

/* What the words mean, in bytes per second; 0 = no limit. */
struct tier_rate_table {
	uint64_t fast;
	uint64_t medium;
	uint64_t slow;
};

/* No limit, 160 MiB/s, 40 MiB/s. */
void tier_rate_table_init(struct tier_rate_table *table);

/* In bytes per second, as the backend's set_rate wants it: 0 = no limit. */
uint64_t tier_rate_resolve(const struct tier_rate *rate, const struct tier_rate_table *table);

/* "fast", "medium", "slow", "bytes". Never NULL. */
const char *tier_rate_word(enum tier_rate_kind kind);

/* Of the words "fast", "medium", "slow" only: 0 or -EINVAL. Numbers are the caller's to parse. */
int tier_rate_from_word(const char *word, struct tier_rate *ret_rate);

#endif
