#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/table_file.h"
#include "commands/commands.h"
#include "commands/importing.h"
#include "database/open.h"
#include "import/import.h"
#include "report/text.h"
#include "results/best.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

#define LINES_SHOWN 10
#define ROWS_TOLD_LEAST 20000 /* more take seconds to record */

/* --- storing --- */

static char *provenance(const struct table_file *in, const struct hash128 *hash, const char *host)
{
    char hex[HASH_HEX_BYTES];
    OWNED char *path = path_absolute(in->file), *here = path_absolute(".");
    OWNED_JSON *all = cJSON_CreateObject();
    cJSON *from = cJSON_AddObjectToObject(all, "imported");
    JSON_ADD(from, JSON_STRING("file", path), JSON_STRING("directory", here),
             JSON_STRING("xxh3_128", hash_hex(hash, hex)), JSON_INT("bytes", in->content.bytes),
             JSON_INT("rows", in->rows));
    JSON_ADD(all, JSON_STRING("host", host), JSON_STRING("tool", "meshsweep " MESHSWEEP_VERSION));
    return cJSON_PrintUnformatted(all);
}

/* --- reporting --- */

struct importing {
    const struct table_file *in;
    struct db *db;
};

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

/* "job 7 (table.csv:8): score 100 samples/s, the highest". */
static void add_winner(const struct best *b, struct buffer *out)
{
    const char *elsewhere = json_text_of(b->beside, "measured_elsewhere"), *unit = json_text_of(b->document, "unit");
    buffer_printf(out, "job %" PRId64 "%s%s%s: %s ", best_job(b), elsewhere ? " (" : "", elsewhere ? elsewhere : "",
                  elsewhere ? ")" : "", json_text_of(b->document, "objective"));
    text_add_rounded(out, json_real_of(b->document, "value"));
    buffer_printf(out, "%s%s, the %s", unit ? " " : "", unit ? unit : "",
                  strcmp(json_text_of(b->document, "better"), "max") == 0 ? "highest" : "lowest");
}

/* Reports what `best` says of the database as it would be. */
static int report_winner(struct db *db, struct error *e)
{
    OWNED_BY(best_free) struct best best = {NULL, NULL};
    struct error why = ERROR_INIT;
    OWNED_BUFFER text = BUFFER_INIT;
    if (best_read(db, NULL, &best, &why) < 0) {
        if (why.kind != ERROR_USAGE && why.kind != ERROR_NOTHING) {
            *e = why;
            return -1;
        }
        output_message("best: %s", why.text);
        return 0;
    }
    if (best_job(&best) >= 0)
        add_winner(&best, &text);
    else
        buffer_printf(&text, "no job has a %s", json_text_of(best.document, "objective"));
    output_message("best: %s", buffer_text(&text));
    return 0;
}

/* Three lines, before anything is recorded. */
static int show(void *context, const struct import_summary *s, struct error *e)
{
    const struct importing *i = context;
    const char *unused = import_table_unused(i->in->table);
    (void)s;
    if (report_winner(i->db, e) < 0)
        return -1;
    output_message("columns not used: %s", unused ? unused : "none");
    output_message("rows refused: %zu of %zu", refused(i->in), i->in->rows);
    return 0;
}

/* Returns what the table is known by: its path. A pipe, by which the next table may come, is known by its content,
 * too. */
static char *place_of(const char *file, const char *hash)
{
    struct stat status;
    char *path = path_absolute(file);
    if (stat(file, &status) == 0 && S_ISREG(status.st_mode))
        return path;
    char *place = xasprintf("%s#%s", path, hash);
    free(path);
    return place;
}

static int store(const struct table_file *in, const struct import_options *o, struct db *db, struct import_summary *out,
                 struct error *e)
{
    struct utsname machine;
    char hex[HASH_HEX_BYTES];
    const struct hash128 hash = in->content.hash;
    struct importing importing = {in, db};
    uname(&machine);
    hash_hex(&hash, hex);
    OWNED char *from = provenance(in, &hash, machine.nodename), *path = place_of(in->file, hex),
               *sweep_file = path_absolute(o->config);
    const struct import_request request = {
        .sweep = in->sweep,
        .table = in->table,
        .db = db,
        .file = path_name(in->file),
        .origin = {machine.nodename, path, hex, sweep_file},
        .runner = {.host = machine.nodename, .boot_id = "", .provenance_json = from, .pid = getpid()},
        .show = show,
        .context = &importing,
        .dry_run = o->dry_run,
    };
    if (in->rows >= ROWS_TOLD_LEAST)
        output_message("%s: %zu rows are read and are recorded now; a million take half a minute", in->file, in->rows);
    return import_table_store(&request, out, e);
}

