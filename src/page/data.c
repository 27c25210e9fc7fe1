/* The data of the page, the columns that it shows, the length of texts, and the order of jobs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "database/function.h"
#include "page/sections.h"
#include "results/configurations.h"
#include "results/measured.h"
#include "results/query.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

const char *const html_state_names[HTML_STATE_COUNT] =
    {[HTML_PENDING] = "pending", [HTML_RUNNING] = "running", [HTML_OK] = "ok", [HTML_FAILED] = "failed"};

/* --- the sweep --- */

static int read_sweep(struct db *db, struct html_data *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT s.id, s.name, s.path, s.objective, coalesce(m.unit, ''), s.maximise,"
                     " (SELECT count(*) FROM job AS j WHERE j.sweep_id = s.id)"
                     " FROM current_sweep AS s LEFT JOIN metric_definition AS m ON m.name = s.objective",
                     NO_VALUES, &s, e);
    if (rc > 0) {
        out->sweep_id = stmt_int(s, 0);
        out->sweep = arena_keep(&out->blocks, stmt_copy_text(s, 1));
        out->file = arena_text(&out->blocks, path_name(stmt_text(s, 2)));
        out->objective = arena_keep(&out->blocks, stmt_copy_text(s, 3));
        out->unit = arena_keep(&out->blocks, stmt_copy_text(s, 4));
        out->maximise = stmt_int(s, 5) != 0;
        out->jobs_in_all = stmt_int(s, 6);
    } else if (rc == 0) {
        rc = error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    }
    return rc < 0 ? -1 : 0;
}

/* --- the columns --- */

/* The order of columns in the view: fixed ones, keys, state, failure and attempts, metrics, duration_ms and the rest.
 * */
enum html_role html_role_of(const char *title, enum html_role *section)
{
    static const struct {
        const char *title;
        enum html_role next;
    } borders[] = {{"in_sweep", HTML_KEY},
                   {"state", HTML_FIXED},
                   {"attempts", HTML_METRIC},
                   {"duration_ms", HTML_FIXED}};
    for (size_t i = 0; i < LENGTH(borders); i++) {
        if (strcmp(borders[i].title, title) == 0) {
            *section = borders[i].next;
            return HTML_FIXED;
        }
    }
    return *section;
}

static void add_columns(struct html_data *d, const struct result_column *columns, size_t count)
{
    const size_t rows = d->jobs_in_all < HTML_JOBS_MOST ? (size_t)d->jobs_in_all : HTML_JOBS_MOST;
    enum html_role section = HTML_FIXED;
    d->column_count = count;
    d->columns = arena_keep(&d->blocks, xcalloc(d->column_count + 1, sizeof *d->columns));
    for (size_t i = 0; i < d->column_count; i++) {
        struct html_column *c = &d->columns[i];
        c->title = arena_text(&d->blocks, columns[i].name);
        c->role = html_role_of(c->title, &section);
        c->unit = arena_text(&d->blocks, columns[i].unit ? columns[i].unit : "");
        c->values = arena_keep(&d->blocks, xcalloc(rows + 1, sizeof *c->values));
    }
}

/* One of millions of short texts: together they are allocated and released far faster than each alone. */
static char *keep_text(struct html_data *d, const char *text)
{
    const size_t bytes = strlen(text) + 1, most = 65536;
    if (d->room_bytes < bytes) {
        d->room_bytes = bytes > most ? bytes : most;
        d->room = arena_keep(&d->blocks, xmalloc(d->room_bytes));
    }
    char *copy = memcpy(d->room, text, bytes);
    d->room += bytes;
    d->room_bytes -= bytes;
    return copy;
}

