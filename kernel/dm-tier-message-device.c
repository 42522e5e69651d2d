// SPDX-License-Identifier: GPL-2.0-only
/* Messages that change devices. */
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-message.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-volume.h"

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
	r = dm_tier_message_change_begin(pool, &spare);
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
	dm_tier_message_change_end(pool, spare);
	return 0;
}

DM_TIER_MESSAGE(add_device)
{
	struct dm_tier_device *dev = NULL;
	u64 tier, slots;
	u8 uuid[16];
	u32 i;
	int r = dm_tier_args_uuid(argv[1], uuid);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_TIERS - 1, &tier);
	r = r ?: dm_tier_args_u64(argv[3], 1, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: dm_tier_message_may_change(pool);
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
	r = dm_tier_message_check_area(pool, slots, 0, 1);
	r = r ?: add_device_record(dev, uuid, tier, slots);
	if (!r)
		dm_tier_answer(answer, "%u\n", dev->idx);
	return r;
}

DM_TIER_MESSAGE(grow_device)
{
	struct dm_tier_change *spare;
	struct dm_tier_device *dev;
	u64 slots;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: dm_tier_args_u64(argv[2], 1, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: dm_tier_message_may_change(pool);
	if (r || slots == dev->slots)
		return r;
	if (slots < dev->slots)
		return -EINVAL;
	if (!dev->bdev)
		return -ENXIO;
	if (bdev_nr_sectors(dev->bdev) < dm_tier_slot_sector(pool, slots))
		return -ENOSPC;
	r = dm_tier_message_check_area(pool, slots - dev->slots, 0, 0);
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	r = dm_tier_device_grow(dev, slots, &spare);
	dm_tier_message_change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return r;
}

static int change_state(struct dm_tier_device *dev, u32 state)
{
	struct dm_tier_pool *pool = dev->pool;
	struct dm_tier_change *spare;
	int r = dm_tier_message_change_begin(pool, &spare);

	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->state = state;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	return 0;
}

DM_TIER_MESSAGE(set_device)
{
	struct dm_tier_device *dev;
	u32 state = DM_TIER_DEV_ONLINE;
	int r = find_device(pool, argv[1], &dev);

	if (!strcmp(argv[2], "draining"))
		state = DM_TIER_DEV_DRAINING;
	else if (strcmp(argv[2], "online"))
		return -EINVAL;
	r = r ?: dm_tier_message_may_change(pool);
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
	wake_up_all(&dev->wait);
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
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	/* What volumes wrote here was copied elsewhere, and flushed there. */
	forget_dirty(dev, false);
	r = dm_tier_device_detach(dev, HZ);
	if (r) {
		dm_tier_message_change_end(pool, spare);
		return r;
	}
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->present = false;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	dm_tier_device_reset(dev);
	return 0;
}

DM_TIER_MESSAGE(forget_device)
{
	struct dm_tier_device *dev;
	int r = find_device(pool, argv[1], &dev);

	if (argc > 2 && strcmp(argv[2], "lost"))
		return -EINVAL;
	r = r ?: dm_tier_message_may_change(pool);
	if (r)
		return r;
	return argc > 2 ? give_up_device(dev) : remove_device(dev);
}

DM_TIER_MESSAGE(set_low_water)
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

DM_TIER_MESSAGE(set_reserve)
{
	struct dm_tier_change *spare;
	struct dm_tier_device *dev;
	u64 slots;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_DEVICE_SLOTS, &slots);
	r = r ?: dm_tier_message_may_change(pool);
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_device(dev, &spare);
	dev->reserve_slots = slots;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return 0;
}

DM_TIER_MESSAGE(clear_quarantine)
{
	struct dm_tier_device *dev;
	u32 slot;
	int r = find_device(pool, argv[1], &dev);

	r = r ?: dm_tier_message_may_change(pool);
	for (slot = 0; !r && slot < dev->slots; slot++) {
		struct dm_tier_slot *s = &dev->slot[slot];
		struct dm_tier_change *spare;

		/* Not of a move's source: its record may be written already. */
		if (!s->quarantine || s->state == SLOT_OWNED)
			continue;
		r = dm_tier_message_change_begin(pool, &spare);
		if (r)
			break;
		spin_lock(&pool->lock);
		__dm_tier_meta_touch_slot(pool, dev, slot, 0, &spare);
		s->quarantine = false;
		dev->quarantined--;
		if (s->state == SLOT_FREE)
			dm_tier_device_free_slot(dev, slot);
		spin_unlock(&pool->lock);
		dm_tier_message_change_end(pool, spare);
	}
	dm_tier_io_kick_space(pool);	/* some may be free even if not all are */
	return r;
}
