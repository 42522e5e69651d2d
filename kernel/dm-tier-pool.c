// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target `tier-pool` and the life of struct dm_tier_pool: the registry,
 * binding a table to it, modes and events.
 *
 * The RAM pool is made by the first preresume of a table and lives until that
 * table's last successor is destroyed and no volume's table holds it.  A
 * reload binds the new table in its preresume; the old one's dtr, which comes
 * later, waits for I/O to devices that only it held.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/* Registry -------------------------------------------------------------------*/

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);		/* pools that are bound */

static struct dm_tier_pool *find_by_meta(dev_t meta_dev)
{
	struct dm_tier_pool *pool;

	list_for_each_entry(pool, &registry, list)
		if (pool->meta_dev == meta_dev)
			return pool;
	return NULL;
}

struct dm_tier_pool *dm_tier_pool_find(struct mapped_device *md)
{
	struct dm_tier_pool *pool, *found = NULL;

	mutex_lock(&registry_lock);
	list_for_each_entry(pool, &registry, list)
		if (pool->md == md && !pool->leaving)
			found = pool;
	if (found)
		dm_tier_pool_get(found);
	mutex_unlock(&registry_lock);
	return found;
}

/* Modes and events -----------------------------------------------------------*/

static void event_work(struct work_struct *work)
{
	struct dm_tier_pool *pool = container_of(work, struct dm_tier_pool, event_work);

	mutex_lock(&pool->bound_lock);
	if (pool->bound)
		dm_table_event(pool->bound->ti->table);
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
	DMINFO("pool %s: mode is now %s", dm_device_name(pool->md),
	       dm_tier_pool_mode_word(pool));
	dm_tier_io_kick_all(pool);
	wake_up_all(&pool->move_wait);
	dm_tier_pool_event(pool);
}

void dm_tier_pool_device_error(struct dm_tier_device *dev)
{
	if (atomic64_inc_return(&dev->errors) == 1)
		dm_tier_pool_event(dev->pool);
}

const char *dm_tier_pool_mode_word(struct dm_tier_pool *pool)
{
	switch (READ_ONCE(pool->mode)) {
	case MODE_RW:
		return list_empty_careful(&pool->space_waiters) ? "rw" : "out_of_space";
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
	cancel_work_sync(&pool->event_work);
	dm_tier_migrate_exit(pool);
	dm_tier_io_exit(pool);
	dm_tier_meta_free(pool);
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		dm_tier_volume_free(pool->volume[i]);
	/* See dm_tier_device_job_put(). */
	synchronize_rcu();
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		dm_tier_device_free(pool->device[i]);
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
	r = r ?: dm_tier_io_init(pool);
	r = r ?: dm_tier_migrate_init(pool);
	return r ?: dm_tier_meta_alloc(pool, meta_bdev);
}

static struct dm_tier_pool *pool_alloc(struct dm_tier_pool_table *c)
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
	INIT_WORK(&pool->event_work, event_work);
	INIT_WORK(&pool->reap_work, dm_tier_volume_reap);
	pool->md = dm_table_get_md(c->ti->table);
	pool->meta_dev = c->meta_dev->bdev->bd_dev;
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

/* Binding --------------------------------------------------------------------*/

static int refuse(const char *name, const char *why)
{
	DMERR("%s: %s", name, why);
	return -EINVAL;
}

static struct dm_tier_device *find_record(struct dm_tier_pool *pool, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (pool->device[i]->present &&
		    !memcmp(pool->device[i]->uuid, uuid, 16))
			return pool->device[i];
	return NULL;
}

static struct dm_dev *find_member(struct dm_tier_pool_table *c, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < c->nr_devices; i++)
		if (!memcmp(c->devices[i].label.device_uuid, uuid, 16))
			return c->devices[i].dev;
	return NULL;
}

