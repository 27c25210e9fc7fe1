#include <string.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/backup.h"
#include "database/open.h"
#include "expression/expression.h"
#include "report/job_command.h"
#include "report/render.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/best.h"
#include "results/failure_causes.h"
#include "results/json.h"
#include "results/measured.h"
#include "results/query.h"
#include "results/status.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"

struct exporting {
    const struct export_options *options;
    struct db *db;
    struct result_query query;
    int64_t rows; /* -1: what is written has none */
};

typedef int export_writer(struct exporting *x, const struct report_sink *sink, struct error *e);

/* --- what is written --- */

static int write_rows(struct exporting *x, const struct report_sink *sink, struct error *e)
{
    const struct report_format *format;
    uint64_t count = 0;
    if (report_format_find(export_format_names[x->options->format], &format, e) < 0)
        return -1;
    int rc = x->options->long_rows ? result_output_long(x->db, &x->query, format, sink, &count, e)
                                   : result_output(x->db, &x->query, format, sink, &count, e);
    x->rows = (int64_t)count;
    return rc;
}

static int write_toml(struct exporting *x, const struct report_sink *sink, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = subset_add_toml(x->db, &x->query, &text, e);
    return rc < 0 ? -1 : sink->write(sink->context, text.data, text.length, e);
}

/* Puts the best job of `best` beside `status`: it knows further objectives, replicates and groups. */
static int read_best(struct db *db, const cJSON *status, cJSON *beside, struct error *e)
{
    struct best best = {NULL, NULL};
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(status, "best")))
        return 0;
    if (best_read(db, NULL, &best, e) < 0)
        return -1;
    cJSON_AddItemToObject(beside, "best", best.document);
    cJSON_AddItemToObject(beside, "beside_best", best.beside);
    return 0;
}

/* In the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), for node_exporter's textfile
 * collector: times in seconds, invalid UTF-8 replaced by U+FFFD. Unknown values have no sample. */
static int write_prometheus(struct exporting *x, const struct report_sink *sink, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT, lines = BUFFER_INIT;
    OWNED_JSON *status = NULL, *beside = cJSON_CreateObject();
    const int64_t now_ms = clock_wall_ms();
    JSON_ADD(beside, JSON_STRING("version", MESHSWEEP_VERSION), JSON_INT("now_ms", now_ms));
    if (status_read(x->db, true, now_ms, &status, NULL, e) < 0 || read_best(x->db, status, beside, e) < 0 ||
        saying_add_text("sql/texts/prometheus.sql", status, beside, &lines, e) < 0)
        return -1;
    text_add_valid(&text, buffer_text(&lines), lines.length);
    return sink->write(sink->context, text.data, text.length, e);
}

/* --- a summary --- */

/* Adds the rows of a statement as a table. */
static int add_table(struct db *db, struct stmt *s, bool has_keys, struct buffer *out, struct error *e)
{
    const struct report_sink sink = report_sink_of_buffer(out);
    struct shown_rows shown = {.options = RENDER_OPTIONS_INIT, .sink = &sink, .has_keys = has_keys};
    if (report_format_find("markdown", &shown.format, e) < 0)
        return -1;
    return statement_rows_render(db, s, &shown, NULL, e);
}

/* --- a summary: the winner --- */

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

/* --- a summary: the ranking --- */

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

/* --- a summary: states and failures --- */

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

/* Appends the current sweep on one page of GitHub Markdown, for an issue, a pull request or a job's summary: the winner
 * with its command, the number of jobs by state, the ten best, and failures by cause. Texts of the sweep are escaped.
 * ERROR_NOTHING if no sweep has been recorded. */
static int write_summary(struct exporting *x, const struct report_sink *sink, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    OWNED_JSON *status = NULL, *beside = NULL;
    if (status_read(x->db, false, 0, &status, &beside, e) < 0)
        return -1;
    const bool ranks = json_text_of(beside, "objective") != NULL;
    return add_head(x->db, json_text_or(status, "sweep", ""), ranks, &out, e) < 0 || add_states(x->db, &out, e) < 0 ||
                   (ranks && add_ranking(x->db, &out, e) < 0) ||
                   add_failures(x->db, json_count_of(beside, "sweep"), &out, e) < 0
               ? -1
               : sink->write(sink->context, out.data, out.length, e);
}

/* --- an Optuna storage --- */

/* In the order of references between them. */
static const char *const tables[] = {
    "studies",      "study_directions",      "study_user_attributes",
    "trials",       "trial_user_attributes", "trial_system_attributes",
    "trial_params", "trial_values",          "trial_intermediate_values",
};

