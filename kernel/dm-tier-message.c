// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that change a pool; dm-tier-query.c has those that ask.  Grammar:
 * include/dm-tier.h.  Each runs under admin unless its row says otherwise.
 * What they change is durable after `commit`.
 */
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-query.h"
#include "dm-tier-volume.h"

/* Helpers --------------------------------------------------------------------*/

static int may_change(struct dm_tier_pool *pool)
{
	return pool->read_only || READ_ONCE(pool->mode) != MODE_RW ? -EROFS : 0;
}

/* Takes a credit; 0, -EROFS or, for now, -EAGAIN. */
static int reserve(struct dm_tier_pool *pool)
{
	int r = -EAGAIN;

	spin_lock(&pool->lock);
	if (pool->mode != MODE_RW)
		r = -EROFS;
	else if (__dm_tier_meta_reserve(pool, NULL))
		r = 0;
	spin_unlock(&pool->lock);
	return r;
}

/* A credit and memory for one change: 0, -EROFS or -EINTR. */
static int change_begin(struct dm_tier_pool *pool, struct dm_tier_change **ret_spare)
{
	int r;

	if (wait_event_killable(pool->meta->wait, (r = reserve(pool)) != -EAGAIN))
		return -EINTR;
	if (!r)
		*ret_spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	return r;
}

static void change_end(struct dm_tier_pool *pool, struct dm_tier_change *spare)
{
	spin_lock(&pool->lock);
	__dm_tier_meta_unreserve(pool, NULL);
	spin_unlock(&pool->lock);
	dm_tier_meta_change_free(pool, spare);
}

static int find_device(struct dm_tier_pool *pool, const char *word,
		       struct dm_tier_device **ret_dev)
{
	u64 idx;
	int r = dm_tier_args_u64(word, 0, DM_TIER_MAX_DEVICES - 1, &idx);

	if (r)
		return r;
	if (!pool->device[idx]->present)
		return -ENOENT;
	*ret_dev = pool->device[idx];
	return 0;
}

/* The metadata must have room for all records of a pool of this size. */
static int check_area(struct dm_tier_pool *pool, u64 more_slots, u32 more_volumes,
		      u32 more_devices)
{
	u64 slots = more_slots;
	u32 i, volumes = more_volumes, devices = more_devices;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		slots += pool->device[i]->slots;
		devices += pool->device[i]->present;
	}
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		volumes += !!pool->volume[i];
	return dm_tier_area_blocks_needed(slots, pool->regions, volumes, devices) >
		pool->meta->super.area_blocks ? -ENOSPC : 0;
}

static int sectors_to_extents(struct dm_tier_pool *pool, const char *word, u32 *ret_extents)
{
	u64 sectors;
	int r = dm_tier_args_u64(word, 1ULL << pool->extent_shift,
				 (u64)DM_TIER_MAX_VOLUME_EXTENTS << pool->extent_shift,
				 &sectors);

	if (r)
		return r;
	if (sectors & ((1ULL << pool->extent_shift) - 1))
		return -EINVAL;
	*ret_extents = sectors >> pool->extent_shift;
	return 0;
}

/* Volumes --------------------------------------------------------------------*/

static int check_new_volume(struct dm_tier_pool *pool, u32 id, const u8 *uuid)
{
	u32 i;

	if (pool->volume[id])
		return -EEXIST;
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		if (pool->volume[i] && !memcmp(pool->volume[i]->uuid, uuid, 16))
			return -EEXIST;
	return check_area(pool, 0, 1, 0);
}

/* Both records go into one commit: a generation is never used twice. */
static int add_volume(struct dm_tier_pool *pool, struct dm_tier_volume *v)
{
	struct dm_tier_change *spare_pool, *spare;
	int r = change_begin(pool, &spare_pool);

	if (r)
		return r;
	r = change_begin(pool, &spare);
	if (r) {
		change_end(pool, spare_pool);
		return r;
	}
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_pool(pool, &spare_pool);
	v->generation = pool->next_generation++;
	pool->volume[v->id] = v;
	__dm_tier_meta_touch_volume(v, true, &spare);
	spin_unlock(&pool->lock);
	change_end(pool, spare_pool);
	change_end(pool, spare);
	return 0;
}