/* Do the table's devices and the records fit together? */
static int check_members(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	char uuid[DM_TIER_UUID_CHARS];
	u32 i;

	for (i = 0; i < c->nr_devices; i++) {
		struct dm_tier_device *dev = find_record(pool, c->devices[i].label.device_uuid);
		struct dm_dev *dm_dev = c->devices[i].dev;

		if (!dev)
			return refuse(dm_dev->name, "it is no member of the pool");
		if (dev->state == DM_TIER_DEV_LOST)
			return refuse(dm_dev->name, "it was given up as lost");
		if (dev->bdev && dev->bdev != dm_dev->bdev)
			return refuse(dm_dev->name, "a member cannot be exchanged while it is in use");
		if (bdev_nr_sectors(dm_dev->bdev) < dm_tier_slot_sector(pool, dev->slots))
			return refuse(dm_dev->name, "it is smaller than its record says");
	}
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];

		if (!dev->present || dev->state == DM_TIER_DEV_LOST ||
		    dev->state == DM_TIER_DEV_NEW || c->features.partial ||
		    find_member(c, dev->uuid))
			continue;
		dm_tier_format_uuid(dev->uuid, uuid);
		DMERR("device %u (%s) is missing", i, uuid);
		return -ENODEV;
	}
	return 0;
}

/* A new device that has come is online from now on; may sleep. */
static void bring_online(struct dm_tier_device *dev)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_change *spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);

	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->state = DM_TIER_DEV_ONLINE;
	spin_unlock(&pool->lock);
	dm_tier_meta_change_free(pool, spare);
}

/* Switches to the table's devices and makes it the bound one; admin held. */
static void bind(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];
		struct dm_dev *dm_dev = dev->present ? find_member(c, dev->uuid) : NULL;

		WRITE_ONCE(dev->bdev, dm_dev ? dm_dev->bdev : NULL);
		if (dm_dev && dev->state == DM_TIER_DEV_NEW && !pool->read_only)
			bring_online(dev);
	}
	pool->features = c->features;
	mutex_lock(&pool->bound_lock);
	pool->bound = c;
	mutex_unlock(&pool->bound_lock);
	c->pool = pool;
}

/* Another table of this pool device is bound: takes its place. */
static int rebind(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	int r;

	if (pool->md != dm_table_get_md(c->ti->table))
		return refuse(c->meta_dev->name, "it belongs to another active pool");
	if (memcmp(pool->meta->super.uuid, c->super.uuid, 16))
		return refuse(c->meta_dev->name, "it holds another pool now");
	if (pool->read_only != c->features.read_only)
		return refuse(c->meta_dev->name,
			      "read_only cannot change while the pool is active");
	mutex_lock(&pool->admin);
	r = check_members(pool, c);
	if (!r) {
		dm_tier_pool_get(pool);
		bind(pool, c);
	}
	mutex_unlock(&pool->admin);
	if (!r)
		dm_tier_io_kick_space(pool);
	return r;
}

/* One pool, one set of metadata, one RAM pool: registry_lock held. */
static bool active_elsewhere(struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool;

	list_for_each_entry(pool, &registry, list)
		if (pool->md == dm_table_get_md(c->ti->table) ||
		    !memcmp(pool->meta->super.uuid, c->super.uuid, 16))
			return true;
	return false;
}

static int bind_new(struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool = pool_alloc(c);
	const char *error = NULL;
	int r;

	if (IS_ERR(pool))
		return PTR_ERR(pool);
	r = dm_tier_load(pool, c->meta_dev->bdev, &c->super, &error);
	if (r) {
		DMERR("%s: %s", c->meta_dev->name, error ?: "loading failed");
		dm_tier_pool_put(pool);
		return r;
	}
	r = check_members(pool, c);
	if (r) {
		dm_tier_pool_put(pool);
		return r;
	}
	mutex_lock(&pool->admin);
	bind(pool, c);
	mutex_unlock(&pool->admin);
	list_add_tail(&pool->list, &registry);
	dm_tier_meta_start(pool);
	return 0;
}

static int pool_preresume(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *pool;
	int r = 0;

	mutex_lock(&registry_lock);
	pool = find_by_meta(c->meta_dev->bdev->bd_dev);
	if (!pool && c->pool)
		r = -ENODEV;
	else if (!pool && active_elsewhere(c))
		r = refuse(c->meta_dev->name, "the pool is active with other metadata");
	else if (!pool)
		r = bind_new(c);
	else if (pool->leaving)
		r = -EBUSY;
	else if (pool->bound != c)
		r = rebind(pool, c);
	mutex_unlock(&registry_lock);
	return r;
}

static void pool_resume(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;

	dm_tier_migrate_enable(c->pool, true);
}

