// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints: all durable records to one of the two areas, then a superblock
 * that names it.  Rules: dm-tier-meta.h.
 */
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"

/* One checkpoint being written. */
struct writer {
	struct dm_tier_meta *meta;
	u64 id;
	u64 start;		/* first block of the area */
	u64 written;		/* blocks that are on their way to disk */
	u32 filled;		/* blocks in the buffer, the last one open */
	u64 since;		/* blocks of log when it began */
	struct dm_tier_record rec;
};

static void *writer_block(struct writer *w, u32 index)
{
	return w->meta->ckpt_buffer + (size_t)index * DM_TIER_BLOCK_BYTES;
}

static int writer_flush(struct writer *w)
{
	u32 i;
	int r;

	if (w->written + w->filled > w->meta->super.area_blocks)
		return -ENOSPC;
	for (i = 0; i < w->filled; i++)
		dm_tier_ckpt_seal(writer_block(w, i), w->meta->super.uuid, w->id,
				  w->written + i);
	r = dm_tier_meta_rw(w->meta->bdev, REQ_OP_WRITE, w->start + w->written,
			    writer_block(w, 0), w->filled);
	w->written += w->filled;
	w->filled = 0;
	return r;
}

/* Under pool->lock: false if the buffer is full; nothing was added then. */
static bool writer_add(struct writer *w)
{
	if (w->filled && dm_tier_block_add(writer_block(w, w->filled - 1), &w->rec))
		return true;
	if (w->filled == DM_TIER_COMMIT_BLOCKS)
		return false;
	dm_tier_block_begin(writer_block(w, w->filled++));
	return dm_tier_block_add(writer_block(w, w->filled - 1), &w->rec);
}

static bool durable_key(struct writer *w, u32 key)
{
	struct dm_tier_pool *pool = w->meta->pool;
	struct dm_tier_volume *v;

	if (!key)
		return __dm_tier_meta_durable_pool(pool, &w->rec);
	if (key <= DM_TIER_MAX_DEVICES)
		return __dm_tier_meta_durable_device(pool->device[key - 1], &w->rec);
	v = pool->volume[key - 1 - DM_TIER_MAX_DEVICES];
	return v && __dm_tier_meta_durable_volume(v, &w->rec);
}

/* POOL, then DEVICE, then VOLUME records. */
static int write_heads(struct writer *w)
{
	struct dm_tier_pool *pool = w->meta->pool;
	u32 key, nr = 1 + DM_TIER_MAX_DEVICES + DM_TIER_MAX_VOLUMES;
	int r;

	spin_lock(&pool->lock);
	for (key = 0; key < nr; key++) {
		while (durable_key(w, key) && !writer_add(w)) {
			spin_unlock(&pool->lock);
			r = writer_flush(w);
			if (r)
				return r;
			spin_lock(&pool->lock);
		}
		cond_resched_lock(&pool->lock);
	}
	spin_unlock(&pool->lock);
	return 0;
}

static int write_slots(struct writer *w, struct dm_tier_device *dev)
{
	struct dm_tier_pool *pool = w->meta->pool;
	u32 slot;
	int r;

	spin_lock(&pool->lock);
	for (slot = 0; slot < dev->slots; slot++) {
		/* The device may be forgotten while the lock is not held. */
		while (slot < dev->slots &&
		       __dm_tier_meta_durable_slot(dev, slot, &w->rec) && !writer_add(w)) {
			spin_unlock(&pool->lock);
			r = writer_flush(w);
			if (r)
				return r;
			spin_lock(&pool->lock);
		}
		if (!(slot % 64))
			cond_resched_lock(&pool->lock);
	}
	spin_unlock(&pool->lock);
	return 0;
}

static int write_area(struct writer *w)
{
	u64 bad = dm_tier_meta_flush_bad(w->meta);
	u32 i;
	int r = write_heads(w);

	for (i = 0; !r && i < DM_TIER_MAX_DEVICES; i++)
		r = write_slots(w, w->meta->pool->device[i]);
	if (!r && w->filled)
		r = writer_flush(w);
	return r ?: dm_tier_meta_flush(w->meta, bad);
}

static int write_super(struct dm_tier_meta *meta, struct dm_tier_super *super)
{
	u64 bad = dm_tier_meta_flush_bad(meta);
	u32 place = !meta->super_place;
	int r;

	super->version = meta->super.version + 1;
	super->block = place ? DM_TIER_SUPER_BLOCK_1 : DM_TIER_SUPER_BLOCK_0;
	dm_tier_super_encode(super, meta->ckpt_buffer);
	r = dm_tier_meta_rw(meta->bdev, REQ_OP_WRITE, super->block, meta->ckpt_buffer, 1);
	r = r ?: dm_tier_meta_flush(meta, bad);
	/* Even a failed one may be on disk: its version and place are used up. */
	meta->super.version = super->version;
	if (r)
		return r;
	meta->super_place = place;
	return 0;
}

static void begin(struct writer *w, struct dm_tier_ckpt_ref *ret_ref)
{
	struct dm_tier_meta *meta = w->meta;
	u32 area = !meta->super.ckpt[0].area;

	spin_lock(&meta->pool->lock);
	w->id = meta->next_ckpt_id++;
	w->since = meta->since_ckpt;
	*ret_ref = (struct dm_tier_ckpt_ref) {
		.id = w->id,
		.area = area,
		.seq = meta->durable_seq,
		.position = meta->position,
		.prev_crc = meta->prev_crc,
	};
	/* The other area's checkpoint is given up, and the log before ours. */
	meta->super.ckpt[1].id = 0;
	meta->since_tail = meta->since_ckpt;
	spin_unlock(&meta->pool->lock);
	w->start = dm_tier_area_start(&meta->super, area);
}

static void complete_ckpt(struct writer *w, const struct dm_tier_super *super)
{
	struct dm_tier_meta *meta = w->meta;

	spin_lock(&meta->pool->lock);
	meta->super = *super;
	meta->done_ckpt_id = w->id;
	meta->older_ckpt_id = super->ckpt[1].id;
	meta->since_tail = meta->since_ckpt;
	meta->since_ckpt -= w->since;
	spin_unlock(&meta->pool->lock);
}

int dm_tier_meta_checkpoint(struct dm_tier_pool *pool, bool clean)
{
	struct dm_tier_meta *meta = pool->meta;
	struct writer *w;
	struct dm_tier_super super;
	struct dm_tier_ckpt_ref ref;
	int r;

	if (pool->read_only)
		return -EROFS;
	w = kzalloc(sizeof(*w), GFP_NOIO);
	if (!w)
		return -ENOMEM;
	w->meta = meta;
	mutex_lock(&meta->super_mutex);
	r = -EROFS;
	/* While a commit is in doubt no other metadata is written. */
	if (meta->dead || READ_ONCE(meta->in_doubt))
		goto out;
	begin(w, &ref);
	r = write_area(w);
	if (!r) {
		super = meta->super;
		ref.blocks = w->written;
		super.ckpt[1] = super.ckpt[0];
		super.ckpt[0] = ref;
		/* The area may hold images of commits up to here. */
		super.final_seq = READ_ONCE(meta->durable_seq);
		super.flags &= ~DM_TIER_SUPER_CLEAN;
		if (clean)
			super.flags |= DM_TIER_SUPER_CLEAN;
		r = write_super(meta, &super);
	}
	if (!r)
		complete_ckpt(w, &super);
	else
		DMERR_LIMIT("checkpoint: error %d", r);
out:
	mutex_unlock(&meta->super_mutex);
	kfree(w);
	wake_up_all(&meta->wait);
	return r;
}
