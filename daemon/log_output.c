// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records to the journal or to stderr. Allocates nothing of its own; failing to
 * log has nowhere to be reported and is ignored.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <systemd/sd-journal.h>

#include "log.h"

#define MAX_FIELDS	12
#define FIELD_SIZE	320
#define TEXT_SIZE	1280

bool log_output_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

struct fields {
	struct iovec iov[MAX_FIELDS];
	int nr;
	char buffers[MAX_FIELDS][FIELD_SIZE];
};

static void add_field(struct fields *fields, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_field(struct fields *fields, const char *format, ...)
{
	char *buffer = fields->buffers[fields->nr];
	va_list args;

	va_start(args, format);
	vsnprintf(buffer, FIELD_SIZE, format, args);
	va_end(args);
	fields->iov[fields->nr++] = (struct iovec) { buffer, strlen(buffer) };
}

static void write_journal(const struct log_record *record)
{
	struct fields fields = { .nr = 0 };
	char text[TEXT_SIZE];
	int n;

	n = snprintf(text, sizeof(text), "MESSAGE=%s%s%s", record->pool ? record->pool : "",
		     record->pool ? ": " : "", record->text);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	fields.iov[fields.nr++] = (struct iovec) { text, n };
	add_field(&fields, "PRIORITY=%d", record->priority);
	add_field(&fields, "MESSAGE_ID=%s", log_event_message_id(record->event));
	if (record->pool)
		add_field(&fields, "TIERD_POOL=%s", record->pool);
	if (record->volume)
		add_field(&fields, "TIERD_VOLUME=%s", record->volume);
	if (record->has_extent)
		add_field(&fields, "TIERD_EXTENT=%llu", (unsigned long long)record->extent);
	if (record->from_tier != LOG_NO_TIER)
		add_field(&fields, "TIERD_FROM=%d", record->from_tier);
	if (record->to_tier != LOG_NO_TIER)
		add_field(&fields, "TIERD_TO=%d", record->to_tier);
	if (record->reason != TIER_REASON_NONE)
		add_field(&fields, "TIERD_REASON=%s", tier_reason_word(record->reason));
	if (record->has_bytes)
		add_field(&fields, "TIERD_BYTES=%llu", (unsigned long long)record->bytes);
	sd_journal_sendv(fields.iov, fields.nr);
}

void log_output_write(void *ctx, const struct log_record *record)
{
	const struct log_output *output = ctx;

	if (record->priority > output->max_priority)
		return;
	if (output->is_journal)
		write_journal(record);
	else
		fprintf(stderr, "%s%s%s\n", record->pool ? record->pool : "",
			record->pool ? ": " : "", record->text);
}
