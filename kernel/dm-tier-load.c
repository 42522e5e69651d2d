// SPDX-License-Identifier: GPL-2.0-only
/*
 * From disk to RAM: superblock, checkpoint, log, then the maps.  Runs once in
 * the life of a struct dm_tier_pool, from preresume, before any other I/O.
 *
 * What a read-write load read may have come from a drive's cache or from one
 * leg of a mirror.  So that it can neither vanish nor come back later, the
 * superblock in use and the last whole commit are written again byte by byte,
 * and a commit with a higher incarnation follows, before anything else.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>
#include "dm-tier-device.h"
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

struct load {
	struct dm_tier_pool *pool;
	struct block_device *bdev;
	struct dm_tier_super super;
	u32 place;
	void *super_block;		/* its bytes, as they were read */
	struct dm_tier_image *image;
	void *ring;
	struct dm_tier_log_end end;
	u64 incarnation;		/* of this activation */
	u64 next_ckpt_id;
	u32 pauses;		/* see read_blocks() */
	const char *error;
};

/* Reads ----------------------------------------------------------------------*/

#define READ_PAUSES	4
#define READ_PAUSE	HZ

/*
 * A read error is no mismatch, and often not the last word (a path that fails
 * over, a leg that is repaired): it is tried again.  But not for ever, all reads
 * of one table or load together: others wait for us.
 */
