#include "cli/result_output.h"

#include <string.h>

#include "cli/output.h"
#include "report/statement_rows.h"
#include "util/memory.h"

const char *const result_format_names[] = {"csv", "tsv", "json", "jsonl", "markdown", "table", NULL};

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

int result_output_long(struct db *db, const struct result_query *q, const struct report_format *format,
                       const struct report_sink *sink, uint64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (result_query_open_long(db, q, &s, e) < 0)
        return -1;
    const struct shown_rows shown = {format, options_for(sink), sink, false};
    int rc = statement_rows_render(db, s, &shown, count, e);
    stmt_free(s);
    return rc;
}

/* Names of columns, the most important one first: the objective, then the keys (between job and state) from the last
 * one on, since those of the parallel spec come last. NULL-terminated; the list is the caller's. */
static const char **important_columns(const struct stmt *s, const char *objective)
{
    int count = stmt_column_count(s), state = 0;
    const char **out = xcalloc((size_t)count + 4, sizeof *out);
    size_t n = 0;
    while (state < count && strcmp(stmt_column_name(s, state), "state") != 0)
        state++;
    out[n++] = "job";
    out[n++] = "state";
    if (objective)
        out[n++] = objective;
    for (int i = state - 1; state < count && i > 0; i--)
        out[n++] = stmt_column_name(s, i);
    return out;
}

int result_output(struct db *db, const struct result_query *q, const struct report_format *format,
                  const struct report_sink *sink, uint64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (result_query_open(db, q, &s, e) < 0)
        return -1;
    char *objective = q->width ? result_objective(db) : NULL;
    const char **kept = important_columns(s, objective);
    struct shown_rows shown = {format, options_for(sink), sink, true};
    size_t left_out = 0;
    shown.options.width = q->width;
    shown.options.kept = kept;
    shown.options.left_out = &left_out;
    int rc = statement_rows_render(db, s, &shown, count, e);
    if (rc == 0 && left_out)
        output_message("%zu more columns: --wide, or --columns A,B,…", left_out);
    free_all(kept, objective);
    stmt_free(s);
    return rc;
}
