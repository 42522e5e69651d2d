/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judges a pool: loads its metadata as the kernel would, by the kernel's own code
 * for the format, and looks at every sector of every volume.
 */
#ifndef CRASH_JUDGE_H
#define CRASH_JUDGE_H

#include "cut.h"
#include "knowledge.h"
#include "report.h"

#define VERDICT_SIZE	200

/* True if all is as it must be; else what is wrong. */
bool judge_pool(const struct cut *cut, struct knowledge *k, char *ret_verdict);

/* The same of what a guest has found in an active pool: @report of @bytes. */
bool judge_report(const void *report, uint64_t bytes, struct knowledge *k, char *ret_verdict);

#endif
