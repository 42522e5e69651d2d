/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tierd in its surroundings: event loop, clocks, signals, service manager. The
 * only file that reads a clock.
 */
#ifndef TIERD_LOOP_H
#define TIERD_LOOP_H

#include "config.h"
#include "log.h"

struct loop_options {
	struct config *config;		/* taken over */
	const char *config_path;	/* read again on SIGHUP */
	bool config_may_miss;		/* ... and if it is not there, the defaults hold */
	const char *state_path;
	const struct log_sink *log;
};

/* Serve until a signal ends it. 0, or -errno, logged. */
int loop_run(const struct loop_options *options);

#endif