/* `in` NULL: no table was read, and the rows of one that stands at `path` were taken out. */
static int print_counts(const struct table_file *in, const char *path, const struct import_options *o,
                        const struct import_summary *s, struct error *e)
{
    size_t count = 0;
    const struct refusal_count *refusals = in ? import_table_refusals(in->table, &count) : NULL;
    OWNED_JSON *all = json_document(), *beside = cJSON_CreateObject();
    JSON_ADD(beside, JSON_STRING("path", path), JSON_TRUTH("dry_run", o->dry_run));
    JSON_ADD(all, JSON_COUNT("rows", in ? (int64_t)in->rows : -1), JSON_INT("ok", s->ok),
             JSON_INT("failed", s->failed));
    cJSON *list = cJSON_AddArrayToObject(all, "refused");
    for (size_t i = 0; i < count; i++)
        JSON_ITEM(list, JSON_STRING("why", refusals[i].why), JSON_INT("rows", refusals[i].count),
                  JSON_INT("first_line", refusals[i].first_line));
    JSON_ADD(all, JSON_INT("dropped_numbers", in ? import_table_dropped(in->table) : 0), JSON_INT("jobs", s->jobs),
             JSON_INT("new_jobs", s->new_jobs), JSON_INT("predicted_jobs", s->predicted),
             JSON_INT("attempts_added", s->added), JSON_INT("already_there", s->known),
             JSON_INT("rows_replaced", s->removed.replaced), JSON_INT("rows_taken_out", s->removed.taken_out));
    return output_answer(o->json, "sql/texts/import.sql", all, beside, e);
}

static int print(const struct table_file *in, const struct import_options *o, const struct import_summary *s,
                 struct error *e)
{
    report_refusals(in);
    report_broken(in, s);
    OWNED char *file = shell_word(in->file), *db = shell_word(o->db);
    if (s->alike)
        output_message("warning: %s has the same content, so each of its rows counts twice; if it is a copy: meshsweep "
                       "import --undo %s -d %s",
                       s->alike, file, db);
    if (s->older)
        output_message("warning: rows of other tables were read before %s was changed, and best does not see them; "
                       "import them again: %s",
                       o->config, s->older);
    if (s->ok == 0)
        output_message("warning: no row of %s is ok, so there is nothing to rank or to search", in->file);
    return print_counts(in, in->file, o, s, e);
}

static int undo(const struct import_options *o, struct error *e)
{
    struct utsname machine;
    struct import_undone undone;
    OWNED_DB *db = NULL;
    uname(&machine);
    if (!store_exists(o->db))
        return error_set(e, ERROR_USAGE, "%s: no such database, so there is nothing to undo", o->db);
    if (session_open_store(o->db, &db, e) < 0 || import_table_undo(db, machine.nodename, o->undo, &undone, e) < 0)
        return -1;
    int rc = print_counts(NULL, undone.path, o, &(struct import_summary){.removed = undone.removed}, e);
    free(undone.path);
    return rc;
}

/* The sweep file, with an [import] table. */
static int load_config(const char *config, const char *table, struct sweep **out, struct error *e)
{
    OWNED char *word = shell_word(table);
    int rc = sweep_load(config, out, e);
    if (rc < 0 && access(config, F_OK) < 0)
        return error_set(e, ERROR_USAGE, "%s: no such file; meshsweep init --from-table %s writes one", config, word);
    if (rc == 0 && !(*out)->import.given)
        return error_set(e, ERROR_USAGE,
                         "%s: there is no [import] table; meshsweep init --from-table %s -o FILE writes a file that "
                         "has one",
                         config, word);
    return rc;
}

void import_try(const char *table, const char *config, const struct buffer *sweep_file)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED_BY(table_file_free) struct table_file in = {.file = table};
    OWNED_BY(import_summary_free) struct import_summary summary = {0};
    OWNED_DB *db = NULL;
    struct error e = ERROR_INIT;
    int rc = sweep_parse(config, sweep_file->data, sweep_file->length, &sweep, &e);
    in.sweep = sweep;
    if (rc < 0 || table_file_read(&in, &e) < 0 || store_open_scratch(&db, &e) < 0 ||
        store(&in, &(struct import_options){.config = config}, db, &summary, &e) < 0)
        output_message("it cannot be imported yet: %s", e.text);
    if (in.table)
        report_refusals(&in);
}

int command_import(const struct import_options *o, const struct arguments *a, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED_BY(import_summary_free) struct import_summary summary = {0};
    struct db *db = NULL;
    if (o->undo)
        return a->word_count ? error_set(e, ERROR_USAGE, "import: --undo names the table; name no other") : undo(o, e);
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE, "import: name exactly one table: meshsweep import -c FILE TABLE.csv");
    OWNED_BY(table_file_free) struct table_file in = {.file = a->words[0]};
    int rc = load_config(o->config, in.file, &sweep, e);
    in.sweep = sweep;
    if (rc == 0)
        rc = table_file_read(&in, e) < 0 ? -1 : session_open_store(o->db, &db, e);
    if (rc == 0 && sweep->share)
        store_share(db);
    if (rc == 0)
        rc = store(&in, o, db, &summary, e);
    if (rc < 0 && in.table && e->kind == ERROR_NOTHING)
        report_refusals(&in);
    if (rc == 0)
        rc = print(&in, o, &summary, e);
    if (o->dry_run || (rc < 0 && e->kind != ERROR_FAILED))
        store_discard(db);
    else
        store_close(db);
    return rc;
}
