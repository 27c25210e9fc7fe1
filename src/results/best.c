#include "results/best.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/configurations.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/measured.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- why ok jobs do not win --- */

int unranked_read(struct db *db, const char *metric, cJSON *document, cJSON *beside, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, embedded_text("src/results/unranked.sql"), VALUES(sql_text(metric)), &s, e);
    if (rc > 0) {
        OWNED char *excluded = stmt_copy_text(s, 1);
        for (char *p = excluded; p && *p; p++)
            *p = iscntrl((unsigned char)*p) ? ' ' : *p; /* anybody's words */
        json_add_columns(document, s, 2);
        JSON_ADD(beside, JSON_TEXT("unranked", stmt_text(s, 0)), JSON_TEXT("excluded", excluded));
    }
    return rc < 0 ? -1 : 0;
}

/* Preparing the document costs more than all else that `status` of a small sweep does. */
static int read_list(struct db *db, const struct conditions_request *request, cJSON **list, cJSON **beside,
                     struct error *e)
{
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = request->objective ? db_query_bool(db, "SELECT 1 FROM subject_to", NO_VALUES, &any, e) : 0;
    if (rc < 0 || !any) {
        *list = cJSON_CreateArray();
        return rc;
    }
    rc = answer_open(db, "sql/answers/subject_to.sql", NULL,
                     VALUES(sql_text(request->objective), sql_int(request->maximise), sql_real(request->winner),
                            sql_text(request->jobs)),
                     &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, list, beside, e);
}

int conditions_read(struct db *db, const struct conditions_request *request, cJSON *document, cJSON *beside,
                    struct error *e)
{
    cJSON *list = NULL, *told = NULL;
    int rc = read_list(db, request, &list, &told, e);
    if (list && !cJSON_ReplaceItemInObjectCaseSensitive(document, "subject_to", list))
        cJSON_AddItemToObject(document, "subject_to", list);
    json_take_members(beside, told);
    cJSON_Delete(told);
    return rc == 0 ? unranked_read(db, request->objective, document, beside, e) : rc;
}

/* --- the winner --- */

struct best_request {
    char *objective, *groups; /* groups and close: sql/answers/ranked.sql */
    bool maximise;
    struct competition competition;
    cJSON *close, *pareto; /* pareto NULL: one objective, or groups, of which each has its own winner */
};

static void release(struct best_request *a)
{
    cJSON_Delete(a->close);
    cJSON_Delete(a->pareto);
    free_all(a->objective, a->groups);
    a->close = a->pareto = NULL;
    a->objective = a->groups = NULL;
}

static int read_objective(struct db *db, struct best_request *out, struct error *e)
{
    static const char sql[] =
        "SELECT objective, maximise, path || ': the sweep has no objective, so there is no best job; add objective ="
        " \"max:METRIC\" or \"min:METRIC\" under [sweep] and run it again' || coalesce((SELECT ' (metrics: '"
        " || group_concat(name, ', ') || ')' FROM (SELECT name FROM metric_definition ORDER BY name LIMIT 20)), '')"
        " FROM current_sweep";
    OWNED_STMT *s = NULL;
    int rc = db_next(db, sql, NO_VALUES, &s, e);
    if (rc == 0)
        return error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    if (rc > 0 && stmt_is_null(s, 0))
        return error_set(e, ERROR_USAGE, "%s", stmt_text(s, 2));
    if (rc > 0) {
        out->objective = stmt_copy_text(s, 0);
        out->maximise = stmt_int(s, 1) != 0;
    }
    return rc < 0 ? -1 : configurations_compete(db, &out->competition, e);
}

static int read_ranked(struct db *db, struct best_request *a, const char *group, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = configurations_ask(db, "sql/answers/ranked.sql", &a->competition,
                                VALUES(sql_text(a->objective), sql_int(a->maximise), sql_text(group)), &s, e);
    rc = rc < 0 ? -1 : answer_documents(s, 1, &a->close, NULL, e);
    a->groups = a->close ? stmt_copy_text(s, 0) : NULL;
    return rc;
}

