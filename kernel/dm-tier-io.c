// SPDX-License-Identifier: GPL-2.0-only
/* The slow path; the header is the specification. */
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-map.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/* A slot that was unmapped: free once @seq is durable and its device drained. */
struct dm_tier_free {
	struct list_head list;
	u64 seq;
	struct dm_tier_device *dev;
	u32 slot;
};

static void io_work(struct work_struct *work);
static void space_work(struct work_struct *work);
static void free_work(struct work_struct *work);

int dm_tier_io_init(struct dm_tier_pool *pool)
{
	u32 i;

	for (i = 0; i < OPS_BUCKETS; i++)
		INIT_HLIST_HEAD(&pool->ops[i]);
	INIT_LIST_HEAD(&pool->commit_waiters);
	INIT_LIST_HEAD(&pool->credit_waiters);
	INIT_LIST_HEAD(&pool->space_waiters);
	INIT_LIST_HEAD(&pool->freeing);
	INIT_DELAYED_WORK(&pool->space_work, space_work);
	INIT_DELAYED_WORK(&pool->free_work, free_work);
	init_waitqueue_head(&pool->ops_wait);
	pool->io_wq = alloc_workqueue("dm-tier-io", WQ_UNBOUND | WQ_MEM_RECLAIM,
				      WQ_UNBOUND_MAX_ACTIVE);
	return pool->io_wq ? 0 : -ENOMEM;
}

void dm_tier_io_exit(struct dm_tier_pool *pool)
{
	struct dm_tier_free *f, *next;

	if (!pool->io_wq)
		return;
	cancel_delayed_work_sync(&pool->space_work);
	cancel_delayed_work_sync(&pool->free_work);
	destroy_workqueue(pool->io_wq);
	list_for_each_entry_safe(f, next, &pool->freeing, list)
		kfree(f);
}

void dm_tier_io_defer(struct dm_tier_table *table, struct dm_tier_bio *tb, u32 uncounted)
{
	/* It may wait, and then ends on a worker: nothing that a caller could poll. */
	dm_tier_bio_bio(tb)->bi_opf &= ~REQ_POLLED;
	tb->stage = BIO_SLOW;
	tb->table = table;
	tb->uncounted = uncounted;
	tb->committed = false;
	tb->wait_seq = 0;
	tb->spare = NULL;
	tb->parked_at = 0;
	INIT_WORK(&tb->work, io_work);
	queue_work(table->pool->io_wq, &tb->work);
}

/* Ends and waits -------------------------------------------------------------*/

static void end_bio(struct dm_tier_bio *tb, blk_status_t status)
{
	struct bio *bio = dm_tier_bio_bio(tb);

	dm_tier_meta_change_free(tb->table->pool, tb->spare);
	tb->stage = BIO_DONE;
	bio->bi_status = status;
	bio_endio(bio);
}

/* pool->lock held. */
static void park(struct dm_tier_bio *tb, struct list_head *where)
{
	list_add_tail(&tb->list, where);
}

static void requeue(struct dm_tier_bio *tb)
{
	queue_work(tb->table->pool->io_wq, &tb->work);
}

void dm_tier_io_requeue(struct dm_tier_pool *pool, struct list_head *parked)
{
	struct dm_tier_bio *tb, *next;

	list_for_each_entry_safe(tb, next, parked, list) {
		list_del(&tb->list);
		requeue(tb);
	}
}

/* What a step under pool->lock wants done once the lock is dropped. */
enum next {
	NEXT_PARKED,		/* nothing: the bio is not ours any more */
	NEXT_END,		/* end it with tb->status */
	NEXT_AGAIN,		/* look at it again from the start */
	NEXT_MAPPED,		/* send it to valid regions */
	NEXT_OPERATION,		/* an operation was begun: go on with it */
};

static enum next end_with(struct dm_tier_bio *tb, blk_status_t status)
{
	tb->status = status;
	return NEXT_END;
}

