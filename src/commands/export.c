#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/open.h"
#include "report/exports.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/best.h"
#include "results/json.h"
#include "results/query.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

#include <string.h>

static int query_of(const struct export_options *o, struct result_query *out, struct error *e)
{
    if (o->all + o->succeeded + o->failed > 1)
        return error_set(e, ERROR_USAGE, "export: give only one of --all, --succeeded and --failed");
    if (o->long_rows + o->toml + o->means > 1)
        return error_set(e, ERROR_USAGE, "export: give only one of --long, --means and --toml");
    if (o->units && (o->toml || (o->format > 1 && strcmp(export_format_names[o->format], "xlsx") != 0)))
        return error_set(e, ERROR_USAGE, "export: --units needs --format csv, tsv or xlsx");
    *out = (struct result_query){
        .every_sweep = true,
        .where = o->where,
        .units = o->units,
        .means = o->means,
        .state = o->succeeded ? "ok"
                 : o->failed  ? "failed"
                              : NULL,
    };
    return 0;
}

static int write_text(struct buffer *text, int rc, const struct report_sink *sink, struct error *e)
{
    if (rc == 0)
        rc = sink->write(sink->context, text->data, text->length, e);
    buffer_free(text);
    return rc;
}

static int write_toml(struct db *db, const struct result_query *q, const struct report_sink *sink, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    return write_text(&text, subset_add_toml(db, q, &text, e), sink, e);
}

static int write_summary(struct db *db, const struct report_sink *sink, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    return write_text(&text, summary_add(db, &text, e), sink, e);
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
static int write_prometheus(struct db *db, const struct report_sink *sink, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    OWNED_BUFFER lines = BUFFER_INIT;
    OWNED_JSON *status = NULL, *beside = cJSON_CreateObject();
    const int64_t now_ms = clock_wall_ms();
    JSON_ADD(beside, JSON_STRING("version", MESHSWEEP_VERSION), JSON_INT("now_ms", now_ms));
    if (status_read(db, true, now_ms, &status, NULL, e) < 0 || read_best(db, status, beside, e) < 0 ||
        saying_add_text("sql/texts/prometheus.sql", status, beside, &lines, e) < 0)
        return -1;
    text_add_valid(&text, buffer_text(&lines), lines.length);
    return write_text(&text, 0, sink, e);
}

/* `*rows` stays what it is where a sweep file is written. */
static int write_rows(struct db *db, const struct export_options *o, const struct report_sink *sink, int64_t *rows,
                      struct error *e)
{
    const struct report_format *format;
    struct result_query q;
    uint64_t count = 0;
    if (query_of(o, &q, e) < 0 || report_format_find(export_format_names[o->format], &format, e) < 0)
        return -1;
    if (o->toml)
        return write_toml(db, &q, sink, e);
    int rc = o->long_rows ? result_output_long(db, &q, format, sink, &count, e)
                          : result_output(db, &q, format, sink, &count, e);
    *rows = (int64_t)count;
    return rc;
}

/* Formats other than rows. */
static const struct whole_format {
    const char *name;
    int (*write)(struct db *db, const struct report_sink *sink, struct error *e); /* NULL: a database */
} whole_formats[] = {{"optuna", NULL}, {"prometheus", write_prometheus}, {"summary", write_summary}};

/* NULL for one of rows. */
static const struct whole_format *whole_format_of(const struct export_options *o)
{
    return FIND(i, sizeof whole_formats / sizeof *whole_formats,
                strcmp(export_format_names[o->format], whole_formats[i].name) == 0, &whole_formats[i]);
}

static int check(const struct export_options *o, struct error *e)
{
    const struct whole_format *whole = whole_format_of(o);
    struct result_query q;
    if (query_of(o, &q, e) < 0)
        return -1;
    if (whole && (o->long_rows || o->means || o->toml))
        return error_set(e, ERROR_USAGE, "export: --format %s cannot be combined with --long, --means or --toml",
                         whole->name);
    if (whole && whole->write && (o->all || o->succeeded || o->failed || o->where))
        return error_set(e, ERROR_USAGE,
                         "export: --format %s always covers all jobs; leave out --all, --succeeded, --failed and "
                         "--where",
                         whole->name);
    if (whole && !whole->write && (!o->file || strcmp(o->file, "-") == 0))
        return error_set(e, ERROR_USAGE, "export: --format %s writes a database; name its file with -o FILE",
                         whole->name);
    return 0;
}

static int write_export(struct db *db, const struct export_options *o, const struct report_sink *sink, int64_t *rows,
                        struct error *e)
{
    const struct whole_format *whole = whole_format_of(o);
    return whole ? whole->write(db, sink, e) : write_rows(db, o, sink, rows, e);
}

static int export_to_file(struct db *db, const struct export_options *o, int64_t *rows, struct error *e)
{
    struct atomic_file file = ATOMIC_FILE_INIT;
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = db};
    if (written_file_check(o->file, &kept, e) < 0 || atomic_file_open(o->file, o->db, &file, e) < 0)
        return -1;
    const struct report_sink sink = report_sink_of_file(&file);
    int rc = write_export(db, o, &sink, rows, e);
    if (rc == 0)
        rc = atomic_file_commit(&file, e);
    atomic_file_close(&file);
    return rc;
}

static int export_to_database(struct db *db, const struct export_options *o, struct error *e)
{
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = db};
    struct result_query q;
    if (query_of(o, &q, e) < 0 || written_file_check(o->file, &kept, e) < 0)
        return -1;
    return optuna_write(db, &q, o->file, e);
}

static int print_json(const struct export_options *o, int64_t rows, struct error *e)
{
    OWNED_JSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", o->file), JSON_TEXT("format", o->toml ? "toml" : export_format_names[o->format]),
             JSON_COUNT("rows", rows));
    return output_json(root, e);
}

static bool is_to_file(const struct export_options *o)
{
    return o->file && strcmp(o->file, "-") != 0;
}

static int export_into(struct db *db, const struct export_options *o, int64_t *rows, struct error *e)
{
    const struct whole_format *whole = whole_format_of(o);
    if (whole && !whole->write)
        return export_to_database(db, o, e);
    return is_to_file(o) ? export_to_file(db, o, rows, e) : write_export(db, o, &output_sink, rows, e);
}

int command_export(const struct export_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    int64_t rows = -1;
    if (o->json && !is_to_file(o))
        return error_set(e, ERROR_USAGE, "export: --json needs -o FILE; for the rows as JSON, use --format json");
    if (check(o, e) < 0 || store_open_read_only(o->db, &db, e) < 0)
        return -1;
    int rc = export_into(db, o, &rows, e);
    return rc == 0 && o->json ? print_json(o, rows, e) : rc;
}
