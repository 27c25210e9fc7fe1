#include "space/compile.h"

#include <string.h>

#include "database/guard.h"
#include "space/match.h"
#include "util/buffer.h"
#include "util/memory.h"

/* A profile speaks of keys that a sweep need not have. */
enum unknown_names unknown_at(const struct space *space, const struct position *at)
{
    return sweep_in_profile(space->sweep, at) ? UNKNOWN_IS_NULL : UNKNOWN_IS_ERROR;
}

static int add_problem(const struct source_text *source, const char *why, struct problems *problems)
{
    const struct position nowhere = {NULL, 0, 0};
    const bool unknown = source->otherwise && strncmp(why, "unknown key", 11) == 0 && !strstr(why, "did you mean");
    problems_add(problems, source->at ? *source->at : nowhere, "%s `%s`: %s%s", source->what, source->name, why,
                 unknown ? source->otherwise : "");
    return -1;
}

static void note_written(struct space *space, const struct source_text *source, const struct expression *x)
{
    *arena_add(&space->arena, space->written, space->written_count) =
        (struct written_expression){.what = source->what,
                                    .name = arena_text(&space->arena, source->name),
                                    .at = source->at ? *source->at : (struct position){NULL, 0, 0},
                                    .expression = *x};
}

int compile_expression(struct space *space, const struct source_text *source, struct expression *out,
                       struct problems *problems)
{
    struct expression x;
    struct error why = ERROR_INIT;
    OWNED_STMT *probe = NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    if (expression_resolve(&space->names, source->text, source->unknown, &x, &why) < 0)
        return add_problem(source, why.text, problems);
    /* As a condition, where an aggregate has no place. */
    buffer_add_text(&sql, "SELECT 1");
    space_add_from(space, expression_sections(&space->names, &x), &sql);
    buffer_printf(&sql, " AND %s", x.sql);
    if (guard_prepare(space->db, buffer_text(&sql), &probe, &why) < 0)
        return add_problem(source, why.text, problems);
    note_written(space, source, &x);
    *out = x;
    return 0;
}

/* Returns advice on what a person can do about the error. */
static const char *advice_on(const char *why)
{
    return strcmp(why, "malformed JSON") == 0 ? "; CASE WHEN json_valid(X) THEN … END reads only what is JSON" : "";
}

int compile_blame(struct space *space, struct error *e)
{
    struct error why = ERROR_INIT;
    bool found = false;
    /* Others have said what is wrong already. */
    for (size_t i = 0; e->kind == ERROR_FAILED && !found && i < space->written_count; i++) {
        const struct written_expression *w = &space->written[i];
        found = evaluator_fails(space->evaluator, w->expression.sql, &why);
        if (!found)
            continue;
        error_set(e, ERROR_USAGE, "%s `%s` fails for a combination: %s%s", w->what, w->name, why.text,
                  advice_on(why.text));
        if (w->at.file)
            error_context(e, "%s:%d:%d", w->at.file, w->at.line, w->at.column);
    }
    return -1;
}

int compile_alone(struct space *space, const struct source_text *source, struct expression *out, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    int rc = compile_expression(space, source, out, &problems);
    if (rc < 0)
        problems_report(&problems, NULL, e);
    return rc;
}

/* --- as formulas --- */

static struct formula *keep(struct space *space, struct formula *f)
{
    return *arena_add(&space->arena, space->formulas->all, space->formulas->count) = f;
}

static struct formula *compile(struct space *space, const char *sql)
{
    struct formula *f = keep(space, formula_compile(&space->names, sql));
    size_t count;
    const size_t *keys = formula_keys(f, &count);
    for (size_t i = 0; i < count; i++)
        space->formulas->is_read[keys[i]] = true;
    return f;
}

static void compile_rules(struct space *space)
{
    struct formulas *f = space->formulas;
    f->rules = arena_keep(&space->arena, xcalloc(space->rule_count + 1, sizeof *f->rules));
    for (size_t i = 0; i < space->rule_count; i++) {
        const char *sql = space->rules[i].accepts.sql;
        f->rules[i].whole = keep(space, formula_compile(&space->names, sql));
        f->rules[i].conjuncts = arena_keep(&space->arena, formula_split(&space->names, sql, &f->rules[i].count));
        for (size_t k = 0; k < f->rules[i].count; k++)
            keep(space, f->rules[i].conjuncts[k]);
    }
}

static void compile_derived(struct space *space)
{
    struct formulas *f = space->formulas;
    f->derived = arena_keep(&space->arena, xcalloc(space->names.derived_count + 1, sizeof *f->derived));
    for (size_t i = 0; i < space->names.derived_count; i++)
        if (match_keeps_derived(space, i))
            f->derived[i] = compile(space, space->names.derived[i].expression.sql);
}

void formulas_make(struct space *space)
{
    struct formulas *f = space->formulas = arena_keep(&space->arena, xcalloc(1, sizeof *f));
    f->is_read = arena_keep(&space->arena, xcalloc(space->names.key_count + 1, sizeof *f->is_read));
    compile_rules(space);
    compile_derived(space);
    f->devices = compile(space, space->devices.sql);
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (space->limits[i].expression.sql)
            f->limits[i] = compile(space, space->limits[i].expression.sql);
    f->inert = arena_keep(&space->arena, xcalloc(space->inert_count + 1, sizeof *f->inert));
    for (size_t i = 0; i < space->inert_count; i++)
        f->inert[i] = compile(space, space->inert[i].condition);
    for (int i = 0; i < INPUT_COUNT; i++)
        if (space->prediction.inputs[i])
            f->inputs[i] = space->prediction.asked
                               ? compile(space, space->prediction.inputs[i])
                               : keep(space, formula_compile(&space->names, space->prediction.inputs[i]));
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (!space->placeholders[i].is_derived)
            f->is_read[space->placeholders[i].index] = true;
}

void formulas_free(struct space *space)
{
    for (size_t i = 0; space->formulas && i < space->formulas->count; i++)
        formula_free(space->formulas->all[i]);
}

struct product space_product(const struct space *space)
{
    return (struct product){.names = &space->names,
                            .evaluator = space->evaluator,
                            .relations = space->relations,
                            .counts = space->counts,
                            .specs = space->specs,
                            .ranks = space->of_jobs ? space->job_ranks : NULL,
                            .rank_count = space->of_jobs ? (size_t)space->job_count : 0};
}

void formulas_add_rule(const struct space *space, size_t rule, struct constraints *c)
{
    const struct rule_formulas *r = &space->formulas->rules[rule];
    for (size_t i = 0; i < r->count; i++)
        constraints_add(c, r->conjuncts[i], DEMAND_NOT_FALSE);
}

void formulas_add_rules(const struct space *space, size_t count, struct constraints *c)
{
    for (size_t i = 0; i < count; i++)
        if (!space->rules[i].warning)
            formulas_add_rule(space, i, c);
}

struct formula *formulas_compile_filter(const struct space *space, const struct expression *filter)
{
    return filter ? formula_compile(&space->names, filter->sql) : NULL;
}
