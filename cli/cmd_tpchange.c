// SPDX-License-Identifier: GPL-2.0-only
/* tpchange: activation of pools, with all their volumes, and the host they belong to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "activate.h"
#include "offline.h"
#include "util.h"
#include "volume.h"

enum { OPTION_SYSINIT = CLI_LONG_ONLY, OPTION_PARTIAL, OPTION_READONLY, OPTION_IMPORT };

static const struct cli_option options[] = {
	{ 'a', "activate", "y|n", "make the devices of the pools and their volumes, or remove them; without a name: of all pools" },
	{ OPTION_PARTIAL, "partial", NULL, "activate without missing devices; their extents give errors" },
	{ OPTION_READONLY, "readonly", NULL, "activate for reading only; nothing is written to any device" },
	{ OPTION_IMPORT, "import", NULL, "take over a pool of another host, which must not use it any more" },
	{ OPTION_SYSINIT, "sysinit", NULL,
	  "for boot: pools that are incomplete, active already or of another host are no failure" },
	{ 0 }
};

struct request {
	char activate;		/* 'y', 'n' or 0 */
	bool partial, read_only, sysinit, import;
};

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		switch (id) {
		case 'a':
			if (strcmp(cli->value, "y") && strcmp(cli->value, "n"))
				return cli_bad_line(cli, "It is -ay or -an.", "-a cannot be '%s'",
						    cli->value);
			request->activate = *cli->value;
			break;
		case OPTION_PARTIAL:
			request->partial = true;
			break;
		case OPTION_READONLY:
			request->read_only = true;
			break;
		case OPTION_SYSINIT:
			request->sysinit = true;
			break;
		case OPTION_IMPORT:
			request->import = true;
			break;
		}
	}
	if (id < 0)
		return cli->exit;
	if (!request->activate && !request->import)
		return cli_bad_line(cli, "Give -ay, -an or --import.", "nothing to change");
	if (request->activate != 'y' && (request->partial || request->read_only))
		return cli_bad_line(cli, "They go with -ay.",
				    "--partial and --readonly are ways to activate");
	if (request->import && (request->activate == 'n' || request->sysinit))
		return cli_bad_line(cli, "It may go with -ay.",
				    "--import does not go with -an and --sysinit");
	/* What others use is not taken over by the dozen. */
	if (!cli->nr_words && request->import)
		return cli_bad_line(cli, "`tps` lists the pools.", "which pool is to be taken over?");
	return CLI_OK;
}

/*
 * Volumes whose device is not there yet, or not yet as it should be. One that fails
 * does not keep the others down.
 */
static enum cli_exit activate_volumes(struct cli *cli, const struct cli_system *system,
				      const struct cli_pool *pool)
{
	enum cli_exit code = CLI_OK;
	size_t nr_activated = 0;

	tier_dm_batch_begin();
	for (size_t i = 0; i < pool->info.nr_volumes; i++) {
		const struct tier_volume_info *volume = &pool->info.volumes[i];
		const struct tier_dm_device *device = cli_volume_device(system, pool, volume->id);
		enum cli_exit volume_code;

		volume_code = device ? cli_finish_volume(cli, pool, volume, device) :
				       cli_activate_volume(cli, pool, volume);
		if (!volume_code)
			volume_code = cli_renew_placement(cli, pool, volume);
		if (volume_code)
			code = volume_code;
		else
			nr_activated += !device;
	}
	code = cli_batch_end(cli, code);
	cli_say(cli, "Pool %s is active; %zu of its %zu volume%s activated.", pool->info.name,
		nr_activated, pool->info.nr_volumes,
		pool->info.nr_volumes == 1 ? " was" : "s were");
	return code;
}

static bool is_complete(const struct tier_scan_pool *pool)
{
	return !pool->error && !pool->nr_missing && !pool->nr_doubled;
}

