#include "store/sweeps.h"

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
    OWNED_STMT *s = NULL;
    int rc = db_prepare(db, "INSERT INTO further_objective VALUES (?, ?, ?, ?)", &s, e);
    for (size_t i = 1; rc == 0 && i < sweep->objective_count; i++) {
        const struct objective *o = &sweep->objectives[i];
        rc = stmt_run_with(s, VALUES(sql_int(id), sql_int((int64_t)i), sql_text(o->metric), sql_int(o->maximise)), e);
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

static int set_counts(struct db *db, int64_t id, struct sweep_counts *c, bool is_enumerated, struct error *e)
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

int sweep_set_enumerated(struct db *db, int64_t id, struct sweep_counts *counts, struct error *e)
{
    return set_counts(db, id, counts, true, e);
}

int sweep_set_drawn(struct db *db, int64_t id, struct sweep_counts *counts, struct error *e)
{
    return set_counts(db, id, counts, false, e);
}

int sweep_record_rules(struct db *db, int64_t id, const struct rule_row *rules, size_t count, struct error *e)
{
    OWNED_STMT *s = NULL;
    /* Exclusions go with their rules. */
    if (db_run(db, "DELETE FROM rule WHERE sweep_id = ?", VALUES(sql_int(id)), e) < 0 ||
        db_prepare(db, "INSERT INTO rule VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &s, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct rule_row *r = &rules[i];
        rc = stmt_run_with(s,
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
