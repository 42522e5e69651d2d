// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a pool's extents move. A relocation (a run) belongs to one opening of one
 * window, or to a request by hand; it begins with a plan and ends when its window
 * closes, its plan is done (by hand), or something forbids moves: a pause, an
 * abort, a fault, the end of tierd. Whatever the cause, an end is the same: no move
 * is begun any more, those under way are cancelled, and when the last one is out
 * of the kernel the run is over. See pool.h.
 */
#include <errno.h>
#include <stdio.h>

#include "pool.h"
#include "units.h"

/* With moves in the kernel, if no event wakes us before. */
#define POLL_NS		(CLOCK_NS_PER_S / 5)
/* How often a pool is read because something happened: moves that end are events, too. */
#define LOOK_NS		CLOCK_NS_PER_S
/* A step of real time by more than this may have left out a window. */
#define STEP_S		120

/* ---------------------------------------------------------------- what became of moves */

static const char *volume_name(const struct pool *pool, uint32_t id)
{
	for (size_t i = 0; i < pool->nr_volumes; i++)
		if (pool->volumes[i]->info.id == id)
			return pool->volumes[i]->name;
	return "(deleted)";
}

static void count_moved(struct state_relocation *relocation, const struct execute_result *result)
{
	const struct tier_plan_move *move = result->move;

	if (move->to_tier < move->from_tier) {
		relocation->up_moves++;
		relocation->up_bytes += result->copied_bytes;
	} else if (move->to_tier > move->from_tier) {
		relocation->down_moves++;
		relocation->down_bytes += result->copied_bytes;
	} else {
		relocation->side_moves++;
		relocation->side_bytes += result->copied_bytes;
	}
	if (move->to_tier != move->from_tier)
		relocation->in_bytes[move->to_tier] += result->copied_bytes;
}

/* tierctl tes shows why the extent is still where it was. */
static void set_reason(struct pool *pool, const struct tier_plan_move *move,
		       enum tier_reason reason)
{
	for (size_t i = 0; i < pool->nr_volumes; i++) {
		struct pool_volume *volume = pool->volumes[i];

		if (volume->info.id == move->volume && move->extent < volume->heat.nr_extents)
			volume->reason[move->extent] = reason;
	}
}

static void log_move(struct pool *pool, const struct execute_result *result,
		     enum log_event event, int priority, enum tier_reason reason, const char *what)
{
	const struct tier_plan_move *move = result->move;
	struct log_record record = LOG_RECORD(event, priority, pool->name);

	record.volume = volume_name(pool, move->volume);
	record.has_extent = true;
	record.extent = move->extent;
	record.from_tier = move->from_tier;
	record.to_tier = move->to_tier;
	record.reason = reason;
	record.has_bytes = true;
	record.bytes = result->copied_bytes;
	log_write(pool->env->log, record, "volume %s extent %llu, tier %u to %u: %s", record.volume,
		  (unsigned long long)move->extent, move->from_tier, move->to_tier, what);
}

void pool_move_ended(void *ctx, const struct execute_result *result)
{
	struct pool *pool = ctx;
	const char *word = tier_reason_word(result->reason);
	enum tier_reason reason = result->move->reason;
	char what[96];

	pool->changes++;
	switch (result->outcome) {
	case EXECUTE_MOVED:
		count_moved(&pool->relocation, result);
		/* One that an earlier tierd had begun, or someone with dmsetup. */
		if (reason == TIER_REASON_NONE)
			reason = TIER_REASON_UNKNOWN;
		snprintf(what, sizeof(what), "moved (%s)", tier_reason_word(reason));
		log_move(pool, result, LOG_MOVE_DONE_EVENT, LOG_INFO, reason, what);
		break;
	case EXECUTE_FAILED:
		pool->relocation.retried_moves++;
		set_reason(pool, result->move, result->reason);
		snprintf(what, sizeof(what), "failed (%s), attempt %u, next one in %llds", word,
			 result->attempts, (long long)(result->wait_ns / CLOCK_NS_PER_S));
		log_move(pool, result, LOG_MOVE_FAILED_EVENT, LOG_INFO, result->reason, what);
		break;
	case EXECUTE_GIVEN_UP:
		pool->relocation.failed_moves++;
		set_reason(pool, result->move, result->reason);
		if (result->was_tried)
			snprintf(what, sizeof(what), "given up after attempt %u (%s)",
				 result->attempts, word);
		else
			snprintf(what, sizeof(what), "given up, its device is in error (%s)", word);
		log_move(pool, result, LOG_MOVE_GIVEN_UP_EVENT,
			 result->was_tried ? LOG_WARNING : LOG_DEBUG, result->reason, what);
		break;
	case EXECUTE_CANCELLED:
		log_move(pool, result, LOG_MOVE_DROPPED_EVENT, LOG_DEBUG, result->reason,
			 "cancelled");
		break;
	case EXECUTE_NEEDLESS:
		log_move(pool, result, LOG_MOVE_DROPPED_EVENT, LOG_DEBUG, result->reason,
			 "no longer needed");
		break;
	}
}

