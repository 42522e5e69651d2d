// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpdump and tprestore: the text is the metadata, all of them, and back to the
 * byte; a text that is not what tpdump writes is refused by its line; the order
 * of the writes leaves a pool or none. pwrite and fsync are ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "format_tools.h"
#include "sample.h"

static struct sample s;
static char cause[TIER_CAUSE_SIZE];
static u32 ops;				/* writes and flushes so far */
static u32 last_op = U32_MAX;		/* from this one on nothing arrives */
static u32 fail_op = U32_MAX;		/* this one fails */

static bool is_done(void)
{
	if (ops == fail_op) {
		ops++;
		errno = EIO;
		return false;
	}
	return true;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	if (!is_done())
		return -1;
	if (ops++ >= last_op)
		return bytes;
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

int fsync(int fd)
{
	if (!is_done())
		return -1;
	ops++;
	return 0;
}

static int setup(void **state)
{
	ops = 0;
	last_op = fail_op = U32_MAX;
	sample_create(&s);
	return 0;
}

static int teardown(void **state)
{
	sample_remove(&s);
	return 0;
}

static int parse(const char *text, struct tier_content **ret_content)
{
	FILE *from = fmemopen((char *)text, strlen(text), "r");
	int r;

	assert_non_null(from);
	cause[0] = '\0';
	r = tier_content_parse(from, "file", ret_content, cause);
	fclose(from);
	return r;
}

static struct tier_content *must_parse(const char *text)
{
	struct tier_content *content = NULL;

	if (parse(text, &content))
		fail_msg("%s", cause);
	return content;
}

static int restore(const char *text, const struct tier_format_device *to)
{
	struct tier_content *content = must_parse(text);
	int r = tier_content_write(content, to, cause);

	tier_content_free(content);
	return r;
}

static void expect_clean(int fd)
{
	struct tier_check_facts facts;
	struct tier_findings findings;

	assert_int_equal(tier_check(fd, &findings, &facts, cause), 0);
	if (findings.nr)
		fail_msg("%s", findings.list[0].text);
	tier_findings_clear(&findings);
}

/* The form is an interface: this is all of it. */
static const char expected[] =
"dm-tier-dump 1\n"
"pool uuid=706f6f6c-206f-6620-6120-746573742e2e extent_sectors=2048 region_sectors=128 logical_block_bytes=512 log_blocks=2048 incompat=0 compat=0 system_id=73797374-656d-206f-6620-612074657374 next_generation=10 label=name=pool0\n"
"device idx=0 uuid=d0d0d0d0-d0d0-d0d0-d0d0-d0d0d0d0d0d0 tier=0 slots=3 state=online reserve_slots=0\n"
"device idx=1 uuid=d1d1d1d1-d1d1-d1d1-d1d1-d1d1d1d1d1d1 tier=1 slots=4 state=online reserve_slots=0\n"
"device idx=2 uuid=d2d2d2d2-d2d2-d2d2-d2d2-d2d2d2d2d2d2 tier=2 slots=5 state=draining reserve_slots=0\n"
"volume id=3 uuid=00000000-0000-0000-0000-000000000000 generation=2 extents=100 placement=2,0 label=name=some\n"
"volume id=4095 uuid=75756964-206f-6620-6120-766f6c756d65 generation=9 extents=9 placement=auto label=name=big\n"
"slot device=0 slot=0 generation=9 extent=6 valid=full\n"
"slot device=0 slot=1 generation=9 extent=0 valid=0,2,5,7,15\n"
"slot device=1 slot=0 generation=2 extent=99 valid=full\n"
"slot device=1 slot=1 quarantine\n"
"slot device=2 slot=0 generation=9 extent=1 valid=-\n"
"slot device=2 slot=1 generation=2 extent=7 valid=0-2 quarantine\n"
"slot device=2 slot=2 generation=9 extent=8 valid=0\n"
"end\n";

static void test_dump(void **state)
{
	char *text = sample_dump(s.image.format.metadata.fd);

	assert_string_equal(text, expected);
	free(text);
}

static void test_round_trip(void **state)
{
	const struct tier_format_device *meta = &s.image.format.metadata;
	const struct dm_tier_record odd[] = {
		VOLUME(.id = 0, .extents = 0, .generation = 1, .uuid = "one", .label_bytes = 1,
		       .label = "-"),
		VOLUME(.id = 1, .extents = 1U << 24, .generation = 3, .uuid = "two", .tiers = 8,
		       .placement = { 7, 0, 1, 1, 2, 3, 4, 5 }, .label_bytes = 200,
		       .label = "\x01 \xff%=\n" ),
		POOL(.next_generation = U64_MAX),
		SLOT(.device = 2, .slot = 4, .generation = 3, .extent = (1U << 24) - 1,
		     .valid = { 0xfffe }),
		SLOT(.device = 2, .slot = 3, .generation = 3, .extent = 0, .valid = { 0xffff }),
	};
	struct dm_tier_record recs[ARRAY_SIZE(odd)];
	char *before, *after;

	memcpy(recs, odd, sizeof(odd));
	memset(recs[1].volume.label + 6, 'x', 194);
	sample_commit(&s, recs, ARRAY_SIZE(recs), 1, 0);
	before = sample_dump(meta->fd);
	assert_non_null(strstr(before, " label=%2D\n"));
	assert_non_null(strstr(before, "valid=1-15\n"));
	assert_int_equal(restore(before, meta), 0);
	after = sample_dump(meta->fd);
	assert_string_equal(before, after);
	expect_clean(meta->fd);
	/* Commits that the kernel makes go on from there. */
	ring_clear(&s.ring);
	pool_image_read_ring(&s.image, &s.ring);
	s.super = pool_image_super(&s.image, 1);
	sample_commit(&s, recs, 1, 1, DM_TIER_LOG_ACTIVATE);
	sample_checkpoint(&s);
	expect_clean(meta->fd);
	free(before);
	free(after);
}

/* As many slots as there are volumes, devices and blocks for, all partly valid. */
static void test_large(void **state)
{
	const u32 slots = 150000;
	struct tier_format_device to = {
		.path = "large", .fd = memfd_create("large", 0), .bytes = 96U << 20,
	};
	char *text, *after;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(ftruncate(to.fd, to.bytes), 0);
	fprintf(out, "dm-tier-dump 1\n# A comment, and an empty line\n\n");
	fprintf(out, "pool uuid=00000000-0000-0000-0000-00000000000a extent_sectors=2048 region_sectors=8 logical_block_bytes=512 log_blocks=2048 incompat=0 compat=5 system_id=00000000-0000-0000-0000-000000000000 next_generation=5000 label=-\n");
	for (u32 i = 0; i < 64; i++)
		fprintf(out, "device idx=%u uuid=00000000-0000-0000-0000-0000000000%02x tier=1 slots=%u state=online reserve_slots=1\n",
			i, i, slots / 64 + 1);
	for (u32 i = 0; i < 4096; i++)
		fprintf(out, "volume id=%u uuid=00000000-0000-0000-0001-00000000%04x generation=%u extents=10000 placement=auto label=name=v%u\n",
			i, i, i + 1, i);
	for (u32 i = 0; i < slots; i++)
		fprintf(out, "slot device=%u slot=%u generation=%u extent=%u valid=1-90,255\n",
			i / (slots / 64 + 1), i % (slots / 64 + 1), i % 4096 + 1, i / 4096);
	fprintf(out, "end\n");
	fclose(out);
	assert_int_equal(restore(text, &to), 0);
	after = sample_dump(to.fd);
	/* But for the comments. */
	assert_string_equal(strstr(text, "pool uuid"), strstr(after, "pool uuid"));
	expect_clean(to.fd);
	free(text);
	free(after);
	close(to.fd);
}

/* What was on the device before must not come back as something newer. */
static void test_numbers(void **state)
{
	const struct tier_format_device *meta = &s.image.format.metadata;
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	const struct dm_tier_log_head head = { .incarnation = 77, .commit = 5, .count = 1 };
	struct tier_meta_facts facts;
	struct tier_meta *read;
	u64 version = s.super.version;

	/* Of another pool, far behind the log, and a checkpoint of nobody. */
	dm_tier_block_begin(block);
	dm_tier_log_seal(block, (const u8 *)"another pool....", &head);
	sample_write(&s, 600, block);
	dm_tier_block_begin(block);
	dm_tier_ckpt_seal(block, (const u8 *)"another pool....", 99ULL << 32, 3);
	sample_write(&s, 601, block);
	assert_int_equal(restore(expected, meta), 0);
	assert_int_equal(tier_meta_read(meta->fd, &read, cause), 0);
	tier_meta_facts(read, &facts);
	assert_int_equal(facts.incarnation, 78);
	assert_int_equal(read->super.super.version, version + 2);
	assert_int_equal(read->super.super.ckpt[0].id, (99ULL << 32) + 1);
	tier_meta_free(read);

	dm_tier_block_begin(block);
	dm_tier_ckpt_seal(block, (const u8 *)"another pool....", U64_MAX, 3);
	sample_write(&s, 601, block);
	assert_int_equal(restore(expected, meta), -EOVERFLOW);
	assert_non_null(strstr(cause, "wipe it first"));
}

/* The power goes after any write: it is the old pool, none, or the new one. */
static void test_power_cuts(void **state)
{
	struct tier_pool_info info;
	const struct tier_format_device *meta = &s.image.format.metadata;
	u32 total, states[3] = { 0 };
	const char *text = strstr(expected, "\n") ? expected : NULL;

	ops = 0;
	assert_int_equal(restore(text, meta), 0);
	total = ops;
	assert_true(total > 10);
	for (u32 cut = 0; cut <= total; cut++) {
		struct tier_meta *read;
		int r;

		teardown(NULL);
		setup(NULL);
		ops = 0;
		last_op = cut;
		assert_int_equal(restore(text, meta), 0);
		last_op = U32_MAX;
		r = tier_meta_read(meta->fd, &read, cause);
		if (r) {
			states[1]++;
			assert_int_equal(r, -EBADMSG);
			continue;
		}
		states[read->super.super.ckpt[0].id < 100 ? 0 : 2]++;
		assert_int_equal(tier_meta_pool_info(read, &info), 0);
		assert_int_equal(read->nr_faults, 0);
		tier_pool_info_clear(&info);
		tier_meta_free(read);
	}
	assert_true(states[0] && states[1] > 5 && states[2]);
}

static void test_write_errors(void **state)
{
	const struct tier_format_device *meta = &s.image.format.metadata;
	u32 total;

	ops = 0;
	assert_int_equal(restore(expected, meta), 0);
	total = ops;
	for (u32 i = 0; i < total; i++) {
		ops = 0;
		fail_op = i;
		assert_int_equal(restore(expected, meta), -EIO);
		assert_non_null(strstr(cause, meta->path));
	}
}

static void test_sizes(void **state)
{
	struct tier_format_device to = s.image.format.metadata;
	struct tier_content *content = must_parse(expected);
	uint64_t needed, roomy;
	char *text;

	tier_content_bytes(content, &needed, &roomy);
	assert_true(needed < roomy && roomy < POOL_METADATA_BYTES);
	to.bytes = needed - 4096;
	assert_int_equal(tier_content_write(content, &to, cause), -ENOSPC);
	assert_non_null(strstr(cause, "but the metadata need"));
	/* Nothing was touched. */
	expect_clean(to.fd);
	to.bytes = needed;
	assert_int_equal(ftruncate(to.fd, needed), 0);
	assert_int_equal(tier_content_write(content, &to, cause), 0);
	expect_clean(to.fd);

	assert_int_equal(tier_content_set_log_bytes(content, 1U << 20, cause), -EINVAL);
	assert_int_equal(tier_content_set_log_bytes(content, 2ULL << 30, cause), -EINVAL);
	assert_int_equal(tier_content_set_log_bytes(content, (16U << 20) + 1, cause), -EINVAL);
	assert_int_equal(tier_content_set_log_bytes(content, 16U << 20, cause), 0);
	to.bytes = 64U << 20;
	assert_int_equal(ftruncate(to.fd, to.bytes), 0);
	assert_int_equal(tier_content_write(content, &to, cause), 0);
	expect_clean(to.fd);
	text = sample_dump(to.fd);
	assert_non_null(strstr(text, " log_blocks=4096 "));
	free(text);
	tier_content_free(content);
}

/* One line changed, taken away or added: `from` "" appends before the end. */
static const struct {
	const char *from, *to, *says;
} changes[] = {
	{ "dm-tier-dump 1", "dm-tier-dump 2", "file:1: a dump of a form that only a newer" },
	{ "dm-tier-dump 1", "hello", "file:1: this is not a dump" },
	{ "end\n", "", "before the line 'end'" },
	{ "pool uuid", "poll uuid", "file:2: the line 'pool ...' should be here, not 'poll'" },
	{ "uuid=7", "uuid=g", "is not a UUID" },
	{ "extent_sectors=2048", "extent_sectors=3000", "do not fit each other" },
	{ "extent_sectors=2048", "extent_sectors=1", "is not a number from 2048" },
	{ "region_sectors=128", "region_sectors=1 28", "is not a number" },
	{ "log_blocks=2048", "log_blocks=2047", "is not a number from 2048" },
	{ "incompat=0", "incompat=1", "is not a number from 0 to 0" },
	{ "compat=0 system", "system", "compat= should be here" },
	{ "label=name=pool0", "label=a b", "'b' is too much" },
	{ "label=name=pool0", "label=%0", "is not a label" },
	{ "next_generation=10", "next_generation=9", "the generation of volume 4095" },
	{ "device idx=1", "device idx=64", "idx=64 is not a number from 0 to 63" },
	{ "device idx=1", "device idx=0", "file:4: this is here twice" },
	{ "state=draining", "state=sleeping", "is not a state" },
	{ "tier=2", "tier=8", "tier=8 is not" },
	{ "tier=2", "tier=", "tier= is not" },
	{ "slots=4", "slots=16777217", "slots=16777217 is not" },
	{ "slots=4", "slots=0", "file:10: device 1 has 0 slots" },
	{ "uuid=d1d1d1d1-d1d1-d1d1-d1d1", "uuid=d0d0d0d0-d0d0-d0d0-d0d0", NULL },
	{ "uuid=d1d1d1d1-d1d1-d1d1-d1d1-d1d1d1d1d1d1", "uuid=d0d0d0d0-d0d0-d0d0-d0d0-d0d0d0d0d0d0",
	  "devices 0 and 1 have the same UUID" },
	{ "volume id=3", "volume id=4096", "id=4096 is not" },
	{ "volume id=3", "volume id=4095", "this is here twice" },
	{ "placement=2,0", "placement=2,8", "placement= is auto or" },
	{ "placement=2,0", "placement=", "placement= is auto or" },
	{ "placement=2,0", "placement=1,1,1,1,1,1,1,1,1", "placement= is auto or" },
	{ "generation=2 extents", "generation=0 extents", "generation=0 is not" },
	{ "generation=2 extents", "generation=9 extents", "the generation of volume" },
	{ "generation=2 extents", "generation=4 extents", "is of no volume, or beyond its end" },
	{ "extents=100", "extents=99", "is of no volume, or beyond its end" },
	{ "extents=100", "extents=16777217", "extents=16777217 is not" },
	{ "device=0 slot=1", "device=0 slot=0", "this is here twice" },
	{ "device=0 slot=1", "device=0 slot=3", "device 0 has 3 slots" },
	{ "device=0 slot=1", "device=5 slot=1", "device 5 has 0 slots" },
	{ "extent=0 valid", "extent=6 valid", "has another slot too" },
	{ "valid=0-2", "valid=2-0", "valid= is full" },
	{ "valid=0-2", "valid=0-16", "valid= is full" },
	{ "valid=0-2", "valid=0-2,1", "valid= is full" },
	{ "valid=0-2", "valid=0-", "valid= is full" },
	{ "valid=0-2", "valid=", "valid= is full" },
	{ "valid=0-2", "valid=Full", "valid= is full" },
	{ "valid=0-2 quarantine", "valid=0-2 quarantined", "'quarantined' is too much" },
	{ "slot=1 quarantine", "slot=1", "generation= should be here" },
	{ "end\n", "pool\nend\n", "there is no record 'pool'" },
	{ "end\n", "extent 5\nend\n", "there is no record 'extent'" },
	{ "end\n", "pool0", "there is no record 'pool0'" },
};

static char *replaced(const char *from, const char *to)
{
	const char *at = strstr(expected, from);
	char *text;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - expected), expected, to,
			     at + strlen(from)) > 0);
	return text;
}

