#include "import/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/failure.h"
#include "measures/definitions.h"
#include "measures/learning.h"
#include "results/views.h"
#include "space/enumerate.h"
#include "space/identity.h"
#include "space/match.h"
#include "space/row_space.h"
#include "store/definitions.h"
#include "store/jobs.h"
#include "util/file.h"
#include "util/hash_set.h"
#include "util/memory.h"

/* A row that stays, as far as it is needed after the table has been read. */
struct kept_row {
    size_t line;
    const char *failure; /* one of the table's own texts */
    char *message;
    double duration_s;
    int32_t specs[SECTION_COUNT];
};

/* The current sweep, and how many jobs it has (-1: it may have lost some). */
struct sweep_before {
    int64_t id, jobs;
    bool is_same_text;
};

struct import {
    const struct import_request *request;
    struct row_space *rows;
    struct space *space;
    struct measures *measures;
    struct string_list redefined; /* metrics whose definition is another than before */
    struct kept_row *kept;
    size_t kept_count, metric_count, value_count;
    double *values; /* of the metrics of each kept row */
    struct match_cursor *cursor;
    struct job_writer *writer;
    struct import_store *store;
    struct stmt *rule_check, *job_of;
    struct stmt *spec_of[SECTION_COUNT];
    int64_t *spec_ids[SECTION_COUNT]; /* per row of the section's table: id in results.db; 0: not there yet */
    struct hash_set jobs, attempts;
    int64_t sweep_id, table_id;
    int64_t sweep_jobs; /* of the sweep, afterwards */
    bool is_moved;      /* the table was another file */
    struct sweep_before before;
    struct buffer scratch;
    struct import_summary summary;
};

static const struct import_config *config_of(const struct import *m)
{
    return &m->request->sweep->import;
}

/* --- reading --- */

static int64_t add_spec(struct import *m, enum section_kind section, const struct import_row *row)
{
    const struct import_config *c = config_of(m);
    struct row_key *keys = xcalloc(c->column_count, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < c->column_count; i++)
        if (!c->columns[i].is_metric && c->columns[i].section == section)
            keys[count++] = (struct row_key){c->columns[i].name, row->values[i], c->columns[i].at};
    int64_t spec = row_space_add(m->rows, section, keys, count);
    free(keys);
    return spec;
}

static int keep_row(void *context, const struct import_row *row, struct error *e)
{
    struct import *m = context;
    size_t count = config_of(m)->column_count;
    (void)e;
    m->kept = array_grow(m->kept, m->kept_count, sizeof *m->kept);
    struct kept_row *k = &m->kept[m->kept_count++];
    *k = (struct kept_row){.line = row->line, .failure = row->failure, .duration_s = row->duration_s};
    /* Its place is the attempt's source; failures that are alike are to have one message. */
    if (row->failure && row->state && strcmp(row->failure, failure_names[FAILURE_NO_METRIC]) != 0)
        k->message = xasprintf("the table says %s", row->state);
    else if (row->failure)
        k->message = xstrdup("the table has no value of the objective");
    const size_t before = m->value_count;
    for (size_t i = 0; i < count; i++)
        if (config_of(m)->columns[i].is_metric)
            *array_add(m->values, m->value_count) = row->metrics[i];
    m->metric_count = m->value_count - before;
    for (int i = 0; i < SECTION_COUNT; i++)
        k->specs[i] = (int32_t)add_spec(m, (enum section_kind)i, row);
    m->summary.ok += !row->failure;
    m->summary.failed += row->failure != NULL;
    return 0;
}

static const double *metrics_of(const struct import *m, const struct kept_row *row)
{
    return m->values + (size_t)(row - m->kept) * m->metric_count;
}

/* --- rules --- */

/* One column per rule, 1 where it is false, for the combination with the given specs. */
static int prepare_rule_check(struct import *m, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, "SELECT 0");
    for (size_t i = 0; i < m->space->rule_count; i++)
        buffer_printf(&sql, ", %s IS FALSE", m->space->rules[i].accepts.sql);
    space_add_combination(m->space, 1, &sql);
    return db_prepare_built(m->space->db, &sql, &m->rule_check, e);
}

static void find_specs(const struct import *m, const struct kept_row *row, int64_t *out)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        out[i] = row_space_find(m->rows, (enum section_kind)i, row->specs[i]);
}