static int read_rows(struct html_data *d, struct stmt *s, struct error *e)
{
    OWNED_BUFFER digits = BUFFER_INIT;
    int rc;
    while ((rc = stmt_next(s, e)) > 0 && d->job_count < (size_t)d->jobs_in_all) {
        for (size_t i = 0; i < d->column_count; i++) {
            struct html_value *v = &d->columns[i].values[d->job_count];
            const bool is_real = stmt_type(s, (int)i) == COLUMN_FLOAT;
            v->number = stmt_double_or_nan(s, (int)i);
            digits.length = 0;
            if (is_real)
                buffer_add_double(&digits, v->number);
            const char *text = is_real ? buffer_text(&digits) : stmt_text(s, (int)i);
            v->text = text ? keep_text(d, text) : NULL;
        }
        d->job_count++;
    }
    return rc < 0 ? -1 : 0;
}

static int read_results(struct db *db, struct html_data *d, struct error *e)
{
    const struct result_query q = {.limit = HTML_JOBS_MOST};
    OWNED_STMT *s = NULL;
    struct result_column *columns = NULL;
    if (result_query_open(db, &q, &s, e) < 0 || result_columns(db, s, UNITS_ALL, false, &columns, e) < 0)
        return -1;
    add_columns(d, columns, (size_t)stmt_column_count(s));
    result_columns_free(columns);
    return read_rows(d, s, e);
}

/* --- values of keys in order --- */

struct ranked {
    const struct html_value *value;
    size_t row;
};

/* Numbers before texts, each in their order. */
static int by_value(const void *a, const void *b)
{
    const struct html_value *x = ((const struct ranked *)a)->value, *y = ((const struct ranked *)b)->value;
    bool x_number = !isnan(x->number), y_number = !isnan(y->number);
    if (x_number && y_number)
        return (x->number > y->number) - (x->number < y->number);
    return x_number != y_number ? y_number - x_number : strcmp(x->text, y->text);
}

static void find_levels(struct html_data *d, struct html_column *c)
{
    const size_t rows = d->job_count;
    OWNED struct ranked *order = xcalloc(rows + 1, sizeof *order);
    size_t count = 0;
    c->levels = arena_keep(&d->blocks, xcalloc(rows + 1, sizeof *c->levels));
    c->numeric = true;
    for (size_t i = 0; i < rows; i++) {
        c->levels[i] = -1;
        if (c->values[i].text)
            order[count++] = (struct ranked){&c->values[i], i};
    }
    array_sort(order, count, by_value);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_value(&order[i - 1], &order[i]) != 0) {
            c->level_texts = arena_grow(&d->blocks, c->level_texts, c->level_count, sizeof *c->level_texts);
            c->level_numbers = arena_grow(&d->blocks, c->level_numbers, c->level_count, sizeof *c->level_numbers);
            c->level_texts[c->level_count] = order[i].value->text;
            c->level_numbers[c->level_count++] = order[i].value->number;
            c->numeric = c->numeric && isfinite(order[i].value->number);
        }
        c->levels[order[i].row] = (int)c->level_count - 1;
    }
}

static bool varies(const struct html_column *c)
{
    return c->level_count > 1;
}

/* Fixed columns with few distinct texts. */
static bool is_told_by_text(const struct html_column *c)
{
    static const char *const titles[] = {"state", "failure", "error",   "predicted_memory_of",
                                         "notes", "tags",    "excluded"};
    return ANY(i, LENGTH(titles), c->role == HTML_FIXED && strcmp(c->title, titles[i]) == 0);
}

/* Marks keys, which the SQL returns as "section.key", as derived, or (0) as replicates. A column has the section in its
 * title only if the key alone is ambiguous. */
static int mark_keys(struct db *db, struct html_data *d, struct error *e)
{
    static const char sql[] =
        "SELECT 'derived.' || k.key, 1 FROM job AS j, json_each(j.derived) AS k"
        " WHERE j.id = (SELECT max(id) FROM job WHERE sweep_id = (SELECT id FROM current_sweep))"
        " UNION ALL SELECT r.value, 0 FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        const char *qualified = stmt_text(s, 0), *dot = strchr(qualified, '.');
        for (struct html_column *c = d->columns; c < d->columns + d->column_count; c++)
            if (c->role == HTML_KEY && (strcmp(c->title, qualified) == 0 || (dot && strcmp(c->title, dot + 1) == 0)))
                *(stmt_int(s, 1) ? &c->derived : &c->replicated) = true;
    }
    return rc;
}

