// SPDX-License-Identifier: GPL-2.0-only
/* The simulated pool's messages (struct tier_backend_ops) and its moves. */
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"

static int read_pool(void *ctx, struct tier_pool_info *ret_info)
{
	struct tier_sim *sim = ctx;
	struct tier_pool_info info = {
		.uuid = "00000000-0000-4000-8000-000000000001",
		.name = "sim",
		.extent_sectors = sim->extent_sectors,
		.region_sectors = sim->region_sectors,
		.mode = sim->mode,
	};

	info.devices = calloc(sim->nr_devices + 1, sizeof(*info.devices));
	info.volumes = calloc(sim->nr_volumes + 1, sizeof(*info.volumes));
	if (!info.devices || !info.volumes) {
		tier_pool_info_clear(&info);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sim->nr_devices; i++)
		info.devices[info.nr_devices++] = sim->devices[i].info;
	for (uint32_t i = 0; i < sim->nr_volumes; i++)
		if (sim->volumes[i].is_used)
			info.volumes[info.nr_volumes++] = sim->volumes[i].info;
	for (uint32_t i = 0; i < sim->nr_moves; i++) {
		if (sim->moves[i].is_active)
			info.active_moves++;
		else
			info.queued_moves++;
	}
	*ret_info = info;
	return 0;
}

static int check_range(struct tier_sim *sim, uint32_t id, uint64_t first, uint64_t count,
		       size_t max, struct sim_volume **ret_volume)
{
	struct sim_volume *volume = sim_volume(sim, id);

	if (!volume)
		return -ENOENT;
	if (!count || !max)
		return -EINVAL;
	if (first >= volume->nr_extents || count > volume->nr_extents - first)
		return -ERANGE;
	*ret_volume = volume;
	return 0;
}

/* The run that the extent at `at` begins or goes on with. */
static struct tier_map_run run_of(const struct tier_sim *sim, const struct sim_volume *volume,
				  uint64_t at)
{
	const struct sim_extent *extent = &volume->extents[at];
	struct tier_map_run run = { .first = at, .count = 1, .device = TIER_NO_DEVICE };

	if (extent->device == TIER_SIM_NOWHERE)
		return run;
	run.device = extent->device;
	run.tier = sim->devices[extent->device].info.tier;
	run.slot = extent->slot;
	run.valid_regions = extent->valid_regions;
	return run;
}

static bool goes_on(const struct tier_map_run *run, const struct tier_map_run *next)
{
	return run->device == next->device && run->valid_regions == next->valid_regions &&
	       (run->device == TIER_NO_DEVICE || run->slot + run->count == next->slot);
}

static int read_map(void *ctx, uint32_t id, uint64_t first, uint64_t count,
		    struct tier_map_run *ret_runs, size_t max_runs, size_t *ret_nr_runs,
		    uint64_t *ret_next)
{
	struct sim_volume *volume;
	size_t nr_runs = 0;
	uint64_t at;
	int r = check_range(ctx, id, first, count, max_runs, &volume);

	if (r)
		return r;
	for (at = first; at < first + count; at++) {
		struct tier_map_run run = run_of(ctx, volume, at);

		if (nr_runs && goes_on(&ret_runs[nr_runs - 1], &run)) {
			ret_runs[nr_runs - 1].count++;
			continue;
		}
		if (nr_runs == max_runs)
			break;
		ret_runs[nr_runs++] = run;
	}
	*ret_nr_runs = nr_runs;
	*ret_next = at;
	return 0;
}

static int read_counters(void *ctx, uint32_t id, uint64_t first, uint64_t count, uint64_t since,
			 struct tier_counter_head *ret_head, struct tier_counter *ret_counters,
			 size_t max_counters, size_t *ret_nr_counters, uint64_t *ret_next)
{
	struct tier_sim *sim = ctx;
	struct sim_volume *volume;
	size_t nr_counters = 0;
	uint64_t at;
	int r = check_range(sim, id, first, count, max_counters, &volume);

	if (r)
		return r;
	ret_head->instance = sim->instance;
	ret_head->volume_generation = volume->info.generation;
	ret_head->counter_generation = ++sim->counter_generation;
	for (at = first; at < first + count; at++) {
		const struct sim_extent *extent = &volume->extents[at];

		if (!extent->stamp || extent->stamp < since)
			continue;
		if (nr_counters == max_counters)
			break;
		ret_counters[nr_counters++] = extent->counter;
	}
	*ret_nr_counters = nr_counters;
	*ret_next = at;
	return 0;
}

