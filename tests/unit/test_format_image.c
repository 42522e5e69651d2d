// SPDX-License-Identifier: GPL-2.0-only
/* What records add up to: images against a plain model, and the final check. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "dm-tier-format.h"
#include "ring.h"

static struct dm_tier_image *image;

static int setup(void **state)
{
	image = dm_tier_image_alloc(100);
	assert_non_null(image);
	return 0;
}

static int teardown(void **state)
{
	dm_tier_image_free(image);
	return 0;
}

static void apply_slot(u32 device, u32 slot, u64 generation, u32 extent)
{
	const struct dm_tier_record rec = {
		.type = DM_TIER_REC_SLOT,
		.slot = { .device = device, .slot = slot, .generation = generation,
			  .extent = extent, .full = generation != 0 },
	};

	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
}

static void apply_volume(u32 id, u64 generation, u32 extents)
{
	const struct dm_tier_record rec = {
		.type = DM_TIER_REC_VOLUME,
		.volume = { .id = id, .generation = generation, .extents = extents },
	};

	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
}

static void apply_device(u32 idx, u8 uuid, u32 slots)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_DEVICE,
		.device = { .idx = idx, .slots = slots, .state = DM_TIER_DEV_ONLINE },
	};

	memset(rec.device.uuid, uuid, 16);
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
}

static void apply_pool(u64 next_generation)
{
	const struct dm_tier_record rec = {
		.type = DM_TIER_REC_POOL,
		.pool = { .next_generation = next_generation, .label_bytes = 4, .label = "name" },
	};

	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
}

static void apply_tombstone(u8 type, u32 key, u32 slot)
{
	struct dm_tier_record rec = { .type = type, .tombstone = true };

	if (type == DM_TIER_REC_SLOT) {
		rec.slot.device = key;
		rec.slot.slot = slot;
	} else if (type == DM_TIER_REC_VOLUME) {
		rec.volume.id = key;
	} else {
		rec.device.idx = key;
	}
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
}

/* What dm_tier_image_check() told. */
static u32 nr_faults[4], nr_stale;
static u32 last_device, last_slot;

static void on_stale(void *ctx, u32 device, u32 slot)
{
	/* Whose it was is still to be seen. */
	assert_int_not_equal(image->device[device].slot[slot].generation, 0);
	nr_stale++;
	last_device = device;
	last_slot = slot;
}

static void on_fault(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot)
{
	nr_faults[fault]++;
	last_device = device;
	last_slot = slot;
}

static int check(void)
{
	memset(nr_faults, 0, sizeof(nr_faults));
	nr_stale = 0;
	return dm_tier_image_check(image, on_stale, on_fault, NULL);
}

static void test_empty(void **state)
{
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 0);
	assert_int_equal(dm_tier_image_find_generation(image, 1), -ENOENT);
	dm_tier_image_free(NULL);
}

static void test_tombstones(void **state)
{
	/* Of keys that nobody knows. */
	apply_tombstone(DM_TIER_REC_SLOT, 3, 1000000);
	apply_tombstone(DM_TIER_REC_VOLUME, 4095, 0);
	apply_tombstone(DM_TIER_REC_DEVICE, 63, 0);
	assert_null(image->device[3].slot);
	assert_int_equal(check(), 0);

	apply_pool(10);
	apply_device(1, 1, 100);
	apply_volume(7, 5, 100);
	apply_slot(1, 8, 5, 0);
	apply_slot(1, 9, 5, 1);
	assert_int_equal(check(), 0);
	apply_tombstone(DM_TIER_REC_SLOT, 1, 8);
	assert_int_equal(image->device[1].slot[8].generation, 0);
	assert_int_equal(image->device[1].slot[9].generation, 5);
	apply_tombstone(DM_TIER_REC_VOLUME, 7, 0);
	assert_null(image->volume[7]);
	assert_int_equal(image->device[1].slot[9].generation, 5);
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 1);
	assert_int_equal(last_device, 1);
	assert_int_equal(last_slot, 9);
	assert_int_equal(image->device[1].slot[9].generation, 0);
}

