// SPDX-License-Identifier: GPL-2.0-only
/* Replay of a log ring: whole commits, torn tails, holes, laps, incarnations. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dm-tier-format.h"
#include "ring.h"

#define RING_BLOCKS 40

static struct ring ring;
static struct dm_tier_ckpt_ref from;

/* The records that replay handed out; here it is enough to know which pools they name. */
static u64 applied[200];
static u32 nr_applied;
static int apply_error;

static int apply(void *ctx, const struct dm_tier_record *rec)
{
	assert_ptr_equal(ctx, &ring);
	if (apply_error && nr_applied == 1)
		return apply_error;
	assert_in_range(nr_applied, 0, 199);
	applied[nr_applied++] = rec->pool.next_generation;
	return 0;
}

static int setup(void **state)
{
	ring_init(&ring, RING_BLOCKS);
	from = ring_ref(&ring);
	apply_error = 0;
	return 0;
}

static int teardown(void **state)
{
	ring_clear(&ring);
	return 0;
}

/* Appends a commit of @blocks blocks that holds one record, named @name. */
static u64 commit(u64 name, u32 blocks, u32 flags)
{
	const struct dm_tier_record rec = {
		.type = DM_TIER_REC_POOL,
		.pool = { .next_generation = name },
	};

	return ring_commit(&ring, &rec, 1, blocks, flags);
}

static int replay(u64 final_seq, struct dm_tier_log_end *ret_end)
{
	nr_applied = 0;
	return dm_tier_log_replay(ring.blocks, ring.nr, ring.uuid, &from, final_seq, apply,
				  &ring, ret_end);
}

/* Replays, and expects commits @first .. @last (their names) and @damaged. */
static struct dm_tier_log_end expect(u64 first, u64 last, bool damaged)
{
	struct dm_tier_log_end end;

	assert_int_equal(replay(0, &end), 0);
	assert_int_equal(nr_applied, last + 1 - first);
	for (u32 i = 0; i < nr_applied; i++)
		assert_int_equal(applied[i], first + i);
	assert_int_equal(end.damaged, damaged);
	assert_int_equal(end.damage_commit, damaged ? end.commit + 1 : 0);
	return end;
}

static void damage(u64 position)
{
	ring_block(&ring, position)[2000] ^= 1;
}

static void test_empty(void **state)
{
	struct dm_tier_log_end end = expect(1, 0, false);

	assert_int_equal(end.commit, 0);
	assert_int_equal(end.position, 0);
	assert_int_equal(end.incarnation, 0);
	assert_int_equal(end.crc, 0);
	assert_int_equal(end.last_count, 0);
	assert_int_equal(end.max_incarnation, 0);
}

static void test_whole_commits(void **state)
{
	struct dm_tier_log_end end;
	u64 last = 0;

	for (u64 i = 1; i <= 6; i++)
		last = commit(i, i, i == 1 ? DM_TIER_LOG_ACTIVATE : 0);
	end = expect(1, 6, false);
	assert_int_equal(end.commit, 6);
	assert_int_equal(end.position, ring.position);
	assert_int_equal(end.crc, ring.crc);
	assert_int_equal(end.incarnation, 2);
	assert_int_equal(end.max_incarnation, 2);
	assert_int_equal(end.last_position, last);
	assert_int_equal(end.last_count, 6);
}

static void test_from_a_checkpoint(void **state)
{
	for (u64 i = 1; i <= 3; i++)
		commit(i, 2, 0);
	from = ring_ref(&ring);
	assert_int_equal(expect(4, 3, false).commit, 3);
	commit(4, 3, 0);
	assert_int_equal(expect(4, 4, false).commit, 4);
	/* What the checkpoint covers may rot. */
	damage(0);
	damage(5);
	expect(4, 4, false);
}

/* A crash may leave any of the blocks of the last commit unwritten. */
static void test_torn_tail(void **state)
{
	for (u32 lost = 1; lost < 1U << 4; lost++) {
		struct dm_tier_log_end end;
		u64 start;

		memset(ring.blocks, 0, ring.nr * DM_TIER_BLOCK_BYTES);
		ring.commit = ring.position = ring.crc = 0;
		commit(1, 1, 0);
		commit(2, 3, 0);
		start = commit(3, 4, 0);
		for (u32 i = 0; i < 4; i++)
			if (lost & 1U << i)
				damage(start + i);
		end = expect(1, 2, false);
		assert_int_equal(end.position, start);
		assert_int_equal(end.last_count, 3);
		assert_int_equal(end.last_position, 1);
	}
}

