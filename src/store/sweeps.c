#include "store/sweeps.h"

#include <stdlib.h>

#include "config/declared_secrets.h"
#include "config/meaning.h"
#include "secrets/secrets.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"

static int find_sweep(struct db *db, const struct hash128 *hash, int64_t *id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT id FROM sweep WHERE hash = ?", &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, hash->bytes, sizeof hash->bytes);
    int rc = stmt_next(s, e);
    *id = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* The texts of the file and of its profiles, without secrets. */
static void bind_texts(struct stmt *s, int first, const struct sweep *sweep)
{
    struct secrets secrets = SECRETS_INIT;
    declared_secrets_add(&secrets, sweep);
    char *text = secrets_redact_sweep(&secrets, sweep->text);
    char *profile_text = secrets_redact_sweep(&secrets, sweep->profile_text ? sweep->profile_text : "");
    stmt_bind_text(s, first, text);
    stmt_bind_text(s, first + 1, profile_text);
    free(text);
    free(profile_text);
    secrets_free(&secrets);
}

static int insert_sweep(struct db *db, const struct sweep *sweep, const struct hash128 *hash, int64_t *id,
                        struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT INTO sweep (hash, name, path, text, profile_text, tool_version, objective, maximise,"
                   " first_seen, last_seen, role) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)",
                   &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, hash->bytes, sizeof hash->bytes);
    stmt_bind_text(s, 2, sweep->name);
    stmt_bind_text(s, 3, sweep->path);
    bind_texts(s, 4, sweep);
    stmt_bind_text(s, 6, MESHSWEEP_VERSION);
    stmt_bind_text(s, 7, sweep->objective_count ? sweep->objectives[0].metric : NULL);
    stmt_bind_int(s, 8, sweep->objective_count && sweep->objectives[0].maximise);
    stmt_bind_int(s, 9, clock_wall_ms());
    stmt_bind_text(s, 10, sweep->model_info.is_job ? "model-info" : NULL);
    int rc = stmt_run(s, e);
    *id = db_last_id(db);
    stmt_free(s);
    return rc;
}

static int insert_further_objectives(struct db *db, const struct sweep *sweep, int64_t id, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_prepare(db, "INSERT INTO further_objective VALUES (?, ?, ?, ?)", &s, e);
    for (size_t i = 1; rc == 0 && i < sweep->objective_count; i++) {
        stmt_bind_int(s, 1, id);
        stmt_bind_int(s, 2, (int64_t)i);
        stmt_bind_text(s, 3, sweep->objectives[i].metric);
        stmt_bind_int(s, 4, sweep->objectives[i].maximise);
        rc = stmt_run(s, e);
    }
    stmt_free(s);
    return rc;
}

/* last_seen only goes forward, so that a clock set back does not bring an old sweep to the front. */
static int touch_sweep(struct db *db, int64_t id, const char *path, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "UPDATE sweep SET path = ?3, last_seen = max(?2, (SELECT max(last_seen) + 1 FROM sweep))"
                   " WHERE id = ?1",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_int(s, 2, clock_wall_ms());
    stmt_bind_text(s, 3, path);
    return stmt_run_once(s, e);
}

static int record_metrics(struct db *db, const struct sweep *sweep, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT INTO metric_definition (name, unit, better, warmup, take, counter, rank, expression)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (name) DO UPDATE"
                   " SET unit = ?2, better = ?3, warmup = ?4, take = ?5, counter = ?6, rank = ?7, expression = ?8",
                   &s, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sweep->job.metric_count; i++) {
        const struct metric *m = &sweep->job.metrics[i];
        stmt_bind_text(s, 1, m->name);
        stmt_bind_text(s, 2, m->unit);
        stmt_bind_text(s, 3, m->better_given ? (m->maximise ? "max" : "min") : NULL);
        stmt_bind_int(s, 4, m->warmup);
        stmt_bind_text(s, 5, take_names[m->take]);
        stmt_bind_text(s, 6, metric_meaning(sweep, m->name)->counter);
        stmt_bind_text(s, 7, m->rank);
        stmt_bind_text(s, 8, m->expression);
        rc = stmt_run(s, e);
    }
    stmt_free(s);
    return rc;
}

/* Of the sweep that was asked for last: a list in JSON, or no row. Names of keys need no escapes. */
static int record_keys(struct db *db, const char *name, const struct word_list *keys, struct error *e)
{
    static const char *const sql[] = {"DELETE FROM meta WHERE name = ?1",
                                      "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)"};
    struct stmt *s = NULL;
    struct buffer json = BUFFER_INIT;
    for (size_t i = 0; i < keys->count; i++)
        buffer_printf(&json, "%s\"%s\"", i ? "," : "[", keys->items[i].text);
    buffer_add_char(&json, ']');
    int rc = db_prepare(db, sql[keys->count > 0], &s, e);
    if (rc == 0) {
        stmt_bind_text(s, 1, name);
        if (keys->count)
            stmt_bind_text(s, 2, buffer_text(&json));
        rc = stmt_run(s, e);
    }
    stmt_free(s);
    buffer_free(&json);
    return rc;
}

int sweep_record(struct db *db, const struct sweep *s, const struct hash128 *hash, int64_t *id, struct error *e)
{
    if (find_sweep(db, hash, id, e) < 0)
        return -1;
    if (*id == 0 && (insert_sweep(db, s, hash, id, e) < 0 || insert_further_objectives(db, s, *id, e) < 0))
        return -1;
    if (touch_sweep(db, *id, s->path, e) < 0)
        return -1;
    if (s->model_info.is_job)
        return 0;
    if (record_keys(db, "replicate", &s->replicates, e) < 0 || record_keys(db, "group_by", &s->groups, e) < 0)
        return -1;
    return record_metrics(db, s, e);
}

