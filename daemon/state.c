// SPDX-License-Identifier: GPL-2.0-only
/* A pool's state as bytes and back. See state.h. */
#include "state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define STATE_VERSION	1
#define BYTE_ORDER_MARK	0x01020304U	/* files are not carried to another machine */
#define MAX_EXTENTS	(UINT64_C(1) << 24)
#define MAX_TIME_NS	(INT64_C(1) << 61)	/* 73 years either way: no sum of two overflows */

/* In the byte order of the machine; no padding. */
struct disk_head {
	uint32_t version;
	uint32_t byte_order;
	int64_t saved_boot_ns;
	int64_t saved_real_s;
	char boot_id[40];
	int64_t aborted_window_s;
	int64_t heat_since_s;
	struct state_relocation relocation;
	uint32_t watched;
	uint32_t paused;
	uint32_t nr_volumes;
	uint32_t nr_failures;		/* 0 in files of before there were any */
};

/*
 * Then the volumes, each followed by heat[nr_terms][], born[], base[] of nr_extents
 * entries, and an array of struct state_failure.
 */
struct disk_volume {
	uint32_t id;
	uint32_t nr_terms;
	uint64_t instance;
	uint64_t volume_generation;
	uint64_t since;
	uint64_t nr_extents;
	int64_t epoch_ns;
	int64_t scale_ns;
	int64_t collected_ns;
	uint32_t mapped;
	uint32_t is_new;
};

void state_clear(struct state *state)
{
	for (size_t i = 0; i < state->nr_volumes; i++)
		tier_heat_volume_clear(&state->volumes[i].heat);
	free(state->volumes);
	free(state->failures);
	memset(state, 0, sizeof(*state));
}

/* ---------------------------------------------------------------- encode */

static size_t arrays_bytes(uint64_t nr_extents, uint32_t nr_terms)
{
	return nr_extents * (nr_terms * sizeof(float) + sizeof(uint32_t) +
			     sizeof(struct tier_heat_base));
}

static void *put(void *at, const void *data, size_t size)
{
	memcpy(at, data, size);
	return (char *)at + size;
}

static void *put_volume(void *at, const struct state_volume *volume)
{
	const struct tier_heat_volume *heat = &volume->heat;
	struct disk_volume disk = {
		.id = volume->id,
		.nr_terms = heat->nr_terms,
		.instance = heat->instance,
		.volume_generation = heat->volume_generation,
		.since = heat->since,
		.nr_extents = heat->nr_extents,
		.epoch_ns = heat->epoch_ns,
		.scale_ns = heat->scale_ns,
		.collected_ns = heat->collected_ns,
		.mapped = heat->mapped,
		.is_new = heat->is_new,
	};

	at = put(at, &disk, sizeof(disk));
	for (uint32_t term = 0; term < heat->nr_terms; term++)
		at = put(at, heat->heat[term], heat->nr_extents * sizeof(float));
	at = put(at, heat->born, heat->nr_extents * sizeof(*heat->born));
	return put(at, heat->base, heat->nr_extents * sizeof(*heat->base));
}

int state_encode(const struct state *state, void **ret_data, size_t *ret_size)
{
	struct disk_head head = {
		.version = STATE_VERSION,
		.byte_order = BYTE_ORDER_MARK,
		.saved_boot_ns = state->saved.boot_ns,
		.saved_real_s = state->saved.real_s,
		.aborted_window_s = state->aborted_window_s,
		.heat_since_s = state->heat_since_s,
		.relocation = state->relocation,
		.watched = state->watched,
		.paused = state->paused,
		.nr_volumes = state->nr_volumes,
		.nr_failures = state->nr_failures,
	};
	size_t failures_bytes = state->nr_failures * sizeof(*state->failures);
	size_t size = sizeof(head) + failures_bytes;
	void *data, *at;

	memcpy(head.boot_id, state->boot_id, sizeof(state->boot_id));
	for (size_t i = 0; i < state->nr_volumes; i++)
		size += sizeof(struct disk_volume) +
			arrays_bytes(state->volumes[i].heat.nr_extents,
				     state->volumes[i].heat.nr_terms);
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	at = put(data, &head, sizeof(head));
	for (size_t i = 0; i < state->nr_volumes; i++)
		at = put_volume(at, &state->volumes[i]);
	if (failures_bytes)
		put(at, state->failures, failures_bytes);
	*ret_data = data;
	*ret_size = size;
	return 0;
}

