// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierd over the system bus: calls and the parsing of rows.
 *
 * Rows are dictionaries; a table says which key goes where. Keys that are not in
 * it are skipped (a newer tierd), keys that do not come leave zeros.
 */
#include "client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "util.h"

#define NAME		"org.dmtier.Tierd1"
#define PATH		"/org/dmtier/Tierd1"
#define INTERFACE	"org.dmtier.Tierd1"
#define STATE		"/var/lib/tierd"
#define TIMEOUT_US	(120 * 1000000ULL)
#define TRY_TIMEOUT_US	(5 * 1000000ULL)

struct client {
	sd_bus *bus;
};

#define _cleanup_message_	_cleanup_(sd_bus_message_unrefp)
#define _cleanup_error_		_cleanup_(sd_bus_error_free)

enum cli_exit client_open(struct cli *cli, struct client **ret_client)
{
	_cleanup_(client_close) struct client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return cli_failed(cli, NULL, "out of memory");
	r = sd_bus_open_system(&client->bus);
	if (r < 0)
		return cli_failed(cli, "Is dbus running? `systemctl status dbus`",
				  "cannot reach tierd over the system bus: %s", strerror(-r));
	r = sd_bus_set_method_call_timeout(client->bus, TIMEOUT_US);
	if (r < 0)
		return cli_failed(cli, NULL, "the system bus: %s", strerror(-r));
	*ret_client = client;
	client = NULL;
	return CLI_OK;
}

enum cli_exit client_be_quick(struct cli *cli, struct client *client)
{
	int r = sd_bus_set_method_call_timeout(client->bus, TRY_TIMEOUT_US);

	return r < 0 ? cli_failed(cli, NULL, "the system bus: %s", strerror(-r)) : CLI_OK;
}

void client_close(struct client **client)
{
	if (!*client)
		return;
	sd_bus_flush_close_unref((*client)->bus);
	free(*client);
	*client = NULL;
}

void client_forget_pool(const char *uuid)
{
	static const char *const suffixes[] = { "0", "1", "tmp" };
	char path[sizeof(STATE) + 64];

	for (size_t i = 0; i < TIER_NR(suffixes); i++) {
		snprintf(path, sizeof(path), STATE "/%s.%s", uuid, suffixes[i]);
		unlink(path);	/* mostly there are none */
	}
}

/* Why a call failed: tierd's sentence as it is, the rest in ours. */
static enum cli_exit say_why(struct cli *cli, const char *interface, const sd_bus_error *error,
			     int r)
{
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	    sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
		return cli_failed(cli, "Start it: `systemctl enable --now tierd`.", "tierd is not running");
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_ACCESS_DENIED))
		return cli_failed(cli, "Run it as root.", "tierd takes changes only from root");
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) ||
	    sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT))
		return cli_failed(cli, "`systemctl status tierd` and `journalctl -u tierd` show what it does.",
				  "tierd is running but does not answer");
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_INVALID_ARGS) && error->message &&
	    !strcmp(interface, INTERFACE))
		return cli_bad_line(cli, "The option -h shows how it is used.", "%s", error->message);
	if (error->message)
		return cli_failed(cli, NULL, "%s", error->message);
	return cli_failed(cli, "`journalctl -u tierd` shows what it does.",
			  "tierd cannot be asked: %s", strerror(-r));
}

static int send(sd_bus *bus, const char *interface, const char *method, sd_bus_error *error,
		sd_bus_message **ret_reply, const char *types, va_list arguments)
{
	_cleanup_message_ sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &message, NAME, PATH, interface, method);
	if (r >= 0)
		r = sd_bus_message_set_auto_start(message, false);
	if (r >= 0)
		r = sd_bus_message_appendv(message, types, arguments);
	return r < 0 ? r : sd_bus_call(bus, message, 0, error, ret_reply);
}

static enum cli_exit call(struct cli *cli, struct client *client, const char *interface,
			  const char *method, sd_bus_message **ret_reply, const char *types, ...)
{
	_cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
	va_list arguments;
	int r;

	va_start(arguments, types);
	r = send(client->bus, interface, method, &error, ret_reply, types, arguments);
	va_end(arguments);
	return r < 0 ? say_why(cli, interface, &error, r) : CLI_OK;
}

