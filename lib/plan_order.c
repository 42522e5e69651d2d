// SPDX-License-Identifier: GPL-2.0-only
/*
 * From targets to a list of moves that is feasible at every step (rules 3.6 to
 * 3.8): the planner plays the list through while it writes it.
 *
 * A tier has room if it is below its capacity. Where a move's destination has
 * none, another planned move out of there goes first, and so on along a chain of
 * tiers until one with room: found breadth first, played from its far end. If all
 * are at capacity, a slot of headroom is lent; the slot that the move leaves behind
 * is the room by which the next move into that tier, or the last step, gives it
 * back. A move that no chain can help (planned moves that only go round between
 * full tiers) is given up with no_space.
 */
#include "plan_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_ITEM		UINT32_MAX

/* Planned moves between two tiers, in the order in which to take them. */
struct edge {
	uint32_t head;
	uint32_t tail;
};

struct order {
	struct tier_planner *planner;
	struct edge edges[TIER_MAX_TIERS][TIER_MAX_TIERS];
	int error;
};

static struct plan_device *item_device(struct tier_planner *planner, const struct plan_item *item)
{
	return &planner->devices[item->device];
}

static uint8_t destination(const struct plan_item *item)
{
	return item->target == PLAN_FIXED ? item->tier : item->target;
}

/* Whether the assignment wants it elsewhere, and that has not been settled. */
static bool is_pending(const struct plan_item *item)
{
	return !(item->flags & PLAN_MOVED) &&
	       (destination(item) != item->tier || item->flags & PLAN_DRAINING);
}

/* The least loaded by heat, then the emptiest, then the first (3.8). NULL: none has a slot. */
static struct plan_device *choose_device(struct tier_planner *planner, uint8_t t, float heat)
{
	struct plan_device *best = NULL;
	double best_load = 0;

	for (int idx = 0; idx < TIER_MAX_DEVICES; idx++) {
		struct plan_device *device = &planner->devices[idx];
		double load;

		if (!device->is_online || device->tier != t || !device->free_slots)
			continue;
		load = (device->heat + heat) / (double)device->slots;
		if (best && (load > best_load ||
			     (load == best_load && device->free_slots <= best->free_slots)))
			continue;
		best = device;
		best_load = load;
	}
	return best;
}

static int add_move(struct tier_planner *planner, const struct tier_plan_move *move)
{
	planner->nr_wanted++;
	if (planner->config->max_moves && planner->nr_moves >= planner->config->max_moves)
		return -EDQUOT;
	if (planner->nr_moves == planner->max_moves) {
		size_t size = planner->max_moves ? planner->max_moves * 2 : 1024;
		struct tier_plan_move *moves = realloc(planner->moves, size * sizeof(*moves));

		if (!moves)
			return -ENOMEM;
		planner->moves = moves;
		planner->max_moves = size;
	}
	planner->moves[planner->nr_moves++] = *move;
	return 0;
}

static uint64_t move_bytes(const struct tier_planner *planner, const struct plan_item *item)
{
	const struct tier_pool_info *pool = planner->input->pool;
	const uint16_t *valid = planner->input->volumes[item->volume].valid_regions;

	return (valid ? valid[item->extent] * pool->region_sectors : pool->extent_sectors) << 9;
}

static void report_move(struct tier_planner *planner, const struct plan_item *item,
			const struct tier_plan_move *move)
{
	struct tier_plan_tier *from = &planner->report[move->from_tier];
	struct tier_plan_tier *to = &planner->report[move->to_tier];

	from->planned_slots--;
	from->planned_heat -= item->heat;
	to->planned_slots++;
	to->planned_heat += item->heat;
	if (from == to) {
		to->side_bytes += move->bytes;
		return;
	}
	to->in_bytes += move->bytes;
	if (move->to_tier < move->from_tier)
		from->up_bytes += move->bytes;
	else
		from->down_bytes += move->bytes;
}

/* The word for the list: a pin and a drain have a say over what the assignment wrote. */
static enum tier_reason move_reason(const struct tier_planner *planner,
				    const struct plan_item *item)
{
	bool is_policy = item->reason == TIER_REASON_POLICY_HIGHEST ||
			 item->reason == TIER_REASON_POLICY_LOWEST;

	if (item->flags & PLAN_DRAINING && item->reason != TIER_REASON_HOTTER && !is_policy)
		return TIER_REASON_DRAIN;
	if (is_policy && planner->input->volumes[item->volume].pinned)
		return TIER_REASON_PINNED;
	return item->reason;
}

