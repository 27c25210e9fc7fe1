#include "import/import.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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
#include "util/embedded.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"

/* The result of a row: there are few among a million. Its texts are the table's, or the import's. */
struct row_outcome {
    const char *failure; /* NULL: ok */
    char *message;
};

/* A row that stays, as far as it is needed after the table has been read. Behind it are the values of its metrics. */
struct kept_row {
    size_t line;
    double duration_s;
    int32_t specs[SECTION_COUNT];
    uint32_t outcome;
};

/* A job of which there was a row. There may be as many as rows, so they lie close. */
struct __attribute__((packed, aligned(4))) row_job {
    uint64_t first; /* half of the hash of what the first row said */
    int64_t id;
    uint32_t number : 31; /* of its last attempt */
    bool is_repeated : 1;
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
    struct row_outcome *outcomes;
    size_t outcome_count;
    FILE *kept; /* struct kept_row and `values` by turns: they are read as they were written */
    size_t kept_count, metric_count;
    double *values; /* of the metrics of the row that is looked at */
    struct match_cursor *cursor;
    struct job_writer *writer;
    struct import_store *store;
    bool *breaks;        /* per rule */
    struct stmt *job_of; /* NULL: there was none before */
    int64_t next_job;
    int64_t *spec_ids[SECTION_COUNT]; /* per row of the section's table: id in results.db; 0: not there yet */
    struct hash_index job_keys;
    struct row_job *jobs; /* by the number of their key */
    size_t job_count;
    struct hash_index said; /* by rows of jobs that have several, as half of their hashes: half_of */
    uint32_t *times;        /* how often each was */
    size_t times_count;
    int64_t sweep_id, table_id;
    int64_t sweep_jobs; /* of the sweep, afterwards */
    bool is_moved;      /* the table was another file */
    struct sweep_before before;
    struct buffer scratch, spec;
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
    struct row_key keys[SECTION_MOST_KEYS];
    size_t count = 0;
    for (size_t i = 0; i < c->column_count && count < SECTION_MOST_KEYS; i++)
        if (!c->columns[i].is_metric && c->columns[i].section == section)
            keys[count++] = (struct row_key){c->columns[i].name, row->values[i], c->columns[i].at};
    return row_space_add(m->rows, section, keys, count);
}

/* Its place is the attempt's source; failures that are alike are to have one message. */
static uint32_t find_outcome(struct import *m, const struct import_row *row)
{
    const bool has_state = row->failure && row->state && strcmp(row->failure, failure_names[FAILURE_NO_METRIC]) != 0;
    if (!row->failure && m->outcome_count && !m->outcomes[0].failure)
        return 0;
    char *message = has_state      ? xasprintf("the table says %s", row->state)
                    : row->failure ? xstrdup("the table has no value of the objective")
                                   : NULL;
    size_t i =
        FIRST(k, m->outcome_count,
              m->outcomes[k].failure == row->failure && (!message || strcmp(m->outcomes[k].message, message) == 0));
    if (i == m->outcome_count)
        *array_add(m->outcomes, m->outcome_count) = (struct row_outcome){row->failure, message};
    else
        free(message);
    return (uint32_t)i;
}

static int cannot_keep(struct error *e)
{
    return error_set(e, ERROR_FAILED, "rows cannot be kept in a temporary file: %s", strerror(errno));
}

static int keep_row(void *context, const struct import_row *row, struct error *e)
{
    struct import *m = context;
    struct kept_row k = {.line = row->line, .duration_s = row->duration_s, .outcome = find_outcome(m, row)};
    size_t count = 0;
    for (size_t i = 0; i < config_of(m)->column_count; i++)
        if (config_of(m)->columns[i].is_metric)
            m->values[count++] = row->metrics[i];
    m->metric_count = count;
    for (int i = 0; i < SECTION_COUNT; i++)
        k.specs[i] = (int32_t)add_spec(m, (enum section_kind)i, row);
    m->kept_count++;
    m->summary.ok += !row->failure;
    m->summary.failed += row->failure != NULL;
    return fwrite(&k, sizeof k, 1, m->kept) == 1 && fwrite(m->values, sizeof *m->values, count, m->kept) == count
               ? 0
               : cannot_keep(e);
}

static int with_each(struct import *m, int (*put)(struct import *m, const struct kept_row *row, struct error *e),
                     struct error *e)
{
    struct kept_row row;
    if (fseek(m->kept, 0, SEEK_SET) != 0)
        return cannot_keep(e);
    for (size_t i = 0; i < m->kept_count; i++) {
        if (fread(&row, sizeof row, 1, m->kept) != 1 ||
            fread(m->values, sizeof *m->values, m->metric_count, m->kept) != m->metric_count)
            return cannot_keep(e);
        if (put(m, &row, e) < 0)
            return error_context(e, "%s:%zu", m->request->file, row.line);
    }
    return 0;
}

