/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that ask, and the text of answers; dm-tier.h has the grammar. */
#ifndef DM_TIER_QUERY_H
#define DM_TIER_QUERY_H

#include "dm-tier-core.h"

/*
 * An answer in dm's buffer.  One that does not fit is cut, which dm notices
 * and user space answers by sending the message again with a larger buffer.
 */
struct dm_tier_answer {
	char *text;
	unsigned int max, bytes;
	bool answered;
};

__printf(2, 3) void dm_tier_answer(struct dm_tier_answer *answer, const char *format, ...);

/* The volume with the id in @word: 0, -EINVAL, -ERANGE or -ENOENT.  admin held. */
int dm_tier_query_volume(struct dm_tier_pool *pool, const char *word,
			 struct dm_tier_volume **ret_volume);

#define DM_TIER_QUERY(name)						\
	int dm_tier_query_##name(struct dm_tier_pool *pool, unsigned int argc, \
				 char **argv, struct dm_tier_answer *answer)
DM_TIER_QUERY(volumes);
DM_TIER_QUERY(devices);
DM_TIER_QUERY(moves);
DM_TIER_QUERY(map);
DM_TIER_QUERY(counters);

#endif /* DM_TIER_QUERY_H */
