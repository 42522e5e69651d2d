// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tier each item should be on. Rule numbers: tierd.conf(5), POLICY RULES.
 *
 * Tiers are decided from the top. For tier t, its *members* are the items whose
 * target it is; *outsiders* are all items whose target lies below, and those that
 * a higher tier or this one has just put out (they float: they need a place).
 * Four steps:
 *
 *	1. members of `lowest` volumes leave, as far as there is room below (2.4)
 *	2. members beyond the capacity leave, coldest first (3.2, 3.5)
 *	3. free slots are filled with the best outsiders (3.3, 3.4)
 *	4. outsiders and members are exchanged in pairs (3.4)
 *
 * Invariant: what is below a tier when it is done fits into the tiers below,
 * if the pool has room at all (the need of step 3). The last tier takes the rest.
 */
#include "plan_internal.h"

#include <math.h>

#define SECONDS_PER_DAY	86400

static bool is_outsider(const struct plan_item *item, uint32_t t)
{
	return item->target > t && item->target <= PLAN_FLOAT;
}

static bool is_policy_reason(uint8_t reason)
{
	return reason == TIER_REASON_POLICY_HIGHEST || reason == TIER_REASON_POLICY_LOWEST;
}

static void set_target(struct tier_planner *planner, struct plan_item *item, uint8_t target)
{
	if (item->target == PLAN_FLOAT) {
		planner->floats[item->class]--;
	} else {
		planner->tiers[item->target].members[item->class]--;
		planner->tiers[item->target].member_heat -= item->heat;
	}
	if (target == PLAN_FLOAT) {
		planner->floats[item->class]++;
	} else {
		planner->tiers[target].members[item->class]++;
		planner->tiers[target].member_heat += item->heat;
	}
	item->target = target;
}

static uint64_t nr_floats(const struct tier_planner *planner)
{
	return planner->floats[PLAN_LOWEST] + planner->floats[PLAN_BY_HEAT] +
	       planner->floats[PLAN_HIGHEST];
}

/* Items that are below tier t or float, and the slots that are there for them. */
static uint64_t nr_below(const struct tier_planner *planner, uint32_t t)
{
	uint64_t count = nr_floats(planner);

	for (uint32_t below = t + 1; below < planner->nr_tiers; below++)
		count += plan_members(&planner->tiers[below]);
	return count;
}

static uint64_t capacity_below(const struct tier_planner *planner, uint32_t t)
{
	uint64_t capacity = 0;

	for (uint32_t below = t + 1; below < planner->nr_tiers; below++)
		capacity += planner->tiers[below].capacity;
	return capacity;
}

static uint64_t nr_free(const struct plan_tier *tier)
{
	uint64_t members = plan_members(tier);

	return members < tier->capacity ? tier->capacity - members : 0;
}

/* How many outsiders have to come up because there is no room below. */
static uint64_t need(const struct tier_planner *planner, uint32_t t)
{
	uint64_t below = nr_below(planner, t), room = capacity_below(planner, t);

	return below > room ? below - room : 0;
}

/* What a pair must gain at least, before the part that comes true (3.4). */
static double least_gain(const struct tier_planner *planner, uint32_t t)
{
	double share = planner->config->benefit * planner->heat / (double)planner->tiers[t].slots;

	return fmax(share, planner->config->min_gain);
}

/* The part of predicted gains that came true lately for pairs so far apart (3.4). */
static double gain_realised(const struct tier_planner *planner, uint32_t t, double hot, double cold)
{
	static const double limits[TIER_PLAN_GAIN_BINS - 1] = { 1.25, 1.6, 2.5, 5 };
	double floor = 0.01 * planner->heat / (double)planner->tiers[t].slots;
	int bin = 0;

	while (bin < TIER_PLAN_GAIN_BINS - 1 && hot >= limits[bin] * (cold + floor))
		bin++;
	return planner->config->gain_realised[bin];
}

static bool pays(const struct tier_planner *planner, uint32_t t, double hot, double cold)
{
	return gain_realised(planner, t, hot, cold) * (hot - cold) > least_gain(planner, t);
}

/* Whether the tier's performance limit leaves room for this much more (3.3). */
static bool is_within_limit(const struct tier_planner *planner, uint32_t t, double more)
{
	double limit = planner->config->max_iops[t] * SECONDS_PER_DAY;

	return limit <= 0 || planner->tiers[t].member_heat + more <= limit;
}

