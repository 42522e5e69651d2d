// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fuzzer's way into tpcheck, tpdump, tprestore and tprepair, on devices in
 * memory. Never mind the input, they do not crash, and they agree:
 *
 * - what tpcheck calls undamaged is loaded, and tprepair makes the same of it;
 * - what tprepair makes is undamaged, and the same after dump and restore;
 * - a text that is taken is the same after parse and print.
 *
 * `make fuzz` runs it with libFuzzer, tests/unit/test_tools_fuzz.c with mutated
 * samples in every `make check`. Both compile all sources with small.h.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "format_tools.h"
#include "format_meta.h"
#include "fuzz_tools.h"

#define MUST(condition)				\
	do {					\
		if (!(condition))		\
			abort();		\
	} while (0)

#define AREA_BLOCKS	12
#define LOG_BLOCKS	DM_TIER_MIN_LOG_BLOCKS
#define BLOCKS		(DM_TIER_AREA_BLOCK + 2 * AREA_BLOCKS + LOG_BLOCKS)

typedef u8 disk_block[DM_TIER_BLOCK_BYTES];

static disk_block sample[BLOCKS];	/* a sound pool */
static u64 sample_end;			/* ring position behind its last commit */
static u32 sample_crc;
static u64 sample_commits;
static struct dm_tier_super sample_super;
static char *sample_text;

/* Devices in memory ----------------------------------------------------------------*/

/* The one that is spoiled, and the one that is written; their descriptors. */
enum { SPOILED = 1000, WRITTEN };

static struct disk {
	disk_block block[BLOCKS];
	bool unreadable[BLOCKS];
	bool touched[BLOCKS];
	u64 bytes;
} disks[2];

/* Not static: a fortified <unistd.h> makes pread() and pwrite() inline functions. */
struct disk *disk_of(int fd);
struct disk *disk_of(int fd)
{
	MUST(fd == SPOILED || fd == WRITTEN);
	return &disks[fd - SPOILED];
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	const struct disk *disk = disk_of(fd);

	if ((u64)offset >= disk->bytes)
		return 0;
	bytes = min_t(u64, bytes, disk->bytes - offset);
	for (u64 i = offset / DM_TIER_BLOCK_BYTES; i * DM_TIER_BLOCK_BYTES < offset + bytes; i++) {
		if (disk->unreadable[i]) {
			errno = EIO;
			return -1;
		}
	}
	memcpy(data, (const u8 *)disk->block + offset, bytes);
	return bytes;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	struct disk *disk = disk_of(fd);

	MUST(offset + bytes <= disk->bytes);
	memcpy((u8 *)disk->block + offset, data, bytes);
	return bytes;
}

off_t lseek(int fd, off_t offset, int whence)
{
	MUST(whence == SEEK_END && !offset);
	return disk_of(fd)->bytes;
}

int fsync(int fd)
{
	return 0;
}

uint64_t fuzz_blocks(void)
{
	return BLOCKS;
}

static u8 *block_of(u64 nr)
{
	struct disk *disk = &disks[0];

	nr %= BLOCKS;
	disk->touched[nr] = true;
	return disk->block[nr];
}

static void reset(void)
{
	struct disk *disk = &disks[0];

	for (u64 i = 0; i < BLOCKS; i++) {
		if (disk->touched[i])
			memcpy(disk->block[i], sample[i], DM_TIER_BLOCK_BYTES);
		disk->touched[i] = disk->unreadable[i] = false;
	}
	disk->bytes = sizeof(disk->block);
}

/* The sample ------------------------------------------------------------------------*/

static const struct dm_tier_record records[] = {
	{ .type = DM_TIER_REC_POOL,
	  .pool = { .next_generation = 10, .label_bytes = 10, .label = "name=pool0" } },
	{ .type = DM_TIER_REC_VOLUME,
	  .volume = { .id = 40, .extents = 9, .generation = 9, .uuid = "uuid of a volume",
		      .label_bytes = 8, .label = "name=big" } },
	{ .type = DM_TIER_REC_VOLUME,
	  .volume = { .id = 3, .extents = 100, .generation = 2, .tiers = 2,
		      .placement = { 2, 0 } } },
	{ .type = DM_TIER_REC_SLOT,
	  .slot = { .device = 0, .slot = 0, .generation = 9, .extent = 6, .full = true } },
	{ .type = DM_TIER_REC_SLOT,
	  .slot = { .device = 1, .slot = 3, .generation = 9, .extent = 0, .valid = { 0x80a5 } } },
	{ .type = DM_TIER_REC_SLOT,
	  .slot = { .device = 1, .slot = 1, .quarantine = true } },
	{ .type = DM_TIER_REC_SLOT,
	  .slot = { .device = 1, .slot = 2, .generation = 2, .extent = 99, .valid = { 7 } } },
};

