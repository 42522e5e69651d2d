// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool that was found: its state of an earlier life, its volumes as they come
 * and go, the policy of each, and the state file. See pool.h.
 */
#include "pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "placement.h"
#include "util.h"

#define FIRST_SAVE_NS		(60 * CLOCK_NS_PER_S)
#define INTERRUPTED_WAIT_NS	(CLOCK_NS_PER_S / 5)
#define FAULT_FIRST_WAIT_NS	(10 * CLOCK_NS_PER_S)
#define FAULT_MAX_WAIT_NS	(300 * CLOCK_NS_PER_S)

/* ---------------------------------------------------------------- faults */

void pool_fail(struct pool *pool, const char *call, int error, const struct clock_time *now)
{
	int64_t wait_ns = FAULT_FIRST_WAIT_NS << (pool->fault_count < 5 ? pool->fault_count : 5);
	bool is_news;

	snprintf(pool->fault_text, sizeof(pool->fault_text), "%s failed: %s", call,
		 error == -ENODATA ? TIER_NOT_LOADED_TEXT : strerror(-error));
	/* A signal came in between: once more, soon. */
	if (error == -EINTR) {
		pool->collect_ns = now->boot_ns + INTERRUPTED_WAIT_NS;
		if (pool->plan_ns < pool->collect_ns)
			pool->plan_ns = pool->collect_ns;
		return;
	}
	pool->changes++;
	if (error == -ENODEV) {
		pool->is_gone = true;
		return;
	}
	if (wait_ns > FAULT_MAX_WAIT_NS)
		wait_ns = FAULT_MAX_WAIT_NS;
	pool->fault_until_ns = now->boot_ns + wait_ns;
	pool->fault_count++;
	pool->fault = POOL_FAULT_CALL;
	/* One that is being loaded answers so, too: see whether it lasts. */
	is_news = !pool->fault_is_logged && (error != -ENODATA || pool->fault_count > 1);
	pool->fault_is_logged |= is_news;
	log_plain(pool->env->log, LOG_POOL_ERROR_EVENT, is_news ? LOG_ERR : LOG_DEBUG, pool->name,
		  "%s; trying again in %llds", pool->fault_text,
		  (long long)(wait_ns / CLOCK_NS_PER_S));
}

static bool is_movable(enum tier_pool_mode mode)
{
	switch (mode) {
	case TIER_POOL_RW:
	case TIER_POOL_OUT_OF_SPACE:
		return true;
	case TIER_POOL_META_RO:
	case TIER_POOL_FAIL:
		return false;
	}
	return false;
}

/* The pool could be read. Its mode is a state that lasts: it is shown, and logged when it changes. */
static void see_mode(struct pool *pool)
{
	if (!is_movable(pool->info.mode)) {
		if (pool->fault == POOL_FAULT_MODE)
			return;
		pool->fault = POOL_FAULT_MODE;
		snprintf(pool->fault_text, sizeof(pool->fault_text),
			 "the pool is in mode %s: its metadata cannot be written, so nothing can be "
			 "moved", tier_pool_mode_word(pool->info.mode));
		log_plain(pool->env->log, LOG_POOL_ERROR_EVENT, LOG_ERR, pool->name, "%s",
			  pool->fault_text);
	} else if (pool->fault == POOL_FAULT_MODE) {
		pool->fault = POOL_FAULT_NONE;
		log_plain(pool->env->log, LOG_POOL_RECOVERED_EVENT, LOG_NOTICE, pool->name,
			  "the pool is in mode %s again", tier_pool_mode_word(pool->info.mode));
	}
	pool->changes++;
}

/* Devices that are not there or have failed: a state that lasts, too, and it may get worse. */
static void see_devices(struct pool *pool)
{
	const struct tier_device_info *first = NULL;
	uint64_t missing = 0;
	unsigned int count = 0;

	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];

		if (device->state != TIER_DEVICE_MISSING && device->state != TIER_DEVICE_FAILED)
			continue;
		missing |= UINT64_C(1) << device->idx;
		count++;
		if (!first)
			first = device;
	}
	if (missing & ~pool->missing)
		log_plain(pool->env->log, LOG_POOL_PARTIAL_EVENT, LOG_WARNING, pool->name,
			  "%u of its %zu devices %s missing or failed (the first: device %u of tier "
			  "%u): I/O to what lies there gives errors", count, pool->info.nr_devices,
			  count == 1 ? "is" : "are", first->idx, first->tier);
	else if (pool->missing && !missing)
		log_plain(pool->env->log, LOG_POOL_WHOLE_EVENT, LOG_NOTICE, pool->name,
			  "none of its devices is missing any more");
	pool->missing = missing;
	for (size_t i = 0; i < pool->info.nr_devices; i++)
		pool_see_device(pool, &pool->info.devices[i]);
}

