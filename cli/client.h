/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tierd, over the system bus. The interface is org.dmtier.Tierd1; its
 * specification is the header of the daemon's side, daemon/bus.h.
 *
 * Functions that return an exit code have said what is wrong: tierd's own
 * sentence, or that it is not running and how to start it. tierd is never
 * started by a call. Calls wait for the answer: up to two minutes, as tierd may
 * have counters to collect first.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"

struct client;

enum cli_exit client_open(struct cli *cli, struct client **ret_client);
/*
 * From now on calls wait 5 seconds at most: for those that only ask what tierd
 * knows already, and have something to show without it.
 */
enum cli_exit client_be_quick(struct cli *cli, struct client *client);
void client_close(struct client **client);

/* A pool is no more: remove what tierd has kept of it. It does that itself after a year. */
void client_forget_pool(const char *uuid);

/* Changes. `pool` "" = all pools; `target` also <pool>/<volume>. */
enum cli_exit client_relocate(struct cli *cli, struct client *client, const char *target,
			      bool now, const char *rate);
enum cli_exit client_pause(struct cli *cli, struct client *client, const char *pool);
enum cli_exit client_resume(struct cli *cli, struct client *client, const char *pool);
enum cli_exit client_abort(struct cli *cli, struct client *client, const char *pool);
enum cli_exit client_reload(struct cli *cli, struct client *client);

/* The state of all pools, as one snapshot. Times are seconds since 1970, 0 = none. */
struct client_pool {
	char *name, *uuid, *mode, *state, *reason, *detail, *window, *rate;
	bool by_hand, window_open;
	int64_t window_start_s, window_end_s, begin_s, end_s, heat_since_s, last_collect_s;
	uint64_t rate_bytes_per_s, extent_bytes;
	uint64_t active_moves, pending_moves, pending_seconds;
	uint64_t pending_up_bytes, pending_down_bytes, pending_side_bytes;
	uint64_t up_bytes, down_bytes, side_bytes;
	uint64_t done_moves, failed_moves, retried_moves;
};

struct client_tier {
	char *pool, *name, *reason;
	uint32_t tier, devices, online_devices;
	uint64_t total_bytes, used_bytes, free_bytes, headroom_bytes;
	uint64_t up_bytes, down_bytes, in_bytes;
	double heat;
};

struct client_volume {
	char *pool, *name, *uuid, *policy, *policy_from;
	uint32_t id;
	int64_t pin_until_s;
	uint64_t size_bytes, allocated_bytes;
	double heat;
};

struct client_state {
	char *version, *config_file, *config_error;
	struct client_pool *pools;
	size_t nr_pools;
	struct client_tier *tiers;
	size_t nr_tiers;
	struct client_volume *volumes;
	size_t nr_volumes;
};

enum cli_exit client_read_state(struct cli *cli, struct client *client,
				struct client_state *ret_state);
void client_state_clear(struct client_state *state);

/*
 * The same for who can do without: false, and not a word, if tierd does not run or does not
 * answer within seconds. With `pool`, the name of one, tierd looks at it before it answers.
 */
bool client_try_state(const char *pool, struct client_state *ret_state);

/* By uuid of the pool; NULL: tierd does not know it (yet). */
const struct client_pool *client_find_pool(const struct client_state *state, const char *uuid);
const struct client_tier *client_find_tier(const struct client_state *state, const char *pool,
					   uint32_t tier);
const struct client_volume *client_find_volume(const struct client_state *state, const char *uuid);

/* What a relocation would do now, in order. */
struct client_move {
	char *volume, *reason;
	uint64_t extent;
	uint32_t from_tier, to_tier, to_device;
	double heat, threshold;
};

struct client_plan {
	struct client_move *moves;
	size_t nr_moves;		/* listed, at most what was asked for */
	uint64_t total_moves, bytes, seconds;
};

enum cli_exit client_plan(struct cli *cli, struct client *client, const char *pool, uint32_t max,
			  struct client_plan *ret_plan);
void client_plan_clear(struct client_plan *plan);

/*
 * Heat and reason of the extents first .. first + count - 1, in ascending order;
 * those without heat and reason are left out. *ret_next is where to go on.
 */
struct client_extent {
	uint64_t extent;
	double heat;
	char *reason;
};

struct client_extents {
	struct client_extent *extents;
	size_t nr_extents;
	uint64_t next;
};

enum cli_exit client_extents(struct cli *cli, struct client *client, const char *volume,
			     uint64_t first, uint64_t count, struct client_extents *ret_extents);
void client_extents_clear(struct client_extents *extents);

#endif
