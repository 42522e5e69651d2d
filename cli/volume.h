/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands for volumes share: sizes in whole extents, policies, labels.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_VOLUME_H
#define CLI_VOLUME_H

#include "cli.h"
#include "policy.h"
#include "system.h"

/* A volume whose label names no policy: tierd.conf does, or it is auto. */
#define CLI_POLICY_DEFAULT	"default"

/* The value of --policy. */
enum cli_exit cli_take_policy(struct cli *cli, const char *word, enum tier_policy *ret_policy);

/* There is a volume in an active pool whose policy only tierd knows. */
bool cli_has_default_policy(const struct cli_system *system);

/* A name that a new pool or volume is to get; `what` is "pool" or "volume". */
enum cli_exit cli_check_name(struct cli *cli, const char *what, const char *name);

/* *sectors rounded up to whole extents of the pool; says so if that changed it. */
enum cli_exit cli_round_size(struct cli *cli, const struct cli_pool *pool, uint64_t *sectors);

/*
 * Puts the label, and the placement that its policy asks for, into force and on disk. The
 * placement of a volume without a policy of its own is left to tierd, which knows tierd.conf.
 */
enum cli_exit cli_apply_label(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_volume_info *volume, const char *label);

/*
 * Puts the placement that its policy asks for into force, if it is not (another tier
 * has come, a pin has ended, a command was cut short) and the pool can be written.
 */
enum cli_exit cli_renew_placement(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_volume_info *volume);

/* The pool can take changes: not read-only, not broken. */
enum cli_exit cli_need_writable(struct cli *cli, const struct cli_pool *pool);

#endif
