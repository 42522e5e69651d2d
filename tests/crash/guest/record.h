/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's side of the journal (journal.h), and volumes as the load has them.
 * Every fault that is not expected ends the program by errx(1): the pool has failed
 * its user.
 */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal.h"
#include "sector.h"

#define NR_VOLUMES	3u

/* Journal --------------------------------------------------------------------------*/

void journal_open(const char *path);
/* In the order of the calls; any thread. @wait: it is written when this returns. */
void journal_add(const struct journal_record *record, bool wait);

/* Numbers of writes, discards, resizes and flushes: they count up over all runs. */
void numbers_begin(uint32_t run);
uint32_t next_number(void);

/* Volumes --------------------------------------------------------------------------*/

struct volume {
	pthread_rwlock_t lock;		/* for writing: it comes, goes, changes its size */
	uint32_t id, life, extents;	/* life 0: there is none */
	int fd;				/* -1: not active */
	uint8_t busy[MAX_SECTORS];	/* a write or discard is under way; busy_lock */
};

extern struct volume volumes[NR_VOLUMES];
extern bool after_crash;		/* set before the first worker starts */
/* Nobody asks for a commit: one each second, which is large. */
extern _Atomic bool calm;

/* I/O of one thread until the program ends. */
void start_worker(uint64_t seed, bool writes);
/* Workers end; returns when they have. */
void stop_workers(void);

struct io_counts {
	_Atomic uint64_t reads, writes, fua, discards, flushes;
};
extern struct io_counts io_counts;

#endif
