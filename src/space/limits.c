#include "space/limits.h"

#include <math.h>
#include <stdlib.h>

#include "database/function.h"
#include "space/compile.h"
#include "util/memory.h"
#include "util/parse.h"

#define DEFAULT_TIMEOUT_MS 600000

/* A degree is given: the combination binds a parallel plan. */
static const char manual_plan[] = "coalesce(dp, tp, pp, op, mp, cp) IS NOT NULL";

/* duration_ms(X): what an expression says, in milliseconds. A text that only looks like a number of seconds to SQLite
 * ('10m' is 10 to it) must not become one. */
static int duration_ms(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e)
{
    const struct sql_value *a = arguments;
    (void)context;
    if (count != 1)
        return error_set(e, ERROR_USAGE, "duration_ms takes one argument");
    double seconds = a->type == COLUMN_INT ? (double)a->integer : a->type == COLUMN_FLOAT ? a->real : 0;
    if (a->type == COLUMN_TEXT && !parse_duration_ms(a->text, out))
        return error_set(e, ERROR_USAGE,
                         "'%s' is not a duration; write seconds as a number, or for example '90s' or '1h30m'", a->text);
    if (a->type != COLUMN_TEXT)
        *out = seconds <= 0 ? 0 : seconds < 1e12 ? (int64_t)llround(seconds * 1000) : INT64_MAX;
    return a->type != COLUMN_NULL;
}

static char *limit_sql(const char *text)
{
    int64_t ms;
    if (parse_duration_ms(text, &ms))
        return xasprintf("%lld", (long long)ms);
    return xasprintf("duration_ms(%s)", text);
}

static void compile_given(struct space *space, struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    const struct {
        const char *text, *name;
        const struct position *at;
    } limits[LIMIT_COUNT] = {
        [LIMIT_TOTAL] = {job->timeout, "timeout", &job->timeout_at},
        [LIMIT_IDLE] = {job->idle_timeout, "idle_timeout", &job->idle_timeout_at},
        [LIMIT_STARTUP] = {job->startup_timeout, "startup_timeout", &job->startup_timeout_at},
    };
    for (int i = 0; i < LIMIT_COUNT; i++) {
        char *own = limits[i].text ? limit_sql(limits[i].text) : NULL;
        const struct source_text source = {own,
                                           unknown_at(space, limits[i].at),
                                           limits[i].at,
                                           "[job]",
                                           limits[i].name,
                                           "; write a duration as \"90s\", \"10m\" or \"1h30m\""};
        if (own)
            compile_expression(space, &source, &space->limits[i].expression, problems);
        space->limits[i].given = own != NULL;
        free(own);
    }
}

/* Without a word from the file every job has a limit: a sweep must not wait for ever on one of them. */
static void add_manual_limit(struct space *space, int64_t manual_timeout_ms)
{
    struct space_limit *total = &space->limits[LIMIT_TOTAL];
    if (total->given && !manual_timeout_ms)
        return;
    char *automatic = total->given ? xstrdup(total->expression.sql) : xasprintf("%d", DEFAULT_TIMEOUT_MS);
    struct expression manual = EXPRESSION_INIT;
    if (expression_resolve(&space->names, manual_plan, UNKNOWN_IS_NULL, &manual, NULL) == 0 && automatic) {
        free(total->expression.sql);
        total->expression.sql =
            xasprintf("CASE WHEN %s THEN %lld ELSE %s END", manual.sql,
                      (long long)(manual_timeout_ms ? manual_timeout_ms : DEFAULT_TIMEOUT_MS), automatic);
        total->expression.sections |= manual.sections;
        total->given = true;
    }
    expression_free(&manual);
    free(automatic);
}

int limits_compile(struct space *space, int64_t manual_timeout_ms, struct problems *problems, struct error *e)
{
    if (db_add_function(space->db, "duration_ms", duration_ms, NULL, e) < 0)
        return -1;
    compile_given(space, problems);
    add_manual_limit(space, manual_timeout_ms);
    return 0;
}