static void test_device_reset(void **state)
{
	apply_pool(10);
	apply_volume(0, 5, 100);
	/* Slots may come before their device. */
	apply_slot(1, 8, 5, 0);
	apply_device(1, 1, 100);
	assert_int_equal(image->device[1].slot[8].generation, 5);
	/* The same uuid: more slots, another state; the slots stay. */
	apply_device(1, 1, 200);
	assert_int_equal(image->device[1].slot[8].generation, 5);
	assert_int_equal(image->device[1].slots, 200);
	/* Another uuid: another device. */
	apply_device(1, 2, 50);
	assert_int_equal(image->device[1].nr_slot, 0);
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 0);

	apply_slot(1, 8, 5, 0);
	apply_tombstone(DM_TIER_REC_DEVICE, 1, 0);
	assert_false(image->device[1].present);
	assert_int_equal(image->device[1].nr_slot, 0);
	apply_device(1, 2, 50);
	assert_int_equal(image->device[1].nr_slot, 0);
}

static void test_bitmaps(void **state)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_SLOT,
		.slot = { .generation = 1, .valid = { 7 } },
	};
	const struct dm_tier_image_slot *slot;

	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	slot = &image->device[0].slot[0];
	assert_non_null(slot->valid);
	assert_int_equal(slot->valid[0], 7);
	assert_false(slot->full);
	/* All of its 100 regions, though not logged as full. */
	rec.slot.valid[0] = ~0ULL;
	rec.slot.valid[1] = (1ULL << 36) - 1;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_true(slot->full);
	assert_null(slot->valid);
	rec.slot.valid[0] = 0;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_false(slot->full);
	assert_int_equal(slot->valid[1], (1ULL << 36) - 1);
	/* Bits of regions that are not there. */
	rec.slot.valid[1] = 1ULL << 36;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	rec.slot.valid[1] = 0;
	rec.slot.valid[2] = 1;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	/* Nothing valid is not nothing: the extent has the slot. */
	rec.slot.valid[2] = 0;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_int_equal(slot->generation, 1);
	assert_int_equal(slot->valid[1], 0);
	rec.slot.full = true;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_null(slot->valid);
}

static void test_bitmap_of_1024(void **state)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_SLOT, .slot = { .generation = 1 } };

	image->regions = 1024;
	memset(rec.slot.valid, 0xff, sizeof(rec.slot.valid));
	rec.slot.valid[15] = 1;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_false(image->device[0].slot[0].full);
	rec.slot.valid[15] = ~0ULL;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_true(image->device[0].slot[0].full);
}

static void test_quarantine(void **state)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_SLOT, .slot = { .slot = 4, .quarantine = true },
	};
	const struct dm_tier_image_slot *slot;

	apply_device(0, 1, 4);
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	slot = &image->device[0].slot[4];
	assert_true(slot->quarantine);
	/* A free slot beyond the device is no fault. */
	assert_int_equal(check(), 0);

	/* It outlives its owner. */
	rec.slot.generation = 3;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_true(slot->quarantine);
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 1);
	assert_int_equal(slot->generation, 0);
	assert_null(slot->valid);
	assert_true(slot->quarantine);
	rec.slot.generation = 0;
	rec.slot.quarantine = false;
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	assert_false(slot->quarantine);
}

static void test_stale(void **state)
{
	apply_pool(10);
	apply_device(0, 1, 100);
	apply_volume(3, 9, 5);
	apply_slot(0, 0, 9, 4);
	apply_slot(0, 1, 9, 5);		/* beyond the volume */
	apply_slot(0, 2, 8, 0);		/* of nobody */
	apply_slot(0, 3, 8, 0);		/* twice of nobody is no fault */
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 3);
	assert_int_equal(image->device[0].slot[0].generation, 9);
	/* Nothing is left to say, also without callbacks. */
	assert_int_equal(check(), 0);
	assert_int_equal(nr_stale, 0);
	apply_slot(0, 5, 77, 0);
	assert_int_equal(dm_tier_image_check(image, NULL, NULL, NULL), 0);
	assert_int_equal(image->device[0].slot[5].generation, 0);
}

