// SPDX-License-Identifier: GPL-2.0-only
/* The server of the interface that bus.h specifies. */
#include "bus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus_rows.h"
#include "clock.h"
#include "config.h"
#include "log.h"
#include "tierd.h"
#include "util.h"

#define DEFAULT_ADDRESS		"unix:path=/run/dbus/system_bus_socket"
#define RETRY_USEC		(5 * UINT64_C(1000000))
#define TELL_USEC		UINT64_C(1000000)

struct bus {
	struct bus_host host;
	sd_bus *bus;
	sd_event_source *retry;		/* connect again */
	sd_event_source *tell;		/* the second that signals wait out */
	bool has_news;			/* since the last signal */
	uint64_t told;			/* tierd_changes() of the last signal */
};

static void now_of(struct bus *bus, struct clock_time *ret_now)
{
	bus->host.now(bus->host.ctx, ret_now);
}

/* ---------------------------------------------------------------- errors */

static int refuse(sd_bus_error *error, const struct tierd_error *cause)
{
	static const char *const names[] = {
		[TIERD_NO_SUCH_POOL] = BUS_ERROR("NoSuchPool"),
		[TIERD_NO_SUCH_VOLUME] = BUS_ERROR("NoSuchVolume"),
		[TIERD_INVALID] = SD_BUS_ERROR_INVALID_ARGS,
		[TIERD_PAUSED] = BUS_ERROR("Paused"),
		[TIERD_MEASURE_ONLY] = BUS_ERROR("MeasureOnly"),
		[TIERD_UNAVAILABLE] = BUS_ERROR("Unavailable"),
	};

	return sd_bus_error_set(error, names[cause->kind], cause->text);
}

/* The end of a method that changes something and answers nothing. */
static int finish(struct bus *bus, sd_bus_message *call, int r, const struct tierd_error *cause,
		  sd_bus_error *error)
{
	bus->host.wake(bus->host.ctx);
	return r ? refuse(error, cause) : sd_bus_reply_method_return(call, "");
}

/* ---------------------------------------------------------------- methods */

static int method_relocate(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *target, *rate;
	struct tierd_error cause;
	struct clock_time now;
	int now_and_here, r;

	r = sd_bus_message_read(call, "sbs", &target, &now_and_here, &rate);
	if (r < 0)
		return r;
	now_of(bus, &now);
	r = tierd_relocate(bus->host.tierd, target, now_and_here, rate, &now, &cause);
	return finish(bus, call, r, &cause, error);
}

static int pause_or_resume(sd_bus_message *call, struct bus *bus, bool pause, sd_bus_error *error)
{
	struct tierd_error cause;
	struct clock_time now;
	const char *pool;
	int r;

	r = sd_bus_message_read(call, "s", &pool);
	if (r < 0)
		return r;
	now_of(bus, &now);
	r = tierd_pause(bus->host.tierd, pool, pause, &now, &cause);
	return finish(bus, call, r, &cause, error);
}

static int method_pause(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	return pause_or_resume(call, userdata, true, error);
}

static int method_resume(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	return pause_or_resume(call, userdata, false, error);
}

static int method_abort(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct tierd_error cause;
	struct clock_time now;
	const char *pool;
	int r;

	r = sd_bus_message_read(call, "s", &pool);
	if (r < 0)
		return r;
	now_of(bus, &now);
	r = tierd_abort(bus->host.tierd, pool, &now, &cause);
	return finish(bus, call, r, &cause, error);
}