/* A call whose failure is of no interest. */
static int try_call(sd_bus *bus, const char *interface, const char *method,
		    sd_bus_message **ret_reply, const char *types, ...)
{
	_cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
	va_list arguments;
	int r;

	va_start(arguments, types);
	r = send(bus, interface, method, &error, ret_reply, types, arguments);
	va_end(arguments);
	return r;
}

enum cli_exit client_relocate(struct cli *cli, struct client *client, const char *target,
			      bool now, const char *rate)
{
	return call(cli, client, INTERFACE, "Relocate", NULL, "sbs", target, (int)now, rate);
}

enum cli_exit client_pause(struct cli *cli, struct client *client, const char *pool)
{
	return call(cli, client, INTERFACE, "Pause", NULL, "s", pool);
}

enum cli_exit client_resume(struct cli *cli, struct client *client, const char *pool)
{
	return call(cli, client, INTERFACE, "Resume", NULL, "s", pool);
}

enum cli_exit client_abort(struct cli *cli, struct client *client, const char *pool)
{
	return call(cli, client, INTERFACE, "Abort", NULL, "s", pool);
}

enum cli_exit client_reload(struct cli *cli, struct client *client)
{
	return call(cli, client, INTERFACE, "Reload", NULL, "");
}

/* Rows -----------------------------------------------------------------------*/

struct field {
	const char *key;
	char type;		/* of D-Bus: s b x t u d; it says the type of the member, too */
	size_t offset;
};

#define FIELD(type, key, of, member)	{ key, type, offsetof(struct of, member) }

static const struct field pool_fields[] = {
	FIELD('s', "name", client_pool, name),
	FIELD('s', "uuid", client_pool, uuid),
	FIELD('s', "mode", client_pool, mode),
	FIELD('s', "state", client_pool, state),
	FIELD('s', "reason", client_pool, reason),
	FIELD('s', "detail", client_pool, detail),
	FIELD('b', "by_hand", client_pool, by_hand),
	FIELD('s', "window", client_pool, window),
	FIELD('b', "window_open", client_pool, window_open),
	FIELD('x', "window_start", client_pool, window_start_s),
	FIELD('x', "window_end", client_pool, window_end_s),
	FIELD('s', "rate", client_pool, rate),
	FIELD('t', "rate_bytes_per_s", client_pool, rate_bytes_per_s),
	FIELD('t', "extent_bytes", client_pool, extent_bytes),
	FIELD('t', "active_moves", client_pool, active_moves),
	FIELD('t', "pending_moves", client_pool, pending_moves),
	FIELD('t', "pending_up_bytes", client_pool, pending_up_bytes),
	FIELD('t', "pending_down_bytes", client_pool, pending_down_bytes),
	FIELD('t', "pending_side_bytes", client_pool, pending_side_bytes),
	FIELD('t', "pending_seconds", client_pool, pending_seconds),
	FIELD('x', "begin", client_pool, begin_s),
	FIELD('x', "end", client_pool, end_s),
	FIELD('t', "up_bytes", client_pool, up_bytes),
	FIELD('t', "down_bytes", client_pool, down_bytes),
	FIELD('t', "side_bytes", client_pool, side_bytes),
	FIELD('t', "done_moves", client_pool, done_moves),
	FIELD('t', "failed_moves", client_pool, failed_moves),
	FIELD('t', "retried_moves", client_pool, retried_moves),
	FIELD('x', "heat_since", client_pool, heat_since_s),
	FIELD('x', "last_collect", client_pool, last_collect_s),
	{ 0 }
};

static const struct field tier_fields[] = {
	FIELD('s', "pool", client_tier, pool),
	FIELD('u', "tier", client_tier, tier),
	FIELD('s', "name", client_tier, name),
	FIELD('u', "devices", client_tier, devices),
	FIELD('u', "online_devices", client_tier, online_devices),
	FIELD('t', "total_bytes", client_tier, total_bytes),
	FIELD('t', "used_bytes", client_tier, used_bytes),
	FIELD('t', "free_bytes", client_tier, free_bytes),
	FIELD('t', "headroom_bytes", client_tier, headroom_bytes),
	FIELD('d', "heat", client_tier, heat),
	FIELD('t', "up_bytes", client_tier, up_bytes),
	FIELD('t', "down_bytes", client_tier, down_bytes),
	FIELD('t', "in_bytes", client_tier, in_bytes),
	FIELD('s', "reason", client_tier, reason),
	{ 0 }
};

