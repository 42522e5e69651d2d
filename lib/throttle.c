// SPDX-License-Identifier: GPL-2.0-only
/* Rates of relocation; throttle.h is the contract. */
#include "throttle.h"

#include <errno.h>
#include <string.h>

#define MIB	(UINT64_C(1) << 20)

static const char *const words[] = {
	[TIER_RATE_FAST] = "fast",
	[TIER_RATE_MEDIUM] = "medium",
	[TIER_RATE_SLOW] = "slow",
	[TIER_RATE_BYTES] = "bytes",
};

void tier_rate_table_init(struct tier_rate_table *table)
{
	*table = (struct tier_rate_table) {
		.fast = 0,
		.medium = 160 * MIB,
		.slow = 40 * MIB,
	};
}

uint64_t tier_rate_resolve(const struct tier_rate *rate, const struct tier_rate_table *table)
{
	switch (rate->kind) {
	case TIER_RATE_FAST:
		return table->fast;
	case TIER_RATE_MEDIUM:
		return table->medium;
	case TIER_RATE_SLOW:
		return table->slow;
	case TIER_RATE_BYTES:
		return rate->bytes_per_s;
	}
	return table->slow;
}

const char *tier_rate_word(enum tier_rate_kind kind)
{
	return (unsigned int)kind <= TIER_RATE_BYTES ? words[kind] : "unknown";
}

int tier_rate_from_word(const char *word, struct tier_rate *ret_rate)
{
	for (int kind = TIER_RATE_FAST; kind < TIER_RATE_BYTES; kind++) {
		if (!strcmp(words[kind], word)) {
			*ret_rate = (struct tier_rate) { .kind = kind };
			return 0;
		}
	}
	return -EINVAL;
}