/* Play one move and list it. The destination has a slot. */
static void play(struct order *order, struct plan_item *item, struct plan_device *to,
		 enum tier_reason reason)
{
	struct tier_planner *planner = order->planner;
	struct plan_device *from = item_device(planner, item);
	bool was_present = from->is_online && item->target != PLAN_FIXED;
	struct tier_plan_move move = {
		.extent = item->extent,
		.bytes = move_bytes(planner, item),
		.volume = planner->input->volumes[item->volume].id,
		.volume_index = item->volume,
		.heat = item->heat,
		.threshold = planner->threshold[item - planner->items],
		.from_tier = item->tier,
		.to_tier = to->tier,
		.from_device = item->device,
		.to_device = (uint8_t)(to - planner->devices),
		.reason = reason,
		.force = from->is_draining,
	};
	int r;

	item->flags |= PLAN_MOVED;
	item->reason = (uint8_t)reason;
	r = add_move(planner, &move);
	if (!r)
		report_move(planner, item, &move);
	else if (r == -EDQUOT)
		item->reason = TIER_REASON_THROTTLED;
	else
		order->error = r;

	to->free_slots--;
	to->heat += item->heat;
	planner->tiers[to->tier].free_slots--;
	from->heat -= item->heat;
	if (from->is_online) {
		from->free_slots++;
		planner->tiers[from->tier].free_slots++;
	}
	if (was_present)
		planner->tiers[from->tier].present--;
	if (item->target != PLAN_FIXED)
		planner->tiers[to->tier].present++;
}

static void play_to_target(struct order *order, struct plan_item *item)
{
	struct plan_device *to = choose_device(order->planner, destination(item), item->heat);

	play(order, item, to, move_reason(order->planner, item));
}

/* First planned move of an edge that has not been played; NULL: none. */
static struct plan_item *edge_first(struct order *order, uint32_t from, uint32_t to)
{
	struct edge *edge = &order->edges[from][to];

	while (edge->head != NO_ITEM && order->planner->items[edge->head].flags & PLAN_MOVED)
		edge->head = order->planner->next[edge->head];
	return edge->head == NO_ITEM ? NULL : &order->planner->items[edge->head];
}

static void edge_append(struct order *order, uint32_t i)
{
	struct tier_planner *planner = order->planner;
	struct plan_item *item = &planner->items[i];
	struct edge *edge = &order->edges[item->tier][item->target];

	planner->next[i] = NO_ITEM;
	if (edge->head == NO_ITEM)
		edge->head = i;
	else
		planner->next[edge->tail] = i;
	edge->tail = i;
}

/* Ways up hottest first, ways down coldest first. Draining devices free no slot: not here. */
static void build_edges(struct order *order)
{
	struct tier_planner *planner = order->planner;

	for (int from = 0; from < TIER_MAX_TIERS; from++)
		for (int to = 0; to < TIER_MAX_TIERS; to++)
			order->edges[from][to] = (struct edge) { NO_ITEM, NO_ITEM };
	for (uint64_t i = 0; i < planner->nr_items; i++) {
		struct plan_item *item = &planner->items[i];

		if (!(item->flags & PLAN_DRAINING) && item->target < item->tier)
			edge_append(order, (uint32_t)i);
	}
	for (uint64_t i = planner->nr_items; i-- > 0;) {
		struct plan_item *item = &planner->items[i];

		if (!(item->flags & PLAN_DRAINING) && item->target != PLAN_FIXED &&
		    item->target > item->tier)
			edge_append(order, (uint32_t)i);
	}
}

static bool has_room(const struct plan_tier *tier)
{
	return tier->free_slots && tier->present < tier->capacity;
}

/* Fixed items have their slots taken off the capacity already: only headroom is not theirs. */
static bool has_room_for(const struct plan_tier *tier, const struct plan_item *item)
{
	if (item->target == PLAN_FIXED)
		return tier->free_slots > tier->physical - tier->capacity;
	return has_room(tier);
}

/*
 * Make room in tier `full` by planned moves out of it, along a shortest chain of
 * tiers to one with room, or with any free slot. Returns whether it did.
 */
static bool make_room(struct order *order, uint32_t full, bool is_any_slot)
{
	struct tier_planner *planner = order->planner;
	uint32_t queue[TIER_MAX_TIERS], head = 0, tail = 0;
	int previous[TIER_MAX_TIERS];

	for (int t = 0; t < TIER_MAX_TIERS; t++)
		previous[t] = -1;
	previous[full] = (int)full;
	queue[tail++] = full;
	while (head < tail) {
		uint32_t at = queue[head++];

		for (uint32_t to = 0; to < planner->nr_tiers; to++) {
			if (previous[to] >= 0 || !edge_first(order, at, to))
				continue;
			previous[to] = (int)at;
			queue[tail++] = to;
			if (!(is_any_slot ? planner->tiers[to].free_slots > 0 :
					    has_room(&planner->tiers[to])))
				continue;
			for (uint32_t t = to; t != full; t = (uint32_t)previous[t])
				play_to_target(order, edge_first(order, (uint32_t)previous[t], t));
			return true;
		}
	}
	return false;
}

