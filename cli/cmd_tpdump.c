// SPDX-License-Identifier: GPL-2.0-only
/* tpdump: a pool's metadata as text, the form of tpdump(8). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metadata.h"
#include "util.h"

static const struct cli_option options[] = {
	{ 'o', "output", "FILE", "write it there and not to the standard output" },
	{ 0 }
};

static void free_content(struct tier_content **content)
{
	tier_content_free(*content);
}

/* What would not load for writing is no state to go back to. */
static enum cli_exit read_content(struct cli *cli, const struct cli_disk *disk, int fd,
				  struct tier_content **ret_content)
{
	char cause[TIER_CAUSE_SIZE] = "";
	struct tier_meta_facts facts;
	struct tier_meta *meta;
	int r = tier_meta_read(fd, &meta, cause);

	if (r)
		return cli_failed(cli, r == -EAGAIN ? "Repeat it at a quieter time." :
				  "`tpcheck` says more, `tprepair` saves what can be saved.",
				  "%s: %s", disk->path, cause);
	tier_meta_facts(meta, &facts);
	if (!facts.needs_check)
		r = tier_content_of_meta(meta, ret_content);
	tier_meta_free(meta);
	if (facts.needs_check)
		return cli_failed(cli, "`tpcheck` says more. `tprepair` puts what can be saved on another device, which can be dumped.",
				  "%s is damaged, its text would not be the pool: %s", disk->path,
				  facts.damage);
	return r ? cli_failed(cli, NULL, "out of memory") : CLI_OK;
}

/* Under its name there is all of it or what was there before. */
static enum cli_exit write_file(struct cli *cli, const struct tier_content *content,
				const char *path)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char cause[TIER_CAUSE_SIZE] = "";
	int r = 0;

	if (asprintf(&temporary, "%s.new", path) < 0)
		return cli_failed(cli, NULL, "out of memory");
	file = fopen(temporary, "we");
	if (!file)
		return cli_failed(cli, "Is there space, and may you write there?", "cannot write %s: %s",
				  temporary, cli_reason(-errno));
	if (tier_content_print(content, file, cause))
		r = -EIO;
	else if (fsync(fileno(file)) || rename(temporary, path))
		r = -errno;
	if (!r)
		return CLI_OK;
	unlink(temporary);
	return cli_failed(cli, "Is there space, and may you write there?", "cannot write %s: %s", path,
			  *cause ? cause : cli_reason(r));
}

static enum cli_exit dump(struct cli *cli, const struct cli_disk *disk, const char *to)
{
	_cleanup_(free_content) struct tier_content *content = NULL;
	char cause[TIER_CAUSE_SIZE] = "";
	_cleanup_close_ int fd = -1;
	enum cli_exit code = cli_metadata_read(cli, disk, &fd);

	if (!code)
		code = read_content(cli, disk, fd, &content);
	if (code)
		return code;
	if (to)
		return write_file(cli, content, to);
	if (tier_content_print(content, stdout, cause))
		return cli_failed(cli, NULL, "%s", cause);
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	const char *to = NULL;
	struct cli_disk disk;
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0)
		to = cli->value;
	if (id < 0)
		return cli->exit;
	if (to && !*to)
		return cli_bad_line(cli, "Without -o it goes to the standard output.",
				    "'' is not the name of a file");
	code = cli_take_path(cli, cli->words[0], &disk);
	return code ? code : dump(cli, &disk, to);
}

const struct cli_command cmd_tpdump = {
	.name = "tpdump",
	.is_applet = true,
	.summary = "write a pool's metadata as text",
	.words = "DEVICE",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
