// SPDX-License-Identifier: GPL-2.0-only
/* Rows of what the bus shows. See tierd.h; bus.h says what each key means. */
#include <stdio.h>
#include <string.h>

#include "pool.h"
#include "tierd.h"
#include "tierd_internal.h"
#include "units.h"

#define SECTOR_BYTES	512

struct pending {
	uint64_t up_bytes;
	uint64_t down_bytes;
	uint64_t side_bytes;
	struct {
		uint64_t up_bytes;
		uint64_t down_bytes;
		uint64_t in_bytes;
	} tiers[TIER_MAX_TIERS];
};

static void add_move(struct pending *pending, const struct tier_plan_move *move)
{
	if (move->from_tier >= TIER_MAX_TIERS || move->to_tier >= TIER_MAX_TIERS)
		return;
	if (move->to_tier == move->from_tier) {
		pending->side_bytes += move->bytes;
		return;
	}
	if (move->to_tier < move->from_tier) {
		pending->up_bytes += move->bytes;
		pending->tiers[move->from_tier].up_bytes += move->bytes;
	} else {
		pending->down_bytes += move->bytes;
		pending->tiers[move->from_tier].down_bytes += move->bytes;
	}
	pending->tiers[move->to_tier].in_bytes += move->bytes;
}

/* While it relocates, what is left to do; else all of the last plan. */
static void add_up(const struct pool *pool, struct pending *ret_pending)
{
	const struct tier_plan_move *move;

	memset(ret_pending, 0, sizeof(*ret_pending));
	if (pool->is_running) {
		for (size_t i = 0; (move = execute_unfinished(pool->execute, i)); i++)
			add_move(ret_pending, move);
	} else {
		for (size_t i = 0; i < pool->plan.nr_moves; i++)
			add_move(ret_pending, &pool->plan.moves[i]);
	}
}

/* By the rate in force; without a limit, by what was measured. */
uint64_t pool_seconds(const struct pool *pool, uint64_t bytes)
{
	const struct tier_rate rate = pool_rate(pool);
	uint64_t bytes_per_s = tier_rate_resolve(&rate, &pool->settings->rates);

	if (!bytes_per_s || (pool->bytes_per_s && pool->bytes_per_s < bytes_per_s))
		bytes_per_s = pool->bytes_per_s;
	return tier_plan_seconds(bytes, bytes_per_s);
}

static void window_text(const struct tier_window *window, char *ret_text, size_t size)
{
	char days[TIER_DAYS_TEXT_SIZE], duration[UNITS_TEXT_SIZE], rate[UNITS_TEXT_SIZE];

	tier_days_to_text(window->days, days);
	units_time_to_text(window->duration_s * CLOCK_NS_PER_S, duration);
	units_rate_to_text(&window->rate, rate);
	snprintf(ret_text, size, "%s %02u:%02u %s %s", days, window->start_s / 3600,
		 window->start_s / 60 % 60, duration, rate);
}

static void add_window(const struct pool *pool, struct tierd_pool_row *row)
{
	if (pool->window.window >= pool->settings->nr_windows)
		return;
	window_text(&pool->settings->windows[pool->window.window], row->window,
		    sizeof(row->window));
	row->window_open = pool->window.is_open;
	row->window_start = pool->window.opens_at_s;
	row->window_end = pool->window.closes_at_s;
}

static void add_relocation(const struct pool *pool, struct tierd_pool_row *row)
{
	const struct state_relocation *relocation = &pool->relocation;

	row->begin = relocation->begin_s;
	row->end = relocation->end_s;
	row->up_bytes = relocation->up_bytes;
	row->down_bytes = relocation->down_bytes;
	row->side_bytes = relocation->side_bytes;
	row->up_moves = relocation->up_moves;
	row->down_moves = relocation->down_moves;
	row->side_moves = relocation->side_moves;
	row->done_moves = relocation->up_moves + relocation->down_moves + relocation->side_moves;
	row->failed_moves = relocation->failed_moves;
	row->retried_moves = relocation->retried_moves;
}

static void add_pending(const struct pool *pool, struct tierd_pool_row *row)
{
	struct execute_status status;
	struct pending pending;

	execute_status(pool->execute, &status);
	add_up(pool, &pending);
	row->active_moves = status.active;
	row->pending_moves = pool->is_running ? status.pending + status.waiting :
			     pool->plan.nr_moves;
	row->pending_up_bytes = pending.up_bytes;
	row->pending_down_bytes = pending.down_bytes;
	row->pending_side_bytes = pending.side_bytes;
	row->pending_seconds = pool_seconds(pool, pending.up_bytes + pending.down_bytes +
						  pending.side_bytes);
}

static const char *detail_of(const struct pool *pool)
{
	if (pool->fault != POOL_FAULT_NONE)
		return pool->fault_text;
	if (pool->info.needs_check)
		return "the metadata needs a check: deactivate the pool and run tpcheck";
	return "";
}

