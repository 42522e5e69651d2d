// SPDX-License-Identifier: GPL-2.0-only
/* Emptying devices of a pool. Pure. */
#include "reduce.h"

#include <errno.h>

/* tierd's own default: what it is told in tierd.conf is not known here. */
#define HEADROOM_PERCENT	10

void tier_reduce_room(const struct tier_device_info *devices, size_t nr_devices,
		      const bool *leaving, struct tier_reduce_room *ret_room)
{
	struct tier_reduce_room room = { 0 };
	uint64_t slots[TIER_MAX_TIERS] = { 0 };
	uint32_t lowest = 0;

	for (size_t i = 0; i < nr_devices; i++) {
		const struct tier_device_info *device = &devices[i];

		if (device->state != TIER_DEVICE_ONLINE || leaving[device->idx])
			continue;
		room.nr_online++;
		room.free_slots[device->tier] += tier_device_free_slots(device);
		slots[device->tier] += device->total_slots;
		if (device->tier > lowest)
			lowest = device->tier;
	}
	for (uint32_t tier = 0; tier < TIER_MAX_TIERS; tier++) {
		if (!slots[tier])
			continue;
		room.headroom_slots[tier] = tier == lowest ? 0 : slots[tier] * HEADROOM_PERCENT / 100;
		if (!room.headroom_slots[tier])
			room.headroom_slots[tier] = 1;
	}
	*ret_room = room;
}

int64_t tier_reduce_spare_slots(const struct tier_reduce_room *room)
{
	int64_t slots = 0;

	for (int tier = 0; tier < TIER_MAX_TIERS; tier++)
		slots += (int64_t)room->free_slots[tier];
	return slots ? slots - 1 : -ENOSPC;
}

static bool has_room(const struct tier_reduce_room *room, int tier, uint32_t without,
		     bool keep_headroom)
{
	return !(without & 1U << tier) &&
	       room->free_slots[tier] > (keep_headroom ? room->headroom_slots[tier] : 0);
}

/* The nearest tier in one direction; -ENOSPC. */
static int nearest(const struct tier_reduce_room *room, int from, int step, uint32_t without,
		   bool keep_headroom)
{
	for (int tier = from + step; tier >= 0 && tier < TIER_MAX_TIERS; tier += step)
		if (has_room(room, tier, without, keep_headroom))
			return tier;
	return -ENOSPC;
}

int tier_reduce_tier(const struct tier_reduce_room *room, enum tier_policy policy, uint32_t from,
		     uint32_t without)
{
	int step = policy == TIER_POLICY_HIGHEST ? -1 : 1;

	for (int keep_headroom = 1; keep_headroom >= 0; keep_headroom--) {
		int tier = (int)from;

		/* 2.5: downwards only if the tier itself has no slot at all. */
		if (has_room(room, tier, without, keep_headroom && policy != TIER_POLICY_NONE))
			return tier;
		tier = nearest(room, (int)from, step, without, keep_headroom);
		if (tier < 0)
			tier = nearest(room, (int)from, -step, without, keep_headroom);
		if (tier >= 0)
			return tier;
	}
	return -ENOSPC;
}

int tier_reduce_turn(enum tier_policy policy)
{
	switch (policy) {
	case TIER_POLICY_NONE:
		return 0;
	case TIER_POLICY_HIGHEST:
		return 1;
	case TIER_POLICY_AUTO:
	case TIER_POLICY_START_HIGHEST:
	case TIER_POLICY_COUNT:
		break;
	case TIER_POLICY_LOWEST:
		return 3;
	}
	return 2;
}