/* Puts the requested jobs into temp.exported. */
static int choose_jobs(struct db *db, const struct result_query *q, struct error *e)
{
    OWNED_STMT *jobs = NULL, *add = NULL;
    struct result_query only_job = *q;
    only_job.columns = "job";
    int rc;
    if (db_exec(db, "CREATE TEMP TABLE exported (job INTEGER PRIMARY KEY)", e) < 0 ||
        db_prepare(db, "INSERT INTO temp.exported VALUES (?)", &add, e) < 0 ||
        result_query_open(db, &only_job, &jobs, e) < 0)
        return -1;
    while ((rc = stmt_next(jobs, e)) > 0) {
        stmt_bind_at(add, 1, sql_int(stmt_int(jobs, 0)));
        if (stmt_run(add, e) < 0)
            return -1;
    }
    return rc;
}

static int check_any(struct db *db, struct error *e)
{
    int64_t studies, trials;
    if (db_query_int(db, "SELECT count(*) FROM temp.study", NO_VALUES, 0, &studies, e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM temp.optuna_trial", NO_VALUES, 0, &trials, e) < 0)
        return -1;
    if (trials)
        return 0;
    int64_t jobs;
    if (db_query_int(db, "SELECT count(*) FROM temp.exported", NO_VALUES, 0, &jobs, e) < 0)
        return -1;
    if (jobs && !studies)
        return error_set(e, ERROR_USAGE,
                         "export: an Optuna study needs an objective, and the sweep declares none; add objective = "
                         "\"max:METRIC\" under [sweep] and run it again (jobs that are done do not run again)");
    return error_set(e, ERROR_NOTHING, "export: none of these jobs has been tried yet, so there are no trials");
}

static int prepare(struct db *db, const struct result_query *q, struct error *e)
{
    if (choose_jobs(db, q, e) < 0 ||
        db_exec(db,
                "CREATE TEMP TABLE to_its_end AS SELECT a.id AS attempt FROM attempt AS a WHERE " MEASURED_TO_ITS_END(
                    "a"),
                e) < 0 ||
        db_exec(db, "CREATE UNIQUE INDEX temp.to_its_end_attempt ON to_its_end (attempt)", e) < 0 ||
        db_exec(db, embedded_text("sql/optuna_rows.sql"), e) < 0)
        return -1;
    return check_any(db, e);
}

static struct sql_value value_of(const struct stmt *row, int column)
{
    const enum column_type type = stmt_type(row, column);
    return type == COLUMN_INT     ? sql_int(stmt_int(row, column))
           : type == COLUMN_FLOAT ? sql_real(stmt_double(row, column))
           : type == COLUMN_TEXT  ? sql_text(stmt_text(row, column))
                                  : sql_null();
}

static int copy_rows(struct stmt *rows, struct stmt *insert, struct error *e)
{
    int rc;
    while ((rc = stmt_next(rows, e)) > 0) {
        for (int i = 0; i < stmt_column_count(rows); i++)
            stmt_bind_at(insert, i + 1, value_of(rows, i));
        if (stmt_run(insert, e) < 0)
            return -1;
    }
    return rc;
}

static int copy_table(struct db *source, struct db *target, const char *table, struct error *e)
{
    OWNED_STMT *rows = NULL, *insert = NULL;
    OWNED_BUFFER select = BUFFER_INIT, into = BUFFER_INIT;
    buffer_printf(&select, "SELECT * FROM temp.%s", table);
    int rc = db_prepare(source, buffer_text(&select), &rows, e);
    if (rc == 0) {
        buffer_printf(&into, "INSERT INTO %s VALUES (?", table);
        for (int i = 1; i < stmt_column_count(rows); i++)
            buffer_add_text(&into, ", ?");
        buffer_add_char(&into, ')');
        rc = db_prepare(target, buffer_text(&into), &insert, e);
    }
    if (rc == 0)
        rc = copy_rows(rows, insert, e);
    return rc;
}

static int fill_study(struct db *target, void *context, struct error *e)
{
    struct db *source = context;
    if (db_begin(target, e) < 0 || db_exec(target, embedded_text("sql/optuna.sql"), e) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(tables); i++)
        if (copy_table(source, target, tables[i], e) < 0)
            return error_context(e, "%s", tables[i]);
    return db_commit(target, e);
}

/* Writes the jobs of the query (its `where` and `state`) that were tried to an SQLite database at `path`, in which
 * samplers of Optuna (https://optuna.org) can continue, with the schema of Optuna 3.1: a study per sweep, a trial per
 * job; see docs/handover.md. It may be called while a run continues; the file appears at `path` once complete. `db`
 * must not be used afterwards. ERROR_USAGE if no sweep of these jobs has an objective; ERROR_NOTHING if none of them
 * was tried. */
static int optuna_write(struct db *db, const struct result_query *q, const char *path, struct error *e)
{
    if (db_allow_temporary(db, e) < 0 || db_exec(db, "BEGIN", e) < 0)
        return -1;
    int rc = prepare(db, q, e) < 0 ? -1 : database_write_whole(path, fill_study, db, e);
    db_rollback(db);
    return rc;
}

/* --- which that is --- */

/* Formats other than rows. */
static const struct whole_format {
    const char *name;
    export_writer *write; /* NULL: a database */
} whole_formats[] = {{"optuna", NULL}, {"prometheus", write_prometheus}, {"summary", write_summary}};

static bool is_to_file(const struct export_options *o)
{
    return o->file && strcmp(o->file, "-") != 0;
}

/* `whole` NULL: rows. */
static int check(const struct export_options *o, const struct whole_format *whole, struct error *e)
{
    if (o->json && !is_to_file(o))
        return error_set(e, ERROR_USAGE, "export: --json needs -o FILE; for the rows as JSON, use --format json");
    if (o->all + o->succeeded + o->failed > 1)
        return error_set(e, ERROR_USAGE, "export: give only one of --all, --succeeded and --failed");
    if (o->long_rows + o->toml + o->means > 1)
        return error_set(e, ERROR_USAGE, "export: give only one of --long, --means and --toml");
    if (o->units && (o->toml || (o->format > 1 && strcmp(export_format_names[o->format], "xlsx") != 0)))
        return error_set(e, ERROR_USAGE, "export: --units needs --format csv, tsv or xlsx");
    if (whole && (o->long_rows || o->means || o->toml))
        return error_set(e, ERROR_USAGE, "export: --format %s cannot be combined with --long, --means or --toml",
                         whole->name);
    if (whole && whole->write && (o->all || o->succeeded || o->failed || o->where))
        return error_set(e, ERROR_USAGE,
                         "export: --format %s always covers all jobs; leave out --all, --succeeded, --failed and "
                         "--where",
                         whole->name);
    if (whole && !whole->write && !is_to_file(o))
        return error_set(e, ERROR_USAGE, "export: --format %s writes a database; name its file with -o FILE",
                         whole->name);
    return 0;
}

static int write_file(struct exporting *x, export_writer *write, struct error *e)
{
    const struct export_options *o = x->options;
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = x->db};
    struct atomic_file file = ATOMIC_FILE_INIT;
    if (written_file_check(o->file, &kept, e) < 0)
        return -1;
    if (!write)
        return optuna_write(x->db, &x->query, o->file, e);
    if (atomic_file_open(o->file, o->db, &file, e) < 0)
        return -1;
    const struct report_sink sink = report_sink_of_file(&file);
    int rc = write(x, &sink, e);
    if (rc == 0)
        rc = atomic_file_commit(&file, e);
    atomic_file_close(&file);
    return rc;
}

static int print_json(const struct exporting *x, struct error *e)
{
    const struct export_options *o = x->options;
    OWNED_JSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", o->file), JSON_TEXT("format", o->toml ? "toml" : export_format_names[o->format]),
             JSON_COUNT("rows", x->rows));
    return output_json(root, e);
}

int command_export(const struct export_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    const struct whole_format *whole =
        FIND(i, LENGTH(whole_formats), strcmp(export_format_names[o->format], whole_formats[i].name) == 0,
             &whole_formats[i]);
    export_writer *write = whole ? whole->write : o->toml ? write_toml : write_rows;
    if (check(o, whole, e) < 0 || store_open_read_only(o->db, &db, e) < 0)
        return -1;
    struct exporting x = {.options = o,
                          .db = db,
                          .query = {.every_sweep = true,
                                    .where = o->where,
                                    .units = o->units,
                                    .means = o->means,
                                    .state = o->succeeded ? "ok"
                                             : o->failed  ? "failed"
                                                          : NULL},
                          .rows = -1};
    int rc = is_to_file(o) ? write_file(&x, write, e) : write(&x, &output_sink, e);
    return rc == 0 && o->json ? print_json(&x, e) : rc;
}