static int append_moves(sd_bus_message *reply, const struct tierd *tierd, const char *pool,
			const struct tierd_plan *plan, size_t nr_moves)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(stuuudds)");
	for (size_t i = 0; r >= 0 && i < nr_moves; i++) {
		const struct tier_plan_move *move = &plan->moves[i];
		const char *name = tierd_volume_name(tierd, pool, move->volume);

		r = sd_bus_message_append(reply, "(stuuudds)", name ? name : "", move->extent,
					  (uint32_t)move->from_tier, (uint32_t)move->to_tier,
					  (uint32_t)move->to_device, (double)move->heat,
					  (double)move->threshold, tier_reason_word(move->reason));
	}
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_plan(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct bus *bus = userdata;
	struct tierd_error cause;
	struct tierd_plan plan;
	struct clock_time now;
	const char *pool;
	uint32_t max;
	int r;

	r = sd_bus_message_read(call, "su", &pool, &max);
	if (r < 0)
		return r;
	if (!max || max > BUS_MAX_PLAN_MOVES)
		max = BUS_MAX_PLAN_MOVES;
	now_of(bus, &now);
	r = tierd_plan(bus->host.tierd, pool, &now, &plan, &cause);
	bus->host.wake(bus->host.ctx);
	if (r)
		return refuse(error, &cause);
	r = sd_bus_message_new_method_return(call, &reply);
	if (r >= 0)
		r = append_moves(reply, bus->host.tierd, pool, &plan,
				 plan.nr_moves < max ? plan.nr_moves : max);
	if (r >= 0)
		r = sd_bus_message_append(reply, "ttt", (uint64_t)plan.nr_moves, plan.bytes,
					  plan.seconds);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* Those that have something to say; *ret_next = the first one not looked at. */
static int append_extents(sd_bus_message *reply, const struct tierd_extents *extents,
			  uint64_t first, uint64_t end, uint64_t *ret_next)
{
	size_t nr = 0;
	uint64_t i;
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(tds)");
	for (i = first; r >= 0 && i < end && nr < BUS_MAX_EXTENTS; i++) {
		double heat = extents->heat[i] > 0 ? (double)extents->heat[i] : 0;

		if (heat <= 0 && extents->reason[i] == TIER_REASON_NONE)
			continue;
		r = sd_bus_message_append(reply, "(tds)", i, heat,
					  tier_reason_word(extents->reason[i]));
		nr++;
	}
	*ret_next = i;
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_extents(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct bus *bus = userdata;
	struct tierd_extents extents;
	uint64_t first, count, next;
	struct tierd_error cause;
	struct clock_time now;
	const char *volume;
	int r;

	r = sd_bus_message_read(call, "stt", &volume, &first, &count);
	if (r < 0)
		return r;
	now_of(bus, &now);
	r = tierd_extents(bus->host.tierd, volume, &now, &extents, &cause);
	bus->host.wake(bus->host.ctx);
	if (r)
		return refuse(error, &cause);
	if (first > extents.nr_extents)
		first = extents.nr_extents;
	if (count > extents.nr_extents - first)
		count = extents.nr_extents - first;
	r = sd_bus_message_new_method_return(call, &reply);
	if (r >= 0)
		r = append_extents(reply, &extents, first, first + count, &next);
	if (r >= 0)
		r = sd_bus_message_append(reply, "t", next);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int method_reload(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct config_error cause;

	if (bus->host.reload(bus->host.ctx, &cause))
		return sd_bus_error_set(error, BUS_ERROR("Config"), cause.text);
	return sd_bus_reply_method_return(call, "");
}

/* ---------------------------------------------------------------- properties */

static int property_version(sd_bus *sd, const char *path, const char *interface,
			    const char *property, sd_bus_message *reply, void *userdata,
			    sd_bus_error *error)
{
	return sd_bus_message_append(reply, "s", TIER_VERSION);
}

static int property_config_file(sd_bus *sd, const char *path, const char *interface,
				const char *property, sd_bus_message *reply, void *userdata,
				sd_bus_error *error)
{
	struct bus *bus = userdata;

	return bus_append_text(reply, tierd_config(bus->host.tierd)->path);
}

static int property_config_error(sd_bus *sd, const char *path, const char *interface,
				 const char *property, sd_bus_message *reply, void *userdata,
				 sd_bus_error *error)
{
	struct bus *bus = userdata;

	return sd_bus_message_append(reply, "s", bus->host.config_error(bus->host.ctx));
}

static int property_pools(sd_bus *sd, const char *path, const char *interface,
			  const char *property, sd_bus_message *reply, void *userdata,
			  sd_bus_error *error)
{
	return bus_append_pools(reply, ((struct bus *)userdata)->host.tierd);
}

static int property_tiers(sd_bus *sd, const char *path, const char *interface,
			  const char *property, sd_bus_message *reply, void *userdata,
			  sd_bus_error *error)
{
	return bus_append_tiers(reply, ((struct bus *)userdata)->host.tierd);
}

static int property_volumes(sd_bus *sd, const char *path, const char *interface,
			    const char *property, sd_bus_message *reply, void *userdata,
			    sd_bus_error *error)
{
	return bus_append_volumes(reply, ((struct bus *)userdata)->host.tierd);
}

/* Methods without the flag are for root only: sd-bus sees to that, besides the bus's own policy. */
#define FOR_ALL		SD_BUS_VTABLE_UNPRIVILEGED
#define CHANGES		SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("Relocate", SD_BUS_ARGS("s", target, "b", now, "s", rate),
				SD_BUS_NO_RESULT, method_relocate, 0),
	SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("s", pool), SD_BUS_NO_RESULT, method_pause, 0),
	SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("s", pool), SD_BUS_NO_RESULT, method_resume,
				0),
	SD_BUS_METHOD_WITH_ARGS("Abort", SD_BUS_ARGS("s", pool), SD_BUS_NO_RESULT, method_abort, 0),
	SD_BUS_METHOD_WITH_ARGS("Plan", SD_BUS_ARGS("s", pool, "u", max),
				SD_BUS_RESULT("a(stuuudds)", moves, "t", total, "t", bytes, "t",
					      seconds), method_plan, FOR_ALL),
	SD_BUS_METHOD_WITH_ARGS("Extents", SD_BUS_ARGS("s", volume, "t", first, "t", count),
				SD_BUS_RESULT("a(tds)", extents, "t", next), method_extents,
				FOR_ALL),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_reload, 0),
	SD_BUS_PROPERTY("Version", "s", property_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_PROPERTY("ConfigFile", "s", property_config_file, 0, 0),
	SD_BUS_PROPERTY("ConfigError", "s", property_config_error, 0, 0),
	SD_BUS_PROPERTY("Pools", "aa{sv}", property_pools, 0, CHANGES),
	SD_BUS_PROPERTY("Tiers", "aa{sv}", property_tiers, 0, CHANGES),
	SD_BUS_PROPERTY("Volumes", "aa{sv}", property_volumes, 0, CHANGES),
	SD_BUS_VTABLE_END
};