static void note_broken(struct import_summary *s, const struct space_rule *rule, size_t line)
{
    size_t i = 0;
    while (i < s->broken_count && strcmp(s->broken[i].name, rule->name) != 0)
        i++;
    if (i == s->broken_count) {
        s->broken = array_grow(s->broken, s->broken_count++, sizeof *s->broken);
        s->broken[i] = (struct broken_rule){xstrdup(rule->name), xstrdup(rule->reason), 0, NULL};
    }
    struct broken_rule *b = &s->broken[i];
    *array_add(b->lines, b->rows) = line;
}

/* Of what ran: what failed may well be what a rule is for. */
static int check_rules(struct import *m, const struct kept_row *row, struct error *e)
{
    int64_t specs[SECTION_COUNT];
    if (row->failure)
        return 0;
    find_specs(m, row, specs);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (m->space->counts[i])
            stmt_bind_int(m->rule_check, i + 1, specs[i] < 0 ? 0 : specs[i]);
    int rc = stmt_next(m->rule_check, e);
    for (size_t i = 0; rc > 0 && i < m->space->rule_count; i++)
        if (!m->space->rules[i].warning && stmt_int(m->rule_check, (int)i + 1))
            note_broken(&m->summary, &m->space->rules[i], row->line);
    stmt_reset(m->rule_check);
    return rc < 0 ? -1 : 0;
}

/* --- writing --- */

static int put_spec(struct import *m, enum section_kind kind, int64_t row, int64_t *id, struct error *e)
{
    struct stmt *s = m->spec_of[kind];
    *id = 0;
    if (!s)
        return 0;
    row = row < 0 ? 0 : row;
    int rc = 0;
    if (m->spec_ids[kind][row] == 0) {
        stmt_bind_int(s, 1, row);
        rc = stmt_next(s, e);
        if (rc > 0) {
            const struct spec_row spec = identity_spec_row(m->space, kind, stmt_blob(s, 0), stmt_text(s, 1));
            rc = job_writer_put_spec(m->writer, kind, &spec, &m->spec_ids[kind][row], e);
        }
        stmt_reset(s);
    }
    *id = m->spec_ids[kind][row];
    return rc;
}

static int put_job(struct import *m, const struct match *match, struct error *e)
{
    struct job_row row = {.key = match->key,
                          .rank = match->rank,
                          .devices = match->devices,
                          .timeout_ms = match->limit_ms[LIMIT_TOTAL],
                          .idle_timeout_ms = match->limit_ms[LIMIT_IDLE],
                          .startup_timeout_ms = match->limit_ms[LIMIT_STARTUP],
                          .predicted_memory = match->predicted_memory,
                          .predicted_memory_of = match->predicted_memory_of,
                          .predicted_time = match->predicted_time,
                          .risk = match->risk};
    if (hash_set_has(&m->jobs, &match->key))
        return 0;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (put_spec(m, (enum section_kind)i, match->spec[i], &row.spec_ids[i], e) < 0)
            return -1;
    buffer_clear(&m->scratch);
    match_add_derived_json(m->space, match, &m->scratch);
    row.derived_json = m->scratch.length ? m->scratch.data : NULL;
    if (job_writer_put(m->writer, &row, e) < 0)
        return -1;
    hash_set_add(&m->jobs, &match->key);
    m->summary.jobs++;
    m->summary.predicted += !isnan(match->predicted_memory) || !isnan(match->predicted_time);
    return 0;
}

/* Of the text with `count` "+" behind it, which it is left without. */
static struct hash128 hash_repeat(struct buffer *text, size_t count)
{
    const size_t length = text->length;
    while (text->length < length + count)
        buffer_add_char(text, '+');
    struct hash128 hash = hash_bytes(text->data, text->length);
    text->length = length;
    return hash;
}

static bool is_repeat_taken(struct import *m, struct buffer *text, size_t count)
{
    const struct hash128 hash = hash_repeat(text, count);
    return hash_set_has(&m->attempts, &hash);
}

/* What a row says of its job, and the how-manieth of its kind it is in the table: the same table again adds nothing, a
 * repeat with the same numbers is a repeat. */