/* A pool that is not active. */
static enum cli_exit activate_pool(struct cli *cli, const struct tier_scan_pool *pool,
				   const struct request *request)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	char uuid[TIER_UUID_SIZE], name[TIER_NAME_SIZE], dm_name[TIER_NAME_SIZE];
	struct tier_pool_table table;
	struct cli_pool *active = NULL;
	enum cli_exit code;

	cli_offline_name(pool, name);
	if (request->sysinit && !request->partial && !is_complete(pool)) {
		cli_detail(cli, "Pool %s is not complete yet.", name);
		return CLI_OK;
	}
	code = cli_offline_need_host(cli, pool);
	/* It has been said, but disks that others use as well are no failure of the boot. */
	if (code && request->sysinit)
		return CLI_OK;
	if (!code)
		code = cli_offline_table(cli, pool, request->partial, &table);
	if (code)
		return code;
	table.read_only = request->read_only;
	if (cli->test) {
		cli_say(cli, "Would activate pool %s.", name);
		return CLI_OK;
	}
	tier_format_uuid(pool->uuid, uuid);
	code = cli_activate_pool(cli, name, uuid, pool->info.extent_sectors, &table, dm_name);
	if (!code)
		code = cli_system_read(cli, &system);
	if (!code)
		code = cli_need_pool(cli, &system, uuid, &active);
	return code ? code : activate_volumes(cli, &system, active);
}

static enum cli_exit resume_pool(struct cli *cli, const struct cli_pool *pool)
{
	int r = pool->device.suspended ? tier_dm_resume(pool->device.name) : 0;

	if (r)
		return cli_failed(cli, "`dmesg` may say more.",
				  "pool %s is suspended and cannot be resumed: %s", pool->info.name,
				  cli_reason(r));
	return CLI_OK;
}

static enum cli_exit activate(struct cli *cli, const struct cli_system *system,
			      const struct cli_offline *offline, const char *word,
			      const struct request *request)
{
	const struct cli_pool *active = cli_system_pool(system, word);
	const struct tier_scan_pool *pool = NULL;
	char uuid[TIER_UUID_SIZE];
	enum cli_exit code;

	if (!active) {
		code = cli_offline_pool(cli, offline, word, &pool);
		if (code)
			return code;
		/* Active under another name, if someone made the device by hand. */
		tier_format_uuid(pool->uuid, uuid);
		active = cli_system_pool(system, uuid);
	}
	if (!active)
		return activate_pool(cli, pool, request);
	if (!active->is_loaded)
		return cli_not_loaded(cli, active);
	if (request->read_only && !active->device.read_only && !request->sysinit)
		return cli_failed(cli, "Deactivate it first: `tpchange -an`.",
				  "pool %s is active already, for writing", active->info.name);
	if (cli->test)
		return CLI_OK;
	code = resume_pool(cli, active);
	return code ? code : activate_volumes(cli, system, active);
}

static enum cli_exit set_host(struct cli *cli, const struct tier_scan_pool *pool, const char *name,
			      const uint8_t host[16])
{
	const char *path = pool->metadata->path;
	_cleanup_close_ int fd = open(path, O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC);
	char cause[TIER_CAUSE_SIZE] = "";

	if (fd < 0)
		return cli_failed(cli, errno == EBUSY ? "End what uses it." : NULL,
				  "pool %s: %s cannot be opened: %s", name, path, cli_reason(-errno));
	if (tier_format_set_system_id(fd, host, cause))
		return cli_failed(cli, "Repeat the command; `dmesg` may say more.", "pool %s, %s: %s", name,
				  path, cause);
	return CLI_OK;
}

static void warn_of_same_name(const struct cli *cli, const struct cli_system *system,
			      const struct cli_offline *offline, const struct tier_scan_pool *pool,
			      const char *name)
{
	bool is_there = cli_system_pool(system, name) != NULL;

	for (size_t i = 0; i < offline->nr_pools; i++)
		is_there |= &offline->pools[i] != pool && !offline->pools[i].error &&
			    !strcmp(offline->pools[i].info.name, name);
	if (is_there)
		cli_warn(cli, "another pool is called %s, too: only one of them can be active at a time, "
			 "and they are told apart by their UUIDs", name);
}

