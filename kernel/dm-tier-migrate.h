/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One extent's move: pre-copy, short freeze, commit, then publish.
 *
 * The old slot is authoritative until one commit; nothing is on disk during
 * the copy; writes are never held while copying.
 *
 * 1 reserve	a destination slot in RAM.
 * 2 copy	The dirty map is clear before ENTRY_MIGRATING is visible; a grace
 *		period later the valid regions are ORed in, and from then on only
 *		atomic ORs.  A pass clears each dirty region's bit, then copies it.
 *		A user write marks its regions at its end, whatever its status,
 *		before it drops its in-flight count, so a region whose write was
 *		in flight while it was copied is copied again.
 * 3 freeze	Few left: flush the destination, set ENTRY_FROZEN (writes and
 *		discards are parked, reads go on), drain the source, wait for the
 *		extent's slow operations, copy the rest, flush.  Past the deadline
 *		all is given up and released at once.
 * 4 commit	new owner and freed slot in one commit, published the moment that
 *		it is durable (dm-tier-meta.c), then the parked bios go on.
 * 5 retire	drain the source again (reads), discard its slot, free it.
 *
 * A failed copy never becomes a user's I/O error.
 */
#ifndef DM_TIER_MIGRATE_H
#define DM_TIER_MIGRATE_H

#include "dm-tier-core.h"

#define MOVE_DEADLINE_MS	1000

enum dm_tier_move_commit { COMMIT_NONE, COMMIT_WAITING, COMMIT_DURABLE, COMMIT_DROPPED };

struct dm_tier_move {
	struct list_head list;		/* [L] pool->moves */
	struct rcu_head rcu;
	struct dm_tier_pool *pool;
	u64 id;
	struct dm_tier_volume *volume;	/* valid until the move has ended */
	u32 volume_id;
	u32 extent;
	int to_tier, to_device;		/* as asked for; -1 = the other one */
	bool force;
	enum dm_tier_move_state state;	/* [L] */
	enum dm_tier_move_reason stop;	/* why it shall end; MOVE_OK = go on */
	struct dm_tier_device *from, *to;
	u64 flush_bad;			/* dm_tier_device_flush_bad(to), before the first copy */
	u32 from_slot, to_slot;
	DECLARE_BITMAP(dirty, DM_TIER_MAX_REGIONS);	/* to be copied; atomic ORs */
	struct list_head parked;	/* [L] bios held by the freeze or by force */
	u64 bytes;
	u32 passes, regions_left;
	u64 region_ns;			/* what one region took in the last pass */
	u64 freeze_us;
	ktime_t frozen_at;

	u32 admit, copied;		/* [L] force: writes that may go on */
	unsigned long copied_at;	/* jiffies, of the last copy */
	unsigned long deadline;		/* jiffies, of the freeze */

	struct list_head commit_list;	/* [L] meta->open_moves or ->moves */
	struct dm_tier_record to_record, from_record;
	enum dm_tier_move_commit commit; /* [L] */
	struct dm_tier_change *spare;	/* for a quarantine */

	atomic_t jobs;			/* copies under way */
	atomic_t read_errors, write_errors;
	bool bad_slot;			/* a copy's write failed: quarantine it */
	struct work_struct work;
};

int dm_tier_migrate_init(struct dm_tier_pool *pool);
void dm_tier_migrate_exit(struct dm_tier_pool *pool);

/*
 * Messages.  admin held.  queue: 0 and the id (of the same move if it is under
 * way already), or -EAGAIN -ENODATA -EALREADY -EBUSY -ENOSPC -ENXIO -EROFS.
 */
int dm_tier_migrate_queue(struct dm_tier_volume *v, u32 extent, int tier, int device,
			  bool force, u64 *ret_id);
int dm_tier_migrate_cancel(struct dm_tier_volume *v, u32 extent);
/* Asks all moves (of @v, unless NULL; of or to @dev, unless NULL) to end. */
void dm_tier_migrate_stop(struct dm_tier_pool *pool, struct dm_tier_volume *v,
			  struct dm_tier_device *dev, u32 from_extent,
			  enum dm_tier_move_reason reason);
/* Is one of them not finished?  pool->lock held. */
bool __dm_tier_migrate_has(struct dm_tier_volume *v, u32 from_extent);
/* Waits until they are finished, or in a commit while metadata cannot be written. */
void dm_tier_migrate_wait(struct dm_tier_pool *pool, struct dm_tier_volume *v,
			  struct dm_tier_device *dev, u32 from_extent);
/* Whether moves may be queued and start: not while the pool is suspended. */
void dm_tier_migrate_enable(struct dm_tier_pool *pool, bool enable);
void dm_tier_migrate_set_rate(struct dm_tier_pool *pool, u64 bytes_per_s);
void dm_tier_migrate_set_moves(struct dm_tier_pool *pool, u32 count);
const char *dm_tier_move_state_word(enum dm_tier_move_state state);
const char *dm_tier_move_reason_word(enum dm_tier_move_reason reason);

/* The move of an extent, if active, or NULL.  Under RCU or pool->lock. */
struct dm_tier_move *dm_tier_migrate_find(struct dm_tier_pool *pool,
					  struct dm_tier_volume *v, u32 extent);

/* Marks regions as dirty.  Under RCU or pool->lock; any context. */
static inline void dm_tier_migrate_mark(struct dm_tier_move *m, u32 first, u32 last)
{
	u32 region;

	for (region = first; region <= last; region++)
		if (!test_bit(region, m->dirty))
			set_bit(region, m->dirty);
}

/* From a commit, pool->lock held: publish, or tell of its drop. */
void __dm_tier_migrate_committed(struct dm_tier_move *m);
void __dm_tier_migrate_dropped(struct dm_tier_move *m);

#endif /* DM_TIER_MIGRATE_H */
