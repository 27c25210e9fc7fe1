#include "batch/batches.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/script.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define FILE_BYTES_MOST (64 << 20)

static const char *const file_names[] = {"tasks", "options", "script", "job", "exclude"};

static void member_free(struct batch_member *m)
{
    free_all(m->directory, m->nodes, m->reason);
}

static void array_free(struct batch_array *a)
{
    for (size_t i = 0; i < a->count; i++)
        member_free(&a->members[i]);
    free_all(a->members, a->name, a->options, a->exclude, a->refusal);
}

void batch_list_free(struct batch_list *b)
{
    for (size_t i = 0; i < b->count; i++)
        array_free(&b->arrays[i]);
    free_all(b->arrays, b->root, b->token);
}

void batch_list_drop(struct batch_list *b, size_t index)
{
    array_free(&b->arrays[index]);
    b->count--;
    memmove(b->arrays + index, b->arrays + index + 1, (b->count - index) * sizeof *b->arrays);
}

/* Takes `name`. */
static struct batch_array *add_array(struct batch_list *b, char *name, const char *options, const char *exclude)
{
    b->arrays = array_grow(b->arrays, b->count, sizeof *b->arrays);
    struct batch_array *a = &b->arrays[b->count++];
    *a = (struct batch_array){.name = name,
                              .options = xstrdup(options),
                              .exclude = exclude ? xstrdup(exclude) : NULL,
                              .stage = BATCH_OPEN,
                              .job = -1};
    return a;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

struct batch_array *batch_list_open(struct batch_list *b, char *name, const char *options, const char *exclude,
                                    int64_t most)
{
    for (size_t i = 0; i < b->count; i++) {
        struct batch_array *a = &b->arrays[i];
        if (a->stage == BATCH_OPEN && (int64_t)a->count < most && strcmp(a->options, options) == 0 &&
            is_same(a->exclude, exclude)) {
            free(name);
            return a;
        }
    }
    return add_array(b, name, options, exclude);
}

struct batch_member *batch_array_add(struct batch_array *a, struct batch_member member)
{
    *array_add(a->members, a->count) = member;
    a->left++;
    return &a->members[a->count - 1];
}

void batch_list_split(struct batch_list *b, size_t index, char *name)
{
    struct batch_array *second = add_array(b, name, b->arrays[index].options, b->arrays[index].exclude);
    struct batch_array *first = &b->arrays[index];
    size_t keep = first->count / 2;
    for (size_t i = keep; i < first->count; i++)
        batch_array_add(second, first->members[i]);
    first->count = first->left = keep;
    second->stage = first->stage;
    second->begun_ms = first->begun_ms;
    second->backoff_ms = first->backoff_ms;
    second->not_before_ms = first->not_before_ms;
}

/* --- directories --- */

static char *directory_of(const struct batch_list *b, const char *name)
{
    return xasprintf("%s/slurm/%s", b->root, name);
}

static char *file_of(const struct batch_list *b, const struct batch_array *a, const char *file)
{
    return xasprintf("%s/slurm/%s/%s", b->root, a->name, file);
}

char *batch_array_script(const struct batch_list *b, const struct batch_array *a)
{
    return file_of(b, a, "script");
}

static int write_text(const struct batch_list *b, const struct batch_array *a, const char *file,
                      const struct buffer *text, struct error *e)
{
    char *path = file_of(b, a, file);
    int rc = file_write_atomic(path, buffer_text(text), text->length, e);
    free(path);
    return rc;
}

static char *token_of(const struct batch_list *b, const struct batch_array *a)
{
    return xasprintf("meshsweep:%s:%s", b->token, a->name);
}

bool batch_array_owns(const struct batch_list *b, const struct batch_array *a, const char *comment)
{
    char *token = token_of(b, a);
    size_t length = strlen(token);
    bool owns = strncmp(comment, token, length) == 0 && (comment[length] == ' ' || comment[length] == '\0');
    free(token);
    return owns;
}

static void add_script(const struct batch_list *b, const struct batch_array *a, const char *job_name,
                       int64_t heartbeat_ms, struct buffer *out)
{
    struct batch_task *tasks = xcalloc(a->count, sizeof *tasks);
    for (size_t i = 0; i < a->count; i++)
        tasks[i] = (struct batch_task){a->members[i].directory, a->members[i].attempt, a->members[i].limit_ms,
                                       a->members[i].grace_ms};
    struct buffer options = BUFFER_INIT;
    const struct batch_request exclude = {.exclude = a->exclude};
    buffer_add_text(&options, a->options);
    batch_request_add(&exclude, &options);
    char *token = token_of(b, a);
    char *comment = xasprintf("%s attempts %" PRId64 " to %" PRId64 " of %s", token, a->members[0].attempt,
                              a->members[a->count - 1].attempt, b->root);
    const struct batch_script batch = {buffer_text(&options),       job_name, comment, b->root,
                                       (heartbeat_ms + 999) / 1000, tasks,    a->count};
    batch_script_add(&batch, out);
    buffer_free(&options);
    free_all(comment, token, tasks);
}

static void add_tasks(const struct batch_array *a, struct buffer *out)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct batch_member *m = &a->members[i];
        buffer_printf(out, "%" PRId64 " %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", m->attempt,
                      m->directory, m->limit_ms, m->grace_ms, m->minutes, m->watched.idle_ms, m->watched.startup_ms);
    }
}

