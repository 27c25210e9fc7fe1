#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "report/text.h"
#include "store/best.h"
#include "store/open.h"
#include "store/status.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell_words.h"

struct best_options {
    const char *db, *out;
    bool json;
};

#define AT(member) offsetof(struct best_options, member)

static const struct option options[] = {
    {.name = "db", .letter = 'd', .kind = OPTION_STRING, .offset = AT(db), .value = "FILE", .help = "the database",
     .fallback = "results.db"},
    {.name = "out", .kind = OPTION_STRING, .offset = AT(out), .value = "DIR",
     .help = "write command.sh, job.json and metrics.json there"},
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "as JSON"},
    {.name = NULL},
};

/* --- pieces of text --- */

/* What a recorded secret is in its place: the person has to give it. */
static bool is_redacted(const char *setting)
{
    return strcmp(strchr(setting, '=') + 1, "[redacted]") == 0;
}

static char *command_line(const struct best *b)
{
    struct buffer line = BUFFER_INIT;
    size_t count = 0, kept = 0;
    while (b->environment[count])
        count++;
    char **settings = xcalloc(count + 1, sizeof *settings);
    for (size_t i = 0; i < count; i++)
        if (!is_redacted(b->environment[i]))
            settings[kept++] = b->environment[i];
    shell_add_command(&line, settings, b->command);
    free(settings);
    return buffer_take(&line);
}

/* Names of the settings whose values are not recorded, "" when all are. The caller's. */
static char *redacted_names(const struct best *b)
{
    struct buffer names = BUFFER_INIT;
    for (char *const *s = b->environment; *s; s++)
        if (is_redacted(*s))
            buffer_printf(&names, "%s%.*s", names.length ? ", " : "", (int)strcspn(*s, "="), *s);
    return buffer_take(&names);
}

static char *files_of(const struct best *b, const char *db)
{
    if (!b->directory)
        return NULL;
    char *directory = store_directory(db);
    char *path = xasprintf("%s/%s", directory, b->directory);
    free(directory);
    return path;
}

static void add_value(const struct best *b, double value, struct buffer *out)
{
    text_add_rounded(out, value);
    buffer_printf(out, "%s%s", b->unit[0] ? " " : "", b->unit);
}

static void add_line(struct buffer *out, const char *text)
{
    text_add_printable(out, text, strlen(text), 0, false);
    buffer_add_char(out, '\n');
}

static bool is_name_unique(const struct best_job *job, const struct best_key *key)
{
    size_t count = 0;
    for (size_t i = 0; i < job->key_count; i++)
        count += strcmp(job->keys[i].name, key->name) == 0;
    return count == 1;
}

/* "name" where that says it, else "section.name". The caller's. */
static char *title_of(const struct best_job *job, const struct best_key *key)
{
    return is_name_unique(job, key) ? xstrdup(key->name) : xasprintf("%s.%s", key->section, key->name);
}

static const struct best_key *find_key(const struct best_job *job, const struct best_key *key)
{
    for (size_t i = 0; i < job->key_count; i++)
        if (strcmp(job->keys[i].section, key->section) == 0 && strcmp(job->keys[i].name, key->name) == 0)
            return &job->keys[i];
    return NULL;
}

/* The key of `other` that the winner has not, or not with that value. */
static bool is_difference(const struct best_job *winner, const struct best_key *key)
{
    const struct best_key *same = find_key(winner, key);
    return !same || strcmp(same->text, key->text) != 0;
}

/* --- as text --- */

static void add_keys(const struct best_job *job, struct buffer *out)
{
    size_t width = 0;
    for (size_t i = 0; i < job->key_count; i++) {
        char *title = title_of(job, &job->keys[i]);
        width = strlen(title) > width ? strlen(title) : width;
        free(title);
    }
    for (size_t i = 0; i < job->key_count; i++) {
        char *title = title_of(job, &job->keys[i]);
        buffer_printf(out, "  %-*s  ", (int)width, title);
        add_line(out, job->keys[i].text);
        free(title);
    }
}

static void add_runner_up(const struct best *b, const struct best_job *job, struct buffer *out)
{
    buffer_printf(out, "  job %lld: ", (long long)job->job_id);
    add_value(b, job->value, out);
    for (size_t i = 0; i < job->key_count; i++) {
        const struct best_key *key = &job->keys[i];
        if (!is_difference(&b->jobs[0], key))
            continue;
        char *title = title_of(job, key);
        buffer_printf(out, ", %s ", title);
        text_add_printable(out, key->text, strlen(key->text), 40, false);
        free(title);
    }
    buffer_add_char(out, '\n');
}

static int print_text(const struct best *b, const char *db, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    char *line = command_line(b), *files = files_of(b, db), *redacted = redacted_names(b);
    buffer_printf(&out, "%s %s ", b->maximise ? "highest" : "lowest", b->objective);
    add_value(b, b->jobs[0].value, &out);
    buffer_printf(&out, ", job %lld of sweep %s\n", (long long)b->jobs[0].job_id, b->sweep);
    add_keys(&b->jobs[0], &out);
    buffer_printf(&out, "\ncommand\n%s\n", line);
    if (redacted[0])
        buffer_printf(&out, "not recorded, to be set: %s\n", redacted);
    buffer_printf(&out, "\nfiles: %s\n", files ? files : "none were kept");
    if (b->count > 1)
        buffer_printf(&out, "\nwithin %g %%\n", BEST_TOLERANCE * 100);
    for (size_t i = 1; i < b->count; i++)
        add_runner_up(b, &b->jobs[i], &out);
    if (b->more)
        buffer_add_text(&out, "  and more: meshsweep results --sort shows them\n");
    free(line);
    free(files);
    free(redacted);
    int rc = output_write(out.data, out.length, e);
    buffer_free(&out);
    return rc;
}

