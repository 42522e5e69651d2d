// SPDX-License-Identifier: GPL-2.0-only
/* Why something failed, in words. Pure. */
#include "cause.h"

#include <stdarg.h>
#include <stdio.h>

int tier_cause(char *ret_cause, int error, const char *format, ...)
{
	va_list args;

	if (!ret_cause)
		return error;
	va_start(args, format);
	vsnprintf(ret_cause, TIER_CAUSE_SIZE, format, args);
	va_end(args);
	return error;
}
