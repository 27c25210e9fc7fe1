#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "config/sweep_reader.h"
#include "report/csv.h"
#include "space/import.h"
#include "store/open.h"
#include "util/file.h"
#include "util/memory.h"

#define TABLE_BYTES_MOST ((size_t)1 << 30)
#define LINES_SHOWN 10

struct import_options {
    const char *config, *db;
    bool json;
};

#define AT(member) offsetof(struct import_options, member)

static const struct option options[] = {
    {.name = "config", .letter = 'c', .kind = OPTION_STRING, .offset = AT(config), .value = "FILE",
     .help = "the sweep file with [import]", .fallback = "sweep.toml"},
    {.name = "db", .letter = 'd', .kind = OPTION_STRING, .offset = AT(db), .value = "FILE", .help = "the database",
     .fallback = "results.db"},
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "the counts as JSON"},
    {.name = NULL},
};

/* --- reading the table --- */

struct input {
    const char *file;
    struct buffer bytes;
    size_t given; /* of them, to the CSV reader */
    const struct sweep *sweep;
    struct import_table *table; /* made from the header */
    size_t rows;
};

static long read_bytes(void *context, void *bytes, size_t room, struct error *e)
{
    struct input *in = context;
    size_t left = in->bytes.length - in->given, n = left < room ? left : room;
    (void)e;
    if (n > 0)
        memcpy(bytes, in->bytes.data + in->given, n);
    in->given += n;
    return (long)n;
}

/* The cells as texts, NULL for empty ones; the array and what it holds are the caller's. */
static char **texts_of(const struct csv_record *record)
{
    char **texts = xcalloc(record->count + 1, sizeof *texts);
    for (size_t i = 0; i < record->count; i++) {
        struct cell cell = csv_unescape_formula(record->cells[i]);
        if (cell.kind == CELL_TEXT && cell.length > 0)
            texts[i] = xstrndup(cell.text, cell.length);
    }
    return texts;
}

static int take_record(void *context, const struct csv_record *record, struct error *e)
{
    struct input *in = context;
    char **texts = texts_of(record);
    int rc;
    if (in->table) {
        rc = import_table_add(in->table, record->line, (const char *const *)texts, e);
        in->rows++;
    } else {
        rc = import_table_create(in->sweep, in->file, (const char *const *)texts, record->count, &in->table, e);
    }
    for (size_t i = 0; i < record->count; i++)
        free(texts[i]);
    free(texts);
    return rc;
}

static int read_table(struct input *in, struct error *e)
{
    const struct csv_input source = {read_bytes, in};
    if (file_read(in->file, TABLE_BYTES_MOST, &in->bytes, e) < 0)
        return -1;
    if (csv_read_rows(&source, take_record, in, e) < 0)
        return strncmp(e->text, "line ", 5) == 0 ? error_context(e, "%s", in->file) : -1;
    if (!in->table)
        return error_set(e, ERROR_USAGE, "%s: the table is empty; its first line must name the columns", in->file);
    if (in->rows == 0)
        return error_set(e, ERROR_NOTHING, "%s: the table has a header and no rows", in->file);
    return 0;
}

/* --- storing --- */

