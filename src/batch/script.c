#include "batch/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "batch/frame.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- the batch script --- */

static void add_seconds(struct buffer *b, int64_t ms)
{
    buffer_printf(b, "%" PRId64, ms / 1000);
    if (ms % 1000)
        buffer_printf(b, ".%03d", (int)(ms % 1000));
}

static void add_task(const struct batch_script *batch, size_t index, struct buffer *b)
{
    const struct batch_task *t = &batch->tasks[index];
    buffer_printf(b, "%" PRId64 ") directory=", batch->system->first_task + (int64_t)index);
    shell_add_word(b, t->directory);
    buffer_printf(b, " attempt=%" PRId64 " limit=", t->attempt);
    add_seconds(b, t->limit_ms);
    buffer_add_text(b, " grace=");
    add_seconds(b, t->grace_ms);
    if (batch->secret) {
        /* Behind a cut its line must be one of its own, whatever the frame before it ends with. */
        OWNED char *there = xasprintf("%s/%s", batch->root, t->directory);
        buffer_printf(b, " mark='\nmeshsweep:%s.%" PRId64 "'\nprepare() {\n", batch->secret, t->attempt);
        frame_add_files(there, there, b);
        buffer_add_text(b, "}\n");
    }
    buffer_add_text(b, " ;;\n");
}

/* "case ${INDEX-} in": a batch of one may be no array, and has no index then. */
static void add_case(const struct batch_script *batch, struct buffer *b)
{
    const struct batch_system *s = batch->system;
    if (s->arrays == ARRAYS_ALWAYS)
        buffer_printf(b, "case ${%s-} in\n", s->task_variable);
    else if (batch->task_count > 1)
        buffer_printf(b, "case ${%s:-none} in\n", s->task_variable);
    else
        buffer_printf(b, "case %" PRId64 " in\n", s->first_task);
}

void batch_script_add(const struct batch_script *batch, struct buffer *b)
{
    const struct batch_system *s = batch->system;
    buffer_printf(b, "#!/bin/sh\n%sroot=", batch->head);
    shell_add_word(b, batch->root);
    buffer_printf(b, " heartbeat=%" PRId64 " reserved='%s'\n", batch->heartbeat_s,
                  s->reserved_exits ? s->reserved_exits : "");
    buffer_printf(b, "array=%s%s%s nodes=\"%s\"\n", s->job_variable ? "${" : "", s->job_variable ? s->job_variable : "",
                  s->job_variable ? "-}" : "", s->nodes);
    buffer_add_text(b, "mark= rank= hosts=\nprepare() { :; }\n");
    add_case(batch, b);
    for (size_t i = 0; i < batch->task_count; i++)
        add_task(batch, i, b);
    buffer_add_text(b, "*) exit 64 ;;\nesac\n");
    if (s->hosts)
        buffer_printf(b, "rank=\"%s\" hosts=\"%s\"\n", s->rank, s->hosts);
    buffer_add_text(b, embedded_text("src/batch/frame.sh"));
    buffer_add_text(b, embedded_text("src/batch/supervise.sh"));
}

/* --- the job --- */

static void add_setting(const char *setting, struct buffer *b)
{
    size_t length = strcspn(setting, "=");
    buffer_add_text(b, "export ");
    buffer_add(b, setting, length);
    buffer_add_char(b, '=');
    shell_add_word(b, setting[length] ? setting + length + 1 : "");
    buffer_add_char(b, '\n');
}

void batch_job_add(char *const *settings, const char *directory, char *const *launcher, char *const *command,
                   struct buffer *b)
{
    for (; *settings; settings++)
        add_setting(*settings, b);
    if (directory) {
        buffer_add_text(b, "cd -- ");
        shell_add_word(b, directory);
        buffer_add_text(b, " || exit 126\n");
    }
    buffer_add_text(b, "exec");
    for (; launcher && *launcher; launcher++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *launcher);
    }
    for (; *command; command++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *command);
    }
    buffer_add_char(b, '\n');
}
