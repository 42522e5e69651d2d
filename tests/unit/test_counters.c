// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's I/O counters: counting on one CPU, and folding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dm-tier-heat.h"

struct cpu {
	struct dm_tier_heat_line line[HEAT_LINES];
	struct dm_tier_heat heat;
};

static struct cpu cpu;
static struct dm_tier_counters counters[HEAT_LINES + 1];

static int reset(void **state)
{
	memset(&cpu, 0, sizeof(cpu));
	memset(counters, 0, sizeof(counters));
	cpu.heat.line = cpu.line;
	cpu.heat.cut_next = ~0ULL;
	return 0;
}

static void count(u32 extent, bool write, u64 sector, u32 sectors)
{
	const u64 generation = 7;

	dm_tier_heat_count(&cpu.heat, &counters[extent], 0, extent, &generation, write, sector,
			   sectors);
}

static void fold(u64 generation)
{
	for (size_t i = 0; i < HEAT_LINES; i++)
		dm_tier_heat_flush_line(&cpu.line[i], generation);
}

static s64 value(u32 extent, enum dm_tier_counter which)
{
	return atomic64_read(&counters[extent].count[which]);
}

static void ios_and_sectors_are_exact(void **state)
{
	count(3, false, 100, 8);
	count(3, true, 5000, 16);
	count(3, true, 9000, 24);
	fold(9);
	assert_int_equal(value(3, COUNT_READS), 1);
	assert_int_equal(value(3, COUNT_WRITES), 2);
	assert_int_equal(value(3, COUNT_READ_SECTORS), 8);
	assert_int_equal(value(3, COUNT_WRITE_SECTORS), 40);
	assert_int_equal(value(3, COUNT_SEQUENTIAL), 0);
	assert_int_equal(counters[3].stamp, 9);
	fold(10);
	assert_int_equal(value(3, COUNT_READS), 1);
	assert_int_equal(counters[3].stamp, 9);
}

static void streams_in_two_extents_are_both_sequential(void **state)
{
	for (u32 i = 0; i < 10; i++) {
		count(1, false, 2048 + 8 * i, 8);
		count(2, true, 4096 + 8 * i, 8);
	}
	fold(1);
	assert_int_equal(value(1, COUNT_SEQUENTIAL), 9);
	assert_int_equal(value(2, COUNT_SEQUENTIAL), 9);
}

static void large_is_above_64_kib(void **state)
{
	count(1, false, 0, 128);
	count(1, false, 5000, 129);
	fold(1);
	assert_int_equal(value(1, COUNT_LARGE), 1);
}

static void a_line_that_is_taken_over_loses_nothing(void **state)
{
	/* Extents 0 and HEAT_LINES share a line. */
	count(0, true, 0, 8);
	count(HEAT_LINES, true, 10000, 8);
	count(0, true, 8, 8);
	fold(2);
	assert_int_equal(value(0, COUNT_WRITES), 2);
	assert_int_equal(value(HEAT_LINES, COUNT_WRITES), 1);
	assert_int_equal(value(0, COUNT_SEQUENTIAL), 0);
}

static void what_a_cut_leaves_over_is_no_new_io(void **state)
{
	/* 256 sectors at 64, cut to 64 and again to 128. */
	count(0, true, 64, 256);
	dm_tier_heat_cut(&cpu.heat, 0, 64, 320, 64);
	count(0, true, 128, 192);
	dm_tier_heat_cut(&cpu.heat, 0, 128, 320, 128);
	count(0, true, 256, 64);
	fold(1);
	assert_int_equal(value(0, COUNT_WRITES), 1);
	assert_int_equal(value(0, COUNT_WRITE_SECTORS), 256);
	/* Another bio at the same place, of the same size, is one. */
	count(0, true, 256, 64);
	fold(1);
	assert_int_equal(value(0, COUNT_WRITES), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ios_and_sectors_are_exact, reset),
		cmocka_unit_test_setup(streams_in_two_extents_are_both_sequential, reset),
		cmocka_unit_test_setup(large_is_above_64_kib, reset),
		cmocka_unit_test_setup(a_line_that_is_taken_over_loses_nothing, reset),
		cmocka_unit_test_setup(what_a_cut_leaves_over_is_no_new_io, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