/* Returns whether each value of one key goes with exactly one value of the other. */
static bool move_together(const struct html_column *a, const struct html_column *b, size_t rows)
{
    if (a->level_count != b->level_count)
        return false;
    OWNED int *of = xcalloc(a->level_count, sizeof *of);
    bool same = true;
    for (size_t i = 0; same && i < rows; i++) {
        int x = a->levels[i], y = b->levels[i];
        if (x < 0 || y < 0)
            same = x == y;
        else if (of[x] == 0)
            of[x] = y + 1;
        else
            same = of[x] == y + 1;
    }
    return same;
}

/* The title without the section of a key. Borrowed. */
static const char *column_name(const struct html_column *c)
{
    const char *dot = strrchr(c->title, '.');
    return dot ? dot + 1 : c->title;
}

static int standing(const struct html_column *c)
{
    return c->derived ? 0 : strcmp(column_name(c), "name") == 0 ? 2 : 1;
}

/* Among keys that move together, a name represents the others, else the first key that is not derived. With equally
 * many levels, a mapping from levels to levels is one to one. */
static void find_twins(struct html_data *d)
{
    for (size_t i = 0; i < d->column_count; i++) {
        struct html_column *a = &d->columns[i];
        for (size_t j = 0; a->role == HTML_KEY && varies(a) && !a->twin && j < d->column_count; j++) {
            const struct html_column *b = &d->columns[j];
            if (j == i || b->role != HTML_KEY || !varies(b) || b->twin)
                continue;
            if ((standing(b) > standing(a) || (standing(b) == standing(a) && j < i)) &&
                move_together(a, b, d->job_count))
                a->twin = b;
        }
    }
}

/* Marks the keys in which configurations differ; some may not have them. */
static void find_distinctions(struct html_data *d)
{
    for (size_t i = 0; i < d->column_count; i++) {
        struct html_column *c = &d->columns[i];
        const bool stands = c->role == HTML_KEY && !c->derived && !c->replicated && !c->twin && c->level_count > 0;
        for (size_t row = 1; stands && !c->tells_apart && row < d->job_count; row++)
            c->tells_apart = c->levels[row] != c->levels[0];
    }
}

/* --- the jobs --- */

static const struct html_column *find_column(const struct html_data *d, enum html_role role, const char *title)
{
    return FIND(i, d->column_count, d->columns[i].role == role && strcmp(d->columns[i].title, title) == 0,
                &d->columns[i]);
}

static const struct html_column *metric_column(const struct html_data *d, const char *name)
{
    OWNED char *qualified = xasprintf("metric.%s", name);
    const struct html_column *c = find_column(d, HTML_METRIC, name);
    c = c ? c : find_column(d, HTML_METRIC, qualified);
    return c;
}

static bool has_numbers(const struct html_data *d, const struct html_column *c)
{
    return ANY(i, d->job_count, isfinite(c->values[i].number));
}

/* Adds which memory is predicted to the unit, if it is the same for all jobs. */
static void say_whose_memory(struct html_data *d)
{
    for (size_t i = 0; i + 1 < d->column_count; i++) {
        struct html_column *memory = &d->columns[i], *of = &d->columns[i + 1];
        if (strcmp(of->title, "predicted_memory_of") != 0 || of->level_count != 1)
            continue;
        memory->unit = arena_keep(&d->blocks, xasprintf("%s %s", memory->unit, of->level_texts[0]));
    }
}

/* Returns whether a key is a number of bytes: by its name, and because its values are too large for GiB. */
static bool is_size(const struct html_column *c)
{
    const char *name = column_name(c);
    const size_t length = strlen(name);
    if (c->role != HTML_KEY || !c->numeric || c->level_count == 0 ||
        (strcmp(name, "device_memory") != 0 && strcmp(name, "gpu_memory") != 0 &&
         (length < 6 || strcmp(name + length - 6, "_bytes") != 0)))
        return false;
    return !ANY(i, c->level_count, c->level_numbers[i] < 1024 * 1024);
}

