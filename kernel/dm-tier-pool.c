// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct dm_tier_pool: making and freeing it, its mode, its events, the folding of
 * its counters.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/random.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/* Modes and events -----------------------------------------------------------*/

/* Not where it happens: pool->lock is held there. */
static void log_space(struct dm_tier_pool *pool)
{
	enum dm_tier_space_state state = READ_ONCE(pool->space_state);

	if (state == SPACE_WAITING && state > pool->space_told)
		DMWARN_LIMIT("pool %s: no free slot where a volume may write: first writes wait",
			     dm_device_name(pool->md));
	if (state == SPACE_FAILING && state > pool->space_told)
		DMERR_LIMIT("pool %s: no free slot where a volume may write: first writes fail",
			    dm_device_name(pool->md));
	pool->space_told = state;
}

static void event_work(struct work_struct *work)
{
	struct dm_tier_pool *pool = container_of(work, struct dm_tier_pool, event_work);

	mutex_lock(&pool->bound_lock);
	if (pool->bound) {
		log_space(pool);
		dm_table_event(pool->bound->ti->table);
	}
	mutex_unlock(&pool->bound_lock);
}

void dm_tier_pool_event(struct dm_tier_pool *pool)
{
	queue_work(system_unbound_wq, &pool->event_work);
}

void dm_tier_pool_set_mode(struct dm_tier_pool *pool, enum dm_tier_mode mode)
{
	bool changed;
	u32 i;

	spin_lock(&pool->lock);
	changed = pool->mode != mode && pool->mode != MODE_FAIL;
	if (changed)
		pool->mode = mode;
	spin_unlock(&pool->lock);
	if (!changed)
		return;
	for (i = 0; mode == MODE_FAIL && i < DM_TIER_MAX_DEVICES; i++)
		WRITE_ONCE(pool->device[i]->bdev, NULL);
	/* A pool that is being deactivated fails for whoever still has it open. */
	if (!READ_ONCE(pool->leaving))
		DMINFO("pool %s: mode is now %s", dm_device_name(pool->md),
		       dm_tier_pool_mode_word(pool, SPACE_ENOUGH));
	dm_tier_io_kick_all(pool);
	dm_tier_io_kick_space(pool);	/* what waited may have ended with an error */
	wake_up_all(&pool->move_wait);
	wake_up_all(&pool->meta->wait);
	dm_tier_pool_event(pool);
}

void dm_tier_pool_device_error(struct dm_tier_device *dev)
{
	if (atomic64_inc_return(&dev->errors) == 1)
		dm_tier_pool_event(dev->pool);
}

const char *dm_tier_pool_mode_word(struct dm_tier_pool *pool, enum dm_tier_space_state space)
{
	switch (READ_ONCE(pool->mode)) {
	case MODE_RW:
		return space == SPACE_ENOUGH ? "rw" : "out_of_space";
	case MODE_META_RO:
		return "meta_ro";
	case MODE_FAIL:
		break;
	}
	return "fail";
}

const char *dm_tier_device_state_word(const struct dm_tier_device *dev)
{
	if (dev->state == DM_TIER_DEV_LOST)
		return "lost";
	if (dev->state == DM_TIER_DEV_NEW)
		return "new";
	if (!READ_ONCE(dev->bdev))
		return "missing";
	if (READ_ONCE(dev->failed))
		return "failed";
	return dev->state == DM_TIER_DEV_DRAINING ? "draining" : "online";
}

void dm_tier_pool_check_low_water(struct dm_tier_pool *pool, u32 tier)
{
	u64 free = 0;
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (pool->device[i]->present && pool->device[i]->tier == tier)
			free += pool->device[i]->free;
	if (free >= pool->low_water[tier]) {
		pool->low_water_sent[tier] = false;
	} else if (!pool->low_water_sent[tier]) {
		pool->low_water_sent[tier] = true;
		dm_tier_pool_event(pool);
	}
}

/* Counters -------------------------------------------------------------------*/

static void fold_heat(struct dm_tier_pool *pool, struct dm_tier_heat *heat)
{
	u64 generation = READ_ONCE(pool->counter_generation);
	u32 i;

	for (i = 0; i < HEAT_LINES; i++)
		dm_tier_heat_flush_line(&heat->line[i], generation);
}

struct fold_work {
	struct work_struct work;
	struct dm_tier_pool *pool;
};

static void fold_this_cpu(struct work_struct *work)
{
	struct fold_work *f = container_of(work, struct fold_work, work);

	preempt_disable();
	fold_heat(f->pool, this_cpu_ptr(f->pool->heat));
	preempt_enable();
}

void dm_tier_pool_fold_counters(struct dm_tier_pool *pool)
{
	int cpu;

	mutex_lock(&pool->counters_lock);
	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		struct fold_work *f = per_cpu_ptr(pool->fold_work, cpu);

		if (cpu_online(cpu))
			queue_work_on(cpu, pool->fold_wq, &f->work);
		else
			fold_heat(pool, per_cpu_ptr(pool->heat, cpu));
	}
	for_each_online_cpu(cpu)
		flush_work(&per_cpu_ptr(pool->fold_work, cpu)->work);
	cpus_read_unlock();
	mutex_unlock(&pool->counters_lock);
}

