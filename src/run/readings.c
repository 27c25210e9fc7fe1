#include "run/readings.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/reading.h"
#include "process/job_file.h"
#include "process/process.h"
#include "process/worker.h"
#include "util/memory.h"

enum {
    BRIEF_BYTES = 256 << 10, /* of output, which take a few milliseconds */
    SLICE_BYTES = 8 << 20    /* read at once, so that each attempt has its turn */
};

enum look_state {
    LOOK_NONE = 0,
    LOOK_WANTED,
    LOOK_MADE, /* and not taken */
};

/* One attempt. The thread is at one of them at most, and then has all but what the loop writes when it is asked for
 * something, and `known_`, which the loop copies when the thread is done. */
struct watched_output {
    int64_t attempt_id;
    int log_fd; /* of what is followed; -1: by its name */
    char *log_path, *metrics_path, *job_dir;
    struct output_reading *reading;
    bool caught_up;
    enum look_state look;
    struct sample_list samples; /* LOOK_MADE */
    bool is_recorded;
    struct recording recording;
    /* of the loop */
    int64_t known_position;
    bool known_any;
    bool follow_wanted, look_due, has_ended;
    struct running_attempt attempt;
    struct outcome outcome;
};

struct readings {
    struct recording_context context;
    struct worker *worker;
    struct watched_output **items; /* in the order in which they came */
    size_t count;
    struct watched_output *current; /* that the thread is at; NULL: none */
    bool current_ends;
    size_t next; /* item that has its turn */
};

struct readings *readings_create(const struct recording_context *context)
{
    struct readings *r = xcalloc(1, sizeof *r);
    r->context = *context;
    r->worker = worker_create();
    return r;
}

/* All but what was taken. */
static void output_free(struct watched_output *w)
{
    if (w->look == LOOK_MADE)
        sample_list_free(&w->samples);
    output_reading_free(w->reading);
    descriptor_close(&w->log_fd);
    free_all(w->log_path, w->metrics_path, w->job_dir, w);
}

static void remove_item(struct readings *r, size_t index)
{
    output_free(r->items[index]);
    memmove(r->items + index, r->items + index + 1, (--r->count - index) * sizeof(struct watched_output *));
}

void readings_free(struct readings *r)
{
    if (!r)
        return;
    worker_free(r->worker);
    while (r->count > 0) {
        struct watched_output *w = r->items[r->count - 1];
        if (w->is_recorded)
            recording_free(&w->recording);
        if (w->has_ended) {
            running_attempt_free(&w->attempt);
            outcome_free(&w->outcome);
        }
        remove_item(r, r->count - 1);
    }
    free_all(r->items, r);
}

/* --- the thread --- */

static void make_recording(struct readings *r, struct watched_output *w)
{
    struct recording_context context = r->context;
    const struct outcome *o = &w->outcome;
    if (o->log_path)
        output_reading_attach(w->reading, job_file_open(o->log_path));
    if (output_reading_follow(w->reading, w->job_dir, SLICE_BYTES))
        return;
    context.job_dir = w->job_dir;
    context.attempt = &w->attempt;
    context.reading = w->reading;
    recording_make(&context, o, &w->recording);
    w->is_recorded = true;
}

static void follow(struct watched_output *w)
{
    w->caught_up = !output_reading_follow(w->reading, w->job_dir, SLICE_BYTES);
    if (!w->caught_up || w->look != LOOK_WANTED)
        return;
    output_reading_look(w->reading, w->log_path, w->metrics_path, w->job_dir, &w->samples);
    w->look = LOOK_MADE;
}

static void read_on(void *context)
{
    struct readings *r = context;
    struct watched_output *w = r->current;
    if (r->current_ends)
        make_recording(r, w);
    else
        follow(w);
}

/* --- the loop --- */

static void take_current(struct readings *r)
{
    struct watched_output *w = r->current;
    if (!w || !worker_is_done(r->worker))
        return;
    r->current = NULL;
    w->known_position = output_reading_position(w->reading);
    w->known_any = output_reading_found_any(w->reading);
    w->follow_wanted &= !w->caught_up;
    w->look_due &= w->look != LOOK_MADE;
}

static bool has_work(const struct watched_output *w)
{
    return w->has_ended ? !w->is_recorded : w->follow_wanted || w->look_due;
}

static void give_output(struct readings *r, struct watched_output *w)
{
    r->current = w;
    r->current_ends = w->has_ended;
    if (w->look_due && w->look == LOOK_NONE)
        w->look = LOOK_WANTED;
    if (!w->reading)
        w->reading = output_reading_create(r->context.readers);
    /* Here, where a path is certain to be this attempt's: a slot's is that of its next one soon. */
    if (!w->has_ended)
        output_reading_attach(w->reading,
                              w->log_fd >= 0 ? fcntl(w->log_fd, F_DUPFD_CLOEXEC, 3) : job_file_open(w->log_path));
    worker_begin(r->worker, read_on, r);
}

