#include "space/enumerate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "results/views.h"
#include "space/identity.h"
#include "space/job_texts.h"
#include "store/job_writer.h"
#include "store/jobs.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

#define PROGRESS_EVERY 50000
#define DRAWS_PER_JOB 4

/* So many jobs are put there before the first of them run, where that leaves so many that it takes long. */
#define FIRST_JOBS 4096
#define LEFT_AT_LEAST 20000

struct loader {
    struct space *space;
    struct db *db;
    struct enumerate_order order;
    const atomic_bool *is_stopped; /* NULL: it never is */
    struct job_writer *writer;
    struct hash_map spec_ids[SECTION_COUNT]; /* in results.db, by the spec's number, where that comes back */
    bool comes_back[SECTION_COUNT];          /* after another of its section; in the order of rank the first's do not */
    bool repeats[SECTION_COUNT];             /* specs of it may be one; then by the hash of its row */
    struct last_spec {
        int64_t spec, id;
    } last[SECTION_COUNT]; /* most combinations have that of the one before */
    struct buffer json;
    struct buffer derived;
    int64_t next_rank; /* behind the last match that was put there */
    struct enumeration *out;
};

static void add_template(const struct template *t, struct buffer *b)
{
    for (size_t i = 0; i < t->count; i++)
        template_add_part(&t->parts[i], b);
    /* As versions that did not quote had no such line. */
    if (t->is_line)
        buffer_add_text(b, "\nquoted");
    buffer_add_char(b, '\0');
}

static struct hash128 hash_space(const struct space *space, bool of_machine)
{
    if (space->of_rows)
        return space->sweep->hash;
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add(&b, space->sweep->hash.bytes, sizeof space->sweep->hash.bytes);
    buffer_add_text(&b, embedded_text("sql/rules.sql"));
    buffer_add_text(&b, embedded_text("sql/deepspeed_rules.sql"));
    for (size_t i = 0; i < space->command.count; i++)
        add_template(&space->command.items[i], &b);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] > 1 && specs_have_twins(space->specs[i]))
            buffer_printf(&b, "names of %s", section_names[i]);
    if (space->has_base)
        buffer_add(&b, space->base_hash.bytes, sizeof space->base_hash.bytes);
    job_files_add_common(space, &b);
    buffer_printf(&b, "prune %d", (int)space->sweep->predict.prune); /* it may have been overruled */
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (space->limits[i].expression.sql)
            buffer_add_text(&b, space->limits[i].expression.sql);
    for (size_t i = 0; i < space->rule_count; i++)
        if (of_machine || strcmp(space->rules[i].name, RULE_OF_DEVICES) != 0)
            buffer_add_text(&b, space->rules[i].require);
    for (size_t i = 0; i < space->names.derived_count; i++)
        buffer_add_text(&b, space->names.derived[i].expression.sql);
    return hash_bytes(b.data, b.length);
}

struct sweep_identity space_identity(const struct space *space)
{
    return (struct sweep_identity){hash_space(space, true), hash_space(space, false)};
}

static int loader_open(struct loader *l, struct error *e)
{
    bool varies = l->out->is_drawn;
    for (int i = 0; i < SECTION_COUNT; i++) {
        l->last[i].spec = -1;
        l->comes_back[i] = varies;
        varies = varies || l->space->counts[i] > 1;
        l->repeats[i] = l->space->counts[i] > 1 && !specs_are_distinct(l->space->specs[i]);
    }
    return job_writer_create(l->db, l->out->sweep_id, &l->writer, e);
}

static void loader_close(struct loader *l)
{
    job_writer_free(l->writer);
    for (int i = 0; i < SECTION_COUNT; i++)
        hash_map_free(&l->spec_ids[i]);
    buffer_free(&l->json);
    buffer_free(&l->derived);
}

static struct spec_row row_of(struct loader *l, enum section_kind kind, int64_t spec)
{
    const struct hash128 hash = specs_hash(l->space->specs[kind], spec);
    buffer_clear(&l->json);
    specs_add_json(l->space->specs[kind], spec, false, NULL, &l->json);
    return identity_spec_row(l->space, kind, hash.bytes, l->json.data);
}

/* Equal specs have equal ids: one that was forgotten is put there again. The first of those that differ in labels alone
 * stands for all, as in a plan. */