static void find_sizes(struct html_data *d)
{
    for (size_t i = 0; i < d->column_count; i++)
        if (is_size(&d->columns[i]))
            d->columns[i].unit = "B";
}

/* A metric with a usual name for memory, else one with the word in its name, else the resident set of the processes. */
static const struct html_column *find_memory(const struct html_data *d)
{
    static const char *const names[] = {"peak_memory_bytes", "peak_memory", "memory", "max_memory_allocated"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        const struct html_column *c = metric_column(d, names[i]);
        if (c && has_numbers(d, c))
            return c;
    }
    for (size_t i = 0; i < d->column_count; i++)
        if (d->columns[i].role == HTML_METRIC && strstr(d->columns[i].title, "memory") &&
            has_numbers(d, &d->columns[i]))
            return &d->columns[i];
    const struct html_column *rss = find_column(d, HTML_FIXED, "max_rss");
    return rss && has_numbers(d, rss) ? rss : NULL;
}

static double memory_scale(const struct html_column *memory)
{
    int64_t one = 1;
    if (!memory || memory->role != HTML_METRIC)
        return NAN;
    OWNED char *text = xasprintf("1%.*s", (int)strcspn(memory->unit, " ,"), memory->unit);
    return parse_size_bytes(text, &one) && one >= 1 ? (double)one : 1;
}

bool html_is_better(const struct html_data *d, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    return d->maximise ? a > b : a < b;
}

static enum html_state state_of(const char *name)
{
    for (int i = 0; i < HTML_STATE_COUNT; i++)
        if (name && strcmp(html_state_names[i], name) == 0)
            return (enum html_state)i;
    return HTML_PENDING;
}

/* The SQL's rows, ordered by job: a job that is barred, or one and its group. */
static int mark_jobs(struct db *db, const char *sql, struct html_data *d, struct error *e)
{
    struct stmt *s = NULL;
    size_t i = 0;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        while (i < d->job_count && (int64_t)d->columns[0].values[i].number < stmt_int(s, 0))
            i++;
        if (i == d->job_count || (int64_t)d->columns[0].values[i].number != stmt_int(s, 0))
            continue;
        d->jobs[i].barred |= stmt_column_count(s) == 1;
        d->jobs[i].group = stmt_column_count(s) == 1 ? d->jobs[i].group : (size_t)stmt_int(s, 1);
        d->group_count = d->jobs[i].group >= d->group_count ? d->jobs[i].group + 1 : d->group_count;
    }
    return rc;
}

static int read_jobs(struct db *db, struct html_data *d, struct error *e)
{
    OWNED_BUFFER groups = BUFFER_INIT;
    d->jobs = arena_keep(&d->blocks, xcalloc(d->job_count + 1, sizeof *d->jobs));
    d->group_count = 1;
    int rc = mark_jobs(db,
                       "SELECT j.id FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id WHERE j.sweep_id ="
                       " (SELECT id FROM current_sweep) AND NOT " MEASURED_AS_ASKED("a") " ORDER BY j.id",
                       d, e);
    if (rc == 0)
        rc = configurations_add(db, CONFIGURATIONS_GROUPS, &groups, e);
    if (rc == 0 && groups.length)
        rc = mark_jobs(db, buffer_text(&groups), d, e);
    return rc;
}

static void describe_jobs(struct html_data *d)
{
    const struct html_column *state = find_column(d, HTML_FIXED, "state"),
                             *failure = find_column(d, HTML_FIXED, "failure");
    const struct html_column *objective = d->objective ? metric_column(d, d->objective) : NULL;
    d->sought = objective;
    d->memory = find_memory(d);
    d->memory_scale = memory_scale(d->memory);
    d->best = -1;
    for (size_t i = 0; i < d->job_count; i++) {
        struct html_job *j = &d->jobs[i];
        j->id = (int64_t)d->columns[0].values[i].number;
        j->state = state_of(state->values[i].text);
        j->failure = failure->values[i].text ? failure->values[i].text : "";
        j->objective = objective && j->state == HTML_OK ? objective->values[i].number : NAN;
        j->memory = d->memory ? d->memory->values[i].number : NAN;
        d->counts[j->state]++;
        if (isfinite(j->objective) && !j->barred &&
            (d->best < 0 || html_is_better(d, j->objective, d->jobs[d->best].objective)))
            d->best = (long)i;
    }
}

