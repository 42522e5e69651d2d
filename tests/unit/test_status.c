// SPDX-License-Identifier: GPL-2.0-only
/*
 * Status lines and answers (lib/status.c, lib/answer.c): every field of a full
 * example lands in its place; cut or changed at any word, a line is refused and
 * the outputs stay as they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"
#include "util.h"

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"
#define PAIRS	"uuid " UUID " instance 77 label name=pool%200 rate 1000 moves 2"
#define POOL	"rw 12 3/16384 0 2097152 2048 2 0 0 online 100 50 1 2 3 1000 8000 4 "		\
		"5 1 draining 200 20 0 0 0 7 56 0 6 1 8 9 10 1048576 "

static void test_pool(void **state)
{
	struct tier_pool_status s;

	assert_int_equal(tier_status_parse_pool(POOL "5 " PAIRS, &s), 0);
	assert_int_equal(s.mode, TIER_POOL_RW);
	assert_int_equal(s.commit, 12);
	assert_int_equal(s.used_log_blocks, 3);
	assert_int_equal(s.log_blocks, 16384);
	assert_false(s.needs_check);
	assert_int_equal(s.extent_sectors, 2097152);
	assert_int_equal(s.region_sectors, 2048);
	assert_int_equal(s.nr_devices, 2);
	assert_int_equal(s.devices[0].total_slots, 100);
	assert_int_equal(s.devices[0].used_slots, 50);
	assert_int_equal(s.devices[0].reserved_slots, 1);
	assert_int_equal(s.devices[0].quarantined_slots, 2);
	assert_int_equal(s.devices[0].parked_slots, 3);
	assert_int_equal(s.devices[0].ios, 1000);
	assert_int_equal(s.devices[0].sectors, 8000);
	assert_int_equal(s.devices[0].errors, 4);
	assert_int_equal(s.devices[1].idx, 5);
	assert_int_equal(s.devices[1].tier, 1);
	assert_int_equal(s.devices[1].state, TIER_DEVICE_DRAINING);
	assert_int_equal(s.queued_moves, 6);
	assert_int_equal(s.active_moves, 1);
	assert_int_equal(s.done_moves, 8);
	assert_int_equal(s.cancelled_moves, 9);
	assert_int_equal(s.failed_moves, 10);
	assert_int_equal(s.moved_bytes, 1048576);
	assert_string_equal(s.uuid, UUID);
	assert_int_equal(s.instance, 77);
	assert_string_equal(s.label, "name=pool 0");
	assert_int_equal(s.rate_bytes_per_s, 1000);
	assert_int_equal(s.moves_at_once, 2);

	/* A newer kernel's pairs are skipped, an older one's missing are not made up. */
	assert_int_equal(tier_status_parse_pool(POOL "7 " PAIRS " new 5 other x", &s), 0);
	assert_int_equal(tier_status_parse_pool(POOL "0", &s), -EPROTO);
	assert_int_equal(tier_status_parse_pool(POOL "4 uuid " UUID " instance 7 label - rate 0", &s),
			 -EPROTO);
	assert_int_equal(tier_status_parse_pool("fail 0 0/0 1 8 8 0 0 0 0 0 0 0 5 " PAIRS, &s), 0);
	assert_int_equal(s.mode, TIER_POOL_FAIL);
	assert_true(s.is_loaded);
	assert_true(s.needs_check);
}

static void test_not_loaded(void **state)
{
	struct tier_pool_status s;

	memset(&s, 0x5a, sizeof(s));
	assert_int_equal(tier_status_parse_pool("fail", &s), 0);
	assert_int_equal(s.mode, TIER_POOL_FAIL);
	assert_false(s.is_loaded);
	assert_int_equal(s.extent_sectors, 0);
	assert_int_equal(s.nr_devices, 0);
	assert_string_equal(s.uuid, "");
	/* Only that word, and only alone. */
	assert_int_equal(tier_status_parse_pool("rw", &s), -EPROTO);
	assert_int_equal(tier_status_parse_pool("meta_ro", &s), -EPROTO);
	assert_int_equal(tier_status_parse_pool("failed", &s), -EPROTO);
	assert_int_equal(tier_status_parse_pool("fail 0", &s), -EPROTO);
	assert_int_equal(tier_status_parse_pool("", &s), -EPROTO);
}

