// SPDX-License-Identifier: GPL-2.0-only
/* A volume's map; the header is the specification. */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"
#include "dm-tier-volume.h"

/* A cache of their own: kmalloc would round 4.5 KiB up to 8. */
static struct kmem_cache *chunk_cache;

int __init dm_tier_volume_init(void)
{
	chunk_cache = KMEM_CACHE(dm_tier_chunk, 0);
	return chunk_cache ? 0 : -ENOMEM;
}

void dm_tier_volume_exit(void)
{
	kmem_cache_destroy(chunk_cache);
}

static struct dm_tier_chunks *chunks_alloc(u32 extents)
{
	u32 nr = DIV_ROUND_UP(extents, CHUNK_EXTENTS);
	struct dm_tier_chunks *chunks;

	chunks = kvzalloc(struct_size(chunks, chunk, nr), GFP_KERNEL);
	if (chunks)
		chunks->nr = nr;
	return chunks;
}

struct dm_tier_volume *dm_tier_volume_alloc(struct dm_tier_pool *pool, u32 id,
					    u64 generation, u32 extents)
{
	struct dm_tier_volume *v = kzalloc(sizeof(*v), GFP_KERNEL);
	struct dm_tier_chunks *chunks = chunks_alloc(extents);

	if (!v || !chunks) {
		kvfree(chunks);
		kfree(v);
		return NULL;
	}
	v->pool = pool;
	v->id = id;
	v->generation = generation;
	v->extents = extents;
	INIT_LIST_HEAD(&v->tables);
	spin_lock_init(&v->flush_lock);
	RCU_INIT_POINTER(v->chunks, chunks);
	return v;
}

int dm_tier_volume_grow(struct dm_tier_volume *v, u32 extents)
{
	struct dm_tier_chunks *old = rcu_dereference_raw(v->chunks), *chunks;

	if (DIV_ROUND_UP(extents, CHUNK_EXTENTS) <= old->nr)
		return 0;
	chunks = chunks_alloc(extents);
	if (!chunks)
		return -ENOMEM;
	/* Chunks appear under the lock, so none is missed. */
	spin_lock(&v->pool->lock);
	memcpy(chunks->chunk, old->chunk, old->nr * sizeof(old->chunk[0]));
	rcu_assign_pointer(v->chunks, chunks);
	spin_unlock(&v->pool->lock);
	kvfree_rcu(old, rcu);
	return 0;
}

void dm_tier_volume_free(struct dm_tier_volume *v)
{
	struct dm_tier_chunks *chunks;
	u32 i, j;

	if (!v)
		return;
	chunks = rcu_dereference_raw(v->chunks);
	for (i = 0; i < chunks->nr; i++) {
		if (!chunks->chunk[i])
			continue;
		for (j = 0; j < CHUNK_EXTENTS; j++)
			dm_tier_bits_free(rcu_dereference_raw(chunks->chunk[i]->extent[j].valid));
		kmem_cache_free(chunk_cache, chunks->chunk[i]);
	}
	kvfree(chunks);
	kfree(v);
}

void dm_tier_volume_need_chunk(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_chunk *chunk;
	struct dm_tier_chunks *chunks;
	unsigned int noio;

	if (dm_tier_volume_find(v, extent))
		return;
	/* Two pages if need be: the allocator can always find them in the end. */
	noio = memalloc_noio_save();
	chunk = kmem_cache_zalloc(chunk_cache, GFP_KERNEL | __GFP_NOFAIL);
	memalloc_noio_restore(noio);

	spin_lock(&v->pool->lock);
	chunks = rcu_dereference_protected(v->chunks, lockdep_is_held(&v->pool->lock));
	if (!chunks->chunk[extent >> CHUNK_SHIFT]) {
		/* Pairs with the READ_ONCE in dm_tier_volume_extent(). */
		smp_store_release(&chunks->chunk[extent >> CHUNK_SHIFT], chunk);
		chunk = NULL;
	}
	spin_unlock(&v->pool->lock);
	if (chunk)
		kmem_cache_free(chunk_cache, chunk);
}

u64 dm_tier_entry_update(struct dm_tier_extent *x, u64 clear, u64 set)
{
	u64 old = READ_ONCE(x->entry), new;

	do {
		new = (old & ~clear) | set;
	} while (new != old && !try_cmpxchg(&x->entry, &old, new));
	return new;
}

/* Bitmaps --------------------------------------------------------------------*/

struct dm_tier_bits *dm_tier_bits_alloc(struct dm_tier_pool *pool, gfp_t gfp)
{
	struct dm_tier_bits *bits = mempool_alloc(&pool->bits_pool, gfp);

	if (!bits)
		return NULL;
	bits->pool = &pool->bits_pool;
	bitmap_zero(bits->bits, pool->regions);
	return bits;
}

void dm_tier_bits_free(struct dm_tier_bits *bits)
{
	if (bits)
		mempool_free(bits, bits->pool);
}

static void bits_rcu(struct rcu_head *rcu)
{
	dm_tier_bits_free(container_of(rcu, struct dm_tier_bits, rcu));
}

void dm_tier_bits_free_rcu(struct dm_tier_bits *bits)
{
	if (bits)
		call_rcu(&bits->rcu, bits_rcu);
}

static struct dm_tier_bits *valid_bits(struct dm_tier_pool *pool, struct dm_tier_extent *x)
{
	return rcu_dereference_protected(x->valid, lockdep_is_held(&pool->lock));
}

u32 dm_tier_valid_regions(struct dm_tier_pool *pool, struct dm_tier_extent *x)
{
	struct dm_tier_bits *bits = valid_bits(pool, x);

	if (x->entry & ENTRY_FULL)
		return pool->regions;
	return bits ? bitmap_weight(bits->bits, pool->regions) : 0;
}