static void test_two_owners(void **state)
{
	apply_pool(10);
	apply_device(0, 1, 100);
	apply_device(5, 2, 100);
	apply_volume(3, 9, 50);
	apply_volume(4, 8, 50);
	for (u32 i = 0; i < 50; i++) {
		apply_slot(0, i, 9, i);
		apply_slot(5, i, 8, i);
	}
	assert_int_equal(check(), 0);
	apply_slot(5, 77, 9, 49);
	assert_int_equal(check(), 1);
	assert_int_equal(nr_faults[DM_TIER_FAULT_TWO_OWNERS], 1);
	assert_int_equal(last_device, 5);
	assert_int_equal(last_slot, 77);
	apply_slot(0, 99, 9, 49);
	assert_int_equal(check(), 2);
	assert_int_equal(dm_tier_image_check(image, NULL, NULL, NULL), 2);
}

/* Neither half of an owner is taken for the whole, however often they come. */
static void test_many_owners(void **state)
{
	apply_pool(100);
	for (u32 d = 0; d < 64; d++) {
		apply_device(d, 1 + d, 500);
		apply_volume(d, 1 + d, 500);
		for (u32 i = 0; i < 500; i++)
			apply_slot(d, i, 1 + d, i);
	}
	assert_int_equal(check(), 0);
	for (u32 d = 0; d < 64; d++)
		apply_slot(d, 0, 1 + d, 1 + 7 * d);
	assert_int_equal(check(), 64);
	assert_int_equal(nr_faults[DM_TIER_FAULT_TWO_OWNERS], 64);
}

static void test_slot_range(void **state)
{
	apply_pool(10);
	apply_device(0, 1, 100);
	apply_volume(3, 9, 50);
	apply_slot(0, 99, 9, 0);
	assert_int_equal(check(), 0);
	apply_slot(0, 100, 9, 1);
	assert_int_equal(check(), 1);
	assert_int_equal(nr_faults[DM_TIER_FAULT_SLOT_RANGE], 1);
	assert_int_equal(last_slot, 100);
	apply_device(0, 1, 101);
	assert_int_equal(check(), 0);
	apply_slot(63, 0, 9, 2);
	assert_int_equal(check(), 1);
	assert_int_equal(nr_faults[DM_TIER_FAULT_NO_DEVICE], 1);
	assert_int_equal(last_device, 63);
}

static void test_generations(void **state)
{
	apply_pool(10);
	apply_volume(3, 9, 50);
	apply_volume(2, 1, 50);
	apply_volume(1, 4, 50);
	/* Found with and without the index. */
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(dm_tier_image_find_generation(image, 9), 3);
		assert_int_equal(dm_tier_image_find_generation(image, 1), 2);
		assert_int_equal(dm_tier_image_find_generation(image, 4), 1);
		assert_int_equal(dm_tier_image_find_generation(image, 0), -ENOENT);
		assert_int_equal(dm_tier_image_find_generation(image, 5), -ENOENT);
		assert_int_equal(dm_tier_image_find_generation(image, 10), -ENOENT);
		assert_int_equal(check(), 0);
	}
	apply_volume(4, 10, 1);
	assert_int_equal(dm_tier_image_find_generation(image, 10), 4);
	assert_int_equal(check(), 1);
	assert_int_equal(nr_faults[DM_TIER_FAULT_GENERATION], 1);
	assert_int_equal(last_device, DM_TIER_MAX_DEVICES);
	assert_int_equal(last_slot, 4);
	apply_volume(4, 4, 1);
	assert_int_equal(check(), 1);
	assert_int_equal(nr_faults[DM_TIER_FAULT_GENERATION], 1);
	assert_int_equal(last_slot, 4);
}

static void test_bad_keys(void **state)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_SLOT };

	rec.slot.device = DM_TIER_MAX_DEVICES;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	rec.slot.device = 0;
	rec.slot.slot = DM_TIER_MAX_DEVICE_SLOTS;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	memset(&rec, 0, sizeof(rec));
	rec.type = DM_TIER_REC_VOLUME;
	rec.volume.id = DM_TIER_MAX_VOLUMES;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	rec.type = DM_TIER_REC_DEVICE;
	rec.device.idx = DM_TIER_MAX_DEVICES;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	memset(&rec, 0, sizeof(rec));
	rec.type = DM_TIER_REC_POOL;
	rec.tombstone = true;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	rec.tombstone = false;
	rec.pool.label_bytes = DM_TIER_MAX_LABEL + 1;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
	rec.type = 0;
	assert_int_equal(dm_tier_image_apply(image, &rec), -EBADMSG);
}

