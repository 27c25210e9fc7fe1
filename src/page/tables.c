/* The page's data as tables of SQL, for the sections that are documents (document.c). */
#include "config/failure.h"
#include "database/function.h"
#include "page/sections.h"
#include "util/memory.h"

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
                                      sql_text(html_column_name(c)),
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
