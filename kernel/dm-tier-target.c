// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target `tier`: one volume of a pool.  Here is the hot path, map() and
 * end_io(): no spinlock, no shared atomic, no allocation, no clock.  All that
 * cannot be done so goes to dm-tier-io.c.
 */
#include <linux/module.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/* Map ------------------------------------------------------------------------*/

static int end_now(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int defer(struct dm_tier_table *t, struct bio *bio, struct dm_tier_bio *tb,
		 u32 uncounted)
{
	if (bio->bi_opf & REQ_NOWAIT)
		return end_now(bio, BLK_STS_AGAIN);
	dm_tier_io_defer(t, tb, uncounted);
	return DM_MAPIO_SUBMITTED;
}

/* FLUSH and discard; whatever else comes is none of ours. */
static int map_special(struct dm_tier_table *t, struct bio *bio, struct dm_tier_bio *tb,
		       sector_t sector)
{
	struct dm_tier_pool *pool = t->pool;
	sector_t size = 1ULL << pool->extent_shift;
	sector_t room = size - (sector & (size - 1));

	if (bio->bi_opf & REQ_PREFLUSH) {
		/* dm sends it on its own, without data. */
		if (WARN_ON_ONCE(bio_sectors(bio)))
			return DM_MAPIO_KILL;
		return defer(t, bio, tb, 0);
	}
	if (bio_op(bio) != REQ_OP_DISCARD)
		return DM_MAPIO_KILL;
	tb->extent = sector >> pool->extent_shift;
	if (bio_sectors(bio) > room)
		dm_accept_partial_bio(bio, room);
	return defer(t, bio, tb, 0);
}

/* Cuts the bio to its first region and hands it to the workers. */
static int map_slow(struct dm_tier_table *t, struct bio *bio, struct dm_tier_bio *tb,
		    struct dm_tier_extent *x, sector_t sector)
{
	struct dm_tier_pool *pool = t->pool;
	sector_t size = 1ULL << pool->region_shift;
	u32 room = size - (sector & (size - 1)), sectors = bio_sectors(bio), uncounted = 0;
	u32 id = t->volume->id;
	bool rest;

	if (op_is_write(bio_op(bio)) && pool->read_only)
		return DM_MAPIO_KILL;
	if (bio->bi_opf & REQ_NOWAIT)
		return end_now(bio, BLK_STS_AGAIN);

	spin_lock(&pool->cuts_lock);
	rest = dm_tier_cuts_take(&pool->cuts, id, sector, sector + sectors);
	if (sectors > room)
		dm_tier_cuts_add(&pool->cuts, id, sector + room, sector + sectors);
	spin_unlock(&pool->cuts_lock);

	preempt_disable();
	if (rest)
		dm_tier_heat_is_rest(this_cpu_ptr(pool->heat), id, sector, sectors);
	else if (x)
		dm_tier_heat_count(this_cpu_ptr(pool->heat),
				   dm_tier_extent_counters(x, tb->extent), id,
				   tb->extent, &pool->counter_generation,
				   op_is_write(bio_op(bio)), sector, sectors);
	else
		uncounted = sectors;
	if (sectors > room)
		dm_tier_heat_cut(this_cpu_ptr(pool->heat), id, sector, sector + sectors, room);
	preempt_enable();

	tb->last = tb->first;
	if (sectors > room)
		dm_accept_partial_bio(bio, room);
	return defer(t, bio, tb, uncounted);
}

static int tier_map(struct dm_target *ti, struct bio *bio)
{
	struct dm_tier_table *t = ti->private;
	struct dm_tier_volume *v = t->volume;
	struct dm_tier_pool *pool = t->pool;
	struct dm_tier_bio *tb = dm_per_bio_data(bio, sizeof(*tb));
	sector_t sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	u64 entry, want = ENTRY_ALLOCATED, never = ENTRY_FROZEN, mask, offset, last;
	struct dm_tier_device *dev;
	struct block_device *bdev;
	struct dm_tier_extent *x;
	u32 sectors = bio_sectors(bio), epoch, extent, first;
	bool write = false;

	tb->dev = NULL;
	tb->stage = BIO_FAST;
	if (bio_op(bio) == REQ_OP_WRITE && !(bio->bi_opf & REQ_PREFLUSH)) {
		write = true;
		never |= ENTRY_FORCED;
		if (bio->bi_opf & REQ_FUA) {
			never |= ENTRY_CHANGED_ANY;
			if (READ_ONCE(v->flush_failed))
				want |= ENTRY_NO_SUCH;
		}
	} else if (bio_op(bio) != REQ_OP_READ) {
		return map_special(t, bio, tb, sector);
	}

	mask = (1ULL << pool->extent_shift) - 1;
	offset = sector & mask;
	last = offset + sectors - 1;
	if (unlikely(last > mask)) {
		last = mask;
		sectors = mask + 1 - offset;
		dm_accept_partial_bio(bio, sectors);
	}
	/* Locals: what is in *tb would be read again after each barrier. */
	extent = sector >> pool->extent_shift;
	first = offset >> pool->region_shift;
	last >>= pool->region_shift;
	tb->extent = extent;
	tb->first = first;
	tb->last = last;

	preempt_disable();
	x = dm_tier_volume_extent(v, extent);
	if (unlikely(!x))
		goto slow;
	for (;;) {
		/* Pairs with the barrier in dm_tier_extent_map(): its bitmap, not the last. */
		entry = smp_load_acquire(&x->entry);
		if (unlikely((entry & (want | never)) != want) ||
		    !dm_tier_regions_valid(x, entry, first, last))
			goto slow;
		dev = pool->device[entry_device(entry)];
		epoch = dm_tier_device_get(dev);
		if (likely(DM_TIER_REREAD(&x->entry, entry) == entry))
			break;
		dm_tier_device_put(dev, epoch);
	}
	bdev = READ_ONCE(dev->bdev);
	this_cpu_add(dev->inflight->sectors, sectors);
	dm_tier_heat_count(this_cpu_ptr(pool->heat), dm_tier_extent_counters(x, extent),
			   v->id, extent, &pool->counter_generation, write, sector, sectors);
	preempt_enable();

	if (unlikely(!bdev || (write && pool->read_only))) {
		/* dm does not call end_io for a bio that it kills. */
		dm_tier_device_put(dev, epoch);
		return DM_MAPIO_KILL;
	}
	tb->dev = dev;
	tb->x = x;
	tb->epoch = epoch;
	bio_set_dev(bio, bdev);
	bio->bi_iter.bi_sector = dm_tier_slot_sector(pool, entry_slot(entry)) + offset;
	return DM_MAPIO_REMAPPED;
slow:
	preempt_enable();
	return map_slow(t, bio, tb, x, sector);
}

/* A write has ended: its regions are dirty, if its extent is being moved. */
static void mark_dirty(struct dm_tier_table *t, struct dm_tier_bio *tb)
{
	struct dm_tier_volume *v = t->volume;
	struct dm_tier_move *m;

	if (!test_bit(tb->dev->idx, &v->dirty))
		set_bit(tb->dev->idx, &v->dirty);
	/* If the flag comes up only now, the move's copies begin after this write ended. */
	if (likely(!(READ_ONCE(tb->x->entry) & ENTRY_MIGRATING)))
		return;
	rcu_read_lock();
	m = dm_tier_migrate_find(t->pool, v, tb->extent);
	if (m)
		dm_tier_migrate_mark(m, tb->first, tb->last);
	rcu_read_unlock();
}

static int tier_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct dm_tier_table *t = ti->private;
	struct dm_tier_bio *tb = dm_per_bio_data(bio, sizeof(*tb));
	struct dm_tier_device *dev = tb->dev;

	if (likely(dev)) {
		if (op_is_write(bio_op(bio)))
			mark_dirty(t, tb);
		/* A device below without NOWAIT is none of the submitter's business. */
		if (unlikely(*error == BLK_STS_NOTSUPP && (bio->bi_opf & REQ_NOWAIT)))
			*error = BLK_STS_AGAIN;
		if (unlikely(*error && *error != BLK_STS_AGAIN))
			dm_tier_pool_device_error(dev);
		tb->dev = NULL;
		/* Pairs with the barrier after a drain's sums: it sees the marks. */
		smp_wmb();
		dm_tier_device_put(dev, tb->epoch);
	}
	if (likely(tb->stage == BIO_FAST))
		return DM_ENDIO_DONE;
	return dm_tier_io_ended(tb, error);
}

