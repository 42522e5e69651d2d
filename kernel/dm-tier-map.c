// SPDX-License-Identifier: GPL-2.0-only
/* Placement choice; the header is the specification. */
#include <linux/errno.h>
#include "dm-tier-map.h"

static u32 open_to_writes(const struct dm_tier_space *space)
{
	if (!space->usable || space->free <= space->reserve)
		return 0;
	return space->free - space->reserve;
}

static int emptiest(const struct dm_tier_space *space, u32 count, u32 tier)
{
	int best = -ENOSPC;
	u32 most = 0, i;

	for (i = 0; i < count; i++) {
		if (space[i].tier != tier || open_to_writes(&space[i]) <= most)
			continue;
		most = open_to_writes(&space[i]);
		best = i;
	}
	return best;
}

static int roomiest_tier(const struct dm_tier_space *space, u32 count)
{
	u64 sum[DM_TIER_MAX_TIERS] = { 0 };
	u32 i, best = 0;

	for (i = 0; i < count; i++)
		if (space[i].tier < DM_TIER_MAX_TIERS)
			sum[space[i].tier] += open_to_writes(&space[i]);
	for (i = 1; i < DM_TIER_MAX_TIERS; i++)
		if (sum[i] > sum[best])
			best = i;
	return best;
}

int dm_tier_map_place(const struct dm_tier_space *space, u32 count,
		      const u8 *placement, u8 tiers)
{
	int device = -ENOSPC;
	u8 i;

	if (!tiers)
		return emptiest(space, count, roomiest_tier(space, count));
	for (i = 0; i < tiers && device < 0; i++)
		device = emptiest(space, count, placement[i]);
	return device;
}

int dm_tier_map_move(const struct dm_tier_space *space, u32 count, u32 tier)
{
	int best = -ENXIO;
	u32 most = 0, i;

	for (i = 0; i < count; i++) {
		if (space[i].tier != tier || !space[i].usable)
			continue;
		if (best == -ENXIO)
			best = -ENOSPC;
		if (space[i].free <= most)
			continue;
		most = space[i].free;
		best = i;
	}
	return best;
}