/* ---------------------------------------------------------------- signals */

static int on_tell(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;

	if (bus->has_news)
		bus_tell(bus);
	return 0;
}

/* Start the second in which no other signal is sent. */
static int hold_tongue(struct bus *bus)
{
	int r;

	if (!bus->tell)
		r = sd_event_add_time_relative(bus->host.event, &bus->tell, CLOCK_MONOTONIC,
					       TELL_USEC, 0, on_tell, bus);
	else
		r = sd_event_source_set_time_relative(bus->tell, TELL_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(bus->tell, SD_EVENT_ONESHOT);
}

static bool is_silent(const struct bus *bus)
{
	int enabled = SD_EVENT_OFF;

	return bus->tell && sd_event_source_get_enabled(bus->tell, &enabled) >= 0 &&
	       enabled != SD_EVENT_OFF;
}

void bus_tell(struct bus *bus)
{
	uint64_t changes = tierd_changes(bus->host.tierd);
	int r;

	if (changes == bus->told || sd_bus_is_ready(bus->bus) <= 0)
		return;
	bus->has_news = true;
	if (is_silent(bus))
		return;
	bus->has_news = false;
	bus->told = changes;
	r = sd_bus_emit_properties_changed(bus->bus, BUS_PATH, BUS_INTERFACE, "Pools", "Tiers",
					   "Volumes", NULL);
	if (r >= 0)
		r = hold_tongue(bus);
	if (r < 0)
		log_plain(bus->host.log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
			  "changes cannot be told on the bus: %s", strerror(-r));
}

/* ---------------------------------------------------------------- the connection */

static int connect_bus(struct bus *bus);

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;

	bus->retry = sd_event_source_unref(bus->retry);
	connect_bus(bus);
	return 0;
}

