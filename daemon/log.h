/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tierd says: one record per event, with fields that programs can match
 * (journalctl TIERD_POOL=pool0) and a text that is true by itself.
 * Whoever handles an error logs it, once.
 *
 * The record goes to a sink that the caller of the daemon's core chooses: the
 * journal or stderr (log_output.c), or a test's list. Knows neither.
 */
#ifndef TIERD_LOG_H
#define TIERD_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "reason.h"

/* name, message id; systemd/tierd.catalog explains each to the administrator. */
#define LOG_EVENTS(X)							\
	X(STARTED,		"34e7ab18f38747f58064db5dbe17d7cb")	\
	X(STOPPED,		"2ad0ef3364624d2587932d648697b249")	\
	X(CONFIG_LOADED,	"b87d6239df5b4ae9ad7f7b8d283b0c13")	\
	X(CONFIG_REFUSED,	"e3a9af8dfa844b10bf6b32d6e81e284b")	\
	X(CONFIG_OUTVOTED,	"2eab61feae84490d931ba67c5855750f")	\
	X(POOL_FOUND,		"4735e62f6446469881d10152c2b1ca4f")	\
	X(POOL_GONE,		"4158b68c022f4a89b47f6d8651a62ced")	\
	X(POOL_ERROR,		"649e5ad769a54981a95c87c1f0b83e2d")	\
	X(POOL_RECOVERED,	"a34fcba8488b4d2d8297996f056d96e6")	\
	X(POOL_FILLING,		"6a6607ce12f94964b798ea92bba20ddd")	\
	X(POOL_FULL,		"0163ff3c54d0401ba9cda9f2f6b7ab53")	\
	X(POOL_SPACE_BACK,	"919c36f722504a0d89c16da906873585")	\
	X(VOLUME_FOUND,		"37c2708be842403fa706dd2b4c8dfb0d")	\
	X(VOLUME_GONE,		"33e706752683480498c3897ae564a49c")	\
	X(POOL_PARTIAL,		"c0eab9c2204a4499b2bce198054907ae")	\
	X(POOL_WHOLE,		"40029619732e4e568490281206ee2dce")	\
	X(DEVICE_ERRORS,	"15c27b0ecb2f4274b6085891d6ed4894")	\
	X(DEVICE_GIVEN_UP,	"a6583e6102d64bffb1851f17565371b6")	\
	X(RELOCATION_BEGAN,	"c2cecaecd98d4bc1993431b98881d9e8")	\
	X(RELOCATION_ENDED,	"8c7f9d518da442ec97110cc2d1d899a2")	\
	X(WINDOW_SKIPPED,	"1f38e4a137fb441e927bb3298db14cf3")	\
	X(MOVE_DONE,		"69efc8fb90c94a4ba18806c3de870cdf")	\
	X(MOVE_FAILED,		"c84d0690e96c4b88a82c460d357933b2")	\
	X(MOVE_GIVEN_UP,	"494b2854b5a3470abf443dbac31626bf")	\
	X(MOVE_DROPPED,		"9f774f3628f2497d8ad006e61f64a73b")	\
	X(PAUSED,		"f71170eb3571428780b8af682521d4c0")	\
	X(RESUMED,		"106f941f6482402cb40815be61d5b2ae")	\
	X(ABORTED,		"5b31069d4357478b91336f50af68919c")	\
	X(STATE_UNUSABLE,	"a6d351d648884333b4bf6cd72c4e2180")	\
	X(STATE_NOT_SAVED,	"5c45a4d9929447c4bac7aa708befbdd7")	\
	X(INTERNAL,		"5739585a2b184014acd7b5dee3fed1c0")

enum log_event {
#define X(name, id)	LOG_##name##_EVENT,
	LOG_EVENTS(X)
#undef X
	LOG_EVENT_COUNT
};

/* 32 hex digits. Never NULL. */
const char *log_event_message_id(enum log_event event);

#define LOG_NO_TIER	(-1)

/* Fields that do not apply: NULL, LOG_NO_TIER, TIER_REASON_NONE, false. */
struct log_record {
	enum log_event event;
	int priority;			/* LOG_ERR ... LOG_DEBUG */
	const char *pool;
	const char *volume;		/* its name, without the pool */
	bool has_extent;
	uint64_t extent;
	int from_tier;
	int to_tier;
	enum tier_reason reason;
	bool has_bytes;
	uint64_t bytes;
	const char *text;
};

#define LOG_RECORD(event_, priority_, pool_)				\
	{								\
		.event = (event_), .priority = (priority_), .pool = (pool_), \
		.from_tier = LOG_NO_TIER, .to_tier = LOG_NO_TIER,	\
	}

struct log_sink {
	void (*write)(void *ctx, const struct log_record *record);
	void *ctx;
};

/* Write `record` with a text made from the format; texts are cut at 1 KiB. */
void log_write(const struct log_sink *sink, struct log_record record, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A record with nothing but event, priority and pool (NULL: of the daemon). */
void log_plain(const struct log_sink *sink, enum log_event event, int priority, const char *pool,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * log_output.c: to the journal with all fields if `is_journal`, else to stderr,
 * "<pool>: <text>". Records above `max_priority` are dropped.
 */
struct log_output {
	bool is_journal;
	int max_priority;
};

/* Whether stderr leads to the journal, as for a service of systemd. */
bool log_output_is_journal(void);
void log_output_write(void *output, const struct log_record *record);

#endif
