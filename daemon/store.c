// SPDX-License-Identifier: GPL-2.0-only
/* Two generations of a checksummed file. See store.h. */
#include "store.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_MAGIC	0x3145524f54535444ULL	/* "DTSTORE1" */
/* More than any state needs; a size in a damaged head is not to be believed. */
#define STORE_MAX_BYTES	(8ULL << 30)

struct store_head {
	uint64_t magic;
	uint64_t generation;
	uint64_t bytes;		/* of data that follow */
	uint64_t sum;		/* of head, this field zero, and data */
};

static int system_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	return openat(dirfd, name, flags, mode);
}

const struct store_ops store_system_ops = {
	.openat = system_openat,
	.write = write,
	.fsync = fsync,
	.close = close,
	.renameat = renameat,
};

/*
 * A Fletcher-like sum over 64-bit words, finished by mixing. It has to tell torn
 * and rotten files from whole ones, at the speed of memory, not to resist anyone.
 */
static uint64_t sum_bytes(uint64_t sum, const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t a = sum ^ size, b = ~sum, word;

	for (; size; at += sizeof(word), size -= sizeof(word)) {
		word = 0;
		if (size < sizeof(word)) {
			memcpy(&word, at, size);
			size = sizeof(word);
		} else {
			memcpy(&word, at, sizeof(word));
		}
		a = (a ^ le64toh(word)) * 0x9e3779b97f4a7c15ULL;
		a ^= a >> 29;
		b += a;
	}
	a ^= b * 0xbf58476d1ce4e5b9ULL;
	return a ^ (a >> 31);
}

static uint64_t blob_sum(const struct store_head *head, const void *data, size_t size)
{
	struct store_head zeroed = *head;

	zeroed.sum = 0;
	return sum_bytes(sum_bytes(STORE_MAGIC, &zeroed, sizeof(zeroed)), data, size);
}

void store_blob_clear(struct store_blob *blob)
{
	if (!blob)
		return;
	free(blob->data);
	memset(blob, 0, sizeof(*blob));
}

/* All of `size` bytes or an error; -EBADMSG when the file ends before. */
static int read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t n = read(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG;
		at += n;
		size -= n;
	}
	return 0;
}

static int read_blob(int fd, struct store_blob *ret_blob)
{
	struct store_head head;
	struct stat st;
	uint64_t bytes;
	void *data;
	int r;

	if (fstat(fd, &st))
		return -errno;
	r = read_all(fd, &head, sizeof(head));
	if (r)
		return r;
	bytes = le64toh(head.bytes);
	if (le64toh(head.magic) != STORE_MAGIC || bytes > STORE_MAX_BYTES ||
	    (uint64_t)st.st_size != sizeof(head) + bytes)
		return -EBADMSG;
	data = malloc(bytes + 1);
	if (!data)
		return -ENOMEM;
	r = read_all(fd, data, bytes);
	if (!r && blob_sum(&head, data, bytes) != le64toh(head.sum))
		r = -EBADMSG;
	if (r) {
		free(data);
		return r;
	}
	*ret_blob = (struct store_blob) {
		.generation = le64toh(head.generation),
		.data = data,
		.size = bytes,
	};
	return 0;
}

static int file_name(char *buffer, size_t size, const char *name, const char *suffix)
{
	int n = snprintf(buffer, size, "%s.%s", name, suffix);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int load_file(int dirfd, const char *name, const char *suffix, struct store_blob *ret_blob)
{
	char path[256];
	int fd, r;

	r = file_name(path, sizeof(path), name, suffix);
	if (r)
		return r;
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = read_blob(fd, ret_blob);
	close(fd);
	return r;
}

int store_load(int dirfd, const char *name, struct store_blob *ret_blob)
{
	struct store_blob blobs[2] = { 0 };
	int r0, r1, newest;

	r0 = load_file(dirfd, name, "0", &blobs[0]);
	r1 = load_file(dirfd, name, "1", &blobs[1]);
	if (r0 && r1)
		return r0 == -ENOENT ? r1 : r1 == -ENOENT || r0 != -EBADMSG ? r0 : r1;
	newest = r0 ? 1 : r1 ? 0 : blobs[1].generation > blobs[0].generation;
	blobs[newest].damaged = (r0 && r0 != -ENOENT) || (r1 && r1 != -ENOENT);
	store_blob_clear(&blobs[!newest]);
	*ret_blob = blobs[newest];
	return 0;
}

static int write_all(const struct store_ops *ops, int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = ops->write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= n;
	}
	return 0;
}

static int write_file(const struct store_ops *ops, int dirfd, const char *path,
		      const struct store_head *head, const void *data, size_t size)
{
	int fd, r;

	fd = ops->openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(ops, fd, head, sizeof(*head));
	if (!r)
		r = write_all(ops, fd, data, size);
	if (!r && ops->fsync(fd))
		r = -errno;
	if (ops->close(fd) && !r)
		r = -errno;
	return r;
}

int store_save(const struct store_ops *ops, int dirfd, const char *name, uint64_t generation,
	       const void *data, size_t size)
{
	struct store_head head = {
		.magic = htole64(STORE_MAGIC),
		.generation = htole64(generation),
		.bytes = htole64(size),
	};
	char temporary[256], path[256];
	int r;

	head.sum = htole64(blob_sum(&head, data, size));
	r = file_name(temporary, sizeof(temporary), name, "tmp");
	if (!r)
		r = file_name(path, sizeof(path), name, generation & 1 ? "1" : "0");
	if (!r)
		r = write_file(ops, dirfd, temporary, &head, data, size);
	if (r)
		return r;
	if (ops->renameat(dirfd, temporary, dirfd, path))
		return -errno;
	return ops->fsync(dirfd) ? -errno : 0;
}

/* Whether a file is one of ours; ret_name (of that size) is its name without the suffix. */
static bool take_name(const char *file, char *ret_name, size_t size)
{
	static const char *const suffixes[] = { "0", "1", "tmp" };
	const char *dot = strrchr(file, '.');

	if (!dot || dot == file || (size_t)(dot - file) >= size)
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(dot + 1, suffixes[i]))
			continue;
		memcpy(ret_name, file, dot - file);
		ret_name[dot - file] = '\0';
		return true;
	}
	return false;
}

void store_remove_old(int dirfd, int64_t before_s, bool (*is_kept)(void *ctx, const char *name),
		      void *ctx)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	char name[256];
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (take_name(entry->d_name, name, sizeof(name)) && !is_kept(ctx, name) &&
		    !fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_mtime < before_s)
			unlinkat(dirfd, entry->d_name, 0);
	closedir(dir);
}
