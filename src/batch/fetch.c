/* The frames of a job where no file system is shared, in what its script prints (batch/script.h). They are put into the
 * attempt's directory, where everything else looks for them. Only what follows without a gap, and has its checksum, is
 * taken; the result, which comes last and says how much came before it, only behind all of that. So whoever dies here
 * leaves a shorter file, which the next one completes from where it ends. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/frame.h"
#include "batch/parts.h"
#include "batch/script.h"
#include "process/job_file.h"
#include "process/process.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

enum { OUTPUT, METRICS, FILES };
static const char *const file_names[FILES] = {"output.log", "metrics.jsonl"};

struct fetching {
    const char *job_dir;
    int64_t attempt, have[FILES]; /* bytes of the files here */
    char *result, *wrong;         /* the last result; what is wrong with the log, the first thing of all */
    bool damaged;
};

/* The first thing that is wrong says most. */
static void note_wrong(struct fetching *f, char *what)
{
    f->damaged = true;
    if (f->wrong)
        free(what);
    else
        f->wrong = what;
}

static void add_to_file(struct fetching *f, int file, int64_t from, const struct frame *frame)
{
    OWNED char *path = xasprintf("%s/%s", f->job_dir, file_names[file]);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    const int64_t have = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), end = from + (int64_t)frame->length;
    if (from > have)
        note_wrong(f, xasprintf("its log has lost %s from byte %" PRId64 " to %" PRId64 " (was it rotated?)",
                                file_names[file], have, from));
    else if (end > have && (fd < 0 || file_write_all(fd, frame->bytes + (have - from), (size_t)(end - have)) < 0))
        note_wrong(f, xasprintf("%s cannot be written", path));
    FAULT(FRAME_WRITTEN);
    f->have[file] = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    descriptor_close(&fd);
}

/* "NAME FROM LENGTH CHECKSUM". True: the frame is all there, and `*length` bytes of it are dealt with. */
static bool take_frame(struct fetching *f, const char *words, const char *body, size_t left, size_t *length)
{
    char *at;
    struct frame frame;
    const size_t name = strcspn(words, " ");
    const int64_t from = words[name] ? strtoll(words + name, &at, 10) : -1;
    if (from < 0 || !frame_read(at, body, left, &frame))
        return false;
    *length = 0;
    if (frame.damaged) {
        note_wrong(f, xasprintf("a frame of %.*s at byte %" PRId64 " in its log has a wrong checksum", (int)name, words,
                                from));
        return true;
    }
    *length = frame.length;
    for (int i = 0; i < FILES; i++)
        if (strlen(file_names[i]) == name && strncmp(words, file_names[i], name) == 0)
            add_to_file(f, i, from, &frame);
    if (sizeof BATCH_RESULT_FILE - 1 == name && strncmp(words, BATCH_RESULT_FILE, name) == 0)
        text_replace(&f->result, xstrndup(frame.bytes, frame.length));
    return true;
}

/* Lines of a body that was cut off at its beginning are read, too: without the secret they are nothing. */
static void take_frames(struct fetching *f, const char *secret, const char *text, size_t length)
{
    char *mark = xasprintf("meshsweep:%s.%" PRId64 " ", secret, f->attempt), line[256];
    const char *end;
    for (size_t at = 0; at < length && (end = memchr(text + at, '\n', length - at));) {
        const size_t bytes = (size_t)(end - text) - at, next = at + bytes + 1;
        size_t body = 0;
        if (bytes < sizeof line && bytes > strlen(mark) && memcmp(text + at, mark, strlen(mark)) == 0) {
            memcpy(line, text + at, bytes);
            line[bytes] = '\0';
            if (!take_frame(f, line + strlen(mark), text + next, length - next, &body)) {
                note_wrong(f, xstrdup("its log ends within a frame"));
                break;
            }
        }
        at = next + body;
    }
    free(mark);
}

/* A result that ends the attempt stands for all that it says was written before it. */
static void take_result(struct fetching *f)
{
    struct batch_report r;
    struct error e = ERROR_INIT;
    OWNED char *path = xasprintf("%s/" BATCH_RESULT_FILE, f->job_dir);
    const bool is_there = f->result && batch_report_parse(f->result, &r) && r.attempt == f->attempt;
    if (is_there && r.ended && (f->have[OUTPUT] < r.output_bytes || f->have[METRICS] < r.metrics_bytes))
        note_wrong(f, xstrdup("its log has lost what the job wrote before its result (was it rotated?)"));
    else if (is_there && file_write_atomic(path, f->result, strlen(f->result), &e) < 0)
        note_wrong(f, xstrdup(e.text));
    else if ((!is_there || !r.ended) && !f->wrong)
        f->wrong = xstrdup("its log has no result");
    FAULT(RESULT_FETCHED);
}

/* Keeps for a person what could not be taken. */
static void keep_log(const struct fetching *f, const char *text, size_t length)
{
    struct error e = ERROR_INIT;
    OWNED char *path = xasprintf("%s/" BATCH_KEPT_LOG, f->job_dir);
    if (f->wrong && length > 0)
        file_write_atomic(path, text, length, &e);
    else
        unlink(path);
}

void batch_fetch_member(const struct batch_list *b, char *const *environment, struct batch_array *a, size_t index)
{
    struct batch_member *m = &a->members[index];
    OWNED_VALUES values = {0};
    struct error e = ERROR_INIT;
    size_t length = 0;
    char *job_dir = xasprintf("%s/%s", b->root, m->directory);
    struct fetching f = {.job_dir = job_dir, .attempt = m->attempt};
    for (int i = 0; i < FILES; i++) {
        OWNED char *path = xasprintf("%s/%s", job_dir, file_names[i]);
        const int64_t have = job_file_size(path);
        f.have[i] = have > 0 ? have : 0;
    }
    batch_values_add(&values, "id", xstrdup(a->job), false);
    batch_values_add(&values, "job", batch_reference(b, a, index), false);
    batch_values_add(&values, "task", xasprintf("%" PRId64, b->system->first_task + (int64_t)index), false);
    char *text = batch_fetch(b->system, environment, &values, &length, &e);
    if (text)
        take_frames(&f, a->secret, text, length);
    else
        note_wrong(&f, xasprintf("its log cannot be fetched: %s", e.text));
    if (text)
        take_result(&f);
    if (batch_state_is_final(m->queue))
        keep_log(&f, text, length);
    m->fetched_ms = clock_monotonic_ms();
    text_replace(&m->unfetched, f.wrong);
    m->is_damaged = f.damaged;
    free_all(text, job_dir, f.result);
}

void batch_fetch_running(struct batch_executor *x)
{
    const int64_t begun_ms = clock_monotonic_ms();
    int64_t now_ms = begun_ms;
    for (; now_ms - begun_ms <= x->config->poll_ms / 5; now_ms = clock_monotonic_ms()) {
        struct batch_array *of = NULL;
        size_t index = 0;
        for (size_t i = 0; i < x->batches.count; i++) {
            struct batch_array *a = &x->batches.arrays[i];
            for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count; k++) {
                const struct batch_member *m = &a->members[k];
                const bool is_due =
                    !m->reported && m->queue == BATCH_RUNNING && now_ms - m->fetched_ms >= x->config->heartbeat_ms;
                if (is_due && (!of || m->fetched_ms < of->members[index].fetched_ms)) {
                    of = a;
                    index = k;
                }
            }
        }
        if (!of)
            return;
        batch_fetch_member(&x->batches, x->environment, of, index);
    }
}
