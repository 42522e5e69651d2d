/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How full a pool is, and when that is worth saying. Pure.
 *
 * Only online devices count: nothing is given out on others. Slots of moves under
 * way count as free, as they come free again; quarantined ones do not.
 */
#ifndef TIER_SPACE_H
#define TIER_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"

struct tier_space {
	uint64_t total_slots;
	uint64_t used_slots;
	uint64_t first_write_slots;	/* that first writes could take now */
	unsigned int used_percent;	/* rounded down; 100 of a pool without online devices */
	bool is_full;			/* a first write waits or failed, or the next one will */
};

void tier_space_of(const struct tier_pool_info *info, struct tier_space *ret_space);

/* What is remembered between two looks at a pool; all zero at first. */
struct tier_space_watch {
	unsigned int level_percent;	/* the highest one that was reached: 0, 80, 90, 95 */
	bool is_full;
};

enum tier_space_news {
	TIER_SPACE_NO_NEWS,
	TIER_SPACE_FILLING,		/* it rose above one of these shares */
	TIER_SPACE_FULL,
	TIER_SPACE_BACK			/* it was full, or above 80 %, and is no more */
};

/*
 * What has to be said, once. A share that falls counts only when it is more than 2 %
 * below the one that was said, so that one extent that comes and goes is no
 * news; a pool that was full has space when a first write finds some and more than
 * 1 % of the pool is left.
 */
enum tier_space_news tier_space_watch(struct tier_space_watch *watch,
				      const struct tier_space *space);

#endif