static const struct field volume_fields[] = {
	FIELD('s', "pool", client_volume, pool),
	FIELD('s', "name", client_volume, name),
	FIELD('u', "id", client_volume, id),
	FIELD('s', "uuid", client_volume, uuid),
	FIELD('s', "policy", client_volume, policy),
	FIELD('s', "policy_from", client_volume, policy_from),
	FIELD('x', "pin_until", client_volume, pin_until_s),
	FIELD('t', "size_bytes", client_volume, size_bytes),
	FIELD('t', "allocated_bytes", client_volume, allocated_bytes),
	FIELD('d', "heat", client_volume, heat),
	{ 0 }
};

static const struct field state_fields[] = {
	FIELD('s', "Version", client_state, version),
	FIELD('s', "ConfigFile", client_state, config_file),
	FIELD('s', "ConfigError", client_state, config_error),
	{ 0 }
};

/* The value of a field, out of its variant, into the row. */
static int read_field(sd_bus_message *reply, const struct field *field, void *row)
{
	char signature[] = { field->type, '\0' };
	void *member = (char *)row + field->offset;
	const char *text;
	int flag, r;

	r = sd_bus_message_enter_container(reply, 'v', signature);
	if (r < 0)
		return r;
	switch (field->type) {
	case 's':
		r = sd_bus_message_read_basic(reply, 's', &text);
		if (r > 0) {
			free(*(char **)member);		/* a doubled key */
			*(char **)member = strdup(text);
			if (!*(char **)member)
				return -ENOMEM;
		}
		break;
	case 'b':
		r = sd_bus_message_read_basic(reply, 'b', &flag);
		if (r > 0)
			*(bool *)member = flag;
		break;
	default:
		r = sd_bus_message_read_basic(reply, field->type, member);
	}
	return r < 0 ? r : sd_bus_message_exit_container(reply);
}

/* A dictionary a{sv}. */
static int read_row(sd_bus_message *reply, const struct field *fields, void *row)
{
	const struct field *field;
	const char *key;
	int r;

	r = sd_bus_message_enter_container(reply, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
		r = sd_bus_message_read_basic(reply, 's', &key);
		if (r < 0)
			return r;
		for (field = fields; field->key && strcmp(field->key, key); field++)
			;
		r = field->key ? read_field(reply, field, row) : sd_bus_message_skip(reply, "v");
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(reply);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sd_bus_message_exit_container(reply);
}

/* Strings that did not come are "". */
static int fill_strings(const struct field *fields, void *row)
{
	for (; fields->key; fields++) {
		char **member = (char **)((char *)row + fields->offset);

		if (fields->type != 's' || *member)
			continue;
		*member = strdup("");
		if (!*member)
			return -ENOMEM;
	}
	return 0;
}

static void free_strings(const struct field *fields, void *row)
{
	for (; fields->key; fields++)
		if (fields->type == 's')
			free(*(char **)((char *)row + fields->offset));
}

/* A variant with aa{sv}, appended to *rows, which the caller frees also on failure. */
static int read_rows(sd_bus_message *reply, const struct field *fields, size_t size,
		     void **rows, size_t *nr_rows)
{
	int r = sd_bus_message_enter_container(reply, 'v', "aa{sv}");

	if (r >= 0)
		r = sd_bus_message_enter_container(reply, 'a', "a{sv}");
	while (r >= 0 && !(r = sd_bus_message_at_end(reply, false))) {
		char *more = reallocarray(*rows, *nr_rows + 1, size);
		void *row;

		if (!more)
			return -ENOMEM;
		*rows = more;
		row = memset(more + *nr_rows * size, 0, size);
		++*nr_rows;
		r = read_row(reply, fields, row);
		if (r >= 0)
			r = fill_strings(fields, row);
	}
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	return r < 0 ? r : sd_bus_message_exit_container(reply);
}

static int read_property(sd_bus_message *reply, const char *key, struct client_state *state)
{
	const struct field *field;

	if (!strcmp(key, "Pools"))
		return read_rows(reply, pool_fields, sizeof(*state->pools), (void **)&state->pools,
				 &state->nr_pools);
	if (!strcmp(key, "Tiers"))
		return read_rows(reply, tier_fields, sizeof(*state->tiers), (void **)&state->tiers,
				 &state->nr_tiers);
	if (!strcmp(key, "Volumes"))
		return read_rows(reply, volume_fields, sizeof(*state->volumes),
				 (void **)&state->volumes, &state->nr_volumes);
	for (field = state_fields; field->key && strcmp(field->key, key); field++)
		;
	return field->key ? read_field(reply, field, state) : sd_bus_message_skip(reply, "v");
}

static int read_state(sd_bus_message *reply, struct client_state *state)
{
	const char *key;
	int r = sd_bus_message_enter_container(reply, 'a', "{sv}");

	while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
		r = sd_bus_message_read_basic(reply, 's', &key);
		if (r >= 0)
			r = read_property(reply, key, state);
		if (r >= 0)
			r = sd_bus_message_exit_container(reply);
	}
	return r < 0 ? r : fill_strings(state_fields, state);
}

