// SPDX-License-Identifier: GPL-2.0-only
/* dm devices of pools and volumes. */
#include "activate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disks.h"
#include "name.h"

/* "<cause of the kernel> (<errno in words>)", or only one of them. */
static const char *why(int r, const char *cause, char *ret_text, size_t size)
{
	if (*cause)
		snprintf(ret_text, size, "%s (%s)", cause, cli_reason(r));
	else
		snprintf(ret_text, size, "%s", cli_reason(r));
	return ret_text;
}

#define WHY_SIZE	(TIER_CAUSE_SIZE + 128)

static const char *next_step(int r, const char *cause)
{
	if (r == -EOPNOTSUPP || (r == -EINVAL && (!*cause || strstr(cause, "unknown target"))))
		return "Is the module there? `modprobe dm-tier`; `dmesg` may say more.";
	return "`dmesg` may say more.";
}

/* device-mapper does not look, and the kernel writes to what is only marked as read-only. */
static enum cli_exit need_writable(struct cli *cli, const char *pool_name,
				   const struct tier_pool_table *table)
{
	for (uint32_t i = 0; !table->read_only && i <= table->nr_devices; i++) {
		const struct tier_devno *devno = i ? &table->devices[i - 1] : &table->metadata;
		char path[PATH_MAX];
		FILE *file;
		int mark;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/ro", devno->major, devno->minor);
		file = fopen(path, "re");
		if (!file)
			continue;	/* it is gone: the kernel will say so */
		mark = fgetc(file);
		fclose(file);
		if (mark != '1')
			continue;
		cli_devno_path(devno->major, devno->minor, path, sizeof(path));
		return cli_failed(cli, "`blockdev --setrw` makes it writable; `tpchange -ay --readonly` does without.",
				  "pool %s: %s is read-only", pool_name, path);
	}
	return CLI_OK;
}

enum cli_exit cli_activate_pool(struct cli *cli, const char *pool_name, const char *pool_uuid,
				uint64_t extent_sectors, const struct tier_pool_table *table,
				char ret_dm_name[TIER_NAME_SIZE])
{
	char params[TIER_TABLE_SIZE], uuid[TIER_DM_UUID_SIZE], name[TIER_NAME_SIZE];
	char cause[TIER_CAUSE_SIZE], text[WHY_SIZE];
	struct tier_dm_table_line line = {
		.name = name,
		.uuid = uuid,
		.target = TIER_TARGET_POOL,
		.sectors = extent_sectors,
		.params = params,
		.read_only = table->read_only,
		.is_private = true,
	};
	enum cli_exit code = need_writable(cli, pool_name, table);
	int r;

	if (code)
		return code;
	snprintf(uuid, sizeof(uuid), TIER_DM_UUID_PREFIX "%s-pool", pool_uuid);
	r = tier_name_pool_to_dm(pool_name, name, sizeof(name));
	if (!r)
		r = tier_table_build_pool(table, params, sizeof(params));
	if (r)
		return cli_failed(cli, NULL, "pool %s: its table cannot be built: %s", pool_name,
				  cli_reason(r));
	cli_detail(cli, "Creating /dev/mapper/%s: 0 %llu tier-pool %s", name,
		   (unsigned long long)extent_sectors, params);
	r = tier_dm_create(&line, cause);
	if (r == -EEXIST)
		return cli_failed(cli, "`dmsetup info` shows what has it.",
				  "pool %s: a device-mapper device of that name or UUID is there",
				  pool_name);
	if (r)
		return cli_failed(cli, next_step(r, cause), "pool %s cannot be activated: %s", pool_name,
				  why(r, cause, text, sizeof(text)));
	memcpy(ret_dm_name, name, sizeof(name));
	return CLI_OK;
}

enum cli_exit cli_reload_pool(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_pool_table *table)
{
	char params[TIER_TABLE_SIZE], cause[TIER_CAUSE_SIZE], text[WHY_SIZE];
	struct tier_dm_table_line line = {
		.name = pool->device.name,
		.target = TIER_TARGET_POOL,
		.sectors = pool->info.extent_sectors,
		.params = params,
		.read_only = table->read_only,
		.is_private = true,
	};
	int r = tier_table_build_pool(table, params, sizeof(params));

	if (r)
		return cli_failed(cli, NULL, "pool %s: its table cannot be built: %s",
				  pool->info.name, cli_reason(r));
	cli_detail(cli, "Reloading /dev/mapper/%s: 0 %llu tier-pool %s", line.name,
		   (unsigned long long)line.sectors, params);
	r = tier_dm_reload(&line, cause);
	if (r)
		return cli_failed(cli, next_step(r, cause), "pool %s cannot be reloaded: %s",
				  pool->info.name, why(r, cause, text, sizeof(text)));
	return CLI_OK;
}

