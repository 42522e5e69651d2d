// SPDX-License-Identifier: GPL-2.0-only
/*
 * One data device: in-flight counts, drains, flushes, its slots.
 * The header is the specification.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"

static void drain_work(struct work_struct *work);
static void send_flush(struct work_struct *work);
static void flush_failed(struct work_struct *work);

struct dm_tier_device *dm_tier_device_alloc(struct dm_tier_pool *pool, u32 idx)
{
	struct dm_tier_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->inflight = alloc_percpu(struct dm_tier_inflight);
	if (!dev->inflight) {
		kfree(dev);
		return NULL;
	}
	dev->idx = idx;
	dev->pool = pool;
	init_waitqueue_head(&dev->wait);
	INIT_LIST_HEAD(&dev->waiters);
	INIT_WORK(&dev->drain_work, drain_work);
	INIT_WORK(&dev->flush_work, send_flush);
	INIT_WORK(&dev->flush_failed_work, flush_failed);
	spin_lock_init(&dev->drain_lock);
	spin_lock_init(&dev->flush_lock);
	return dev;
}

void dm_tier_device_free(struct dm_tier_device *dev)
{
	if (!dev)
		return;
	cancel_work_sync(&dev->flush_failed_work);	/* may queue both others */
	cancel_work_sync(&dev->flush_work);
	cancel_work_sync(&dev->drain_work);
	free_percpu(dev->inflight);
	kvfree(dev->slot);
	kvfree(dev->free_map);
	kfree(dev);
}

/* In flight ------------------------------------------------------------------*/

static unsigned long sum_epoch(struct dm_tier_device *dev, u32 epoch)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum -= READ_ONCE(per_cpu_ptr(dev->inflight, cpu)->put[epoch]);
	/* Puts before gets: a bio that comes and goes meanwhile must not hide another. */
	smp_rmb();
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->inflight, cpu)->get[epoch]);
	return sum;
}

static void wait_epoch(struct dm_tier_device *dev, u32 epoch)
{
	unsigned int us = 20;

	/*
	 * Polled, with a growing pause: a wake-up by the last put would cost
	 * every put a full barrier.
	 */
	while (sum_epoch(dev, epoch)) {
		usleep_range(us, 2 * us);
		us = min(2 * us, 1000U);
	}
	/* Pairs with smp_wmb() in tier_end_io(): its marks are visible. */
	smp_mb();
}

static void drain_work(struct work_struct *work)
{
	struct dm_tier_device *dev = container_of(work, struct dm_tier_device, drain_work);
	u64 target;
	u32 old;

	spin_lock(&dev->drain_lock);
	while (dev->drain_done < dev->drain_wanted) {
		target = dev->drain_wanted;
		spin_unlock(&dev->drain_lock);

		old = dev->epoch;
		/* Pairs with the acquire in dm_tier_device_get(). */
		smp_store_release(&dev->epoch, old ^ 1);
		synchronize_rcu_expedited();
		wait_epoch(dev, old);

		spin_lock(&dev->drain_lock);
		dev->drain_done = target;
		wake_up_all(&dev->wait);
	}
	dev->drain_running = false;
	spin_unlock(&dev->drain_lock);
	wake_up_all(&dev->wait);
}

static bool drained(struct dm_tier_device *dev, u64 ticket)
{
	bool done;

	spin_lock(&dev->drain_lock);
	done = dev->drain_done >= ticket;
	spin_unlock(&dev->drain_lock);
	return done;
}

int dm_tier_device_drain(struct dm_tier_device *dev, long timeout)
{
	bool start;
	u64 ticket;

	spin_lock(&dev->drain_lock);
	/*
	 * A running drain has taken its target already, which is below the
	 * ticket: the one that serves us flips the epoch after this point.
	 */
	ticket = ++dev->drain_wanted;
	start = !dev->drain_running;
	dev->drain_running = true;
	spin_unlock(&dev->drain_lock);
	if (start)
		queue_work(dev->pool->dev_wq, &dev->drain_work);
	if (!wait_event_timeout(dev->wait, drained(dev, ticket), timeout))
		return -ETIMEDOUT;
	return 0;
}

int dm_tier_device_idle(struct dm_tier_device *dev, long timeout)
{
	if (!wait_event_timeout(dev->wait, !READ_ONCE(dev->drain_running), timeout))
		return -ETIMEDOUT;
	return 0;
}

void dm_tier_device_stats(struct dm_tier_device *dev, u64 *ret_ios, u64 *ret_sectors)
{
	u64 ios = 0, sectors = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct dm_tier_inflight *in = per_cpu_ptr(dev->inflight, cpu);

		ios += READ_ONCE(in->get[0]) + READ_ONCE(in->get[1]);
		sectors += READ_ONCE(in->sectors);
	}
	*ret_ios = ios;
	*ret_sectors = sectors;
}

/* Jobs -----------------------------------------------------------------------*/