/* --- rules --- */

static int match_row(struct import *m, const struct kept_row *row, const struct match **match, struct error *e)
{
    int64_t specs[SECTION_COUNT];
    for (int i = 0; i < SECTION_COUNT; i++)
        specs[i] = row_space_find(m->rows, (enum section_kind)i, row->specs[i]);
    match_seek(m->cursor, specs);
    return match_next(m->cursor, match, e);
}

static void note_broken(struct import_summary *s, const struct space_rule *rule, size_t line)
{
    size_t i = FIRST(k, s->broken_count, strcmp(s->broken[k].name, rule->name) == 0);
    if (i == s->broken_count) {
        s->broken = array_grow(s->broken, s->broken_count++, sizeof *s->broken);
        s->broken[i] = (struct broken_rule){xstrdup(rule->name), xstrdup(rule->reason), 0, NULL};
    }
    struct broken_rule *b = &s->broken[i];
    *array_add(b->lines, b->rows) = line;
}

/* Checks rows that ran: a row that failed may well be what a rule is for. */
static int check_rules(struct import *m, const struct kept_row *row, struct error *e)
{
    if (m->outcomes[row->outcome].failure)
        return 0;
    if (match_broken(m->cursor, m->breaks, e) < 0)
        return -1;
    for (size_t i = 0; i < m->space->rule_count; i++)
        if (m->breaks[i])
            note_broken(&m->summary, &m->space->rules[i], row->line);
    return 0;
}

/* --- writing --- */

static int put_spec(struct import *m, enum section_kind kind, int64_t row, int64_t *id, struct error *e)
{
    *id = 0;
    if (!m->space->counts[kind])
        return 0;
    *id = m->spec_ids[kind][row];
    if (*id)
        return 0;
    const struct hash128 hash = specs_hash(m->space->specs[kind], row);
    buffer_clear(&m->spec);
    specs_add_json(m->space->specs[kind], row, false, NULL, &m->spec);
    const struct spec_row spec = identity_spec_row(m->space, kind, hash.bytes, m->spec.data);
    if (job_writer_put_spec(m->writer, kind, &spec, id, e) < 0)
        return -1;
    m->spec_ids[kind][row] = *id;
    return 0;
}

/* `attempt_id`: of its only attempt yet. */
static int put_job(struct import *m, const struct match *match, const struct row_job *job,
                   const struct imported_attempt *attempt, struct error *e)
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
                          .risk = match->risk,
                          .failure = attempt->failure};
    if (attempt->is_only) {
        row.id = job->id;
        if (import_store_next(m->store, &row.attempt_id, e) < 0)
            return -1;
    }
    for (int i = 0; i < SECTION_COUNT; i++)
        if (put_spec(m, (enum section_kind)i, match->spec[i], &row.spec_ids[i], e) < 0)
            return -1;
    buffer_clear(&m->scratch);
    match_add_derived_json(m->space, match, &m->scratch);
    row.derived_json = m->scratch.length ? m->scratch.data : NULL;
    m->summary.jobs++;
    m->summary.predicted += !isnan(match->predicted_memory) || !isnan(match->predicted_time);
    return job_writer_put(m->writer, &row, e);
}

/* Half of a hash is enough to count repeats: where two are equal by chance, one row is told apart by one "+" more. */
static struct hash128 whole_of(uint64_t half)
{
    struct hash128 hash = {{0}};
    memcpy(hash.bytes, &half, sizeof half);
    return hash;
}

static uint64_t half_of(const struct hash128 *hash)
{
    uint64_t half;
    memcpy(&half, hash->bytes, sizeof half);
    return half;
}

/* How often a row of a job with several said that. Borrowed until the next call. */
static uint32_t *times_said(struct import *m, uint64_t half)
{
    const struct hash128 hash = whole_of(half);
    bool is_new;
    const size_t number = hash_index_add(&m->said, &hash, &is_new);
    if (is_new)
        *array_add(m->times, m->times_count) = 0;
    return &m->times[number];
}

/* Hashes what a row says of its job, and its number among those of its kind in the table: the same table again adds
 * nothing, a repeat with the same numbers is a repeat. */
