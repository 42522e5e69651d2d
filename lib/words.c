// SPDX-License-Identifier: GPL-2.0-only
/* Words of lines. Pure. */
#include "words.h"

#include <string.h>

static bool is_end(char c)
{
	return c == '\0' || c == '\n';
}

static bool is_border(char c)
{
	return is_end(c) || c == ' ' || c == '\t';
}

static const char *skip_spaces(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

/* The next word without taking it; its length, 0 at the end. */
static size_t peek(const struct tier_words *words, const char **ret_word)
{
	const char *start = skip_spaces(words->at), *end = start;

	while (!is_border(*end))
		end++;
	*ret_word = start;
	return end - start;
}

void tier_words_take(struct tier_words *words, char *ret_word, size_t size)
{
	const char *word;
	size_t length = peek(words, &word);

	if (!length || length >= size)
		words->bad = true;
	if (words->bad) {
		ret_word[0] = '\0';
		return;
	}
	memcpy(ret_word, word, length);
	ret_word[length] = '\0';
	words->at = word + length;
}

bool tier_words_take_if(struct tier_words *words, const char *word)
{
	const char *next;
	size_t length = peek(words, &next);

	if (words->bad || length != strlen(word) || memcmp(next, word, length))
		return false;
	words->at = next + length;
	return true;
}

/* Digits at `at`; returns behind the last one, NULL if there is none or it is above max. */
static const char *digits(const char *at, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return NULL;
	}
	if (value > max)
		return NULL;
	*ret_value = value;
	return at;
}

uint64_t tier_words_u64(struct tier_words *words, uint64_t max)
{
	uint64_t value;
	const char *end = digits(skip_spaces(words->at), max, &value);

	if (words->bad || !end || !is_border(*end)) {
		words->bad = true;
		return 0;
	}
	words->at = end;
	return value;
}

uint32_t tier_words_u32(struct tier_words *words, uint32_t max)
{
	return (uint32_t)tier_words_u64(words, max);
}

void tier_words_pair(struct tier_words *words, char separator, uint64_t max,
		     uint64_t *ret_a, uint64_t *ret_b)
{
	uint64_t a, b;
	const char *end = digits(skip_spaces(words->at), max, &a);

	if (end && *end == separator)
		end = digits(end + 1, max, &b);
	else
		end = NULL;
	if (words->bad || !end || !is_border(*end)) {
		words->bad = true;
		*ret_a = *ret_b = 0;
		return;
	}
	words->at = end;
	*ret_a = a;
	*ret_b = b;
}

bool tier_words_at_end(const struct tier_words *words)
{
	return is_end(*skip_spaces(words->at));
}

void tier_words_next_line(struct tier_words *words)
{
	const char *end = skip_spaces(words->at);

	if (!is_end(*end))
		words->bad = true;
	else
		words->at = *end ? end + 1 : end;
}
