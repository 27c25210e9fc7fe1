#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "config/failure.h"
#include "measures/knowledge.h"
#include "space/formers.h"
#include "store/jobs.h"
#include "store/sweeps.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- value changes --- */

/* Values that only one side has, the sweep file or the database, tell why a job is new or no longer asked for. The
 * space's own database compares them. */

/* Sides of more specs than this are not compared: a model space has millions. */
#define COMPARED_SPECS_MOST 20000

/* Longer values (lists of layers) are cut: what is shown is to be read. */
#define VALUE_BYTES_MOST "60"

/* The members of a spec's JSON that are worth a word. */
#define MEMBERS                                                                                                        \
    " k.key AS key, CAST(CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'real' THEN"               \
    " number(k.value) ELSE k.value END AS TEXT) AS value FROM %s AS s, json_each(s.\"#json\") AS k"                    \
    " WHERE k.type <> 'null' AND k.key NOT IN ('name', 'description')"

enum side { IN_FILE, IN_DATABASE, SIDES };

/* One side's specs of a section: what each has that the other side lacks is asked once. */
struct section_values {
    char **lacking; /* per row of the section's table, or id in results.db; NULL: not asked yet */
    int64_t count;
    struct stmt *ask; /* of spec ?1: "layers=8 heads=4", "" for nothing */
};

struct value_changes {
    struct space *space;
    struct db *db;
    struct section_values of[SIDES][SECTION_COUNT];
    bool compared; /* false: too many specs */
    struct buffer why;
};

/* The table that has a section's specs. */
static const char *table_of(enum side side, int section)
{
    return side == IN_FILE ? section_names[section] : "temp.recorded";
}

/* `count`: above all its rows or ids. */
static int open_side(struct value_changes *c, enum side side, int section, int64_t count, struct error *e)
{
    struct section_values *v = &c->of[side][section];
    const struct names *n = &c->space->names;
    struct buffer sql = BUFFER_INIT;
    v->count = count;
    v->lacking = xcalloc((size_t)count + 1, sizeof *v->lacking);
    buffer_printf(&sql,
                  "SELECT coalesce(group_concat(key || '=' || printf('%%." VALUE_BYTES_MOST "s', value), ' '), '')"
                  " FROM (SELECT" MEMBERS " AND s.\"#id\" = ?1) AS m WHERE NOT EXISTS (SELECT 1 FROM temp.member AS o"
                  "  WHERE o.side = %d AND o.section = %d AND o.key = m.key AND o.value = m.value) AND key NOT IN (''",
                  table_of(side, section), side == IN_FILE ? IN_DATABASE : IN_FILE, section);
    for (size_t i = 0; i < n->key_count; i++)
        if ((int)n->keys[i].section == section && n->keys[i].is_label) {
            buffer_add_text(&sql, ", ");
            buffer_add_quoted(&sql, n->keys[i].name, '\'');
        }
    buffer_add_char(&sql, ')');
    return db_prepare_built(c->space->db, &sql, &v->ask, e);
}

/* Every value of every axis is in one of the file's specs that are taken. */
static int take_axes(struct value_changes *c, int section, struct error *e)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(c->space->specs[section], &count);
    OWNED char *sql = xasprintf("INSERT OR IGNORE INTO temp.member SELECT %d, %d," MEMBERS " AND s.\"#id\" = ?1",
                                IN_FILE, section, table_of(IN_FILE, section));
    for (size_t b = 0; b < count; b++) {
        if (db_run(c->space->db, sql, VALUES(sql_int(blocks[b].first)), e) < 0)
            return -1;
        for (size_t a = 0; a < blocks[b].axis_count; a++)
            for (size_t v = 1; v < blocks[b].axes[a].axis->value_count; v++)
                if (db_run(c->space->db, sql, VALUES(sql_int(blocks[b].first + (int64_t)v * blocks[b].axes[a].stride)),
                           e) < 0)
                    return -1;
    }
    return 0;
}

static int take_recorded(struct value_changes *c, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(c->db, "SELECT id, kind, json FROM spec", NO_VALUES, &s, e)) > 0)
        if (db_run(c->space->db, "INSERT INTO temp.recorded VALUES (?, ?, ?)",
                   VALUES(sql_int(stmt_int(s, 0)), sql_text(stmt_text(s, 1)), sql_text(stmt_text(s, 2))), e) < 0)
            return -1;
    return rc;
}