/*
 * Parks a bio where what it waits for may never come: while its table is being
 * suspended it goes back to dm instead, or fails.
 */
static enum next park_uncertain(struct dm_tier_bio *tb, struct list_head *where,
				blk_status_t status)
{
	if (READ_ONCE(tb->table->suspending))
		return end_with(tb, dm_noflush_suspending(tb->table->ti) ?
				BLK_STS_DM_REQUEUE : status);
	park(tb, where);
	return NEXT_PARKED;
}

void dm_tier_io_committed(struct dm_tier_pool *pool, u64 durable_seq)
{
	struct dm_tier_bio *tb, *next;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	list_for_each_entry_safe(tb, next, &pool->commit_waiters, list)
		if (tb->wait_seq <= durable_seq)
			list_move_tail(&tb->list, &ready);
	list_splice_tail_init(&pool->credit_waiters, &ready);
	if (!list_empty(&pool->freeing))
		mod_delayed_work(pool->io_wq, &pool->free_work, 0);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

void dm_tier_io_kick_space(struct dm_tier_pool *pool)
{
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	list_splice_tail_init(&pool->space_waiters, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

void dm_tier_io_kick_all(struct dm_tier_pool *pool)
{
	struct dm_tier_move *m;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	list_splice_tail_init(&pool->commit_waiters, &ready);
	list_splice_tail_init(&pool->credit_waiters, &ready);
	list_splice_tail_init(&pool->space_waiters, &ready);
	list_for_each_entry(m, &pool->moves, list)
		list_splice_tail_init(&m->parked, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

/* Operations -----------------------------------------------------------------*/

static struct hlist_head *ops_bucket(struct dm_tier_volume *v, u32 extent)
{
	return &v->pool->ops[(extent + v->id * 37) % OPS_BUCKETS];
}

bool __dm_tier_io_busy(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_op *op;

	lockdep_assert_held(&v->pool->lock);
	hlist_for_each_entry(op, ops_bucket(v, extent), node)
		if (op->volume == v && op->extent == extent)
			return true;
	return false;
}

static struct dm_tier_op *conflict(struct dm_tier_volume *v, u32 extent, u32 first, u32 last)
{
	struct dm_tier_op *op;

	hlist_for_each_entry(op, ops_bucket(v, extent), node)
		if (op->volume == v && op->extent == extent &&
		    op->first <= last && first <= op->last)
			return op;
	return NULL;
}

/* Begins an operation on @tb's regions of an allocated extent.  pool->lock held. */
static enum next op_begin(struct dm_tier_bio *tb, u64 entry)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_device *dev = pool->device[entry_device(entry)];
	struct dm_tier_op *other = conflict(v, tb->extent, tb->first, tb->last);

	if (other) {
		park(tb, &other->waiters);
		return NEXT_PARKED;
	}
	if (!__dm_tier_meta_reserve(pool, dev)) {
		park(tb, &pool->credit_waiters);
		return NEXT_PARKED;
	}
	tb->op.volume = v;
	tb->op.extent = tb->extent;
	tb->op.first = tb->first;
	tb->op.last = tb->last;
	tb->op.device = dev->idx;
	tb->op.slot = entry_slot(entry);
	INIT_LIST_HEAD(&tb->op.waiters);
	hlist_add_head(&tb->op.node, ops_bucket(v, tb->extent));
	return NEXT_OPERATION;
}

/* Under pool->lock; the caller requeues @ready and wakes ops_wait. */
static void op_end(struct dm_tier_bio *tb, struct list_head *ready)
{
	struct dm_tier_pool *pool = tb->table->pool;

	hlist_del(&tb->op.node);
	list_splice_tail_init(&tb->op.waiters, ready);
	list_splice_tail_init(&pool->credit_waiters, ready);
	__dm_tier_meta_unreserve(pool, pool->device[tb->op.device]);
}

static void ops_ended(struct dm_tier_pool *pool, struct list_head *ready)
{
	wake_up_all(&pool->ops_wait);
	dm_tier_io_requeue(pool, ready);
}

/* Why nothing that needs a commit can be begun; pool->lock held. */
static bool no_commits(struct dm_tier_pool *pool)
{
	return pool->read_only || pool->mode != MODE_RW;
}

/* A frozen extent's bios wait on its move; pool->lock held. */
static enum next park_on_move(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_move *m = dm_tier_migrate_find(pool, tb->table->volume, tb->extent);

	if (WARN_ON_ONCE(!m))
		return end_with(tb, BLK_STS_IOERR);
	/* Its commit may be in doubt for as long as the metadata cannot be written. */
	if (pool->mode != MODE_RW)
		return park_uncertain(tb, &m->parked, BLK_STS_IOERR);
	park(tb, &m->parked);
	return NEXT_PARKED;
}

/* Mapped I/O -----------------------------------------------------------------*/

static sector_t offset_in_extent(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t sector = dm_target_offset(tb->table->ti,
					   dm_tier_bio_bio(tb)->bi_iter.bi_sector);

	return sector & ((1ULL << pool->extent_shift) - 1);
}

static void count_bio(struct dm_tier_bio *tb, struct dm_tier_extent *x)
{
	struct dm_tier_table *t = tb->table;
	struct bio *bio = dm_tier_bio_bio(tb);

	if (!tb->uncounted)
		return;
	preempt_disable();
	dm_tier_heat_count(this_cpu_ptr(t->pool->heat),
			   dm_tier_extent_counters(x, tb->extent), t->volume->id,
			   tb->extent, READ_ONCE(t->pool->counter_generation),
			   op_is_write(bio_op(bio)),
			   dm_target_offset(t->ti, bio->bi_iter.bi_sector), tb->uncounted);
	preempt_enable();
	tb->uncounted = 0;
}

/* Sends a bio to a slot; it is counted in flight already. */
static void submit_to(struct dm_tier_bio *tb, struct block_device *bdev, u32 slot)
{
	struct bio *bio = dm_tier_bio_bio(tb);
	sector_t offset = offset_in_extent(tb);

	bio_set_dev(bio, bdev);
	bio->bi_iter.bi_sector = dm_tier_slot_sector(tb->table->pool, slot) + offset;
	dm_submit_bio_remap(bio, NULL);
}

enum mapped { MAPPED_SENT, MAPPED_FRESH, MAPPED_HELD };

/*
 * As the fast path: sends a bio to valid regions through the section.  FRESH:
 * they are not valid; HELD: a flag of @never is set.
 */
static enum mapped submit_mapped(struct dm_tier_bio *tb, struct dm_tier_extent *x, u64 never)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_device *dev;
	struct block_device *bdev;
	enum mapped r = MAPPED_SENT;
	u32 epoch;
	u64 entry;

	preempt_disable();
	for (;;) {
		entry = READ_ONCE(x->entry);
		if (!(entry & ENTRY_ALLOCATED))
			r = MAPPED_FRESH;
		else if (entry & never)
			r = MAPPED_HELD;
		else if (!dm_tier_regions_valid(x, entry, tb->first, tb->last))
			r = MAPPED_FRESH;
		if (r != MAPPED_SENT) {
			preempt_enable();
			return r;
		}
		dev = pool->device[entry_device(entry)];
		epoch = dm_tier_device_get(dev);
		if (likely(DM_TIER_REREAD(&x->entry, entry) == entry))
			break;
		dm_tier_device_put(dev, epoch);
	}
	bdev = READ_ONCE(dev->bdev);
	this_cpu_add(dev->inflight->sectors, bio_sectors(dm_tier_bio_bio(tb)));
	preempt_enable();

	if (!bdev) {
		dm_tier_device_put(dev, epoch);
		end_bio(tb, BLK_STS_IOERR);
		return MAPPED_SENT;
	}
	dm_tier_meta_change_free(pool, tb->spare);
	tb->spare = NULL;
	tb->dev = dev;
	tb->epoch = epoch;
	tb->stage = BIO_FAST;
	submit_to(tb, bdev, entry_slot(entry));
	return MAPPED_SENT;
}

static void process_read(struct dm_tier_bio *tb)
{
	struct dm_tier_extent *x = dm_tier_volume_extent(tb->table->volume, tb->extent);

	if (x) {
		count_bio(tb, x);
		if (submit_mapped(tb, x, 0) == MAPPED_SENT)
			return;
	}
	zero_fill_bio(dm_tier_bio_bio(tb));
	end_bio(tb, BLK_STS_OK);
}

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

/* pool->lock held. */
static enum next wait_for_space(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	unsigned long timeout = pool->features.no_space_timeout_s * HZ;
	bool first = list_empty(&pool->space_waiters);

	if (!tb->parked_at)
		tb->parked_at = jiffies ?: 1;
	if (pool->features.error_if_no_space ||
	    (timeout && time_after_eq(jiffies, tb->parked_at + timeout)))
		return end_with(tb, BLK_STS_NOSPC);
	if (timeout)
		queue_delayed_work(pool->io_wq, &pool->space_work,
				   tb->parked_at + timeout - jiffies);
	if (first) {
		DMWARN_LIMIT("no free slot where a volume may write: writes wait");
		dm_tier_pool_event(pool);
	}
	return park_uncertain(tb, &pool->space_waiters, BLK_STS_NOSPC);
}

static void space_work(struct work_struct *work)
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
	u32 slot;
	int idx = __dm_tier_io_place(pool, v->placement, v->tiers);

	if (idx < 0)
		return wait_for_space(tb);
	dev = pool->device[idx];
	if (!__dm_tier_meta_reserve(pool, dev)) {
		park(tb, &pool->credit_waiters);
		return NEXT_PARKED;
	}
	if (WARN_ON_ONCE(dm_tier_device_take_slot(dev, SLOT_OWNED, &slot))) {
		__dm_tier_meta_unreserve(pool, dev);
		return end_with(tb, BLK_STS_IOERR);
	}
	/* Touched while RAM still says what is durable: free. */
	dev->slot[slot].state = SLOT_FREE;
	__dm_tier_meta_touch_slot(pool, dev, slot, 0, &tb->spare);
	dm_tier_extent_map(v, tb->extent, x, dev, slot, *bits);
	*bits = NULL;
	__dm_tier_meta_mark(v, x, pool->meta->open_seq);
	__dm_tier_meta_unreserve(pool, dev);
	dm_tier_pool_check_low_water(pool, dev->tier);
	/* With a fresh spare for what follows. */
	return NEXT_AGAIN;
}

/* Zeroes what the bio leaves of its region. */
static int zero_rest(struct dm_tier_bio *tb, struct block_device *bdev)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t region = 1ULL << pool->region_shift;
	sector_t from = offset_in_extent(tb) & (region - 1);
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
	op_end(tb, &ready);
	spin_unlock(&pool->lock);
	ops_ended(pool, &ready);
	end_bio(tb, status);
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
	r = zero_rest(tb, bdev);
	dm_tier_device_job_put(dev);
	if (r) {
		first_write_failed(tb, errno_to_blk_status(r));
		return;
	}
	preempt_disable();
	tb->epoch = dm_tier_device_get(dev);
	bdev = READ_ONCE(dev->bdev);
	this_cpu_add(dev->inflight->sectors, bio_sectors(dm_tier_bio_bio(tb)));
	preempt_enable();
	if (!bdev) {
		dm_tier_device_put(dev, tb->epoch);
		first_write_failed(tb, BLK_STS_IOERR);
		return;
	}
	tb->dev = dev;
	tb->stage = BIO_FIRST_WRITE;
	submit_to(tb, bdev, tb->op.slot);
}

/* The data are on the device: the region becomes valid. */
static void first_write_done(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_device *dev = pool->device[tb->op.device];
	struct dm_tier_extent *x = dm_tier_volume_extent(v, tb->extent);
	struct dm_tier_move *m;
	LIST_HEAD(ready);
	u64 seq;

	if (tb->status) {
		first_write_failed(tb, tb->status);
		return;
	}
	spin_lock(&pool->lock);
	seq = __dm_tier_meta_touch_slot(pool, dev, tb->op.slot, 1ULL << dev->idx, &tb->spare);
	dm_tier_region_set_valid(pool, x, tb->first);
	__dm_tier_meta_mark(v, x, seq);
	m = dm_tier_migrate_find(pool, v, tb->extent);
	if (m)
		dm_tier_migrate_mark(m, tb->first, tb->first);
	op_end(tb, &ready);
	spin_unlock(&pool->lock);
	ops_ended(pool, &ready);

	if (!(dm_tier_bio_bio(tb)->bi_opf & REQ_FUA)) {
		end_bio(tb, BLK_STS_OK);
		return;
	}
	tb->stage = BIO_FUA;
	tb->wait_seq = seq;
	requeue(tb);
}

/* Commit, FLUSH and FUA ------------------------------------------------------*/

enum waited { WAITED_PARKED, WAITED_DONE, WAITED_ERROR };

/*
 * Waits for commit @tb->wait_seq.  PARKED: the bio is not ours any more.
 * ERROR: no commit now, or it lost changes of the volume.
 */
static enum waited wait_commit(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	enum waited r = WAITED_PARKED;

	spin_lock(&pool->lock);
	if (pool->meta->durable_seq >= tb->wait_seq)
		r = v->dropped_seq >= tb->wait_seq && tb->wait_seq ?
			WAITED_ERROR : WAITED_DONE;
	else if (no_commits(pool))
		r = WAITED_ERROR;
	else
		park(tb, &pool->commit_waiters);
	spin_unlock(&pool->lock);
	if (r == WAITED_PARKED)
		dm_tier_meta_kick(pool);
	return r;
}

static void fua_done(struct dm_tier_bio *tb)
{
	enum waited r = wait_commit(tb);

	if (r != WAITED_PARKED)
		end_bio(tb, r == WAITED_DONE ? BLK_STS_OK : BLK_STS_IOERR);
}

/*
 * Flushes the devices that this volume has written to.  A flush under way is
 * counted before its dirty bit is cleared, so that no FLUSH passes one by.
 */
static int flush_devices(struct dm_tier_volume *v)
{
	struct dm_tier_pool *pool = v->pool;
	u64 ticket[DM_TIER_MAX_DEVICES];
	u64 mask = 0;
	int r = 0, error;
	u32 i;

	spin_lock(&v->flush_lock);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		if (!test_bit(i, &v->dirty) && !v->flushing[i])
			continue;
		v->flushing[i]++;
		clear_bit(i, &v->dirty);
		mask |= 1ULL << i;
	}
	spin_unlock(&v->flush_lock);
	/* Dirty bits are clear before the flushes start. */
	smp_mb__after_atomic();

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (mask & (1ULL << i))
			ticket[i] = dm_tier_device_flush_request(pool->device[i]);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		if (!(mask & (1ULL << i)))
			continue;
		error = dm_tier_device_flush_wait(pool->device[i], ticket[i],
						  MAX_SCHEDULE_TIMEOUT);
		spin_lock(&v->flush_lock);
		if (error)
			set_bit(i, &v->dirty);
		v->flushing[i]--;
		spin_unlock(&v->flush_lock);
		r = r ?: error;
	}
	return r;
}

