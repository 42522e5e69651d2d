/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSHIM_BUILD_BUG_H
#define KSHIM_BUILD_BUG_H

#undef static_assert
#define static_assert(expr) _Static_assert(expr, #expr)

#endif
