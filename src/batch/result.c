#include "batch/result.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"attempt", offsetof(struct batch_report, attempt)},       {"started", offsetof(struct batch_report, started_ms)},
    {"ended", offsetof(struct batch_report, ended_ms)},        {"output", offsetof(struct batch_report, output_bytes)},
    {"metrics", offsetof(struct batch_report, metrics_bytes)},
};

/* "0m1.234s" of the shell's times. */
static bool take_time(const char **text, int64_t *ms)
{
    char *end;
    long minutes = strtol(*text, &end, 10);
    if (end == *text || *end != 'm' || minutes < 0 || minutes > 1000000000)
        return false;
    const char *from = end + 1;
    double seconds = strtod(from, &end);
    if (end == from || *end != 's' || !(seconds >= 0 && seconds < 61))
        return false;
    *ms = (int64_t)minutes * 60000 + (int64_t)(seconds * 1000 + 0.5);
    *text = end + 1;
    return true;
}

static void take_line(const char *line, struct batch_report *r)
{
    const char *value = strchr(line, '=');
    int64_t user, system_time;
    if (!value) {
        /* Two lines: the shell's, then its children's; the last one stays. */
        if (take_time(&line, &user) && *line == ' ' && (line++, take_time(&line, &system_time))) {
            r->user_ms = user;
            r->system_ms = system_time;
        }
        return;
    }
    size_t length = (size_t)(value++ - line);
    int64_t n;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (strlen(numbers[i].name) == length && strncmp(line, numbers[i].name, length) == 0 && parse_int64(value, &n))
            memcpy((char *)r + numbers[i].offset, &n, sizeof n);
    if (length == 4 && strncmp(line, "exit", 4) == 0 && parse_int64(value, &n) && n >= 0 && n <= 255)
        r->exit_code = (int)n;
    if (length == 5 && strncmp(line, "nodes", 5) == 0)
        snprintf(r->nodes, sizeof r->nodes, "%s", value);
    if (length == 5 && strncmp(line, "array", 5) == 0)
        snprintf(r->array, sizeof r->array, "%s", value);
    r->ended |= strcmp(line, "state=ended") == 0;
    r->terminated |= strcmp(line, "terminated=1") == 0;
}

bool batch_report_parse(const char *text, struct batch_report *out)
{
    struct batch_report r =
        {.attempt = -1, .started_ms = -1, .ended_ms = -1, .user_ms = -1, .system_ms = -1, .exit_code = -1};
    char *copy = xstrdup(text), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(line, &r);
    free(copy);
    /* An end without an exit code is none: the rest of the file is missing. */
    if (r.attempt < 0 || (r.ended && r.exit_code < 0))
        return false;
    *out = r;
    return true;
}