static int read_blocks(struct block_device *bdev, u64 block, void *buffer, u32 count,
		       u32 *pauses)
{
	for (;;) {
		sector_t sectors = bdev_nr_sectors(bdev);
		int r = -EIO;

		if (sectors && (block + count) * DM_TIER_BLOCK_SECTORS > sectors)
			return -ENXIO;
		/* Of size 0 is a disk that is gone, or a device below without a table. */
		if (sectors)
			r = dm_tier_meta_rw(bdev, REQ_OP_READ, block, buffer, count);
		if (!r || *pauses >= READ_PAUSES)
			return r;
		DMWARN_LIMIT("%pg: reading %u blocks from %llu on: error %d; trying again",
			     bdev, count, block, r);
		(*pauses)++;
		schedule_timeout_killable(READ_PAUSE);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

/* Superblocks and labels -----------------------------------------------------*/

static u64 place_block(u32 place)
{
	return place ? DM_TIER_SUPER_BLOCK_1 : DM_TIER_SUPER_BLOCK_0;
}

int dm_tier_read_super(struct block_device *bdev, struct dm_tier_super *ret_super,
		       u32 *ret_place, void *ret_block, u32 *pauses)
{
	struct dm_tier_super *super = kmalloc(sizeof(*super), GFP_KERNEL);
	void *block = (void *)__get_free_page(GFP_KERNEL);
	int r = -ENOMEM, found = -EBADMSG;
	bool too_small = false;
	u32 place;

	if (!super || !block)
		goto out;
	for (place = 0; place < 2; place++) {
		/* Unread, it may be the newer one: the other is not enough. */
		r = read_blocks(bdev, place_block(place), block, 1, pauses);
		r = r ?: dm_tier_super_decode_at(block, place_block(place), super);
		too_small |= r == -ENXIO;
		if (r == -EBADMSG || r == -ENXIO)
			continue;
		if (r)
			goto out;
		if (found && found != -EBADMSG)
			continue;
		if (!found && super->version <= ret_super->version)
			continue;
		*ret_super = *super;
		*ret_place = place;
		if (ret_block)
			memcpy(ret_block, block, DM_TIER_BLOCK_BYTES);
		found = 0;
	}
	r = found && too_small ? -ENXIO : found;
out:
	free_page((unsigned long)block);
	kfree(super);
	return r;
}

int dm_tier_read_label(struct block_device *bdev, struct dm_tier_label *ret_label,
		       u32 *pauses)
{
	void *block = (void *)__get_free_page(GFP_KERNEL);
	int r;

	if (!block)
		return -ENOMEM;
	r = read_blocks(bdev, 0, block, 1, pauses);
	r = r ?: dm_tier_label_decode(block, ret_label);
	free_page((unsigned long)block);
	return r == -ENXIO ? -EBADMSG : r;
}

/* Checkpoint and log ---------------------------------------------------------*/

static int apply(void *ctx, const struct dm_tier_record *rec)
{
	return dm_tier_image_apply(ctx, rec);
}

static int apply_block(struct load *l, const void *block)
{
	struct dm_tier_record *rec = kmalloc(sizeof(*rec), GFP_KERNEL);
	u32 offset = 0;
	int r;

	if (!rec)
		return -ENOMEM;
	while ((r = dm_tier_block_next(block, &offset, rec)) > 0) {
		r = dm_tier_image_apply(l->image, rec);
		if (r)
			break;
	}
	kfree(rec);
	return r;
}

static int read_checkpoint(struct load *l, const struct dm_tier_ckpt_ref *ref)
{
	u64 start = dm_tier_area_start(&l->super, ref->area);
	void *buffer = l->pool->meta->ckpt_buffer;
	u64 done = 0;
	int r = 0;

	if (ref->blocks > l->super.area_blocks)
		return -EBADMSG;
	while (!r && done < ref->blocks) {
		u32 n = min_t(u64, ref->blocks - done, DM_TIER_COMMIT_BLOCKS), i;

		r = read_blocks(l->bdev, start + done, buffer, n, &l->pauses);
		for (i = 0; !r && i < n; i++) {
			void *block = buffer + (size_t)i * DM_TIER_BLOCK_BYTES;

			r = dm_tier_ckpt_decode(block, l->super.uuid, ref->id, done + i);
			r = r ?: apply_block(l, block);
		}
		done += n;
		cond_resched();
	}
	return r;
}

/* From the newest checkpoint, or the one before; leaves the used one in ckpt[0]. */
static int read_state(struct load *l)
{
	int i, r = -EBADMSG;

	for (i = 0; i < 2 && l->super.ckpt[i].id; i++) {
		dm_tier_image_free(l->image);
		l->image = dm_tier_image_alloc(l->pool->regions);
		if (!l->image)
			return -ENOMEM;
		r = read_checkpoint(l, &l->super.ckpt[i]);
		if (!r)
			r = dm_tier_log_replay(l->ring, l->super.log_blocks, l->super.uuid,
					       &l->super.ckpt[i], l->super.final_seq,
					       apply, l->image, &l->end);
		if (r != -EBADMSG)
			break;
		DMWARN("checkpoint %llu is damaged", l->super.ckpt[i].id);
	}
	if (r) {
		l->error = r == -EBADMSG ? "No checkpoint is whole: see tpcheck(8)" :
					   "Reading the metadata failed";
		return r;
	}
	if (i == 1) {
		l->super.ckpt[0] = l->super.ckpt[1];
		l->super.ckpt[1].id = 0;
	}
	return 0;
}

static int read_ring(struct load *l)
{
	u64 start = dm_tier_log_start(&l->super), done;
	int r;

	l->ring = vmalloc(l->super.log_blocks * DM_TIER_BLOCK_BYTES);
	if (!l->ring) {
		l->error = "No memory for the log";
		return -ENOMEM;
	}
	for (done = 0; done < l->super.log_blocks; done += DM_TIER_COMMIT_BLOCKS) {
		u32 n = min_t(u64, l->super.log_blocks - done, DM_TIER_COMMIT_BLOCKS);

		r = read_blocks(l->bdev, start + done, l->ring + done * DM_TIER_BLOCK_BYTES,
				n, &l->pauses);
		if (r) {
			l->error = "Reading the log failed";
			return r;
		}
		cond_resched();
	}
	return 0;
}

/* The maps -------------------------------------------------------------------*/

static void stale_slot(void *ctx, u32 device, u32 slot)
{
	struct load *l = ctx;
	struct dm_tier_image_slot *s = &l->image->device[device].slot[slot];
	int id = dm_tier_image_find_generation(l->image, s->generation);

	/* Beyond the end of its volume: see dm_tier_volume.stale_ckpt. */
	if (id >= 0 && l->pool->volume[id])
		l->pool->volume[id]->stale_ckpt = l->next_ckpt_id;
}

static void fault(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot)
{
	static const char * const what[] = {
		[DM_TIER_FAULT_TWO_OWNERS] = "its extent has another slot too",
		[DM_TIER_FAULT_SLOT_RANGE] = "it lies beyond its device",
		[DM_TIER_FAULT_NO_DEVICE] = "its device has no record",
		[DM_TIER_FAULT_GENERATION] = "its volume's generation is not valid",
	};

	DMERR_LIMIT("device %u slot %u: %s", device, slot, what[fault]);
}

static int make_volumes(struct load *l)
{
	struct dm_tier_pool *pool = l->pool;
	u32 id;

	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++) {
		struct dm_tier_record *rec = l->image->volume[id];
		struct dm_tier_volume *v;

		if (!rec)
			continue;
		v = dm_tier_volume_alloc(pool, id, rec->volume.generation,
					 rec->volume.extents);
		if (!v)
			return -ENOMEM;
		memcpy(v->uuid, rec->volume.uuid, sizeof(v->uuid));
		v->tiers = rec->volume.tiers;
		memcpy(v->placement, rec->volume.placement, sizeof(v->placement));
		/* The older checkpoint may know it with a larger size: see settled. */
		v->stale_ckpt = l->super.ckpt[0].id;
		v->label_bytes = rec->volume.label_bytes;
		memcpy(v->label, rec->volume.label, v->label_bytes);
		pool->volume[id] = v;
	}
	return 0;
}

static int make_owner(struct load *l, struct dm_tier_device *dev, u32 slot,
		      const struct dm_tier_image_slot *s)
{
	struct dm_tier_pool *pool = l->pool;
	int id = dm_tier_image_find_generation(l->image, s->generation);
	struct dm_tier_bits *bits = NULL;
	struct dm_tier_volume *v;
	struct dm_tier_extent *x;

	if (id < 0)
		return id;
	v = pool->volume[id];
	if (!s->full) {
		bits = dm_tier_bits_alloc(pool, GFP_KERNEL);
		bitmap_from_arr64(bits->bits, s->valid, pool->regions);
	}
	dm_tier_volume_need_chunk(v, s->extent);
	spin_lock(&pool->lock);
	if (__test_and_clear_bit(slot, dev->free_map))
		dev->free--;
	dev->used++;
	x = dm_tier_volume_extent(v, s->extent);
	dm_tier_extent_map(v, s->extent, x, dev, slot, bits);
	if (s->full)
		dm_tier_entry_update(x, 0, ENTRY_FULL);
	spin_unlock(&pool->lock);
	return 0;
}

static int make_device(struct load *l, u32 idx)
{
	struct dm_tier_image_device *d = &l->image->device[idx];
	struct dm_tier_device *dev = l->pool->device[idx];
	u32 slot;
	int r;

	if (!d->present)
		return 0;
	dev->present = true;
	dev->tier = d->tier;
	dev->state = d->state;
	dev->reserve_slots = d->reserve_slots;
	memcpy(dev->uuid, d->uuid, sizeof(dev->uuid));
	r = dm_tier_device_grow(dev, d->slots, NULL);
	for (slot = 0; !r && slot < min(d->slots, d->nr_slot); slot++) {
		if (d->slot[slot].quarantine) {
			spin_lock(&l->pool->lock);
			dm_tier_device_quarantine_slot(dev, slot);
			spin_unlock(&l->pool->lock);
		}
		if (d->slot[slot].generation)
			r = make_owner(l, dev, slot, &d->slot[slot]);
		if (!(slot % 1024))
			cond_resched();
	}
	return r;
}

static int make_maps(struct load *l)
{
	struct dm_tier_pool *pool = l->pool;
	int r = make_volumes(l);
	u32 idx;

	r = r ?: dm_tier_image_check(l->image, stale_slot, fault, l);
	if (r > 0) {
		l->error = "The metadata contradict themselves: see tpcheck(8)";
		return -EUCLEAN;
	}
	pool->next_generation = l->image->next_generation;
	pool->label_bytes = l->image->pool_label_bytes;
	memcpy(pool->label, l->image->pool_label, pool->label_bytes);
	for (idx = 0; !r && idx < DM_TIER_MAX_DEVICES; idx++)
		r = make_device(l, idx);
	if (r)
		l->error = "No memory for the maps";
	return r;
}

/* Activation -----------------------------------------------------------------*/

/* What was read last is written again: see the head of this file. */
static int rewrite(struct load *l)
{
	u64 start = dm_tier_log_start(&l->super), position = l->end.last_position;
	u32 i;
	int r;

	r = dm_tier_meta_rw(l->bdev, REQ_OP_WRITE, place_block(l->place), l->super_block, 1);
	for (i = 0; !r && i < l->end.last_count; i++) {
		r = dm_tier_meta_rw(l->bdev, REQ_OP_WRITE, start + position,
				    l->ring + position * DM_TIER_BLOCK_BYTES, 1);
		position = (position + 1) % l->super.log_blocks;
	}
	/* One commit in flight: the next must not reach the medium before this one. */
	return r ?: blkdev_issue_flush(l->bdev);
}

static u64 ring_distance(struct load *l, const struct dm_tier_ckpt_ref *ref)
{
	return (l->end.position + l->super.log_blocks - ref->position) %
		l->super.log_blocks;
}

static int activate(struct load *l)
{
	struct dm_tier_meta *meta = l->pool->meta;
	int r;

	spin_lock(&l->pool->lock);
	meta->durable_seq = l->end.commit;
	meta->open_seq = l->end.commit + 1;
	meta->position = l->end.position;
	meta->prev_crc = l->end.crc;
	meta->incarnation = l->incarnation;
	meta->since_ckpt = ring_distance(l, &l->super.ckpt[0]);
	/*
	 * If the older one's distance is less, a checkpoint under way had given it
	 * up, and its log.
	 */
	meta->since_tail = meta->since_ckpt;
	if (l->super.ckpt[1].id)
		meta->since_tail = max(meta->since_tail, ring_distance(l, &l->super.ckpt[1]));
	meta->older_ckpt_id = l->super.ckpt[1].id;
	meta->next_ckpt_id = l->next_ckpt_id;
	meta->done_ckpt_id = l->super.ckpt[0].id;
	meta->super = l->super;
	meta->super_place = l->place;
	spin_unlock(&l->pool->lock);

	if (l->pool->read_only)
		return 0;
	if (meta->since_ckpt + 1 >= l->super.log_blocks) {
		l->error = "The log is full: see tprepair(8)";
		return -ENOSPC;
	}
	r = rewrite(l);
	r = r ?: dm_tier_meta_activate(l->pool);
	if (r)
		l->error = "Writing the metadata failed";
	return r;
}

static int read_super(struct load *l, const struct dm_tier_super *expected)
{
	int r = dm_tier_read_super(l->bdev, &l->super, &l->place, l->super_block,
				   &l->pauses);

	if (r) {
		l->error = r == -EBADMSG || r == -ENXIO ?
			   "No valid superblock on the metadata device" :
			   "Reading the superblock failed";
		return r;
	}
	if (memcmp(l->super.uuid, expected->uuid, sizeof(expected->uuid)) ||
	    l->super.extent_sectors != expected->extent_sectors ||
	    l->super.region_sectors != expected->region_sectors) {
		l->error = "The metadata device was formatted anew";
		return -EINVAL;
	}
	if (dm_tier_super_blocks(&l->super) * DM_TIER_BLOCK_SECTORS >
	    bdev_nr_sectors(l->bdev)) {
		l->error = "The metadata device is smaller than its superblock says";
		return -EINVAL;
	}
	return 0;
}

static int load(struct load *l, const struct dm_tier_super *expected)
{
	struct dm_tier_pool *pool = l->pool;
	int r = read_super(l, expected);

	if (r)
		return r;
	l->next_ckpt_id = max(l->super.ckpt[0].id, l->super.ckpt[1].id) + 1;
	r = read_ring(l);
	r = r ?: read_state(l);
	if (r)
		return r;
	/* Beyond all ids that an earlier incarnation may have begun with. */
	l->incarnation = max(l->end.incarnation, l->end.max_incarnation) + 1;
	l->next_ckpt_id = max(l->next_ckpt_id, l->incarnation << 32);
	if (l->end.damaged) {
		DMERR("the log has a hole at commit %llu", l->end.damage_commit);
		pool->needs_check = true;
		if (!pool->read_only) {
			l->error = "The log is damaged: see tpcheck(8), or activate read_only";
			return -EUCLEAN;
		}
	}
	r = make_maps(l);
	return r ?: activate(l);
}

int dm_tier_load(struct dm_tier_pool *pool, struct block_device *bdev,
		 const struct dm_tier_super *expected, const char **ret_error)
{
	struct load *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int r;

	if (!l) {
		*ret_error = "No memory to load the metadata";
		return -ENOMEM;
	}
	l->pool = pool;
	l->bdev = bdev;
	l->super_block = (void *)__get_free_page(GFP_KERNEL);
	r = l->super_block ? load(l, expected) : -ENOMEM;
	*ret_error = l->error;
	free_page((unsigned long)l->super_block);
	dm_tier_image_free(l->image);
	vfree(l->ring);
	kfree(l);
	return r;
}