/* ---------------------------------------------------------------- volumes */

static void volume_free(struct pool_volume *volume)
{
	if (!volume)
		return;
	tier_heat_volume_clear(&volume->heat);
	free(volume->device);
	free(volume->valid_regions);
	free(volume->hold);
	free(volume->reason);
	free(volume->rank);
	free(volume);
}

static int resize_array(void **array, uint64_t nr, size_t size)
{
	void *resized = reallocarray(*array, nr ? nr : 1, size);

	if (!resized)
		return -ENOMEM;
	*array = resized;
	return 0;
}

/* All arrays to the size of the volume; a new part has no slot. */
static int volume_resize(struct pool_volume *volume, uint64_t nr_extents)
{
	uint64_t old = volume->device ? volume->heat.nr_extents : 0;

	if (resize_array((void **)&volume->device, nr_extents, sizeof(*volume->device)) ||
	    resize_array((void **)&volume->valid_regions, nr_extents,
			 sizeof(*volume->valid_regions)) ||
	    resize_array((void **)&volume->hold, nr_extents, sizeof(*volume->hold)) ||
	    resize_array((void **)&volume->reason, nr_extents, sizeof(*volume->reason)) ||
	    resize_array((void **)&volume->rank, nr_extents, sizeof(*volume->rank)) ||
	    (nr_extents != volume->heat.nr_extents &&
	     tier_heat_volume_resize(&volume->heat, nr_extents)))
		return -ENOMEM;
	for (uint64_t i = old; i < nr_extents; i++) {
		volume->device[i] = TIER_PLAN_NO_DEVICE;
		volume->valid_regions[i] = 0;
		volume->reason[i] = TIER_REASON_NONE;
		volume->rank[i] = 0;
	}
	return 0;
}

/* Half-lives were added or taken away: the first one's heat stands for new ones. */
static int convert_terms(struct tier_heat_volume *heat, uint32_t nr_terms)
{
	for (uint32_t term = heat->nr_terms; term < nr_terms; term++) {
		if (resize_array((void **)&heat->heat[term], heat->nr_extents, sizeof(float)))
			return -ENOMEM;
		memcpy(heat->heat[term], heat->heat[0], heat->nr_extents * sizeof(float));
		heat->nr_terms = term + 1;
	}
	while (heat->nr_terms > nr_terms) {
		heat->nr_terms--;
		free(heat->heat[heat->nr_terms]);
		heat->heat[heat->nr_terms] = NULL;
	}
	return 0;
}

/* The heat of an earlier life, or none. */
static int begin_heat(struct pool *pool, const struct tier_volume_info *info,
		      uint64_t nr_extents, const struct clock_time *now,
		      struct tier_heat_volume *ret_heat)
{
	const struct tier_heat_config *config = &pool->settings->heat;
	int r;

	for (size_t i = 0; i < pool->restored.nr_volumes; i++) {
		struct state_volume *restored = &pool->restored.volumes[i];

		if (restored->id != info->id ||
		    restored->heat.volume_generation != info->generation)
			continue;
		r = convert_terms(&restored->heat, config->nr_terms);
		if (r)
			return r;
		*ret_heat = restored->heat;
		memset(&restored->heat, 0, sizeof(restored->heat));
		return 0;
	}
	return tier_heat_volume_init(ret_heat, config, nr_extents, pool->has_history,
				     now->boot_ns);
}

static int volume_new(struct pool *pool, const struct tier_volume_info *info,
		      uint64_t nr_extents, const struct clock_time *now,
		      struct pool_volume **ret_volume)
{
	struct pool_volume *volume = calloc(1, sizeof(*volume));
	int r;

	if (!volume)
		return -ENOMEM;
	r = begin_heat(pool, info, nr_extents, now, &volume->heat);
	if (r) {
		free(volume);
		return r;
	}
	*ret_volume = volume;
	return 0;
}

