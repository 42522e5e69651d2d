// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sentences out of the kernel's log. What dm core writes for a refused table is
 *
 *	device-mapper: table: 253:3: tier-pool: <sentence> (-EINVAL)
 *
 * (older kernels without the errno), and for a refused activation only that
 * preresume failed, after our module has said why:
 *
 *	device-mapper: tier: <sentence>
 */
#include "dm_kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int tier_kmsg_open(int *ret_fd)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_END) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* The text behind `prefix`, or NULL. */
static const char *behind(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) ? NULL : text + length;
}

int tier_kmsg_match(const char *record, const char *devno, const char *target,
		    char *ret_text, size_t size)
{
	const char *text = strchr(record, ';'), *rest, *end, *errno_word;
	char prefix[128];
	int rank;

	if (!text)
		return 0;
	text++;
	snprintf(prefix, sizeof(prefix), "device-mapper: table: %s: %s: ", devno, target);
	rest = behind(text, prefix);
	rank = 2;
	if (!rest || behind(rest, "preresume failed")) {
		rest = behind(text, "device-mapper: tier-pool: ");
		if (!rest)
			rest = behind(text, "device-mapper: tier: ");
		rank = 1;
	}
	if (!rest)
		return 0;
	end = rest + strcspn(rest, "\n");
	errno_word = memmem(rest, end - rest, " (-E", 4);
	if (errno_word && end > rest && end[-1] == ')')
		end = errno_word;
	snprintf(ret_text, size, "%.*s", (int)(end - rest), rest);
	return rank;
}

bool tier_kmsg_cause(int fd, const char *devno, const char *target,
		     char *ret_cause, size_t size)
{
	char record[8192];	/* the kernel's own limit of a record */
	int best = 0;

	*ret_cause = '\0';
	for (;;) {
		char text[512];
		ssize_t length = read(fd, record, sizeof(record) - 1);
		int rank;

		if (length < 0 && (errno == EINTR || errno == EPIPE))
			continue;	/* EPIPE: records were overwritten, the next is readable */
		if (length <= 0)
			return best > 0;
		record[length] = '\0';
		rank = tier_kmsg_match(record, devno, target, text, sizeof(text));
		if (rank && rank >= best) {
			best = rank;
			snprintf(ret_cause, size, "%.*s", (int)size - 1, text);
		}
	}
}
