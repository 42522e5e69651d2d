// SPDX-License-Identifier: GPL-2.0-only
/* How full a pool is. See space.h. */
#include "space.h"

#define FALL_PERCENT	2

static const unsigned int levels_percent[] = { 95, 90, 80 };

static uint32_t lowest_tier(const struct tier_pool_info *info)
{
	uint32_t lowest = 0;

	for (size_t i = 0; i < info->nr_devices; i++)
		if (info->devices[i].state != TIER_DEVICE_LOST && info->devices[i].tier > lowest)
			lowest = info->devices[i].tier;
	return lowest;
}

void tier_space_of(const struct tier_pool_info *info, struct tier_space *ret_space)
{
	struct tier_space space = { 0 };
	const uint32_t lowest = lowest_tier(info);
	uint64_t free_at_the_bottom = 0;

	for (size_t i = 0; i < info->nr_devices; i++) {
		const struct tier_device_info *device = &info->devices[i];
		uint64_t free_slots = tier_device_free_slots(device);

		if (device->state != TIER_DEVICE_ONLINE)
			continue;
		space.total_slots += device->total_slots;
		space.used_slots += device->used_slots + device->quarantined_slots;
		space.first_write_slots += free_slots;
		if (device->tier == lowest)
			free_at_the_bottom += free_slots;
	}
	/* The slot that pools are made with for exchanges (set_reserve of dm-tier(7)). */
	if (free_at_the_bottom)
		space.first_write_slots--;
	space.used_percent = space.total_slots ?
			     (unsigned int)(space.used_slots * 100 / space.total_slots) : 100;
	space.is_full = info->mode == TIER_POOL_OUT_OF_SPACE || !space.first_write_slots;
	*ret_space = space;
}

static unsigned int level_of(unsigned int percent)
{
	for (size_t i = 0; i < sizeof(levels_percent) / sizeof(levels_percent[0]); i++)
		if (percent >= levels_percent[i])
			return levels_percent[i];
	return 0;
}

static bool has_space_again(const struct tier_space *space)
{
	return !space->is_full && space->first_write_slots * 100 > space->total_slots;
}

enum tier_space_news tier_space_watch(struct tier_space_watch *watch,
				      const struct tier_space *space)
{
	const unsigned int before = watch->level_percent;
	const bool was_full = watch->is_full;
	const unsigned int held = level_of(space->used_percent + FALL_PERCENT);
	unsigned int level = level_of(space->used_percent);

	/* One that was reached lasts until the share is well below it. */
	if (level < before)
		level = held < before ? held : before;
	watch->level_percent = level;
	watch->is_full = space->is_full || (was_full && !has_space_again(space));
	if (watch->is_full)
		return was_full ? TIER_SPACE_NO_NEWS : TIER_SPACE_FULL;
	if (was_full || (before && !level))
		return TIER_SPACE_BACK;
	return level > before ? TIER_SPACE_FILLING : TIER_SPACE_NO_NEWS;
}
