// SPDX-License-Identifier: GPL-2.0-only
/*
 * One move from its beginning to its end: a work item that runs
 * dm_tier_move_work() from top to bottom and may sleep.  dm-tier-migrate.h is the
 * specification.
 */
#include "dm-tier-copy.h"
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

#define SETTLE_MS	10000	/* to wait for slow devices before the freeze, in slices */
#define SLICE_MS	100

/* The end --------------------------------------------------------------------*/

/* Writes the ring; pool->lock held. */
void __dm_tier_move_finished(struct dm_tier_move *m, enum dm_tier_move_reason reason)
{
	struct dm_tier_pool *pool = m->pool;
	struct dm_tier_finished *f = &pool->finished[pool->next_finished % FINISHED_RING];

	*f = (struct dm_tier_finished){
		.seq = pool->next_finished++,
		.id = m->id, .volume = m->volume_id, .extent = m->extent,
		.from = m->from ? (int)m->from->idx : -1,
		.to = m->to ? (int)m->to->idx : -1,
		.reason = reason, .bytes = m->bytes, .passes = m->passes,
		.freeze_us = m->freeze_us,
	};
	if (reason == MOVE_OK) {
		pool->moves_done++;
		pool->bytes_moved += m->bytes;
	} else if (reason == MOVE_CANCELLED || reason == MOVE_SUSPENDED) {
		pool->moves_cancelled++;
	} else {
		pool->moves_failed++;
	}
}

/*
 * No write is tracked for it any more, and others may start: what is left to do
 * may have to wait for a device that hangs.  pool->lock held.
 */
static void forget_active(struct dm_tier_move *m)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_MOVES; i++)
		if (rcu_access_pointer(m->pool->active[i]) == m)
			RCU_INIT_POINTER(m->pool->active[i], NULL);
	m->pool->nr_active--;
	m->pool->nr_retiring++;
	__dm_tier_migrate_start(m->pool);
}

void dm_tier_move_free(struct dm_tier_move *m)
{
	dm_tier_meta_change_free(m->pool, m->spare);
	kfree_rcu(m, rcu);
}

/* An active move leaves the stage; whatever it held is released already. */
static void leave(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;

	spin_lock(&pool->lock);
	list_del(&m->list);
	pool->nr_retiring--;
	__dm_tier_migrate_start(pool);
	spin_unlock(&pool->lock);
	dm_tier_move_free(m);
	wake_up_all(&pool->move_wait);
}

/*
 * Gives a move up: the source stays.  The extent is released at once, even if
 * copies are still under way; the destination slot only after these.
 */
static void give_up(struct dm_tier_move *m, enum dm_tier_move_reason reason)
{
	struct dm_tier_pool *pool = m->pool;
	struct dm_tier_extent *x;
	LIST_HEAD(ready);

	spin_lock(&pool->lock);
	if (m->frozen_at && !m->freeze_us)
		m->freeze_us = ktime_us_delta(ktime_get(), m->frozen_at);
	x = dm_tier_volume_extent(m->volume, m->extent);
	if (x && m->from)
		dm_tier_entry_update(x, ENTRY_FROZEN | ENTRY_MIGRATING | ENTRY_FORCED, 0);
	forget_active(m);
	list_splice_tail_init(&m->parked, &ready);
	if (m->to) {
		m->to->slot[m->to_slot].state = SLOT_PARKED;
		m->to->reserved--;
		m->to->parked++;
	}
	m->state = MOVE_RETIRE;
	m->volume = NULL;
	__dm_tier_move_finished(m, reason);
	spin_unlock(&pool->lock);
	dm_tier_io_requeue(pool, &ready);
	wake_up_all(&pool->move_wait);
	dm_tier_pool_event(pool);

	wait_event(pool->move_wait, !atomic_read(&m->jobs));
	if (m->to) {
		spin_lock(&pool->lock);
		if (m->bad_slot) {
			__dm_tier_meta_touch_slot(pool, m->to, m->to_slot, 0, &m->spare);
			dm_tier_device_quarantine_slot(m->to, m->to_slot);
		}
		dm_tier_device_free_slot(m->to, m->to_slot);
		spin_unlock(&pool->lock);
		dm_tier_io_kick_space(pool);
	}
	leave(m);
}

