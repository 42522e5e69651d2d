// SPDX-License-Identifier: GPL-2.0-only
// link: libsystemd libconfig
/*
 * The interface of bus.h as a client sees it: tierd on a simulated pool in one
 * process, a bus of our own with the policy that is installed, a client in the
 * test. Needs dbus-daemon, and root for the test that others may not change.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus.h"
#include "sim.h"
#include "tierd.h"
#include "util.h"

#define EXTENTS	40

static const char bus_config[] =
	"<busconfig><type>system</type><listen>unix:path=%s/socket</listen>"
	"<policy context=\"default\"><allow user=\"*\"/><deny own=\"*\"/><deny send_type=\"method_call\"/>"
	"<allow send_type=\"signal\"/><allow send_requested_reply=\"true\" send_type=\"method_return\"/>"
	"<allow send_requested_reply=\"true\" send_type=\"error\"/><allow receive_type=\"method_call\"/>"
	"<allow receive_type=\"method_return\"/><allow receive_type=\"error\"/>"
	"<allow receive_type=\"signal\"/><allow send_destination=\"org.freedesktop.DBus\"/></policy>"
	"<include>%s/systemd/org.dmtier.Tierd1.conf</include></busconfig>";

static char folder[] = "/tmp/test_daemon_bus.XXXXXX";
static pid_t daemon_pid, server_pid;
static sd_bus *client;

/* ---------------------------------------------------------------- the server's process */

struct server {
	struct tier_sim *sim;
	struct tierd *tierd;
	struct bus *bus;
	sd_event *event;
	sd_event_source *tick;
};

static void drop_log(void *ctx, const struct log_record *record)
{
	if (getenv("TEST_LOG"))
		fprintf(stderr, "%s\n", record->text);
}

static const struct log_sink log_sink = { .write = drop_log };

static int64_t utc(void *ctx, int64_t utc_s)
{
	return 0;
}

static const struct tier_time_zone zone = { .offset_s = utc };

/* The simulator's clock, with real time at noon of some day. */
static void server_now(void *ctx, struct clock_time *ret_now)
{
	struct server *server = ctx;

	ret_now->boot_ns = tier_sim_now_ns(server->sim);
	ret_now->real_s = INT64_C(1709294400) + ret_now->boot_ns / CLOCK_NS_PER_S;
}