static int create_volume(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	char label[DM_TIER_MAX_LABEL];
	u8 uuid[16], label_bytes = 0;
	struct dm_tier_volume *v;
	u32 extents;
	u64 id;
	int r = dm_tier_args_u64(argv[1], 0, DM_TIER_MAX_VOLUMES - 1, &id);

	r = r ?: sectors_to_extents(pool, argv[2], &extents);
	r = r ?: dm_tier_args_uuid(argv[3], uuid);
	if (!r && argc > 4)
		r = dm_tier_args_text(argv[4], label, &label_bytes);
	r = r ?: may_change(pool);
	r = r ?: check_new_volume(pool, id, uuid);
	if (r)
		return r;
	v = dm_tier_volume_alloc(pool, id, 0, extents);
	if (!v)
		return -ENOMEM;
	memcpy(v->uuid, uuid, sizeof(uuid));
	memcpy(v->label, label, label_bytes);
	v->label_bytes = label_bytes;
	r = add_volume(pool, v);
	if (r)
		dm_tier_volume_free(v);
	return r;
}

static u32 mapped_extents(struct dm_tier_volume *v)
{
	struct dm_tier_table *t;
	u32 most = 0;

	list_for_each_entry(t, &v->tables, list)
		most = max(most, t->extents);
	return most;
}

/*
 * Extents from @from on go once the commit is durable: see
 * dm_tier_volume_reap().
 */
static int end_extents(struct dm_tier_volume *v, u32 from, bool delete)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_change *spare;
	int r = change_begin(pool, &spare);

	if (r)
		return r;
	dm_tier_migrate_stop(pool, v, NULL, from, MOVE_GONE);
	dm_tier_migrate_wait(pool, v, NULL, from);
	spin_lock(&pool->lock);
	pool->nr_reaping += !v->reap_seq;
	v->reap_seq = __dm_tier_meta_touch_volume(v, false, &spare);
	v->reap_from = from;
	v->deleted = delete;
	if (!delete)
		v->extents = from;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	dm_tier_meta_kick(pool);
	return 0;
}

static int delete_volume(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: may_change(pool);
	if (r)
		return r;
	if (!list_empty(&v->tables))
		return -EBUSY;
	return end_extents(v, 0, true);
}

static int grow_volume(struct dm_tier_volume *v, u32 extents)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_change *spare;
	int r = dm_tier_volume_grow(v, extents);

	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	v->extents = extents;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	return 0;
}

static bool reaped(struct dm_tier_pool *pool, u32 id)
{
	bool r;

	spin_lock(&pool->lock);
	r = !pool->volume[id] || !pool->volume[id]->reap_seq;
	spin_unlock(&pool->lock);
	return r || READ_ONCE(pool->mode) != MODE_RW;
}

/* In neither of the checkpoints that a load could start from, nor in their log. */
static bool __settled(struct dm_tier_volume *v)
{
	struct dm_tier_meta *meta = v->pool->meta;

	return !v->reap_seq && v->stale_ckpt <= meta->done_ckpt_id &&
		(!meta->older_ckpt_id || v->stale_ckpt <= meta->older_ckpt_id);
}

/*
 * Waits, without admin, until no record of an extent beyond the volume's end
 * is on disk, where growing would bring it back.
 */
static int settle(struct dm_tier_pool *pool, u32 id)
{
	struct dm_tier_meta *meta = pool->meta;
	bool stale;

	dm_tier_meta_kick(pool);
	if (wait_event_killable(meta->wait, reaped(pool, id)))
		return -EINTR;
	spin_lock(&pool->lock);
	stale = pool->volume[id] && !__settled(pool->volume[id]);
	spin_unlock(&pool->lock);
	return stale ? dm_tier_meta_checkpoint(pool, false) : 0;
}

static bool settled(struct dm_tier_volume *v)
{
	bool r;

	spin_lock(&v->pool->lock);
	r = __settled(v);
	spin_unlock(&v->pool->lock);
	return r;
}

/* Without admin, because of settle(). */
static int resize_volume(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	u32 extents, id = 0;
	int r;

	for (;;) {
		mutex_lock(&pool->admin);
		r = dm_tier_query_volume(pool, argv[1], &v);
		r = r ?: sectors_to_extents(pool, argv[2], &extents);
		r = r ?: may_change(pool);
		if (r || settled(v) || extents <= v->extents)
			break;
		id = v->id;
		mutex_unlock(&pool->admin);
		r = settle(pool, id);
		if (r)
			return r;
	}
	if (!r && extents < mapped_extents(v))
		r = -EBUSY;
	else if (!r && extents < v->extents)
		r = end_extents(v, extents, false);
	else if (!r && extents > v->extents)
		r = grow_volume(v, extents);
	mutex_unlock(&pool->admin);
	return r;
}

