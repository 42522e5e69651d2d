/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slow path of a volume's I/O: first writes, reads of fresh regions,
 * discards, FLUSH and FUA with changes, and whatever has to wait.
 *
 * Each slow bio is a work item that runs from the start each time: it looks at
 * the present state and either does its next step or parks where the event
 * that it needs will put it back on the queue.  Work items block only on I/O
 * of their own.  map() has cut it to one region (a discard: to one extent).
 *
 * After its bio is parked, submitted or ended a work item touches it no more.
 */
#ifndef DM_TIER_IO_H
#define DM_TIER_IO_H

#include "dm-tier-core.h"

int dm_tier_io_init(struct dm_tier_pool *pool);
void dm_tier_io_exit(struct dm_tier_pool *pool);

/*
 * From map(): hands a bio to the workers.  @uncounted: its sectors before it was
 * cut, if its extent had no counters yet, else 0.
 */
void dm_tier_io_defer(struct dm_tier_table *table, struct dm_tier_bio *tb, u32 uncounted);

/*
 * From end_io, for stages above BIO_FAST: what is left to do.  Returns what
 * end_io shall return.
 */
int dm_tier_io_ended(struct dm_tier_bio *tb, blk_status_t *error);

/* Puts parked bios back on the queue: the list was cut off under pool->lock. */
void dm_tier_io_requeue(struct dm_tier_pool *pool, struct list_head *parked);

/* Events; process context, pool->lock not held. */
void dm_tier_io_committed(struct dm_tier_pool *pool, u64 durable_seq);
void dm_tier_io_kick_all(struct dm_tier_pool *pool);	/* mode, suspend */
void dm_tier_io_kick_space(struct dm_tier_pool *pool);	/* a slot became free */
/* pool->lock held */
void __dm_tier_io_set_space(struct dm_tier_volume *v, enum dm_tier_space_state state);
/* Each second: who was woken for a credit may not have taken it. */
void dm_tier_io_kick_credits(struct dm_tier_pool *pool);

/*
 * A device is no member any more: nothing of it has to be flushed.  @lost: what
 * was not is gone, which one FLUSH of the volume must report.
 */
void dm_tier_io_forget_dirty(struct dm_tier_volume *v, u32 device, bool lost);
/*
 * A flush of the device has failed, whoever wanted it, and may have lost what
 * was in its cache: a FLUSH of each volume that has written there reports it.
 * @all: it is not known which have, so that all that lie on its tier do.
 */
void dm_tier_io_flush_failed(struct dm_tier_device *dev, bool all);

/*
 * The pool is being unbound: what needs a commit fails from now on, and what has
 * begun has ended, so that the last commit has it.  Sleeps.
 */
void dm_tier_io_close(struct dm_tier_pool *pool);

/* Does any operation run on this extent?  pool->lock held. */
bool __dm_tier_io_busy(struct dm_tier_volume *v, u32 extent);

/* Chooses a device for a first write, or a move to a tier; pool->lock held. */
int __dm_tier_io_place(struct dm_tier_pool *pool, const u8 *placement, u8 tiers);
int __dm_tier_io_place_move(struct dm_tier_pool *pool, u32 tier);

#endif /* DM_TIER_IO_H */
