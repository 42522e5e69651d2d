/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Carry out a plan: hand its moves to the kernel a few at a time, in the order of
 * the plan, see how each ended, repeat what failed, later and later.
 *
 * - Strictly in order: a move that finds no free slot waits for the ones before
 *   it, and those behind wait for it, so each finds the slot that the plan meant
 *   for it. With nothing left to wait for it has failed: someone else took the slot.
 * - At most `moves_per_device` moves touch a device at once.
 * - How a move ended is read from the pool's ring of finished moves. Whatever the
 *   ring lost (or another instance of the pool forgot) is looked up in the map.
 * - A move that failed is tried again after 5 s, 10 s, 20 s ..., at most
 *   EXECUTE_ATTEMPTS times in a plan; then it is given up, and its extent stays
 *   where it is (execute_hold()) for as long as the next wait would have been. A
 *   device that takes no data is waited for in the same way, so that a dead tier
 *   costs a few attempts, not one for each extent.
 * - Moves that were under way before (by an earlier tierd, or by hand) are
 *   adopted: they count, they are waited for, and cancelled like others.
 *
 * Time comes from the caller, what happened goes to an observer. Must not know:
 * windows, configuration, heat, logs.
 */
#ifndef TIERD_EXECUTE_H
#define TIERD_EXECUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "plan.h"

#define EXECUTE_ATTEMPTS	6
#define EXECUTE_FIRST_WAIT_NS	INT64_C(5000000000)
#define EXECUTE_MAX_WAIT_NS	(INT64_C(6) * 3600 * 1000000000)

enum execute_outcome {
	EXECUTE_MOVED,
	EXECUTE_FAILED,		/* will be tried again */
	EXECUTE_GIVEN_UP,	/* tried often enough */
	EXECUTE_CANCELLED,	/* because execute_stop() asked for it */
	EXECUTE_NEEDLESS	/* discarded, deleted, moved by others meanwhile */
};

struct execute_result {
	const struct tier_plan_move *move;
	enum execute_outcome outcome;
	enum tier_reason reason;	/* why it failed */
	int error;			/* 0 or the kernel's -errno */
	uint64_t copied_bytes;
	unsigned int attempts;		/* that failed so far */
	int64_t wait_ns;		/* until the next one */
	bool was_tried;			/* false: its device is being waited for */
};

struct execute_observer {
	void (*ended)(void *ctx, const struct execute_result *result);
	void *ctx;
};

struct execute_limits {
	uint32_t max_moves;		/* in the kernel at once */
	uint32_t moves_per_device;
};

struct execute;

/* `backend` is the caller's and outlives it. */
int execute_new(const struct tier_backend *backend, const struct execute_observer *observer,
		struct execute **ret_execute);
void execute_free(struct execute *execute);	/* NULL is fine; moves under way just finish */

/*
 * Find moves under way that it does not know of, and, the first time, where the
 * ring stands. Before every plan. `pool` tells the tiers of devices.
 */
int execute_adopt(struct execute *execute, const struct tier_pool_info *pool);

/*
 * Work on this plan from now on. The moves are the caller's (a planner's) and
 * stay as they are until the next plan, execute_drop() or execute_stop(). What is
 * left of the plan before is dropped; what is under way or waits for another
 * attempt is not.
 */
void execute_plan(struct execute *execute, const struct tier_plan *plan,
		  const struct execute_limits *limits);

/* Forget what is left of the plan. */
void execute_drop(struct execute *execute);

/*
 * Look at what ended, hand over what can be handed over. Blocks for a few ioctls.
 * An -errno is one that concerns the pool (-ENODEV, -EROFS, -EPROTO ...), not
 * a single move; calling again later is always right.
 */
int execute_tick(struct execute *execute, int64_t now_ns);

/*
 * Drop what has not been handed over, ask for the end of what is under way. May be
 * repeated, for what could not be asked.
 */
int execute_stop(struct execute *execute, int64_t now_ns);

struct execute_status {
	size_t active;			/* in the kernel */
	size_t pending;			/* of the plan, not handed over yet */
	size_t waiting;			/* for another attempt */
	int64_t next_attempt_ns;	/* of the first of these; CLOCK_NEVER */
};

void execute_status(const struct execute *execute, struct execute_status *ret_status);

/* The i-th move under way, then those waiting, then those pending; NULL at the end. */
const struct tier_plan_move *execute_unfinished(const struct execute *execute, size_t i);

/* An extent that is left alone since its move failed. */
struct execute_failure {
	uint32_t volume;
	uint64_t extent;
	unsigned int attempts;		/* >= 1 */
	int64_t until_ns;
	enum tier_reason reason;
};

/* The i-th, false behind the last one; from an earlier life, -ENOMEM; none any more. */
bool execute_get_failure(const struct execute *execute, size_t i,
			 struct execute_failure *ret_failure);
int execute_add_failure(struct execute *execute, const struct execute_failure *failure);
void execute_forget_failures(struct execute *execute);

/*
 * For the next plan: extents of this volume that must stay where they are. Those
 * under way are given the device they go to. Arrays of nr_extents entries as in
 * struct tier_plan_volume.
 */
void execute_hold(const struct execute *execute, uint32_t volume, uint64_t nr_extents,
		  int64_t now_ns, uint8_t *device, uint8_t *hold);

#endif
