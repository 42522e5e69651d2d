/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where first writes go under a policy: the kernel's placement for each of the
 * five. It has to be set again when the policy changes, a pin ends, or the pool
 * gets a tier that it did not have. Pure.
 */
#ifndef TIER_PLACEMENT_H
#define TIER_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"
#include "policy.h"

/*
 * highest, start-highest: the pool's tiers from the fastest down; lowest: from
 * the slowest up; auto, none: the tier with the most free slots. Tiers whose
 * devices are all lost are left out. A pool without devices: auto.
 */
void tier_placement_of_policy(enum tier_policy policy, const struct tier_device_info *devices,
			      size_t nr_devices, struct tier_placement *ret_placement);

bool tier_placement_equal(const struct tier_placement *a, const struct tier_placement *b);

#endif
