/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a metadata device that may be damaged: all of it that can be read, and
 * what cannot. Insides of lib/format_*.c, see format_meta.h.
 */
#ifndef TIER_FORMAT_SURVEY_H
#define TIER_FORMAT_SURVEY_H

#include "format_meta.h"
#include "format_tools.h"

struct tier_survey_place {
	int error;			/* of the read, or of its decoding */
	bool blank;			/* zeros */
	struct dm_tier_super super;	/* if error is 0 */
};

struct tier_survey {
	int fd;
	u64 blocks;			/* of the device */
	u8 *bad;			/* a bit for each: cannot be read */
	struct tier_survey_place place[2];
	int newest;			/* place of the superblock in use, -1: none */
	struct dm_tier_super super;	/* of that place, or as the caller makes it up */
	u8 *ring;			/* super.log_blocks; zeros where it cannot be read */
};

/* Size and superblocks. Clear it whatever it returns: 0, -ENOMEM or -errno of the size. */
int tier_survey_open(int fd, struct tier_survey *ret_survey);
void tier_survey_clear(struct tier_survey *survey);

/* The ring as survey->super has it. */
int tier_survey_read_ring(struct tier_survey *survey);

/* Blocks that cannot be read, or lie beyond the device, are marked and read as zeros. */
void tier_survey_read(struct tier_survey *survey, u64 block, u64 count, void *ret_blocks);
bool tier_survey_is_bad(const struct tier_survey *survey, u64 block);

const void *tier_survey_ring_block(const struct tier_survey *survey, u64 position);

/* Every record of the block is well formed. */
bool tier_survey_block_ok(const void *block);

/* Findings -----------------------------------------------------------------*/

__attribute__((format(printf, 4, 5)))
void tier_find(struct tier_findings *findings, enum tier_finding_kind kind, bool is_damage,
	       const char *format, ...);

/* Blocks that cannot be read, in runs. */
void tier_find_unreadable(struct tier_findings *findings, const struct tier_survey *survey);

/* Content ------------------------------------------------------------------*/

struct tier_content {
	/* Of the superblock: uuid, features, sizes, log_blocks, system_id. */
	struct dm_tier_super super;
	struct dm_tier_image *image;
	/* What is written has to be above these. */
	u64 incarnation, ckpt_id, version;
};

/* An empty one; NULL: no memory. */
struct tier_content *tier_content_new(const struct dm_tier_super *super);

/* For messages: "name (id 3)", or the id alone. TIER_CAUSE_SIZE bytes at most are written. */
const char *tier_content_volume(const struct dm_tier_image *image, u32 id, char *ret_text,
				size_t size);

/* The highest incarnation and checkpoint id on a device, whatever pool they are of. */
int tier_content_find_newest(int fd, u64 blocks, u64 *ret_incarnation, u64 *ret_ckpt_id);

#endif
