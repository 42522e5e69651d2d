// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replay of the log: which commits follow a checkpoint, and whether what ends
 * them is the torn tail of a crash or damage (contract in dm-tier-format.h).
 *
 * Pure; also compiled in user space.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include "dm-tier-format.h"

/* The ring, and how far its commits were followed. */
struct replay {
	const u8 *ring;
	u64 blocks;
	const u8 *uuid;
	u64 commit;		/* the last whole one */
	u64 position;		/* where the next would start */
	u64 incarnation;	/* of the last whole one, 0 = not known */
	u32 crc;		/* of its last block */
};

static const void *ring_block(const struct replay *r, u64 position)
{
	/* Positions run over the end by less than a lap. */
	if (position >= r->blocks)
		position -= r->blocks;
	return r->ring + position * DM_TIER_BLOCK_BYTES;
}

/*
 * The incarnation of the commit that the checkpoint covers, if its last block
 * is still there: what follows may not be older.
 */
static u64 incarnation_before(const struct replay *r)
{
	struct dm_tier_log_head head;

	if (dm_tier_log_decode(ring_block(r, r->position + r->blocks - 1), r->uuid, &head) ||
	    head.commit != r->commit || head.crc != r->crc)
		return 0;
	return head.incarnation;
}

/* May this commit follow the last whole one? */
static bool head_follows(const struct replay *r, const struct dm_tier_log_head *head)
{
	if (head->commit != r->commit + 1 || !head->incarnation || head->count > r->blocks)
		return false;
	if (!r->incarnation || head->incarnation == r->incarnation)
		return true;
	return head->incarnation > r->incarnation && (head->flags & DM_TIER_LOG_ACTIVATE);
}

/* The next commit is all there: its head, with the crc of its last block. */
static bool commit_is_whole(const struct replay *r, struct dm_tier_log_head *ret_head)
{
	struct dm_tier_log_head first, head;
	u32 crc = r->crc, i;

	if (dm_tier_log_decode(ring_block(r, r->position), r->uuid, &first) ||
	    !head_follows(r, &first))
		return false;
	head = first;
	for (i = 0; i < first.count; i++) {
		if (i && dm_tier_log_decode(ring_block(r, r->position + i), r->uuid, &head))
			return false;
		if (head.commit != first.commit || head.incarnation != first.incarnation ||
		    head.index != i || head.count != first.count ||
		    head.flags != first.flags || head.prev_crc != crc)
			return false;
		crc = head.crc;
	}
	*ret_head = head;
	return true;
}

static int apply_block(const void *block,
		       int (*apply)(void *ctx, const struct dm_tier_record *rec), void *ctx)
{
	struct dm_tier_record rec;
	u32 offset = 0;
	int r;

	while ((r = dm_tier_block_next(block, &offset, &rec)) > 0) {
		r = apply(ctx, &rec);
		if (r)
			return r;
	}
	return r;
}

/* Looks at every block for what should not be there, see the header. */
static void scan_ring(const struct replay *r, struct dm_tier_log_end *end)
{
	struct dm_tier_log_head head;
	u64 i;

	for (i = 0; i < r->blocks; i++) {
		if (dm_tier_log_decode(ring_block(r, i), r->uuid, &head))
			continue;
		end->max_incarnation = max(end->max_incarnation, head.incarnation);
		if (head.commit > r->commit + 1 && head.incarnation >= r->incarnation)
			end->damaged = true;
	}
}

int dm_tier_log_replay(const void *ring, u64 blocks, const u8 *uuid,
		       const struct dm_tier_ckpt_ref *from, u64 final_seq,
		       int (*apply)(void *ctx, const struct dm_tier_record *rec),
		       void *ctx, struct dm_tier_log_end *ret_end)
{
	struct replay r = {
		.ring = ring,
		.blocks = blocks,
		.uuid = uuid,
		.commit = from->seq,
		.position = from->position,
		.crc = from->prev_crc,
	};
	struct dm_tier_log_end end = {};
	struct dm_tier_log_head head;
	u32 i;
	int ret;

	if (from->position >= blocks)
		return -EINVAL;

	r.incarnation = incarnation_before(&r);
	while (commit_is_whole(&r, &head)) {
		for (i = 0; i < head.count; i++) {
			ret = apply_block(ring_block(&r, r.position + i), apply, ctx);
			if (ret)
				return ret;
		}
		end.incarnation = head.incarnation;
		end.last_position = r.position;
		end.last_count = head.count;
		r.incarnation = head.incarnation;
		r.commit = head.commit;
		r.crc = head.crc;
		r.position += head.count;
		if (r.position >= blocks)
			r.position -= blocks;
	}

	end.commit = r.commit;
	end.position = r.position;
	end.crc = r.crc;
	end.damaged = r.commit < final_seq;
	scan_ring(&r, &end);
	if (end.damaged)
		end.damage_commit = r.commit + 1;
	*ret_end = end;
	return 0;
}
