#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "commands/prediction_report.h"
#include "commands/prediction_table.h"
#include "database/open.h"
#include "learning/learning.h"
#include "space/describe.h"
#include "space/match.h"
#include "util/memory.h"

#define JOBS_SHOWN 100

struct predict_options {
    struct run_options match;
    bool accuracy, profile, json;
    const char *frontier;
    const char *where, *sort, *columns, *format; /* any of them: rows instead of the list */
};

#define AT(member) (offsetof(struct predict_options, match) + offsetof(struct run_options, member))

static const struct option options[] = {
    {.name = "config",
     .letter = 'c',
     .kind = OPTION_STRING,
     .offset = AT(config),
     .value = "FILE",
     .help = "the sweep file (the database's, else sweep.toml)"},
    {.name = "db",
     .letter = 'd',
     .kind = OPTION_STRING,
     .offset = AT(db),
     .value = "FILE",
     .help = "the database",
     .fallback = "results.db"},
    {.name = "only",
     .offer = OFFER_KEYS,
     .kind = OPTION_STRING,
     .offset = AT(only),
     .value = "SQL",
     .help = "only combinations for which this is true"},
    {.name = "limit",
     .kind = OPTION_INT,
     .offset = AT(limit),
     .value = "N",
     .help = "list at most N of them (100)",
     .least = 1,
     .most = INFINITY},
    {.name = "all", .kind = OPTION_FLAG, .offset = AT(all), .help = "list all of them"},
    {.name = "where",
     .kind = OPTION_STRING,
     .offset = offsetof(struct predict_options, where),
     .value = "SQL",
     .help = "as a table, rows for which this is true: \"verdict = 'fits'\""},
    {.name = "sort",
     .kind = OPTION_STRING,
     .offset = offsetof(struct predict_options, sort),
     .value = "COLUMN[:desc]",
     .help = "as a table, by this column: predicted_time"},
    {.name = "columns",
     .kind = OPTION_STRING,
     .offset = offsetof(struct predict_options, columns),
     .value = "A,B,...",
     .help = "as a table of these columns; default: what differs, all"},
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = offsetof(struct predict_options, format),
     .value = "NAME",
     .help = "table, csv, tsv, json, jsonl or markdown",
     .choices = result_format_names},
    {.name = "json",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct predict_options, json),
     .help = "the table as a JSON document: columns, units, records"},
    {.name = "accuracy",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct predict_options, accuracy),
     .help = "errors before each run; what pruning avoids and loses"},
    {.name = "frontier",
     .offer = OFFER_KEYS,
     .kind = OPTION_STRING,
     .offset = offsetof(struct predict_options, frontier),
     .value = "KEY",
     .help = "largest KEY that fitted, smallest that did not, limit predicted"},
    {.name = "profile",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct predict_options, profile),
     .help = "the calibrated coefficients as a profile for the next sweep"},
    {.name = NULL},
};

/* One walk over the combinations, with what the database has measured of each. */
struct prediction_walk {
    struct session *session;
    struct stmt *lookup;    /* NULL: there is no database */
    struct stmt *summaries; /* of jobs of tables, from which nothing is learned; NULL: there are none */
    struct describer *describer;
    struct prediction_report *report; /* this, or the table */
    struct prediction_table *table;
};

static int look_up(struct prediction_walk *w, const struct hash128 *key, struct predicted_row *row, struct error *e)
{
    row->measured_bytes = row->measured_s = row->before_bytes = NAN;
    row->state = row->failure = "";
    if (!w->lookup)
        return 0;
    stmt_reset(w->lookup);
    stmt_bind_blob(w->lookup, 1, key->bytes, sizeof key->bytes);
    int rc = stmt_next(w->lookup, e);
    if (rc <= 0)
        return rc;
    row->state = stmt_text(w->lookup, 0);
    row->failure = stmt_is_null(w->lookup, 1) ? "" : stmt_text(w->lookup, 1);
    row->measured_bytes = stmt_is_null(w->lookup, 2) ? NAN : stmt_double(w->lookup, 2);
    row->measured_s = stmt_is_null(w->lookup, 3) ? NAN : stmt_double(w->lookup, 3);
    row->before_bytes = stmt_is_null(w->lookup, 4) ? NAN : stmt_double(w->lookup, 4);
    row->is_audit = stmt_int(w->lookup, 5) != 0;
    row->job = stmt_int(w->lookup, 7);
    return 0;
}

