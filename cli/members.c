// SPDX-License-Identifier: GPL-2.0-only
/* Devices of an active pool that come and go. */
#include "members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "activate.h"
#include "disks.h"
#include "message.h"
#include "util.h"
#include "volume.h"

enum cli_exit cli_read_table(struct cli *cli, const struct cli_pool *pool,
			     struct tier_pool_table *ret_table)
{
	_cleanup_free_ char *params = NULL;
	int r = tier_dm_table(TIER_DM_POOL, pool->device.name, &params);

	if (!r)
		r = tier_table_parse_pool(params, ret_table);
	if (r)
		return cli_failed(cli, NULL, "pool %s: cannot read its table: %s", pool->info.name,
				  cli_reason(r));
	return CLI_OK;
}

enum cli_exit cli_reload_volumes(struct cli *cli, const struct cli_system *system,
				 const struct cli_pool *pool)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; !code && i < system->nr_devices; i++) {
		const struct tier_dm_device *device = &system->devices[i];

		if (device->kind == TIER_DM_VOLUME && device->pool_major == pool->device.major &&
		    device->pool_minor == pool->device.minor)
			code = cli_reload_volume(cli, pool, device, device->sectors);
	}
	return code;
}

enum cli_exit cli_renew_placements(struct cli *cli, const char *pool_uuid)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = cli_system_read(cli, &system);

	if (!code)
		code = cli_need_pool(cli, &system, pool_uuid, &pool);
	for (size_t i = 0; !code && i < pool->info.nr_volumes; i++)
		code = cli_renew_placement(cli, pool, &pool->info.volumes[i]);
	return code;
}

enum cli_exit cli_forget_device(struct cli *cli, const struct cli_pool *pool, uint32_t idx,
				bool lost)
{
	char message[TIER_MESSAGE_SIZE];

	return cli_tell(cli, pool, tier_message_forget_device(idx, lost, message, sizeof(message)),
			message, NULL, "pool %s: device %u stays recorded", pool->info.name, idx);
}

/* Finding one ----------------------------------------------------------------*/

static bool same_devno(struct tier_devno a, struct tier_devno b)
{
	return a.major == b.major && a.minor == b.minor;
}

static bool table_has(const struct tier_pool_table *table, struct tier_devno devno)
{
	for (uint32_t i = 0; i < table->nr_devices; i++)
		if (same_devno(table->devices[i], devno))
			return true;
	return false;
}

/* The data device of this pool with this number; its UUID as text. */
static const struct tier_scan_device *labelled(const struct cli_pool *pool,
					       const struct tier_scan *scan,
					       struct tier_devno devno, char *ret_uuid)
{
	char pool_uuid[TIER_UUID_SIZE];

	for (size_t i = 0; i < scan->nr_devices; i++) {
		const struct tier_scan_device *device = &scan->devices[i];

		tier_format_uuid(device->identity.pool_uuid, pool_uuid);
		if (device->major != devno.major || device->minor != devno.minor ||
		    device->identity.kind != TIER_FORMAT_DATA || strcmp(pool_uuid, pool->info.uuid))
			continue;
		tier_format_uuid(device->identity.device_uuid, ret_uuid);
		return device;
	}
	return NULL;
}

static const struct tier_device_info *record_of(const struct cli_pool *pool, const char *uuid)
{
	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (!strcmp(pool->info.devices[i].uuid, uuid))
			return &pool->info.devices[i];
	return NULL;
}

/* What is known once the UUID is: the record, and where the device is. */
static void complete(const struct cli_pool *pool, const struct tier_scan *scan,
		     const struct tier_pool_table *table, struct cli_member *member)
{
	const struct tier_device_info *record = record_of(pool, member->uuid);
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; !member->has_devno && i < scan->nr_devices; i++) {
		struct tier_devno devno = { scan->devices[i].major, scan->devices[i].minor };

		if (!labelled(pool, scan, devno, uuid) || strcmp(uuid, member->uuid))
			continue;
		member->devno = devno;
		member->has_devno = true;
		member->idx = scan->devices[i].identity.idx;
	}
	if (record) {
		member->is_recorded = true;
		member->idx = record->idx;
		member->state = record->state;
		member->tier = record->tier;
		member->used_slots = record->used_slots + record->reserved_slots +
				     record->parked_slots;
	}
	if (member->has_devno) {
		member->is_in_table = table_has(table, member->devno);
		cli_devno_path(member->devno.major, member->devno.minor, member->path,
			       sizeof(member->path));
	}
	if (!*member->path)
		snprintf(member->path, sizeof(member->path), "device %u", member->idx);
}

/*
 * What cannot be read has no label that says which one it is. But the others have:
 * if one number of the table and one record are left, they belong together.
 */
static void rule_out(const struct cli_pool *pool, const struct tier_scan *scan,
		     const struct tier_pool_table *table, struct cli_member *ret_member)
{
	bool is_seen[TIER_MAX_DEVICES] = { false };
	const struct tier_device_info *record = NULL;
	unsigned int numbers = 0, records = 0;
	char uuid[TIER_UUID_SIZE];

	for (uint32_t i = 0; i < table->nr_devices; i++) {
		if (!labelled(pool, scan, table->devices[i], uuid)) {
			ret_member->devno = table->devices[i];
			numbers++;
		} else if (record_of(pool, uuid)) {
			is_seen[record_of(pool, uuid)->idx] = true;
		}
	}
	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];

		if (is_seen[device->idx] || device->state == TIER_DEVICE_MISSING ||
		    device->state == TIER_DEVICE_NEW || device->state == TIER_DEVICE_LOST)
			continue;
		record = device;
		records++;
	}
	if (numbers != 1 || records != 1)
		return;
	ret_member->has_devno = true;
	memcpy(ret_member->uuid, record->uuid, sizeof(ret_member->uuid));
}

