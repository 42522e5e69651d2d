// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backend over messages (lib/dm_backend.c), against a kernel that is a table
 * of messages and answers: what is asked for in terms of the grammar, and what
 * becomes of answers that are long, cut, out of order or not what was asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "util.h"

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"
#define OTHER	"11111111-89ab-cdef-0123-456789abcdef"
#define STATUS(uuid) "rw " REST(uuid)
#define FAILED(uuid) "fail " REST(uuid)
#define REST(uuid) "12 3/16384 0 32768 128 1 0 1 online 100 50 1 2 3 1000 8000 4 " \
		     "6 1 8 9 10 1048576 5 uuid " uuid " instance 77 label - rate 0 moves 2"

struct exchange {
	const char *message, *answer;
	int r;
};

static const char *kernel_status;
static const struct exchange *expected;

/* In place of lib/dm.c. */
int tier_dm_status(enum tier_dm_kind kind, const char *name, char **ret_params)
{
	assert_int_equal(kind, TIER_DM_POOL);
	assert_string_equal(name, "a--b");
	if (!kernel_status)
		return -ENODEV;
	*ret_params = strdup(kernel_status);
	return 0;
}

int tier_dm_message(const char *name, const char *message, char **ret_answer)
{
	const struct exchange *exchange = expected++;

	assert_string_equal(name, "a--b");
	assert_non_null(exchange->message);
	assert_string_equal(message, exchange->message);
	if (!exchange->r && ret_answer)
		*ret_answer = strdup(exchange->answer);
	return exchange->r;
}

static struct tier_backend backend;

static int open_backend(void **state)
{
	kernel_status = STATUS(UUID);
	return tier_dm_backend_open("a--b", &backend);
}

static int close_backend(void **state)
{
	tier_dm_backend_close(&backend);
	return 0;
}

#define EXPECT(...)	const struct exchange exchanges[] = { __VA_ARGS__, { 0 } }; expected = exchanges
#define ALL_ASKED()	assert_null(expected->message)

static void test_open(void **state)
{
	struct tier_backend other = { 0 };

	kernel_status = NULL;
	assert_int_equal(tier_dm_backend_open("a--b", &other), -ENODEV);
	kernel_status = "rw nonsense";
	assert_int_equal(tier_dm_backend_open("a--b", &other), -EPROTO);
	kernel_status = "fail";
	assert_int_equal(tier_dm_backend_open("a--b", &other), -ENODATA);
	assert_null(other.ops);
	tier_dm_backend_close(&other);
	tier_dm_backend_close(NULL);
}

static void test_read_pool(void **state)
{
	struct tier_pool_info info;
	EXPECT({ "devices", "0 " OTHER " 1 online 100 50 1 2 3\n3 " UUID " 0 new 5 0 0 0 0\n" },
	       { "volumes", "1 " UUID " 1 32768 auto 1 name=v\n" });

	assert_int_equal(backend.ops->read_pool(backend.ctx, &info), 0);
	ALL_ASKED();
	assert_string_equal(info.name, "a-b");
	assert_string_equal(info.uuid, UUID);
	assert_int_equal(info.extent_sectors, 32768);
	assert_int_equal(info.region_sectors, 128);
	assert_int_equal(info.queued_moves, 6);
	assert_int_equal(info.nr_devices, 2);
	assert_string_equal(info.devices[0].uuid, OTHER);
	assert_int_equal(info.devices[0].errors, 4);	/* of the status, by idx */
	assert_int_equal(info.devices[1].idx, 3);
	assert_int_equal(info.devices[1].errors, 0);
	assert_int_equal(info.nr_volumes, 1);
	assert_string_equal(info.volumes[0].label, "name=v");
	tier_pool_info_clear(&info);
}

static void test_read_pool_fails(void **state)
{
	struct tier_pool_info info = { .nr_devices = 99 };

	kernel_status = STATUS(OTHER);	/* another pool took the name */
	assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -ENODEV);
	kernel_status = "fail";		/* loaded anew, without success */
	assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -ENODATA);
	kernel_status = STATUS(UUID);
	{
		EXPECT({ "devices", "", -ENODEV });
		assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -ENODEV);
	}
	{
		EXPECT({ "devices", "0 " UUID " 1 online 100 50 1 2 3\n" }, { "volumes", "1 2 3\n" });
		assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -EPROTO);
	}
	{
		EXPECT({ "devices", "", -ENXIO });
		assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -ENXIO);
	}
	{	/* What is left of a pool whose table the kernel refused: a status, and no answers. */
		EXPECT({ "devices", "", -ENXIO });
		kernel_status = FAILED(UUID);
		assert_int_equal(backend.ops->read_pool(backend.ctx, &info), -ENODATA);
	}
	assert_int_equal(info.nr_devices, 99);
}

