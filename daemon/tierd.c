// SPDX-License-Identifier: GPL-2.0-only
/* All pools, and what is asked of them by hand. See tierd.h. */
#include "tierd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "pool.h"
#include "tierd_internal.h"
#include "units.h"
#include "util.h"

#define FORGET_FIRST_NS		(3600 * CLOCK_NS_PER_S)
#define FORGET_INTERVAL_NS	(86400 * CLOCK_NS_PER_S)
#define FORGET_AGE_S		(366 * INT64_C(86400))

int tierd_new(const struct tierd_setup *setup, struct tierd **ret_tierd)
{
	struct tierd *tierd = calloc(1, sizeof(*tierd));

	if (!tierd)
		return -ENOMEM;
	tierd->config = setup->config;
	tierd->env = (struct pool_environment) {
		.log = setup->log,
		.store_ops = setup->store_ops,
		.state_dirfd = setup->state_dirfd,
		.zone = setup->zone,
	};
	snprintf(tierd->env.boot_id, sizeof(tierd->env.boot_id), "%s", setup->boot_id);
	*ret_tierd = tierd;
	return 0;
}

void tierd_free(struct tierd *tierd)
{
	if (!tierd)
		return;
	for (size_t i = 0; i < tierd->nr_pools; i++)
		pool_free(tierd->pools[i]);
	free(tierd->pools);
	config_free(tierd->config);
	free(tierd);
}

/* ---------------------------------------------------------------- pools */

/* The pool, or where it would be. */
static struct pool *find_pool(const struct tierd *tierd, const char *name, size_t *ret_index)
{
	size_t i = 0;

	while (i < tierd->nr_pools && strcmp(tierd->pools[i]->name, name) < 0)
		i++;
	if (ret_index)
		*ret_index = i;
	return i < tierd->nr_pools && !strcmp(tierd->pools[i]->name, name) ? tierd->pools[i] : NULL;
}

int tierd_add_pool(struct tierd *tierd, const struct tier_backend *backend,
		   const struct clock_time *now, char *ret_name)
{
	struct pool *pool, **pools;
	size_t at;
	int r;

	pools = reallocarray(tierd->pools, tierd->nr_pools + 1, sizeof(*pools));
	if (!pools)
		return -ENOMEM;
	tierd->pools = pools;
	r = pool_new(&tierd->env, tierd->config, backend, now, &pool);
	if (r)
		return r;
	if (find_pool(tierd, pool->name, &at)) {
		pool_free(pool);
		return -EEXIST;
	}
	memmove(pools + at + 1, pools + at, (tierd->nr_pools - at) * sizeof(*pools));
	pools[at] = pool;
	tierd->nr_pools++;
	tierd->changes++;
	memcpy(ret_name, pool->name, sizeof(pool->name));
	return 0;
}

int tierd_remove_pool(struct tierd *tierd, const char *name, const struct clock_time *now)
{
	struct pool *pool;
	size_t at;

	pool = find_pool(tierd, name, &at);
	if (!pool)
		return -ENOENT;
	log_plain(tierd->env.log, LOG_POOL_GONE_EVENT, LOG_INFO, name, "gone");
	if (pool->is_running)
		pool->relocation.end_s = now->real_s;
	/* Who took the pool down may have seen to what made moves fail. */
	execute_forget_failures(pool->execute);
	pool_save(pool, now);
	tierd->changes += pool->changes + 1;
	pool_free(pool);
	tierd->nr_pools--;
	memmove(tierd->pools + at, tierd->pools + at + 1,
		(tierd->nr_pools - at) * sizeof(*tierd->pools));
	return 0;
}

bool tierd_pool_is_lost(const struct tierd *tierd, const char *name)
{
	const struct pool *pool = find_pool(tierd, name, NULL);

	return pool && pool->is_gone;
}

void tierd_look(struct tierd *tierd)
{
	for (size_t i = 0; i < tierd->nr_pools; i++)
		tierd->pools[i]->wants_look = true;
}