static void find_path(const struct cli_pool *pool, const struct tier_scan *scan,
		      const struct cli_member *unreadable, const char *path,
		      struct cli_member *ret_member)
{
	struct tier_devno devno;
	struct stat status;

	if (stat(path, &status) || !S_ISBLK(status.st_mode))
		return;
	devno = (struct tier_devno){ major(status.st_rdev), minor(status.st_rdev) };
	if (unreadable->has_devno && same_devno(unreadable->devno, devno))
		*ret_member = *unreadable;
	else
		labelled(pool, scan, devno, ret_member->uuid);
}

/* A record; or a label that has the idx of none. */
static void find_idx(const struct cli_pool *pool, const struct tier_scan *scan, uint32_t idx,
		     struct cli_member *ret_member)
{
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		if (pool->info.devices[i].idx != idx)
			continue;
		memcpy(ret_member->uuid, pool->info.devices[i].uuid, sizeof(ret_member->uuid));
		return;
	}
	for (size_t i = 0; i < scan->nr_devices; i++) {
		struct tier_devno devno = { scan->devices[i].major, scan->devices[i].minor };

		if (labelled(pool, scan, devno, uuid) && scan->devices[i].identity.idx == idx &&
		    !record_of(pool, uuid))
			memcpy(ret_member->uuid, uuid, sizeof(uuid));
	}
}

enum cli_exit cli_find_member(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_scan *scan, const char *word,
			      struct cli_member *ret_member)
{
	struct cli_member member = { 0 }, unreadable = { 0 };
	struct tier_pool_table table;
	struct cli_disk disk = { 0 };
	enum cli_exit code = cli_read_table(cli, pool, &table);

	if (code)
		return code;
	rule_out(pool, scan, &table, &unreadable);
	if (*word && strspn(word, "0123456789") == strlen(word) && strlen(word) < 6) {
		find_idx(pool, scan, (uint32_t)strtoul(word, NULL, 10), &member);
	} else if (strlen(word) == TIER_UUID_SIZE - 1 && !strchr(word, '/')) {
		memcpy(member.uuid, word, TIER_UUID_SIZE);
	} else {
		code = cli_take_path(cli, word, &disk);
		if (code)
			return code;
		find_path(pool, scan, &unreadable, disk.path, &member);
	}
	if (unreadable.has_devno && !strcmp(unreadable.uuid, member.uuid))
		member = unreadable;
	complete(pool, scan, &table, &member);
	if (!member.is_recorded && !member.has_devno)
		return cli_failed(cli, "`tps --devices` lists them, with their idx.", "%s is no device of pool %s",
				  *disk.path ? disk.path : word, pool->info.name);
	*ret_member = member;
	return CLI_OK;
}

/* Taking them out ------------------------------------------------------------*/

static bool is_dropped(const struct cli_pool *pool, const struct tier_scan *scan,
		       const struct cli_member *members, size_t nr_members,
		       struct tier_devno devno)
{
	const struct tier_device_info *record;
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; i < nr_members; i++)
		if (members[i].has_devno && same_devno(members[i].devno, devno))
			return true;
	if (!labelled(pool, scan, devno, uuid))
		return false;
	record = record_of(pool, uuid);
	return !record || record->state == TIER_DEVICE_LOST;
}

static bool are_others_missing(const struct cli_pool *pool)
{
	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->info.devices[i].state == TIER_DEVICE_MISSING)
			return true;
	return false;
}

enum cli_exit cli_drop_members(struct cli *cli, const struct cli_system *system,
			       const struct cli_pool *pool, const struct tier_scan *scan,
			       const struct cli_member *members, size_t nr_members, bool partial)
{
	struct tier_pool_table old, new;
	enum cli_exit code = cli_read_table(cli, pool, &old);

	if (code)
		return code;
	new = old;
	new.nr_devices = 0;
	for (uint32_t i = 0; i < old.nr_devices; i++)
		if (!is_dropped(pool, scan, members, nr_members, old.devices[i]))
			new.devices[new.nr_devices++] = old.devices[i];
	new.partial = partial || (old.partial && are_others_missing(pool));
	if (new.nr_devices == old.nr_devices && new.partial == old.partial)
		return CLI_OK;
	if (!new.nr_devices)
		return cli_failed(cli, "`tpremove` removes a pool with all it holds.",
				  "pool %s would have no device left", pool->info.name);
	code = cli_reload_pool(cli, pool, &new);
	return code ? code : cli_reload_volumes(cli, system, pool);
}

enum cli_exit cli_wipe_member(struct cli *cli, const struct cli_member *member)
{
	struct tier_format_identity identity = { 0 };
	char cause[TIER_CAUSE_SIZE] = "", uuid[TIER_UUID_SIZE];
	struct cli_disk disk = { .probe = { .fd = -1 } };
	struct tier_format_device device;
	enum cli_exit code;

	snprintf(disk.path, sizeof(disk.path), "%s", member->path);
	code = cli_open_disk(cli, &disk, NULL, 0);
	if (code)
		return code;
	if (!tier_format_identify(disk.probe.fd, &identity) && identity.kind == TIER_FORMAT_DATA) {
		tier_format_uuid(identity.device_uuid, uuid);
		cli_format_device(&disk, &device);
		/* Not if it has become something else meanwhile. */
		if (!strcmp(uuid, member->uuid) && tier_format_wipe(&device, cause))
			code = cli_failed(cli, "It is of no pool any more; `wipefs -a` may do it.",
					  "%s keeps its label: %s", disk.path, cause);
	}
	cli_close_disk(&disk);
	return code;
}
