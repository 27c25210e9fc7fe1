#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/table_file.h"
#include "database/open.h"
#include "import/import.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "util/file.h"

#define LINES_SHOWN 10

struct import_options {
    const char *config, *db;
    bool json;
};

#define AT(member) offsetof(struct import_options, member)

static const struct option options[] = {
    {.name = "config",
     .letter = 'c',
     .kind = OPTION_STRING,
     .offset = AT(config),
     .value = "FILE",
     .help = "the sweep file with the [import] table",
     .fallback = "sweep.toml"},
    OPTION_DB(AT(db)),
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "print the counts as JSON"},
    {.name = NULL},
};

/* --- storing --- */

static char *provenance(const struct table_file *in, const struct hash128 *hash, const char *host)
{
    char hex[HASH_HEX_BYTES];
    char *path = path_absolute(in->file), *here = path_absolute(".");
    cJSON *all = cJSON_CreateObject(), *from = cJSON_AddObjectToObject(all, "imported");
    cJSON_AddStringToObject(from, "file", path);
    cJSON_AddStringToObject(from, "directory", here);
    cJSON_AddStringToObject(from, "xxh3_128", hash_hex(hash, hex));
    cJSON_AddNumberToObject(from, "bytes", (double)in->bytes.length);
    cJSON_AddNumberToObject(from, "rows", (double)in->rows);
    cJSON_AddStringToObject(all, "host", host);
    cJSON_AddStringToObject(all, "tool", "meshsweep " MESHSWEEP_VERSION);
    char *text = cJSON_PrintUnformatted(all);
    cJSON_Delete(all);
    free(path);
    free(here);
    return text;
}

static int store(const struct table_file *in, struct db *db, struct import_summary *out, struct error *e)
{
    struct utsname machine;
    struct hash128 hash = hash_bytes(in->bytes.data, in->bytes.length);
    uname(&machine);
    char *from = provenance(in, &hash, machine.nodename);
    const struct import_request request = {
        .sweep = in->sweep,
        .table = in->table,
        .db = db,
        .file = path_name(in->file),
        .hash = hash,
        .runner = {.host = machine.nodename, .boot_id = "", .provenance_json = from, .pid = getpid()},
    };
    int rc = import_table_store(&request, out, e);
    free(from);
    return rc;
}

/* --- reporting --- */

static void report_refusals(const struct table_file *in)
{
    size_t count;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    for (size_t i = 0; i < count && i < LINES_SHOWN; i++)
        output_message("refused %zu row%s, the first at %s:%zu: %s", refusals[i].count,
                       refusals[i].count == 1 ? "" : "s", in->file, refusals[i].first_line, refusals[i].why);
    if (count > LINES_SHOWN)
        output_message("and %zu more reasons", count - LINES_SHOWN);
    size_t dropped = import_table_dropped(in->table);
    if (dropped > 0)
        output_message("dropped %zu number%s of failed rows, which are not measurements", dropped,
                       dropped == 1 ? "" : "s");
}

static void report_broken(const struct table_file *in, const struct import_summary *s)
{
    for (size_t i = 0; i < s->broken_count; i++)
        output_message("warning: %zu row%s that ran violate%s the rule %s, the first at %s:%zu", s->broken[i].rows,
                       s->broken[i].rows == 1 ? "" : "s", s->broken[i].rows == 1 ? "s" : "", s->broken[i].name,
                       in->file, s->broken[i].lines[0]);
}

static size_t refused(const struct table_file *in)
{
    size_t count, total = 0;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    for (size_t i = 0; i < count; i++)
        total += refusals[i].count;
    return total;
}