/* Steps ----------------------------------------------------------------------*/

/* Chooses and reserves the destination; pool->lock held. */
static enum dm_tier_move_reason reserve(struct dm_tier_move *m, u64 entry)
{
	struct dm_tier_pool *pool = m->pool;
	int idx = m->to_device;
	struct dm_tier_device *to;

	/* Discarded and written anew while it was queued: the old extent is gone. */
	if (dm_tier_migrate_is_there(pool, entry, m->to_tier, idx))
		return MOVE_GONE;
	if (idx < 0)
		idx = __dm_tier_io_place_move(pool, m->to_tier);
	if (idx < 0)
		return MOVE_NO_SPACE;
	to = pool->device[idx];
	if (to->state != DM_TIER_DEV_ONLINE ||
	    READ_ONCE(to->failed) ||
	    dm_tier_device_take_slot(to, SLOT_RESERVED, &m->to_slot))
		return MOVE_NO_SPACE;
	m->to = to;
	m->flush_bad = dm_tier_device_flush_bad(to);
	dm_tier_pool_check_low_water(pool, to->tier);
	return MOVE_OK;
}

/* Step 1 and the beginning of 2: from here on writes are tracked. */
static enum dm_tier_move_reason begin(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	enum dm_tier_move_reason r = MOVE_GONE;
	struct dm_tier_extent *x;
	u32 i, region;

	spin_lock(&pool->lock);
	x = dm_tier_volume_extent(m->volume, m->extent);
	if (x && (x->entry & ENTRY_ALLOCATED))
		r = pool->mode == MODE_RW ? reserve(m, x->entry) : MOVE_META_ERROR;
	if (r == MOVE_OK) {
		for (i = 0; rcu_access_pointer(pool->active[i]); i++)
			;
		m->from = pool->device[entry_device(x->entry)];
		m->from_slot = entry_slot(x->entry);
		m->copied_at = jiffies;
		rcu_assign_pointer(pool->active[i], m);
		/* The map is clear, and found, before the flag is seen. */
		smp_wmb();
		dm_tier_entry_update(x, 0, ENTRY_MIGRATING | (m->force ? ENTRY_FORCED : 0));
	}
	spin_unlock(&pool->lock);
	if (r != MOVE_OK)
		return r;

	/* Ends of writes that did not see the flag are over. */
	synchronize_rcu_expedited();
	spin_lock(&pool->lock);
	for (region = 0; region < pool->regions; region++)
		if (dm_tier_regions_valid(x, x->entry, region, region))
			set_bit(region, m->dirty);
	spin_unlock(&pool->lock);
	return MOVE_OK;
}

static bool extent_idle(struct dm_tier_move *m)
{
	bool busy;

	spin_lock(&m->pool->lock);
	busy = __dm_tier_io_busy(m->volume, m->extent);
	spin_unlock(&m->pool->lock);
	return !busy;
}

static long left_of(unsigned long deadline)
{
	return max_t(long, deadline - jiffies, 1);
}

static enum dm_tier_move_reason flush_to(struct dm_tier_move *m, long timeout)
{
	int r = dm_tier_device_flush_wait(m->to, dm_tier_device_flush_request(m->to), timeout);

	if (!r)
		return MOVE_OK;
	return r == -ETIMEDOUT ? MOVE_DEADLINE : MOVE_DST_WRITE_ERROR;
}

/*
 * Before the freeze nobody is held, so a slow device may take its time, and a
 * request to stop is heard.
 */
static enum dm_tier_move_reason settle(struct dm_tier_move *m)
{
	u64 ticket = dm_tier_device_flush_request(m->to);
	u32 slices = SETTLE_MS / SLICE_MS;
	int idle = -ETIMEDOUT, flushed = -ETIMEDOUT;