/* Tables ---------------------------------------------------------------------*/

static int find_pool(struct dm_target *ti, struct dm_tier_table *t)
{
	struct mapped_device *md = dm_get_md(t->pool_dev->bdev->bd_dev);

	if (!md) {
		ti->error = "The pool device is no device-mapper device";
		return -EINVAL;
	}
	t->pool = dm_tier_pool_find(md);
	dm_put(md);
	if (!t->pool) {
		ti->error = "The pool device is no active tier-pool";
		return -EINVAL;
	}
	return 0;
}

/* Enters the table in the volume's list: admin held. */
static int join_volume(struct dm_target *ti, struct dm_tier_table *t, u32 id)
{
	struct dm_tier_volume *v = t->pool->volume[id];
	u64 extents = ti->len >> t->pool->extent_shift;

	if (!t->pool->bound) {
		ti->error = "The pool is being removed";
		return -ENODEV;
	}
	if (!v || v->deleted) {
		ti->error = "The pool has no such volume";
		return -ENOENT;
	}
	if (ti->begin || ti->len & ((1ULL << t->pool->extent_shift) - 1)) {
		ti->error = "A volume is mapped from 0 on and in whole extents";
		return -EINVAL;
	}
	if (extents > v->extents) {
		ti->error = "The table is longer than the volume";
		return -EINVAL;
	}
	t->volume = v;
	t->extents = extents;
	list_add_tail(&t->list, &v->tables);
	return 0;
}

