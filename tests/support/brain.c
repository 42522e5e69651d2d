// SPDX-License-Identifier: GPL-2.0-only
/* Heat and planner over a simulated pool; brain.h is the contract. */
#include "brain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	512

#define MUST(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

struct tier_brain *tier_brain_new(struct tier_sim *sim)
{
	struct tier_brain *brain = calloc(1, sizeof(*brain));
	struct tier_pool_info pool;

	MUST(brain);
	brain->sim = sim;
	brain->backend = tier_sim_backend(sim);
	brain->has_history = true;
	brain->only_volume = UINT32_MAX;
	MUST(!brain->backend.ops->read_pool(sim, &pool));
	tier_heat_config_init(&brain->heat_config);
	tier_plan_config_init(&brain->plan_config, pool.extent_sectors,
			      brain->heat_config.sequential_weight);
	tier_pool_info_clear(&pool);
	return brain;
}

static void drop_volume(struct tier_brain_volume *volume)
{
	tier_heat_volume_clear(&volume->heat);
	free(volume->device);
	free(volume->rank);
	free(volume->valid);
	free(volume->hold);
	free(volume->reason);
	memset(volume, 0, sizeof(*volume));
}

void tier_brain_free(struct tier_brain *brain)
{
	if (!brain)
		return;
	for (uint32_t id = 0; id < TIER_MAX_VOLUMES; id++)
		if (brain->volumes[id].is_used)
			drop_volume(&brain->volumes[id]);
	tier_pool_info_clear(&brain->pool);
	tier_planner_free(brain->planner);
	free(brain->inputs);
	free(brain);
}

static void add_volume(struct tier_brain *brain, const struct tier_volume_info *info,
		       uint64_t nr_extents)
{
	struct tier_brain_volume *volume = &brain->volumes[info->id];

	volume->is_used = true;
	MUST(!tier_heat_volume_init(&volume->heat, &brain->heat_config, nr_extents,
				    brain->has_history, tier_sim_now_ns(brain->sim)));
	volume->device = calloc(nr_extents, sizeof(*volume->device));
	volume->rank = calloc(nr_extents, sizeof(*volume->rank));
	volume->valid = calloc(nr_extents, sizeof(*volume->valid));
	volume->hold = calloc(nr_extents, sizeof(*volume->hold));
	volume->reason = calloc(nr_extents, sizeof(*volume->reason));
	MUST(volume->device && volume->rank && volume->valid && volume->hold && volume->reason);
}

static void collect_volume(struct tier_brain *brain, uint32_t id)
{
	const struct tier_backend_ops *ops = brain->backend.ops;
	struct tier_heat_volume *heat = &brain->volumes[id].heat;
	int64_t now_ns = tier_sim_now_ns(brain->sim);
	struct tier_counter counters[CHUNK];
	struct tier_map_run runs[CHUNK];
	struct tier_counter_head head;
	struct tier_heat_round round;
	uint64_t at = 0, next;
	size_t count;

	while (at < heat->nr_extents) {
		MUST(!ops->read_counters(brain->backend.ctx, id, at, heat->nr_extents - at,
					 heat->since, &head, counters, CHUNK, &count, &next));
		if (!at)
			tier_heat_begin(heat, &brain->heat_config, &head, true, now_ns, &round);
		MUST(!tier_heat_count(heat, &brain->heat_config, &round, counters, count));
		at = next;
	}
	tier_heat_end(heat, &round);

	for (at = 0; at < heat->nr_extents; at = next) {
		MUST(!ops->read_map(brain->backend.ctx, id, at, heat->nr_extents - at, runs,
				    CHUNK, &count, &next));
		for (size_t i = 0; i < count; i++) {
			bool is_allocated = runs[i].device != TIER_NO_DEVICE;

			tier_heat_map(heat, runs[i].first, runs[i].count, is_allocated, now_ns);
			for (uint64_t e = runs[i].first; e < runs[i].first + runs[i].count; e++) {
				brain->volumes[id].device[e] = is_allocated ?
					(uint8_t)runs[i].device : TIER_PLAN_NO_DEVICE;
				brain->volumes[id].valid[e] = (uint16_t)runs[i].valid_regions;
			}
		}
	}
}

