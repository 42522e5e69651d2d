// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tier_repair() can build on: checkpoints, and commits of the log.
 *
 * A commit counts by its own blocks, wherever they lie and whatever is missing
 * before it. It was durable if all its blocks are there, if a later one was, or
 * if the superblock says so. What was never durable, the torn last commit or the
 * rest of one that an activation overwrote, is left out as a load would.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/limits.h>
#include <asm/byteorder.h>

#include "format_repair.h"
#include "util.h"

#define CHUNK_BLOCKS	256
#define MAX_POOLS	8		/* whose blocks are on one device */
/* A block is closed only if the next record does not fit: with so much room it was the last. */
#define LARGEST_RECORD	(sizeof(struct dm_tier_volume_disk) + DM_TIER_MAX_LABEL)

/* Checkpoints ------------------------------------------------------------------*/

static int judge_checkpoint(struct repair *r, struct repair_checkpoint *c)
{
	_cleanup_free_ u8 *blocks = tier_format_alloc_blocks(CHUNK_BLOCKS);

	if (!blocks)
		return -ENOMEM;
	c->bad = 0;
	for (u64 at = 0; at < c->blocks; at += CHUNK_BLOCKS) {
		const u64 count = min_t(u64, CHUNK_BLOCKS, c->blocks - at);

		tier_survey_read(&r->survey, c->start + at, count, blocks);
		for (u64 i = 0; i < count; i++) {
			const u8 *block = blocks + i * DM_TIER_BLOCK_BYTES;

			c->bad += dm_tier_ckpt_decode(block, r->survey.super.uuid, c->id, at + i) ||
				  !tier_survey_block_ok(block);
		}
	}
	c->is_whole = !c->bad;
	return 0;
}

/* In order of id, newest first, each once. */
static void add_checkpoint(struct repair *r, const struct repair_checkpoint *add)
{
	u32 at = 0;

	while (at < r->nr_checkpoints && r->checkpoint[at].id > add->id)
		at++;
	if (at == REPAIR_MAX_CHECKPOINTS ||
	    (at < r->nr_checkpoints && r->checkpoint[at].id == add->id))
		return;
	/* The oldest one makes room. */
	r->nr_checkpoints = min_t(u32, r->nr_checkpoints + 1, REPAIR_MAX_CHECKPOINTS);
	memmove(&r->checkpoint[at + 1], &r->checkpoint[at],
		(r->nr_checkpoints - 1 - at) * sizeof(*add));
	r->checkpoint[at] = *add;
}

/* Those that either superblock names. */
static void add_named(struct repair *r)
{
	const struct dm_tier_super *used = &r->survey.super;

	for (u32 nr = 0; nr < 2; nr++) {
		const struct dm_tier_super *super = &r->survey.place[nr].super;

		if (r->survey.place[nr].error || memcmp(super->uuid, used->uuid, 16) ||
		    super->area_blocks != used->area_blocks)
			continue;
		r->final_seq = max(r->final_seq, super->final_seq);
		for (u32 i = 0; i < 2; i++) {
			const struct dm_tier_ckpt_ref *ref = &super->ckpt[i];
			const struct repair_checkpoint c = {
				.id = ref->id,
				.start = dm_tier_area_start(super, ref->area),
				.blocks = ref->blocks,
				.seq = ref->seq,
			};

			if (ref->id)
				add_checkpoint(r, &c);
		}
	}
}

int tier_repair_find_checkpoints(struct repair *r)
{
	int ret = 0;

	/* Else tier_repair_make_super() found them. */
	if (r->survey.newest >= 0)
		add_named(r);
	for (u32 i = 0; i < r->nr_checkpoints && !ret; i++) {
		const bool was_found = r->survey.newest < 0;
		const bool may_be_whole = r->checkpoint[i].is_whole;

		ret = judge_checkpoint(r, &r->checkpoint[i]);
		r->checkpoint[i].is_whole &= !was_found || may_be_whole;
	}
	return ret;
}

