// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpcreate: make a pool out of block devices and activate it. Everything that
 * can be refused is refused before the first byte is written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "activate.h"
#include "disks.h"
#include "label.h"
#include "name.h"
#include "offline.h"
#include "scan.h"
#include "util.h"
#include "volume.h"

enum { OPTION_TIER = CLI_LONG_ONLY, OPTION_REGION, OPTION_WIPE };

static const struct cli_option options[] = {
	{ 'm', "metadata", "DEVICE", "where the pool's metadata goes (needed; put it on RAID)" },
	{ 's', "extentsize", "SIZE", "unit of moves: a power of two, 1m to 16g (default 1g)" },
	{ OPTION_REGION, "region", "SIZE", "unit of first writes (default 64k, or extent / 1024)" },
	{ OPTION_TIER, "tier", "N:DEVICE", "a device of tier N, 0 is the fastest; as often as needed" },
	{ OPTION_WIPE, "wipesignatures", NULL, "wipe what the devices hold without asking" },
	{ 0 }
};

#define MIN_EXTENT_SECTORS	(1U << 11)	/* as include/dm-tier.h: here for a better word */
#define MAX_EXTENT_SECTORS	(1U << 25)
#define MIN_REGION_SECTORS	(1U << 3)
#define MAX_REGION_SECTORS	(1U << 21)
#define MAX_REGIONS		1024
#define DEFAULT_EXTENT_SECTORS	(1U << 21)

struct request {
	const char *name;
	uint64_t extent_sectors;
	uint64_t region_sectors;
	bool wipe_signatures;
	bool has_metadata;
	struct cli_disk metadata;
	struct cli_disk data[TIER_MAX_DEVICES];
	size_t nr_data;
};

static void request_clear(struct request *request)
{
	if (request->has_metadata)
		cli_close_disk(&request->metadata);
	for (size_t i = 0; i < request->nr_data; i++)
		cli_close_disk(&request->data[i]);
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static enum cli_exit take_option(struct cli *cli, int id, struct request *request)
{
	enum cli_exit code;

	switch (id) {
	case 'm':
		code = cli_take_path(cli, cli->value, &request->metadata);
		request->has_metadata = !code;
		return code;
	case 's':
		if (cli_parse_size(cli->value, &request->extent_sectors) ||
		    !is_power_of_two(request->extent_sectors) ||
		    request->extent_sectors < MIN_EXTENT_SECTORS ||
		    request->extent_sectors > MAX_EXTENT_SECTORS)
			return cli_bad_line(cli, "It is a power of two from 1m to 16g.",
					    "'%s' is not the size of an extent", cli->value);
		return CLI_OK;
	case OPTION_REGION:
		if (cli_parse_size(cli->value, &request->region_sectors) ||
		    !is_power_of_two(request->region_sectors) ||
		    request->region_sectors < MIN_REGION_SECTORS ||
		    request->region_sectors > MAX_REGION_SECTORS)
			return cli_bad_line(cli, "It is a power of two from 4k to the extent's size and 1g.",
					    "'%s' is not the size of a region", cli->value);
		return CLI_OK;
	case OPTION_TIER:
		if (request->nr_data == TIER_MAX_DEVICES)
			return cli_bad_line(cli, "Join devices with LVM first.",
					    "a pool has at most %d devices", TIER_MAX_DEVICES);
		code = cli_take_tier(cli, cli->value, &request->data[request->nr_data]);
		request->nr_data += !code;
		return code;
	default:
		request->wipe_signatures = true;
		return CLI_OK;
	}
}

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	char size[CLI_SIZE_TEXT];
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		code = take_option(cli, id, request);
		if (code)
			return code;
	}
	if (id < 0)
		return cli->exit;
	request->name = cli->words[0];
	code = cli_check_name(cli, "pool", request->name);
	if (code)
		return code;
	if (!request->nr_data)
		return cli_bad_line(cli, "Give them as --tier 0:vg0/ssd --tier 1:vg0/disk.",
				    "pool %s has no devices", request->name);
	if (!request->has_metadata)
		return cli_bad_line(cli, "Give it with -m; how large it has to be is said if it is too small.",
				    "pool %s has no metadata device", request->name);
	if (!request->region_sectors)
		request->region_sectors = tier_format_default_region_sectors(request->extent_sectors);
	if (request->region_sectors > request->extent_sectors ||
	    request->extent_sectors / request->region_sectors > MAX_REGIONS)
		return cli_bad_line(cli, "An extent has 1 to 1024 regions.",
				    "a region of %s does not fit the extent",
				    cli_size(request->region_sectors, size));
	return CLI_OK;
}