void tierd_set_config(struct tierd *tierd, struct config *config, const struct clock_time *now)
{
	for (size_t i = 0; i < tierd->nr_pools; i++)
		pool_set_settings(tierd->pools[i], config_for_pool(config, tierd->pools[i]->name),
				  now);
	config_free(tierd->config);
	tierd->config = config;
}

const struct config *tierd_config(const struct tierd *tierd)
{
	return tierd->config;
}

static bool is_active_uuid(void *ctx, const char *uuid)
{
	const struct tierd *tierd = ctx;

	for (size_t i = 0; i < tierd->nr_pools; i++)
		if (!strcmp(tierd->pools[i]->info.uuid, uuid))
			return true;
	return false;
}

/*
 * What is known of pools that nobody has used for a year is of no use any more. Not
 * at once: after the start a clock that is wrong may not have been set right yet.
 */
static void forget_old(struct tierd *tierd, const struct clock_time *now)
{
	if (!tierd->forget_ns)
		tierd->forget_ns = now->boot_ns + FORGET_FIRST_NS;
	if (tierd->env.state_dirfd < 0 || now->boot_ns < tierd->forget_ns)
		return;
	tierd->forget_ns = now->boot_ns + FORGET_INTERVAL_NS;
	store_remove_old(tierd->env.state_dirfd, now->real_s - FORGET_AGE_S, is_active_uuid, tierd);
}

void tierd_tick(struct tierd *tierd, const struct clock_time *now, struct tierd_next *ret_next)
{
	struct tierd_next next = { .at_ns = CLOCK_NEVER };

	/* With some tick: it is no reason for one. */
	forget_old(tierd, now);
	for (size_t i = 0; i < tierd->nr_pools; i++) {
		struct pool *pool = tierd->pools[i];
		int64_t at_ns = pool_tick(pool, now);

		if (at_ns < next.at_ns)
			next.at_ns = at_ns;
		next.has_lost_pools |= pool->is_gone;
	}
	*ret_next = next;
}

void tierd_leave(struct tierd *tierd)
{
	for (size_t i = 0; i < tierd->nr_pools; i++)
		tierd->pools[i]->is_leaving = true;
}

bool tierd_is_idle(const struct tierd *tierd)
{
	struct execute_status status;

	for (size_t i = 0; i < tierd->nr_pools; i++) {
		execute_status(tierd->pools[i]->execute, &status);
		if (status.active && !tierd->pools[i]->is_gone)
			return false;
	}
	return true;
}

int tierd_save(struct tierd *tierd, const struct clock_time *now)
{
	int r, result = 0;

	for (size_t i = 0; i < tierd->nr_pools; i++) {
		r = pool_save(tierd->pools[i], now);
		if (r && !result)
			result = r;
	}
	return result;
}

uint64_t tierd_changes(const struct tierd *tierd)
{
	uint64_t changes = tierd->changes;

	for (size_t i = 0; i < tierd->nr_pools; i++)
		changes += tierd->pools[i]->changes;
	return changes;
}

/* ---------------------------------------------------------------- errors */