bool dm_tier_device_job_get(struct dm_tier_device *dev, struct block_device **ret_bdev)
{
	struct block_device *bdev;

	atomic_inc(&dev->jobs);
	/* Pairs with the barrier in detach: it sees our job, or we its NULL. */
	smp_mb__after_atomic();
	bdev = READ_ONCE(dev->bdev);
	if (!bdev) {
		dm_tier_device_job_put(dev);
		return false;
	}
	*ret_bdev = bdev;
	return true;
}

void dm_tier_device_job_put(struct dm_tier_device *dev)
{
	/* Who sees 0 may free the device, after a grace period. */
	rcu_read_lock();
	if (atomic_dec_and_test(&dev->jobs))
		wake_up_all(&dev->wait);
	rcu_read_unlock();
}

/* Flush ----------------------------------------------------------------------*/

static void flush_ended(struct dm_tier_device *dev, int error)
{
	unsigned long flags;
	bool again, well = false;

	spin_lock_irqsave(&dev->flush_lock, flags);
	dev->flush_done = dev->flush_started;
	if (error) {
		dev->flush_error = error;
		dm_tier_pool_device_error(dev);
		dev->failed = true;
		dev->flush_bad = dev->flush_started;
	} else {
		well = dev->failed;
		dev->failed = false;
	}
	dev->flush_broken = error;
	again = dev->flush_wanted > dev->flush_started;
	if (again)
		dev->flush_started = dev->flush_wanted;
	else
		dev->flush_running = false;
	dev->flush_since = jiffies;
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	wake_up_all(&dev->wait);
	if (again)
		queue_work(dev->pool->dev_wq, &dev->flush_work);
	/* Its slots can be had again. */
	if (well)
		mod_delayed_work(dev->pool->end_wq, &dev->pool->space_work, 0);
}

static void flush_endio(struct bio *bio)
{
	struct dm_tier_device *dev = bio->bi_private;
	int error = blk_status_to_errno(bio->bi_status);

	bio_uninit(bio);
	if (error) {
		dev->flush_status = error;
		queue_work(dev->pool->dev_wq, &dev->flush_failed_work);
		return;
	}
	flush_ended(dev, 0);
	dm_tier_device_job_put(dev);
}

/* Volumes know of it before the next flush, whoever wants that, can succeed. */
static void flush_failed(struct work_struct *work)
{
	struct dm_tier_device *dev =
		container_of(work, struct dm_tier_device, flush_failed_work);

	/* Writes that are in the device's cache, but have not ended yet. */
	dm_tier_io_flush_failed(dev, dm_tier_device_drain(dev, HZ) != 0);
	flush_ended(dev, dev->flush_status);
	dm_tier_device_job_put(dev);
}

