/* SPDX-License-Identifier: GPL-2.0-only */
/* struct tierd, for tierd.c and report.c only. */
#ifndef TIERD_INTERNAL_H
#define TIERD_INTERNAL_H

#include "pool.h"

struct tierd {
	struct config *config;
	struct pool_environment env;
	struct pool **pools;		/* by name */
	size_t nr_pools;
	int64_t forget_ns;		/* when states of old are looked for next; 0 = not known yet */
	uint64_t changes;		/* other than those of the pools */
};

#endif