static void pool_presuspend(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;

	if (!c->pool || c->pool->bound != c)
		return;
	dm_tier_migrate_enable(c->pool, false);
	dm_tier_migrate_stop(c->pool, NULL, NULL, 0, MOVE_SUSPENDED);
	dm_tier_migrate_wait(c->pool, NULL, NULL, 0);
}

static void pool_postsuspend(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;

	/* One try; what fails stays open and is tried again. */
	if (c->pool && c->pool->bound == c && !c->pool->read_only)
		dm_tier_meta_commit_once(c->pool);
}

/* The bound table goes, and no other takes its place: the pool is over. */
static void unbind(struct dm_tier_pool *pool)
{
	u32 i;

	mutex_lock(&registry_lock);
	pool->leaving = true;
	mutex_unlock(&registry_lock);

	mutex_lock(&pool->admin);
	dm_tier_migrate_enable(pool, false);
	dm_tier_migrate_stop(pool, NULL, NULL, 0, MOVE_SUSPENDED);
	dm_tier_migrate_wait(pool, NULL, NULL, 0);
	dm_tier_meta_stop(pool);
	if (!pool->read_only && !dm_tier_meta_commit_once(pool))
		dm_tier_meta_checkpoint(pool, true);
	dm_tier_pool_set_mode(pool, MODE_FAIL);
	/*
	 * Before frozen extents are released: a move in doubt may be on disk, so
	 * nothing may be written to either of its slots any more.
	 */
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		dm_tier_device_detach(pool->device[i], MAX_SCHEDULE_TIMEOUT);
	dm_tier_meta_abandon(pool);
	mutex_lock(&pool->bound_lock);
	pool->bound = NULL;
	mutex_unlock(&pool->bound_lock);
	mutex_unlock(&pool->admin);
	cancel_work_sync(&pool->event_work);

	/* Only now may its devices be activated again. */
	mutex_lock(&registry_lock);
	list_del_init(&pool->list);
	mutex_unlock(&registry_lock);
}

/* An old table goes: waits for I/O to devices that only it held. */
static void release_devices(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	u32 i;

	for (i = 0; i < c->nr_devices; i++) {
		struct dm_tier_device *dev;

		mutex_lock(&pool->admin);
		dev = find_record(pool, c->devices[i].label.device_uuid);
		mutex_unlock(&pool->admin);
		if (!dev || READ_ONCE(dev->bdev) == c->devices[i].dev->bdev)
			continue;
		dm_tier_device_drain(dev, MAX_SCHEDULE_TIMEOUT);
		wait_event(dev->wait, !atomic_read(&dev->jobs));
	}
}

/* Tables ---------------------------------------------------------------------*/

static void table_free(struct dm_target *ti, struct dm_tier_pool_table *c)
{
	u32 i;

	for (i = 0; i < c->nr_devices; i++)
		dm_put_device(ti, c->devices[i].dev);
	if (c->meta_dev)
		dm_put_device(ti, c->meta_dev);
	kfree(c);
}

static void pool_dtr(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *pool = c->pool;

	if (pool && pool->bound == c)
		unbind(pool);
	else if (pool)
		release_devices(pool, c);
	if (pool)
		dm_tier_pool_put(pool);
	table_free(ti, c);
}

static const char *check_label(struct dm_tier_pool_table *c, struct dm_dev *dev,
			       struct dm_tier_label *ret_label)
{
	int r = dm_tier_read_label(dev->bdev, ret_label);

	if (r)
		return r == -EBADMSG ? "A data device has no label: it is not of this pool" :
				       "Reading a data device's label failed";
	if (memcmp(ret_label->pool_uuid, c->super.uuid, 16))
		return "A data device belongs to another pool";
	if (find_member(c, ret_label->device_uuid))
		return "A data device is given twice";
	if (bdev_is_zoned(dev->bdev))
		return "Zoned data devices are not supported";
	if (bdev_logical_block_size(dev->bdev) > c->super.logical_block_bytes)
		return "A data device has larger logical blocks than the pool";
	return NULL;
}

static int get_data_device(struct dm_target *ti, struct dm_tier_pool_table *c,
			   const char *path)
{
	struct dm_tier_label label;
	const char *error;
	struct dm_dev *dev;
	int r = dm_get_device(ti, path, dm_table_get_mode(ti->table), &dev);

	if (r) {
		ti->error = "No such data device";
		DMERR("%s: cannot be opened", path);
		return r;
	}
	error = check_label(c, dev, &label);
	if (error) {
		ti->error = (char *)error;
		DMERR("%s: %s", path, error);
		dm_put_device(ti, dev);
		return -EINVAL;
	}
	c->devices[c->nr_devices].dev = dev;
	c->devices[c->nr_devices].label = label;
	c->nr_devices++;
	return 0;
}

