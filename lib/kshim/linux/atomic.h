/* SPDX-License-Identifier: GPL-2.0-only */
/* For the pure kernel files in user space: 64-bit counters, and single loads and stores. */
#ifndef KSHIM_LINUX_ATOMIC_H
#define KSHIM_LINUX_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void atomic64_add(s64 n, atomic64_t *v)
{
	__atomic_fetch_add(&v->counter, n, __ATOMIC_RELAXED);
}

#ifndef READ_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#endif
#ifndef likely
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#endif

#endif
