// SPDX-License-Identifier: GPL-2.0-only
/*
 * A look at the text before libconfig gets it. Its integers wrap at 2^31 without
 * a word, and an included file would make the line numbers of messages lie; so
 * both are found here. Everything that is valid otherwise passes.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "config.h"

#define MAX_DIGITS	9	/* 999,999,999 < 2^31 */

struct scan {
	const char *at;
	const char *end;
	unsigned int line;
};

static char peek(const struct scan *scan, size_t ahead)
{
	return scan->at + ahead < scan->end ? scan->at[ahead] : '\0';
}

static void skip(struct scan *scan)
{
	if (scan->at < scan->end && *scan->at++ == '\n')
		scan->line++;
}

static void skip_line(struct scan *scan)
{
	while (scan->at < scan->end && *scan->at != '\n')
		scan->at++;
}

static void skip_block_comment(struct scan *scan)
{
	scan->at += 2;
	while (scan->at < scan->end && !(peek(scan, 0) == '*' && peek(scan, 1) == '/'))
		skip(scan);
	skip(scan);
	skip(scan);
}

static void skip_string(struct scan *scan)
{
	skip(scan);
	while (scan->at < scan->end && *scan->at != '"') {
		if (*scan->at == '\\')
			skip(scan);
		skip(scan);
	}
	skip(scan);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '*';
}

/* Letters, digits and all that libconfig lets a name have. */
static void skip_word(struct scan *scan)
{
	while (is_word(peek(scan, 0)))
		scan->at++;
}

/* False if the digits make a number that does not fit. */
static bool skip_number(struct scan *scan)
{
	const char *start;

	while (peek(scan, 0) == '0')
		scan->at++;
	start = scan->at;
	if (peek(scan, 0) == 'x' || peek(scan, 0) == 'X') {
		skip_word(scan);
		return scan->at - start <= 8;
	}
	while (isdigit((unsigned char)peek(scan, 0)))
		scan->at++;
	if (scan->at - start > MAX_DIGITS)
		return false;
	if (peek(scan, 0) == '.')
		scan->at++;
	skip_word(scan);
	return true;
}

int config_scan(const char *text, size_t size, unsigned int *ret_line, const char **ret_what)
{
	struct scan scan = { .at = text, .end = text + size, .line = 1 };
	const char *what = NULL;

	while (!what && scan.at < scan.end) {
		char c = *scan.at;
		unsigned int line = scan.line;

		if (c == '\0')
			what = "not a text file (it has a zero byte)";
		else if (c == '#' || (c == '/' && peek(&scan, 1) == '/'))
			skip_line(&scan);
		else if (c == '/' && peek(&scan, 1) == '*')
			skip_block_comment(&scan);
		else if (c == '"')
			skip_string(&scan);
		else if (c == '@')
			what = "@include is not supported: tierd.conf is one file";
		else if (isdigit((unsigned char)c))
			what = skip_number(&scan) ? NULL :
			       "number is too large; sizes and times are strings with a unit, "
			       "like \"64GiB\"";
		else if (is_word(c) && c != '-')
			skip_word(&scan);
		else
			skip(&scan);
		if (what) {
			*ret_line = line;
			*ret_what = what;
			return -EINVAL;
		}
	}
	return 0;
}
