/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_MM_H
#define KSHIM_MM_H

#include <linux/slab.h>

#endif
