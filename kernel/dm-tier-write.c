// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slow path's writes: slots for extents, first writes to regions, and waiting
 * for space.
 */
#include "dm-tier-device.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-slow.h"
#include "dm-tier-volume.h"

/* No space -------------------------------------------------------------------*/

static struct dm_tier_space *gather_space(struct dm_tier_pool *pool,
					  struct dm_tier_space *space)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];

		space[i] = (struct dm_tier_space){
			.usable = dev->present && dev->state == DM_TIER_DEV_ONLINE &&
				  READ_ONCE(dev->bdev) && !READ_ONCE(dev->failed),
			.tier = dev->tier,
			.free = dev->free,
			.reserve = dev->reserve_slots,
		};
	}
	return space;
}

int __dm_tier_io_place(struct dm_tier_pool *pool, const u8 *placement, u8 tiers)
{
	lockdep_assert_held(&pool->lock);
	return dm_tier_map_place(gather_space(pool, pool->space), DM_TIER_MAX_DEVICES,
				 placement, tiers);
}

int __dm_tier_io_place_move(struct dm_tier_pool *pool, u32 tier)
{
	lockdep_assert_held(&pool->lock);
	return dm_tier_map_move(gather_space(pool, pool->space), DM_TIER_MAX_DEVICES, tier);
}

/* At the earliest of the times that are asked for; pool->lock held. */
static void wake_at(struct dm_tier_pool *pool, unsigned long due)
{
	if (delayed_work_pending(&pool->space_work) && !time_before(due, pool->space_due))
		return;
	pool->space_due = due;
	mod_delayed_work(pool->end_wq, &pool->space_work, due - jiffies);
}

void __dm_tier_io_set_space(struct dm_tier_volume *v, enum dm_tier_space_state state)
{
	struct dm_tier_pool *pool = v->pool;
	enum dm_tier_space_state worst = SPACE_FAILING;

	lockdep_assert_held(&pool->lock);
	if (state == v->space_state)
		return;
	if (v->space_state != SPACE_ENOUGH)
		pool->space_volumes[v->space_state]--;
	v->space_state = state;
	if (state != SPACE_ENOUGH)
		pool->space_volumes[state]++;
	while (worst != SPACE_ENOUGH && !pool->space_volumes[worst])
		worst--;
	if (worst == pool->space_state)
		return;
	WRITE_ONCE(pool->space_state, worst);
	dm_tier_pool_event(pool);
}

/* pool->lock held. */
static enum next wait_for_space(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	unsigned long timeout = (unsigned long)pool->features.no_space_timeout_s * HZ;

	if (!tb->parked_at)
		tb->parked_at = jiffies ?: 1;
	if (pool->features.error_if_no_space ||
	    (timeout && time_after_eq(jiffies, tb->parked_at + timeout))) {
		__dm_tier_io_set_space(tb->table->volume, SPACE_FAILING);
		return __dm_tier_io_end_with(tb, BLK_STS_NOSPC);
	}
	if (timeout)
		wake_at(pool, tb->parked_at + timeout);
	if (tb->table->volume->space_state == SPACE_ENOUGH)
		__dm_tier_io_set_space(tb->table->volume, SPACE_WAITING);
	return __dm_tier_io_park_uncertain(tb, &pool->space_waiters, BLK_STS_NOSPC);
}

/* Volumes whose next first write would find a slot now; pool->lock held. */
static void look_for_space(struct dm_tier_pool *pool)
{
	const struct dm_tier_space *space = gather_space(pool, pool->space);
	u32 id;

	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++) {
		struct dm_tier_volume *v = pool->volume[id];

		if (v && v->space_state != SPACE_ENOUGH &&
		    dm_tier_map_place(space, DM_TIER_MAX_DEVICES, v->placement, v->tiers) >= 0)
			__dm_tier_io_set_space(v, SPACE_ENOUGH);
	}
}