static int get_meta_device(struct dm_target *ti, struct dm_tier_pool_table *c,
			   const char *path)
{
	u32 place;
	int r = dm_get_device(ti, path, dm_table_get_mode(ti->table), &c->meta_dev);

	if (r) {
		ti->error = "No such metadata device";
		return r;
	}
	r = dm_tier_read_super(c->meta_dev->bdev, &c->super, &place, NULL);
	if (r == -EBADMSG)
		ti->error = "The metadata device is not formatted: see tpcreate(8)";
	else if (r == -EPROTONOSUPPORT)
		ti->error = "The metadata have a newer format than this module";
	else if (r)
		ti->error = "Reading the superblock failed";
	if (r)
		return r;
	if (ti->begin || ti->len != c->super.extent_sectors) {
		ti->error = "A pool's table is 0 <extent sectors>";
		return -EINVAL;
	}
	return 0;
}

/* Nothing, or their number and then as many words. */
static int get_features(unsigned int argc, char **argv, struct dm_tier_features *ret_features,
			const char **ret_error)
{
	u64 count;

	if (!argc)
		return dm_tier_args_features(0, argv, ret_features, ret_error);
	if (dm_tier_args_u64(argv[0], 0, U32_MAX, &count) || count != argc - 1) {
		*ret_error = "The number of feature arguments is wrong";
		return -EINVAL;
	}
	return dm_tier_args_features(argc - 1, argv + 1, ret_features, ret_error);
}

/* A reload: do the devices fit to the pool that is active?  By name in the log. */
static int check_bound(struct dm_target *ti, struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool;
	int r = 0;

	mutex_lock(&registry_lock);
	pool = find_by_meta(c->meta_dev->bdev->bd_dev);
	if (pool && !pool->leaving) {
		mutex_lock(&pool->admin);
		r = check_members(pool, c);
		mutex_unlock(&pool->admin);
	}
	mutex_unlock(&registry_lock);
	if (r)
		ti->error = "The devices do not fit to the active pool: see the line above";
	return r;
}

static int pool_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_tier_pool_table *c;
	const char *error = NULL;
	u64 devices, i;
	int r;

	if (argc < 3 || dm_tier_args_u64(argv[1], 1, DM_TIER_MAX_DEVICES, &devices) ||
	    argc < 2 + devices) {
		ti->error = "Expected <metadata dev> <#devs> <dev>... [<#features> ...]";
		return -EINVAL;
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c) {
		ti->error = "No memory for the table";
		return -ENOMEM;
	}
	c->ti = ti;
	r = get_features(argc - 2 - devices, argv + 2 + devices, &c->features, &error);
	if (r) {
		ti->error = (char *)error;
		goto err_table;
	}
	r = get_meta_device(ti, c, argv[0]);
	for (i = 0; !r && i < devices; i++)
		r = get_data_device(ti, c, argv[2 + i]);
	r = r ?: check_bound(ti, c);
	if (r)
		goto err_table;
	ti->private = c;
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	return 0;

err_table:
	table_free(ti, c);
	return r;
}

static int pool_map(struct dm_target *ti, struct bio *bio)
{
	/* Volumes have the data; udev and others may still send a FLUSH. */
	if (bio->bi_opf & REQ_PREFLUSH && !bio_sectors(bio)) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	return DM_MAPIO_KILL;
}

/* Status ---------------------------------------------------------------------*/

static unsigned int emit_devices(struct dm_tier_pool *pool, char *result, unsigned int sz,
				 unsigned int maxlen)
{
	u32 i, count = 0;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		count += pool->device[i]->present;
	DMEMIT(" %u", count);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];
		u64 ios, sectors;

		if (!dev->present)
			continue;
		dm_tier_device_stats(dev, &ios, &sectors);
		DMEMIT(" %u %u %s %u %u %u %u %u %llu %llu %llu", i, dev->tier,
		       dm_tier_device_state_word(dev), dev->slots, dev->used,
		       dev->reserved, dev->quarantined, dev->parked, ios, sectors,
		       (u64)atomic64_read(&dev->errors));
	}
	return sz;
}