static void test_last_slot(void **state)
{
	apply_pool(10);
	apply_volume(3, 9, DM_TIER_MAX_VOLUME_EXTENTS);
	apply_device(63, 1, DM_TIER_MAX_DEVICE_SLOTS);
	apply_slot(63, DM_TIER_MAX_DEVICE_SLOTS - 1, 9, DM_TIER_MAX_VOLUME_EXTENTS - 1);
	assert_int_equal(check(), 0);
	assert_int_equal(image->device[63].nr_slot, DM_TIER_MAX_DEVICE_SLOTS);
	assert_int_equal(image->device[63].slot[DM_TIER_MAX_DEVICE_SLOTS - 1].generation, 9);
}

/* The model: the last record of every key, and slots reset with their device --------*/

#define M_DEVICES 4
#define M_SLOTS 50
#define M_VOLUMES 6
static const struct record_limits limits = { M_DEVICES, M_SLOTS, M_VOLUMES, 30, 9, 100 };

struct model {
	struct dm_tier_record slot[M_DEVICES][M_SLOTS], device[M_DEVICES], volume[M_VOLUMES];
	struct dm_tier_record pool;
};

static void model_apply(struct model *m, const struct dm_tier_record *rec)
{
	struct dm_tier_record *device;

	if (rec->type == DM_TIER_REC_SLOT) {
		m->slot[rec->slot.device][rec->slot.slot] = *rec;
	} else if (rec->type == DM_TIER_REC_VOLUME) {
		m->volume[rec->volume.id] = *rec;
	} else if (rec->type == DM_TIER_REC_POOL) {
		m->pool = *rec;
	} else {
		device = &m->device[rec->device.idx];
		if (rec->tombstone ||
		    (device->type && !device->tombstone &&
		     memcmp(device->device.uuid, rec->device.uuid, 16)))
			memset(m->slot[rec->device.idx], 0, sizeof(m->slot[0]));
		*device = *rec;
	}
}

static void expect_slot(const struct dm_tier_record *rec, u32 device, u32 nr)
{
	static const struct dm_tier_image_slot none;
	const struct dm_tier_image_device *d = &image->device[device];
	const struct dm_tier_image_slot *slot = nr < d->nr_slot ? &d->slot[nr] : &none;

	assert_int_equal(slot->generation, rec->slot.generation);
	assert_int_equal(slot->quarantine, rec->slot.quarantine);
	assert_int_equal(slot->extent, rec->slot.extent);
	assert_int_equal(slot->full, rec->slot.full);
	assert_int_equal(!!slot->valid, rec->slot.generation && !rec->slot.full);
	if (slot->valid)
		assert_memory_equal(slot->valid, rec->slot.valid, sizeof(rec->slot.valid));
}

static void expect_model(const struct model *m)
{
	for (u32 d = 0; d < M_DEVICES; d++) {
		const struct dm_tier_record *rec = &m->device[d];
		const struct dm_tier_image_device *device = &image->device[d];

		assert_int_equal(device->present, rec->type && !rec->tombstone);
		assert_int_equal(device->slots, rec->device.slots);
		assert_int_equal(device->tier, rec->device.tier);
		assert_int_equal(device->state, rec->device.state);
		assert_int_equal(device->reserve_slots, rec->device.reserve_slots);
		if (device->present)
			assert_memory_equal(device->uuid, rec->device.uuid, 16);
		for (u32 s = 0; s < M_SLOTS; s++)
			expect_slot(&m->slot[d][s], d, s);
	}
	for (u32 v = 0; v < M_VOLUMES; v++) {
		const struct dm_tier_record *rec = &m->volume[v];

		assert_int_equal(!!image->volume[v], rec->type && !rec->tombstone);
		if (image->volume[v])
			assert_true(record_equal(image->volume[v], rec));
	}
	assert_int_equal(image->next_generation, m->pool.pool.next_generation);
	assert_int_equal(image->pool_label_bytes, m->pool.pool.label_bytes);
	assert_memory_equal(image->pool_label, m->pool.pool.label, DM_TIER_MAX_LABEL);
}

