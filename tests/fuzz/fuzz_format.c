// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fuzzer's way into everything that reads bytes it did not write: superblock,
 * label, blocks, replay, image, and the words of messages. The first byte of the
 * input picks the target; the second tells whether to mend crcs (bit 0) and the
 * chain of them (bit 1), without which hardly anything would get past them.
 *
 * `make fuzz` runs it with libFuzzer;
 * tests/unit/test_format_fuzz.c drives it with mutated samples in every `make check`.
 * A finding is an abort or a sanitizer's report.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "dm-tier-args.h"
#include "dm-tier-format.h"
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const u8 fuzz_uuid[16] = "the fuzzed pool";

#define MUST(condition)				\
	do {					\
		if (!(condition))		\
			abort();		\
	} while (0)

static u64 block[DM_TIER_BLOCK_BYTES / 8], again[DM_TIER_BLOCK_BYTES / 8];
static u64 ring[FUZZ_RING_BLOCKS * DM_TIER_BLOCK_BYTES / 8];

static void mend_crc(void *at, u32 bytes)
{
	u8 *b = at;
	u32 crc;

	memset(b + 8, 0, 4);
	crc = ~crc32c(~0U, b, bytes);
	for (u32 i = 0; i < 4; i++)
		b[8 + i] = crc >> 8 * i;
}

/* What decodes must encode to the same again. */
static void fuzz_super(void)
{
	struct dm_tier_super super, second;

	if (dm_tier_super_decode(block, &super))
		return;
	dm_tier_super_encode(&super, again);
	MUST(!dm_tier_super_decode(again, &second));
	MUST(!memcmp(&super, &second, sizeof(super)));
	MUST(dm_tier_log_start(&super) > dm_tier_area_start(&super, 1));
	MUST(dm_tier_super_blocks(&super) > dm_tier_log_start(&super));
}

static void fuzz_label(void)
{
	struct dm_tier_label label, second;

	if (dm_tier_label_decode(block, &label))
		return;
	dm_tier_label_encode(&label, again);
	MUST(!dm_tier_label_decode(again, &second));
	MUST(!memcmp(&label, &second, sizeof(label)));
}

static int apply(void *ctx, const struct dm_tier_record *rec)
{
	/* Valid, but half a GiB each: not worth a fuzzer's time. */
	if (rec->type == DM_TIER_REC_SLOT && rec->slot.slot >= 4096)
		return 0;
	return dm_tier_image_apply(ctx, rec);
}

static void check_image(struct dm_tier_image *image)
{
	int faults = dm_tier_image_check(image, NULL, NULL, NULL);

	/* A check frees what is stale, so the second finds the same faults and no more. */
	MUST(faults >= 0);
	MUST(dm_tier_image_check(image, NULL, NULL, NULL) == faults);
}

static void fuzz_block(void)
{
	struct dm_tier_image *image = dm_tier_image_alloc(256);
	struct dm_tier_record rec;
	struct dm_tier_log_head head;
	u32 offset = 0, steps = 0;

	MUST(image);
	if (!dm_tier_log_decode(block, fuzz_uuid, &head))
		MUST(head.index < head.count && head.bytes <= DM_TIER_BLOCK_PAYLOAD);
	dm_tier_ckpt_decode(block, fuzz_uuid, 1, 0);
	dm_tier_block_begin(again);
	while (dm_tier_block_next(block, &offset, &rec) > 0) {
		MUST(++steps <= DM_TIER_BLOCK_PAYLOAD / 16);
		MUST(offset <= DM_TIER_BLOCK_PAYLOAD);
		/* What was read is written in no more space. */
		MUST(dm_tier_block_add(again, &rec));
		apply(image, &rec);
	}
	check_image(image);
	dm_tier_image_free(image);
}

/* As if one writer had written them all, one after another from the checkpoint on. */
static void mend_chain(u64 position)
{
	u32 crc = 0;

	for (u32 i = 0; i < FUZZ_RING_BLOCKS; i++) {
		u8 *at = (u8 *)ring + (position + i) % FUZZ_RING_BLOCKS * DM_TIER_BLOCK_BYTES;
		struct dm_tier_log_head_disk *head = (void *)at;

		head->prev_crc = cpu_to_le32(crc);
		mend_crc(at, DM_TIER_BLOCK_BYTES);
		crc = le32_to_cpu(head->crc);
	}
}

