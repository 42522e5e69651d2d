// SPDX-License-Identifier: GPL-2.0-only
/*
 * A short fuzz of the offline tools: what is kept of the corpus of fuzz_tools.c,
 * then a sample pool's metadata spoiled by a few operations at random, and its
 * text with a few bytes changed, always the same ones. What is checked is in the
 * harness; with SAN=1 so is every access.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/fuzz_tools.c"
#include "ring.h"

#define IMAGES	15000
#define TEXTS	15000
#define CORPUS	"tests/fuzz/fuzz_tools.corpus"

static u8 input[1 << 16];

static const struct record_limits limits = { 4, 8, 6, 20, 12, 16 };

static void test_corpus(void **state)
{
	FILE *from = fopen(CORPUS, "r");
	u8 head[2];
	u32 nr = 0;

	assert_non_null(from);
	while (fread(head, 1, 2, from) == 2) {
		const size_t size = head[0] | head[1] << 8;

		assert_int_equal(fread(input, 1, size, from), size);
		LLVMFuzzerTestOneInput(input, size);
		nr++;
	}
	assert_true(!ferror(from) && nr > 100);
	fclose(from);
}

/* Blocks that mean something more often than any. */
static u8 random_block(struct rng *rng)
{
	const u8 starts[] = { DM_TIER_SUPER_BLOCK_0, DM_TIER_SUPER_BLOCK_1, DM_TIER_AREA_BLOCK,
			      DM_TIER_AREA_BLOCK + AREA_BLOCKS,
			      DM_TIER_AREA_BLOCK + 2 * AREA_BLOCKS };

	if (!rng_below(rng, 8))
		return rng_below(rng, BLOCKS);
	return starts[rng_below(rng, sizeof(starts))] + (rng_below(rng, 2) ? 0 : rng_below(rng, 8));
}

/* Records of any kind, some of them bent; returns their bytes. */
static u32 random_records(struct rng *rng, u8 *to)
{
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	struct dm_tier_record rec;
	u32 bytes;

	dm_tier_block_begin(block);
	for (u32 n = 1 + rng_below(rng, 6); n; n--) {
		record_random(rng, &limits, &rec);
		dm_tier_block_add(block, &rec);
	}
	bytes = min_t(u32, le32_to_cpu(((struct dm_tier_log_head_disk *)block)->bytes), 255 * 8);
	memcpy(to, (u8 *)block + DM_TIER_BLOCK_HEAD_BYTES, bytes);
	if (bytes && !rng_below(rng, 4))
		to[rng_below(rng, bytes)] ^= 1 << rng_below(rng, 8);
	return bytes;
}

static size_t random_op(struct rng *rng, u8 *op)
{
	/* Half of them where the heads and the first records are. */
	const u32 at = rng_below(rng, rng_below(rng, 2) ? 200 : DM_TIER_BLOCK_BYTES);
	u32 bytes = 0;

	op[0] = rng_below(rng, FUZZ_OPS);
	op[1] = random_block(rng);
	op[2] = at;
	op[3] = at >> 8;
	op[4] = rng_below(rng, 256);
	switch (op[0]) {
	case FUZZ_SWAP:
	case FUZZ_COPY:
		op[2] = random_block(rng);
		op[3] = 0;
		break;
	case FUZZ_CHECKPOINT:
		op[1] = rng_below(rng, 6);
		/* fall through */
	case FUZZ_COMMIT:
		bytes = random_records(rng, op + FUZZ_OP_BYTES);
		op[4] = bytes / 8;
		break;
	}
	return FUZZ_OP_BYTES + bytes;
}

static void test_images(void **state)
{
	struct rng rng = { 41 };

	for (u32 i = 0; i < IMAGES; i++) {
		size_t size = 1;

		input[0] = FUZZ_IMAGE;
		for (u32 n = 1 + rng_below(&rng, 5); n; n--)
			size += random_op(&rng, input + size);
		LLVMFuzzerTestOneInput(input, size);
	}
}

static void test_texts(void **state)
{
	static const char interesting[] = "0123456789-,=% \nabfxqe\t\x80";
	const char *text = fuzz_sample_text();
	const size_t size = strlen(text);
	struct rng rng = { 42 };

	input[0] = FUZZ_TEXT;
	for (u32 i = 0; i < TEXTS; i++) {
		memcpy(input + 1, text, size);
		for (u32 n = 1 + rng_below(&rng, 3); n; n--)
			input[1 + rng_below(&rng, size)] =
				interesting[rng_below(&rng, sizeof(interesting))];
		LLVMFuzzerTestOneInput(input, 1 + size - (rng_below(&rng, 8) ? 0 :
							  rng_below(&rng, size)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
