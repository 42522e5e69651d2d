// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target `tier-pool` and the life of struct dm_tier_pool: the registry, and
 * binding a table to it.
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

static int refuse(const char *name, const char *why)
{
	DMERR("%s: %s", name, why);
	return -EINVAL;
}

/* Registry -------------------------------------------------------------------*/

/* Held for lookups only: a pool whose devices hang must not stop the others. */
static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);		/* pools that are being loaded, or bound */

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
		if (pool->md == md && !pool->loading && !READ_ONCE(pool->leaving))
			found = pool;
	if (found)
		dm_tier_pool_get(found);
	mutex_unlock(&registry_lock);
	return found;
}

struct dm_tier_pool *dm_tier_pool_get_active(dev_t meta_dev)
{
	struct dm_tier_pool *pool;

	mutex_lock(&registry_lock);
	pool = find_by_meta(meta_dev);
	if (pool && pool->loading)
		pool = ERR_PTR(-EBUSY);
	else if (pool)
		dm_tier_pool_get(pool);
	mutex_unlock(&registry_lock);
	return pool;
}

/* One pool, one set of metadata, one RAM pool: registry_lock held. */
static bool active_elsewhere(struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool;

	list_for_each_entry(pool, &registry, list)
		if (pool->md == dm_table_get_md(c->ti->table) ||
		    !memcmp(pool->uuid, c->super.uuid, 16))
			return true;
	return false;
}

/*
 * A new pool, counted, entered as being loaded: no other will be made of its
 * metadata.  Memory is taken without the lock, as reclaim may wait for a volume
 * of another pool, and that for its resume.
 */
static struct dm_tier_pool *enter_new(struct dm_tier_pool_table *c)
{
	struct dm_tier_pool *pool = dm_tier_pool_alloc(c);
	int r = 0;

	if (IS_ERR(pool))
		return pool;
	pool->loading = true;
	mutex_lock(&registry_lock);
	if (find_by_meta(pool->meta_dev))
		r = -EBUSY;
	else if (active_elsewhere(c))
		r = refuse(c->meta_dev->name, "the pool is active with other metadata");
	else
		list_add_tail(&pool->list, &registry);
	mutex_unlock(&registry_lock);
	if (!r)
		return pool;
	dm_tier_pool_put(pool);
	return ERR_PTR(r);
}

/* From now on others find it, or, if it could not be loaded, it is gone. */
static void finish_loading(struct dm_tier_pool *pool, int error)
{
	mutex_lock(&registry_lock);
	pool->loading = false;
	if (error)
		list_del_init(&pool->list);
	mutex_unlock(&registry_lock);
}

/* Binding --------------------------------------------------------------------*/

static struct dm_tier_device *find_record(struct dm_tier_pool *pool, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (pool->device[i]->present &&
		    !memcmp(pool->device[i]->uuid, uuid, 16))
			return pool->device[i];
	return NULL;
}

/* Is the device a volume of the pool?  admin held. */
static bool is_own_volume(struct dm_tier_pool *pool, struct block_device *bdev)
{
	struct mapped_device *md = dm_get_md(bdev->bd_dev);
	struct dm_tier_table *t;
	bool own = false;
	u32 id;

	if (!md)
		return false;
	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++) {
		if (!pool->volume[id])
			continue;
		list_for_each_entry(t, &pool->volume[id]->tables, list)
			own |= dm_table_get_md(t->ti->table) == md;
	}
	dm_put(md);
	return own;
}

int dm_tier_pool_check_table(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	char uuid[DM_TIER_UUID_CHARS];
	u32 i;

	if (pool->md != dm_table_get_md(c->ti->table))
		return refuse(c->meta_dev->name, "it belongs to another active pool");
	if (pool->read_only != c->features.read_only)
		return refuse(c->meta_dev->name,
			      "read_only cannot change while the pool is active");
	for (i = 0; i < c->nr_devices; i++) {
		struct dm_tier_device *dev = find_record(pool, c->devices[i].label.device_uuid);
		struct dm_dev *dm_dev = c->devices[i].dev;

		if (is_own_volume(pool, dm_dev->bdev))
			return refuse(dm_dev->name, "it is a volume of this very pool");
		if (!dev)
			return refuse(dm_dev->name, "it is no member of the pool");
		if (dev->state == DM_TIER_DEV_LOST)
			return refuse(dm_dev->name, "it was given up as lost");
		/* What was in its cache may be gone, and RAM counts on that. */
		if (dev->left)
			return refuse(dm_dev->name,
				      "it has left the active pool: deactivate that first");
		if (dev->bdev && dev->bdev != dm_dev->bdev)
			return refuse(dm_dev->name,
				      "a member cannot be exchanged while it is in use");
		if (bdev_nr_sectors(dm_dev->bdev) < dm_tier_slot_sector(pool, dev->slots))
			return refuse(dm_dev->name, "it is smaller than its record says");
	}
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];

		if (!dev->present || dev->state == DM_TIER_DEV_LOST ||
		    dev->state == DM_TIER_DEV_NEW || c->features.partial ||
		    dm_tier_table_member(c, dev->uuid))
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

