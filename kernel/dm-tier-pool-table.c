// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool's table: the devices and features that its line names, opened and
 * identified.  What it is bound to, and when, is dm-tier-pool-target.c's matter.
 */
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"

/* Members and end ------------------------------------------------------------*/

struct dm_dev *dm_tier_table_member(struct dm_tier_pool_table *c, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < c->nr_devices; i++)
		if (!memcmp(c->devices[i].label.device_uuid, uuid, 16))
			return c->devices[i].dev;
	return NULL;
}

void dm_tier_table_free(struct dm_target *ti, struct dm_tier_pool_table *c)
{
	u32 i;

	for (i = 0; i < c->nr_devices; i++)
		dm_put_device(ti, c->devices[i].dev);
	if (c->meta_dev)
		dm_put_device(ti, c->meta_dev);
	if (c->old_pool)
		dm_tier_pool_put(c->old_pool);
	kfree(c);
}

/* Construction ---------------------------------------------------------------*/

/* What ctr knows besides its table. */
struct construction {
	struct dm_tier_pool *active;	/* counted: on this metadata device; or NULL */
	u32 pauses;			/* see dm_tier_read_super() */
};

/*
 * A reload reads nothing of what the pool knows: devices that it is to be rid of
 * may not be able to answer.
 */
static bool is_reload(const struct construction *con, struct dm_target *ti)
{
	return con->active && con->active->md == dm_table_get_md(ti->table) &&
		!READ_ONCE(con->active->leaving);
}

/* 1: it is known; 0, -EINTR. */
static int known_label(struct construction *con, struct block_device *bdev,
		       struct dm_tier_label *ret_label)
{
	struct dm_tier_pool *pool = con->active;
	int known = 0;
	u32 i;

	/* Held by a pool that ends until its devices have answered. */
	if (mutex_lock_killable(&pool->admin))
		return -EINTR;
	for (i = 0; !known && i < DM_TIER_MAX_DEVICES; i++) {
		const struct dm_tier_device *dev = pool->device[i];

		if (!dev->present || READ_ONCE(dev->bdev) != bdev)
			continue;
		known = 1;
		ret_label->idx = i;
		memcpy(ret_label->pool_uuid, pool->meta->super.uuid, 16);
		memcpy(ret_label->device_uuid, dev->uuid, 16);
	}
	mutex_unlock(&pool->admin);
	return known;
}

static const char *check_label(struct dm_target *ti, struct construction *con, struct dm_dev *dev,
			       struct dm_tier_label *ret_label, bool *ret_from_ram)
{
	struct dm_tier_pool_table *c = ti->private;
	int r = is_reload(con, ti) ? known_label(con, dev->bdev, ret_label) : 0;

	*ret_from_ram = r == 1;
	if (!r)
		r = dm_tier_read_label(dev->bdev, ret_label, &con->pauses);
	if (r < 0)
		return r == -EBADMSG ? "A data device has no label: it is not of this pool" :
				       "Reading a data device's label failed";
	if (memcmp(ret_label->pool_uuid, c->super.uuid, 16))
		return "A data device belongs to another pool";
	if (dm_tier_table_member(c, ret_label->device_uuid))
		return "A data device is given twice";
	if (bdev_is_zoned(dev->bdev))
		return "Zoned data devices are not supported";
	if (bdev_logical_block_size(dev->bdev) > c->super.logical_block_bytes)
		return "A data device has larger logical blocks than the pool";
	return NULL;
}

static int get_data_device(struct dm_target *ti, struct construction *con, const char *path)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_label label;
	const char *error;
	struct dm_dev *dev;
	bool from_ram;
	int r = dm_get_device(ti, path, dm_table_get_mode(ti->table), &dev);

	if (r) {
		ti->error = "No such data device";
		DMERR("%s: cannot be opened", path);
		return r;
	}
	error = check_label(ti, con, dev, &label, &from_ram);
	if (error) {
		ti->error = (char *)error;
		DMERR("%s: %s", path, error);
		dm_put_device(ti, dev);
		return -EINVAL;
	}
	c->devices[c->nr_devices].dev = dev;
	c->devices[c->nr_devices].label = label;
	c->devices[c->nr_devices].from_ram = from_ram;
	c->nr_devices++;
	return 0;
}

/* What never changes in a superblock. */
static void copy_identity(const struct dm_tier_super *super, struct dm_tier_super *ret_super)
{
	memcpy(ret_super->uuid, super->uuid, sizeof(super->uuid));
	ret_super->extent_sectors = super->extent_sectors;
	ret_super->region_sectors = super->region_sectors;
	ret_super->logical_block_bytes = super->logical_block_bytes;
}

/* What would be refused at the resume would cost the table that is live. */
static int find_active(struct construction *con, struct dm_target *ti)
{
	struct dm_tier_pool_table *c = ti->private;
	struct dm_tier_pool *active = dm_tier_pool_get_active(c->meta_dev->bdev->bd_dev);
	struct dm_tier_pool *other;

	if (IS_ERR(active)) {
		ti->error = "The pool is being loaded";
		return PTR_ERR(active);
	}
	con->active = active;
	other = active ? NULL : dm_tier_pool_find(dm_table_get_md(ti->table));
	if (!other)
		return 0;
	dm_tier_pool_put(other);
	ti->error = "The pool is active with other metadata";
	return -EINVAL;
}

static int get_meta_device(struct dm_target *ti, struct construction *con, const char *path)
{
	struct dm_tier_pool_table *c = ti->private;
	u32 place;
	int r = dm_get_device(ti, path, dm_table_get_mode(ti->table), &c->meta_dev);

	if (r) {
		ti->error = "No such metadata device";
		return r;
	}
	r = find_active(con, ti);
	if (r)
		return r;
	if (is_reload(con, ti))
		copy_identity(&con->active->meta->super, &c->super);
	else
		r = dm_tier_read_super(c->meta_dev->bdev, &c->super, &place, NULL,
				       &con->pauses);
	if (r == -ENXIO)
		ti->error = "The metadata device is too small to have been formatted";
	else if (r == -EBADMSG)
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

/*
 * A reload: do the devices fit to the pool that is active?  By name in the log.
 * If so the table knows the pool from now on: once it is live, status and
 * messages must not wait for its resume.
 */
static int check_bound(struct dm_target *ti, struct dm_tier_pool *pool)
{
	struct dm_tier_pool_table *c = ti->private;
	int r = 0;

	if (!pool)
		return 0;
	if (mutex_lock_killable(&pool->admin)) {
		ti->error = "Interrupted while the pool was busy";
		return -EINTR;
	}
	if (pool->bound && !READ_ONCE(pool->leaving))
		r = dm_tier_pool_check_table(pool, c);
	mutex_unlock(&pool->admin);
	if (r)
		ti->error = "The table does not fit to the active pool: see the line above";
	if (!r && pool->md == dm_table_get_md(ti->table)) {
		dm_tier_pool_get(pool);
		c->pool = pool;
	}
	return r;
}

int dm_tier_table_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct construction con = { 0 };
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
	ti->private = c;
	r = get_features(argc - 2 - devices, argv + 2 + devices, &c->features, &error);
	if (r) {
		ti->error = (char *)error;
		goto err_table;
	}
	r = get_meta_device(ti, &con, argv[0]);
	for (i = 0; !r && i < devices; i++)
		r = get_data_device(ti, &con, argv[2 + i]);
	r = r ?: check_bound(ti, con.active);
	if (con.active)
		dm_tier_pool_put(con.active);
	if (r)
		goto err_table;
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	return 0;

err_table:
	dm_tier_table_free(ti, c);
	return r;
}