static void decline(struct plan_item *item, enum tier_reason reason)
{
	/* One that floats keeps the reason why it has to move. */
	if (item->target != PLAN_FLOAT)
		item->reason = (uint8_t)reason;
}

/* Step 1 (2.4). What cannot leave stays: no_space is said at the end. */
static void evict_lowest(struct tier_planner *planner, uint32_t t)
{
	uint64_t lowest = planner->tiers[t].members[PLAN_LOWEST];
	uint64_t room = capacity_below(planner, t);
	uint64_t below = nr_below(planner, t);

	if (!lowest)
		return;
	/* Whatever is not `lowest` below can come up in exchange. */
	for (int class = PLAN_BY_HEAT; class <= PLAN_HIGHEST; class++) {
		room += planner->floats[class];
		for (uint32_t s = t + 1; s < planner->nr_tiers; s++)
			room += planner->tiers[s].members[class];
	}
	room = room > below ? room - below : 0;

	for (uint64_t i = planner->nr_items; i-- > planner->class_begin[PLAN_LOWEST];) {
		struct plan_item *item = &planner->items[i];

		if (!room)
			break;
		if (item->target != t || !(item->flags & PLAN_IN_SCOPE))
			continue;
		item->reason = TIER_REASON_POLICY_LOWEST;
		set_target(planner, item, PLAN_FLOAT);
		room--;
	}
}

/* Members leave, known or not, from the cold end, until no more than `limit` are left. */
static void evict_anyone(struct tier_planner *planner, uint32_t t, uint64_t limit, bool is_draining)
{
	struct plan_tier *tier = &planner->tiers[t];

	for (uint64_t i = planner->nr_items; i-- > 0 && plan_members(tier) > limit;) {
		struct plan_item *item = &planner->items[i];

		if (item->target != t || (is_draining && !(item->flags & PLAN_DRAINING)))
			continue;
		item->reason = TIER_REASON_MAKE_ROOM;
		set_target(planner, item, PLAN_FLOAT);
	}
}

/*
 * Step 2. Nothing leaves on ignorance (1.5), unless it has to move anyway (it
 * drains) or the slots themselves are gone or needed by what may not leave the tier.
 */
static void evict_surplus(struct tier_planner *planner, uint32_t t)
{
	struct plan_tier *tier = &planner->tiers[t];

	for (uint64_t i = planner->nr_items; i-- > 0 && plan_members(tier) > tier->capacity;) {
		struct plan_item *item = &planner->items[i];

		if (item->target != t || !(item->flags & PLAN_IN_SCOPE))
			continue;
		if (item->flags & PLAN_UNKNOWN) {
			item->reason = TIER_REASON_NO_HEAT_YET;
			continue;
		}
		item->reason = plan_members(tier) > tier->physical ? TIER_REASON_MAKE_ROOM :
								     TIER_REASON_HEADROOM;
		set_target(planner, item, PLAN_FLOAT);
	}
	evict_anyone(planner, t, tier->capacity, true);
	evict_anyone(planner, t, tier->fixed_draining ? tier->capacity : tier->physical, false);
}

/* Take an outsider in. */
static void take(struct tier_planner *planner, uint64_t i, uint32_t t, enum tier_reason reason,
		 double threshold)
{
	struct plan_item *item = &planner->items[i];

	/* Reasons are about the way up; one that was put out has its own already. */
	if (item->target != PLAN_FLOAT) {
		item->reason = (uint8_t)reason;
		planner->threshold[i] = (float)threshold;
	}
	set_target(planner, item, (uint8_t)t);
}

/*
 * Step 3. A free slot is like a member without heat: it passes the same test of
 * benefit. Exempt: what floats needs a place anyway, `highest` volumes, and what
 * must come up because there is no room below.
 */
