/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_SLAB_H
#define KSHIM_SLAB_H

#include <linux/types.h>
#include <stdlib.h>

#define GFP_KERNEL	0U

/* Tests may replace calloc to see what happens without memory. */
static inline void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(n, size);
}

static inline void kfree(const void *p)
{
	free((void *)p);
}

#define kvcalloc(n, size, gfp)	kcalloc(n, size, gfp)
#define kvfree(p)		kfree(p)

#endif
