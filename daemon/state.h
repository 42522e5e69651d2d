/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tierd remembers of a pool over restarts: the heat of its extents with the
 * counters it was read from, whether it is paused, how the last relocation went,
 * which moves failed and are not to be tried again yet.
 *
 * Because the counters that a heat was made from are saved with it, what happens
 * between the last save and the death of tierd is not lost either, as long as
 * the pool stays active: the kernel goes on counting.
 *
 * A saved state that cannot be understood is the same as none: no heat yet, so
 * nothing is demoted on ignorance. Nothing in it is trusted before it is checked.
 *
 * encode and decode are pure but for memory; load and save put them on store.h.
 */
#ifndef TIERD_STATE_H
#define TIERD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "heat.h"
#include "store.h"

/* One relocation: the running one or the last. Times in seconds since 1970. */
struct state_relocation {
	int64_t begin_s;		/* 0 = there was none */
	int64_t end_s;			/* 0 = it runs */
	uint64_t up_moves;
	uint64_t down_moves;
	uint64_t side_moves;
	uint64_t up_bytes;
	uint64_t down_bytes;
	uint64_t side_bytes;
	uint64_t failed_moves;		/* given up */
	uint64_t retried_moves;		/* attempts that failed, to be repeated */
	uint64_t in_bytes[TIER_MAX_TIERS];	/* into each tier from others */
};

struct state_volume {
	uint32_t id;
	struct tier_heat_volume heat;	/* names its volume by generation */
};

/* A move that failed: its extent is left alone for a while. */
struct state_failure {
	uint64_t volume_generation;
	uint64_t extent;
	int64_t until_ns;		/* CLOCK_BOOTTIME */
	uint32_t attempts;		/* >= 1 */
	uint32_t reason;		/* enum tier_reason */
};

struct state {
	struct clock_time saved;
	char boot_id[CLOCK_BOOT_ID_SIZE];
	bool watched;			/* its volumes have been read: others are new */
	bool paused;
	int64_t aborted_window_s;	/* the window that opened then was aborted; 0 = none */
	int64_t heat_since_s;
	struct state_relocation relocation;
	struct state_volume *volumes;
	size_t nr_volumes;
	struct state_failure *failures;
	size_t nr_failures;
};

/* Release the volumes, their heat and the failures, zero it. */
void state_clear(struct state *state);

/* -ENOMEM. *ret_data is malloc'ed. */
int state_encode(const struct state *state, void **ret_data, size_t *ret_size);

/*
 * -EBADMSG: not a state of this version, or one that breaks a rule of heat.h.
 * Otherwise the caller clears *ret_state.
 */
int state_decode(const void *data, size_t size, struct state *ret_state);

/*
 * Bring times of CLOCK_BOOTTIME that were saved in another boot to this one's
 * zero, by the real time that has passed (a real clock that went back: none).
 */
void state_rebase(struct state *state, const char *boot_id, const struct clock_time *now);

/*
 * `uuid` is the pool's. *ret_generation is 0 when there is nothing (-ENOENT) or
 * nothing whole (-EBADMSG), else to be handed to state_save. *ret_damaged: the
 * newest file was not whole, this is the one before it. Blocks for file I/O.
 */
int state_load(int dirfd, const char *uuid, struct state *ret_state, uint64_t *ret_generation,
	       bool *ret_damaged);

/* *generation is counted up on success. Blocks until it is durable. */
int state_save(const struct store_ops *ops, int dirfd, const char *uuid,
	       const struct state *state, uint64_t *generation);

#endif
