/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One pool inside tierd. The struct is shared by a few files, each with one step
 * of the tick:
 *
 *	pool.c		which pool: begin, end, its volumes, their policies
 *	pool_state.c	what is kept of it in its state file
 *	pool_news.c	what is told of it when it was read
 *	collect.c	counters and map of the kernel -> heat and places
 *	pool_plan.c	the plan
 *	relocate.c	when: windows, by hand, pause; relocations begin, go on and end
 *	report.c	what of it the bus shows
 *
 * Nothing here knows sd-event, D-Bus, libudev, libconfig or a clock. All of it
 * runs in one thread and never waits but for ioctls and the state file.
 */
#ifndef TIERD_POOL_H
#define TIERD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "config.h"
#include "execute.h"
#include "heat.h"
#include "log.h"
#include "plan.h"
#include "schedule.h"
#include "space.h"
#include "state.h"
#include "store.h"

/* What all pools share; belongs to struct tierd. */
struct pool_environment {
	const struct log_sink *log;
	const struct store_ops *store_ops;
	int state_dirfd;			/* -1: nothing is kept */
	const struct tier_time_zone *zone;
	char boot_id[CLOCK_BOOT_ID_SIZE];
};

enum pool_policy_from {
	POOL_POLICY_DEFAULT,
	POOL_POLICY_CONFIG,
	POOL_POLICY_LABEL,
	POOL_POLICY_PIN,
	POOL_POLICY_ERROR	/* the label does not parse: nothing moves */
};

struct pool_volume {
	struct tier_volume_info info;		/* as read last */
	char name[TIER_LABEL_SIZE];		/* of its label, else its uuid */
	enum tier_policy policy;
	enum pool_policy_from policy_from;
	bool is_outvoted;			/* its line in tierd.conf, by the label */
	int64_t pin_until_s;			/* 0 = not pinned */

	struct tier_heat_volume heat;
	/* Arrays of heat.nr_extents entries, as struct tier_plan_volume wants them. */
	uint8_t *device;
	uint16_t *valid_regions;
	uint8_t *hold;
	uint8_t *reason;
	float *rank;				/* of the last plan */
	double heat_sum;			/* of rank */
	uint64_t nr_slots;			/* extents that have one */
	bool is_planned;			/* rank and reason are there ... */
	bool was_empty;				/* ... but when they were made it had no extents */
};

/* A relocation that someone asked for. */
struct pool_by_hand {
	bool is_active;
	bool has_scope;				/* one volume only: */
	uint64_t generation;
};

enum pool_fault {
	POOL_FAULT_NONE,
	POOL_FAULT_MODE,			/* the kernel's mode allows no moves */
	POOL_FAULT_CALL				/* a call to the kernel failed */
};

struct pool {
	const struct pool_environment *env;
	const struct config_settings *settings;
	struct tier_backend backend;		/* the caller's */
	char name[TIER_NAME_SIZE];
	bool is_gone;				/* the kernel says so: to be removed */

	struct tier_pool_info info;
	struct pool_volume **volumes;		/* as in info, ascending id */
	size_t nr_volumes;
	bool has_history;			/* has been watched before: new volumes are new */
	struct state restored;			/* volumes of the state file not seen yet */
	uint64_t state_generation;
	bool has_volumes;			/* `volumes` has been filled in once */
	struct tier_space_watch space;
	bool wants_outvoted;			/* say once which lines of tierd.conf are void */

	/* When the next of each is due, CLOCK_BOOTTIME. */
	int64_t collect_ns;
	int64_t plan_ns;
	int64_t planned_ns;			/* when one was made last */
	int64_t save_ns;
	int64_t fault_until_ns;
	int64_t read_ns;			/* when it was read last */
	bool wants_look;			/* something happened that may be the pool's */
	struct clock_time last_tick;

	int64_t collected_s;			/* when it was done last */
	int64_t heat_since_s;
	bool was_measured;			/* the measure mask at the last tick */

	/* Relocation. */
	struct tier_schedule_state window;	/* as of the last tick */
	struct pool_by_hand by_hand;
	bool has_rate;				/* asked for with Relocate, until its end */
	struct tier_rate rate;
	uint64_t rate_set;			/* in force in the kernel; UINT64_MAX = not known */
	uint64_t rate_instance;			/* ... of this instance of the pool */
	bool is_paused;
	bool is_leaving;			/* tierd ends: start nothing */
	int64_t aborted_window_s;
	bool is_running;			/* a relocation is; `relocation` tells of it */
	bool run_is_by_hand;
	int64_t run_window_s;			/* when its window opened */
	bool is_restart;			/* end the run, begin another: asked for anew */
	bool is_stopping;			/* moves have been asked to end */
	struct state_relocation relocation;
	bool was_busy;				/* moves were in the kernel at the last tick */
	int64_t busy_ns;			/* of this run, with moves in the kernel */
	uint64_t bytes_per_s;			/* measured by the last run; 0 = not yet */