/* ---------------------------------------------------------------- decode */

static bool is_time(int64_t ns)
{
	return ns >= -MAX_TIME_NS && ns <= MAX_TIME_NS;
}

struct reader {
	const char *at;
	size_t left;
};

static int take(struct reader *reader, void *ret_data, size_t size)
{
	if (size > reader->left)
		return -EBADMSG;
	memcpy(ret_data, reader->at, size);
	reader->at += size;
	reader->left -= size;
	return 0;
}

static int take_heat(struct reader *reader, float *ret_heat, uint64_t nr_extents)
{
	int r = take(reader, ret_heat, nr_extents * sizeof(float));

	for (uint64_t i = 0; !r && i < nr_extents; i++)
		if (!isfinite(ret_heat[i]) || ret_heat[i] < 0)
			r = -EBADMSG;
	return r;
}

static int take_arrays(struct reader *reader, struct tier_heat_volume *heat)
{
	uint64_t nr_extents = heat->nr_extents;
	int r = 0;

	for (uint32_t term = 0; !r && term < heat->nr_terms; term++)
		r = take_heat(reader, heat->heat[term], nr_extents);
	if (!r)
		r = take(reader, heat->born, nr_extents * sizeof(*heat->born));
	if (!r)
		r = take(reader, heat->base, nr_extents * sizeof(*heat->base));
	return r;
}

static int take_volume(struct reader *reader, struct state_volume *ret_volume)
{
	struct tier_heat_config config;
	struct tier_heat_volume heat;
	struct disk_volume disk;
	int r;

	r = take(reader, &disk, sizeof(disk));
	if (r)
		return r;
	if (disk.id >= TIER_MAX_VOLUMES || disk.nr_terms < 1 || disk.nr_terms > TIER_HEAT_TERMS ||
	    disk.nr_extents > MAX_EXTENTS || disk.scale_ns > disk.collected_ns ||
	    !is_time(disk.epoch_ns) || !is_time(disk.scale_ns) || !is_time(disk.collected_ns) ||
	    disk.mapped > 1 || disk.is_new > 1 ||
	    reader->left < arrays_bytes(disk.nr_extents, disk.nr_terms))
		return -EBADMSG;

	tier_heat_config_init(&config);
	config.nr_terms = disk.nr_terms;
	r = tier_heat_volume_init(&heat, &config, disk.nr_extents, disk.is_new, disk.epoch_ns);
	if (r)
		return r;
	heat.instance = disk.instance;
	heat.volume_generation = disk.volume_generation;
	heat.since = disk.since;
	heat.scale_ns = disk.scale_ns;
	heat.collected_ns = disk.collected_ns;
	heat.mapped = disk.mapped;
	r = take_arrays(reader, &heat);
	if (r) {
		tier_heat_volume_clear(&heat);
		return r;
	}
	ret_volume->id = disk.id;
	ret_volume->heat = heat;
	return 0;
}

static int take_volumes(struct reader *reader, uint32_t nr_volumes, struct state *state)
{
	state->volumes = calloc(nr_volumes ? nr_volumes : 1, sizeof(*state->volumes));
	if (!state->volumes)
		return -ENOMEM;
	for (; state->nr_volumes < nr_volumes; state->nr_volumes++) {
		int r = take_volume(reader, &state->volumes[state->nr_volumes]);

		if (r)
			return r;
	}
	return 0;
}