void readings_turn(struct readings *r)
{
    take_current(r);
    for (size_t n = 0; !r->current && n < r->count; n++) {
        r->next = r->next + 1 < r->count ? r->next + 1 : 0;
        if (has_work(r->items[r->next]))
            give_output(r, r->items[r->next]);
    }
}

bool readings_are_busy(const struct readings *r)
{
    return r->current != NULL;
}

static size_t index_of(const struct readings *r, int64_t attempt)
{
    size_t i = FIRST(k, r->count, r->items[k]->attempt_id == attempt);
    return i;
}

static struct watched_output *output_of(struct readings *r, const struct running_attempt *f)
{
    size_t i = index_of(r, f->claim.attempt_id);
    if (i < r->count)
        return r->items[i];
    struct watched_output *w = xcalloc(1, sizeof *w);
    w->attempt_id = f->claim.attempt_id;
    w->log_fd = -1;
    w->job_dir = xstrdup(f->job_dir);
    return *array_add(r->items, r->count) = w;
}

static void set_files(struct watched_output *w, const struct attempt_files *files)
{
    if (w->log_fd < 0 && files->log_fd >= 0)
        w->log_fd = fcntl(files->log_fd, F_DUPFD_CLOEXEC, 3);
    if (!w->log_path && files->log_path)
        w->log_path = xstrdup(files->log_path);
    if (!w->metrics_path && files->metrics_path)
        w->metrics_path = xstrdup(files->metrics_path);
}

void readings_follow(struct readings *r, const struct running_attempt *f, const struct attempt_files *files)
{
    struct watched_output *w = output_of(r, f);
    set_files(w, files);
    w->follow_wanted = true;
    readings_turn(r);
}

int64_t readings_position(const struct readings *r, int64_t attempt)
{
    size_t i = index_of(r, attempt);
    return i < r->count ? r->items[i]->known_position : 0;
}

bool readings_found_any(const struct readings *r, int64_t attempt)
{
    size_t i = index_of(r, attempt);
    return i < r->count && r->items[i]->known_any;
}

void readings_look(struct readings *r, const struct running_attempt *f, const struct attempt_files *files)
{
    struct watched_output *w = output_of(r, f);
    set_files(w, files);
    w->look_due = true;
    readings_turn(r);
}

bool readings_take_look(struct readings *r, int64_t *attempt, struct sample_list *out)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i]->look_due && !r->items[i]->has_ended)
            return false;
    for (size_t i = 0; i < r->count; i++) {
        struct watched_output *w = r->items[i];
        if (w == r->current || w->has_ended || w->look != LOOK_MADE)
            continue;
        w->look = LOOK_NONE;
        *attempt = w->attempt_id;
        *out = w->samples;
        return true;
    }
    return false;
}

static bool is_small(const char *path)
{
    struct stat status;
    return !path || stat(path, &status) < 0 || status.st_size <= BRIEF_BYTES;
}

bool readings_are_brief(const struct readings *r, const struct running_attempt *f, const struct outcome *o)
{
    if (o->ending == ENDING_SPAWN_FAILED)
        return true;
    const size_t i = index_of(r, f->claim.attempt_id);
    if ((i < r->count && r->items[i] == r->current) ||
        o->log_bytes - readings_position(r, f->claim.attempt_id) > BRIEF_BYTES || !is_small(o->metrics_path) ||
        reader_set_reads_files(r->context.readers))
        return false;
    /* The logs in the directory of a job that failed are searched. */
    bool went_well = o->ending == ENDING_EXITED && o->exit_code == 0;
    return went_well || access(f->job_dir, F_OK) < 0;
}

struct output_reading *readings_take(struct readings *r, int64_t attempt)
{
    size_t i = index_of(r, attempt);
    if (i == r->count)
        return NULL;
    struct output_reading *reading = r->items[i]->reading;
    r->items[i]->reading = NULL;
    remove_item(r, i);
    return reading;
}

void readings_add_ended(struct readings *r, const struct running_attempt *f, const struct outcome *o)
{
    struct watched_output *w = output_of(r, f);
    w->attempt = *f;
    w->outcome = *o;
    w->has_ended = true;
    readings_turn(r);
}

size_t readings_ended_count(const struct readings *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += r->items[i]->has_ended;
    return count;
}

bool readings_take_ended(struct readings *r, struct running_attempt *f, struct outcome *o, struct recording *out)
{
    for (size_t i = 0; i < r->count; i++) {
        struct watched_output *w = r->items[i];
        if (w == r->current || !w->is_recorded)
            continue;
        *f = w->attempt;
        *o = w->outcome;
        *out = w->recording;
        remove_item(r, i);
        return true;
    }
    return false;
}