static void fill(struct tier_planner *planner, uint32_t t)
{
	struct plan_tier *tier = &planner->tiers[t];
	uint64_t declined = 0;

	if (!nr_free(tier))
		return;
	for (uint64_t i = 0; i < planner->nr_items && nr_free(tier); i++) {
		struct plan_item *item = &planner->items[i];
		bool is_needed = need(planner, t) > 0;
		bool is_float = item->target == PLAN_FLOAT;

		if (!is_needed && (item->class == PLAN_LOWEST ||
				   (declined >= nr_free(tier) && !nr_floats(planner))))
			break;
		if (!is_outsider(item, t))
			continue;
		if (is_needed || is_float) {
			take(planner, i, t, item->class == PLAN_HIGHEST ?
			     TIER_REASON_POLICY_HIGHEST : TIER_REASON_MAKE_ROOM, 0);
			continue;
		}
		if (!(item->flags & PLAN_IN_SCOPE) || declined >= nr_free(tier))
			continue;
		if (!is_within_limit(planner, t, item->heat)) {
			decline(item, TIER_REASON_NO_SPACE);
			declined++;
		} else if (item->class == PLAN_HIGHEST) {
			take(planner, i, t, TIER_REASON_POLICY_HIGHEST, 0);
		} else if (pays(planner, t, item->heat, 0)) {
			take(planner, i, t, TIER_REASON_HOTTER, least_gain(planner, t));
		} else {
			declined++;
			if (item->heat > 0)
				decline(item, TIER_REASON_BELOW_BENEFIT);
		}
	}
}

static void exchange(struct tier_planner *planner, uint32_t t, uint64_t in, uint64_t out,
		     bool is_forced)
{
	struct plan_item *hot = &planner->items[in], *cold = &planner->items[out];
	enum tier_reason reason = hot->class == PLAN_HIGHEST ? TIER_REASON_POLICY_HIGHEST :
				  is_forced ? TIER_REASON_MAKE_ROOM : TIER_REASON_HOTTER;
	double threshold = is_forced ? 0 :
		fmax(cold->heat * planner->config->hysteresis,
		     cold->heat + least_gain(planner, t));

	cold->reason = cold->class == PLAN_LOWEST ? TIER_REASON_POLICY_LOWEST :
						    TIER_REASON_MAKE_ROOM;
	planner->threshold[out] = hot->heat;
	set_target(planner, cold, PLAN_FLOAT);
	take(planner, in, t, reason, threshold);
}

/* The next member from the cold end, before *position; nr_items if there is none. */
static uint64_t next_member(const struct tier_planner *planner, uint32_t t, uint64_t *position,
			    bool is_unknown)
{
	while (*position > 0) {
		const struct plan_item *item = &planner->items[--*position];

		if (item->target == t && !!(item->flags & PLAN_UNKNOWN) == is_unknown)
			return *position;
	}
	return planner->nr_items;
}

/* One pair by heat (3.4): both of one class, the outsider hotter. */
static void try_exchange(struct tier_planner *planner, uint32_t t, uint64_t in, uint64_t out)
{
	struct plan_item *hot = &planner->items[in];
	const struct plan_item *cold = &planner->items[out];

	if (hot->heat <= planner->config->hysteresis * cold->heat)
		decline(hot, TIER_REASON_HYSTERESIS);
	else if (!pays(planner, t, hot->heat, cold->heat))
		decline(hot, TIER_REASON_BELOW_BENEFIT);
	else if (!is_within_limit(planner, t, hot->heat - cold->heat))
		decline(hot, TIER_REASON_NO_SPACE);
	else
		exchange(planner, t, in, out, false);
}

/*
 * Step 4: the k-th best outsider against the k-th coldest member. Members whose
 * heat is not known are displaced by `highest` volumes only, after all others.
 */
static void exchange_pairs(struct tier_planner *planner, uint32_t t)
{
	const uint64_t none = planner->nr_items;
	uint64_t cold_end = none, unknown_end = none, out = none;
	bool is_used = true;

	/* Below its limit or its benefit a free slot was left: no exchange is worth more. */
	if (nr_free(&planner->tiers[t]) || !plan_members(&planner->tiers[t]))
		return;
	for (uint64_t in = 0; in < planner->nr_items; in++) {
		struct plan_item *item = &planner->items[in];
		uint64_t unknown;

		if (item->class == PLAN_LOWEST)
			break;
		if (!is_outsider(item, t) ||
		    !(item->flags & PLAN_IN_SCOPE || item->target == PLAN_FLOAT))
			continue;
		if (is_used)
			out = next_member(planner, t, &cold_end, false);
		is_used = true;
		if (out != none && planner->items[out].class < item->class) {
			exchange(planner, t, in, out, true);
		} else if (item->class == PLAN_HIGHEST &&
			   (unknown = next_member(planner, t, &unknown_end, true)) != none &&
			   planner->items[unknown].class < item->class) {
			exchange(planner, t, in, unknown, true);
			is_used = false;
		} else if (out != none && planner->items[out].class == item->class &&
			   item->heat > planner->items[out].heat) {
			try_exchange(planner, t, in, out);
		} else if (item->class == PLAN_HIGHEST) {
			/* Nothing more for this class; the next one has its own claims. */
			in = planner->class_begin[PLAN_BY_HEAT] - 1;
			is_used = false;
		} else if (out == none && item->heat > 0 &&
			   next_member(planner, t, &unknown_end, true) != none) {
			/* What it would displace may be hot for all we know (1.5). */
			decline(item, TIER_REASON_NO_HEAT_YET);
			is_used = false;
		} else {
			break;
		}
	}
}

