/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool as a whole: registry, modes, events, folding of counters.
 */
#ifndef DM_TIER_POOL_H
#define DM_TIER_POOL_H

#include "dm-tier-core.h"

/* The RAM pool of a pool device, counted, or NULL. */
struct dm_tier_pool *dm_tier_pool_find(struct mapped_device *md);
void dm_tier_pool_get(struct dm_tier_pool *pool);
/* A pool for a table whose devices are open, not loaded yet, or ERR_PTR. */
struct dm_tier_pool *dm_tier_pool_alloc(struct dm_tier_pool_table *c);
/* May sleep; never from a work of the pool's own queues. */
void dm_tier_pool_put(struct dm_tier_pool *pool);

/* Sends dm events, soon and batched.  Any context. */
void dm_tier_pool_event(struct dm_tier_pool *pool);

/* Changes the mode, with an event; FAIL is for ever.  Process context, no lock. */
void dm_tier_pool_set_mode(struct dm_tier_pool *pool, enum dm_tier_mode mode);

/* A device's I/O failed: counts it, with an event for the first.  Process context. */
void dm_tier_pool_device_error(struct dm_tier_device *dev);

/* The words of the status line. */
/* @space: the pool's or one volume's. */
const char *dm_tier_pool_mode_word(struct dm_tier_pool *pool, enum dm_tier_space_state space);
const char *dm_tier_device_state_word(const struct dm_tier_device *dev);

/*
 * Folds all CPUs' counts into the extents' counters; no line points to an
 * extent afterwards, unless it has I/O.  May sleep.
 */
void dm_tier_pool_fold_counters(struct dm_tier_pool *pool);

/* Checks low water of a device's tier after a slot was taken.  pool->lock held. */
void dm_tier_pool_check_low_water(struct dm_tier_pool *pool, u32 tier);

extern struct target_type dm_tier_pool_target;

/* dm-tier-status.c */
void dm_tier_status_info(struct dm_tier_pool *pool, char *result, unsigned int maxlen);
void dm_tier_status_table(struct dm_tier_pool_table *c, char *result, unsigned int maxlen);

/* dm-tier-message.c: with the contract of target_type.message. */
int dm_tier_pool_message(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 char *result, unsigned int maxlen);

/*
 * dm-tier-pool-table.c: a table of the pool, ti->private.  ctr may block for as long
 * as the devices take to answer; 0 or -errno, and ti->error.
 */
int dm_tier_table_ctr(struct dm_target *ti, unsigned int argc, char **argv);
void dm_tier_table_free(struct dm_target *ti, struct dm_tier_pool_table *c);
/* NULL: it names no device with that UUID. */
struct dm_dev *dm_tier_table_member(struct dm_tier_pool_table *c, const u8 *uuid);

/*
 * dm-tier-pool-target.c.  The pool of that metadata device, counted; NULL: it is
 * not active; -EBUSY: it is being loaded.
 */
struct dm_tier_pool *dm_tier_pool_get_active(dev_t meta_dev);
/* Does the table fit to the pool and its records?  admin held; logs why not. */
int dm_tier_pool_check_table(struct dm_tier_pool *pool, struct dm_tier_pool_table *c);

/*
 * dm-tier-load.c: reads the metadata into a fresh pool; *ret_error is a constant
 * text.  @expected: the superblock by which the pool was made.
 */
int dm_tier_load(struct dm_tier_pool *pool, struct block_device *bdev,
		 const struct dm_tier_super *expected, const char **ret_error);
/*
 * Reads the superblock (@ret_block, unless NULL: its bytes) or a label: 0, -EIO,
 * -EINTR, -ENXIO for a device that is too small, or what the decoder says.  Errors
 * are tried again, with some pauses, counted in @pauses (0 at first) for all reads
 * together.
 */
int dm_tier_read_super(struct block_device *bdev, struct dm_tier_super *ret_super,
		       u32 *ret_place, void *ret_block, u32 *pauses);
int dm_tier_read_label(struct block_device *bdev, struct dm_tier_label *ret_label,
		       u32 *pauses);

#endif /* DM_TIER_POOL_H */
