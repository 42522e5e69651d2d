/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_ERRNO_H
#define KSHIM_ERRNO_H

#include_next <linux/errno.h>
#include <errno.h>

#endif