bool dm_tier_regions_hold_all(struct dm_tier_pool *pool, struct dm_tier_extent *x,
			      u32 first, u32 last)
{
	struct dm_tier_bits *bits = valid_bits(pool, x);

	if (x->entry & ENTRY_FULL)
		return !first && last == pool->regions - 1;
	return !bits || (find_first_bit(bits->bits, pool->regions) >= first &&
			 find_next_bit(bits->bits, pool->regions, last + 1) >= pool->regions);
}

void dm_tier_region_set_valid(struct dm_tier_pool *pool, struct dm_tier_extent *x,
			      u32 region)
{
	struct dm_tier_bits *bits = valid_bits(pool, x);

	if (!bits || test_and_set_bit(region, bits->bits) ||
	    !bitmap_full(bits->bits, pool->regions))
		return;
	dm_tier_entry_update(x, 0, ENTRY_FULL);
	RCU_INIT_POINTER(x->valid, NULL);
	dm_tier_bits_free_rcu(bits);
}

bool dm_tier_regions_clear_valid(struct dm_tier_pool *pool, struct dm_tier_extent *x,
				 u32 first, u32 last)
{
	struct dm_tier_bits *bits = valid_bits(pool, x);
	u32 region;

	if (x->entry & ENTRY_FULL) {
		bits = dm_tier_bits_alloc(pool, GFP_NOWAIT);
		if (!bits)
			return false;
		bitmap_fill(bits->bits, pool->regions);
		rcu_assign_pointer(x->valid, bits);
		dm_tier_entry_update(x, ENTRY_FULL, 0);
	}
	if (!bits)
		return true;
	for (region = first; region <= last; region++)
		clear_bit(region, bits->bits);
	return true;
}

/* Mapping --------------------------------------------------------------------*/

void dm_tier_extent_map(struct dm_tier_volume *v, u32 extent, struct dm_tier_extent *x,
			struct dm_tier_device *dev, u32 slot, struct dm_tier_bits *bits)
{
	struct dm_tier_slot *s = &dev->slot[slot];

	s->volume = v->id;
	s->extent = extent;
	s->state = SLOT_OWNED;
	v->allocated++;
	v->on_tier[dev->tier]++;
	rcu_assign_pointer(x->valid, bits);
	/* The bitmap is there before the entry says so. */
	smp_wmb();
	dm_tier_entry_update(x, ~0ULL, entry_make(dev->idx, slot));
}

void dm_tier_extent_unmap(struct dm_tier_volume *v, struct dm_tier_extent *x)
{
	struct dm_tier_device *dev = v->pool->device[entry_device(x->entry)];
	struct dm_tier_bits *bits = valid_bits(v->pool, x);

	v->allocated--;
	v->on_tier[dev->tier]--;
	dm_tier_entry_update(x, ~0ULL, 0);
	RCU_INIT_POINTER(x->valid, NULL);
	dm_tier_bits_free_rcu(bits);
}

/* Reaping --------------------------------------------------------------------*/

/*
 * No table maps these extents, so no I/O is in flight to their slots, and
 * their end is durable: the slots are free at once.
 */
static void reap_extents(struct dm_tier_volume *v, u32 from)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_chunks *chunks = rcu_dereference_raw(v->chunks);
	u32 e, end = chunks->nr * CHUNK_EXTENTS;

	for (e = from; e < end; e++) {
		struct dm_tier_extent *x;
		u64 entry;

		if (!(e % CHUNK_EXTENTS)) {
			cond_resched();
			if (!chunks->chunk[e >> CHUNK_SHIFT]) {
				e |= CHUNK_EXTENTS - 1;
				continue;
			}
		}
		spin_lock(&pool->lock);
		x = dm_tier_volume_extent(v, e);
		entry = x ? x->entry : 0;
		if (entry & ENTRY_ALLOCATED) {
			dm_tier_extent_unmap(v, x);
			__dm_tier_meta_retouch_slot(pool->device[entry_device(entry)],
						    entry_slot(entry));
			dm_tier_device_free_slot(pool->device[entry_device(entry)],
						 entry_slot(entry));
		}
		spin_unlock(&pool->lock);
	}
}

static void reap_volume(struct dm_tier_volume *v)
{
	struct dm_tier_pool *pool = v->pool;
	bool deleted = v->deleted;

	reap_extents(v, v->reap_from);
	if (deleted)
		dm_tier_pool_fold_counters(pool);
	spin_lock(&pool->lock);
	v->reap_seq = 0;
	pool->nr_reaping--;
	v->stale_ckpt = dm_tier_meta_next_checkpoint(pool);
	if (deleted) {
		__dm_tier_io_set_space(v, SPACE_ENOUGH);
		pool->volume[v->id] = NULL;
	}
	spin_unlock(&pool->lock);
	if (deleted)
		dm_tier_volume_free(v);
}

void dm_tier_volume_reap(struct work_struct *work)
{
	struct dm_tier_pool *pool = container_of(work, struct dm_tier_pool, reap_work);
	u32 id;

	mutex_lock(&pool->admin);
	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++) {
		struct dm_tier_volume *v = pool->volume[id];
		bool due;

		if (!v)
			continue;
		spin_lock(&pool->lock);
		due = v->reap_seq && v->reap_seq <= pool->meta->durable_seq;
		spin_unlock(&pool->lock);
		if (due)
			reap_volume(v);
	}
	mutex_unlock(&pool->admin);
	wake_up_all(&pool->meta->wait);
	dm_tier_io_kick_space(pool);
}
