// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state file: what is saved comes back exactly; every step of a save may
 * fail, or be the last thing that tierd ever did, and the blob before is still
 * there; damage of any byte is seen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "state.h"
#include "store.h"
#include "util.h"

#define UUID	"01234567-89ab-4cde-8f01-23456789abcd"

struct folder {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	snprintf(folder->path, sizeof(folder->path), "/tmp/test_daemon_state.XXXXXX");
	if (!mkdtemp(folder->path))
		return -1;
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY);
	*state = folder;
	return folder->fd < 0;
}

static int teardown(void **state)
{
	struct folder *folder = *state;
	DIR *dir = fdopendir(folder->fd);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(folder->fd, entry->d_name, 0);
	closedir(dir);
	rmdir(folder->path);
	free(folder);
	return 0;
}

/* ---------------------------------------------------------------- the store */

/* System calls that work until the countdown ends; then one fails, or all of them ("dead"). */
static struct {
	int countdown;
	bool is_dead;
	bool fails_rest;
	int calls;
	int opened;
} fault;

static bool strikes(void)
{
	fault.calls++;
	if (fault.countdown-- > 0)
		return false;
	if (fault.countdown < -1 && !fault.fails_rest)
		return false;
	errno = EIO;
	return true;
}

static int fault_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	int fd = strikes() ? -1 : openat(dirfd, name, flags, mode);

	fault.opened += fd >= 0;
	return fd;
}

static ssize_t fault_write(int fd, const void *data, size_t size)
{
	if (!strikes())
		return write(fd, data, size);
	/* Half of it may have got there. */
	if (write(fd, data, size / 2) < 0)
		return -1;
	errno = ENOSPC;
	return -1;
}

static int fault_fsync(int fd)
{
	return strikes() ? -1 : fsync(fd);
}

/* close() releases the descriptor even when it fails. */
static int fault_close(int fd)
{
	bool struck = strikes();

	fault.opened--;
	close(fd);
	return struck ? -1 : 0;
}

static int fault_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return strikes() ? -1 : renameat(from_fd, from, to_fd, to);
}

static const struct store_ops fault_ops = {
	.openat = fault_openat,
	.write = fault_write,
	.fsync = fault_fsync,
	.close = fault_close,
	.renameat = fault_renameat,
};

static void save(struct folder *folder, uint64_t generation, const char *text)
{
	assert_int_equal(store_save(&store_system_ops, folder->fd, "x", generation, text,
				    strlen(text)), 0);
}

static void assert_stored(struct folder *folder, uint64_t generation, const char *text,
			  bool damaged)
{
	_cleanup_(store_blob_clear) struct store_blob blob = { 0 };

	assert_int_equal(store_load(folder->fd, "x", &blob), 0);
	assert_int_equal(blob.generation, generation);
	assert_int_equal(blob.size, strlen(text));
	assert_memory_equal(blob.data, text, blob.size);
	assert_int_equal(blob.damaged, damaged);
}

static void test_store(void **state)
{
	struct folder *folder = *state;
	struct store_blob blob;

	assert_int_equal(store_load(folder->fd, "x", &blob), -ENOENT);
	save(folder, 1, "one");
	assert_stored(folder, 1, "one", false);
	save(folder, 2, "the second");
	assert_stored(folder, 2, "the second", false);
	save(folder, 3, "");
	assert_stored(folder, 3, "", false);
	assert_int_equal(faccessat(folder->fd, "x.tmp", F_OK, 0), -1);
	assert_int_equal(store_load(folder->fd, "y", &blob), -ENOENT);
}

/* One call fails: an error, the old blob stays, and saving again works. */
static void test_store_fails_anywhere(void **state)
{
	struct folder *folder = *state;
	uint64_t generation = 2;
	int step, r;

	save(folder, 1, "one");
	save(folder, 2, "two");
	for (step = 0;; step++) {
		fault = (typeof(fault)) { .countdown = step };
		r = store_save(&fault_ops, folder->fd, "x", generation + 1, "three", 5);
		assert_int_equal(fault.opened, 0);
		if (!r)
			break;
		assert_true(r == -EIO || r == -ENOSPC);
		/* Only the last step, syncing the folder, may leave either. */
		if (fault.calls < 7)
			assert_stored(folder, generation, "two", false);
	}
	/* open, 2 writes, fsync, close, rename, fsync: each has failed once. */
	assert_int_equal(step, 7);
	assert_stored(folder, 3, "three", false);
}

