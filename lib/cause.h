/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why something failed, in words for the user, beside the -errno. A function
 * with a `ret_cause` (TIER_CAUSE_SIZE bytes, may be NULL) writes it on failure
 * only: a phrase that names the object, without a final stop.
 */
#ifndef TIER_CAUSE_H
#define TIER_CAUSE_H

#define TIER_CAUSE_SIZE	256

/* Writes the cause, cut if it is too long, and returns `error`. */
int tier_cause(char *ret_cause, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
