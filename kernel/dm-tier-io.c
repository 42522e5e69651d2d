// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slow path: bios that wait, operations, and I/O to regions that are valid.
 * dm-tier-io.h is the specification.
 */
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-slow.h"
#include "dm-tier-volume.h"

static void io_work(struct work_struct *work);

int dm_tier_io_init(struct dm_tier_pool *pool)
{
	u32 i;

	for (i = 0; i < OPS_BUCKETS; i++)
		INIT_HLIST_HEAD(&pool->ops[i]);
	INIT_LIST_HEAD(&pool->commit_waiters);
	INIT_LIST_HEAD(&pool->credit_waiters);
	INIT_LIST_HEAD(&pool->space_waiters);
	INIT_LIST_HEAD(&pool->freeing);
	INIT_DELAYED_WORK(&pool->space_work, dm_tier_io_space_work);
	INIT_DELAYED_WORK(&pool->free_work, dm_tier_io_free_work);
	init_waitqueue_head(&pool->ops_wait);
	pool->io_wq = alloc_workqueue("dm-tier-io", WQ_UNBOUND | WQ_MEM_RECLAIM,
				      WQ_UNBOUND_MAX_ACTIVE);
	pool->flush_wq = alloc_workqueue("dm-tier-flush", WQ_UNBOUND | WQ_MEM_RECLAIM,
					 WQ_UNBOUND_MAX_ACTIVE);
	pool->end_wq = alloc_workqueue("dm-tier-end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return pool->io_wq && pool->flush_wq && pool->end_wq ? 0 : -ENOMEM;
}

void dm_tier_io_exit(struct dm_tier_pool *pool)
{
	if (pool->flush_wq)
		destroy_workqueue(pool->flush_wq);
	cancel_delayed_work_sync(&pool->space_work);
	cancel_delayed_work_sync(&pool->free_work);
	if (pool->io_wq)
		destroy_workqueue(pool->io_wq);
	if (pool->end_wq)
		destroy_workqueue(pool->end_wq);
	dm_tier_io_forget_freeing(pool);
}

void dm_tier_io_defer(struct dm_tier_table *table, struct dm_tier_bio *tb, u32 uncounted)
{
	/* It may wait, and then ends on a worker: nothing that a caller could poll. */
	dm_tier_bio_bio(tb)->bi_opf &= ~REQ_POLLED;
	tb->stage = BIO_SLOW;
	tb->table = table;
	tb->fua = dm_tier_bio_bio(tb)->bi_opf & REQ_FUA;
	tb->uncounted = uncounted;
	tb->committed = false;
	tb->wait_seq = 0;
	tb->spare = NULL;
	tb->parked_at = 0;
	INIT_WORK(&tb->work, io_work);
	dm_tier_io_again(tb);
}

/* Ends and waits -------------------------------------------------------------*/

void dm_tier_io_end(struct dm_tier_bio *tb, blk_status_t status)
{
	struct bio *bio = dm_tier_bio_bio(tb);

	dm_tier_meta_change_free(tb->table->pool, tb->spare);
	tb->stage = BIO_DONE;
	bio->bi_status = status;
	bio_endio(bio);
}

void dm_tier_io_again(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;

	/* These block for flushes of devices. */
	bool flush = (dm_tier_bio_bio(tb)->bi_opf & REQ_PREFLUSH) ||
		     (tb->stage == BIO_SLOW && tb->fua &&
		      READ_ONCE(tb->table->volume->flush_failed));

	queue_work(flush ? pool->flush_wq : pool->io_wq, &tb->work);
}

void dm_tier_io_requeue(struct dm_tier_pool *pool, struct list_head *parked)
{
	struct dm_tier_bio *tb, *next;

	list_for_each_entry_safe(tb, next, parked, list) {
		list_del(&tb->list);
		dm_tier_io_again(tb);
	}
}

/*
 * Parks a bio where what it waits for may never come: while its table is being
 * suspended it goes back to dm instead, or fails.
 */
enum next __dm_tier_io_park_uncertain(struct dm_tier_bio *tb, struct list_head *where,
				      blk_status_t status)
{
	if (READ_ONCE(tb->table->suspending))
		return __dm_tier_io_end_with(tb, dm_noflush_suspending(tb->table->ti) ?
						 BLK_STS_DM_REQUEUE : status);
	__dm_tier_io_park(tb, where);
	return NEXT_PARKED;
}

/* pool->lock held. */
static void take_credit_waiters(struct dm_tier_pool *pool, struct list_head *ready)
{
	u32 i;

	list_splice_tail_init(&pool->credit_waiters, ready);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		list_splice_tail_init(&pool->device[i]->waiters, ready);
}

void dm_tier_io_kick_credits(struct dm_tier_pool *pool)
{
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	take_credit_waiters(pool, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

void dm_tier_io_committed(struct dm_tier_pool *pool, u64 durable_seq)
{
	struct dm_tier_bio *tb, *next;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	list_for_each_entry_safe(tb, next, &pool->commit_waiters, list)
		if (tb->wait_seq <= durable_seq)
			list_move_tail(&tb->list, &ready);
	take_credit_waiters(pool, &ready);
	if (!list_empty(&pool->freeing))
		mod_delayed_work(pool->end_wq, &pool->free_work, 0);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

void dm_tier_io_kick_all(struct dm_tier_pool *pool)
{
	struct dm_tier_move *m;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	list_splice_tail_init(&pool->commit_waiters, &ready);
	take_credit_waiters(pool, &ready);
	list_splice_tail_init(&pool->space_waiters, &ready);
	list_for_each_entry(m, &pool->moves, list)
		list_splice_tail_init(&m->parked, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

/* Operations -----------------------------------------------------------------*/

static bool no_ops(struct dm_tier_pool *pool)
{
	bool none;

	spin_lock(&pool->lock);
	none = !pool->nr_ops;
	spin_unlock(&pool->lock);
	return none;
}

void dm_tier_io_close(struct dm_tier_pool *pool)
{
	spin_lock(&pool->lock);
	pool->closing = true;
	spin_unlock(&pool->lock);
	dm_tier_io_kick_all(pool);
	wait_event(pool->ops_wait, no_ops(pool));
}

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
enum next __dm_tier_io_op_begin(struct dm_tier_bio *tb, u64 entry)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_device *dev = pool->device[entry_device(entry)];
	struct list_head *waiters;
	struct dm_tier_op *other = conflict(v, tb->extent, tb->first, tb->last);

	if (other) {
		__dm_tier_io_park(tb, &other->waiters);
		return NEXT_PARKED;
	}
	waiters = __dm_tier_meta_reserve(pool, dev);
	if (IS_ERR(waiters))
		return __dm_tier_io_end_with(tb, errno_to_blk_status(PTR_ERR(waiters)));
	if (waiters) {
		__dm_tier_io_park(tb, waiters);
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
	pool->nr_ops++;
	return NEXT_OPERATION;
}

/* Under pool->lock; the caller requeues @ready and wakes ops_wait. */
void __dm_tier_io_op_end(struct dm_tier_bio *tb, struct list_head *ready)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_device *dev = pool->device[tb->op.device];

	hlist_del(&tb->op.node);
	pool->nr_ops--;
	list_splice_tail_init(&tb->op.waiters, ready);
	/* A credit for one; a commit is for all. */
	if (!list_empty(&dev->waiters))
		list_move_tail(dev->waiters.next, ready);
	if (!list_empty(&pool->credit_waiters))
		list_move_tail(pool->credit_waiters.next, ready);
	__dm_tier_meta_unreserve(pool, dev);
}

void dm_tier_io_ops_ended(struct dm_tier_pool *pool, struct list_head *ready)
{
	wake_up_all(&pool->ops_wait);
	dm_tier_io_requeue(pool, ready);
}

/* Why nothing that needs a commit can be begun; pool->lock held. */
bool __dm_tier_io_no_commits(struct dm_tier_pool *pool)
{
	return pool->read_only || pool->closing || pool->mode != MODE_RW;
}

/* A frozen extent's bios wait on its move; pool->lock held. */
enum next __dm_tier_io_park_on_move(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_move *m = dm_tier_migrate_find(pool, tb->table->volume, tb->extent);

	if (WARN_ON_ONCE(!m))
		return __dm_tier_io_end_with(tb, BLK_STS_IOERR);
	/* Its commit may be in doubt for as long as the metadata cannot be written. */
	if (pool->mode != MODE_RW)
		return __dm_tier_io_park_uncertain(tb, &m->parked, BLK_STS_IOERR);
	__dm_tier_io_park(tb, &m->parked);
	return NEXT_PARKED;
}

/* Mapped I/O -----------------------------------------------------------------*/

sector_t dm_tier_io_offset(struct dm_tier_bio *tb)
{
	struct dm_tier_pool *pool = tb->table->pool;
	sector_t sector = dm_target_offset(tb->table->ti,
					   dm_tier_bio_bio(tb)->bi_iter.bi_sector);

	return sector & ((1ULL << pool->extent_shift) - 1);
}

void dm_tier_io_count(struct dm_tier_bio *tb, struct dm_tier_extent *x)
{
	struct dm_tier_table *t = tb->table;
	struct bio *bio = dm_tier_bio_bio(tb);

	if (!tb->uncounted)
		return;
	preempt_disable();
	dm_tier_heat_count(this_cpu_ptr(t->pool->heat),
			   dm_tier_extent_counters(x, tb->extent), t->volume->id,
			   tb->extent, &t->pool->counter_generation,
			   op_is_write(bio_op(bio)),
			   dm_target_offset(t->ti, bio->bi_iter.bi_sector), tb->uncounted);
	preempt_enable();
	tb->uncounted = 0;
}

/* Sends a bio to a slot; it is counted in flight already. */
void dm_tier_io_submit_to(struct dm_tier_bio *tb, struct block_device *bdev, u32 slot)
{
	struct bio *bio = dm_tier_bio_bio(tb);
	sector_t offset = dm_tier_io_offset(tb);

	bio_set_dev(bio, bdev);
	bio->bi_iter.bi_sector = dm_tier_slot_sector(tb->table->pool, slot) + offset;
	dm_submit_bio_remap(bio, NULL);
}

/*
 * As the fast path: sends a bio to valid regions through the section.  FRESH:
 * they are not valid; HELD: a flag of @never is set.
 */
enum mapped dm_tier_io_submit_mapped(struct dm_tier_bio *tb, struct dm_tier_extent *x, u64 never)
{
	struct dm_tier_pool *pool = tb->table->pool;
	struct dm_tier_device *dev;
	struct block_device *bdev;
	enum mapped r = MAPPED_SENT;
	u32 epoch;
	u64 entry;

	preempt_disable();
	for (;;) {
		/* Pairs with the barrier in dm_tier_extent_map(): its bitmap, not the last. */
		entry = smp_load_acquire(&x->entry);
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
		dm_tier_io_end(tb, BLK_STS_IOERR);
		return MAPPED_SENT;
	}
	dm_tier_meta_change_free(pool, tb->spare);
	tb->spare = NULL;
	tb->dev = dev;
	tb->x = x;
	tb->epoch = epoch;
	tb->stage = tb->fua ? BIO_FUA_DATA : BIO_FAST;
	dm_tier_io_submit_to(tb, bdev, entry_slot(entry));
	return MAPPED_SENT;
}

static bool surely_valid(struct dm_tier_bio *tb, struct dm_tier_extent *x)
{
	struct dm_tier_pool *pool = tb->table->pool;
	bool valid;

	spin_lock(&pool->lock);
	valid = (x->entry & ENTRY_ALLOCATED) &&
		dm_tier_regions_valid(x, x->entry, tb->first, tb->last);
	spin_unlock(&pool->lock);
	return valid;
}

static void process_read(struct dm_tier_bio *tb)
{
	struct dm_tier_extent *x = dm_tier_volume_find(tb->table->volume, tb->extent);

	if (x) {
		dm_tier_io_count(tb, x);
		if (dm_tier_io_submit_mapped(tb, x, 0) == MAPPED_SENT)
			return;
		/* The bitmap may have gone because the extent became full just now. */
		if (surely_valid(tb, x)) {
			dm_tier_io_again(tb);
			return;
		}
	}
	zero_fill_bio(dm_tier_bio_bio(tb));
	dm_tier_io_end(tb, BLK_STS_OK);
}

/* The work item --------------------------------------------------------------*/

static void io_work(struct work_struct *work)
{
	struct dm_tier_bio *tb = container_of(work, struct dm_tier_bio, work);
	struct bio *bio = dm_tier_bio_bio(tb);

	if (tb->stage == BIO_SLOW && READ_ONCE(tb->table->pool->mode) == MODE_FAIL)
		dm_tier_io_end(tb, BLK_STS_IOERR);
	else if (tb->stage == BIO_FIRST_WRITE)
		dm_tier_io_first_write_done(tb);
	else if (tb->stage == BIO_FUA_DATA)
		dm_tier_io_fua_data_done(tb);
	else if (tb->stage == BIO_FUA)
		dm_tier_io_fua_done(tb);
	else if (bio->bi_opf & REQ_PREFLUSH)
		dm_tier_io_flush(tb);
	else if (bio_op(bio) == REQ_OP_DISCARD)
		dm_tier_io_discard(tb);
	else if (bio_op(bio) == REQ_OP_WRITE)
		dm_tier_io_write(tb);
	else
		process_read(tb);
}

int dm_tier_io_ended(struct dm_tier_bio *tb, blk_status_t *error)
{
	if (tb->stage != BIO_FIRST_WRITE && tb->stage != BIO_FUA_DATA)
		return DM_ENDIO_DONE;
	tb->status = *error;
	queue_work(tb->table->pool->end_wq, &tb->work);
	return DM_ENDIO_INCOMPLETE;
}
