/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the parts of tier_repair(): what is collected, and when it is of.
 * format_repair.c puts the state together in the order of time;
 * format_sources.c finds checkpoints and commits; format_resolve.c decides what
 * contradicts itself. Insides of lib/format_*.c.
 */
#ifndef TIER_FORMAT_REPAIR_H
#define TIER_FORMAT_REPAIR_H

#include "format_survey.h"

#define REPAIR_MAX_CHECKPOINTS	4

/* A checkpoint that a superblock names, or that was found. */
struct repair_checkpoint {
	u64 id;
	u64 start;		/* block of the device */
	u64 blocks;
	u64 bad;		/* of them are not valid */
	u64 seq;		/* 0: not known */
	bool is_whole;
};

/* A valid block of the log. */
struct repair_block {
	u64 position;
	struct dm_tier_log_head head;
};

/* The blocks of one commit: heads[first] .. [first + nr - 1]. */
struct repair_commit {
	u64 commit, incarnation;
	size_t first, nr;
	bool is_whole, is_activate;
	bool is_dropped;	/* it was never durable, or is of another history */
};

/* The owner that a slot had until a commit beyond a hole. */
struct repair_owner {
	u64 generation, commit;
	u32 extent;
	bool is_owned;
};

struct repair {
	struct tier_survey survey;
	const struct tier_repair_options *options;
	struct tier_findings *findings;
	struct tier_content *content;

	struct repair_checkpoint checkpoint[REPAIR_MAX_CHECKPOINTS];	/* newest first */
	u32 nr_checkpoints;
	struct repair_block *blocks;
	size_t nr_blocks;
	struct repair_commit *commits;		/* in order, those after the base */
	size_t nr_commits;
	bool seq_known;				/* where the log has to begin */
	u64 base_seq;
	u64 final_seq;
	u64 last_commit;

	bool is_incomplete;			/* no whole checkpoint to start from */
	u64 first_hole, last_hole;		/* numbers of lost commits, 0 = none */

	/* The commit that each record is of, or the checkpoint's seq. */
	u64 *slot_stamp[DM_TIER_MAX_DEVICES];
	u32 nr_stamps[DM_TIER_MAX_DEVICES];
	u64 device_stamp[DM_TIER_MAX_DEVICES];
	u64 volume_stamp[DM_TIER_MAX_VOLUMES];
	bool seen_pool;

	struct repair_owner *displaced;
	size_t nr_displaced;
	u64 *dead;				/* generations of volumes that were deleted */
	size_t nr_dead;
};

#define repair_say(r, kind, is_damage, ...) \
	tier_find((r)->findings, TIER_FOUND_##kind, is_damage, __VA_ARGS__)

/* A superblock made up from what is on the device and the options; -EINVAL, -EBADMSG. */
int tier_repair_make_super(struct repair *r, char *ret_cause);

/* Fill in checkpoint[] and blocks[], commits[]; survey.super is there. */
int tier_repair_find_checkpoints(struct repair *r);
int tier_repair_find_blocks(struct repair *r);
int tier_repair_find_commits(struct repair *r);

/* Makes the image one that loads, and says what that took. */
int tier_repair_resolve(struct repair *r);

/* What may be old because of lost commits. */
int tier_repair_tell_doubt(struct repair *r);

#endif
