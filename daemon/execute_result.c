// SPDX-License-Identifier: GPL-2.0-only
/* How moves end: back-off of extents and devices, reports. See execute_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "execute_internal.h"

/* How often, and with nothing under way how long, a move looks for a free slot. */
#define ROOM_POLL_NS		(CLOCK_NS_PER_S / 5)
#define ROOM_PATIENCE_NS	(10 * CLOCK_NS_PER_S)

static void report(struct execute *execute, const struct execute_result *result)
{
	execute->observer.ended(execute->observer.ctx, result);
}

static struct failure *find_failure(struct execute *execute, const struct tier_plan_move *move)
{
	for (size_t i = 0; i < execute->nr_failures; i++)
		if (execute_same_extent(&execute->failures[i].move, move))
			return &execute->failures[i];
	return NULL;
}

static void forget_failure(struct execute *execute, const struct tier_plan_move *move)
{
	struct failure *failure = find_failure(execute, move);

	if (failure)
		*failure = execute->failures[--execute->nr_failures];
}

static int64_t wait_after(unsigned int attempts)
{
	unsigned int doublings = attempts < 20 ? attempts - 1 : 19;
	int64_t wait_ns = EXECUTE_FIRST_WAIT_NS << doublings;

	return wait_ns < EXECUTE_MAX_WAIT_NS ? wait_ns : EXECUTE_MAX_WAIT_NS;
}

/* A device is suspected only when nothing else has gone well on it in between. */
static void blame_device(struct execute *execute, const struct tier_plan_move *move,
			 enum tier_reason reason, int64_t now_ns)
{
	struct device_health *device;

	if (reason == TIER_REASON_DST_WRITE_ERROR)
		device = &execute->devices[move->to_device];
	else if (reason == TIER_REASON_SRC_READ_ERROR)
		device = &execute->devices[move->from_device];
	else
		return;
	device->failures++;
	if (device->failures >= DEVICE_SUSPECT)
		device->until_ns = now_ns + wait_after(device->failures - DEVICE_SUSPECT + 1);
}

static void end_moved(struct execute *execute, const struct tier_plan_move *move,
		      uint64_t copied_bytes)
{
	struct execute_result result = {
		.move = move,
		.outcome = EXECUTE_MOVED,
		.copied_bytes = copied_bytes,
		.was_tried = true,
	};

	execute->devices[move->from_device] = (struct device_health) { 0 };
	execute->devices[move->to_device] = (struct device_health) { 0 };
	forget_failure(execute, move);
	report(execute, &result);
}

/* NULL: no memory. Then there is no next attempt, and no worse harm. */
static struct failure *add_failure(struct execute *execute, const struct tier_plan_move *move)
{
	struct failure *failure;

	if (execute_reserve((void **)&execute->failures, execute->nr_failures,
			    &execute->max_failures, sizeof(*execute->failures)))
		return NULL;
	failure = &execute->failures[execute->nr_failures++];
	*failure = (struct failure) { .move = *move };
	return failure;
}

bool execute_get_failure(const struct execute *execute, size_t i,
			 struct execute_failure *ret_failure)
{
	const struct failure *failure = &execute->failures[i];

	if (i >= execute->nr_failures)
		return false;
	*ret_failure = (struct execute_failure) {
		.volume = failure->move.volume,
		.extent = failure->move.extent,
		.attempts = failure->attempts,
		.until_ns = failure->until_ns,
		.reason = failure->reason,
	};
	return true;
}

int execute_add_failure(struct execute *execute, const struct execute_failure *failure)
{
	const struct tier_plan_move move = {
		.volume = failure->volume,
		.extent = failure->extent,
	};
	struct failure *added = add_failure(execute, &move);

	if (!added)
		return -ENOMEM;
	added->attempts = failure->attempts;
	added->until_ns = failure->until_ns;
	added->reason = failure->reason;
	return 0;
}

void execute_forget_failures(struct execute *execute)
{
	execute->nr_failures = 0;
}

void execute_end_failed(struct execute *execute, const struct tier_plan_move *move, bool is_adopted,
		       enum tier_reason reason, int error, int64_t now_ns)
{
	struct failure *failure = find_failure(execute, move);
	struct execute_result result = {
		.move = move,
		.outcome = EXECUTE_GIVEN_UP,
		.reason = reason,
		.error = error,
		.attempts = failure ? failure->attempts + 1 : 1,
		.was_tried = true,
	};

	blame_device(execute, move, reason, now_ns);
	if (!failure)
		failure = add_failure(execute, move);
	if (failure) {
		failure->move = *move;
		failure->wants_room = false;
		failure->no_room_ns = 0;
		failure->attempts = result.attempts;
		failure->reason = reason;
		failure->is_waiting = !is_adopted && result.attempts < EXECUTE_ATTEMPTS;
		result.wait_ns = wait_after(failure->attempts);
		failure->until_ns = now_ns + result.wait_ns;
		if (failure->is_waiting)
			result.outcome = EXECUTE_FAILED;
	}
	report(execute, &result);
}

void execute_end_no_room(struct execute *execute, const struct tier_plan_move *move,
			 bool is_adopted, int64_t now_ns)
{
	struct failure *failure = find_failure(execute, move);

	if (!failure)
		failure = add_failure(execute, move);
	/* Moves under way may free one, and one that has ended frees its slot a little later. */
	if (failure && (execute->nr_flights || !failure->no_room_ns))
		failure->no_room_ns = now_ns;
	if (!failure || is_adopted || now_ns - failure->no_room_ns >= ROOM_PATIENCE_NS) {
		execute_end_failed(execute, move, is_adopted, TIER_REASON_NO_SPACE, -ENOSPC,
				   now_ns);
		return;
	}
	failure->move = *move;
	failure->reason = TIER_REASON_NO_SPACE;
	failure->is_waiting = true;
	failure->wants_room = true;
	failure->until_ns = now_ns + ROOM_POLL_NS;
}

void execute_end_quietly(struct execute *execute, const struct tier_plan_move *move,
			enum execute_outcome outcome, enum tier_reason reason, bool was_tried)
{
	struct failure *failure = find_failure(execute, move);
	struct execute_result result = {
		.move = move,
		.outcome = outcome,
		.reason = reason,
		.was_tried = was_tried,
	};

	if (failure && outcome == EXECUTE_NEEDLESS)
		forget_failure(execute, move);
	else if (failure)
		failure->wants_room = false;
	report(execute, &result);
}

void execute_end_flight(struct execute *execute, size_t i, int error, enum tier_reason reason,
		       uint64_t copied_bytes, int64_t now_ns)
{
	struct flight flight = execute->flights[i];

	/* Order does not matter: the ring gives the order in which moves end. */
	execute->flights[i] = execute->flights[--execute->nr_flights];
	if (!error)
		end_moved(execute, &flight.move, copied_bytes);
	else if (reason == TIER_REASON_GONE)
		execute_end_quietly(execute, &flight.move, EXECUTE_NEEDLESS, reason, true);
	else if (reason == TIER_REASON_NO_SPACE && !flight.is_cancelled)
		execute_end_no_room(execute, &flight.move, flight.is_adopted, now_ns);
	else if (flight.is_cancelled)
		execute_end_quietly(execute, &flight.move, EXECUTE_CANCELLED, reason, true);
	else
		execute_end_failed(execute, &flight.move, flight.is_adopted, reason, error, now_ns);
}
