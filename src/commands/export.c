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
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

#include <string.h>

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

static int write_summary(struct exporting *x, const struct report_sink *sink, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    return summary_add(x->db, &text, e) < 0 ? -1 : sink->write(sink->context, text.data, text.length, e);
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
