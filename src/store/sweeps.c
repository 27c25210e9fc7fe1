#include "store/sweeps.h"

#include <math.h>
#include <string.h>

#include "config/sweep.h"
#include "secrets/secrets.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"

/* The texts of a sweep's file and of its profiles, without secrets. */
struct sweep_texts {
    char *text, *profile_text;
};

static struct sweep_texts texts_of(const struct sweep *sweep)
{
    struct secrets secrets = SECRETS_INIT;
    declared_secrets_add(&secrets, sweep);
    const struct sweep_texts texts = {secrets_redact_sweep(&secrets, sweep->text),
                                      secrets_redact_sweep(&secrets, sweep->profile_text ? sweep->profile_text : "")};
    secrets_free(&secrets);
    return texts;
}

static void texts_free(struct sweep_texts *texts)
{
    free_all(texts->text, texts->profile_text);
}

static int insert_sweep(struct db *db, const struct sweep *sweep, const struct sweep_identity *identity, int64_t *id,
                        struct error *e)
{
    const struct objective *objective = sweep->objective_count ? &sweep->objectives[0] : NULL;
    struct sweep_texts texts = texts_of(sweep);
    int rc = db_insert(db,
                       "INSERT INTO sweep (hash, name, path, text, profile_text, tool_version, objective, maximise,"
                       " first_seen, last_seen, role, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9,"
                       " ?10, ?11)",
                       VALUES(sql_hash(&identity->hash), sql_text(sweep->name), sql_text(sweep->path),
                              sql_text(texts.text), sql_text(texts.profile_text), sql_text(MESHSWEEP_VERSION),
                              sql_text(objective ? objective->metric : NULL), sql_int(objective && objective->maximise),
                              sql_int(clock_wall_ms()), sql_text(sweep->model_info.is_job ? "model-info" : NULL),
                              sql_hash(&identity->content)),
                       id, e);
    texts_free(&texts);
    return rc;
}

static int insert_further_objectives(struct db *db, const struct sweep *sweep, int64_t id, struct error *e)
{
    int rc = 0;
    for (size_t i = 1; rc == 0 && i < sweep->objective_count; i++) {
        const struct objective *o = &sweep->objectives[i];
        rc = db_run(db, "INSERT INTO further_objective VALUES (?, ?, ?, ?)",
                    VALUES(sql_int(id), sql_int((int64_t)i), sql_text(o->metric), sql_int(o->maximise)), e);
    }
    return rc;
}

/* last_seen only goes forward, so that a clock set back does not bring an old sweep to the front. Where the hash is not
 * of the whole text (space/row_space.h), the text may be another one. */
static int touch_sweep(struct db *db, int64_t id, const struct sweep *sweep, const struct hash128 *content,
                       struct error *e)
{
    struct sweep_texts texts = texts_of(sweep);
    int rc = db_run(db,
                    "UPDATE sweep SET path = ?3, last_seen = max(?2, (SELECT max(last_seen) + 1 FROM sweep)),"
                    " text = ?4, profile_text = ?5, content = ?6 WHERE id = ?1",
                    VALUES(sql_int(id), sql_int(clock_wall_ms()), sql_text(sweep->path), sql_text(texts.text),
                           sql_text(texts.profile_text), sql_hash(content)),
                    e);
    texts_free(&texts);
    return rc;
}

/* Records keys of the sweep that was asked for last: a list in JSON, or no row. Names of keys need no escapes. */
static int record_keys(struct db *db, const char *name, const struct word_list *keys, struct error *e)
{
    if (keys->count == 0)
        return db_run(db, "DELETE FROM meta WHERE name = ?", VALUES(sql_text(name)), e);
    OWNED_BUFFER json = BUFFER_INIT;
    for (size_t i = 0; i < keys->count; i++)
        buffer_printf(&json, "%s\"%s\"", i ? "," : "[", keys->items[i].text);
    buffer_add_char(&json, ']');
    return db_run(db, "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
                  VALUES(sql_text(name), sql_text(buffer_text(&json))), e);
}

int sweep_record(struct db *db, const struct sweep *s, const struct sweep_identity *identity, int64_t *id,
                 struct error *e)
{
    if (db_query_int(db, "SELECT id FROM sweep WHERE hash = ?", VALUES(sql_hash(&identity->hash)), 0, id, e) < 0)
        return -1;
    if (*id == 0 && (insert_sweep(db, s, identity, id, e) < 0 || insert_further_objectives(db, s, *id, e) < 0))
        return -1;
    if (touch_sweep(db, *id, s, &identity->content, e) < 0)
        return -1;
    if (s->model_info.is_job)
        return 0;
    return record_keys(db, "replicate", &s->replicates, e) < 0 ? -1 : record_keys(db, "group_by", &s->groups, e);
}

