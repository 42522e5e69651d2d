/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shim: just enough of the kernel's headers for its pure files to compile in
 * user space (kernel/dm-tier-{args,map,heat,format,image}.c), so that the
 * on-disk code exists once. Same names, same meaning; nothing more than is used.
 */
#ifndef KSHIM_TYPES_H
#define KSHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
/* As the kernel has them, so that a %llu is right on both sides. */
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef u64 sector_t;
typedef unsigned int gfp_t;

#endif
