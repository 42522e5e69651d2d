// SPDX-License-Identifier: GPL-2.0-only
/* Placements of policies. Pure. */
#include "placement.h"

#include <string.h>

void tier_placement_of_policy(enum tier_policy policy, const struct tier_device_info *devices,
			      size_t nr_devices, struct tier_placement *ret_placement)
{
	struct tier_placement placement = { 0 };
	bool has_tier[TIER_MAX_TIERS] = { false };

	for (size_t i = 0; i < nr_devices; i++)
		if (devices[i].state != TIER_DEVICE_LOST && devices[i].tier < TIER_MAX_TIERS)
			has_tier[devices[i].tier] = true;

	switch (policy) {
	case TIER_POLICY_HIGHEST:
	case TIER_POLICY_START_HIGHEST:
		for (int tier = 0; tier < TIER_MAX_TIERS; tier++)
			if (has_tier[tier])
				placement.tiers[placement.nr_tiers++] = (uint8_t)tier;
		break;
	case TIER_POLICY_LOWEST:
		for (int tier = TIER_MAX_TIERS - 1; tier >= 0; tier--)
			if (has_tier[tier])
				placement.tiers[placement.nr_tiers++] = (uint8_t)tier;
		break;
	case TIER_POLICY_AUTO:
	case TIER_POLICY_NONE:
	case TIER_POLICY_COUNT:
		break;
	}
	placement.is_auto = !placement.nr_tiers;
	*ret_placement = placement;
}

bool tier_placement_equal(const struct tier_placement *a, const struct tier_placement *b)
{
	if (a->is_auto || b->is_auto)
		return a->is_auto == b->is_auto;
	return a->nr_tiers == b->nr_tiers && !memcmp(a->tiers, b->tiers, a->nr_tiers);
}