long html_row_of(const struct html_data *d, int64_t job)
{
    const size_t at = FIRST_SORTED(i, d->job_count, d->jobs[i].id >= job);
    return at < d->job_count && d->jobs[at].id == job ? (long)at : -1;
}

/* --- columns --- */

static bool has_values(const struct html_data *d, const struct html_column *c)
{
    return ANY(i, d->job_count, c->values[i].text);
}

bool html_is_outcome(const char *title, enum html_role role)
{
    static const char *const fixed[] = {"state",   "failure",          "attempts",       "duration_ms",
                                        "max_rss", "predicted_memory", "predicted_time", "notes",
                                        "tags",    "excluded",         "error"};
    for (size_t i = 0; role == HTML_FIXED && i < LENGTH(fixed); i++)
        if (strcmp(fixed[i], title) == 0)
            return true;
    return role == HTML_METRIC;
}

/* Keys that vary and outcomes; identifiers and paths are only in the exports. */
static bool is_shown(const struct html_data *d, const struct html_column *c)
{
    if (c->role == HTML_KEY || strcmp(c->title, "predicted_memory_of") == 0)
        return varies(c);
    /* A page that is served has a place for the first failure. */
    if (strcmp(c->title, "failure") == 0 || strcmp(c->title, "error") == 0)
        return has_values(d, c) || d->counts[HTML_PENDING] + d->counts[HTML_RUNNING] > 0;
    return (c == d->columns || html_is_outcome(c->title, c->role)) && has_values(d, c);
}

static void choose_shown(struct html_data *d)
{
    d->shown = arena_keep(&d->blocks, xcalloc(d->column_count + 1, sizeof *d->shown));
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < d->column_count; i++) {
            const struct html_column *c = &d->columns[i];
            bool early = i == 0 || c == d->sought;
            if (early != late && is_shown(d, c))
                d->shown[d->shown_count++] = c;
        }
}

size_t html_varying(const struct html_data *d, const struct html_column **keys, size_t most)
{
    size_t count = 0;
    for (int derived = 0; derived < 2; derived++)
        for (size_t i = d->column_count; i-- > 0 && count < most;)
            if (d->columns[i].role == HTML_KEY && d->columns[i].derived == derived && varies(&d->columns[i]) &&
                !d->columns[i].twin)
                keys[count++] = &d->columns[i];
    return count;
}

size_t html_effect_keys(const struct html_data *d, const char **keys, size_t most)
{
    const struct html_column **columns = xcalloc(most, sizeof(*columns));
    const size_t count = html_varying(d, columns, most);
    for (size_t i = 0; i < count; i++)
        keys[i] = strcmp(column_name(columns[i]), "name") == 0 ? "model" : columns[i]->title;
    free(columns);
    return count;
}

/* --- texts --- */

/* A part of the 15 MB that a page of 100,000 jobs may take; the rest is for outcomes and numbers. */
#define LEVEL_BYTES_MOST 6e6
#define LEVEL_LEAST 8

static double level_bytes(const struct html_data *d, size_t limit)
{
    double bytes = 0;
    OWNED_BUFFER text = BUFFER_INIT;
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        for (size_t k = 0; c->role == HTML_KEY && k < c->level_count; k++) {
            text.length = 0;
            html_add_json(&text, "", c->level_texts[k], limit);
            bytes += (double)text.length + 1;
        }
    }
    return bytes;
}

