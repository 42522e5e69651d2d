// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a block device from many threads and knows at any time what each
 * 4 KiB block may hold, so lost, stale, foreign, torn or resurrected data shows,
 * also while it is being moved, discarded, or after a crash:
 *
 *   oracle -s STATE [options] DEVICE	read, write, discard for a while, then check all
 *   oracle -s STATE -c DEVICE		check all
 *
 *   -s STATE	file or block device that remembers what was written; an empty
 *		one means that the whole device reads as zeros
 *   -j		keep STATE up to date at every flush, for crashes: what a flush or
 *		a FUA write has acknowledged must be there, later writes may be
 *   -i		first write all, in order
 *   -p MS	each thread pauses so long between any two of its reads and writes
 *   -t SECONDS (10)  -T THREADS (4)  -b BLOCKS a write or read at most (16)
 *   -r, -d, -f	percent reads (40), discards (0), FUA among writes (0)
 *   -F MS	flush every so often (0 = never)
 *   -g KIB	region: a discard zeroes the regions that it covers wholly, no more
 *   -x KIB	extent: a third of the discards are whole extents
 *   -o KIB, -l KIB  only this part of the device
 *   -e		I/O errors are expected: a write that failed may have been done or not, a
 *		discard that succeeded may have had no effect
 *   -V TAG	what is written differs from what other tags write
 *   -R SEED
 *
 * A block's generation counts its writes and discards.  Who writes holds the
 * blocks' locks; reads don't, and find a generation between the last completed
 * before and the last issued after.  Exit code: 0, 1 the data are wrong or an
 * error was not expected, 2 the test itself cannot run.  Ends well by SIGTERM.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

#include "pattern.h"

#define MAX_BLOCKS	256u		/* of one read or write */
#define RUN_SHIFT	20		/* generations of one run; runs never share one */
#define STATE_MAGIC	0x656c6361724f6d64ULL

struct block {
	_Atomic uint32_t completed, issued, discarded, durable;
	_Atomic bool locked;
};

struct state_head {
	uint64_t magic, blocks, run, seq, clean, sum;
};

static struct {
	const char *device, *state;
	uint64_t seconds, threads, blocks, reads, discards, fua, flush_ms, region_kib, extent_kib;
	uint64_t from_kib, size_kib, pause_ms, tag, seed;
	bool check, errors, journal, fill;
} opt = { .seconds = 10, .threads = 4, .blocks = 16, .reads = 40, .seed = 1 };

static struct block *blocks;
static uint64_t nr_blocks, first_block, run;
static int device_fd, state_fd;
static uint64_t state_seq;
static size_t table_bytes;		/* of the three tables of a state, and of one */
static size_t one_table;
static _Atomic bool stop, wrong;
static _Atomic uint64_t nr_reads, nr_writes, nr_fua, nr_discards, nr_flushes, nr_errors;
static _Atomic uint64_t longest_write_us;

static bool allowed(const struct block *b, enum content content, uint32_t generation, uint32_t low)
{
	uint32_t discarded = atomic_load(&b->discarded);

	if (content == ZEROS)
		return !low || discarded >= low;
	return content == DATA && generation >= low && generation <= atomic_load(&b->issued) &&
		generation != discarded;
}

static void complain(uint64_t index, const uint64_t *words, enum content content,
		     uint32_t generation, uint32_t low)
{
	static const char * const names[] = { "zeros", "data", "foreign data", "torn data" };
	static _Atomic int said;
	struct block *b = &blocks[index];

	atomic_store(&wrong, true);
	atomic_store(&stop, true);
	if (atomic_fetch_add(&said, 1) >= 8)
		return;
	printf("WRONG: block %" PRIu64 " (sector %" PRIu64 "): %s, generation %" PRIu32
	       "; allowed %" PRIu32 "..%" PRIu32 ", discarded at %" PRIu32
	       ", words %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n",
	       first_block + index, (first_block + index) * 8, names[content], generation, low,
	       atomic_load(&b->issued), atomic_load(&b->discarded), words[0], words[1],
	       words[WORDS - 1]);
}

/* Locks ----------------------------------------------------------------------*/

static void unlock_blocks(uint64_t first, unsigned int count)
{
	while (count--)
		atomic_store(&blocks[first + count].locked, false);
}

static bool try_lock_blocks(uint64_t first, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (atomic_exchange(&blocks[first + i].locked, true)) {
			unlock_blocks(first, i);
			return false;
		}
	}
	return true;
}

static void lock_block(uint64_t index)
{
	while (!try_lock_blocks(index, 1))
		sched_yield();
}

/* I/O ------------------------------------------------------------------------*/

