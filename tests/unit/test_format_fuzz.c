// SPDX-License-Identifier: GPL-2.0-only
/*
 * A short fuzz of the on-disk format and of the words of messages: good samples,
 * a few bytes of them changed, 200,000 times, always the same ones. What is
 * checked is in the harness; with SAN=1 so is every access.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/fuzz_format.c"
#include "ring.h"

#define EXECUTIONS 40000	/* of each target */

#define INPUT_BYTES (4 + FUZZ_RING_BLOCKS * DM_TIER_BLOCK_BYTES)
static u64 input_words[INPUT_BYTES / 8 + 2];
/* So that the blocks behind target, mend, seq and position are aligned. */
static u8 *const input = (u8 *)input_words + 4;

static const struct record_limits limits = { 4, 60, 6, 30, 9, 256 };

/* Interesting values more often than any. */
static void mutate(struct rng *rng, u8 *data, u32 size)
{
	static const u8 values[] = { 0, 1, 0x7f, 0x80, 0xff, 8, 64, 200, 201 };

	for (u32 n = 1 + rng_below(rng, 6); n; n--) {
		/* Half of them where the heads and the first records are. */
		const u32 at = rng_below(rng, rng_below(rng, 2) && size > 200 ? 200 : size);

		switch (rng_below(rng, 4)) {
		case 0:
			data[at] = values[rng_below(rng, sizeof(values))];
			break;
		case 1:
			data[at] ^= 1 << rng_below(rng, 8);
			break;
		case 2:
			data[at] += rng_below(rng, 2) ? 1 : -1;
			break;
		case 3:
			data[at] = rng_below(rng, 256);
			break;
		}
	}
}

static void run(struct rng *rng, enum fuzz_target target, u32 size)
{
	input[0] = target;
	input[1] = rng_below(rng, 8) ? 1 + 2 * rng_below(rng, 2) : 0;
	LLVMFuzzerTestOneInput(input, size);
}

static void test_super(void **state)
{
	struct rng rng = { 31 };
	const struct dm_tier_super super = {
		.extent_sectors = 1U << 21, .region_sectors = 1U << 11,
		.logical_block_bytes = 512, .area_blocks = 100,
		.log_blocks = DM_TIER_DEFAULT_LOG_BLOCKS,
		.ckpt = { { .id = 2, .area = 1, .blocks = 3, .seq = 3, .position = 100 },
			  { .id = 1, .area = 0, .blocks = 3, .seq = 2, .position = 99 } },
	};

	for (u32 i = 0; i < EXECUTIONS; i++) {
		dm_tier_super_encode(&super, again);
		memcpy(input + 2, again, DM_TIER_BLOCK_BYTES);
		mutate(&rng, input + 2, DM_TIER_BLOCK_BYTES);
		run(&rng, FUZZ_SUPER, 2 + DM_TIER_BLOCK_BYTES);
	}
}

static void test_label(void **state)
{
	const struct dm_tier_label label = { .idx = 7 };
	struct rng rng = { 32 };

	for (u32 i = 0; i < EXECUTIONS; i++) {
		dm_tier_label_encode(&label, again);
		memcpy(input + 2, again, DM_TIER_LABEL_BYTES);
		mutate(&rng, input + 2, DM_TIER_LABEL_BYTES);
		run(&rng, FUZZ_LABEL, 2 + DM_TIER_LABEL_BYTES);
	}
}

static void test_block(void **state)
{
	struct rng rng = { 33 };
	struct dm_tier_record rec;

	for (u32 i = 0; i < EXECUTIONS; i++) {
		const struct dm_tier_log_head head = { .incarnation = 1, .commit = 1, .count = 1 };

		dm_tier_block_begin(again);
		for (u32 n = rng_below(&rng, 40); n; n--) {
			record_random(&rng, &limits, &rec);
			dm_tier_block_add(again, &rec);
		}
		if (rng_below(&rng, 2))
			dm_tier_log_seal(again, fuzz_uuid, &head);
		else
			dm_tier_ckpt_seal(again, fuzz_uuid, 1, 0);
		memcpy(input + 2, again, DM_TIER_BLOCK_BYTES);
		mutate(&rng, input + 2, DM_TIER_BLOCK_BYTES);
		run(&rng, FUZZ_BLOCK, 2 + DM_TIER_BLOCK_BYTES);
	}
}

static void test_replay(void **state)
{
	struct rng rng = { 34 };
	struct dm_tier_record recs[20];
	struct ring r;
	u8 *blocks;

	ring_init(&r, FUZZ_RING_BLOCKS);
	blocks = r.blocks;
	for (u32 i = 0; i < EXECUTIONS; i++) {
		const u32 commits = rng_below(&rng, 5);

		/* A new ring now and then: mutations are cheaper than records. */
		if (i % 16 == 0) {
			memset(blocks, 0, FUZZ_RING_BLOCKS * DM_TIER_BLOCK_BYTES);
			r = (struct ring){ blocks, FUZZ_RING_BLOCKS, .incarnation = 1 };
			memcpy(r.uuid, fuzz_uuid, 16);
			input[2] = r.commit = rng_below(&rng, 20);
			input[3] = r.position = rng_below(&rng, FUZZ_RING_BLOCKS);
			for (u32 c = 0; c < commits; c++) {
				for (u32 n = 0; n < 20; n++)
					record_random(&rng, &limits, &recs[n]);
				ring_commit(&r, recs, 20, 1 + rng_below(&rng, 2),
					    rng_below(&rng, 2));
			}
		}
		memcpy(input + 4, blocks, FUZZ_RING_BLOCKS * DM_TIER_BLOCK_BYTES);
		mutate(&rng, input + 4 + DM_TIER_BLOCK_BYTES * rng_below(&rng, FUZZ_RING_BLOCKS),
		       DM_TIER_BLOCK_BYTES);
		run(&rng, FUZZ_REPLAY, INPUT_BYTES);
	}
	ring_clear(&r);
}

static void test_args(void **state)
{
	static const char *const samples[] = {
		"name=vol%20one;policy=auto;pin=highest:1700000000", "-", "%2D",
		"01234567-89ab-cdef-fedc-ba9876543210", "18446744073709551615", "1000",
		"0,1,2,3,4,5,6,7", "auto", "dev:63", "7",
		"read_only partial no_space_timeout 60 error_if_no_space",
	};
	struct rng rng = { 35 };

	for (u32 i = 0; i < EXECUTIONS; i++) {
		const char *sample = samples[i % (sizeof(samples) / sizeof(samples[0]))];
		const u32 size = strlen(sample);

		memcpy(input + 2, sample, size);
		mutate(&rng, input + 2, size);
		run(&rng, FUZZ_ARGS, 2 + size);
	}
	/* Too short for anything. */
	LLVMFuzzerTestOneInput(input, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_super),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