size_t html_level_most(const struct html_data *d)
{
    size_t limit = HTML_LEVEL_MOST, levels = 0;
    for (size_t i = 0; i < d->column_count; i++)
        levels += d->columns[i].role == HTML_KEY ? d->columns[i].level_count : 0;
    /* A column may be an escape of ten bytes. */
    if ((double)levels * HTML_LEVEL_MOST * 10 <= LEVEL_BYTES_MOST)
        return limit;
    for (double bytes; limit > LEVEL_LEAST && (bytes = level_bytes(d, limit)) > LEVEL_BYTES_MOST;) {
        size_t next = (size_t)((double)limit * LEVEL_BYTES_MOST / bytes);
        limit = next < LEVEL_LEAST ? LEVEL_LEAST : next < limit ? next : limit - 1;
    }
    return limit;
}

/* --- the best first --- */

struct ranked_job {
    double goodness; /* -Infinity: none */
    size_t row;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked_job *x = a, *y = b;
    if (x->goodness != y->goodness)
        return x->goodness < y->goodness ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static void order_jobs(struct html_data *d)
{
    OWNED struct ranked_job *jobs = xcalloc(d->job_count + 1, sizeof *jobs);
    d->best_first = arena_keep(&d->blocks, xcalloc(d->job_count + 1, sizeof *d->best_first));
    for (size_t i = 0; i < d->job_count; i++) {
        double value = d->jobs[i].objective;
        jobs[i] = (struct ranked_job){!isfinite(value) ? -INFINITY : d->maximise ? value : -value, i};
    }
    array_sort(jobs, d->job_count, by_rank);
    for (size_t i = 0; i < d->job_count; i++)
        d->best_first[i] = jobs[i].row;
}

/* --- all of it --- */

int html_data_read(struct db *db, struct html_data *out, struct error *e)
{
    struct html_data d = {.best = -1};
    int rc =
        read_sweep(db, &d, e) < 0 || configurations_compete(db, &d.competition, e) < 0 ? -1 : read_results(db, &d, e);
    for (size_t i = 0; rc == 0 && i < d.column_count; i++)
        if (d.columns[i].role == HTML_KEY || is_told_by_text(&d.columns[i]))
            find_levels(&d, &d.columns[i]);
    if (rc == 0)
        rc = mark_keys(db, &d, e) < 0 ? -1 : read_jobs(db, &d, e);
    if (rc < 0) {
        html_data_free(&d);
        return -1;
    }
    say_whose_memory(&d);
    find_sizes(&d);
    find_twins(&d);
    find_distinctions(&d);
    describe_jobs(&d);
    choose_shown(&d);
    order_jobs(&d);
    d.best = d.competition.replicates || d.competition.groups ? -1 : d.best;
    *out = d;
    return 0;
}

void html_data_free(struct html_data *d)
{
    arena_free(&d->blocks);
    *d = (struct html_data){0};
}

/* --- as tables of SQL, for the sections that are documents (document.c) --- */

static const struct html_data *data_of(void *context)
{
    return ((const struct html_page *)context)->data;
}

static int64_t count_one(void *context)
{
    (void)context;
    return 1;
}

static int page_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_data *d = data_of(context);
    const struct sql_value cells[] = {sql_int((int64_t)d->job_count),
                                      sql_int(d->jobs_in_all),
                                      sql_int((int64_t)d->group_count),
                                      d->best < 0 ? sql_null() : sql_int(d->best),
                                      sql_text(d->objective),
                                      sql_text(d->unit),
                                      sql_int(d->maximise),
                                      sql_text(d->memory ? d->memory->title : NULL),
                                      sql_text(d->memory ? d->memory->unit : NULL),
                                      sql_int(d->competition.groups),
                                      sql_int(d->competition.replicates)};
    (void)row;
    (void)e;
    *out = cells[column - 1];
    return 0;
}

static int64_t count_columns(void *context)
{
    return (int64_t)data_of(context)->column_count;
}

static int column_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_column *c = &data_of(context)->columns[row];
    const struct sql_value cells[] = {sql_text(c->title),
                                      sql_text(column_name(c)),
                                      sql_text(c->unit),
                                      sql_int(c->role == HTML_KEY),
                                      sql_int((int64_t)c->level_count),
                                      sql_int(c->derived),
                                      sql_text(c->twin ? c->twin->title : NULL)};
    (void)e;
    *out = cells[column - 1];
    return 0;
}

