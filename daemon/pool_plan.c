// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool's plan: what the planner is given, with which rules, and whether what it
 * says is carried out. See pool.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "util.h"

/* The kernel runs no more moves than that at once (DM_TIER_MAX_MOVES). */
#define MAX_MOVES	32

struct tier_rate pool_rate(const struct pool *pool)
{
	const struct tier_rate fast = { .kind = TIER_RATE_FAST };

	if (pool->has_rate)
		return pool->rate;
	if (pool->window.window >= pool->settings->nr_windows ||
	    (pool->by_hand.is_active && !pool->window.is_open))
		return fast;
	return pool->settings->windows[pool->window.window].rate;
}

/* The two numbers that the kernel holds for all moves of a pool; a pool loaded anew forgets them. */
static int set_limits(struct pool *pool, uint32_t max_moves)
{
	const struct tier_rate rate = pool_rate(pool);
	uint64_t bytes_per_s = tier_rate_resolve(&rate, &pool->settings->rates);
	uint64_t instance = pool->nr_volumes ? pool->volumes[0]->heat.instance : 0;
	int r;

	if (bytes_per_s == pool->rate_set && instance == pool->rate_instance)
		return 0;
	r = pool->backend.ops->set_rate(pool->backend.ctx, bytes_per_s);
	if (!r)
		r = pool->backend.ops->set_moves(pool->backend.ctx, max_moves);
	if (r)
		return r;
	pool->rate_set = bytes_per_s;
	pool->rate_instance = instance;
	pool->changes++;
	return 0;
}

static void get_limits(const struct pool *pool, struct execute_limits *ret_limits)
{
	uint32_t online = 0, max_moves;

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		online += pool->info.devices[i].state == TIER_DEVICE_ONLINE;
	max_moves = pool->settings->moves_per_device * online;
	*ret_limits = (struct execute_limits) {
		.max_moves = max_moves < 1 ? 1 : max_moves > MAX_MOVES ? MAX_MOVES : max_moves,
		.moves_per_device = pool->settings->moves_per_device,
	};
}

static void set_plan_config(const struct pool *pool, struct tier_plan_config *ret_config)
{
	const struct config_settings *settings = pool->settings;

	tier_plan_config_init(ret_config, pool->info.extent_sectors,
			      settings->heat.sequential_weight);
	ret_config->headroom_percent = settings->headroom_percent;
	ret_config->hysteresis = settings->hysteresis;
	ret_config->benefit = settings->benefit;
	ret_config->rebalance = settings->rebalance;
	for (int tier = 0; tier < TIER_MAX_TIERS; tier++)
		ret_config->max_iops[tier] = settings->tiers[tier].max_iops;
	/* By hand there is one plan, and it is the whole. */
	ret_config->max_moves = pool->by_hand.is_active ? 0 : settings->plan_moves;
}

static void prepare_volume(struct pool *pool, struct pool_volume *volume, int64_t now_ns,
			   struct tier_plan_volume *ret_input)
{
	uint64_t nr_extents = volume->heat.nr_extents;

	tier_heat_rank(&volume->heat, &pool->settings->heat, now_ns, volume->rank);
	volume->is_planned = true;
	volume->was_empty = !volume->nr_slots;
	volume->heat_sum = 0;
	for (uint64_t i = 0; i < nr_extents; i++)
		volume->heat_sum += volume->rank[i] > 0 ? volume->rank[i] : 0;
	memset(volume->hold, TIER_REASON_NONE, nr_extents * sizeof(*volume->hold));
	execute_hold(pool->execute, volume->info.id, nr_extents, now_ns, volume->device,
		     volume->hold);
	*ret_input = (struct tier_plan_volume) {
		.id = volume->info.id,
		.policy = volume->policy,
		.pinned = volume->policy_from == POOL_POLICY_PIN,
		.in_scope = !pool->by_hand.is_active || !pool->by_hand.has_scope ||
			    pool->by_hand.generation == volume->info.generation,
		.nr_extents = nr_extents,
		.device = volume->device,
		.heat = volume->rank,
		.valid_regions = volume->valid_regions,
		.hold = volume->hold,
		.ret_reason = volume->reason,
	};
}

static int need_planner(struct pool *pool)
{
	uint64_t nr_slots = 0;
	int r;

	for (size_t i = 0; i < pool->nr_volumes; i++)
		nr_slots += pool->volumes[i]->nr_slots;
	if (pool->planner && nr_slots <= pool->planner_extents)
		return 0;
	tier_planner_free(pool->planner);
	pool->planner = NULL;
	pool->planner_extents = nr_slots + nr_slots / 4 + 64;
	r = tier_planner_new(pool->planner_extents, &pool->planner);
	return r;
}

/* Plan with what has been collected. The plan before is void, whatever happens. */
static int make_plan(struct pool *pool, const struct clock_time *now)
{
	_cleanup_free_ struct tier_plan_volume *inputs = NULL;
	struct tier_plan_input input = { .pool = &pool->info };
	struct tier_plan_config config;
	struct execute_limits limits;
	enum tier_reason reason;
	bool may_move;
	int r;

	pool->plan = (struct tier_plan) { .nr_moves = 0 };
	execute_drop(pool->execute);
	get_limits(pool, &limits);
	inputs = calloc(pool->nr_volumes + 1, sizeof(*inputs));
	if (!inputs)
		return -ENOMEM;
	for (size_t i = 0; i < pool->nr_volumes; i++)
		prepare_volume(pool, pool->volumes[i], now->boot_ns, &inputs[i]);
	input.volumes = inputs;
	input.nr_volumes = pool->nr_volumes;
	set_plan_config(pool, &config);
	r = need_planner(pool);
	if (!r)
		r = tier_plan(pool->planner, &config, &input, &pool->plan);
	if (r)
		return r;
	may_move = pool_may_move(pool, &reason);
	if (!may_move)
		tier_plan_hold(&input, &pool->plan, 0, reason);
	else if (pool->is_running && !pool->is_stopping)
		execute_plan(pool->execute, &pool->plan, &limits);
	pool->plan_ns = now->boot_ns + pool->settings->plan_ns;
	pool->planned_ns = now->boot_ns;
	pool->changes++;
	return may_move ? set_limits(pool, limits.max_moves) : 0;
}

int pool_plan(struct pool *pool, const struct clock_time *now)
{
	int r;

	r = pool_refresh(pool, now);
	if (r)
		return r;
	r = pool_collect(pool, pool->was_measured, false, now);
	if (r) {
		pool_fail(pool, "collecting", r, now);
		return r;
	}
	pool->collect_ns = now->boot_ns + pool->settings->collect_ns;
	r = execute_adopt(pool->execute, &pool->info);
	if (!r)
		r = make_plan(pool, now);
	if (r) {
		pool_fail(pool, "planning", r, now);
		/* What runs has lost its plan: it has to begin again. */
		pool->is_restart = pool->is_running;
	}
	return r;
}
