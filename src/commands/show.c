#include <string.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "database/open.h"
#include "report/full_training.h"
#include "report/job_command.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/job_record.h"
#include "results/json.h"
#include "util/memory.h"

struct show_options {
    const char *db;
    bool json;
};

#define AT(member) offsetof(struct show_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

/* --- as text --- */

static void add_value(const struct stmt *s, int column, struct buffer *out)
{
    if (strcmp(stmt_column_name(s, column), "in_current_sweep") == 0)
        buffer_add_text(out, stmt_int(s, column) ? "yes" : "no");
    else if (stmt_type(s, column) == COLUMN_FLOAT)
        text_add_rounded(out, stmt_double(s, column));
    else
        text_add_printable(out, stmt_text(s, column), stmt_bytes(s, column), 0, false);
}

static int widest_name(const struct stmt *s)
{
    int width = 0;
    for (int i = 0; i < stmt_column_count(s); i++) {
        int length = (int)strlen(stmt_column_name(s, i));
        width = length > width ? length : width;
    }
    return width;
}

/* "  name  value" lines. */
static void add_lines(const struct stmt *s, struct buffer *out)
{
    int width = widest_name(s);
    for (int i = 0; i < stmt_column_count(s); i++) {
        if (stmt_is_null(s, i))
            continue;
        buffer_printf(out, "  %-*s  ", width, stmt_column_name(s, i));
        add_value(s, i, out);
        buffer_add_char(out, '\n');
    }
}

#define GIVEN_LINES_MOST 40

/* "attempt 1: config.yaml, 120 bytes", and the lines that it has. */
static void add_given(const struct stmt *s, struct buffer *out)
{
    enum { ATTEMPT, NAME, BYTES, TEXT };
    buffer_printf(out, "  attempt %lld: ", (long long)stmt_int(s, ATTEMPT));
    add_value(s, NAME, out);
    buffer_printf(out, ", %lld bytes\n", (long long)stmt_int(s, BYTES));
    const char *text = stmt_text(s, TEXT);
    for (int line = 0; *text && line < GIVEN_LINES_MOST; line++) {
        const size_t n = strcspn(text, "\n");
        buffer_add_text(out, "    ");
        text_add_printable(out, text, n, 0, false);
        buffer_add_char(out, '\n');
        text += n + (text[n] == '\n');
    }
    if (*text)
        buffer_add_text(out, "    … (all of it: --json)\n");
}

/* Adds the lines of a part that sql/answers/show.sql says. Changes have no heading. */
static int add_said(struct db *db, enum job_part part, int64_t job, struct buffer *out, struct error *e)
{
    OWNED char *said = xasprintf("said_%s", job_part_names[part]);
    OWNED_STMT *s = NULL;
    int rc, rows = 0;
    while ((rc = job_answer_next(db, said, job, &s, e)) > 0) {
        if (rows++ == 0 && part != JOB_PART_CHANGES)
            buffer_printf(out, "\n%s\n", job_part_names[part]);
        buffer_printf(out, "%s\n", stmt_text(s, 0));
    }
    if (rc == 0 && rows == 0 && part == JOB_PART_METRICS)
        buffer_add_text(out, "\nmetrics: none\n");
    return rc;
}

static int add_part(struct db *db, enum job_part part, int64_t job, struct buffer *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc, rows = 0;
    if (part != JOB_PART_JOB && part != JOB_PART_ATTEMPTS && part != JOB_PART_GIVEN)
        return add_said(db, part, job, out, e);
    while ((rc = job_part_next(db, part, job, &s, e)) > 0) {
        if (rows++ == 0 || part == JOB_PART_ATTEMPTS)
            buffer_printf(out, "%s%s\n", part == JOB_PART_JOB ? "" : "\n",
                          part == JOB_PART_ATTEMPTS ? "attempt" : job_part_names[part]);
        (part == JOB_PART_GIVEN ? add_given : add_lines)(s, out);
    }
    if (rc == 0 && rows == 0 && part == JOB_PART_ATTEMPTS)
        buffer_add_text(out, "\nattempts: none\n");
    return rc;
}

static void add_keys(const struct job_keys *keys, struct buffer *out)
{
    const char *section = "";
    int width = 0;
    for (size_t i = 0; i < keys->count; i++)
        width = (int)strlen(keys->items[i].name) > width ? (int)strlen(keys->items[i].name) : width;
    for (size_t i = 0; i < keys->count; i++) {
        const struct job_key *k = &keys->items[i];
        if (strcmp(k->section, section) != 0)
            buffer_printf(out, "\n%s\n", k->section);
        section = k->section;
        buffer_add_text(out, "  ");
        text_add_printable(out, k->name, strlen(k->name), 0, false);
        buffer_printf(out, "%*s  ", width - (int)strlen(k->name), "");
        text_add_printable(out, k->text, strlen(k->text), 0, false);
        buffer_add_char(out, '\n');
    }
}

