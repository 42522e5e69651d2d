/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing the label of a pool or volume: `key=value` words with `;` between, in
 * the pool's metadata. Reading is tier_label_value() in policy.h. Pure.
 *
 * Keys: name, policy (a word of policy.h), pin (<policy>:<seconds since 1970>).
 * Keys that are not known are kept as they are.
 */
#ifndef TIER_LABEL_H
#define TIER_LABEL_H

#include <stddef.h>

/*
 * *ret_label = `label` with `key` set to `value`, or without it (NULL). It may
 * be the same buffer. -EINVAL: a `;`, control or empty value, or a bad key;
 * -ENOSPC: longer than size - 1 (size TIER_LABEL_SIZE: the kernel's limit).
 */
int tier_label_set(const char *label, const char *key, const char *value,
		   char *ret_label, size_t size);

#endif
