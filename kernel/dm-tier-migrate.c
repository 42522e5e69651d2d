// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves; the header is the specification.  Each active move is one work item
 * that runs move_work() from top to bottom and may sleep.
 */
#include <linux/dm-kcopyd.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

#define COPY_DEPTH		8	/* region copies under way, per move */
#define FEW_REGIONS		4	/* freeze at so few left ... */
#define FREEZE_NS		(100 * NSEC_PER_MSEC)	/* ... or if they take no longer */
#define IDLE_PASSES		8	/* passes that did not shrink what is left */
#define SETTLE_MS	10000	/* to wait for slow devices before the freeze, in slices */
#define SLICE_MS	100
#define BURST_NS		(NSEC_PER_SEC / 10)	/* of the token bucket */

static void move_work(struct work_struct *work);
static void start_moves(struct dm_tier_pool *pool);

int dm_tier_migrate_init(struct dm_tier_pool *pool)
{
	INIT_LIST_HEAD(&pool->moves);
	init_waitqueue_head(&pool->move_wait);
	pool->moves_at_once = 4;
	pool->next_move_id = 1;
	pool->next_finished = 1;
	pool->finished = kvcalloc(FINISHED_RING, sizeof(*pool->finished), GFP_KERNEL);
	pool->move_wq = alloc_workqueue("dm-tier-move", WQ_UNBOUND | WQ_MEM_RECLAIM,
					4 * DM_TIER_MAX_MOVES);
	if (!pool->finished || !pool->move_wq)
		return -ENOMEM;
	pool->kcopyd = dm_kcopyd_client_create(NULL);
	if (IS_ERR(pool->kcopyd)) {
		int r = PTR_ERR(pool->kcopyd);

		pool->kcopyd = NULL;
		return r;
	}
	return 0;
}

void dm_tier_migrate_exit(struct dm_tier_pool *pool)
{
	if (pool->move_wq)
		destroy_workqueue(pool->move_wq);
	if (pool->kcopyd)
		dm_kcopyd_client_destroy(pool->kcopyd);
	kvfree(pool->finished);
}

const char *dm_tier_move_state_word(enum dm_tier_move_state state)
{
	static const char * const words[] = {
		[MOVE_QUEUED] = "queued", [MOVE_COPY] = "copy", [MOVE_FREEZE] = "freeze",
		[MOVE_COMMIT] = "commit", [MOVE_RETIRE] = "retire",
	};

	return words[state];
}

const char *dm_tier_move_reason_word(enum dm_tier_move_reason reason)
{
	static const char * const words[] = {
#define X(name, word) [MOVE_##name] = word,
		DM_TIER_MOVE_REASONS(X)
#undef X
	};

	return words[reason];
}

struct dm_tier_move *dm_tier_migrate_find(struct dm_tier_pool *pool,
					  struct dm_tier_volume *v, u32 extent)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_MOVES; i++) {
		struct dm_tier_move *m = rcu_dereference_check(pool->active[i],
							       lockdep_is_held(&pool->lock));

		if (m && m->volume == v && m->extent == extent)
			return m;
	}
	return NULL;
}

static bool stopped(struct dm_tier_move *m)
{
	return READ_ONCE(m->stop) != MOVE_OK || atomic_read(&m->read_errors) ||
		atomic_read(&m->write_errors);
}

/* The end --------------------------------------------------------------------*/

/* Writes the ring; pool->lock held. */
static void finished(struct dm_tier_move *m, enum dm_tier_move_reason reason)
{
	struct dm_tier_pool *pool = m->pool;
	struct dm_tier_finished *f = &pool->finished[pool->next_finished % FINISHED_RING];

	*f = (struct dm_tier_finished){
		.seq = pool->next_finished++,
		.id = m->id, .volume = m->volume_id, .extent = m->extent,
		.from = m->from ? m->from->idx : 0, .to = m->to ? m->to->idx : 0,
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
	start_moves(m->pool);
}

static void free_move(struct dm_tier_move *m)
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
	spin_unlock(&pool->lock);
	free_move(m);
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
	finished(m, reason);
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

/* Copying --------------------------------------------------------------------*/

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
	atomic_inc(&m->jobs);
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
static void check_force(struct dm_tier_move *m)
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

	while (!stopped(m) && (wait = take_tokens(pool))) {
		wait_event_timeout(pool->move_wait, stopped(m),
				   clamp_t(u64, nsecs_to_jiffies(wait), 1, HZ));
		check_force(m);
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
				       atomic_read(&m->jobs) <= left || stopped(m), timeout))
			return atomic_read(&m->jobs) <= left;
		if (!deadline)
			check_force(m);
	}
}

/*
 * Copies what is dirty now.  @deadline 0: in the pre-copy, with tokens.
 * Returns false if the move must end (see stopped()) or is late.
 */