static void test_volume_status(void **state)
{
	struct tier_volume_status s;

	assert_int_equal(tier_status_parse_volume("out_of_space 9 5/20 3 1 4 0", &s), 0);
	assert_int_equal(s.mode, TIER_POOL_OUT_OF_SPACE);
	assert_int_equal(s.generation, 9);
	assert_int_equal(s.allocated_extents, 5);
	assert_int_equal(s.total_extents, 20);
	assert_int_equal(s.nr_tiers, 3);
	assert_int_equal(s.tier_extents[1], 4);
}

static void test_volumes(void **state)
{
	const char *answer = "0 " UUID " 1 4096 auto 2 name=v\n4095 " UUID " 18446744073709551615 8 "
			     "0,2,1 0 -\n";
	struct tier_volume_info v;

	assert_int_equal(tier_answer_volume(&answer, &v), 1);
	assert_int_equal(v.id, 0);
	assert_string_equal(v.uuid, UUID);
	assert_true(v.placement.is_auto);
	assert_int_equal(v.sectors, 4096);
	assert_int_equal(v.allocated_extents, 2);
	assert_string_equal(v.label, "name=v");
	assert_int_equal(tier_answer_volume(&answer, &v), 1);
	assert_true(v.generation == UINT64_MAX);
	assert_false(v.placement.is_auto);
	assert_int_equal(v.placement.nr_tiers, 3);
	assert_int_equal(v.placement.tiers[1], 2);
	assert_string_equal(v.label, "");
	assert_int_equal(tier_answer_volume(&answer, &v), 0);
}

static void test_devices(void **state)
{
	const char *answer = "3 " UUID " 1 missing 10 9 0 1 2\n";
	struct tier_device_info d;

	assert_int_equal(tier_answer_device(&answer, &d), 1);
	assert_int_equal(d.idx, 3);
	assert_string_equal(d.uuid, UUID);
	assert_int_equal(d.tier, 1);
	assert_int_equal(d.state, TIER_DEVICE_MISSING);
	assert_int_equal(d.total_slots, 10);
	assert_int_equal(d.used_slots, 9);
	assert_int_equal(d.quarantined_slots, 1);
	assert_int_equal(d.parked_slots, 2);
	assert_int_equal(d.errors, 0);
	assert_int_equal(tier_answer_device(&answer, &d), 0);
}

static void test_moves(void **state)
{
	const char *active = "8 1 77 0 2 copy 3 12\n9 1 78 1 - queued 0 0\n";
	const char *finished = "4 7\n4 40 1 77 0 2 done - 1024 2 350\n"
			       "5 41 1 78 0 2 failed no_space 0 0 0\n"
			       "6 42 1 79 - - cancelled gone 0 0 0\n";
	struct tier_active_move a;
	struct tier_finished_move f;
	uint64_t oldest, next;

	assert_int_equal(tier_answer_active(&active, &a), 1);
	assert_int_equal(a.id, 8);
	assert_int_equal(a.volume, 1);
	assert_int_equal(a.extent, 77);
	assert_int_equal(a.to_device, 2);
	assert_string_equal(a.state, "copy");
	assert_int_equal(a.pass, 3);
	assert_int_equal(a.regions_left, 12);
	assert_int_equal(tier_answer_active(&active, &a), 1);
	assert_int_equal(a.from_device, 1);
	assert_int_equal(a.to_device, TIER_NO_DEVICE);
	assert_int_equal(tier_answer_active(&active, &a), 0);

	assert_int_equal(tier_answer_finished_head(&finished, &oldest, &next), 1);
	assert_int_equal(oldest, 4);
	assert_int_equal(next, 7);
	assert_int_equal(tier_answer_finished(&finished, &f), 1);
	assert_int_equal(f.seq, 4);
	assert_int_equal(f.id, 40);
	assert_int_equal(f.result, 0);
	assert_int_equal(f.reason, TIER_REASON_NONE);
	assert_int_equal(f.copied_bytes, 1024);
	assert_int_equal(f.passes, 2);
	assert_int_equal(f.freeze_us, 350);
	assert_int_equal(tier_answer_finished(&finished, &f), 1);
	assert_int_equal(f.result, -ENOSPC);
	assert_int_equal(f.reason, TIER_REASON_NO_SPACE);
	assert_int_equal(tier_answer_finished(&finished, &f), 1);
	assert_int_equal(f.reason, TIER_REASON_GONE);
	assert_true(f.result < 0);
	assert_int_equal(tier_answer_finished(&finished, &f), 0);
}

