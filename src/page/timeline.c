/* The time line: a bar for each attempt, a lane for each slot. */
#include <string.h>

#include "page/sections.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

#define ATTEMPTS_MOST 2500
#define LANES_MOST 64
#define GAPS_MOST 40
#define GAPS_NAMED 8

struct bar {
    int64_t job, start, end;
    int lane;
    char failure[16];
    double from, to; /* time axis in ms, without idle gaps */
};

struct gap {
    double at; /* on the time axis */
    int64_t length;
};

struct timeline {
    struct bar *bars;
    size_t count;
    struct string_list lanes;
    bool lacks_lanes; /* there are more than LANES_MOST */
    struct gap *gaps;
    size_t gap_count;
    double length;
    int64_t in_all;
};

static int lane_of(struct timeline *t, const char *name)
{
    size_t i = string_list_find(&t->lanes, name);
    if (i == LANES_MOST) {
        t->lacks_lanes = true;
        return -1;
    }
    if (i == t->lanes.count)
        string_list_add(&t->lanes, xstrdup(name));
    return (int)i;
}

static int read_bars(struct html_page *p, struct timeline *t, struct error *e)
{
    static const char sql[] =
        "SELECT a.job_id, a.started, a.ended, coalesce(a.failure, ''),"
        " coalesce(r.host, '?') || ' slot ' || coalesce(a.slot, '?'), count(*) OVER ()"
        " FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN runner AS r ON r.id = a.runner_id"
        " WHERE j.sweep_id = ?1 AND a.started IS NOT NULL AND a.ended >= a.started AND a.kind = 'trial'"
        " ORDER BY a.started, a.id LIMIT ?2";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(p->db, sql, VALUES(sql_int(p->data->sweep_id), sql_int(ATTEMPTS_MOST)), &s, e)) > 0) {
        struct bar b = {.job = stmt_int(s, 0), .start = stmt_int(s, 1), .end = stmt_int(s, 2)};
        strncpy(b.failure, stmt_text(s, 3), sizeof b.failure - 1);
        b.lane = lane_of(t, stmt_text(s, 4));
        t->in_all = stmt_int(s, 5);
        *array_add(t->bars, t->count) = b;
    }
    return rc;
}

/* Idle times between runs would squeeze the bars: those longer than a tenth of the working time are replaced by a mark.
 * Bars are sorted by start. */
static void cut_gaps(struct timeline *t)
{
    int64_t busy = 0, until = t->bars[0].start;
    for (size_t i = 0; i < t->count; i++) {
        const struct bar *b = &t->bars[i];
        int64_t from = b->start > until ? b->start : until;
        busy += b->end > from ? b->end - from : 0;
        until = b->end > until ? b->end : until;
    }
    double mark = (double)busy / 50 + 1, shift = (double)t->bars[0].start;
    until = t->bars[0].start;
    for (size_t i = 0; i < t->count; i++) {
        struct bar *b = &t->bars[i];
        int64_t idle = b->start - until;
        if (idle > busy / 10 + 1000) {
            *array_add(t->gaps, t->gap_count) = (struct gap){(double)until - shift + mark / 2, idle};
            shift += (double)idle - mark;
        }
        b->from = (double)b->start - shift;
        b->to = (double)b->end - shift;
        until = b->end > until ? b->end : until;
        t->length = b->to > t->length ? b->to : t->length;
    }
}

/* For the script, times in ms. */
static void add_data(struct buffer *out, const struct timeline *t)
{
    const char *before = "";
    char length[32];
    buffer_printf(out, HTML_CHART("timeline-plot") "{\"length\":%.0f,\"lanes\":[", t->length);
    for (size_t i = 0; i < t->lanes.count; i++)
        html_add_json(out, i ? "," : "", t->lanes.items[i], 20);
    buffer_add_text(out, "],\"gaps\":[");
    for (size_t i = 0; i < t->gap_count && i < GAPS_MOST; i++)
        buffer_printf(out, "%s[%.0f,\"%s\"]", i ? "," : "", t->gaps[i].at,
                      t->gap_count > GAPS_NAMED ? "" : format_duration_ms(t->gaps[i].length, length, sizeof length));
    buffer_add_text(out, "],\"bars\":[");
    for (size_t i = 0; i < t->count; i++) {
        const struct bar *b = &t->bars[i];
        if (b->lane < 0)
            continue;
        buffer_printf(out, "%s[%lld,%d,%.0f,%.0f,\"%s\"]", before, (long long)b->job, b->lane, b->from, b->to,
                      b->failure);
        before = i % 100 ? "," : ",\n";
    }
    buffer_add_text(out, "]}" HTML_CHART_END);
}

/* Only classes that occur. */
static void add_legend(struct buffer *out, const struct timeline *t)
{
    buffer_add_text(out, "<ul class=legend>");
    for (size_t i = 0; i < t->count; i++) {
        size_t before = 0;
        while (before < i && strcmp(t->bars[before].failure, t->bars[i].failure) != 0)
            before++;
        const char *class = t->bars[i].failure[0] ? t->bars[i].failure : "ok";
        if (before == i)
            buffer_printf(out, "<li><i class=\"x-%s\"></i>%s", class, class);
    }
    buffer_add_text(out, "</ul>\n");
}

static void add_figures(struct html_page *p, const struct timeline *t)
{
    static const struct figures_column columns[] = {{"job", NULL},
                                                    {"slot", NULL},
                                                    {"started", "UTC"},
                                                    {"took", NULL},
                                                    {"outcome", NULL}};
    char time[32];
    size_t shown = 0;
    figures_begin(&p->out, "Attempts by slot over time", columns, LENGTH(columns));
    for (; shown < t->count && shown < FIGURES_MOST; shown++) {
        const struct bar *b = &t->bars[shown];
        figures_job(&p->out, b->job);
        figures_text(&p->out, b->lane >= 0 && (size_t)b->lane < t->lanes.count ? t->lanes.items[b->lane] : NULL);
        figures_text(&p->out, clock_format_utc(b->start, time));
        figures_text(&p->out, format_duration_ms(b->end - b->start, time, sizeof time));
        figures_text(&p->out, b->failure[0] ? b->failure : "ok");
        buffer_add_char(&p->out, '\n');
    }
    figures_end(&p->out, shown, (size_t)t->in_all, "attempts, the first ones.");
}

static void draw(struct html_page *p, struct timeline *t)
{
    cut_gaps(t);
    add_data(&p->out, t);
    add_legend(&p->out, t);
    buffer_printf(&p->out, "<p class=note>%s%s", t->gap_count ? "Dotted lines mark idle times that were cut out. " : "",
                  t->lacks_lanes ? "Only the first 64 slots are drawn. " : "");
    if (t->in_all > (int64_t)t->count)
        buffer_printf(&p->out, "The first %zu of %lld attempts are drawn.", t->count, (long long)t->in_all);
    buffer_add_text(&p->out, "</p>\n");
    add_figures(p, t);
}

int html_timeline(struct html_page *p, struct error *e)
{
    struct timeline t = {0};
    int rc = read_bars(p, &t, e);
    if (rc == 0 && t.count)
        draw(p, &t);
    else if (rc == 0)
        html_add_none(&p->out, html_any_ended(p->data)
                                   ? "The times of attempts are not known, because these jobs come from a table."
                                   : "No attempt has ended yet.");
    string_list_free(&t.lanes);
    free_all(t.bars, t.gaps);
    return rc;
}