static int tier_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_tier_table *t;
	u64 id;
	int r;

	if (argc != 2 ||
	    dm_tier_args_u64(argv[1], 0, DM_TIER_MAX_VOLUMES - 1, &id)) {
		ti->error = "Expected <pool device> <volume id>";
		return -EINVAL;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "No memory for the table";
		return -ENOMEM;
	}
	t->ti = ti;
	r = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &t->pool_dev);
	if (r) {
		ti->error = "No such pool device";
		goto err_table;
	}
	r = find_pool(ti, t);
	if (r)
		goto err_device;
	mutex_lock(&t->pool->admin);
	r = join_volume(ti, t, id);
	mutex_unlock(&t->pool->admin);
	if (r)
		goto err_pool;

	ti->private = t;
	ti->per_io_data_size = sizeof(struct dm_tier_bio);
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->accounts_remapped_io = true;
	ti->limit_swap_bios = true;
	return 0;

err_pool:
	dm_tier_pool_put(t->pool);
err_device:
	dm_put_device(ti, t->pool_dev);
err_table:
	kfree(t);
	return r;
}

static void tier_dtr(struct dm_target *ti)
{
	struct dm_tier_table *t = ti->private;

	mutex_lock(&t->pool->admin);
	list_del(&t->list);
	/* Nobody is left who would write. */
	if (list_empty(&t->volume->tables)) {
		spin_lock(&t->pool->lock);
		__dm_tier_io_set_space(t->volume, SPACE_ENOUGH);
		spin_unlock(&t->pool->lock);
	}
	mutex_unlock(&t->pool->admin);
	dm_put_device(ti, t->pool_dev);
	dm_tier_pool_put(t->pool);
	kfree(t);
}

static int tier_preresume(struct dm_target *ti)
{
	struct dm_tier_table *t = ti->private;
	int r = 0;

	/* As ctr did; the volume cannot go while our table is in its list. */
	mutex_lock(&t->pool->admin);
	if (!t->pool->bound || t->extents > t->volume->extents) {
		DMERR("volume %u: the pool was removed, or the volume shrunk", t->volume->id);
		r = -EINVAL;
	}
	mutex_unlock(&t->pool->admin);
	return r;
}

static void tier_resume(struct dm_target *ti)
{
	struct dm_tier_table *t = ti->private;

	WRITE_ONCE(t->suspending, false);
}