/* Each tick is a second of the simulator. */
static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *server = userdata;
	struct tierd_next next;
	struct clock_time now;

	tier_sim_advance(server->sim, CLOCK_NS_PER_S);
	server_now(server, &now);
	tierd_tick(server->tierd, &now, &next);
	bus_tell(server->bus);
	sd_event_source_set_time_relative(source, 20000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void server_wake(void *ctx)
{
}

static int server_reload(void *ctx, struct config_error *ret_error)
{
	snprintf(ret_error->text, sizeof(ret_error->text), "tierd.conf:7: no");
	return -EINVAL;
}

static const char *server_config_error(void *ctx)
{
	return "tierd.conf:7: no";
}

static void server_lost_name(void *ctx)
{
	_exit(9);
}

static void serve_hours(struct server *server, int hours)
{
	struct tierd_next next;
	struct clock_time now;

	for (int i = 0; i < hours * 12; i++) {
		server_now(server, &now);
		tierd_tick(server->tierd, &now, &next);
		tier_sim_advance(server->sim, 300 * CLOCK_NS_PER_S);
	}
}

/* A pool with something to move: 5 of 40 extents are hot, and all lie at the bottom. */
static void make_pool(struct server *server)
{
	const struct tier_sim_io io = { .writes = 1, .sectors = 8 };
	const struct tier_sim_io hot = { .writes = 100000, .sectors = 8 };
	struct tier_backend backend;
	struct clock_time now;
	char name[TIER_NAME_SIZE];

	server->sim = tier_sim_new(2048, 128);
	for (uint32_t tier = 0; tier < 3; tier++)
		tier_sim_add_device(server->sim, tier, tier == 2 ? 100 : 10);
	backend = tier_sim_backend(server->sim);
	server_now(server, &now);
	if (tierd_add_pool(server->tierd, &backend, &now, name))
		_exit(8);
	serve_hours(server, 1);
	tier_sim_add_volume(server->sim, EXTENTS, "name=v;policy=lowest");
	for (uint64_t i = 0; i < EXTENTS; i++)
		tier_sim_io(server->sim, 0, i, &io);
	serve_hours(server, 1);
	tier_sim_set_policy(server->sim, 0, "name=v");
	for (uint64_t i = 0; i < 5; i++)
		tier_sim_io(server->sim, 0, i, &hot);
	serve_hours(server, 1);
	tier_sim_set_speed(server->sim, 64 << 10);
}

static void serve(void)
{
	struct server server = { 0 };
	struct tierd_setup setup = {
		.state_dirfd = -1,
		.store_ops = &store_system_ops,
		.log = &log_sink,
		.zone = &zone,
		.boot_id = "boot",
	};
	struct bus_host host = {
		.log = &log_sink, .now = server_now, .wake = server_wake, .reload = server_reload,
		.config_error = server_config_error, .lost_name = server_lost_name, .ctx = &server,
	};

	if (config_new("/etc/\xe4.conf", &setup.config) || tierd_new(&setup, &server.tierd))
		_exit(7);
	make_pool(&server);
	if (sd_event_default(&server.event) < 0)
		_exit(6);
	host.tierd = server.tierd;
	host.event = server.event;
	if (bus_new(&host, &server.bus) ||
	    sd_event_add_time_relative(server.event, &server.tick, CLOCK_MONOTONIC, 20000, 1000,
				       on_tick, &server) < 0)
		_exit(5);
	sd_event_loop(server.event);
	_exit(4);
}

/* ---------------------------------------------------------------- the test's process */

static void wait_for_file(const char *path)
{
	for (int i = 0; access(path, F_OK); i++) {
		assert_true(i < 1000);
		usleep(10000);
	}
}

static void wait_for_name(void)
{
	for (int i = 0; sd_bus_get_name_creds(client, BUS_NAME, 0, NULL) < 0; i++) {
		assert_int_equal(waitpid(server_pid, NULL, WNOHANG), 0);
		assert_true(i < 1000);
		usleep(10000);
	}
}

static sd_bus *connect_client(void)
{
	sd_bus *bus = NULL;

	assert_true(sd_bus_open_system(&bus) >= 0);
	return bus;
}

static int group_setup(void **state)
{
	char path[128], address[128], *top = realpath(".", NULL);
	FILE *file;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(path, sizeof(path), "%s/bus.conf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, bus_config, folder, top);
	fclose(file);
	free(top);
	snprintf(address, sizeof(address), "unix:path=%s/socket", folder);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);

	/* The server first: it has to wait for the bus. */
	server_pid = fork();
	if (!server_pid)
		serve();
	daemon_pid = fork();
	if (!daemon_pid) {
		char option[160];

		snprintf(option, sizeof(option), "--config-file=%s", path);
		execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", NULL);
		perror("dbus-daemon");
		_exit(3);
	}
	snprintf(path, sizeof(path), "%s/socket", folder);
	wait_for_file(path);
	client = connect_client();
	wait_for_name();
	return 0;
}

static int group_teardown(void **state)
{
	char path[128];

	sd_bus_flush_close_unref(client);
	kill(server_pid, SIGKILL);
	kill(daemon_pid, SIGTERM);
	waitpid(server_pid, NULL, 0);
	waitpid(daemon_pid, NULL, 0);
	snprintf(path, sizeof(path), "%s/socket", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/bus.conf", folder);
	unlink(path);
	return rmdir(folder);
}

static sd_bus_message *call(sd_bus *bus, const char *method, const char *types, ...)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *message = NULL, *reply = NULL;
	va_list args;
	int r;

	assert_true(sd_bus_message_new_method_call(bus, &message, BUS_NAME, BUS_PATH, BUS_INTERFACE,
						   method) >= 0);
	va_start(args, types);
	assert_true(sd_bus_message_appendv(message, types, args) >= 0);
	va_end(args);
	r = sd_bus_call(bus, message, 0, &error, &reply);
	if (r < 0)
		fail_msg("%s: %s", method, error.message);
	sd_bus_message_unref(message);
	sd_bus_error_free(&error);
	return reply;
}

static void assert_call_fails(sd_bus *bus, const char *error_name, const char *text,
			      const char *method, const char *types, ...)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *message = NULL, *reply = NULL;
	va_list args;

	assert_true(sd_bus_message_new_method_call(bus, &message, BUS_NAME, BUS_PATH, BUS_INTERFACE,
						   method) >= 0);
	va_start(args, types);
	assert_true(sd_bus_message_appendv(message, types, args) >= 0);
	va_end(args);
	assert_true(sd_bus_call(bus, message, 0, &error, &reply) < 0);
	assert_string_equal(error.name, error_name);
	if (text)
		assert_string_equal(error.message, text);
	sd_bus_message_unref(message);
	sd_bus_error_free(&error);
}

