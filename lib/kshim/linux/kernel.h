/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_KERNEL_H
#define KSHIM_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/types.h>
#include <linux/build_bug.h>
#include <limits.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((typeof(x))(a) - 1))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define min(a, b)		({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)		({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

#endif
