/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume's map: entries and valid bits of its extents.
 *
 * Bitmap life.  An extent has a bitmap while it is allocated and not full.  It
 * becomes full by setting ENTRY_FULL and freeing the bitmap after a grace
 * period; a discard takes it back by publishing a full bitmap, clearing
 * ENTRY_FULL, then clearing bits.
 */
#ifndef DM_TIER_VOLUME_H
#define DM_TIER_VOLUME_H

#include "dm-tier-core.h"

/* Once for the module: 0 or -ENOMEM. */
int dm_tier_volume_init(void);
void dm_tier_volume_exit(void);

struct dm_tier_volume *dm_tier_volume_alloc(struct dm_tier_pool *pool, u32 id,
					    u64 generation, u32 extents);
void dm_tier_volume_free(struct dm_tier_volume *v);	/* admin; may sleep */

/* Makes room for so many extents: 0 or -ENOMEM.  admin; may sleep. */
int dm_tier_volume_grow(struct dm_tier_volume *v, u32 extents);

/* The extent, or NULL if its chunk is not there.  Under RCU or pool->lock. */
static inline struct dm_tier_extent *dm_tier_volume_extent(struct dm_tier_volume *v,
							    u32 extent)
{
	struct dm_tier_chunks *chunks = rcu_dereference_raw(v->chunks);
	struct dm_tier_chunk *chunk;

	if (unlikely((extent >> CHUNK_SHIFT) >= chunks->nr))
		return NULL;
	chunk = READ_ONCE(chunks->chunk[extent >> CHUNK_SHIFT]);
	return chunk ? &chunk->extent[extent % CHUNK_EXTENTS] : NULL;
}

/* The same from process context without either: the extent lives as long as the volume. */
static inline struct dm_tier_extent *dm_tier_volume_find(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_extent *x;

	rcu_read_lock();
	x = dm_tier_volume_extent(v, extent);
	rcu_read_unlock();
	return x;
}

static inline struct dm_tier_counters *dm_tier_extent_counters(struct dm_tier_extent *x,
							       u32 extent)
{
	struct dm_tier_chunk *chunk =
		container_of(x - extent % CHUNK_EXTENTS, struct dm_tier_chunk, extent[0]);

	return &chunk->counters[extent % CHUNK_EXTENTS];
}

/* Makes the chunk of an extent; sleeps until there is memory. */
void dm_tier_volume_need_chunk(struct dm_tier_volume *v, u32 extent);

/* Changes flags of an entry; returns the new value. */
u64 dm_tier_entry_update(struct dm_tier_extent *x, u64 clear, u64 set);

/*
 * Are all regions @first .. @last valid?  @entry is what was read from @x.
 * Under RCU or pool->lock.
 */
static inline bool dm_tier_regions_valid(struct dm_tier_extent *x, u64 entry,
					 u32 first, u32 last)
{
	struct dm_tier_bits *bits;

	if (entry & ENTRY_FULL)
		return true;
	bits = rcu_dereference_raw(x->valid);
	if (unlikely(!bits) || !test_bit(first, bits->bits))
		return false;
	return first == last ||
		find_next_zero_bit(bits->bits, last + 1, first) > last;
}

/* NULL only if @gfp does not wait. */
struct dm_tier_bits *dm_tier_bits_alloc(struct dm_tier_pool *pool, gfp_t gfp);
void dm_tier_bits_free(struct dm_tier_bits *bits);		/* now */
void dm_tier_bits_free_rcu(struct dm_tier_bits *bits);

/* All under pool->lock. */
u32 dm_tier_valid_regions(struct dm_tier_pool *pool, struct dm_tier_extent *x);
/* Is nothing valid but in regions @first .. @last? */
bool dm_tier_regions_hold_all(struct dm_tier_pool *pool, struct dm_tier_extent *x,
			      u32 first, u32 last);
void dm_tier_region_set_valid(struct dm_tier_pool *pool, struct dm_tier_extent *x,
			      u32 region);
/* false: it is full and there is no memory for a bitmap; nothing changed. */
bool dm_tier_regions_clear_valid(struct dm_tier_pool *pool, struct dm_tier_extent *x,
				 u32 first, u32 last);

/* Gives an extent its slot (@bits: its empty bitmap) or takes it away. */
void dm_tier_extent_map(struct dm_tier_volume *v, u32 extent, struct dm_tier_extent *x,
			struct dm_tier_device *dev, u32 slot, struct dm_tier_bits *bits);
void dm_tier_extent_unmap(struct dm_tier_volume *v, struct dm_tier_extent *x);

/* The work that frees what durable deletes and shrinks left; takes admin. */
void dm_tier_volume_reap(struct work_struct *work);

#endif /* DM_TIER_VOLUME_H */
