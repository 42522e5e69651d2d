/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the kernel refused a table: it says so in its log only. Open the log, load
 * the table, and if that failed look for what was said about the device.
 */
#ifndef TIER_DM_KMSG_H
#define TIER_DM_KMSG_H

#include <stdbool.h>
#include <stddef.h>

/* At the log's end, non-blocking. -errno: not allowed to read it. */
int tier_kmsg_open(int *ret_fd);

/*
 * Read what was logged since, and give the sentence that explains best why
 * `target` was refused for device "<major>:<minor>". Returns false, and "", if
 * there is none. Never blocks.
 */
bool tier_kmsg_cause(int fd, const char *devno, const char *target,
		     char *ret_cause, size_t size);

/*
 * Pure: whether one record of /dev/kmsg is about it, and the sentence without
 * what surrounds it. 2: the target's own words about this device; 1: something
 * that our module said; 0: neither.
 */
int tier_kmsg_match(const char *record, const char *devno, const char *target,
		    char *ret_text, size_t size);

#endif
