// SPDX-License-Identifier: GPL-2.0-only
/* The slow path's discards, and how slots become free again. */
#include "dm-tier-device.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-slow.h"
#include "dm-tier-volume.h"

/* A slot that was unmapped: free once @seq is durable and its device drained. */
struct dm_tier_free {
	struct list_head list;
	u64 seq;
	struct dm_tier_device *dev;
	u32 slot;
};

void dm_tier_io_forget_freeing(struct dm_tier_pool *pool)
{
	struct dm_tier_free *f, *next;

	list_for_each_entry_safe(f, next, &pool->freeing, list)
		kfree(f);
}

void dm_tier_io_free_work(struct work_struct *work)
{
	struct dm_tier_pool *pool =
		container_of(to_delayed_work(work), struct dm_tier_pool, free_work);
	struct dm_tier_free *f, *next;
	LIST_HEAD(due);
	u64 devices = 0;
	u32 i;

	spin_lock(&pool->lock);
	list_for_each_entry_safe(f, next, &pool->freeing, list) {
		if (f->seq > pool->meta->durable_seq)
			continue;
		list_move_tail(&f->list, &due);
		devices |= 1ULL << f->dev->idx;
	}
	spin_unlock(&pool->lock);
	if (list_empty(&due))
		return;

	/* A device that hangs keeps its slots, not those of others. */
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if ((devices & (1ULL << i)) &&
		    !dm_tier_device_drain(pool->device[i], HZ))
			devices &= ~(1ULL << i);

	spin_lock(&pool->lock);
	list_for_each_entry_safe(f, next, &due, list) {
		if (devices & (1ULL << f->dev->idx))
			continue;
		dm_tier_device_free_slot(f->dev, f->slot);
		list_del(&f->list);
		kfree(f);
	}
	if (!list_empty(&due))
		queue_delayed_work(pool->end_wq, &pool->free_work, HZ);
	list_splice_tail(&due, &pool->freeing);
	spin_unlock(&pool->lock);
	dm_tier_io_kick_space(pool);
}

/* The regions that a discard covers wholly: false if none. */
static bool discard_regions(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t offset = dm_tier_io_offset(tb), end = offset + bio_sectors(dm_tier_bio_bio(tb));
	u32 first = DIV_ROUND_UP_ULL(offset, 1ULL << pool->region_shift);
	u32 after = end >> pool->region_shift;

	if (first >= after)
		return false;
	tb->first = first;
	tb->last = after - 1;
	return true;
}

/*
 * The discard is done: ends its operation, and frees the slot if nothing of it
 * is valid or busy any more.  If a move of it has begun meanwhile the discard is
 * looked at again: it ends the move first.
 */
static void discard_end(struct dm_tier_bio *tb, struct dm_tier_free *f)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_extent *x = dm_tier_volume_find(v, tb->extent);
	struct dm_tier_device *dev = pool->device[tb->op.device];
	bool empty, moving;
	LIST_HEAD(ready);

	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	spin_lock(&pool->lock);
	__dm_tier_io_op_end(tb, &ready);
	empty = f && !dm_tier_valid_regions(pool, x) && !__dm_tier_io_busy(v, tb->extent) &&
		!__dm_tier_io_no_commits(pool);
	moving = x->entry & (ENTRY_MIGRATING | ENTRY_FROZEN);
	if (empty && !moving) {
		f->dev = dev;
		f->slot = tb->op.slot;
		f->seq = __dm_tier_meta_touch_slot(pool, dev, f->slot, 0, &tb->spare);
		v->changed_seq = f->seq;
		dm_tier_extent_unmap(v, x);
		dev->slot[f->slot].state = SLOT_FREEING;
		list_add_tail(&f->list, &pool->freeing);
		f = NULL;
	}
	spin_unlock(&pool->lock);
	kfree(f);
	dm_tier_io_ops_ended(pool, &ready);
	if (empty && moving)
		dm_tier_io_again(tb);
	else
		dm_tier_io_end(tb, BLK_STS_OK);
}

/* Tells the device; an error there is no error of the discard. */
static void pass_down(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_device *dev = pool->device[tb->op.device];
	struct block_device *bdev;

	if (!dm_tier_device_job_get(dev, &bdev))
		return;
	if (bdev_max_discard_sectors(bdev))
		blkdev_issue_discard(bdev, dm_tier_slot_sector(pool, tb->op.slot) +
				     ((sector_t)tb->first << pool->region_shift),
				     (sector_t)(tb->last - tb->first + 1) << pool->region_shift,
				     GFP_NOIO);
	dm_tier_device_job_put(dev);
}

/* What a discard does now; pool->lock held. */
static enum next look_at_discard(struct dm_tier_bio *tb, struct dm_tier_extent *x)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_move *m;
	enum next next;

	if (!(x->entry & ENTRY_ALLOCATED) || __dm_tier_io_no_commits(pool))
		return __dm_tier_io_end_with(tb, BLK_STS_OK);
	if (x->entry & ENTRY_FROZEN)
		return __dm_tier_io_park_on_move(tb);
	m = dm_tier_migrate_find(pool, v, tb->extent);
	if (m && dm_tier_regions_hold_all(pool, x, tb->first, tb->last)) {
		/* Nothing is left to be moved: it ends, then we look again. */
		WRITE_ONCE(m->stop, m->stop ?: MOVE_GONE);
		wake_up_all(&pool->move_wait);
		return __dm_tier_io_park_on_move(tb);
	}
	next = __dm_tier_io_op_begin(tb, x->entry);
	if (next == NEXT_END)
		tb->status = BLK_STS_OK;	/* it has no effect */
	if (next != NEXT_OPERATION)
		return next;
	__dm_tier_meta_mark(v, x, __dm_tier_meta_touch_slot(pool, pool->device[tb->op.device],
							    tb->op.slot, 0, &tb->spare));
	/* No memory for a bitmap: the discard has no effect, and goes no further. */
	tb->op.cleared = dm_tier_regions_clear_valid(pool, x, tb->first, tb->last);
	return NEXT_OPERATION;
}

void dm_tier_io_discard(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_extent *x = dm_tier_volume_find(v, tb->extent);
	enum next next;

	if (!x || !discard_regions(tb)) {
		dm_tier_io_end(tb, BLK_STS_OK);
		return;
	}
	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	spin_lock(&pool->lock);
	next = look_at_discard(tb, x);
	spin_unlock(&pool->lock);
	if (next == NEXT_END) {
		dm_tier_io_end(tb, tb->status);
	} else if (next == NEXT_OPERATION) {
		if (tb->op.cleared)
			pass_down(tb);
		discard_end(tb, tb->op.cleared ? kmalloc(sizeof(struct dm_tier_free),
							 GFP_NOIO) : NULL);
	}
}
