#include "space/enumerate.h"

#include <stdlib.h>
#include <string.h>

#include "space/identity.h"
#include "space/job_texts.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/observations.h"
#include "store/result_views.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/memory.h"

#define PROGRESS_EVERY 50000

struct loader {
    struct space *space;
    struct db *db;
    struct job_writer *writer;
    int64_t *spec_ids[SECTION_COUNT]; /* per row of the section's table: id in results.db, 0 until it is needed */
    struct stmt *spec_of[SECTION_COUNT];
    struct buffer derived;
    struct enumeration *out;
};

static void add_template(const struct job_text *t, struct buffer *b)
{
    for (size_t i = 0; i < t->template.count; i++)
        buffer_printf(b, t->template.parts[i].is_placeholder ? "{%s}" : "%s", t->template.parts[i].text);
    buffer_add_char(b, '\0');
}

struct hash128 space_hash(const struct space *space)
{
    struct buffer b = BUFFER_INIT;
    buffer_add(&b, space->sweep->hash.bytes, sizeof space->sweep->hash.bytes);
    buffer_add_text(&b, embedded_text("sql/rules.sql"));
    buffer_add_text(&b, embedded_text("sql/deepspeed_rules.sql"));
    for (size_t i = 0; i < space->command_count; i++)
        add_template(&space->command[i], &b);
    if (space->has_base)
        buffer_add(&b, space->base_hash.bytes, sizeof space->base_hash.bytes);
    buffer_printf(&b, "prune %d", (int)space->sweep->predict.prune); /* it may have been overruled */
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (space->limits[i].given)
            buffer_add_text(&b, space->limits[i].expression.sql);
    for (size_t i = 0; i < space->rule_count; i++)
        buffer_add_text(&b, space->rules[i].require);
    for (size_t i = 0; i < space->names.derived_count; i++)
        buffer_add_text(&b, space->names.derived[i].sql);
    struct hash128 hash = hash_bytes(b.data, b.length);
    buffer_free(&b);
    return hash;
}

static int loader_open(struct loader *l, struct error *e)
{
    if (job_writer_create(l->db, l->out->sweep_id, &l->writer, e) < 0)
        return -1;
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!l->space->counts[i])
            continue;
        l->spec_ids[i] = xcalloc((size_t)l->space->counts[i], sizeof *l->spec_ids[i]);
        char *sql = xasprintf("SELECT \"#hash\", \"#json\" FROM \"%s\" WHERE \"#id\" = ?", section_names[i]);
        int rc = db_prepare(l->space->db, sql, &l->spec_of[i], e);
        free(sql);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void loader_close(struct loader *l)
{
    job_writer_free(l->writer);
    for (int i = 0; i < SECTION_COUNT; i++) {
        stmt_free(l->spec_of[i]);
        free(l->spec_ids[i]);
    }
    buffer_free(&l->derived);
}

static int put_spec(struct loader *l, enum section_kind kind, int64_t row, struct error *e)
{
    struct stmt *s = l->spec_of[kind];
    stmt_bind_int(s, 1, row);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        const struct spec_row spec = identity_spec_row(l->space, kind, stmt_blob(s, 0), stmt_text(s, 1));
        rc = job_writer_put_spec(l->writer, kind, &spec, &l->spec_ids[kind][row], e);
    }
    stmt_reset(s);
    return rc;
}

static int put_job(struct loader *l, const struct match *m, struct error *e)
{
    struct job_row row = {.key = m->key,
                          .rank = m->rank,
                          .devices = m->devices,
                          .predicted_memory = m->predicted_memory,
                          .predicted_time = m->predicted_time,
                          .risk = m->risk,
                          .priority = l->space->prediction.prune != PRUNE_OFF && m->risk >= OOM_RISK,
                          .is_audit = m->is_audit};
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (m->spec[i] < 0)
            continue;
        if (l->spec_ids[i][m->spec[i]] == 0 && put_spec(l, (enum section_kind)i, m->spec[i], e) < 0)
            return -1;
        row.spec_ids[i] = l->spec_ids[i][m->spec[i]];
    }
    buffer_clear(&l->derived);
    match_add_derived_json(l->space, m, &l->derived);
    row.derived_json = l->derived.length ? l->derived.data : NULL;
    row.timeout_ms = m->limit_ms[LIMIT_TOTAL];
    row.idle_timeout_ms = m->limit_ms[LIMIT_IDLE];
    row.startup_timeout_ms = m->limit_ms[LIMIT_STARTUP];
    bool is_new;
    if (job_writer_put(l->writer, &row, &is_new, e) < 0)
        return -1;
    l->out->new_jobs += is_new;
    return 0;
}

