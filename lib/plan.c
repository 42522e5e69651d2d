// SPDX-License-Identifier: GPL-2.0-only
/* The planner's frame; plan.h is the contract, plan_internal.h the map of its files. */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_internal.h"

#define SECTORS_PER_MIB	2048

double tier_plan_min_gain(uint64_t extent_sectors, double sequential_weight)
{
	return sequential_weight * 4 * (double)extent_sectors / SECTORS_PER_MIB;
}

void tier_plan_config_init(struct tier_plan_config *config, uint64_t extent_sectors,
			   double sequential_weight)
{
	*config = (struct tier_plan_config) {
		.headroom_percent = 10,
		.headroom_min_slots = 1,
		.hysteresis = 2,
		.benefit = 0.1,
		.gain_realised = { 1, 1, 1, 1, 1 },
		.min_gain = tier_plan_min_gain(extent_sectors, sequential_weight),
		.rebalance = 1.5,
	};
}

int tier_planner_new(uint64_t max_extents, struct tier_planner **ret_planner)
{
	struct tier_planner *planner;

	/* Items are linked by 32 bits, and one number is the list's end. */
	if (max_extents >= UINT32_MAX)
		return -ENOMEM;
	planner = calloc(1, sizeof(*planner));
	if (!planner)
		return -ENOMEM;
	planner->max_items = max_extents;
	planner->items = malloc((max_extents + 1) * sizeof(*planner->items));
	planner->spare = malloc((max_extents + 1) * sizeof(*planner->spare));
	if (!planner->items || !planner->spare) {
		tier_planner_free(planner);
		return -ENOMEM;
	}
	*ret_planner = planner;
	return 0;
}

void tier_planner_free(struct tier_planner *planner)
{
	if (!planner)
		return;
	free(planner->items);
	free(planner->spare);
	free(planner->moves);
	free(planner);
}

static int check_config(const struct tier_plan_config *config)
{
	if (!(config->headroom_percent >= 0 && config->headroom_percent <= 100) ||
	    !(config->hysteresis >= 1) || !(config->benefit >= 0) || !(config->min_gain >= 0) ||
	    !(config->rebalance >= 1))
		return -EINVAL;
	for (int bin = 0; bin < TIER_PLAN_GAIN_BINS; bin++)
		if (!(config->gain_realised[bin] >= 0 && config->gain_realised[bin] <= 1))
			return -EINVAL;
	return 0;
}

static int add_devices(struct tier_planner *planner)
{
	const struct tier_pool_info *pool = planner->input->pool;

	for (size_t i = 0; i < pool->nr_devices; i++) {
		const struct tier_device_info *info = &pool->devices[i];
		struct plan_device *device;
		struct plan_tier *tier;

		if (info->idx >= TIER_MAX_DEVICES || info->tier >= TIER_MAX_TIERS)
			return -EINVAL;
		device = &planner->devices[info->idx];
		*device = (struct plan_device) {
			.is_member = true,
			.is_online = info->state == TIER_DEVICE_ONLINE,
			.is_draining = info->state == TIER_DEVICE_DRAINING,
			.tier = (uint8_t)info->tier,
			.slots = info->total_slots,
		};
		if (info->tier >= planner->nr_tiers)
			planner->nr_tiers = info->tier + 1;
		if (!device->is_online || !info->total_slots)
			continue;
		device->free_slots = tier_device_free_slots(info);
		tier = &planner->tiers[info->tier];
		tier->slots += device->slots;
		tier->free_slots += device->free_slots;
		if (info->tier > planner->last_tier)
			planner->last_tier = info->tier;
	}
	return 0;
}