static int count_jobs(struct db *db, int64_t id, int64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT count(*) FROM job WHERE sweep_id = ?", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    int rc = stmt_next(s, e);
    *count = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int sweep_is_enumerated(struct db *db, int64_t id, bool *yes, struct sweep_counts *counts, struct error *e)
{
    struct stmt *s = NULL;
    *yes = false;
    if (db_prepare(db, "SELECT combinations, matched, duplicates, jobs FROM sweep WHERE id = ? AND enumerated", &s, e) <
        0)
        return -1;
    stmt_bind_int(s, 1, id);
    int rc = stmt_next(s, e);
    if (rc > 0)
        *counts = (struct sweep_counts){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), stmt_int(s, 3)};
    stmt_free(s);
    *yes = rc > 0;
    return rc < 0 ? -1 : 0;
}

static int set_counts(struct db *db, int64_t id, const struct sweep_counts *c, bool is_enumerated, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "UPDATE sweep SET combinations = ?2, matched = ?3, duplicates = ?4, jobs = ?5, enumerated = ?6"
                   " WHERE id = ?1",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_int(s, 2, c->combinations);
    stmt_bind_int(s, 3, c->matched);
    stmt_bind_int(s, 4, c->duplicates);
    stmt_bind_int(s, 5, c->jobs);
    stmt_bind_int(s, 6, is_enumerated);
    return stmt_run_once(s, e);
}

int sweep_set_enumerated(struct db *db, int64_t id, struct sweep_counts *counts, struct error *e)
{
    if (counts->jobs < 0 && count_jobs(db, id, &counts->jobs, e) < 0)
        return -1;
    counts->duplicates = counts->matched - counts->jobs;
    return set_counts(db, id, counts, true, e);
}

int sweep_set_drawn(struct db *db, int64_t id, struct sweep_counts *counts, struct error *e)
{
    if (counts->jobs < 0 && count_jobs(db, id, &counts->jobs, e) < 0)
        return -1;
    counts->duplicates = 0;
    return set_counts(db, id, counts, false, e);
}

static int forget_rules(struct db *db, int64_t id, struct error *e)
{
    struct stmt *s = NULL;
    /* Exclusions go with their rules. */
    if (db_prepare(db, "DELETE FROM rule WHERE sweep_id = ?", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    return stmt_run_once(s, e);
}

int sweep_record_rules(struct db *db, int64_t id, const struct rule_row *rules, size_t count, struct error *e)
{
    struct stmt *s = NULL;
    if (forget_rules(db, id, e) < 0 || db_prepare(db, "INSERT INTO rule VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &s, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        stmt_bind_int(s, 1, id);
        stmt_bind_int(s, 2, (int64_t)i);
        stmt_bind_text(s, 3, rules[i].name);
        stmt_bind_text(s, 4, rules[i].require);
        stmt_bind_text(s, 5, rules[i].reason);
        stmt_bind_text(s, 6, rules[i].source);
        stmt_bind_text(s, 7, rules[i].warning ? "warn" : "exclude");
        stmt_bind_int(s, 8, rules[i].excluded);
        if (rules[i].alone < 0)
            stmt_bind_null(s, 9);
        else
            stmt_bind_int(s, 9, rules[i].alone);
        rc = stmt_run(s, e);
    }
    stmt_free(s);
    return rc;
}

int sweep_record_exclusion(struct db *db, int64_t id, size_t rule, int64_t rank, const char *values_json,
                           struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "INSERT INTO exclusion (sweep_id, position, rank, \"values\") VALUES (?, ?, ?, ?)", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_int(s, 2, (int64_t)rule);
    stmt_bind_int(s, 3, rank);
    stmt_bind_text(s, 4, values_json);
    return stmt_run_once(s, e);
}

int sweep_read_current(struct db *db, int64_t *id, char **path, char **text, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT id, path, text FROM current_sweep", &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0) {
        *id = stmt_int(s, 0);
        *path = xstrdup(stmt_text(s, 1));
        *text = xstrdup(stmt_text(s, 2));
    } else if (rc == 0) {
        rc = error_set(e, ERROR_NOTHING, "the database has no sweep, because nothing has been run or imported");
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int sweep_read_place(struct db *db, char **path, char **directory, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT path, (SELECT iif(json_valid(provenance), coalesce(provenance->>'$.directory',"
                   " provenance->>'$.imported.directory'), NULL) FROM runner ORDER BY id DESC LIMIT 1)"
                   " FROM current_sweep",
                   &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *path = rc > 0 ? xstrdup(stmt_text(s, 0)) : NULL;
    *directory = rc > 0 && !stmt_is_null(s, 1) ? xstrdup(stmt_text(s, 1)) : NULL;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int sweep_is_as_recorded(struct db *db, const struct sweep *sweep, bool *yes, struct error *e)
{
    struct stmt *s = NULL;
    /* That of a model-information job has a text of its own. */
    if (db_prepare(db, "SELECT role IS NOT NULL OR (text = ?1 AND profile_text = ?2) FROM current_sweep", &s, e) < 0)
        return -1;
    bind_texts(s, 1, sweep);
    int rc = stmt_next(s, e);
    *yes = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}
