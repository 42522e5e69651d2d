/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_STRING_H
#define KSHIM_STRING_H

#include <string.h>

#endif