/* After the commit: the devices.  Latches a failure on the volume. */
static int flush_volume(struct dm_tier_volume *v, bool committed)
{
	int r = flush_devices(v);

	if (!committed)
		r = r ?: -EIO;
	WRITE_ONCE(v->flush_failed, r != 0);
	return r;
}

/* The first visit fixes what to wait for: all changes of the volume so far. */
static void fix_wait_seq(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;

	if (tb->committed)
		return;
	tb->committed = true;
	spin_lock(&pool->lock);
	tb->wait_seq = tb->table->volume->changed_seq;
	spin_unlock(&pool->lock);
}

static void process_flush(struct dm_tier_bio *tb)
{
	enum waited r;

	if (tb->table->pool->read_only) {
		end_bio(tb, BLK_STS_OK);
		return;
	}
	fix_wait_seq(tb);
	r = wait_commit(tb);
	if (r == WAITED_PARKED)
		return;
	end_bio(tb, errno_to_blk_status(flush_volume(tb->table->volume, r == WAITED_DONE)));
}

/*
 * A FUA write to an extent with changes, or after a FLUSH that failed: these
 * first.  False: the bio is not ours any more.
 */
static bool fua_ready(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	enum waited r;

	fix_wait_seq(tb);
	r = wait_commit(tb);
	if (r == WAITED_PARKED)
		return false;
	if (r == WAITED_ERROR ||
	    (READ_ONCE(v->flush_failed) && flush_volume(v, true))) {
		end_bio(tb, BLK_STS_IOERR);
		return false;
	}
	return true;
}