static char *provenance(const struct input *in, const struct hash128 *hash, const char *host)
{
    char hex[HASH_HEX_BYTES];
    char *path = path_absolute(in->file);
    cJSON *all = cJSON_CreateObject(), *from = cJSON_AddObjectToObject(all, "imported");
    cJSON_AddStringToObject(from, "file", path);
    cJSON_AddStringToObject(from, "xxh3_128", hash_hex(hash, hex));
    cJSON_AddNumberToObject(from, "bytes", (double)in->bytes.length);
    cJSON_AddNumberToObject(from, "rows", (double)in->rows);
    cJSON_AddStringToObject(all, "host", host);
    cJSON_AddStringToObject(all, "tool", "meshsweep " MESHSWEEP_VERSION);
    char *text = cJSON_PrintUnformatted(all);
    cJSON_Delete(all);
    free(path);
    return text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int store(const struct input *in, struct db *db, struct import_summary *out, struct error *e)
{
    struct utsname machine;
    struct hash128 hash = hash_bytes(in->bytes.data, in->bytes.length);
    uname(&machine);
    char *from = provenance(in, &hash, machine.nodename);
    const struct import_request request = {
        .sweep = in->sweep,
        .table = in->table,
        .db = db,
        .file = base_name(in->file),
        .hash = hash,
        .runner = {.host = machine.nodename, .boot_id = "", .provenance_json = from, .pid = getpid()},
    };
    int rc = import_table_store(&request, out, e);
    free(from);
    return rc;
}

/* --- telling --- */

static void tell_refusals(const struct input *in)
{
    size_t count;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    for (size_t i = 0; i < count && i < LINES_SHOWN; i++)
        output_message("refused %zu row%s, first %s:%zu: %s", refusals[i].count, refusals[i].count == 1 ? "" : "s",
                       in->file, refusals[i].first_line, refusals[i].why);
    if (count > LINES_SHOWN)
        output_message("and %zu more reasons", count - LINES_SHOWN);
    size_t dropped = import_table_dropped(in->table);
    if (dropped > 0)
        output_message("dropped %zu number%s of failed rows that measure nothing", dropped, dropped == 1 ? "" : "s");
}

static void tell_broken(const struct input *in, const struct import_summary *s)
{
    for (size_t i = 0; i < s->broken_count; i++)
        output_message("warning: %zu row%s that ran break%s the rule %s, first %s:%zu", s->broken[i].rows,
                       s->broken[i].rows == 1 ? "" : "s", s->broken[i].rows == 1 ? "s" : "", s->broken[i].name, in->file,
                       s->broken[i].first_line);
}

static size_t refused(const struct input *in)
{
    size_t count, total = 0;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    for (size_t i = 0; i < count; i++)
        total += refusals[i].count;
    return total;
}

static int print_json(const struct input *in, const struct import_summary *s, struct error *e)
{
    size_t count;
    const struct refusal_count *refusals = import_table_refusals(in->table, &count);
    cJSON *all = cJSON_CreateObject();
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
    int rc = output_json(all, e);
    cJSON_Delete(all);
    return rc;
}

static int print(const struct input *in, const struct import_options *o, const struct import_summary *s,
                 struct error *e)
{
    tell_refusals(in);
    tell_broken(in, s);
    if (s->ok == 0)
        output_message("warning: no row of %s is ok: there is nothing to rank or to search in it", in->file);
    if (o->json)
        return print_json(in, s, e);
    char *text = xasprintf("%s: %zu rows: %zu ok, %zu failed, %zu refused; %zu jobs (%zu new), %zu attempts added, "
                           "%zu already there\n",
                           in->file, in->rows, s->ok, s->failed, refused(in), s->jobs, s->new_jobs, s->added, s->known);
    int rc = output_text(text, e);
    free(text);
    return rc;
}

static int import(const struct arguments *a, struct error *e)
{
    const struct import_options *o = a->options;
    struct import_summary summary = {0};
    struct sweep *sweep = NULL;
    struct db *db = NULL;
    char *notice = NULL;
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE, "import wants one table: meshsweep import -c FILE TABLE.csv");
    struct input in = {.file = a->words[0], .bytes = BUFFER_INIT};
    int rc = sweep_load(o->config, &sweep, e);
    in.sweep = sweep;
    if (rc == 0 && !sweep->import.given)
        rc = error_set(e, ERROR_USAGE, "%s: no [import] table; configs/README.md says what it holds", o->config);
    if (rc == 0)
        rc = read_table(&in, e);
    if (rc == 0)
        rc = store_open(o->db, &db, &notice, e);
    if (rc == 0 && notice)
        output_message("%s", notice);
    if (rc == 0)
        rc = store(&in, db, &summary, e);
    if (rc < 0 && in.table && e->kind == ERROR_NOTHING)
        tell_refusals(&in);
    if (rc == 0)
        rc = print(&in, o, &summary, e);
    import_summary_free(&summary);
    import_table_free(in.table);
    buffer_free(&in.bytes);
    if (rc < 0 && e->kind != ERROR_FAILED)
        store_discard(db);
    else
        store_close(db);
    sweep_free(sweep);
    free(notice);
    return rc;
}

const struct command import_command = {
    .name = "import",
    .summary = "Record a measured table as jobs that have been run",
    .usage = "[OPTIONS] TABLE.csv",
    .example = "meshsweep import -c configs/import/ultrascale.toml -d measured.db ultrascale-1B-8B.csv",
    .options = options,
    .options_bytes = sizeof(struct import_options),
    .words_most = 1,
    .run = import,
};
