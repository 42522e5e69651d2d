/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times, sizes and rates as people write them. Pure.
 *
 * A time is a number with a unit, or several: "90s", "15min", "8h", "1.5d",
 * "1h30min"; units s min h d w. A size is a number with a unit: B KiB MiB GiB TiB
 * and, in thousands, kB MB GB TB.
 */
#ifndef TIERD_UNITS_H
#define TIERD_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "throttle.h"

/* -EINVAL: not a time; -ERANGE: more than 100 years. Rounded to nanoseconds. */
int units_time_from_text(const char *text, int64_t *ret_ns);

/* -EINVAL: not a size; -ERANGE: 2^63 or more. Without a unit: bytes. */
int units_size_from_text(const char *text, uint64_t *ret_bytes);

/* A word of throttle.h, or a size, with or without "/s". -EINVAL, -ERANGE; 0 bytes are -ERANGE. */
int units_rate_from_text(const char *text, struct tier_rate *ret_rate);

/* In the largest unit that is exact: "8h", "90s"; "160MiB". */
#define UNITS_TEXT_SIZE	32
void units_time_to_text(int64_t ns, char *ret_text);
void units_size_to_text(uint64_t bytes, char *ret_text);

/* In the largest unit that it reaches, to one digit behind the point: "10.3GiB". For people. */
void units_size_to_rough_text(uint64_t bytes, char *ret_text);

/* The word, or the size with "/s". */
void units_rate_to_text(const struct tier_rate *rate, char *ret_text);

/* Index of the word that is spelled most like `word`; `nr_words` > 0. */
size_t units_nearest_word(const char *const *words, size_t nr_words, const char *word);

#endif
