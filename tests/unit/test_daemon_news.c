// SPDX-License-Identifier: GPL-2.0-only
// link: libconfig
/* What tierd says of a pool that fills up, is full and has space again, and of its volumes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* Something is written to these extents; a simulated pool has 130 slots. */
static void fill(struct world *w, uint64_t first, uint64_t count)
{
	const struct tier_sim_io io = { .writes = 1, .sectors = 8 };

	for (uint64_t i = first; i < first + count; i++)
		assert_int_equal(tier_sim_io(w->sim, 0, i, &io), 0);
}

static void empty(struct world *w, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		tier_sim_discard(w->sim, 0, i);
}

/* As after an event of device-mapper. */
static void look(struct world *w)
{
	tierd_look(w->tierd);
	world_run_for(w, 1);
}

static void assert_said(struct world *w, unsigned int filling, unsigned int full,
			unsigned int back)
{
	assert_int_equal(w->events[LOG_POOL_FILLING_EVENT], filling);
	assert_int_equal(w->events[LOG_POOL_FULL_EVENT], full);
	assert_int_equal(w->events[LOG_POOL_SPACE_BACK_EVENT], back);
}

static void test_space(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 130, "name=v");
	fill(w, 0, 103);
	world_run_for(w, 600);
	assert_said(w, 0, 0, 0);
	fill(w, 103, 1);
	world_run_for(w, 3600);
	assert_said(w, 1, 0, 0);
	assert_string_equal(w->last_text[LOG_POOL_FILLING_EVENT],
			    "80 % of 130MiB is used, 25MiB is left for first writes; tpextend, fstrim "
			    "or tvremove make space");
	assert_int_equal(w->priorities[LOG_WARNING], 1);
	/* An event does not wait for the counters. */
	fill(w, 104, 20);
	look(w);
	assert_said(w, 2, 0, 0);
	assert_int_equal(w->priorities[LOG_WARNING], 2);

	/* A write waits, and fails: full, and full it stays. */
	fill(w, 124, 6);
	tier_sim_set_mode(w->sim, TIER_POOL_OUT_OF_SPACE);
	look(w);
	assert_said(w, 2, 1, 0);
	assert_int_equal(w->priorities[LOG_ERR], 1);
	assert_string_equal(w->last_text[LOG_POOL_FULL_EVENT],
			    "full, 100 % of 130MiB is used: first writes wait for space, and fail after "
			    "no_space_timeout; tpextend, fstrim or tvremove make space");
	tier_sim_set_mode(w->sim, TIER_POOL_RW);
	world_run_for(w, 3600);
	assert_said(w, 2, 1, 0);
	empty(w, 120, 10);
	look(w);
	assert_said(w, 2, 1, 1);
	assert_string_equal(w->last_text[LOG_POOL_SPACE_BACK_EVENT],
			    "has space again: 92 % of 130MiB is used, 9MiB is left for first writes");
	assert_int_equal(w->priorities[LOG_NOTICE], 1);
	world_run_for(w, 3600);
	assert_said(w, 2, 1, 1);
	world_free(w);
}

/* The next tierd says once how it is. */
static void test_space_after_restart(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 130, "name=v");
	fill(w, 0, 120);
	world_run_for(w, 3600);
	assert_said(w, 1, 0, 0);
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_run_for(w, 3600);
	assert_said(w, 2, 0, 0);
	assert_string_equal(w->last_text[LOG_POOL_FILLING_EVENT],
			    "92 % of 130MiB is used, 9MiB is left for first writes; tpextend, fstrim or "
			    "tvremove make space");
	/* Of a pool that has failed nothing is believed. */
	tier_sim_set_mode(w->sim, TIER_POOL_FAIL);
	tier_sim_set_device_state(w->sim, 2, TIER_DEVICE_FAILED);
	world_run_for(w, 3600);
	assert_said(w, 2, 0, 0);
	world_free(w);
}