static void set_policy(struct pool *pool, struct pool_volume *volume, int64_t now_s)
{
	struct tier_label_policy label;
	enum tier_policy policy;
	bool is_listed;

	/* A name that the CLI cannot have given would not be fit for the bus either. */
	if (tier_label_value(volume->info.label, "name", volume->name, sizeof(volume->name)) <= 0 ||
	    tier_name_check(volume->name, NULL))
		snprintf(volume->name, sizeof(volume->name), "%s", volume->info.uuid);
	is_listed = config_volume_policy(pool->settings, volume->name, &policy);
	volume->policy = policy;
	volume->policy_from = is_listed ? POOL_POLICY_CONFIG : POOL_POLICY_DEFAULT;
	volume->pin_until_s = 0;
	volume->is_outvoted = false;
	if (tier_label_policy(volume->info.label, now_s, &label)) {
		volume->policy = TIER_POLICY_NONE;
		volume->policy_from = POOL_POLICY_ERROR;
	} else if (label.is_set) {
		volume->policy = label.policy;
		volume->policy_from = label.pinned ? POOL_POLICY_PIN : POOL_POLICY_LABEL;
		volume->pin_until_s = label.pinned ? label.pin_until_s : 0;
		/* A pin ends by itself, and one line that says the same hurts nobody. */
		volume->is_outvoted = is_listed && !label.pinned && label.policy != policy;
	}
}

/* After a configuration was loaded or the pool was found; not when someone changes a label. */
static void report_outvoted(struct pool *pool)
{
	if (!pool->wants_outvoted)
		return;
	pool->wants_outvoted = false;
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		const struct pool_volume *volume = pool->volumes[i];
		struct log_record record = LOG_RECORD(LOG_CONFIG_OUTVOTED_EVENT, LOG_WARNING, pool->name);

		record.volume = volume->name;
		if (volume->is_outvoted)
			log_write(pool->env->log, record, "volume %s has the policy %s of its own, so "
				  "its line in tierd.conf is void; `tvchange --policy default` lets it act",
				  volume->name, tier_policy_word(volume->policy));
	}
}

static struct pool_volume *take_known(struct pool *pool, const struct tier_volume_info *info)
{
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		struct pool_volume *volume = pool->volumes[i];

		if (volume && volume->info.id == info->id &&
		    volume->info.generation == info->generation) {
			pool->volumes[i] = NULL;
			return volume;
		}
	}
	return NULL;
}

static void free_volumes(struct pool_volume **volumes, size_t nr_volumes)
{
	for (size_t i = 0; i < nr_volumes; i++)
		volume_free(volumes[i]);
	free(volumes);
}

/*
 * The list of volumes as in pool->info. One for which there is no memory is left
 * out, and with it what was known of it; the error is returned after the rest.
 */
static int sync_volumes(struct pool *pool, const struct clock_time *now)
{
	struct pool_volume **volumes = calloc(pool->info.nr_volumes + 1, sizeof(*volumes));
	size_t nr_volumes = 0;
	int r, result = 0;

	if (!volumes)
		return -ENOMEM;
	for (size_t i = 0; i < pool->info.nr_volumes; i++) {
		const struct tier_volume_info *info = &pool->info.volumes[i];
		uint64_t nr_extents = info->sectors / pool->info.extent_sectors;
		struct pool_volume *volume = take_known(pool, info);
		bool is_new = !volume;

		r = volume ? 0 : volume_new(pool, info, nr_extents, now, &volume);
		if (!r && (!volume->device || nr_extents != volume->heat.nr_extents))
			r = volume_resize(volume, nr_extents);
		if (r) {
			volume_free(volume);
			result = r;
			continue;
		}
		volume->info = *info;
		set_policy(pool, volume, now->real_s);
		volumes[nr_volumes++] = volume;
		/* Those that are there at first are counted when the pool is found. */
		if (is_new && pool->has_volumes)
			pool_see_volume(pool, volume, false);
	}
	for (size_t i = 0; i < pool->nr_volumes; i++)
		if (pool->volumes[i])
			pool_see_volume(pool, pool->volumes[i], true);
	pool->has_volumes = true;
	free_volumes(pool->volumes, pool->nr_volumes);
	pool->volumes = volumes;
	pool->nr_volumes = nr_volumes;
	/* What is left of the saved state is of volumes that are no more. */
	if (!result)
		state_clear(&pool->restored);
	return result;
}

struct pool_volume *pool_find_volume(struct pool *pool, const char *name)
{
	for (size_t i = 0; i < pool->nr_volumes; i++)
		if (!strcmp(pool->volumes[i]->name, name) ||
		    !strcmp(pool->volumes[i]->info.uuid, name))
			return pool->volumes[i];
	return NULL;
}

/* ---------------------------------------------------------------- placement */

/*
 * First writes follow the policy too. The CLI sets the placement together with
 * the policy; here it follows a pin that ended, a tier that was added, a policy
 * of tierd.conf. A pool that cannot take it now gets it at the next reading.
 */