static enum cli_exit not_understood(struct cli *cli, int r)
{
	return cli_failed(cli, "Do tierd and the tools have the same version? `systemctl restart tierd`",
			  "tierd's answer is not understood: %s", strerror(-r));
}

enum cli_exit client_read_state(struct cli *cli, struct client *client,
				struct client_state *ret_state)
{
	_cleanup_(client_state_clear) struct client_state state = { 0 };
	_cleanup_message_ sd_bus_message *reply = NULL;
	enum cli_exit code;
	int r;

	code = call(cli, client, "org.freedesktop.DBus.Properties", "GetAll", &reply, "s",
		    INTERFACE);
	if (code)
		return code;
	r = read_state(reply, &state);
	if (r < 0)
		return not_understood(cli, r);
	*ret_state = state;
	state = (struct client_state){ 0 };
	return CLI_OK;
}

bool client_try_state(const char *pool, struct client_state *ret_state)
{
	_cleanup_(client_state_clear) struct client_state state = { 0 };
	_cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r = sd_bus_open_system(&bus);

	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, TRY_TIMEOUT_US);
	/* A plan begins with a look at the pool. */
	if (r >= 0 && pool)
		r = try_call(bus, INTERFACE, "Plan", NULL, "su", pool, 1U);
	if (r >= 0)
		r = try_call(bus, "org.freedesktop.DBus.Properties", "GetAll", &reply, "s",
			     INTERFACE);
	if (r >= 0)
		r = read_state(reply, &state);
	if (r < 0)
		return false;
	*ret_state = state;
	state = (struct client_state){ 0 };
	return true;
}

void client_state_clear(struct client_state *state)
{
	for (size_t i = 0; i < state->nr_pools; i++)
		free_strings(pool_fields, &state->pools[i]);
	for (size_t i = 0; i < state->nr_tiers; i++)
		free_strings(tier_fields, &state->tiers[i]);
	for (size_t i = 0; i < state->nr_volumes; i++)
		free_strings(volume_fields, &state->volumes[i]);
	free_strings(state_fields, state);
	free(state->pools);
	free(state->tiers);
	free(state->volumes);
	*state = (struct client_state){ 0 };
}

const struct client_pool *client_find_pool(const struct client_state *state, const char *uuid)
{
	for (size_t i = 0; i < state->nr_pools; i++)
		if (!strcmp(state->pools[i].uuid, uuid))
			return &state->pools[i];
	return NULL;
}

const struct client_tier *client_find_tier(const struct client_state *state, const char *pool,
					   uint32_t tier)
{
	for (size_t i = 0; i < state->nr_tiers; i++)
		if (!strcmp(state->tiers[i].pool, pool) && state->tiers[i].tier == tier)
			return &state->tiers[i];
	return NULL;
}