static int put_spec(struct loader *l, enum section_kind kind, int64_t spec, int64_t *id, struct error *e)
{
    const bool is_kept = l->comes_back[kind] || l->repeats[kind];
    *id = l->last[kind].id;
    if (l->last[kind].spec == spec)
        return 0;
    const struct hash128 number = l->repeats[kind] ? row_of(l, kind, spec).hash : hash_bytes(&spec, sizeof spec);
    if (!is_kept || !hash_map_get(&l->spec_ids[kind], &number, id)) {
        const struct spec_row row = row_of(l, kind, spec);
        if (job_writer_put_spec(l->writer, kind, &row, id, e) < 0)
            return -1;
        if (is_kept)
            hash_map_put(&l->spec_ids[kind], &number, *id);
    }
    l->last[kind] = (struct last_spec){spec, *id};
    return 0;
}

static int put_job(struct loader *l, const struct match *m, struct error *e)
{
    struct job_row row = {.key = m->key,
                          .rank = m->rank,
                          .devices = m->devices,
                          .predicted_memory = m->predicted_memory,
                          .predicted_memory_of = m->predicted_memory_of,
                          .predicted_time = m->predicted_time,
                          .risk = m->risk,
                          .priority = l->space->prediction.prune != PRUNE_OFF && m->risk >= OOM_RISK,
                          .is_audit = m->is_audit};
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (m->spec[i] < 0)
            continue;
        if (put_spec(l, (enum section_kind)i, m->spec[i], &row.spec_ids[i], e) < 0)
            return -1;
    }
    buffer_clear(&l->derived);
    match_add_derived_json(l->space, m, &l->derived);
    row.derived_json = l->derived.length ? l->derived.data : NULL;
    row.timeout_ms = m->limit_ms[LIMIT_TOTAL];
    row.idle_timeout_ms = m->limit_ms[LIMIT_IDLE];
    row.startup_timeout_ms = m->limit_ms[LIMIT_STARTUP];
    return job_writer_put(l->writer, &row, e);
}

static bool is_stopped(const struct loader *l)
{
    return l->is_stopped && atomic_load_explicit(l->is_stopped, memory_order_relaxed);
}

static int load_jobs(struct loader *l, struct match_cursor *cursor, int64_t most, struct error *e)
{
    const struct match *m;
    int64_t put = 0;
    int rc = 0;
    while (put < most && !is_stopped(l) && (rc = match_next(cursor, &m, e)) > 0) {
        l->next_rank = m->rank + 1;
        if ((rc = put_job(l, m, e)) < 0)
            break;
        FAULT(JOB_ENUMERATED);
        if (++put % PROGRESS_EVERY == 0 && l->order.progress)
            l->order.progress(l->order.context, put);
    }
    return rc < 0 ? -1 : 0;
}

/* The first match from a rank on; behind the last one comes the first. */
static int next_from(struct match_cursor *cursor, int64_t rank, const struct match **m, struct error *e)
{
    match_seek_rank(cursor, rank);
    int rc = match_next(cursor, m, e);
    if (rc != 0)
        return rc;
    match_seek_rank(cursor, 0);
    return match_next(cursor, m, e);
}

/* Distinct ones; where the same are drawn again and again, fewer. */
static int draw_jobs(struct loader *l, struct match_cursor *cursor, int64_t count, struct error *e)
{
    struct hash_index seen = HASH_INDEX_INIT;
    const struct match *m;
    int64_t combinations = space_combinations(l->space), put = 0;
    int rc = 0;
    for (int64_t i = 0; rc >= 0 && put < count && i < DRAWS_PER_JOB * count; i++) {
        struct rng r = rng_stream(l->order.draw.seed, (uint64_t)i);
        rc = next_from(cursor, (int64_t)rng_below(&r, (uint64_t)combinations), &m, e);
        if (rc <= 0)
            break;
        const struct hash128 rank = hash_bytes(&m->rank, sizeof m->rank);
        if (!hash_index_takes(&seen, &rank))
            continue;
        rc = put_job(l, m, e);
        put++;
    }
    hash_index_free(&seen);
    return rc < 0 ? -1 : 0;
}

