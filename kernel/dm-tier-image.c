// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image: what the records of a checkpoint and a log add up to (contract in
 * dm-tier-format.h).  Records may come in any order of keys; what spans several
 * of them (owners, ranges) is judged only at the end, by dm_tier_image_check().
 *
 * Pure but for memory; also compiled in user space.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "dm-tier-format.h"

struct dm_tier_image *dm_tier_image_alloc(u32 regions)
{
	struct dm_tier_image *image;

	image = kvcalloc(1, sizeof(*image), GFP_KERNEL);
	if (image)
		image->regions = regions;
	return image;
}

static void drop_index(struct dm_tier_image *image)
{
	kvfree(image->by_generation);
	image->by_generation = NULL;
	image->nr_by_generation = 0;
}

static void drop_slots(struct dm_tier_image_device *device)
{
	u32 i;

	for (i = 0; i < device->nr_slot; i++)
		kfree(device->slot[i].valid);
	kvfree(device->slot);
	device->slot = NULL;
	device->nr_slot = 0;
}

void dm_tier_image_free(struct dm_tier_image *image)
{
	u32 i;

	if (!image)
		return;
	drop_index(image);
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		drop_slots(&image->device[i]);
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		kfree(image->volume[i]);
	kvfree(image);
}

/* Applying records ----------------------------------------------------------*/

/* Room for @slot; grown to what the device has, or else by doubling. */
static int grow_slots(struct dm_tier_image_device *device, u32 slot)
{
	struct dm_tier_image_slot *grown;
	u32 count = max(slot + 1, 2 * device->nr_slot);

	if (slot < device->slots)
		count = device->slots;
	count = min(count, DM_TIER_MAX_DEVICE_SLOTS);
	grown = kvcalloc(count, sizeof(*grown), GFP_KERNEL);
	if (!grown)
		return -ENOMEM;
	if (device->nr_slot)
		memcpy(grown, device->slot, device->nr_slot * sizeof(*grown));
	kvfree(device->slot);
	device->slot = grown;
	device->nr_slot = count;
	return 0;
}

/* The bits that a word of the bitmap may have. */
static u64 word_mask(u32 regions, u32 word)
{
	if (regions >= 64 * (word + 1))
		return ~0ULL;
	if (regions <= 64 * word)
		return 0;
	return (1ULL << (regions % 64)) - 1;
}

enum coverage { COVERAGE_BAD, COVERAGE_PARTIAL, COVERAGE_ALL };

static enum coverage bitmap_coverage(const u64 *valid, u32 regions)
{
	enum coverage coverage = COVERAGE_ALL;
	u32 i;

	for (i = 0; i < DM_TIER_BITMAP_WORDS; i++) {
		const u64 mask = word_mask(regions, i);

		if (valid[i] & ~mask)
			return COVERAGE_BAD;
		if (valid[i] != mask)
			coverage = COVERAGE_PARTIAL;
	}
	return coverage;
}

static void reset_slot(struct dm_tier_image_slot *slot, bool quarantine)
{
	kfree(slot->valid);
	memset(slot, 0, sizeof(*slot));
	slot->quarantine = quarantine;
}

static int apply_owned_slot(struct dm_tier_image *image, struct dm_tier_image_slot *slot,
			    const struct dm_tier_record *rec)
{
	bool full = rec->slot.full;

	if (!full) {
		const enum coverage coverage = bitmap_coverage(rec->slot.valid, image->regions);

		if (coverage == COVERAGE_BAD)
			return -EBADMSG;
		full = coverage == COVERAGE_ALL;
	}
	if (full) {
		kfree(slot->valid);
		slot->valid = NULL;
	} else {
		if (!slot->valid)
			slot->valid = kcalloc(DM_TIER_BITMAP_WORDS, sizeof(u64), GFP_KERNEL);
		if (!slot->valid)
			return -ENOMEM;
		memcpy(slot->valid, rec->slot.valid, sizeof(rec->slot.valid));
	}
	slot->generation = rec->slot.generation;
	slot->extent = rec->slot.extent;
	slot->full = full;
	slot->quarantine = rec->slot.quarantine;
	return 0;
}

