// SPDX-License-Identifier: GPL-2.0-only
/* The slow path's durability: waiting for commits, FLUSH and FUA. */
#include "dm-tier-device.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-slow.h"
#include "dm-tier-volume.h"

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
	else if (__dm_tier_io_no_commits(pool))
		r = WAITED_ERROR;
	else
		__dm_tier_io_park(tb, &pool->commit_waiters);
	spin_unlock(&pool->lock);
	if (r == WAITED_PARKED)
		dm_tier_meta_kick(pool);
	return r;
}

void dm_tier_io_fua_data_done(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	struct dm_tier_extent *x = dm_tier_volume_find(v, tb->extent);
	bool changed;

	/* All changes that made its regions valid are in this commit or before. */
	spin_lock(&v->pool->lock);
	changed = x->entry & ENTRY_CHANGED_ANY;
	tb->wait_seq = v->changed_seq;
	spin_unlock(&v->pool->lock);
	if (tb->status || !changed) {
		dm_tier_io_end(tb, tb->status);
		return;
	}
	tb->stage = BIO_FUA;
	dm_tier_io_fua_done(tb);
}

void dm_tier_io_fua_done(struct dm_tier_bio *tb)
{
	enum waited r = wait_commit(tb);

	if (r != WAITED_PARKED)
		dm_tier_io_end(tb, r == WAITED_DONE ? BLK_STS_OK : BLK_STS_IOERR);
}

/* Every FLUSH that is under way, or the next one, tells it; flush_lock held. */
static void __lost(struct dm_tier_volume *v, bool dirty)
{
	v->flush_losses++;
	if (dirty)
		v->dirty_loss = v->flush_losses;
	v->flush_failures++;
	WRITE_ONCE(v->flush_failed, true);
}

struct numbers {
	u32 failures, losses, told, fua_told;
};

/*
 * Flushes the devices that this volume has written to.  A flush under way is
 * counted before its dirty bit is cleared, so that no FLUSH passes one by.
 * *ret_began: the volume's numbers as it did.
 */
static int flush_devices(struct dm_tier_volume *v, struct numbers *ret_began)
{
	struct dm_tier_pool *pool = v->pool;
	u64 ticket[DM_TIER_MAX_DEVICES];
	u64 mask = 0;
	int r = 0, error;
	u32 i;

	spin_lock(&v->flush_lock);
	ret_began->failures = v->flush_failures;
	ret_began->losses = v->flush_losses;
	ret_began->told = v->flush_told;
	ret_began->fua_told = v->fua_told;
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		if (!test_bit(i, &v->dirty) && !(v->unflushed & (1ULL << i)) && !v->flushing[i])
			continue;
		v->flushing[i]++;
		v->unflushed &= ~(1ULL << i);
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
		/* Of a device that is no member any more nothing can be flushed. */
		if (error && dm_tier_device_is_member(pool->device[i]))
			v->unflushed |= 1ULL << i;
		else if (error)		/* given up meanwhile: its dirty bit was ours */
			__lost(v, false);
		v->flushing[i]--;
		spin_unlock(&v->flush_lock);
		r = r ?: error;
	}
	return r;
}

/*
 * After the commit: the devices.  Latches a failure on the volume; a success
 * undoes only failures that were there when it began.
 *
 * What may have been lost is told once by a FLUSH and once by a write with
 * @fua: dm drops the status of the FLUSH that comes with such a write, so the
 * write has to tell; and what it tells does not reach who calls fsync.
 */
static int flush_volume(struct dm_tier_volume *v, bool committed, bool fua)
{
	struct numbers began;
	int r = flush_devices(v, &began);
	u32 told;

	if (!committed)
		r = r ?: -EIO;
	spin_lock(&v->flush_lock);
	if (v->flush_losses != (fua ? began.fua_told : began.told))
		r = r ?: -EIO;
	/* The loss of a write that this does not cover is left for the next one to tell. */
	told = v->dirty_loss > began.losses ? began.losses : v->flush_losses;
	if (fua)
		v->fua_told = max(v->fua_told, told);
	else
		v->flush_told = max(v->flush_told, told);
	if (r)
		v->flush_failures++;
	/* Until a write with FUA has told, it has to come by here. */
	if (r || began.failures == v->flush_failures)
		WRITE_ONCE(v->flush_failed, r || v->fua_told != v->flush_losses);
	spin_unlock(&v->flush_lock);
	return r;
}

void dm_tier_io_forget_dirty(struct dm_tier_volume *v, u32 device, bool lost)
{
	spin_lock(&v->flush_lock);
	if (test_and_clear_bit(device, &v->dirty) && lost)
		__lost(v, true);
	v->unflushed &= ~(1ULL << device);
	spin_unlock(&v->flush_lock);
}

void dm_tier_io_flush_failed(struct dm_tier_device *dev, bool all)
{
	struct dm_tier_pool *pool = dev->pool;
	bool dirty;
	u32 id;

	spin_lock(&pool->lock);
	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++) {
		struct dm_tier_volume *v = pool->volume[id];

		if (!v)
			continue;
		spin_lock(&v->flush_lock);
		dirty = test_bit(dev->idx, &v->dirty) || (all && v->on_tier[dev->tier]);
		if (dirty || v->flushing[dev->idx])
			__lost(v, dirty);
		spin_unlock(&v->flush_lock);
	}
	spin_unlock(&pool->lock);
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

void dm_tier_io_flush(struct dm_tier_bio *tb)
{
	enum waited r;

	if (tb->table->pool->read_only) {
		dm_tier_io_end(tb, BLK_STS_OK);
		return;
	}
	fix_wait_seq(tb);
	r = wait_commit(tb);
	if (r == WAITED_PARKED)
		return;
	dm_tier_io_end(tb, errno_to_blk_status(flush_volume(tb->table->volume, r == WAITED_DONE, false)));
}

bool dm_tier_io_fua_ready(struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = tb->table->volume;
	enum waited r;

	if (!READ_ONCE(v->flush_failed))
		return true;
	fix_wait_seq(tb);
	r = wait_commit(tb);
	if (r == WAITED_PARKED)
		return false;
	if (flush_volume(v, r == WAITED_DONE, true)) {
		dm_tier_io_end(tb, BLK_STS_IOERR);
		return false;
	}
	return true;
}