static void test_refusals(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		char *text = replaced(changes[i].from, changes[i].to);
		struct tier_content *content = NULL;
		int r = parse(text, &content);

		if (!changes[i].says) {
			assert_int_equal(r, 0);
			tier_content_free(content);
		} else if (r != -EINVAL || content || strncmp(cause, "file:", 5) ||
			   !strstr(cause, changes[i].says)) {
			fail_msg("'%s' for '%s': %d %s", changes[i].to, changes[i].from, r, cause);
		}
		free(text);
	}
}

/* Cut anywhere, also within a line: never a pool but at the very end. */
static void test_cut_text(void **state)
{
	char text[sizeof(expected)];

	for (size_t bytes = 1; bytes < sizeof(expected) - 2; bytes++) {
		struct tier_content *content = NULL;

		memcpy(text, expected, bytes);
		text[bytes] = '\0';
		if (!parse(text, &content))
			fail_msg("%zu bytes", bytes);
	}
	/* The last newline may be missing. */
	memcpy(text, expected, sizeof(expected) - 2);
	text[sizeof(expected) - 2] = '\0';
	tier_content_free(must_parse(text));
}

static void test_zero_byte(void **state)
{
	struct tier_content *content = NULL;
	char text[sizeof(expected)];
	FILE *from;

	memcpy(text, expected, sizeof(text));
	text[40] = '\0';
	from = fmemopen(text, sizeof(text) - 1, "r");
	assert_int_equal(tier_content_parse(from, "file", &content, cause), -EINVAL);
	assert_non_null(strstr(cause, "file:2: a zero byte"));
	fclose(from);
	from = fopen("/", "r");
	assert_int_equal(tier_content_parse(from, "dir", &content, cause), -EIO);
	assert_non_null(strstr(cause, "cannot read dir"));
	fclose(from);
}

static void test_full_disk(void **state)
{
	struct tier_content *content = must_parse(expected);
	FILE *to = fopen("/dev/full", "w");

	assert_int_equal(tier_content_print(content, to, cause), -EIO);
	assert_non_null(strstr(cause, "No space left"));
	fclose(to);
	tier_content_free(content);
	tier_content_free(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_dump),
		T(test_round_trip),
		T(test_large),
		T(test_numbers),
		T(test_power_cuts),
		T(test_write_errors),
		T(test_sizes),
		T(test_refusals),
		T(test_cut_text),
		T(test_zero_byte),
		T(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