static int apply_slot(struct dm_tier_image *image, const struct dm_tier_record *rec)
{
	struct dm_tier_image_device *device;
	const u32 nr = rec->slot.slot;
	int r;

	if (rec->slot.device >= DM_TIER_MAX_DEVICES || nr >= DM_TIER_MAX_DEVICE_SLOTS)
		return -EBADMSG;
	device = &image->device[rec->slot.device];

	/* What is free and sound needs no entry, so it makes none. */
	if (rec->tombstone || (!rec->slot.generation && !rec->slot.quarantine)) {
		if (nr < device->nr_slot)
			reset_slot(&device->slot[nr], false);
		return 0;
	}
	if (nr >= device->nr_slot) {
		r = grow_slots(device, nr);
		if (r)
			return r;
	}
	if (!rec->slot.generation) {
		reset_slot(&device->slot[nr], true);
		return 0;
	}
	return apply_owned_slot(image, &device->slot[nr], rec);
}

static int apply_volume(struct dm_tier_image *image, const struct dm_tier_record *rec)
{
	struct dm_tier_record **volume;

	if (rec->volume.id >= DM_TIER_MAX_VOLUMES)
		return -EBADMSG;
	volume = &image->volume[rec->volume.id];
	drop_index(image);
	if (rec->tombstone) {
		kfree(*volume);
		*volume = NULL;
		return 0;
	}
	if (!*volume)
		*volume = kcalloc(1, sizeof(**volume), GFP_KERNEL);
	if (!*volume)
		return -ENOMEM;
	**volume = *rec;
	return 0;
}

static int apply_device(struct dm_tier_image *image, const struct dm_tier_record *rec)
{
	struct dm_tier_image_device *device;

	if (rec->device.idx >= DM_TIER_MAX_DEVICES)
		return -EBADMSG;
	device = &image->device[rec->device.idx];

	if (rec->tombstone) {
		drop_slots(device);
		memset(device, 0, sizeof(*device));
		return 0;
	}
	/*
	 * Slots that came before the first record of their device stay: a
	 * checkpoint has its records in any order.
	 */
	if (device->present && memcmp(device->uuid, rec->device.uuid, sizeof(device->uuid)))
		drop_slots(device);
	device->present = true;
	device->tier = rec->device.tier;
	device->slots = rec->device.slots;
	device->state = rec->device.state;
	device->reserve_slots = rec->device.reserve_slots;
	memcpy(device->uuid, rec->device.uuid, sizeof(device->uuid));
	return 0;
}

static int apply_pool(struct dm_tier_image *image, const struct dm_tier_record *rec)
{
	if (rec->tombstone || rec->pool.label_bytes > DM_TIER_MAX_LABEL)
		return -EBADMSG;
	image->next_generation = rec->pool.next_generation;
	image->pool_label_bytes = rec->pool.label_bytes;
	memset(image->pool_label, 0, sizeof(image->pool_label));
	memcpy(image->pool_label, rec->pool.label, rec->pool.label_bytes);
	return 0;
}

int dm_tier_image_apply(struct dm_tier_image *image, const struct dm_tier_record *rec)
{
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		return apply_slot(image, rec);
	case DM_TIER_REC_VOLUME:
		return apply_volume(image, rec);
	case DM_TIER_REC_DEVICE:
		return apply_device(image, rec);
	case DM_TIER_REC_POOL:
		return apply_pool(image, rec);
	}
	return -EBADMSG;
}

/* Checking the whole ---------------------------------------------------------*/

struct check {
	struct dm_tier_image *image;
	void (*stale)(void *ctx, u32 device, u32 slot);
	void (*fault)(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot);
	void *ctx;
	int faults;
	u32 *seen;		/* hash of owned slots by (generation, extent) */
	u32 seen_mask;
};

static void report(struct check *c, enum dm_tier_fault fault, u32 device, u32 slot)
{
	if (c->faults < INT_MAX)
		c->faults++;
	if (c->fault)
		c->fault(c->ctx, fault, device, slot);
}

static int compare_generations(const void *a, const void *b)
{
	const struct dm_tier_image_generation *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static int build_index(struct dm_tier_image *image)
{
	u32 i, count = 0;

	drop_index(image);
	/* One more than needed, so that a pool without volumes has an index too. */
	image->by_generation = kvcalloc(DM_TIER_MAX_VOLUMES + 1, sizeof(*image->by_generation),
					GFP_KERNEL);
	if (!image->by_generation)
		return -ENOMEM;
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++) {
		if (!image->volume[i])
			continue;
		image->by_generation[count].generation = image->volume[i]->volume.generation;
		image->by_generation[count++].id = i;
	}
	image->nr_by_generation = count;
	sort(image->by_generation, count, sizeof(*image->by_generation), compare_generations,
	     NULL);
	return 0;
}

