#include "cli/command.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "database/open.h"

#include <math.h>

struct results_options {
    const char *db, *where, *sort, *columns, *format;
    int64_t limit;
    bool all, wide, outliers, json;
};

#define AT(member) offsetof(struct results_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION(STRING, "where", AT(where), "SQL", "only rows that satisfy this condition: \"tp = 2 AND layers > 4\"",
           .offer = OFFER_COLUMNS),
    OPTION(STRING, "sort", AT(sort), "COLUMN[:desc]", "by this column", .offer = OFFER_COLUMNS),
    OPTION(INT, "limit", AT(limit), "N", "at most N rows", .least = 1, .most = INFINITY),
    OPTION(STRING, "columns", AT(columns), "A,B,...",
           "only these columns (default: those that differ; all in other formats than table and markdown)",
           .offer = OFFER_COLUMNS),
    OPTION(STRING, "format", AT(format), "NAME", RESULT_FORMATS_SAID, .fallback = "table",
           .choices = result_format_names),
    OPTION(FLAG, "json", AT(json), NULL, "print a JSON document: columns, units, records"),
    OPTION(FLAG, "all", AT(all), NULL, "include jobs of earlier sweeps"),
    OPTION(FLAG, "outliers", AT(outliers), NULL, "repeated runs whose objective is far from that of the others"),
    OPTION(FLAG, "wide", AT(wide), NULL, "all columns, even if they do not fit the terminal"),
    {.name = NULL},
};

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

static int results(const struct arguments *a, struct error *e)
{
    const struct results_options *o = a->options;
    const struct report_format *format;
    struct db *db = NULL;
    uint64_t count = 0;
    if (o->outliers && (o->where || o->sort || o->columns || o->limit || o->all || o->wide))
        return error_set(e, ERROR_USAGE, "results: --outliers takes no option but -d and --json");
    if (report_format_find(o->format, &format, e) < 0 || store_open_read_only(o->db, &db, e) < 0)
        return -1;
    if (o->outliers) {
        int rc = result_answer(db, "sql/answers/outliers.sql", NO_VALUES, o->json, e);
        store_close(db);
        return rc;
    }
    if (o->json)
        format = &report_document;
    const struct result_query q = query_of(o, format);
    int rc = result_output(db, &q, format, &output_sink, &count, e);
    store_close(db);
    if (rc == 0 && count == 0 && !o->json)
        return error_set(e, ERROR_NOTHING, "no job matches");
    return rc == 0 && count == 0 ? STATUS_NOTHING : rc;
}

const struct command results_command = {
    .name = "results",
    .summary = "Show jobs with their keys, states and metrics",
    .usage = "[OPTIONS]",
    .example = "meshsweep results --where \"state = 'ok' AND tp > 1\" --sort throughput:desc --limit 10\n"
               "meshsweep results --columns job,tp,throughput --format csv\nmeshsweep results --outliers",
    .options = options,
    .options_bytes = sizeof(struct results_options),
    .pages = true,
    .run = results,
};