bool tierd_pool_row(const struct tierd *tierd, size_t index, struct tierd_pool_row *ret_row)
{
	const struct pool *pool;
	struct tier_rate rate;
	enum tier_reason reason;

	if (index >= tierd->nr_pools)
		return false;
	pool = tierd->pools[index];
	*ret_row = (struct tierd_pool_row) {
		.name = pool->name,
		.uuid = pool->info.uuid,
		.mode = tier_pool_mode_word(pool->info.mode),
		.state = pool_state_word(pool, &reason),
		.detail = detail_of(pool),
		.by_hand = pool->by_hand.is_active,
		.extent_bytes = pool->info.extent_sectors * SECTOR_BYTES,
		.heat_since = pool->heat_since_s,
		.last_collect = pool->collected_s,
	};
	ret_row->reason = tier_reason_word(reason);
	rate = pool_rate(pool);
	units_rate_to_text(&rate, ret_row->rate);
	ret_row->rate_bytes_per_s = tier_rate_resolve(&rate, &pool->settings->rates);
	add_window(pool, ret_row);
	add_relocation(pool, ret_row);
	add_pending(pool, ret_row);
	return true;
}

static uint32_t nr_tiers(const struct pool *pool)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->info.devices[i].tier >= nr)
			nr = pool->info.devices[i].tier + 1;
	return nr < TIER_MAX_TIERS ? nr : TIER_MAX_TIERS;
}

static void add_devices(const struct pool *pool, struct tierd_tier_row *row)
{
	uint64_t extent_bytes = pool->info.extent_sectors * SECTOR_BYTES;

	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];

		if (device->tier != row->tier)
			continue;
		row->devices++;
		row->total_bytes += device->total_slots * extent_bytes;
		row->used_bytes += device->used_slots * extent_bytes;
		if (device->state != TIER_DEVICE_ONLINE)
			continue;
		row->online_devices++;
		row->free_bytes += tier_device_free_slots(device) * extent_bytes;
	}
	row->reason = tier_reason_word(!row->online_devices ? TIER_REASON_DEVICE_MISSING :
				       !row->free_bytes ? TIER_REASON_NO_SPACE :
				       TIER_REASON_NONE);
}

static void fill_tier_row(const struct pool *pool, uint32_t tier, struct tierd_tier_row *ret_row)
{
	const struct config_tier *settings = &pool->settings->tiers[tier];
	const struct tier_plan_tier *plan = &pool->plan.tiers[tier];
	struct pending pending;

	add_up(pool, &pending);
	*ret_row = (struct tierd_tier_row) {
		.pool = pool->name,
		.tier = tier,
		.headroom_bytes = plan->headroom_slots * pool->info.extent_sectors * SECTOR_BYTES,
		.heat = plan->heat,
		.up_bytes = pending.tiers[tier].up_bytes,
		.down_bytes = pending.tiers[tier].down_bytes,
		.in_bytes = pending.tiers[tier].in_bytes,
	};
	if (settings->name[0])
		snprintf(ret_row->name, sizeof(ret_row->name), "%s", settings->name);
	else
		snprintf(ret_row->name, sizeof(ret_row->name), "%u", tier);
	add_devices(pool, ret_row);
}

bool tierd_tier_row(const struct tierd *tierd, size_t index, struct tierd_tier_row *ret_row)
{
	for (size_t i = 0; i < tierd->nr_pools; i++) {
		uint32_t nr = nr_tiers(tierd->pools[i]);

		if (index < nr) {
			fill_tier_row(tierd->pools[i], (uint32_t)index, ret_row);
			return true;
		}
		index -= nr;
	}
	return false;
}

static const char *policy_from_word(enum pool_policy_from from)
{
	switch (from) {
	case POOL_POLICY_DEFAULT:
		return "default";
	case POOL_POLICY_CONFIG:
		return "config";
	case POOL_POLICY_LABEL:
		return "label";
	case POOL_POLICY_PIN:
		return "pin";
	case POOL_POLICY_ERROR:
		return "error";
	}
	return "error";
}

static void fill_volume_row(const struct pool *pool, const struct pool_volume *volume,
			    struct tierd_volume_row *ret_row)
{
	*ret_row = (struct tierd_volume_row) {
		.pool = pool->name,
		.name = volume->name,
		.id = volume->info.id,
		.uuid = volume->info.uuid,
		.policy = tier_policy_word(volume->policy),
		.policy_from = policy_from_word(volume->policy_from),
		.pin_until = volume->pin_until_s,
		.size_bytes = volume->info.sectors * SECTOR_BYTES,
		.allocated_bytes = volume->info.allocated_extents * pool->info.extent_sectors *
				   SECTOR_BYTES,
		.heat = volume->heat_sum,
	};
}

bool tierd_volume_row(const struct tierd *tierd, size_t index, struct tierd_volume_row *ret_row)
{
	for (size_t i = 0; i < tierd->nr_pools; i++) {
		const struct pool *pool = tierd->pools[i];

		if (index < pool->nr_volumes) {
			fill_volume_row(pool, pool->volumes[index], ret_row);
			return true;
		}
		index -= pool->nr_volumes;
	}
	return false;
}
