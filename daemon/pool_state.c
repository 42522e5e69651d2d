// SPDX-License-Identifier: GPL-2.0-only
/* A pool and its state file: what is taken from it, when and what is saved. See state.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "util.h"

#define SAVE_RETRY_NS	(60 * CLOCK_NS_PER_S)

void pool_report_skipped(const struct pool *pool, int64_t since_s, const struct clock_time *now,
			 const char *why)
{
	const struct tier_schedule schedule = {
		.windows = pool->settings->windows,
		.nr_windows = pool->settings->nr_windows,
	};
	unsigned int skipped;

	if (pool->settings->measure_only || pool->is_paused)
		return;
	skipped = tier_schedule_skipped(&schedule, pool->env->zone, since_s, now->real_s, NULL);
	if (skipped)
		log_plain(pool->env->log, LOG_WINDOW_SKIPPED_EVENT, LOG_NOTICE, pool->name,
			  "%u relocation window%s passed unused: %s", skipped,
			  skipped == 1 ? "" : "s", why);
}

int pool_restore(struct pool *pool, const struct clock_time *now)
{
	struct state state;
	bool damaged;
	int r;

	if (pool->env->state_dirfd < 0)
		return 0;
	r = state_load(pool->env->state_dirfd, pool->info.uuid, &state, &pool->state_generation,
		       &damaged);
	if (r == -ENOENT)
		return 0;
	if (r == -ENOMEM)
		return r;
	if (r) {
		log_plain(pool->env->log, LOG_STATE_UNUSABLE_EVENT, LOG_WARNING, pool->name,
			  "its saved heat cannot be used (%s): counting begins anew, and extents are "
			  "left where they are until enough is known of them", strerror(-r));
		return 0;
	}
	if (damaged)
		log_plain(pool->env->log, LOG_STATE_UNUSABLE_EVENT, LOG_WARNING, pool->name,
			  "the file of its newest heat is damaged; the one before it is used");
	state_rebase(&state, pool->env->boot_id, now);
	pool->is_paused = state.paused;
	pool->aborted_window_s = state.aborted_window_s;
	pool->heat_since_s = state.heat_since_s;
	pool->relocation = state.relocation;
	/* It ended when the tierd that ran it did. */
	if (pool->relocation.begin_s && !pool->relocation.end_s)
		pool->relocation.end_s = state.saved.real_s;
	pool->has_history = state.watched;
	pool->restored = state;
	pool_report_skipped(pool, state.saved.real_s, now, "tierd was not running");
	return 0;
}

int pool_restore_failures(struct pool *pool)
{
	int r = 0;

	for (size_t i = 0; !r && i < pool->restored.nr_failures; i++) {
		const struct state_failure *restored = &pool->restored.failures[i];
		struct execute_failure failure = {
			.extent = restored->extent,
			.attempts = restored->attempts,
			.until_ns = restored->until_ns,
			.reason = restored->reason,
		};

		for (size_t v = 0; !r && v < pool->info.nr_volumes; v++) {
			if (pool->info.volumes[v].generation != restored->volume_generation)
				continue;
			failure.volume = pool->info.volumes[v].id;
			r = execute_add_failure(pool->execute, &failure);
		}
	}
	return r;
}

static int save_failures(const struct pool *pool, struct state *state)
{
	struct execute_failure failure;
	size_t nr = 0;

	while (execute_get_failure(pool->execute, nr, &failure))
		nr++;
	state->failures = calloc(nr + 1, sizeof(*state->failures));
	if (!state->failures)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		execute_get_failure(pool->execute, i, &failure);
		for (size_t v = 0; failure.attempts && v < pool->nr_volumes; v++)
			if (pool->volumes[v]->info.id == failure.volume)
				state->failures[state->nr_failures++] = (struct state_failure) {
					.volume_generation = pool->volumes[v]->info.generation,
					.extent = failure.extent,
					.until_ns = failure.until_ns,
					.attempts = failure.attempts,
					.reason = failure.reason,
				};
	}
	return 0;
}

int pool_save(struct pool *pool, const struct clock_time *now)
{
	_cleanup_free_ struct state_volume *volumes = NULL;
	struct state state = {
		.saved = *now,
		.watched = pool->has_history,
		.paused = pool->is_paused,
		.aborted_window_s = pool->aborted_window_s,
		.heat_since_s = pool->heat_since_s,
		.relocation = pool->relocation,
	};
	int r = -ENOMEM;

	pool->save_ns = now->boot_ns + pool->settings->heat.fold_ns;
	if (pool->env->state_dirfd < 0)
		return 0;
	memcpy(state.boot_id, pool->env->boot_id, sizeof(state.boot_id));
	volumes = calloc(pool->nr_volumes + pool->restored.nr_volumes + 1, sizeof(*volumes));
	if (volumes) {
		state.volumes = volumes;
		for (size_t i = 0; i < pool->nr_volumes; i++)
			volumes[state.nr_volumes++] = (struct state_volume) {
				.id = pool->volumes[i]->info.id,
				.heat = pool->volumes[i]->heat,
			};
		/* Of an earlier life, and the pool could not be read since. */
		for (size_t i = 0; i < pool->restored.nr_volumes; i++)
			if (pool->restored.volumes[i].heat.nr_terms)
				volumes[state.nr_volumes++] = pool->restored.volumes[i];
		r = save_failures(pool, &state);
	}
	if (!r)
		r = state_save(pool->env->store_ops, pool->env->state_dirfd, pool->info.uuid,
			       &state, &pool->state_generation);
	free(state.failures);
	if (r) {
		log_plain(pool->env->log, LOG_STATE_NOT_SAVED_EVENT, LOG_ERR, pool->name,
			  "its heat could not be saved: %s; trying again", strerror(-r));
		if (pool->save_ns > now->boot_ns + SAVE_RETRY_NS)
			pool->save_ns = now->boot_ns + SAVE_RETRY_NS;
	}
	return r;
}