	while (slices-- && !dm_tier_move_stopped(m)) {
		if (idle)
			idle = dm_tier_device_idle(m->from, msecs_to_jiffies(SLICE_MS));
		if (flushed)
			flushed = dm_tier_device_flush_wait(m->to, ticket,
							    msecs_to_jiffies(SLICE_MS));
		if (flushed && flushed != -ETIMEDOUT)
			return MOVE_DST_WRITE_ERROR;
		if (!idle && !flushed)
			return MOVE_OK;
		dm_tier_copy_check_force(m);
	}
	return dm_tier_move_stopped(m) ? MOVE_CANCELLED : MOVE_DEADLINE;
}

/* Step 3, up to where all is copied and stable on the destination. */
static enum dm_tier_move_reason freeze(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	unsigned long deadline;
	enum dm_tier_move_reason r;

	r = settle(m);
	if (r != MOVE_OK)
		return r;

	spin_lock(&pool->lock);
	m->state = MOVE_FREEZE;
	m->frozen_at = ktime_get();
	dm_tier_entry_update(dm_tier_volume_extent(m->volume, m->extent), 0, ENTRY_FROZEN);
	spin_unlock(&pool->lock);
	deadline = jiffies + msecs_to_jiffies(MOVE_DEADLINE_MS);
	m->deadline = deadline;

	if (dm_tier_device_drain(m->from, left_of(deadline)) ||
	    !wait_event_timeout(pool->ops_wait, extent_idle(m), left_of(deadline)))
		return MOVE_DEADLINE;
	if (!dm_tier_copy_pass(m, deadline))
		return dm_tier_move_stopped(m) ? MOVE_CANCELLED : MOVE_DEADLINE;
	r = flush_to(m, left_of(deadline));
	if (r != MOVE_OK)
		return r;
	/* That one succeeded; an earlier one, for whomever, may have lost copies. */
	if (dm_tier_device_flush_bad(m->to) != m->flush_bad)
		return MOVE_DST_WRITE_ERROR;
	return time_before(jiffies, deadline) ? MOVE_OK : MOVE_DEADLINE;
}

/* What the commit will say; pool->lock held, the extent is frozen. */
static void make_records(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	struct dm_tier_extent *x = dm_tier_volume_extent(m->volume, m->extent);
	struct dm_tier_record *to = &m->to_record, *from = &m->from_record;

	memset(to, 0, sizeof(*to));
	to->type = DM_TIER_REC_SLOT;
	to->slot.device = m->to->idx;
	to->slot.slot = m->to_slot;
	to->slot.generation = m->volume->generation;
	to->slot.extent = m->extent;
	to->slot.full = x->entry & ENTRY_FULL;
	if (!to->slot.full)
		bitmap_to_arr64(to->slot.valid,
				rcu_dereference_protected(x->valid,
							  lockdep_is_held(&pool->lock))->bits,
				pool->regions);
	memset(from, 0, sizeof(*from));
	from->type = DM_TIER_REC_SLOT;
	from->slot.device = m->from->idx;
	from->slot.slot = m->from_slot;
	from->slot.quarantine = m->from->slot[m->from_slot].quarantine;
}

/*
 * Has the commit spoken?  Until it has taken the move this can still be
 * withdrawn: when the pool cannot commit, or the deadline is over.
 */
static bool commit_over(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	bool over;

	spin_lock(&pool->lock);
	if (m->commit == COMMIT_WAITING &&
	    (pool->mode != MODE_RW || time_after_eq(jiffies, m->deadline)))
		__dm_tier_meta_withdraw_move(pool, m);
	over = m->commit != COMMIT_WAITING;
	spin_unlock(&pool->lock);
	return over;
}

