/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a first write, or a move to a tier, gets its slot.  Pure: the choice
 * only, from numbers; also compiled in user space.
 */
#ifndef DM_TIER_MAP_H
#define DM_TIER_MAP_H

#include <linux/types.h>
#include "dm-tier.h"

/* What the choice looks at, of one device. */
struct dm_tier_space {
	bool usable;		/* online and healthy */
	u32 tier;
	u32 free;		/* free slots */
	u32 reserve;		/* of these, first writes leave so many */
};

/*
 * The device for a first write by a volume's placement (@tiers entries; 0 =
 * auto: the tier with most free slots).  Within a tier the emptiest device.
 * Returns its index in @space, or -ENOSPC.
 */
int dm_tier_map_place(const struct dm_tier_space *space, u32 count,
		      const u8 *placement, u8 tiers);

/*
 * The device for a move to @tier: the emptiest usable one, reserves included.
 * -ENOSPC if none has a free slot, -ENXIO if the tier has no usable device.
 */
int dm_tier_map_move(const struct dm_tier_space *space, u32 count, u32 tier);

#endif /* DM_TIER_MAP_H */
