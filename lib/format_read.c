// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a pool's metadata as the kernel would load it: the newest superblock,
 * its checkpoint, the log behind it. Nothing is written, so a live pool can be
 * read too; what it writes meanwhile shows as another checkpoint or as a hole in
 * the log, and then we look again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "dm-tier-args.h"
#include "format_meta.h"
#include "name.h"
#include "policy.h"
#include "util.h"

#define TRIES		5
#define CHUNK_BLOCKS	1024		/* of a checkpoint, read at once */

static int apply(void *ctx, const struct dm_tier_record *rec)
{
	return dm_tier_image_apply(ctx, rec);
}

static int apply_block(struct dm_tier_image *image, const void *block)
{
	struct dm_tier_record rec;
	u32 offset = 0;
	int r;

	while ((r = dm_tier_block_next(block, &offset, &rec)) > 0) {
		r = dm_tier_image_apply(image, &rec);
		if (r)
			return r;
	}
	return r;
}

/* -EBADMSG: a block of it is not what it should be. */
static int read_checkpoint(int fd, const struct dm_tier_super *super,
			   const struct dm_tier_ckpt_ref *ref, struct dm_tier_image *image)
{
	const u64 start = dm_tier_area_start(super, ref->area);
	_cleanup_free_ u8 *blocks = tier_format_alloc_blocks(min_t(u64, ref->blocks, CHUNK_BLOCKS));
	int r;

	if (!blocks)
		return -ENOMEM;
	for (u64 at = 0; at < ref->blocks; at += CHUNK_BLOCKS) {
		const u64 count = min_t(u64, ref->blocks - at, CHUNK_BLOCKS);

		r = tier_format_read_blocks(fd, start + at, count, blocks);
		if (r)
			return r;
		for (u64 i = 0; i < count; i++) {
			const u8 *block = blocks + i * DM_TIER_BLOCK_BYTES;

			r = dm_tier_ckpt_decode(block, super->uuid, ref->id, at + i);
			if (!r)
				r = apply_block(image, block);
			if (r)
				return r;
		}
	}
	return 0;
}

static void on_stale(void *ctx, u32 device, u32 slot)
{
	struct tier_meta *meta = ctx;

	meta->nr_stale++;
}

static void on_fault(void *ctx, enum dm_tier_fault fault, u32 device, u32 slot)
{
	struct tier_meta *meta = ctx;
	char *text = meta->fault;
	const size_t size = sizeof(meta->fault);

	if (meta->nr_faults++)
		return;
	switch (fault) {
	case DM_TIER_FAULT_TWO_OWNERS:
		snprintf(text, size, "slot %u of device %u and another hold the same extent",
			 slot, device);
		return;
	case DM_TIER_FAULT_SLOT_RANGE:
		snprintf(text, size, "slot %u in use lies beyond the end of device %u", slot,
			 device);
		return;
	case DM_TIER_FAULT_NO_DEVICE:
		snprintf(text, size, "slot %u in use is of device %u, which there is not", slot,
			 device);
		return;
	case DM_TIER_FAULT_GENERATION:
		snprintf(text, size, "the generation of volume %u is wrong", slot);
		return;
	}
}

/*
 * From one checkpoint. Of what goes wrong only a checkpoint or records that
 * cannot be (-EBADMSG) let the older one be tried.
 */
static int load_checkpoint(int fd, struct tier_meta *meta, u32 index, const void *ring)
{
	const struct dm_tier_super *super = &meta->super.super;
	const struct dm_tier_ckpt_ref *ref = &super->ckpt[index];
	int r;

	if (!ref->id)
		return -EBADMSG;
	dm_tier_image_free(meta->image);
	meta->image = dm_tier_image_alloc(super->extent_sectors / super->region_sectors);
	if (!meta->image)
		return -ENOMEM;
	r = read_checkpoint(fd, super, ref, meta->image);
	if (r)
		return r;
	r = dm_tier_log_replay(ring, super->log_blocks, super->uuid, ref, super->final_seq,
			       apply, meta->image, &meta->end);
	if (r)
		return r;
	meta->ckpt = index;
	return 0;
}