/* --- as JSON --- */

static cJSON *runner_up_json(const struct best *b, const struct best_job *job)
{
    cJSON *item = cJSON_CreateObject(), *differs = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "job", (double)job->job_id);
    cJSON_AddNumberToObject(item, "value", job->value);
    for (size_t i = 0; i < job->key_count; i++) {
        if (!is_difference(&b->jobs[0], &job->keys[i]))
            continue;
        char *title = xasprintf("%s.%s", job->keys[i].section, job->keys[i].name);
        cJSON_AddStringToObject(differs, title, job->keys[i].text);
        free(title);
    }
    cJSON_AddItemToObject(item, "differs", differs);
    return item;
}

static int print_json(const struct best *b, const char *db, struct error *e)
{
    cJSON *root = cJSON_CreateObject();
    char *line = command_line(b), *files = files_of(b, db);
    cJSON_AddStringToObject(root, "objective", b->objective);
    cJSON_AddStringToObject(root, "better", b->maximise ? "max" : "min");
    cJSON_AddNumberToObject(root, "value", b->jobs[0].value);
    cJSON_AddStringToObject(root, "unit", b->unit);
    cJSON_AddRawToObject(root, "job", b->job_json);
    cJSON_AddRawToObject(root, "metrics", b->metrics_json);
    cJSON_AddStringToObject(root, "shell", line);
    if (files)
        cJSON_AddStringToObject(root, "files", files);
    else
        cJSON_AddNullToObject(root, "files");
    cJSON *close = cJSON_AddArrayToObject(root, "close");
    for (size_t i = 1; i < b->count; i++)
        cJSON_AddItemToArray(close, runner_up_json(b, &b->jobs[i]));
    int rc = output_json(root, e);
    cJSON_Delete(root);
    free(line);
    free(files);
    return rc;
}

/* --- as files --- */

static int write_file(const char *directory, const char *name, struct buffer *text, struct error *e)
{
    char *path = xasprintf("%s/%s", directory, name);
    int rc = file_write_atomic(path, text->data, text->length, e);
    if (rc == 0 && strcmp(name, "command.sh") == 0 && chmod(path, 0755) < 0)
        rc = error_errno(e, errno, "%s: cannot make it executable", path);
    buffer_free(text);
    free(path);
    return rc;
}

static void add_script(const struct best *b, struct buffer *out)
{
    char *line = command_line(b), *redacted = redacted_names(b);
    buffer_add_text(out, "#!/bin/sh\n# ");
    text_add_printable(out, b->objective, strlen(b->objective), 0, false);
    buffer_add_char(out, ' ');
    add_value(b, b->jobs[0].value, out);
    buffer_printf(out, ", job %lld of sweep ", (long long)b->jobs[0].job_id);
    add_line(out, b->sweep);
    if (redacted[0])
        buffer_printf(out, "# Not recorded, to be set in the environment: %s\n", redacted);
    buffer_printf(out, "%s\n", line);
    free(line);
    free(redacted);
}

static int write_files(const struct best *b, const char *directory, struct error *e)
{
    struct buffer script = BUFFER_INIT, job = BUFFER_INIT, metrics = BUFFER_INIT;
    if (file_make_directories(directory, e) < 0)
        return -1;
    add_script(b, &script);
    buffer_printf(&job, "%s\n", b->job_json);
    buffer_printf(&metrics, "%s\n", b->metrics_json);
    int rc = 0;
    /* Each buffer is released by its write. */
    rc |= write_file(directory, "command.sh", &script, rc ? NULL : e);
    rc |= write_file(directory, "job.json", &job, rc ? NULL : e);
    rc |= write_file(directory, "metrics.json", &metrics, rc ? NULL : e);
    return rc;
}

/* --- the command --- */

/* Says what there is instead of an ok job. */
static int say_nothing_ok(struct db *db, const struct best *b, struct error *e)
{
    struct sweep_status s;
    if (status_read(db, &s, e) < 0)
        return -1;
    if (s.ok)
        output_message("no job is best: %lld are ok, but none has a finite %s", (long long)s.ok, b->objective);
    else
        output_message("no job is ok: %lld failed, %lld running, %lld pending; see meshsweep status",
                       (long long)s.failed, (long long)s.running, (long long)s.pending);
    status_free(&s);
    return STATUS_JOBS_FAILED;
}

static int print(const struct best *b, const struct best_options *o, struct error *e)
{
    if (o->out && write_files(b, o->out, e) < 0)
        return -1;
    return o->json ? print_json(b, o->db, e) : print_text(b, o->db, e);
}

static int best(const struct arguments *a, struct error *e)
{
    const struct best_options *o = a->options;
    struct db *db = NULL;
    struct best b = {0};
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    int rc = best_read(db, &b, e);
    if (rc == 0)
        rc = b.count ? print(&b, o, e) : say_nothing_ok(db, &b, e);
    best_free(&b);
    store_close(db);
    return rc;
}

const struct command best_command = {
    .name = "best",
    .summary = "Show the winner under the objective, with its exact command",
    .usage = "[OPTIONS]",
    .example = "meshsweep best --out winner && sh winner/command.sh",
    .options = options,
    .options_bytes = sizeof(struct best_options),
    .run = best,
};
