#include "measures/knowledge.h"

#include <stdlib.h>

#include "util/memory.h"

struct knowledge {
    struct space *space;
    struct datum *keys;          /* of a combination that is looked at */
    struct match_cursor *stored; /* NULL until a stored job is added */
    struct stmt *insert, *find, *dependents;
};

/* With a part between that has "#" for the number of each coordinate. */
static char *for_each(size_t coordinates, const char *before, const char *part, const char *after)
{
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, before);
    for (size_t i = 0; i < coordinates; i++)
        for (const char *p = part; *p; p++)
            if (*p == '#')
                buffer_printf(&sql, "%zu", i);
            else
                buffer_add_char(&sql, *p);
    buffer_add_text(&sql, after);
    return buffer_take(&sql);
}

/* The table is in the space's own database: temporary, on disk when it grows. */
int knowledge_create(struct space *space, struct knowledge **out, struct error *e)
{
    struct knowledge *k = xcalloc(1, sizeof *k);
    const size_t n = order_coordinates(space);
    OWNED char *create = for_each(n,
                                  "DROP TABLE IF EXISTS point; CREATE TABLE point (id INTEGER PRIMARY KEY,"
                                  " is_witness INTEGER NOT NULL, class BLOB NOT NULL",
                                  ", c# REAL NOT NULL",
                                  "); CREATE INDEX point_class ON point (class);"
                                  " CREATE INDEX point_witness ON point (class) WHERE is_witness");
    char *insert = for_each(n, "INSERT OR REPLACE INTO point VALUES (?1, ?2, ?3", ", ?", ")");
    char *find = for_each(n, "SELECT min(id) FROM point WHERE is_witness AND class = ?1", " AND c# <= ?", "");
    char *dependents = for_each(n, "SELECT p.id, min(w.id) FROM point AS w CROSS JOIN point AS p ON p.class = w.class",
                                " AND p.c# >= w.c#",
                                " WHERE NOT p.is_witness AND w.is_witness AND (?1 = 0 OR w.id = ?1) GROUP BY p.id");
    k->space = space;
    k->keys = xcalloc(space->names.key_count + 1, sizeof *k->keys);
    int rc = db_exec(space->db, create, e);
    rc = rc < 0 ? rc : db_prepare(space->db, insert, &k->insert, e);
    rc = rc < 0 ? rc : db_prepare(space->db, find, &k->find, e);
    rc = rc < 0 ? rc : db_prepare(space->db, dependents, &k->dependents, e);
    free_all(insert, find, dependents);
    if (rc < 0)
        knowledge_free(k);
    else
        *out = k;
    return rc;
}

void knowledge_free(struct knowledge *k)
{
    if (!k)
        return;
    match_close(k->stored);
    stmt_free(k->insert);
    stmt_free(k->find);
    stmt_free(k->dependents);
    free_all(k->keys, k);
}

static int insert(struct knowledge *k, int64_t id, bool is_witness, const struct hash128 *class,
                  const double *coordinates, struct error *e)
{
    stmt_bind(k->insert, VALUES(sql_int(id), sql_int(is_witness), sql_hash(class)));
    for (size_t i = 0; i < order_coordinates(k->space); i++)
        stmt_bind_at(k->insert, 4 + (int)i, sql_real(coordinates[i]));
    return stmt_run(k->insert, e);
}

/* 1; 0: there is no such rank; -1. */
static int read_point(struct knowledge *k, int64_t rank, struct hash128 *class, double *coordinates, struct error *e)
{
    if (rank < 0 || rank >= space_combinations(k->space))
        return 0;
    space_read_keys(k->space, rank, k->keys);
    return order_read(k->space, k->keys, class, coordinates, e) < 0 ? -1 : 1;
}

int knowledge_add(struct knowledge *k, int64_t id, int64_t rank, bool is_witness, struct error *e)
{
    struct hash128 class;
    double coordinates[ORDER_COORDINATES_MOST];
    int rc = read_point(k, rank, &class, coordinates, e);
    return rc > 0 ? insert(k, id, is_witness, &class, coordinates, e) : rc;
}

int knowledge_add_stored(struct knowledge *k, int64_t id, const struct job_specs *job, struct error *e)
{
    struct hash128 class;
    double coordinates[ORDER_COORDINATES_MOST];
    if (!k->stored)
        k->stored = match_open_stored(k->space);
    if (!match_stored(k->stored, job))
        return 0;
    if (order_read(k->space, match_keys(k->stored), &class, coordinates, e) < 0)
        return -1;
    return insert(k, id, true, &class, coordinates, e) < 0 ? -1 : 1;
}

/* Nobody knows whose memory ran out on a device that others had as well. */
#define RAN_OUT(job)                                                                                                   \
    job ".state = 'failed' AND " job ".failure = 'oom' AND NOT EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = " job   \
        ".attempt_id AND a.device_condition ->> '$.shared_with' > 0)"

int witness_next_elsewhere(struct db *db, int64_t sweep_id, struct stmt **s, struct job_specs *out, struct error *e)
{
    /* + keeps to the index of the failed ones: a table may be long. */
    static const char sql[] = "SELECT " JOB_SPECS_COLUMNS " FROM job AS j" JOB_SPECS_JOINS
                              " WHERE j.sweep_id <> ?1 AND " RAN_OUT("j") " ORDER BY +j.id DESC LIMIT 1000";
    int rc = db_next(db, sql, VALUES(sql_int(sweep_id)), s, e);
    if (rc > 0)
        job_specs_read(*s, out);
    return rc;
}