static void test_read_map(void **state)
{
	struct tier_map_run runs[2];
	uint64_t next = 0;
	size_t nr = 0;

	{
		EXPECT({ "map 1 10 20", "10 5 0 0 7 128\n15 5 - - - 0\n20 10 1 1 0 128\n" });
		assert_int_equal(backend.ops->read_map(backend.ctx, 1, 10, 20, runs, 2, &nr, &next), 0);
		assert_int_equal(nr, 2);
		assert_int_equal(next, 20);
		ALL_ASKED();
	}
	{
		EXPECT({ "map 1 20 10", "20 10 1 1 0 128\n" });
		assert_int_equal(backend.ops->read_map(backend.ctx, 1, 20, 10, runs, 2, &nr, &next), 0);
		assert_int_equal(nr, 1);
		assert_int_equal(next, 30);
	}
	{	/* A huge request is cut; the caller goes on from next. */
		EXPECT({ "map 1 0 32768", "0 32768 - - - 0\n" });
		assert_int_equal(backend.ops->read_map(backend.ctx, 1, 0, 1 << 24, runs, 2, &nr, &next), 0);
		assert_int_equal(next, 32768);
	}
	assert_int_equal(backend.ops->read_map(backend.ctx, 1, 0, 0, runs, 2, &nr, &next), -EINVAL);
	assert_int_equal(backend.ops->read_map(backend.ctx, 1, 0, 1, runs, 0, &nr, &next), -EINVAL);
}

static void test_read_map_refuses(void **state)
{
	static const char *const bad[] = {
		"",				/* nothing */
		"10 5 0 0 7 128\n",		/* not all of it */
		"11 20 0 0 7 128\n",		/* does not begin where asked */
		"10 21 0 0 7 128\n",		/* beyond what was asked */
		"10 5 0 0 7 128\n16 14 0 0 50 128\n",	/* a hole */
		"10 20 0 0 7\n",
	};
	struct tier_map_run runs[4];
	uint64_t next = 77;
	size_t nr = 88;

	for (size_t i = 0; i < TIER_NR(bad); i++) {
		EXPECT({ "map 1 10 20", bad[i] });
		assert_int_equal(backend.ops->read_map(backend.ctx, 1, 10, 20, runs, 4, &nr, &next),
				 -EPROTO);
	}
	{
		EXPECT({ "map 1 10 20", "", -ERANGE });
		assert_int_equal(backend.ops->read_map(backend.ctx, 1, 10, 20, runs, 4, &nr, &next),
				 -ERANGE);
	}
	assert_int_equal(nr, 88);
	assert_int_equal(next, 77);
}

static void test_read_counters(void **state)
{
	struct tier_counter counters[2];
	struct tier_counter_head head;
	uint64_t next;
	size_t nr;

	{
		EXPECT({ "counters 1 0 10 since 5", "1 2 3\n1 9 9 9 9 9 9\n4 8 8 8 8 8 8\n7 1 1 1 1 1 1\n" });
		assert_int_equal(backend.ops->read_counters(backend.ctx, 1, 0, 10, 5, &head, counters, 2,
							    &nr, &next), 0);
		assert_int_equal(nr, 2);
		assert_int_equal(next, 7);	/* the one that did not fit */
		assert_int_equal(head.counter_generation, 3);
	}
	{
		EXPECT({ "counters 1 7 3", "1 2 3\n7 1 1 1 1 1 1\n" });
		assert_int_equal(backend.ops->read_counters(backend.ctx, 1, 7, 3, 0, &head, counters, 2,
							    &nr, &next), 0);
		assert_int_equal(nr, 1);
		assert_int_equal(next, 10);
	}
	{
		EXPECT({ "counters 1 7 3", "1 2 3\n" });
		assert_int_equal(backend.ops->read_counters(backend.ctx, 1, 7, 3, 0, &head, counters, 2,
							    &nr, &next), 0);
		assert_int_equal(nr, 0);
		assert_int_equal(next, 10);
	}
}

