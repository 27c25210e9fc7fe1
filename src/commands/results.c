#include "cli/output.h"
#include "cli/result_output.h"
#include "commands/commands.h"
#include "database/open.h"

static struct result_query query_of(const struct results_options *o, const struct report_format *format)
{
    return (struct result_query){
        .where = o->where,
        .sort = o->sort,
        .columns = o->columns,
        .limit = o->limit,
        .every_sweep = o->all,
        .width = o->wide || o->columns ? 0 : output_width(stdout),
        .brief = format->render == render_table || format->render == render_markdown,
    };
}

int command_results(const struct results_options *o, struct error *e)
{
    const struct report_format *format;
    OWNED_DB *db = NULL;
    uint64_t count = 0;
    if (o->outliers && (o->where || o->sort || o->columns || o->limit || o->all || o->wide))
        return error_set(e, ERROR_USAGE, "results: --outliers takes no option but -d and --json");
    if (report_format_find(o->format, &format, e) < 0 || store_open_read_only(o->db, &db, e) < 0)
        return -1;
    if (o->outliers)
        return result_answer(db, "sql/answers/outliers.sql", NO_VALUES, o->json, e);
    if (o->json)
        format = &report_document;
    const struct result_query q = query_of(o, format);
    int rc = result_output(db, &q, format, &output_sink, &count, e);
    if (rc == 0 && count == 0 && !o->json)
        return error_set(e, ERROR_NOTHING, "no job matches");
    return rc == 0 && count == 0 ? STATUS_NOTHING : rc;
}
