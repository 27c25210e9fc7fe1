#include "cli/result_output.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/json.h"
#include "results/query.h"
#include "util/memory.h"

#define NAME(name, is_json) #name,
const char *const result_format_names[] = {REPORT_FORMATS(NAME) "markdown", "table", NULL};
const char *const export_format_names[] =
    {REPORT_FORMATS(NAME) "markdown", "table", "xlsx", "optuna", "prometheus", "summary", NULL};

/* --- the rows of a statement --- */

struct statement_rows {
    struct stmt *statement;
    const struct result_column *columns;
    bool is_json; /* the format writes booleans and JSON as such */
    uint64_t count;
};

static struct cell cell_of(const struct stmt *s, int column)
{
    switch (stmt_type(s, column)) {
    case COLUMN_INT:
        return (struct cell){.kind = CELL_INT, .integer = stmt_int(s, column)};
    case COLUMN_FLOAT:
        return (struct cell){.kind = CELL_FLOAT, .real = stmt_double(s, column)};
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return (struct cell){.kind = CELL_TEXT, .text = stmt_blob(s, column), .length = stmt_bytes(s, column)};
    case COLUMN_NULL:
        break;
    }
    return (struct cell){.kind = CELL_NULL};
}

/* Types that SQLite lacks. */
static void give_type(struct cell *cell, enum key_type type, bool is_json)
{
    if (type == KEY_TRUTH && cell->kind == CELL_INT && is_json)
        cell->kind = CELL_TRUTH;
    else if (type == KEY_TRUTH && cell->kind == CELL_INT)
        *cell =
            (struct cell){.kind = CELL_TEXT, .text = cell->integer ? "true" : "false", .length = cell->integer ? 4 : 5};
    else if (type == KEY_JSON && cell->kind == CELL_TEXT && is_json)
        cell->kind = CELL_JSON;
    cell->is_exact = type == KEY_OTHER;
}

static int next_row(void *context, struct cell *cells, struct error *e)
{
    struct statement_rows *r = context;
    int rc = stmt_next(r->statement, e);
    for (int i = 0; rc > 0 && i < stmt_column_count(r->statement); i++) {
        cells[i] = cell_of(r->statement, i);
        give_type(&cells[i], r->columns[i].type, r->is_json);
    }
    r->count += rc > 0;
    return rc;
}

int statement_rows_render(struct db *db, struct stmt *s, const struct shown_rows *shown, uint64_t *count,
                          struct error *e)
{
    const enum unit_form form = shown->format == &report_document ? UNITS_BARE
                                : shown->options.units            ? UNITS_ALL
                                                                  : UNITS_SHOWN;
    struct statement_rows rows = {.statement = s, .is_json = shown->format->is_json};
    struct result_column *columns = NULL;
    int rc = result_columns(db, s, form, shown->has_keys, &columns, e);
    rows.columns = columns;
    if (rc == 0) {
        const struct row_source source = {(size_t)stmt_column_count(s), columns, next_row, &rows};
        rc = shown->format->render(&source, &shown->options, shown->sink, e);
    }
    result_columns_free(columns);
    if (count)
        *count = rows.count;
    return rc;
}

/* --- results --- */

/* Cells are cut only on a terminal. */
static struct render_options options_for(const struct report_sink *sink)
{
    struct render_options o = RENDER_OPTIONS_INIT;
    bool terminal = sink == &output_sink && output_is_terminal(stdout);
    o.ascii = terminal && !output_has_utf8();
    o.colour = sink == &output_sink && output_has_colour(stdout);
    if (!terminal)
        o.cell_width = 0;
    return o;
}

/* A workbook is no text. */
static int refuse_workbook(const struct report_format *format, const struct report_sink *sink, struct error *e)
{
    return format->render == render_xlsx && sink == &output_sink
               ? error_set(e, ERROR_USAGE, "--format xlsx writes a workbook; name its file: meshsweep export -o FILE")
               : 0;
}

int result_output_long(struct db *db, const struct result_query *q, const struct report_format *format,
                       const struct report_sink *sink, uint64_t *count, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (refuse_workbook(format, sink, e) < 0 || result_query_open_long(db, q, &s, e) < 0)
        return -1;
    struct shown_rows shown = {format, options_for(sink), sink, false};
    shown.options.units = q->units;
    return statement_rows_render(db, s, &shown, count, e);
}

/* How important a column is, 0 being the most. */
static int importance_of(const char *name, const char *objective, bool is_key)
{
    return strcmp(name, "job") == 0                    ? 0
           : strcmp(name, "state") == 0                ? 1
           : objective && strcmp(name, objective) == 0 ? 2
           : is_key                                    ? 3
                                                       : 4;
}

/* The columns, the most important one first; keys (between job and state) from the last one on, since those of the
 * parallel spec come last. The caller's. */