static int take_sides(struct value_changes *c, int64_t recorded, struct error *e)
{
    int rc = db_exec(c->space->db,
                     "DROP TABLE IF EXISTS temp.recorded; DROP TABLE IF EXISTS temp.member;"
                     "CREATE TEMP TABLE recorded (\"#id\" INTEGER PRIMARY KEY, kind, \"#json\");"
                     "CREATE TEMP TABLE member (side, section, key, value, PRIMARY KEY (section, key, value, side))"
                     " WITHOUT ROWID",
                     e);
    rc = rc < 0 ? rc : take_recorded(c, e);
    for (int i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        OWNED char *sql = xasprintf("INSERT OR IGNORE INTO temp.member SELECT %d, %d," MEMBERS " AND s.kind = ?1",
                                    IN_DATABASE, i, table_of(IN_DATABASE, i));
        if (db_run(c->space->db, sql, VALUES(sql_text(section_names[i])), e) < 0 ||
            open_side(c, IN_DATABASE, i, recorded + 1, e) < 0 ||
            (c->space->counts[i] && (take_axes(c, i, e) < 0 || open_side(c, IN_FILE, i, c->space->counts[i], e) < 0)))
            rc = -1;
    }
    return rc;
}

static void value_changes_close(struct value_changes *c)
{
    for (size_t i = 0; c && i < SIDES * SECTION_COUNT; i++) {
        struct section_values *v = &c->of[i / SECTION_COUNT][i % SECTION_COUNT];
        for (int64_t k = 0; v->lacking && k < v->count; k++)
            free(v->lacking[k]);
        free(v->lacking);
        stmt_free(v->ask);
    }
    if (c)
        buffer_free(&c->why);
    free(c);
}

/* `db` is results.db, read only; both are borrowed. */
static int value_changes_open(struct space *space, struct db *db, struct value_changes **out, struct error *e)
{
    int64_t recorded, specs;
    if (db_query_int(db, "SELECT max(id) FROM spec", NO_VALUES, 0, &recorded, e) < 0)
        return -1;
    specs = recorded;
    for (int i = 0; i < SECTION_COUNT; i++)
        specs = space->counts[i] > specs ? space->counts[i] : specs;
    struct value_changes *c = xcalloc(1, sizeof *c);
    *c = (struct value_changes){.space = space, .db = db, .compared = specs <= COMPARED_SPECS_MOST};
    *out = c;
    return c->compared ? take_sides(c, recorded, e) : 0;
}

/* Adds what the spec has and the other side lacks. */
static int add_lacking(struct value_changes *c, enum side side, int section, int64_t id, struct error *e)
{
    struct section_values *v = &c->of[side][section];
    if (id < 0 || id >= v->count)
        return 0;
    if (!v->lacking[id]) {
        stmt_bind_at(v->ask, 1, sql_int(id));
        const int rc = stmt_next(v->ask, e);
        v->lacking[id] = xstrdup(rc > 0 ? stmt_text(v->ask, 0) : "");
        stmt_reset(v->ask);
        if (rc < 0)
            return -1;
    }
    buffer_printf(&c->why, "%s%s", c->why.length && *v->lacking[id] ? " " : "", v->lacking[id]);
    return 0;
}

/* Why a combination of the file is not in the database, "layers=8 not seen before", or the other way round. Borrowed
 * until the next call. */
static int value_changes_why(struct value_changes *c, enum side side, const int64_t *specs, const char **why,
                             struct error *e)
{
    static const char *const some[] = {" not seen before", " is no longer in the file"};
    static const char *const none[] = {"known values in a new combination or with another command",
                                       "excluded by a rule now, or run with another command"};
    buffer_clear(&c->why);
    for (int i = 0; c->compared && i < SECTION_COUNT; i++)
        if (add_lacking(c, side, i, specs[i], e) < 0)
            return -1;
    buffer_add_text(&c->why, c->why.length ? some[side]
                             : c->compared ? none[side]
                                           : "there are too many specs to say more");
    *why = buffer_text(&c->why);
    return 0;
}