/* Writes ---------------------------------------------------------------------*/

/* Forced moves admit a write to a clean region per two regions copied. */
static bool held_by_force(struct dm_tier_bio *tb, u64 entry)
{
	struct dm_tier_move *m;

	if (!(entry & ENTRY_FORCED))
		return false;
	m = dm_tier_migrate_find(tb->table->pool, tb->table->volume, tb->extent);
	if (!m || test_bit(tb->first, m->dirty))
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
		return park_on_move(tb);
	if ((entry & ENTRY_ALLOCATED) && dm_tier_regions_valid(x, entry, tb->first, tb->last))
		return NEXT_MAPPED;
	if (no_commits(tb->table->pool))
		return end_with(tb, BLK_STS_IOERR);
	if (entry & ENTRY_ALLOCATED)
		return op_begin(tb, entry);
	/* No bits: it was unmapped just now. */
	return *bits ? allocate(tb, x, bits) : NEXT_AGAIN;
}

static void process_write(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_bits *bits = NULL;
	struct dm_tier_extent *x;
	enum next next;

	dm_tier_volume_need_chunk(v, tb->extent);
	x = dm_tier_volume_extent(v, tb->extent);
	count_bio(tb, x);
	if ((dm_tier_bio_bio(tb)->bi_opf & REQ_FUA) && !fua_ready(tb))
		return;
	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	if (!(READ_ONCE(x->entry) & ENTRY_ALLOCATED))
		bits = dm_tier_bits_alloc(pool, GFP_NOIO);

	spin_lock(&pool->lock);
	next = look_at_write(tb, x, &bits);
	spin_unlock(&pool->lock);
	dm_tier_bits_free(bits);

	if (next == NEXT_MAPPED && submit_mapped(tb, x, ENTRY_FROZEN) != MAPPED_SENT)
		next = NEXT_AGAIN;
	if (next == NEXT_AGAIN)
		requeue(tb);
	else if (next == NEXT_END)
		end_bio(tb, tb->status);
	else if (next == NEXT_OPERATION)
		first_write_send(tb);
}

