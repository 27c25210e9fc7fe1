#include "database/attempt_sums.h"

#include <string.h>

#include "util/buffer.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"

/* A sum covers these questions. Summaries that nobody reported are worked out from others, some of them later. Another
 * column or order is another sum: what was kept would seem to have changed. */
static const char *const questions[] = {
    ("SELECT ifnull(?2, j.key), a.number, a.state, a.failure, a.blame, a.message, a.command, a.environment, a.started, "
     "a.ended,"
     " a.duration_ms, a.exit_code, a.signal, a.limit_ms, a.user_ms, a.system_ms, a.max_rss, a.host, a.devices,"
     " a.directory, a.log_bytes, a.log_tail FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.id = ?1"),
    "SELECT name, sequence, step, value FROM sample WHERE attempt_id = ?1 ORDER BY name, sequence",
    ("SELECT name, value, count, mean, median, minimum, maximum, stddev, p90, not_finite, reported FROM summary"
     " WHERE attempt_id = ?1 AND reported IS NOT NULL ORDER BY name"),
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
static int sum_of(struct db *db, int64_t attempt_id, const struct hash128 *key, struct hash128 *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    const struct sql_values of = VALUES(sql_int(attempt_id), sql_hash(key));
    for (size_t i = 0; i < LENGTH(questions); i++) {
        struct stmt *s = NULL;
        int rc;
        while ((rc = db_next(db, questions[i], (struct sql_values){of.items, i == 0 ? 2 : 1}, &s, e)) > 0)
            for (int column = 0; column < stmt_column_count(s); column++)
                add_value(&text, s, column);
        if (rc < 0)
            return -1;
        buffer_add_char(&text, '/');
    }
    *out = hash_bytes(buffer_text(&text), text.length);
    return 0;
}

int attempt_sums_make(struct db *db, struct error *e)
{
    return db_exec(db, embedded_text("sql/attempt_sums.sql"), e);
}

int attempt_sums_keep(struct db *db, int64_t attempt_id, struct error *e)
{
    struct hash128 sum;
    if (sum_of(db, attempt_id, NULL, &sum, e) < 0)
        return -1;
    return db_run(db, "INSERT OR REPLACE INTO attempt_sum (attempt_id, sum) VALUES (?, ?)",
                  VALUES(sql_int(attempt_id), sql_hash(&sum)), e);
}

/* --- looking --- */

static int have_any(struct db *db, bool *any, struct error *e)
{
    return db_query_bool(db,
                         "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'attempt_sum')",
                         NO_VALUES, any, e);
}

static bool is_as_kept(const struct stmt *kept, const struct hash128 *sum)
{
    return stmt_bytes(kept, 1) == sizeof sum->bytes && memcmp(stmt_blob(kept, 1), sum->bytes, sizeof sum->bytes) == 0;
}

int attempt_sums_check(struct db *db, row_found *found, void *context, struct error *e)
{
    static const char kept[] = "SELECT k.attempt_id, k.sum, iif(a.id IS NULL, 'attempt ' || k.attempt_id || ' (gone)',"
                               " printf('job %d attempt %d', a.job_id, a.number))"
                               " FROM attempt_sum AS k LEFT JOIN attempt AS a ON a.id = k.attempt_id ORDER BY 1";
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = have_any(db, &any, e);
    while (rc >= 0 && any && (rc = db_next(db, kept, NO_VALUES, &s, e)) > 0) {
        struct hash128 sum;
        rc = sum_of(db, stmt_int(s, 0), NULL, &sum, e);
        if (rc == 0 && !is_as_kept(s, &sum))
            found(context, stmt_int(s, 0), stmt_text(s, 2));
    }
    return rc;
}

int attempt_sums_follow(struct db *db, struct error *e)
{
    static const char moved[] =
        "SELECT k.attempt_id, k.sum, m.was FROM temp.moved AS m JOIN attempt AS a ON a.job_id = m.job_id"
        " JOIN attempt_sum AS k ON k.attempt_id = a.id ORDER BY 1";
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = have_any(db, &any, e);
    while (rc >= 0 && any && (rc = db_next(db, moved, NO_VALUES, &s, e)) > 0) {
        struct hash128 was, sum;
        memcpy(was.bytes, stmt_hash(s, 2), sizeof was.bytes);
        rc = sum_of(db, stmt_int(s, 0), &was, &sum, e);
        if (rc == 0 && is_as_kept(s, &sum))
            rc = attempt_sums_keep(db, stmt_int(s, 0), e);
    }
    return rc;
}