static void volume_params(const struct cli_pool *pool, uint32_t volume, char *ret_params,
			  size_t size)
{
	struct tier_volume_table table = {
		.pool = { pool->device.major, pool->device.minor },
		.volume = volume,
	};

	/* Three numbers always fit. */
	tier_table_build_volume(&table, ret_params, size);
}

/* What the device of a volume should be called. */
static enum cli_exit device_names(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_volume_info *volume, char *ret_name,
				  char *ret_uuid)
{
	char volume_name[TIER_NAME_SIZE];

	cli_volume_name(volume, volume_name);
	snprintf(ret_uuid, TIER_DM_UUID_SIZE, TIER_DM_UUID_PREFIX "%s-%s", pool->info.uuid,
		 volume->uuid);
	if (!tier_name_volume_to_dm(pool->info.name, volume_name, ret_name, TIER_NAME_SIZE))
		return CLI_OK;
	return cli_failed(cli, "Rename it with `tvrename`.",
			  "volume %s/%s: the two names together are too long for a device",
			  pool->info.name, volume_name);
}

enum cli_exit cli_activate_volume(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_volume_info *volume)
{
	char params[TIER_TABLE_SIZE], uuid[TIER_DM_UUID_SIZE], name[TIER_NAME_SIZE];
	char cause[TIER_CAUSE_SIZE], text[WHY_SIZE], volume_name[TIER_NAME_SIZE];
	struct tier_dm_table_line line = {
		.name = name,
		.uuid = uuid,
		.target = TIER_TARGET_VOLUME,
		.sectors = volume->sectors,
		.params = params,
		.read_only = pool->device.read_only,
	};
	enum cli_exit code = device_names(cli, pool, volume, name, uuid);
	int r;

	if (code)
		return code;
	cli_volume_name(volume, volume_name);
	volume_params(pool, volume->id, params, sizeof(params));
	cli_detail(cli, "Creating /dev/mapper/%s: 0 %llu tier %s", name,
		   (unsigned long long)volume->sectors, params);
	r = tier_dm_create(&line, cause);
	if (r == -EEXIST)
		return cli_failed(cli, "`dmsetup info` shows what has it.",
				  "volume %s/%s: a device-mapper device of that name or UUID is there",
				  pool->info.name, volume_name);
	if (r)
		return cli_failed(cli, next_step(r, cause), "volume %s/%s cannot be activated: %s",
				  pool->info.name, volume_name, why(r, cause, text, sizeof(text)));
	return CLI_OK;
}

enum cli_exit cli_reload_volume(struct cli *cli, const struct cli_pool *pool,
				const struct tier_dm_device *device, uint64_t sectors)
{
	char params[TIER_TABLE_SIZE], cause[TIER_CAUSE_SIZE], text[WHY_SIZE];
	struct tier_dm_table_line line = {
		.name = device->name,
		.target = TIER_TARGET_VOLUME,
		.sectors = sectors,
		.params = params,
		.read_only = device->read_only,
	};
	int r;

	volume_params(pool, device->volume, params, sizeof(params));
	cli_detail(cli, "Reloading /dev/mapper/%s: 0 %llu tier %s", line.name,
		   (unsigned long long)sectors, params);
	r = tier_dm_reload(&line, cause);
	if (r)
		return cli_failed(cli, next_step(r, cause), "/dev/mapper/%s cannot be reloaded: %s",
				  device->name, why(r, cause, text, sizeof(text)));
	return CLI_OK;
}

static enum cli_exit finish_name(struct cli *cli, const struct cli_pool *pool,
				 const struct tier_volume_info *volume,
				 struct tier_dm_device *device)
{
	char name[TIER_NAME_SIZE], uuid[TIER_DM_UUID_SIZE];
	enum cli_exit code = device_names(cli, pool, volume, name, uuid);
	int r;

	/* One that was made by hand may be called as it likes. */
	if (code || strcmp(device->uuid, uuid) || !strcmp(device->name, name))
		return code;
	r = cli->test ? 0 : tier_dm_rename(device->name, name);
	if (r)
		return cli_failed(cli, "`dmsetup info` shows what has that name.",
				  "/dev/mapper/%s cannot be renamed to %s as its volume: %s",
				  device->name, name, cli_reason(r));
	cli_say(cli, "%s /dev/mapper/%s to %s as its volume.",
		cli->test ? "Would rename" : "Renamed", device->name, name);
	if (!cli->test)
		memcpy(device->name, name, sizeof(name));
	return CLI_OK;
}

enum cli_exit cli_finish_volume(struct cli *cli, const struct cli_pool *pool,
				const struct tier_volume_info *volume,
				const struct tier_dm_device *device)
{
	struct tier_dm_device now = *device;
	enum cli_exit code = finish_name(cli, pool, volume, &now);
	uint64_t sectors = now.sectors < volume->sectors ? volume->sectors : now.sectors;
	char size[CLI_SIZE_TEXT];

	if (code || (sectors == now.sectors && !now.suspended))
		return code;
	/* The same table again resumes it, or says why not. */
	if (!cli->test)
		code = cli_reload_volume(cli, pool, &now, sectors);
	if (!code)
		cli_say(cli, "%s /dev/mapper/%s: %s.", cli->test ? "Would reload" : "Reloaded",
			now.name, cli_size(sectors, size));
	return code;
}

