#include "space/formulas.h"

#include <stdlib.h>

#include "space/match.h"
#include "util/memory.h"

static struct formula *compile(struct space *space, const char *sql)
{
    struct formula *f = formula_compile(&space->names, sql);
    size_t count;
    const size_t *keys = formula_keys(f, &count);
    for (size_t i = 0; i < count; i++)
        space->formulas->is_read[keys[i]] = true;
    return f;
}

static void compile_rules(struct space *space)
{
    struct formulas *f = space->formulas;
    f->rules = xcalloc(space->rule_count + 1, sizeof *f->rules);
    for (size_t i = 0; i < space->rule_count; i++) {
        const char *sql = space->rules[i].accepts.sql;
        f->rules[i].whole = formula_compile(&space->names, sql);
        f->rules[i].conjuncts = formula_split(&space->names, sql, &f->rules[i].count);
    }
}

static void compile_derived(struct space *space)
{
    struct formulas *f = space->formulas;
    f->derived = xcalloc(space->names.derived_count + 1, sizeof *f->derived);
    for (size_t i = 0; i < space->names.derived_count; i++)
        if (match_keeps_derived(space, i))
            f->derived[i] = compile(space, space->names.derived[i].sql);
}

void formulas_make(struct space *space)
{
    struct formulas *f = space->formulas = xcalloc(1, sizeof *f);
    f->is_read = xcalloc(space->names.key_count + 1, sizeof *f->is_read);
    compile_rules(space);
    compile_derived(space);
    f->devices = compile(space, space->devices.sql);
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (space->limits[i].given)
            f->limits[i] = compile(space, space->limits[i].expression.sql);
    f->inert = xcalloc(space->inert_count + 1, sizeof *f->inert);
    for (size_t i = 0; i < space->inert_count; i++)
        f->inert[i] = compile(space, space->inert[i].condition);
    for (int i = 0; i < INPUT_COUNT; i++)
        if (space->prediction.asked && space->prediction.inputs[i])
            f->inputs[i] = compile(space, space->prediction.inputs[i]);
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (!space->placeholders[i].is_derived)
            f->is_read[space->placeholders[i].index] = true;
}

static void drop(struct formula *f)
{
    evaluator_forget(f);
    formula_free(f);
}

static void drop_rule(struct rule_formulas *r)
{
    drop(r->whole);
    for (size_t i = 0; i < r->count; i++)
        drop(r->conjuncts[i]);
    free(r->conjuncts);
}

void formulas_free(struct space *space)
{
    struct formulas *f = space->formulas;
    if (!f)
        return;
    for (size_t i = 0; i < space->rule_count; i++)
        drop_rule(&f->rules[i]);
    for (size_t i = 0; i < space->names.derived_count; i++)
        drop(f->derived[i]);
    for (size_t i = 0; i < space->inert_count; i++)
        drop(f->inert[i]);
    for (int i = 0; i < LIMIT_COUNT; i++)
        drop(f->limits[i]);
    for (int i = 0; i < INPUT_COUNT; i++)
        drop(f->inputs[i]);
    drop(f->devices);
    free_all(f->rules, f->derived, f->inert, f->is_read, f);
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

void formulas_drop_filter(struct formula *f)
{
    if (f)
        drop(f);
}
