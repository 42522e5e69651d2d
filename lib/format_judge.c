// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all records of a pool add up to, judged: owners, ranges, generations,
 * UUIDs, and whether it would fit a checkpoint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "dm-tier-args.h"
#include "format_check.h"
#include "policy.h"

const char *tier_content_volume(const struct dm_tier_image *image, u32 id, char *ret_text,
				size_t size)
{
	char label[TIER_LABEL_SIZE], name[TIER_NAME_SIZE], word[DM_TIER_ENCODED_CHARS];
	const struct dm_tier_record *rec = image->volume[id];

	snprintf(ret_text, size, "volume %u", id);
	if (!rec)
		return ret_text;
	memcpy(label, rec->volume.label, rec->volume.label_bytes);
	label[rec->volume.label_bytes] = '\0';
	/* Labels come off the disk and go to a terminal. */
	if (tier_label_value(label, "name", name, sizeof(name)) > 0 && strlen(name) < 100) {
		dm_tier_encode_text(name, strlen(name), word);
		snprintf(ret_text, size, "volume %u (%s)", id, word);
	}
	return ret_text;
}

static void on_stale(void *ctx, u32 device, u32 slot)
{
	struct tier_checker *c = ctx;
	const struct dm_tier_image_slot *s = &c->image->device[device].slot[slot];

	c->stale++;
	if (s->generation >= c->image->next_generation)
		damage(c, GENERATION, "slot %u of device %u is of volume generation %llu, which was not given yet",
		       slot, device, (u64)s->generation);
}

static void on_fault(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot)
{
	struct tier_checker *c = ctx;
	char volume[100];
	u64 extent = 0;
	int id = slot;

	if (device < DM_TIER_MAX_DEVICES) {
		const struct dm_tier_image_slot *s = &c->image->device[device].slot[slot];

		id = dm_tier_image_find_generation(c->image, s->generation);
		extent = s->extent;
	}
	tier_content_volume(c->image, id, volume, sizeof(volume));
	switch (fault) {
	case DM_TIER_FAULT_TWO_OWNERS:
		damage(c, OWNERS, "extent %llu of %s is in slot %u of device %u and in another slot",
		       extent, volume, slot, device);
		return;
	case DM_TIER_FAULT_SLOT_RANGE:
		damage(c, SLOT_RANGE, "extent %llu of %s is in slot %u of device %u, which has only %u slots",
		       extent, volume, slot, device, c->image->device[device].slots);
		return;
	case DM_TIER_FAULT_NO_DEVICE:
		damage(c, NO_DEVICE, "extent %llu of %s is in slot %u of device %u, of which there is no record",
		       extent, volume, slot, device);
		return;
	case DM_TIER_FAULT_GENERATION:
		damage(c, GENERATION, "the generation of %s is another volume's or was not given yet",
		       volume);
		return;
	}
}

static void check_uuids(struct tier_checker *c)
{
	const struct dm_tier_image *image = c->image;

	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		for (u32 k = 0; k < i && image->device[i].present; k++)
			if (image->device[k].present &&
			    !memcmp(image->device[i].uuid, image->device[k].uuid, 16))
				damage(c, UUID, "devices %u and %u have the same UUID", k, i);
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		for (u32 k = 0; k < i && image->volume[i]; k++)
			if (image->volume[k] && !memcmp(image->volume[i]->volume.uuid,
							image->volume[k]->volume.uuid, 16))
				damage(c, UUID, "volumes %u and %u have the same UUID", k, i);
}

static void check_quarantine(struct tier_checker *c)
{
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		const struct dm_tier_image_device *device = &c->image->device[d];

		for (u32 s = device->slots; s < device->nr_slot; s++)
			if (device->slot[s].quarantine && !device->slot[s].generation)
				damage(c, SLOT_RANGE, "slot %u in quarantine of device %u, which has only %u slots",
				       s, d, device->slots);
	}
}

static int compare_dropped(const void *a, const void *b)
{
	const struct tier_check_dropped *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return (x->extent > y->extent) - (x->extent < y->extent);
}

/* One extent that was dropped twice is judged by whichever is found. */
static void forget_owned(struct tier_checker *c)
{
	qsort(c->dropped, c->nr_dropped, sizeof(*c->dropped), compare_dropped);
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		const struct dm_tier_image_device *device = &c->image->device[d];

		for (u32 s = 0; s < device->nr_slot; s++) {
			const struct tier_check_dropped key = {
				.extent = device->slot[s].extent,
				.generation = device->slot[s].generation,
			};
			struct tier_check_dropped *found = !key.generation ? NULL :
				bsearch(&key, c->dropped, c->nr_dropped, sizeof(key),
					compare_dropped);

			if (found)
				found->is_owned = true;
		}
	}
}

static void check_dropped(struct tier_checker *c)
{
	u64 lost[DM_TIER_MAX_DEVICES] = { 0 };

	if (!c->nr_dropped)
		return;
	forget_owned(c);
	for (size_t i = 0; i < c->nr_dropped; i++) {
		const struct tier_check_dropped *d = &c->dropped[i];
		const int id = dm_tier_image_find_generation(c->image, d->generation);

		if (id >= 0 && d->extent < c->image->volume[id]->volume.extents &&
		    !d->is_owned)
			lost[d->device]++;
	}
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (lost[i])
			damage(c, DROPPED, "device %u was taken out of the pool with %llu extents in use",
			       i, lost[i]);
}

static void check_area(struct tier_checker *c)
{
	const struct dm_tier_image *image = c->image;
	u32 volumes = 0, devices = 0;
	u64 slots = 0, needed;

	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		devices += image->device[i].present;
		slots += image->device[i].slots;
	}
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		volumes += image->volume[i] != NULL;
	needed = dm_tier_area_blocks_needed(slots, image->regions, volumes, devices);
	if (needed > c->survey.super.area_blocks)
		damage(c, AREA, "a checkpoint may need %llu blocks, its area has %llu", needed,
		       (u64)c->survey.super.area_blocks);
}

int tier_check_image(struct tier_checker *c)
{
	int r;

	if (!c->seen_pool)
		damage(c, NO_POOL, "there is no record of the pool itself");
	r = dm_tier_image_check(c->image, on_stale, on_fault, c);
	if (r < 0)
		return r;
	check_uuids(c);
	check_quarantine(c);
	check_dropped(c);
	check_area(c);
	return 0;
}
