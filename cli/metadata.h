/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tpcheck, tpdump, tprestore and tprepair are given: metadata on a block
 * device or in a file that is an image of one.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_METADATA_H
#define CLI_METADATA_H

#include "cli.h"
#include "disks.h"
#include "format_tools.h"

/* To read, as it is, also of an active pool. The caller closes *ret_fd. */
enum cli_exit cli_metadata_read(struct cli *cli, const struct cli_disk *disk, int *ret_fd);

/* To read while nobody can write: refused if it is in use. */
enum cli_exit cli_metadata_read_alone(struct cli *cli, const struct cli_disk *disk, int *ret_fd);

/* To write: refused if it is in use. What is on it is looked at, see disks.h. */
enum cli_exit cli_metadata_write(struct cli *cli, struct cli_disk *disk, bool *ret_is_file);

/* If it fits, and what is there may go: write it, but not with -t. *ret_done: it was written. */
enum cli_exit cli_metadata_put(struct cli *cli, const struct tier_content *content,
			       struct cli_disk *disk, bool wipe_signatures, bool *ret_done);

/* Says so if another device has the same pool's metadata: they must not meet. */
void cli_metadata_tell_twin(struct cli *cli, const struct tier_content *content);

#endif