static struct sim_move *find_move(struct tier_sim *sim, uint32_t volume, uint64_t extent)
{
	for (uint32_t i = 0; i < sim->nr_moves; i++)
		if (sim->moves[i].volume == volume && sim->moves[i].extent == extent)
			return &sim->moves[i];
	return NULL;
}

static struct sim_device *target_device(struct tier_sim *sim, struct tier_target to)
{
	if (!to.is_device)
		return sim_emptiest(sim, to.index, false);
	if (to.index >= sim->nr_devices || !sim_free_slots(&sim->devices[to.index]))
		return NULL;
	return &sim->devices[to.index];
}

/* Whether the target has any online device at all, full or not. */
static bool has_target(const struct tier_sim *sim, struct tier_target to)
{
	for (uint32_t i = 0; i < sim->nr_devices; i++) {
		const struct tier_device_info *info = &sim->devices[i].info;

		if ((to.is_device ? info->idx : info->tier) == to.index &&
		    info->state == TIER_DEVICE_ONLINE)
			return true;
	}
	return false;
}

static int migrate(void *ctx, uint32_t id, uint64_t extent, struct tier_target to, bool force,
		   uint64_t *ret_id)
{
	struct tier_sim *sim = ctx;
	struct sim_volume *volume;
	struct sim_extent *from;
	struct sim_move *move;
	int r = check_range(sim, id, extent, 1, 1, &volume);

	(void)force;	/* writers here never race with a copy */
	sim->nr_migrates++;
	if (r)
		return r;
	from = &volume->extents[extent];
	if (sim->mode != TIER_POOL_RW && sim->mode != TIER_POOL_OUT_OF_SPACE)
		return -EROFS;
	if (from->device == TIER_SIM_NOWHERE)
		return -ENODATA;
	if (!has_target(sim, to))
		return -ENXIO;
	if ((to.is_device ? from->device : sim->devices[from->device].info.tier) == to.index &&
	    (to.is_device || sim->devices[from->device].info.state == TIER_DEVICE_ONLINE))
		return -EALREADY;
	move = find_move(sim, id, extent);
	if (move) {
		if (move->to.is_device != to.is_device || move->to.index != to.index)
			return -EBUSY;
		*ret_id = move->id;
		return 0;
	}
	if (!target_device(sim, to))
		return -ENOSPC;
	if (sim->nr_moves >= TIER_SIM_QUEUE)
		return -EAGAIN;
	move = &sim->moves[sim->nr_moves++];
	*move = (struct sim_move) {
		.id = sim->next_move_id++,
		.volume = id,
		.extent = extent,
		.to = to,
		.from_device = from->device,
		.to_device = TIER_NO_DEVICE,
	};
	*ret_id = move->id;
	return 0;
}

void sim_cancel_moves(struct tier_sim *sim, uint32_t volume, int64_t extent)
{
	for (uint32_t i = 0; i < sim->nr_moves; i++)
		if (volume == UINT32_MAX || (sim->moves[i].volume == volume &&
					     (int64_t)sim->moves[i].extent == extent))
			sim->moves[i].is_cancelled = true;
}

static int cancel(void *ctx, uint32_t volume, uint64_t extent)
{
	if (!find_move(ctx, volume, extent))
		return -ENOENT;
	sim_cancel_moves(ctx, volume, (int64_t)extent);
	return 0;
}

static int cancel_all(void *ctx)
{
	sim_cancel_moves(ctx, UINT32_MAX, -1);
	return 0;
}

static int set_rate(void *ctx, uint64_t bytes_per_s)
{
	struct tier_sim *sim = ctx;

	sim->rate_bytes_per_s = bytes_per_s;
	return 0;
}

static int set_moves(void *ctx, uint32_t count)
{
	struct tier_sim *sim = ctx;

	if (!count || count > 64)
		return -EINVAL;
	sim->at_once = count;
	return 0;
}

