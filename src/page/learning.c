/* The best so far, attempt by attempt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "results/measured.h"
#include "util/memory.h"

struct trial_point {
    int64_t job;
    char failure[16];
    double value, best; /* NaN: none */
    bool improves;      /* it is the best so far */
};

static int read_trials(struct html_page *p, struct trial_point **out, size_t *count, struct error *e)
{
    struct stmt *s = NULL;
    struct trial_point *trials = NULL;
    double best = NAN;
    int rc;
    while (
        (rc = db_next(p->db,
                      "SELECT a.job_id, coalesce(a.failure, ''), CASE WHEN typeof(m.value) IN ('real', 'integer') THEN"
                      " m.value END, " MEASURED_AS_ASKED(
                          "a") " FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN summary AS m"
                               " ON m.attempt_id = a.id AND m.name = ?1 WHERE j.sweep_id = ?2 AND a.ended IS NOT NULL"
                               " AND a.kind = 'trial' AND a.id NOT IN (SELECT attempt_id FROM excluded_attempt)"
                               " ORDER BY a.ended, a.id",
                      VALUES(sql_text(p->data->objective), sql_int(p->data->sweep_id)), &s, e)) > 0) {
        struct trial_point t = {.job = stmt_int(s, 0), .value = stmt_double_or_nan(s, 2)};
        strncpy(t.failure, stmt_text(s, 1), sizeof t.failure - 1);
        t.improves = !t.failure[0] && stmt_int(s, 3) && isfinite(t.value) && html_is_better(p->data, t.value, best);
        best = t.improves ? t.value : best;
        t.best = best;
        trials = array_grow(trials, *count, sizeof *trials);
        trials[(*count)++] = t;
    }
    *out = trials;
    return rc;
}

/* For the script: every n-th attempt, and each that improved on the best. */
static void add_points(struct buffer *out, const struct trial_point *trials, size_t count, double low, double high)
{
    const char *before = "";
    buffer_printf(out, HTML_CHART("learning-plot") "{\"attempts\":%zu,\"ends\":[%.9g,%.9g],\"points\":[", count, low,
                  high);
    for (size_t i = 0; i < count; i += html_stride(count)) {
        if (!trials[i].failure[0] && !isfinite(trials[i].value))
            continue;
        buffer_printf(out, "%s[%zu,%lld,", before, i + 1, (long long)trials[i].job);
        html_add_json_number(out, trials[i].failure[0] ? NAN : trials[i].value);
        buffer_printf(out, ",\"%s\"]", trials[i].failure);
        before = ",";
    }
    buffer_add_text(out, "],\"best\":[");
    before = "";
    for (size_t i = 0; i < count; i++)
        if (trials[i].improves) {
            buffer_printf(out, "%s[%zu,%.9g]", before, i + 1, trials[i].value);
            before = ",";
        }
    buffer_add_text(out, "]}" HTML_CHART_END);
}

/* If there are too many attempts, only those that improved on the best. */
static void add_learning_figures(struct html_page *p, const struct trial_point *trials, size_t count)
{
    const struct html_data *d = p->data;
    const struct figures_column columns[] = {{"job", NULL},
                                             {"attempt", NULL},
                                             {"outcome", NULL},
                                             {d->objective, d->unit},
                                             {"best so far", d->unit}};
    const bool all = count <= FIGURES_MOST;
    size_t shown = 0;
    figures_begin(&p->out, "Best objective so far by attempt", columns, LENGTH(columns));
    for (size_t i = 0; i < count && shown < FIGURES_MOST; i++) {
        const struct trial_point *t = &trials[i];
        if (!all && !t->improves)
            continue;
        figures_job(&p->out, t->job);
        figures_number(&p->out, (double)i + 1);
        figures_text(&p->out, t->failure[0] ? t->failure : "ok");
        figures_number(&p->out, t->value);
        figures_number(&p->out, t->best);
        buffer_add_char(&p->out, '\n');
        shown++;
    }
    figures_end(&p->out, shown, count, "attempts: those that improved on the best so far.");
}

static void add_learning_plot(struct html_page *p, const struct trial_point *trials, size_t count)
{
    double low = INFINITY, high = -INFINITY;
    size_t failed = 0, last = count;
    for (size_t i = 0; i < count; i++) {
        failed += trials[i].failure[0] != 0;
        if (!isfinite(trials[i].value) || trials[i].failure[0])
            continue;
        low = fmin(low, trials[i].value);
        high = fmax(high, trials[i].value);
        last = trials[i].improves ? i : last;
    }
    OWNED char *desc =
        last < count ? xasprintf("%zu attempt%s, %zu failed; attempt %zu was the best.", count, count == 1 ? "" : "s",
                                 failed, last + 1)
                     : xasprintf("%zu attempt%s, %zu failed; none can win.", count, count == 1 ? "" : "s", failed);
    add_points(&p->out, trials, count, low, high);
    buffer_printf(&p->out, "<p class=note>The line is the best so far%s. %s</p>\n",
                  failed ? "; crosses at the bottom are failed attempts" : "", desc);
    html_add_stride_note(&p->out, count);
    add_learning_figures(p, trials, count);
}

int html_learning(struct html_page *p, struct error *e)
{
    struct trial_point *trials = NULL;
    size_t count = 0, measured = 0;
    if (!p->data->objective) {
        html_add_none(&p->out, "The sweep declares no objective.");
        return 0;
    }
    if (read_trials(p, &trials, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        measured += isfinite(trials[i].value) && !trials[i].failure[0];
    if (measured)
        add_learning_plot(p, trials, count);
    else
        html_add_none(&p->out, html_any_ended(p->data) && count == 0
                                   ? "The times of attempts are not known, because these jobs come from a table."
                                   : "No attempt has ended with a finite objective yet.");
    free(trials);
    return 0;
}
