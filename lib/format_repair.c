// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting a pool's state together from what is left of its metadata. Records are
 * full after-images, so whatever is left is right in itself, as of its time: the
 * blocks of checkpoints and the commits are laid over each other in the order of
 * time. Of each record it is remembered when it is of, to decide what contradicts
 * itself and to say what may be old.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "format_repair.h"
#include "util.h"

#define CHUNK_BLOCKS	256

static void repair_clear(struct repair *r)
{
	tier_survey_clear(&r->survey);
	tier_content_free(r->content);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		free(r->slot_stamp[i]);
	free(r->blocks);
	free(r->commits);
	free(r->displaced);
	free(r->dead);
}

/* Records -----------------------------------------------------------------------*/

static struct dm_tier_image_slot *slot_of(const struct repair *r, u32 device, u32 slot)
{
	struct dm_tier_image_device *d = &r->content->image->device[device];

	return slot < d->nr_slot ? &d->slot[slot] : NULL;
}

/* Room for one more, doubling. */
static int grow(void *array, size_t nr, size_t size)
{
	void *grown;

	if (nr & (nr - 1))
		return 0;
	grown = reallocarray(*(void **)array, nr ? 2 * nr : 1, size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	return 0;
}

/* An owner that goes beyond a hole: it was discarded, or moved, and we do not know where. */
static int note_owner(struct repair *r, const struct dm_tier_record *rec, u64 stamp)
{
	const struct dm_tier_image_slot *slot = slot_of(r, rec->slot.device, rec->slot.slot);

	if (!slot || !slot->generation || !r->first_hole || stamp <= r->first_hole ||
	    (slot->generation == rec->slot.generation && slot->extent == rec->slot.extent))
		return 0;
	if (grow(&r->displaced, r->nr_displaced, sizeof(*r->displaced)))
		return -ENOMEM;
	r->displaced[r->nr_displaced++] = (struct repair_owner){
		.generation = slot->generation, .extent = slot->extent, .commit = stamp,
	};
	return 0;
}

static int note_volume(struct repair *r, const struct dm_tier_record *rec)
{
	const struct dm_tier_record *old = r->content->image->volume[rec->volume.id];

	if (!old || (!rec->tombstone && old->volume.generation == rec->volume.generation))
		return 0;
	if (grow(&r->dead, r->nr_dead, sizeof(*r->dead)))
		return -ENOMEM;
	r->dead[r->nr_dead++] = old->volume.generation;
	return 0;
}

/* A device is taken out only when it is empty; of that nothing is missing here. */
static bool is_false_end(const struct repair *r, const struct dm_tier_record *rec, u64 stamp)
{
	const struct dm_tier_image_device *device = &r->content->image->device[rec->device.idx];

	if (!rec->tombstone || r->is_incomplete || (r->first_hole && stamp > r->first_hole))
		return false;
	for (u32 s = 0; s < device->nr_slot; s++)
		if (device->slot[s].generation &&
		    dm_tier_image_find_generation(r->content->image,
						  device->slot[s].generation) >= 0)
			return true;
	return false;
}

static int set_slot_stamp(struct repair *r, u32 device, u32 slot, u64 stamp)
{
	const u32 nr = r->content->image->device[device].nr_slot;
	u64 *grown;

	if (slot >= nr)
		return 0;
	if (nr > r->nr_stamps[device]) {
		grown = calloc(nr, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		if (r->nr_stamps[device])
			memcpy(grown, r->slot_stamp[device],
			       r->nr_stamps[device] * sizeof(*grown));
		free(r->slot_stamp[device]);
		r->slot_stamp[device] = grown;
		r->nr_stamps[device] = nr;
	}
	r->slot_stamp[device][slot] = stamp;
	return 0;
}

static int before(struct repair *r, const struct dm_tier_record *rec, u64 stamp, bool *ret_skip)
{
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		return note_owner(r, rec, stamp);
	case DM_TIER_REC_VOLUME:
		return note_volume(r, rec);
	case DM_TIER_REC_DEVICE:
		*ret_skip = is_false_end(r, rec, stamp);
		if (*ret_skip)
			repair_say(r, MENDED, true, "commit %llu says that device %u is gone, but it is in use: not followed",
				   stamp, rec->device.idx);
		return 0;
	}
	return 0;
}

static int after(struct repair *r, const struct dm_tier_record *rec, u64 stamp)
{
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		return set_slot_stamp(r, rec->slot.device, rec->slot.slot, stamp);
	case DM_TIER_REC_VOLUME:
		r->volume_stamp[rec->volume.id] = stamp;
		return 0;
	case DM_TIER_REC_DEVICE:
		r->device_stamp[rec->device.idx] = stamp;
		return 0;
	}
	r->seen_pool = true;
	return 0;
}

