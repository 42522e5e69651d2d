// SPDX-License-Identifier: GPL-2.0-only
/*
 * tprepair: what can be saved of a pool's damaged metadata, to another device.
 * The damaged ones are only read, so it can be tried again in another way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "metadata.h"
#include "util.h"

enum { OPTION_REGION = CLI_LONG_ONLY, OPTION_TIER, OPTION_WIPE };

static const struct cli_option options[] = {
	{ 'i', "input", "DEVICE", "the damaged metadata (needed)" },
	{ 'o', "output", "DEVICE", "where what is saved goes (needed but with -t)" },
	{ 's', "extentsize", "SIZE", "what the pool was made with: if both superblocks are lost" },
	{ OPTION_REGION, "region", "SIZE", "the same, if it was not the default" },
	{ OPTION_TIER, "tier", "N:DEVICE", "a data device whose record may be lost" },
	{ OPTION_WIPE, "wipesignatures", NULL, "wipe what the output holds without asking" },
	{ 0 }
};

struct request {
	struct cli_disk input, output;
	bool has_input, has_output;
	bool wipe_signatures;
	struct tier_repair_options options;
	struct tier_repair_device devices[TIER_MAX_DEVICES];
	size_t nr_disks;
	struct cli_disk disks[TIER_MAX_DEVICES];
};

static void free_content(struct tier_content **content)
{
	tier_content_free(*content);
}

static void request_clear(struct request *request)
{
	cli_close_disk(&request->output);
}

static enum cli_exit take_size(struct cli *cli, const char *what, uint64_t *ret_sectors)
{
	if (cli_parse_size(cli->value, ret_sectors) || (*ret_sectors & (*ret_sectors - 1)))
		return cli_bad_line(cli, "It is a power of two, as it was given to tpcreate.",
				    "'%s' is not the size of %s", cli->value, what);
	return CLI_OK;
}

static enum cli_exit take_option(struct cli *cli, int id, struct request *request)
{
	enum cli_exit code;

	switch (id) {
	case 'i':
		code = cli_take_path(cli, cli->value, &request->input);
		request->has_input = !code;
		return code;
	case 'o':
		code = cli_take_path(cli, cli->value, &request->output);
		request->has_output = !code;
		return code;
	case 's':
		return take_size(cli, "an extent", &request->options.extent_sectors);
	case OPTION_REGION:
		return take_size(cli, "a region", &request->options.region_sectors);
	case OPTION_TIER:
		if (request->nr_disks == TIER_MAX_DEVICES)
			return cli_bad_line(cli, "Give each once.", "a pool has at most %d devices",
					    TIER_MAX_DEVICES);
		code = cli_take_tier(cli, cli->value, &request->disks[request->nr_disks]);
		request->nr_disks += !code;
		return code;
	default:
		request->wipe_signatures = true;
		return CLI_OK;
	}
}

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		code = take_option(cli, id, request);
		if (code)
			return code;
	}
	if (id < 0)
		return cli->exit;
	if (!request->has_input)
		return cli_bad_line(cli, "Give them with -i.", "there are no metadata to repair");
	if (!request->has_output && !cli->test)
		return cli_bad_line(cli, "Give it with -o; with -t nothing is written.",
				    "there is no device to write to");
	return CLI_OK;
}

/* One is never written over the other. */
static enum cli_exit check_apart(struct cli *cli, const struct request *request)
{
	struct stat in, out;

	if (!request->has_output || stat(request->input.path, &in) ||
	    stat(request->output.path, &out))
		return CLI_OK;
	if (S_ISBLK(in.st_mode) ? S_ISBLK(out.st_mode) && in.st_rdev == out.st_rdev :
				  in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return cli_failed(cli, "Write to a new device: what is damaged is kept as it is.",
				  "%s and %s are the same", request->input.path, request->output.path);
	return CLI_OK;
}

/* What the label of a data device says, and how large it is. */
static enum cli_exit read_label(struct cli *cli, struct cli_disk *disk,
				struct tier_repair_device *ret_device)
{
	struct tier_format_identity identity = { .kind = TIER_FORMAT_NONE };
	enum cli_exit code;
	bool is_file;
	int r;