static void retry_later(struct bus *bus, int error)
{
	int r = 0;

	bus->bus = sd_bus_close_unref(bus->bus);
	if (!bus->retry)
		r = sd_event_add_time_relative(bus->host.event, &bus->retry, CLOCK_MONOTONIC,
					       RETRY_USEC, 0, on_retry, bus);
	log_plain(bus->host.log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
		  "no connection to the system bus, tierctl cannot reach tierd: %s%s",
		  strerror(-error), r < 0 ? "; giving up" : "");
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	retry_later(userdata, -ECONNRESET);
	return 0;
}

static int on_name(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	uint32_t result;
	int r;

	if (sd_bus_message_is_method_error(message, NULL)) {
		log_plain(bus->host.log, LOG_INTERNAL_EVENT, LOG_ERR, NULL,
			  "the name " BUS_NAME " cannot be had on the system bus: %s; is the bus "
			  "policy of tierd installed?", sd_bus_message_get_error(message)->message);
		return 0;
	}
	r = sd_bus_message_read(message, "u", &result);
	if (r < 0)
		return r;
	/* 3: someone else has it. */
	if (result == 3)
		bus->host.lost_name(bus->host.ctx);
	return 0;
}

static int on_connected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	int r;

	r = sd_bus_request_name_async(bus->bus, NULL, BUS_NAME, 0, on_name, bus);
	if (r < 0)
		retry_later(bus, r);
	return 0;
}

/* Nothing here blocks: if there is no bus yet, its socket is waited for. */
static int start_bus(struct bus *bus)
{
	const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
	int r;

	r = sd_bus_new(&bus->bus);
	if (r >= 0)
		r = sd_bus_set_address(bus->bus, address ? address : DEFAULT_ADDRESS);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus->bus, true);
	if (r >= 0)
		r = sd_bus_negotiate_creds(bus->bus, true, SD_BUS_CREDS_UID | SD_BUS_CREDS_EUID |
					   SD_BUS_CREDS_EFFECTIVE_CAPS);
	if (r >= 0)
		r = sd_bus_set_watch_bind(bus->bus, true);
	if (r >= 0)
		r = sd_bus_set_connected_signal(bus->bus, true);
	if (r >= 0)
		r = sd_bus_start(bus->bus);
	return r;
}

static int connect_bus(struct bus *bus)
{
	int r;

	r = start_bus(bus);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus->bus, NULL, BUS_PATH, BUS_INTERFACE, vtable, bus);
	if (r >= 0)
		r = sd_bus_match_signal_async(bus->bus, NULL, "org.freedesktop.DBus.Local", NULL,
					      "org.freedesktop.DBus.Local", "Connected",
					      on_connected, NULL, bus);
	if (r >= 0)
		r = sd_bus_match_signal_async(bus->bus, NULL, "org.freedesktop.DBus.Local", NULL,
					      "org.freedesktop.DBus.Local", "Disconnected",
					      on_disconnected, NULL, bus);
	if (r >= 0)
		r = sd_bus_attach_event(bus->bus, bus->host.event, 0);
	if (r < 0)
		retry_later(bus, r);
	return r;
}

int bus_new(const struct bus_host *host, struct bus **ret_bus)
{
	struct bus *bus = calloc(1, sizeof(*bus));

	if (!bus)
		return -ENOMEM;
	bus->host = *host;
	connect_bus(bus);
	*ret_bus = bus;
	return 0;
}

void bus_free(struct bus *bus)
{
	if (!bus)
		return;
	sd_event_source_unref(bus->retry);
	sd_event_source_unref(bus->tell);
	sd_bus_flush_close_unref(bus->bus);
	free(bus);
}
