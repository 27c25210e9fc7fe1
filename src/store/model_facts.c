#include "store/model_facts.h"

#include <math.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"

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
