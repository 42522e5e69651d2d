/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A blob that survives: files of the state directory, replaced whole.
 *
 * `<name>.0` and `<name>.1` hold two consecutive generations, the even one and
 * the odd one. A save writes `<name>.tmp`, syncs it, renames it over the older of
 * the two and syncs the directory. So at every moment, whatever fails or dies,
 * the last blob that was saved can be loaded, and the one before it too.
 * A checksum over head and data tells a whole file from any other.
 *
 * Knows nothing of what is in a blob. The system calls that change something are
 * a parameter, for the tests to fail them one by one.
 */
#ifndef TIERD_STORE_H
#define TIERD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As the system calls: -1 and errno. */
struct store_ops {
	int (*openat)(int dirfd, const char *name, int flags, mode_t mode);
	ssize_t (*write)(int fd, const void *data, size_t size);
	int (*fsync)(int fd);
	int (*close)(int fd);
	int (*renameat)(int from_dirfd, const char *from, int to_dirfd, const char *to);
};

extern const struct store_ops store_system_ops;

struct store_blob {
	uint64_t generation;	/* of the file it came from; the next save's is one more */
	bool damaged;		/* a file was there that is not whole; this is the other one */
	void *data;		/* malloc'ed */
	size_t size;
};

/* Release the data and zero it; NULL is fine. */
void store_blob_clear(struct store_blob *blob);

/*
 * The newest blob of that name. -ENOENT: none was ever saved; -EBADMSG: there
 * are files, but none is whole. The caller clears *ret_blob.
 */
int store_load(int dirfd, const char *name, struct store_blob *ret_blob);

/*
 * Blocks until the blob is durable. `generation` is one more than that of the
 * blob loaded or saved last, 1 for the first. After an error the same generation
 * may be saved again.
 */
int store_save(const struct store_ops *ops, int dirfd, const char *name, uint64_t generation,
	       const void *data, size_t size);

/*
 * Remove the files that were written before `before_s` (real time), of all names
 * but those that is_kept() wants. What does not look like ours, or cannot be
 * removed, stays. Blocks for file I/O.
 */
void store_remove_old(int dirfd, int64_t before_s, bool (*is_kept)(void *ctx, const char *name),
		      void *ctx);

#endif
