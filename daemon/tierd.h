/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon without its surroundings: all pools, the configuration, and what can
 * be asked of them. Driven from outside: tierd_tick() does whatever is due at the
 * time it is handed and says when to come back, so the loop, the tests and a
 * simulator run the same code.
 *
 * One thread. Knows no clock, no bus, no event loop, no udev, no libconfig.
 */
#ifndef TIERD_H
#define TIERD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "config.h"
#include "log.h"
#include "plan.h"
#include "schedule.h"
#include "state.h"
#include "store.h"

struct tierd_setup {
	struct config *config;			/* taken over */
	int state_dirfd;			/* stays the caller's; -1: keep nothing */
	const struct store_ops *store_ops;
	const struct log_sink *log;
	const struct tier_time_zone *zone;
	const char *boot_id;
};

struct tierd;

/* What is pointed to outlives it. On failure the config stays the caller's. */
int tierd_new(const struct tierd_setup *setup, struct tierd **ret_tierd);
void tierd_free(struct tierd *tierd);		/* NULL is fine. Saves nothing. */

/*
 * A pool was found: work on it from the next tick. The backend is copied, its ctx
 * is the caller's until tierd_remove_pool(). -EEXIST: a pool of that name is
 * known; otherwise as the backend's. *ret_name (TIER_NAME_SIZE) is its name.
 */
int tierd_add_pool(struct tierd *tierd, const struct tier_backend *backend,
		   const struct clock_time *now, char *ret_name);

/* It is there no more, or we are to forget it; its state is saved. -ENOENT. */
int tierd_remove_pool(struct tierd *tierd, const char *name, const struct clock_time *now);

/* Whether that pool's last answer was that it is gone. */
bool tierd_pool_is_lost(const struct tierd *tierd, const char *name);

/* Something happened that may concern a pool: read them soon, not only when counters are due. */
void tierd_look(struct tierd *tierd);

/* Take over another configuration. */
void tierd_set_config(struct tierd *tierd, struct config *config, const struct clock_time *now);
const struct config *tierd_config(const struct tierd *tierd);

struct tierd_next {
	int64_t at_ns;		/* CLOCK_BOOTTIME, may be now; CLOCK_NEVER */
	bool has_lost_pools;	/* some pool answered that it is gone: look which are there */
};

void tierd_tick(struct tierd *tierd, const struct clock_time *now, struct tierd_next *ret_next);

/* From now on no move is begun, those under way are cancelled by the ticks that follow. */
void tierd_leave(struct tierd *tierd);
/* Whether the last of them is out of the kernel. */
bool tierd_is_idle(const struct tierd *tierd);
/* Save the state of all pools. The first error, after all of them. */
int tierd_save(struct tierd *tierd, const struct clock_time *now);

/* Rises with everything that the bus shows. */
uint64_t tierd_changes(const struct tierd *tierd);

/* ---- by hand ---- */

/* The words of bus.h's errors. */
enum tierd_error_kind {
	TIERD_NO_SUCH_POOL,
	TIERD_NO_SUCH_VOLUME,
	TIERD_INVALID,
	TIERD_PAUSED,
	TIERD_MEASURE_ONLY,
	TIERD_UNAVAILABLE
};

/* A sentence for people: the object, the cause, the next step. */
struct tierd_error {
	enum tierd_error_kind kind;
	char text[320];
};

/*
 * As in bus.h. `pool` "" or `target` "" means all pools. They do what is due at
 * once, as a tick would; on failure *ret_error says why and -errno is returned.
 */
int tierd_relocate(struct tierd *tierd, const char *target, bool now_and_here, const char *rate,
		   const struct clock_time *now, struct tierd_error *ret_error);
int tierd_pause(struct tierd *tierd, const char *pool, bool pause, const struct clock_time *now,
		struct tierd_error *ret_error);
int tierd_abort(struct tierd *tierd, const char *pool, const struct clock_time *now,
		struct tierd_error *ret_error);

/* A dry run. What it points to is valid until the next call that is not a look-up. */
struct tierd_plan {
	const struct tier_plan_move *moves;
	size_t nr_moves;
	uint64_t bytes;
	uint64_t seconds;
};

int tierd_plan(struct tierd *tierd, const char *pool, const struct clock_time *now,
	       struct tierd_plan *ret_plan, struct tierd_error *ret_error);

/* Name of a volume by its id; NULL if it has none. */
const char *tierd_volume_name(const struct tierd *tierd, const char *pool, uint32_t id);

/*
 * Of each extent, as of the last plan; valid as above. `volume` is
 * "<pool>/<volume>"; for one that is not known yet a plan is made.
 */
struct tierd_extents {
	const float *heat;		/* < 0: not known yet */
	const uint8_t *reason;		/* enum tier_reason */
	uint64_t nr_extents;
};

int tierd_extents(struct tierd *tierd, const char *volume, const struct clock_time *now,
		  struct tierd_extents *ret_extents, struct tierd_error *ret_error);

/* ---- rows of the bus's properties (bus.h) ---- */

struct tierd_pool_row {
	const char *name;
	const char *uuid;
	const char *mode;
	const char *state;
	const char *reason;
	const char *detail;
	bool by_hand;
	char window[128];
	bool window_open;
	int64_t window_start;
	int64_t window_end;
	char rate[32];
	uint64_t rate_bytes_per_s;
	uint64_t extent_bytes;
	uint64_t active_moves;
	uint64_t pending_moves;
	uint64_t pending_up_bytes;
	uint64_t pending_down_bytes;
	uint64_t pending_side_bytes;
	uint64_t pending_seconds;
	int64_t begin;
	int64_t end;
	uint64_t up_bytes;
	uint64_t down_bytes;
	uint64_t side_bytes;
	uint64_t up_moves;
	uint64_t down_moves;
	uint64_t side_moves;
	uint64_t done_moves;
	uint64_t failed_moves;
	uint64_t retried_moves;
	int64_t heat_since;
	int64_t last_collect;
};

struct tierd_tier_row {
	const char *pool;
	uint32_t tier;
	char name[32];
	uint32_t devices;
	uint32_t online_devices;
	uint64_t total_bytes;
	uint64_t used_bytes;
	uint64_t free_bytes;
	uint64_t headroom_bytes;
	double heat;
	uint64_t up_bytes;
	uint64_t down_bytes;
	uint64_t in_bytes;
	const char *reason;
};

struct tierd_volume_row {
	const char *pool;
	const char *name;
	uint32_t id;
	const char *uuid;
	const char *policy;
	const char *policy_from;
	int64_t pin_until;
	uint64_t size_bytes;
	uint64_t allocated_bytes;
	double heat;
};

/*
 * Row number `index` of each kind, in the order of bus.h; false behind the last
 * one. Strings are valid as above.
 */
bool tierd_pool_row(const struct tierd *tierd, size_t index, struct tierd_pool_row *ret_row);
bool tierd_tier_row(const struct tierd *tierd, size_t index, struct tierd_tier_row *ret_row);
bool tierd_volume_row(const struct tierd *tierd, size_t index, struct tierd_volume_row *ret_row);

#endif