static int refuse_group(struct db *db, struct best_request *a, const char *group, struct error *e)
{
    static const char sql[] = "SELECT group_concat(value ->> 'group', '; ') FROM json_each(?)";
    OWNED char *all = NULL;
    release(a);
    if (!a->competition.groups)
        return error_set(e, ERROR_USAGE, "--group %s: the sweep has no groups; they come from [sweep] group_by", group);
    if (read_objective(db, a, e) < 0 || read_ranked(db, a, NULL, e) < 0 ||
        db_query_text(db, sql, VALUES(sql_text(a->groups)), &all, e) < 0)
        return -1;
    return error_set(e, ERROR_USAGE, "--group %s: no such group has a winner; these have: %s", group,
                     all ? all : "none yet");
}

/* Puts first, of jobs that are equal under the first objective, the one that the other objectives choose. */
static void prefer_unbeaten(struct best_request *a)
{
    const cJSON *best = a->pareto ? a->pareto->child : NULL;
    cJSON *first = cJSON_GetArrayItem(a->close, 0), *other = first;
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(best, "values");
    if (!best || a->competition.replicates || a->competition.groups || !first ||
        values->child->valuedouble != json_real_of(first, "value"))
        return;
    for (size_t i = 1; i < BEST_LISTED && other->next && json_count_of(other, "job") != json_count_of(best, "job"); i++)
        other = other->next;
    cJSON *job = first->child, *other_job = other->child;
    if (!job || !other_job)
        return;
    cJSON_SetNumberValue(other_job, job->valuedouble);
    cJSON_SetNumberValue(job, json_real_of(best, "job"));
}

static int read_competition(struct db *db, struct best_request *a, const char *group, struct error *e)
{
    if (read_objective(db, a, e) < 0 || read_ranked(db, a, group, e) < 0)
        return -1;
    if (group && (!a->competition.groups || cJSON_GetArraySize(a->close) == 0))
        return refuse_group(db, a, group, e);
    if (!a->competition.groups && pareto_read(db, &a->pareto, e) < 0)
        return -1;
    prefer_unbeaten(a);
    return 0;
}

static int read_document(struct db *db, const struct best_request *a, struct best *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED char *pareto = a->pareto ? json_print(a->pareto, false) : NULL, *close = json_print(a->close, false);
    int rc =
        configurations_ask(db, "sql/answers/best.sql", &a->competition,
                           VALUES(sql_text(a->objective), sql_int(a->maximise), sql_text(a->groups), sql_text(close),
                                  sql_text(pareto), sql_int(a->competition.replicates), sql_int(a->competition.groups)),
                           &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, &out->document, &out->beside, e);
}

/* Lists the jobs of the winner's group, or of all groups where there are several winners, each with the value of its
 * group's winner. NULL: there are no groups, or no conditions. */
static int read_rivals(struct db *db, const struct best_request *a, const struct best *b, char **out, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    bool conditions = false;
    int rc = a->competition.groups ? db_query_bool(db, "SELECT 1 FROM subject_to", NO_VALUES, &conditions, e) : 0;
    *out = NULL;
    if (rc < 0 || !conditions)
        return rc;
    buffer_add_text(&sql, "WITH g (job, n, name) AS MATERIALIZED (");
    if (configurations_add(db, CONFIGURATIONS_GROUPS, &sql, e) < 0)
        return -1;
    buffer_add_text(&sql, "), w (n, value) AS (SELECT g.n, w.value ->> 'value' FROM json_each(?1) AS w JOIN g"
                          " ON g.job = w.value ->> 'job') SELECT json_group_array(json_array(job, value))"
                          " FROM g LEFT JOIN w USING (n) WHERE ?2 OR value IS NOT NULL");
    return db_query_text(db, buffer_text(&sql),
                         VALUES(sql_text(a->groups), sql_int(json_count_of(b->beside, "winners") > 1)), out, e);
}

/* Each group's winner stands in `groups`, and what keeps jobs from winning beside them. */
static void share_conditions(const struct best *b)
{
    static const char *const names[] = {"subject_to", "unranked_jobs", "unranked_why", "excluded_jobs"};
    cJSON *groups = cJSON_GetObjectItemCaseSensitive(b->beside, "groups");
    for (size_t i = 0; i < LENGTH(names); i++)
        cJSON_AddItemToObject(groups, names[i],
                              cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(b->document, names[i]), true));
}