/* Without a superblock -----------------------------------------------------------*/

/* What a device holds of one pool. */
struct pool_trace {
	u8 uuid[16];
	u64 nr;			/* valid blocks */
	u64 first_log;		/* the lowest block of the log, 0 = none */
};

struct scan {
	struct pool_trace pool[MAX_POOLS];
	u32 nr_pools;
};

static struct pool_trace *trace_of(struct scan *scan, const u8 *uuid)
{
	for (u32 i = 0; i < scan->nr_pools; i++)
		if (!memcmp(scan->pool[i].uuid, uuid, 16))
			return &scan->pool[i];
	if (scan->nr_pools == MAX_POOLS)
		return NULL;
	memcpy(scan->pool[scan->nr_pools].uuid, uuid, 16);
	return &scan->pool[scan->nr_pools++];
}

static void scan_block(struct scan *scan, const void *block, u64 number)
{
	const struct dm_tier_log_head_disk *log = block;
	const struct dm_tier_ckpt_head_disk *ckpt = block;
	struct dm_tier_log_head head;
	struct pool_trace *trace;

	if (!dm_tier_log_decode(block, log->uuid, &head)) {
		trace = trace_of(scan, log->uuid);
		if (trace && !trace->first_log)
			trace->first_log = number;
	} else if (!dm_tier_ckpt_decode(block, ckpt->uuid, le64_to_cpu(ckpt->id),
					le64_to_cpu(ckpt->index))) {
		trace = trace_of(scan, ckpt->uuid);
	} else {
		return;
	}
	if (trace)
		trace->nr++;
}

/* A block of a checkpoint of the pool; @limit: where the log begins. */
static void meet_checkpoint(struct repair *r, const void *block, u64 number, u64 limit)
{
	const struct dm_tier_ckpt_head_disk *disk = block;
	const u64 id = le64_to_cpu(disk->id), index = le64_to_cpu(disk->index);
	struct repair_checkpoint found = { .id = id, .start = number - index };
	struct repair_checkpoint *c = NULL;

	if (index > number || found.start < DM_TIER_AREA_BLOCK || number >= limit || !id ||
	    dm_tier_ckpt_decode(block, r->survey.super.uuid, id, index))
		return;
	add_checkpoint(r, &found);
	for (u32 i = 0; i < r->nr_checkpoints; i++)
		if (r->checkpoint[i].id == id && r->checkpoint[i].start == found.start)
			c = &r->checkpoint[i];
	if (!c || index < c->blocks)
		return;
	c->blocks = index + 1;
	c->is_whole = le32_to_cpu(disk->bytes) + LARGEST_RECORD <= DM_TIER_BLOCK_PAYLOAD;
}

static void each_block(struct repair *r, u8 *buffer, struct scan *scan, u64 log_start)
{
	for (u64 at = 0; at < r->survey.blocks; at += CHUNK_BLOCKS) {
		const u64 count = min_t(u64, CHUNK_BLOCKS, r->survey.blocks - at);

		tier_survey_read(&r->survey, at, count, buffer);
		for (u64 i = 0; i < count; i++) {
			const u8 *block = buffer + i * DM_TIER_BLOCK_BYTES;

			if (scan)
				scan_block(scan, block, at + i);
			else
				meet_checkpoint(r, block, at + i, log_start);
		}
	}
}

static int choose_sizes(struct repair *r, char *cause)
{
	struct dm_tier_super *super = &r->survey.super, decoded;
	u64 block[DM_TIER_BLOCK_BYTES / 8];

	super->extent_sectors = r->options->extent_sectors;
	super->region_sectors = r->options->region_sectors ?:
		tier_format_default_region_sectors(r->options->extent_sectors);
	super->logical_block_bytes = 512;
	for (size_t i = 0; i < r->options->nr_devices; i++)
		super->logical_block_bytes = max(super->logical_block_bytes,
						 r->options->devices[i].logical_block_bytes);
	super->ckpt[0] = (struct dm_tier_ckpt_ref){ .id = 1, .blocks = 1 };
	dm_tier_super_encode(super, block);
	if (dm_tier_super_decode(block, &decoded))
		return tier_cause(cause, -EINVAL, "these sizes of extents and regions do not fit each other");
	return 0;
}