static int set_label(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		     struct dm_tier_answer *answer)
{
	char label[DM_TIER_MAX_LABEL];
	struct dm_tier_change *spare;
	struct dm_tier_volume *v;
	u8 bytes;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_text(argv[2], label, &bytes);
	r = r ?: may_change(pool);
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	memcpy(v->label, label, bytes);
	v->label_bytes = bytes;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	return 0;
}

static int set_pool_label(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			  struct dm_tier_answer *answer)
{
	char label[DM_TIER_MAX_LABEL];
	struct dm_tier_change *spare;
	u8 bytes;
	int r = dm_tier_args_text(argv[1], label, &bytes);

	r = r ?: may_change(pool);
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_pool(pool, &spare);
	memcpy(pool->label, label, bytes);
	pool->label_bytes = bytes;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	return 0;
}

static bool any_tier_exists(struct dm_tier_pool *pool, const u8 *placement, u8 tiers)
{
	u32 i, t;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		for (t = 0; t < tiers; t++)
			if (pool->device[i]->present && pool->device[i]->tier == placement[t])
				return true;
	return false;
}

static int set_placement(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	u8 tiers, placement[DM_TIER_MAX_TIERS] = { 0 };
	struct dm_tier_change *spare;
	struct dm_tier_volume *v;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_placement(argv[2], &tiers, placement);
	r = r ?: may_change(pool);
	if (!r && tiers && !any_tier_exists(pool, placement, tiers))
		r = -ENXIO;
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	memcpy(v->placement, placement, sizeof(placement));
	v->tiers = tiers;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return 0;
}

/* Moves ----------------------------------------------------------------------*/

static int migrate(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		   struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	int tier, device, r;
	u64 extent, id;

	r = dm_tier_query_volume(pool, argv[1], &v);
	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_VOLUME_EXTENTS - 1, &extent);
	r = r ?: dm_tier_args_target(argv[3], &tier, &device);
	if (!r && argc > 4 && strcmp(argv[4], "force"))
		r = -EINVAL;
	r = r ?: dm_tier_migrate_queue(v, extent, tier, device, argc > 4, &id);
	if (!r)
		dm_tier_answer(answer, "%llu\n", id);
	return r;
}

static int cancel(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	u64 extent;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_VOLUME_EXTENTS - 1, &extent);
	return r ?: dm_tier_migrate_cancel(v, extent);
}

static int cancel_all(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	dm_tier_migrate_stop(pool, NULL, NULL, 0, MOVE_CANCELLED);
	return 0;
}

static int set_rate(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		    struct dm_tier_answer *answer)
{
	u64 rate;
	int r = dm_tier_args_u64(argv[1], 0, 1ULL << 50, &rate);

	if (!r)
		dm_tier_migrate_set_rate(pool, rate);
	return r;
}

static int set_moves(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		     struct dm_tier_answer *answer)
{
	u64 count;
	int r = dm_tier_args_u64(argv[1], 1, DM_TIER_MAX_MOVES, &count);

	if (!r)
		dm_tier_migrate_set_moves(pool, count);
	return r;
}

/* Devices --------------------------------------------------------------------*/

/* The device that has this uuid already: the same message, sent twice? */
static int same_device(struct dm_tier_device *dev, u32 tier, u32 slots,
		       struct dm_tier_answer *answer)
{
	if (dev->tier != tier || dev->slots != slots || dev->state != DM_TIER_DEV_NEW)
		return -EEXIST;
	dm_tier_answer(answer, "%u\n", dev->idx);
	return 0;
}

static int add_device_record(struct dm_tier_device *dev, const u8 *uuid, u32 tier, u32 slots)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_change *spare;
	int r = dm_tier_device_grow(dev, slots, NULL);

	if (r)
		return r;
	r = change_begin(pool, &spare);
	if (r) {
		dm_tier_device_reset(dev);
		return r;
	}
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	memcpy(dev->uuid, uuid, sizeof(dev->uuid));
	dev->tier = tier;
	dev->state = DM_TIER_DEV_NEW;
	dev->reserve_slots = 0;
	dev->present = true;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	return 0;
}

static int add_device(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	struct dm_tier_device *dev = NULL;
	u64 tier, slots;
	u8 uuid[16];
	u32 i;
	int r = dm_tier_args_uuid(argv[1], uuid);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_TIERS - 1, &tier);
	r = r ?: dm_tier_args_u64(argv[3], 1, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: may_change(pool);
	if (r)
		return r;
	for (i = DM_TIER_MAX_DEVICES; i-- > 0;) {
		if (!pool->device[i]->present)
			dev = pool->device[i];
		else if (!memcmp(pool->device[i]->uuid, uuid, sizeof(uuid)))
			return same_device(pool->device[i], tier, slots, answer);
	}
	if (!dev)
		return -ENFILE;
	r = check_area(pool, slots, 0, 1);
	r = r ?: add_device_record(dev, uuid, tier, slots);
	if (!r)
		dm_tier_answer(answer, "%u\n", dev->idx);
	return r;
}