/* --- plan --- */

struct planner {
    const struct plan_request *request;
    struct stmt *lookup;    /* NULL: there is no database */
    struct stmt *lookup_at; /* the same of the one after the job that was found last */
    int64_t last_id;
    bool follows;           /* it stood there after the one before, too */
    bool are_distinct;      /* no two matches are one job */
    int64_t jobs;           /* that the matches are, where that can be told without looking at all of them; else -1 */
    struct hash_index seen; /* where they are not: all; else those that are in the database */
    struct plan *plan;
    struct formers formers;      /* by what they are to be: whose results run would let stand */
    int64_t known;               /* jobs of the plan that stand in the database */
    struct knowledge *knowledge; /* NULL: no job of the plan ran out of memory, or that is not to count */
    struct hash128 *witnesses;   /* their keys; in `knowledge` they are numbered from 1 */
    size_t witness_count;
    struct value_changes *changes; /* NULL: there is no database */
    struct buffer why;             /* of the job that was looked up; empty: it is not in the database */
    struct plan_reason {
        enum plan_mark mark; /* PLAN_NEW, PLAN_RETRY or PLAN_FAILED; 0: no longer in the file */
        char *why;           /* "layers=8 not seen before", "lost, 1 of 3 attempts" */
        int64_t jobs;
    } * reasons;
    size_t reason_count, last_reason;
    double attempts_most; /* of a job */
    double device_ms;     /* of what is due, at most; whole */
    double largest_ms;    /* of one job that is due */
    bool is_unbounded;    /* something has no time limit */
};

const char *const plan_mark_names[PLAN_MARK_COUNT] = {"gone",
                                                      [PLAN_NEW] = "new",
                                                      [PLAN_DONE] = "done",
                                                      [PLAN_RETRY] = "retry",
                                                      [PLAN_FAILED] = "failed",
                                                      [PLAN_RUNNING] = "running",
                                                      [PLAN_PRUNED] = "pruned"};

void plan_free(struct plan *p)
{
    cJSON_Delete(p->reasons);
    free_all(p->match.rules, p->hint);
    p->hint = NULL;
    p->match.rules = NULL;
    p->reasons = NULL;
}

/* --- why --- */

#define OTHER_REASONS "other reasons"

/* Jobs that follow each other mostly share their reason. */
static bool is_reason(const struct planner *p, size_t i, enum plan_mark mark, const char *why)
{
    return p->reasons[i].mark == mark && strcmp(p->reasons[i].why, why) == 0;
}

static void count_reason(struct planner *p, enum plan_mark mark, const char *why)
{
    size_t i = p->last_reason;
    if (i >= p->reason_count || !is_reason(p, i, mark, why))
        for (i = 0; i < p->reason_count && !is_reason(p, i, mark, why);)
            i++;
    if (i == p->reason_count && i >= PLAN_REASONS_MOST && strcmp(why, OTHER_REASONS) != 0) {
        count_reason(p, mark, OTHER_REASONS);
        return;
    }
    if (i == p->reason_count)
        *array_add(p->reasons, p->reason_count) = (struct plan_reason){mark, xstrdup(why), 0};
    p->reasons[i].jobs++;
    p->last_reason = i;
}

/* Those of jobs that are gone stand last. */
static int by_mark_and_jobs(const void *a, const void *b)
{
    const struct plan_reason *x = a, *y = b;
    if (x->mark != y->mark)
        return !x->mark || !y->mark ? (x->mark ? -1 : 1) : (int)x->mark - (int)y->mark;
    if (x->jobs != y->jobs)
        return x->jobs < y->jobs ? 1 : -1;
    return strcmp(x->why, y->why);
}

/* Takes the reasons. */
static cJSON *list_reasons(struct planner *p)
{
    cJSON *list = cJSON_CreateArray();
    array_sort(p->reasons, p->reason_count, by_mark_and_jobs);
    for (size_t i = 0; i < p->reason_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "mark", plan_mark_names[p->reasons[i].mark]);
        cJSON_AddStringToObject(item, "why", p->reasons[i].why);
        cJSON_AddNumberToObject(item, "jobs", (double)p->reasons[i].jobs);
        cJSON_AddItemToArray(list, item);
        free(p->reasons[i].why);
    }
    free(p->reasons);
    return list;
}

