/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making state durable: changes, commits, checkpoints.  This header is the
 * specification; include/dm-tier.h has the format.
 *
 * Changes.  RAM holds the newest state.  A record that differs from its
 * durable image has a struct dm_tier_change, from __dm_tier_meta_touch_*(),
 * called under pool->lock *before* the state is changed, until a commit that
 * holds the newest copy is durable.  The change keeps the durable image for
 * checkpoints, and for a device whose flush fails.
 *
 * Credits.  Whoever will touch a record takes a credit first, before its data
 * write, and brings an allocated change.  Changes and credits together always
 * fit into one commit, at most a quarter of them for one device, so nothing that
 * has begun has to wait for log space.
 *
 * Commit.  One at a time, with numbers 1, 2, ...  Under the lock it takes a
 * copy of all open changes and the moves that are ready; flushes each data
 * device whose new data they expose; writes its blocks in parallel, then one
 * flush.  A device whose flush fails or is late loses what depends on it: of a
 * slot, valid bits that are not durable yet (ownership alone exposes nothing);
 * of a move, all.  The rest is committed; the slot stays changed.
 *
 * A commit whose write or flush fails may be on disk or not.  The same bytes
 * are written again until that succeeds; no other metadata is written, the
 * pool is meta_ro.  Its moves stay frozen.
 *
 * When a commit is durable, under one hold of pool->lock: its moves are
 * published, its changes' images become the durable ones, the commit number
 * becomes the durable one.  So a checkpoint, which writes durable images, is
 * never older than the number it starts with.
 *
 * Checkpoint.  Runs beside commits, in slices under the lock.  Starting one
 * gives up the older of the two on disk, and the log before the newer.
 */
#ifndef DM_TIER_META_H
#define DM_TIER_META_H

#include "dm-tier-core.h"

struct dm_tier_meta {
	struct dm_tier_pool *pool;	/* constant */
	struct block_device *bdev;	/* constant; the bound table holds it */
	struct workqueue_struct *wq;

	struct mutex commit_mutex;	/* one commit at a time */
	struct mutex super_mutex;	/* superblock and checkpoint */
	struct dm_tier_super super;	/* super_mutex */
	u32 super_place;		/* super_mutex: 0 or 1, where super lies */
	struct mutex flush_mutex;	/* innermost; one flush of the device at a time */
	u64 flush_bad;			/* flushes that failed; written under flush_mutex */
	bool stopped;			/* no background work */
	bool dead;			/* commit_mutex and super_mutex: no I/O any more */

	/* pool->lock */
	struct list_head open_changes;
	u32 nr_open;			/* of them */
	u32 nr_changes;			/* open or in flight: all must fit into one commit */
	u32 credits;			/* taken, nothing touched yet */
	u64 open_seq;			/* the commit that takes the open changes */
	u64 durable_seq;		/* open_seq - 1, or - 2 while one is in flight */
	u64 position;			/* ring block of the next commit */
	u32 prev_crc;
	u64 incarnation;
	u64 since_tail;			/* blocks from the oldest that is needed up to position */
	u64 since_ckpt;			/* blocks that a replay from the newest checkpoint reads */
	u64 dropped_seq;		/* the latest commit that lost a flush */
	struct list_head open_moves;	/* frozen, ready to be committed */
	bool idle_commit;		/* an empty commit is owed */
	bool ckpt_running;
	u64 next_ckpt_id;		/* never reused */
	u64 done_ckpt_id;		/* the newest complete one ... */
	u64 older_ckpt_id;		/* ... and the one before, if it is still there, or 0 */
	bool sealed;			/* moves in flight cannot be withdrawn any more */

	/* commit_mutex: the commit in flight */
	bool in_doubt;			/* written, outcome unknown: repeat */
	u64 seq;
	u32 count;			/* blocks */
	u32 crc;			/* of its last block */
	struct list_head changes;
	struct list_head moves;
	void *buffer;			/* DM_TIER_COMMIT_BLOCKS blocks */
	void *ckpt_buffer;		/* super_mutex */

	struct delayed_work commit_work;
	struct work_struct ckpt_work;
	unsigned long ckpt_failed_at;	/* jiffies, or 0: the last one succeeded */
	wait_queue_head_t wait;		/* durable_seq, mode, checkpoint */
};

/* Blocks of the ring and open slots of a commit. */
#define RECORDS_PER_BLOCK	(DM_TIER_BLOCK_PAYLOAD / DM_TIER_SLOT_RECORD_BYTES)
/*
 * Three quarters of a commit: all changes that exist, open or in flight, fit into
 * one when they are kept for another try, and moves and reserves fit too.
 */
#define META_CREDITS		(DM_TIER_COMMIT_BLOCKS * 3 / 4 * RECORDS_PER_BLOCK)

/* A volume's record with a long label is larger than a slot's. */
#define LARGE_RECORD_CREDITS	2
/* For what belongs to no device: messages, frees.  A failing device cannot take it. */
#define META_CREDITS_RESERVE	256
/* A device's share, and that of one whose flush fails: many such leave room for others. */
#define DEVICE_CREDITS		(META_CREDITS / 4)
#define FAILED_DEVICE_CREDITS	(META_CREDITS / DM_TIER_MAX_DEVICES)
/* Credits that operations on one device may hold at once. */
#define DEVICE_OPERATIONS	128

