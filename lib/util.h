/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small helpers of user space: cleanup attributes, array size, what comes first
 * in main(). Nothing else here does I/O but closing what it is given.
 */
#ifndef TIER_UTIL_H
#define TIER_UTIL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * _cleanup_(f): f(&variable) runs when the variable goes out of scope, on every
 * path. The variable must be initialised where it is declared.
 */
#define _cleanup_(f)	__attribute__((cleanup(f)))

static inline void tier_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void tier_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void tier_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_		_cleanup_(tier_cleanup_free)
#define _cleanup_close_		_cleanup_(tier_cleanup_close)
#define _cleanup_fclose_	_cleanup_(tier_cleanup_fclose)

/*
 * First thing in main(): whoever starts us may have closed the standard files, and
 * then a disk that is opened would be standard error, and get our messages. False:
 * they cannot be had, and nothing may be opened.
 */
static inline bool tier_have_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define TIER_NR(array)		(sizeof(array) / sizeof((array)[0]))

#endif