/* ---------------------------------------------------------------- may it? */

bool pool_may_move(const struct pool *pool, enum tier_reason *ret_reason)
{
	enum tier_reason reason = TIER_REASON_NONE;

	if (pool->is_paused)
		reason = TIER_REASON_PAUSED;
	else if (pool->fault == POOL_FAULT_MODE)
		reason = TIER_REASON_META_ERROR;
	else if (pool->fault == POOL_FAULT_CALL)
		reason = TIER_REASON_THROTTLED;
	else if (pool->settings->measure_only || pool->is_leaving || pool->is_gone)
		reason = TIER_REASON_OUTSIDE_WINDOW;
	else if (!pool->by_hand.is_active &&
		 (!pool->window.is_open || pool->aborted_window_s == pool->window.opens_at_s))
		reason = TIER_REASON_OUTSIDE_WINDOW;
	if (ret_reason)
		*ret_reason = reason;
	return reason == TIER_REASON_NONE;
}

const char *pool_state_word(const struct pool *pool, enum tier_reason *ret_reason)
{
	struct execute_status status;

	execute_status(pool->execute, &status);
	if (pool_may_move(pool, ret_reason)) {
		if (pool->is_running && !status.active && !status.pending) {
			if (status.waiting)
				*ret_reason = TIER_REASON_THROTTLED;
			return "idle";
		}
		return pool->is_running ? "relocating" : "idle";
	}
	if (pool->is_stopping)
		return "stopping";
	if (pool->fault != POOL_FAULT_NONE)
		return "error";
	if (pool->is_paused)
		return "paused";
	/* The configuration is why, not a window. */
	if (pool->settings->measure_only || !pool->plan.nr_moves)
		*ret_reason = TIER_REASON_NONE;
	return pool->settings->measure_only ? "measure" : "idle";
}

/* ---------------------------------------------------------------- runs */

static void log_begin(struct pool *pool)
{
	char rate_text[UNITS_TEXT_SIZE], up_text[UNITS_TEXT_SIZE], down_text[UNITS_TEXT_SIZE];
	const struct tier_rate rate = pool_rate(pool);
	struct log_record record = LOG_RECORD(LOG_RELOCATION_BEGAN_EVENT, LOG_INFO, pool->name);
	uint64_t up = 0, down = 0;

	for (uint32_t tier = 0; tier < pool->plan.nr_tiers; tier++) {
		up += pool->plan.tiers[tier].up_bytes;
		down += pool->plan.tiers[tier].down_bytes;
	}
	record.has_bytes = true;
	record.bytes = pool->plan.bytes;
	units_rate_to_text(&rate, rate_text);
	units_size_to_rough_text(up, up_text);
	units_size_to_rough_text(down, down_text);
	log_write(pool->env->log, record, "relocation begins, %s, rate %s: %zu moves, %s up, %s down",
		  pool->run_is_by_hand ? "by hand" : "a window opened", rate_text,
		  pool->plan.nr_moves, up_text, down_text);
}

/* "5 moves up (255MiB)", "0 down": without the size of nothing. */
static const char *count_text(uint64_t count, const char *what, uint64_t bytes, char ret_text[64])
{
	char size[UNITS_TEXT_SIZE];

	units_size_to_rough_text(bytes, size);
	snprintf(ret_text, 64, count ? "%llu %s (%s)" : "%llu %s", (unsigned long long)count, what, size);
	return ret_text;
}

