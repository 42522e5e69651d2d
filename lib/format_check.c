// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checking a pool's metadata: everything that a load would read, and what it would
 * need if that were bad. The rules are those of the format's own code; what is
 * added is to say where, and to tell damage from what a crash leaves behind.
 *
 * A crash leaves: a last commit that is not whole; an older checkpoint that is
 * partly overwritten by the next one, and a log that does not reach back to it;
 * slots that nobody owns any more. Superblocks are one sector and can't be torn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "format_check.h"
#include "policy.h"
#include "util.h"

#define TRIES		5
#define CHUNK_BLOCKS	256
#define MAX_LISTED	10		/* blocks of one checkpoint */

static void check_clear(struct tier_checker *c)
{
	tier_survey_clear(&c->survey);
	dm_tier_image_free(c->image);
	free(c->dropped);
	*c = (struct tier_checker){ .survey = { .newest = -1 } };
}

/* Superblocks ------------------------------------------------------------------*/

static void check_place(struct tier_checker *c, u32 nr)
{
	const struct tier_survey_place *place = &c->survey.place[nr];
	const u64 block = tier_format_super_block(nr);

	switch (place->error) {
	case 0:
		return;
	case -EBADMSG:
		damage(c, SUPER, "the superblock in block %llu is %s; the other one is used",
		       block, place->blank ? "gone" : "not valid");
		return;
	case -EINVAL:
		damage(c, SUPER, "the superblock in block %llu has sizes or checkpoints that cannot be",
		       block);
		return;
	default:
		damage(c, UNREADABLE, "the superblock in block %llu cannot be read: %s", block,
		       strerror(-place->error));
	}
}

static void check_pair(struct tier_checker *c)
{
	const struct dm_tier_super *newer = &c->survey.super;
	const struct dm_tier_super *older = &c->survey.place[!c->survey.newest].super;

	if (memcmp(newer->uuid, older->uuid, sizeof(newer->uuid))) {
		damage(c, SUPERS_DIFFER, "the two superblocks are of different pools");
		return;
	}
	if (newer->extent_sectors != older->extent_sectors ||
	    newer->region_sectors != older->region_sectors ||
	    newer->logical_block_bytes != older->logical_block_bytes ||
	    newer->area_blocks != older->area_blocks || newer->log_blocks != older->log_blocks)
		damage(c, SUPERS_DIFFER, "the two superblocks have different sizes");
	if (newer->version == older->version)
		damage(c, SUPERS_DIFFER, "both superblocks have the version %llu", newer->version);
	if (newer->ckpt[0].id < older->ckpt[0].id || newer->ckpt[0].seq < older->ckpt[0].seq)
		damage(c, SUPERS_DIFFER, "the older superblock knows a newer checkpoint");
}

/* Whether there is a superblock to go on with. */
static bool check_supers(struct tier_checker *c)
{
	const struct tier_survey *s = &c->survey;
	const struct dm_tier_super *super = &s->super;

	if (s->newest < 0) {
		damage(c, NO_SUPER, "neither block %d nor block %d has a valid superblock: both are lost, or these are no metadata of a pool",
		       DM_TIER_SUPER_BLOCK_0, DM_TIER_SUPER_BLOCK_1);
		return false;
	}
	for (u32 nr = 0; nr < 2; nr++)
		check_place(c, nr);
	if (!s->place[!s->newest].error)
		check_pair(c);
	if (super->ckpt[0].seq > super->final_seq)
		damage(c, SUPER, "the superblock's checkpoint is of commit %llu, but only %llu were durable",
		       super->ckpt[0].seq, super->final_seq);
	if (dm_tier_super_blocks(super) > s->blocks) {
		damage(c, SIZE, "the metadata have %llu blocks of 4 KiB, the device only %llu",
		       dm_tier_super_blocks(super), s->blocks);
		return false;
	}
	return true;
}

/* Records ------------------------------------------------------------------------*/

static bool label_ok(const char *label, u32 bytes)
{
	return !memchr(label, 0, bytes);
}