/* Names are how pools are told apart: no other pool of this machine may have it. */
static enum cli_exit check_name(struct cli *cli, const struct cli_system *system, const char *name)
{
	_cleanup_(tier_scan_clear) struct tier_scan scan = { 0 };
	struct tier_scan_pool *pools = NULL;
	char dm_name[TIER_NAME_SIZE];
	bool is_taken = cli_system_pool(system, name) != NULL, exists;
	size_t nr_pools = 0;
	int r;

	if (tier_name_pool_to_dm(name, dm_name, sizeof(dm_name)))
		return cli_failed(cli, "Choose a shorter one.", "the pool name '%s' is too long", name);
	r = tier_dm_exists(dm_name, &exists);
	if (!r)
		r = tier_scan_system(&scan);
	if (!r)
		r = tier_scan_pools(&scan, &pools, &nr_pools);
	if (r)
		return cli_failed(cli, NULL, "cannot look for pools of the same name: %s",
				  cli_reason(r));
	for (size_t i = 0; i < nr_pools; i++)
		is_taken = is_taken || (!pools[i].error && !strcmp(pools[i].info.name, name));
	tier_scan_free_pools(pools, nr_pools);
	if (is_taken)
		return cli_failed(cli, "`tps` lists the pools; choose another name.",
				  "there is a pool '%s' already", name);
	if (exists)
		return cli_failed(cli, "`dmsetup info` shows what it is; choose another name.",
				  "/dev/mapper/%s exists already", dm_name);
	return CLI_OK;
}

static enum cli_exit open_disks(struct cli *cli, struct request *request)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; !code && i < request->nr_data; i++)
		code = cli_open_disk(cli, &request->data[i], request->data, i);
	return code ? code : cli_open_disk(cli, &request->metadata, request->data,
					   request->nr_data);
}

/* The request in lib/format.c's terms; `data` has room for all devices. */
static void describe(const struct request *request, const char *label,
		     struct tier_format_device *data, struct tier_format_pool *ret_pool)
{
	struct tier_format_pool pool = {
		.label = label,
		.extent_sectors = request->extent_sectors,
		.region_sectors = request->region_sectors,
		.log_bytes = tier_format_default_log_bytes(),
		.logical_block_bytes = request->metadata.probe.logical_block_bytes,
		.data = data,
		.nr_data = request->nr_data,
	};

	uuid_generate(pool.uuid);
	cli_host(pool.system_id);	/* none: any may have it */
	cli_format_device(&request->metadata, &pool.metadata);
	for (size_t i = 0; i < request->nr_data; i++) {
		cli_format_device(&request->data[i], &data[i]);
		if (request->data[i].probe.logical_block_bytes > pool.logical_block_bytes)
			pool.logical_block_bytes = request->data[i].probe.logical_block_bytes;
	}
	*ret_pool = pool;
}

static enum cli_exit check_sizes(struct cli *cli, const struct request *request,
				 const struct tier_format_pool *pool)
{
	char cause[TIER_CAUSE_SIZE] = "", needed_text[CLI_SIZE_TEXT], has_text[CLI_SIZE_TEXT];
	uint64_t slots = 0, needed;

	for (size_t i = 0; i < request->nr_data; i++) {
		uint64_t device_slots = cli_disk_slots(cli, &request->data[i],
						       request->extent_sectors);

		if (!device_slots)
			return CLI_FAILED;
		slots += device_slots;
	}
	needed = tier_format_metadata_bytes(slots, pool->extent_sectors, pool->region_sectors,
					    pool->log_bytes);
	cli_size((needed + 511) / 512, needed_text);
	cli_size(pool->metadata.bytes / 512, has_text);
	if (needed > pool->metadata.bytes)
		return cli_failed(cli, "Choose a larger metadata device, or larger extents with -s.",
				  "%s is too small: the metadata of this pool needs %s (%llu bytes), it "
				  "has %s", pool->metadata.path, needed_text,
				  (unsigned long long)needed, has_text);
	if (tier_format_check(pool, cause))
		return cli_failed(cli, NULL, "%s", cause);
	cli_say(cli, "Metadata: this pool needs %s, %s has %s.", needed_text, pool->metadata.path,
		has_text);
	return CLI_OK;
}