static void settle(struct order *order, struct plan_item *item)
{
	struct tier_planner *planner = order->planner;
	uint8_t to = destination(item);
	struct plan_tier *tier = &planner->tiers[to];

	/* In this order: room, room that a chain makes, a slot of headroom, a chain to one. */
	if (has_room_for(tier, item) || make_room(order, to, false) || tier->free_slots ||
	    make_room(order, to, true)) {
		play_to_target(order, item);
	} else {
		item->flags |= PLAN_MOVED;
		item->reason = TIER_REASON_NO_SPACE;
	}
}

/* Ways up, hottest first, among the first `end` items; or what drains. */
static void settle_up(struct order *order, uint64_t end)
{
	for (uint64_t i = 0; i < end; i++) {
		struct plan_item *item = &order->planner->items[i];

		if (is_pending(item) && destination(item) < item->tier)
			settle(order, item);
	}
}

static void settle_draining(struct order *order)
{
	for (uint64_t i = 0; i < order->planner->nr_items; i++) {
		struct plan_item *item = &order->planner->items[i];

		if (item->flags & PLAN_DRAINING && is_pending(item))
			settle(order, item);
	}
}

static void settle_down(struct order *order)
{
	for (uint64_t i = order->planner->nr_items; i-- > 0;) {
		struct plan_item *item = &order->planner->items[i];

		if (is_pending(item))
			settle(order, item);
	}
}

static double load_of(const struct plan_device *device)
{
	return device->heat / (double)device->slots;
}

/* Mean load of a tier with at least two online devices, one of them too hot; else 0. */
static double unbalanced_mean(const struct tier_planner *planner, uint32_t t)
{
	double heat = 0, slots = 0, hottest = 0;
	unsigned int count = 0;

	for (int idx = 0; idx < TIER_MAX_DEVICES; idx++) {
		const struct plan_device *device = &planner->devices[idx];

		if (!device->is_online || device->tier != t || !device->slots)
			continue;
		count++;
		heat += device->heat;
		slots += (double)device->slots;
		if (load_of(device) > hottest)
			hottest = load_of(device);
	}
	if (count < 2 || hottest <= planner->config->rebalance * heat / slots)
		return 0;
	return heat / slots;
}

/*
 * 3.8: hottest extents first, from devices above the mean to the least loaded one
 * that has a slot, as long as that makes the two more alike. Extents not worth a
 * move (3.4) stay.
 */
static void rebalance(struct order *order, uint32_t t)
{
	struct tier_planner *planner = order->planner;
	double mean = unbalanced_mean(planner, t);
	double worth = planner->config->benefit * planner->heat / (double)planner->tiers[t].slots;

	if (mean <= 0)
		return;
	if (worth < planner->config->min_gain)
		worth = planner->config->min_gain;
	for (uint64_t i = 0; i < planner->nr_items; i++) {
		struct plan_item *item = &planner->items[i];
		struct plan_device *from, *to;

		if (item->tier != t || destination(item) != t || item->heat <= worth ||
		    item->flags & (PLAN_MOVED | PLAN_DRAINING) || !(item->flags & PLAN_IN_SCOPE))
			continue;
		from = item_device(planner, item);
		if (load_of(from) <= mean)
			continue;
		to = choose_device(planner, (uint8_t)t, item->heat);
		if (!to || to == from ||
		    (to->heat + item->heat) / (double)to->slots >
		    (from->heat - item->heat) / (double)from->slots)
			continue;
		play(order, item, to, TIER_REASON_REBALANCE);
	}
}

int tier_plan_order(struct tier_planner *planner)
{
	struct order order = { .planner = planner };
	uint64_t highest_end = planner->class_begin[PLAN_BY_HEAT];

	for (uint32_t t = 0; t < planner->nr_tiers; t++)
		planner->tiers[t].present = planner->tiers[t].movable;
	build_edges(&order);
	settle_up(&order, highest_end);
	settle_draining(&order);
	settle_up(&order, planner->nr_items);
	settle_down(&order);
	for (uint32_t t = 0; t <= planner->last_tier; t++)
		if (planner->tiers[t].slots)
			rebalance(&order, t);
	return order.error;
}
