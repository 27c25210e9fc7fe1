#include "results/failure_causes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"

#define CAUSE_BYTES 1000

static char *cause_of(const char *message)
{
    struct buffer b = BUFFER_INIT;
    for (const char *c = message; *c && b.length < CAUSE_BYTES;) {
        if (!isdigit((unsigned char)*c)) {
            buffer_add_char(&b, *c++);
            continue;
        }
        while (isdigit((unsigned char)*c) || (*c == '.' && isdigit((unsigned char)c[1])))
            c++;
        buffer_add_char(&b, '#');
    }
    return buffer_take(&b);
}

static char *copy_of(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

/* A row of jobs with one message: class, message, jobs, the first of them, its consequence and its attempt. */
static void add_row(struct failure_causes *c, const struct stmt *row)
{
    const char *class = stmt_text(row, 0), *message = stmt_text(row, 1);
    char *cause = cause_of(message);
    size_t i = 0;
    while (i < c->count && (strcmp(c->items[i].class, class) != 0 || strcmp(c->items[i].cause, cause) != 0))
        i++;
    if (i < c->count || c->count == FAILURE_CAUSES_MOST) {
        *(i < c->count ? &c->items[i].jobs : &c->others) += stmt_int(row, 2);
        free(cause);
        return;
    }
    c->items = array_grow(c->items, c->count, sizeof *c->items);
    c->items[c->count++] = (struct failure_cause){.class = xstrdup(class),
                                                  .cause = cause,
                                                  .message = xstrdup(message),
                                                  .consequence = copy_of(stmt_text(row, 4)),
                                                  .jobs = stmt_int(row, 2),
                                                  .example_job = stmt_int(row, 3),
                                                  .example_attempt = stmt_int(row, 5)};
}

static int by_size(const void *a, const void *b)
{
    const struct failure_cause *x = a, *y = b;
    if (x->jobs != y->jobs)
        return (x->jobs < y->jobs) - (x->jobs > y->jobs);
    return (x->example_job > y->example_job) - (x->example_job < y->example_job);
}

int failure_causes_read(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out, struct error *e)
{
    struct failure_causes causes = {NULL, 0, 0};
    struct stmt *s = NULL;
    int rc;
    /* SQLite takes bare columns from the row of the minimum. */
    if (db_prepare(db,
                   "SELECT j.failure, substr(coalesce(a.message, ''), 1, 2000), count(*), min(j.id), a.consequence,"
                   " coalesce(a.id, 0) FROM (SELECT id, failure, attempt_id FROM job"
                   " WHERE sweep_id = ?1 AND state = 'failed' ORDER BY id DESC LIMIT ?2) AS j"
                   " LEFT JOIN attempt AS a ON a.id = j.attempt_id GROUP BY 1, 2 ORDER BY 4",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    stmt_bind_int(s, 2, jobs_most > 0 ? jobs_most : -1);
    while ((rc = stmt_next(s, e)) > 0)
        add_row(&causes, s);
    stmt_free(s);
    if (rc < 0) {
        failure_causes_free(&causes);
        return -1;
    }
    if (causes.count)
        qsort(causes.items, causes.count, sizeof *causes.items, by_size);
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
    }
    free(c->items);
    *c = (struct failure_causes){NULL, 0, 0};
}