/* Any block of an inner commit: what follows proves that it was durable. */
static void test_hole(void **state)
{
	u64 start;

	commit(1, 1, 0);
	start = commit(2, 3, 0);
	commit(3, 1, 0);
	commit(4, 2, 0);
	for (u32 i = 0; i < 3; i++) {
		damage(start + i);
		assert_int_equal(expect(1, 1, true).damage_commit, 2);
		damage(start + i);
	}
	expect(1, 4, false);

	/* One block of the later one is enough, whichever. */
	damage(start);
	damage(start + 3);
	damage(start + 4);
	expect(1, 1, true);
	damage(start + 5);
	expect(1, 1, false);
	/* ... but then the final seq of the superblock may know better. */
	for (u64 final_seq = 0; final_seq <= 2; final_seq++) {
		struct dm_tier_log_end end;

		assert_int_equal(replay(final_seq, &end), 0);
		assert_int_equal(end.damaged, final_seq == 2);
		assert_int_equal(end.damage_commit, final_seq == 2 ? 2 : 0);
	}
}

static void test_wrap_and_laps(void **state)
{
	for (u64 i = 1; i <= 100; i++) {
		struct dm_tier_log_end end;
		u64 start;

		from = ring_ref(&ring);
		start = commit(i, 1 + i % 7, 0);
		end = expect(i, i, false);
		assert_int_equal(end.position, (start + 1 + i % 7) % RING_BLOCKS);

		/* Torn over blocks of earlier laps: no damage, whatever they are. */
		damage(start + i % (1 + i % 7));
		assert_int_equal(expect(i, i - 1, false).position, start);
		damage(start + i % (1 + i % 7));
	}
	assert_true(ring.position < RING_BLOCKS);
}

/* Commits that fill the ring to its last block. */
static void test_full_ring(void **state)
{
	for (u64 i = 1; i <= 3; i++)
		commit(i, 7, 0);
	from = ring_ref(&ring);
	for (u64 i = 4; i <= 8; i++)
		commit(i, 8, 0);
	assert_int_equal(ring.position, from.position);
	expect(4, 8, false);
	damage(from.position + 16);
	expect(4, 5, true);
}

static void test_incarnations(void **state)
{
	struct dm_tier_log_end end;

	commit(1, 1, DM_TIER_LOG_ACTIVATE);
	commit(2, 1, 0);
	commit(3, 1, DM_TIER_LOG_ACTIVATE);
	end = expect(1, 3, false);
	assert_int_equal(end.incarnation, 3);

	/* Higher without an activation: not of this log. */
	ring.incarnation = 5;
	commit(4, 1, 0);
	end = expect(1, 3, false);
	assert_int_equal(end.incarnation, 3);
	assert_int_equal(end.max_incarnation, 5);
	/* A later one of the higher incarnation is damage. */
	commit(5, 1, 0);
	expect(1, 3, true);
}

static void test_incarnation_falls(void **state)
{
	commit(1, 1, DM_TIER_LOG_ACTIVATE);
	commit(2, 1, DM_TIER_LOG_ACTIVATE);
	ring.incarnation = 2;
	commit(3, 1, 0);
	expect(1, 2, false);
	/* Commits of an older incarnation are leftovers, not damage. */
	commit(4, 1, 0);
	expect(1, 2, false);
	/* ... with ACTIVATE too. */
	ring.position = 2;
	ring.commit = 2;
	ring.incarnation = 1;
	commit(3, 1, DM_TIER_LOG_ACTIVATE);
	expect(1, 2, false);
}

static void test_incarnation_zero(void **state)
{
	ring.incarnation = 0;
	commit(1, 1, 0);
	expect(1, 0, false);
}

/* An older incarnation may not follow the commit that the checkpoint covers. */
static void test_incarnation_before_the_checkpoint(void **state)
{
	struct dm_tier_log_end end;

	commit(1, 1, DM_TIER_LOG_ACTIVATE);
	from = ring_ref(&ring);
	ring.incarnation = 1;
	commit(2, 1, 0);
	commit(3, 1, 0);
	expect(2, 1, false);
	/* If its last block is gone or another's, there is nothing to compare with. */
	damage(0);
	end = expect(2, 3, false);
	assert_int_equal(end.incarnation, 1);
	damage(0);
	/* Another commit, or another crc: not the one that the checkpoint means. */
	from.seq = ring.commit = 5;
	ring.position = 1;
	ring.crc = from.prev_crc;
	ring.incarnation = 1;
	commit(6, 1, 0);
	expect(6, 6, false);
	from.seq = ring.commit = 1;
	ring.position = 1;
	ring.crc = ++from.prev_crc;
	commit(2, 1, 0);
	expect(2, 2, false);
}

