/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heat and planner driving a simulated pool, without the daemon: collect through
 * the backend, plan, and play the plan move by move as it is listed. What tests of
 * the brain stand on; the daemon's own loop is tested elsewhere.
 *
 * Anything that goes wrong on the way abort()s: a test that wants an error asks
 * the module itself.
 */
#ifndef TIER_BRAIN_H
#define TIER_BRAIN_H

#include "heat.h"
#include "plan.h"
#include "sim.h"

struct tier_brain_volume {
	bool is_used;
	struct tier_heat_volume heat;
	uint8_t *device;
	float *rank;
	uint16_t *valid;
	uint8_t *hold;
	uint8_t *reason;
};

struct tier_brain {
	struct tier_sim *sim;
	struct tier_backend backend;
	struct tier_heat_config heat_config;
	struct tier_plan_config plan_config;
	bool has_history;	/* volumes found from now on were created under our eyes */
	uint32_t only_volume;	/* UINT32_MAX: the whole pool */
	struct tier_brain_volume volumes[TIER_MAX_VOLUMES];

	/* Of the last plan; replaced by the next one. */
	struct tier_pool_info pool;
	struct tier_planner *planner;
	struct tier_plan_volume *inputs;
	struct tier_plan_input input;
	struct tier_plan plan;
};

struct tier_brain *tier_brain_new(struct tier_sim *sim);
void tier_brain_free(struct tier_brain *brain);

/* Read the counters of all volumes and fold them, look at the map. */
void tier_brain_collect(struct tier_brain *brain);

/* Collect, then plan into brain->plan. */
void tier_brain_plan(struct tier_brain *brain);

struct tier_brain_result {
	unsigned int up;
	unsigned int down;
	unsigned int side;
};

/* Plan and play all of it, one move after the other; each has to succeed. */
struct tier_brain_result tier_brain_relocate(struct tier_brain *brain);

/* Why an extent moved or stayed, by the last plan. */
enum tier_reason tier_brain_reason(const struct tier_brain *brain, uint32_t volume,
				   uint64_t extent);

#endif