int knowledge_find(struct knowledge *k, int64_t rank, int64_t *witness, struct error *e)
{
    struct hash128 class;
    double coordinates[ORDER_COORDINATES_MOST];
    int rc = read_point(k, rank, &class, coordinates, e);
    *witness = 0;
    if (rc <= 0)
        return rc;
    stmt_bind_at(k->find, 1, sql_hash(&class));
    for (size_t i = 0; i < order_coordinates(k->space); i++)
        stmt_bind_at(k->find, 2 + (int)i, sql_real(coordinates[i]));
    rc = stmt_next(k->find, e);
    if (rc > 0 && !stmt_is_null(k->find, 0))
        *witness = stmt_int(k->find, 0);
    stmt_reset(k->find);
    return rc < 0 ? -1 : 0;
}

struct stmt *knowledge_dependents(struct knowledge *k, int64_t witness)
{
    stmt_reset(k->dependents);
    stmt_bind_at(k->dependents, 1, sql_int(witness));
    return k->dependents;
}

/* --- pruning --- */

struct pruning {
    struct space *space;
    struct db *db;
    int64_t sweep_id;
    struct knowledge *knowledge; /* NULL: nothing has run out of memory yet */
    bool any;                    /* some job is or was pruned */
};

/* Without `always`, reads all candidate jobs only if a witness that is no longer in the file bears on them. */
static int read_jobs(struct pruning *p, bool always, struct error *e)
{
    static const char candidates[] = "SELECT id, rank, 1 FROM job WHERE sweep_id = ?1 AND " RAN_OUT(
        "job") " UNION ALL SELECT id, rank, 0 FROM job WHERE sweep_id = ?1 AND state IN ('pending', 'running')";
    OWNED_STMT *s = NULL;
    struct job_specs row;
    int rc;
    if (knowledge_create(p->space, &p->knowledge, e) < 0)
        return -1;
    while ((rc = witness_next_elsewhere(p->db, p->sweep_id, &s, &row, e)) > 0) {
        const int added = knowledge_add_stored(p->knowledge, row.job_id, &row, e);
        if (added < 0)
            return -1;
        always |= added > 0;
    }
    while (always && rc == 0 && (rc = db_next(p->db, candidates, VALUES(sql_int(p->sweep_id)), &s, e)) > 0)
        rc = knowledge_add(p->knowledge, stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), e);
    if (!always) {
        knowledge_free(p->knowledge);
        p->knowledge = NULL;
    }
    return rc;
}

static int learn(struct pruning *p, bool always, struct error *e)
{
    if (p->knowledge)
        return 0;
    return db_exec(p->space->db, "BEGIN", e) < 0 ? -1 : db_end(p->space->db, read_jobs(p, always, e), e);
}

/* Prunes what needs at least as much as the witness (0: as any); `l` NULL: there are no claims. */
static int prune(struct pruning *p, int64_t witness, const struct pruning_listener *l, int64_t *count, struct error *e)
{
    struct stmt *s = knowledge_dependents(p->knowledge, witness);
    int rc;
    for (*count = 0; (rc = stmt_next(s, e)) > 0;) {
        const int64_t job_id = stmt_int(s, 0);
        if ((l && l->withdraw(l->context, job_id, e) < 0) ||
            db_run(p->db, "UPDATE job SET witness_id = ?2 WHERE id = ?1 AND state = 'pending' AND witness_id IS NULL",
                   VALUES(sql_int(job_id), sql_int(stmt_int(s, 1))), e) < 0)
            return -1;
        const bool pruned = db_changes(p->db) > 0;
        *count += pruned;
        p->any |= pruned;
        if (l && pruned && l->pruned(l->context, job_id, e) < 0)
            return -1;
    }
    return rc;
}

int pruning_open(struct space *space, struct db *db, int64_t sweep_id, struct pruning **out, struct error *e)
{
    const struct sql_values sweep = VALUES(sql_int(sweep_id));
    struct pruning *p = xcalloc(1, sizeof *p);
    bool any = false;
    int64_t count;
    *p = (struct pruning){space, db, sweep_id, NULL, false};
    if (db_run(db, "UPDATE job SET witness_id = NULL WHERE witness_id IS NOT NULL AND sweep_id = ?", sweep, e) < 0 ||
        (space->order &&
         (db_query_bool(db, "SELECT 1 FROM job WHERE sweep_id = ? AND state = 'failed' AND failure = 'oom' LIMIT 1",
                        sweep, &any, e) < 0 ||
          learn(p, any, e) < 0)) ||
        (p->knowledge && prune(p, 0, NULL, &count, e) < 0)) {
        pruning_close(p);
        return -1;
    }
    *out = p;
    return 0;
}

void pruning_close(struct pruning *p)
{
    if (!p)
        return;
    knowledge_free(p->knowledge);
    free(p);
}

int pruning_covers(struct pruning *p, int64_t job_id, bool *yes, struct error *e)
{
    *yes = false;
    return p->any ? db_query_bool(p->db, "SELECT 1 FROM job WHERE id = ? AND witness_id IS NOT NULL",
                                  VALUES(sql_int(job_id)), yes, e)
                  : 0;
}

int pruning_note(struct pruning *p, int64_t job_id, const struct pruning_listener *l, int64_t *count, struct error *e)
{
    *count = 0;
    if (!p->space->order)
        return 0;
    if (learn(p, true, e) < 0 ||
        db_run(p->space->db, "UPDATE point SET is_witness = 1 WHERE id = ?", VALUES(sql_int(job_id)), e) < 0)
        return -1;
    return prune(p, job_id, l, count, e);
}