/* An error that is not expected ends the test. */
static void failed(const char *what, uint64_t index, int error)
{
	atomic_fetch_add(&nr_errors, 1);
	if (opt.errors)
		return;
	atomic_store(&wrong, true);
	atomic_store(&stop, true);
	printf("ERROR: %s at block %" PRIu64 ": %s\n", what, first_block + index, strerror(error));
}

static off_t offset_of(uint64_t index)
{
	return (off_t)((first_block + index) * BLOCK);
}

/*
 * Checks one block that was read.  A write or discard under way makes it torn
 * for a moment: then again, with the block locked.
 */
static void check_block(uint64_t index, const void *data, uint32_t low)
{
	uint32_t generation = 0;
	enum content content = look(data, opt.tag, first_block + index, &generation);
	uint64_t *again;

	if (allowed(&blocks[index], content, generation, low))
		return;
	if (content == TORN || (content == ZEROS && atomic_load(&blocks[index].locked))) {
		again = aligned_alloc(BLOCK, BLOCK);
		if (!again)
			err(2, "memory");
		lock_block(index);
		low = atomic_load(&blocks[index].completed);
		if (pread(device_fd, again, BLOCK, offset_of(index)) != BLOCK) {
			failed("read", index, errno);
		} else {
			content = look(again, opt.tag, first_block + index, &generation);
			if (!allowed(&blocks[index], content, generation, low))
				complain(index, again, content, generation, low);
		}
		unlock_blocks(index, 1);
		free(again);
		return;
	}
	complain(index, data, content, generation, low);
}

static void do_read(uint64_t first, unsigned int count, uint8_t *buffer)
{
	uint32_t low[MAX_BLOCKS];
	unsigned int i;
	ssize_t n;

	for (i = 0; i < count; i++)
		low[i] = atomic_load(&blocks[first + i].completed);
	n = pread(device_fd, buffer, count * BLOCK, offset_of(first));
	atomic_fetch_add(&nr_reads, 1);
	if (n < 0 || n % BLOCK) {
		failed("read", first, n < 0 ? errno : EIO);
		return;
	}
	for (i = 0; i < n / BLOCK; i++)
		check_block(first + i, buffer + i * BLOCK, low[i]);
	if (n < count * BLOCK)
		failed("short read", first + n / BLOCK, EIO);
}

static uint32_t next_generation(struct block *b)
{
	uint32_t next = atomic_load(&b->issued) + 1, least = run << RUN_SHIFT;

	if (next < least)
		next = least;
	atomic_store(&b->issued, next);
	return next;
}

static void set_completed(uint64_t first, unsigned int count, bool durable)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct block *b = &blocks[first + i];

		atomic_store(&b->completed, atomic_load(&b->issued));
		if (durable)
			atomic_store(&b->durable, atomic_load(&b->issued));
	}
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static void note_latency(uint64_t us)
{
	uint64_t longest = atomic_load(&longest_write_us);

	while (us > longest && !atomic_compare_exchange_weak(&longest_write_us, &longest, us))
		;
}

/* The blocks are locked. */
static void do_write(uint64_t first, unsigned int count, uint8_t *buffer, bool fua)
{
	struct iovec vec = { .iov_base = buffer, .iov_len = count * BLOCK };
	uint64_t began;
	unsigned int i;
	ssize_t n;

	for (i = 0; i < count; i++)
		fill((uint64_t *)(buffer + i * BLOCK), opt.tag, first_block + first + i,
		     next_generation(&blocks[first + i]));
	began = now_us();
	n = pwritev2(device_fd, &vec, 1, offset_of(first), fua ? RWF_DSYNC : 0);
	note_latency(now_us() - began);
	atomic_fetch_add(fua ? &nr_fua : &nr_writes, 1);
	if (n > 0)
		set_completed(first, n / BLOCK, fua && n == count * BLOCK);
	if (n < count * BLOCK)
		failed("write", first, n < 0 ? errno : EIO);
}

/* State ----------------------------------------------------------------------*/

static void state_io(bool write, void *data, size_t bytes, off_t offset)
{
	ssize_t n = write ? pwrite(state_fd, data, bytes, offset) : pread(state_fd, data, bytes, offset);

	if (n != (ssize_t)bytes)
		err(2, "%s: %s", opt.state, write ? "write" : "read");
}

static uint64_t sum(const uint64_t *words, size_t bytes, const struct state_head *head)
{
	uint64_t s = head->blocks + mix(head->run) + mix(head->seq + 77) + head->clean;
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		s = s * 0x100000001b3ULL + words[i];
	return s;
}

static off_t table_offset(uint64_t seq)
{
	return 2 * BLOCK + (seq % 2) * table_bytes;
}