static int read_conditions(struct db *db, const struct best_request *a, const struct best *b, struct error *e)
{
    OWNED char *rivals = NULL;
    if (read_rivals(db, a, b, &rivals, e) < 0)
        return -1;
    const struct conditions_request request = {a->objective, a->maximise, json_real_of(b->document, "value"), rivals};
    if (conditions_read(db, &request, b->document, b->beside, e) < 0)
        return -1;
    share_conditions(b);
    return 0;
}

/* The groups in which no job can win stand beside the winners of the others. */
static int name_groups_without(struct db *db, const struct best_request *a, const struct best *b, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED char *names = NULL;
    buffer_add_text(&sql, "WITH g (job, n, name) AS MATERIALIZED (");
    if (configurations_add(db, CONFIGURATIONS_GROUPS, &sql, e) < 0)
        return -1;
    buffer_add_text(&sql, ") SELECT group_concat(name, '; ') FILTER (WHERE place <= 10) || iif(count() > 10, '; and '"
                          " || (count() - 10) || ' more', '') FROM (SELECT name, row_number() OVER (ORDER BY n) AS"
                          " place FROM g WHERE n NOT IN (SELECT n FROM g WHERE job IN (SELECT value ->> 'job'"
                          " FROM json_each(?))) GROUP BY n)");
    if (db_query_text(db, buffer_text(&sql), VALUES(sql_text(a->groups)), &names, e) < 0)
        return -1;
    json_add_text(b->beside, "without_winner", names);
    return 0;
}

static int read_metrics(struct db *db, const struct best *b, struct error *e)
{
    OWNED_JSON *parts = cJSON_CreateObject();
    int rc = job_part_add_json(parts, db, JOB_PART_METRICS, best_job(b), e);
    cJSON_ReplaceItemInObjectCaseSensitive(b->document, "metrics", cJSON_DetachItemViaPointer(parts, parts->child));
    return rc;
}

static int read_best(struct db *db, const char *group, struct best *out, struct error *e)
{
    OWNED_BY(release) struct best_request a = {0};
    if (read_competition(db, &a, group, e) < 0 || read_document(db, &a, out, e) < 0 ||
        read_conditions(db, &a, out, e) < 0 ||
        (a.competition.groups && !group && name_groups_without(db, &a, out, e) < 0))
        return -1;
    return best_job(out) >= 0 ? read_metrics(db, out, e) : 0;
}

int best_read(struct db *db, const char *group, struct best *out, struct error *e)
{
    struct best best = {NULL, NULL};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_best(db, group, &best, e);
    db_read_end(db);
    if (rc < 0)
        best_free(&best);
    else
        *out = best;
    return rc < 0 ? -1 : 0;
}

void best_free(struct best *b)
{
    cJSON_Delete(b->document);
    cJSON_Delete(b->beside);
    *b = (struct best){NULL, NULL};
}

int64_t best_job(const struct best *b)
{
    return json_count_of(b->document, "job");
}

/* --- the jobs that might be the best --- */

static int ask_leads(struct db *db, const struct competition *c, struct sql_values values, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = configurations_ask(db, "sql/answers/leads.sql", c, values, &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, out, NULL, e);
}

int contenders_read(struct db *db, const struct best *b, cJSON **out, struct error *e)
{
    const bool maximise = strcmp(json_text_of(b->document, "better"), "max") == 0;
    *out = NULL;
    return best_job(b) < 0 ? 0
                           : ask_leads(db, &(struct competition){false, false},
                                       VALUES(sql_text(json_text_of(b->document, "objective")), sql_int(maximise),
                                              sql_int(0), sql_int(best_job(b))),
                                       out, e);
}

int leads_read(struct db *db, const char *objective, bool maximise, const struct competition *c, cJSON **out,
               struct error *e)
{
    return ask_leads(db, c,
                     VALUES(sql_text(objective), sql_int(maximise), sql_int(c->replicates ? 2 : c->groups), sql_null()),
                     out, e);
}

/* --- several objectives --- */

