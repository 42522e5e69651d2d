// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the input's arrays to items in rank order. Ranking is a radix sort of the
 * class and 30 bits of the heat: linear, stable, and therefore the same on every
 * run; equals keep the order of volumes and extents (rule 3.1).
 */
#include "plan_internal.h"

#include <errno.h>
#include <string.h>

#define RADIX_BITS	11
#define RADIX_BUCKETS	(1U << RADIX_BITS)
#define RADIX_PASSES	3

/* Smallest for the best claim. Bits of a float that is >= 0 sort as the float does. */
static uint32_t rank_key(const struct plan_item *item)
{
	uint32_t bits;

	memcpy(&bits, &item->heat, sizeof(bits));
	return ~((uint32_t)item->class << 30 | bits >> 1);
}

static void sort_items(struct tier_planner *planner)
{
	uint32_t counts[RADIX_PASSES][RADIX_BUCKETS] = { { 0 } };

	for (uint64_t i = 0; i < planner->nr_items; i++) {
		uint32_t key = rank_key(&planner->items[i]);

		for (unsigned int pass = 0; pass < RADIX_PASSES; pass++)
			counts[pass][key >> pass * RADIX_BITS & (RADIX_BUCKETS - 1)]++;
	}
	for (unsigned int pass = 0; pass < RADIX_PASSES; pass++) {
		unsigned int shift = pass * RADIX_BITS;
		struct plan_item *from = planner->items, *to = planner->spare;
		uint32_t *start = counts[pass], sum = 0;

		for (unsigned int bucket = 0; bucket < RADIX_BUCKETS; bucket++) {
			uint32_t count = start[bucket];

			start[bucket] = sum;
			sum += count;
		}
		for (uint64_t i = 0; i < planner->nr_items; i++)
			to[start[rank_key(&from[i]) >> shift & (RADIX_BUCKETS - 1)]++] = from[i];
		planner->items = to;
		planner->spare = from;
	}
}

static enum plan_class class_of(enum tier_policy policy)
{
	switch (policy) {
	case TIER_POLICY_HIGHEST:
		return PLAN_HIGHEST;
	case TIER_POLICY_LOWEST:
		return PLAN_LOWEST;
	case TIER_POLICY_AUTO:
	case TIER_POLICY_START_HIGHEST:
	case TIER_POLICY_NONE:
	case TIER_POLICY_COUNT:
		break;
	}
	return PLAN_BY_HEAT;
}

/* A heat that can be ranked: no NaN, nothing negative. */
static float clean_heat(float heat)
{
	return heat > 0 ? heat : 0;
}

static int add_item(struct tier_planner *planner, uint16_t index, uint64_t extent,
		    const struct plan_device *device)
{
	const struct tier_plan_volume *volume = &planner->input->volumes[index];
	struct plan_tier *tier = &planner->tiers[device->tier];
	float heat = volume->heat[extent];
	struct plan_item item = {
		.heat = clean_heat(heat),
		.extent = (uint32_t)extent,
		.volume = index,
		.device = volume->device[extent],
		.tier = device->tier,
		.target = device->tier,
		.class = (uint8_t)class_of(volume->policy),
		.reason = TIER_REASON_NONE,
	};

	if (planner->nr_items == planner->max_items)
		return -ENOSPC;
	if (heat < 0)
		item.flags |= PLAN_UNKNOWN;
	if (volume->in_scope)
		item.flags |= PLAN_IN_SCOPE;
	if (device->is_draining)
		item.flags |= PLAN_DRAINING;
	if (volume->policy == TIER_POLICY_NONE) {
		item.target = PLAN_FIXED;
		item.reason = TIER_REASON_POLICY_NONE;
		if (device->is_draining)
			tier->fixed_draining++;
	} else {
		tier->members[item.class]++;
		if (!device->is_draining)
			tier->movable++;
	}
	planner->items[planner->nr_items++] = item;
	return 0;
}

static void add_up(struct tier_planner *planner, struct plan_device *device, float heat)
{
	struct tier_plan_tier *report = &planner->report[device->tier];

	device->heat += heat;
	planner->heat += heat;
	report->used_slots++;
	report->heat += heat;
}

static int add_volume(struct tier_planner *planner, uint16_t index)
{
	const struct tier_plan_volume *volume = &planner->input->volumes[index];

	for (uint64_t extent = 0; extent < volume->nr_extents; extent++) {
		uint8_t idx = volume->device[extent], reason = TIER_REASON_NONE;
		struct plan_device *device = &planner->devices[idx % TIER_MAX_DEVICES];
		int r = 0;

		if (idx == TIER_PLAN_NO_DEVICE) {
			/* Nothing to place. */
		} else if (idx >= TIER_MAX_DEVICES || !device->is_member) {
			return -EINVAL;
		} else {
			add_up(planner, device, clean_heat(volume->heat[extent]));
			if (!device->is_online && !device->is_draining)
				reason = TIER_REASON_DEVICE_MISSING;
			else if (volume->hold && volume->hold[extent])
				reason = volume->hold[extent];
			else
				r = add_item(planner, index, extent, device);
		}
		if (r)
			return r;
		if (volume->ret_reason)
			volume->ret_reason[extent] = reason;
	}
	return 0;
}

int tier_plan_rank(struct tier_planner *planner)
{
	uint64_t i = 0;

	planner->nr_items = 0;
	for (size_t index = 0; index < planner->input->nr_volumes; index++) {
		int r = add_volume(planner, (uint16_t)index);

		if (r)
			return r;
	}
	sort_items(planner);

	/* Highest first: walk the classes down. */
	for (int class = PLAN_HIGHEST; class >= PLAN_LOWEST; class--) {
		planner->class_begin[class] = i;
		while (i < planner->nr_items && planner->items[i].class == class)
			i++;
	}
	/* From here on the spare half holds the thresholds and the lists of plan_order.c. */
	planner->threshold = (float *)planner->spare;
	planner->next = (uint32_t *)planner->spare + planner->max_items;
	memset(planner->threshold, 0, planner->nr_items * sizeof(*planner->threshold));
	return 0;
}