static void append(const void *payload, u32 bytes, u32 flags, u64 incarnation)
{
	struct dm_tier_log_head_disk *disk;
	const struct dm_tier_log_head head = {
		.incarnation = incarnation, .commit = ++sample_commits, .count = 1,
		.prev_crc = sample_crc, .flags = flags,
	};
	u8 *block = block_of(dm_tier_log_start(&sample_super) + sample_end);

	dm_tier_block_begin(block);
	disk = (void *)block;
	disk->bytes = cpu_to_le32(bytes);
	memcpy(block + DM_TIER_BLOCK_HEAD_BYTES, payload, bytes);
	sample_crc = dm_tier_log_seal(block, sample_super.uuid, &head);
	sample_end = (sample_end + 1) % LOG_BLOCKS;
}

static void append_records(const struct dm_tier_record *recs, u32 nr, u32 flags, u64 incarnation)
{
	static u64 block[DM_TIER_BLOCK_BYTES / 8];

	dm_tier_block_begin(block);
	for (u32 i = 0; i < nr; i++)
		MUST(dm_tier_block_add(block, &recs[i]));
	append((u8 *)block + DM_TIER_BLOCK_HEAD_BYTES,
	       le32_to_cpu(((struct dm_tier_log_head_disk *)block)->bytes), flags, incarnation);
}

/* A second checkpoint, of two blocks, as of the commits up to now. */
static void checkpoint(const u8 *uuid)
{
	struct dm_tier_ckpt_ref ref = {
		.id = 7ULL << 32, .area = 1, .blocks = 2, .seq = sample_commits,
		.position = sample_end, .prev_crc = sample_crc,
	};
	struct dm_tier_record device = { .type = DM_TIER_REC_DEVICE };
	u8 *block = block_of(dm_tier_area_start(&sample_super, 1));

	dm_tier_block_begin(block);
	MUST(dm_tier_block_add(block, &records[0]));
	for (u32 i = 0; i < 3; i++) {
		device.device.idx = device.device.tier = i;
		device.device.slots = 3 + i;
		device.device.state = DM_TIER_DEV_ONLINE;
		memset(device.device.uuid, 0xd0 + i, 16);
		MUST(dm_tier_block_add(block, &device));
	}
	dm_tier_ckpt_seal(block, uuid, ref.id, 0);
	block = block_of(dm_tier_area_start(&sample_super, 1) + 1);
	dm_tier_block_begin(block);
	for (size_t i = 1; i < ARRAY_SIZE(records); i++)
		MUST(dm_tier_block_add(block, &records[i]));
	dm_tier_ckpt_seal(block, uuid, ref.id, 1);
	sample_super.ckpt[1] = sample_super.ckpt[0];
	sample_super.ckpt[0] = ref;
	sample_super.version++;
	sample_super.final_seq = sample_commits;
	sample_super.block = DM_TIER_SUPER_BLOCK_0;
	dm_tier_super_encode(&sample_super, block_of(0));
}

static char *print(const struct tier_content *content)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	MUST(to && !tier_content_print(content, to, NULL) && !fclose(to));
	return text;
}

static struct tier_content *content_of(int fd)
{
	struct tier_content *content = NULL;
	struct tier_meta_facts facts;
	struct tier_meta *meta;

	if (tier_meta_read(fd, &meta, NULL))
		return NULL;
	tier_meta_facts(meta, &facts);
	if (!facts.needs_check)
		MUST(!tier_content_of_meta(meta, &content));
	tier_meta_free(meta);
	return content;
}

