// SPDX-License-Identifier: GPL-2.0-only
/* Plan to migrate messages. See execute.h, execute_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "execute_internal.h"

int execute_new(const struct tier_backend *backend, const struct execute_observer *observer,
		struct execute **ret_execute)
{
	struct execute *execute = calloc(1, sizeof(*execute));

	if (!execute)
		return -ENOMEM;
	execute->backend = backend;
	execute->observer = *observer;
	execute->limits = (struct execute_limits) { .max_moves = 1, .moves_per_device = 1 };
	*ret_execute = execute;
	return 0;
}

void execute_free(struct execute *execute)
{
	if (!execute)
		return;
	free(execute->flights);
	free(execute->failures);
	free(execute);
}

/* Room for one more element. */
int execute_reserve(void **array, size_t nr, size_t *max, size_t size)
{
	size_t more = *max ? 2 * *max : 16;
	void *bigger;

	if (nr < *max)
		return 0;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*max = more;
	return 0;
}

int execute_reserve_flight(struct execute *execute)
{
	return execute_reserve((void **)&execute->flights, execute->nr_flights, &execute->max_flights,
		       sizeof(*execute->flights));
}

/* ---------------------------------------------------------------- handing over */

void execute_plan(struct execute *execute, const struct tier_plan *plan,
		  const struct execute_limits *limits)
{
	execute->moves = plan->moves;
	execute->nr_moves = plan->nr_moves;
	execute->next = 0;
	execute->limits = *limits;
}

void execute_drop(struct execute *execute)
{
	execute->moves = NULL;
	execute->nr_moves = 0;
	execute->next = 0;
}

/* Whether limits, or a device that is being waited for, forbid this move for now. */
static bool is_blocked(const struct execute *execute, const struct tier_plan_move *move,
		       int64_t now_ns)
{
	uint32_t from = 0, to = 0;

	if (execute->nr_flights >= execute->limits.max_moves ||
	    execute->devices[move->from_device].until_ns > now_ns ||
	    execute->devices[move->to_device].until_ns > now_ns)
		return true;
	for (size_t i = 0; i < execute->nr_flights; i++) {
		const struct tier_plan_move *other = &execute->flights[i].move;

		from += other->from_device == move->from_device ||
			other->to_device == move->from_device;
		to += other->from_device == move->to_device ||
		      other->to_device == move->to_device;
	}
	return from >= execute->limits.moves_per_device ||
	       to >= execute->limits.moves_per_device;
}

static bool is_hopeless(const struct execute *execute, uint8_t device, int64_t now_ns)
{
	const struct device_health *health = &execute->devices[device];

	return health->until_ns > now_ns &&
	       health->failures >= DEVICE_SUSPECT + EXECUTE_ATTEMPTS - 1;
}

static void take_off(struct execute *execute, const struct tier_plan_move *move, uint64_t id)
{
	struct flight flight = { .move = *move, .id = id };

	for (size_t i = 0; i < execute->nr_flights; i++) {
		/* It was under way already, by hand: now it is ours. */
		if (execute->flights[i].id == id) {
			execute->flights[i] = flight;
			return;
		}
	}
	execute->flights[execute->nr_flights++] = flight;
}

/*
 * Hand over one move. 1: it is dealt with; 0: not now, and none of those behind
 * it either; -errno: something is wrong with the pool.
 */
static int hand_over(struct execute *execute, const struct tier_plan_move *move, int64_t now_ns)
{
	const struct tier_backend *backend = execute->backend;
	struct tier_target to = { .is_device = true, .index = move->to_device };
	uint64_t id;
	int r;

	if (is_hopeless(execute, move->to_device, now_ns) ||
	    is_hopeless(execute, move->from_device, now_ns)) {
		execute_end_quietly(execute, move, EXECUTE_GIVEN_UP,
			    is_hopeless(execute, move->to_device, now_ns) ?
			    TIER_REASON_DST_WRITE_ERROR : TIER_REASON_SRC_READ_ERROR, false);
		return 1;
	}
	if (is_blocked(execute, move, now_ns))
		return 0;
	r = execute_reserve_flight(execute);
	if (r)
		return r;
	r = backend->ops->migrate(backend->ctx, move->volume, move->extent, to, move->force, &id);
	switch (-r) {
	case 0:
		take_off(execute, move, id);
		return 1;
	case EAGAIN:
		return 0;
	case ENOSPC:
		execute_end_no_room(execute, move, false, now_ns);
		return 1;
	case ENXIO:
		execute_end_failed(execute, move, false, TIER_REASON_DEVICE_MISSING, r, now_ns);
		return 1;
	case ENODATA:
	case ENOENT:
	case ERANGE:
		execute_end_quietly(execute, move, EXECUTE_NEEDLESS, TIER_REASON_GONE, true);
		return 1;
	case EALREADY:
	case EBUSY:
		execute_end_quietly(execute, move, EXECUTE_NEEDLESS, TIER_REASON_NONE, true);
		return 1;
	default:
		return r;
	}
}

