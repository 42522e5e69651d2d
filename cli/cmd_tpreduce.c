// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpreduce: devices leave an active pool. What they hold moves to the others, then
 * the pool forgets them, gets a table without them, and their labels go.
 *
 * The order is what makes every step one that may be the last: `draining` is on disk
 * before anything moves; that the pool has forgotten a device is on disk before its
 * label goes (else the pool would miss it at its next activation); and the label goes
 * last, as it is how a second run finds what a first one has left. Until a device is
 * forgotten --cancel takes all of it back.
 *
 * Who moves the extents, and why not tierd: drain.h. Dead devices: reduce_lost.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "activate.h"
#include "drain.h"
#include "members.h"
#include "message.h"
#include "offline.h"
#include "reduce.h"
#include "reduce_lost.h"
#include "util.h"
#include "volume.h"

enum { OPTION_CANCEL = CLI_LONG_ONLY, OPTION_LOST };

static const struct cli_option options[] = {
	{ OPTION_CANCEL, "cancel", NULL, "take devices that are draining into full use again" },
	{ OPTION_LOST, "lost", NULL, "give up a dead device and what was on it" },
	{ 0 }
};

#define WORDS_SIZE	1024

struct request {
	const char *name;
	bool cancel, lost;
	struct cli_member members[TIER_MAX_DEVICES];
	size_t nr_members;
	char what[WORDS_SIZE];		/* their paths, with ", " between */
	char next[2 * WORDS_SIZE];
	char next_unreadable[WORDS_SIZE];
};

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		if (id == OPTION_CANCEL)
			request->cancel = true;
		else
			request->lost = true;
	}
	if (id < 0)
		return cli->exit;
	if (request->cancel && request->lost)
		return cli_bad_line(cli, "Give one of them.", "--cancel and --lost are opposites");
	if (request->lost && cli->nr_words > 2)
		return cli_bad_line(cli, "Give up one after the other.",
				    "--lost takes one device, '%s' is one word too many",
				    cli->words[2]);
	if (cli->nr_words > 1 + TIER_MAX_DEVICES)
		return cli_bad_line(cli, NULL, "a pool has at most %d devices", TIER_MAX_DEVICES);
	request->name = cli->words[0];
	return CLI_OK;
}

/* What to call the devices, and what to do when it ends too early. */
static void write_texts(const struct cli *cli, const struct cli_pool *pool,
			struct request *request)
{
	char words[WORDS_SIZE] = "";
	size_t used = 0, what = 0;

	for (size_t i = 0; i < request->nr_members; i++) {
		if (used < sizeof(words))
			used += snprintf(words + used, sizeof(words) - used, " %s",
					 cli->words[1 + i]);
		if (what < sizeof(request->what))
			what += snprintf(request->what + what, sizeof(request->what) - what, "%s%s",
					 i ? ", " : "", request->members[i].path);
	}
	snprintf(request->next, sizeof(request->next),
		 "To go on: `tpreduce %s%s`. To take it back: `tpreduce --cancel %s%s`.",
		 pool->info.name, words, pool->info.name, words);
	snprintf(request->next_unreadable, sizeof(request->next_unreadable),
		 "`tpreduce --lost -t %s%s` names all that cannot be read, without -t it is given up.",
		 pool->info.name, words);
}

/* Again after something has changed; `words` NULL: those that are known already. */
static enum cli_exit find_members(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_scan *scan, char **words, size_t nr_words,
				  struct request *request)
{
	enum cli_exit code = CLI_OK;
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; !code && i < nr_words; i++) {
		struct cli_member *member = &request->members[i];

		memcpy(uuid, member->uuid, sizeof(uuid));
		code = cli_find_member(cli, pool, scan, words ? words[i] : uuid, member);
		for (size_t j = 0; !code && words && j < i; j++)
			if (!strcmp(request->members[j].uuid, member->uuid))
				code = cli_bad_line(cli, "Give each device once.",
						    "'%s' and '%s' are the same device", words[j],
						    words[i]);
	}
	request->nr_members = nr_words;
	return code;
}

static enum cli_exit commit(struct cli *cli, const struct cli_pool *pool, const char *what)
{
	return cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL, "pool %s: %s, but that is not on disk yet",
			pool->info.name, what);
}