static bool is_forced(char *const *forced, const char *failure)
{
    return strings_have(forced, "all") || strings_have(forced, failure);
}

static enum plan_mark mark_row(const struct plan_request *r, const struct stmt *row)
{
    const char *state = stmt_text(row, 0);
    bool started = stmt_int(row, 3);
    if (strcmp(state, "ok") == 0)
        return stmt_int(row, 2) >= r->space->sweep->job.repeat ? PLAN_DONE : PLAN_RETRY;
    if (strcmp(state, "failed") == 0)
        return is_forced(r->forced, stmt_text(row, 1)) || stmt_int(row, 2) < retry_allowed(r->policy, stmt_text(row, 1))
                   ? PLAN_RETRY
                   : PLAN_FAILED;
    if (!started)
        return PLAN_NEW;
    return r->runner_alive ? PLAN_RUNNING : PLAN_RETRY;
}

static void explain_row(struct planner *p, const struct stmt *row, enum plan_mark mark)
{
    const struct plan_request *r = p->request;
    const char *state = stmt_text(row, 0), *failure = stmt_text(row, 1);
    int64_t tried = stmt_int(row, 2);
    buffer_clear(&p->why);
    if (mark == PLAN_NEW)
        buffer_add_text(&p->why, "recorded, but not finished yet");
    else if (strcmp(state, "running") == 0)
        buffer_add_text(&p->why, mark == PLAN_RUNNING ? "it runs" : "lost with its runner");
    else if (strcmp(state, "ok") == 0)
        buffer_printf(&p->why, "ok %lld of %lld times", (long long)tried, (long long)r->space->sweep->job.repeat);
    else if (mark == PLAN_RETRY && is_forced(r->forced, failure))
        buffer_printf(&p->why, "%s, requested again", failure);
    else
        buffer_printf(&p->why, "%s, %lld of %lld attempts", failure, (long long)tried,
                      (long long)retry_allowed(r->policy, failure));
}

static int mark_row_of(struct planner *p, struct stmt *row, const struct hash128 *key, enum plan_mark *mark,
                       struct error *e)
{
    stmt_bind(row, VALUES(sql_hash(key), sql_int(p->request->space->sweep->job.repeat)));
    int rc = stmt_next(row, e);
    if (rc > 0) {
        *mark = mark_row(p->request, row);
        explain_row(p, row, *mark);
        p->follows = stmt_int(row, 4) == p->last_id + 1;
        p->last_id = stmt_int(row, 4);
        p->known++;
        if (p->are_distinct)
            hash_index_takes(&p->seen, key);
    }
    stmt_reset(row);
    return rc;
}

static int by_now(const void *a, const void *b)
{
    const struct job_move *x = a, *y = b;
    return memcmp(x->now.bytes, y->now.bytes, sizeof x->now.bytes);
}

/* 1: the results of another job will be its. */
static int mark_former(struct planner *p, const struct hash128 *key, enum plan_mark *mark, struct error *e)
{
    const struct job_move wanted = {.now = *key};
    const struct formers *f = &p->formers;
    const struct job_move *m = f->count ? bsearch(&wanted, f->items, f->count, sizeof *f->items, by_now) : NULL;
    if (!m)
        return 0;
    hash_index_takes(&p->seen, &m->was);
    return mark_row_of(p, p->lookup, &m->was, mark, e);
}

/* Jobs mostly stand in the order of the matches: the one after the last needs no index. */
static int mark_job(struct planner *p, const struct hash128 *key, enum plan_mark *mark, struct error *e)
{
    *mark = PLAN_NEW;
    buffer_clear(&p->why);
    if (!p->lookup)
        return 0;
    int rc = 0;
    stmt_bind_at(p->lookup_at, 3, sql_int(p->last_id + 1));
    if (p->follows)
        rc = mark_row_of(p, p->lookup_at, key, mark, e);
    p->follows = rc > 0;
    if (rc == 0)
        rc = mark_row_of(p, p->lookup, key, mark, e);
    return rc < 0 || mark_former(p, key, mark, e) < 0 ? -1 : 0;
}