/* Where the log begins is known, and that it goes on to the end of the device. */
static void set_layout(struct dm_tier_super *super, u64 log_start, u64 blocks)
{
	super->log_blocks = min_t(u64, DM_TIER_MAX_LOG_BLOCKS, blocks - log_start);
	super->log_blocks = max_t(u64, DM_TIER_MIN_LOG_BLOCKS, super->log_blocks);
	super->area_blocks = 1;
	if (log_start > DM_TIER_AREA_BLOCK + 2)
		super->area_blocks = min_t(u64, U32_MAX, (log_start - DM_TIER_AREA_BLOCK) / 2);
}

int tier_repair_make_super(struct repair *r, char *ret_cause)
{
	_cleanup_free_ u8 *buffer = tier_format_alloc_blocks(CHUNK_BLOCKS);
	struct dm_tier_super *super = &r->survey.super;
	const struct pool_trace *best = NULL;
	struct scan scan = { .nr_pools = 0 };
	char uuid[TIER_UUID_SIZE];
	u64 log_start;

	if (!buffer)
		return -ENOMEM;
	each_block(r, buffer, &scan, 0);
	for (u32 i = 0; i < scan.nr_pools; i++)
		if (!best || scan.pool[i].nr > best->nr)
			best = &scan.pool[i];
	if (!best)
		return tier_cause(ret_cause, -EBADMSG, "there is no superblock, checkpoint or log of any pool");
	tier_format_uuid(best->uuid, uuid);
	if (!r->options->extent_sectors)
		return tier_cause(ret_cause, -EINVAL,
				  "both superblocks of pool %s are lost, and with them the size of its extents",
				  uuid);
	*super = (struct dm_tier_super){ .version = 1 };
	memcpy(super->uuid, best->uuid, 16);
	log_start = best->first_log ?: r->survey.blocks;
	set_layout(super, log_start, r->survey.blocks);
	each_block(r, buffer, NULL, log_start);
	repair_say(r, LOST, true, "both superblocks, and which host it belongs to; the pool %s was found by its other blocks", uuid);
	return choose_sizes(r, ret_cause);
}

/* The log ------------------------------------------------------------------------*/