static enum cli_exit import_pool(struct cli *cli, const struct cli_system *system,
				 const struct cli_offline *offline, const char *word)
{
	char name[TIER_NAME_SIZE], uuid[TIER_UUID_SIZE], theirs[CLI_HOST_TEXT];
	const struct tier_scan_pool *pool = NULL;
	enum cli_exit code = cli_offline_pool(cli, offline, word, &pool);
	uint8_t host[16];

	if (code)
		return code;
	cli_offline_name(pool, name);
	tier_format_uuid(pool->uuid, uuid);
	if (cli_system_pool(system, uuid))
		return cli_failed(cli, "Deactivate it first: `tpchange -an`.", "pool %s is active here", name);
	if (pool->error)
		return cli_failed(cli, "See dm-tier(7), RECOVERY.", "pool %s: %s", name, pool->cause);
	if (!cli_host(host))
		return cli_failed(cli, "`systemd-machine-id-setup` makes one.",
				  "this machine has no /etc/machine-id");
	cli_format_host(pool->facts.system_id, theirs);
	if (!memcmp(host, pool->facts.system_id, 16)) {
		cli_say(cli, "Pool %s belongs to this host already.", name);
		return CLI_OK;
	}
	warn_of_same_name(cli, system, offline, pool, name);
	if (cli->test) {
		cli_say(cli, "Would take over pool %s.", name);
		return CLI_OK;
	}
	/* Nothing on the disks tells whether it is in use there right now. */
	if (cli_offline_is_foreign(pool) &&
	    !cli_confirm(cli, "If host %s still uses pool %s, both together will destroy it%s. Take it over?",
			 theirs, name, pool->facts.clean ? "" :
			 " (it was not deactivated cleanly: it may be in use)"))
		return CLI_FAILED;
	code = set_host(cli, pool, name, host);
	if (!code)
		cli_say(cli, "Pool %s belongs to this host now.", name);
	return code;
}

static enum cli_exit import_pools(struct cli *cli, const struct cli_system *system)
{
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	enum cli_exit code = cli_offline_read(cli, &offline);

	for (int i = 0; !code && i < cli->nr_words; i++)
		code = import_pool(cli, system, &offline, cli->words[i]);
	return code;
}

static enum cli_exit deactivate(struct cli *cli, const struct cli_system *system, const char *word,
				bool only_check)
{
	struct cli_pool *pool = cli_system_pool(system, word);
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	const struct tier_scan_pool *scanned = NULL;
	char uuid[TIER_UUID_SIZE];
	enum cli_exit code;

	if (!pool) {
		code = cli_offline_read(cli, &offline);
		if (!code)
			code = cli_offline_pool(cli, &offline, word, &scanned);
		if (code)
			return code;
		tier_format_uuid(scanned->uuid, uuid);
		pool = cli_system_pool(system, uuid);
	}
	/* Not active is what was asked for, of a pool that there is. */
	if (!pool && only_check)
		cli_detail(cli, "Pool %s is not active.", word);
	if (!pool || only_check)
		return CLI_OK;
	if (cli->test) {
		cli_say(cli, "Would deactivate pool %s and its volumes.", pool->info.name);
		return CLI_OK;
	}
	code = cli_deactivate_pool(cli, system, pool);
	if (!code)
		cli_say(cli, "Pool %s is not active any more.", pool->info.name);
	return code;
}

/* All that are active. One that stays does not keep the others. */
static enum cli_exit deactivate_all(struct cli *cli, const struct cli_system *system)
{
	enum cli_exit code = CLI_OK, pool_code;

	for (size_t i = 0; i < system->nr_pools; i++) {
		pool_code = deactivate(cli, system, system->pools[i].info.name, false);
		if (pool_code)
			code = pool_code;
	}
	return code;
}

/* All that there are. One that fails does not keep the others down. */
static enum cli_exit activate_all(struct cli *cli, const struct cli_system *system,
				  const struct cli_offline *offline, const struct request *request)
{
	enum cli_exit code = CLI_OK, pool_code;
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; i < offline->nr_pools; i++) {
		tier_format_uuid(offline->pools[i].uuid, uuid);
		pool_code = activate(cli, system, offline, uuid, request);
		if (pool_code)
			code = pool_code;
	}
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	struct request request = { 0 };
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (code)
		return code;
	if (request.activate == 'n') {
		for (int i = 0; !code && i < cli->nr_words; i++)
			code = deactivate(cli, &system, cli->words[i], true);
		for (int i = 0; !code && i < cli->nr_words; i++)
			code = deactivate(cli, &system, cli->words[i], false);
		return code || cli->nr_words ? code : deactivate_all(cli, &system);
	}
	if (request.import)
		code = import_pools(cli, &system);
	if (code || !request.activate)
		return code;
	code = cli_offline_read(cli, &offline);
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = activate(cli, &system, &offline, cli->words[i], &request);
	if (!code && !cli->nr_words)
		code = activate_all(cli, &system, &offline, &request);
	return code;
}

const struct cli_command cmd_tpchange = {
	.name = "tpchange",
	.is_applet = true,
	.summary = "activate or deactivate pools, or take them over",
	.words = "[POOL...]",
	.max_words = -1,
	.options = options,
	.run = run,
};
