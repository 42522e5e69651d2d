// SPDX-License-Identifier: GPL-2.0-only
/* What is active on this machine. */
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disks.h"
#include "format.h"
#include "name.h"
#include "table.h"
#include "util.h"

/* Of a pool that tells nothing of itself: what its device and its metadata device say. */
static void name_unloaded(struct cli_pool *pool)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *params = NULL;
	struct tier_format_identity identity;
	struct tier_pool_table table;
	char path[256];

	pool->info.mode = TIER_POOL_FAIL;
	tier_name_dm_to_pool(pool->device.name, pool->info.name, sizeof(pool->info.name));
	if (*pool->status.uuid)
		memcpy(pool->info.uuid, pool->status.uuid, sizeof(pool->info.uuid));
	else if (*pool->device.uuid)	/* TIER-<uuid>-pool */
		snprintf(pool->info.uuid, sizeof(pool->info.uuid), "%s",
			 pool->device.uuid + strlen(TIER_DM_UUID_PREFIX));
	if (*pool->info.uuid || tier_dm_table(TIER_DM_POOL, pool->device.name, &params) ||
	    tier_table_parse_pool(params, &table))
		return;
	cli_devno_path(table.metadata.major, table.metadata.minor, path, sizeof(path));
	if (*path && !tier_format_open(path, &fd) && !tier_format_identify(fd, &identity) &&
	    identity.kind == TIER_FORMAT_METADATA)
		tier_format_uuid(identity.pool_uuid, pool->info.uuid);
}

static int read_pool(const struct tier_dm_device *device, struct cli_pool *ret_pool)
{
	_cleanup_(tier_dm_backend_close) struct tier_backend backend = { 0 };
	_cleanup_free_ char *params = NULL;
	struct cli_pool pool = { .device = *device };
	int r;

	r = tier_dm_status(TIER_DM_POOL, device->name, &params);
	if (!r)
		r = tier_status_parse_pool(params, &pool.status);
	if (!r)
		r = tier_dm_backend_open(device->name, &backend);
	if (!r)
		r = backend.ops->read_pool(backend.ctx, &pool.info);
	if (r == -ENODATA) {
		name_unloaded(&pool);
		*ret_pool = pool;
		return 0;
	}
	if (r)
		return r;
	pool.is_loaded = true;
	pool.backend = backend;
	backend = (struct tier_backend){ 0 };
	*ret_pool = pool;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct cli_pool *x = a, *y = b;

	return strcmp(x->info.name, y->info.name);
}

enum cli_exit cli_system_read(struct cli *cli, struct cli_system *ret_system)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	int r = tier_dm_list(&system.devices, &system.nr_devices);

	if (r)
		return cli_failed(cli, NULL, "cannot list the pools of this machine: %s",
				  cli_reason(r));
	system.pools = calloc(system.nr_devices + 1, sizeof(*system.pools));
	if (!system.pools)
		return cli_failed(cli, NULL, "out of memory");
	for (size_t i = 0; i < system.nr_devices; i++) {
		if (system.devices[i].kind != TIER_DM_POOL)
			continue;
		r = read_pool(&system.devices[i], &system.pools[system.nr_pools]);
		if (!r)
			system.nr_pools++;
		else if (r != -ENODEV)	/* gone meanwhile */
			cli_warn(cli, "/dev/mapper/%s: cannot read this pool: %s",
				 system.devices[i].name, cli_reason(r));
	}
	qsort(system.pools, system.nr_pools, sizeof(*system.pools), by_name);
	*ret_system = system;
	system = (struct cli_system){ 0 };
	return CLI_OK;
}

/*
 * Nobody else is making devices now, so what has no table is what a command that was
 * killed has left. It would be in the way of the next one, and hold its pool.
 */
static void remove_unfinished(struct cli *cli, const struct cli_system *system)
{
	for (size_t i = 0; i < system->nr_devices; i++) {
		const char *name = system->devices[i].name;
		int r;

		if (system->devices[i].kind != TIER_DM_UNFINISHED)
			continue;
		r = cli->test ? 0 : tier_dm_remove(name);
		if (r && r != -ENODEV)
			cli_warn(cli, "/dev/mapper/%s, left by a command that was cut short, cannot be removed: %s",
				 name, cli_reason(r));
		else
			cli_say(cli, "%s /dev/mapper/%s, left by a command that was cut short.",
				cli->test ? "Would remove" : "Removed", name);
	}
}

enum cli_exit cli_begin(struct cli *cli, struct cli_system *ret_system)
{
	enum cli_exit code;
	int r;