static int compare_blocks(const void *a, const void *b)
{
	const struct dm_tier_log_head *x = &((const struct repair_block *)a)->head;
	const struct dm_tier_log_head *y = &((const struct repair_block *)b)->head;

	if (x->commit != y->commit)
		return x->commit < y->commit ? -1 : 1;
	/* The higher incarnation is the one that counts. */
	if (x->incarnation != y->incarnation)
		return x->incarnation > y->incarnation ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

int tier_repair_find_blocks(struct repair *r)
{
	const u64 blocks = r->survey.super.log_blocks;

	r->blocks = calloc(blocks, sizeof(*r->blocks));
	if (!r->blocks)
		return -ENOMEM;
	for (u64 i = 0; i < blocks; i++) {
		struct repair_block *to = &r->blocks[r->nr_blocks];

		if (dm_tier_log_decode(tier_survey_ring_block(&r->survey, i),
				       r->survey.super.uuid, &to->head))
			continue;
		to->position = i;
		r->nr_blocks++;
	}
	qsort(r->blocks, r->nr_blocks, sizeof(*r->blocks), compare_blocks);
	return 0;
}

/* All blocks are there, once, and follow each other. */
static bool is_whole(const struct repair_block *blocks, size_t nr)
{
	if (nr != blocks[0].head.count)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (blocks[i].head.index != i || blocks[i].head.count != nr ||
		    (i && blocks[i].head.prev_crc != blocks[i - 1].head.crc))
			return false;
	return true;
}

static void group(struct repair *r)
{
	size_t next;

	for (size_t at = 0; at < r->nr_blocks; at = next) {
		const struct dm_tier_log_head *head = &r->blocks[at].head;
		struct repair_commit *c = &r->commits[r->nr_commits];

		for (next = at + 1; next < r->nr_blocks; next++)
			if (r->blocks[next].head.commit != head->commit ||
			    r->blocks[next].head.incarnation != head->incarnation)
				break;
		if (head->commit <= r->base_seq ||
		    (r->nr_commits && c[-1].commit == head->commit))
			continue;
		*c = (struct repair_commit){
			.commit = head->commit,
			.incarnation = head->incarnation,
			.first = at,
			.nr = next - at,
			.is_whole = is_whole(&r->blocks[at], next - at),
			.is_activate = head->flags & DM_TIER_LOG_ACTIVATE,
		};
		r->nr_commits++;
	}
}

/*
 * The incarnation never falls. Where it rises without the commit that begins it,
 * that one is lost; and the part of a commit right before may be what it had
 * overwritten.
 */
static void drop_other_histories(struct repair *r)
{
	struct repair_commit *last = NULL;

	for (size_t i = 0; i < r->nr_commits; i++) {
		struct repair_commit *c = &r->commits[i];

		if (last && c->incarnation < last->incarnation) {
			c->is_dropped = true;
			continue;
		}
		if (last && c->incarnation > last->incarnation && !c->is_activate &&
		    !last->is_whole)
			last->is_dropped = true;
		last = c;
	}
}

static void drop_torn(struct repair *r)
{
	u64 durable = r->final_seq;

	for (size_t i = 0; i < r->nr_commits; i++)
		if (r->commits[i].is_whole && !r->commits[i].is_dropped)
			durable = max(durable, r->commits[i].commit);
	for (size_t i = 0; i < r->nr_commits; i++) {
		struct repair_commit *c = &r->commits[i];

		if (c->is_dropped || c->commit <= durable)
			continue;
		c->is_dropped = true;
		repair_say(r, TORN, false, "commit %llu, the last one, is not whole and was never durable: left out",
			   c->commit);
	}
	r->last_commit = max(durable, r->base_seq);
}

static void note_hole(struct repair *r, u64 first, u64 last)
{
	if (!r->first_hole)
		r->first_hole = first;
	r->last_hole = last;
	if (first == last)
		repair_say(r, LOST, true, "commit %llu", first);
	else
		repair_say(r, LOST, true, "commits %llu to %llu", first, last);
}

static void find_holes(struct repair *r)
{
	u64 expected = r->base_seq + 1;
	bool begun = r->seq_known;

	for (size_t i = 0; i < r->nr_commits; i++) {
		const struct repair_commit *c = &r->commits[i];

		if (c->is_dropped)
			continue;
		if (begun && c->commit > expected)
			note_hole(r, expected, c->commit - 1);
		if (!c->is_whole) {
			if (!r->first_hole)
				r->first_hole = c->commit;
			r->last_hole = c->commit;
			repair_say(r, LOST, true, "of commit %llu all but %zu of %u blocks", c->commit,
				   c->nr, r->blocks[c->first].head.count);
		}
		expected = c->commit + 1;
		begun = true;
	}
	if (begun && r->last_commit >= expected)
		note_hole(r, expected, r->last_commit);
}

int tier_repair_find_commits(struct repair *r)
{
	r->commits = calloc(r->nr_blocks + 1, sizeof(*r->commits));
	if (!r->commits)
		return -ENOMEM;
	group(r);
	drop_other_histories(r);
	drop_torn(r);
	find_holes(r);
	return 0;
}