/* What decodes and applies, and still cannot be. */
static const char *judge_record(const struct dm_tier_record *rec)
{
	if (rec->type == DM_TIER_REC_VOLUME && !rec->tombstone &&
	    !label_ok(rec->volume.label, rec->volume.label_bytes))
		return "a volume's label holds a zero byte";
	if (rec->type == DM_TIER_REC_POOL && !label_ok(rec->pool.label, rec->pool.label_bytes))
		return "the pool's label holds a zero byte";
	return NULL;
}

static bool is_there(const struct tier_checker *c, const struct dm_tier_record *rec)
{
	const struct dm_tier_image_device *device;

	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		device = &c->image->device[rec->slot.device];
		return rec->slot.slot < device->nr_slot &&
		       (device->slot[rec->slot.slot].generation ||
			device->slot[rec->slot.slot].quarantine);
	case DM_TIER_REC_VOLUME:
		return c->image->volume[rec->volume.id];
	case DM_TIER_REC_DEVICE:
		return c->image->device[rec->device.idx].present;
	}
	return c->seen_pool;
}

/* A checkpoint has what there is, once. */
static const char *judge_checkpoint_record(const struct tier_checker *c, const struct dm_tier_record *rec)
{
	if (rec->tombstone)
		return "a checkpoint has no tombstones";
	if (is_there(c, rec))
		return "a record is there twice";
	return judge_record(rec);
}