static enum cli_exit set_draining(struct cli *cli, const struct cli_pool *pool,
				  const struct cli_member *member, bool draining)
{
	char message[TIER_MESSAGE_SIZE];

	return cli_tell(cli, pool,
			tier_message_set_device(member->idx, draining, message, sizeof(message)),
			message, NULL, "pool %s: %s cannot be %s", pool->info.name, member->path,
			draining ? "drained" : "taken into use again");
}

/* Taking it back -------------------------------------------------------------*/

/* Moves off the device that are under way; one that is too late for it just ends. */
static void cancel_moves(const struct cli_pool *pool, uint32_t idx)
{
	struct tier_active_move moves[64];
	size_t nr = 0, total;

	if (pool->backend.ops->read_active(pool->backend.ctx, moves, TIER_NR(moves), &nr, &total))
		return;
	for (size_t i = 0; i < nr; i++)
		if (moves[i].from_device == idx)
			pool->backend.ops->cancel(pool->backend.ctx, moves[i].volume,
						  moves[i].extent);
}

static enum cli_exit cancel(struct cli *cli, const struct cli_pool *pool,
			    const struct request *request)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; i < request->nr_members; i++) {
		const struct cli_member *member = &request->members[i];

		if (!member->is_recorded)
			return cli_failed(cli, "`tpextend --tier` adds it again.",
					  "%s is no device of pool %s any more: it is too late",
					  member->path, pool->info.name);
		if (member->state == TIER_DEVICE_LOST)
			return cli_failed(cli, NULL, "%s was given up: it cannot come back",
					  member->path);
	}
	for (size_t i = 0; !code && i < request->nr_members; i++) {
		const struct cli_member *member = &request->members[i];

		if (!cli->test && member->state != TIER_DEVICE_NEW) {
			code = set_draining(cli, pool, member, false);
			cancel_moves(pool, member->idx);
		}
		if (!code)
			cli_say(cli, cli->test ? "Would take %s into full use again." :
				"%s is in full use again.", member->path);
	}
	return code || cli->test ? code : commit(cli, pool, "its devices are in use again");
}

/* Before --------------------------------------------------------------------*/

static enum cli_exit check_member(struct cli *cli, const struct cli_pool *pool,
				  const struct cli_member *member)
{
	if (!member->is_recorded && !member->is_in_table &&
	    !cli_confirm(cli, "%s is not of pool %s, but has its label: a tpreduce that was cut short has left it, or the pool's metadata are older than the device. Wipe the label?",
			 member->path, pool->info.name))
		return CLI_FAILED;
	if (member->is_recorded && member->state == TIER_DEVICE_MISSING)
		return cli_failed(cli, "Bring it back; if it is dead: `tpreduce --lost`.",
				  "%s of pool %s is missing: what is on it cannot be moved",
				  member->path, pool->info.name);
	if (member->is_recorded && member->state == TIER_DEVICE_LOST)
		return cli_failed(cli, "`tpreduce --lost` goes on with it.",
				  "%s of pool %s was given up: there is nothing to move from it",
				  member->path, pool->info.name);
	return CLI_OK;
}

/* Whether what they hold fits on the others. */
static enum cli_exit check(struct cli *cli, const struct cli_pool *pool,
			   const struct request *request, bool *leaving, uint64_t *ret_extents)
{
	char needs[CLI_SIZE_TEXT], has[CLI_SIZE_TEXT];
	struct tier_reduce_room room;
	bool is_leaving = false;
	uint64_t extents = 0;
	int64_t spare;

	for (size_t i = 0; i < request->nr_members; i++) {
		const struct cli_member *member = &request->members[i];
		enum cli_exit code = check_member(cli, pool, member);

		if (code)
			return code;
		if (!member->is_recorded || member->state == TIER_DEVICE_NEW)
			continue;
		leaving[member->idx] = is_leaving = true;
		extents += member->used_slots;
	}
	*ret_extents = extents;
	tier_reduce_room(pool->info.devices, pool->info.nr_devices, leaving, &room);
	if (is_leaving && !room.nr_online)
		return cli_failed(cli, "Add another one first (`tpextend`); `tpremove` removes a pool with all it holds.",
				  "pool %s would have no device left without %s", pool->info.name,
				  request->what);
	spare = tier_reduce_spare_slots(&room);
	if (!is_leaving || (spare >= 0 && extents <= (uint64_t)spare))
		return CLI_OK;
	spare = spare < 0 ? 0 : spare;
	return cli_failed(cli, "Add a device (`tpextend`) or free space (`fstrim`, `tvremove`) first.",
			  "pool %s: %" PRIu64 " extents (%s) of %s need a place, and the other devices have room for %" PRId64 " (%s)",
			  pool->info.name, extents, cli_size(extents * pool->info.extent_sectors, needs),
			  request->what, spare,
			  cli_size((uint64_t)spare * pool->info.extent_sectors, has));
}

