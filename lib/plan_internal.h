/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the planner; plan.h is what everyone else sees. One plan passes through
 * four files, each a step with a plain result:
 *
 *	plan.c		checks the input, adds up devices and tiers, writes the answer
 *	plan_rank.c	one item for each extent with a slot, sorted: best claim first
 *	plan_assign.c	which tier each item should be on (its target)
 *	plan_order.c	the moves one after the other, with devices; rebalance
 *
 * Pure. An item is an allocated extent that may move. Items are kept in rank
 * order, so every step is a scan, and all of it is linear in their number.
 */
#ifndef TIER_PLAN_INTERNAL_H
#define TIER_PLAN_INTERNAL_H

#include "plan.h"

/* The claim to the upper tiers that comes before heat (3.1). */
enum plan_class {
	PLAN_LOWEST,
	PLAN_BY_HEAT,
	PLAN_HIGHEST,
	PLAN_CLASSES
};

/* Targets that are no tier. PLAN_FLOAT: has left its tier, has no new one yet. */
#define PLAN_FLOAT	0x40
#define PLAN_FIXED	0x80	/* stays on its tier, by policy */

#define PLAN_UNKNOWN	(1U << 0)	/* heat not known yet: counts as 0, is not displaced */
#define PLAN_IN_SCOPE	(1U << 1)
#define PLAN_DRAINING	(1U << 2)	/* its device is draining: its slot is none */
#define PLAN_MOVED	(1U << 3)	/* is in the list, or was given up */

/* 16 bytes, there may be millions. */
struct plan_item {
	float heat;			/* >= 0, I/Os per day */
	uint32_t extent;
	uint16_t volume;		/* index in the input */
	uint8_t device;
	uint8_t tier;			/* where it is */
	uint8_t target;			/* where it should be: a tier, PLAN_FLOAT, PLAN_FIXED */
	uint8_t class;
	uint8_t flags;
	uint8_t reason;
};

struct plan_device {
	bool is_member;
	bool is_online;
	bool is_draining;
	uint8_t tier;
	uint64_t slots;
	uint64_t free_slots;		/* goes down and up as moves are listed */
	double heat;			/* of what lies on it, likewise */
};

struct plan_tier {
	uint64_t slots;			/* of online devices */
	uint64_t free_slots;		/* as of the devices */
	uint64_t headroom;		/* of those, what the plan leaves free */
	uint64_t movable;		/* items on its online devices that are not fixed */
	uint64_t fixed_draining;	/* fixed items that need another device of the tier */
	uint64_t physical;		/* slots for items, headroom included */
	uint64_t capacity;		/* ... and without it */
	uint64_t members[PLAN_CLASSES];	/* items with this target */
	double member_heat;		/* of those and of what can't move */
	uint64_t present;		/* items on its online devices, as moves are listed */
};

struct tier_planner {
	uint64_t max_items;
	struct plan_item *items;	/* in rank order after tier_plan_rank() */
	struct plan_item *spare;	/* for sorting; then threshold and next */
	float *threshold;
	uint32_t *next;
	uint64_t nr_items;
	uint64_t class_begin[PLAN_CLASSES];	/* first item of the class; it ends at the one above */

	struct tier_plan_move *moves;
	size_t nr_moves;
	size_t max_moves;
	size_t nr_wanted;

	/* Of the plan being made. */
	const struct tier_plan_config *config;
	const struct tier_plan_input *input;
	struct plan_device devices[TIER_MAX_DEVICES];
	struct plan_tier tiers[TIER_MAX_TIERS];
	struct tier_plan_tier report[TIER_MAX_TIERS];
	uint32_t nr_tiers;		/* by the devices */
	uint32_t last_tier;		/* the lowest one with an online device */
	uint64_t floats[PLAN_CLASSES];
	double heat;			/* of the pool */
};

/* plan_rank.c: fill and sort planner->items, add up tiers and devices. 0, -ENOSPC, -EINVAL. */
int tier_plan_rank(struct tier_planner *planner);

/* plan_assign.c: capacities, then a target and a reason for each item. */
void tier_plan_capacity(struct tier_planner *planner);
void tier_plan_assign(struct tier_planner *planner);

/* plan_order.c: the list. 0 or -ENOMEM. */
int tier_plan_order(struct tier_planner *planner);

static inline uint64_t plan_members(const struct plan_tier *tier)
{
	return tier->members[PLAN_LOWEST] + tier->members[PLAN_BY_HEAT] +
	       tier->members[PLAN_HIGHEST];
}

#endif