static bool copy_pass(struct dm_tier_move *m, unsigned long deadline)
{
	u32 region, count = 0;
	u64 began = ktime_get_ns();

	m->passes++;
	for_each_set_bit(region, m->dirty, m->pool->regions) {
		if (!deadline)
			wait_tokens(m);
		if (stopped(m) || !wait_jobs(m, COPY_DEPTH - 1, deadline))
			return false;
		clear_bit(region, m->dirty);
		/* A write that ends from here on makes it dirty again. */
		smp_mb__after_atomic();
		if (!copy_region(m, region))
			return false;
		count++;
	}
	/* A region's copy has returned before its next one starts. */
	if (!wait_jobs(m, 0, deadline) || stopped(m))
		return false;
	if (count)
		m->region_ns = div_u64(ktime_get_ns() - began, count);
	return true;
}

/* Pre-copy: passes until few regions are left.  MOVE_OK: freeze now. */
static enum dm_tier_move_reason pre_copy(struct dm_tier_move *m)
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
		if (!copy_pass(m, 0))
			return MOVE_CANCELLED;
	}
}

/* Steps ----------------------------------------------------------------------*/

/* Chooses and reserves the destination; pool->lock held. */
static enum dm_tier_move_reason reserve(struct dm_tier_move *m, u64 entry)
{
	struct dm_tier_pool *pool = m->pool;
	int idx = m->to_device;
	struct dm_tier_device *to;

	if (idx < 0)
		idx = __dm_tier_io_place_move(pool, m->to_tier);
	if (idx < 0)
		return MOVE_NO_SPACE;
	to = pool->device[idx];
	if (idx == entry_device(entry) || to->state != DM_TIER_DEV_ONLINE ||
	    READ_ONCE(to->failed) ||
	    dm_tier_device_take_slot(to, SLOT_RESERVED, &m->to_slot))
		return MOVE_NO_SPACE;
	m->to = to;
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

	while (slices-- && !stopped(m)) {
		if (idle)
			idle = dm_tier_device_idle(m->from, msecs_to_jiffies(SLICE_MS));
		if (flushed)
			flushed = dm_tier_device_flush_wait(m->to, ticket,
							    msecs_to_jiffies(SLICE_MS));
		if (flushed && flushed != -ETIMEDOUT)
			return MOVE_DST_WRITE_ERROR;
		if (!idle && !flushed)
			return MOVE_OK;
		check_force(m);
	}
	return stopped(m) ? MOVE_CANCELLED : MOVE_DEADLINE;
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
	if (!copy_pass(m, deadline))
		return stopped(m) ? MOVE_CANCELLED : MOVE_DEADLINE;
	r = flush_to(m, left_of(deadline));
	if (r != MOVE_OK)
		return r;
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
	finished(m, MOVE_OK);
	wake_up_all(&pool->move_wait);
}

void __dm_tier_migrate_dropped(struct dm_tier_move *m)
{
	m->commit = COMMIT_DROPPED;
	atomic_inc(&m->write_errors);
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

static void move_work(struct work_struct *work)
{
	struct dm_tier_move *m = container_of(work, struct dm_tier_move, work);
	enum dm_tier_move_reason r = m->stop;

	m->spare = dm_tier_meta_change_alloc(m->pool, GFP_NOIO);
	if (r == MOVE_OK)
		r = begin(m);
	if (r == MOVE_OK)
		r = pre_copy(m);
	if (r == MOVE_OK)
		r = freeze(m);
	if (r == MOVE_OK)
		r = commit(m);
	if (r == MOVE_OK)
		retire(m);
	else
		give_up(m, why(m, r));
}

/* Queue ----------------------------------------------------------------------*/

/* pool->lock held. */
static void start_moves(struct dm_tier_pool *pool)
{
	struct dm_tier_move *m;

	list_for_each_entry(m, &pool->moves, list) {
		if (pool->moves_stopped || pool->nr_active >= pool->moves_at_once)
			return;
		if (m->state != MOVE_QUEUED)
			continue;
		m->state = MOVE_COPY;
		pool->nr_queued--;
		pool->nr_active++;
		queue_work(pool->move_wq, &m->work);
	}
}

static struct dm_tier_move *find_listed(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_move *m;

	list_for_each_entry(m, &v->pool->moves, list)
		if (m->volume == v && m->extent == extent)
			return m;
	return NULL;
}

/* May this extent move there?  pool->lock held. */
static int check(struct dm_tier_volume *v, u32 extent, int tier, int device)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_extent *x = dm_tier_volume_extent(v, extent);
	struct dm_tier_device *to;
	struct dm_tier_table *t;

	if (pool->mode != MODE_RW || pool->read_only)
		return -EROFS;
	if (extent >= v->extents)
		return -ERANGE;
	list_for_each_entry(t, &v->tables, list)
		if (READ_ONCE(t->suspending))
			return -EAGAIN;
	if (!x || !(x->entry & ENTRY_ALLOCATED))
		return -ENODATA;
	if (device >= 0) {
		to = pool->device[device];
		if (!to->present || to->state != DM_TIER_DEV_ONLINE || !to->bdev)
			return -ENXIO;
		return entry_device(x->entry) == device ? -EALREADY : 0;
	}
	if (__dm_tier_io_place_move(pool, tier) == -ENXIO)
		return -ENXIO;
	return pool->device[entry_device(x->entry)]->tier == tier ? -EALREADY : 0;
}

