// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says of moves. See execute_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "execute_internal.h"
#include "util.h"

/* Even if no ring entry was lost: compare with the kernel's list so often. */
#define RECONCILE_NS		(30 * CLOCK_NS_PER_S)
#define FINISHED_BATCH		64

static void take_finished(struct execute *execute, const struct tier_finished_move *finished,
			  int64_t now_ns)
{
	for (size_t i = 0; i < execute->nr_flights; i++) {
		const struct flight *flight = &execute->flights[i];

		if (flight->id != finished->id || flight->move.volume != finished->volume ||
		    flight->move.extent != finished->extent)
			continue;
		execute_end_flight(execute, i, finished->result, finished->reason, finished->copied_bytes,
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
		execute_end_flight(execute, i, -EIO, TIER_REASON_GONE, 0, now_ns);
	else if (r)
		return r;
	else if (run.device == move.to_device)
		execute_end_flight(execute, i, 0, TIER_REASON_NONE, move.bytes, now_ns);
	else
		execute_end_flight(execute, i, -EIO, TIER_REASON_UNKNOWN, 0, now_ns);
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

int execute_see_finished(struct execute *execute, int64_t now_ns)
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

	/* It has ended already, its old slot is being freed. */
	if (!strcmp(active->state, "retire"))
		return 0;
	/* Read after the pool: a device that was added in between is for next time. */
	if (!from || !to || from->idx >= TIER_MAX_DEVICES || to->idx >= TIER_MAX_DEVICES)
		return 0;
	flight.move.from_tier = from->tier;
	flight.move.to_tier = to->tier;
	for (size_t i = 0; i < execute->nr_flights; i++)
		if (execute->flights[i].id == active->id &&
		    execute_same_extent(&execute->flights[i].move, &flight.move))
			return 0;
	r = execute_reserve_flight(execute);
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