/* What a table says of the job that is looked up. */
static int measure_imported(struct prediction_walk *w, const struct match *m, struct predicted_row *row,
                            struct error *e)
{
    struct measurement measured;
    if (!w->summaries || strcmp(row->state, "ok") != 0 || stmt_is_null(w->lookup, 6))
        return 0;
    if (learning_measure(w->session->space, w->summaries, stmt_int(w->lookup, 6), m->prediction, &measured, e) < 0)
        return -1;
    row->measured_bytes = isnan(row->measured_bytes) ? measured.bytes : row->measured_bytes;
    row->measured_s = isnan(row->measured_s) ? measured.seconds : row->measured_s;
    return 0;
}

static int take_match(struct prediction_walk *w, const struct match *m, struct error *e)
{
    struct predicted_row row = {.prediction = m->prediction,
                                .why = m->why_not,
                                .predicted_memory_of = m->predicted_memory_of};
    struct buffer words = BUFFER_INIT;
    int rc = look_up(w, &m->key, &row, e);
    if (rc == 0)
        rc = measure_imported(w, m, &row, e);
    if (rc == 0)
        rc = describe_match(w->describer, m, &words, e);
    row.words = buffer_text(&words);
    if (rc == 0 && w->table)
        rc = prediction_table_add(w->table, m, &row, e);
    else if (rc == 0)
        prediction_report_add(w->report, &row);
    buffer_free(&words);
    return rc;
}

static int walk(struct prediction_walk *w, struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    const struct expression *only = w->session->only.sql ? &w->session->only : NULL;
    if (match_open(w->session->space, only, &cursor, e) < 0)
        return -1;
    int rc;
    while ((rc = match_next(cursor, &m, e)) > 0)
        if ((rc = take_match(w, m, e)) < 0)
            break;
    match_close(cursor);
    return rc;
}

static int prepare(struct prediction_walk *w, struct db *db, struct error *e)
{
    if (db && db_prepare(db,
                         "SELECT iif(j.witness_id IS NULL, j.state, 'pruned'), j.failure, m.measured, t.measured, "
                         "j.predicted_memory, j.audit, j.attempt_id, j.id FROM job AS j"
                         " LEFT JOIN observation AS m ON m.attempt_id = j.attempt_id AND m.quantity = 'memory'"
                         "  AND m.kind = 'measured'"
                         " LEFT JOIN observation AS t ON t.attempt_id = j.attempt_id AND t.quantity = 'time'"
                         " WHERE j.key = ?",
                         &w->lookup, e) < 0)
        return -1;
    if (db && w->session->space->of_jobs && learning_summaries(db, &w->summaries, e) < 0)
        return -1;
    return describer_create(w->session->space, &w->describer, e);
}

static int check_asked(const struct session *s, struct error *e)
{
    if (!s->sweep->predict.given)
        return error_set(e, ERROR_USAGE, "%s: the file has no [predict] table; see [predict] in meshsweep(5)",
                         s->sweep->path);
    if (!s->space->prediction.asked)
        return error_set(e, ERROR_NOTHING, "%s: %s", s->sweep->path, s->space->prediction.note);
    return 0;
}

static bool wants_table(const struct predict_options *o)
{
    return o->where || o->sort || o->columns || o->format || o->json;
}

