#include "measures/pruning.h"

#include <stdlib.h>

#include "store/witnesses.h"
#include "util/memory.h"

struct pruning {
    struct space *space;
    struct db *db;
    int64_t sweep_id;
    struct knowledge *knowledge; /* NULL: nothing has run out of memory yet */
    bool any;                    /* some job is or was pruned */
};

static int add(void *context, int64_t job_id, int64_t rank, bool is_witness, struct error *e)
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
    const struct stored_job job = stored_of(row);
    bool added;
    int rc = knowledge_add_stored(w->knowledge, row->job_id, &job, &added, e);
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
        return witnesses_walk(p->db, p->sweep_id, add, p->knowledge, e);
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
