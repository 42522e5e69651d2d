/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_LOG2_H
#define KSHIM_LOG2_H

#include <linux/types.h>

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* n >= 1 */
static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n == 1 ? 1 : 1UL << (8 * sizeof(n) - __builtin_clzl(n - 1));
}

#endif
