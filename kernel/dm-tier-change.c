// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes: credits, the records of what is in RAM, and which of them differ
 * from their durable images.  dm-tier-meta.h is the specification.
 */
#include "dm-tier-change.h"
#include "dm-tier-volume.h"

struct dm_tier_change *dm_tier_meta_change_alloc(struct dm_tier_pool *pool, gfp_t gfp)
{
	struct dm_tier_change *change = mempool_alloc(&pool->change_pool, gfp);

	if (change)
		memset(change, 0, sizeof(*change));
	return change;
}

void dm_tier_meta_change_free(struct dm_tier_pool *pool, struct dm_tier_change *change)
{
	if (change)
		mempool_free(change, &pool->change_pool);
}

/* Credits --------------------------------------------------------------------*/

static bool any_failed(struct dm_tier_pool *pool)
{
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (READ_ONCE(pool->device[i]->failed))
			return true;
	return false;
}

struct list_head *__dm_tier_meta_reserve(struct dm_tier_pool *pool,
					 struct dm_tier_device *dev)
{
	struct dm_tier_meta *meta = pool->meta;

	u32 limit = dev ? META_CREDITS : META_CREDITS + META_CREDITS_RESERVE;

	if (dev && READ_ONCE(dev->failed) &&
	    dev->credits + dev->nr_changes >= FAILED_DEVICE_CREDITS)
		return READ_ONCE(dev->flush_broken) ? ERR_PTR(-EIO) : &dev->waiters;
	/* Operations block workers: those of one device must not take them all. */
	if (dev && dev->credits >= DEVICE_OPERATIONS)
		return &dev->waiters;
	if (dev && dev->credits + dev->nr_changes >= DEVICE_CREDITS) {
		dm_tier_meta_kick(pool);
		return &dev->waiters;
	}
	if (meta->nr_changes + meta->credits >= limit) {
		/* What a failing device keeps open waits for the periodic commit. */
		if (!any_failed(pool))
			dm_tier_meta_kick(pool);
		return &pool->credit_waiters;
	}
	meta->credits += dev ? 1 : LARGE_RECORD_CREDITS;
	if (dev)
		dev->credits++;
	return NULL;
}

void __dm_tier_meta_unreserve(struct dm_tier_pool *pool, struct dm_tier_device *dev)
{
	pool->meta->credits -= dev ? 1 : LARGE_RECORD_CREDITS;
	if (dev)
		dev->credits--;
	/* Who waits looks under pool->lock, after it has entered the queue. */
	if (waitqueue_active(&pool->meta->wait))
		wake_up_all(&pool->meta->wait);
}

/* Records of the newest state -------------------------------------------------*/

static void slot_record(struct dm_tier_pool *pool, struct dm_tier_device *dev, u32 slot,
			struct dm_tier_record *ret_rec)
{
	struct dm_tier_slot *s = &dev->slot[slot];
	struct dm_tier_volume *v;
	struct dm_tier_extent *x;

	memset(ret_rec, 0, sizeof(*ret_rec));
	ret_rec->type = DM_TIER_REC_SLOT;
	ret_rec->slot.device = dev->idx;
	ret_rec->slot.slot = slot;
	ret_rec->slot.quarantine = s->quarantine;
	if (s->state != SLOT_OWNED)
		return;
	v = pool->volume[s->volume];
	x = dm_tier_volume_extent(v, s->extent);
	ret_rec->slot.generation = v->generation;
	ret_rec->slot.extent = s->extent;
	ret_rec->slot.full = x->entry & ENTRY_FULL;
	if (!ret_rec->slot.full)
		bitmap_to_arr64(ret_rec->slot.valid,
				rcu_dereference_protected(x->valid,
							  lockdep_is_held(&pool->lock))->bits,
				pool->regions);
}