static int take_failures(struct reader *reader, uint32_t nr_failures, struct state *state)
{
	int r = 0;

	if (reader->left != nr_failures * sizeof(*state->failures))
		return -EBADMSG;
	if (!nr_failures)
		return 0;
	state->failures = malloc(reader->left);
	if (!state->failures)
		return -ENOMEM;
	state->nr_failures = nr_failures;
	r = take(reader, state->failures, reader->left);
	for (size_t i = 0; !r && i < nr_failures; i++) {
		const struct state_failure *failure = &state->failures[i];

		if (!failure->attempts || failure->reason >= TIER_REASON_COUNT ||
		    failure->extent >= MAX_EXTENTS || !is_time(failure->until_ns))
			r = -EBADMSG;
	}
	return r;
}

int state_decode(const void *data, size_t size, struct state *ret_state)
{
	struct reader reader = { .at = data, .left = size };
	struct disk_head head;
	struct state state;
	int r;

	r = take(&reader, &head, sizeof(head));
	if (r)
		return r;
	if (head.version != STATE_VERSION || head.byte_order != BYTE_ORDER_MARK ||
	    head.nr_volumes > TIER_MAX_VOLUMES || head.watched > 1 || head.paused > 1 || !is_time(head.saved_boot_ns) ||
	    memchr(head.boot_id, '\0', CLOCK_BOOT_ID_SIZE) == NULL)
		return -EBADMSG;
	state = (struct state) {
		.saved = { .boot_ns = head.saved_boot_ns, .real_s = head.saved_real_s },
		.watched = head.watched,
		.paused = head.paused,
		.aborted_window_s = head.aborted_window_s,
		.heat_since_s = head.heat_since_s,
		.relocation = head.relocation,
	};
	memcpy(state.boot_id, head.boot_id, sizeof(state.boot_id));
	r = take_volumes(&reader, head.nr_volumes, &state);
	if (!r)
		r = take_failures(&reader, head.nr_failures, &state);
	if (r) {
		state_clear(&state);
		return r;
	}
	*ret_state = state;
	return 0;
}

void state_rebase(struct state *state, const char *boot_id, const struct clock_time *now)
{
	int64_t passed_s, delta_ns;

	if (!strcmp(state->boot_id, boot_id))
		return;
	if (__builtin_sub_overflow(now->real_s, state->saved.real_s, &passed_s) || passed_s < 0)
		passed_s = 0;
	if (passed_s > MAX_TIME_NS / CLOCK_NS_PER_S)	/* a clock that is set wildly wrong */
		passed_s = MAX_TIME_NS / CLOCK_NS_PER_S;
	delta_ns = now->boot_ns - passed_s * CLOCK_NS_PER_S - state->saved.boot_ns;
	for (size_t i = 0; i < state->nr_volumes; i++)
		tier_heat_shift(&state->volumes[i].heat, delta_ns);
	for (size_t i = 0; i < state->nr_failures; i++)
		state->failures[i].until_ns += delta_ns;
	state->saved.boot_ns += delta_ns;
}

/* ---------------------------------------------------------------- files */

int state_load(int dirfd, const char *uuid, struct state *ret_state, uint64_t *ret_generation,
	       bool *ret_damaged)
{
	_cleanup_(store_blob_clear) struct store_blob blob = { 0 };
	int r;

	*ret_generation = 0;
	r = store_load(dirfd, uuid, &blob);
	if (r)
		return r;
	r = state_decode(blob.data, blob.size, ret_state);
	*ret_generation = blob.generation;
	if (!r)
		*ret_damaged = blob.damaged;
	return r;
}

int state_save(const struct store_ops *ops, int dirfd, const char *uuid,
	       const struct state *state, uint64_t *generation)
{
	_cleanup_free_ void *data = NULL;
	size_t size;
	int r;

	r = state_encode(state, &data, &size);
	if (!r)
		r = store_save(ops, dirfd, uuid, *generation + 1, data, size);
	if (!r)
		(*generation)++;
	return r;
}