	code = cli_metadata_write(cli, disk, &is_file);
	if (code)
		return code;
	r = tier_format_identify(disk->probe.fd, &identity);
	if (r || identity.kind != TIER_FORMAT_DATA) {
		cli_close_disk(disk);
		return cli_failed(cli, "`tps --devices` shows those of known pools.",
				  "%s is not a data device of a pool: %s", disk->path,
				  r ? cli_reason(r) : "it has no label");
	}
	*ret_device = (struct tier_repair_device){
		.idx = identity.idx, .tier = disk->tier, .bytes = disk->probe.bytes,
		.logical_block_bytes = disk->probe.logical_block_bytes,
	};
	memcpy(ret_device->pool_uuid, identity.pool_uuid, 16);
	memcpy(ret_device->uuid, identity.device_uuid, 16);
	cli_close_disk(disk);
	return CLI_OK;
}

static enum cli_exit read_labels(struct cli *cli, struct request *request)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; !code && i < request->nr_disks; i++)
		code = read_label(cli, &request->disks[i], &request->devices[i]);
	request->options.devices = request->devices;
	request->options.nr_devices = request->nr_disks;
	return code;
}

static const char *word_of(enum tier_finding_kind kind)
{
	if (kind == TIER_FOUND_USED)
		return "used";
	if (kind == TIER_FOUND_MENDED)
		return "mended";
	if (kind == TIER_FOUND_DOUBT)
		return "doubt";
	if (kind == TIER_FOUND_LOST)
		return "lost";
	return kind == TIER_FOUND_TORN ? "note" : "damage";
}

static void say_findings(struct cli *cli, const struct tier_findings *findings)
{
	const uint64_t all = findings->nr_damages + findings->nr_notes;

	for (size_t i = 0; i < findings->nr; i++)
		cli_say(cli, "%s: %s", word_of(findings->list[i].kind), findings->list[i].text);
	if (all > findings->nr)
		cli_say(cli, "... and %llu more", (unsigned long long)(all - findings->nr));
}

static size_t count(const struct tier_findings *findings, enum tier_finding_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->nr; i++)
		n += findings->list[i].kind == kind;
	return n;
}

static enum cli_exit repair(struct cli *cli, struct request *request,
			    struct tier_content **ret_content)
{
	_cleanup_(tier_findings_clear) struct tier_findings findings = { 0 };
	char cause[TIER_CAUSE_SIZE] = "";
	_cleanup_close_ int fd = -1;
	enum cli_exit code = cli_metadata_read_alone(cli, &request->input, &fd);
	int r;

	if (code)
		return code;
	r = tier_repair(fd, &request->options, &findings, ret_content, cause);
	if (r)
		return cli_failed(cli, r == -EINVAL ?
				  "Give it with --extentsize (and --region), as it was given to tpcreate." :
				  "Is there a dump of tpdump? `tprestore` makes the pool of that time.",
				  "%s: %s", request->input.path, cause);
	say_findings(cli, &findings);
	if (!findings.nr_damages)
		cli_say(cli, "%s is not damaged: all of it was read.", request->input.path);
	else
		cli_say(cli, "%s: %zu lost, %zu in doubt, %zu mended.", request->input.path,
			count(&findings, TIER_FOUND_LOST), count(&findings, TIER_FOUND_DOUBT),
			count(&findings, TIER_FOUND_MENDED));
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(request_clear) struct request request = {
		.input = { .probe = { .fd = -1 } }, .output = { .probe = { .fd = -1 } },
	};
	_cleanup_(free_content) struct tier_content *content = NULL;
	bool is_file = false, is_done = false;
	enum cli_exit code;

	code = take_options(cli, &request);
	if (!code)
		code = check_apart(cli, &request);
	if (!code)
		code = read_labels(cli, &request);
	if (!code && request.has_output)
		code = cli_metadata_write(cli, &request.output, &is_file);
	if (!code)
		code = repair(cli, &request, &content);
	if (!code && request.has_output)
		code = cli_metadata_put(cli, content, &request.output, request.wipe_signatures,
					&is_done);
	if (code)
		return code;
	if (!is_done) {
		cli_say(cli, "Nothing was written.");
		return CLI_OK;
	}
	cli_say(cli, "What could be saved is on %s.", request.output.path);
	cli_close_disk(&request.output);
	if (!is_file)
		cli_metadata_tell_twin(cli, content);
	return CLI_OK;
}

const struct cli_command cmd_tprepair = {
	.name = "tprepair",
	.is_applet = true,
	.summary = "save what can be saved of damaged metadata, to another device",
	.needed = "-i DEVICE -o DEVICE",
	.words = "",
	.options = options,
	.run = run,
};
