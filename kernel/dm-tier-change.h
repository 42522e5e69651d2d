/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes as the commit sees them; for all others there is dm-tier-meta.h.
 * pool->lock is held for all of these.
 */
#ifndef DM_TIER_CHANGE_H
#define DM_TIER_CHANGE_H

#include "dm-tier-meta.h"

/* Where the record's owner keeps its change. */
struct dm_tier_change **__dm_tier_change_place(struct dm_tier_pool *pool,
					       struct dm_tier_change *change);

/* The record as RAM has it now. */
void __dm_tier_change_newest(struct dm_tier_pool *pool, struct dm_tier_change *change,
			     struct dm_tier_record *ret_rec);

/* The next commit takes the change, with @deps more devices to be flushed before. */
void __dm_tier_change_open(struct dm_tier_meta *meta, struct dm_tier_change *change,
			   u64 deps);

/* The newest state is durable: the change is over. */
void __dm_tier_change_end(struct dm_tier_pool *pool, struct dm_tier_change *change);

#endif /* DM_TIER_CHANGE_H */
