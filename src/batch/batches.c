#include "batch/batches.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch/script.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"

#define FILE_BYTES_MOST (64 << 20)

static const char *const file_names[] = {"tasks", "options", "script", "job", "exclude", "description", "secret"};

static void array_free(struct batch_array *a)
{
    for (size_t i = 0; i < a->count; i++)
        free_all(a->members[i].directory, a->members[i].nodes, a->members[i].reason, a->members[i].unfetched);
    free_all(a->members, a->name, a->options, a->exclude, a->refusal, a->job, a->secret);
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

/* Not to be guessed by what a job prints. */
static char *new_secret(void)
{
    unsigned char bytes[HASH_HEX_BYTES];
    char hex[HASH_HEX_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) < 0)
        snprintf((char *)bytes, sizeof bytes, "%lld", (long long)clock_wall_ms());
    const struct hash128 hash = hash_bytes(bytes, sizeof bytes);
    return xstrdup(hash_hex(&hash, hex));
}

/* Takes `name`. */
static struct batch_array *add_array(struct batch_list *b, char *name, const char *options, const char *exclude)
{
    struct batch_array *a = array_add(b->arrays, b->count);
    *a = (struct batch_array){.name = name,
                              .options = xstrdup(options),
                              .exclude = exclude ? xstrdup(exclude) : NULL,
                              .secret = new_secret(),
                              .stage = BATCH_OPEN};
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
    return xasprintf("%s/%s/%s", b->root, b->system->name, name);
}

char *batch_array_file(const struct batch_list *b, const struct batch_array *a, const char *file)
{
    return xasprintf("%s/%s/%s/%s", b->root, b->system->name, a->name, file);
}

static int write_text(const struct batch_list *b, const struct batch_array *a, const char *file,
                      const struct buffer *text, struct error *e)
{
    OWNED char *path = batch_array_file(b, a, file);
    return file_write_atomic(path, buffer_text(text), text->length, e);
}

static char *token_of(const struct batch_list *b, const struct batch_array *a)
{
    return xasprintf("meshsweep:%s:%s", b->token, a->name);
}

bool batch_array_owns(const struct batch_list *b, const struct batch_array *a, const char *comment)
{
    OWNED char *token = token_of(b, a);
    size_t length = strlen(token);
    return strncmp(comment, token, length) == 0 && (comment[length] == ' ' || comment[length] == '\0');
}

bool batch_array_is_one(const struct batch_list *b, const struct batch_array *a)
{
    return b->system->arrays == ARRAYS_ALWAYS || (b->system->arrays == ARRAYS_OF_SEVERAL && a->count > 1);
}

char *batch_reference(const struct batch_list *b, const struct batch_array *a, size_t index)
{
    const struct batch_system *s = b->system;
    OWNED_VALUES values = {0};
    if (!a->job)
        return xasprintf("%s_%zu", a->name, index);
    batch_values_add(&values, "id", xstrdup(a->job), false);
    batch_values_add(&values, "task", xasprintf("%" PRId64, s->first_task + (int64_t)index), false);
    const char *pattern = !batch_array_is_one(b, a) ? s->alone : index == SIZE_MAX ? s->whole : s->member;
    char *reference = batch_fill_text(pattern, &values);
    return reference;
}

/* Nodes as the system separates them; NULL: none. */
static char *excluded(const struct batch_system *s, const char *nodes)
{
    struct buffer b = BUFFER_INIT;
    for (; nodes && *nodes; nodes++) {
        if (*nodes == ',' && s->exclude_separator)
            buffer_add_text(&b, s->exclude_separator);
        else
            buffer_add_char(&b, *nodes);
    }
    return b.length ? buffer_take(&b) : NULL;
}

struct batch_values batch_array_values(const struct batch_list *b, const struct batch_array *a, const char *job_name)
{
    const bool is_array = batch_array_is_one(b, a);
    const int64_t first = b->system->first_task;
    struct batch_values v = {0};
    char *token = token_of(b, a);
    batch_values_add(&v, "comment",
                     xasprintf("%s attempts %" PRId64 " to %" PRId64 " of %s", token, a->members[0].attempt,
                               a->members[a->count - 1].attempt, b->root),
                     false);
    batch_values_add(&v, "token", token, false);
    batch_values_add(&v, "name", xstrdup(job_name), false);
    batch_values_add(&v, "array", is_array ? xstrdup("1") : NULL, false);
    batch_values_add_count(&v, "count", (int64_t)a->count);
    batch_values_add(&v, "first", xasprintf("%" PRId64, first), false);
    batch_values_add(&v, "last", xasprintf("%" PRId64, first + (int64_t)a->count - 1), false);
    batch_values_add(&v, "exclude", excluded(b->system, a->exclude), false);
    batch_values_add(&v, "directory", directory_of(b, a->name), false);
    batch_values_add(&v, "script", batch_array_file(b, a, "script"), false);
    batch_values_add(&v, "description", batch_array_file(b, a, "description"), false);
    return v;
}