static void add_command(const struct job_launch *l, struct buffer *out)
{
    if (!l->command[0]) {
        if (l->measured_elsewhere)
            buffer_printf(out, "\ncommand: none, it was measured elsewhere (%s)\n", l->measured_elsewhere);
        else
            buffer_add_text(out, "\ncommand: not known until the first attempt\n");
        return;
    }
    OWNED char *line = job_command_line(l, false), *redacted = job_command_redacted(l);
    buffer_printf(out, "\ncommand\n%s\n", line);
    if (redacted[0])
        buffer_printf(out, "secrets are left out; fill them in before you run it: %s\n", redacted);
}

static void add_full_trainings(const cJSON *all, struct buffer *out)
{
    const cJSON *training;
    cJSON_ArrayForEach(training, all)
    {
        const char *files = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(training, "files"));
        buffer_add_char(out, '\n');
        full_training_add_text(training, out);
        if (files)
            buffer_printf(out, "  files  %s\n", files);
    }
}

/* --- as JSON --- */

static void add_json_command(const struct job_launch *l, cJSON *root)
{
    OWNED char *line = l->command[0] ? job_command_line(l, false) : NULL;
    json_add_text(root, "shell", line);
}

/* --- the command --- */

struct job_view {
    struct db *db;
    int64_t job;
    struct job_keys keys;
    struct job_launch launch;
    cJSON *full_trainings;
};

static int print_json(const struct job_view *v, struct error *e)
{
    cJSON *root = json_document();
    int rc = job_part_add_json(root, v->db, JOB_PART_JOB, v->job, e);
    if (rc == 0)
        rc = json_add_keys(root, v->db, v->job, e);
    for (enum job_part p = JOB_PART_METRICS; rc == 0 && p < JOB_PART_COUNT; p++)
        rc = job_part_add_json(root, v->db, p, v->job, e);
    cJSON_AddItemReferenceToObject(root, "full_trainings", v->full_trainings);
    add_json_command(&v->launch, root);
    if (rc == 0)
        rc = output_json(root, e);
    cJSON_Delete(root);
    return rc;
}

static int print_text(const struct job_view *v, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    int rc = saying_add_functions(v->db, e);
    if (rc == 0)
        rc = add_part(v->db, JOB_PART_JOB, v->job, &out, e);
    add_keys(&v->keys, &out);
    for (enum job_part p = JOB_PART_METRICS; rc == 0 && p < JOB_PART_COUNT; p++)
        rc = add_part(v->db, p, v->job, &out, e);
    add_full_trainings(v->full_trainings, &out);
    add_command(&v->launch, &out);
    if (rc == 0)
        rc = output_people(&out, e);
    return rc;
}

static int read_and_print(struct job_view *v, const struct arguments *a, struct error *e)
{
    const struct show_options *o = a->options;
    if (job_named(v->db, a->words[0], &v->job, e) < 0 || job_keys_read(v->db, v->job, &v->keys, e) < 0 ||
        job_launch_read(v->db, v->job, &v->launch, e) < 0 ||
        full_trainings_read(v->db, v->job, &v->full_trainings, e) < 0)
        return -1;
    return o->json ? print_json(v, e) : print_text(v, e);
}

static int show(const struct arguments *a, struct error *e)
{
    const struct show_options *o = a->options;
    struct job_view v = {0};
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE,
                         "show: name a job by its number, or by the beginning of its key; meshsweep results lists "
                         "them");
    if (store_open_read_only(o->db, &v.db, e) < 0)
        return -1;
    /* One transaction: a runner may be at work. */
    int rc = db_read_begin(v.db, e);
    if (rc == 0)
        rc = read_and_print(&v, a, e);
    db_read_end(v.db);
    job_keys_free(&v.keys);
    job_launch_free(&v.launch);
    cJSON_Delete(v.full_trainings);
    store_close(v.db);
    return rc;
}

const struct command show_command = {
    .name = "show",
    .summary = "Show everything recorded about one job, and its command",
    .usage = "[OPTIONS] JOB",
    .example = "meshsweep show 24\nmeshsweep show a1b2c3d4 --json",
    .options = options,
    .options_bytes = sizeof(struct show_options),
    .offer = OFFER_JOBS,
    .words_most = 1,
    .pages = true,
    .run = show,
};