static enum cli_exit may_wipe(struct cli *cli, const struct request *request)
{
	enum cli_exit code = cli_may_wipe(cli, &request->metadata, request->wipe_signatures);

	for (size_t i = 0; !code && i < request->nr_data; i++)
		code = cli_may_wipe(cli, &request->data[i], request->wipe_signatures);
	return code;
}

static enum cli_exit format(struct cli *cli, const struct request *request,
			    const struct tier_format_pool *pool)
{
	char cause[TIER_CAUSE_SIZE] = "";
	enum cli_exit code = cli_wipe_disk(cli, &request->metadata);

	for (size_t i = 0; !code && i < request->nr_data; i++)
		code = cli_wipe_disk(cli, &request->data[i]);
	if (code)
		return code;
	if (tier_format_pool(pool, cause))
		return cli_failed(cli, "No pool was made; `dmesg` may say more.", "%s", cause);
	return CLI_OK;
}

static enum cli_exit activate(struct cli *cli, struct request *request,
			      const struct tier_format_pool *pool)
{
	struct tier_pool_table table = {
		.metadata = { request->metadata.probe.major, request->metadata.probe.minor },
		.nr_devices = (uint32_t)request->nr_data,
		.no_space_timeout_s = TIER_NO_SPACE_TIMEOUT_S,
	};
	char uuid[TIER_UUID_SIZE], dm_name[TIER_NAME_SIZE];
	enum cli_exit code;

	for (size_t i = 0; i < request->nr_data; i++)
		table.devices[i] = (struct tier_devno){ request->data[i].probe.major,
							request->data[i].probe.minor };
	/* The kernel wants them for itself. */
	request_clear(request);
	tier_format_uuid(pool->uuid, uuid);
	code = cli_activate_pool(cli, request->name, uuid, request->extent_sectors, &table, dm_name);
	if (code)
		cli_warn(cli, "pool %s is made but not active: `tpchange -ay %s` tries again, "
			 "`tpremove %s` takes it back", request->name, request->name, request->name);
	else
		cli_say(cli, "Pool %s created, device /dev/mapper/%s.", request->name, dm_name);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(request_clear) struct request request = {
		.extent_sectors = DEFAULT_EXTENT_SECTORS,
	};
	struct tier_format_device data[TIER_MAX_DEVICES] = { 0 };
	struct tier_format_pool pool;
	char label[TIER_LABEL_SIZE];
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code)
		code = check_name(cli, &system, request.name);
	if (!code)
		code = open_disks(cli, &request);
	if (code)
		return code;
	if (tier_label_set("", "name", request.name, label, sizeof(label)))
		return cli_failed(cli, "Choose a shorter one.", "the pool name '%s' is too long",
				  request.name);
	describe(&request, label, data, &pool);
	code = check_sizes(cli, &request, &pool);
	if (!code)
		code = may_wipe(cli, &request);
	if (code)
		return code;
	if (cli_is_any_host(pool.system_id))
		cli_warn(cli, "this machine has no /etc/machine-id, so nothing keeps other hosts that see its devices from activating pool %s",
			 request.name);
	if (cli->test) {
		cli_say(cli, "Would create pool %s of %zu devices.", request.name, request.nr_data);
		return CLI_OK;
	}
	code = format(cli, &request, &pool);
	return code ? code : activate(cli, &request, &pool);
}

const struct cli_command cmd_tpcreate = {
	.name = "tpcreate",
	.is_applet = true,
	.summary = "make a pool of devices in tiers",
	.needed = "-m DEVICE --tier TIER:DEVICE...",
	.words = "POOL",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
