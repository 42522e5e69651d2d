/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Emptying devices of a pool: whether what they hold fits on the others, and on
 * which tier each extent goes. Pure.
 *
 * This is for `tpreduce`, which works without tierd and so without heat: an extent
 * stays on its tier if that has room, else it goes to the nearest tier that its
 * policy likes (2.3 to 2.5 and 3.5 of tierd.conf(5)). What tierd would have done
 * better it does at its next relocation.
 */
#ifndef TIER_REDUCE_H
#define TIER_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "policy.h"

/* What the devices that stay can take. */
struct tier_reduce_room {
	uint32_t nr_online;			/* devices */
	uint64_t free_slots[TIER_MAX_TIERS];
	uint64_t headroom_slots[TIER_MAX_TIERS];	/* 3.2: kept if there is another way */
};

/* Of the online devices but those with leaving[idx]. `leaving`: TIER_MAX_DEVICES. */
void tier_reduce_room(const struct tier_device_info *devices, size_t nr_devices,
		      const bool *leaving, struct tier_reduce_room *ret_room);

/*
 * How many extents they may take: all free slots but one. Without that, no exchange
 * could turn any more, and every first write would fail. -ENOSPC: there is not even
 * that one.
 */
int64_t tier_reduce_spare_slots(const struct tier_reduce_room *room);

/*
 * The tier for an extent of a volume with this policy that has to leave a device of
 * tier `from`; those in the bit mask `without` are out of question. First where
 * headroom is left, then anywhere. -ENOSPC: nowhere.
 */
int tier_reduce_tier(const struct tier_reduce_room *room, enum tier_policy policy, uint32_t from,
		     uint32_t without);

/*
 * Which extents choose first, 0 before 1 ...: those that no other tier suits
 * (`none`), then those that only higher ones do, `lowest` at the end.
 */
int tier_reduce_turn(enum tier_policy policy);

#endif