/* One value out of row number `row` of a property; type as on the bus. */
static void get_value(const char *property, int row, const char *key, char type, void *ret_value)
{
	sd_bus_message *reply = NULL;
	const char *name, contents[2] = { type, '\0' };
	bool is_found = false;

	assert_true(sd_bus_get_property(client, BUS_NAME, BUS_PATH, BUS_INTERFACE, property, NULL,
					&reply, "aa{sv}") >= 0);
	assert_true(sd_bus_message_enter_container(reply, 'a', "a{sv}") > 0);
	while (row--)
		assert_true(sd_bus_message_skip(reply, "a{sv}") > 0);
	assert_true(sd_bus_message_enter_container(reply, 'a', "{sv}") > 0);
	while (sd_bus_message_enter_container(reply, 'e', "sv") > 0) {
		assert_true(sd_bus_message_read(reply, "s", &name) > 0);
		if (strcmp(name, key)) {
			assert_true(sd_bus_message_skip(reply, "v") > 0);
		} else {
			assert_true(sd_bus_message_read(reply, "v", contents, ret_value) > 0);
			if (type == 's')
				*(const char **)ret_value = strdup(*(const char **)ret_value);
			is_found = true;
		}
		assert_true(sd_bus_message_exit_container(reply) >= 0);
	}
	sd_bus_message_unref(reply);
	if (!is_found)
		fail_msg("%s has no key %s", property, key);
}

static void assert_word(const char *property, int row, const char *key, const char *word)
{
	_cleanup_free_ char *value = NULL;

	get_value(property, row, key, 's', &value);
	assert_string_equal(value, word);
}

static void assert_number(const char *property, int row, const char *key, char type,
			  uint64_t number)
{
	uint64_t value = 0;

	get_value(property, row, key, type, &value);
	assert_int_equal(value, number);
}

/* ---------------------------------------------------------------- cases */

static void test_properties(void **state)
{
	double heat;
	char *text;

	assert_true(sd_bus_get_property_string(client, BUS_NAME, BUS_PATH, BUS_INTERFACE, "Version",
					       NULL, &text) >= 0);
	assert_string_equal(text, TIER_VERSION);
	free(text);
	assert_true(sd_bus_get_property_string(client, BUS_NAME, BUS_PATH, BUS_INTERFACE, "ConfigFile",
					       NULL, &text) >= 0);
	assert_string_equal(text, "/etc/?.conf");
	free(text);
	assert_true(sd_bus_get_property_string(client, BUS_NAME, BUS_PATH, BUS_INTERFACE,
					       "ConfigError", NULL, &text) >= 0);
	assert_string_equal(text, "tierd.conf:7: no");
	free(text);

	assert_word("Pools", 0, "name", "sim");
	assert_word("Pools", 0, "uuid", "00000000-0000-4000-8000-000000000001");
	assert_word("Pools", 0, "mode", "rw");
	assert_word("Pools", 0, "state", "idle");
	assert_word("Pools", 0, "reason", "outside_window");
	assert_word("Pools", 0, "detail", "");
	assert_number("Pools", 0, "by_hand", 'b', 0);
	assert_word("Pools", 0, "window", "daily 00:00 8h fast");
	assert_number("Pools", 0, "window_open", 'b', 0);
	assert_number("Pools", 0, "window_start", 'x', 1709337600);
	assert_number("Pools", 0, "window_end", 'x', 1709337600 + 8 * 3600);
	assert_word("Pools", 0, "rate", "fast");
	assert_number("Pools", 0, "rate_bytes_per_s", 't', 0);
	assert_number("Pools", 0, "extent_bytes", 't', 1 << 20);
	assert_number("Pools", 0, "active_moves", 't', 0);
	assert_number("Pools", 0, "pending_moves", 't', 5);
	assert_number("Pools", 0, "pending_up_bytes", 't', 5 << 20);
	assert_number("Pools", 0, "pending_down_bytes", 't', 0);
	assert_number("Pools", 0, "heat_since", 'x', 1709294400);

	assert_number("Tiers", 2, "tier", 'u', 2);
	assert_word("Tiers", 2, "pool", "sim");
	assert_word("Tiers", 2, "name", "2");
	assert_word("Tiers", 2, "reason", "-");
	assert_number("Tiers", 2, "devices", 'u', 1);
	assert_number("Tiers", 2, "online_devices", 'u', 1);
	assert_number("Tiers", 2, "total_bytes", 't', 100 << 20);
	assert_number("Tiers", 2, "used_bytes", 't', 40 << 20);
	assert_number("Tiers", 2, "free_bytes", 't', 60 << 20);
	assert_number("Tiers", 2, "up_bytes", 't', 5 << 20);
	assert_number("Tiers", 0, "in_bytes", 't', 5 << 20);
	assert_number("Tiers", 0, "headroom_bytes", 't', 1 << 20);

	assert_word("Volumes", 0, "name", "v");
	assert_word("Volumes", 0, "policy", "auto");
	assert_word("Volumes", 0, "policy_from", "default");
	assert_number("Volumes", 0, "id", 'u', 0);
	assert_number("Volumes", 0, "pin_until", 'x', 0);
	assert_number("Volumes", 0, "size_bytes", 't', 40 << 20);
	assert_number("Volumes", 0, "allocated_bytes", 't', 40 << 20);
	get_value("Volumes", 0, "heat", 'd', &heat);
	assert_true(heat > 100000);
}