/* The first errors of a device are news, more of them are none; so is one that is given up. */
static void test_devices(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 130, "name=v");
	fill(w, 0, 103);
	world_run_for(w, 600);
	assert_int_equal(w->events[LOG_DEVICE_ERRORS_EVENT], 0);
	tier_sim_set_device_errors(w->sim, 1, 1);
	look(w);
	assert_int_equal(w->events[LOG_DEVICE_ERRORS_EVENT], 1);
	assert_int_equal(w->priorities[LOG_WARNING], 1);
	assert_string_equal(w->last_text[LOG_DEVICE_ERRORS_EVENT],
			    "device 1 of tier 1 (online) has had 1 I/O error since activation; the "
			    "kernel's log has them");
	tier_sim_set_device_errors(w->sim, 1, 7);
	world_run_for(w, 3600);
	assert_int_equal(w->events[LOG_DEVICE_ERRORS_EVENT], 1);
	/* One more device, and it has failed. */
	tier_sim_set_device_errors(w->sim, 0, 2);
	look(w);
	assert_int_equal(w->events[LOG_DEVICE_ERRORS_EVENT], 2);
	tier_sim_set_device_state(w->sim, 1, TIER_DEVICE_FAILED);
	look(w);
	assert_int_equal(w->events[LOG_POOL_PARTIAL_EVENT], 1);

	/* Given up, it is not missing any more; but its extents are not back. */
	tier_sim_set_device_state(w->sim, 1, TIER_DEVICE_LOST);
	look(w);
	assert_string_equal(w->last_text[LOG_POOL_WHOLE_EVENT], "none of its devices is missing any more");
	assert_int_equal(w->events[LOG_DEVICE_GIVEN_UP_EVENT], 1);
	assert_non_null(strstr(w->last_text[LOG_DEVICE_GIVEN_UP_EVENT], "device 1 of tier 1 was given up: "));
	assert_non_null(strstr(w->last_text[LOG_DEVICE_GIVEN_UP_EVENT], " extents give errors until discarded"));
	world_run_for(w, 3600);
	assert_int_equal(w->events[LOG_DEVICE_GIVEN_UP_EVENT], 1);
	assert_int_equal(w->events[LOG_DEVICE_ERRORS_EVENT], 2);
	world_free(w);
}

/* Events may come as fast as they like: one look a second. */
static void test_looks_are_few(void **state)
{
	struct world *w = world_new("");

	world_run_for(w, 600);
	look(w);
	w->reads = 0;
	for (int i = 0; i < 1000; i++) {
		tierd_look(w->tierd);
		world_tick(w);
	}
	assert_int_equal(w->reads, 0);
	world_run_for(w, 2);
	assert_int_equal(w->reads, 1);
	world_run_for(w, 60);
	assert_int_equal(w->reads, 1);
	/* One that fails is a fault as any other, and over when the pool can be read. */
	w->read_error = -5;
	look(w);
	assert_int_equal(w->events[LOG_POOL_ERROR_EVENT], 1);
	w->read_error = 0;
	world_run_for(w, 12);
	assert_int_equal(w->events[LOG_POOL_RECOVERED_EVENT], 1);
	world_free(w);
}

static void test_volumes(void **state)
{
	struct world *w = world_new("");
	const struct tier_sim_io io = { .writes = 1, .sectors = 8 };
	struct tierd_extents extents;
	struct tierd_error error;
	struct clock_time now;
	char name[64];

	world_run_for(w, 60);
	tier_sim_add_volume(w->sim, 40, "name=v");
	tier_sim_add_volume(w->sim, 10, "");
	look(w);
	now = world_now(w);
	assert_int_equal(w->events[LOG_VOLUME_FOUND_EVENT], 2);
	/* Of one that is known, but was in no plan yet, extents are told all the same. */
	fill(w, 3, 1);
	assert_int_equal(tierd_extents(w->tierd, "sim/v", &now, &extents, &error), 0);
	assert_int_equal(extents.nr_extents, 40);
	assert_true(extents.heat[3] > 0);
	/* ... or that was written to for the first time since then. */
	snprintf(name, sizeof(name), "sim/00000000-0000-4000-8000-e00000000002");
	assert_int_equal(tierd_extents(w->tierd, name, &now, &extents, &error), 0);
	assert_true(extents.heat[5] == 0);
	assert_int_equal(tier_sim_io(w->sim, 1, 5, &io), 0);
	world_run_for(w, 2);
	now = world_now(w);
	assert_int_equal(tierd_extents(w->tierd, name, &now, &extents, &error), 0);
	assert_true(extents.heat[5] > 0);
	assert_string_equal(w->last_text[LOG_VOLUME_FOUND_EVENT],
			    "volume 00000000-0000-4000-8000-e00000000002 found, 10MiB");
	tier_sim_remove_volume(w->sim, 0);
	look(w);
	assert_int_equal(w->events[LOG_VOLUME_GONE_EVENT], 1);
	assert_string_equal(w->last_text[LOG_VOLUME_GONE_EVENT], "volume v is gone");
	/* Those that were there when the pool was found were counted then. */
	tierd_free(w->tierd);
	world_start_tierd(w);
	world_run_for(w, 600);
	assert_string_equal(w->last_text[LOG_POOL_FOUND_EVENT], "found, 3 devices, 1 volume");
	assert_int_equal(w->events[LOG_VOLUME_FOUND_EVENT], 2);
	assert_int_equal(w->events[LOG_VOLUME_GONE_EVENT], 1);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_space_after_restart),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_looks_are_few),
		cmocka_unit_test(test_volumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