int sweep_is_enumerated(struct db *db, int64_t id, bool *yes, struct sweep_counts *counts, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, "SELECT combinations, matched, duplicates, jobs FROM sweep WHERE id = ? AND enumerated",
                     VALUES(sql_int(id)), &s, e);
    if (rc > 0)
        *counts = (struct sweep_counts){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), stmt_int(s, 3)};
    *yes = rc > 0;
    return rc < 0 ? -1 : 0;
}

int sweep_set_counts(struct db *db, int64_t id, struct sweep_counts *c, bool is_enumerated, struct error *e)
{
    if (c->jobs < 0 &&
        db_query_int(db, "SELECT count(*) FROM job WHERE sweep_id = ?", VALUES(sql_int(id)), 0, &c->jobs, e) < 0)
        return -1;
    c->duplicates = is_enumerated ? c->matched - c->jobs : 0;
    return db_run(db,
                  "UPDATE sweep SET combinations = ?2, matched = ?3, duplicates = ?4, jobs = ?5, enumerated = ?6"
                  " WHERE id = ?1",
                  VALUES(sql_int(id), sql_int(c->combinations), sql_int(c->matched), sql_int(c->duplicates),
                         sql_int(c->jobs), sql_int(is_enumerated)),
                  e);
}

int sweep_record_rules(struct db *db, int64_t id, const struct rule_row *rules, size_t count, struct error *e)
{
    /* Exclusions go with their rules. */
    int rc = db_run(db, "DELETE FROM rule WHERE sweep_id = ?", VALUES(sql_int(id)), e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct rule_row *r = &rules[i];
        rc = db_run(db, "INSERT INTO rule VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    VALUES(sql_int(id), sql_int((int64_t)i), sql_text(r->name), sql_text(r->require),
                           sql_text(r->reason), sql_text(r->source), sql_text(r->warning ? "warn" : "exclude"),
                           sql_int(r->excluded), r->alone < 0 ? sql_null() : sql_int(r->alone)),
                    e);
    }
    return rc;
}

int sweep_record_exclusion(struct db *db, int64_t id, size_t rule, int64_t rank, const char *values_json,
                           struct error *e)
{
    return db_run(db, "INSERT INTO exclusion (sweep_id, position, rank, \"values\") VALUES (?, ?, ?, ?)",
                  VALUES(sql_int(id), sql_int((int64_t)rule), sql_int(rank), sql_text(values_json)), e);
}

int sweep_read_current(struct db *db, int64_t *id, char **path, char **text, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, "SELECT id, path, text FROM current_sweep", NO_VALUES, &s, e);
    if (rc > 0) {
        *id = stmt_int(s, 0);
        *path = xstrdup(stmt_text(s, 1));
        *text = xstrdup(stmt_text(s, 2));
    } else if (rc == 0) {
        rc = error_set(e, ERROR_NOTHING, "the database has no sweep, because nothing has been run or imported");
    }
    return rc < 0 ? -1 : 0;
}

int sweep_read_place(struct db *db, char **path, char **directory, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT path, (SELECT iif(json_valid(provenance), coalesce(provenance->>'$.directory',"
                     " provenance->>'$.imported.directory'), NULL) FROM runner ORDER BY id DESC LIMIT 1)"
                     " FROM current_sweep",
                     NO_VALUES, &s, e);
    *path = rc > 0 ? xstrdup(stmt_text(s, 0)) : NULL;
    *directory = rc > 0 ? stmt_copy_text(s, 1) : NULL;
    return rc < 0 ? -1 : 0;
}

int sweep_is_as_recorded(struct db *db, const struct sweep *sweep, bool *yes, struct error *e)
{
    struct sweep_texts texts = texts_of(sweep);
    /* That of a model-information job has a text of its own. */
    int rc = db_query_bool(db, "SELECT role IS NOT NULL OR (text = ?1 AND profile_text = ?2) FROM current_sweep",
                           VALUES(sql_text(texts.text), sql_text(texts.profile_text)), yes, e);
    texts_free(&texts);
    return rc;
}

/* --- facts of models --- */

struct model_facts model_facts_given(const struct sweep *s)
{
    struct model_facts f = {.job_id = 0};
    for (int i = 0; i < FACT_COUNT; i++)
        f.values[i] = s->model_info.facts[i];
    return f;
}

void model_facts_free(struct model_facts *f)
{
    free_all(f->failure, f->message, f->rule, f->stages);
    f->failure = f->message = f->rule = f->stages = NULL;
}

bool model_facts_known(const struct model_facts *f)
{
    return !isnan(f->values[FACT_PARAMS]);
}

static int read_summaries(struct db *db, int64_t attempt_id, struct model_facts *f, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT name, value FROM summary WHERE attempt_id = ? AND value > 0",
                         VALUES(sql_int(attempt_id)), &s, e)) > 0)
        for (int i = 0; i < FACT_COUNT; i++)
            if (strcmp(stmt_text(s, 0), model_fact_names[i]) == 0 && isnan(f->values[i]))
                f->values[i] = stmt_double(s, 1);
    return rc;
}