/* tierd dies: nothing after that step happens. What can be loaded is one or the other. */
static void test_store_dies_anywhere(void **state)
{
	struct folder *folder = *state;
	uint64_t generation = 1;

	save(folder, generation, "1");
	for (int step = 0; step < 40; step++) {
		_cleanup_(store_blob_clear) struct store_blob blob = { 0 };
		char text[16];

		snprintf(text, sizeof(text), "%d", step);
		fault = (typeof(fault)) { .countdown = step % 8, .fails_rest = true };
		store_save(&fault_ops, folder->fd, "x", generation + 1, text, strlen(text));
		assert_int_equal(store_load(folder->fd, "x", &blob), 0);
		assert_false(blob.damaged);
		assert_in_range(blob.generation, generation, generation + 1);
		if (blob.generation != generation)
			assert_memory_equal(blob.data, text, strlen(text));
		generation = blob.generation;
	}
	assert_true(generation > 5);
}

static void flip(struct folder *folder, const char *name, off_t at)
{
	int fd = openat(folder->fd, name, O_RDWR);
	char byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void test_store_sees_damage(void **state)
{
	struct folder *folder = *state;
	struct store_blob blob;
	struct stat st;

	save(folder, 1, "the first generation");
	save(folder, 2, "the second generation");
	assert_int_equal(fstatat(folder->fd, "x.0", &st, 0), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		flip(folder, "x.0", at);
		assert_stored(folder, 1, "the first generation", true);
		flip(folder, "x.0", at);
		assert_stored(folder, 2, "the second generation", false);
	}
	for (off_t size = st.st_size; size-- > 0;) {
		int fd = openat(folder->fd, "x.0", O_RDWR);

		assert_int_equal(ftruncate(fd, size), 0);
		close(fd);
		assert_stored(folder, 1, "the first generation", true);
	}
	flip(folder, "x.1", 40);
	assert_int_equal(store_load(folder->fd, "x", &blob), -EBADMSG);
	/* And it heals. */
	save(folder, 1, "anew");
	assert_stored(folder, 1, "anew", true);
	save(folder, 2, "again");
	assert_stored(folder, 2, "again", false);
}

/* ---------------------------------------------------------------- the state */

static void fill_volume(struct state_volume *volume, uint32_t id, uint64_t nr_extents,
			uint32_t nr_terms)
{
	struct tier_heat_config config;

	tier_heat_config_init(&config);
	config.nr_terms = nr_terms;
	volume->id = id;
	assert_int_equal(tier_heat_volume_init(&volume->heat, &config, nr_extents, id & 1, -5000),
			 0);
	volume->heat.instance = 77;
	volume->heat.volume_generation = 1000 + id;
	volume->heat.since = 12;
	volume->heat.mapped = true;
	volume->heat.scale_ns = 100;
	volume->heat.collected_ns = 200;
	for (uint64_t i = 0; i < nr_extents; i++) {
		for (uint32_t term = 0; term < nr_terms; term++)
			volume->heat.heat[term][i] = (float)(i * 1.1 + term);
		volume->heat.born[i] = (uint32_t)i;
		volume->heat.base[i] = (struct tier_heat_base) { i, 2 * i, 3 * i, UINT64_MAX - i };
	}
}

static void fill_state(struct state *state)
{
	*state = (struct state) {
		.saved = { .boot_ns = 123456789, .real_s = 1700000000 },
		.boot_id = "8d2f7e0a-1111-2222-3333-444455556666",
		.watched = true,
		.paused = true,
		.aborted_window_s = 1699999200,
		.heat_since_s = 1600000000,
		.relocation = { .begin_s = 5, .end_s = 6, .up_moves = 7, .in_bytes = { 1, 2, 3 } },
		.nr_volumes = 3,
	};
	state->volumes = calloc(3, sizeof(*state->volumes));
	fill_volume(&state->volumes[0], 0, 10, 1);
	fill_volume(&state->volumes[1], 7, 0, 2);
	fill_volume(&state->volumes[2], 4095, 1000, 3);
	state->failures = calloc(2, sizeof(*state->failures));
	state->nr_failures = 2;
	state->failures[0] = (struct state_failure) { 1007, 3, -77, 1, TIER_REASON_NO_SPACE };
	state->failures[1] = (struct state_failure) { 5095, 999, INT64_C(1) << 60, 20,
						      TIER_REASON_DST_WRITE_ERROR };
}

static void assert_same_volume(const struct state_volume *a, const struct state_volume *b)
{
	const struct tier_heat_volume *x = &a->heat, *y = &b->heat;

	assert_int_equal(a->id, b->id);
	assert_int_equal(x->instance, y->instance);
	assert_int_equal(x->volume_generation, y->volume_generation);
	assert_int_equal(x->since, y->since);
	assert_int_equal(x->nr_extents, y->nr_extents);
	assert_int_equal(x->nr_terms, y->nr_terms);
	assert_int_equal(x->mapped, y->mapped);
	assert_int_equal(x->is_new, y->is_new);
	assert_int_equal(x->epoch_ns, y->epoch_ns);
	assert_int_equal(x->scale_ns, y->scale_ns);
	assert_int_equal(x->collected_ns, y->collected_ns);
	for (uint32_t term = 0; term < x->nr_terms; term++)
		assert_memory_equal(x->heat[term], y->heat[term], x->nr_extents * sizeof(float));
	assert_memory_equal(x->born, y->born, x->nr_extents * sizeof(*x->born));
	assert_memory_equal(x->base, y->base, x->nr_extents * sizeof(*x->base));
}

static void test_round_trip(void **state)
{
	struct folder *folder = *state;
	_cleanup_(state_clear) struct state saved, loaded = { 0 };
	uint64_t generation = 0, loaded_generation;
	bool damaged;

	fill_state(&saved);
	assert_int_equal(state_load(folder->fd, UUID, &loaded, &loaded_generation, &damaged),
			 -ENOENT);
	assert_int_equal(loaded_generation, 0);
	assert_int_equal(state_save(&store_system_ops, folder->fd, UUID, &saved, &generation), 0);
	assert_int_equal(generation, 1);
	assert_int_equal(state_load(folder->fd, UUID, &loaded, &loaded_generation, &damaged), 0);
	assert_int_equal(loaded_generation, 1);
	assert_false(damaged);
	assert_int_equal(loaded.saved.boot_ns, saved.saved.boot_ns);
	assert_int_equal(loaded.saved.real_s, saved.saved.real_s);
	assert_string_equal(loaded.boot_id, saved.boot_id);
	assert_true(loaded.paused && loaded.watched);
	assert_int_equal(loaded.aborted_window_s, saved.aborted_window_s);
	assert_int_equal(loaded.heat_since_s, saved.heat_since_s);
	assert_memory_equal(&loaded.relocation, &saved.relocation, sizeof(saved.relocation));
	assert_int_equal(loaded.nr_volumes, 3);
	for (int i = 0; i < 3; i++)
		assert_same_volume(&loaded.volumes[i], &saved.volumes[i]);
	assert_int_equal(loaded.nr_failures, 2);
	assert_memory_equal(loaded.failures, saved.failures, 2 * sizeof(*saved.failures));
}

/* As it was before there were failures in it: the number of bytes is part of the format. */
static void test_old_file(void **state)
{
	_cleanup_(state_clear) struct state saved, decoded = { 0 };
	_cleanup_free_ void *data = NULL;
	size_t size, volumes = 3 * 72 + 10 * 40 + 1000 * 48;

	fill_state(&saved);
	saved.nr_failures = 0;
	assert_int_equal(state_encode(&saved, &data, &size), 0);
	assert_int_equal(size, 240 + volumes);
	assert_int_equal(state_decode(data, size, &decoded), 0);
	assert_int_equal(decoded.nr_volumes, 3);
	assert_int_equal(decoded.nr_failures, 0);
	assert_null(decoded.failures);
}

static void test_save_fails(void **state)
{
	struct folder *folder = *state;
	_cleanup_(state_clear) struct state saved = { 0 };
	uint64_t generation = 0;

	fill_state(&saved);
	fault = (typeof(fault)) { .countdown = 2 };
	assert_int_equal(state_save(&fault_ops, folder->fd, UUID, &saved, &generation), -ENOSPC);
	assert_int_equal(generation, 0);
	assert_int_equal(state_save(&store_system_ops, folder->fd, UUID, &saved, &generation), 0);
	assert_int_equal(generation, 1);
}

/* No prefix of a state is one, and no byte of it can make decode step out of its memory. */
static void test_decode_anything(void **state)
{
	_cleanup_(state_clear) struct state saved = { 0 };
	_cleanup_free_ void *data = NULL;
	struct state decoded;
	size_t size;

	fill_state(&saved);
	assert_int_equal(state_encode(&saved, &data, &size), 0);
	for (size_t cut = 0; cut < size; cut += cut < 2000 ? 1 : 97) {
		/* Memory of just that size, for the address sanitizer. */
		_cleanup_free_ void *part = malloc(cut ? cut : 1);

		memcpy(part, data, cut);
		assert_int_equal(state_decode(part, cut, &decoded), -EBADMSG);
	}
	for (size_t at = 0; at < 1200; at++) {
		for (int bit = 0; bit < 8; bit++) {
			unsigned char *byte = (unsigned char *)data + at;

			*byte ^= 1 << bit;
			if (!state_decode(data, size, &decoded))
				state_clear(&decoded);
			*byte ^= 1 << bit;
		}
	}
	assert_int_equal(state_decode(data, size, &decoded), 0);
	state_clear(&decoded);
}

static void assert_refused(struct state *state)
{
	_cleanup_free_ void *data = NULL;
	struct state decoded;
	size_t size;

	assert_int_equal(state_encode(state, &data, &size), 0);
	assert_int_equal(state_decode(data, size, &decoded), -EBADMSG);
}

static void test_decode_checks_heat(void **state)
{
	static const float bad[] = { -1, NAN, INFINITY };
	_cleanup_(state_clear) struct state saved = { 0 };

	fill_state(&saved);
	for (size_t i = 0; i < TIER_NR(bad); i++) {
		saved.volumes[2].heat.heat[1][500] = bad[i];
		assert_refused(&saved);
	}
	saved.volumes[2].heat.heat[1][500] = 0;
	saved.volumes[0].heat.scale_ns = 300;	/* later than collected_ns */
	assert_refused(&saved);
	saved.volumes[0].heat.scale_ns = INT64_MIN;
	assert_refused(&saved);
	saved.volumes[0].heat.scale_ns = 100;
	saved.volumes[0].id = TIER_MAX_VOLUMES;
	assert_refused(&saved);
}

static void test_decode_checks_failures(void **state)
{
	_cleanup_(state_clear) struct state saved = { 0 };
	struct state_failure good;

	fill_state(&saved);
	good = saved.failures[1];
	saved.failures[1].attempts = 0;
	assert_refused(&saved);
	saved.failures[1] = good;
	saved.failures[1].reason = TIER_REASON_COUNT;
	assert_refused(&saved);
	saved.failures[1] = good;
	saved.failures[1].extent = UINT64_C(1) << 24;
	assert_refused(&saved);
	saved.failures[1] = good;
	saved.failures[1].until_ns = INT64_MIN;
	assert_refused(&saved);
}

static void test_rebase(void **state)
{
	const struct clock_time later = { .boot_ns = 50 * CLOCK_NS_PER_S, .real_s = 1700003600 };
	const struct clock_time earlier = { .boot_ns = 50 * CLOCK_NS_PER_S, .real_s = 1600000000 };
	_cleanup_(state_clear) struct state saved = { 0 };
	int64_t shift;

	fill_state(&saved);
	state_rebase(&saved, saved.boot_id, &later);
	assert_int_equal(saved.volumes[0].heat.scale_ns, 100);

	/* Another boot, an hour later: ages are one hour more, whatever the clock's zero. */
	state_rebase(&saved, "another boot", &later);
	shift = (50 - 3600) * CLOCK_NS_PER_S - 123456789;
	assert_int_equal(saved.volumes[0].heat.scale_ns, 100 + shift);
	assert_int_equal(saved.volumes[2].heat.epoch_ns, -5000 + shift);
	assert_int_equal(saved.failures[0].until_ns, -77 + shift);
	assert_int_equal(saved.saved.boot_ns, (50 - 3600) * CLOCK_NS_PER_S);
	state_clear(&saved);

	/* The real clock was set back: no time has passed, rather than a negative one. */
	fill_state(&saved);
	state_rebase(&saved, "another boot", &earlier);
	assert_int_equal(saved.volumes[0].heat.scale_ns, 100 + 50 * CLOCK_NS_PER_S - 123456789);
	state_clear(&saved);

	fill_state(&saved);
	saved.saved.real_s = INT64_MIN;
	state_rebase(&saved, "another boot", &later);
	assert_int_equal(saved.saved.boot_ns, 50 * CLOCK_NS_PER_S);
}

#define with_folder(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_folder(test_store),
		with_folder(test_store_fails_anywhere),
		with_folder(test_store_dies_anywhere),
		with_folder(test_store_sees_damage),
		with_folder(test_round_trip),
		with_folder(test_save_fails),
		cmocka_unit_test(test_decode_anything),
		cmocka_unit_test(test_decode_checks_heat),
		cmocka_unit_test(test_decode_checks_failures),
		cmocka_unit_test(test_old_file),
		cmocka_unit_test(test_rebase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