static void test_plan(void **state)
{
	sd_bus_message *reply = call(client, "Plan", "su", "sim", 3);
	uint64_t extent, total, bytes, seconds;
	uint32_t from, to, device;
	double heat, threshold;
	const char *volume, *reason;
	int nr = 0;

	assert_true(sd_bus_message_enter_container(reply, 'a', "(stuuudds)") > 0);
	while (sd_bus_message_read(reply, "(stuuudds)", &volume, &extent, &from, &to, &device, &heat,
				   &threshold, &reason) > 0) {
		assert_string_equal(volume, "v");
		assert_true(extent < 5);
		assert_int_equal(from, 2);
		assert_int_equal(to, 0);
		assert_int_equal(device, 0);
		assert_true(heat > 10000);
		assert_string_equal(reason, "hotter");
		nr++;
	}
	assert_int_equal(nr, 3);
	assert_true(sd_bus_message_exit_container(reply) >= 0);
	assert_true(sd_bus_message_read(reply, "ttt", &total, &bytes, &seconds) > 0);
	assert_int_equal(total, 5);
	assert_int_equal(bytes, 5 << 20);
	sd_bus_message_unref(reply);
	assert_call_fails(client, BUS_ERROR("NoSuchPool"),
			  "There is no active pool \"x\"; activate it with tpchange -ay, or see tps for "
			  "those that there are.", "Plan", "su", "x", 0);
}

static void assert_extents(uint64_t first, uint64_t count, int expected_nr, uint64_t expected_next)
{
	sd_bus_message *reply = call(client, "Extents", "stt", "sim/v", first, count);
	uint64_t extent, last = 0, next;
	const char *reason;
	double heat;
	int nr = 0;

	assert_true(sd_bus_message_enter_container(reply, 'a', "(tds)") > 0);
	while (sd_bus_message_read(reply, "(tds)", &extent, &heat, &reason) > 0) {
		assert_true(extent >= first && (!nr || extent > last));
		assert_true(heat > 0);
		if (extent < 5)
			assert_string_equal(reason, "outside_window");
		last = extent;
		nr++;
	}
	assert_true(sd_bus_message_exit_container(reply) >= 0);
	assert_true(sd_bus_message_read(reply, "t", &next) > 0);
	assert_int_equal(nr, expected_nr);
	assert_int_equal(next, expected_next);
	sd_bus_message_unref(reply);
}

static void test_extents(void **state)
{
	assert_extents(0, UINT64_MAX, EXTENTS, EXTENTS);
	assert_extents(3, 10, 10, 13);
	assert_extents(EXTENTS, 10, 0, EXTENTS);
	assert_extents(UINT64_MAX, UINT64_MAX, 0, EXTENTS);
	assert_call_fails(client, BUS_ERROR("NoSuchVolume"),
			  "Pool sim has no volume \"w\"; see tvs sim.",
			  "Extents", "stt", "sim/w", UINT64_C(0), UINT64_C(1));
	assert_call_fails(client, BUS_ERROR("NoSuchVolume"), "\"sim\" is not <pool>/<volume>.", "Extents",
			  "stt", "sim", UINT64_C(0), UINT64_C(1));
}

static void test_errors(void **state)
{
	assert_call_fails(client, BUS_ERROR("Config"), "tierd.conf:7: no", "Reload", "");
	assert_call_fails(client, BUS_ERROR("NoSuchPool"), NULL, "Pause", "s", "x");
	assert_call_fails(client, BUS_ERROR("NoSuchPool"), NULL, "Resume", "s", "x");
	assert_call_fails(client, BUS_ERROR("NoSuchPool"), NULL, "Abort", "s", "x");
	assert_call_fails(client, BUS_ERROR("NoSuchVolume"), NULL, "Relocate", "sbs", "sim/x", true, "");
	assert_call_fails(client, SD_BUS_ERROR_INVALID_ARGS, NULL, "Relocate", "sbs", "sim", true, "1/h");
	assert_call_fails(client, SD_BUS_ERROR_UNKNOWN_METHOD, NULL, "Frobnicate", "");
}