static void volume_record(struct dm_tier_volume *v, struct dm_tier_record *ret_rec)
{
	memset(ret_rec, 0, sizeof(*ret_rec));
	ret_rec->type = DM_TIER_REC_VOLUME;
	ret_rec->tombstone = v->deleted;
	ret_rec->volume.id = v->id;
	ret_rec->volume.extents = v->extents;
	ret_rec->volume.generation = v->generation;
	memcpy(ret_rec->volume.uuid, v->uuid, sizeof(v->uuid));
	ret_rec->volume.tiers = v->tiers;
	memcpy(ret_rec->volume.placement, v->placement, sizeof(v->placement));
	ret_rec->volume.label_bytes = v->label_bytes;
	memcpy(ret_rec->volume.label, v->label, v->label_bytes);
}

static void device_record(struct dm_tier_device *dev, struct dm_tier_record *ret_rec)
{
	memset(ret_rec, 0, sizeof(*ret_rec));
	ret_rec->type = DM_TIER_REC_DEVICE;
	ret_rec->tombstone = !dev->present;
	ret_rec->device.idx = dev->idx;
	ret_rec->device.tier = dev->tier;
	ret_rec->device.slots = dev->slots;
	memcpy(ret_rec->device.uuid, dev->uuid, sizeof(dev->uuid));
	ret_rec->device.state = dev->state;
	ret_rec->device.reserve_slots = dev->reserve_slots;
}

static void pool_record(struct dm_tier_pool *pool, struct dm_tier_record *ret_rec)
{
	memset(ret_rec, 0, sizeof(*ret_rec));
	ret_rec->type = DM_TIER_REC_POOL;
	ret_rec->pool.next_generation = pool->next_generation;
	ret_rec->pool.label_bytes = pool->label_bytes;
	memcpy(ret_rec->pool.label, pool->label, pool->label_bytes);
}

void __dm_tier_change_newest(struct dm_tier_pool *pool, struct dm_tier_change *change,
			  struct dm_tier_record *ret_rec)
{
	switch (change->type) {
	case DM_TIER_REC_SLOT:
		slot_record(pool, pool->device[change->index], change->slot, ret_rec);
		break;
	case DM_TIER_REC_VOLUME:
		volume_record(pool->volume[change->index], ret_rec);
		break;
	case DM_TIER_REC_DEVICE:
		device_record(pool->device[change->index], ret_rec);
		break;
	case DM_TIER_REC_POOL:
		pool_record(pool, ret_rec);
		break;
	}
}

/* The durable image: kept in the change, or else the state in RAM. */
static bool durable_record(const struct dm_tier_change *change, struct dm_tier_record *rec)
{
	if (change)
		*rec = change->committed;
	return !rec->tombstone;
}

bool __dm_tier_meta_durable_pool(struct dm_tier_pool *pool, struct dm_tier_record *ret_rec)
{
	pool_record(pool, ret_rec);
	return durable_record(pool->change, ret_rec);
}

bool __dm_tier_meta_durable_device(struct dm_tier_device *dev, struct dm_tier_record *ret_rec)
{
	device_record(dev, ret_rec);
	return durable_record(dev->change, ret_rec);
}

bool __dm_tier_meta_durable_volume(struct dm_tier_volume *v, struct dm_tier_record *ret_rec)
{
	volume_record(v, ret_rec);
	return durable_record(v->change, ret_rec);
}

bool __dm_tier_meta_durable_slot(struct dm_tier_device *dev, u32 slot,
				 struct dm_tier_record *ret_rec)
{
	struct dm_tier_slot *s = &dev->slot[slot];

	if (s->change)
		*ret_rec = s->change->committed;
	else if (s->state == SLOT_OWNED || s->quarantine)
		slot_record(dev->pool, dev, slot, ret_rec);
	else
		return false;
	return ret_rec->slot.generation || ret_rec->slot.quarantine;
}

struct dm_tier_change **__dm_tier_change_place(struct dm_tier_pool *pool,
					    struct dm_tier_change *change)
{
	switch (change->type) {
	case DM_TIER_REC_SLOT:
		return &pool->device[change->index]->slot[change->slot].change;
	case DM_TIER_REC_VOLUME:
		return &pool->volume[change->index]->change;
	case DM_TIER_REC_DEVICE:
		return &pool->device[change->index]->change;
	default:
		return &pool->change;
	}
}