static void emit_info(struct dm_tier_pool *pool, char *result, unsigned int maxlen)
{
	struct dm_tier_meta *meta = pool->meta;
	char label[DM_TIER_ENCODED_CHARS], uuid[DM_TIER_UUID_CHARS];
	unsigned int sz = 0;

	DMEMIT("%s %llu %llu/%llu %d %u %u", dm_tier_pool_mode_word(pool),
	       READ_ONCE(meta->durable_seq), READ_ONCE(meta->since_tail),
	       meta->super.log_blocks, pool->needs_check, 1U << pool->extent_shift,
	       1U << pool->region_shift);
	sz = emit_devices(pool, result, sz, maxlen);
	spin_lock(&pool->lock);
	dm_tier_encode_text(pool->label, pool->label_bytes, label);
	DMEMIT(" %u %u %llu %llu %llu %llu", pool->nr_queued, pool->nr_active,
	       pool->moves_done, pool->moves_cancelled, pool->moves_failed,
	       pool->bytes_moved);
	dm_tier_format_uuid(meta->super.uuid, uuid);
	DMEMIT(" 5 uuid %s instance %llu label %s rate %llu moves %u", uuid, pool->instance,
	       label, pool->rate, pool->moves_at_once);
	spin_unlock(&pool->lock);
}

static void emit_table(struct dm_tier_pool_table *c, char *result, unsigned int maxlen)
{
	struct dm_tier_features *f = &c->features;
	unsigned int sz = 0;
	u32 i, count;

	DMEMIT("%s %u", c->meta_dev->name, c->nr_devices);
	for (i = 0; i < c->nr_devices; i++)
		DMEMIT(" %s", c->devices[i].dev->name);
	count = f->read_only + f->partial + f->error_if_no_space +
		2 * (f->no_space_timeout_s != DM_TIER_NO_SPACE_TIMEOUT_S);
	if (!count)
		return;
	DMEMIT(" %u", count);
	if (f->read_only)
		DMEMIT(" read_only");
	if (f->partial)
		DMEMIT(" partial");
	if (f->error_if_no_space)
		DMEMIT(" error_if_no_space");
	if (f->no_space_timeout_s != DM_TIER_NO_SPACE_TIMEOUT_S)
		DMEMIT(" no_space_timeout %u", f->no_space_timeout_s);
}

static void pool_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
			char *result, unsigned int maxlen)
{
	struct dm_tier_pool_table *c = ti->private;

	switch (type) {
	case STATUSTYPE_INFO:
		/* A table that was never resumed has nothing to tell. */
		if (c->pool)
			emit_info(c->pool, result, maxlen);
		else
			strscpy(result, "fail", maxlen);
		break;
	case STATUSTYPE_TABLE:
		emit_table(c, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		*result = '\0';
		break;
	}
}

static int pool_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			unsigned int maxlen)
{
	struct dm_tier_pool_table *c = ti->private;

	if (!c->pool || c->pool->bound != c)
		return -ENODEV;
	return dm_tier_pool_message(c->pool, argc, argv, result, maxlen);
}

static int pool_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				void *data)
{
	struct dm_tier_pool_table *c = ti->private;
	u32 i;
	int r = 0;

	for (i = 0; !r && i < c->nr_devices; i++)
		r = fn(ti, c->devices[i].dev, DM_TIER_DATA_SECTOR, ti->len, data);
	return r;
}

static void pool_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct dm_tier_pool_table *c = ti->private;

	limits->logical_block_size = c->super.logical_block_bytes;
	limits->physical_block_size = max(limits->physical_block_size,
					  limits->logical_block_size);
	limits->io_min = max(limits->io_min, limits->physical_block_size);
}

struct target_type dm_tier_pool_target = {
	.name = "tier-pool",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_SINGLETON | DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = pool_ctr,
	.dtr = pool_dtr,
	.map = pool_map,
	.presuspend = pool_presuspend,
	.presuspend_undo = pool_resume,
	.postsuspend = pool_postsuspend,
	.preresume = pool_preresume,
	.resume = pool_resume,
	.status = pool_status,
	.message = pool_message,
	.iterate_devices = pool_iterate_devices,
	.io_hints = pool_io_hints,
};