static void fuzz_replay(const uint8_t *data, size_t size, bool mend, bool chain)
{
	const struct dm_tier_ckpt_ref from = {
		.seq = size > 0 ? data[0] : 0,
		.position = size > 1 ? data[1] % (FUZZ_RING_BLOCKS + 1) : 0,
	};
	struct dm_tier_image *image = dm_tier_image_alloc(256);
	struct dm_tier_log_end end;

	MUST(image);
	size = size > 2 ? size - 2 : 0;
	memset(ring, 0, sizeof(ring));
	memcpy(ring, data + 2, min(size, sizeof(ring)));
	for (u32 i = 0; mend && i < FUZZ_RING_BLOCKS; i++)
		mend_crc((u8 *)ring + i * DM_TIER_BLOCK_BYTES, DM_TIER_BLOCK_BYTES);
	if (chain)
		mend_chain(from.position);

	if (!dm_tier_log_replay(ring, FUZZ_RING_BLOCKS, fuzz_uuid, &from, 0, apply, image, &end)) {
		MUST(end.position < FUZZ_RING_BLOCKS);
		MUST(end.commit >= from.seq && end.commit <= from.seq + FUZZ_RING_BLOCKS);
		MUST(!end.damaged == !end.damage_commit);
		MUST(!end.last_count == (end.commit == from.seq));
		MUST(end.max_incarnation >= end.incarnation);
	}
	check_image(image);
	dm_tier_image_free(image);
}

static void fuzz_features(char *text)
{
	struct dm_tier_features features;
	const char *error;
	char *argv[16], *save = NULL;
	u32 argc = 0;

	for (char *word = strtok_r(text, " ", &save); word && argc < 16;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	dm_tier_args_features(argc, argv, &features, &error);
}

static void fuzz_args(const uint8_t *data, size_t size)
{
	char word[1024], text[DM_TIER_MAX_LABEL], encoded[DM_TIER_ENCODED_CHARS];
	char second[DM_TIER_MAX_LABEL];
	u8 uuid[16], tiers, placement[DM_TIER_MAX_TIERS], bytes, second_bytes;
	char uuid_text[DM_TIER_UUID_CHARS];
	int tier, device;
	u64 value;

	size = min(size, sizeof(word) - 1);
	memcpy(word, data, size);
	word[size] = '\0';

	if (!dm_tier_args_text(word, text, &bytes)) {
		dm_tier_encode_text(text, bytes, encoded);
		MUST(!dm_tier_args_text(encoded, second, &second_bytes));
		MUST(bytes == second_bytes && !memcmp(text, second, bytes));
	}
	if (!dm_tier_args_uuid(word, uuid)) {
		dm_tier_format_uuid(uuid, uuid_text);
		MUST(!strcasecmp(uuid_text, word));
	}
	if (!dm_tier_args_u64(word, 3, 1000, &value))
		MUST(value >= 3 && value <= 1000);
	if (!dm_tier_args_placement(word, &tiers, placement))
		MUST(tiers <= DM_TIER_MAX_TIERS);
	if (!dm_tier_args_target(word, &tier, &device))
		MUST((tier == -1) != (device == -1));
	fuzz_features(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;

	const enum fuzz_target target = data[0] % FUZZ_TARGETS;
	const bool mend = data[1] & 1, chain = data[1] & 2;

	data += 2;
	size -= 2;
	memset(block, 0, sizeof(block));
	memcpy(block, data, min(size, sizeof(block)));
	if (mend)
		mend_crc(block, target == FUZZ_LABEL ? DM_TIER_LABEL_BYTES : DM_TIER_BLOCK_BYTES);

	switch (target) {
	case FUZZ_SUPER:
		fuzz_super();
		break;
	case FUZZ_LABEL:
		fuzz_label();
		break;
	case FUZZ_BLOCK:
		fuzz_block();
		break;
	case FUZZ_REPLAY:
		fuzz_replay(data, size, mend, chain);
		break;
	case FUZZ_ARGS:
		fuzz_args(data, size);
		break;
	case FUZZ_TARGETS:
		break;
	}
	return 0;
}