/* Once, whatever a live pool does. */
static int read_once(int fd, struct tier_meta *meta)
{
	_cleanup_free_ void *ring = NULL;
	int r;

	r = tier_format_read_super(fd, &meta->super);
	if (r)
		return r;
	ring = tier_format_alloc_blocks(meta->super.super.log_blocks);
	if (!ring)
		return -ENOMEM;
	r = tier_format_read_blocks(fd, dm_tier_log_start(&meta->super.super),
				    meta->super.super.log_blocks, ring);
	if (r)
		return r;
	r = load_checkpoint(fd, meta, 0, ring);
	if (r == -EBADMSG)
		r = load_checkpoint(fd, meta, 1, ring);
	if (r)
		return r == -EBADMSG ? -EUCLEAN : r;

	meta->nr_stale = 0;
	meta->nr_faults = 0;
	r = dm_tier_image_check(meta->image, on_stale, on_fault, meta);
	return r < 0 ? r : 0;
}

static bool is_sound(const struct tier_meta *meta)
{
	return !meta->ckpt && !meta->end.damaged && !meta->nr_faults;
}

/* Did the pool write a checkpoint meanwhile? */
static bool super_changed(int fd, const struct tier_meta *meta)
{
	struct tier_format_super now;

	return tier_format_read_super(fd, &now) ||
	       now.super.version != meta->super.super.version ||
	       memcmp(now.super.uuid, meta->super.super.uuid, sizeof(now.super.uuid));
}

static int explain(int error, char *cause)
{
	switch (error) {
	case -EBADMSG:
		return tier_cause(cause, error, "no metadata of a pool");
	case -EPROTONOSUPPORT:
		return tier_cause(cause, error,
				  "metadata of a format that only a newer dm-tier knows");
	case -EINVAL:
		return tier_cause(cause, error, "a superblock with senseless sizes");
	case -EUCLEAN:
		return tier_cause(cause, error, "neither checkpoint can be used");
	case -ENXIO:
		return tier_cause(cause, error, "the device is smaller than its metadata");
	case -EAGAIN:
		return tier_cause(cause, error, "the pool wrote too fast to be read");
	}
	return tier_cause(cause, error, "%s", strerror(-error));
}

static void cleanup_meta(struct tier_meta **meta)
{
	tier_meta_free(*meta);
}

int tier_meta_read(int fd, struct tier_meta **ret_meta, char *ret_cause)
{
	_cleanup_(cleanup_meta) struct tier_meta *meta = calloc(1, sizeof(*meta));
	bool changed = true;
	int r = 0;

	if (!meta)
		return explain(-ENOMEM, ret_cause);
	for (int tries = 0; tries < TRIES; tries++) {
		r = read_once(fd, meta);
		changed = !r && super_changed(fd, meta);
		if (!r && !changed && is_sound(meta))
			break;
		/* Nothing that a writer could have caused. */
		if (r && r != -EUCLEAN)
			break;
	}
	if (!r && changed)
		r = -EAGAIN;
	if (r)
		return explain(r, ret_cause);
	*ret_meta = meta;
	meta = NULL;
	return 0;
}

void tier_meta_free(struct tier_meta *meta)
{
	if (!meta)
		return;
	dm_tier_image_free(meta->image);
	free(meta);
}

/* Telling -----------------------------------------------------------------------*/

static void tell_damage(const struct tier_meta *meta, char *damage)
{
	if (meta->end.damaged)
		tier_cause(damage, 0, "commit %llu is missing in the log, though a later one was written",
			   meta->end.damage_commit);
	else if (meta->nr_faults)
		tier_cause(damage, 0, "%s%s", meta->fault,
			   meta->nr_faults > 1 ? " (and more faults)" : "");
	else if (meta->super.unreadable)
		tier_cause(damage, 0, "one of the two superblocks cannot be read");
}

void tier_meta_facts(const struct tier_meta *meta, struct tier_meta_facts *ret_facts)
{
	const struct dm_tier_super *super = &meta->super.super;
	struct tier_meta_facts facts = {
		.commit = meta->end.commit,
		.incarnation = meta->end.max_incarnation,
		.clean = super->flags & DM_TIER_SUPER_CLEAN,
	};

	memcpy(facts.uuid, super->uuid, 16);
	memcpy(facts.system_id, super->system_id, 16);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		facts.slots += meta->image->device[i].slots;
	tell_damage(meta, facts.damage);
	facts.needs_check = facts.damage[0];
	*ret_facts = facts;
}

