// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpremove: the end of a pool. Its devices forget it: labels first, then the
 * metadata's superblocks, so that the command can be repeated if it is cut short.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activate.h"
#include "client.h"
#include "disks.h"
#include "offline.h"
#include "util.h"

/* Every device of the pool that is there; the metadata device comes last. */
struct disks {
	struct cli_disk disk[TIER_MAX_DEVICES + 1];
	size_t nr;
};

static void disks_clear(struct disks *disks)
{
	for (size_t i = 0; i < disks->nr; i++)
		cli_close_disk(&disks->disk[i]);
}

/* All devices that carry the pool's uuid, also those that its metadata does not name. */
static void find_disks(const struct cli_offline *offline, const struct tier_scan_pool *pool,
		       struct disks *disks)
{
	for (int want_metadata = 0; want_metadata <= 1; want_metadata++) {
		for (size_t i = 0; i < offline->scan.nr_devices; i++) {
			const struct tier_scan_device *device = &offline->scan.devices[i];
			struct cli_disk *disk = &disks->disk[disks->nr];

			if (memcmp(device->identity.pool_uuid, pool->uuid, sizeof(pool->uuid)) ||
			    (device->identity.kind == TIER_FORMAT_METADATA) != want_metadata ||
			    disks->nr == TIER_NR(disks->disk))
				continue;
			*disk = (struct cli_disk){ .probe = { .fd = -1 } };
			snprintf(disk->path, sizeof(disk->path), "%s", device->path);
			disks->nr++;
		}
	}
}

/* Which of two is the pool's nobody can tell: a clone or a snapshot is not to lose its label with it. */
static enum cli_exit need_no_copies(struct cli *cli, const struct cli_offline *offline,
				    const struct tier_scan_pool *pool, const char *name)
{
	for (size_t i = 0; i < offline->scan.nr_devices; i++) {
		const struct tier_scan_device *a = &offline->scan.devices[i];

		if (memcmp(a->identity.pool_uuid, pool->uuid, sizeof(pool->uuid)))
			continue;
		for (size_t j = i + 1; j < offline->scan.nr_devices; j++) {
			const struct tier_scan_device *b = &offline->scan.devices[j];

			if (tier_scan_is_same(&a->identity, &b->identity))
				return cli_failed(cli, "Take the copy away: detach it, or `wipefs` it.",
						  "pool %s: %s and %s are copies of each other",
						  name, a->path, b->path);
		}
	}
	return CLI_OK;
}

static enum cli_exit wipe(struct cli *cli, const char *name, struct disks *disks)
{
	char cause[TIER_CAUSE_SIZE] = "";
	struct tier_format_device device;
	enum cli_exit code = CLI_OK;

	/* All are ours before the first one is written. */
	for (size_t i = 0; !code && i < disks->nr; i++)
		code = cli_open_disk(cli, &disks->disk[i], disks->disk, i);
	if (code) {
		cli_warn(cli, "pool %s is as it was, but not active: `tpchange -ay %s`", name, name);
		return code;
	}
	for (size_t i = 0; i < disks->nr; i++) {
		cli_detail(cli, "Wiping %s.", disks->disk[i].path);
		cli_format_device(&disks->disk[i], &device);
		if (tier_format_wipe(&device, cause))
			return cli_failed(cli, "Repeat the command, or `wipefs -a` what is left.",
					  "pool %s is removed only in part: %s", name, cause);
	}
	return CLI_OK;
}

static enum cli_exit may_remove(struct cli *cli, const char *name, const struct tier_pool_info *info,
				const struct disks *disks)
{
	char size[CLI_SIZE_TEXT];
	uint64_t extents = 0;

	for (size_t i = 0; i < info->nr_volumes; i++)
		extents += info->volumes[i].allocated_extents;
	cli_size(extents * info->extent_sectors, size);
	if (info->nr_volumes &&
	    !cli_confirm(cli, "Pool %s has %zu volumes with up to %s of data. Remove them with it?",
			 name, info->nr_volumes, size))
		return CLI_FAILED;
	if (!info->nr_volumes && !cli_confirm(cli, "Really remove pool %s (%zu devices)?", name,
					      disks->nr))
		return CLI_FAILED;
	return CLI_OK;
}

static enum cli_exit remove_pool(struct cli *cli, const struct cli_system *system,
				 const struct cli_offline *offline, const char *word)
{
	_cleanup_(disks_clear) struct disks disks = { .nr = 0 };
	struct cli_pool *active = cli_system_pool(system, word);
	const struct tier_scan_pool *pool = NULL;
	struct tier_pool_info none = { 0 };
	char name[TIER_NAME_SIZE], uuid[TIER_UUID_SIZE];
	enum cli_exit code;

	if (active && !*active->info.uuid)
		return cli_failed(cli, "`tpchange -an` takes its device away; then remove it by its UUID (`tps`).",
				  "pool %s: nothing says which pool it is: its metadata device cannot be read",
				  active->info.name);
	code = cli_offline_pool(cli, offline, active ? active->info.uuid : word, &pool);
	if (code)
		return code;
	/* Under another name, if someone made the device by hand. */
	tier_format_uuid(pool->uuid, uuid);
	if (!active)
		active = cli_system_pool(system, uuid);
	cli_offline_name(pool, name);
	find_disks(offline, pool, &disks);
	code = active ? CLI_OK : cli_offline_need_host(cli, pool);
	if (!code)
		code = need_no_copies(cli, offline, pool, name);
	if (code)
		return code;
	code = may_remove(cli, name, active && active->is_loaded ? &active->info :
				     pool->error ? &none : &pool->info, &disks);
	if (code)
		return code;
	if (cli->test) {
		cli_say(cli, "Would remove pool %s and wipe %zu devices.", name, disks.nr);
		return CLI_OK;
	}
	if (active)
		code = cli_deactivate_pool(cli, system, active);
	if (!code)
		code = wipe(cli, name, &disks);
	if (!code && pool->nr_missing)
		cli_warn(cli, "%zu devices of pool %s were not there: they keep their labels",
			 pool->nr_missing, name);
	if (!code) {
		client_forget_pool(uuid);
		cli_say(cli, "Removed pool %s.", name);
	}
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	code = cli_begin(cli, &system);
	if (!code)
		code = cli_offline_read(cli, &offline);
	if (!code)
		code = remove_pool(cli, &system, &offline, cli->words[0]);
	return code;
}

const struct cli_command cmd_tpremove = {
	.name = "tpremove",
	.is_applet = true,
	.summary = "remove a pool; its devices are free then",
	.words = "POOL",
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