/* Touching -------------------------------------------------------------------*/

void __dm_tier_change_open(struct dm_tier_meta *meta, struct dm_tier_change *change, u64 deps)
{
	change->deps |= deps;
	if (change->open)
		return;
	change->open = true;
	list_add_tail(&change->list, &meta->open_changes);
	meta->nr_open++;
}

static void count_change(struct dm_tier_pool *pool, struct dm_tier_change *change, int n)
{
	if (change->type != DM_TIER_REC_SLOT) {
		pool->meta->nr_changes += n * LARGE_RECORD_CREDITS;
		return;
	}
	pool->meta->nr_changes += n;
	pool->device[change->index]->nr_changes += n;
}

void __dm_tier_change_end(struct dm_tier_pool *pool, struct dm_tier_change *change)
{
	count_change(pool, change, -1);
	*__dm_tier_change_place(pool, change) = NULL;
	dm_tier_meta_change_free(pool, change);
}

/* Finds or begins the change of a record whose key is in @key. */
static u64 touch(struct dm_tier_pool *pool, const struct dm_tier_change *key, u64 deps,
		 bool create, struct dm_tier_change **spare)
{
	struct dm_tier_meta *meta = pool->meta;
	struct dm_tier_change **place, *change;

	lockdep_assert_held(&pool->lock);
	change = *spare;
	if (change) {
		change->type = key->type;
		change->index = key->index;
		change->slot = key->slot;
		place = __dm_tier_change_place(pool, change);
	} else {
		place = __dm_tier_change_place(pool, (struct dm_tier_change *)key);
	}
	if (!*place) {
		if (WARN_ON_ONCE(!change))
			return meta->open_seq;
		*spare = NULL;
		*place = change;
		count_change(pool, change, 1);
		__dm_tier_change_newest(pool, change, &change->committed);
		change->committed.tombstone |= create;
	}
	__dm_tier_change_open(meta, *place, deps);
	return meta->open_seq;
}

u64 __dm_tier_meta_touch_slot(struct dm_tier_pool *pool, struct dm_tier_device *dev,
			      u32 slot, u64 deps, struct dm_tier_change **spare)
{
	struct dm_tier_change key = {
		.type = DM_TIER_REC_SLOT, .index = dev->idx, .slot = slot,
	};

	return touch(pool, &key, deps, false, spare);
}

void __dm_tier_meta_retouch_slot(struct dm_tier_device *dev, u32 slot)
{
	if (dev->slot[slot].change)
		__dm_tier_change_open(dev->pool->meta, dev->slot[slot].change, 0);
}

u64 __dm_tier_meta_touch_volume(struct dm_tier_volume *v, bool create,
				struct dm_tier_change **spare)
{
	struct dm_tier_change key = { .type = DM_TIER_REC_VOLUME, .index = v->id };
	u64 seq = touch(v->pool, &key, 0, create, spare);

	v->changed_seq = seq;
	return seq;
}

u64 __dm_tier_meta_touch_device(struct dm_tier_device *dev, struct dm_tier_change **spare)
{
	struct dm_tier_change key = { .type = DM_TIER_REC_DEVICE, .index = dev->idx };

	return touch(dev->pool, &key, 0, false, spare);
}

u64 __dm_tier_meta_touch_pool(struct dm_tier_pool *pool, struct dm_tier_change **spare)
{
	struct dm_tier_change key = { .type = DM_TIER_REC_POOL };

	return touch(pool, &key, 0, false, spare);
}

void __dm_tier_meta_mark(struct dm_tier_volume *v, struct dm_tier_extent *x, u64 seq)
{
	v->changed_seq = seq;
	dm_tier_entry_update(x, 0, ENTRY_CHANGED(seq));
}
