#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/frame.h"
#include "ssh/executor.h"
#include "util/buffer.h"
#include "util/parse.h"

#define MARK "meshsweep:"

/* "3 0 0 0 1769000000123 1769000000456 0m0.01s 0m0.00s"; a date without milliseconds ends in letters. */
static void read_end(const char *text, struct ssh_report *r)
{
    char *at;
    const char *rest;
    long long times[2];
    r->exit_code = (int)strtol(text, &at, 10);
    r->stopped = strtol(at, &at, 10) != 0;
    r->leftovers = strtol(at, &at, 10);
    r->oom = strtol(at, &at, 10) != 0;
    for (int i = 0; i < 2; i++) {
        times[i] = strtoll(at, &at, 10);
        times[i] = *at == ' ' ? times[i] : -1;
        at += strcspn(at, " ");
    }
    r->duration_ms = times[0] > 0 && times[1] >= times[0] ? times[1] - times[0] : -1;
    rest = at + strspn(at, " ");
    r->user_ms = parse_shell_time(&rest);
    rest += strspn(rest, " ");
    r->system_ms = parse_shell_time(&rest);
    r->ended = r->begun && r->exit_code >= 0;
}

static void read_line(const char *line, struct ssh_report *r)
{
    const bool is_own = strncmp(line, MARK, sizeof MARK - 1) == 0;
    const char *own = is_own ? line + sizeof MARK - 1 : "";
    r->begun |= strcmp(own, "begun") == 0;
    if (strncmp(own, "end ", 4) == 0)
        read_end(own + 4, r);
    else if (!is_own || strncmp(own, "refused ", 8) == 0)
        snprintf(r->said, sizeof r->said, "%.*s", (int)strcspn(is_own ? own + 8 : line, "\r"), is_own ? own + 8 : line);
}

size_t ssh_report_read(const char *text, size_t length, struct ssh_report *r, struct buffer *metrics)
{
    static const char mark[] = MARK "metrics ";
    size_t done = 0;
    const char *end;
    while ((end = memchr(text + done, '\n', length - done))) {
        char line[1024];
        const size_t bytes = (size_t)(end - text) - done, next = done + bytes + 1;
        snprintf(line, sizeof line, "%.*s", (int)(bytes < sizeof line ? bytes : sizeof line - 1), text + done);
        if (strncmp(line, mark, sizeof mark - 1) != 0) {
            read_line(line, r);
            done = next;
            continue;
        }
        struct frame f;
        if (!frame_read(line + sizeof mark - 1, text + next, length - next, &f))
            break;
        r->damaged |= f.damaged;
        buffer_add(metrics, f.bytes, f.length);
        done = next + f.length;
    }
    return done;
}