static int64_t count_levels(void *context)
{
    const struct html_data *d = data_of(context);
    int64_t count = 0;
    for (size_t i = 0; i < d->column_count; i++)
        count += (int64_t)d->columns[i].level_count;
    return count;
}

static int level_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_data *d = data_of(context);
    size_t c = 0;
    for (; row >= (int64_t)d->columns[c].level_count; c++)
        row -= (int64_t)d->columns[c].level_count;
    const struct sql_value cells[] = {sql_int((int64_t)c), sql_int(row), sql_text(d->columns[c].level_texts[row])};
    (void)e;
    *out = cells[column - 1];
    return 0;
}

static int64_t count_values(void *context)
{
    return count_columns(context) * (int64_t)data_of(context)->job_count;
}

static int value_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_data *d = data_of(context);
    const size_t jobs = d->job_count;
    const struct html_value *v = &d->columns[(size_t)row / jobs].values[(size_t)row % jobs];
    (void)e;
    *out = column == 1 ? sql_text(v->text) : sql_real(v->number);
    return 0;
}

static int64_t count_jobs(void *context)
{
    return (int64_t)data_of(context)->job_count;
}

static int job_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_data *d = data_of(context);
    const struct html_job *j = &d->jobs[row];
    const int64_t places[] = {[HTML_PENDING] = FAILURE_COUNT + 1, [HTML_RUNNING] = FAILURE_COUNT, [HTML_OK] = -1};
    const bool failed = j->state == HTML_FAILED;
    const struct sql_value cells[] = {sql_int(j->id),
                                      sql_text(html_state_names[j->state]),
                                      sql_text(failed ? j->failure : html_state_names[j->state]),
                                      sql_int(failed ? (int64_t)failure_by_name(j->failure) : places[j->state]),
                                      sql_finite(j->objective),
                                      sql_int(j->barred),
                                      sql_finite(j->memory),
                                      sql_real(j->memory * d->memory_scale),
                                      sql_int((int64_t)j->group)};
    (void)e;
    *out = cells[column - 1];
    return 0;
}

static int64_t count_pairs(void *context)
{
    return count_jobs(context) * count_jobs(context);
}

/* In how many keys two jobs differ, of those that tell configurations apart; 2: in several. */
static int apart_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct html_data *d = data_of(context);
    const size_t a = (size_t)row / d->job_count, b = (size_t)row % d->job_count;
    int64_t apart = 0;
    (void)column;
    (void)e;
    for (size_t i = 0; i < d->column_count && apart < 2; i++)
        apart += d->columns[i].tells_apart && d->columns[i].levels[a] != d->columns[i].levels[b];
    *out = sql_int(apart);
    return 0;
}

static const struct {
    const char *name, *columns;
    int64_t (*count)(void *context);
    int (*cell)(void *context, int64_t row, int column, struct sql_value *out, struct error *e);
} tables[] = {
    {"page",
     "n, jobs, jobs_in_all, group_count, best, objective, unit, maximise, memory_title, memory_unit, groups, "
     "replicates",
     count_one, page_cell},
    {"page_column", "n, title, name, unit, is_key, levels, derived, twin", count_columns, column_cell},
    {"page_level", "n, of, place, text", count_levels, level_cell},
    {"page_value", "n, text, number", count_values, value_cell},
    {"page_job", "n, job, state, outcome, place, objective, barred, memory, bytes, peers", count_jobs, job_cell},
    {"page_apart", "n, keys", count_pairs, apart_cell},
};

int html_add_tables(struct html_page *p, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(tables); i++)
        rc = db_add_table(p->db, tables[i].name, tables[i].columns,
                          &(struct table_source){tables[i].count, tables[i].cell, p}, e);
    return rc;
}

void html_drop_tables(struct db *db)
{
    for (size_t i = 0; i < LENGTH(tables); i++)
        db_drop_table(db, tables[i].name);
}