static void test_random_against_model(void **state)
{
	static struct model m;
	struct dm_tier_record rec;
	struct rng rng = { 11 };

	for (u32 round = 0; round < 300; round++) {
		memset(&m, 0, sizeof(m));
		for (u32 i = rng_below(&rng, 400); i; i--) {
			record_random(&rng, &limits, &rec);
			assert_int_equal(dm_tier_image_apply(image, &rec), 0);
			model_apply(&m, &rec);
		}
		expect_model(&m);
		dm_tier_image_free(image);
		setup(NULL);
	}
}

/* Records of different keys commute: a checkpoint may hold them in any order. */
static void test_order(void **state)
{
	static struct model m;
	struct dm_tier_record recs[M_DEVICES * M_SLOTS + M_DEVICES + M_VOLUMES + 1], swap;
	struct rng rng = { 12 };

	for (u32 round = 0; round < 100; round++) {
		u32 n = 0;

		memset(&m, 0, sizeof(m));
		for (u32 i = 0; i < 500; i++) {
			record_random(&rng, &limits, &swap);
			model_apply(&m, &swap);
		}
		/* As a checkpoint: one record a key, no tombstones. */
		for (u32 i = 0; i < M_DEVICES * M_SLOTS; i++)
			if ((&m.slot[0][0])[i].type && !(&m.slot[0][0])[i].tombstone)
				recs[n++] = (&m.slot[0][0])[i];
		for (u32 i = 0; i < M_DEVICES; i++)
			if (m.device[i].type && !m.device[i].tombstone)
				recs[n++] = m.device[i];
		for (u32 i = 0; i < M_VOLUMES; i++)
			if (m.volume[i].type && !m.volume[i].tombstone)
				recs[n++] = m.volume[i];
		recs[n++] = m.pool;
		for (u32 i = n; i > 1; i--) {
			const u32 j = rng_below(&rng, i);

			swap = recs[i - 1];
			recs[i - 1] = recs[j];
			recs[j] = swap;
		}
		for (u32 i = 0; i < n; i++)
			assert_int_equal(dm_tier_image_apply(image, &recs[i]), 0);
		expect_model(&m);
		dm_tier_image_free(image);
		setup(NULL);
	}
}

/* Through blocks and a ring: what was committed is what is read, wherever it was cut. */
static int replay_apply(void *ctx, const struct dm_tier_record *rec)
{
	return dm_tier_image_apply(ctx, rec);
}

static void test_random_through_a_ring(void **state)
{
	static struct model m[31];
	struct dm_tier_record recs[60];
	struct rng rng = { 13 };

	for (u32 round = 0; round < 60; round++) {
		struct dm_tier_ckpt_ref ref;
		struct dm_tier_log_end end;
		struct ring ring;
		u64 start[30];
		u32 whole;

		ring_init(&ring, 300);
		ring.position = rng_below(&rng, 300);
		ref = ring_ref(&ring);
		memset(&m[0], 0, sizeof(m[0]));
		for (u32 c = 0; c < 30; c++) {
			const u32 n = rng_below(&rng, 60);

			m[c + 1] = m[c];
			for (u32 i = 0; i < n; i++) {
				record_random(&rng, &limits, &recs[i]);
				model_apply(&m[c + 1], &recs[i]);
			}
			start[c] = ring_commit(&ring, recs, n, 1, 0);
		}
		whole = rng_below(&rng, 31);
		for (u64 p = start[whole % 30]; whole < 30 && p % 300 != ring.position; p++)
			memset(ring_block(&ring, p), 0, 200);
		assert_int_equal(dm_tier_log_replay(ring.blocks, 300, ring.uuid, &ref, 0,
						    replay_apply, image, &end), 0);
		assert_int_equal(end.commit, whole);
		assert_false(end.damaged);
		expect_model(&m[whole]);
		ring_clear(&ring);
		dm_tier_image_free(image);
		setup(NULL);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_empty),
		T(test_tombstones),
		T(test_device_reset),
		T(test_bitmaps),
		T(test_bitmap_of_1024),
		T(test_quarantine),
		T(test_stale),
		T(test_two_owners),
		T(test_many_owners),
		T(test_slot_range),
		T(test_generations),
		T(test_bad_keys),
		T(test_last_slot),
		T(test_random_against_model),
		T(test_order),
		T(test_random_through_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