/* What was written there before may still be in its cache: the next FLUSH covers it. */
static void mark_dirty(struct dm_tier_device *dev)
{
	struct dm_tier_pool *pool = dev->pool;
	u32 id;

	spin_lock(&pool->lock);
	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++)
		if (pool->volume[id] && pool->volume[id]->on_tier[dev->tier])
			set_bit(dev->idx, &pool->volume[id]->dirty);
	spin_unlock(&pool->lock);
}

/*
 * What ctr found active may be gone by the time of the resume.  Status or a
 * message may be using it, so it is put with the table.
 */
static void forget_pool(struct dm_tier_pool_table *c)
{
	if (!c->pool)
		return;
	WARN_ON_ONCE(c->old_pool);
	c->old_pool = c->pool;
	WRITE_ONCE(c->pool, NULL);
}

/*
 * Makes the table the bound one and switches to its devices; admin held.
 * -EBUSY if the pool ends: the last table's dtr was faster.
 */
static int bind(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	u32 i;

	mutex_lock(&pool->bound_lock);
	if (pool->leaving) {
		mutex_unlock(&pool->bound_lock);
		return -EBUSY;
	}
	pool->bound = c;
	mutex_unlock(&pool->bound_lock);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];
		struct dm_dev *dm_dev = dev->present ? dm_tier_table_member(c, dev->uuid) : NULL;

		if (pool->mode == MODE_FAIL)
			dm_dev = NULL;
		if (dm_dev && !dev->bdev)
			mark_dirty(dev);
		if (!dm_dev && dev->bdev && !pool->read_only)
			dev->left = true;
		WRITE_ONCE(dev->bdev, dm_dev ? dm_dev->bdev : NULL);
		if (dm_dev && dev->state == DM_TIER_DEV_NEW && !pool->read_only)
			bring_online(dev);
	}
	spin_lock(&pool->lock);
	pool->features = c->features;
	spin_unlock(&pool->lock);
	if (c->pool != pool) {
		forget_pool(c);
		dm_tier_pool_get(pool);
		WRITE_ONCE(c->pool, pool);
	}
	return 0;
}

/* Another table of this pool device is bound: takes its place. */
static int rebind(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	int r;

	/* Before the wait, which is none of another pool device's. */
	if (pool->md != dm_table_get_md(c->ti->table))
		return refuse(c->meta_dev->name, "it belongs to another active pool");
	if (memcmp(pool->uuid, c->super.uuid, 16))
		return refuse(c->meta_dev->name, "it holds another pool now");
	/* Not killable: dm gives the old table, and so the pool, up when this fails. */
	mutex_lock(&pool->admin);
	r = dm_tier_pool_check_table(pool, c);
	r = r ?: bind(pool, c);
	mutex_unlock(&pool->admin);
	if (!r)
		dm_tier_io_kick_space(pool);
	return r;
}

/* Labels that a reload took from a pool that has ended since. */
static int read_labels(struct dm_tier_pool_table *c)
{
	struct dm_tier_label label;
	u32 pauses = 0, i;
	int r;

	for (i = 0; i < c->nr_devices; i++) {
		struct dm_dev *dev = c->devices[i].dev;

		if (!c->devices[i].from_ram)
			continue;
		r = dm_tier_read_label(dev->bdev, &label, &pauses);
		if (r)
			return r;
		if (memcmp(label.pool_uuid, c->devices[i].label.pool_uuid, 16) ||
		    memcmp(label.device_uuid, c->devices[i].label.device_uuid, 16))
			return refuse(dev->name, "its label has changed: load the table again");
	}
	return 0;
}

