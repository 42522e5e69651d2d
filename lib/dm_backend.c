// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backend interface (backend.h) over messages to an active pool. Knows no
 * ioctl: that is dm.c; and no grammar: that is message.c and status.c.
 *
 * Answers are parsed straight into the caller's array: after -EPROTO it may hold
 * some lines; its length, like every other output, is untouched.
 */
#include "dm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "name.h"
#include "status.h"
#include "table.h"
#include "util.h"

/*
 * Extents asked for in one message: an answer stays at a few megabytes, which
 * the kernel builds in one piece of memory.
 */
#define EXTENTS_PER_MESSAGE	32768U

struct dm_pool_backend {
	char dm_name[TIER_NAME_SIZE];
	char uuid[TIER_UUID_SIZE];	/* of the pool that was there when it was opened */
};

/* A message whose answer does not matter; `r` is what building it returned. */
static int tell(const struct dm_pool_backend *pool, int r, const char *message)
{
	return r ? r : tier_dm_message(pool->dm_name, message, NULL);
}

static int ask(const struct dm_pool_backend *pool, int r, const char *message, char **ret_answer)
{
	return r ? r : tier_dm_message(pool->dm_name, message, ret_answer);
}

static int read_status(const char *dm_name, struct tier_pool_status *ret_status)
{
	_cleanup_free_ char *params = NULL;
	int r = tier_dm_status(TIER_DM_POOL, dm_name, &params);

	if (!r)
		r = tier_status_parse_pool(params, ret_status);
	return r ? r : ret_status->is_loaded ? 0 : -ENODATA;
}

/* Lines of an answer: an upper bound for the size of the array that takes them. */
static size_t count_lines(const char *answer)
{
	size_t lines = 0;

	for (; *answer; answer++)
		lines += *answer == '\n';
	return lines + 1;
}

static int read_volumes(const struct dm_pool_backend *pool, struct tier_volume_info **ret_volumes,
			size_t *ret_nr_volumes)
{
	_cleanup_free_ char *answer = NULL;
	_cleanup_free_ struct tier_volume_info *volumes = NULL;
	const char *at;
	size_t nr = 0;
	int r = ask(pool, 0, TIER_MESSAGE_VOLUMES, &answer);

	if (r)
		return r;
	volumes = calloc(count_lines(answer), sizeof(*volumes));
	if (!volumes)
		return -ENOMEM;
	at = answer;
	while ((r = tier_answer_volume(&at, &volumes[nr])) > 0)
		nr++;
	if (r)
		return r;
	*ret_volumes = volumes;
	*ret_nr_volumes = nr;
	volumes = NULL;
	return 0;
}

static int read_devices(const struct dm_pool_backend *pool, const struct tier_pool_status *status,
			struct tier_device_info **ret_devices, size_t *ret_nr_devices)
{
	_cleanup_free_ char *answer = NULL;
	_cleanup_free_ struct tier_device_info *devices = NULL;
	const char *at;
	size_t nr = 0;
	int r = ask(pool, 0, TIER_MESSAGE_DEVICES, &answer);