static void free_heat(struct dm_tier_pool *pool)
{
	int cpu;

	if (pool->heat)
		for_each_possible_cpu(cpu)
			kvfree(per_cpu_ptr(pool->heat, cpu)->line);
	free_percpu(pool->heat);
	free_percpu(pool->fold_work);
}

static int alloc_heat(struct dm_tier_pool *pool)
{
	int cpu;

	pool->heat = alloc_percpu(struct dm_tier_heat);
	pool->fold_work = alloc_percpu(struct fold_work);
	if (!pool->heat || !pool->fold_work)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct fold_work *f = per_cpu_ptr(pool->fold_work, cpu);
		struct dm_tier_heat_line *line =
			kvcalloc(HEAT_LINES, sizeof(*line), GFP_KERNEL);

		if (!line)
			return -ENOMEM;
		per_cpu_ptr(pool->heat, cpu)->line = line;
		per_cpu_ptr(pool->heat, cpu)->cut_next = ~0ULL;
		INIT_WORK(&f->work, fold_this_cpu);
		f->pool = pool;
	}
	return 0;
}

/* Making and freeing a pool --------------------------------------------------*/

static void pool_free(struct dm_tier_pool *pool)
{
	u32 i;

	cancel_work_sync(&pool->reap_work);
	dm_tier_migrate_exit(pool);
	dm_tier_io_exit(pool);
	dm_tier_meta_free(pool);
	/* No queue is left that could send an event. */
	cancel_work_sync(&pool->event_work);
	/* See dm_tier_device_job_put(). */
	synchronize_rcu();
	/* Before the volumes: a flush that nobody waits for may still fail, and tell them. */
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		dm_tier_device_free(pool->device[i]);
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		dm_tier_volume_free(pool->volume[i]);
	if (pool->dev_wq)
		destroy_workqueue(pool->dev_wq);
	if (pool->fold_wq)
		destroy_workqueue(pool->fold_wq);
	free_heat(pool);
	/* Bitmaps on their way back to the mempool. */
	rcu_barrier();
	mempool_exit(&pool->change_pool);
	mempool_exit(&pool->bits_pool);
	kvfree(pool);
}

void dm_tier_pool_get(struct dm_tier_pool *pool)
{
	kref_get(&pool->kref);
}

static void pool_release(struct kref *kref)
{
	pool_free(container_of(kref, struct dm_tier_pool, kref));
}

void dm_tier_pool_put(struct dm_tier_pool *pool)
{
	kref_put(&pool->kref, pool_release);
}

static int alloc_parts(struct dm_tier_pool *pool, struct block_device *meta_bdev)
{
	size_t bits = sizeof(struct dm_tier_bits) + BITS_TO_LONGS(pool->regions) * sizeof(long);
	int r;
	u32 i;

	/* First, as pool_free() relies on what it sets up. */
	r = dm_tier_io_init(pool);
	if (r)
		return r;
	pool->dev_wq = alloc_workqueue("dm-tier-dev", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	pool->fold_wq = alloc_workqueue("dm-tier-fold", WQ_MEM_RECLAIM, 0);
	if (!pool->dev_wq || !pool->fold_wq)
		return -ENOMEM;
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		pool->device[i] = dm_tier_device_alloc(pool, i);
		if (!pool->device[i])
			return -ENOMEM;
	}
	r = mempool_init_kmalloc_pool(&pool->change_pool, 256, sizeof(struct dm_tier_change));
	r = r ?: mempool_init_kmalloc_pool(&pool->bits_pool, 64, bits);
	r = r ?: alloc_heat(pool);
	r = r ?: dm_tier_migrate_init(pool);
	return r ?: dm_tier_meta_alloc(pool, meta_bdev);
}

struct dm_tier_pool *dm_tier_pool_alloc(struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool = kvzalloc(sizeof(*pool), GFP_KERNEL);
	int r;

	if (!pool)
		return ERR_PTR(-ENOMEM);
	kref_init(&pool->kref);
	INIT_LIST_HEAD(&pool->list);
	mutex_init(&pool->admin);
	mutex_init(&pool->bound_lock);
	mutex_init(&pool->counters_lock);
	spin_lock_init(&pool->lock);
	spin_lock_init(&pool->cuts_lock);
	INIT_WORK(&pool->event_work, event_work);
	INIT_WORK(&pool->reap_work, dm_tier_volume_reap);
	pool->md = dm_table_get_md(c->ti->table);
	pool->meta_dev = c->meta_dev->bdev->bd_dev;
	memcpy(pool->uuid, c->super.uuid, sizeof(pool->uuid));
	pool->read_only = c->features.read_only;
	pool->features = c->features;
	pool->extent_shift = ilog2(c->super.extent_sectors);
	pool->region_shift = ilog2(c->super.region_sectors);
	pool->regions = c->super.extent_sectors / c->super.region_sectors;
	pool->counter_generation = 1;
	pool->instance = get_random_u64();
	pool->moves_stopped = true;

	r = alloc_parts(pool, c->meta_dev->bdev);
	if (r) {
		pool_free(pool);
		return ERR_PTR(r);
	}
	return pool;
}
