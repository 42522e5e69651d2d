// SPDX-License-Identifier: GPL-2.0-only
/* Pools as their metadata and labels say. */
#include "offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "util.h"

enum cli_exit cli_offline_read(struct cli *cli, struct cli_offline *ret_offline)
{
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	int r = tier_scan_system(&offline.scan);

	if (!r)
		r = tier_scan_pools(&offline.scan, &offline.pools, &offline.nr_pools);
	if (r)
		return cli_failed(cli, NULL, "cannot look for pools on the block devices: %s",
				  cli_reason(r));
	if (offline.scan.nr_unreadable)
		cli_detail(cli, "%zu block devices could not be read.", offline.scan.nr_unreadable);
	*ret_offline = offline;
	offline = (struct cli_offline){ 0 };
	return CLI_OK;
}

void cli_offline_clear(struct cli_offline *offline)
{
	tier_scan_free_pools(offline->pools, offline->nr_pools);
	tier_scan_clear(&offline->scan);
	*offline = (struct cli_offline){ 0 };
}

const char *cli_offline_name(const struct tier_scan_pool *pool, char ret_name[TIER_NAME_SIZE])
{
	if (!pool->error)
		snprintf(ret_name, TIER_NAME_SIZE, "%s", pool->info.name);
	else
		tier_format_uuid(pool->uuid, ret_name);
	return ret_name;
}

/* The one that is looked for may be one of these: their metadata do not tell their name. */
static bool say_unreadable(const struct cli *cli, const struct cli_offline *offline)
{
	char uuid[TIER_UUID_SIZE];
	bool are_some = false;

	for (size_t i = 0; i < offline->nr_pools; i++) {
		if (!offline->pools[i].error)
			continue;
		tier_format_uuid(offline->pools[i].uuid, uuid);
		cli_warn(cli, "a pool whose name cannot be read, %s: %s", uuid, offline->pools[i].cause);
		are_some = true;
	}
	return are_some;
}

enum cli_exit cli_offline_pool(struct cli *cli, const struct cli_offline *offline,
			       const char *name, const struct tier_scan_pool **ret_pool)
{
	const struct tier_scan_pool *found = NULL;
	char uuid[TIER_UUID_SIZE], other[TIER_UUID_SIZE];

	for (size_t i = 0; i < offline->nr_pools; i++) {
		const struct tier_scan_pool *pool = &offline->pools[i];

		tier_format_uuid(pool->uuid, uuid);
		if (!strcmp(uuid, name)) {
			*ret_pool = pool;
			return CLI_OK;
		}
		if (pool->error || strcmp(pool->info.name, name))
			continue;
		if (found) {
			tier_format_uuid(found->uuid, other);
			return cli_failed(cli, "Say which one by its UUID.",
					  "two pools are called '%s': %s and %s", name, other, uuid);
		}
		found = pool;
	}
	if (!found && say_unreadable(cli, offline))
		return cli_failed(cli, "See to the pool above, if it is that: dm-tier(7), RECOVERY.",
				  "there is no pool '%s' that could be read", name);
	if (!found)
		return cli_failed(cli, "`tps` lists the pools. Are all its devices there? `lsblk`, `vgchange -ay`",
				  "there is no pool '%s'", name);
	*ret_pool = found;
	return CLI_OK;
}

const char *cli_format_host(const uint8_t host[16], char ret_text[CLI_HOST_TEXT])
{
	for (int i = 0; i < 16; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", host[i]);
	return ret_text;
}

bool cli_host(uint8_t ret_host[16])
{
	sd_id128_t id;

	if (sd_id128_get_machine(&id) < 0)
		return false;
	memcpy(ret_host, id.bytes, 16);
	return true;
}

bool cli_is_any_host(const uint8_t host[16])
{
	static const uint8_t any[16];

	return !memcmp(host, any, 16);
}

bool cli_offline_is_foreign(const struct tier_scan_pool *pool)
{
	uint8_t host[16];

	return !pool->error && !cli_is_any_host(pool->facts.system_id) &&
	       (!cli_host(host) || memcmp(host, pool->facts.system_id, 16));
}

enum cli_exit cli_offline_need_host(struct cli *cli, const struct tier_scan_pool *pool)
{
	char name[TIER_NAME_SIZE], theirs[CLI_HOST_TEXT], ours[CLI_HOST_TEXT], next[TIER_NAME_SIZE + 96];
	uint8_t host[16];

	if (!cli_offline_is_foreign(pool))
		return CLI_OK;
	cli_offline_name(pool, name);
	cli_format_host(pool->facts.system_id, theirs);
	if (!cli_host(host))
		return cli_failed(cli, "`systemd-machine-id-setup` makes one, then `tpchange --import`.",
				  "pool %s belongs to host %s, and this one has no /etc/machine-id", name,
				  theirs);
	snprintf(next, sizeof(next), "If no other host uses it any more: `tpchange --import %s`.", name);
	return cli_failed(cli, next, "pool %s belongs to host %s, this is host %s (/etc/machine-id)", name,
			  theirs, cli_format_host(host, ours));
}

/* One line for each device that is not as it should be. */
static void say_members(struct cli *cli, const struct tier_scan_pool *pool)
{
	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];
		const struct tier_scan_member *member = &pool->members[i];

		if (member->doubled)
			cli_warn(cli, "device %u (tier %u, UUID %s) is there more than once", device->idx,
				 device->tier, device->uuid);
		else if (!member->device && device->state != TIER_DEVICE_NEW &&
			 device->state != TIER_DEVICE_LOST)
			cli_warn(cli, "device %u (tier %u, UUID %s) is missing", device->idx,
				 device->tier, device->uuid);
	}
}

enum cli_exit cli_offline_table(struct cli *cli, const struct tier_scan_pool *pool, bool partial,
				struct tier_pool_table *ret_table)
{
	struct tier_pool_table table = {
		.partial = partial && pool->nr_missing,
		.no_space_timeout_s = TIER_NO_SPACE_TIMEOUT_S,
	};
	char name[TIER_NAME_SIZE];

	cli_offline_name(pool, name);
	if (pool->error)
		return cli_failed(cli, "See dm-tier(7), RECOVERY.", "pool %s: %s", name, pool->cause);
	if (pool->nr_doubled || (pool->nr_missing && !partial)) {
		say_members(cli, pool);
		return cli_failed(cli, pool->nr_doubled ? "Take the copies away." :
				  "Bring them back; with --partial the pool comes up without them, and their extents give errors.",
				  "pool %s is incomplete", name);
	}
	table.metadata = (struct tier_devno){ pool->metadata->major, pool->metadata->minor };
	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_scan_device *device = pool->members[i].device;
		const enum tier_device_state state = pool->info.devices[i].state;

		/* It holds nothing yet: what is wrong with it must not keep the pool down. */
		if (device && state == TIER_DEVICE_NEW)
			cli_warn(cli, "%s was never taken into use: repeat `tpextend --tier %u:%s %s`",
				 device->path, pool->info.devices[i].tier, device->path, name);
		else if (device && state != TIER_DEVICE_LOST)
			table.devices[table.nr_devices++] =
				(struct tier_devno){ device->major, device->minor };
	}
	if (!table.nr_devices)
		return cli_failed(cli, "Bring at least one back.", "pool %s: all its devices are missing",
				  name);
	*ret_table = table;
	return CLI_OK;
}
