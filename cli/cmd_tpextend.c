// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpextend: more devices for an active pool; without --tier, the room that its
 * devices have got since (lvextend).
 *
 * A new device: the kernel records it and gives its idx, it is labelled, and the
 * pool gets a table with it. Cut short in between, the record stays in state
 * `new`: it holds nothing and is in no table, until the next tpextend forgets it
 * and records what it is given. If the pool refuses the table, all is taken back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "activate.h"
#include "disks.h"
#include "members.h"
#include "message.h"
#include "offline.h"
#include "util.h"
#include "volume.h"

enum { OPTION_TIER = CLI_LONG_ONLY, OPTION_WIPE };

static const struct cli_option options[] = {
	{ OPTION_TIER, "tier", "N:DEVICE", "a device for tier N; as often as needed" },
	{ OPTION_WIPE, "wipesignatures", NULL, "wipe what the devices hold without asking" },
	{ 0 }
};

struct request {
	const char *name;
	bool wipe_signatures;
	struct cli_disk data[TIER_MAX_DEVICES];
	uint32_t idx[TIER_MAX_DEVICES];		/* what the kernel gave */
	size_t nr_data;
};

static void request_clear(struct request *request)
{
	for (size_t i = 0; i < request->nr_data; i++)
		cli_close_disk(&request->data[i]);
}

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		if (id == OPTION_WIPE) {
			request->wipe_signatures = true;
			continue;
		}
		if (request->nr_data == TIER_MAX_DEVICES)
			return cli_bad_line(cli, "Join devices with LVM first.",
					    "a pool has at most %d devices", TIER_MAX_DEVICES);
		code = cli_take_tier(cli, cli->value, &request->data[request->nr_data]);
		if (code)
			return code;
		request->nr_data++;
	}
	if (id < 0)
		return cli->exit;
	request->name = cli->words[0];
	return CLI_OK;
}

/* What has come into use is so after a crash, too. */
static enum cli_exit commit(struct cli *cli, const struct cli_pool *pool)
{
	return cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
			"pool %s: its new devices and sizes are in use but not on disk yet",
			pool->info.name);
}

/* Growing --------------------------------------------------------------------*/

static const struct tier_scan_device *find_device(const struct cli_offline *offline,
						  const char *uuid)
{
	char text[TIER_UUID_SIZE];

	for (size_t i = 0; i < offline->scan.nr_devices; i++) {
		if (offline->scan.devices[i].identity.kind != TIER_FORMAT_DATA)
			continue;
		tier_format_uuid(offline->scan.devices[i].identity.device_uuid, text);
		if (!strcmp(text, uuid))
			return &offline->scan.devices[i];
	}
	return NULL;
}

static enum cli_exit grow_device(struct cli *cli, const struct cli_pool *pool,
				 const struct tier_device_info *device, const char *path,
				 uint64_t slots)
{
	char message[TIER_MESSAGE_SIZE], from[CLI_SIZE_TEXT], to[CLI_SIZE_TEXT];
	enum cli_exit code = CLI_OK;

	cli_size(device->total_slots * pool->info.extent_sectors, from);
	cli_size(slots * pool->info.extent_sectors, to);
	if (!cli->test)
		code = cli_tell(cli, pool,
				tier_message_grow_device(device->idx, slots, message, sizeof(message)),
				message, NULL, "pool %s: %s cannot grow from %s to %s",
				pool->info.name, path, from, to);
	if (!code)
		cli_say(cli, "%s %s: from %s to %s.", cli->test ? "Would grow" : "Grown:", path, from,
			to);
	return code;
}

static enum cli_exit grow(struct cli *cli, const struct cli_system *system,
			  const struct cli_pool *pool)
{
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	struct tier_pool_table table;
	size_t nr_grown = 0;
	enum cli_exit code = cli_offline_read(cli, &offline);

	for (size_t i = 0; !code && i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];
		const struct tier_scan_device *found = find_device(&offline, device->uuid);
		uint64_t slots;

		if (!found || (device->state != TIER_DEVICE_ONLINE &&
			       device->state != TIER_DEVICE_DRAINING))
			continue;
		slots = tier_format_slots(found->bytes, pool->info.extent_sectors);
		if (slots <= device->total_slots)
			continue;
		code = grow_device(cli, pool, device, found->path, slots);
		nr_grown++;
	}
	if (code)
		return code;
	if (!nr_grown)
		return cli_failed(cli, "Extend one (lvextend), or add one with --tier.",
				  "no device of pool %s has got larger by a whole extent",
				  pool->info.name);
	if (cli->test)
		return CLI_OK;
	code = commit(cli, pool);
	if (!code)
		code = cli_read_table(cli, pool, &table);
	if (!code)
		code = cli_reload_pool(cli, pool, &table);
	return code ? code : cli_reload_volumes(cli, system, pool);
}