static struct hash128 row_identity(struct import *m, const struct kept_row *row, const struct hash128 *key)
{
    const struct import_config *c = config_of(m);
    struct buffer *b = &m->scratch;
    struct hash128 hash;
    buffer_clear(b);
    buffer_add(b, key->bytes, sizeof key->bytes);
    buffer_printf(b, "%s;", row->failure ? row->failure : "ok");
    if (!isnan(row->duration_s))
        buffer_printf(b, "%.17g s;", row->duration_s);
    if (row->message)
        buffer_printf(b, "%s;", row->message);
    const double *values = metrics_of(m, row);
    size_t k = 0;
    for (size_t i = 0; i < c->column_count; i++) {
        if (!c->columns[i].is_metric || isnan(values[k++]))
            continue;
        buffer_printf(b, "%s=", c->columns[i].name);
        buffer_add_double(b, values[k - 1]);
        buffer_add_char(b, ';');
    }
    /* Repeats are numbered by as many "+", of which all below some number are taken. */
    size_t taken = 0, limit = 1;
    while (is_repeat_taken(m, b, limit - 1)) {
        taken = limit;
        limit *= 2;
    }
    while (taken + 1 < limit) {
        const size_t middle = taken + (limit - 1 - taken) / 2;
        if (is_repeat_taken(m, b, middle))
            taken = middle + 1;
        else
            limit = middle + 1;
    }
    hash = hash_repeat(b, taken);
    hash_set_add(&m->attempts, &hash);
    return hash;
}

static int put_metrics(struct import *m, const struct kept_row *row, int64_t attempt_id, struct error *e)
{
    const struct import_config *c = config_of(m);
    const double *values = metrics_of(m, row);
    size_t k = 0;
    for (size_t i = 0; i < c->column_count; i++)
        if (c->columns[i].is_metric && !isnan(values[k++]) &&
            import_store_metric(m->store, attempt_id, c->columns[i].name, values[k - 1], e) < 0)
            return -1;
    return 0;
}

static int find_job(struct import *m, const struct hash128 *key, int64_t *id, struct error *e)
{
    stmt_bind(m->job_of, VALUES(sql_hash(key)));
    const int rc = stmt_next(m->job_of, e);
    *id = rc > 0 ? stmt_int(m->job_of, 0) : 0;
    stmt_reset(m->job_of);
    return rc < 0 ? -1 : 0;
}

static int put_attempt(struct import *m, const struct kept_row *row, const struct match *match, struct error *e)
{
    char *source = xasprintf("%s:%zu", m->request->file, row->line);
    struct hash128 identity = row_identity(m, row, &match->key);
    struct imported_attempt a = {.row = &identity,
                                 .failure = row->failure,
                                 .message = row->message,
                                 .source = source,
                                 .line = (int64_t)row->line,
                                 .duration_s = row->duration_s};
    int64_t id = 0;
    bool is_new = false;
    int rc = find_job(m, &match->key, &a.job_id, e) < 0 ? -1 : import_store_put(m->store, &a, &id, &is_new, e);
    m->summary.added += is_new;
    m->summary.known += !is_new;
    if (rc == 0 && id)
        rc = put_metrics(m, row, id, e);
    const struct attempt_result result = {id, a.job_id, row->failure};
    if (rc == 0 && is_new)
        rc = learning_note_row(m->space, m->request->db, &result, match->prediction, e);
    free(source);
    return rc;
}

static int match_row(struct import *m, const struct kept_row *row, const struct match **match, struct error *e)
{
    int64_t specs[SECTION_COUNT];
    find_specs(m, row, specs);
    match_seek(m->cursor, specs);
    return match_next(m->cursor, match, e);
}

static int put_row(struct import *m, const struct kept_row *row, struct error *e)
{
    const struct match *match;
    int rc = match_row(m, row, &match, e) < 0 ? -1 : put_attempt(m, row, match, e);
    return rc < 0 ? -1 : check_rules(m, row, e);
}

static int put_job_of(struct import *m, const struct kept_row *row, struct error *e)
{
    const struct match *match;
    const int rc = match_row(m, row, &match, e);
    return rc > 0 ? put_job(m, match, e) : rc;
}

static int with_each(struct import *m, int (*put)(struct import *m, const struct kept_row *row, struct error *e),
                     struct error *e)
{
    for (size_t i = 0; i < m->kept_count; i++)
        if (put(m, &m->kept[i], e) < 0)
            return error_context(e, "%s:%zu", m->request->file, m->kept[i].line);
    return 0;
}