static void log_end(struct pool *pool, const char *why)
{
	const struct state_relocation *relocation = &pool->relocation;
	struct log_record record = LOG_RECORD(LOG_RELOCATION_ENDED_EVENT, LOG_INFO, pool->name);
	char up[64], down[64], side[64], in[UNITS_TEXT_SIZE], tiers[256] = "";
	size_t used = 0;

	for (int tier = 0; tier < TIER_MAX_TIERS && used < sizeof(tiers); tier++) {
		if (!relocation->in_bytes[tier])
			continue;
		units_size_to_rough_text(relocation->in_bytes[tier], in);
		used += snprintf(tiers + used, sizeof(tiers) - used, ", %s into tier %d", in, tier);
	}
	record.has_bytes = true;
	record.bytes = relocation->up_bytes + relocation->down_bytes + relocation->side_bytes;
	log_write(pool->env->log, record,
		  "relocation ended (%s): %s, %s, %s, %llu given up%s", why,
		  count_text(relocation->up_moves, "moves up", relocation->up_bytes, up),
		  count_text(relocation->down_moves, "down", relocation->down_bytes, down),
		  count_text(relocation->side_moves, "inside tiers", relocation->side_bytes, side),
		  (unsigned long long)relocation->failed_moves, tiers);
}

static void end_run(struct pool *pool, const char *why, const struct clock_time *now)
{
	struct state_relocation *relocation = &pool->relocation;
	uint64_t bytes = relocation->up_bytes + relocation->down_bytes + relocation->side_bytes;

	relocation->end_s = now->real_s;
	if (pool->busy_ns > CLOCK_NS_PER_S && bytes)
		pool->bytes_per_s = (uint64_t)((double)bytes * CLOCK_NS_PER_S /
					       (double)pool->busy_ns);
	execute_drop(pool->execute);
	/* What of it was carried out is void; the rest will be in the next one. */
	pool->plan.nr_moves = 0;
	pool->plan.bytes = 0;
	pool->is_running = false;
	pool->is_restart = false;
	if (!pool->by_hand.is_active)
		pool->has_rate = false;
	log_end(pool, why);
	/* See what is left, and say why, at once. */
	pool->collect_ns = now->boot_ns;
	pool->save_ns = now->boot_ns;
	pool->changes++;
}

static void begin_run(struct pool *pool, const struct clock_time *now)
{
	pool->is_running = true;
	pool->run_is_by_hand = pool->by_hand.is_active;
	pool->run_window_s = pool->window.is_open ? pool->window.opens_at_s : 0;
	pool->relocation = (struct state_relocation) { .begin_s = now->real_s };
	pool->busy_ns = 0;
	if (pool_plan(pool, now)) {
		/* The fault is known and shown; it begins again when that is over. */
		pool->is_running = false;
		pool->relocation.end_s = now->real_s;
		return;
	}
	log_begin(pool);
}

/* The run that goes on is not the one that should: asked for anew, or another window. */
static bool is_another_run(const struct pool *pool)
{
	return pool->is_restart || pool->run_is_by_hand != pool->by_hand.is_active ||
	       (!pool->run_is_by_hand && pool->run_window_s != pool->window.opens_at_s);
}

static const char *why_stopped(const struct pool *pool)
{
	if (pool->is_paused)
		return "paused";
	if (pool->is_leaving)
		return "tierd ends";
	if (pool->fault != POOL_FAULT_NONE)
		return "the pool is in error";
	if (pool->window.is_open && pool->aborted_window_s == pool->window.opens_at_s)
		return "aborted";
	return pool->run_is_by_hand ? "aborted" : "the window closed";
}

/* Begin, replace or stop the run, as is due. */
static void steer(struct pool *pool, const struct clock_time *now)
{
	bool may_move = pool_may_move(pool, NULL);
	struct execute_status status;
	int r;

	execute_status(pool->execute, &status);
	/* Moves of an earlier tierd just finish, unless someone wants none. */
	if (!may_move && (pool->is_running ||
			  (status.active && (pool->is_paused || pool->is_leaving))) &&
	    !pool->is_stopping) {
		pool->is_stopping = true;
		pool->changes++;
	}
	if (pool->is_stopping) {
		r = execute_stop(pool->execute, now->boot_ns);
		if (r)
			pool_fail(pool, "cancelling moves", r, now);
	}
	if (pool->is_stopping || !may_move)
		return;
	if (pool->is_running && is_another_run(pool))
		end_run(pool, pool->by_hand.is_active ? "another one was asked for" :
			"its window is over", now);
	if (!pool->is_running)
		begin_run(pool, now);
	else if (!pool->run_is_by_hand && now->boot_ns >= pool->plan_ns)
		pool_plan(pool, now);
}