/* Adding ---------------------------------------------------------------------*/

/* Whether the disk is labelled as this device of the pool. */
static bool is_labelled(const struct cli_disk *disk, const struct tier_device_info *device)
{
	struct tier_format_identity identity;
	char uuid[TIER_UUID_SIZE];

	if (tier_format_identify(disk->probe.fd, &identity) || identity.kind != TIER_FORMAT_DATA)
		return false;
	tier_format_uuid(identity.device_uuid, uuid);
	return !strcmp(uuid, device->uuid);
}

/* What a command that was cut short has written on it may go without a question. */
static bool is_unfinished(const struct cli_pool *pool, const struct cli_disk *disk)
{
	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->info.devices[i].state == TIER_DEVICE_NEW &&
		    is_labelled(disk, &pool->info.devices[i]))
			return true;
	return false;
}

static enum cli_exit check_disk(struct cli *cli, const struct cli_pool *pool,
				struct request *request, size_t i)
{
	uint32_t pool_bytes = tier_probe_logical_bytes(pool->device.major, pool->device.minor);
	struct cli_disk *disk = &request->data[i];
	enum cli_exit code = cli_open_disk(cli, disk, request->data, i);

	if (code)
		return code;
	if (!cli_disk_slots(cli, disk, pool->info.extent_sectors))
		return CLI_FAILED;
	if (pool_bytes && disk->probe.logical_block_bytes > pool_bytes)
		return cli_failed(cli, "Choose a device with smaller blocks.",
				  "%s has logical blocks of %u bytes, pool %s of %u", disk->path,
				  disk->probe.logical_block_bytes, pool->info.name, pool_bytes);
	return CLI_OK;
}

static enum cli_exit check(struct cli *cli, const struct cli_pool *pool, struct request *request)
{
	size_t nr_devices = request->nr_data;
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; i < pool->info.nr_devices; i++)
		nr_devices += pool->info.devices[i].state != TIER_DEVICE_NEW;
	if (nr_devices > TIER_MAX_DEVICES)
		return cli_failed(cli, "Join devices with LVM first.",
				  "pool %s would have more than %d devices", pool->info.name,
				  TIER_MAX_DEVICES);
	for (size_t i = 0; !code && i < request->nr_data; i++)
		code = check_disk(cli, pool, request, i);
	for (size_t i = 0; !code && i < request->nr_data; i++)
		if (!is_unfinished(pool, &request->data[i]))
			code = cli_may_wipe(cli, &request->data[i], request->wipe_signatures);
	return code;
}

static enum cli_exit forget_unfinished(struct cli *cli, const struct cli_pool *pool)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; !code && i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];

		if (device->state != TIER_DEVICE_NEW)
			continue;
		code = cli_forget_device(cli, pool, device->idx, false);
		if (!code)
			cli_say(cli, "Forgot device %u (tier %u, UUID %s): it was never taken into use.",
				device->idx, device->tier, device->uuid);
	}
	return code;
}

static enum cli_exit label(struct cli *cli, const struct cli_pool *pool,
			   const struct cli_disk *disk, const struct tier_format_device *device,
			   uint32_t idx)
{
	char cause[TIER_CAUSE_SIZE] = "";
	enum cli_exit code;
	uuid_t pool_uuid;

	if (uuid_parse(pool->info.uuid, pool_uuid))
		return cli_failed(cli, NULL, "pool %s: '%s' is no UUID", pool->info.name,
				  pool->info.uuid);
	code = cli_wipe_disk(cli, disk);
	if (!code && tier_format_label(device, pool_uuid, idx, cause))
		code = cli_failed(cli, "`dmesg` may say more.", "%s", cause);
	return code;
}