static off_t intent_offset(void)
{
	return 2 * BLOCK + 2 * table_bytes;
}

static void *aligned(size_t bytes)
{
	void *p = aligned_alloc(BLOCK, bytes);

	if (!p)
		err(2, "memory");
	memset(p, 0, bytes);
	return p;
}

/* @clean: all is known.  Otherwise only what is durable counts. */
static void save_state(bool clean)
{
	uint32_t *table = aligned(table_bytes), *issued = table + one_table / 4;
	uint32_t *discarded = issued + one_table / 4;
	struct state_head *head = aligned(BLOCK);
	uint64_t i;

	for (i = 0; i < nr_blocks; i++) {
		table[i] = atomic_load(clean ? &blocks[i].completed : &blocks[i].durable);
		issued[i] = atomic_load(&blocks[i].issued);
		discarded[i] = atomic_load(&blocks[i].discarded);
	}
	*head = (struct state_head){ .magic = STATE_MAGIC, .blocks = nr_blocks, .run = run,
				     .seq = ++state_seq, .clean = clean };
	head->sum = sum((uint64_t *)table, table_bytes, head);
	state_io(true, table, table_bytes, table_offset(state_seq));
	state_io(true, head, BLOCK, (state_seq % 2) * BLOCK);
	free(head);
	free(table);
}

/* Before a discard: after a crash its blocks may be zero. */
static void save_intent(uint64_t first, unsigned int count)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	uint64_t from = first / (BLOCK / 4), to = (first + count - 1) / (BLOCK / 4), i, page;
	uint32_t *table = aligned(BLOCK);

	pthread_mutex_lock(&mutex);
	for (page = from; page <= to; page++) {
		for (i = 0; i < BLOCK / 4 && page * (BLOCK / 4) + i < nr_blocks; i++)
			table[i] = atomic_load(&blocks[page * (BLOCK / 4) + i].discarded);
		state_io(true, table, BLOCK, intent_offset() + page * BLOCK);
	}
	pthread_mutex_unlock(&mutex);
	free(table);
}

static bool load_table(const struct state_head *head)
{
	uint32_t *table, *issued, *discarded, *intent;
	uint64_t i;

	if (head->magic != STATE_MAGIC)
		return false;
	if (head->blocks != nr_blocks)
		errx(2, "%s is of another device", opt.state);
	table = aligned(table_bytes);
	issued = table + one_table / 4;
	discarded = issued + one_table / 4;
	state_io(false, table, table_bytes, table_offset(head->seq));
	if (head->sum != sum((uint64_t *)table, table_bytes, head)) {
		free(table);
		return false;
	}
	intent = aligned(one_table);
	if (!head->clean)
		state_io(false, intent, one_table, intent_offset());
	for (i = 0; i < nr_blocks; i++) {
		struct block *b = &blocks[i];

		atomic_store(&b->completed, table[i]);
		atomic_store(&b->durable, table[i]);
		atomic_store(&b->issued, head->clean ? issued[i] : (head->run + 1) << RUN_SHIFT);
		atomic_store(&b->discarded, intent[i] > discarded[i] ? intent[i] : discarded[i]);
	}
	run = head->run;
	state_seq = head->seq;
	free(intent);
	free(table);
	return true;
}

/* The newest good one of the two; none: nothing was ever written. */
static void load_state(void)
{
	struct state_head *head = aligned(2 * BLOCK), *second = (void *)((char *)head + BLOCK);
	struct state_head *newest = head->seq > second->seq ? head : second;
	struct stat st;

	if (fstat(state_fd, &st))
		err(2, "%s", opt.state);
	if (S_ISBLK(st.st_mode) || st.st_size > 2 * BLOCK) {
		state_io(false, head, 2 * BLOCK, 0);
		newest = head->seq > second->seq ? head : second;
		if (!load_table(newest) && !load_table(newest == head ? second : head) &&
		    (head->magic || second->magic))
			errx(2, "%s holds no good state", opt.state);
	} else {
		/* So that intents have a place. */
		if (ftruncate(state_fd, intent_offset() + one_table))
			err(2, "%s", opt.state);
	}
	run++;
	free(head);
}

/* Threads --------------------------------------------------------------------*/

struct worker {
	pthread_t thread;
	uint64_t random;
	uint8_t *buffer;
};

static uint64_t random_below(struct worker *w, uint64_t limit)
{
	w->random = w->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return limit ? mix(w->random) % limit : 0;
}

