#include "database/attempt_sums.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"

enum { QUESTION_COUNT = 3 };

/* A sum covers these questions. Summaries that nobody reported are worked out from others, some of them later. Another
 * column or order is another sum: what was kept would seem to have changed. */
static const char *const questions[QUESTION_COUNT] = {
    ("SELECT ifnull(?2, j.key), a.number, a.state, a.failure, a.blame, a.message, a.command, a.environment, a.started, "
     "a.ended,"
     " a.duration_ms, a.exit_code, a.signal, a.limit_ms, a.user_ms, a.system_ms, a.max_rss, a.host, a.devices,"
     " a.directory, a.log_bytes, a.log_tail FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.id = ?1"),
    "SELECT name, sequence, step, value FROM sample WHERE attempt_id = ?1 ORDER BY name, sequence",
    ("SELECT name, value, count, mean, median, minimum, maximum, stddev, p90, not_finite, reported FROM summary"
     " WHERE attempt_id = ?1 AND reported IS NOT NULL ORDER BY name"),
};

struct attempt_sums {
    struct stmt *questions[QUESTION_COUNT];
    struct stmt *keep; /* NULL: for looking only */
    struct buffer text;
};

static void add_value(struct buffer *b, const struct stmt *s, int column)
{
    enum column_type type = stmt_type(s, column);
    buffer_add_char(b, (char)('0' + type));
    if (type == COLUMN_INT) {
        int64_t value = stmt_int(s, column);
        buffer_add(b, &value, sizeof value);
    } else if (type == COLUMN_FLOAT) {
        double value = stmt_double(s, column);
        buffer_add(b, &value, sizeof value);
    } else if (type != COLUMN_NULL) {
        const void *bytes = stmt_blob(s, column);
        uint64_t length = stmt_bytes(s, column);
        buffer_add(b, &length, sizeof length);
        buffer_add(b, bytes, length);
    }
}

/* `key`: as if its job had that one; NULL: its own. */
static int sum_of(struct attempt_sums *s, int64_t attempt_id, const struct hash128 *key, struct hash128 *out,
                  struct error *e)
{
    buffer_clear(&s->text);
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        struct stmt *q = s->questions[i];
        int rc, columns = stmt_column_count(q);
        stmt_bind_int(q, 1, attempt_id);
        if (i == 0)
            stmt_bind(q, VALUES(sql_int(attempt_id), sql_hash(key)));
        while ((rc = stmt_next(q, e)) > 0)
            for (int column = 0; column < columns; column++)
                add_value(&s->text, q, column);
        if (rc < 0)
            return -1;
        buffer_add_char(&s->text, '/');
    }
    *out = hash_bytes(buffer_text(&s->text), s->text.length);
    return 0;
}

static int prepare(struct db *db, struct attempt_sums **out, struct error *e)
{
    struct attempt_sums *s = xcalloc(1, sizeof *s);
    for (size_t i = 0; i < QUESTION_COUNT; i++)
        if (db_prepare(db, questions[i], &s->questions[i], e) < 0) {
            attempt_sums_free(s);
            return -1;
        }
    *out = s;
    return 0;
}

int attempt_sums_open(struct db *db, struct attempt_sums **out, struct error *e)
{
    struct attempt_sums *s;
    if (db_exec(db, embedded_text("sql/attempt_sums.sql"), e) < 0 || prepare(db, &s, e) < 0)
        return -1;
    if (db_prepare(db, "INSERT OR REPLACE INTO attempt_sum (attempt_id, sum) VALUES (?, ?)", &s->keep, e) < 0) {
        attempt_sums_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void attempt_sums_free(struct attempt_sums *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < QUESTION_COUNT; i++)
        stmt_free(s->questions[i]);
    stmt_free(s->keep);
    buffer_free(&s->text);
    free(s);
}

int attempt_sums_keep(struct attempt_sums *s, int64_t attempt_id, struct error *e)
{
    struct hash128 sum;
    if (sum_of(s, attempt_id, NULL, &sum, e) < 0)
        return -1;
    return stmt_run_with(s->keep, VALUES(sql_int(attempt_id), sql_hash(&sum)), e);
}

/* --- looking --- */

static int have_any(struct db *db, bool *any, struct error *e)
{
    *any = true;
    return db_query_bool(db,
                         "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'attempt_sum')",
                         NO_VALUES, any, e);
}

static bool is_as_kept(const struct stmt *kept, const struct hash128 *sum)
{
    return stmt_bytes(kept, 1) == sizeof sum->bytes && memcmp(stmt_blob(kept, 1), sum->bytes, sizeof sum->bytes) == 0;
}

static int check_each(struct attempt_sums *s, struct stmt *kept, row_found *found, void *context, struct error *e)
{
    int rc;
    while ((rc = stmt_next(kept, e)) > 0) {
        struct hash128 sum;
        if (sum_of(s, stmt_int(kept, 0), NULL, &sum, e) < 0)
            return -1;
        if (!is_as_kept(kept, &sum))
            found(context, stmt_int(kept, 0), stmt_text(kept, 2));
    }
    return rc;
}

int attempt_sums_check(struct db *db, row_found *found, void *context, struct error *e)
{
    struct attempt_sums *s = NULL;
    OWNED_STMT *kept = NULL;
    bool any;
    if (have_any(db, &any, e) < 0 || !any)
        return any ? -1 : 0;
    int rc = prepare(db, &s, e) < 0 ||
                     db_prepare(db,
                                "SELECT k.attempt_id, k.sum, iif(a.id IS NULL, 'attempt ' || k.attempt_id || ' (gone)',"
                                " printf('job %d attempt %d', a.job_id, a.number))"
                                " FROM attempt_sum AS k LEFT JOIN attempt AS a ON a.id = k.attempt_id ORDER BY 1",
                                &kept, e) < 0
                 ? -1
                 : check_each(s, kept, found, context, e);
    attempt_sums_free(s);
    return rc;
}

int attempt_sums_follow(struct db *db, struct error *e)
{
    struct attempt_sums *s = NULL;
    OWNED_STMT *kept = NULL;
    bool any;
    if (have_any(db, &any, e) < 0 || !any)
        return any ? -1 : 0;
    int rc = attempt_sums_open(db, &s, e);
    if (rc == 0)
        rc =
            db_prepare(db,
                       "SELECT k.attempt_id, k.sum, m.was FROM temp.moved AS m JOIN attempt AS a ON a.job_id = m.job_id"
                       " JOIN attempt_sum AS k ON k.attempt_id = a.id ORDER BY 1",
                       &kept, e);
    while (rc >= 0 && (rc = stmt_next(kept, e)) > 0) {
        struct hash128 was, sum;
        memcpy(was.bytes, stmt_hash(kept, 2), sizeof was.bytes);
        rc = sum_of(s, stmt_int(kept, 0), &was, &sum, e);
        if (rc == 0 && is_as_kept(kept, &sum))
            rc = attempt_sums_keep(s, stmt_int(kept, 0), e);
    }
    attempt_sums_free(s);
    return rc;
}
