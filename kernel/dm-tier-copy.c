// SPDX-License-Identifier: GPL-2.0-only
/* Copying an extent's regions; dm-tier-copy.h is the specification. */
#include <linux/dm-kcopyd.h>
#include "dm-tier-copy.h"
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

#define COPY_STUCK	(30 * HZ)	/* no copy has returned for so long: a device hangs */
#define COPY_DEPTH		8	/* region copies under way, per move */
#define FEW_REGIONS		4	/* freeze at so few left ... */
#define FREEZE_NS		(100 * NSEC_PER_MSEC)	/* ... or if they take no longer */
#define IDLE_PASSES		8	/* passes that did not shrink what is left */
#define BURST_NS		(NSEC_PER_SEC / 10)	/* of the token bucket */

bool dm_tier_move_stopped(struct dm_tier_move *m)
{
	return READ_ONCE(m->stop) != MOVE_OK || atomic_read(&m->read_errors) ||
		atomic_read(&m->write_errors);
}

/* Two copies admit one write to a clean region. */
static void admit_writes(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	if (++m->copied % 2 == 0) {
		m->admit++;
		list_splice_tail_init(&m->parked, &ready);
	}
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

static void copied(int read_error, unsigned long write_error, void *context)
{
	struct dm_tier_move *m = context;
	struct dm_tier_pool *pool = m->pool;

	WRITE_ONCE(m->copied_at, jiffies);
	if (read_error) {
		dm_tier_pool_device_error(m->from);
		atomic_inc(&m->read_errors);
	} else if (write_error) {
		dm_tier_pool_device_error(m->to);
		m->bad_slot = true;
		atomic_inc(&m->write_errors);
	}
	if (READ_ONCE(m->force) && !READ_ONCE(m->frozen_at))
		admit_writes(m);
	dm_tier_device_job_put(m->from);
	dm_tier_device_job_put(m->to);
	/* The waiter may free the move as soon as it sees 0. */
	atomic_dec(&m->jobs);
	wake_up_all(&pool->move_wait);
}

/* Starts the copy of one region; false: a device is gone (counted as an error). */
static bool copy_region(struct dm_tier_move *m, u32 region)
{
	struct dm_tier_pool *pool = m->pool;
	sector_t offset = (sector_t)region << pool->region_shift;
	struct dm_io_region from = {
		.sector = dm_tier_slot_sector(pool, m->from_slot) + offset,
		.count = 1ULL << pool->region_shift,
	};
	struct dm_io_region to = {
		.sector = dm_tier_slot_sector(pool, m->to_slot) + offset,
		.count = from.count,
	};

	if (!dm_tier_device_job_get(m->from, &from.bdev)) {
		atomic_inc(&m->read_errors);
		return false;
	}
	if (!dm_tier_device_job_get(m->to, &to.bdev)) {
		dm_tier_device_job_put(m->from);
		atomic_inc(&m->write_errors);
		return false;
	}
	if (!atomic_fetch_inc(&m->jobs))
		WRITE_ONCE(m->copied_at, jiffies);
	m->bytes += from.count << SECTOR_SHIFT;
	dm_kcopyd_copy(pool->kcopyd, &from, 1, &to, 0, copied, m);
	return true;
}

/* Takes tokens for one region; returns 0, or how long to wait before asking again. */
static u64 take_tokens(struct dm_tier_pool *pool)
{
	u64 now = ktime_get_ns(), wait = 0;

	spin_lock(&pool->lock);
	if (pool->rate) {
		u64 start = max(pool->tokens_ns, now > BURST_NS ? now - BURST_NS : 0);

		if (start > now)
			wait = start - now;
		else
			pool->tokens_ns = start +
				div64_u64((u64)NSEC_PER_SEC << (pool->region_shift + SECTOR_SHIFT),
					  pool->rate);
	}
	spin_unlock(&pool->lock);
	return wait;
}

/*
 * A forced move must not hold writes when nothing is copied, for want of tokens
 * or because a device hangs: after a second they go on as if it were not forced.
 */
void dm_tier_copy_check_force(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	LIST_HEAD(ready);

	if (!READ_ONCE(m->force) || time_before(jiffies, READ_ONCE(m->copied_at) + HZ))
		return;
	spin_lock(&pool->lock);
	WRITE_ONCE(m->force, false);
	dm_tier_entry_update(dm_tier_volume_extent(m->volume, m->extent), ENTRY_FORCED, 0);
	list_splice_tail_init(&m->parked, &ready);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
}

static void wait_tokens(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	u64 wait;

	while (!dm_tier_move_stopped(m) && (wait = take_tokens(pool))) {
		wait_event_timeout(pool->move_wait, dm_tier_move_stopped(m),
				   clamp_t(u64, nsecs_to_jiffies(wait), 1, HZ));
		dm_tier_copy_check_force(m);
	}
}

/* Waits until at most @left copies are under way, or it is stopped or late. */
static bool wait_jobs(struct dm_tier_move *m, int left, unsigned long deadline)
{
	struct dm_tier_pool *pool = m->pool;

	for (;;) {
		long timeout = deadline ? (long)(deadline - jiffies) : HZ;

		if (deadline && timeout <= 0)
			return atomic_read(&m->jobs) <= left;
		if (wait_event_timeout(pool->move_wait,
				       atomic_read(&m->jobs) <= left ||
				       dm_tier_move_stopped(m), timeout))
			return atomic_read(&m->jobs) <= left;
		if (deadline)
			continue;
		dm_tier_copy_check_force(m);
		if (time_after(jiffies, READ_ONCE(m->copied_at) + COPY_STUCK)) {
			WRITE_ONCE(m->stop, m->stop ?: MOVE_DEADLINE);
			/* Who hangs is late with its flush, too, and is set aside. */
			dm_tier_device_flush_request(m->from);
			dm_tier_device_flush_request(m->to);
			return false;
		}
	}
}

/*
 * Copies what is dirty now.  @deadline 0: in the pre-copy, with tokens.
 * Returns false if the move must end (see dm_tier_move_stopped()) or is late.
 */
bool dm_tier_copy_pass(struct dm_tier_move *m, unsigned long deadline)
{
	u32 region, count = 0;
	u64 began = ktime_get_ns();

	m->passes++;
	for_each_set_bit(region, m->dirty, m->pool->regions) {
		if (!deadline)
			wait_tokens(m);
		if (dm_tier_move_stopped(m) || !wait_jobs(m, COPY_DEPTH - 1, deadline))
			return false;
		clear_bit(region, m->dirty);
		/* A write that ends from here on makes it dirty again. */
		smp_mb__after_atomic();
		if (!copy_region(m, region))
			return false;
		count++;
	}
	/* A region's copy has returned before its next one starts. */
	if (!wait_jobs(m, 0, deadline) || dm_tier_move_stopped(m))
		return false;
	if (count)
		m->region_ns = div_u64(ktime_get_ns() - began, count);
	return true;
}

/* Pre-copy: passes until few regions are left.  MOVE_OK: freeze now. */
enum dm_tier_move_reason dm_tier_copy_pre(struct dm_tier_move *m)
{
	u32 left, best = m->pool->regions + 1, idle = 0;

	for (;;) {
		left = bitmap_weight(m->dirty, m->pool->regions);
		WRITE_ONCE(m->regions_left, left);
		if (m->passes && (left <= FEW_REGIONS || left * m->region_ns <= FREEZE_NS))
			return MOVE_OK;
		if (left < best) {
			best = left;
			idle = 0;
		} else if (++idle >= IDLE_PASSES) {
			return MOVE_NOT_CONVERGING;
		}
		if (!dm_tier_copy_pass(m, 0))
			return MOVE_CANCELLED;
	}
}
