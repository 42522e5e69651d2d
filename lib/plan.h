/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The planner: where every extent of a pool should be, and the moves that bring
 * it there, each with its reason. tierd, `tierctl plan` and the simulator run
 * this same code. The rules are POLICY RULES 2.x and 3.x of tierd.conf(5); the
 * code cites them by number.
 *
 * Input: the pool's devices, and for each volume its policy and plain arrays (the
 * device and the heat of each extent). Output: a list of moves in the order in
 * which to issue them, and one reason per extent that stays against expectation.
 *
 * Promises, tested over thousands of random pools:
 *  - Every prefix of the list is feasible: done one after the other, each move
 *    finds a free slot on its device when its turn comes. (Who runs several at
 *    once starts a move only when the destination shows a free slot.)
 *  - No tier gets fuller than slots - headroom by a plan, but for one slot while
 *    an exchange turns; no extent moves twice; only to devices that are online.
 *  - The same input gives the same list, to the byte.
 *  - Applied again and again to a load that does not change, it comes to rest.
 *
 * Pure: no clock, no I/O. tier_planner_new() allocates for the extents; the list
 * of moves, which lasts until the next plan, grows while one is made. Time
 * grows linearly with the number of extents.
 *
 * It must not know: windows, rates, pauses, the kernel, what a label looks like.
 */
#ifndef TIER_PLAN_H
#define TIER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "policy.h"
#include "reason.h"

#define TIER_PLAN_NO_DEVICE	0xff	/* in tier_plan_volume.device: no slot */
#define TIER_PLAN_GAIN_BINS	5

struct tier_plan_config {
	double headroom_percent;	/* 3.2: of every tier but the lowest */
	uint64_t headroom_min_slots;	/* at least so many, of every tier */
	double hysteresis;		/* 3.4: factor, >= 1 */
	double benefit;			/* 3.4: of the mean gain of a slot of the tier */
	/*
	 * 3.4: what part of the predicted gain came true lately, for pairs whose
	 * heats are < 1.25, < 1.6, < 2.5, < 5 times apart, and above. 1 until it is
	 * learned.
	 */
	double gain_realised[TIER_PLAN_GAIN_BINS];
	double min_gain;		/* 3.4: I/Os per day that a pair must save at least */
	double rebalance;		/* 3.8: rest if no device is hotter than this x the mean */
	double max_iops[TIER_MAX_TIERS];/* 3.3: I/Os per second, 0 = no limit */
	uint64_t max_moves;		/* the list ends there; 0 = no limit */
};

/*
 * The product's defaults: headroom 10 % and one slot, hysteresis 2, benefit 0.1,
 * rebalance 1.5, min_gain by tier_plan_min_gain() for this extent size and this
 * weight of sequential I/O, no other limit.
 */
void tier_plan_config_init(struct tier_plan_config *config, uint64_t extent_sectors,
			   double sequential_weight);

/*
 * What a pair of moves costs in the currency of heat: both extents are read and
 * written once, sequentially, in I/Os of 1 MiB.
 */
double tier_plan_min_gain(uint64_t extent_sectors, double sequential_weight);

struct tier_plan_volume {
	uint32_t id;
	enum tier_policy policy;
	bool pinned;			/* the policy comes from a pin: moves say so */
	/*
	 * False when one volume is relocated by hand and this is not it: it only
	 * makes room.
	 */
	bool in_scope;
	uint64_t nr_extents;
	/*
	 * Of each extent: idx of its device, TIER_PLAN_NO_DEVICE without a slot.
	 * One that is being moved counts as being where it goes, and is held.
	 */
	const uint8_t *device;
	const float *heat;		/* I/Os per day, tier_heat_rank(); < 0: not known */
	const uint16_t *valid_regions;	/* what a move copies; NULL: all regions */
	/*
	 * enum tier_reason of extents that must stay where they are (under way,
	 * waiting out an error); NULL or 0: none.
	 */
	const uint8_t *hold;
	/*
	 * Out, may be NULL: enum tier_reason of each extent. Of one that moves, why;
	 * of one that stays, why it stays though one might expect a move, or NONE.
	 */
	uint8_t *ret_reason;
};

struct tier_plan_input {
	const struct tier_pool_info *pool;	/* devices and sizes; its volumes are not used */
	const struct tier_plan_volume *volumes;
	size_t nr_volumes;
};

struct tier_plan_move {
	uint64_t extent;
	uint64_t bytes;			/* to copy */
	uint32_t volume;		/* id */
	uint32_t volume_index;		/* in the input */
	float heat;			/* I/Os per day; 0 if not known */
	float threshold;		/* what `heat` was compared with; 0 = nothing */
	uint8_t from_tier;
	uint8_t to_tier;
	uint8_t from_device;
	uint8_t to_device;
	enum tier_reason reason;
	bool force;			/* a drain: the move has to end */
};

struct tier_plan_tier {
	uint64_t slots;			/* of online devices */
	uint64_t headroom_slots;	/* that the plan leaves free */
	uint64_t used_slots;		/* before the plan, by extents of the input */
	uint64_t planned_slots;		/* ... and after it */
	double heat;			/* of its extents, before the plan, I/Os per day */
	double planned_heat;
	uint64_t up_bytes;		/* that leave it to a higher tier */
	uint64_t down_bytes;		/* ... to a lower one */
	uint64_t in_bytes;		/* that come in from other tiers */
	uint64_t side_bytes;		/* moved inside it */
};

/* All of it belongs to the planner and is valid until its next use. */
struct tier_plan {
	const struct tier_plan_move *moves;
	size_t nr_moves;
	size_t nr_wanted;		/* without max_moves it would be so many */
	uint64_t bytes;			/* of `moves` */
	uint32_t nr_tiers;
	struct tier_plan_tier tiers[TIER_MAX_TIERS];
	double heat;			/* of the pool, I/Os per day */
};

struct tier_planner;

/*
 * Memory for plans of up to max_extents allocated extents (32 bytes each). Moves
 * get memory as they come, so tier_plan() can fail with -ENOMEM.
 */
int tier_planner_new(uint64_t max_extents, struct tier_planner **ret_planner);
void tier_planner_free(struct tier_planner *planner);	/* NULL is fine */

/*
 * Plan. -ENOSPC: more allocated extents than the planner has memory for (make a
 * new one). -EINVAL: a device idx that the pool does not have, a number out of
 * range. On failure ret_reason arrays are undefined.
 */
int tier_plan(struct tier_planner *planner, const struct tier_plan_config *config,
	      const struct tier_plan_input *input, struct tier_plan *ret_plan);

/*
 * Nothing will move for now (outside_window, paused, throttled): give every
 * extent of plan->moves from index `first_move` on that reason instead.
 */
void tier_plan_hold(const struct tier_plan_input *input, const struct tier_plan *plan,
		    size_t first_move, enum tier_reason reason);

/* Seconds for `bytes` at bytes_per_s; 0 if there is nothing to do or no rate to go by. */
uint64_t tier_plan_seconds(uint64_t bytes, uint64_t bytes_per_s);

#endif
