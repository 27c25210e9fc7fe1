#include "results/conditions.h"

#include <ctype.h>

#include "util/memory.h"

static int read_excluded(struct db *db, struct unranked *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT max(n), group_concat('job ' || job_id || ' (' || excluded || ')', ', ') ||"
                     " iif(max(n) > 3, ', …', '') FROM (SELECT n.job_id, n.excluded, count(*) OVER () AS n"
                     " FROM job_note AS n JOIN job AS j ON j.id = n.job_id WHERE n.excluded IS NOT NULL"
                     " AND j.sweep_id = (SELECT id FROM current_sweep) ORDER BY n.job_id LIMIT 3) HAVING max(n) > 0",
                     NO_VALUES, &s, e);
    if (rc > 0) {
        out->excluded = stmt_int(s, 0);
        out->which = stmt_copy_text(s, 1);
        for (char *p = out->which; *p; p++)
            *p = iscntrl((unsigned char)*p) ? ' ' : *p; /* anybody's words */
    }
    return rc < 0 ? -1 : 0;
}

/* Along the index of values, where those without one come first. */
int unranked_read(struct db *db, const char *metric, struct unranked *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    *out = (struct unranked){0};
    if (read_excluded(db, out, e) < 0)
        return -1;
    int rc = db_next(db,
                     "SELECT sum(count(*)) OVER (), m.note FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id"
                     " WHERE m.name = ?1 AND m.value IS NULL AND m.note IS NOT NULL AND j.state = 'ok'"
                     " AND j.id NOT IN excluded_job"
                     " AND j.sweep_id = (SELECT id FROM current_sweep) GROUP BY m.note ORDER BY count(*) DESC, m.note"
                     " LIMIT 1",
                     VALUES(sql_text(metric)), &s, e);
    if (rc > 0) {
        out->jobs = stmt_int(s, 0);
        out->why = stmt_copy_text(s, 1);
    }
    return rc < 0 ? -1 : 0;
}

void unranked_free(struct unranked *u)
{
    free_all(u->why, u->which);
}

void unranked_add_text(const struct unranked *u, struct buffer *out)
{
    if (u->jobs > 0) {
        buffer_add_text(out, "not compared: ");
        buffer_add_count(out, u->jobs, "ok job");
        buffer_printf(out, " without a number: %s\n", u->why);
    }
    if (u->excluded > 0)
        buffer_printf(out, "%lld excluded: %s\n", (long long)u->excluded, u->which);
}

void unranked_add_json(const struct unranked *u, cJSON *root)
{
    json_add_count(root, "unranked_jobs", u->jobs);
    json_add_text(root, "unranked_why", u->why);
    json_add_count(root, "excluded_jobs", u->excluded);
}

/* Preparing the document costs more than all else that `status` of a small sweep does. */
static int read_list(struct db *db, const struct conditions_request *request, struct conditions *c, struct error *e)
{
    struct stmt *s = NULL;
    int64_t any = 0;
    if (db_query_int(db, "SELECT EXISTS (SELECT 1 FROM subject_to)", NO_VALUES, 0, &any, e) < 0)
        return -1;
    if (!any) {
        c->list = cJSON_CreateArray();
        return 0;
    }
    if (answer_open(db, "sql/answers/subject_to.sql", NULL,
                    VALUES(sql_text(request->objective), sql_int(request->maximise), sql_real(request->winner)), &s,
                    e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0 && (rc = answer_take(s, 0, &c->list, e)) == 0)
        rc = answer_take(s, 1, &c->beside, e);
    stmt_free(s);
    return rc;
}

int conditions_read(struct db *db, const struct conditions_request *request, struct conditions *out, struct error *e)
{
    struct conditions c = {.list = NULL};
    if (read_list(db, request, &c, e) < 0 || unranked_read(db, request->objective, &c.unranked, e) < 0) {
        conditions_free(&c);
        return -1;
    }
    const int64_t nearest = json_count_of(c.beside, "nearest");
    c.nearest = nearest < 0 ? NULL : cJSON_GetArrayItem(c.list, (int)nearest);
    *out = c;
    return 0;
}

void conditions_free(struct conditions *c)
{
    cJSON_Delete(c->list);
    cJSON_Delete(c->beside);
    unranked_free(&c->unranked);
    *c = (struct conditions){.list = NULL};
}