/* The rule that leaves the sweep without a job. */
static int read_rule(struct db *db, const struct hash128 *hash, struct model_facts *f, struct error *e)
{
    return db_query_text(db,
                         "SELECT r.name || ': ' || r.reason FROM sweep AS s JOIN rule AS r ON r.sweep_id = s.id"
                         " WHERE s.hash = ? AND s.jobs = 0 AND r.excluded > 0 AND r.level = 'exclude' LIMIT 1",
                         VALUES(sql_hash(hash)), &f->rule, e);
}

int model_facts_read(struct db *db, const struct hash128 *hash, struct model_facts *f, struct error *e)
{
    struct stmt *s = NULL;
    int rc =
        db_next(db,
                "SELECT j.id, a.id, j.failure, a.message, j.state FROM sweep AS s JOIN job AS j ON j.sweep_id = s.id"
                " LEFT JOIN attempt AS a ON a.id = j.attempt_id WHERE s.hash = ?",
                VALUES(sql_hash(hash)), &s, e);
    bool is_there = rc > 0, is_ok = is_there && strcmp(stmt_text(s, 4), "ok") == 0;
    int64_t attempt_id = is_ok ? stmt_int(s, 1) : 0;
    if (is_there) {
        f->job_id = stmt_int(s, 0);
        f->failure = stmt_copy_text(s, 2);
        f->message = f->failure ? stmt_copy_text(s, 3) : NULL;
    }
    stmt_free(s);
    if (rc < 0 || (is_ok && read_summaries(db, attempt_id, f, e) < 0))
        return -1;
    return is_there ? 0 : read_rule(db, hash, f, e);
}

static void add_text(struct buffer *b, const char *name, const char *text)
{
    if (!text)
        return;
    buffer_printf(b, "%s\"%s\": ", b->length > 1 ? ", " : "", name);
    buffer_add_json_string(b, text, strlen(text));
}

char *model_facts_json(const struct model_facts *f)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_char(&b, '{');
    for (int i = 0; i < FACT_COUNT; i++)
        if (!isnan(f->values[i])) {
            buffer_printf(&b, "%s\"%s\": ", b.length > 1 ? ", " : "", model_fact_names[i]);
            buffer_add_double(&b, f->values[i]);
        }
    if (f->job_id)
        buffer_printf(&b, "%s\"job\": %lld", b.length > 1 ? ", " : "", (long long)f->job_id);
    add_text(&b, "failure", f->failure);
    add_text(&b, "message", f->message);
    add_text(&b, "excluded", f->rule);
    if (f->stages)
        buffer_printf(&b, "%s\"stages\": %s", b.length > 1 ? ", " : "", f->stages);
    buffer_add_char(&b, '}');
    return buffer_take(&b);
}

static int change(struct db *db, const char *sql, struct sql_values values, struct error *e)
{
    return db_begin(db, e) < 0 ? -1 : db_end(db, db_run(db, sql, values, e), e);
}

int model_facts_note(struct db *db, const struct model_facts *f, enum model_fact fact, double value, struct error *e)
{
    return change(db,
                  "INSERT OR IGNORE INTO summary (attempt_id, name, value, count)"
                  " SELECT attempt_id, ?2, ?3, 1 FROM job WHERE id = ?1 AND state = 'ok'",
                  VALUES(sql_int(f->job_id), sql_text(model_fact_names[fact]), sql_real(value)), e);
}

int model_facts_record(struct db *db, int64_t sweep_id, const struct model_facts *f, struct error *e)
{
    OWNED char *json = model_facts_json(f);
    return change(db, "UPDATE sweep SET model_info = ?2 WHERE id = ?1", VALUES(sql_int(sweep_id), sql_text(json)), e);
}