static struct hash128 row_identity(struct import *m, const struct kept_row *row, const struct hash128 *key,
                                   struct row_job *job, bool is_first)
{
    const struct import_config *c = config_of(m);
    const struct row_outcome *outcome = &m->outcomes[row->outcome];
    struct buffer *b = &m->scratch;
    buffer_clear(b);
    buffer_add(b, key->bytes, sizeof key->bytes);
    buffer_printf(b, "%s;", outcome->failure ? outcome->failure : "ok");
    if (!isnan(row->duration_s))
        buffer_printf(b, "%.17g s;", row->duration_s);
    if (outcome->message)
        buffer_printf(b, "%s;", outcome->message);
    size_t k = 0;
    for (size_t i = 0; i < c->column_count; i++) {
        if (!c->columns[i].is_metric || isnan(m->values[k++]))
            continue;
        buffer_add_text(b, c->columns[i].name);
        buffer_add_char(b, '=');
        buffer_add_double(b, m->values[k - 1]);
        buffer_add_char(b, ';');
    }
    const struct hash128 hash = hash_bytes(b->data, b->length);
    if (is_first) {
        job->first = half_of(&hash);
        return hash;
    }
    if (!job->is_repeated)
        ++*times_said(m, job->first);
    job->is_repeated = true;
    /* Repeats are numbered by as many "+". */
    for (uint32_t repeats = (*times_said(m, half_of(&hash)))++; repeats > 0; repeats--)
        buffer_add_char(b, '+');
    return hash_bytes(b->data, b->length);
}

static int put_metrics(struct import *m, const struct imported_attempt *attempt, int64_t id, struct error *e)
{
    const struct import_config *c = config_of(m);
    size_t k = 0;
    for (size_t i = 0; i < c->column_count; i++)
        if (c->columns[i].is_metric && !isnan(m->values[k++]) &&
            import_store_metric(m->store, attempt, id, c->columns[i].name, m->values[k - 1], e) < 0)
            return -1;
    return 0;
}

/* One that stood there before, or a new one. */
static int find_job(struct import *m, const struct hash128 *key, struct row_job *out, bool *is_new, struct error *e)
{
    *out = (struct row_job){.id = 0};
    int rc = 0;
    if (m->job_of) {
        stmt_bind(m->job_of, VALUES(sql_hash(key)));
        if ((rc = stmt_next(m->job_of, e)) > 0)
            *out =
                (struct row_job){.id = stmt_int(m->job_of, 0), .number = (uint32_t)stmt_int(m->job_of, 1) & INT32_MAX};
        stmt_reset(m->job_of);
    }
    *is_new = rc == 0;
    if (*is_new)
        out->id = m->next_job++;
    return rc < 0 ? -1 : 0;
}

/* A job comes with its first row, and ends with that: others of it are settled when all are there. */
static int put_row(struct import *m, const struct kept_row *row, struct error *e)
{
    const struct row_outcome *outcome = &m->outcomes[row->outcome];
    const struct match *match;
    struct imported_attempt a = {.failure = outcome->failure,
                                 .message = outcome->message,
                                 .line = (int64_t)row->line,
                                 .duration_s = row->duration_s};
    int64_t id = 0;
    bool is_first, is_new = false;
    if (match_row(m, row, &match, e) < 0)
        return -1;
    const size_t number = hash_index_add(&m->job_keys, &match->key, &is_first);
    if (is_first && find_job(m, &match->key, array_add(m->jobs, m->job_count), &a.is_only, e) < 0)
        return -1;
    struct row_job *job = &m->jobs[number];
    a.job_id = job->id;
    a.number = job->number + 1;
    if (is_first && put_job(m, match, job, &a, e) < 0)
        return -1;
    a.is_only &= !match->prediction; /* what it teaches is measured, too: its share of the peak */
    const struct hash128 identity = row_identity(m, row, &match->key, job, is_first);
    a.row = &identity;
    if (import_store_put(m->store, &a, &id, &is_new, e) < 0)
        return -1;
    job->number += (uint32_t)is_new;
    m->summary.added += is_new;
    m->summary.known += !is_new;
    const struct attempt_result result = {id, a.job_id, a.failure};
    /* Learning from a row reads what it measured. */
    if ((id && put_metrics(m, &a, id, e) < 0) || (is_new && match->prediction && import_store_flush(m->store, e) < 0) ||
        (is_new && learning_note_row(m->space, m->request->db, &result, match->prediction, e) < 0))
        return -1;
    return check_rules(m, row, e);
}

/* Returns whether no two rows of a section are one spec. */
static bool are_distinct(const struct import *m)
{
    return !ANY(k, m->space->names.key_count, m->space->names.keys[k].is_label);
}