static void test_read_counters_refuses(void **state)
{
	static const char *const bad[] = {
		"", "1 2\n", "1 2 3\n6 1 1 1 1 1 1\n", "1 2 3\n10 1 1 1 1 1 1\n",
		"1 2 3\n8 1 1 1 1 1 1\n8 1 1 1 1 1 1\n", "1 2 3\n8 1 1\n",
	};
	struct tier_counter counters[4];
	struct tier_counter_head head = { .instance = 99 };
	uint64_t next;
	size_t nr;

	for (size_t i = 0; i < TIER_NR(bad); i++) {
		EXPECT({ "counters 1 7 3", bad[i] });
		assert_int_equal(backend.ops->read_counters(backend.ctx, 1, 7, 3, 0, &head, counters, 4,
							    &nr, &next), -EPROTO);
	}
	assert_int_equal(head.instance, 99);
}

static void test_moves(void **state)
{
	struct tier_finished_head head;
	struct tier_finished_move finished[2];
	struct tier_active_move active[1];
	uint64_t id = 0;
	size_t nr, total;
	EXPECT({ "migrate 1 2 dev:3 force", "17\n" },
	       { "migrate 1 2 0", "", -EAGAIN },
	       { "cancel 1 2", "" },
	       { "cancel_all", "" },
	       { "moves", "8 1 77 0 2 copy 3 12\n9 1 78 0 2 queued 0 0\n" },
	       { "moves since 3", "5 9\n5 40 1 77 0 2 done - 1024 2 350\n6 41 1 77 0 2 done - 1 1 1\n"
				  "7 42 1 77 0 2 done - 1 1 1\n8 43 1 77 0 2 done - 1 1 1\n" },
	       { "moves since 7", "5 9\n7 42 1 77 0 2 done - 1 1 1\n8 43 1 77 0 2 done - 1 1 1\n" },
	       { "moves since 9", "5 9\n" },
	       { "moves since 101", "1 1\n" },
	       { "moves since 1", "" });

	assert_int_equal(backend.ops->migrate(backend.ctx, 1, 2, (struct tier_target){ true, 3 }, true,
					      &id), 0);
	assert_int_equal(id, 17);
	assert_int_equal(backend.ops->migrate(backend.ctx, 1, 2, (struct tier_target){ false, 0 }, false,
					      &id), -EAGAIN);
	assert_int_equal(backend.ops->cancel(backend.ctx, 1, 2), 0);
	assert_int_equal(backend.ops->cancel_all(backend.ctx), 0);
	assert_int_equal(backend.ops->read_active(backend.ctx, active, 1, &nr, &total), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(total, 2);

	/* 3 and 4 were lost; two fit at a time. */
	assert_int_equal(backend.ops->read_finished(backend.ctx, 2, &head, finished, 2, &nr), 0);
	assert_int_equal(head.lost, 2);
	assert_int_equal(head.last_seq, 8);
	assert_int_equal(nr, 2);
	assert_int_equal(finished[1].seq, 6);
	assert_int_equal(backend.ops->read_finished(backend.ctx, 6, &head, finished, 2, &nr), 0);
	assert_int_equal(head.lost, 0);
	assert_int_equal(nr, 2);
	assert_int_equal(backend.ops->read_finished(backend.ctx, 8, &head, finished, 2, &nr), 0);
	assert_int_equal(nr, 0);
	/* Loaded anew: fewer than we have seen. */
	assert_int_equal(backend.ops->read_finished(backend.ctx, 100, &head, finished, 2, &nr), 0);
	assert_int_equal(head.last_seq, 0);
	assert_int_equal(head.lost, 0);
	assert_int_equal(backend.ops->read_finished(backend.ctx, 0, &head, finished, 2, &nr), -EPROTO);
	ALL_ASKED();
}

static void test_settings(void **state)
{
	struct tier_placement placement = { .nr_tiers = 2, .tiers = { 1, 0 } };
	EXPECT({ "set_rate 5" }, { "set_moves 3" }, { "set_placement 1 1,0" },
	       { "set_label 1 name=a%20b" }, { "set_reserve 2 1" }, { "commit", "", -EROFS });

	assert_int_equal(backend.ops->set_rate(backend.ctx, 5), 0);
	assert_int_equal(backend.ops->set_moves(backend.ctx, 3), 0);
	assert_int_equal(backend.ops->set_placement(backend.ctx, 1, &placement), 0);
	assert_int_equal(backend.ops->set_label(backend.ctx, 1, "name=a b"), 0);
	assert_int_equal(backend.ops->set_reserve(backend.ctx, 2, 1), 0);
	assert_int_equal(backend.ops->commit(backend.ctx), -EROFS);
	ALL_ASKED();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_backend, close_backend)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_open),
		TEST(test_read_pool),
		TEST(test_read_pool_fails),
		TEST(test_read_map),
		TEST(test_read_map_refuses),
		TEST(test_read_counters),
		TEST(test_read_counters_refuses),
		TEST(test_moves),
		TEST(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