/* After a crash the torn commit is written anew, shorter, by another activation. */
static void test_activation_over_a_torn_commit(void **state)
{
	struct ring before;
	u64 start;

	commit(1, 2, 0);
	before = ring;
	start = commit(2, 5, 0);
	damage(start + 1);
	expect(1, 1, false);

	ring = before;
	commit(2, 1, DM_TIER_LOG_ACTIVATE);
	expect(1, 2, false);
	commit(3, 1, 0);
	expect(1, 3, false);
	commit(4, 2, 0);
	expect(1, 4, false);
}

/* A commit number that fits, but written after another history. */
static void test_broken_chain(void **state)
{
	commit(1, 1, 0);
	ring.crc ^= 1;
	commit(2, 1, 0);
	expect(1, 1, false);
	commit(3, 1, 0);
	expect(1, 1, true);
}

/* Changes one byte of a block's head, with a good crc, and mends the chain behind it. */
static void change_head(u64 position, u32 at, u8 value)
{
	ring_block(&ring, position)[at] = value;
	block_fix_crc(ring_block(&ring, position), DM_TIER_BLOCK_BYTES);
	if (position + 1 < ring.position) {
		memcpy(ring_block(&ring, position + 1) + 12, ring_block(&ring, position) + 8, 4);
		block_fix_crc(ring_block(&ring, position + 1), DM_TIER_BLOCK_BYTES);
	}
}

/* All blocks of a commit agree about it. */
static void test_blocks_that_disagree(void **state)
{
	static const struct {
		u32 at;
		u8 value;
	} changes[] = {
		{ 32, 9 },			/* incarnation */
		{ 40, 2 },			/* commit */
		{ 48, 0 },			/* index */
		{ 50, 3 },			/* count */
		{ 56, DM_TIER_LOG_ACTIVATE },	/* flags */
		{ 16, 'x' },			/* uuid */
	};

	for (u32 i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct dm_tier_log_end end;

		memset(ring.blocks, 0, ring.nr * DM_TIER_BLOCK_BYTES);
		ring.commit = ring.position = ring.crc = 0;
		commit(1, 2, 0);
		expect(1, 1, false);
		change_head(1, changes[i].at, changes[i].value);
		assert_int_equal(replay(0, &end), 0);
		assert_int_equal(end.commit, 0);
	}
}

static void test_first_block_is_not_the_first(void **state)
{
	commit(1, 2, 0);
	change_head(0, 48, 1);
	expect(1, 0, false);
}

static void test_commit_longer_than_the_ring(void **state)
{
	const struct dm_tier_log_head head = { .incarnation = 1, .commit = 1, .count = 41 };

	dm_tier_block_begin(ring_block(&ring, 0));
	dm_tier_log_seal(ring_block(&ring, 0), ring.uuid, &head);
	expect(1, 0, false);
}

static void test_errors(void **state)
{
	struct dm_tier_log_end end, before;
	struct dm_tier_record rec = { .type = 99 };

	memset(&end, 0x5a, sizeof(end));
	before = end;
	from.position = RING_BLOCKS;
	assert_int_equal(replay(0, &end), -EINVAL);
	from.position = 0;

	commit(1, 1, 0);
	commit(2, 1, 0);
	apply_error = -ENOMEM;
	assert_int_equal(replay(0, &end), -ENOMEM);
	assert_int_equal(nr_applied, 1);
	apply_error = 0;

	/* A record that cannot be, behind good crcs. */
	rec.type = DM_TIER_REC_POOL;
	ring_commit(&ring, &rec, 1, 1, 0);
	ring_block(&ring, 2)[DM_TIER_BLOCK_HEAD_BYTES] = 99;
	block_fix_crc(ring_block(&ring, 2), DM_TIER_BLOCK_BYTES);
	assert_int_equal(replay(0, &end), -EBADMSG);
	assert_memory_equal(&end, &before, sizeof(end));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_empty),
		T(test_whole_commits),
		T(test_from_a_checkpoint),
		T(test_torn_tail),
		T(test_hole),
		T(test_wrap_and_laps),
		T(test_full_ring),
		T(test_incarnations),
		T(test_incarnation_falls),
		T(test_incarnation_zero),
		T(test_incarnation_before_the_checkpoint),
		T(test_activation_over_a_torn_commit),
		T(test_broken_chain),
		T(test_blocks_that_disagree),
		T(test_first_block_is_not_the_first),
		T(test_commit_longer_than_the_ring),
		T(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