/* As nobody: reading works, nothing else does. */
static void as_nobody(void)
{
	sd_bus *bus;

	if (setgid(65534) || setuid(65534))
		_exit(1);
	bus = connect_client();
	sd_bus_message_unref(call(bus, "Plan", "su", "sim", 0));
	sd_bus_message_unref(call(bus, "Extents", "stt", "sim/v", UINT64_C(0), UINT64_C(1)));
	assert_call_fails(bus, SD_BUS_ERROR_ACCESS_DENIED, NULL, "Pause", "s", "sim");
	assert_call_fails(bus, SD_BUS_ERROR_ACCESS_DENIED, NULL, "Resume", "s", "sim");
	assert_call_fails(bus, SD_BUS_ERROR_ACCESS_DENIED, NULL, "Abort", "s", "sim");
	assert_call_fails(bus, SD_BUS_ERROR_ACCESS_DENIED, NULL, "Relocate", "sbs", "sim", true, "");
	assert_call_fails(bus, SD_BUS_ERROR_ACCESS_DENIED, NULL, "Reload", "");
	if (sd_bus_request_name(bus, BUS_NAME, 0) >= 0)
		_exit(2);
	sd_bus_flush_close_unref(bus);
	_exit(0);
}

static void test_others_may_not_change(void **state)
{
	int status;
	pid_t pid;

	if (geteuid())
		fail_msg("this test needs root, to become someone else");
	pid = fork();
	if (!pid)
		as_nobody();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_word("Pools", 0, "state", "idle");
}

static int count_signal(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *interface, *name;
	int *seen = userdata;

	if (sd_bus_message_read(message, "s", &interface) < 0 ||
	    sd_bus_message_skip(message, "a{sv}") < 0 ||
	    sd_bus_message_enter_container(message, 'a', "s") < 0)
		return 0;
	while (sd_bus_message_read(message, "s", &name) > 0)
		if (!strcmp(name, "Pools"))
			(*seen)++;
	return 0;
}

static void wait_for_word(const char *key, const char *word)
{
	for (int i = 0;; i++) {
		_cleanup_free_ char *value = NULL;

		get_value("Pools", 0, key, 's', &value);
		if (!strcmp(value, word))
			return;
		if (i > 1000)
			fail_msg("%s stays %s", key, value);
		usleep(10000);
	}
}

static void test_relocate(void **state)
{
	sd_bus_slot *slot = NULL;
	int seen = 0;

	assert_true(sd_bus_match_signal(client, &slot, BUS_NAME, BUS_PATH,
					"org.freedesktop.DBus.Properties", "PropertiesChanged",
					count_signal, &seen) >= 0);
	sd_bus_message_unref(call(client, "Relocate", "sbs", "", true, "medium"));
	assert_word("Pools", 0, "state", "relocating");
	assert_number("Pools", 0, "by_hand", 'b', 1);
	assert_number("Pools", 0, "active_moves", 't', 2);
	assert_word("Pools", 0, "rate", "medium");
	assert_number("Pools", 0, "rate_bytes_per_s", 't', 160 << 20);

	sd_bus_message_unref(call(client, "Pause", "s", "sim"));
	wait_for_word("state", "paused");
	assert_call_fails(client, BUS_ERROR("Paused"),
			  "Pool sim is paused; resume it first: tierctl resume sim", "Relocate", "sbs",
			  "sim", true, "");
	sd_bus_message_unref(call(client, "Pause", "s", "sim"));
	sd_bus_message_unref(call(client, "Resume", "s", ""));
	assert_word("Pools", 0, "state", "relocating");
	sd_bus_message_unref(call(client, "Abort", "s", "sim"));
	wait_for_word("state", "idle");
	assert_number("Pools", 0, "by_hand", 'b', 0);
	assert_number("Pools", 0, "up_moves", 't', 0);

	sd_bus_message_unref(call(client, "Relocate", "sbs", "sim/v", true, ""));
	wait_for_word("state", "idle");
	for (int i = 0; i < 1000 && !seen; i++) {
		sd_bus_process(client, NULL);
		sd_bus_wait(client, 10000);
	}
	assert_true(seen > 0);
	assert_number("Pools", 0, "up_moves", 't', 5);
	assert_number("Pools", 0, "pending_moves", 't', 0);
	sd_bus_slot_unref(slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_extents),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_others_may_not_change),
		cmocka_unit_test(test_relocate),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