/* 3.2: a tier never has all its slots as headroom; the lowest one only the minimum. */
static void set_headroom(struct tier_planner *planner)
{
	const struct tier_plan_config *config = planner->config;

	for (uint32_t t = 0; t < planner->nr_tiers; t++) {
		struct plan_tier *tier = &planner->tiers[t];
		uint64_t headroom = config->headroom_min_slots;
		uint64_t share = (uint64_t)floor((double)tier->slots *
						 config->headroom_percent / 100);

		if (t < planner->last_tier && share > headroom)
			headroom = share;
		if (headroom >= tier->slots)
			headroom = tier->slots ? tier->slots - 1 : 0;
		tier->headroom = headroom;
	}
}

static void begin(struct tier_planner *planner, const struct tier_plan_config *config,
		  const struct tier_plan_input *input)
{
	memset(planner->devices, 0, sizeof(planner->devices));
	memset(planner->tiers, 0, sizeof(planner->tiers));
	memset(planner->report, 0, sizeof(planner->report));
	memset(planner->floats, 0, sizeof(planner->floats));
	planner->config = config;
	planner->input = input;
	planner->nr_tiers = 0;
	planner->last_tier = 0;
	planner->nr_moves = 0;
	planner->nr_wanted = 0;
	planner->heat = 0;
}

static void begin_report(struct tier_planner *planner)
{
	for (uint32_t t = 0; t < planner->nr_tiers; t++) {
		struct tier_plan_tier *report = &planner->report[t];

		report->slots = planner->tiers[t].slots;
		report->headroom_slots = planner->tiers[t].physical - planner->tiers[t].capacity;
		report->planned_slots = report->used_slots;
		report->planned_heat = report->heat;
	}
}

static void write_reasons(struct tier_planner *planner)
{
	for (uint64_t i = 0; i < planner->nr_items; i++) {
		const struct plan_item *item = &planner->items[i];
		const struct tier_plan_volume *volume = &planner->input->volumes[item->volume];
		uint8_t reason = item->reason;

		if (!volume->ret_reason)
			continue;
		if (reason == TIER_REASON_POLICY_NONE && volume->pinned)
			reason = TIER_REASON_PINNED;
		volume->ret_reason[item->extent] = reason;
	}
}

int tier_plan(struct tier_planner *planner, const struct tier_plan_config *config,
	      const struct tier_plan_input *input, struct tier_plan *ret_plan)
{
	uint64_t bytes = 0;
	int r;

	r = check_config(config);
	if (r)
		return r;
	if (input->nr_volumes > TIER_MAX_VOLUMES)
		return -EINVAL;
	begin(planner, config, input);
	r = add_devices(planner);
	if (r)
		return r;
	set_headroom(planner);
	r = tier_plan_rank(planner);
	if (r)
		return r;
	for (uint32_t t = 0; t < planner->nr_tiers; t++)
		planner->tiers[t].member_heat = planner->report[t].heat;
	tier_plan_capacity(planner);
	begin_report(planner);
	tier_plan_assign(planner);
	r = tier_plan_order(planner);
	if (r)
		return r;
	write_reasons(planner);

	for (size_t i = 0; i < planner->nr_moves; i++)
		bytes += planner->moves[i].bytes;
	*ret_plan = (struct tier_plan) {
		.moves = planner->moves,
		.nr_moves = planner->nr_moves,
		.nr_wanted = planner->nr_wanted,
		.bytes = bytes,
		.nr_tiers = planner->nr_tiers,
		.heat = planner->heat,
	};
	memcpy(ret_plan->tiers, planner->report, sizeof(planner->report));
	return 0;
}

void tier_plan_hold(const struct tier_plan_input *input, const struct tier_plan *plan,
		    size_t first_move, enum tier_reason reason)
{
	for (size_t i = first_move; i < plan->nr_moves; i++) {
		const struct tier_plan_move *move = &plan->moves[i];
		uint8_t *reasons = input->volumes[move->volume_index].ret_reason;

		if (reasons)
			reasons[move->extent] = (uint8_t)reason;
	}
}

uint64_t tier_plan_seconds(uint64_t bytes, uint64_t bytes_per_s)
{
	if (!bytes || !bytes_per_s)
		return 0;
	return (bytes - 1) / bytes_per_s + 1;
}