static int sync_placements(struct pool *pool)
{
	int r;

	if (!is_movable(pool->info.mode))
		return 0;
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		struct pool_volume *volume = pool->volumes[i];
		struct tier_placement placement;

		if (volume->policy_from == POOL_POLICY_ERROR)
			continue;
		tier_placement_of_policy(volume->policy, pool->info.devices,
					 pool->info.nr_devices, &placement);
		if (tier_placement_equal(&placement, &volume->info.placement))
			continue;
		r = pool->backend.ops->set_placement(pool->backend.ctx, volume->info.id,
						     &placement);
		if (!r)
			volume->info.placement = placement;
		else if (r != -ENOENT && r != -EROFS)
			return r;
	}
	return 0;
}

int pool_refresh(struct pool *pool, const struct clock_time *now)
{
	struct tier_pool_info info;
	int r;

	pool->wants_look = false;
	pool->read_ns = now->boot_ns;
	r = pool->backend.ops->read_pool(pool->backend.ctx, &info);
	if (r) {
		pool_fail(pool, "reading the pool", r, now);
		return r;
	}
	if (!info.extent_sectors) {
		tier_pool_info_clear(&info);
		pool_fail(pool, "reading the pool", -EPROTO, now);
		return -EPROTO;
	}
	tier_pool_info_clear(&pool->info);
	pool->info = info;
	see_mode(pool);
	pool_see_space(pool);
	see_devices(pool);
	r = sync_volumes(pool, now);
	if (!r)
		report_outvoted(pool);
	if (!r)
		r = sync_placements(pool);
	if (r)
		pool_fail(pool, "taking up its volumes", r, now);
	return r;
}

void pool_set_settings(struct pool *pool, const struct config_settings *settings,
		       const struct clock_time *now)
{
	int r;

	r = pool_collect(pool, pool->was_measured, true, now);
	if (r)
		pool_fail(pool, "collecting", r, now);
	pool->settings = settings;
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		struct pool_volume *volume = pool->volumes[i];

		/* Without memory it goes on with the terms it has, as heat.h allows. */
		if (convert_terms(&volume->heat, settings->heat.nr_terms))
			log_plain(pool->env->log, LOG_INTERNAL_EVENT, LOG_WARNING, pool->name,
				  "volume %s: no memory for another half-life", volume->name);
		set_policy(pool, volume, now->real_s);
	}
	pool->collect_ns = now->boot_ns;
	pool->plan_ns = now->boot_ns;
	pool->save_ns = now->boot_ns + settings->heat.fold_ns;
	pool->rate_set = UINT64_MAX;
	pool->wants_outvoted = true;
	pool->changes++;
}

/* ---------------------------------------------------------------- begin and end */

static int begin(struct pool *pool, const struct config *config, const struct clock_time *now)
{
	const struct execute_observer observer = { .ended = pool_move_ended, .ctx = pool };
	int r;

	r = pool->backend.ops->read_pool(pool->backend.ctx, &pool->info);
	if (r)
		return r;
	snprintf(pool->name, sizeof(pool->name), "%s", pool->info.name);
	/* The bus takes no others, and who makes a dm device may name it as he likes. */
	for (char *c = pool->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	pool->settings = config_for_pool(config, pool->name);
	r = pool_restore(pool, now);
	if (!r)
		r = execute_new(&pool->backend, &observer, &pool->execute);
	if (!r)
		r = pool_restore_failures(pool);
	if (!r)
		r = execute_adopt(pool->execute, &pool->info);
	if (r)
		return r;
	log_plain(pool->env->log, LOG_POOL_FOUND_EVENT, LOG_INFO, pool->name,
		  "found, %zu device%s, %zu volume%s", pool->info.nr_devices,
		  pool->info.nr_devices == 1 ? "" : "s", pool->info.nr_volumes,
		  pool->info.nr_volumes == 1 ? "" : "s");
	return 0;
}

int pool_new(const struct pool_environment *env, const struct config *config,
	     const struct tier_backend *backend, const struct clock_time *now,
	     struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	pool->env = env;
	pool->backend = *backend;
	pool->rate_set = UINT64_MAX;
	pool->last_tick = *now;
	pool->was_measured = true;
	pool->wants_outvoted = true;
	r = begin(pool, config, now);
	if (r) {
		pool_free(pool);
		return r;
	}
	pool->collect_ns = now->boot_ns;
	pool->plan_ns = now->boot_ns;
	/* Soon, so that one who dies young again and again loses nothing either. */
	pool->save_ns = now->boot_ns + FIRST_SAVE_NS;
	*ret_pool = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	execute_free(pool->execute);
	tier_planner_free(pool->planner);
	free_volumes(pool->volumes, pool->nr_volumes);
	state_clear(&pool->restored);
	tier_pool_info_clear(&pool->info);
	free(pool);
}