static int load_jobs(struct loader *l, enumerate_progress progress, void *context, int64_t *matched, struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    if (match_open(l->space, NULL, false, &cursor, e) < 0)
        return -1;
    int rc;
    *matched = 0;
    while ((rc = match_next(cursor, &m, e)) > 0) {
        if ((rc = put_job(l, m, e)) < 0)
            break;
        FAULT(JOB_ENUMERATED);
        if (++*matched % PROGRESS_EVERY == 0 && progress)
            progress(context, *matched);
    }
    match_close(cursor);
    return rc;
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
    struct rule_row *rows = xcalloc(space->rule_count, sizeof *rows);
    for (size_t i = 0; i < space->rule_count; i++) {
        const struct space_rule *r = &space->rules[i];
        rows[i] = (struct rule_row){r->name,    r->require, r->reason, r->source, r->warning, counts->rules[i].excluded,
                                    counts->rules[i].alone};
    }
    int rc = sweep_record_rules(db, sweep_id, rows, space->rule_count, e);
    free(rows);
    for (size_t i = 0; rc == 0 && i < space->rule_count; i++) {
        struct exclusion_target target = {db, sweep_id, i};
        const struct exclusion_query query = {i, NULL, EXCLUSIONS_KEPT, keep_exclusion, &target};
        if (!space->rules[i].warning && counts->rules[i].excluded > 0)
            rc = match_excluded(space, &query, e);
    }
    return rc;
}

static int enumerate_all(struct space *space, struct db *db, enumerate_progress progress, void *context,
                         struct enumeration *out, struct error *e)
{
    struct match_counts counts = {0, 0, NULL};
    struct loader l = {.space = space, .db = db, .out = out};
    int64_t matched = 0;
    FAULT(SWEEP_RECORDED);
    int rc = match_count(space, NULL, &counts, e);
    if (rc == 0)
        rc = record_rules(space, db, out->sweep_id, &counts, e);
    if (rc == 0)
        rc = loader_open(&l, e);
    if (rc == 0)
        rc = jobs_set_aside(db, out->sweep_id, e);
    if (rc == 0)
        rc = load_jobs(&l, progress, context, &matched, e);
    if (rc == 0)
        rc = jobs_drop_aside(db, out->sweep_id, e);
    if (rc == 0 && space->prediction.asked)
        rc = calibrations_note(db, out->sweep_id, e);
    if (rc == 0)
        rc = sweep_set_enumerated(db, out->sweep_id, counts.combinations, matched, &out->counts, e);
    loader_close(&l);
    free(counts.rules);
    return rc;
}

/* Whether every job stands there with what is predicted now. */
static int is_up_to_date(struct space *space, struct db *db, struct enumeration *n, struct error *e)
{
    bool stale = false;
    if (sweep_is_enumerated(db, n->sweep_id, &n->was_there, &n->counts, e) < 0)
        return -1;
    if (n->was_there && space->prediction.asked && calibrations_are_new(db, n->sweep_id, &stale, e) < 0)
        return -1;
    n->was_there &= !stale;
    return 0;
}

int enumerate_into(struct space *space, struct db *db, enumerate_progress progress, void *context,
                   struct enumeration *out, struct error *e)
{
    struct enumeration n = {0};
    struct hash128 hash = space_hash(space);
    if (db_begin(db, e) < 0)
        return -1;
    if (sweep_record(db, space->sweep, &hash, &n.sweep_id, e) < 0 ||
        is_up_to_date(space, db, &n, e) < 0 ||
        (!n.was_there && enumerate_all(space, db, progress, context, &n, e) < 0) ||
        (!n.was_there && result_views_refresh(db, e) < 0)) {
        db_rollback(db);
        return -1;
    }
    FAULT(ENUMERATED);
    if (db_commit(db, e) < 0)
        return -1;
    FAULT(ENUMERATION_COMMITTED);
    *out = n;
    return 0;
}

int enumerate_select(struct space *space, struct db *db, const struct expression *only, struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    if (attempts_select_begin(db, e) < 0 || match_open(space, only, false, &cursor, e) < 0)
        return -1;
    int rc = db_begin(db, e);
    bool any = false;
    while (rc == 0 && (rc = match_next(cursor, &m, e)) > 0) {
        int64_t id = 0;
        any = true;
        rc = job_find(db, &m->key, &id, e);
        if (rc == 0 && id)
            rc = attempts_select(db, id, e);
    }
    match_close(cursor);
    if (rc == 0 && !any)
        rc = error_set(e, ERROR_NOTHING, "no job satisfies --only");
    if (rc == 0)
        return db_commit(db, e);
    db_rollback(db);
    return -1;
}
