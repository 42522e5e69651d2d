/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words of table lines, status lines and answers: split at spaces, turned into
 * numbers. Pure.
 *
 * A line ends at NUL or \n. Errors stick: after the first word that is not what
 * was asked for, `bad` is set and everything taken is 0 or "". So a caller takes
 * all it expects and looks at `bad` once; until then it must use nothing taken
 * as a bound without a limit of its own.
 */
#ifndef TIER_WORDS_H
#define TIER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tier_words {
	const char *at;
	bool bad;
};

/* Copy the next word; bad if the line has ended or the word does not fit. */
void tier_words_take(struct tier_words *words, char *ret_word, size_t size);

/* The next word as a decimal number, at most `max`. */
uint64_t tier_words_u64(struct tier_words *words, uint64_t max);
uint32_t tier_words_u32(struct tier_words *words, uint32_t max);

/* "<a><separator><b>", decimal, at most `max` each, as one word. */
void tier_words_pair(struct tier_words *words, char separator, uint64_t max,
		     uint64_t *ret_a, uint64_t *ret_b);

/* Whether the next word is this one; it is taken then. Never bad. */
bool tier_words_take_if(struct tier_words *words, const char *word);

/* Whether nothing is left of the line. */
bool tier_words_at_end(const struct tier_words *words);

/* Go to the begin of the next line; bad if there are words left on this one. */
void tier_words_next_line(struct tier_words *words);

#endif