static int remember_dropped(struct tier_checker *c, u32 idx)
{
	const struct dm_tier_image_device *device = &c->image->device[idx];
	struct tier_check_dropped *grown;

	for (u32 s = 0; s < device->nr_slot; s++) {
		const struct dm_tier_image_slot *slot = &device->slot[s];

		if (!slot->generation ||
		    dm_tier_image_find_generation(c->image, slot->generation) < 0)
			continue;
		grown = realloc(c->dropped, (c->nr_dropped + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->dropped = grown;
		grown[c->nr_dropped++] = (struct tier_check_dropped){
			idx, slot->extent, slot->generation, false
		};
	}
	return 0;
}

/* A device goes only when it is empty; whether it was is known at the end. */
static int before_log_record(struct tier_checker *c, const struct dm_tier_record *rec)
{
	const struct dm_tier_image_device *device;

	if (rec->type != DM_TIER_REC_DEVICE)
		return 0;
	device = &c->image->device[rec->device.idx];
	if (!rec->tombstone && (!device->present || !memcmp(device->uuid, rec->device.uuid, 16)))
		return 0;
	return remember_dropped(c, rec->device.idx);
}

/* -EBADMSG: found and told. */
static int apply_block(struct tier_checker *c, const void *block, u64 number, bool is_log)
{
	struct dm_tier_record rec;
	const char *wrong;
	u32 offset = 0;
	int r;

	while ((r = dm_tier_block_next(block, &offset, &rec)) > 0) {
		wrong = is_log ? judge_record(&rec) : judge_checkpoint_record(c, &rec);
		if (wrong)
			damage(c, RECORD, "block %llu: %s", number, wrong);
		r = is_log ? before_log_record(c, &rec) : 0;
		if (!r)
			r = dm_tier_image_apply(c->image, &rec);
		if (r)
			break;
		c->seen_pool |= rec.type == DM_TIER_REC_POOL;
	}
	if (r == -EBADMSG)
		damage(c, RECORD, "block %llu has a record that cannot be", number);
	return r;
}

/* Checkpoints ----------------------------------------------------------------------*/

typedef int (*block_fn)(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref, const void *block,
			u64 index);

static int each_block(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref, u64 count, block_fn fn)
{
	const u64 start = dm_tier_area_start(&c->survey.super, ref->area);
	_cleanup_free_ u8 *blocks = tier_format_alloc_blocks(min_t(u64, count, CHUNK_BLOCKS));
	int r = 0;

	if (!blocks)
		return -ENOMEM;
	for (u64 at = 0; at < count && !r; at += CHUNK_BLOCKS) {
		const u64 part = min_t(u64, count - at, CHUNK_BLOCKS);

		tier_survey_read(&c->survey, start + at, part, blocks);
		for (u64 i = 0; i < part && !r; i++)
			r = fn(c, ref, blocks + i * DM_TIER_BLOCK_BYTES, at + i);
	}
	return r;
}

/* Into the image; all blocks are looked at, whatever the first is like. */
static int newest_block(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref, const void *block,
			u64 index)
{
	const u64 number = dm_tier_area_start(&c->survey.super, ref->area) + index;
	int r = dm_tier_ckpt_decode(block, c->survey.super.uuid, ref->id, index);

	if (r) {
		c->is_loaded = false;
		if (!tier_survey_is_bad(&c->survey, number))
			damage(c, CHECKPOINT, "block %llu, number %llu of %llu of checkpoint %llu, is not valid",
			       number, index + 1, ref->blocks, ref->id);
		return 0;
	}
	r = apply_block(c, block, number, false);
	if (r == -EBADMSG)
		c->is_loaded = false;
	return r == -EBADMSG ? 0 : r;
}

static int fallback_block(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref, const void *block,
			  u64 index)
{
	if (dm_tier_ckpt_decode(block, c->survey.super.uuid, ref->id, index))
		return -EBADMSG;
	return apply_block(c, block, dm_tier_area_start(&c->survey.super, ref->area) + index,
			   false);
}

static int look_only(void *ctx, const struct dm_tier_record *rec)
{
	return 0;
}

static int replay(const struct tier_checker *c, const struct dm_tier_ckpt_ref *ref,
		  struct dm_tier_log_end *ret_end)
{
	return dm_tier_log_replay(c->survey.ring, c->survey.super.log_blocks,
				  c->survey.super.uuid, ref, c->survey.super.final_seq,
				  look_only, NULL, ret_end);
}

static int new_image(struct tier_checker *c)
{
	dm_tier_image_free(c->image);
	c->image = dm_tier_image_alloc(c->survey.super.extent_sectors /
				       c->survey.super.region_sectors);
	c->seen_pool = false;
	return c->image ? 0 : -ENOMEM;
}

/*
 * The checkpoint before the newest. If a crash came while it was being replaced,
 * it is partly overwritten, or the log that it needs is: that is no damage, and it
 * can't always be told apart. A block that cannot be read is.
 */
static int check_fallback(struct tier_checker *c)
{
	const struct dm_tier_ckpt_ref *ref = &c->survey.super.ckpt[1];
	struct dm_tier_log_end end;
	int r;

	if (!ref->id)
		return 0;
	r = new_image(c);
	if (!r)
		r = each_block(c, ref, ref->blocks, fallback_block);
	if (r == -EBADMSG) {
		note(c, OLD_CHECKPOINT, "checkpoint %llu, the older one, is not whole: damaged, or a crash came while it was replaced; the next checkpoint replaces it",
		     ref->id);
		return 0;
	}
	if (!r && (replay(c, ref, &end) || end.commit < c->survey.super.ckpt[0].seq))
		note(c, OLD_CHECKPOINT, "the log does not reach back to checkpoint %llu, the older one: damaged, or a crash came while it was replaced",
		     ref->id);
	return r;
}

/* The log --------------------------------------------------------------------------*/

static u64 ring_number(const struct tier_checker *c, u64 position)
{
	return dm_tier_log_start(&c->survey.super) + position % c->survey.super.log_blocks;
}

/* Blocks of commits that come after the checkpoint, and hold what cannot be. */
static void find_bad_records(struct tier_checker *c, u64 seq)
{
	struct dm_tier_log_head head;

	for (u64 i = 0; i < c->survey.super.log_blocks; i++) {
		const void *block = tier_survey_ring_block(&c->survey, i);

		if (!dm_tier_log_decode(block, c->survey.super.uuid, &head) && head.commit > seq &&
		    !tier_survey_block_ok(block))
			damage(c, RECORD, "block %llu of the log (commit %llu) has a record that cannot be",
			       ring_number(c, i), head.commit);
	}
}

/* The commits that replay found whole lie one behind the other. */
static int apply_log(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref)
{
	const u64 blocks = c->survey.super.log_blocks;
	u64 count = (c->end.position + blocks - ref->position) % blocks;
	int r = 0;

	/* A ring that is full to the last block. */
	if (!count && c->end.commit > ref->seq)
		count = blocks;
	for (u64 i = 0; i < count && !r; i++)
		r = apply_block(c, tier_survey_ring_block(&c->survey, ref->position + i),
				ring_number(c, ref->position + i), true);
	return r;
}

static void tell_hole(struct tier_checker *c)
{
	const struct dm_tier_log_end *end = &c->end;
	struct dm_tier_log_head head;
	u64 next = 0;

	for (u64 i = 0; i < c->survey.super.log_blocks; i++)
		if (!dm_tier_log_decode(tier_survey_ring_block(&c->survey, i),
					c->survey.super.uuid, &head) &&
		    head.commit > end->damage_commit && (!next || head.commit < next))
			next = head.commit;
	if (next)
		damage(c, HOLE, "commit %llu, in block %llu, is not whole or does not follow the one before, but commit %llu was written after it",
		       end->damage_commit, ring_number(c, end->position), next);
	else
		damage(c, HOLE, "commit %llu, in block %llu, is not whole or does not follow the one before, but commits up to %llu were durable",
		       end->damage_commit, ring_number(c, end->position),
		       c->survey.super.final_seq);
}

/*
 * A commit that a crash cut short lacks blocks; those that are there lie in their
 * places and say the same. The first one follows the last whole commit.
 */
static void check_tail(struct tier_checker *c)
{
	const struct dm_tier_log_end *end = &c->end;
	const u64 blocks = c->survey.super.log_blocks;
	u32 found = 0, count = 0;
	bool is_wrong = false;

	for (u64 i = 0; i < blocks; i++) {
		struct dm_tier_log_head head;

		if (dm_tier_log_decode(tier_survey_ring_block(&c->survey, i),
				       c->survey.super.uuid, &head) ||
		    head.commit != end->commit + 1 || head.incarnation < end->incarnation)
			continue;
		found++;
		is_wrong |= (end->position + head.index) % blocks != i ||
			    (count && head.count != count) ||
			    (!head.index && head.prev_crc != end->crc);
		count = head.count;
	}
	if (is_wrong || (found && found == count))
		damage(c, TAIL, "the blocks of commit %llu, the last one, do not belong together",
		       end->commit + 1);
	else if (found)
		note(c, TORN, "commit %llu, the last one, is not whole: a crash came while it was written",
		     end->commit + 1);
}

static int check_log(struct tier_checker *c, const struct dm_tier_ckpt_ref *ref)
{
	int r = replay(c, ref, &c->end);

	if (r == -EBADMSG) {
		c->is_loaded = false;
		find_bad_records(c, ref->seq);
		return 0;
	}
	if (r)
		return r;
	if (c->end.damaged)
		tell_hole(c);
	else
		check_tail(c);
	r = apply_log(c, ref);
	if (r == -EBADMSG)
		c->is_loaded = false;
	return r == -EBADMSG ? 0 : r;
}

/* All of it ----------------------------------------------------------------------*/

static int check_state(struct tier_checker *c)
{
	const struct dm_tier_ckpt_ref *ref = &c->survey.super.ckpt[0];
	int r = tier_survey_read_ring(&c->survey);

	if (!r)
		r = check_fallback(c);
	if (!r)
		r = new_image(c);
	c->is_loaded = true;
	if (!r)
		r = each_block(c, ref, ref->blocks, newest_block);
	if (!r)
		r = check_log(c, ref);
	if (!r && c->is_loaded)
		r = tier_check_image(c);
	return r;
}

static void tell_facts(const struct tier_checker *c, struct tier_check_facts *facts)
{
	const struct dm_tier_image *image = c->image;
	char label[TIER_LABEL_SIZE];

	*facts = (struct tier_check_facts){ .is_pool = c->survey.newest >= 0 };
	if (!facts->is_pool)
		return;
	memcpy(facts->uuid, c->survey.super.uuid, 16);
	if (!c->is_loaded)
		return;
	facts->is_loaded = true;
	facts->commit = c->end.commit;
	facts->stale = c->stale;
	memcpy(label, image->pool_label, image->pool_label_bytes);
	label[image->pool_label_bytes] = '\0';
	if (tier_label_value(label, "name", facts->name, sizeof(facts->name)) <= 0)
		facts->name[0] = '\0';
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		facts->nr_volumes += image->volume[i] != NULL;
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		facts->nr_devices += image->device[d].present;
		facts->slots += image->device[d].slots;
		for (u32 s = 0; s < image->device[d].nr_slot; s++)
			facts->owned += image->device[d].slot[s].generation != 0;
	}
}

/* Nothing of ours in either place, and nothing that was read badly. */
static bool is_foreign(const struct tier_survey *s)
{
	return s->newest < 0 && s->place[0].error == -EBADMSG &&
	       (s->place[1].error == -EBADMSG || s->place[1].error == -ENXIO) &&
	       s->place[0].blank && (s->place[1].blank || s->place[1].error);
}

/* Did the pool write a checkpoint meanwhile? */
static bool is_changed(const struct tier_survey *survey)
{
	_cleanup_(tier_survey_clear) struct tier_survey now = { .newest = -1 };

	return tier_survey_open(survey->fd, &now) || now.newest != survey->newest ||
	       (now.newest >= 0 && now.super.version != survey->super.version);
}

static int check_once(int fd, struct tier_findings *findings, struct tier_check_facts *facts,
		      bool *ret_changed)
{
	_cleanup_(check_clear) struct tier_checker c = { .findings = findings };
	int r = tier_survey_open(fd, &c.survey);

	if (r)
		return r;
	for (u32 nr = 0; nr < 2; nr++)
		if (c.survey.place[nr].error == -EPROTONOSUPPORT)
			return -EPROTONOSUPPORT;
	if (is_foreign(&c.survey))
		return -EBADMSG;
	if (check_supers(&c))
		r = check_state(&c);
	tier_find_unreadable(findings, &c.survey);
	tell_facts(&c, facts);
	*ret_changed = is_changed(&c.survey);
	return r ?: findings->no_memory ? -ENOMEM : 0;
}

static bool same_findings(const struct tier_findings *a, const struct tier_findings *b)
{
	if (a->nr != b->nr || a->nr_damages != b->nr_damages || a->nr_notes != b->nr_notes)
		return false;
	for (size_t i = 0; i < a->nr; i++)
		if (strcmp(a->list[i].text, b->list[i].text))
			return false;
	return true;
}

static int explain(int error, char *cause)
{
	switch (error) {
	case -EBADMSG:
		return tier_cause(cause, error, "no metadata of a pool");
	case -EPROTONOSUPPORT:
		return tier_cause(cause, error,
				  "metadata of a format that only a newer dm-tier knows");
	case -EAGAIN:
		return tier_cause(cause, error, "the pool wrote too fast to be read");
	}
	return tier_cause(cause, error, "%s", strerror(-error));
}

/*
 * What a live pool is just writing looks like damage. Damage stays: it counts
 * when it is seen twice, one look after the other.
 */
int tier_check(int fd, struct tier_findings *ret_findings, struct tier_check_facts *ret_facts,
	       char *ret_cause)
{
	_cleanup_(tier_findings_clear) struct tier_findings before = { 0 };
	int r;

	for (u32 try = 0; try < TRIES; try++) {
		_cleanup_(tier_findings_clear) struct tier_findings now = { 0 };
		struct tier_check_facts facts = { 0 };
		bool changed = false;

		r = check_once(fd, &now, &facts, &changed);
		if (r)
			return explain(r, ret_cause);
		if (!changed && (!now.nr_damages || (try && same_findings(&before, &now)))) {
			*ret_findings = now;
			now = (struct tier_findings){ 0 };
			*ret_facts = facts;
			return 0;
		}
		tier_findings_clear(&before);
		before = now;
		now = (struct tier_findings){ 0 };
	}
	return explain(-EAGAIN, ret_cause);
}