	if (geteuid())
		return cli_failed(cli, "Run it as root.", "only root can change pools");
	r = cli_lock(cli);
	if (r)
		return cli_failed(cli, NULL, "cannot lock out other commands: %s", cli_reason(r));
	code = cli_system_read(cli, ret_system);
	if (!code)
		remove_unfinished(cli, ret_system);
	return code;
}

void cli_system_clear(struct cli_system *system)
{
	for (size_t i = 0; i < system->nr_pools; i++) {
		tier_dm_backend_close(&system->pools[i].backend);
		tier_pool_info_clear(&system->pools[i].info);
	}
	free(system->pools);
	free(system->devices);
	*system = (struct cli_system){ 0 };
}

static bool is_called(const struct cli_pool *pool, const char *name)
{
	return *name && (!strcmp(pool->info.name, name) || !strcmp(pool->info.uuid, name));
}

struct cli_pool *cli_system_pool(const struct cli_system *system, const char *name)
{
	struct cli_pool *found = NULL;
	char label_name[TIER_NAME_SIZE];

	for (size_t i = 0; i < system->nr_pools; i++)
		if (is_called(&system->pools[i], name))
			return &system->pools[i];
	/* Its own name, if someone made the device by hand under another one. */
	for (size_t i = 0; i < system->nr_pools; i++) {
		if (tier_label_value(system->pools[i].status.label, "name", label_name,
				     sizeof(label_name)) <= 0 || strcmp(label_name, name))
			continue;
		if (found)
			return NULL;
		found = &system->pools[i];
	}
	return found;
}

enum cli_exit cli_not_loaded(struct cli *cli, const struct cli_pool *pool)
{
	char next[TIER_NAME_SIZE + 128];

	snprintf(next, sizeof(next), "`tpchange -an %s` takes the device away; see to the cause, then "
		 "-ay tries again.", pool->info.name);
	return cli_failed(cli, next, "pool %s: " TIER_NOT_LOADED_TEXT, pool->info.name);
}

enum cli_exit cli_need_pool(struct cli *cli, const struct cli_system *system, const char *name,
			    struct cli_pool **ret_pool)
{
	struct cli_pool *pool = cli_system_pool(system, name);

	if (!pool)
		return cli_failed(cli, "`tps` lists the pools; `tpchange -ay` activates one.",
				  "no pool '%s' is active", name);
	if (!pool->is_loaded)
		return cli_not_loaded(cli, pool);
	*ret_pool = pool;
	return CLI_OK;
}

const char *cli_volume_name(const struct tier_volume_info *volume, char ret_name[TIER_NAME_SIZE])
{
	/* Names of others' making may hold anything: those are called by their uuid. */
	if (tier_label_value(volume->label, "name", ret_name, TIER_NAME_SIZE) < 0 ||
	    tier_name_check(ret_name, NULL))
		snprintf(ret_name, TIER_NAME_SIZE, "%s", volume->uuid);
	return ret_name;
}

const struct tier_volume_info *cli_pool_volume(const struct cli_pool *pool, const char *name)
{
	char volume_name[TIER_NAME_SIZE];

	for (size_t i = 0; i < pool->info.nr_volumes; i++)
		if (!strcmp(cli_volume_name(&pool->info.volumes[i], volume_name), name) ||
		    !strcmp(pool->info.volumes[i].uuid, name))
			return &pool->info.volumes[i];
	return NULL;
}

enum cli_exit cli_need_volume(struct cli *cli, const struct cli_system *system, const char *word,
			      struct cli_pool **ret_pool,
			      const struct tier_volume_info **ret_volume)
{
	char pool_name[TIER_NAME_SIZE], volume_name[TIER_NAME_SIZE];
	const struct tier_volume_info *volume;
	struct cli_pool *pool = NULL;
	enum cli_exit code;

	if (tier_name_split(word, pool_name, volume_name, sizeof(pool_name)) || !*volume_name)
		return cli_bad_line(cli, "A volume is called <pool>/<volume>.",
				    "'%s' is not the name of a volume", word);
	code = cli_need_pool(cli, system, pool_name, &pool);
	if (code)
		return code;
	volume = cli_pool_volume(pool, volume_name);
	if (!volume)
		return cli_failed(cli, "`tvs` lists the volumes.", "pool %s has no volume '%s'",
				  pool->info.name, volume_name);
	*ret_pool = pool;
	*ret_volume = volume;
	return CLI_OK;
}

const struct tier_dm_device *cli_volume_device(const struct cli_system *system,
					       const struct cli_pool *pool, uint32_t volume)
{
	for (size_t i = 0; i < system->nr_devices; i++) {
		const struct tier_dm_device *device = &system->devices[i];

		if (device->kind == TIER_DM_VOLUME && device->volume == volume &&
		    device->pool_major == pool->device.major &&
		    device->pool_minor == pool->device.minor)
			return device;
	}
	return NULL;
}