/* Whole regions, with a part of a region before and behind, which must stay. */
static void discard_something(struct worker *w)
{
	unsigned int region = opt.region_kib * 1024 / BLOCK, extent = opt.extent_kib * 1024 / BLOCK;
	unsigned int unit = extent && !random_below(w, 3) ? extent : region;
	unsigned int count = unit * (unit == region ? 1 + random_below(w, 3) : 1), i;
	uint64_t first = random_below(w, nr_blocks / unit) * unit, before, behind, range[2];

	if (first + count > nr_blocks)
		count = unit;
	before = first ? random_below(w, region) : 0;
	behind = random_below(w, region);
	if (first + count + behind > nr_blocks)
		behind = 0;
	if (!try_lock_blocks(first, count))
		return;
	for (i = 0; i < count; i++)
		atomic_store(&blocks[first + i].discarded, next_generation(&blocks[first + i]));
	if (opt.journal)
		save_intent(first, count);
	range[0] = offset_of(first - before);
	range[1] = (before + count + behind) * BLOCK;
	atomic_fetch_add(&nr_discards, 1);
	if (ioctl(device_fd, BLKDISCARD, range))
		failed("discard", first, errno);
	else if (!opt.errors)
		set_completed(first, count, false);
	unlock_blocks(first, count);
}

static void *work(void *context)
{
	struct worker *w = context;

	while (!atomic_load(&stop)) {
		unsigned int what = random_below(w, 100), count = 1 + random_below(w, opt.blocks);
		uint64_t first = random_below(w, nr_blocks);

		/* Many small ones: they are what gets lost. */
		if (random_below(w, 2))
			count = 1;
		if (first + count > nr_blocks)
			count = nr_blocks - first;
		if (what < opt.reads) {
			do_read(first, count, w->buffer);
		} else if (what < opt.reads + opt.discards) {
			discard_something(w);
		} else if (try_lock_blocks(first, count)) {
			do_write(first, count, w->buffer, random_below(w, 100) < opt.fua);
			unlock_blocks(first, count);
		}
		if (opt.pause_ms)
			usleep(opt.pause_ms * 1000);
	}
	return NULL;
}

/* A flush that succeeds makes durable what was complete when it began. */
static void flush_once(void)
{
	uint32_t *snapshot = aligned(one_table);
	uint64_t i;

	for (i = 0; i < nr_blocks; i++)
		snapshot[i] = atomic_load(&blocks[i].completed);
	atomic_fetch_add(&nr_flushes, 1);
	if (fsync(device_fd)) {
		failed("flush", 0, errno);
	} else {
		for (i = 0; i < nr_blocks; i++)
			if (snapshot[i] > atomic_load(&blocks[i].durable))
				atomic_store(&blocks[i].durable, snapshot[i]);
		if (opt.journal)
			save_state(false);
	}
	free(snapshot);
}

static void *flush_work(void *context)
{
	while (!atomic_load(&stop)) {
		flush_once();
		usleep(opt.flush_ms * 1000);
	}
	return context;
}

static void on_signal(int number)
{
	atomic_store(&stop, true);
}

static void write_all(void)
{
	uint8_t *buffer = aligned(MAX_BLOCKS * BLOCK);
	uint64_t first;

	for (first = 0; first < nr_blocks && !atomic_load(&stop); first += MAX_BLOCKS)
		do_write(first, nr_blocks - first < MAX_BLOCKS ? nr_blocks - first : MAX_BLOCKS,
			 buffer, false);
	free(buffer);
}

static void run_threads(void)
{
	struct worker *workers = calloc(opt.threads, sizeof(*workers));
	uint64_t end = now_us() + opt.seconds * 1000000ULL;	/* 0: only what -i does */
	pthread_t flusher;
	unsigned int i;

	if (!workers)
		err(2, "memory");
	if (opt.journal)
		save_state(false);
	if (opt.flush_ms && pthread_create(&flusher, NULL, flush_work, NULL))
		errx(2, "no thread");
	for (i = 0; i < opt.threads; i++) {
		workers[i].random = mix(opt.seed * 1000 + i) + run;
		workers[i].buffer = aligned(MAX_BLOCKS * BLOCK);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(2, "no thread");
	}
	while (!atomic_load(&stop) && now_us() < end)
		usleep(20000);
	atomic_store(&stop, true);
	for (i = 0; i < opt.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		free(workers[i].buffer);
	}
	if (opt.flush_ms)
		pthread_join(flusher, NULL);
	free(workers);
	if (!atomic_load(&wrong))
		flush_once();
}