/* May take as long as its devices take to answer. */
static int load_and_bind(struct dm_tier_pool *pool, struct dm_tier_pool_table *c)
{
	const char *error = NULL;
	int r;

	forget_pool(c);
	r = dm_tier_load(pool, c->meta_dev->bdev, &c->super, &error);
	if (r) {
		DMERR("%s: %s", c->meta_dev->name, error ?: "loading failed");
		return r;
	}
	r = read_labels(c);
	if (r)
		return r;
	mutex_lock(&pool->admin);
	r = dm_tier_pool_check_table(pool, c);
	r = r ?: bind(pool, c);
	mutex_unlock(&pool->admin);
	if (!r)
		dm_tier_meta_start(pool);
	return r;
}

static int pool_preresume(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *pool = dm_tier_pool_get_active(c->meta_dev->bdev->bd_dev);
	bool fresh = !pool;
	int r = 0;

	if (fresh)
		pool = enter_new(c);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	if (fresh) {
		r = load_and_bind(pool, c);
		finish_loading(pool, r);
	} else if (READ_ONCE(pool->leaving)) {
		r = -EBUSY;
	} else if (READ_ONCE(pool->bound) != c) {
		r = rebind(pool, c);
	}
	dm_tier_pool_put(pool);
	return r;
}

static void pool_resume(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;

	/* presuspend_undo comes here too, perhaps without a pool. */
	if (c->pool && c->pool->bound == c)
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

/* All that was acknowledged becomes durable, as far as devices let it. */
static void write_last(struct dm_tier_pool *pool)
{
	u64 last = dm_tier_meta_last_seq(pool);
	int r = dm_tier_meta_commit_once(pool);

	/* A device's flush that failed or was late has put changes off: once more. */
	if (!r && dm_tier_meta_last_seq(pool) > last)
		r = dm_tier_meta_commit_once(pool);
	if (!r && dm_tier_meta_last_seq(pool) > last + 1)
		DMERR("%s: a device could not be flushed: first writes to it are lost",
		      dm_device_name(pool->md));
	r = r ?: dm_tier_meta_checkpoint(pool, true);
	if (r)
		DMERR("%s: the last changes of the metadata are not written: error %d",
		      dm_device_name(pool->md), r);
}

/*
 * The bound table goes, and no other takes its place: the pool is over.  It is
 * marked as leaving.
 */
static void unbind(struct dm_tier_pool *pool)
{
	u32 i;

	mutex_lock(&pool->admin);
	dm_tier_migrate_enable(pool, false);
	dm_tier_migrate_stop(pool, NULL, NULL, 0, MOVE_SUSPENDED);
	dm_tier_migrate_wait(pool, NULL, NULL, 0);
	dm_tier_io_close(pool);
	dm_tier_meta_stop(pool);
	if (!pool->read_only)
		write_last(pool);
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

static void pool_dtr(struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *pool = c->pool;
	bool last = false;

	if (pool) {
		/* In one hold: another table may be taking our place. */
		mutex_lock(&pool->bound_lock);
		last = pool->bound == c;
		if (last)
			WRITE_ONCE(pool->leaving, true);
		mutex_unlock(&pool->bound_lock);
	}
	if (last)
		unbind(pool);
	else if (pool)
		release_devices(pool, c);
	if (pool)
		dm_tier_pool_put(pool);
	dm_tier_table_free(ti, c);
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

/* The target -----------------------------------------------------------------*/

static void pool_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
			char *result, unsigned int maxlen)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *pool = READ_ONCE(c->pool);

	switch (type) {
	case STATUSTYPE_INFO:
		/* A pool that could not be loaded has nothing to tell. */
		if (pool)
			dm_tier_status_info(pool, result, maxlen);
		else
			strscpy(result, "fail", maxlen);
		break;
	case STATUSTYPE_TABLE:
		dm_tier_status_table(c, result, maxlen);
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
	struct dm_tier_pool *pool = READ_ONCE(c->pool);

	if (!pool || !READ_ONCE(pool->bound))
		return -ENODEV;
	return dm_tier_pool_message(pool, argc, argv, result, maxlen);
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
	.ctr = dm_tier_table_ctr,
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