/* Whole draws: a search that goes on finds the candidates that it had. */
static int count_to_draw(const struct loader *l, int64_t *count, struct error *e)
{
    int64_t ended, once = l->order.draw.count;
    if (db_query_int(l->db, "SELECT count(*) FROM job WHERE sweep_id = ? AND state IN ('ok', 'failed')",
                     VALUES(sql_int(l->out->sweep_id)), 0, &ended, e) < 0)
        return -1;
    *count = once * (1 + ended / once);
    return 0;
}

/* The next `most` of them, or those that are drawn. */
static int load_next(struct loader *l, int64_t most, struct error *e)
{
    struct match_cursor *cursor = match_open(l->space, NULL);
    const bool is_drawn = l->out->is_drawn;
    int64_t new_jobs;
    match_seek_rank(cursor, l->next_rank);
    int rc = is_drawn ? count_to_draw(l, &most, e) : 0;
    if (rc == 0 && is_drawn && !l->order.draw.in_order)
        rc = draw_jobs(l, cursor, most, e);
    else if (rc == 0)
        rc = load_jobs(l, cursor, most < l->out->counts.matched ? most : l->out->counts.matched, e);
    match_close(cursor);
    if (rc == 0 && is_stopped(l))
        return 0;
    if (rc < 0 || job_writer_finish(l->writer, &new_jobs, e) < 0)
        return -1;
    l->out->new_jobs += new_jobs;
    return 0;
}

struct exclusion_target {
    struct db *db;
    int64_t sweep_id;
    size_t rule;
};

static int keep_exclusion(void *context, int64_t rank, const char *values_json, struct error *e)
{
    const struct exclusion_target *t = context;
    return sweep_record_exclusion(t->db, t->sweep_id, t->rule, rank, values_json, e);
}

static int record_rules(struct space *space, struct db *db, int64_t sweep_id, const struct match_counts *counts,
                        struct error *e)
{
    OWNED struct rule_row *rows = xcalloc(space->rule_count, sizeof *rows);
    for (size_t i = 0; i < space->rule_count; i++) {
        const struct space_rule *r = &space->rules[i];
        rows[i] = (struct rule_row){r->name,
                                    r->require,
                                    r->reason,
                                    r->source,
                                    r->warning,
                                    counts->rules[i].excluded,
                                    counts->rules[i].alone};
    }
    int rc = sweep_record_rules(db, sweep_id, rows, space->rule_count, e);
    for (size_t i = 0; rc == 0 && i < space->rule_count; i++) {
        struct exclusion_target target = {db, sweep_id, i};
        const struct exclusion_query query = {i, NULL, EXCLUSIONS_KEPT, false, keep_exclusion, &target};
        if (!space->rules[i].warning && counts->rules[i].excluded > 0)
            rc = match_excluded(space, &query, e);
    }
    return rc;
}

/* Over what stands there: what has never been tried is set aside, job_writer_put takes back what is still asked for,
 * and what is left after that is dropped. */
static int load_again(struct loader *l, struct error *e)
{
    const struct sql_values sweep = VALUES(sql_int(l->out->sweep_id));
    if (db_run(l->db,
               "UPDATE job SET rank = -1 - rank WHERE sweep_id = ? AND state = 'pending' AND rank >= 0"
               " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id)",
               sweep, e) < 0 ||
        load_next(l, INT64_MAX, e) < 0)
        return -1;
    return db_run(l->db, "DELETE FROM job WHERE sweep_id = ? AND rank < 0 AND state = 'pending'", sweep, e);
}

/* Returns whether what becomes of the first jobs is all the same to those that are not there yet: no one is pruned for
 * another, and the order in which they run is that in which they come. */
static bool may_part(const struct loader *l)
{
    return l->order.in_parts && l->out->counts.matched >= FIRST_JOBS + LEFT_AT_LEAST && !l->space->order &&
           !l->space->prediction.asked;
}

static int load_distinct(struct loader *l, struct error *e)
{
    struct enumeration *out = l->out;
    int64_t most = may_part(l) ? FIRST_JOBS : out->counts.matched;
    if (job_writer_expect(l->writer, most, e) < 0 || load_next(l, most, e) < 0)
        return -1;
    out->counts.jobs = out->counts.matched;
    out->unlisted = out->counts.matched - out->new_jobs;
    return 0;
}