/* Of this commit not all is known. */
static void note_gap(struct repair *r, u64 commit)
{
	if (!r->first_hole || commit < r->first_hole)
		r->first_hole = commit;
	r->last_hole = max(r->last_hole, commit);
}

/* The records up to one that cannot be. */
static int apply_block(struct repair *r, const void *block, u64 stamp, u64 number)
{
	struct dm_tier_record rec;
	u32 offset = 0;
	int ret;

	while ((ret = dm_tier_block_next(block, &offset, &rec)) > 0) {
		bool skip = false;

		ret = before(r, &rec, stamp, &skip);
		if (!ret && !skip)
			ret = dm_tier_image_apply(r->content->image, &rec);
		if (ret == -EBADMSG) {
			repair_say(r, LOST, true, "a record in block %llu, which cannot be", number);
			note_gap(r, stamp);
			continue;
		}
		if (!ret && !skip)
			ret = after(r, &rec, stamp);
		if (ret)
			return ret;
	}
	if (ret == -EBADMSG) {
		repair_say(r, LOST, true, "what follows a record in block %llu that cannot be", number);
		note_gap(r, stamp);
		return 0;
	}
	return ret;
}

/* Sources in the order of time ------------------------------------------------------*/

static int apply_checkpoint(struct repair *r, const struct repair_checkpoint *c)
{
	_cleanup_free_ u8 *blocks = tier_format_alloc_blocks(CHUNK_BLOCKS);
	int ret = 0;

	if (!blocks)
		return -ENOMEM;
	if (c->is_whole)
		repair_say(r, USED, false, "checkpoint %llu, which is whole", c->id);
	else
		repair_say(r, USED, true, "checkpoint %llu, of which %llu of %llu blocks are not valid",
			   c->id, c->bad, c->blocks);
	for (u64 at = 0; at < c->blocks && !ret; at += CHUNK_BLOCKS) {
		const u64 count = min_t(u64, CHUNK_BLOCKS, c->blocks - at);

		tier_survey_read(&r->survey, c->start + at, count, blocks);
		for (u64 i = 0; i < count && !ret; i++) {
			const u8 *block = blocks + i * DM_TIER_BLOCK_BYTES;

			if (!dm_tier_ckpt_decode(block, r->survey.super.uuid, c->id, at + i))
				ret = apply_block(r, block, c->seq, c->start + at + i);
		}
	}
	return ret;
}

static int apply_commit(struct repair *r, const struct repair_commit *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->nr && !ret; i++) {
		const u64 position = r->blocks[c->first + i].position;

		ret = apply_block(r, tier_survey_ring_block(&r->survey, position), c->commit,
				  dm_tier_log_start(&r->survey.super) + position);
	}
	return ret;
}

/*
 * The newest whole checkpoint, or of all the oldest, is where it begins; parts of
 * later ones are laid over what the log has up to them.
 */
static u32 choose_base(struct repair *r)
{
	u32 base;

	for (base = 0; base < r->nr_checkpoints; base++)
		if (r->checkpoint[base].is_whole)
			break;
	r->is_incomplete = base == r->nr_checkpoints;
	if (r->is_incomplete && base)
		base--;
	r->seq_known = r->survey.newest >= 0;
	r->base_seq = r->seq_known ? r->checkpoint[base].seq : 0;
	return base;
}