static int read_active(void *ctx, struct tier_active_move *ret_moves, size_t max_moves,
		       size_t *ret_nr_moves, size_t *ret_total)
{
	struct tier_sim *sim = ctx;
	size_t nr_moves = 0;

	for (uint32_t i = 0; i < sim->nr_moves && nr_moves < max_moves; i++) {
		const struct sim_move *move = &sim->moves[i];
		struct tier_active_move *ret = &ret_moves[nr_moves++];

		*ret = (struct tier_active_move) {
			.id = move->id,
			.volume = move->volume,
			.extent = move->extent,
			.from_device = move->from_device,
			.to_device = move->to_device,
			.pass = move->is_active,
			.regions_left = (uint32_t)(move->bytes_left /
						   (double)(sim->region_sectors << 9)),
		};
		strcpy(ret->state, move->is_active ? "copy" : "queued");
	}
	*ret_nr_moves = nr_moves;
	*ret_total = sim->nr_moves;
	return 0;
}

static int read_finished(void *ctx, uint64_t since_seq, struct tier_finished_head *ret_head,
			 struct tier_finished_move *ret_moves, size_t max_moves,
			 size_t *ret_nr_moves)
{
	struct tier_sim *sim = ctx;
	uint64_t oldest = sim->last_seq > TIER_SIM_RING ? sim->last_seq - TIER_SIM_RING + 1 : 1;
	uint64_t seq = since_seq + 1 > oldest ? since_seq + 1 : oldest;
	size_t nr_moves = 0;

	ret_head->last_seq = sim->last_seq;
	ret_head->lost = since_seq <= sim->last_seq ? seq - since_seq - 1 : 0;
	for (; seq <= sim->last_seq && nr_moves < max_moves; seq++)
		ret_moves[nr_moves++] = sim->ring[seq % TIER_SIM_RING];
	*ret_nr_moves = nr_moves;
	return 0;
}

static int set_placement(void *ctx, uint32_t id, const struct tier_placement *placement)
{
	struct sim_volume *volume = sim_volume(ctx, id);

	if (!volume)
		return -ENOENT;
	volume->info.placement = *placement;
	return 0;
}

static int set_label(void *ctx, uint32_t id, const char *label)
{
	struct sim_volume *volume = sim_volume(ctx, id);

	if (!volume)
		return -ENOENT;
	if (strlen(label) >= TIER_LABEL_SIZE)
		return -EINVAL;
	strcpy(volume->info.label, label);
	return 0;
}

static int set_reserve(void *ctx, uint32_t idx, uint64_t slots)
{
	struct tier_sim *sim = ctx;

	if (idx >= sim->nr_devices)
		return -ENOENT;
	sim->devices[idx].reserve_slots = slots;
	return 0;
}

static int commit(void *ctx)
{
	const struct tier_sim *sim = ctx;

	return sim->mode == TIER_POOL_META_RO || sim->mode == TIER_POOL_FAIL ? -EROFS : 0;
}

const struct tier_backend_ops tier_sim_ops = {
	.read_pool = read_pool,
	.read_map = read_map,
	.read_counters = read_counters,
	.migrate = migrate,
	.cancel = cancel,
	.cancel_all = cancel_all,
	.set_rate = set_rate,
	.set_moves = set_moves,
	.read_active = read_active,
	.read_finished = read_finished,
	.set_placement = set_placement,
	.set_label = set_label,
	.set_reserve = set_reserve,
	.commit = commit,
};

/* ---- moves in time ---- */