/* Adds what is asked for: at the head of the script, or in a file of its own. */
static void add_head(const struct batch_list *b, const struct batch_array *a, const char *job_name,
                     const struct buffer *script, struct buffer *out)
{
    OWNED_VALUES values = batch_array_values(b, a, job_name);
    struct buffer start = BUFFER_INIT;
    OWNED char *path = batch_array_file(b, a, "script");
    buffer_add_text(&start, b->framed ? buffer_text(script) : "exec /bin/sh ");
    if (!b->framed)
        shell_add_word(&start, path);
    batch_values_add(&values, "start", buffer_take(&start), false);
    batch_values_add(&values, "root", xstrdup(b->root), false);
    batch_fill(b->system->head, &values, out);
    buffer_add_text(out, a->options);
    batch_fill(b->system->exclude, &values, out);
}

static void add_script(const struct batch_list *b, const struct batch_array *a, const char *head, int64_t heartbeat_ms,
                       struct buffer *out)
{
    OWNED struct batch_task *tasks = xcalloc(a->count, sizeof *tasks);
    for (size_t i = 0; i < a->count; i++)
        tasks[i] = (struct batch_task){a->members[i].directory, a->members[i].attempt, a->members[i].limit_ms,
                                       a->members[i].grace_ms};
    const struct batch_script batch = {
        .system = b->system,
        .head = head,
        .root = b->root,
        .heartbeat_s = (heartbeat_ms + 999) / 1000,
        .tasks = tasks,
        .task_count = a->count,
        .secret = b->framed ? a->secret : NULL,
    };
    batch_script_add(&batch, out);
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
    /* `tasks` last: without it the rest is no batch. */
    static const char *const files[] = {"options", "exclude", "secret", "script", "description", "tasks"};
    enum { WORD_BYTES_MOST = 128 * 1024 - 1 }; /* MAX_ARG_STRLEN of Linux */
    struct buffer texts[LENGTH(files)] = {BUFFER_INIT}, *script = &texts[3], *description = &texts[4];
    OWNED char *directory = directory_of(b, a->name);
    buffer_add_text(&texts[0], a->options);
    buffer_add_text(&texts[1], a->exclude ? a->exclude : "");
    buffer_add_text(&texts[2], a->secret);
    if (b->system->has_description)
        add_script(b, a, "", heartbeat_ms, script);
    add_head(b, a, job_name, script, description);
    if (!b->system->has_description)
        add_script(b, a, buffer_text(description), heartbeat_ms, script);
    add_tasks(a, &texts[5]);
    const bool too_long = b->framed && script->length > WORD_BYTES_MOST;
    int rc = file_make_directories(directory, e);
    for (size_t i = 0; i < LENGTH(files); i++) {
        if (rc == 0 && (&texts[i] != description || b->system->has_description))
            rc = write_text(b, a, files[i], &texts[i], e);
        OWNED char *path = batch_array_file(b, a, files[i]);
        /* Some systems run it as it is. */
        if (&texts[i] == script)
            chmod(path, 0700);
        buffer_free(&texts[i]);
    }
    return rc == 0 && too_long ? 1 : rc;
}

int batch_array_write_job(const struct batch_list *b, const struct batch_array *a, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_printf(&text, "%s\n", a->job);
    return write_text(b, a, "job", &text, e);
}

void batch_array_remove(const struct batch_list *b, const struct batch_array *a)
{
    /* `tasks` first: without it the rest is no batch. */
    for (size_t i = 0; i < LENGTH(file_names); i++) {
        OWNED char *path = batch_array_file(b, a, file_names[i]);
        unlink(path);
    }
    OWNED char *directory = directory_of(b, a->name);
    rmdir(directory);
}

/* --- reading them again --- */

/* NULL when there is none. */
static char *read_text(const struct batch_list *b, const struct batch_array *a, const char *file)
{
    char *path = batch_array_file(b, a, file), *text = file_text(path, FILE_BYTES_MOST);
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

static void load_batch(struct batch_list *b, const char *name)
{
    struct batch_array *a = add_array(b, xstrdup(name), "", NULL);
    char *tasks = read_text(b, a, "tasks"), *options = read_text(b, a, "options"), *job = read_text(b, a, "job");
    char *exclude = read_text(b, a, "exclude"), *secret = read_text(b, a, "secret");
    if (job)
        job[strcspn(job, "\n")] = '\0';
    bool good = tasks && options && read_tasks(a, tasks);
    const bool has_id = job && *job;
    a->stage = has_id ? BATCH_SUBMITTED : BATCH_DOUBTFUL;
    a->job = has_id ? xstrdup(job) : NULL;
    if (secret)
        text_replace(&a->secret, secret);
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
    OWNED char *path = xasprintf("%s/%s", b->root, b->system->name);
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_name, versionsort);
    for (int i = 0; i < n; i++) {
        load_batch(b, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}