void tier_brain_collect(struct tier_brain *brain)
{
	tier_pool_info_clear(&brain->pool);
	MUST(!brain->backend.ops->read_pool(brain->backend.ctx, &brain->pool));
	for (size_t i = 0; i < brain->pool.nr_volumes; i++) {
		const struct tier_volume_info *info = &brain->pool.volumes[i];
		uint64_t nr_extents = info->sectors / brain->pool.extent_sectors;
		struct tier_brain_volume *volume = &brain->volumes[info->id];

		if (volume->is_used && volume->heat.nr_extents != nr_extents)
			drop_volume(volume);
		if (!volume->is_used)
			add_volume(brain, info, nr_extents);
		collect_volume(brain, info->id);
	}
}

static void build_inputs(struct tier_brain *brain)
{
	int64_t now_ns = tier_sim_now_ns(brain->sim);
	size_t nr_volumes = brain->pool.nr_volumes;

	free(brain->inputs);
	brain->inputs = calloc(nr_volumes + 1, sizeof(*brain->inputs));
	MUST(brain->inputs);
	for (size_t i = 0; i < nr_volumes; i++) {
		const struct tier_volume_info *info = &brain->pool.volumes[i];
		struct tier_brain_volume *volume = &brain->volumes[info->id];
		struct tier_label_policy policy;

		MUST(!tier_label_policy(info->label, now_ns / 1000000000, &policy));
		tier_heat_rank(&volume->heat, &brain->heat_config, now_ns, volume->rank);
		brain->inputs[i] = (struct tier_plan_volume) {
			.id = info->id,
			.policy = policy.policy,
			.pinned = policy.pinned,
			.in_scope = brain->only_volume == UINT32_MAX ||
				    brain->only_volume == info->id,
			.nr_extents = volume->heat.nr_extents,
			.device = volume->device,
			.heat = volume->rank,
			.valid_regions = volume->valid,
			.hold = volume->hold,
			.ret_reason = volume->reason,
		};
	}
	brain->input = (struct tier_plan_input) {
		.pool = &brain->pool,
		.volumes = brain->inputs,
		.nr_volumes = nr_volumes,
	};
}

void tier_brain_plan(struct tier_brain *brain)
{
	uint64_t allocated = 0;

	tier_brain_collect(brain);
	for (size_t i = 0; i < brain->pool.nr_volumes; i++)
		allocated += brain->pool.volumes[i].allocated_extents;
	build_inputs(brain);
	tier_planner_free(brain->planner);
	MUST(!tier_planner_new(allocated, &brain->planner));
	MUST(!tier_plan(brain->planner, &brain->plan_config, &brain->input, &brain->plan));
}

struct tier_brain_result tier_brain_relocate(struct tier_brain *brain)
{
	struct tier_brain_result result = { 0 };

	tier_brain_plan(brain);
	for (size_t i = 0; i < brain->plan.nr_moves; i++) {
		const struct tier_plan_move *move = &brain->plan.moves[i];
		struct tier_target to = { .is_device = true, .index = move->to_device };
		uint64_t id;

		MUST(!brain->backend.ops->migrate(brain->backend.ctx, move->volume, move->extent,
						  to, move->force, &id));
		tier_sim_settle(brain->sim);
		MUST(tier_sim_device_of(brain->sim, move->volume, move->extent) ==
		     move->to_device);
		if (move->to_tier < move->from_tier)
			result.up++;
		else if (move->to_tier > move->from_tier)
			result.down++;
		else
			result.side++;
	}
	MUST(!tier_sim_check(brain->sim));
	return result;
}

enum tier_reason tier_brain_reason(const struct tier_brain *brain, uint32_t volume,
				   uint64_t extent)
{
	return brain->volumes[volume].reason[extent];
}