static int refuse(struct tierd_error *error, enum tierd_error_kind kind, int r,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

static int refuse(struct tierd_error *error, enum tierd_error_kind kind, int r,
		  const char *format, ...)
{
	va_list args;

	error->kind = kind;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return r;
}

static int no_such_pool(struct tierd_error *error, const char *name)
{
	return refuse(error, TIERD_NO_SUCH_POOL, -ENOENT,
		      "There is no active pool \"%.128s\"; activate it with tpchange -ay, or see "
		      "tps for those that there are.", name);
}

static int no_such_volume(struct tierd_error *error, const struct pool *pool, const char *name)
{
	return refuse(error, TIERD_NO_SUCH_VOLUME, -ENOENT,
		      "Pool %.128s has no volume \"%.128s\"; see tvs %.32s.", pool->name, name,
		      pool->name);
}

static int unavailable(struct tierd_error *error, const struct pool *pool)
{
	if (pool->is_gone)
		return no_such_pool(error, pool->name);
	return refuse(error, TIERD_UNAVAILABLE, -EIO, "Pool %.128s: %s; tierd tries again by itself.",
		      pool->name, pool->fault_text);
}

/* Call `one` for the pool of that name, or for all; the first error, after all. */
static int for_pools(struct tierd *tierd, const char *name, struct tierd_error *error,
		     int (*one)(struct pool *pool, void *arg, struct tierd_error *error),
		     void *arg)
{
	struct tierd_error ignored;
	struct pool *pool;
	int r, result = 0;

	if (*name) {
		pool = find_pool(tierd, name, NULL);
		return pool ? one(pool, arg, error) : no_such_pool(error, name);
	}
	for (size_t i = 0; i < tierd->nr_pools; i++) {
		r = one(tierd->pools[i], arg, result ? &ignored : error);
		if (r && !result)
			result = r;
	}
	return result;
}

/* ---------------------------------------------------------------- by hand */

struct relocate_args {
	const char *volume;		/* "" = the whole pool */
	bool now_and_here;
	const struct tier_rate *rate;
	const struct clock_time *now;
};

static int relocate_one(struct pool *pool, void *arg, struct tierd_error *error)
{
	const struct relocate_args *args = arg;
	struct pool_volume *scope = NULL;

	if (pool->is_paused)
		return refuse(error, TIERD_PAUSED, -EBUSY,
			      "Pool %.128s is paused; resume it first: tierctl resume %.128s",
			      pool->name, pool->name);
	if (pool->settings->measure_only)
		return refuse(error, TIERD_MEASURE_ONLY, -EBUSY,
			      "Pool %.128s is only measured: tierd.conf says mode = \"measure\"; change "
			      "that and run tierctl reload.", pool->name);
	/* See volumes that have just been made. */
	if (pool_refresh(pool, args->now))
		return unavailable(error, pool);
	if (*args->volume) {
		scope = pool_find_volume(pool, args->volume);
		if (!scope)
			return no_such_volume(error, pool, args->volume);
	}
	pool_relocate(pool, args->now_and_here, scope, args->rate);
	pool_tick(pool, args->now);
	return pool->is_gone || pool->fault != POOL_FAULT_NONE ? unavailable(error, pool) : 0;
}

int tierd_relocate(struct tierd *tierd, const char *target, bool now_and_here, const char *rate,
		   const struct clock_time *now, struct tierd_error *ret_error)
{
	char pool[TIER_NAME_SIZE] = "", volume[TIER_NAME_SIZE] = "";
	struct relocate_args args = {
		.volume = volume,
		.now_and_here = now_and_here,
		.now = now,
	};
	struct tier_rate parsed;

	if (*target && tier_name_split(target, pool, volume, sizeof(pool)))
		return refuse(ret_error, TIERD_INVALID, -EINVAL,
			      "\"%.128s\" is not a pool or <pool>/<volume>.", target);
	if (*rate) {
		if (units_rate_from_text(rate, &parsed))
			return refuse(ret_error, TIERD_INVALID, -EINVAL,
				      "\"%.64s\" is not a rate: say fast, medium, slow or bytes per "
				      "second like 100MiB.", rate);
		args.rate = &parsed;
	}
	return for_pools(tierd, pool, ret_error, relocate_one, &args);
}

struct pause_args {
	bool pause;
	const struct clock_time *now;
};

static int pause_one(struct pool *pool, void *arg, struct tierd_error *error)
{
	const struct pause_args *args = arg;
	int r;

	if (pool->is_paused != args->pause) {
		pool->is_paused = args->pause;
		pool->changes++;
		pool->collect_ns = args->now->boot_ns;	/* a plan with other reasons */
		if (args->pause)
			log_plain(pool->env->log, LOG_PAUSED_EVENT, LOG_NOTICE, pool->name,
				  "relocation is paused until someone resumes it");
		else
			log_plain(pool->env->log, LOG_RESUMED_EVENT, LOG_NOTICE, pool->name,
				  "relocation is resumed");
	}
	pool_tick(pool, args->now);
	r = pool_save(pool, args->now);
	if (r)
		return refuse(error, TIERD_UNAVAILABLE, r,
			      "Pool %.128s is %s, but that could not be saved (%s) and will be forgotten "
			      "when tierd ends; see journalctl -u tierd.", pool->name,
			      args->pause ? "paused" : "resumed", strerror(-r));
	return 0;
}

int tierd_pause(struct tierd *tierd, const char *pool, bool pause, const struct clock_time *now,
		struct tierd_error *ret_error)
{
	struct pause_args args = { .pause = pause, .now = now };

	return for_pools(tierd, pool, ret_error, pause_one, &args);
}

static int abort_one(struct pool *pool, void *arg, struct tierd_error *error)
{
	const struct clock_time *now = arg;

	if (!pool->is_running && !pool->by_hand.is_active)
		return 0;
	log_plain(pool->env->log, LOG_ABORTED_EVENT, LOG_NOTICE, pool->name,
		  "relocation is aborted; the next one is by hand or in the next window");
	pool_abort(pool);
	pool_tick(pool, now);
	return 0;
}

int tierd_abort(struct tierd *tierd, const char *pool, const struct clock_time *now,
		struct tierd_error *ret_error)
{
	return for_pools(tierd, pool, ret_error, abort_one, (void *)now);
}

int tierd_plan(struct tierd *tierd, const char *name, const struct clock_time *now,
	       struct tierd_plan *ret_plan, struct tierd_error *ret_error)
{
	struct pool *pool = find_pool(tierd, name, NULL);

	if (!pool)
		return no_such_pool(ret_error, name);
	if (pool_plan(pool, now))
		return unavailable(ret_error, pool);
	*ret_plan = (struct tierd_plan) {
		.moves = pool->plan.moves,
		.nr_moves = pool->plan.nr_moves,
		.bytes = pool->plan.bytes,
		.seconds = pool_seconds(pool, pool->plan.bytes),
	};
	return 0;
}

const char *tierd_volume_name(const struct tierd *tierd, const char *name, uint32_t id)
{
	const struct pool *pool = find_pool(tierd, name, NULL);

	for (size_t i = 0; pool && i < pool->nr_volumes; i++)
		if (pool->volumes[i]->info.id == id)
			return pool->volumes[i]->name;
	return NULL;
}

/*
 * It may have been made since the pool was read last, or since the last plan; or
 * written to for the first time: then a plan of a second ago knows nothing of it.
 */
static bool needs_plan(const struct pool *pool, const struct pool_volume *volume,
		       const struct clock_time *now)
{
	return !volume || !volume->is_planned ||
	       (volume->was_empty && now->boot_ns - pool->planned_ns >= CLOCK_NS_PER_S);
}

int tierd_extents(struct tierd *tierd, const char *name, const struct clock_time *now,
		  struct tierd_extents *ret_extents, struct tierd_error *ret_error)
{
	char pool_name[TIER_NAME_SIZE], volume_name[TIER_NAME_SIZE];
	const struct pool_volume *volume;
	struct pool *pool;

	if (tier_name_split(name, pool_name, volume_name, sizeof(pool_name)) || !*volume_name)
		return refuse(ret_error, TIERD_NO_SUCH_VOLUME, -ENOENT,
			      "\"%.128s\" is not <pool>/<volume>.", name);
	pool = find_pool(tierd, pool_name, NULL);
	if (!pool)
		return no_such_pool(ret_error, pool_name);
	volume = pool_find_volume(pool, volume_name);
	if (needs_plan(pool, volume, now)) {
		if (pool_plan(pool, now))
			return unavailable(ret_error, pool);
		volume = pool_find_volume(pool, volume_name);
	}
	if (!volume)
		return no_such_volume(ret_error, pool, volume_name);
	*ret_extents = (struct tierd_extents) {
		.heat = volume->rank,
		.reason = volume->reason,
		.nr_extents = volume->heat.nr_extents,
	};
	return 0;
}
