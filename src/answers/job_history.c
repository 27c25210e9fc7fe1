#include "answers/job_history.h"

#include <inttypes.h>
#include <string.h>

#include "report/text.h"
#include "store/imports.h"
#include "util/parse.h"

/* Says what would change the outcome. Not for a pruned job, whose witness says it, nor for one measured elsewhere. */
static void add_change(const char *state, const char *failure, struct buffer *out)
{
    if (strcmp(state, "ok") == 0)
        buffer_add_text(out, "    it runs again if its keys or the command change, if it is stale (run --stale), or if "
                             "its row is deleted\n");
    else if (strcmp(state, "failed") == 0)
        buffer_printf(out, "%s    to retry it: `run --retry-failed=%s`; [retry] %s = N allows N attempts\n",
                      strcmp(failure, "no-metric") == 0 ? "    numbers are read from the output, or from the file in "
                                                          "{job_dir} that `file` under [job.metrics.NAME] names\n"
                                                        : "",
                      failure, failure);
    else if (strcmp(state, "held") == 0)
        buffer_add_text(out, "    it waits for its host; the next `run` tries it, or `run --release` makes the active "
                             "run try it\n");
    else if (strcmp(state, "pending") == 0)
        buffer_add_text(out, "    it waits for its turn; `run` starts it\n");
}

/* Columns 2 to 5 and 7: number, failure or state, message, duration_ms (NULL: unknown), where else it was measured. */
static void add_attempt(const struct stmt *s, struct buffer *out)
{
    char duration[32];
    buffer_printf(out, "    attempt %" PRId64 ": %s", stmt_int(s, 2), stmt_text(s, 3));
    if (!stmt_is_null(s, 5))
        buffer_printf(out, " after %s", format_duration_ms(stmt_int(s, 5), duration, sizeof duration));
    if (!stmt_is_null(s, 7)) {
        buffer_add_text(out, ", measured elsewhere (");
        text_add_line(out, stmt_text(s, 7));
        buffer_add_char(out, ')');
    }
    if (!stmt_is_null(s, 4)) {
        buffer_add_text(out, ": ");
        text_add_line(out, stmt_text(s, 4));
    }
    buffer_add_char(out, '\n');
}

static int add_attempts(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned' WHEN j.held IS NOT NULL THEN 'held' ELSE "
                   "j.state "
                   "END, j.failure, a.number, coalesce(a.failure, a.state), a.message, "
                   "a.duration_ms, j.held, iif(a.executor = '" IMPORT_EXECUTOR "', a.log_tail, NULL) FROM job AS j"
                   " LEFT JOIN attempt AS a ON a.job_id = j.id AND a.kind = 'trial' WHERE j.key = ? ORDER BY a.number",
                   &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, key->bytes, sizeof key->bytes);
    int rc;
    bool known = false;
    struct buffer change = BUFFER_INIT;
    while ((rc = stmt_next(s, e)) > 0) {
        if (!known && stmt_is_null(s, 7))
            add_change(stmt_text(s, 0), stmt_text(s, 1), &change);
        if (!known)
            buffer_printf(out, ": %s%s%s\n", stmt_text(s, 0), stmt_is_null(s, 1) ? "" : "/",
                          stmt_is_null(s, 1) ? "" : stmt_text(s, 1));
        if (!known && !stmt_is_null(s, 6)) {
            buffer_add_text(out, "    ");
            text_add_line(out, stmt_text(s, 6));
            buffer_add_char(out, '\n');
        }
        known = true;
        if (!stmt_is_null(s, 2))
            add_attempt(s, out);
    }
    if (!known)
        buffer_add_text(out, ": new, it would run\n");
    buffer_add(out, change.data, change.length);
    buffer_free(&change);
    stmt_free(s);
    return rc;
}

/* Adds the job that ran out of device memory although it needs no more, with the keys in which it differs. */
static int add_witness(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    static const char sql[] =
        "WITH pair AS (SELECT j.id AS pruned, j.witness_id AS witness FROM job AS j WHERE j.key = ?1"
        "  AND j.witness_id IS NOT NULL),"
        " word AS (SELECT j.id AS job, s.kind, k.key AS name, iif(k.type IN ('true', 'false'), k.type, k.value) AS "
        "value"
        "  FROM pair JOIN job AS j ON j.id IN (witness, "
        "pruned)"
        "  JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id), json_each(s.json) AS k)"
        " SELECT witness, (SELECT group_concat(name || '=' || value, ' ') FROM word AS a WHERE a.job = witness"
        "  AND NOT EXISTS (SELECT 1 FROM word AS b WHERE b.job = pruned AND b.kind = a.kind AND b.name = a.name"
        "                  AND b.value IS a.value)) FROM pair";
    struct stmt *s = NULL;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, key->bytes, sizeof key->bytes);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        buffer_printf(out, "    pruned: job %" PRId64 " (", stmt_int(s, 0));
        text_add_line(out, stmt_is_null(s, 1) ? "" : stmt_text(s, 1));
        buffer_add_text(out, ") ran out of device memory, and this one needs at least as much; to run it anyway: "
                             "--prune off\n");
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* Adds the searches that chose it, and why. */
static int add_trials(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT s.strategy, t.reason FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                   " JOIN job AS j ON j.id = t.job_id WHERE j.key = ? AND t.asked IS NOT NULL ORDER BY t.id",
                   &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, key->bytes, sizeof key->bytes);
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        buffer_printf(out, "    chosen by %s: %s\n", stmt_text(s, 0), stmt_text(s, 1));
    stmt_free(s);
    return rc;
}

int job_history_add(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    if (!db) {
        buffer_add_text(out, ": new, it would run\n");
        return 0;
    }
    return add_attempts(db, key, out, e) < 0 || add_witness(db, key, out, e) < 0 || add_trials(db, key, out, e) < 0 ? -1
                                                                                                                    : 0;
}