/* How many attempts of a job may run until their limit: it may fail so before its last success, or for good. */
static double attempts_most(const struct plan_request *r)
{
    int64_t failed = 1;
    for (enum failure class = FAILURE_EXIT; class < FAILURE_SPAWN; class ++) {
        const int64_t allowed = retry_allowed(r->policy, failure_names[class]);
        failed = allowed > failed ? allowed : failed;
    }
    return (double)(r->space->sweep->job.repeat + failed - 1);
}

/* Whole milliseconds: the sum is the same in any order. */
static void add_cost(struct planner *p, const struct match *m)
{
    const double ms = (double)m->limit_ms[LIMIT_TOTAL] * (double)m->devices * p->attempts_most;
    p->is_unbounded |= m->limit_ms[LIMIT_TOTAL] == 0;
    p->device_ms += ms;
    p->largest_ms = fmax(p->largest_ms, ms);
}

static void add_predictions(struct plan *plan, const struct match *m, double repeat)
{
    double step = isnan(m->predicted_time) ? 0 : m->predicted_time * (double)m->devices;
    plan->predicted_memory += !isnan(m->predicted_memory);
    plan->predicted_time += step > 0;
    plan->predicted_length += step > 0 && m->predicted_steps > 0;
    plan->step_device_seconds += step;
    plan->device_hours += step * m->predicted_steps / 3600 * repeat;
    plan->risks[m->risk]++;
    plan->audits += m->is_audit;
}

/* --- what ran out of memory --- */

static int take_witness(struct planner *p, const struct match *m, struct error *e)
{
    stmt_bind(p->lookup, VALUES(sql_hash(&m->key), sql_int(1)));
    int rc = stmt_next(p->lookup, e);
    bool is_witness = rc > 0 && !stmt_is_null(p->lookup, 1) && strcmp(stmt_text(p->lookup, 1), "oom") == 0 &&
                      mark_row(p->request, p->lookup) == PLAN_FAILED;
    stmt_reset(p->lookup);
    if (rc < 0 || !is_witness)
        return rc < 0 ? -1 : 0;
    *array_add(p->witnesses, p->witness_count) = m->key;
    return knowledge_add(p->knowledge, (int64_t)p->witness_count, m->rank, true, e);
}

/* Jobs that are in the file were taken where they are. */
static int take_others(struct planner *p, struct error *e)
{
    OWNED_STMT *s = NULL;
    struct job_specs row;
    int rc;
    while ((rc = witness_next_elsewhere(p->request->db, 0, &s, &row, e)) > 0) {
        if (ANY(i, p->witness_count, memcmp(p->witnesses[i].bytes, row.key, sizeof p->witnesses[i].bytes) == 0))
            continue;
        const int added = knowledge_add_stored(p->knowledge, (int64_t)p->witness_count + 1, &row, e);
        if (added < 0)
            return -1;
        if (added)
            memcpy(array_add(p->witnesses, p->witness_count)->bytes, row.key, sizeof p->witnesses->bytes);
    }
    return rc;
}

/* Over the whole sweep: what is planned may be less. */
static int find_witnesses(struct planner *p, struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    int64_t any = 0;
    if (!p->request->space->order)
        return 0;
    if (db_query_int(p->request->db, "SELECT 1 FROM job WHERE state = 'failed' AND failure = 'oom' LIMIT 1", NO_VALUES,
                     0, &any, e) < 0)
        return -1;
    if (!any)
        return 0;
    if (knowledge_create(p->request->space, &p->knowledge, e) < 0)
        return -1;
    cursor = match_open(p->request->space, NULL);
    int rc;
    while ((rc = match_next(cursor, &m, e)) > 0)
        if ((rc = take_witness(p, m, e)) < 0)
            break;
    match_close(cursor);
    return rc < 0 ? -1 : take_others(p, e);
}

