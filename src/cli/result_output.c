#include "cli/result_output.h"

#include "cli/output.h"
#include "cli/statement_rows.h"

/* A terminal's lines are short; a file or a pipe gets what there is. */
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

static int output_rows(struct db *db, struct stmt *s, const struct report_format *format, const struct report_sink *sink,
                       uint64_t *count, struct error *e)
{
    char **units = NULL;
    int rc = result_units(db, s, &units, e);
    if (rc == 0) {
        struct statement_rows rows;
        const struct render_options options = options_for(sink);
        statement_rows_init(&rows, s, units);
        rc = format->render(&rows.source, &options, sink, e);
        *count = rows.count;
        statement_rows_free(&rows);
    }
    result_units_free(units, s);
    return rc;
}

int result_output_long(struct db *db, const struct result_query *q, const struct report_format *format,
                       const struct report_sink *sink, uint64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (result_query_open_long(db, q, &s, e) < 0)
        return -1;
    int rc = output_rows(db, s, format, sink, count, e);
    stmt_free(s);
    return rc;
}

int result_output(struct db *db, const struct result_query *q, const struct report_format *format,
                  const struct report_sink *sink, uint64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (result_query_open(db, q, &s, e) < 0)
        return -1;
    int rc = output_rows(db, s, format, sink, count, e);
    stmt_free(s);
    return rc;
}