void dm_tier_io_kick_space(struct dm_tier_pool *pool)
{
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	if (pool->space_state != SPACE_ENOUGH)
		look_for_space(pool);
	list_splice_tail_init(&pool->space_waiters, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

void dm_tier_io_space_work(struct work_struct *work)
{
	struct dm_tier_pool *pool =
		container_of(to_delayed_work(work), struct dm_tier_pool, space_work);

	/* Each looks again, and at its own clock. */
	dm_tier_io_kick_space(pool);
}

/* First writes ---------------------------------------------------------------*/

/*
 * Gives the extent a slot; logged in the open commit, with no valid region, so
 * that nothing that is not durable can get into a checkpoint.  pool->lock held.
 */
static enum next allocate(struct dm_tier_bio *tb, struct dm_tier_extent *x,
			  struct dm_tier_bits **bits)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_device *dev;
	struct list_head *waiters;
	u32 slot;
	int idx = __dm_tier_io_place(pool, v->placement, v->tiers);

	if (idx < 0)
		return wait_for_space(tb);
	dev = pool->device[idx];
	waiters = __dm_tier_meta_reserve(pool, dev);
	if (IS_ERR(waiters))
		return __dm_tier_io_end_with(tb, errno_to_blk_status(PTR_ERR(waiters)));
	if (waiters) {
		__dm_tier_io_park(tb, waiters);
		return NEXT_PARKED;
	}
	if (WARN_ON_ONCE(dm_tier_device_take_slot(dev, SLOT_OWNED, &slot))) {
		__dm_tier_meta_unreserve(pool, dev);
		return __dm_tier_io_end_with(tb, BLK_STS_IOERR);
	}
	/* Touched while RAM still says what is durable: free. */
	dev->slot[slot].state = SLOT_FREE;
	__dm_tier_meta_touch_slot(pool, dev, slot, 0, &tb->spare);
	dm_tier_extent_map(v, tb->extent, x, dev, slot, *bits);
	*bits = NULL;
	__dm_tier_meta_mark(v, x, pool->meta->open_seq);
	__dm_tier_meta_unreserve(pool, dev);
	__dm_tier_io_set_space(v, SPACE_ENOUGH);
	tb->parked_at = 0;
	dm_tier_pool_check_low_water(pool, dev->tier);
	/* With a fresh spare for what follows. */
	return NEXT_AGAIN;
}

/* Zeroes what the bio leaves of its region. */
static int zero_rest(struct dm_tier_bio *tb, struct block_device *bdev)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t region = 1ULL << pool->region_shift;
	sector_t from = dm_tier_io_offset(tb) & (region - 1);
	sector_t to = from + bio_sectors(dm_tier_bio_bio(tb));
	sector_t base = dm_tier_slot_sector(pool, tb->op.slot) +
			((sector_t)tb->first << pool->region_shift);
	int r = 0;

	if (from)
		r = blkdev_issue_zeroout(bdev, base, from, GFP_NOIO, 0);
	if (!r && to < region)
		r = blkdev_issue_zeroout(bdev, base + to, region - to, GFP_NOIO, 0);
	return r;
}

