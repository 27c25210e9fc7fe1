#include "results/failure_causes.h"

#include <stdlib.h>
#include <string.h>

#include "results/cause_text.h"
#include "util/memory.h"

/* Where it stands among them; FAILURE_CAUSES_MOST: it is one too many. */
static size_t find_cause(const struct failure_causes *c, const char *class, const char *cause)
{
    size_t i = 0;
    while (i < c->count && (strcmp(c->items[i].class, class) != 0 || strcmp(c->items[i].cause, cause) != 0))
        i++;
    return i;
}

/* Takes a job: id, failure, message, consequence, attempt. Returns its cause. */
static size_t take_job(struct failure_causes *c, const struct stmt *row)
{
    const char *class = stmt_text(row, 1), *message = stmt_text(row, 2);
    char *cause = cause_text(message);
    size_t i = find_cause(c, class, cause);
    if (i == FAILURE_CAUSES_MOST) {
        c->others++;
    } else if (i < c->count) {
        c->items[i].jobs++;
    } else {
        c->items = array_grow(c->items, c->count, sizeof *c->items);
        c->items[c->count++] = (struct failure_cause){.class = xstrdup(class),
                                                      .cause = cause,
                                                      .message = xstrdup(message),
                                                      .consequence = stmt_copy_text(row, 3),
                                                      .jobs = 1,
                                                      .example_job = stmt_int(row, 0),
                                                      .example_attempt = stmt_int(row, 4)};
        return i;
    }
    free(cause);
    return i;
}

static int by_size(const void *a, const void *b)
{
    const struct failure_cause *x = a, *y = b;
    if (x->jobs != y->jobs)
        return (x->jobs < y->jobs) - (x->jobs > y->jobs);
    return (x->example_job > y->example_job) - (x->example_job < y->example_job);
}

static int read_jobs(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out,
                     struct caused_jobs *jobs, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_query(db,
                 "SELECT j.id, j.failure, substr(coalesce(a.message, ''), 1, 2000), a.consequence, coalesce(a.id, 0)"
                 " FROM (SELECT id, failure, attempt_id FROM job"
                 " WHERE sweep_id = ?1 AND state = 'failed' ORDER BY id DESC LIMIT ?2) AS j"
                 " LEFT JOIN attempt AS a ON a.id = j.attempt_id ORDER BY j.id",
                 VALUES(sql_int(sweep_id), sql_int(jobs_most > 0 ? jobs_most : -1)), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        jobs->items = array_grow(jobs->items, jobs->count, sizeof *jobs->items);
        jobs->items[jobs->count++] = (struct caused_job){stmt_int(s, 0), take_job(out, s)};
    }
    stmt_free(s);
    if (jobs->count > 0 && (int64_t)jobs->count == jobs_most)
        jobs->from_job = jobs->items[0].job_id;
    return rc;
}

/* Puts the most frequent first, and renumbers the causes of the jobs. */
static void sort_causes(struct failure_causes *c, struct caused_jobs *jobs)
{
    size_t *place = xcalloc(FAILURE_CAUSES_MOST + 1, sizeof *place);
    int64_t *first = xcalloc(c->count + 1, sizeof *first);
    for (size_t i = 0; i < c->count; i++)
        first[i] = c->items[i].example_job;
    if (c->count)
        qsort(c->items, c->count, sizeof *c->items, by_size);
    place[FAILURE_CAUSES_MOST] = FAILURE_CAUSES_MOST;
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->count; k++)
            if (c->items[k].example_job == first[i])
                place[i] = k;
    for (size_t i = 0; i < jobs->count; i++)
        jobs->items[i].cause = place[jobs->items[i].cause];
    free(first);
    free(place);
}

static int read_matches(struct db *db, int64_t sweep_id, struct caused_jobs *jobs, struct failure_causes *c,
                        struct error *e)
{
    struct cause_matches matches[FAILURE_CAUSES_MATCHED] = {{.count = 0}};
    jobs->cause_count = c->count < FAILURE_CAUSES_MATCHED ? c->count : FAILURE_CAUSES_MATCHED;
    if (jobs->cause_count == 0)
        return 0;
    int rc = cause_matches_read(db, sweep_id, jobs, matches, e);
    for (size_t i = 0; i < jobs->cause_count; i++)
        c->items[i].matches = matches[i];
    return rc;
}

int failure_causes_read(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out, struct error *e)
{
    struct failure_causes causes = {NULL, 0, 0};
    struct caused_jobs jobs = {.items = NULL};
    int rc = read_jobs(db, sweep_id, jobs_most, &causes, &jobs, e);
    if (rc == 0) {
        sort_causes(&causes, &jobs);
        rc = read_matches(db, sweep_id, &jobs, &causes, e);
    }
    free(jobs.items);
    if (rc < 0) {
        failure_causes_free(&causes);
        return -1;
    }
    *out = causes;
    return 0;
}

void failure_causes_free(struct failure_causes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].class);
        free(c->items[i].cause);
        free(c->items[i].message);
        free(c->items[i].consequence);
        cause_matches_free(&c->items[i].matches);
    }
    free(c->items);
    *c = (struct failure_causes){NULL, 0, 0};
}