/* Afterwards -----------------------------------------------------------------*/

/*
 * First writes leave one slot of the lowest tier to exchanges. The device that had
 * it may be the one that goes, and the kernel does not tell which one that is: so the
 * largest of the lowest tier gets it whenever one of that tier, or below it, goes.
 */
static enum cli_exit keep_reserve(struct cli *cli, const struct cli_pool *pool,
				  const bool *leaving)
{
	const struct tier_device_info *best = NULL;
	char message[TIER_MESSAGE_SIZE];
	bool is_needed = false;

	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		const struct tier_device_info *device = &pool->info.devices[i];

		if (device->state != TIER_DEVICE_ONLINE || leaving[device->idx])
			continue;
		if (!best || device->tier > best->tier ||
		    (device->tier == best->tier && device->total_slots > best->total_slots))
			best = device;
	}
	for (size_t i = 0; best && i < pool->info.nr_devices; i++)
		is_needed |= leaving[pool->info.devices[i].idx] &&
			     pool->info.devices[i].tier >= best->tier;
	if (!is_needed || best->total_slots < 2)
		return CLI_OK;
	return cli_tell(cli, pool,
			tier_message_set_reserve(best->idx, 1, message, sizeof(message)), message, NULL,
			"pool %s: device %u cannot keep a slot for moves", pool->info.name, best->idx);
}

/* EBUSY: the last I/O to it has not ended yet. ENOENT: another command was faster. */
static enum cli_exit forget(struct cli *cli, const struct cli_pool *pool,
			    const struct cli_member *member)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
	char message[TIER_MESSAGE_SIZE];
	int r = tier_message_forget_device(member->idx, false, message, sizeof(message));

	if (r)
		return cli_failed(cli, NULL, "%s", cli_reason(r));
	cli_detail(cli, "Message to %s: %s", pool->info.name, message);
	for (int tries = 0; tries < 25; tries++) {
		r = tier_dm_message(pool->device.name, message, NULL);
		if (r != -EBUSY)
			break;
		nanosleep(&pause, NULL);
	}
	if (r && r != -ENOENT)
		return cli_failed(cli, "`dmesg` may say more; run it again.",
				  "pool %s cannot forget %s: %s", pool->info.name, member->path,
				  cli_reason(r));
	return CLI_OK;
}

static enum cli_exit forget_all(struct cli *cli, const struct cli_pool *pool,
				const struct request *request)
{
	bool leaving[TIER_MAX_DEVICES] = { false };
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; i < request->nr_members; i++)
		if (request->members[i].is_recorded)
			leaving[request->members[i].idx] = true;
	code = keep_reserve(cli, pool, leaving);
	for (size_t i = 0; !code && i < request->nr_members; i++)
		if (request->members[i].is_recorded)
			code = forget(cli, pool, &request->members[i]);
	return code ? code : commit(cli, pool, "it has forgotten the devices");
}

static enum cli_exit wipe_all(struct cli *cli, const struct cli_pool *pool,
			      const struct request *request)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; i < request->nr_members; i++) {
		const struct cli_member *member = &request->members[i];
		enum cli_exit member_code = CLI_OK;

		/* Not there: nothing to wipe (state new). */
		if (member->has_devno)
			member_code = cli_wipe_member(cli, member);
		if (member_code)
			code = member_code;
		else
			cli_say(cli, "%s has left pool %s: it may be removed, or used for something else.",
				member->path, pool->info.name);
	}
	return code;
}