static int grow_device(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		       struct dm_tier_answer *answer)
{
	struct dm_tier_change *spare;
	struct dm_tier_device *dev;
	u64 slots;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: dm_tier_args_u64(argv[2], 1, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: may_change(pool);
	if (r || slots == dev->slots)
		return r;
	if (slots < dev->slots)
		return -EINVAL;
	if (!dev->bdev)
		return -ENXIO;
	if (bdev_nr_sectors(dev->bdev) < dm_tier_slot_sector(pool, slots))
		return -ENOSPC;
	r = check_area(pool, slots - dev->slots, 0, 0);
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	r = dm_tier_device_grow(dev, slots, &spare);
	change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return r;
}

static int change_state(struct dm_tier_device *dev, u32 state)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_change *spare;
	int r = change_begin(pool, &spare);

	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->state = state;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	return 0;
}

static int set_device(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	struct dm_tier_device *dev;
	u32 state = DM_TIER_DEV_ONLINE;
	int r = find_device(pool, argv[1], &dev);

	if (!strcmp(argv[2], "draining"))
		state = DM_TIER_DEV_DRAINING;
	else if (strcmp(argv[2], "online"))
		return -EINVAL;
	r = r ?: may_change(pool);
	if (!r && dev->state != DM_TIER_DEV_ONLINE && dev->state != DM_TIER_DEV_DRAINING)
		r = -EINVAL;
	r = r ?: change_state(dev, state);
	if (!r)
		dm_tier_io_kick_space(pool);
	return r;
}

static bool device_empty(struct dm_tier_device *dev)
{
	bool empty;

	spin_lock(&dev->pool->lock);
	empty = dm_tier_device_empty(dev);
	spin_unlock(&dev->pool->lock);
	return empty;
}

static void forget_dirty(struct dm_tier_device *dev, bool lost)
{
	u32 id;

	for (id = 0; id < DM_TIER_MAX_VOLUMES; id++)
		if (dev->pool->volume[id])
			dm_tier_io_forget_dirty(dev->pool->volume[id], dev->idx, lost);
}

static int give_up_device(struct dm_tier_device *dev)
{
	int r;

	if (dev->bdev && !dev->failed)
		return -EBUSY;
	dm_tier_migrate_stop(dev->pool, NULL, dev, 0, MOVE_GONE);
	r = change_state(dev, DM_TIER_DEV_LOST);
	if (r)
		return r;
	/* I/O that hangs is waited for by the dtr of the table that has the device. */
	WRITE_ONCE(dev->bdev, NULL);
	forget_dirty(dev, true);
	return 0;
}

static bool slots_have_changes(struct dm_tier_device *dev)
{
	u32 slot;

	for (slot = 0; slot < dev->slots; slot++)
		if (READ_ONCE(dev->slot[slot].change))
			return true;
	return false;
}

/* Takes no new slots: draining, lost, or never online. */
static int remove_device(struct dm_tier_device *dev)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_change *spare;
	int r = 0;

	if (dev->state == DM_TIER_DEV_ONLINE || !device_empty(dev))
		return -EBUSY;
	/* No slot is touched any more, so the changes come to an end. */
	while (!r && slots_have_changes(dev))
		r = dm_tier_meta_wait(pool, dm_tier_meta_last_seq(pool));
	r = r ?: dm_tier_device_detach(dev, HZ);
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->present = false;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	/* What volumes wrote here was copied elsewhere, and flushed there. */
	forget_dirty(dev, false);
	dm_tier_device_reset(dev);
	return 0;
}

static int forget_device(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	struct dm_tier_device *dev;
	int r = find_device(pool, argv[1], &dev);

	if (argc > 2 && strcmp(argv[2], "lost"))
		return -EINVAL;
	r = r ?: may_change(pool);
	if (r)
		return r;
	return argc > 2 ? give_up_device(dev) : remove_device(dev);
}

static int set_low_water(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 struct dm_tier_answer *answer)
{
	u64 tier, slots;
	int r = dm_tier_args_u64(argv[1], 0, DM_TIER_MAX_TIERS - 1, &tier);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	if (r)
		return r;
	spin_lock(&pool->lock);
	pool->low_water[tier] = slots;
	pool->low_water_sent[tier] = false;
	dm_tier_pool_check_low_water(pool, tier);
	spin_unlock(&pool->lock);
	return 0;
}