/* `*witness` stays NULL for what may run. */
static int find_witness(struct planner *p, const struct match *m, enum plan_mark *mark, const struct hash128 **witness,
                        struct error *e)
{
    int64_t number = 0;
    if (!p->knowledge || (*mark != PLAN_NEW && *mark != PLAN_RETRY))
        return 0;
    if (knowledge_find(p->knowledge, m->rank, &number, e) < 0)
        return -1;
    if (number > 0) {
        *mark = PLAN_PRUNED;
        *witness = &p->witnesses[number - 1];
    }
    return 0;
}

static int give_reason(struct planner *p, const struct match *m, enum plan_mark mark, struct error *e)
{
    const char *why = buffer_text(&p->why);
    if (!p->changes || (mark != PLAN_NEW && mark != PLAN_RETRY && mark != PLAN_FAILED))
        return 0;
    if (!why[0] && value_changes_why(p->changes, IN_FILE, m->spec, &why, e) < 0)
        return -1;
    count_reason(p, mark, why);
    return 0;
}

static int take_match(struct planner *p, const struct match *m, struct error *e)
{
    enum plan_mark mark;
    const struct hash128 *witness = NULL;
    if (!shard_has(&p->request->shard, &m->key)) {
        p->plan->others++;
        return 0;
    }
    if (!p->are_distinct && !hash_index_takes(&p->seen, &m->key)) {
        p->plan->duplicates++;
        return 0;
    }
    if (mark_job(p, &m->key, &mark, e) < 0 || find_witness(p, m, &mark, &witness, e) < 0 ||
        give_reason(p, m, mark, e) < 0)
        return -1;
    p->plan->jobs++;
    p->plan->marks[mark]++;
    if (mark == PLAN_NEW || mark == PLAN_RETRY) {
        add_cost(p, m);
        if (p->request->space->prediction.asked)
            add_predictions(p->plan, m, (double)p->request->space->sweep->job.repeat);
    }
    const struct plan_request *r = p->request;
    return r->each && p->plan->jobs <= r->each_most ? r->each(r->context, m, mark, witness, e) : 0;
}

/* The jobs that are left are like `m`. */
static void take_rest(struct planner *p, const struct match *m)
{
    struct plan *plan = p->plan;
    double left = (double)(p->jobs - plan->jobs);
    p->device_ms += left * (double)m->limit_ms[LIMIT_TOTAL] * (double)m->devices * p->attempts_most;
    plan->jobs = plan->marks[PLAN_NEW] = p->jobs;
    plan->duplicates = plan->match.matched - p->jobs;
}

/* Without a database every job is new. */
static int count_jobs(struct planner *p, struct error *e)
{
    const struct plan_request *r = p->request;
    const bool is_whole = r->shard.of == 0;
    p->jobs = p->are_distinct && is_whole ? p->plan->match.matched : -1;
    if (p->are_distinct || r->db || !is_whole || !match_are_alike(r->space))
        return 0;
    return match_count_jobs(r->space, r->only, &p->jobs, e) < 0 ? -1 : 0;
}

static int walk(struct planner *p, struct error *e)
{
    const struct plan_request *r = p->request;
    struct match_cursor *cursor = NULL;
    const struct match *m;
    int64_t visited = 0;
    bool alike = p->jobs >= 0 && !r->db && match_are_alike(r->space);
    cursor = match_open(r->space, r->only);
    int rc = 0;
    /* That there are no more is known. */
    while (visited < p->plan->match.matched && (rc = match_next(cursor, &m, e)) > 0) {
        if ((rc = take_match(p, m, e)) < 0)
            break;
        visited++;
        if (r->looked_at)
            r->looked_at(r->context, visited, p->plan->match.matched);
        if (alike && (!r->each || p->plan->jobs >= r->each_most)) {
            take_rest(p, m);
            rc = 0;
            break;
        }
    }
    match_close(cursor);
    return rc < 0 ? -1 : 0;
}

static int tell_counts(const struct planner *p, struct error *e)
{
    const struct plan_request *r = p->request;
    const struct plan known = {.match = p->plan->match, .jobs = p->plan->match.matched};
    return r->counted ? r->counted(r->context, &known, p->are_distinct && r->shard.of == 0, e) : 0;
}

