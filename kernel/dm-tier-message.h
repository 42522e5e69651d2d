/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the messages: what dm-tier-message{,-volume,-device}.c share.  All run
 * under admin, but where the table of messages says otherwise.
 */
#ifndef DM_TIER_MESSAGE_H
#define DM_TIER_MESSAGE_H

#include "dm-tier-pool.h"
#include "dm-tier-query.h"

/* 0, or -EROFS: nothing can be changed now. */
int dm_tier_message_may_change(struct dm_tier_pool *pool);

/*
 * Before a change of one record: a credit and memory; waits, killably.  0, -EROFS
 * or -EINTR.  end gives back what was not used up.
 */
int dm_tier_message_change_begin(struct dm_tier_pool *pool,
				 struct dm_tier_change **ret_spare);
void dm_tier_message_change_end(struct dm_tier_pool *pool, struct dm_tier_change *spare);

/* The metadata must have room for all records of a larger pool: 0 or -ENOSPC. */
int dm_tier_message_check_area(struct dm_tier_pool *pool, u64 more_slots, u32 more_volumes,
			       u32 more_devices);

#define DM_TIER_MESSAGE(name)						\
	int dm_tier_message_##name(struct dm_tier_pool *pool, unsigned int argc, \
				   char **argv, struct dm_tier_answer *answer)
DM_TIER_MESSAGE(create_volume);
DM_TIER_MESSAGE(resize_volume);
DM_TIER_MESSAGE(delete_volume);
DM_TIER_MESSAGE(set_label);
DM_TIER_MESSAGE(set_pool_label);
DM_TIER_MESSAGE(set_placement);
DM_TIER_MESSAGE(add_device);
DM_TIER_MESSAGE(grow_device);
DM_TIER_MESSAGE(set_device);
DM_TIER_MESSAGE(forget_device);
DM_TIER_MESSAGE(set_low_water);
DM_TIER_MESSAGE(set_reserve);
DM_TIER_MESSAGE(clear_quarantine);

#endif /* DM_TIER_MESSAGE_H */