static int set_reserve(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		       struct dm_tier_answer *answer)
{
	struct dm_tier_change *spare;
	struct dm_tier_device *dev;
	u64 slots;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: may_change(pool);
	r = r ?: change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->reserve_slots = slots;
	spin_unlock(&pool->lock);
	change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return 0;
}

static int clear_quarantine(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			    struct dm_tier_answer *answer)
{
	struct dm_tier_device *dev;
	u32 slot;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: may_change(pool);
	for (slot = 0; !r && slot < dev->slots; slot++) {
		struct dm_tier_slot *s = &dev->slot[slot];
		struct dm_tier_change *spare;

		if (!s->quarantine)
			continue;
		r = change_begin(pool, &spare);
		if (r)
			break;
		spin_lock(&pool->lock);
		__dm_tier_meta_touch_slot(pool, dev, slot, 0, &spare);
		s->quarantine = false;
		dev->quarantined--;
		if (s->state == SLOT_FREE)
			dm_tier_device_free_slot(dev, slot);
		spin_unlock(&pool->lock);
		change_end(pool, spare);
	}
	if (!r)
		dm_tier_io_kick_space(pool);
	return r;
}

/* Durability -----------------------------------------------------------------*/

static int commit(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer)
{
	u64 seq = dm_tier_meta_last_seq(pool);
	int r = dm_tier_meta_wait(pool, seq);

	if (!r && READ_ONCE(pool->meta->dropped_seq) >= seq && seq)
		r = -EIO;
	return r;
}

static int checkpoint(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	int r = may_change(pool);

	return r ?: dm_tier_meta_checkpoint(pool, false);
}

/* The table ------------------------------------------------------------------*/

static const struct message {
	struct dm_tier_verb verb;	/* first: see dm_tier_args_verb() */
	int (*fn)(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer);
	bool no_admin;			/* blocks for long, and takes admin itself */
} messages[] = {
	{ { "create_volume", 4, 5 }, create_volume },
	{ { "resize_volume", 3, 3 }, resize_volume, true },
	{ { "delete_volume", 2, 2 }, delete_volume },
	{ { "set_label", 3, 3 }, set_label },
	{ { "set_pool_label", 2, 2 }, set_pool_label },
	{ { "set_placement", 3, 3 }, set_placement },
	{ { "migrate", 4, 5 }, migrate },
	{ { "cancel", 3, 3 }, cancel },
	{ { "cancel_all", 1, 1 }, cancel_all },
	{ { "set_rate", 2, 2 }, set_rate },
	{ { "set_moves", 2, 2 }, set_moves },
	{ { "add_device", 4, 4 }, add_device },
	{ { "grow_device", 3, 3 }, grow_device },
	{ { "set_device", 3, 3 }, set_device },
	{ { "forget_device", 2, 3 }, forget_device },
	{ { "set_low_water", 3, 3 }, set_low_water },
	{ { "set_reserve", 3, 3 }, set_reserve },
	{ { "clear_quarantine", 2, 2 }, clear_quarantine },
	{ { "commit", 1, 1 }, commit, true },
	{ { "checkpoint", 1, 1 }, checkpoint, true },
	{ { "volumes", 1, 1 }, dm_tier_query_volumes },
	{ { "devices", 1, 1 }, dm_tier_query_devices },
	{ { "moves", 1, 3 }, dm_tier_query_moves },
	{ { "map", 4, 4 }, dm_tier_query_map },
	{ { "counters", 4, 6 }, dm_tier_query_counters },
};

int dm_tier_pool_message(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 char *result, unsigned int maxlen)
{
	struct dm_tier_answer answer = { .text = result, .max = maxlen };
	const struct message *m;
	int r = dm_tier_args_verb(&messages[0].verb, sizeof(messages[0]),
				  ARRAY_SIZE(messages), argc, argv);

	if (r < 0) {
		DMWARN("message %s: %s", argv[0],
		       r == -ENOENT ? "unknown" : "wrong number of arguments");
		return r == -ENOENT ? -EOPNOTSUPP : r;
	}
	m = &messages[r];
	if (m->no_admin)
		return m->fn(pool, argc, argv, &answer);
	mutex_lock(&pool->admin);
	r = m->fn(pool, argc, argv, &answer);
	mutex_unlock(&pool->admin);
	return r ?: answer.answered ? 1 : 0;
}