/* Into a database without jobs. */
static int load_first(struct loader *l, struct error *e)
{
    if (!l->out->is_drawn && match_are_distinct(l->space))
        return load_distinct(l, e);
    if (load_next(l, INT64_MAX, e) < 0)
        return -1;
    l->out->counts.jobs = l->out->new_jobs;
    return 0;
}

static int load_all(struct loader *l, struct error *e)
{
    bool any;
    if (db_query_bool(l->db, "SELECT EXISTS (SELECT 1 FROM job)", NO_VALUES, &any, e) < 0)
        return -1;
    /* Every job gets the ids that its sweep and specs have just been put under. */
    db_check_references(l->db, false);
    int rc = (any ? load_again : load_first)(l, e);
    db_check_references(l->db, true);
    return rc;
}

#define STATE_OF_CALIBRATIONS                                                                                          \
    "(SELECT coalesce(group_concat(updated || ':' || measured || ':' || censored), '')"                                \
    " FROM (SELECT * FROM calibration ORDER BY framework, device, cluster, quantity))"

static int enumerate_all(struct loader *l, struct error *e)
{
    struct match_counts counts = {0, 0, NULL};
    struct enumeration *out = l->out;
    FAULT(SWEEP_RECORDED);
    int rc = match_count(l->space, NULL, &counts, e);
    out->counts = (struct sweep_counts){.combinations = counts.combinations, .matched = counts.matched, .jobs = -1};
    out->is_drawn = rc == 0 && l->order.draw.count > 0 && counts.matched > l->order.draw.most;
    if (rc == 0)
        rc = record_rules(l->space, l->db, out->sweep_id, &counts, e);
    free(counts.rules);
    if (rc == 0)
        rc = loader_open(l, e);
    if (rc == 0)
        rc = load_all(l, e);
    if (rc == 0 && l->space->prediction.asked)
        rc = db_run(l->db,
                    "INSERT OR REPLACE INTO meta VALUES ('calibrations of sweep ' || ?1, " STATE_OF_CALIBRATIONS ")",
                    VALUES(sql_int(out->sweep_id)), e);
    if (rc < 0)
        return -1;
    struct sweep_counts there = out->counts;
    there.jobs -= out->unlisted;
    return sweep_set_counts(l->db, out->sweep_id, out->unlisted > 0 ? &there : &out->counts,
                            out->unlisted == 0 && !out->is_drawn, e);
}

/* Finds whether every job is recorded with the predictions that are made now. */
static int is_up_to_date(struct space *space, struct db *db, struct enumeration *n, struct error *e)
{
    bool stale = false;
    if (sweep_is_enumerated(db, n->sweep_id, &n->was_there, &n->counts, e) < 0)
        return -1;
    if (n->was_there && space->prediction.asked &&
        db_query_bool(db,
                      "SELECT coalesce((SELECT value FROM meta WHERE name = 'calibrations of sweep ' || ?1), '')"
                      " <> " STATE_OF_CALIBRATIONS,
                      VALUES(sql_int(n->sweep_id)), &stale, e) < 0)
        return -1;
    n->was_there &= !stale;
    return 0;
}

/* Records what the keys of the sweep's jobs are made of. */
static int record_parts(struct loader *l, struct error *e)
{
    OWNED_JSON *parts = identity_parts(l->space);
    OWNED char *text = cJSON_PrintUnformatted(parts);
    return db_run(l->db, "UPDATE sweep SET identity = ?2 WHERE id = ?1",
                  VALUES(sql_int(l->out->sweep_id), sql_text(text)), e);
}

static int bring_up_to_date(struct loader *l, struct error *e)
{
    const struct sweep_identity identity = space_identity(l->space);
    if (sweep_record(l->db, l->space->sweep, &identity, &l->out->sweep_id, e) < 0 || record_parts(l, e) < 0 ||
        is_up_to_date(l->space, l->db, l->out, e) < 0)
        return -1;
    const struct space_moves *moves = l->space->moves;
    l->out->was_there &= !moves;
    if (l->out->was_there)
        return 0;
    if ((moves && jobs_move(l->db, moves->items, moves->count, e) < 0) || enumerate_all(l, e) < 0 ||
        (moves && jobs_moved(l->db, l->out->sweep_id, &moves->change, &l->out->moved, e) < 0))
        return -1;
    return result_views_refresh(l->db, e);
}