/* Reads all; what is found is what is known from now on. */
static void check_all(void)
{
	uint8_t *buffer = aligned(MAX_BLOCKS * BLOCK);
	uint64_t first, i;

	for (first = 0; first < nr_blocks; first += MAX_BLOCKS) {
		unsigned int count = nr_blocks - first < MAX_BLOCKS ? nr_blocks - first : MAX_BLOCKS;
		ssize_t n = pread(device_fd, buffer, count * BLOCK, offset_of(first));

		if (n != count * BLOCK) {
			failed("final read", first, n < 0 ? errno : EIO);
			continue;
		}
		for (i = 0; i < count; i++) {
			struct block *b = &blocks[first + i];
			uint32_t generation = 0;

			check_block(first + i, buffer + i * BLOCK, atomic_load(&b->completed));
			if (look((void *)(buffer + i * BLOCK), opt.tag,
				 first_block + first + i, &generation) == ZEROS) {
				atomic_store(&b->discarded, atomic_load(&b->issued));
				generation = atomic_load(&b->issued);
			}
			atomic_store(&b->issued, generation);
			atomic_store(&b->completed, generation);
		}
	}
	free(buffer);
}

/* Start ----------------------------------------------------------------------*/

static void open_all(void)
{
	struct stat st;
	uint64_t bytes;

	device_fd = open(opt.device, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (device_fd < 0 && errno == EROFS && opt.check)
		device_fd = open(opt.device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (device_fd < 0 || ioctl(device_fd, BLKGETSIZE64, &bytes))
		err(2, "%s", opt.device);
	first_block = opt.from_kib * 1024 / BLOCK;
	nr_blocks = bytes / BLOCK - first_block;
	if (opt.size_kib)
		nr_blocks = opt.size_kib * 1024 / BLOCK;
	if (!nr_blocks || first_block + nr_blocks > bytes / BLOCK)
		errx(2, "%s is too small", opt.device);
	state_fd = open(opt.state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (state_fd < 0 || fstat(state_fd, &st))
		err(2, "%s", opt.state);
	/* On a disk, what was written must be there after a crash. */
	if (S_ISBLK(st.st_mode) && fcntl(state_fd, F_SETFL, O_DIRECT))
		err(2, "%s", opt.state);
	blocks = calloc(nr_blocks, sizeof(*blocks));
	one_table = (nr_blocks * 4 + BLOCK - 1) / BLOCK * BLOCK;
	table_bytes = 3 * one_table;
	if (!blocks)
		err(2, "memory");
}

static const struct {
	char letter;
	bool *flag;
	uint64_t *number;
} options[] = {
	{ 'c', &opt.check }, { 'j', &opt.journal }, { 'i', &opt.fill }, { 'e', &opt.errors },
	{ 't', NULL, &opt.seconds }, { 'T', NULL, &opt.threads }, { 'b', NULL, &opt.blocks },
	{ 'r', NULL, &opt.reads }, { 'd', NULL, &opt.discards }, { 'f', NULL, &opt.fua },
	{ 'F', NULL, &opt.flush_ms }, { 'g', NULL, &opt.region_kib }, { 'x', NULL, &opt.extent_kib },
	{ 'o', NULL, &opt.from_kib }, { 'l', NULL, &opt.size_kib }, { 'p', NULL, &opt.pause_ms },
	{ 'V', NULL, &opt.tag }, { 'R', NULL, &opt.seed },
};

static void parse(int argc, char **argv)
{
	int option;
	size_t i;

	while ((option = getopt(argc, argv, "s:cjiet:T:b:r:d:f:F:g:x:o:l:p:V:R:")) != -1) {
		if (option == '?')
			exit(2);
		if (option == 's')
			opt.state = optarg;
		for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
			if (options[i].letter != option)
				continue;
			if (options[i].flag)
				*options[i].flag = true;
			else
				*options[i].number = strtoull(optarg, NULL, 10);
		}
	}
	if (optind + 1 != argc || !opt.state || !opt.blocks || opt.blocks > MAX_BLOCKS ||
	    (opt.discards && !opt.region_kib))
		errx(2, "usage: oracle -s STATE [-c] [options] DEVICE");
	opt.device = argv[optind];
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	open_all();
	load_state();
	if (opt.fill)
		write_all();
	if (!opt.check)
		run_threads();
	if (!atomic_load(&wrong))
		check_all();
	if (!atomic_load(&wrong))
		save_state(true);
	printf("reads=%" PRIu64 " writes=%" PRIu64 " fua=%" PRIu64 " discards=%" PRIu64
	       " flushes=%" PRIu64 " errors=%" PRIu64 " longest_write_us=%" PRIu64 " %s\n",
	       nr_reads, nr_writes, nr_fua, nr_discards, nr_flushes, nr_errors, longest_write_us,
	       wrong ? "WRONG" : "ok");
	return wrong;
}
