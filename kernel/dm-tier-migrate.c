// SPDX-License-Identifier: GPL-2.0-only
/* The queue of moves; the header is the specification. */
#include <linux/dm-kcopyd.h>
#include "dm-tier-copy.h"
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/*
 * Moves that have ended but wait for a device that hangs keep their workers: so
 * many in all, and a move that cannot have one stays queued, where it can be stopped.
 */
#define MOVES_BEGUN	(4 * DM_TIER_MAX_MOVES)

int dm_tier_migrate_init(struct dm_tier_pool *pool)
{
	INIT_LIST_HEAD(&pool->moves);
	init_waitqueue_head(&pool->move_wait);
	pool->moves_at_once = 4;
	pool->next_move_id = 1;
	pool->next_finished = 1;
	pool->finished = kvcalloc(FINISHED_RING, sizeof(*pool->finished), GFP_KERNEL);
	pool->move_wq = alloc_workqueue("dm-tier-move", WQ_UNBOUND | WQ_MEM_RECLAIM,
					MOVES_BEGUN);
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
	/* In the order of the enum, which is made of the same list. */
	static const char * const words[] = {
#define X(name, word) word,
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

/* Queue ----------------------------------------------------------------------*/

/* pool->lock held. */
void __dm_tier_migrate_start(struct dm_tier_pool *pool)
{
	struct dm_tier_move *m;

	list_for_each_entry(m, &pool->moves, list) {
		if (pool->moves_stopped || pool->nr_active >= pool->moves_at_once ||
		    pool->nr_active + pool->nr_retiring >= MOVES_BEGUN)
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

bool dm_tier_migrate_is_there(struct dm_tier_pool *pool, u64 entry, int tier, int device)
{
	struct dm_tier_device *dev = pool->device[entry_device(entry)];

	if (device >= 0)
		return dev->idx == device;
	/* Off a device that drains, also within its tier. */
	return dev->tier == tier && dev->state == DM_TIER_DEV_ONLINE;
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
	} else if (__dm_tier_io_place_move(pool, tier) == -ENXIO) {
		return -ENXIO;
	}
	return dm_tier_migrate_is_there(pool, x->entry, tier, device) ? -EALREADY : 0;
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
	INIT_WORK(&m->work, dm_tier_move_work);

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
	__dm_tier_migrate_start(pool);
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
			__dm_tier_move_finished(m, reason);
			dm_tier_move_free(m);
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

bool __dm_tier_migrate_has(struct dm_tier_volume *v, u32 from_extent)
{
	struct dm_tier_move *m;

	list_for_each_entry(m, &v->pool->moves, list)
		if (matches(m, v, NULL, from_extent))
			return true;
	return false;
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
		__dm_tier_move_finished(m, MOVE_CANCELLED);
		dm_tier_move_free(m);
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
	__dm_tier_migrate_start(pool);
	spin_unlock(&pool->lock);
}

void dm_tier_migrate_set_moves(struct dm_tier_pool *pool, u32 count)
{
	spin_lock(&pool->lock);
	pool->moves_at_once = count;
	__dm_tier_migrate_start(pool);
	spin_unlock(&pool->lock);
}
