/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside a move: what dm-tier-{migrate,move,copy}.c share.  Copies go region by
 * region, a few at once, through the pool's kcopyd client; in the pre-copy they
 * take tokens from the pool's bucket.
 */
#ifndef DM_TIER_COPY_H
#define DM_TIER_COPY_H

#include "dm-tier-migrate.h"

/* It was asked to stop, or a copy failed. */
bool dm_tier_move_stopped(struct dm_tier_move *m);

/*
 * Copies what is dirty now.  @deadline 0: in the pre-copy, with tokens; else
 * until then.  False: the move must end (see stopped) or is late.  Sleeps.
 */
bool dm_tier_copy_pass(struct dm_tier_move *m, unsigned long deadline);

/* Passes until few regions are left.  MOVE_OK: freeze now.  Sleeps. */
enum dm_tier_move_reason dm_tier_copy_pre(struct dm_tier_move *m);

/*
 * A forced move must not hold writes when nothing is copied, for want of tokens
 * or because a device hangs: after a second they go on as if it were not forced.
 */
void dm_tier_copy_check_force(struct dm_tier_move *m);

/* The move as a work item. */
void dm_tier_move_work(struct work_struct *work);
void dm_tier_move_free(struct dm_tier_move *m);

/* Is an allocated entry where a move to @tier, or @device, would bring it? */
bool dm_tier_migrate_is_there(struct dm_tier_pool *pool, u64 entry, int tier, int device);

/* Writes the ring, and starts what is queued; pool->lock held. */
void __dm_tier_move_finished(struct dm_tier_move *m, enum dm_tier_move_reason reason);
void __dm_tier_migrate_start(struct dm_tier_pool *pool);

#endif /* DM_TIER_COPY_H */