static void work(struct pool *pool, struct execute_status *ret_status,
		 const struct clock_time *now)
{
	int r;

	execute_status(pool->execute, ret_status);
	if (!ret_status->active && !ret_status->pending && !ret_status->waiting)
		return;
	r = execute_tick(pool->execute, now->boot_ns);
	/* The kernel allows no moves: its mode says why. */
	if (r == -EROFS && !pool_refresh(pool, now) && pool->fault == POOL_FAULT_MODE)
		r = 0;
	if (r)
		pool_fail(pool, "moving extents", r, now);
	execute_status(pool->execute, ret_status);
}

/* Is the run over? */
static void settle(struct pool *pool, const struct execute_status *status,
		   const struct clock_time *now)
{
	if (pool->is_stopping && !status->active) {
		pool->is_stopping = false;
		if (pool->is_running)
			end_run(pool, why_stopped(pool), now);
		return;
	}
	if (pool->is_running && pool->run_is_by_hand && !pool->is_stopping && !pool->is_restart &&
	    !status->active && !status->pending && !status->waiting) {
		pool->by_hand = (struct pool_by_hand) { .is_active = false };
		end_run(pool, "done", now);
	}
}

/* ---------------------------------------------------------------- the tick */

static bool is_measured(const struct pool *pool, int64_t now_s, int64_t *ret_edge_s)
{
	const struct tier_schedule schedule = {
		.windows = pool->settings->measure,
		.nr_windows = pool->settings->nr_measure,
	};
	struct tier_schedule_state state;

	if (!schedule.nr_windows) {
		*ret_edge_s = TIER_SCHEDULE_NEVER;
		return true;
	}
	tier_schedule_at(&schedule, pool->env->zone, now_s, &state);
	*ret_edge_s = state.is_open ? state.closes_at_s : state.next_open_s;
	return state.is_open;
}

static void see_time(struct pool *pool, const struct clock_time *now)
{
	const struct tier_schedule schedule = {
		.windows = pool->settings->windows,
		.nr_windows = pool->settings->nr_windows,
	};

	if (now->real_s - pool->last_tick.real_s > STEP_S)
		pool_report_skipped(pool, pool->last_tick.real_s, now,
				    "the machine slept, or its clock was set");
	if (pool->was_busy)
		pool->busy_ns += now->boot_ns - pool->last_tick.boot_ns;
	tier_schedule_at(&schedule, pool->env->zone, now->real_s, &pool->window);
	pool->last_tick = *now;
	if (pool->fault == POOL_FAULT_CALL && now->boot_ns >= pool->fault_until_ns) {
		pool->fault = POOL_FAULT_NONE;
		pool->changes++;
	}
}

/*
 * Counters on time; and if nothing moves, a plan, so that it can be seen what
 * would. True if they were read.
 */
static bool collect_if_due(struct pool *pool, const struct clock_time *now)
{
	int64_t edge_s;
	bool measured = is_measured(pool, now->real_s, &edge_s);
	int r;

	if (now->boot_ns < pool->collect_ns && measured == pool->was_measured)
		return false;
	if (!pool->is_running) {
		r = pool_plan(pool, now);
	} else {
		r = pool_refresh(pool, now);
		if (!r) {
			r = pool_collect(pool, pool->was_measured, false, now);
			if (r)
				pool_fail(pool, "collecting", r, now);
		}
		pool->collect_ns = now->boot_ns + pool->settings->collect_ns;
	}
	pool->was_measured = measured;
	return !r;
}

/* Is it full, does its metadata fail? Events are answered without waiting for the next collection. */
static void look_if_asked(struct pool *pool, const struct clock_time *now)
{
	if (!pool->wants_look || now->boot_ns < pool->read_ns + LOOK_NS)
		return;
	/* A fault is over when counters have been read again. */
	if (pool_refresh(pool, now))
		pool->collect_ns = now->boot_ns;
}

