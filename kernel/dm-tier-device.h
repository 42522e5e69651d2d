/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One data device: who is using it, and making it stable.
 *
 * In flight.  Every user bio that goes to a device is counted on it, by epoch.
 * dm_tier_device_get() and the re-read of the entry in one preempt-disabled
 * section are the protocol: whoever changes an entry (freezes, unmaps) and
 * then drains the device knows that no bio which saw the old entry is left.
 *
 *   entry = READ_ONCE(*p); dm_tier_device_get(); if (READ_ONCE(*p) != entry)
 *   { put; again }
 *
 * The drain flips the epoch with a release after the entry was changed, so a
 * section that counts itself in the new epoch sees the change in its re-read;
 * one that counts itself in the old epoch has done so when the RCU grace
 * period ends, and no get in the old epoch can follow.  Then its sums of gets
 * and puts can only become equal, never falsely so.
 *
 * Jobs.  I/O of the module's own (copies, zeroing, discards, flushes) holds a
 * job, which unbinding waits for.
 */
#ifndef DM_TIER_DEVICE_H
#define DM_TIER_DEVICE_H

#include "dm-tier-core.h"

struct dm_tier_device *dm_tier_device_alloc(struct dm_tier_pool *pool, u32 idx);
void dm_tier_device_free(struct dm_tier_device *dev);

/*
 * Widened windows for the stress test of the protocol above, and the same with
 * its key step left out, which must then be found out (tests/vm/t_drain.sh).
 */
#ifdef DM_TIER_STRESS_DRAIN
#include <linux/delay.h>
static inline void dm_tier_stress_window(unsigned long us)
{
	udelay(us);
}
#else
static inline void dm_tier_stress_window(unsigned long us) { }
#endif

#ifdef DM_TIER_STRESS_NO_REREAD
#define DM_TIER_REREAD(p, entry) (entry)
#else
/* After the valid bits were read: whoever sets one has changed the entry before. */
#define DM_TIER_REREAD(p, entry) ({ smp_rmb(); READ_ONCE(*(p)); })
#endif

/* Preemption is off.  Returns the epoch to put. */
static inline u32 dm_tier_device_get(struct dm_tier_device *dev)
{
	u32 epoch;

	/* The entry was read; a freeze and its flip of the epoch may come here ... */
	dm_tier_stress_window(200);
	/* Pairs with the release in a drain: who counts in the new epoch sees its flag. */
	epoch = smp_load_acquire(&dev->epoch);
	/* ... or here. */
	dm_tier_stress_window(20);
	this_cpu_inc(dev->inflight->get[epoch]);
	return epoch;
}

/* Any context. */
static inline void dm_tier_device_put(struct dm_tier_device *dev, u32 epoch)
{
	this_cpu_inc(dev->inflight->put[epoch]);
}

/*
 * Waits until every bio that was counted before the call has ended.  May
 * sleep; 0, or -ETIMEDOUT after @timeout jiffies: the drain then goes on in
 * the background, and dm_tier_device_idle() waits for it.  Calls that come
 * while a drain runs share the next one.
 */
int dm_tier_device_drain(struct dm_tier_device *dev, long timeout);

/* Waits until no drain runs: 0 or -ETIMEDOUT.  Before freezing anything. */
int dm_tier_device_idle(struct dm_tier_device *dev, long timeout);

/* I/O and sectors since activation; approximate while I/O runs. */
void dm_tier_device_stats(struct dm_tier_device *dev, u64 *ret_ios, u64 *ret_sectors);

/* A job: false if the device has no bdev (then nothing is held). */
bool dm_tier_device_job_get(struct dm_tier_device *dev, struct block_device **ret_bdev);
void dm_tier_device_job_put(struct dm_tier_device *dev);

/*
 * Flush.  request() never blocks and returns a ticket; wait() returns 0 once a
 * flush that began after the request has succeeded, its error if it failed, or
 * -ETIMEDOUT.  Requests that come while a flush runs share the next one.
 */
u64 dm_tier_device_flush_request(struct dm_tier_device *dev);
int dm_tier_device_flush_wait(struct dm_tier_device *dev, u64 ticket, long timeout);

/* Another value than before: a flush has failed meanwhile, and what was written since may be lost. */
u64 dm_tier_device_flush_bad(struct dm_tier_device *dev);

/* Has a flush run for longer?  Then the device has failed. */
bool dm_tier_device_flush_late(struct dm_tier_device *dev, unsigned long limit);

/*
 * Takes the bdev away and waits until nothing of ours or of the users' is on
 * its way to it: 0, or after @timeout jiffies -EBUSY, with the bdev back.
 */
int dm_tier_device_detach(struct dm_tier_device *dev, long timeout);

/* Slots, all under pool->lock. */
int dm_tier_device_take_slot(struct dm_tier_device *dev, u8 state, u32 *ret_slot);
void dm_tier_device_free_slot(struct dm_tier_device *dev, u32 slot);	/* any state -> free */
void dm_tier_device_quarantine_slot(struct dm_tier_device *dev, u32 slot);
/* Has a record, and was not given up. */
static inline bool dm_tier_device_is_member(const struct dm_tier_device *dev)
{
	return READ_ONCE(dev->present) && READ_ONCE(dev->state) != DM_TIER_DEV_LOST;
}

/* No owner, and no slot reserved or parked: it can be forgotten. */
bool dm_tier_device_empty(const struct dm_tier_device *dev);

/*
 * Grows the device to @slots slots, admin held: 0 or -ENOMEM.  With @spare the
 * record is touched in the same hold of the lock.
 */
int dm_tier_device_grow(struct dm_tier_device *dev, u32 slots,
			struct dm_tier_change **spare);
/* Back to no slots; none is used and none has a change.  admin held. */
void dm_tier_device_reset(struct dm_tier_device *dev);

#endif /* DM_TIER_DEVICE_H */