enum cli_exit cli_batch_end(struct cli *cli, enum cli_exit code)
{
	int r = tier_dm_batch_end();

	if (r && !code)
		return cli_failed(cli, "`udevadm settle`, then look at /dev/mapper.",
				  "udev cannot be waited for: %s", cli_reason(r));
	return code;
}

#define IN_USE_NEXT	"Unmount it and end what uses it; `lsblk` and `dmsetup info` show what that is."

enum cli_exit cli_need_unused(struct cli *cli, const struct tier_dm_device *device,
			      const char *what)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	char path[TIER_NAME_SIZE + 16];
	int32_t count = 0;
	int fd;

	/* Exclusive: what is mounted or held refuses it, a mere look inside does not. */
	snprintf(path, sizeof(path), "/dev/mapper/%s", device->name);
	fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return cli_failed(cli, IN_USE_NEXT, "%s is in use", what);
	if (fd >= 0)
		close(fd);
	for (int tries = 0; tries < 50; tries++) {
		if (tier_dm_open_count(device->name, &count) || !count)
			return CLI_OK;	/* gone is not in use either */
		nanosleep(&pause, NULL);
	}
	return cli_failed(cli, IN_USE_NEXT, "%s is in use: something has it open", what);
}

static enum cli_exit remove_device(struct cli *cli, const char *dm_name, const char *what)
{
	int r = tier_dm_remove(dm_name);

	if (r == -EBUSY)
		return cli_failed(cli, IN_USE_NEXT, "%s is in use", what);
	if (r && r != -ENODEV)
		return cli_failed(cli, "`dmesg` may say more.", "%s cannot be deactivated: %s", what,
				  cli_reason(r));
	return CLI_OK;
}

enum cli_exit cli_deactivate_volume(struct cli *cli, const struct tier_dm_device *device,
				    const char *what)
{
	cli_detail(cli, "Removing /dev/mapper/%s.", device->name);
	return remove_device(cli, device->name, what);
}

/* What to call a dm device of a volume of this pool. */
static void name_device(const struct cli_pool *pool, const struct tier_dm_device *device,
			char *ret_what, size_t size)
{
	char name[TIER_NAME_SIZE];

	for (size_t i = 0; i < pool->info.nr_volumes; i++) {
		if (pool->info.volumes[i].id == device->volume) {
			snprintf(ret_what, size, "volume %s/%s", pool->info.name,
				 cli_volume_name(&pool->info.volumes[i], name));
			return;
		}
	}
	snprintf(ret_what, size, "/dev/mapper/%s", device->name);
}

static bool belongs(const struct cli_pool *pool, const struct tier_dm_device *device)
{
	return device->kind == TIER_DM_VOLUME && device->pool_major == pool->device.major &&
	       device->pool_minor == pool->device.minor;
}

enum cli_exit cli_deactivate_pool(struct cli *cli, const struct cli_system *system,
				  const struct cli_pool *pool)
{
	char what[2 * TIER_NAME_SIZE + 16];
	enum cli_exit code;

	/* Better all stay than some go, when one is in use. */
	for (size_t i = 0; i < system->nr_devices; i++) {
		if (!belongs(pool, &system->devices[i]))
			continue;
		name_device(pool, &system->devices[i], what, sizeof(what));
		code = cli_need_unused(cli, &system->devices[i], what);
		if (code)
			return code;
	}
	code = CLI_OK;
	tier_dm_batch_begin();
	for (size_t i = 0; !code && i < system->nr_devices; i++) {
		if (!belongs(pool, &system->devices[i]))
			continue;
		name_device(pool, &system->devices[i], what, sizeof(what));
		code = cli_deactivate_volume(cli, &system->devices[i], what);
	}
	code = cli_batch_end(cli, code);
	if (code)
		return code;
	snprintf(what, sizeof(what), "pool %s", pool->info.name);
	cli_detail(cli, "Removing /dev/mapper/%s.", pool->device.name);
	return remove_device(cli, pool->device.name, what);
}

enum cli_exit cli_tell(struct cli *cli, const struct cli_pool *pool, int r, const char *message,
		       char **ret_answer, const char *what, ...)
{
	char text[256];
	va_list arguments;

	if (!r) {
		cli_detail(cli, "Message to %s: %s", pool->info.name, message);
		r = tier_dm_message(pool->device.name, message, ret_answer);
	}
	if (!r)
		return CLI_OK;
	va_start(arguments, what);
	vsnprintf(text, sizeof(text), what, arguments);
	va_end(arguments);
	return cli_failed(cli, "`tps` shows the pool's state; `dmesg` may say more.", "%s: %s", text,
			  cli_reason(r));
}