static void sooner(int64_t *next_ns, int64_t at_ns)
{
	if (at_ns < *next_ns)
		*next_ns = at_ns;
}

/* A time of day as one of CLOCK_BOOTTIME; up to a second late, never early. */
static void sooner_s(int64_t *next_ns, int64_t at_s, const struct clock_time *now)
{
	if (at_s > now->real_s && at_s - now->real_s < 366 * 86400)
		sooner(next_ns, now->boot_ns + (at_s - now->real_s) * CLOCK_NS_PER_S);
}

static int64_t next_tick(const struct pool *pool, const struct execute_status *status,
			 const struct clock_time *now)
{
	int64_t next_ns = pool->collect_ns, attempt_ns = status->next_attempt_ns, edge_s;

	sooner(&next_ns, pool->save_ns);
	if (pool->wants_look)
		sooner(&next_ns, pool->read_ns + LOOK_NS);
	if (pool->window.is_open)
		sooner_s(&next_ns, pool->window.closes_at_s, now);
	sooner_s(&next_ns, pool->window.next_open_s, now);
	is_measured(pool, now->real_s, &edge_s);
	sooner_s(&next_ns, edge_s, now);
	for (size_t i = 0; i < pool->nr_volumes; i++)
		sooner_s(&next_ns, pool->volumes[i]->pin_until_s, now);
	if (pool->is_running && !pool->run_is_by_hand)
		sooner(&next_ns, pool->plan_ns);
	if (status->active || status->pending)
		sooner(&next_ns, now->boot_ns + POLL_NS);
	if (status->waiting)
		sooner(&next_ns, attempt_ns > now->boot_ns ? attempt_ns : now->boot_ns + POLL_NS);
	return next_ns > now->boot_ns ? next_ns : now->boot_ns;
}

int64_t pool_tick(struct pool *pool, const struct clock_time *now)
{
	struct execute_status status;
	bool has_collected;

	see_time(pool, now);
	if (pool->is_gone)
		return CLOCK_NEVER;
	if (pool->fault == POOL_FAULT_CALL)
		return pool->fault_until_ns;
	has_collected = collect_if_due(pool, now);
	look_if_asked(pool, now);
	/* What follows would fail as well, and say less of why. */
	if (pool->is_gone)
		return CLOCK_NEVER;
	if (pool->fault == POOL_FAULT_CALL)
		return pool->fault_until_ns;
	steer(pool, now);
	work(pool, &status, now);
	settle(pool, &status, now);
	pool->was_busy = status.active > 0;
	if (has_collected && pool->fault_count && pool->fault == POOL_FAULT_NONE) {
		pool->fault_count = 0;
		if (pool->fault_is_logged)
			log_plain(pool->env->log, LOG_POOL_RECOVERED_EVENT, LOG_NOTICE, pool->name,
				  "works again");
		pool->fault_is_logged = false;
	}
	if (now->boot_ns >= pool->save_ns)
		pool_save(pool, now);
	if (pool->is_gone)
		return CLOCK_NEVER;
	return pool->fault == POOL_FAULT_CALL ? pool->fault_until_ns :
	       next_tick(pool, &status, now);
}

/* ---------------------------------------------------------------- by hand */

void pool_relocate(struct pool *pool, bool now, const struct pool_volume *scope,
		   const struct tier_rate *rate)
{
	pool->aborted_window_s = 0;
	pool->has_rate = rate;
	if (rate)
		pool->rate = *rate;
	if (now) {
		pool->by_hand = (struct pool_by_hand) {
			.is_active = true,
			.has_scope = scope,
			.generation = scope ? scope->info.generation : 0,
		};
		pool->is_restart = pool->is_running;
	}
	pool->plan_ns = pool->last_tick.boot_ns;
	pool->collect_ns = pool->last_tick.boot_ns;
	pool->changes++;
}

void pool_abort(struct pool *pool)
{
	if (!pool->is_running && !pool->by_hand.is_active)
		return;
	pool->by_hand = (struct pool_by_hand) { .is_active = false };
	if (pool->window.is_open)
		pool->aborted_window_s = pool->window.opens_at_s;
	pool->save_ns = pool->last_tick.boot_ns;
	pool->changes++;
}