int dm_tier_image_find_generation(const struct dm_tier_image *image, u64 generation)
{
	u32 low = 0, high = image->nr_by_generation, i;

	if (!image->by_generation) {
		for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
			if (image->volume[i] &&
			    image->volume[i]->volume.generation == generation)
				return i;
		return -ENOENT;
	}
	while (low < high) {
		i = low + (high - low) / 2;
		if (image->by_generation[i].generation < generation)
			low = i + 1;
		else
			high = i;
	}
	if (low < image->nr_by_generation && image->by_generation[low].generation == generation)
		return image->by_generation[low].id;
	return -ENOENT;
}

static void check_generations(struct check *c)
{
	const struct dm_tier_image_generation *g = c->image->by_generation;
	u32 i;

	for (i = 0; i < c->image->nr_by_generation; i++)
		if (g[i].generation >= c->image->next_generation ||
		    (i && g[i].generation == g[i - 1].generation))
			report(c, DM_TIER_FAULT_GENERATION, DM_TIER_MAX_DEVICES, g[i].id);
}

/* Frees what no volume owns; returns how many slots are owned after all. */
static u64 free_stale(struct check *c)
{
	u64 owned = 0;
	u32 d, s;

	for (d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		struct dm_tier_image_device *device = &c->image->device[d];

		for (s = 0; s < device->nr_slot; s++) {
			struct dm_tier_image_slot *slot = &device->slot[s];
			int id;

			if (!slot->generation)
				continue;
			id = dm_tier_image_find_generation(c->image, slot->generation);
			if (id >= 0 && slot->extent < c->image->volume[id]->volume.extents) {
				owned++;
				continue;
			}
			if (c->stale)
				c->stale(c->ctx, d, s);
			reset_slot(slot, slot->quarantine);
		}
	}
	return owned;
}

/* Entries of the hash: device and slot in 30 bits, plus 1, so that 0 is empty. */
static const struct dm_tier_image_slot *seen_slot(const struct check *c, u32 entry)
{
	const u32 device = (entry - 1) / DM_TIER_MAX_DEVICE_SLOTS;

	return &c->image->device[device].slot[(entry - 1) % DM_TIER_MAX_DEVICE_SLOTS];
}

/* Was there a slot with this owner before? */
static bool owner_seen(struct check *c, u32 d, u32 s)
{
	const struct dm_tier_image_slot *slot = &c->image->device[d].slot[s], *other;
	/* Any odd constants with their bits well spread. */
	u64 hash = (slot->generation * 0x9e3779b97f4a7c15ULL) ^
		   (slot->extent * 0xc2b2ae3d27d4eb4fULL);
	u32 at = (hash ^ (hash >> 32)) & c->seen_mask;

	for (; c->seen[at]; at = (at + 1) & c->seen_mask) {
		other = seen_slot(c, c->seen[at]);
		if (other->generation == slot->generation && other->extent == slot->extent)
			return true;
	}
	c->seen[at] = d * DM_TIER_MAX_DEVICE_SLOTS + s + 1;
	return false;
}

static void check_slots(struct check *c)
{
	u32 d, s;

	for (d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		const struct dm_tier_image_device *device = &c->image->device[d];

		for (s = 0; s < device->nr_slot; s++) {
			if (!device->slot[s].generation)
				continue;
			if (!device->present)
				report(c, DM_TIER_FAULT_NO_DEVICE, d, s);
			else if (s >= device->slots)
				report(c, DM_TIER_FAULT_SLOT_RANGE, d, s);
			if (owner_seen(c, d, s))
				report(c, DM_TIER_FAULT_TWO_OWNERS, d, s);
		}
	}
}

int dm_tier_image_check(struct dm_tier_image *image,
			void (*stale)(void *ctx, u32 device, u32 slot),
			void (*fault)(void *ctx, enum dm_tier_fault fault,
				      u32 device, u32 slot),
			void *ctx)
{
	struct check c = { .image = image, .stale = stale, .fault = fault, .ctx = ctx };
	u64 owned, size;
	int r;

	r = build_index(image);
	if (r)
		return r;
	check_generations(&c);
	owned = free_stale(&c);

	/* At most half full: short chains, and always an empty entry to end on. */
	size = roundup_pow_of_two(2 * owned + 2);
	c.seen_mask = size - 1;
	c.seen = kvcalloc(size, sizeof(*c.seen), GFP_KERNEL);
	if (!c.seen)
		return -ENOMEM;
	check_slots(&c);
	kvfree(c.seen);
	return c.faults;
}