/* Rows as `results` has them. */
static int answer_table(struct prediction_walk *w, const struct predict_options *o, struct error *e)
{
    const struct report_format *format;
    uint64_t count = 0;
    if (report_format_find(o->format ? o->format : "table", &format, e) < 0 ||
        prediction_table_create(w->session->space, &w->table, e) < 0 || walk(w, e) < 0)
        return -1;
    if (o->json)
        format = &report_document;
    bool is_brief = !o->columns && (format->render == render_table || format->render == render_markdown);
    char *brief = is_brief ? prediction_table_brief(w->table) : NULL;
    const struct result_query q = {.where = o->where,
                                   .sort = o->sort,
                                   .columns = is_brief ? brief : o->columns,
                                   .limit = o->match.limit,
                                   .is_table = true};
    int rc = result_output(prediction_table_db(w->table), &q, format, &output_sink, &count, e);
    free(brief);
    return rc == 0 && count == 0 ? error_set(e, ERROR_NOTHING, "no combination matches") : rc;
}

static int answer_report(struct prediction_walk *w, const struct predict_options *o, struct db *db, struct buffer *out,
                         struct error *e)
{
    const struct report_request request = {.most = o->match.all     ? INT64_MAX
                                                   : o->match.limit ? o->match.limit
                                                                    : JOBS_SHOWN,
                                           .kind = o->accuracy   ? REPORT_ACCURACY
                                                   : o->frontier ? REPORT_FRONTIER
                                                                 : REPORT_LIST,
                                           .frontier_key = o->frontier,
                                           .memory_words = w->session->space->prediction.memory_words};
    w->report = prediction_report_create(&request);
    return walk(w, e) < 0 ? -1 : prediction_report_end(w->report, w->session->space, db, out, e);
}

static int answer(struct session *s, const struct predict_options *o, struct db *db, struct buffer *out,
                  struct error *e)
{
    struct prediction_walk w = {.session = s};
    if (wants_table(o) && (o->profile || o->accuracy || o->frontier))
        return error_set(e, ERROR_USAGE,
                         "--where, --sort, --columns, --format and --json are of the list of combinations");
    if (o->profile)
        return db ? prediction_report_profile(s->space, db, out, e)
                  : error_set(e, ERROR_NOTHING, "there is no database, so nothing was measured");
    if (check_asked(s, e) < 0)
        return -1;
    int rc = prepare(&w, db, e);
    if (rc == 0)
        rc = wants_table(o) ? answer_table(&w, o, e) : answer_report(&w, o, db, out, e);
    if (rc == 0 && s->space->prediction.note[0])
        output_message("%s", s->space->prediction.note);
    prediction_report_free(w.report);
    prediction_table_free(w.table);
    stmt_free(w.lookup);
    stmt_free(w.summaries);
    describer_free(w.describer);
    return rc;
}

static int run(const struct arguments *a, struct error *e)
{
    const struct predict_options *o = a->options;
    struct session s = {0};
    struct db *db = NULL;
    struct buffer out = BUFFER_INIT;
    int status = store_exists(o->match.db) ? store_open_read_only(o->match.db, &db, e) : 0;
    if (status == 0)
        status = session_open_recorded(&s, &o->match, a, db, e);
    if (status == 0 && db)
        status = model_info_use_known(&s, db, e);
    if (status == 0 && db)
        status = learning_load(s.space, db, e);
    if (status == 0)
        status = answer(&s, o, db, &out, e);
    if (status >= 0 && output_people(&out, e) < 0)
        status = -1;
    db_close(db);
    session_close(&s);
    buffer_free(&out);
    return status;
}

const struct command predict_command = {
    .name = "predict",
    .summary = "Show predicted memory and time beside what was measured",
    .usage = "[OPTIONS]",
    .example = "meshsweep predict -c sweep.toml --only 'tp = 2'\n"
               "meshsweep predict --where \"verdict = 'fits'\" --sort predicted_time --limit 10\n"
               "meshsweep predict -c sweep.toml --frontier micro_batch",
    .options = options,
    .options_bytes = sizeof(struct predict_options),
    .pages = true,
    .run = run,
};