static size_t *by_importance(const struct stmt *s, const char *objective)
{
    const size_t count = (size_t)stmt_column_count(s);
    const size_t state = FIRST(i, count, strcmp(stmt_column_name(s, (int)i), "state") == 0);
    size_t *order = xcalloc(count + 1, sizeof *order), n = 0;
    for (int importance = 0; importance <= 4; importance++)
        for (size_t k = 0; k < count; k++) {
            const size_t i = importance == 3 ? count - 1 - k : k;
            const bool is_key = state < count && i > 0 && i < state;
            if (importance_of(stmt_column_name(s, (int)i), objective, is_key) == importance)
                order[n++] = i;
        }
    return order;
}

int result_output(struct db *db, const struct result_query *q, const struct report_format *format,
                  const struct report_sink *sink, uint64_t *count, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (refuse_workbook(format, sink, e) < 0 || result_query_open(db, q, &s, e) < 0)
        return -1;
    OWNED char *objective = q->width ? result_objective(db) : NULL;
    OWNED size_t *order = by_importance(s, objective);
    struct shown_rows shown = {format, options_for(sink), sink, true};
    size_t left_out = 0;
    shown.options.width = q->width;
    shown.options.units = q->units;
    shown.options.order = order;
    shown.options.left_out = &left_out;
    int rc = statement_rows_render(db, s, &shown, count, e);
    if (rc == 0 && left_out)
        output_message("%zu more columns: --wide, or --columns A,B,…", left_out);
    return rc;
}

/* --- answers --- */

static int print_shown(struct db *db, const char *name, struct sql_values values, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED_BUFFER said = BUFFER_INIT;
    const struct shown_rows shown = {&report_formats[0], options_for(&output_sink), &output_sink, false};
    int rc = answer_open(db, name, "SELECT text, (SELECT count(*) FROM shown) FROM said", values, &s, e);
    if (rc == 0)
        rc = stmt_next(s, e);
    const int64_t rows = rc > 0 ? stmt_int(s, 1) : 0;
    if (rc > 0) {
        text_add_line(&said, stmt_text(s, 0));
        buffer_add_text(&said, rows ? "\n\n" : "\n");
    }
    stmt_free(s);
    s = NULL;
    rc = rc < 0 ? -1 : output_people(&said, e);
    if (rc == 0 && rows && (rc = answer_open(db, name, "SELECT * FROM shown", values, &s, e)) == 0)
        rc = statement_rows_render(db, s, &shown, NULL, e);
    return rc;
}

static int read_answer(struct db *db, const char *name, struct sql_values values, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = answer_open(db, name, NULL, values, &s, e);
    if (rc == 0)
        rc = stmt_next(s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    else if (rc > 0 && stmt_column_count(s) > 1 && !stmt_is_null(s, 1))
        rc = error_set(e, ERROR_NOTHING, "%s", stmt_text(s, 1));
    else if (rc > 0)
        rc = answer_take(s, 0, out, e);
    return rc;
}

int result_answer(struct db *db, const char *name, struct sql_values values, bool json, struct error *e)
{
    OWNED_JSON *document = NULL;
    /* One transaction: a runner may be at work. */
    if (saying_add_functions(db, e) < 0 || db_read_begin(db, e) < 0)
        return -1;
    int rc = read_answer(db, name, values, &document, e);
    if (rc == 0)
        rc = json ? output_json(document, e) : print_shown(db, name, values, e);
    db_read_end(db);
    return rc;
}

int output_said(const char *name, const cJSON *document, const cJSON *beside, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    return saying_add_text(name, document, beside, &out, e) < 0 ? -1 : output_people(&out, e);
}

int output_answer(bool json, const char *name, cJSON *document, const cJSON *beside, struct error *e)
{
    return json ? output_json(document, e) : output_said(name, document, beside, e);
}

/* --- notices --- */

void batch_notice_say(const cJSON *beside)
{
    const char *notice = json_text_of(beside, "batch_notice");
    if (notice)
        output_message("%s", notice);
}

int device_notice_say(struct db *db, int64_t job_id, struct error *e)
{
    static const char sql[] =
        "SELECT iif(n > 1, n || ' jobs were measured on slow devices, such as job ', 'job ') || job_id"
        " || iif(n > 1, ': ', ' was measured on a slow device: ') || device_note FROM (SELECT a.*, count() OVER () AS n"
        " FROM attempt AS a CROSS JOIN job AS j ON j.id = a.job_id AND j.attempt_id = a.id"
        " WHERE a.device_note IS NOT NULL AND j.state = 'ok'"
        " AND iif(?1, j.id = ?1, j.sweep_id = (SELECT id FROM current_sweep))) ORDER BY job_id LIMIT 1";
    OWNED char *notice = NULL;
    int rc = db_query_text(db, sql, VALUES(sql_int(job_id)), &notice, e);
    if (notice)
        output_message("%s", notice);
    return rc;
}
