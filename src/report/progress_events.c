#include "report/progress_events.h"

#include "results/json.h"

static const char *const progress_event_names[EVENT_COUNT] = {
    [EVENT_ENUMERATED] = "enumerated", [EVENT_ATTEMPT] = "attempt", [EVENT_PROGRESS] = "progress",
    [EVENT_NOTICE] = "notice",         [EVENT_ERROR] = "error",     [EVENT_END] = "end",
};

void progress_event_begin(enum progress_event event, struct buffer *out)
{
    buffer_printf(out, "{\"event\":\"%s\",\"schema_version\":%d", progress_event_names[event], JSON_SCHEMA_VERSION);
}

void progress_event_add_text(enum progress_event event, const char *text, struct buffer *out)
{
    progress_event_begin(event, out);
    JSON_WRITE(out, JSON_STRING("text", text));
    buffer_add_char(out, '}');
}