static void make_sample(void)
{
	const struct tier_format_device data[] = {
		{ .bytes = 4U << 20, .tier = 0, .uuid = { 0xd0 } },
		{ .bytes = 5U << 20, .tier = 1, .uuid = { 0xd1 } },
		{ .bytes = 6U << 20, .tier = 2, .uuid = { 0xd2 } },
	};
	const struct dm_tier_record moved[] = {
		{ .type = DM_TIER_REC_SLOT,
		  .slot = { .device = 0, .slot = 1, .generation = 9, .valid = { 0x80a5 } } },
		{ .type = DM_TIER_REC_SLOT, .slot = { .device = 1, .slot = 3 } },
	};
	struct dm_tier_record device = { .type = DM_TIER_REC_DEVICE };
	struct dm_tier_super *super = &sample_super;
	struct tier_findings findings;
	struct tier_check_facts facts;
	struct tier_content *content;

	memcpy(super->uuid, "the fuzzed pool", 16);
	super->version = 1;
	super->extent_sectors = 2048;
	super->region_sectors = 128;
	super->logical_block_bytes = 512;
	super->area_blocks = AREA_BLOCKS;
	super->log_blocks = LOG_BLOCKS;
	super->final_seq = 1;
	super->ckpt[0] = (struct dm_tier_ckpt_ref){ .id = 1, .blocks = 1 };
	disks[0].bytes = disks[1].bytes = sizeof(disks[0].block);
	super->block = DM_TIER_SUPER_BLOCK_1;
	dm_tier_super_encode(super, block_of(DM_TIER_SUPER_BLOCK_1));
	dm_tier_block_begin(block_of(dm_tier_area_start(super, 0)));
	MUST(dm_tier_block_add(block_of(dm_tier_area_start(super, 0)), &records[0]));
	for (u32 i = 0; i < 3; i++) {
		device.device.idx = device.device.tier = i;
		device.device.slots = tier_format_slots(data[i].bytes, 2048);
		device.device.state = DM_TIER_DEV_ONLINE;
		memset(device.device.uuid, data[i].uuid[0], 16);
		MUST(dm_tier_block_add(block_of(dm_tier_area_start(super, 0)), &device));
	}
	dm_tier_ckpt_seal(block_of(dm_tier_area_start(super, 0)), super->uuid, 1, 0);

	append_records(NULL, 0, DM_TIER_LOG_ACTIVATE, 1);
	append_records(records, 4, 0, 1);
	append_records(records + 4, ARRAY_SIZE(records) - 4, 0, 1);
	checkpoint(super->uuid);
	append_records(moved, 2, 0, 1);
	append_records(NULL, 0, DM_TIER_LOG_ACTIVATE, 2);
	append_records(records, 1, 0, 2);
	append_records(NULL, 0, 0, 2);
	memcpy(sample, disks[0].block, sizeof(sample));
	content = content_of(SPOILED);
	MUST(content);
	sample_text = print(content);
	tier_content_free(content);
	/* All of it was read, and nothing is wrong with it. */
	MUST(strstr(sample_text, "slot device=0 slot=1 generation=9 extent=0"));
	MUST(!tier_check(SPOILED, &findings, &facts, NULL) && !findings.nr);
	MUST(facts.commit == 7 && super->ckpt[0].id == 7ULL << 32);
}

/* Once; everything else is put back after each input. */
static void begin(void)
{
	static u64 end, commits;
	static u32 crc;

	if (!sample_text) {
		/* Large buffers are mapped and unmapped each time otherwise. */
		mallopt(M_MMAP_THRESHOLD, 64 << 20);
		mallopt(M_TRIM_THRESHOLD, 256 << 20);
		make_sample();
		end = sample_end;
		commits = sample_commits;
		crc = sample_crc;
	}
	sample_end = end;
	sample_commits = commits;
	sample_crc = crc;
	reset();
}

const char *fuzz_sample_text(void)
{
	begin();
	return sample_text;
}

/* What holds for every text and every image ---------------------------------------------*/

static int parse(const char *text, size_t size, struct tier_content **ret_content)
{
	FILE *from = fmemopen((void *)text, size, "r");
	char cause[TIER_CAUSE_SIZE] = "";
	int r;

	MUST(from);
	r = tier_content_parse(from, "text", ret_content, cause);
	if (getenv("FUZZ_VERBOSE"))
		fprintf(stderr, "%.*s\n%s\n", (int)size, text, cause);
	MUST(!r == !*cause);
	fclose(from);
	return r;
}