	if (r)
		return r;
	devices = calloc(count_lines(answer), sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	at = answer;
	while ((r = tier_answer_device(&at, &devices[nr])) > 0) {
		for (uint32_t i = 0; i < status->nr_devices; i++)
			if (status->devices[i].idx == devices[nr].idx)
				devices[nr].errors = status->devices[i].errors;
		nr++;
	}
	if (r)
		return r;
	*ret_devices = devices;
	*ret_nr_devices = nr;
	devices = NULL;
	return 0;
}

static int read_pool(void *ctx, struct tier_pool_info *ret_info)
{
	const struct dm_pool_backend *pool = ctx;
	_cleanup_(tier_pool_info_clear) struct tier_pool_info info = { 0 };
	struct tier_pool_status status;
	int r = read_status(pool->dm_name, &status);

	if (r)
		return r;
	if (strcmp(status.uuid, pool->uuid))
		return -ENODEV;
	memcpy(info.uuid, status.uuid, sizeof(info.uuid));
	tier_name_dm_to_pool(pool->dm_name, info.name, sizeof(info.name));
	info.extent_sectors = status.extent_sectors;
	info.region_sectors = status.region_sectors;
	info.mode = status.mode;
	info.needs_check = status.needs_check;
	info.queued_moves = status.queued_moves;
	info.active_moves = status.active_moves;
	r = read_devices(pool, &status, &info.devices, &info.nr_devices);
	if (!r)
		r = read_volumes(pool, &info.volumes, &info.nr_volumes);
	/* The kernel refused its last table: the status tells of the pool that it was. */
	if (r == -ENXIO && status.mode == TIER_POOL_FAIL)
		return -ENODATA;
	if (r)
		return r;
	*ret_info = info;
	info = (struct tier_pool_info){ 0 };
	return 0;
}

static uint64_t message_count(uint64_t count)
{
	return count < EXTENTS_PER_MESSAGE ? count : EXTENTS_PER_MESSAGE;
}

static int read_map(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
		    struct tier_map_run *ret_runs, size_t max_runs, size_t *ret_nr_runs,
		    uint64_t *ret_next)
{
	_cleanup_free_ char *answer = NULL;
	char message[TIER_MESSAGE_SIZE];
	uint64_t next = first, end;
	struct tier_map_run run;
	const char *at;
	size_t nr = 0;
	int r;

	if (!count || !max_runs)
		return -EINVAL;
	count = message_count(count);
	end = first + count;
	r = ask(ctx, tier_message_map(volume, first, count, message, sizeof(message)), message,
		&answer);
	if (r)
		return r;
	at = answer;
	while (nr < max_runs && (r = tier_answer_map(&at, &run)) > 0) {
		/* In order, without holes, within what was asked: else it is not understood. */
		if (run.first != next || run.count > end - next)
			return -EPROTO;
		ret_runs[nr++] = run;
		next += run.count;
	}
	if (r < 0)
		return r;
	if (!nr || (nr < max_runs && next != end))
		return -EPROTO;
	*ret_nr_runs = nr;
	*ret_next = next;
	return 0;
}

static int read_counters(void *ctx, uint32_t volume, uint64_t first, uint64_t count,
			 uint64_t since, struct tier_counter_head *ret_head,
			 struct tier_counter *ret_counters, size_t max_counters,
			 size_t *ret_nr_counters, uint64_t *ret_next)
{
	_cleanup_free_ char *answer = NULL;
	char message[TIER_MESSAGE_SIZE];
	struct tier_counter_head head;
	struct tier_counter counter;
	uint64_t next = first, end;
	const char *at;
	size_t nr = 0;
	int r;

	if (!count || !max_counters)
		return -EINVAL;
	count = message_count(count);
	end = first + count;
	r = ask(ctx, tier_message_counters(volume, first, count, since, message, sizeof(message)),
		message, &answer);
	if (r)
		return r;
	at = answer;
	r = tier_answer_counters_head(&at, &head);
	if (r < 0)
		return r;
	while ((r = tier_answer_counter(&at, &counter)) > 0) {
		if (counter.extent < next || counter.extent >= end)
			return -EPROTO;
		if (nr == max_counters)
			break;		/* go on with this one next time */
		ret_counters[nr++] = counter;
		next = counter.extent + 1;
	}
	if (r < 0)
		return r;
	*ret_head = head;
	*ret_nr_counters = nr;
	*ret_next = r > 0 ? counter.extent : end;
	return 0;
}

static int migrate(void *ctx, uint32_t volume, uint64_t extent, struct tier_target to, bool force,
		   uint64_t *ret_id)
{
	_cleanup_free_ char *answer = NULL;
	char message[TIER_MESSAGE_SIZE];
	int r = ask(ctx, tier_message_migrate(volume, extent, to, force, message, sizeof(message)),
		    message, &answer);

	return r ? r : tier_answer_number(answer, ret_id);
}

static int cancel(void *ctx, uint32_t volume, uint64_t extent)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_cancel(volume, extent, message, sizeof(message)), message);
}

