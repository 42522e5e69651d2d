// SPDX-License-Identifier: GPL-2.0-only
/* Rings and records for tests, see ring.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <linux/crc32c.h>

#include "ring.h"

static u8 random_label(struct rng *rng, char *label)
{
	const u8 bytes = rng_below(rng, 4) ? rng_below(rng, 24) :
					     rng_below(rng, DM_TIER_MAX_LABEL + 1);

	for (u32 i = 0; i < bytes; i++)
		label[i] = 1 + rng_below(rng, 255);
	return bytes;
}

static void random_uuid(struct rng *rng, u8 *uuid)
{
	/* Few of them, so that the same one comes again. */
	memset(uuid, 1 + rng_below(rng, 3), 16);
}

static void random_slot(struct rng *rng, const struct record_limits *limits,
			struct dm_tier_record *rec)
{
	rec->slot.device = rng_below(rng, limits->devices);
	rec->slot.slot = rng_below(rng, limits->slots);
	if (rec->tombstone)
		return;
	rec->slot.quarantine = !rng_below(rng, 8);
	if (!rng_below(rng, 4))
		return;
	rec->slot.generation = 1 + rng_below(rng, limits->generations);
	rec->slot.extent = rng_below(rng, limits->extents);
	rec->slot.full = rng_below(rng, 2);
	if (rec->slot.full)
		return;
	for (u32 r = 0; r < limits->regions; r++)
		if (rng_below(rng, 2))
			rec->slot.valid[r / 64] |= 1ULL << r % 64;
}

static void random_volume(struct rng *rng, const struct record_limits *limits,
			  struct dm_tier_record *rec)
{
	rec->volume.id = rng_below(rng, limits->volumes);
	if (rec->tombstone)
		return;
	rec->volume.extents = rng_below(rng, limits->extents + 1);
	rec->volume.generation = 1 + rng_below(rng, limits->generations);
	random_uuid(rng, rec->volume.uuid);
	rec->volume.tiers = rng_below(rng, DM_TIER_MAX_TIERS + 1);
	for (u32 i = 0; i < rec->volume.tiers; i++)
		rec->volume.placement[i] = rng_below(rng, DM_TIER_MAX_TIERS);
	rec->volume.label_bytes = random_label(rng, rec->volume.label);
}

void record_random(struct rng *rng, const struct record_limits *limits,
		   struct dm_tier_record *ret_rec)
{
	const u32 kind = rng_below(rng, 10);

	memset(ret_rec, 0, sizeof(*ret_rec));
	ret_rec->tombstone = !rng_below(rng, 8);
	if (kind < 6) {
		ret_rec->type = DM_TIER_REC_SLOT;
		random_slot(rng, limits, ret_rec);
	} else if (kind < 8) {
		ret_rec->type = DM_TIER_REC_VOLUME;
		random_volume(rng, limits, ret_rec);
	} else if (kind < 9) {
		ret_rec->type = DM_TIER_REC_DEVICE;
		ret_rec->device.idx = rng_below(rng, limits->devices);
		if (ret_rec->tombstone)
			return;
		ret_rec->device.tier = rng_below(rng, DM_TIER_MAX_TIERS);
		ret_rec->device.slots = rng_below(rng, limits->slots + 1);
		random_uuid(rng, ret_rec->device.uuid);
		ret_rec->device.state = rng_below(rng, DM_TIER_DEV_LOST + 1);
		ret_rec->device.reserve_slots = rng_below(rng, 10);
	} else {
		ret_rec->type = DM_TIER_REC_POOL;
		ret_rec->tombstone = false;
		ret_rec->pool.next_generation = 1 + rng_below(rng, limits->generations + 1);
		ret_rec->pool.label_bytes = random_label(rng, ret_rec->pool.label);
	}
}

bool record_equal(const struct dm_tier_record *a, const struct dm_tier_record *b)
{
#define SAME(field)	(a->field == b->field)
#define SAME_BYTES(field) !memcmp(a->field, b->field, sizeof(a->field))
	if (!SAME(type) || !SAME(tombstone))
		return false;
	switch (a->type) {
	case DM_TIER_REC_SLOT:
		return SAME(slot.device) && SAME(slot.slot) && SAME(slot.generation) &&
		       SAME(slot.extent) && SAME(slot.full) && SAME(slot.quarantine) &&
		       SAME_BYTES(slot.valid);
	case DM_TIER_REC_VOLUME:
		return SAME(volume.id) && SAME(volume.extents) && SAME(volume.generation) &&
		       SAME_BYTES(volume.uuid) && SAME(volume.tiers) &&
		       SAME_BYTES(volume.placement) && SAME(volume.label_bytes) &&
		       SAME_BYTES(volume.label);
	case DM_TIER_REC_DEVICE:
		return SAME(device.idx) && SAME(device.tier) && SAME(device.slots) &&
		       SAME_BYTES(device.uuid) && SAME(device.state) &&
		       SAME(device.reserve_slots);
	case DM_TIER_REC_POOL:
		return SAME(pool.next_generation) && SAME(pool.label_bytes) &&
		       SAME_BYTES(pool.label);
	}
	abort();
#undef SAME
#undef SAME_BYTES
}

void ring_init(struct ring *ring, u64 nr)
{
	*ring = (struct ring){ .nr = nr, .incarnation = 1 };
	ring->blocks = calloc(nr, DM_TIER_BLOCK_BYTES);
	assert(ring->blocks);
	memcpy(ring->uuid, "0123456789abcdef", 16);
}

void ring_clear(struct ring *ring)
{
	free(ring->blocks);
	ring->blocks = NULL;
}

u8 *ring_block(const struct ring *ring, u64 position)
{
	return ring->blocks + position % ring->nr * DM_TIER_BLOCK_BYTES;
}

u64 ring_commit(struct ring *ring, const struct dm_tier_record *records, size_t nr_records,
		u32 blocks, u32 flags)
{
	const u64 start = ring->position;
	u32 count = 1;

	dm_tier_block_begin(ring_block(ring, start));
	for (size_t i = 0; i < nr_records; i++) {
		if (dm_tier_block_add(ring_block(ring, start + count - 1), &records[i]))
			continue;
		dm_tier_block_begin(ring_block(ring, start + count++));
		if (!dm_tier_block_add(ring_block(ring, start + count - 1), &records[i]))
			abort();
	}
	while (count < blocks)
		dm_tier_block_begin(ring_block(ring, start + count++));

	ring->commit++;
	ring->incarnation += !!(flags & DM_TIER_LOG_ACTIVATE);
	for (u32 i = 0; i < count; i++) {
		const struct dm_tier_log_head head = {
			.incarnation = ring->incarnation,
			.commit = ring->commit,
			.index = i,
			.count = count,
			.prev_crc = ring->crc,
			.flags = flags,
		};

		ring->crc = dm_tier_log_seal(ring_block(ring, start + i), ring->uuid, &head);
	}
	ring->position = (start + count) % ring->nr;
	return start;
}

struct dm_tier_ckpt_ref ring_ref(const struct ring *ring)
{
	return (struct dm_tier_ckpt_ref){
		.id = 1,
		.blocks = 1,
		.seq = ring->commit,
		.position = ring->position,
		.prev_crc = ring->crc,
	};
}

void block_fix_crc(void *block, u32 bytes)
{
	u8 *crc_field = (u8 *)block + 8;
	u32 crc;

	memset(crc_field, 0, 4);
	crc = ~crc32c(~0U, block, bytes);
	for (u32 i = 0; i < 4; i++)
		crc_field[i] = crc >> 8 * i;
}