/* To a device, which is undamaged, and back. */
static void must_survive(const struct tier_content *content)
{
	static u8 bytes_of_room;
	struct tier_format_device to = {
		.path = "device", .fd = WRITTEN, .bytes = sizeof(disks[1].block),
	};
	struct tier_findings findings = { 0 };
	struct tier_check_facts facts;
	struct tier_content *again;
	char *text = print(content), *back;
	int r;

	MUST(!parse(text, strlen(text), &again));
	back = print(again);
	MUST(!strcmp(text, back));
	tier_content_free(again);
	free(back);

	/* What was left of the one before must do no harm. */
	disks[1].block[bytes_of_room++ % BLOCKS][0] ^= 1;
	r = tier_content_write(content, &to, NULL);
	MUST(!r || r == -ENOSPC || r == -EOVERFLOW);
	if (r == -EOVERFLOW)
		memset(disks[1].block, 0, sizeof(disks[1].block));
	if (!r) {
		MUST(!tier_check(WRITTEN, &findings, &facts, NULL));
		MUST(!findings.nr);
		again = content_of(WRITTEN);
		MUST(again);
		back = print(again);
		MUST(!strcmp(text, back));
		tier_content_free(again);
		free(back);
	}
	free(text);
	tier_findings_clear(&findings);
}

static void fuzz_text(const uint8_t *data, size_t size)
{
	struct tier_content *content = NULL;

	if (!size || parse((const char *)data, size, &content))
		return;
	must_survive(content);
	tier_content_free(content);
}

/* Labels of volumes that hold a zero byte are damage that a dump cannot write. */
static bool has_zero_byte(const char *text)
{
	return strstr(text, "%00") != NULL;
}

static void check_repair(bool is_sound, bool thorough)
{
	const struct tier_repair_device device = {
		.idx = 1, .tier = 1, .bytes = 5U << 20, .pool_uuid = "the fuzzed pool",
		.uuid = { 0xd1, 0xd1 }, .logical_block_bytes = 512,
	};
	const struct tier_repair_options options = {
		.extent_sectors = 2048, .region_sectors = 128, .devices = &device,
		.nr_devices = 1,
	};
	struct tier_content *repaired = NULL, *loaded = is_sound ? content_of(SPOILED) : NULL;
	struct tier_findings findings = { 0 };
	char cause[TIER_CAUSE_SIZE] = "", *text, *expected;
	int r = tier_repair(SPOILED, &options, &findings, &repaired, cause);

	for (size_t i = 0; getenv("FUZZ_VERBOSE") && i < findings.nr; i++)
		fprintf(stderr, "%s\n", findings.list[i].text);
	MUST(!r == !*cause);
	MUST(!is_sound || (!r && loaded));
	if (!r) {
		text = print(repaired);
		if (is_sound) {
			expected = print(loaded);
			if (getenv("FUZZ_VERBOSE"))
				fprintf(stderr, "loaded:\n%srepaired:\n%s", expected, text);
			MUST(!strcmp(text, expected));
			free(expected);
		}
		if (thorough && !has_zero_byte(text))
			must_survive(repaired);
		free(text);
	}
	tier_content_free(repaired);
	tier_content_free(loaded);
	tier_findings_clear(&findings);
}