static void tier_presuspend(struct dm_target *ti)
{
	struct dm_tier_table *t = ti->private;

	WRITE_ONCE(t->suspending, true);
	dm_tier_migrate_stop(t->pool, t->volume, NULL, 0, MOVE_SUSPENDED);
	dm_tier_io_kick_all(t->pool);
	dm_tier_migrate_wait(t->pool, t->volume, NULL, 0);
}

static void tier_presuspend_undo(struct dm_target *ti)
{
	tier_resume(ti);
}

static void tier_postsuspend(struct dm_target *ti)
{
	struct dm_tier_table *t = ti->private;

	/* One try; what fails stays open and is tried again. */
	dm_tier_meta_commit_once(t->pool);
}

static void tier_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
			char *result, unsigned int maxlen)
{
	struct dm_tier_table *t = ti->private;
	struct dm_tier_volume *v = t->volume;
	enum dm_tier_space_state space;
	u32 on_tier[DM_TIER_MAX_TIERS], allocated, i, tiers = 0;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		spin_lock(&t->pool->lock);
		memcpy(on_tier, v->on_tier, sizeof(on_tier));
		allocated = v->allocated;
		space = v->space_state;
		spin_unlock(&t->pool->lock);
		for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
			if (t->pool->device[i]->present)
				tiers = max(tiers, t->pool->device[i]->tier + 1);
		DMEMIT("%s %llu %u/%u %u", dm_tier_pool_mode_word(t->pool, space), v->generation,
		       allocated, v->extents, tiers);
		for (i = 0; i < tiers; i++)
			DMEMIT(" %u", on_tier[i]);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %u", t->pool_dev->name, v->id);
		break;
	case STATUSTYPE_IMA:
		*result = '\0';
		break;
	}
}

static int tier_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				void *data)
{
	struct dm_tier_table *t = ti->private;

	/* Limits are those of the pool device, which stacks all data devices'. */
	return fn(ti, t->pool_dev, 0, 1ULL << t->pool->extent_shift, data);
}

static void tier_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct dm_tier_table *t = ti->private;
	struct dm_tier_pool *pool = t->pool;
	u32 region = 1U << (pool->region_shift + SECTOR_SHIFT);

	limits->logical_block_size = max(limits->logical_block_size,
					 pool->meta->super.logical_block_bytes);
	limits->physical_block_size = max(limits->physical_block_size,
					  limits->logical_block_size);
	limits->io_min = max(limits->io_min, limits->physical_block_size);
	limits->discard_granularity = region;
	limits->discard_alignment = 0;
	limits->max_discard_sectors = 1U << pool->extent_shift;
	limits->max_hw_discard_sectors = limits->max_discard_sectors;
}

static struct target_type tier_target = {
	.name = "tier",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = tier_ctr,
	.dtr = tier_dtr,
	.map = tier_map,
	.end_io = tier_end_io,
	.presuspend = tier_presuspend,
	.presuspend_undo = tier_presuspend_undo,
	.postsuspend = tier_postsuspend,
	.preresume = tier_preresume,
	.resume = tier_resume,
	.status = tier_status,
	.iterate_devices = tier_iterate_devices,
	.io_hints = tier_io_hints,
};

static int __init dm_tier_init(void)
{
	int r = dm_tier_volume_init();

	if (r)
		return r;
	r = dm_register_target(&dm_tier_pool_target);
	if (r)
		goto err_volume;
	r = dm_register_target(&tier_target);
	if (r)
		goto err_pool;
	return 0;

err_pool:
	dm_unregister_target(&dm_tier_pool_target);
err_volume:
	dm_tier_volume_exit();
	return r;
}

static void __exit dm_tier_exit(void)
{
	dm_unregister_target(&tier_target);
	dm_unregister_target(&dm_tier_pool_target);
	/* Callbacks that free bitmaps and moves. */
	rcu_barrier();
	dm_tier_volume_exit();
}

module_init(dm_tier_init);
module_exit(dm_tier_exit);

MODULE_DESCRIPTION(DM_NAME " target for automatic tiering of logical volumes");
MODULE_AUTHOR("dm-tier developers");
MODULE_LICENSE("GPL");
MODULE_ALIAS("dm-tier-pool");
