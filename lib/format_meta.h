/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The insides of lib/format*.c and the offline tools: a pool's metadata as
 * read, and whole blocks of a device. Only for files named lib/format*.c and
 * tests: it needs the kernel's types.
 */
#ifndef TIER_FORMAT_META_H
#define TIER_FORMAT_META_H

#include "dm-tier-format.h"
#include "format.h"

struct tier_format_super {
	struct dm_tier_super super;
	u32 place;			/* 0 or 1: where it was */
	bool unreadable;		/* the other place: it might be the newer one */
};

struct tier_meta {
	struct tier_format_super super;
	u32 ckpt;			/* index of the checkpoint that was used */
	struct dm_tier_image *image;	/* checked: stale slots are free */
	struct dm_tier_log_end end;
	u32 nr_stale;
	u32 nr_faults;
	char fault[100];		/* the first one, in words */
};

/* Superblock places are blocks of a device: DM_TIER_SUPER_BLOCK_0 and _1. */
u64 tier_format_super_block(u32 place);

/*
 * The newer valid superblock. -EBADMSG: there is none; -EPROTONOSUPPORT: either
 * place is of a newer format; -EINVAL: only a senseless one; or that of the read.
 */
int tier_format_read_super(int fd, struct tier_format_super *ret_super);

/* Memory for whole blocks, aligned for O_DIRECT; free() it. */
void *tier_format_alloc_blocks(u64 count);

/* All or an error; reading beyond the end is -ENXIO. */
int tier_format_read_blocks(int fd, u64 block, u64 count, void *ret_blocks);
int tier_format_write_blocks(int fd, u64 block, u64 count, const void *blocks);
int tier_format_zero_blocks(int fd, u64 block, u64 count);
int tier_format_flush(int fd);

/*
 * The last step of making metadata: both superblocks, each flushed, the first
 * with super->version, the second with one more.
 */
int tier_format_write_supers(int fd, struct dm_tier_super *super);

#endif