/* flush_running is ours until flush_ended(). */
static void send_flush(struct work_struct *work)
{
	struct dm_tier_device *dev = container_of(work, struct dm_tier_device, flush_work);
	struct block_device *bdev;

	if (!dm_tier_device_job_get(dev, &bdev)) {
		dm_tier_io_flush_failed(dev, false);
		flush_ended(dev, -EIO);
		return;
	}
	bio_init(&dev->flush_bio, bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	dev->flush_bio.bi_private = dev;
	dev->flush_bio.bi_end_io = flush_endio;
	submit_bio(&dev->flush_bio);
}

u64 dm_tier_device_flush_request(struct dm_tier_device *dev)
{
	unsigned long flags;
	bool start;
	u64 ticket;

	spin_lock_irqsave(&dev->flush_lock, flags);
	ticket = dev->flush_started + 1;
	dev->flush_wanted = max(dev->flush_wanted, ticket);
	start = !dev->flush_running;
	if (start) {
		dev->flush_running = true;
		dev->flush_started = ticket;
		dev->flush_since = jiffies;
	}
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	if (start)
		queue_work(dev->pool->dev_wq, &dev->flush_work);
	return ticket;
}

static bool flush_over(struct dm_tier_device *dev, u64 ticket, int *ret_error)
{
	unsigned long flags;
	bool over;

	spin_lock_irqsave(&dev->flush_lock, flags);
	over = dev->flush_done >= ticket;
	/* A later success says nothing of this one; a later failure may be taken for its own. */
	*ret_error = dev->flush_bad >= ticket ? dev->flush_error : 0;
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	return over;
}

int dm_tier_device_flush_wait(struct dm_tier_device *dev, u64 ticket, long timeout)
{
	int error;

	/* Of a device that was given up nothing comes any more. */
	if (!wait_event_timeout(dev->wait, flush_over(dev, ticket, &error) ||
				!dm_tier_device_is_member(dev), timeout))
		return -ETIMEDOUT;
	return flush_over(dev, ticket, &error) ? error : -EIO;
}

u64 dm_tier_device_flush_bad(struct dm_tier_device *dev)
{
	unsigned long flags;
	u64 bad;

	spin_lock_irqsave(&dev->flush_lock, flags);
	bad = dev->flush_bad;
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	return bad;
}

bool dm_tier_device_flush_late(struct dm_tier_device *dev, unsigned long limit)
{
	unsigned long flags;
	bool late;

	spin_lock_irqsave(&dev->flush_lock, flags);
	late = dev->flush_running && time_after(jiffies, dev->flush_since + limit);
	if (late)
		dev->failed = true;
	spin_unlock_irqrestore(&dev->flush_lock, flags);
	return late;
}

int dm_tier_device_detach(struct dm_tier_device *dev, long timeout)
{
	struct block_device *bdev = dev->bdev;

	WRITE_ONCE(dev->bdev, NULL);
	/* Pairs with the barrier in dm_tier_device_job_get(). */
	smp_mb();
	/* The fast path reads bdev inside its section, after its get. */
	if (!dm_tier_device_drain(dev, timeout) &&
	    wait_event_timeout(dev->wait, !atomic_read(&dev->jobs), timeout))
		return 0;
	WRITE_ONCE(dev->bdev, bdev);
	return -EBUSY;
}

/* Slots ----------------------------------------------------------------------*/

int dm_tier_device_take_slot(struct dm_tier_device *dev, u8 state, u32 *ret_slot)
{
	u32 slot;

	if (!dev->free)
		return -ENOSPC;
	slot = find_next_bit(dev->free_map, dev->slots, dev->hint);
	if (slot >= dev->slots)
		slot = find_first_bit(dev->free_map, dev->slots);
	if (WARN_ON_ONCE(slot >= dev->slots))
		return -ENOSPC;
	__clear_bit(slot, dev->free_map);
	dev->hint = slot + 1;
	dev->free--;
	dev->slot[slot].state = state;
	if (state == SLOT_RESERVED)
		dev->reserved++;
	else
		dev->used++;
	*ret_slot = slot;
	return 0;
}

static void uncount_slot(struct dm_tier_device *dev, u32 slot)
{
	switch ((enum dm_tier_slot_state)dev->slot[slot].state) {
	case SLOT_FREE:
		break;
	case SLOT_OWNED:
	case SLOT_FREEING:
		dev->used--;
		break;
	case SLOT_RESERVED:
		dev->reserved--;
		break;
	case SLOT_PARKED:
		dev->parked--;
		break;
	}
}

void dm_tier_device_free_slot(struct dm_tier_device *dev, u32 slot)
{
	struct dm_tier_slot *s = &dev->slot[slot];

	uncount_slot(dev, slot);
	s->state = SLOT_FREE;
	if (dev->state == DM_TIER_DEV_DRAINING && dm_tier_device_empty(dev))
		dm_tier_pool_event(dev->pool);
	if (s->quarantine || test_bit(slot, dev->free_map))
		return;
	__set_bit(slot, dev->free_map);
	dev->free++;
}

void dm_tier_device_quarantine_slot(struct dm_tier_device *dev, u32 slot)
{
	struct dm_tier_slot *s = &dev->slot[slot];

	if (s->quarantine)
		return;
	s->quarantine = true;
	dev->quarantined++;
	if (__test_and_clear_bit(slot, dev->free_map))
		dev->free--;
}

bool dm_tier_device_empty(const struct dm_tier_device *dev)
{
	return !dev->used && !dev->reserved && !dev->parked;
}

int dm_tier_device_grow(struct dm_tier_device *dev, u32 slots,
			struct dm_tier_change **spare)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_slot *slot = kvcalloc(slots, sizeof(*slot), GFP_KERNEL);
	unsigned long *map = kvcalloc(BITS_TO_LONGS(slots), sizeof(*map), GFP_KERNEL);
	u32 old = dev->slots;

	if (!slot || !map) {
		kvfree(slot);
		kvfree(map);
		return -ENOMEM;
	}
	spin_lock(&pool->lock);
	if (spare)
		__dm_tier_meta_touch_device(dev, spare);
	if (old) {
		memcpy(slot, dev->slot, old * sizeof(*slot));
		memcpy(map, dev->free_map, BITS_TO_LONGS(old) * sizeof(*map));
	}
	bitmap_set(map, old, slots - old);
	dev->free += slots - old;
	swap(slot, dev->slot);
	swap(map, dev->free_map);
	dev->slots = slots;
	spin_unlock(&pool->lock);
	kvfree(slot);
	kvfree(map);
	return 0;
}

void dm_tier_device_reset(struct dm_tier_device *dev)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_slot *slot;
	unsigned long *map;

	spin_lock(&pool->lock);
	slot = dev->slot;
	map = dev->free_map;
	dev->slot = NULL;
	dev->free_map = NULL;
	dev->failed = false;
	dev->left = false;
	atomic64_set(&dev->errors, 0);
	dev->slots = 0;
	dev->free = 0;
	dev->quarantined = 0;
	dev->hint = 0;
	spin_unlock(&pool->lock);
	kvfree(slot);
	kvfree(map);
}