static int print_json(const struct table_file *in, const struct import_summary *s, struct error *e)
{
    size_t count;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    cJSON *all = json_document();
    cJSON_AddNumberToObject(all, "rows", (double)in->rows);
    cJSON_AddNumberToObject(all, "ok", (double)s->ok);
    cJSON_AddNumberToObject(all, "failed", (double)s->failed);
    cJSON *list = cJSON_AddArrayToObject(all, "refused");
    for (size_t i = 0; i < count; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "why", refusals[i].why);
        cJSON_AddNumberToObject(one, "rows", (double)refusals[i].count);
        cJSON_AddNumberToObject(one, "first_line", (double)refusals[i].first_line);
        cJSON_AddItemToArray(list, one);
    }
    cJSON_AddNumberToObject(all, "dropped_numbers", (double)import_table_dropped(in->table));
    cJSON_AddNumberToObject(all, "jobs", (double)s->jobs);
    cJSON_AddNumberToObject(all, "new_jobs", (double)s->new_jobs);
    cJSON_AddNumberToObject(all, "predicted_jobs", (double)s->predicted);
    cJSON_AddNumberToObject(all, "attempts_added", (double)s->added);
    cJSON_AddNumberToObject(all, "already_there", (double)s->known);
    return output_json_take(all, e);
}

static int print(const struct table_file *in, const struct import_options *o, const struct import_summary *s,
                 struct error *e)
{
    report_refusals(in);
    report_broken(in, s);
    if (s->ok == 0)
        output_message("warning: no row of %s is ok, so there is nothing to rank or to search", in->file);
    if (o->json)
        return print_json(in, s, e);
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "%s: ", in->file);
    buffer_add_count(&text, (int64_t)in->rows, "row");
    buffer_printf(&text, ": %zu ok, %zu failed, %zu refused; ", s->ok, s->failed, refused(in));
    buffer_add_count(&text, (int64_t)s->jobs, "job");
    buffer_printf(&text, " (%zu new), ", s->new_jobs);
    buffer_add_count(&text, (int64_t)s->added, "attempt");
    buffer_printf(&text, " added, %zu already there\n", s->known);
    return output_people_take(&text, e);
}

static int import(const struct arguments *a, struct error *e)
{
    const struct import_options *o = a->options;
    struct import_summary summary = {0};
    struct sweep *sweep = NULL;
    struct db *db = NULL;
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE, "import: name exactly one table: meshsweep import -c FILE TABLE.csv");
    struct table_file in = {.file = a->words[0], .bytes = BUFFER_INIT};
    int rc = sweep_load(o->config, &sweep, e);
    in.sweep = sweep;
    if (rc < 0 && access(o->config, F_OK) < 0)
        rc = error_set(e, ERROR_USAGE, "%s: no such file; meshsweep init --from-table %s writes one", o->config,
                       in.file);
    if (rc == 0 && !sweep->import.given)
        rc = error_set(e, ERROR_USAGE,
                       "%s: there is no [import] table; meshsweep init --from-table %s -o FILE writes a file that has "
                       "one",
                       o->config, in.file);
    if (rc == 0)
        rc = table_file_read(&in, e);
    if (rc == 0)
        rc = session_open_store(o->db, &db, e);
    if (rc == 0 && sweep->share)
        store_share(db);
    if (rc == 0)
        rc = store(&in, db, &summary, e);
    if (rc < 0 && in.table && e->kind == ERROR_NOTHING)
        report_refusals(&in);
    if (rc == 0)
        rc = print(&in, o, &summary, e);
    import_summary_free(&summary);
    table_file_free(&in);
    if (rc < 0 && e->kind != ERROR_FAILED)
        store_discard(db);
    else
        store_close(db);
    sweep_free(sweep);
    return rc;
}

const struct command import_command = {
    .name = "import",
    .summary = "Record a table of measurements as jobs that have been run",
    .usage = "[OPTIONS] TABLE.csv",
    .example = "meshsweep import -c configs/import/ultrascale.toml -d measured.db ultrascale-1B-8B.csv",
    .options = options,
    .options_bytes = sizeof(struct import_options),
    .words_most = 1,
    .run = import,
};
