/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_MATH64_H
#define KSHIM_MATH64_H

#include <linux/kernel.h>

#endif
