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

int knowledge_add_stored(struct knowledge *k, int64_t id, const struct job_specs *job, bool *added, struct error *e)
{
    struct hash128 class;
    double coordinates[ORDER_COORDINATES_MOST];
    *added = false;
    if (!k->stored)
        k->stored = match_open_stored(k->space);
    if (!match_stored(k->stored, job))
        return 0;
    if (order_read(k->space, match_keys(k->stored), &class, coordinates, e) < 0)
        return -1;
    *added = true;
    return insert(k, id, true, &class, coordinates, e);
}

/* Marks the job as having run out of device memory. */
static int knowledge_witness(struct knowledge *k, int64_t id, struct error *e)
{
    return db_run(k->space->db, "UPDATE point SET is_witness = 1 WHERE id = ?", VALUES(sql_int(id)), e);
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

int knowledge_dependents(struct knowledge *k, int64_t witness, knowledge_each each, void *context, struct error *e)
{
    struct stmt *s = k->dependents;
    int rc;
    stmt_bind_at(s, 1, sql_int(witness));
    while ((rc = stmt_next(s, e)) > 0)
        if ((rc = each(context, stmt_int(s, 0), stmt_int(s, 1), e)) < 0)
            break;
    stmt_reset(s);
    return rc;
}

/* --- pruning --- */

struct pruning {
    struct space *space;
    struct db *db;
    int64_t sweep_id;
    struct knowledge *knowledge; /* NULL: nothing has run out of memory yet */
    bool any;                    /* some job is or was pruned */
};

static int add_known(void *context, int64_t job_id, int64_t rank, bool is_witness, struct error *e)
{
    return knowledge_add(context, job_id, rank, is_witness, e);
}

struct other_sweeps {
    struct knowledge *knowledge;
    int64_t added;
};

static int add_elsewhere(void *context, const struct job_specs *row, struct error *e)
{
    struct other_sweeps *w = context;
    bool added;
    int rc = knowledge_add_stored(w->knowledge, row->job_id, row, &added, e);
    w->added += added;
    return rc;
}

/* Without `always`, reads all candidate jobs only if a witness that is no longer in the file bears on them. */
static int read_jobs(struct pruning *p, bool always, struct error *e)
{
    if (knowledge_create(p->space, &p->knowledge, e) < 0)
        return -1;
    struct other_sweeps w = {p->knowledge, 0};
    if (witnesses_walk_elsewhere(p->db, p->sweep_id, add_elsewhere, &w, e) < 0)
        return -1;
    if (always || w.added > 0)
        return witnesses_walk(p->db, p->sweep_id, add_known, p->knowledge, e);
    knowledge_free(p->knowledge);
    p->knowledge = NULL;
    return 0;
}

static int learn(struct pruning *p, bool always, struct error *e)
{
    if (p->knowledge)
        return 0;
    if (db_exec(p->space->db, "BEGIN", e) < 0)
        return -1;
    if (read_jobs(p, always, e) < 0) {
        db_rollback(p->space->db);
        return -1;
    }
    return db_exec(p->space->db, "COMMIT", e);
}

/* Context of a walk over dependents. */
struct pruner {
    struct pruning *pruning;
    const struct pruning_listener *listener; /* NULL: there are no claims */
    int64_t count;
};

static int prune(void *context, int64_t job_id, int64_t witness_id, struct error *e)
{
    struct pruner *p = context;
    bool pruned = false;
    const struct pruning_listener *l = p->listener;
    if ((l && l->withdraw(l->context, job_id, e) < 0) ||
        witnesses_set(p->pruning->db, job_id, witness_id, &pruned, e) < 0)
        return -1;
    p->count += pruned;
    p->pruning->any |= pruned;
    return l && pruned ? l->pruned(l->context, job_id, e) : 0;
}

int pruning_open(struct space *space, struct db *db, int64_t sweep_id, struct pruning **out, struct error *e)
{
    struct pruning *p = xcalloc(1, sizeof *p);
    struct pruner pruner = {p, NULL, 0};
    bool any = false;
    *p = (struct pruning){space, db, sweep_id, NULL, false};
    if (witnesses_clear(db, sweep_id, e) < 0 ||
        (space->order && (witnesses_any(db, sweep_id, &any, e) < 0 || learn(p, any, e) < 0)) ||
        (p->knowledge && knowledge_dependents(p->knowledge, 0, prune, &pruner, e) < 0)) {
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
    return p->any ? witnesses_covers(p->db, job_id, yes, e) : 0;
}

int pruning_note(struct pruning *p, int64_t job_id, const struct pruning_listener *l, int64_t *count, struct error *e)
{
    struct pruner pruner = {p, l, 0};
    *count = 0;
    if (!p->space->order)
        return 0;
    if (learn(p, true, e) < 0 || knowledge_witness(p->knowledge, job_id, e) < 0 ||
        knowledge_dependents(p->knowledge, job_id, prune, &pruner, e) < 0)
        return -1;
    *count = pruner.count;
    return 0;
}