static int cancel_all(void *ctx)
{
	return tell(ctx, 0, TIER_MESSAGE_CANCEL_ALL);
}

static int set_rate(void *ctx, uint64_t bytes_per_s)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_set_rate(bytes_per_s, message, sizeof(message)), message);
}

static int set_moves(void *ctx, uint32_t count)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_set_moves(count, message, sizeof(message)), message);
}

static int read_active(void *ctx, struct tier_active_move *ret_moves, size_t max_moves,
		       size_t *ret_nr_moves, size_t *ret_total)
{
	_cleanup_free_ char *answer = NULL;
	struct tier_active_move move;
	const char *at;
	size_t nr = 0, total = 0;
	int r = ask(ctx, 0, TIER_MESSAGE_MOVES, &answer);

	if (r)
		return r;
	at = answer;
	while ((r = tier_answer_active(&at, &move)) > 0) {
		if (nr < max_moves)
			ret_moves[nr++] = move;
		total++;
	}
	if (r)
		return r;
	*ret_nr_moves = nr;
	*ret_total = total;
	return 0;
}

static int read_finished(void *ctx, uint64_t since_seq, struct tier_finished_head *ret_head,
			 struct tier_finished_move *ret_moves, size_t max_moves,
			 size_t *ret_nr_moves)
{
	_cleanup_free_ char *answer = NULL;
	struct tier_finished_head head = { 0 };
	char message[TIER_MESSAGE_SIZE];
	struct tier_finished_move move;
	uint64_t oldest, next;
	const char *at;
	size_t nr = 0;
	int r;

	if (since_seq == UINT64_MAX)
		return -EINVAL;
	/* The message means "from this seq on", the caller "after it". */
	r = ask(ctx, tier_message_moves_since(since_seq + 1, message, sizeof(message)), message,
		&answer);
	if (r)
		return r;
	at = answer;
	r = tier_answer_finished_head(&at, &oldest, &next);
	if (r <= 0)
		return r ? r : -EPROTO;
	head.last_seq = next ? next - 1 : 0;
	if (oldest > since_seq + 1)
		head.lost = oldest - (since_seq + 1);
	while (nr < max_moves && (r = tier_answer_finished(&at, &move)) > 0)
		ret_moves[nr++] = move;
	if (r < 0)
		return r;
	*ret_head = head;
	*ret_nr_moves = nr;
	return 0;
}

static int set_placement(void *ctx, uint32_t volume, const struct tier_placement *placement)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_set_placement(volume, placement, message, sizeof(message)),
		    message);
}

static int set_label(void *ctx, uint32_t volume, const char *label)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_set_label(volume, label, message, sizeof(message)), message);
}

static int set_reserve(void *ctx, uint32_t device, uint64_t slots)
{
	char message[TIER_MESSAGE_SIZE];

	return tell(ctx, tier_message_set_reserve(device, slots, message, sizeof(message)),
		    message);
}

static int commit(void *ctx)
{
	return tell(ctx, 0, TIER_MESSAGE_COMMIT);
}

static const struct tier_backend_ops dm_ops = {
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

int tier_dm_backend_open(const char *name, struct tier_backend *ret_backend)
{
	struct dm_pool_backend *pool;
	struct tier_pool_status status;
	int r = read_status(name, &status);

	if (r)
		return r;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	snprintf(pool->dm_name, sizeof(pool->dm_name), "%s", name);
	memcpy(pool->uuid, status.uuid, sizeof(pool->uuid));
	*ret_backend = (struct tier_backend){ .ops = &dm_ops, .ctx = pool };
	return 0;
}

void tier_dm_backend_close(struct tier_backend *backend)
{
	if (!backend || !backend->ops)
		return;
	free(backend->ctx);
	*backend = (struct tier_backend){ 0 };
}