int dm_tier_migrate_queue(struct dm_tier_volume *v, u32 extent, int tier, int device,
			  bool force, u64 *ret_id)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_move *m = kzalloc(sizeof(*m), GFP_KERNEL), *other;
	int r;

	if (!m)
		return -ENOMEM;
	m->pool = pool;
	m->volume = v;
	m->volume_id = v->id;
	m->extent = extent;
	m->to_tier = tier;
	m->to_device = device;
	m->force = force;
	INIT_LIST_HEAD(&m->parked);
	INIT_LIST_HEAD(&m->commit_list);
	INIT_WORK(&m->work, move_work);

	spin_lock(&pool->lock);
	other = find_listed(v, extent);
	if (other) {
		r = other->to_tier == tier && other->to_device == device ? 0 : -EBUSY;
		if (!r)
			*ret_id = other->id;
		goto out;
	}
	r = check(v, extent, tier, device);
	if (!r && (pool->moves_stopped || pool->nr_queued >= DM_TIER_MAX_QUEUED_MOVES))
		r = -EAGAIN;
	if (r)
		goto out;
	*ret_id = m->id = pool->next_move_id++;
	list_add_tail(&m->list, &pool->moves);
	pool->nr_queued++;
	m = NULL;
	start_moves(pool);
out:
	spin_unlock(&pool->lock);
	kfree(m);
	return r;
}

static bool matches(struct dm_tier_move *m, struct dm_tier_volume *v,
		    struct dm_tier_device *dev, u32 from_extent)
{
	if (!m->volume)
		return false;	/* it has ended */
	return (!v || m->volume == v) && m->extent >= from_extent &&
		(!dev || m->from == dev || m->to == dev);
}

void dm_tier_migrate_stop(struct dm_tier_pool *pool, struct dm_tier_volume *v,
			  struct dm_tier_device *dev, u32 from_extent,
			  enum dm_tier_move_reason reason)
{
	struct dm_tier_move *m, *next;

	spin_lock(&pool->lock);
	list_for_each_entry_safe(m, next, &pool->moves, list) {
		if (!matches(m, v, dev, from_extent))
			continue;
		if (m->state == MOVE_QUEUED) {
			list_del(&m->list);
			pool->nr_queued--;
			finished(m, reason);
			free_move(m);
		} else {
			WRITE_ONCE(m->stop, m->stop ?: reason);
		}
	}
	spin_unlock(&pool->lock);
	wake_up_all(&pool->move_wait);
	dm_tier_pool_event(pool);
}

static bool all_ended(struct dm_tier_pool *pool, struct dm_tier_volume *v,
		      struct dm_tier_device *dev, u32 from_extent)
{
	struct dm_tier_move *m;
	bool ended = true;

	spin_lock(&pool->lock);
	list_for_each_entry(m, &pool->moves, list) {
		/* In doubt, with metadata that cannot be written: nobody's wait helps. */
		if (m->state == MOVE_COMMIT && pool->mode != MODE_RW)
			continue;
		if (matches(m, v, dev, from_extent))
			ended = false;
	}
	spin_unlock(&pool->lock);
	return ended;
}

void dm_tier_migrate_wait(struct dm_tier_pool *pool, struct dm_tier_volume *v,
			  struct dm_tier_device *dev, u32 from_extent)
{
	wait_event(pool->move_wait, all_ended(pool, v, dev, from_extent));
}

int dm_tier_migrate_cancel(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_move *m;

	spin_lock(&pool->lock);
	m = find_listed(v, extent);
	if (m && m->state != MOVE_QUEUED) {
		WRITE_ONCE(m->stop, m->stop ?: MOVE_CANCELLED);
	} else if (m) {
		list_del(&m->list);
		pool->nr_queued--;
		finished(m, MOVE_CANCELLED);
		free_move(m);
	}
	spin_unlock(&pool->lock);
	wake_up_all(&pool->move_wait);
	return m ? 0 : -ENOENT;
}

void dm_tier_migrate_set_rate(struct dm_tier_pool *pool, u64 bytes_per_s)
{
	spin_lock(&pool->lock);
	pool->rate = bytes_per_s;
	pool->tokens_ns = 0;
	spin_unlock(&pool->lock);
	wake_up_all(&pool->move_wait);
}

void dm_tier_migrate_enable(struct dm_tier_pool *pool, bool enable)
{
	spin_lock(&pool->lock);
	pool->moves_stopped = !enable;
	start_moves(pool);
	spin_unlock(&pool->lock);
}

void dm_tier_migrate_set_moves(struct dm_tier_pool *pool, u32 count)
{
	spin_lock(&pool->lock);
	pool->moves_at_once = count;
	start_moves(pool);
	spin_unlock(&pool->lock);
}