const struct client_volume *client_find_volume(const struct client_state *state, const char *uuid)
{
	for (size_t i = 0; i < state->nr_volumes; i++)
		if (!strcmp(state->volumes[i].uuid, uuid))
			return &state->volumes[i];
	return NULL;
}

/* Lists ----------------------------------------------------------------------*/

/* Room for one more of *nr elements; grows by doubling. NULL: no memory. */
static void *grow(void *array, size_t nr, size_t size)
{
	return nr & (nr - 1) ? array : reallocarray(array, nr ? 2 * nr : 1, size);
}

static int read_plan(sd_bus_message *reply, struct client_plan *plan)
{
	struct client_move move;
	const char *volume, *reason;
	int r = sd_bus_message_enter_container(reply, 'a', "(stuuudds)");

	while (r >= 0 && (r = sd_bus_message_read(reply, "(stuuudds)", &volume, &move.extent,
						  &move.from_tier, &move.to_tier, &move.to_device,
						  &move.heat, &move.threshold, &reason)) > 0) {
		struct client_move *moves = grow(plan->moves, plan->nr_moves, sizeof(move));

		if (!moves)
			return -ENOMEM;
		plan->moves = moves;
		move.volume = strdup(volume);
		move.reason = strdup(reason);
		plan->moves[plan->nr_moves++] = move;
		if (!move.volume || !move.reason)
			return -ENOMEM;
	}
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	return r < 0 ? r : sd_bus_message_read(reply, "ttt", &plan->total_moves, &plan->bytes,
					       &plan->seconds);
}

enum cli_exit client_plan(struct cli *cli, struct client *client, const char *pool, uint32_t max,
			  struct client_plan *ret_plan)
{
	_cleanup_(client_plan_clear) struct client_plan plan = { 0 };
	_cleanup_message_ sd_bus_message *reply = NULL;
	enum cli_exit code = call(cli, client, INTERFACE, "Plan", &reply, "su", pool, max);
	int r;

	if (code)
		return code;
	r = read_plan(reply, &plan);
	if (r < 0)
		return not_understood(cli, r);
	*ret_plan = plan;
	plan = (struct client_plan){ 0 };
	return CLI_OK;
}

void client_plan_clear(struct client_plan *plan)
{
	for (size_t i = 0; i < plan->nr_moves; i++) {
		free(plan->moves[i].volume);
		free(plan->moves[i].reason);
	}
	free(plan->moves);
	*plan = (struct client_plan){ 0 };
}

static int read_extents(sd_bus_message *reply, struct client_extents *extents)
{
	struct client_extent extent;
	const char *reason;
	int r = sd_bus_message_enter_container(reply, 'a', "(tds)");

	while (r >= 0 && (r = sd_bus_message_read(reply, "(tds)", &extent.extent, &extent.heat,
						  &reason)) > 0) {
		struct client_extent *more = grow(extents->extents, extents->nr_extents,
						  sizeof(extent));

		if (!more)
			return -ENOMEM;
		extents->extents = more;
		extent.reason = strdup(reason);
		extents->extents[extents->nr_extents++] = extent;
		if (!extent.reason)
			return -ENOMEM;
	}
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	return r < 0 ? r : sd_bus_message_read(reply, "t", &extents->next);
}

enum cli_exit client_extents(struct cli *cli, struct client *client, const char *volume,
			     uint64_t first, uint64_t count, struct client_extents *ret_extents)
{
	_cleanup_(client_extents_clear) struct client_extents extents = { 0 };
	_cleanup_message_ sd_bus_message *reply = NULL;
	enum cli_exit code = call(cli, client, INTERFACE, "Extents", &reply, "stt", volume, first,
				  count);
	int r;

	if (code)
		return code;
	r = read_extents(reply, &extents);
	if (r < 0)
		return not_understood(cli, r);
	*ret_extents = extents;
	extents = (struct client_extents){ 0 };
	return CLI_OK;
}

void client_extents_clear(struct client_extents *extents)
{
	for (size_t i = 0; i < extents->nr_extents; i++)
		free(extents->extents[i].reason);
	free(extents->extents);
	*extents = (struct client_extents){ 0 };
}
