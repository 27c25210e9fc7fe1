#include "report/exports.h"

#include <inttypes.h>
#include <string.h>

#include "report/job_command.h"
#include "report/render.h"
#include "report/statement_rows.h"
#include "report/text.h"
#include "results/best.h"
#include "results/conditions.h"
#include "results/failure_causes.h"
#include "results/query.h"
#include "results/status.h"
#include "util/memory.h"

static void add_escaped(struct buffer *out, const char *text)
{
    markdown_add_text(out, text, strlen(text));
}

/* Adds the rows of a statement as a table. */
static int add_table(struct db *db, struct stmt *s, bool has_keys, struct buffer *out, struct error *e)
{
    const struct report_sink sink = report_sink_of_buffer(out);
    struct shown_rows shown = {.options = RENDER_OPTIONS_INIT, .sink = &sink, .has_keys = has_keys};
    if (report_format_find("markdown", &shown.format, e) < 0)
        return -1;
    return statement_rows_render(db, s, &shown, NULL, e);
}

/* --- the winner --- */

/* Adds a code block with a fence longer than any run of backquotes in it. */
static void add_code(struct buffer *out, const char *text)
{
    size_t longest = 2, run = 0;
    for (const char *c = text; *c; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    OWNED char *fence = xasprintf("%.*s", (int)longest + 1, "````````````````````````````````");
    buffer_printf(out, "\n%ssh\n", fence);
    text_add_valid(out, text, strlen(text));
    buffer_printf(out, "\n%s\n", fence);
}

static void add_winner(const struct best *b, const struct job_launch *launch, struct buffer *out)
{
    const char *unit = json_text_of(b->document, "unit");
    const cJSON *word;
    buffer_printf(out, "\n**%s ", strcmp(json_text_of(b->document, "better"), "max") == 0 ? "Highest" : "Lowest");
    add_escaped(out, json_text_of(b->document, "objective"));
    buffer_add_text(out, ": ");
    text_add_rounded(out, json_real_of(b->document, "value"));
    buffer_add_text(out, unit ? " " : "");
    add_escaped(out, unit ? unit : "");
    buffer_printf(out, "**, job %" PRId64 "\n\n| key | value |\n| --- | --- |\n", best_job(b));
    cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(b->beside, "words"))
    {
        buffer_add_text(out, "| ");
        add_escaped(out, word->child->valuestring);
        buffer_add_text(out, " | ");
        add_escaped(out, word->child->next->valuestring);
        buffer_add_text(out, " |\n");
    }
    OWNED char *line = launch->command[0] ? job_command_line(launch, false) : NULL;
    if (line)
        add_code(out, line);
}

/* Says in a sentence why there is no winner. */
static void add_no_winner(const struct best *b, struct buffer *out)
{
    buffer_add_text(out, "\nNo winner: ");
    add_escaped(out, json_text_of(b->document, "objective"));
    buffer_add_text(out, conditions_nearest(b->document, b->beside) ? " is known, but no job meets all conditions.\n"
                                                                    : " has no value in any job that succeeded.\n");
}

static int add_best(struct db *db, struct buffer *out, struct error *e)
{
    struct best best;
    struct job_launch launch = {NULL};
    if (best_read(db, NULL, &best, e) < 0)
        return -1;
    int rc = best_job(&best) < 0 ? 0 : job_launch_read(db, best_job(&best), &launch, e);
    if (best_job(&best) < 0)
        add_no_winner(&best, out);
    else if (rc == 0)
        add_winner(&best, &launch, out);
    job_launch_free(&launch);
    best_free(&best);
    return rc;
}

/* --- the ranking --- */

static void add_name(struct buffer *out, const char *name)
{
    buffer_add_text(out, ", \"");
    for (; *name; name++) {
        if (*name == '"')
            buffer_add_char(out, '"');
        buffer_add_char(out, *name);
    }
    buffer_add_char(out, '"');
}

/* Appends the keys that vary: the columns between job and state in the brief columns of `results`. */
static int add_varying_keys(struct db *db, struct buffer *out, struct error *e)
{
    const struct result_query brief = {.brief = true, .limit = 1};
    OWNED_STMT *s = NULL;
    if (result_query_open(db, &brief, &s, e) < 0)
        return -1;
    for (int i = 1; i < stmt_column_count(s) && strcmp(stmt_column_name(s, i), "state") != 0; i++)
        add_name(out, stmt_column_name(s, i));
    return 0;
}

static int add_ranking(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    struct stmt *s = NULL;
    int64_t any;
    int rc = db_query_int(db, "SELECT EXISTS (SELECT 1 FROM ranking)", NO_VALUES, 0, &any, e);
    if (rc == 0 && any)
        rc = db_prepare(db, "SELECT * FROM ranking LIMIT 0", &s, e);
    if (rc < 0 || !any)
        return rc;
    buffer_add_text(&sql, "SELECT rank, job");
    add_name(&sql, stmt_column_name(s, 1));
    stmt_free(s);
    s = NULL;
    rc = add_varying_keys(db, &sql, e);
    buffer_add_text(&sql, " FROM ranking LIMIT 10");
    if (rc == 0)
        rc = db_prepare(db, buffer_text(&sql), &s, e);
    if (rc == 0) {
        buffer_add_text(out, "\n## The ten best\n\n");
        rc = add_table(db, s, true, out, e);
    }
    stmt_free(s);
    return rc;
}

/* --- states and failures --- */

static int add_states(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    buffer_add_text(out, "\n## Jobs\n\n");
    if (db_prepare(db, "SELECT state, sum(jobs) AS jobs FROM progress GROUP BY state ORDER BY 2 DESC, state", &s, e) <
        0)
        return -1;
    return add_table(db, s, false, out, e);
}

static void add_failures(const struct failure_causes *c, struct buffer *out)
{
    const cJSON *cause;
    if (c->list->child)
        buffer_add_text(out,
                        "\n## Failures\n\n| failure | jobs | for example | message |\n| --- | --- | --- | --- |\n");
    cJSON_ArrayForEach(cause, c->list)
    {
        buffer_add_text(out, "| ");
        add_escaped(out, json_text_of(cause, "class"));
        buffer_printf(out, " | %" PRId64 " | job %" PRId64 " | ", json_count_of(cause, "jobs"),
                      json_count_of(cause, "example_job"));
        add_escaped(out, json_text_or(cause, "message", ""));
        buffer_add_text(out, " |\n");
    }
    if (c->others)
        buffer_printf(out, "\nand %" PRId64 " of other causes\n", c->others);
}

static int add_parts(struct db *db, const cJSON *status, const cJSON *beside, struct buffer *out, struct error *e)
{
    struct failure_causes causes;
    const bool ranks = json_text_of(beside, "objective") != NULL;
    buffer_add_text(out, "# ");
    add_escaped(out, json_text_or(status, "sweep", ""));
    buffer_add_char(out, '\n');
    if (ranks && add_best(db, out, e) < 0)
        return -1;
    if (add_states(db, out, e) < 0 || (ranks && add_ranking(db, out, e) < 0) ||
        failure_causes_read(db, json_count_of(beside, "sweep"), STATUS_FAILURES_MOST, &causes, e) < 0)
        return -1;
    add_failures(&causes, out);
    failure_causes_free(&causes);
    return 0;
}

int summary_add(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_JSON *status = NULL, *beside = NULL;
    if (status_read(db, false, 0, &status, &beside, e) < 0)
        return -1;
    return add_parts(db, status, beside, out, e);
}