int batch_array_write(const struct batch_list *b, const struct batch_array *a, const char *job_name,
                      int64_t heartbeat_ms, struct error *e)
{
    char *directory = directory_of(b, a->name);
    struct buffer tasks = BUFFER_INIT, options = BUFFER_INIT, script = BUFFER_INIT, exclude = BUFFER_INIT;
    add_tasks(a, &tasks);
    buffer_add_text(&options, a->options);
    buffer_add_text(&exclude, a->exclude ? a->exclude : "");
    add_script(b, a, job_name, heartbeat_ms, &script);
    int rc = file_make_directories(directory, e) < 0 || write_text(b, a, "options", &options, e) < 0 ||
                     write_text(b, a, "exclude", &exclude, e) < 0 || write_text(b, a, "script", &script, e) < 0
                 ? -1
                 : write_text(b, a, "tasks", &tasks, e);
    buffer_free(&tasks);
    buffer_free(&options);
    buffer_free(&exclude);
    buffer_free(&script);
    free(directory);
    return rc;
}

int batch_array_write_job(const struct batch_list *b, const struct batch_array *a, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "%" PRId64 "\n", a->job);
    int rc = write_text(b, a, "job", &text, e);
    buffer_free(&text);
    return rc;
}

void batch_array_remove(const struct batch_list *b, const struct batch_array *a)
{
    /* `tasks` first: without it the rest is no batch. */
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        char *path = file_of(b, a, file_names[i]);
        unlink(path);
        free(path);
    }
    char *directory = directory_of(b, a->name);
    rmdir(directory);
    free(directory);
}

/* --- reading them again --- */

/* NULL when there is none. */
static char *read_text(const struct batch_list *b, const struct batch_array *a, const char *file)
{
    char *path = file_of(b, a, file), *text = file_text(path, FILE_BYTES_MOST);
    free(path);
    return text;
}

static bool read_task(char *line, struct batch_member *out)
{
    enum { FIELDS = 7 };
    char *fields[FIELDS], *rest = NULL;
    int64_t numbers[FIELDS] = {0};
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strtok_r(i ? NULL : line, " ", &rest);
        if (!fields[i] || (i != 1 && !parse_int64(fields[i], &numbers[i])))
            return false;
    }
    *out = (struct batch_member){.attempt = numbers[0],
                                 .directory = xstrdup(fields[1]),
                                 .limit_ms = numbers[2],
                                 .grace_ms = numbers[3],
                                 .minutes = numbers[4],
                                 .watched = {0, numbers[5], numbers[6]}};
    return true;
}

static bool read_tasks(struct batch_array *a, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct batch_member m;
        if (!read_task(line, &m))
            return false;
        batch_array_add(a, m);
    }
    return a->count > 0;
}

static void load(struct batch_list *b, const char *name)
{
    struct batch_array *a = add_array(b, xstrdup(name), "", NULL);
    char *tasks = read_text(b, a, "tasks"), *options = read_text(b, a, "options"), *job = read_text(b, a, "job");
    char *exclude = read_text(b, a, "exclude");
    int64_t id = job ? strtoll(job, NULL, 10) : 0;
    bool good = tasks && options && read_tasks(a, tasks);
    a->stage = id > 0 ? BATCH_SUBMITTED : BATCH_DOUBTFUL;
    a->job = id > 0 ? id : -1;
    free(a->options);
    a->options = options;
    a->exclude = exclude && *exclude ? xstrdup(exclude) : NULL;
    free_all(exclude, tasks, job);
    if (!good)
        batch_list_drop(b, b->count - 1);
}

static int is_name(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

void batch_list_load(struct batch_list *b)
{
    char *path = xasprintf("%s/slurm", b->root);
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_name, versionsort);
    for (int i = 0; i < n; i++) {
        load(b, entries[i]->d_name);
        free(entries[i]);
    }
    free_all(entries, path);
}