/* Step 4.  MOVE_OK: published. */
static enum dm_tier_move_reason commit(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;

	spin_lock(&pool->lock);
	m->freeze_us = ktime_us_delta(ktime_get(), m->frozen_at);
	m->state = MOVE_COMMIT;
	make_records(m);
	__dm_tier_meta_add_move(pool, m);
	spin_unlock(&pool->lock);
	dm_tier_meta_kick(pool);

	/* One in doubt is repeated until it succeeds, and so waits this. */
	while (!wait_event_timeout(pool->move_wait, commit_over(m), HZ / 10))
		;
	if (m->commit == COMMIT_DURABLE)
		return MOVE_OK;
	return READ_ONCE(pool->mode) == MODE_RW ? MOVE_DEADLINE : MOVE_META_ERROR;
}

void __dm_tier_migrate_committed(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	struct dm_tier_volume *v = m->volume;
	struct dm_tier_extent *x = dm_tier_volume_extent(v, m->extent);
	struct dm_tier_slot *s = &m->to->slot[m->to_slot];

	s->state = SLOT_OWNED;
	s->volume = v->id;
	s->extent = m->extent;
	m->to->reserved--;
	m->to->used++;
	v->on_tier[m->from->tier]--;
	v->on_tier[m->to->tier]++;
	m->from->slot[m->from_slot].state = SLOT_FREEING;
	/* Slots whose change is still open (a lost flush) have new durable images too. */
	if (s->change)
		s->change->committed = m->to_record;
	if (m->from->slot[m->from_slot].change)
		m->from->slot[m->from_slot].change->committed = m->from_record;
	/* All changes of a frozen extent are in this commit or an earlier one. */
	dm_tier_entry_update(x, ~ENTRY_FULL, entry_make(m->to->idx, m->to_slot));
	forget_active(m);
	dm_tier_io_requeue(pool, &m->parked);
	m->commit = COMMIT_DURABLE;
	m->state = MOVE_RETIRE;
	m->volume = NULL;
	__dm_tier_move_finished(m, MOVE_OK);
	wake_up_all(&pool->move_wait);
}

void __dm_tier_migrate_dropped(struct dm_tier_move *m)
{
	m->commit = COMMIT_DROPPED;
	wake_up_all(&m->pool->move_wait);
}

/* Step 5. */
static void retire(struct dm_tier_move *m)
{
	struct dm_tier_pool *pool = m->pool;
	struct block_device *bdev;

	dm_tier_pool_event(pool);
	dm_tier_device_drain(m->from, MAX_SCHEDULE_TIMEOUT);
	if (dm_tier_device_job_get(m->from, &bdev)) {
		/* Only a hint: an error changes nothing for anyone. */
		if (bdev_max_discard_sectors(bdev))
			blkdev_issue_discard(bdev, dm_tier_slot_sector(pool, m->from_slot),
					     1ULL << pool->extent_shift, GFP_NOIO);
		dm_tier_device_job_put(m->from);
	}
	spin_lock(&pool->lock);
	dm_tier_device_free_slot(m->from, m->from_slot);
	spin_unlock(&pool->lock);
	dm_tier_io_kick_space(pool);
	leave(m);
}

/* The reason that is reported when a step ended with @r. */
static enum dm_tier_move_reason why(struct dm_tier_move *m, enum dm_tier_move_reason r)
{
	if (atomic_read(&m->read_errors))
		return MOVE_SRC_READ_ERROR;
	if (atomic_read(&m->write_errors))
		return MOVE_DST_WRITE_ERROR;
	if (READ_ONCE(m->stop) != MOVE_OK)
		return m->stop;
	return r;
}

void dm_tier_move_work(struct work_struct *work)
{
	struct dm_tier_move *m = container_of(work, struct dm_tier_move, work);
	enum dm_tier_move_reason r = m->stop;

	m->spare = dm_tier_meta_change_alloc(m->pool, GFP_NOIO);
	if (r == MOVE_OK)
		r = begin(m);
	if (r == MOVE_OK)
		r = dm_tier_copy_pre(m);
	if (r == MOVE_OK)
		r = freeze(m);
	if (r == MOVE_OK)
		r = commit(m);
	if (r == MOVE_OK)
		retire(m);
	else
		give_up(m, why(m, r));
}
