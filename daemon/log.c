// SPDX-License-Identifier: GPL-2.0-only
/* Making records. See log.h. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const message_ids[LOG_EVENT_COUNT] = {
#define X(name, id)	[LOG_##name##_EVENT] = id,
	LOG_EVENTS(X)
#undef X
};

const char *log_event_message_id(enum log_event event)
{
	return message_ids[event];
}

static void write_text(const struct log_sink *sink, struct log_record *record, const char *format,
		       va_list args) __attribute__((format(printf, 3, 0)));

static void write_text(const struct log_sink *sink, struct log_record *record, const char *format,
		       va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	record->text = text;
	sink->write(sink->ctx, record);
}

void log_write(const struct log_sink *sink, struct log_record record, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_text(sink, &record, format, args);
	va_end(args);
}

void log_plain(const struct log_sink *sink, enum log_event event, int priority, const char *pool,
	       const char *format, ...)
{
	struct log_record record = LOG_RECORD(event, priority, pool);
	va_list args;

	va_start(args, format);
	write_text(sink, &record, format, args);
	va_end(args);
}