static int reason_to_error(enum tier_reason reason)
{
	switch ((int)reason) {
	case TIER_REASON_NONE:
		return 0;
	case TIER_REASON_CANCELLED:
		return -ECANCELED;
	case TIER_REASON_NO_SPACE:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

/* Take move `index` off the queue and write it down. */
static void finish(struct tier_sim *sim, uint32_t index, enum tier_reason reason)
{
	struct sim_move *move = &sim->moves[index];
	struct sim_extent *extent = &sim->volumes[move->volume].extents[move->extent];
	struct tier_finished_move *done = &sim->ring[++sim->last_seq % TIER_SIM_RING];

	*done = (struct tier_finished_move) {
		.seq = sim->last_seq,
		.id = move->id,
		.volume = move->volume,
		.extent = move->extent,
		.from_device = move->from_device,
		.to_device = move->to_device,
		.result = reason_to_error(reason),
		.reason = reason,
		.copied_bytes = move->bytes - (uint64_t)move->bytes_left,
		.passes = move->is_active,
	};
	if (move->is_active && reason) {
		sim_set_slot(&sim->devices[move->to_device], move->slot,
			     reason == TIER_REASON_DST_WRITE_ERROR ? SIM_SLOT_QUARANTINED :
								     SIM_SLOT_FREE);
	} else if (move->is_active) {
		sim_set_slot(&sim->devices[extent->device], extent->slot, SIM_SLOT_FREE);
		sim_set_slot(&sim->devices[move->to_device], move->slot, SIM_SLOT_USED);
		extent->device = move->to_device;
		extent->slot = move->slot;
	}
	memmove(move, move + 1, (--sim->nr_moves - index) * sizeof(*move));
}

/* Activate what waits, drop what was cancelled, end what is due. Returns whether anything changed. */
static bool step(struct tier_sim *sim)
{
	uint32_t nr_active = 0;

	for (uint32_t i = 0; i < sim->nr_moves; i++) {
		struct sim_move *move = &sim->moves[i];
		struct sim_extent *extent = &sim->volumes[move->volume].extents[move->extent];
		struct sim_device *to;

		if (move->is_cancelled) {
			finish(sim, i, TIER_REASON_CANCELLED);
			return true;
		}
		if (move->is_active) {
			nr_active++;
			to = &sim->devices[move->to_device];
			if (move->bytes_left > 0)
				continue;
			if (to->fail_count) {
				to->fail_count--;
				to->info.errors++;
				finish(sim, i, to->fail_reason);
			} else {
				finish(sim, i, TIER_REASON_NONE);
			}
			return true;
		}
		if (nr_active == sim->at_once)
			break;
		to = target_device(sim, move->to);
		if (!to || !sim_take_slot(to, SIM_SLOT_RESERVED, &move->slot)) {
			finish(sim, i, TIER_REASON_NO_SPACE);
			return true;
		}
		move->is_active = true;
		move->to_device = to->info.idx;
		move->bytes = sim_extent_bytes(sim, extent);
		move->bytes_left = (double)move->bytes;
		return true;
	}
	return false;
}

/* Bytes per second of each active move. */
static double share(const struct tier_sim *sim, uint32_t nr_active)
{
	uint64_t speed = sim->speed_bytes_per_s;

	if (sim->rate_bytes_per_s && sim->rate_bytes_per_s < speed)
		speed = sim->rate_bytes_per_s;
	return (double)speed / nr_active;
}

void tier_sim_advance(struct tier_sim *sim, int64_t ns)
{
	int64_t end_ns = sim->now_ns + ns;

	for (;;) {
		uint32_t nr_active = 0;
		double least = HUGE_VAL;
		int64_t dt_ns;

		while (step(sim))
			;
		for (uint32_t i = 0; i < sim->nr_moves; i++) {
			if (!sim->moves[i].is_active)
				continue;
			nr_active++;
			least = fmin(least, sim->moves[i].bytes_left);
		}
		if (!nr_active)
			break;
		dt_ns = (int64_t)ceil(least / share(sim, nr_active) * 1e9);
		if (dt_ns > end_ns - sim->now_ns)
			dt_ns = end_ns - sim->now_ns;
		if (dt_ns <= 0)
			break;
		for (uint32_t i = 0; i < sim->nr_moves; i++)
			if (sim->moves[i].is_active)
				sim->moves[i].bytes_left = fmax(0, sim->moves[i].bytes_left -
						share(sim, nr_active) * (double)dt_ns / 1e9);
		sim->now_ns += dt_ns;
	}
	sim->now_ns = end_ns;
}

void tier_sim_settle(struct tier_sim *sim)
{
	while (sim->nr_moves)
		tier_sim_advance(sim, 1000000000);
}