/* Someone waits for a slot, or tries again to get one: none behind it may take it. */
static bool wants_room(const struct execute *execute)
{
	for (size_t i = 0; i < execute->nr_failures; i++)
		if (execute->failures[i].wants_room)
			return true;
	return false;
}

/* Those whose wait is over. */
static int hand_over_retries(struct execute *execute, int64_t now_ns)
{
	for (size_t i = execute->nr_failures; i-- > 0;) {
		struct failure *failure = &execute->failures[i];
		struct tier_plan_move move = failure->move;
		int r;

		if (!failure->is_waiting || failure->until_ns > now_ns)
			continue;
		failure->is_waiting = false;
		r = hand_over(execute, &move, now_ns);
		if (r > 0)
			continue;
		/* Nothing was reported, so it is still there, at its place. */
		execute->failures[i].is_waiting = true;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Extents that failed long ago begin again with a clean record. */
static void expire_failures(struct execute *execute, int64_t now_ns)
{
	for (size_t i = execute->nr_failures; i-- > 0;) {
		const struct failure *failure = &execute->failures[i];

		if (!failure->is_waiting && now_ns - failure->until_ns > EXECUTE_MAX_WAIT_NS)
			execute->failures[i] = execute->failures[--execute->nr_failures];
	}
}

int execute_tick(struct execute *execute, int64_t now_ns)
{
	int r;

	r = execute_see_finished(execute, now_ns);
	if (r)
		return r;
	expire_failures(execute, now_ns);
	r = hand_over_retries(execute, now_ns);
	if (r)
		return r;
	while (execute->next < execute->nr_moves && !wants_room(execute)) {
		r = hand_over(execute, &execute->moves[execute->next], now_ns);
		if (r <= 0)
			return r;
		execute->next++;
	}
	return 0;
}

int execute_stop(struct execute *execute, int64_t now_ns)
{
	const struct tier_backend *backend = execute->backend;
	int r, result = 0;

	execute_drop(execute);
	for (size_t i = 0; i < execute->nr_failures; i++) {
		execute->failures[i].is_waiting = false;
		execute->failures[i].wants_room = false;
	}
	for (size_t i = 0; i < execute->nr_flights; i++) {
		struct flight *flight = &execute->flights[i];

		if (flight->is_cancelled)
			continue;
		r = backend->ops->cancel(backend->ctx, flight->move.volume, flight->move.extent);
		/* -ENOENT: it has ended by itself, the ring will say how. */
		if (!r || r == -ENOENT)
			flight->is_cancelled = true;
		else
			result = r;
	}
	r = execute_see_finished(execute, now_ns);
	return result ? result : r;
}

/* ---------------------------------------------------------------- looking */

void execute_status(const struct execute *execute, struct execute_status *ret_status)
{
	struct execute_status status = {
		.active = execute->nr_flights,
		.pending = execute->nr_moves - execute->next,
		.next_attempt_ns = CLOCK_NEVER,
	};

	for (size_t i = 0; i < execute->nr_failures; i++) {
		const struct failure *failure = &execute->failures[i];

		if (!failure->is_waiting)
			continue;
		status.waiting++;
		if (failure->until_ns < status.next_attempt_ns)
			status.next_attempt_ns = failure->until_ns;
	}
	/* The head of the plan may wait for a device. */
	if (status.pending) {
		const struct tier_plan_move *move = &execute->moves[execute->next];
		int64_t from_ns = execute->devices[move->from_device].until_ns;
		int64_t to_ns = execute->devices[move->to_device].until_ns;
		int64_t until_ns = from_ns > to_ns ? from_ns : to_ns;

		if (until_ns < status.next_attempt_ns)
			status.next_attempt_ns = until_ns;
	}
	*ret_status = status;
}

const struct tier_plan_move *execute_unfinished(const struct execute *execute, size_t i)
{
	if (i < execute->nr_flights)
		return &execute->flights[i].move;
	i -= execute->nr_flights;
	for (size_t k = 0; k < execute->nr_failures; k++)
		if (execute->failures[k].is_waiting && !i--)
			return &execute->failures[k].move;
	if (i < execute->nr_moves - execute->next)
		return &execute->moves[execute->next + i];
	return NULL;
}

void execute_hold(const struct execute *execute, uint32_t volume, uint64_t nr_extents,
		  int64_t now_ns, uint8_t *device, uint8_t *hold)
{
	for (size_t i = 0; i < execute->nr_failures; i++) {
		const struct failure *failure = &execute->failures[i];

		if (failure->move.volume == volume && failure->move.extent < nr_extents &&
		    (failure->is_waiting || failure->until_ns > now_ns))
			hold[failure->move.extent] = failure->reason;
	}
	for (size_t i = 0; i < execute->nr_flights; i++) {
		const struct tier_plan_move *move = &execute->flights[i].move;

		if (move->volume != volume || move->extent >= nr_extents)
			continue;
		device[move->extent] = move->to_device;
		hold[move->extent] = move->reason ? move->reason : TIER_REASON_UNKNOWN;
	}
}