static void test_map(void **state)
{
	const char *answer = "0 5 1 2 30 1024\n5 3 - - - 0\n8 1 0 0 7 1\n";
	struct tier_map_run run;

	assert_int_equal(tier_answer_map(&answer, &run), 1);
	assert_int_equal(run.count, 5);
	assert_int_equal(run.tier, 1);
	assert_int_equal(run.device, 2);
	assert_int_equal(run.slot, 30);
	assert_int_equal(run.valid_regions, 1024);
	assert_int_equal(tier_answer_map(&answer, &run), 1);
	assert_int_equal(run.first, 5);
	assert_true(run.device == TIER_NO_DEVICE);
	assert_int_equal(tier_answer_map(&answer, &run), 1);
	assert_int_equal(tier_answer_map(&answer, &run), 0);
}

static void test_counters(void **state)
{
	const char *answer = "1 2 3\n9 10 11 12 13 14 15\n";
	struct tier_counter_head head;
	struct tier_counter c;

	assert_int_equal(tier_answer_counters_head(&answer, &head), 1);
	assert_int_equal(head.instance, 1);
	assert_int_equal(head.volume_generation, 2);
	assert_int_equal(head.counter_generation, 3);
	assert_int_equal(tier_answer_counter(&answer, &c), 1);
	assert_int_equal(c.extent, 9);
	assert_int_equal(c.reads, 10);
	assert_int_equal(c.writes, 11);
	assert_int_equal(c.read_sectors, 12);
	assert_int_equal(c.write_sectors, 13);
	assert_int_equal(c.sequential_ios, 14);
	assert_int_equal(c.large_ios, 15);
	assert_int_equal(tier_answer_counter(&answer, &c), 0);
}

static void test_number(void **state)
{
	static const char *const bad[] = { "", "x\n", "1 2\n", "1\n2\n", "-1" };
	uint64_t number = 5;

	for (size_t i = 0; i < TIER_NR(bad); i++)
		assert_int_equal(tier_answer_number(bad[i], &number), -EPROTO);
	assert_int_equal(number, 5);
	assert_int_equal(tier_answer_number("17\n", &number), 0);
	assert_int_equal(number, 17);
	assert_int_equal(tier_answer_number("18", &number), 0);
	assert_int_equal(number, 18);
}

/* The lines that must parse, and their parser. */
static union {
	struct tier_pool_status pool;
	struct tier_volume_status volume;
	struct tier_volume_info volume_info;
	struct tier_device_info device;
	struct tier_active_move active;
	struct tier_finished_move finished;
	struct tier_map_run run;
	struct tier_counter_head head;
	struct tier_counter counter;
} out, untouched;

#define STATUS(fn, member) \
	static int fn##_r(const char *line) { return fn(line, &out.member) ? -EPROTO : 1; }
#define ANSWER(fn, member) \
	static int fn##_r(const char *line) { return fn(&line, &out.member); }
STATUS(tier_status_parse_pool, pool)
STATUS(tier_status_parse_volume, volume)
ANSWER(tier_answer_volume, volume_info)
ANSWER(tier_answer_device, device)
ANSWER(tier_answer_active, active)
ANSWER(tier_answer_finished, finished)
ANSWER(tier_answer_map, run)
ANSWER(tier_answer_counters_head, head)
ANSWER(tier_answer_counter, counter)