/* Discards and freeing -------------------------------------------------------*/

static void free_work(struct work_struct *work)
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
		queue_delayed_work(pool->io_wq, &pool->free_work, HZ);
	list_splice_tail(&due, &pool->freeing);
	spin_unlock(&pool->lock);
	dm_tier_io_kick_space(pool);
}

/* The regions that a discard covers wholly: false if none. */
static bool discard_regions(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t offset = offset_in_extent(tb), end = offset + bio_sectors(dm_tier_bio_bio(tb));
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
 * is valid or busy any more.
 */
static void discard_end(struct dm_tier_bio *tb, struct dm_tier_free *f)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_extent *x = dm_tier_volume_extent(v, tb->extent);
	struct dm_tier_device *dev = pool->device[tb->op.device];
	LIST_HEAD(ready);

	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	spin_lock(&pool->lock);
	op_end(tb, &ready);
	if (f && !dm_tier_valid_regions(pool, x) && !__dm_tier_io_busy(v, tb->extent) &&
	    !(x->entry & (ENTRY_MIGRATING | ENTRY_FROZEN)) && !no_commits(pool)) {
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
	ops_ended(pool, &ready);
	end_bio(tb, BLK_STS_OK);
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

static bool covers_extent(struct dm_tier_bio *tb)
{
	return tb->first == 0 && tb->last == tb->table->pool->regions - 1;
}

/* What a discard does now; pool->lock held. */
static enum next look_at_discard(struct dm_tier_bio *tb, struct dm_tier_extent *x)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_move *m;
	enum next next;

	if (!(x->entry & ENTRY_ALLOCATED) || no_commits(pool))
		return end_with(tb, BLK_STS_OK);
	if (x->entry & ENTRY_FROZEN)
		return park_on_move(tb);
	m = dm_tier_migrate_find(pool, v, tb->extent);
	if (m && covers_extent(tb)) {
		/* Nothing is left to be moved: it ends, then we look again. */
		WRITE_ONCE(m->stop, m->stop ?: MOVE_GONE);
		wake_up_all(&pool->move_wait);
		return park_on_move(tb);
	}
	next = op_begin(tb, x->entry);
	if (next != NEXT_OPERATION)
		return next;
	__dm_tier_meta_mark(v, x, __dm_tier_meta_touch_slot(pool, pool->device[tb->op.device],
							    tb->op.slot, 0, &tb->spare));
	/* No memory for a bitmap: the discard has no effect, and goes no further. */
	tb->op.cleared = dm_tier_regions_clear_valid(pool, x, tb->first, tb->last);
	return NEXT_OPERATION;
}

static void process_discard(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_extent *x = dm_tier_volume_extent(v, tb->extent);
	enum next next;

	if (!x || !discard_regions(tb)) {
		end_bio(tb, BLK_STS_OK);
		return;
	}
	if (!tb->spare)
		tb->spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	spin_lock(&pool->lock);
	next = look_at_discard(tb, x);
	spin_unlock(&pool->lock);
	if (next == NEXT_END) {
		end_bio(tb, tb->status);
	} else if (next == NEXT_OPERATION) {
		if (tb->op.cleared)
			pass_down(tb);
		discard_end(tb, tb->op.cleared ? kmalloc(sizeof(struct dm_tier_free),
							 GFP_NOIO) : NULL);
	}
}

/* The work item --------------------------------------------------------------*/

static void io_work(struct work_struct *work)
{
	struct dm_tier_bio *tb = container_of(work, struct dm_tier_bio, work);
	struct bio *bio = dm_tier_bio_bio(tb);

	if (tb->stage == BIO_FIRST_WRITE)
		first_write_done(tb);
	else if (tb->stage == BIO_FUA)
		fua_done(tb);
	else if (bio->bi_opf & REQ_PREFLUSH)
		process_flush(tb);
	else if (bio_op(bio) == REQ_OP_DISCARD)
		process_discard(tb);
	else if (bio_op(bio) == REQ_OP_WRITE)
		process_write(tb);
	else
		process_read(tb);
}

int dm_tier_io_ended(struct dm_tier_bio *tb, blk_status_t *error)
{
	if (tb->stage != BIO_FIRST_WRITE)
		return DM_ENDIO_DONE;
	tb->status = *error;
	queue_work(tb->table->pool->io_wq, &tb->work);
	return DM_ENDIO_INCOMPLETE;
}
