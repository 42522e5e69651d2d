// SPDX-License-Identifier: GPL-2.0-only
/* Plan to migrate messages, and back to results. See execute.h. */
#include "execute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "util.h"

/* Failures in a row after which a device is suspected rather than an extent. */
#define DEVICE_SUSPECT		3
/* Even if no ring entry was lost: compare with the kernel's list so often. */
#define RECONCILE_NS		(30 * CLOCK_NS_PER_S)
#define FINISHED_BATCH		64

/* A move in the kernel. */
struct flight {
	struct tier_plan_move move;
	uint64_t id;
	bool is_cancelled;	/* we asked for its end */
	bool is_adopted;	/* not of our plan: nothing to repeat */
};

/* An extent whose move has failed. */
struct failure {
	struct tier_plan_move move;
	unsigned int attempts;
	int64_t until_ns;	/* leave it alone so long */
	bool is_waiting;	/* ... and then try again */
	enum tier_reason reason;
};

struct device_health {
	unsigned int failures;	/* in a row */
	int64_t until_ns;
};

struct execute {
	const struct tier_backend *backend;
	struct execute_observer observer;
	struct execute_limits limits;

	const struct tier_plan_move *moves;	/* the plan's */
	size_t nr_moves;
	size_t next;				/* the first not handed over */

	struct flight *flights;
	size_t nr_flights;
	size_t max_flights;

	struct failure *failures;
	size_t nr_failures;
	size_t max_failures;

	struct device_health devices[TIER_MAX_DEVICES];
	bool knows_ring;
	uint64_t last_seq;			/* of the ring, seen */
	int64_t reconciled_ns;
};

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
static int reserve(void **array, size_t nr, size_t *max, size_t size)
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

static int reserve_flight(struct execute *execute)
{
	return reserve((void **)&execute->flights, execute->nr_flights, &execute->max_flights,
		       sizeof(*execute->flights));
}

/* ---------------------------------------------------------------- results */

static void report(struct execute *execute, const struct execute_result *result)
{
	execute->observer.ended(execute->observer.ctx, result);
}

static bool is_same_extent(const struct tier_plan_move *a, const struct tier_plan_move *b)
{
	return a->volume == b->volume && a->extent == b->extent;
}

