/* The lines of `run --progress json`: one object each, beginning with {"event": NAME, "schema_version": …}. */
#pragma once

#include "util/buffer.h"

enum progress_event {
    EVENT_ENUMERATED,
    EVENT_ATTEMPT,
    EVENT_PROGRESS,
    EVENT_NOTICE,
    EVENT_ERROR,
    EVENT_END,
    EVENT_COUNT
};

/* docs/json.md and schemas/run.json list the same names. */

/* Appends the beginning of a line, without its closing brace. */
void progress_event_begin(enum progress_event event, struct buffer *out);

/* Appends a line with only a text, for a notice or an error, without a line end. */
void progress_event_add_text(enum progress_event event, const char *text, struct buffer *out);
