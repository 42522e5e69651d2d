/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_CRC32C_H
#define KSHIM_CRC32C_H

#include <linux/types.h>

/* As the kernel: neither the seed nor the result is inverted. */
u32 crc32c(u32 crc, const void *data, unsigned int bytes);

#endif