static int put_rows(struct import *m, struct error *e)
{
    struct db *db = m->request->db;
    const int64_t rows = (int64_t)m->kept_count;
    if (db_query_int(db, "SELECT coalesce(max(id), 0) + 1 FROM job", NO_VALUES, 0, &m->next_job, e) < 0 ||
        job_writer_expect_ended(m->writer, rows, m->next_job == 1, are_distinct(m), e) < 0 ||
        import_store_expect(m->store, m->kept_count, e) < 0 ||
        (m->next_job > 1 &&
         db_prepare(db,
                    "SELECT id, coalesce((SELECT max(number) FROM attempt WHERE job_id = job.id), 0) FROM job"
                    " WHERE key = ?",
                    &m->job_of, e) < 0))
        return -1;
    const int64_t first = m->next_job;
    /* Every row is of what is put in with it. */
    db_check_references(db, false);
    int rc = with_each(m, put_row, e) < 0 || import_store_flush(m->store, e) < 0 ? -1 : 0;
    int64_t taken;
    free_all(m->jobs);
    m->jobs = NULL;
    hash_index_free(&m->job_keys);
    if (rc == 0)
        rc = job_writer_finish(m->writer, &taken, e);
    db_check_references(db, true);
    m->summary.new_jobs = (size_t)(m->next_job - first);
    return rc;
}

static void prepare(struct import *m)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (m->space->counts[i])
            m->spec_ids[i] = xcalloc((size_t)m->space->counts[i], sizeof *m->spec_ids[i]);
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

/* Renews what else was there before, under the definitions of now; then derived metrics, and whether what was imported
 * meets what [sweep] subject_to asks for. */
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
    OWNED_STMT *s = NULL;
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
        text_replace(&m->summary.alike, xstrdup(path));
    }
    return rc == 0 && m->is_moved ? imported_table_rename(m->request->db, m->table_id, m->request->file, e) : rc;
}

/* Finds whether the numbers of its rows stood for something else, or could not be brought under the definitions of
 * another table's import. */
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
        import_store_create(r->db, &(struct import_origin){runner_id, m->table_id, m->sweep_id, r->file}, &m->store,
                            e) < 0 ||
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

static int settle(struct import *m, struct error *e)
{
    const struct import_request *r = m->request;
    struct sweep_counts counts;
    int64_t rows;
    if (import_store_finish(m->store, &m->summary.removed, e) < 0 || renew_measured(m, e) < 0 ||
        learning_fit(m->space, r->db, e) < 0 || imported_sweep_count(r->db, m->sweep_id, &counts, &rows, e) < 0 ||
        sweep_set_counts(r->db, m->sweep_id, &counts, true, e) < 0 ||
        db_query_text(r->db, embedded_text("src/import/older_tables.sql"), VALUES(sql_int(m->sweep_id)),
                      &m->summary.older, e) < 0)
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

/* Returns whether the database says what file and table say already: then nothing is to be seen of it either. */
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
    prepare(m);
    if (learning_load(m->space, r->db, e) < 0 || db_begin(r->db, e) < 0)
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
        free(m->spec_ids[i]);
    }
    stmt_free(m->job_of);
    match_close(m->cursor);
    measures_free(m->measures);
    string_list_free(&m->redefined);
    job_writer_free(m->writer);
    import_store_free(m->store);
    space_free(m->space);
    row_space_free(m->rows);
    for (size_t i = 0; i < m->outcome_count; i++)
        free(m->outcomes[i].message);
    free_all(m->outcomes, m->values, m->breaks, m->jobs, m->times);
    if (m->kept)
        fclose(m->kept);
    hash_index_free(&m->job_keys);
    hash_index_free(&m->said);
    buffer_free(&m->scratch);
    buffer_free(&m->spec);
}

static int check_row(struct import *m, const struct kept_row *row, struct error *e)
{
    const struct match *match;
    return match_row(m, row, &match, e) < 0 ? -1 : check_rules(m, row, e);
}

static int check_all_rules(struct import *m, struct error *e)
{
    return with_each(m, check_row, e);
}

/* `work` on the rows that are left, and the space that they make. */
static int with_rows(const struct import_request *request, int (*work)(struct import *m, struct error *e),
                     struct import_summary *out, struct error *e)
{
    static const struct space_options options = {.is_single = true};
    struct import m = {.request = request,
                       .rows = row_space_create(request->sweep),
                       .values = xcalloc(request->sweep->import.column_count + 1, sizeof *m.values),
                       .kept = tmpfile()};
    int rc = m.kept ? import_table_read(request->table, keep_row, &m, e) : cannot_keep(e);
    if (rc == 0 && m.kept_count == 0)
        rc = error_set(e, ERROR_NOTHING, "%s: all rows were refused, so there is nothing to import", request->file);
    if (rc == 0)
        rc = row_space_build(m.rows, &options, &m.space, e);
    if (rc == 0)
        m.breaks = xcalloc(m.space->rule_count + 1, sizeof *m.breaks);
    if (rc == 0) {
        m.cursor = match_open_single(m.space, RULES_ASKED);
        rc = work(&m, e);
    }
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
