/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server of NBD exports on a unix socket, one for each slice (disks.h), in one
 * thread: so all requests have one order.  An answer may be late, and answers may
 * pass each other.  A fault of protocol or memory ends the program.
 */
#ifndef CRASH_NBD_H
#define CRASH_NBD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nbd_type { NBD_READ = 0, NBD_WRITE = 1, NBD_CLOSE = 2, NBD_FLUSH = 3, NBD_TRIM = 4, NBD_ZERO = 6 };

struct nbd_request {
	uint32_t slice;
	enum nbd_type type;
	uint64_t offset, bytes;		/* within the slice, multiples of a sector; FLUSH: 0 */
	uint8_t *data;			/* WRITE: it; READ: to be filled */
	uint64_t tag;			/* the server's user may use it */
};

struct nbd_server {
	/* It is done when this returns; the answer is sent so many us later. */
	uint64_t (*request)(void *ctx, struct nbd_request *request);
	/* The answer is sent now. */
	void (*answered)(void *ctx, const struct nbd_request *request);
	void *ctx;
};

/* Serves until SIGTERM or SIGINT; prints "serving" when clients may come. */
void nbd_serve(const struct nbd_server *server, const char *path);

#endif
