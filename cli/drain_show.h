/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a drain is: a bar on a terminal, elsewhere a line for each tenth, nothing
 * with -q.
 */
#ifndef CLI_DRAIN_SHOW_H
#define CLI_DRAIN_SHOW_H

#include "cli.h"

struct drain_show {
	struct cli *cli;
	uint64_t total_extents, extent_sectors;
	bool is_terminal, is_open;	/* is_open: the cursor is in the line of the bar */
	unsigned int shown_tenths;
	int64_t begin_ns, shown_ns;
};

/* Since boot, sleep included. */
int64_t drain_now_ns(void);

void drain_show_begin(struct drain_show *show, struct cli *cli, uint64_t extents,
		      uint64_t extent_sectors);
/* Often. `left`: extents. */
void drain_show(struct drain_show *show, uint64_t left);
/* Before anything else is written. */
void drain_show_end(struct drain_show *show);

#endif