/* Record and label; *table gets the device. A label that cannot be written takes the record back. */
static enum cli_exit add_device(struct cli *cli, const struct cli_pool *pool,
				const struct cli_disk *disk, struct tier_pool_table *table,
				uint32_t *ret_idx)
{
	char message[TIER_MESSAGE_SIZE], uuid[TIER_UUID_SIZE];
	uint64_t slots = tier_format_slots(disk->probe.bytes, pool->info.extent_sectors), idx = 0;
	_cleanup_free_ char *answer = NULL;
	struct tier_format_device device;
	enum cli_exit code;

	cli_format_device(disk, &device);
	tier_format_uuid(device.uuid, uuid);
	code = cli_tell(cli, pool,
			tier_message_add_device(uuid, disk->tier, slots, message, sizeof(message)),
			message, &answer,
			"pool %s cannot take %s (is its metadata device large enough?)",
			pool->info.name, disk->path);
	if (code)
		return code;
	if (tier_answer_number(answer, &idx))
		return cli_failed(cli, NULL, "pool %s: cannot take %s: %s", pool->info.name,
				  disk->path, cli_reason(-EPROTO));
	code = label(cli, pool, disk, &device, (uint32_t)idx);
	if (code) {
		cli_forget_device(cli, pool, (uint32_t)idx, false);
		return code;
	}
	table->devices[table->nr_devices++] =
		(struct tier_devno){ disk->probe.major, disk->probe.minor };
	*ret_idx = (uint32_t)idx;
	return CLI_OK;
}

/* The pool does not take them: neither it nor they know of each other then. */
static void take_back(struct cli *cli, const struct cli_pool *pool, struct request *request,
		      size_t nr_added)
{
	for (size_t i = 0; i < nr_added; i++) {
		struct cli_disk *disk = &request->data[i];
		char cause[TIER_CAUSE_SIZE] = "";
		struct tier_format_device device;

		if (cli_forget_device(cli, pool, request->idx[i], false) ||
		    cli_open_disk(cli, disk, request->data, i))
			continue;
		cli_format_device(disk, &device);
		if (tier_format_wipe(&device, cause))
			cli_warn(cli, "%s keeps its label: %s", disk->path, cause);
	}
}

static enum cli_exit add(struct cli *cli, const struct cli_system *system,
			 const struct cli_pool *pool, struct request *request)
{
	struct tier_pool_table table;
	enum cli_exit code = check(cli, pool, request), use_code;
	size_t nr_added = 0;

	if (code)
		return code;
	if (cli->test) {
		cli_say(cli, "Would add %zu devices to pool %s.", request->nr_data, pool->info.name);
		return CLI_OK;
	}
	code = forget_unfinished(cli, pool);
	if (!code)
		code = cli_read_table(cli, pool, &table);
	while (!code && nr_added < request->nr_data) {
		code = add_device(cli, pool, &request->data[nr_added], &table,
				  &request->idx[nr_added]);
		nr_added += !code;
	}
	/* The kernel wants them for itself. */
	request_clear(request);
	if (!nr_added)
		return code;
	/* What was added before one failed is a member: it comes into use. */
	use_code = cli_reload_pool(cli, pool, &table);
	if (use_code) {
		take_back(cli, pool, request, nr_added);
		return use_code;
	}
	use_code = commit(cli, pool);
	if (!use_code)
		use_code = cli_reload_volumes(cli, system, pool);
	if (!use_code)
		use_code = cli_renew_placements(cli, pool->info.uuid);
	for (size_t i = 0; !use_code && i < nr_added; i++)
		cli_say(cli, "%s is in tier %u of pool %s now.", request->data[i].path,
			request->data[i].tier, pool->info.name);
	return code ? code : use_code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(request_clear) struct request request = { .nr_data = 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code)
		code = cli_need_pool(cli, &system, request.name, &pool);
	if (!code)
		code = cli_need_writable(cli, pool);
	if (code)
		return code;
	return request.nr_data ? add(cli, &system, pool, &request) : grow(cli, &system, pool);
}

const struct cli_command cmd_tpextend = {
	.name = "tpextend",
	.is_applet = true,
	.summary = "add devices to a pool, or let it use what they have grown by",
	.words = "POOL",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