static int enumerate(struct loader *l, struct error *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    if (bring_up_to_date(l, e) < 0) {
        db_rollback(l->db);
        return -1;
    }
    FAULT(ENUMERATED);
    if (db_commit(l->db, e) < 0)
        return -1;
    FAULT(ENUMERATION_COMMITTED);
    return 0;
}

/* --- in one part or two --- */

struct unlisted {
    struct loader loader;
    struct enumeration enumeration;
    atomic_bool is_stopped;
};

int enumerate_into(struct space *space, struct db *db, const struct enumerate_order *order, struct enumeration *out,
                   struct error *e)
{
    struct unlisted *u = xcalloc(1, sizeof *u);
    const struct enumerate_order all = {0};
    u->loader = (struct loader){.space = space, .db = db, .order = order ? *order : all, .out = &u->enumeration};
    int rc = enumerate(&u->loader, e);
    u->loader.order = all;
    u->loader.is_stopped = &u->is_stopped;
    if (rc == 0) {
        *out = u->enumeration;
        out->new_jobs += out->unlisted;
        out->rest = out->unlisted > 0 ? u : NULL;
    }
    if (rc < 0 || !out->rest)
        unlisted_free(u);
    return rc;
}

static int list_rest(struct unlisted *u, struct error *e)
{
    struct loader *l = &u->loader;
    db_check_references(l->db, false);
    int rc =
        job_writer_expect(l->writer, u->enumeration.unlisted, e) < 0 ? -1 : load_next(l, u->enumeration.unlisted, e);
    db_check_references(l->db, true);
    if (rc == 0 && !is_stopped(l))
        rc = sweep_set_counts(l->db, u->enumeration.sweep_id, &u->enumeration.counts, true, e);
    return rc == 0 && !is_stopped(l) ? result_views_refresh(l->db, e) : rc;
}

static int finish_listing(struct unlisted *u, int rc, struct error *e)
{
    struct db *db = u->loader.db;
    const bool stopped = is_stopped(&u->loader);
    if (rc == 0 && !stopped) {
        FAULT(ENUMERATED);
        return db_commit(db, e);
    }
    db_rollback(db);
    db_cut_log(db);
    return stopped ? 0 : -1;
}

int unlisted_put(struct unlisted *u, struct error *e)
{
    struct error failure = ERROR_INIT;
    db_heed_stop(u->loader.db, &u->is_stopped);
    int rc = list_rest(u, &failure);
    db_heed_stop(u->loader.db, NULL);
    rc = finish_listing(u, rc, &failure);
    u->enumeration.unlisted = 0;
    if (rc < 0)
        *e = failure;
    return rc;
}

void unlisted_stop(struct unlisted *u)
{
    atomic_store_explicit(&u->is_stopped, true, memory_order_relaxed);
}

int64_t unlisted_count(const struct unlisted *u)
{
    return u ? u->enumeration.unlisted : 0;
}

void unlisted_free(struct unlisted *u)
{
    if (!u)
        return;
    loader_close(&u->loader);
    free(u);
}

/* `*any`: whether any combination satisfies it. */
static int select_matches(struct match_cursor *cursor, struct db *db, bool *any, struct error *e)
{
    const struct match *m;
    int rc;
    *any = false;
    while ((rc = match_next(cursor, &m, e)) > 0) {
        *any = true;
        if (db_run(db, "INSERT OR IGNORE INTO temp.selected SELECT id FROM job WHERE key = ?",
                   VALUES(sql_hash(&m->key)), e) < 0)
            return -1;
    }
    return rc;
}

int enumerate_select(struct space *space, struct db *db, const struct expression *only, struct error *e)
{
    struct match_cursor *cursor = match_open(space, only);
    bool any;
    int rc = selection_begin(db, e) < 0 ? -1 : db_begin(db, e);
    if (rc == 0) {
        rc = select_matches(cursor, db, &any, e);
        if (rc == 0 && !any)
            rc = error_set(e, ERROR_NOTHING, "no job satisfies --only");
        rc = db_end(db, rc, e);
    }
    match_close(cursor);
    return rc;
}