static int apply_all(struct repair *r, u32 base)
{
	u32 next = r->nr_checkpoints ? base + 1 : 0;
	u64 used = 0;
	int ret = 0;

	for (size_t i = 0; i <= r->nr_commits && !ret; i++) {
		const struct repair_commit *c = i < r->nr_commits ? &r->commits[i] : NULL;

		while (next && !ret && (!c || r->checkpoint[next - 1].seq < c->commit))
			ret = apply_checkpoint(r, &r->checkpoint[--next]);
		if (ret || !c || c->is_dropped)
			continue;
		ret = apply_commit(r, c);
		used++;
	}
	if (used)
		repair_say(r, USED, false, "%llu commits of the log, up to commit %llu", used,
			   r->last_commit);
	return ret;
}

static void note_numbers(struct repair *r)
{
	struct tier_content *content = r->content;

	for (size_t i = 0; i < r->nr_blocks; i++)
		content->incarnation = max(content->incarnation,
					   (u64)r->blocks[i].head.incarnation);
	for (u32 i = 0; i < r->nr_checkpoints; i++)
		content->ckpt_id = max(content->ckpt_id, r->checkpoint[i].id);
	content->version = r->survey.super.version;
}

static int open_survey(struct repair *r, int fd, char *cause)
{
	int ret = tier_survey_open(fd, &r->survey);

	if (ret)
		return ret;
	for (u32 nr = 0; nr < 2; nr++) {
		const struct tier_survey_place *place = &r->survey.place[nr];

		if (place->error == -EPROTONOSUPPORT)
			return tier_cause(cause, -EPROTONOSUPPORT,
					  "metadata of a format that only a newer dm-tier knows");
		if (place->error && r->survey.newest >= 0)
			repair_say(r, LOST, true, "the superblock in block %llu; the other one is used",
				   tier_format_super_block(nr));
	}
	if (r->survey.newest < 0)
		return tier_repair_make_super(r, cause);
	return 0;
}

static int repair(struct repair *r, int fd, char *cause)
{
	u32 base;
	int ret;

	ret = open_survey(r, fd, cause);
	if (!ret)
		ret = tier_survey_read_ring(&r->survey);
	if (!ret)
		ret = tier_repair_find_checkpoints(r);
	if (ret)
		return ret;
	base = choose_base(r);
	if (r->is_incomplete)
		repair_say(r, LOST, true, "no checkpoint is whole: what is not in the log either is not known");
	ret = tier_repair_find_blocks(r);
	if (!ret)
		ret = tier_repair_find_commits(r);
	if (ret)
		return ret;
	r->content = tier_content_new(&r->survey.super);
	if (!r->content)
		return -ENOMEM;
	note_numbers(r);
	ret = apply_all(r, base);
	if (!ret)
		ret = tier_repair_resolve(r);
	if (!ret)
		ret = tier_repair_tell_doubt(r);
	tier_find_unreadable(r->findings, &r->survey);
	return ret ?: r->findings->no_memory ? -ENOMEM : 0;
}

int tier_repair(int fd, const struct tier_repair_options *options,
		struct tier_findings *ret_findings, struct tier_content **ret_content,
		char *ret_cause)
{
	_cleanup_(tier_findings_clear) struct tier_findings findings = { 0 };
	_cleanup_(repair_clear) struct repair r = { .options = options, .findings = &findings };
	char cause[TIER_CAUSE_SIZE] = "";
	int ret = repair(&r, fd, cause);

	if (ret)
		return tier_cause(ret_cause, ret, "%s", *cause ? cause :
				  ret == -EUCLEAN ? "what is left contradicts itself" :
				  strerror(-ret));
	*ret_findings = findings;
	findings = (struct tier_findings){ 0 };
	*ret_content = r.content;
	r.content = NULL;
	return 0;
}
