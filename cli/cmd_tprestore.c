// SPDX-License-Identifier: GPL-2.0-only
/*
 * tprestore: a pool's metadata from the text of tpdump. The text is read and
 * judged to its end before anything is written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata.h"
#include "util.h"

enum { OPTION_LOG = CLI_LONG_ONLY, OPTION_WIPE };

static const struct cli_option options[] = {
	{ 'i', "input", "FILE", "the text (default: the standard input)" },
	{ 'o', "output", "DEVICE", "where the metadata go (needed)" },
	{ OPTION_LOG, "logsize", "SIZE", "of the log, 8m to 1g (default: as in the text)" },
	{ OPTION_WIPE, "wipesignatures", NULL, "wipe what the device holds without asking" },
	{ 0 }
};

struct request {
	const char *input;
	struct cli_disk disk;
	bool has_disk;
	bool wipe_signatures;
	uint64_t log_sectors;
};

static void free_content(struct tier_content **content)
{
	tier_content_free(*content);
}

static void request_clear(struct request *request)
{
	if (request->has_disk)
		cli_close_disk(&request->disk);
}

static enum cli_exit take_option(struct cli *cli, int id, struct request *request)
{
	enum cli_exit code;

	switch (id) {
	case 'i':
		if (!*cli->value)
			return cli_bad_line(cli, "- is the standard input.",
					    "'' is not the name of a file");
		request->input = cli->value;
		return CLI_OK;
	case 'o':
		code = cli_take_path(cli, cli->value, &request->disk);
		request->has_disk = !code;
		return code;
	case OPTION_LOG:
		if (cli_parse_size(cli->value, &request->log_sectors))
			return cli_bad_line(cli, "It is from 8m to 1g.", "'%s' is not the size of a log",
					    cli->value);
		return CLI_OK;
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
	if (!request->has_disk)
		return cli_bad_line(cli, "Give it with -o.", "there is no device to write to");
	return CLI_OK;
}

static enum cli_exit parse(struct cli *cli, const struct request *request,
			   struct tier_content **ret_content)
{
	const bool is_stdin = !strcmp(request->input, "-");
	_cleanup_fclose_ FILE *file = is_stdin ? NULL : fopen(request->input, "re");
	char cause[TIER_CAUSE_SIZE] = "";
	int r;

	if (!is_stdin && !file)
		return cli_failed(cli, "`tpdump` writes such a file.", "cannot open %s: %s",
				  request->input, cli_reason(-errno));
	r = tier_content_parse(is_stdin ? stdin : file, is_stdin ? "standard input" : request->input,
			       ret_content, cause);
	if (r)
		return cli_failed(cli, "Nothing was written. The form is in tpdump(8).", "%s", cause);
	if (request->log_sectors &&
	    tier_content_set_log_bytes(*ret_content, request->log_sectors * 512, cause))
		return cli_bad_line(cli, "It is from 8m to 1g.", "--logsize: %s", cause);
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(request_clear) struct request request = {
		.input = "-", .disk = { .probe = { .fd = -1 } },
	};
	_cleanup_(free_content) struct tier_content *content = NULL;
	bool is_file = false, is_done = false;
	char uuid[TIER_UUID_SIZE];
	uint8_t bytes[16];
	enum cli_exit code;

	code = take_options(cli, &request);
	if (!code)
		code = parse(cli, &request, &content);
	if (!code)
		code = cli_metadata_write(cli, &request.disk, &is_file);
	if (!code)
		code = cli_metadata_put(cli, content, &request.disk, request.wipe_signatures,
					&is_done);
	if (code)
		return code;
	tier_content_uuid(content, bytes);
	tier_format_uuid(bytes, uuid);
	cli_say(cli, "%s the metadata of pool %s to %s.", is_done ? "Restored" : "Would restore", uuid,
		request.disk.path);
	cli_close_disk(&request.disk);
	if (is_done && !is_file)
		cli_metadata_tell_twin(cli, content);
	return CLI_OK;
}

const struct cli_command cmd_tprestore = {
	.name = "tprestore",
	.is_applet = true,
	.summary = "write the text of tpdump to a metadata device",
	.needed = "-o DEVICE",
	.words = "",
	.options = options,
	.run = run,
};