/* Fixed items on a draining device need a slot of their tier; if it has none, they go by heat (2.5). */
static void place_fixed(struct tier_planner *planner)
{
	uint64_t excess[TIER_MAX_TIERS] = { 0 };

	for (uint32_t t = 0; t < planner->nr_tiers; t++) {
		struct plan_tier *tier = &planner->tiers[t];
		uint64_t room = tier->free_slots + tier->movable;

		if (tier->fixed_draining > room) {
			excess[t] = tier->fixed_draining - room;
			tier->fixed_draining = room;
		}
	}
	for (uint64_t i = planner->nr_items; i-- > 0;) {
		struct plan_item *item = &planner->items[i];

		if (item->target != PLAN_FIXED || !(item->flags & PLAN_DRAINING))
			continue;
		item->reason = TIER_REASON_DRAIN;
		if (!excess[item->tier])
			continue;
		excess[item->tier]--;
		item->target = item->tier;
		planner->tiers[item->tier].members[item->class]++;
	}
}

/*
 * 3.2: what of each tier the plan may fill. If all headroom together is more than
 * the pool can spare, it is given up from the lowest tier upwards.
 */
void tier_plan_capacity(struct tier_planner *planner)
{
	uint64_t items = 0, capacity = 0, deficit;

	place_fixed(planner);
	for (uint32_t t = 0; t < planner->nr_tiers; t++) {
		struct plan_tier *tier = &planner->tiers[t];

		tier->physical = tier->free_slots + tier->movable - tier->fixed_draining;
		tier->capacity = tier->physical > tier->headroom ?
				 tier->physical - tier->headroom : 0;
		items += plan_members(tier);
		capacity += tier->capacity;
	}
	deficit = items > capacity ? items - capacity : 0;
	for (uint32_t t = planner->nr_tiers; deficit && t-- > 0;) {
		struct plan_tier *tier = &planner->tiers[t];
		uint64_t give = tier->physical - tier->capacity;

		if (give > deficit)
			give = deficit;
		tier->capacity += give;
		deficit -= give;
	}
}

/* What a policy wanted and did not get. */
static void explain_policies(struct tier_planner *planner)
{
	bool is_top_missing = !planner->tiers[0].slots;

	for (uint64_t i = 0; i < planner->nr_items; i++) {
		struct plan_item *item = &planner->items[i];

		/* Put out and taken back in: it stays after all. */
		if (item->target == item->tier && !(item->flags & PLAN_DRAINING) &&
		    (is_policy_reason(item->reason) || item->reason == TIER_REASON_HEADROOM ||
		     item->reason == TIER_REASON_MAKE_ROOM))
			item->reason = TIER_REASON_NO_SPACE;
		if (item->target != item->tier || item->reason != TIER_REASON_NONE)
			continue;
		if (item->class == PLAN_HIGHEST && item->target > 0)
			item->reason = is_top_missing ? TIER_REASON_DEVICE_MISSING :
							TIER_REASON_NO_SPACE;
		if (item->class == PLAN_LOWEST && item->target < planner->last_tier)
			item->reason = TIER_REASON_NO_SPACE;
	}
}

void tier_plan_assign(struct tier_planner *planner)
{
	for (uint32_t t = 0; t < planner->last_tier; t++) {
		if (!planner->tiers[t].slots && !plan_members(&planner->tiers[t]))
			continue;
		evict_lowest(planner, t);
		evict_surplus(planner, t);
		if (planner->tiers[t].slots) {
			fill(planner, t);
			exchange_pairs(planner, t);
		}
	}
	/* The last tier takes what is left, also what lies on draining devices below it. */
	for (uint64_t i = 0; i < planner->nr_items; i++) {
		struct plan_item *item = &planner->items[i];

		if (!is_outsider(item, planner->last_tier))
			continue;
		if (item->target != PLAN_FLOAT)
			item->reason = TIER_REASON_DRAIN;
		set_target(planner, item, (uint8_t)planner->last_tier);
	}
	explain_policies(planner);
}