/* 0 or -ENOMEM; free also undoes a half start.  load() fills in the positions. */
int dm_tier_meta_alloc(struct dm_tier_pool *pool, struct block_device *bdev);
void dm_tier_meta_free(struct dm_tier_pool *pool);

/*
 * Makes stable what was written since dm_tier_meta_flush_bad() was read: 0, or an
 * error if this flush fails or another did meanwhile, by which it may be lost.
 */
u64 dm_tier_meta_flush_bad(struct dm_tier_meta *meta);
int dm_tier_meta_flush(struct dm_tier_meta *meta, u64 bad);

/* Reads or writes consecutive blocks of the device; sleeps. */
int dm_tier_meta_rw(struct block_device *bdev, blk_opf_t opf, u64 block, void *buffer,
		    u32 count);

/*
 * Under pool->lock.  reserve: NULL, or there is none now: the list of the bios
 * that wait for one; ERR_PTR(-EIO) if none can be expected, as the device's
 * flushes fail.  Of a slot of @dev, or NULL: of any record.
 */
struct list_head *__dm_tier_meta_reserve(struct dm_tier_pool *pool,
					 struct dm_tier_device *dev);
void __dm_tier_meta_unreserve(struct dm_tier_pool *pool, struct dm_tier_device *dev);

/* alloc: NULL only if @gfp does not wait.  free: NULL is fine. */
struct dm_tier_change *dm_tier_meta_change_alloc(struct dm_tier_pool *pool, gfp_t gfp);
void dm_tier_meta_change_free(struct dm_tier_pool *pool, struct dm_tier_change *change);

/*
 * Under pool->lock, before the change itself.  Uses up *spare (and sets it to
 * NULL) if the record has no change yet.  @deps: devices (bits) whose new data
 * the change exposes.  Returns the number of the commit that will have it.
 */
u64 __dm_tier_meta_touch_slot(struct dm_tier_pool *pool, struct dm_tier_device *dev,
			      u32 slot, u64 deps, struct dm_tier_change **spare);
/*
 * For a slot that is free by the end of its volume or extent: a commit in
 * flight may still say that it is owned, so if it has a change, log it again.
 */
void __dm_tier_meta_retouch_slot(struct dm_tier_device *dev, u32 slot);
u64 __dm_tier_meta_touch_volume(struct dm_tier_volume *v, bool create,
				struct dm_tier_change **spare);
u64 __dm_tier_meta_touch_device(struct dm_tier_device *dev,
				struct dm_tier_change **spare);
u64 __dm_tier_meta_touch_pool(struct dm_tier_pool *pool,
			      struct dm_tier_change **spare);

/*
 * Hands a frozen move over to the next commit, under pool->lock.  Its outcome
 * comes by __dm_tier_migrate_committed() or __dm_tier_migrate_dropped().
 */
u64 __dm_tier_meta_add_move(struct dm_tier_pool *pool, struct dm_tier_move *m);
/* Takes it back if its blocks are not being written yet. */
bool __dm_tier_meta_withdraw_move(struct dm_tier_pool *pool, struct dm_tier_move *m);

/* Notes on volume and entry that commit @seq has changes of them; pool->lock held. */
void __dm_tier_meta_mark(struct dm_tier_volume *v, struct dm_tier_extent *x, u64 seq);

/* The commit that will have all changes made so far.  Any process context. */
u64 dm_tier_meta_last_seq(struct dm_tier_pool *pool);

/* Asks for a commit now; never blocks. */
void dm_tier_meta_kick(struct dm_tier_pool *pool);

/*
 * Waits until commit @seq is durable; killable.  0, -EROFS (meta_ro, fail or
 * read-only), -EINTR.
 */
int dm_tier_meta_wait(struct dm_tier_pool *pool, u64 seq);

/* Commits all that is open, one try, even in meta_ro.  0 or the error. */
int dm_tier_meta_commit_once(struct dm_tier_pool *pool);

/* Writes a checkpoint now: 0 or the error.  @clean: the pool is being left. */
int dm_tier_meta_checkpoint(struct dm_tier_pool *pool, bool clean);
/* No room for one more commit and an activation.  pool->lock held. */
bool __dm_tier_meta_log_full(struct dm_tier_meta *meta);
/* The id of the next checkpoint to start; pool->lock held. */
u64 dm_tier_meta_next_checkpoint(struct dm_tier_pool *pool);

/* Appends the commit that begins a read-write activation.  From load. */
int dm_tier_meta_activate(struct dm_tier_pool *pool);

/* Background work begins (a commit each second while anything is open); ends. */
void dm_tier_meta_start(struct dm_tier_pool *pool);
void dm_tier_meta_stop(struct dm_tier_pool *pool);
/* After stop and a last try: no I/O any more; moves in doubt are dropped. */
void dm_tier_meta_abandon(struct dm_tier_pool *pool);

/*
 * Durable images, for the checkpoint; pool->lock held.  False: there is nothing
 * to write.
 */
bool __dm_tier_meta_durable_pool(struct dm_tier_pool *pool, struct dm_tier_record *ret_rec);
bool __dm_tier_meta_durable_device(struct dm_tier_device *dev, struct dm_tier_record *ret_rec);
bool __dm_tier_meta_durable_volume(struct dm_tier_volume *v, struct dm_tier_record *ret_rec);
bool __dm_tier_meta_durable_slot(struct dm_tier_device *dev, u32 slot,
				 struct dm_tier_record *ret_rec);

#endif /* DM_TIER_META_H */
