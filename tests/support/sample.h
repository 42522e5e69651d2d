/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool on image files whose metadata have everything: two superblocks, two
 * checkpoints of several blocks, a log with commits of one and more blocks and
 * two incarnations. What the tests of the offline tools start from.
 */
#ifndef TESTS_SAMPLE_H
#define TESTS_SAMPLE_H

#include "pool_image.h"

#define SAMPLE_SEQ	3	/* of the newest checkpoint */
#define SAMPLE_LAST	7	/* commit, an empty one */

struct sample {
	struct pool_image image;
	struct ring ring;
	struct dm_tier_super super;		/* the newest */
	u64 start[SAMPLE_LAST + 2];		/* ring position of each commit; and of the next */
};

#define SLOT(...)	{ .type = DM_TIER_REC_SLOT, .slot = { __VA_ARGS__ } }
#define VOLUME(...)	{ .type = DM_TIER_REC_VOLUME, .volume = { __VA_ARGS__ } }
#define DEVICE(...)	{ .type = DM_TIER_REC_DEVICE, .device = { __VA_ARGS__ } }
#define POOL(...)	{ .type = DM_TIER_REC_POOL, .pool = { __VA_ARGS__ } }

void sample_create(struct sample *sample);
void sample_remove(struct sample *sample);

/* A commit behind the last one, on disk. */
void sample_commit(struct sample *sample, const struct dm_tier_record *records, size_t nr,
		   u32 blocks, u32 flags);

/* A checkpoint of all that was committed, as the kernel writes it. */
void sample_checkpoint(struct sample *sample);

/* Blocks of the metadata. */
void sample_read(const struct sample *sample, u64 block, void *ret_data);
void sample_write(const struct sample *sample, u64 block, const void *data);
u64 sample_ckpt_block(const struct sample *sample, u64 index);
u64 sample_log_block(const struct sample *sample, u64 position);

/* The text of tpdump, to be freed. */
char *sample_dump(int fd);

#endif
