/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of the on-disk format share: a log ring in memory that commits are
 * appended to as the kernel would, random records, and a small seeded generator.
 */
#ifndef TESTS_RING_H
#define TESTS_RING_H

#include <stddef.h>

#include "dm-tier-format.h"

/* xorshift64*: good enough, the same everywhere. */
struct rng {
	u64 state;
};

static inline u64 rng_next(struct rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return rng->state * 0x2545f4914f6cdd1dULL;
}

static inline u32 rng_below(struct rng *rng, u32 bound)
{
	return (rng_next(rng) >> 32) % bound;
}

/* Keys of random records are below these; a generation is 1 .. generations. */
struct record_limits {
	u32 devices, slots, volumes, extents, generations, regions;
};

/* A valid record of any type, all bytes without meaning zero. */
void record_random(struct rng *rng, const struct record_limits *limits,
		   struct dm_tier_record *ret_rec);

/* Field by field: the bytes between them do not count. */
bool record_equal(const struct dm_tier_record *a, const struct dm_tier_record *b);

struct ring {
	u8 *blocks;
	u64 nr;
	u8 uuid[16];
	u64 position;		/* of the next commit */
	u64 commit;		/* number of the last one */
	u64 incarnation;
	u32 crc;		/* of the last block */
};

void ring_init(struct ring *ring, u64 nr);
void ring_clear(struct ring *ring);
u8 *ring_block(const struct ring *ring, u64 position);

/*
 * Appends a commit of at least @blocks blocks that holds the records; returns
 * the position of its first block. With DM_TIER_LOG_ACTIVATE the incarnation
 * rises by one.
 */
u64 ring_commit(struct ring *ring, const struct dm_tier_record *records, size_t nr_records,
		u32 blocks, u32 flags);

/* A checkpoint reference to where the ring stands now. */
struct dm_tier_ckpt_ref ring_ref(const struct ring *ring);

/* Makes the crc of a block or label right again after it was changed. */
void block_fix_crc(void *block, u32 bytes);

#endif