/* Labels may hold any byte but NUL; from here on they are text. */
static void copy_label(const char *label, u8 bytes, char *ret_text)
{
	memcpy(ret_text, label, bytes);
	ret_text[bytes] = '\0';
}

static enum tier_device_state device_state(u32 state)
{
	switch (state) {
	case DM_TIER_DEV_NEW:
		return TIER_DEVICE_NEW;
	case DM_TIER_DEV_ONLINE:
		return TIER_DEVICE_ONLINE;
	case DM_TIER_DEV_DRAINING:
		return TIER_DEVICE_DRAINING;
	}
	return TIER_DEVICE_LOST;
}

static void fill_device(const struct dm_tier_image_device *from, u32 idx,
			struct tier_device_info *to)
{
	to->idx = idx;
	dm_tier_format_uuid(from->uuid, to->uuid);
	to->tier = from->tier;
	to->state = device_state(from->state);
	to->total_slots = from->slots;
	for (u32 s = 0; s < from->nr_slot; s++) {
		to->used_slots += from->slot[s].generation != 0;
		to->quarantined_slots += !from->slot[s].generation && from->slot[s].quarantine;
	}
}

static void fill_volume(const struct dm_tier_record *rec, u64 extent_sectors,
			struct tier_volume_info *to)
{
	to->id = rec->volume.id;
	dm_tier_format_uuid(rec->volume.uuid, to->uuid);
	to->generation = rec->volume.generation;
	to->sectors = rec->volume.extents * extent_sectors;
	to->placement.is_auto = !rec->volume.tiers;
	to->placement.nr_tiers = rec->volume.tiers;
	memcpy(to->placement.tiers, rec->volume.placement, rec->volume.tiers);
	copy_label(rec->volume.label, rec->volume.label_bytes, to->label);
}

/* Volumes lie in ascending id, as the image has them. */
static void count_extents(const struct dm_tier_image *image, struct tier_pool_info *info)
{
	u32 place[DM_TIER_MAX_VOLUMES], n = 0;

	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		place[i] = image->volume[i] ? n++ : 0;
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		const struct dm_tier_image_device *device = &image->device[d];

		for (u32 s = 0; s < device->nr_slot; s++) {
			int id;

			if (!device->slot[s].generation)
				continue;
			id = dm_tier_image_find_generation(image, device->slot[s].generation);
			if (id >= 0)
				info->volumes[place[id]].allocated_extents++;
		}
	}
}

static void fill_info(const struct tier_meta *meta, struct tier_pool_info *info)
{
	const struct dm_tier_image *image = meta->image;
	char label[TIER_LABEL_SIZE], name[TIER_NAME_SIZE];

	dm_tier_format_uuid(meta->super.super.uuid, info->uuid);
	copy_label(image->pool_label, image->pool_label_bytes, label);
	/* One of others' making may hold anything. */
	if (tier_label_value(label, "name", name, sizeof(name)) > 0 && !tier_name_check(name, NULL))
		memcpy(info->name, name, sizeof(name));
	else
		memcpy(info->name, info->uuid, sizeof(info->uuid));
	info->extent_sectors = meta->super.super.extent_sectors;
	info->region_sectors = meta->super.super.region_sectors;
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (image->device[i].present)
			fill_device(&image->device[i], i, &info->devices[info->nr_devices++]);
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		if (image->volume[i])
			fill_volume(image->volume[i], info->extent_sectors,
				    &info->volumes[info->nr_volumes++]);
	count_extents(image, info);
}

int tier_meta_pool_info(const struct tier_meta *meta, struct tier_pool_info *ret_info)
{
	struct tier_pool_info info = { .mode = TIER_POOL_RW };
	struct tier_meta_facts facts;
	u32 nr_volumes = 0;

	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		nr_volumes += meta->image->volume[i] != NULL;
	info.devices = calloc(DM_TIER_MAX_DEVICES, sizeof(*info.devices));
	info.volumes = calloc(nr_volumes + 1, sizeof(*info.volumes));
	if (!info.devices || !info.volumes) {
		tier_pool_info_clear(&info);
		return -ENOMEM;
	}
	tier_meta_facts(meta, &facts);
	info.needs_check = facts.needs_check;
	fill_info(meta, &info);
	*ret_info = info;
	return 0;
}

const uint8_t *tier_meta_device_uuid(const struct tier_meta *meta, uint32_t idx)
{
	return meta->image->device[idx].uuid;
}
