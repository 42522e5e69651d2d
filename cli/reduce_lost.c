// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpreduce --lost. The pool gets a table without the device first (the kernel gives
 * up none that it still has); then it is told that it is lost, which is on disk
 * before the command ends. Cut short in between, the device is missing, and a second
 * run goes on. Its extents then give errors until they are discarded or their volumes
 * removed; when the last one is gone, the next run forgets the device for good.
 */
#include "reduce_lost.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "activate.h"
#include "drain.h"
#include "message.h"
#include "util.h"

#define MAX_RUNS	20	/* of extents that are named, of a volume */

static enum cli_exit commit(struct cli *cli, const struct cli_pool *pool,
			    const struct cli_member *member)
{
	return cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
			"pool %s: %s is given up, but that is not on disk yet", pool->info.name,
			member->path);
}

/* A line for each volume. */
static enum cli_exit name_losses(struct cli *cli, const struct cli_pool *pool,
				 const struct cli_member *member, uint64_t *ret_extents,
				 size_t *ret_volumes)
{
	uint64_t extents = 0;
	size_t volumes = 0;

	for (size_t i = 0; i < pool->info.nr_volumes; i++) {
		const struct tier_volume_info *volume = &pool->info.volumes[i];
		char name[TIER_NAME_SIZE], text[1024];
		int64_t nr = drain_list_extents(pool, volume, member->idx, MAX_RUNS, text,
						sizeof(text));

		if (nr < 0)
			return cli_failed(cli, NULL, "volume %s/%s: cannot tell where its extents are: %s",
					  pool->info.name, cli_volume_name(volume, name),
					  cli_reason((int)nr));
		if (!nr)
			continue;
		extents += (uint64_t)nr;
		volumes++;
		cli_say(cli, "Volume %s/%s has %" PRId64 " of its %" PRIu64 " extents on %s: %s",
			pool->info.name, cli_volume_name(volume, name), nr,
			volume->allocated_extents, member->path, text);
	}
	*ret_extents = extents;
	*ret_volumes = volumes;
	return CLI_OK;
}

/* One that works is to be drained: nothing has to be lost. */
static enum cli_exit check(struct cli *cli, const struct cli_pool *pool,
			   const struct cli_member *member)
{
	char next[2 * TIER_NAME_SIZE + 320];

	snprintf(next, sizeof(next), "Without --lost what is on it moves to the others: `tpreduce %s %s`.",
		 pool->info.name, member->path[0] == '/' ? member->path : member->path + strlen("device "));
	if (!member->is_recorded || member->state == TIER_DEVICE_NEW)
		return cli_failed(cli, next, "%s holds nothing of pool %s", member->path,
				  pool->info.name);
	if (member->state != TIER_DEVICE_ONLINE && member->state != TIER_DEVICE_DRAINING)
		return CLI_OK;
	for (size_t i = 0; i < pool->info.nr_devices; i++)
		if (pool->info.devices[i].idx == member->idx && pool->info.devices[i].errors)
			return CLI_OK;
	return cli_failed(cli, next, "%s of pool %s is %s and has had no error", member->path,
			  pool->info.name, tier_device_state_word(member->state));
}

/* When nothing of it is left its record can go, too. */
static enum cli_exit end(struct cli *cli, const struct cli_pool *pool,
			 const struct cli_member *member, uint64_t extents)
{
	enum cli_exit code;

	if (extents || member->used_slots) {
		cli_say(cli, "These extents give errors until they are discarded (`blkdiscard`), or their volume is removed.");
		cli_say(cli, "Then `tpreduce --lost %s %u` makes the pool forget the device.",
			pool->info.name, member->idx);
		return CLI_OK;
	}
	code = cli_forget_device(cli, pool, member->idx, false);
	if (!code)
		code = commit(cli, pool, member);
	if (!code)
		cli_say(cli, "Pool %s has forgotten %s.", pool->info.name, member->path);
	return code;
}

/* Out of the table, which makes it missing; then it can be given up. */
static enum cli_exit give_up(struct cli *cli, const struct cli_system *system,
			     const struct cli_pool *pool, const struct tier_scan *scan,
			     const struct cli_member *member)
{
	_cleanup_(cli_system_clear) struct cli_system then = { 0 };
	struct cli_pool *pool_then = NULL;
	enum cli_exit code = CLI_OK;

	if (member->state != TIER_DEVICE_MISSING) {
		if (!member->has_devno)
			return cli_failed(cli, "Take them all away (`tpchange -an`, detach them, `tpchange -ay --partial`), and repeat it.",
					  "pool %s: more than one device cannot be read, so it cannot be told which is device %u",
					  pool->info.name, member->idx);
		code = cli_drop_members(cli, system, pool, scan, member, 1, true);
	}
	if (!code)
		code = cli_forget_device(cli, pool, member->idx, true);
	if (!code)
		code = commit(cli, pool, member);
	/* Now the table needs no `partial` any more, unless others are missing. */
	if (!code)
		code = cli_system_read(cli, &then);
	if (!code)
		code = cli_need_pool(cli, &then, pool->info.uuid, &pool_then);
	if (!code)
		code = cli_drop_members(cli, &then, pool_then, scan, member, 1, false);
	return code;
}

enum cli_exit reduce_lost(struct cli *cli, const struct cli_system *system,
			  const struct cli_pool *pool, const struct tier_scan *scan,
			  const struct cli_member *member)
{
	bool is_given_up = member->is_recorded && member->state == TIER_DEVICE_LOST;
	uint64_t extents = 0;
	size_t volumes = 0;
	enum cli_exit code = check(cli, pool, member);

	if (!code)
		code = name_losses(cli, pool, member, &extents, &volumes);
	if (!code && member->state == TIER_DEVICE_MISSING && member->has_devno)
		cli_warn(cli, "%s is there again: `tpchange -an` and `tpchange -ay` would take it into use",
			 member->path);
	if (!code && !is_given_up && extents &&
	    !cli_confirm(cli, "Give up %s of pool %s, and with it %" PRIu64 " extents of %zu volumes?",
			 member->path, pool->info.name, extents, volumes))
		return CLI_FAILED;
	if (code)
		return code;
	if (cli->test) {
		cli_say(cli, "Would give up %s of pool %s and %" PRIu64 " extents.", member->path,
			pool->info.name, extents);
		return CLI_OK;
	}
	if (!is_given_up)
		code = give_up(cli, system, pool, scan, member);
	if (!code && !is_given_up)
		cli_say(cli, "%s of pool %s is given up; the disk itself was not touched.",
			member->path, pool->info.name);
	if (!code)
		code = cli_renew_placements(cli, pool->info.uuid);
	return code ? code : end(cli, pool, member, extents);
}