/* First all jobs, which can be put in at once, then what was measured. */
static int put_rows(struct import *m, struct error *e)
{
    struct db *db = m->request->db;
    bool any;
    int64_t new_jobs;
    if (jobs_any(db, &any, e) < 0 || (!any && job_writer_expect_jobs(m->writer, (int64_t)m->kept_count, e) < 0) ||
        with_each(m, put_job_of, e) < 0 || job_writer_finish(m->writer, &new_jobs, e) < 0 ||
        import_store_expect(m->store, m->kept_count, e) < 0 ||
        db_prepare(db, "SELECT id FROM job WHERE key = ?", &m->job_of, e) < 0)
        return -1;
    m->summary.new_jobs = (size_t)new_jobs;
    /* Every row is of what has just been put in. */
    db_check_references(db, false);
    int rc = with_each(m, put_row, e);
    db_check_references(db, true);
    return rc;
}

static int prepare_specs(struct import *m, struct error *e)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!m->space->counts[i])
            continue;
        m->spec_ids[i] = xcalloc((size_t)m->space->counts[i], sizeof *m->spec_ids[i]);
        char *sql = xasprintf("SELECT \"#hash\", \"#json\" FROM \"%s\" WHERE \"#id\" = ?", section_names[i]);
        int rc = db_prepare(m->space->db, sql, &m->spec_of[i], e);
        free(sql);
        if (rc < 0)
            return -1;
    }
    return 0;
}

#define WITH_ROWS " EXISTS (SELECT 1 FROM attempt WHERE table_id = t.id)"

/* The table with rows that `word` names: by its path, or by the end of one, if that is of one table. */
static int find_written(struct db *db, const char *host, const char *word, int64_t *id, struct error *e)
{
    char *path = path_absolute(word), *all = NULL;
    int64_t alike = 0;
    int rc = imported_table_find(db, host, path, id, e);
    free(path);
    if (rc == 0 && *id == 0)
        rc = db_query_int(db,
                          "SELECT iif(count(*) = 1, max(id), -count(*)) FROM imported_table AS t WHERE" WITH_ROWS
                          " AND (path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1)",
                          VALUES(sql_text(word)), 0, &alike, e);
    if (rc < 0 || *id > 0)
        return rc;
    *id = alike;
    if (alike > 0)
        return 0;
    rc = db_query_text(db,
                       "SELECT group_concat(path, ', ') FROM (SELECT path FROM imported_table AS t WHERE" WITH_ROWS
                       " ORDER BY path LIMIT 20)",
                       NO_VALUES, &all, e);
    if (rc == 0)
        rc = error_set(e, ERROR_USAGE, "%s: %s; tables with rows here: %s", word,
                       alike < 0 ? "several imported tables have that name" : "no row of such a table was imported",
                       all ? all : "none");
    free(all);
    return rc;
}

/* What else was there before, under the definitions of now; then derived metrics, and whether what was imported meets
 * what [sweep] subject_to asks for. */
static int renew_measured(struct import *m, struct error *e)
{
    const struct renewal_request request = {.sweep = m->request->sweep,
                                            .sweep_id = m->sweep_id,
                                            .in_force = &m->redefined,
                                            .measures = m->measures,
                                            .in_transaction = true};
    struct renewal renewal;
    int rc = measures_renew(m->request->db, &request, &renewal, e);
    if (rc < 0)
        return -1;
    renewal_free(&renewal);
    return measures_refresh(m->measures, m->request->db, m->sweep_id, true, e);
}

/* The table at another path with the same bytes: where there is no file any more, it is this one, which was moved; else
 * either is a copy of the other, or both say the same. */
