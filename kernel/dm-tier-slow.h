/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the slow path: what dm-tier-{io,write,flush,discard}.c share.  For the
 * others there is dm-tier-io.h.  __x: pool->lock held.
 */
#ifndef DM_TIER_SLOW_H
#define DM_TIER_SLOW_H

#include "dm-tier-io.h"
#include "dm-tier-meta.h"

/* What a step under pool->lock wants done once the lock is dropped. */
enum next {
	NEXT_PARKED,		/* nothing: the bio is not ours any more */
	NEXT_END,		/* end it with tb->status */
	NEXT_AGAIN,		/* look at it again from the start */
	NEXT_MAPPED,		/* send it to valid regions */
	NEXT_OPERATION,		/* an operation was begun: go on with it */
};

static inline enum next __dm_tier_io_end_with(struct dm_tier_bio *tb, blk_status_t status)
{
	tb->status = status;
	return NEXT_END;
}

static inline void __dm_tier_io_park(struct dm_tier_bio *tb, struct list_head *where)
{
	/* Others may need it, to end what this one waits for. */
	dm_tier_meta_change_free(tb->table->pool, tb->spare);
	tb->spare = NULL;
	list_add_tail(&tb->list, where);
}

/*
 * Parks a bio where what it waits for may never come: while its table is being
 * suspended it goes back to dm instead, or fails with @status.
 */
enum next __dm_tier_io_park_uncertain(struct dm_tier_bio *tb, struct list_head *where,
				      blk_status_t status);
/* A frozen extent's bios wait on its move. */
enum next __dm_tier_io_park_on_move(struct dm_tier_bio *tb);

/* The bio is not ours any more after these. */
void dm_tier_io_end(struct dm_tier_bio *tb, blk_status_t status);
void dm_tier_io_again(struct dm_tier_bio *tb);

/*
 * An operation on @tb's regions of an allocated extent: NEXT_OPERATION or
 * NEXT_PARKED.  Its end gives those back that waited for it; dm_tier_io_ops_ended()
 * sends them on, without the lock.
 */
enum next __dm_tier_io_op_begin(struct dm_tier_bio *tb, u64 entry);
void __dm_tier_io_op_end(struct dm_tier_bio *tb, struct list_head *ready);
void dm_tier_io_ops_ended(struct dm_tier_pool *pool, struct list_head *ready);

/* Nothing that needs a commit can be begun. */
bool __dm_tier_io_no_commits(struct dm_tier_pool *pool);

/* Where the bio starts in its extent; it has not been sent yet. */
sector_t dm_tier_io_offset(struct dm_tier_bio *tb);
/* Counts it, if map() could not. */
void dm_tier_io_count(struct dm_tier_bio *tb, struct dm_tier_extent *x);
/* Sends it to a slot; it is counted in flight already. */
void dm_tier_io_submit_to(struct dm_tier_bio *tb, struct block_device *bdev, u32 slot);

enum mapped { MAPPED_SENT, MAPPED_FRESH, MAPPED_HELD };

/*
 * As the fast path: sends a bio to valid regions through the section.  FRESH:
 * they are not valid; HELD: a flag of @never is set.
 */
enum mapped dm_tier_io_submit_mapped(struct dm_tier_bio *tb, struct dm_tier_extent *x,
				     u64 never);

/* dm-tier-write.c */
void dm_tier_io_write(struct dm_tier_bio *tb);
void dm_tier_io_first_write_done(struct dm_tier_bio *tb);
void dm_tier_io_space_work(struct work_struct *work);

/* dm-tier-flush.c */
void dm_tier_io_flush(struct dm_tier_bio *tb);
void dm_tier_io_fua_done(struct dm_tier_bio *tb);
/*
 * A FUA write after a FLUSH that failed repeats that first.  False: the bio is
 * not ours any more.
 */
bool dm_tier_io_fua_ready(struct dm_tier_bio *tb);
/* Its data are on the device: it ends once the volume's changes are durable too. */
void dm_tier_io_fua_data_done(struct dm_tier_bio *tb);

/* dm-tier-discard.c */
void dm_tier_io_discard(struct dm_tier_bio *tb);
void dm_tier_io_free_work(struct work_struct *work);
void dm_tier_io_forget_freeing(struct dm_tier_pool *pool);

#endif /* DM_TIER_SLOW_H */
