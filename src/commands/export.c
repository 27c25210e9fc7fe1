#include "cli/command.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/written_file.h"
#include "database/open.h"
#include "results/json.h"
#include "results/subset.h"
#include "util/file.h"

#include <string.h>

struct export_options {
    const char *db, *file, *format, *where;
    bool all, succeeded, failed, long_rows, toml, json;
};

#define AT(member) offsetof(struct export_options, member)

static const struct option options[] = {
    {.name = "db",
     .letter = 'd',
     .kind = OPTION_STRING,
     .offset = AT(db),
     .value = "FILE",
     .help = "the database",
     .fallback = "results.db"},
    {.name = "all", .kind = OPTION_FLAG, .offset = AT(all), .help = "every job (as without any of these three)"},
    {.name = "succeeded", .kind = OPTION_FLAG, .offset = AT(succeeded), .help = "jobs that are ok"},
    {.name = "failed", .kind = OPTION_FLAG, .offset = AT(failed), .help = "jobs that failed"},
    {.name = "where",
     .kind = OPTION_STRING,
     .offset = AT(where),
     .value = "SQL",
     .help = "only jobs for which this is true, as in results"},
    {.name = "long",
     .kind = OPTION_FLAG,
     .offset = AT(long_rows),
     .help = "one row per job and metric, not one per job"},
    {.name = "toml",
     .kind = OPTION_FLAG,
     .offset = AT(toml),
     .help = "the sweep file of these jobs, to run them elsewhere"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_STRING,
     .offset = AT(file),
     .value = "FILE",
     .help = "into this file, whole or not at all; default: standard output"},
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = AT(format),
     .value = "NAME",
     .help = "csv, tsv, json, jsonl, markdown or table",
     .choices = result_format_names,
     .fallback = "csv"},
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "with -o: say as JSON what was written"},
    {.name = NULL},
};

static int query_of(const struct export_options *o, struct result_query *out, struct error *e)
{
    if (o->all + o->succeeded + o->failed > 1)
        return error_set(e, ERROR_USAGE, "export: only one of --all, --succeeded and --failed");
    if (o->long_rows && o->toml)
        return error_set(e, ERROR_USAGE, "export: only one of --long and --toml");
    *out = (struct result_query){
        .every_sweep = true,
        .where = o->where,
        .state = o->succeeded ? "ok"
                 : o->failed  ? "failed"
                              : NULL,
    };
    return 0;
}

static int write_to_file(void *context, const void *bytes, size_t length, struct error *e)
{
    return atomic_file_write(context, bytes, length, e);
}

static int write_toml(struct db *db, const struct result_query *q, const struct report_sink *sink, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    int rc = subset_add_toml(db, q, &text, e);
    if (rc == 0)
        rc = sink->write(sink->context, text.data, text.length, e);
    buffer_free(&text);
    return rc;
}

/* `*rows` stays what it is where a sweep file is written. */
static int write_export(struct db *db, const struct export_options *o, const struct report_sink *sink, int64_t *rows,
                        struct error *e)
{
    const struct report_format *format;
    struct result_query q;
    uint64_t count = 0;
    if (query_of(o, &q, e) < 0 || report_format_find(o->format, &format, e) < 0)
        return -1;
    if (o->toml)
        return write_toml(db, &q, sink, e);
    int rc = o->long_rows ? result_output_long(db, &q, format, sink, &count, e)
                          : result_output(db, &q, format, sink, &count, e);
    *rows = (int64_t)count;
    return rc;
}

static int print_json(const struct export_options *o, int64_t rows, struct error *e)
{
    cJSON *root = json_document();
    json_add_text(root, "path", o->file);
    json_add_text(root, "format", o->toml ? "toml" : o->format);
    json_add_count(root, "rows", rows);
    int rc = output_json(root, e);
    cJSON_Delete(root);
    return rc;
}

static int export_to_file(struct db *db, const struct export_options *o, struct error *e)
{
    struct atomic_file file = ATOMIC_FILE_INIT;
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = db};
    if (written_file_check(o->file, &kept, e) < 0 || atomic_file_open(o->file, &file, e) < 0)
        return -1;
    const struct report_sink sink = {write_to_file, &file};
    int64_t rows = -1;
    int rc = write_export(db, o, &sink, &rows, e);
    if (rc == 0)
        rc = atomic_file_commit(&file, e);
    if (rc == 0 && o->json)
        rc = print_json(o, rows, e);
    atomic_file_close(&file);
    return rc;
}

static int export(const struct arguments *a, struct error *e)
{
    const struct export_options *o = a->options;
    const struct report_format *format;
    struct result_query q;
    struct db *db = NULL;
    int64_t rows = -1;
    const bool to_file = o->file && strcmp(o->file, "-") != 0;
    if (o->json && !to_file)
        return error_set(e, ERROR_USAGE, "export: --json goes with -o FILE; --format json gives the rows as JSON");
    if (query_of(o, &q, e) < 0 || report_format_find(o->format, &format, e) < 0 ||
        store_open_read_only(o->db, &db, e) < 0)
        return -1;
    int rc = to_file ? export_to_file(db, o, e) : write_export(db, o, &output_sink, &rows, e);
    store_close(db);
    return rc;
}

const struct command export_command = {
    .name = "export",
    .summary = "Write the results as a table for other programs",
    .usage = "[OPTIONS]",
    .example = "meshsweep export --succeeded -o results_succeeded.csv\n"
               "meshsweep export --long --format jsonl --where \"zero_stage = 3\"\n"
               "meshsweep export --toml --failed -o failed.toml",
    .options = options,
    .options_bytes = sizeof(struct export_options),
    .run = export,
};