static int find_alike(struct import *m, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_query(m->request->db,
                      "SELECT id, path FROM imported_table AS t WHERE hash = ?1 AND (origin IS NULL OR host = ?2)"
                      " AND EXISTS (SELECT 1 FROM attempt WHERE table_id = t.id) ORDER BY id",
                      VALUES(sql_text(m->request->origin.hash), sql_text(m->request->origin.host)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        const char *path = stmt_text(s, 1);
        rc = 0;
        m->is_moved = access(path, F_OK) < 0;
        if (m->is_moved) {
            m->table_id = stmt_int(s, 0);
            break;
        }
        free(m->summary.alike);
        m->summary.alike = xstrdup(path);
    }
    stmt_free(s);
    return rc == 0 && m->is_moved ? imported_table_rename(m->request->db, m->table_id, m->request->file, e) : rc;
}

/* Whether the numbers of its rows stood for something else, or could not be brought under the definitions of another
 * table's import. */
static int is_stated_otherwise(struct import *m, bool *yes, struct error *e)
{
    *yes = m->redefined.count > 0;
    if (*yes)
        return 0;
    return db_query_bool(m->request->db,
                         "SELECT 1 FROM summary AS s JOIN attempt AS a ON a.id = s.attempt_id WHERE s.note IS NOT NULL"
                         " AND s.reported IS NOT NULL AND a.table_id = ? LIMIT 1",
                         VALUES(sql_int(m->table_id)), yes, e);
}

/* A new table has a row before the store asks for it; that of another one still has the sweep of its rows then. */
static int open_store(struct import *m, int64_t runner_id, struct error *e)
{
    const struct import_request *r = m->request;
    int64_t last_sweep;
    bool states_again;
    if (imported_table_find(r->db, r->origin.host, r->origin.path, &m->table_id, e) < 0 ||
        (m->table_id == 0 && find_alike(m, e) < 0) ||
        (m->table_id == 0 && imported_table_record(r->db, &r->origin, m->sweep_id, &m->table_id, e) < 0) ||
        import_store_create(r->db, runner_id, m->table_id, m->sweep_id, &m->store, e) < 0 ||
        imported_table_sweep(r->db, m->table_id, &last_sweep, e) < 0 || is_stated_otherwise(m, &states_again, e) < 0)
        return -1;
    if (states_again)
        import_store_state_again(m->store);
    if (last_sweep != m->sweep_id)
        import_store_settle_all(m->store);
    if ((m->before.id != m->sweep_id || m->before.jobs < 0) && import_store_claim(m->store, e) < 0)
        return -1;
    return imported_table_record(r->db, &r->origin, m->sweep_id, &m->table_id, e);
}

/* Other tables that the file read before it was changed, with rows of jobs that the sweep does not have. */
static int find_older(struct import *m, struct error *e)
{
    return db_query_text(m->request->db,
                         "SELECT group_concat(path || ' (' || rows || ')', ', ') FROM (SELECT t.path, count(*) AS rows"
                         " FROM imported_table AS t JOIN attempt AS a ON a.table_id = t.id"
                         " JOIN job AS j ON j.id = a.job_id WHERE t.sweep_id <> ?1 AND j.sweep_id <> ?1"
                         " AND t.sweep_id IN (SELECT o.id FROM sweep AS o JOIN sweep AS s ON s.name = o.name"
                         "  WHERE s.id = ?1) GROUP BY t.id ORDER BY t.path)",
                         VALUES(sql_int(m->sweep_id)), &m->summary.older, e);
}

static int settle(struct import *m, struct error *e)
{
    const struct import_request *r = m->request;
    struct sweep_counts counts;
    int64_t rows;
    if (import_store_finish(m->store, &m->summary.removed, e) < 0 || renew_measured(m, e) < 0 ||
        learning_fit(m->space, r->db, e) < 0 || imported_sweep_count(r->db, m->sweep_id, &counts, &rows, e) < 0 ||
        sweep_set_enumerated(r->db, m->sweep_id, &counts, e) < 0 || find_older(m, e) < 0)
        return -1;
    m->sweep_jobs = counts.jobs;
    return result_views_refresh(r->db, e);
}

static int write_all(struct import *m, struct error *e)
{
    const struct import_request *r = m->request;
    const struct sweep_identity identity = space_identity(m->space);
    int64_t runner_id;
    if (sweep_record(r->db, m->space->sweep, &identity, &m->sweep_id, e) < 0 ||
        measures_create(m->space, &m->measures, e) < 0 || definitions_record(r->db, r->sweep, &m->redefined, e) < 0 ||
        runner_record(r->db, &r->runner, &runner_id, e) < 0 || runner_record_end(r->db, runner_id, e) < 0 ||
        job_writer_create(r->db, m->sweep_id, &m->writer, e) < 0 || open_store(m, runner_id, e) < 0)
        return -1;
    return put_rows(m, e) < 0 ? -1 : settle(m, e);
}

static int look_before(struct import *m, struct error *e)
{
    const struct import_request *r = m->request;
    struct sweep_before *out = &m->before;
    return db_query_int(r->db, "SELECT id FROM current_sweep", NO_VALUES, 0, &out->id, e) < 0 ||
                   db_query_int(r->db, "SELECT iif(enumerated, jobs, -1) FROM current_sweep", NO_VALUES, 0, &out->jobs,
                                e) < 0
               ? -1
               : sweep_is_as_recorded(r->db, r->sweep, &out->is_same_text, e);
}

/* Whether the database says what file and table say already: then nothing is to be seen of it either. */
static bool changes_nothing(const struct import *m)
{
    const struct import_removal *r = &m->summary.removed;
    const struct sweep_before *before = &m->before;
    return before->is_same_text && before->id == m->sweep_id && before->jobs == m->sweep_jobs && !m->is_moved &&
           m->summary.added + r->replaced + r->taken_out + r->moved == 0;
}

static int transact(struct import *m, struct error *e)
{
    const struct import_request *r = m->request;
    if (learning_load(m->space, r->db, e) < 0 || match_open_single(m->space, false, &m->cursor, e) < 0 ||
        prepare_rule_check(m, e) < 0 || prepare_specs(m, e) < 0 || db_begin(r->db, e) < 0)
        return -1;
    if (look_before(m, e) < 0 || write_all(m, e) < 0 || r->show(r->context, &m->summary, e) < 0) {
        db_rollback(r->db);
        return -1;
    }
    if (r->dry_run || changes_nothing(m)) {
        db_rollback(r->db);
        return 0;
    }
    return db_commit(r->db, e);
}

static void release(struct import *m)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        stmt_free(m->spec_of[i]);
        free(m->spec_ids[i]);
    }
    stmt_free(m->rule_check);
    stmt_free(m->job_of);
    match_close(m->cursor);
    measures_free(m->measures);
    string_list_free(&m->redefined);
    job_writer_free(m->writer);
    import_store_free(m->store);
    space_free(m->space);
    row_space_free(m->rows);
    for (size_t i = 0; i < m->kept_count; i++)
        free(m->kept[i].message);
    free_all(m->kept, m->values);
    hash_set_free(&m->jobs);
    hash_set_free(&m->attempts);
    buffer_free(&m->scratch);
}