/* Rows of the values of a job, each the better the lower, and its number. */
struct points {
    struct string_list names;
    bool *negated;
    double *rows;
    size_t count, width;
};

static int by_values(const void *a, const void *b, void *context)
{
    const struct points *p = context;
    const double *x = a, *y = b;
    size_t i = 0;
    while (i + 1 < p->width && x[i] == y[i])
        i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

static bool nowhere_worse(const struct points *p, const double *a, const double *b)
{
    for (size_t i = 0; i + 1 < p->width; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

static cJSON *point_json(const struct points *p, const double *row, double tie)
{
    cJSON *point = cJSON_CreateObject(), *values;
    JSON_ADD(point, JSON_REAL("job", row[p->width - 1]), JSON_REAL("tie", tie));
    values = cJSON_AddObjectToObject(point, "values");
    for (size_t i = 0; i + 1 < p->width; i++)
        json_add_real(values, p->names.items[i], p->negated[i] ? -row[i] : row[i]);
    return point;
}

/* Those that beat a job come before it, and jobs with the same values stand together. */
static cJSON *unbeaten_json(const struct points *p)
{
    cJSON *list = cJSON_CreateArray();
    OWNED const double **kept = xcalloc(p->count + 1, sizeof *kept);
    size_t count = 0;
    double tie = NAN;
    for (const double *row = p->rows; row < p->rows + p->count * p->width; row += p->width) {
        size_t i = 0;
        const bool same = count && nowhere_worse(p, row, kept[count - 1]) && nowhere_worse(p, kept[count - 1], row);
        while (!same && i < count && !nowhere_worse(p, kept[i], row))
            i++;
        if (!same && i < count)
            continue;
        tie = !same ? (double)NAN : isnan(tie) ? kept[count - 1][p->width - 1] : tie;
        kept[count++] = row;
        cJSON_AddItemToArray(list, point_json(p, row, tie));
    }
    return list;
}

/* A job's values come one after the other. */
static int read_values(struct db *db, struct points *p, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED_BUFFER same = BUFFER_INIT;
    char *sql[] = {xstrdup(embedded_text("src/results/pareto.sql")), NULL};
    size_t column = 0;
    int rc = configurations_add(db, CONFIGURATIONS_SAME, &same, e);
    strings_replace(sql, "{measured}", MEASURED_AS_ASKED("a"));
    strings_replace(sql, "{same}", buffer_text(&same));
    while (rc >= 0 && (rc = db_next(db, sql[0], NO_VALUES, &s, e)) > 0) {
        if (column == 0) {
            p->rows = array_grow(p->rows, p->count, p->width * sizeof *p->rows);
            p->rows[++p->count * p->width - 1] = stmt_double(s, 0);
        }
        p->rows[(p->count - 1) * p->width + column] = stmt_double(s, 1);
        column = column + 2 < p->width ? column + 1 : 0;
    }
    free(sql[0]);
    return rc;
}

static int read_objectives(struct db *db, struct points *p, struct error *e)
{
    static const char sql[] = "SELECT metric, maximise FROM (SELECT -1 AS position, objective AS metric, maximise"
                              " FROM current_sweep UNION ALL SELECT position, metric, maximise FROM further_objective"
                              " WHERE sweep_id = (SELECT id FROM current_sweep)) ORDER BY position";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        p->negated = array_grow(p->negated, p->names.count, sizeof *p->negated);
        p->negated[p->names.count] = stmt_int(s, 1) != 0;
        string_list_add(&p->names, xstrdup(stmt_text(s, 0)));
    }
    p->width = p->names.count + 1;
    return rc;
}

int pareto_read(struct db *db, cJSON **out, struct error *e)
{
    struct points p = {.names = STRING_LIST_INIT};
    int rc = read_objectives(db, &p, e);
    *out = NULL;
    if (rc == 0 && p.names.count > 1 && (rc = read_values(db, &p, e)) == 0) {
        if (p.count > 1)
            qsort_r(p.rows, p.count, p.width * sizeof *p.rows, by_values, &p);
        *out = unbeaten_json(&p);
    }
    string_list_free(&p.names);
    free_all(p.negated, p.rows);
    return rc;
}