static struct failure *find_failure(struct execute *execute, const struct tier_plan_move *move)
{
	for (size_t i = 0; i < execute->nr_failures; i++)
		if (is_same_extent(&execute->failures[i].move, move))
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

static void end_failed(struct execute *execute, const struct tier_plan_move *move, bool is_adopted,
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
	/* Without memory for it there is no next attempt, and no worse harm. */
	if (!failure && !reserve((void **)&execute->failures, execute->nr_failures,
				 &execute->max_failures, sizeof(*execute->failures))) {
		failure = &execute->failures[execute->nr_failures++];
		*failure = (struct failure) { .move = *move };
	}
	if (failure) {
		failure->move = *move;
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

static void end_quietly(struct execute *execute, const struct tier_plan_move *move,
			enum execute_outcome outcome, enum tier_reason reason, bool was_tried)
{
	struct execute_result result = {
		.move = move,
		.outcome = outcome,
		.reason = reason,
		.was_tried = was_tried,
	};

	if (outcome == EXECUTE_NEEDLESS)
		forget_failure(execute, move);
	report(execute, &result);
}

static void end_flight(struct execute *execute, size_t i, int error, enum tier_reason reason,
		       uint64_t copied_bytes, int64_t now_ns)
{
	struct flight flight = execute->flights[i];

	/* Order does not matter: the ring gives the order in which moves end. */
	execute->flights[i] = execute->flights[--execute->nr_flights];
	if (!error)
		end_moved(execute, &flight.move, copied_bytes);
	else if (reason == TIER_REASON_GONE)
		end_quietly(execute, &flight.move, EXECUTE_NEEDLESS, reason, true);
	else if (flight.is_cancelled)
		end_quietly(execute, &flight.move, EXECUTE_CANCELLED, reason, true);
	else
		end_failed(execute, &flight.move, flight.is_adopted, reason, error, now_ns);
}

/* ---------------------------------------------------------------- the ring */

static void take_finished(struct execute *execute, const struct tier_finished_move *finished,
			  int64_t now_ns)
{
	for (size_t i = 0; i < execute->nr_flights; i++) {
		const struct flight *flight = &execute->flights[i];

		if (flight->id != finished->id || flight->move.volume != finished->volume ||
		    flight->move.extent != finished->extent)
			continue;
		end_flight(execute, i, finished->result, finished->reason, finished->copied_bytes,
			   now_ns);
		return;
	}
}

/* Read the ring to its end. *ret_missed: not all that ended was in it. */
static int read_ring(struct execute *execute, int64_t now_ns, bool *ret_missed)
{
	const struct tier_backend *backend = execute->backend;
	struct tier_finished_move finished[FINISHED_BATCH];
	struct tier_finished_head head;
	bool missed = false;
	size_t nr;
	int r;

	do {
		r = backend->ops->read_finished(backend->ctx, execute->last_seq, &head, finished,
						FINISHED_BATCH, &nr);
		if (r)
			return r;
		if (head.last_seq < execute->last_seq) {	/* the pool was loaded anew */
			execute->last_seq = 0;
			missed = true;
			nr = 1;		/* once more, from there */
			continue;
		}
		missed |= head.lost > 0;
		for (size_t i = 0; i < nr; i++)
			take_finished(execute, &finished[i], now_ns);
		if (nr)
			execute->last_seq = finished[nr - 1].seq;
	} while (nr);
	*ret_missed = missed;
	return 0;
}

static int read_active(const struct execute *execute, struct tier_active_move **ret_active,
		       size_t *ret_nr)
{
	const struct tier_backend *backend = execute->backend;
	_cleanup_free_ struct tier_active_move *active = NULL;
	size_t max = 64, nr, total;
	int r;

	for (;;) {
		free(active);
		active = calloc(max, sizeof(*active));
		if (!active)
			return -ENOMEM;
		r = backend->ops->read_active(backend->ctx, active, max, &nr, &total);
		if (r)
			return r;
		if (total <= max)
			break;
		max = total + 64;
	}
	*ret_active = active;
	*ret_nr = nr;
	active = NULL;
	return 0;
}

static bool is_active(const struct flight *flight, const struct tier_active_move *active,
		      size_t nr_active)
{
	for (size_t i = 0; i < nr_active; i++)
		if (active[i].id == flight->id && active[i].volume == flight->move.volume &&
		    active[i].extent == flight->move.extent)
			return true;
	return false;
}

/* What became of a move of which nothing is known any more: where is its extent? */
static int look_up(struct execute *execute, size_t i, int64_t now_ns)
{
	const struct tier_backend *backend = execute->backend;
	struct tier_plan_move move = execute->flights[i].move;
	struct tier_map_run run;
	uint64_t next;
	size_t nr;
	int r;

	r = backend->ops->read_map(backend->ctx, move.volume, move.extent, 1, &run, 1, &nr, &next);
	if (r == -ENOENT || r == -ERANGE || (!r && run.device == TIER_NO_DEVICE))
		end_flight(execute, i, -EIO, TIER_REASON_GONE, 0, now_ns);
	else if (r)
		return r;
	else if (run.device == move.to_device)
		end_flight(execute, i, 0, TIER_REASON_NONE, move.bytes, now_ns);
	else
		end_flight(execute, i, -EIO, TIER_REASON_UNKNOWN, 0, now_ns);
	return 0;
}

/*
 * Moves that are neither in the kernel's list nor came by in the ring. The list
 * is read first, so a move that ends in between is in the ring.
 */
static int reconcile(struct execute *execute, int64_t now_ns)
{
	_cleanup_free_ struct tier_active_move *active = NULL;
	size_t nr_active;
	bool missed;
	int r;

	r = read_active(execute, &active, &nr_active);
	if (!r)
		r = read_ring(execute, now_ns, &missed);
	for (size_t i = execute->nr_flights; !r && i-- > 0;)
		if (!is_active(&execute->flights[i], active, nr_active))
			r = look_up(execute, i, now_ns);
	if (!r)
		execute->reconciled_ns = now_ns;
	return r;
}

static int see_finished(struct execute *execute, int64_t now_ns)
{
	bool missed;
	int r;

	r = read_ring(execute, now_ns, &missed);
	if (!r && execute->nr_flights &&
	    (missed || now_ns - execute->reconciled_ns >= RECONCILE_NS))
		r = reconcile(execute, now_ns);
	return r;
}

/* ---------------------------------------------------------------- adopting */

static const struct tier_device_info *find_device(const struct tier_pool_info *pool, uint32_t idx)
{
	for (size_t i = 0; i < pool->nr_devices; i++)
		if (pool->devices[i].idx == idx)
			return &pool->devices[i];
	return NULL;
}

static int adopt_one(struct execute *execute, const struct tier_pool_info *pool,
		     const struct tier_active_move *active)
{
	const struct tier_device_info *from = find_device(pool, active->from_device);
	const struct tier_device_info *to = find_device(pool, active->to_device);
	struct flight flight = {
		.id = active->id,
		.is_adopted = true,
		.move = {
			.volume = active->volume,
			.extent = active->extent,
			.from_device = active->from_device,
			.to_device = active->to_device,
		},
	};
	int r;

	/* Read after the pool: a device that was added in between is for next time. */
	if (!from || !to || from->idx >= TIER_MAX_DEVICES || to->idx >= TIER_MAX_DEVICES)
		return 0;
	flight.move.from_tier = from->tier;
	flight.move.to_tier = to->tier;
	for (size_t i = 0; i < execute->nr_flights; i++)
		if (execute->flights[i].id == active->id &&
		    is_same_extent(&execute->flights[i].move, &flight.move))
			return 0;
	r = reserve_flight(execute);
	if (!r)
		execute->flights[execute->nr_flights++] = flight;
	return r;
}

int execute_adopt(struct execute *execute, const struct tier_pool_info *pool)
{
	_cleanup_free_ struct tier_active_move *active = NULL;
	const struct tier_backend *backend = execute->backend;
	struct tier_finished_head head;
	struct tier_finished_move finished;
	size_t nr;
	int r;

	/* What ended before is history. First, so nothing adopted ends unseen. */
	if (!execute->knows_ring) {
		r = backend->ops->read_finished(backend->ctx, 0, &head, &finished, 1, &nr);
		if (r)
			return r;
		execute->last_seq = head.last_seq;
		execute->knows_ring = true;
	}
	r = read_active(execute, &active, &nr);
	for (size_t i = 0; !r && i < nr; i++)
		r = adopt_one(execute, pool, &active[i]);
	return r;
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
		end_quietly(execute, move, EXECUTE_GIVEN_UP,
			    is_hopeless(execute, move->to_device, now_ns) ?
			    TIER_REASON_DST_WRITE_ERROR : TIER_REASON_SRC_READ_ERROR, false);
		return 1;
	}
	if (is_blocked(execute, move, now_ns))
		return 0;
	r = reserve_flight(execute);
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
		/* Those before it may free a slot yet. */
		if (execute->nr_flights)
			return 0;
		end_failed(execute, move, false, TIER_REASON_NO_SPACE, r, now_ns);
		return 1;
	case ENXIO:
		end_failed(execute, move, false, TIER_REASON_DEVICE_MISSING, r, now_ns);
		return 1;
	case ENODATA:
	case ENOENT:
	case ERANGE:
		end_quietly(execute, move, EXECUTE_NEEDLESS, TIER_REASON_GONE, true);
		return 1;
	case EALREADY:
	case EBUSY:
		end_quietly(execute, move, EXECUTE_NEEDLESS, TIER_REASON_NONE, true);
		return 1;
	default:
		return r;
	}
}

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

	r = see_finished(execute, now_ns);
	if (r)
		return r;
	expire_failures(execute, now_ns);
	r = hand_over_retries(execute, now_ns);
	if (r)
		return r;
	while (execute->next < execute->nr_moves) {
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
	for (size_t i = 0; i < execute->nr_failures; i++)
		execute->failures[i].is_waiting = false;
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
	r = see_finished(execute, now_ns);
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