static int check_all_rules(struct import *m, struct error *e)
{
    int rc = prepare_rule_check(m, e);
    for (size_t i = 0; rc == 0 && i < m->kept_count; i++)
        rc = check_rules(m, &m->kept[i], e);
    return rc;
}

/* `work` on the rows that are left, and the space that they make. */
static int with_rows(const struct import_request *request, int (*work)(struct import *m, struct error *e),
                     struct import_summary *out, struct error *e)
{
    static const struct space_options options = {0};
    struct import m = {.request = request, .rows = row_space_create(request->sweep)};
    int rc = import_table_read(request->table, keep_row, &m, e);
    if (rc == 0 && m.kept_count == 0)
        rc = error_set(e, ERROR_NOTHING, "%s: all rows were refused, so there is nothing to import", request->file);
    if (rc == 0)
        rc = row_space_build(m.rows, &options, &m.space, e);
    if (rc == 0)
        rc = work(&m, e);
    release(&m);
    if (rc == 0)
        *out = m.summary;
    else
        import_summary_free(&m.summary);
    return rc;
}

int import_table_store(const struct import_request *request, struct import_summary *out, struct error *e)
{
    return with_rows(request, transact, out, e);
}

int import_table_undo(struct db *db, const char *host, const char *word, struct import_undone *out, struct error *e)
{
    struct import_undone undone = {0};
    int64_t id = 0;
    if (db_begin(db, e) < 0)
        return -1;
    int rc = find_written(db, host, word, &id, e) < 0 ||
                     db_query_text(db, "SELECT path FROM imported_table WHERE id = ?", VALUES(sql_int(id)),
                                   &undone.path, e) < 0 ||
                     imported_table_undo(db, id, &undone.removed, e) < 0 || result_views_refresh(db, e) < 0
                 ? -1
                 : db_commit(db, e);
    if (rc < 0) {
        db_rollback(db);
        free(undone.path);
        return -1;
    }
    *out = undone;
    return 0;
}

int import_table_check(const struct import_request *request, struct import_summary *out, struct error *e)
{
    return with_rows(request, check_all_rules, out, e);
}

void import_summary_free(struct import_summary *s)
{
    for (size_t i = 0; i < s->broken_count; i++)
        free_all(s->broken[i].name, s->broken[i].reason, s->broken[i].lines);
    free_all(s->broken, s->alike, s->older);
    *s = (struct import_summary){0};
}
