#include "report/exports.h"

#include <string.h>

#include "expression/expression.h"
#include "report/job_command.h"
#include "report/render.h"
#include "report/saying.h"
#include "report/statement_rows.h"
#include "report/text.h"
#include "results/best.h"
#include "results/failure_causes.h"
#include "results/query.h"
#include "results/status.h"
#include "util/memory.h"

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

/* A code block with a fence longer than any run of backquotes in it. The caller's. */
static char *code_of(const char *text)
{
    struct buffer out = BUFFER_INIT;
    size_t longest = 2, run = 0;
    for (const char *c = text; *c; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    OWNED char *fence = xasprintf("%.*s", (int)longest + 1, "````````````````````````````````");
    buffer_printf(&out, "\n%ssh\n", fence);
    text_add_valid(&out, text, strlen(text));
    buffer_printf(&out, "\n%s", fence);
    return buffer_take(&out);
}

static int read_winner(struct db *db, struct best *out, struct error *e)
{
    OWNED_BY(job_launch_free) struct job_launch launch = {0};
    if (best_read(db, NULL, out, e) < 0)
        return -1;
    int rc = best_job(out) < 0 ? 0 : job_launch_read(db, best_job(out), &launch, e);
    if (launch.command && launch.command[0]) {
        OWNED char *line = job_command_line(&launch, false), *code = code_of(line);
        json_add_text(out->beside, "code", code);
    }
    return rc;
}

static int add_head(struct db *db, const char *name, bool ranks, struct buffer *out, struct error *e)
{
    OWNED_BY(best_free) struct best best = {NULL, NULL};
    int rc = ranks ? read_winner(db, &best, e) : 0;
    best.document = best.document ? best.document : cJSON_CreateObject();
    best.beside = best.beside ? best.beside : cJSON_CreateObject();
    cJSON_AddStringToObject(best.beside, "name", name);
    return rc < 0 ? -1 : saying_add_text("sql/texts/summary.sql", best.document, best.beside, out, e);
}

/* --- the ranking --- */

static void add_name(struct buffer *out, const char *name)
{
    buffer_add_text(out, ", ");
    expression_add_name(out, name);
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
    OWNED_STMT *columns = NULL, *rows = NULL;
    bool any = false;
    int rc = db_query_bool(db, "SELECT 1 FROM ranking LIMIT 1", NO_VALUES, &any, e);
    if (rc < 0 || !any)
        return rc;
    if (db_prepare(db, "SELECT * FROM ranking LIMIT 0", &columns, e) < 0)
        return -1;
    buffer_add_text(&sql, "SELECT rank, job");
    for (int i = 1; i == 1 || strcmp(stmt_column_name(columns, i), "comparison_group") == 0; i++)
        add_name(&sql, stmt_column_name(columns, i));
    if (add_varying_keys(db, &sql, e) < 0)
        return -1;
    buffer_add_text(&sql, " FROM ranking LIMIT 10");
    if (db_prepare(db, buffer_text(&sql), &rows, e) < 0)
        return -1;
    buffer_add_text(out, "\n## The ten best\n\n");
    return add_table(db, rows, true, out, e);
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

static int add_failures(struct db *db, int64_t sweep, struct buffer *out, struct error *e)
{
    OWNED_BY(failure_causes_free) struct failure_causes causes = {.list = NULL};
    OWNED_JSON *none = cJSON_CreateObject(), *beside = cJSON_CreateObject();
    if (failure_causes_read(db, sweep, STATUS_FAILURES_MOST, &causes, e) < 0)
        return -1;
    cJSON_AddItemReferenceToObject(beside, "failures", causes.list);
    json_add_count(beside, "others", causes.others);
    return saying_add_text("sql/texts/summary.sql", none, beside, out, e);
}

int summary_add(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_JSON *status = NULL, *beside = NULL;
    if (status_read(db, false, 0, &status, &beside, e) < 0)
        return -1;
    const bool ranks = json_text_of(beside, "objective") != NULL;
    return add_head(db, json_text_or(status, "sweep", ""), ranks, out, e) < 0 || add_states(db, out, e) < 0 ||
                   (ranks && add_ranking(db, out, e) < 0)
               ? -1
               : add_failures(db, json_count_of(beside, "sweep"), out, e);
}
