// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which field of a row has which key and type. To show something more: a field in
 * tierd.h, a line here, a line in bus.h.
 */
#include "bus_rows.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "text.h"
#include "tierd.h"
#include "util.h"

struct field {
	const char *key;
	char type;	/* D-Bus; 'S': a string in the row itself */
	size_t offset;
};

#define POOL(type, name)	{ #name, type, offsetof(struct tierd_pool_row, name) }
#define TIER(type, name)	{ #name, type, offsetof(struct tierd_tier_row, name) }
#define VOLUME(type, name)	{ #name, type, offsetof(struct tierd_volume_row, name) }

static const struct field pool_fields[] = {
	POOL('s', name), POOL('s', uuid), POOL('s', mode), POOL('s', state), POOL('s', reason),
	POOL('s', detail), POOL('b', by_hand), POOL('S', window), POOL('b', window_open),
	POOL('x', window_start), POOL('x', window_end), POOL('S', rate),
	POOL('t', rate_bytes_per_s), POOL('t', extent_bytes), POOL('t', active_moves),
	POOL('t', pending_moves), POOL('t', pending_up_bytes), POOL('t', pending_down_bytes),
	POOL('t', pending_side_bytes), POOL('t', pending_seconds), POOL('x', begin), POOL('x', end),
	POOL('t', up_bytes), POOL('t', down_bytes), POOL('t', side_bytes), POOL('t', up_moves),
	POOL('t', down_moves), POOL('t', side_moves), POOL('t', done_moves),
	POOL('t', failed_moves), POOL('t', retried_moves), POOL('x', heat_since),
	POOL('x', last_collect),
};

static const struct field tier_fields[] = {
	TIER('s', pool), TIER('u', tier), TIER('S', name), TIER('u', devices),
	TIER('u', online_devices), TIER('t', total_bytes), TIER('t', used_bytes),
	TIER('t', free_bytes), TIER('t', headroom_bytes), TIER('d', heat), TIER('t', up_bytes),
	TIER('t', down_bytes), TIER('t', in_bytes), TIER('s', reason),
};

static const struct field volume_fields[] = {
	VOLUME('s', pool), VOLUME('s', name), VOLUME('u', id), VOLUME('s', uuid),
	VOLUME('s', policy), VOLUME('s', policy_from), VOLUME('x', pin_until),
	VOLUME('t', size_bytes), VOLUME('t', allocated_bytes), VOLUME('d', heat),
};

int bus_append_text(sd_bus_message *reply, const char *text)
{
	_cleanup_free_ char *clean = strdup(text ? text : "");

	if (!clean)
		return -ENOMEM;
	tier_text_clean(clean);
	return sd_bus_message_append_basic(reply, 's', clean);
}

static int append_value(sd_bus_message *reply, char type, const void *value)
{
	const char contents[2] = { type == 'S' ? 's' : type, '\0' };
	int flag, r;

	r = sd_bus_message_open_container(reply, 'v', contents);
	if (r < 0)
		return r;
	switch (type) {
	case 'S':
		r = bus_append_text(reply, value);
		break;
	case 's':
		r = bus_append_text(reply, *(const char *const *)value);
		break;
	case 'b':
		flag = *(const bool *)value;
		r = sd_bus_message_append_basic(reply, 'b', &flag);
		break;
	default:
		r = sd_bus_message_append_basic(reply, type, value);
		break;
	}
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_row(sd_bus_message *reply, const struct field *fields, size_t nr_fields,
		      const void *row)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "{sv}");
	for (size_t i = 0; r >= 0 && i < nr_fields; i++) {
		r = sd_bus_message_open_container(reply, 'e', "sv");
		if (r >= 0)
			r = sd_bus_message_append_basic(reply, 's', fields[i].key);
		if (r >= 0)
			r = append_value(reply, fields[i].type,
					 (const char *)row + fields[i].offset);
		if (r >= 0)
			r = sd_bus_message_close_container(reply);
	}
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_append_pools(sd_bus_message *reply, const struct tierd *tierd)
{
	struct tierd_pool_row row;
	int r;

	r = sd_bus_message_open_container(reply, 'a', "a{sv}");
	for (size_t i = 0; r >= 0 && tierd_pool_row(tierd, i, &row); i++)
		r = append_row(reply, pool_fields, TIER_NR(pool_fields), &row);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_append_tiers(sd_bus_message *reply, const struct tierd *tierd)
{
	struct tierd_tier_row row;
	int r;

	r = sd_bus_message_open_container(reply, 'a', "a{sv}");
	for (size_t i = 0; r >= 0 && tierd_tier_row(tierd, i, &row); i++)
		r = append_row(reply, tier_fields, TIER_NR(tier_fields), &row);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_append_volumes(sd_bus_message *reply, const struct tierd *tierd)
{
	struct tierd_volume_row row;
	int r;

	r = sd_bus_message_open_container(reply, 'a', "a{sv}");
	for (size_t i = 0; r >= 0 && tierd_volume_row(tierd, i, &row); i++)
		r = append_row(reply, volume_fields, TIER_NR(volume_fields), &row);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}