static void check_all(bool thorough)
{
	struct tier_findings findings = { 0 };
	struct tier_content *content;
	struct tier_check_facts facts;
	char cause[TIER_CAUSE_SIZE] = "";
	int r = tier_check(SPOILED, &findings, &facts, cause);

	MUST(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
	MUST(!r == !*cause);
	if (r) {
		content = content_of(SPOILED);
		MUST(!content || r == -EBADMSG);
		tier_content_free(content);
	}
	check_repair(!r && !findings.nr_damages, thorough);
	tier_findings_clear(&findings);
}

/* Images ---------------------------------------------------------------------------------*/

static void mend(u8 *block)
{
	u32 crc;

	memset(block + 8, 0, 4);
	crc = ~crc32c(~0U, block, DM_TIER_BLOCK_BYTES);
	for (u32 i = 0; i < 4; i++)
		block[8 + i] = crc >> 8 * i;
}

static void chain(u64 position)
{
	u32 crc = 0;

	for (u64 i = 0; i < LOG_BLOCKS; i++) {
		u8 *block = block_of(dm_tier_log_start(&sample_super) +
				     (position + i) % LOG_BLOCKS);
		struct dm_tier_log_head_disk *head = (void *)block;

		if (!head->magic)
			break;
		if (i)
			head->prev_crc = cpu_to_le32(crc);
		mend(block);
		crc = le32_to_cpu(head->crc);
	}
}

static void swap_blocks(u8 *a, u8 *b)
{
	static disk_block other;

	memcpy(other, a, sizeof(other));
	memmove(a, b, sizeof(other));
	memcpy(b, other, sizeof(other));
}

/* Records as they are in the input, into a checkpoint's block that is sealed then. */
static void put_checkpoint(u32 index, const void *payload, u32 bytes)
{
	const struct dm_tier_ckpt_ref *ref = &sample_super.ckpt[index & 1];
	u8 *block = block_of(dm_tier_area_start(&sample_super, ref->area) +
			     index / 2 % AREA_BLOCKS);

	dm_tier_block_begin(block);
	((struct dm_tier_log_head_disk *)block)->bytes = cpu_to_le32(bytes);
	memcpy(block + DM_TIER_BLOCK_HEAD_BYTES, payload, bytes);
	dm_tier_ckpt_seal(block, sample_super.uuid, ref->id, index / 2 % AREA_BLOCKS);
}

/* Returns the bytes of data that the operation took. */
static size_t spoil(const uint8_t *op, const uint8_t *data, size_t size)
{
	const u32 at = (op[2] | op[3] << 8) % DM_TIER_BLOCK_BYTES;
	u8 *block = block_of(op[1]);
	size_t bytes = 0;

	switch ((enum fuzz_op)(op[0] % FUZZ_OPS)) {
	case FUZZ_SET:
		block[at] = op[4];
		break;
	case FUZZ_FORGE:
		block[at] = op[4];
		mend(block);
		break;
	case FUZZ_FORGE_WIDE:
		memset(block + (at & ~7U), op[4], 8);
		mend(block);
		break;
	case FUZZ_SWAP:
		swap_blocks(block, block_of(at));
		break;
	case FUZZ_COPY:
		memmove(block_of(at), block, DM_TIER_BLOCK_BYTES);
		break;
	case FUZZ_ZERO:
		memset(block, 0, DM_TIER_BLOCK_BYTES);
		break;
	case FUZZ_UNREADABLE:
		disks[0].unreadable[op[1] % BLOCKS] = true;
		break;
	case FUZZ_COMMIT:
		bytes = min_t(size_t, op[4] * 8, size & ~(size_t)7);
		append(data, bytes, op[3] & 1, 2 + (op[3] & 1));
		break;
	case FUZZ_CHECKPOINT:
		bytes = min_t(size_t, op[4] * 8, size & ~(size_t)7);
		put_checkpoint(op[1], data, bytes);
		break;
	case FUZZ_CHAIN:
		chain(op[1] % LOG_BLOCKS);
		break;
	case FUZZ_CUT:
		disks[0].bytes = op[1] % (BLOCKS + 1) * DM_TIER_BLOCK_BYTES + op[4];
		disks[0].bytes = min_t(u64, disks[0].bytes, sizeof(disks[0].block));
		break;
	case FUZZ_OPS:
		break;
	}
	return bytes;
}

static void fuzz_image(const uint8_t *data, size_t size)
{
	/* Writing a device takes longer than all else: for a quarter of the inputs. */
	const bool thorough = !(crc32c(0, data, size) & 3);
	u32 ops = 0;

	while (size >= FUZZ_OP_BYTES && ops++ < 64) {
		const uint8_t *op = data;
		size_t taken;

		data += FUZZ_OP_BYTES;
		size -= FUZZ_OP_BYTES;
		taken = spoil(op, data, size);
		data += taken;
		size -= taken;
	}
	check_all(thorough);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	if (!size)
		return 0;
	if (data[0] % FUZZ_INPUTS == FUZZ_TEXT)
		fuzz_text(data + 1, size - 1);
	else
		fuzz_image(data + 1, size - 1);
	return 0;
}