/* They are empty. With the lock, and on what is true now. */
static enum cli_exit leave(struct cli *cli, const char *pool_uuid, struct request *request)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 }, then = { 0 };
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = cli_system_read(cli, &system);

	if (!code)
		code = cli_need_pool(cli, &system, pool_uuid, &pool);
	if (!code)
		code = cli_offline_read(cli, &offline);
	if (!code)
		code = find_members(cli, pool, &offline.scan, NULL, request->nr_members, request);
	for (size_t i = 0; !code && i < request->nr_members; i++)
		if (request->members[i].is_recorded &&
		    request->members[i].state == TIER_DEVICE_ONLINE)
			code = cli_failed(cli, NULL, "%s is in use again: another command has taken it back",
					  request->members[i].path);
	if (!code)
		code = forget_all(cli, pool, request);
	/* The table is compared with the records that are left. */
	if (!code)
		code = cli_system_read(cli, &then);
	if (!code)
		code = cli_need_pool(cli, &then, pool_uuid, &pool);
	if (!code)
		code = cli_drop_members(cli, &then, pool, &offline.scan, request->members,
					request->nr_members, false);
	if (!code)
		code = cli_renew_placements(cli, pool_uuid);
	return code ? code : wipe_all(cli, pool, request);
}

/* The command ----------------------------------------------------------------*/

static enum cli_exit drain(struct cli *cli, const struct cli_pool *pool, struct request *request,
			   const bool *leaving)
{
	struct drain_request drain = {
		.pool = pool,
		.what = request->what,
		.next = request->next,
		.next_unreadable = request->next_unreadable,
	};
	enum cli_exit code = CLI_OK;
	int r;

	memcpy(drain.leaving, leaving, sizeof(drain.leaving));
	for (size_t i = 0; !code && i < request->nr_members; i++)
		if (request->members[i].is_recorded && leaving[request->members[i].idx])
			code = set_draining(cli, pool, &request->members[i], true);
	if (!code)
		code = commit(cli, pool, "its devices are draining");
	if (code)
		return code;
	/* For hours, perhaps. */
	cli_unlock();
	code = drain_devices(cli, &drain);
	if (code)
		return code;
	r = cli_lock(cli);
	return r ? cli_failed(cli, request->next, "cannot lock out other commands: %s",
			      cli_reason(r)) : CLI_OK;
}

static enum cli_exit reduce(struct cli *cli, const struct cli_pool *pool, struct request *request)
{
	bool leaving[TIER_MAX_DEVICES] = { false };
	char size[CLI_SIZE_TEXT];
	uint64_t extents = 0;
	enum cli_exit code = check(cli, pool, request, leaving, &extents);

	if (code)
		return code;
	cli_size(extents * pool->info.extent_sectors, size);
	if (cli->test) {
		cli_say(cli, "Would move %" PRIu64 " extents (%s) off %s, and take it out of pool %s.",
			extents, size, request->what, pool->info.name);
		return CLI_OK;
	}
	if (extents)
		cli_say(cli, "Moving %" PRIu64 " extents (%s) off %s.", extents, size,
			request->what);
	code = drain(cli, pool, request, leaving);
	return code ? code : leave(cli, pool->info.uuid, request);
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	struct request request = { 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code && request.lost && !cli_system_pool(&system, request.name))
		return cli_failed(cli, "`tpchange -ay --partial` activates one without its dead device.",
				  "no pool '%s' is active", request.name);
	if (!code)
		code = cli_need_pool(cli, &system, request.name, &pool);
	if (!code)
		code = cli_need_writable(cli, pool);
	if (!code)
		code = cli_offline_read(cli, &offline);
	if (!code)
		code = find_members(cli, pool, &offline.scan, cli->words + 1,
				    (size_t)cli->nr_words - 1, &request);
	if (code)
		return code;
	write_texts(cli, pool, &request);
	if (request.cancel)
		return cancel(cli, pool, &request);
	if (request.lost)
		return reduce_lost(cli, &system, pool, &offline.scan, &request.members[0]);
	return reduce(cli, pool, &request);
}

const struct cli_command cmd_tpreduce = {
	.name = "tpreduce",
	.is_applet = true,
	.summary = "take devices out of a pool; what they hold moves to the others",
	.words = "POOL DEVICE|IDX...",
	.min_words = 2,
	.max_words = -1,
	.options = options,
	.run = run,
};