	uint64_t missing;			/* a bit for each device that is not there or failed */
	uint64_t with_errors;			/* for each that has had errors */
	uint64_t given_up;			/* for each that was given up and has extents */
	enum pool_fault fault;
	unsigned int fault_count;
	bool fault_is_logged;
	char fault_text[160];

	struct tier_planner *planner;
	uint64_t planner_extents;
	struct tier_plan plan;			/* the last one; moves are the planner's */
	struct execute *execute;

	uint64_t changes;			/* counts what the bus shows */
};

/* ---- pool.c ---- */

/*
 * `backend` is the caller's, `name` what the user calls the pool. Reads the pool,
 * its state file, and adopts moves under way. -ENODEV and so on as the backend's.
 */
int pool_new(const struct pool_environment *env, const struct config *config,
	     const struct tier_backend *backend, const struct clock_time *now,
	     struct pool **ret_pool);
/* Saves nothing; moves under way just finish. */
void pool_free(struct pool *pool);

/* Read the pool again: devices, volumes, policies. Sees the loss of volumes and of the pool. */
int pool_refresh(struct pool *pool, const struct clock_time *now);

/* NULL: there is none. `name` is a volume's name or uuid. */
struct pool_volume *pool_find_volume(struct pool *pool, const char *name);

/* Heat so far is folded by the old rules, from now on the new ones hold. */
void pool_set_settings(struct pool *pool, const struct config_settings *settings,
		       const struct clock_time *now);

/* A call to the kernel failed: shown, logged once, moves wait; -ENODEV marks it as gone. */
void pool_fail(struct pool *pool, const char *call, int error, const struct clock_time *now);

/* ---- pool_state.c ---- */

/* Say how many windows passed unused since then. */
void pool_report_skipped(const struct pool *pool, int64_t since_s, const struct clock_time *now,
			 const char *why);

/* Before the first pool_refresh(). Only -ENOMEM is an error: bad state is no state. */
int pool_restore(struct pool *pool, const struct clock_time *now);

/* What failed before, of volumes that there still are; when pool->execute is there. -ENOMEM. */
int pool_restore_failures(struct pool *pool);

/* Logs a failure and tries again at the next occasion. Blocks until it is durable. */
int pool_save(struct pool *pool, const struct clock_time *now);

/* ---- pool_news.c ---- */

/* Say it, once, when it fills up, is full, or has space again. */
void pool_see_space(struct pool *pool);
/* Say, once, that a device has had errors since activation, or was given up with what is on it. */
void pool_see_device(struct pool *pool, const struct tier_device_info *device);
/* Say that a volume came or went. */
void pool_see_volume(const struct pool *pool, const struct pool_volume *volume, bool is_gone);

/* ---- collect.c ---- */

/*
 * Take counters and map of all volumes. `fold` brings all heat to now as well, so
 * that rules may change afterwards. `is_measured`: does I/O since the last time count?
 */
int pool_collect(struct pool *pool, bool is_measured, bool fold, const struct clock_time *now);

/* ---- pool_plan.c ---- */

/*
 * Collect and plan: the list of moves that would be or is carried out. Where moves
 * are not allowed now, extents say why they stay.
 */
int pool_plan(struct pool *pool, const struct clock_time *now);

/* The rate for moves now or, outside of a window, in the next one. */
struct tier_rate pool_rate(const struct pool *pool);

/* ---- relocate.c ---- */

/* What became of a move: counts and logs. `ctx` is the pool. */
void pool_move_ended(void *ctx, const struct execute_result *result);

/* Do what is due. Returns when to come back (CLOCK_BOOTTIME). */
int64_t pool_tick(struct pool *pool, const struct clock_time *now);

/* Relocation as the bus shows it: a word of bus.h. */
const char *pool_state_word(const struct pool *pool, enum tier_reason *ret_reason);

/* Whether moves may be handed to the kernel; else *ret_reason (may be NULL) says why not. */
bool pool_may_move(const struct pool *pool, enum tier_reason *ret_reason);

/* By hand; take effect with the tick that the caller lets follow. */
void pool_relocate(struct pool *pool, bool now, const struct pool_volume *scope,
		   const struct tier_rate *rate);
void pool_abort(struct pool *pool);

/* ---- report.c ---- */

/* How long so many bytes will take, at the rate in force or as measured; 0 = not known. */
uint64_t pool_seconds(const struct pool *pool, uint64_t bytes);

#endif