static const struct {
	const char *line;
	int (*parse)(const char *line);
} lines[] = {
	{ POOL "5 " PAIRS, tier_status_parse_pool_r },
	{ "rw 9 5/20 3 1 4 0", tier_status_parse_volume_r },
	{ "1 " UUID " 1 4096 0,1 2 name=v", tier_answer_volume_r },
	{ "3 " UUID " 1 missing 10 9 0 1 2", tier_answer_device_r },
	{ "8 1 77 0 2 copy 3 12", tier_answer_active_r },
	{ "4 40 1 77 0 2 done - 1024 2 350", tier_answer_finished_r },
	{ "4 40 1 77 0 2 failed deadline 1024 2 350", tier_answer_finished_r },
	{ "0 5 1 2 30 1024", tier_answer_map_r },
	{ "5 3 - - - 0", tier_answer_map_r },
	{ "1 2 3", tier_answer_counters_head_r },
	{ "9 10 11 12 13 14 15", tier_answer_counter_r },
};

static void must_refuse(size_t i, const char *line)
{
	memset(&out, 0x5a, sizeof(out));
	untouched = out;
	if (lines[i].parse(line) > 0)
		fail_msg("accepted: \"%s\"", line);
	assert_memory_equal(&out, &untouched, sizeof(out));
}

/* Cut behind each word, a word too much, and each word replaced by one that fits nowhere. */
static void test_refuses(void **state)
{
	for (size_t i = 0; i < TIER_NR(lines); i++) {
		char changed[2048];
		const char *at = lines[i].line;

		assert_int_equal(lines[i].parse(at), 1);
		snprintf(changed, sizeof(changed), "%s 1", at);
		must_refuse(i, changed);
		while (*at) {
			size_t before = at - lines[i].line, length = strcspn(at, " ");

			memcpy(changed, lines[i].line, before);
			changed[before] = '\0';
			if (before)
				must_refuse(i, changed);
			/* Too long where any word would do: a move's state, a pair's key. */
			snprintf(changed + before, sizeof(changed) - before, "%%%040d%s", 0, at + length);
			must_refuse(i, changed);
			at += length;
			at += *at == ' ';
		}
	}
}

static void test_refuses_values(void **state)
{
	static const char *const bad[] = {
		"1 " UUID "0 1 4096 0,1 2 name=v",	/* uuid too long, too short */
		"1 0 1 4096 0,1 2 name=v",
		"1 " UUID " 1 4096 0,8 2 name=v",	/* tiers */
		"1 " UUID " 1 4096 0, 2 name=v",
		"1 " UUID " 1 4096 ,0 2 name=v",
		"1 " UUID " 1 4096 0,1,2,3,4,5,6,7,0 2 name=v",
		"4096 " UUID " 1 4096 0 2 name=v",	/* id */
	};

	for (size_t i = 0; i < TIER_NR(bad); i++)
		must_refuse(2, bad[i]);
	must_refuse(5, "4 40 1 77 0 2 done deadline 1024 2 350");
	must_refuse(5, "4 40 1 77 0 2 failed - 1024 2 350");
	must_refuse(7, "0 0 1 2 30 1024");
	must_refuse(8, "5 3 - - - 1");
	must_refuse(8, "5 3 - 0 0 0");
	must_refuse(0, "rw 1 0/1 0 0 8 0 0 0 0 0 0 0 5 " PAIRS);
	must_refuse(0, "rw 1 0/1 2 8 8 0 0 0 0 0 0 0 5 " PAIRS);
	must_refuse(0, "rw 1 0/1 0 8 8 65 0 0 0 0 0 0 5 " PAIRS);
	must_refuse(1, "rw 9 5/20 9 1 4 0 1 1 1 1 1 1");
}

/* Random bytes and random cuts: nothing but a clean refusal or success (sanitizers watch). */
static void test_noise(void **state)
{
	srand(2);
	for (int round = 0; round < 20000; round++) {
		size_t i = rand() % TIER_NR(lines);
		char line[2048];
		size_t length = strlen(lines[i].line);

		memcpy(line, lines[i].line, length + 1);
		for (int n = rand() % 4; n >= 0; n--)
			line[rand() % length] = (char)(rand() % 3 ? " 09-/,\n"[rand() % 7] : rand());
		lines[i].parse(line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_volume_status),
		cmocka_unit_test(test_volumes),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_refuses_values),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