/* Counts the reasons of the recorded jobs that are none of the matches. */
static int explain_gone(struct planner *p, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(p->request->db,
                         "SELECT key, cluster_id, model_id, training_id, parallel_id FROM job WHERE " JOBS_ASKED_FOR,
                         NO_VALUES, &s, e)) > 0) {
        struct hash128 key;
        const char *why;
        int64_t specs[SECTION_COUNT];
        memcpy(key.bytes, stmt_hash(s, 0), sizeof key.bytes);
        for (int i = 0; i < SECTION_COUNT; i++)
            specs[i] = stmt_is_null(s, i + 1) ? -1 : stmt_int(s, i + 1);
        if (hash_index_has(&p->seen, &key))
            continue;
        if (value_changes_why(p->changes, IN_DATABASE, specs, &why, e) < 0)
            return -1;
        count_reason(p, (enum plan_mark)0, why);
    }
    return rc;
}

static int count_gone(struct planner *p, struct error *e)
{
    int64_t all = 0;
    if (db_query_int(p->request->db, "SELECT count(*) FROM job WHERE " JOBS_ASKED_FOR, NO_VALUES, 0, &all, e) < 0)
        return -1;
    p->plan->gone = p->request->only || p->request->shard.of ? 0 : all - p->known;
    return p->plan->gone > 0 ? explain_gone(p, e) : 0;
}

/* Makes ready what the jobs are compared with. */
static int open_recorded(struct planner *p, struct error *e)
{
    const struct plan_request *r = p->request;
    struct formers *f = &p->formers;
    OWNED char *lookup = xasprintf("%s WHERE key = ?1", embedded_text("src/plan/job_of_plan.sql")),
               *lookup_at = xasprintf("%s WHERE id = ?3 AND +key = ?1", embedded_text("src/plan/job_of_plan.sql"));
    if (db_prepare(r->db, lookup, &p->lookup, e) < 0 || db_prepare(r->db, lookup_at, &p->lookup_at, e) < 0 ||
        value_changes_open(r->space, r->db, &p->changes, e) < 0 || formers_find(r->space, r->db, FORMERS_WAS, f, e) < 0)
        return -1;
    array_sort(f->items, f->count, by_now);
    return 0;
}

/* Looks for a hint where all are new and there were others. */
static int find_hint(struct planner *p, struct error *e)
{
    struct plan *plan = p->plan;
    OWNED_BUFFER hint = BUFFER_INIT;
    if (plan->gone == 0 || plan->marks[PLAN_NEW] < plan->jobs)
        return 0;
    int rc = formers_hint(p->request->space, p->request->db, &hint, e);
    plan->hint = hint.length ? buffer_take(&hint) : NULL;
    return rc;
}

static int make(const struct plan_request *request, struct plan *out, struct error *e)
{
    struct plan plan = {0};
    struct planner p = {.request = request,
                        .plan = &plan,
                        .are_distinct = match_are_distinct(request->space),
                        .attempts_most = attempts_most(request)};
    const bool compares = request->db != NULL;
    int rc = match_count(request->space, request->only, &plan.match, e) < 0 || (compares && open_recorded(&p, e) < 0) ||
                     tell_counts(&p, e) < 0 || (compares && find_witnesses(&p, e) < 0) || count_jobs(&p, e) < 0 ||
                     walk(&p, e) < 0 || (compares && count_gone(&p, e) < 0)
                 ? -1
                 : find_hint(&p, e);
    plan.device_hours_max = p.is_unbounded ? NAN : p.device_ms / 3.6e6;
    plan.device_hours_each = p.largest_ms / 3.6e6;
    plan.reasons = list_reasons(&p);
    value_changes_close(p.changes);
    buffer_free(&p.why);
    formers_free(&p.formers);
    stmt_free(p.lookup);
    stmt_free(p.lookup_at);
    knowledge_free(p.knowledge);
    free(p.witnesses);
    hash_index_free(&p.seen);
    if (rc < 0)
        plan_free(&plan);
    else
        *out = plan;
    return rc;
}

/* As of one moment, and so that the file is locked once. */
int plan_make(const struct plan_request *request, struct plan *out, struct error *e)
{
    if (!request->db)
        return make(request, out, e);
    if (db_read_begin(request->db, e) < 0)
        return -1;
    int rc = make(request, out, e);
    db_read_end(request->db);
    return rc;
}
