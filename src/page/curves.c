/* Samples of metrics over steps, for as many jobs as fit on the page, thinned to the resolution of a screen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "util/memory.h"

#define CURVES_BYTES 500000   /* for all curves */
#define FAILED_BYTES 150000   /* reserved for jobs without an objective */
#define SAMPLES_MOST 10000000 /* samples read; more would take longer than the rest of the page */
#define NAMES_MOST 16
#define BUCKETS_MOST 240 /* about a pixel column each, with its lowest and highest sample */
#define BUCKETS_LEAST 24
#define POINT_BYTES 14 /* of a bucket, roughly */
#define STATED_MOST 40 /* rows of the table */

struct curve {
    double *x, *y; /* NaN: not finite */
    size_t count;
};

struct curves {
    struct html_page *page;
    struct stmt *samples;
    struct curve curve;
    struct buffer barred; /* "7,12": jobs with curves that cannot win */
    size_t buckets;
    size_t jobs, read, with_samples;
    struct buffer stated; /* rows of the table, in JSON */
    size_t series;
};

/* --- thinning --- */

static void add_value(struct buffer *out, double value)
{
    if (isfinite(value))
        buffer_printf(out, "%.5g", value);
    else
        buffer_add_text(out, "null");
}

static void add_list(struct buffer *out, const char *name, const double *values, size_t count)
{
    buffer_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, i ? "," : "");
        add_value(out, values[i]);
    }
    buffer_add_char(out, ']');
}

/* The lowest and highest sample of each bucket; NaN if it has none. */
static void add_buckets(struct buffer *out, const struct curve *s, size_t buckets)
{
    double low[BUCKETS_MOST], high[BUCKETS_MOST];
    const double from = s->x[0], width = (s->x[s->count - 1] - from) / (double)buckets;
    for (size_t i = 0; i < BUCKETS_MOST; i++)
        low[i] = high[i] = NAN;
    for (size_t i = 0; i < s->count; i++) {
        double at = width > 0 ? (s->x[i] - from) / width : (double)i * (double)buckets / (double)s->count;
        size_t bucket = !(at > 0) ? 0 : at >= (double)buckets ? buckets - 1 : (size_t)at;
        low[bucket] = fmin(low[bucket], s->y[i]); /* fmin ignores NaN */
        high[bucket] = fmax(high[bucket], s->y[i]);
    }
    buffer_printf(out, ",\"from\":%.7g,\"by\":%.7g", from + width / 2, width);
    add_list(out, "low", low, buckets);
    add_list(out, "high", high, buckets);
}

static void add_samples(struct buffer *out, const struct curve *s)
{
    const double by = s->count > 1 ? s->x[1] - s->x[0] : 1;
    bool even = true;
    for (size_t i = 2; even && i < s->count; i++)
        even = s->x[i] - s->x[i - 1] == by;
    if (even)
        buffer_printf(out, ",\"from\":%.7g,\"by\":%.7g", s->x[0], by);
    else
        add_list(out, "x", s->x, s->count);
    add_list(out, "low", s->y, s->count);
}

static void add_series(struct curves *c, const char *name, int64_t warmup)
{
    const struct curve *s = &c->curve;
    struct buffer *out = &c->page->out;
    html_add_json(out, "", name, HTML_NAME_MOST);
    buffer_printf(out, ":{\"samples\":%zu", s->count);
    if (warmup > 0 && (size_t)warmup < s->count)
        buffer_printf(out, ",\"warm\":%.7g", s->x[warmup]);
    if (s->count > 2 * c->buckets)
        add_buckets(out, s, c->buckets);
    else
        add_samples(out, s);
    buffer_add_char(out, '}');
}

static void note_stated(struct curves *c, int64_t job, const char *name)
{
    const struct curve *s = &c->curve;
    double values[] = {s->y[0], s->y[s->count - 1], NAN, NAN};
    if (c->series++ >= STATED_MOST)
        return;
    for (size_t i = 0; i < s->count; i++) {
        values[2] = fmin(values[2], s->y[i]);
        values[3] = fmax(values[3], s->y[i]);
    }
    buffer_printf(&c->stated, "%c[%lld", c->series > 1 ? ',' : '[', (long long)job);
    html_add_json(&c->stated, ",", name, HTML_NAME_MOST);
    buffer_printf(&c->stated, ",%zu", s->count);
    for (size_t i = 0; i < LENGTH(values); i++)
        if (isnan(values[i]))
            buffer_add_text(&c->stated, ",null");
        else /* JSON has no infinity; this is read as one */
            buffer_printf(&c->stated, isinf(values[i]) ? ",%.0fe999" : ",%.17g",
                          isinf(values[i]) ? copysign(9, values[i]) : values[i]);
    buffer_add_char(&c->stated, ']');
}

/* --- reading --- */

/* Ends a series of "7":{"loss":{…},…}; series of one sample are left out. */
static bool end_series(struct curves *c, int64_t job, const char *name, int64_t warmup, size_t *names)
{
    bool adds = c->curve.count > 1 && *names < NAMES_MOST;
    if (adds) {
        struct buffer *out = &c->page->out;
        if (*names == 0)
            buffer_printf(out, "%s\"%lld\":{", c->jobs ? ",\n" : "", (long long)job);
        else
            buffer_add_char(out, ',');
        add_series(c, name, warmup);
        note_stated(c, job, name);
        ++*names;
    }
    c->curve.count = 0;
    return adds;
}