/* The operation is over, by an error before its data write was sent. */
static void first_write_failed(struct dm_tier_bio *tb, blk_status_t status)
{
	struct dm_tier_pool *pool = tb->table->pool;
	LIST_HEAD(ready);

	dm_tier_pool_device_error(pool->device[tb->op.device]);
	spin_lock(&pool->lock);
	__dm_tier_io_op_end(tb, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_ops_ended(pool, &ready);
	dm_tier_io_end(tb, status);
}

static void first_write_send(struct dm_tier_bio *tb)
{
	struct dm_tier_device *dev = tb->table->pool->device[tb->op.device];
	struct block_device *bdev;
	int r;

	if (!dm_tier_device_job_get(dev, &bdev)) {
		first_write_failed(tb, BLK_STS_IOERR);
		return;
	}
	/* Before the zeroes, so that a drain waits for the end of both. */
	preempt_disable();
	tb->epoch = dm_tier_device_get(dev);
	bdev = READ_ONCE(dev->bdev);
	this_cpu_add(dev->inflight->sectors, bio_sectors(dm_tier_bio_bio(tb)));
	preempt_enable();
	r = bdev ? zero_rest(tb, bdev) : -EIO;
	/* A flush that fails from now on may lose that, too. */
	set_bit(dev->idx, &tb->table->volume->dirty);
	dm_tier_device_job_put(dev);
	if (r) {
		dm_tier_device_put(dev, tb->epoch);
		first_write_failed(tb, errno_to_blk_status(r));
		return;
	}
	tb->dev = dev;
	tb->x = dm_tier_volume_find(tb->table->volume, tb->extent);
	tb->stage = BIO_FIRST_WRITE;
	dm_tier_io_submit_to(tb, bdev, tb->op.slot);
}

/* The data are on the device: the region becomes valid. */
void dm_tier_io_first_write_done(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_device *dev = pool->device[tb->op.device];
	struct dm_tier_extent *x = dm_tier_volume_find(v, tb->extent);
	struct dm_tier_move *m;
	LIST_HEAD(ready);
	u64 seq;

	if (tb->status) {
		first_write_failed(tb, tb->status);
		return;
	}
	spin_lock(&pool->lock);
	seq = __dm_tier_meta_touch_slot(pool, dev, tb->op.slot, 1ULL << dev->idx, &tb->spare);
	/* The mark before the bit: a FUA that sees the bit sees the mark in its re-read. */
	__dm_tier_meta_mark(v, x, seq);
	dm_tier_region_set_valid(pool, x, tb->first);
	m = dm_tier_migrate_find(pool, v, tb->extent);
	if (m)
		dm_tier_migrate_mark(m, tb->first, tb->first);
	__dm_tier_io_op_end(tb, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_ops_ended(pool, &ready);

	if (!tb->fua) {
		dm_tier_io_end(tb, BLK_STS_OK);
		return;
	}
	tb->stage = BIO_FUA;
	tb->wait_seq = seq;
	dm_tier_io_again(tb);
}

/* Writes ---------------------------------------------------------------------*/

/* Forced moves admit a write to a clean region per two regions copied. */
static bool held_by_force(struct dm_tier_bio *tb, u64 entry)
{
	struct dm_tier_move *m;

	if (!(entry & ENTRY_FORCED))
		return false;
	m = dm_tier_migrate_find(tb->table->pool, tb->table->volume, tb->extent);
	if (!m || READ_ONCE(m->stop) || test_bit(tb->first, m->dirty))
		return false;
	if (!m->admit)
		return true;
	m->admit--;
	return false;
}

/* What a write does now; pool->lock held.  @bits: for an extent without a slot. */
static enum next look_at_write(struct dm_tier_bio *tb, struct dm_tier_extent *x,
			       struct dm_tier_bits **bits)
{
	u64 entry = x->entry;

	if ((entry & ENTRY_FROZEN) || held_by_force(tb, entry))
		return __dm_tier_io_park_on_move(tb);
	if ((entry & ENTRY_ALLOCATED) && dm_tier_regions_valid(x, entry, tb->first, tb->last))
		return NEXT_MAPPED;
	if (__dm_tier_io_no_commits(tb->table->pool))
		return __dm_tier_io_end_with(tb, BLK_STS_IOERR);
	if (entry & ENTRY_ALLOCATED)
		return __dm_tier_io_op_begin(tb, entry);
	/* No bits: it was unmapped just now. */
	return *bits ? allocate(tb, x, bits) : NEXT_AGAIN;
}

void dm_tier_io_write(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_bits *bits = NULL;
	struct dm_tier_extent *x;
	enum next next;

	dm_tier_volume_need_chunk(v, tb->extent);
	x = dm_tier_volume_find(v, tb->extent);
	dm_tier_io_count(tb, x);
	if (tb->fua && !dm_tier_io_fua_ready(tb))
		return;
	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	if (!(READ_ONCE(x->entry) & ENTRY_ALLOCATED))
		bits = dm_tier_bits_alloc(pool, GFP_NOIO);

	spin_lock(&pool->lock);
	next = look_at_write(tb, x, &bits);
	spin_unlock(&pool->lock);
	dm_tier_bits_free(bits);

	if (next == NEXT_MAPPED && dm_tier_io_submit_mapped(tb, x, ENTRY_FROZEN) != MAPPED_SENT)
		next = NEXT_AGAIN;
	if (next == NEXT_AGAIN)
		dm_tier_io_again(tb);
	else if (next == NEXT_END)
		dm_tier_io_end(tb, tb->status);
	else if (next == NEXT_OPERATION)
		first_write_send(tb);
}
