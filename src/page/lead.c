/* About the winner: its lead and how certain it is, what limits it, and the cost of more runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "page/sections.h"
#include "page/text.h"
#include "results/contenders.h"
#include "util/memory.h"
#include "util/parse.h"

/* "3 % ahead of job 12, interval 1 to 5 %" */
static void add_ahead(struct buffer *out, const struct html_data *d, const struct lead *l)
{
    if (l->ahead < 0.0001)
        buffer_add_text(out, "<p>Less than 0.01 % from ");
    else
        buffer_printf(out, "<p>%.2g %% %s ", l->ahead * 100, d->maximise ? "ahead of" : "below");
    html_link_job(out, "job ", l->second);
    if (isnan(l->low))
        buffer_add_text(out, "; one of the two was measured only once, so the uncertainty is not known");
    else
        buffer_printf(out, ", 95 %% interval %.2g to %.2g %%%s", l->low * 100, l->high * 100,
                      l->ran_once ? " from the samples of single runs, which say nothing about how much runs differ"
                                  : "");
    buffer_add_text(out, ".</p>\n");
}

/* The estimated cost of one more run of the winner and these jobs. */
static int add_cost(struct html_page *p, size_t row, const struct lead *l, struct error *e)
{
    static const char sql[] = "SELECT a.duration_ms, 1.0 * a.duration_ms * j.devices / 3600000 FROM job AS j"
                              " JOIN attempt AS a ON a.id = j.attempt_id WHERE j.id = ?1 AND a.duration_ms IS NOT NULL";
    const size_t listed = l->alike_count < BEST_LISTED ? (size_t)l->alike_count : BEST_LISTED;
    int64_t jobs[BEST_LISTED + 1] = {p->data->jobs[row].id}, total_ms = 0;
    double device_hours = 0;
    struct stmt *s = NULL;
    int rc = db_prepare(p->db, sql, &s, e);
    memcpy(jobs + 1, l->alike, listed * sizeof *jobs);
    for (size_t i = 0; rc >= 0 && i < listed + 1; i++) {
        stmt_reset(s);
        stmt_bind_int(s, 1, jobs[i]);
        rc = stmt_next(s, e);
        total_ms += rc > 0 ? stmt_int(s, 0) : 0;
        device_hours += rc > 0 ? stmt_double(s, 1) : 0;
    }
    stmt_free(s);
    char duration[32];
    if (rc >= 0 && total_ms > 0)
        buffer_printf(&p->out, " One more run of each, one after the other, takes %s and %.2g device-hours.",
                      format_duration_ms(total_ms, duration, sizeof duration), device_hours);
    return rc < 0 ? -1 : 0;
}

static int add_alike(struct html_page *p, size_t row, const struct lead *l, struct error *e)
{
    struct buffer *out = &p->out;
    const size_t listed = l->alike_count < BEST_LISTED ? (size_t)l->alike_count : BEST_LISTED;
    buffer_printf(out, "<p>It cannot be told apart from %lld other%s (95 %%): ", (long long)l->alike_count,
                  l->alike_count == 1 ? "" : "s");
    for (size_t i = 0; i < listed; i++) {
        buffer_add_text(out, i ? ", " : "");
        html_link_job(out, "job ", l->alike[i]);
    }
    buffer_add_text(out, l->alike_count > (int64_t)listed ? ", …." : ".");
    int rc = add_cost(p, row, l, e);
    buffer_add_text(out, "</p>\n");
    return rc;
}

/* --- what limits it --- */

static void add_memory(struct html_page *p, size_t row)
{
    const struct html_data *d = p->data;
    const struct html_column *key = html_column_named(d, "device_memory");
    const double taken = html_memory_bytes(d, row);
    int64_t capacity = 0;
    char one[HTML_SIZE_BYTES], all[HTML_SIZE_BYTES];
    if (!key || isnan(taken) || !key->values[row].text || !parse_size_bytes(key->values[row].text, &capacity) ||
        capacity <= 0)
        return;
    buffer_printf(&p->out, "<p>It uses %s of a device's %s (%.0f %%).</p>\n", html_size(taken, one),
                  html_size((double)capacity, all), 100 * taken / (double)capacity);
}

/* Whether a job of the winner's group differs from it in exactly one of the keys. */
static bool is_next(const struct html_data *d, const struct html_column *const *keys, size_t count, size_t winner,
                    size_t row)
{
    size_t different = 0;
    for (size_t k = 0; k < count && different < 2; k++)
        different += keys[k]->levels[row] != keys[k]->levels[winner];
    return different == 1 && d->jobs[row].group == d->jobs[winner].group;
}

/* Whether configurations differ in the key; some may not have it. */
static bool tells_apart(const struct html_data *d, const struct html_column *c)
{
    if (c->role != HTML_KEY || c->derived || c->replicated || c->twin || c->level_count == 0)
        return false;
    for (size_t row = 1; row < d->job_count; row++)
        if (c->levels[row] != c->levels[0])
            return true;
    return false;
}

static void add_neighbours(struct html_page *p, size_t winner)
{
    const struct html_data *d = p->data;
    const struct html_column **keys = xcalloc(d->column_count + 1, sizeof(*keys));
    size_t count = 0, next = 0, ended = 0, failed = 0, of[FAILURE_COUNT] = {0};
    for (size_t i = 0; i < d->column_count; i++)
        if (tells_apart(d, &d->columns[i]))
            keys[count++] = &d->columns[i];
    for (size_t row = 0; row < d->job_count; row++) {
        if (!is_next(d, keys, count, winner, row))
            continue;
        next++;
        ended += d->jobs[row].state == HTML_OK || d->jobs[row].state == HTML_FAILED;
        failed += d->jobs[row].state == HTML_FAILED;
        for (size_t c = 1; d->jobs[row].state == HTML_FAILED && c < FAILURE_COUNT; c++)
            of[c] += strcmp(failure_names[c], d->jobs[row].failure) == 0;
    }
    free(keys);
    if (next == 0)
        return;
    buffer_add_text(&p->out, "<p>Of ");
    buffer_add_count(&p->out, (int64_t)next, "job");
    buffer_printf(&p->out, " that differ%s from it in one key, ", next == 1 ? "s" : "");
    if (ended < next)
        buffer_printf(&p->out, ended ? "%zu ended and %zu of these failed" : "none has ended", ended, failed);
    else
        buffer_printf(&p->out, "%zu failed", failed);
    for (size_t c = 1, named = 0; c < FAILURE_COUNT; c++)
        if (of[c])
            buffer_printf(&p->out, "%s%zu %s", named++ ? ", " : ": ", of[c], failure_names[c]);
    buffer_add_text(&p->out, ".</p>\n");
}

int html_add_lead(struct html_page *p, size_t row, const struct lead *l, struct error *e)
{
    if (l->second)
        add_ahead(&p->out, p->data, l);
    if (l->alike_count && add_alike(p, row, l, e) < 0)
        return -1;
    add_memory(p, row);
    add_neighbours(p, row);
    return 0;
}