static int add_job(struct curves *c, int64_t job, struct error *e)
{
    struct curve *s = &c->curve;
    char *name = NULL;
    int64_t warmup = 0;
    size_t names = 0;
    int rc;
    stmt_reset(c->samples);
    stmt_bind_at(c->samples, 1, sql_int(job));
    while ((rc = stmt_next(c->samples, e)) > 0) {
        if (!name || strcmp(name, stmt_text(c->samples, 0)) != 0) {
            end_series(c, job, name, warmup, &names);
            free(name);
            name = stmt_copy_text(c->samples, 0);
            warmup = stmt_int(c->samples, 3);
        }
        s->x = array_grow(s->x, s->count, sizeof *s->x);
        s->y = array_grow(s->y, s->count, sizeof *s->y);
        s->x[s->count] = stmt_double(c->samples, 1);
        s->y[s->count++] = stmt_double_or_nan(c->samples, 2);
        c->read++;
    }
    end_series(c, job, name, warmup, &names);
    free(name);
    if (names) {
        buffer_add_char(&c->page->out, '}');
        c->jobs++;
    }
    return rc;
}

/* The resolution depends on how many series share the room. */
static int choose_buckets(struct curves *c, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(c->page->db,
                     "SELECT count(*), count(DISTINCT m.attempt_id) FROM job AS j JOIN summary AS m"
                     " ON m.attempt_id = j.attempt_id WHERE j.sweep_id = ?1 AND coalesce(m.reported, m.count) > 1"
                     " AND j.id NOT IN excluded_job",
                     VALUES(sql_int(c->page->data->sweep_id)), &s, e);
    if (rc > 0) {
        double room = CURVES_BYTES / (POINT_BYTES * fmax(1, (double)stmt_int(s, 0)));
        c->buckets = (size_t)fmax(BUCKETS_LEAST, fmin(BUCKETS_MOST, room));
        c->with_samples = (size_t)stmt_int(s, 1);
    }
    return rc < 0 ? -1 : 0;
}

static int add_jobs(struct curves *c, struct error *e)
{
    const struct html_data *d = c->page->data;
    const size_t start = c->page->out.length;
    bool any;
    /* A million jobs with one number each need not be asked for their samples. */
    if (db_query_bool(c->page->db,
                      "SELECT EXISTS (SELECT 1 FROM metric WHERE sequence > 0)"
                      " OR EXISTS (SELECT 1 FROM archived_metric)",
                      NO_VALUES, &any, e) < 0)
        return -1;
    if (!any)
        return 0;
    int rc = 0;
    for (int failed = 0; rc == 0 && failed < 2; failed++)
        for (size_t i = 0; rc == 0 && i < d->job_count && c->read < SAMPLES_MOST; i++) {
            size_t used = c->page->out.length - start;
            if (used > (failed ? CURVES_BYTES : CURVES_BYTES - FAILED_BYTES))
                break;
            const struct html_job *j = &d->jobs[d->best_first[i]];
            const size_t before = c->jobs;
            if (isfinite(j->objective) != failed && j->state != HTML_PENDING)
                rc = add_job(c, j->id, e);
            if (j->barred && c->jobs > before)
                buffer_printf(&c->barred, "%s%lld", c->barred.length ? "," : "", (long long)j->id);
        }
    return rc;
}

/* --- the section --- */

static void release(struct curves *c)
{
    free_all(c->curve.x, c->curve.y);
    stmt_free(c->samples);
    buffer_free(&c->barred);
    buffer_free(&c->stated);
}

int html_curves(struct html_page *p, struct error *e)
{
    struct curves c = {.page = p, .barred = BUFFER_INIT, .stated = BUFFER_INIT};
    if (db_prepare(p->db,
                   "SELECT m.name, coalesce(m.step, m.sequence), m.value, coalesce(d.warmup, 0), m.sequence"
                   " FROM sample AS m LEFT JOIN metric_definition AS d ON d.name = m.name WHERE m.attempt_id ="
                   " (SELECT coalesce(j.attempt_id, (SELECT max(id) FROM attempt WHERE job_id = j.id AND kind = "
                   "'trial')) FROM job AS j WHERE j.id = ?1 AND j.id NOT IN excluded_job) AND NOT EXISTS"
                   " (SELECT 1 FROM summary AS s WHERE s.attempt_id = m.attempt_id AND"
                   " s.name = m.name AND s.note IS NOT NULL AND s.reported IS NOT NULL) ORDER BY m.name, m.sequence",
                   &c.samples, e) < 0)
        return -1;
    OWNED char *per = NULL;
    int rc = choose_buckets(&c, e);
    if (rc == 0)
        rc = db_query_text(p->db,
                           "SELECT replace(json_group_object(d.name, f.reading ->> '$.per'), '<', '\\u003c')"
                           " FROM metric_definition AS d JOIN definition AS f ON f.id = d.definition_id"
                           " WHERE f.reading ->> '$.per' IS NOT NULL",
                           NO_VALUES, &per, e);
    buffer_printf(&p->out, "<script type=application/json id=curve-per>%s</script>\n", per ? per : "{}");
    buffer_add_text(&p->out, "<script type=application/json id=curve-data>{");
    rc = rc == 0 ? add_jobs(&c, e) : rc;
    buffer_printf(&p->out, "}</script>\n<script type=application/json id=curve-barred>[%s]</script>\n",
                  buffer_text(&c.barred));
    buffer_add_text(&c.stated, c.series ? "]" : "[]");
    if (rc == 0)
        rc = html_add_document(&p->out, p->db, "curves",
                               VALUES(sql_text(buffer_text(&c.stated)), sql_int((int64_t)c.series),
                                      sql_int((int64_t)c.jobs), sql_int((int64_t)c.with_samples)),
                               e);
    release(&c);
    return rc;
}
