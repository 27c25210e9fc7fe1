#include "space/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/guard.h"
#include "predict/input_table.h"
#include "space/compile.h"
#include "space/elasticity.h"
#include "space/formulas.h"
#include "space/inert.h"
#include "space/job_texts.h"
#include "space/layouts.h"
#include "space/limits.h"
#include "space/memory_order.h"
#include "space/rules.h"
#include "sweep_file/model_info_sweep.h"
#include "util/memory.h"

/* Derived keys that every sweep has. A key of the same name in a spec wins. */
static const struct {
    const char *name, *expression;
} builtin_derived[] = {
    {"nodes", "coalesce(num_hosts, 1)"},
    {"gpus_per_node", "coalesce(num_devices_per_host, 1)"},
    {"gpus", "coalesce(num_hosts, 1) * coalesce(num_devices_per_host, 1)"},
};

/* A sweep without clusters runs on one host with one device; spelling that out makes the same jobs. */
static char *default_cluster_keys[] = {(char *)"num_devices_per_host", (char *)"num_hosts"};
static struct value one[] = {{VALUE_INT, 1, 0, NULL}};
static struct axis default_cluster_axes[] = {
    {&default_cluster_keys[0], 1, one, 1, {"", 0, 0}, false},
    {&default_cluster_keys[1], 1, one, 1, {"", 0, 0}, false},
};
static struct block default_cluster = {default_cluster_axes, 2, {"", 0, 0}};

static struct sweep with_default_cluster(const struct sweep *s)
{
    struct sweep view = *s;
    if (view.sections[SECTION_CLUSTER].block_count == 0)
        view.sections[SECTION_CLUSTER] = (struct section){&default_cluster, 1};
    return view;
}

static bool is_key_somewhere(const struct names *n, const char *name)
{
    for (size_t i = 0; i < n->key_count; i++)
        if (strcmp(n->keys[i].name, name) == 0)
            return true;
    return false;
}

static void add_derived(struct names *n, const char *name, struct expression *x, bool builtin)
{
    n->derived = array_grow(n->derived, n->derived_count, sizeof *n->derived);
    n->derived[n->derived_count++] =
        (struct derived_key){xstrdup(name), x->sql, x->sections, x->reads_label, builtin, x->keys, x->key_count};
}

static void derive_builtin(struct names *n)
{
    for (size_t i = 0; i < sizeof builtin_derived / sizeof *builtin_derived; i++) {
        struct expression x = EXPRESSION_INIT;
        struct error ignored = ERROR_INIT;
        if (is_key_somewhere(n, builtin_derived[i].name))
            continue;
        if (expression_resolve(n, builtin_derived[i].expression, UNKNOWN_IS_NULL, &x, &ignored) == 0)
            add_derived(n, builtin_derived[i].name, &x, true);
    }
}

/* Degrees, batches and sizes are known to rules by every name by which predictions know them: a tp_size that is
 * predicted with is one that heads must divide by. */
static void add_common(struct names *n)
{
    static const char *const read_by_rules[] = {"dp",         "tp",           "pp",
                                                "vpp",        "cp",           "ep",
                                                "etp",        "micro_batch",  "gradient_accumulation",
                                                "layers",     "hidden",       "heads",
                                                "seq",        "ffn",          "vocab",
                                                "zero_stage", "global_batch", "experts",
                                                "kv_heads",   "head_dim"};
    for (size_t i = 0; i < sizeof read_by_rules / sizeof *read_by_rules; i++)
        names_add_common(n, read_by_rules[i], inputs[input_find(read_by_rules[i])].synonyms);
}

static bool is_among(const char *words, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(words, name); at; at = strstr(at + 1, name))
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static void refuse_doubles_of_input(const struct block *b, const struct axis *file, const char *others,
                                    struct problems *problems)
{
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; k < b->axes[a].key_count && !b->axes[a].is_from_file; k++)
            if (is_among(others, b->axes[a].keys[k]))
                problems_add(problems, b->axes[a].at, "`%s` is `%s`, which hf_config says; write `%s` to override it",
                             b->axes[a].keys[k], file->keys[0], file->keys[0]);
}

/* Predictions read the name that a file has, and would pass over what a person wrote by another. */
static void refuse_doubles_of_files(const struct sweep *s, struct problems *problems)
{
    const struct section *models = &s->sections[SECTION_MODEL];
    for (size_t b = 0; b < models->block_count; b++)
        for (size_t a = 0; a < models->blocks[b].axis_count; a++) {
            const struct axis *axis = &models->blocks[b].axes[a];
            size_t input = axis->is_from_file ? input_find(axis->keys[0]) : INPUT_COUNT;
            if (input < INPUT_COUNT)
                refuse_doubles_of_input(&models->blocks[b], axis, inputs[input].synonyms, problems);
        }
}

/* Whether the key is that name, or has it among what it is a synonym of. */
static bool means(const struct names *n, const struct key *key, const char *name)
{
    if (strcmp(key->name, name) == 0)
        return true;
    for (size_t i = 0; i < n->synonym_count; i++)
        for (char **other = n->synonyms[i].keys; strcmp(n->synonyms[i].name, key->name) == 0 && *other; other++)
            if (strcmp(*other, name) == 0)
                return true;
    return false;
}

static void add_constant(struct names *n, const struct space_constant *c)
{
    bool known = false;
    for (size_t k = 0; k < n->key_count; k++) {
        struct key *key = &n->keys[k];
        if (!means(n, key, c->name))
            continue;
        known = true;
        if (key->is_nullable && !key->otherwise)
            key->otherwise = xstrdup(c->sql);
    }
    struct expression x = {.sql = xstrdup(c->sql)};
    if (known)
        expression_free(&x);
    else
        add_derived(n, c->name, &x, true);
}

/* What is not known is NULL to rules, and nothing that a prediction is made from. */
static void add_facts(struct space *space, const double *facts)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        struct buffer sql = BUFFER_INIT;
        if (isnan(facts[i]))
            buffer_add_text(&sql, FACT_UNKNOWN);
        else
            buffer_add_double(&sql, facts[i]);
        add_constant(&space->names, &(struct space_constant){(char *)model_fact_names[i], sql.data});
        buffer_free(&sql);
    }
}

static void add_base(struct space *space, const struct space_base *base)
{
    space->has_base = base != NULL;
    if (!base)
        return;
    space->base_hash = base->hash;
    for (size_t i = 0; i < base->count; i++)
        add_constant(&space->names, &base->constants[i]);
}

static void derive_declared(struct space *space, struct problems *problems)
{
    const struct sweep *s = space->sweep;
    for (size_t i = 0; i < s->derived_count; i++) {
        const struct derived *d = &s->derived[i];
        struct expression x = EXPRESSION_INIT;
        if (is_key_somewhere(&space->names, d->name)) {
            problems_add(problems, d->at, "derived key `%s` is also a key of a spec; rename one", d->name);
            continue;
        }
        const struct source_text source = {d->expression, unknown_at(space, &d->at), &d->at, "derived key", d->name,
                                           NULL};
        /* What is wrong here is reported once, and not again where it is used. */
        if (compile_expression(space, &source, &x, problems) < 0)
            x = (struct expression){.sql = xstrdup(FACT_UNKNOWN)};
        add_derived(&space->names, d->name, &x, false);
    }
}

/* Ranks are 63 bits. */
static int declare_sections(struct space *space, const struct sweep *view, struct problems *problems, struct error *e)
{
    int64_t product = 1;
    bool fits = true;
    for (int i = 0; i < SECTION_COUNT; i++) {
        space->specs[i] = specs_create(view, &space->names, (enum section_kind)i, problems);
        space->counts[i] = specs_count(space->specs[i]);
        if (space->counts[i] && specs_add_table(space->specs[i], space->db, e) < 0)
            return -1;
        fits = fits && space->counts[i] < INT64_MAX &&
               (!space->counts[i] || !__builtin_mul_overflow(product, space->counts[i], &product));
    }
    if (!fits)
        problems_add(problems, (struct position){.file = view->path},
                     "the product of the sections exceeds 2^63 combinations; split the sweep");
    return 0;
}

static void relate_sections(struct space *space)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        size_t count;
        const struct spec_block *blocks = specs_blocks(space->specs[i], &count);
        relation_make(blocks, count, &space->names, (enum section_kind)i, &space->relations[i]);
    }
}

/* All that can be wrong with expressions is found without looking at a combination. */
static int compile_all(struct space *space, const struct space_options *options, struct problems *problems,
                       struct error *e)
{
    const struct source_text devices = {"gpus", UNKNOWN_IS_NULL, NULL, "key", "gpus", NULL};
    derive_declared(space, problems);
    inert_compile(space, problems);
    if (prediction_compile(space, problems, e) < 0)
        return -1;
    job_texts_compile(space, options->command, options->command_is_line, problems);
    order_compile(space, problems);
    if (rules_compile(space, problems, e) < 0 || limits_compile(space, options->manual_timeout_ms, problems, e) < 0)
        return -1;
    compile_expression(space, &devices, &space->devices, problems);
    return 0;
}

static int build(struct space *space, const struct space_options *options, struct problems *problems, struct error *e)
{
    const struct sweep *s = space->sweep;
    const struct sweep view = with_default_cluster(s);
    if (db_open(NULL, DB_TEMPORARY, &space->db, e) < 0 || elasticity_add_function(space->db, e) < 0 ||
        layouts_add_functions(space->db, e) < 0)
        return -1;
    refuse_doubles_of_files(s, problems);
    names_collect(&view, &space->names, problems);
    add_common(&space->names);
    derive_builtin(&space->names);
    add_base(space, options->base);
    if (s->model_info.given)
        add_facts(space, options->facts ? options->facts : s->model_info.facts);
    inert_mark(space);
    if (evaluator_create(&space->names, space->db, &space->evaluator, e) < 0 ||
        declare_sections(space, &view, problems, e) < 0 || compile_all(space, options, problems, e) < 0)
        return -1;
    space->names.problems = NULL;
    if (problems->found > 0)
        return 0;
    relate_sections(space);
    formulas_make(space);
    guard_limit_values(space->db);
    return 0;
}

int space_build_noting(const struct sweep *s, const struct space_options *options, struct problems *problems,
                       struct space **out, struct error *e)
{
    struct space *space = xcalloc(1, sizeof *space);
    space->sweep = s;
    int rc = build(space, options, problems, e);
    if (rc < 0 || problems->found > 0) {
        space_free(space);
        space = NULL;
    }
    if (rc == 0)
        *out = space;
    return rc;
}

int space_build(const struct sweep *s, const struct space_options *options, struct space **out, struct error *e)
{
    struct problems problems = PROBLEMS_INIT;
    struct space *space = NULL;
    int rc = space_build_noting(s, options, &problems, &space, e);
    if (rc == 0)
        rc = problems_report(&problems, s->files, e);
    if (rc == 0)
        *out = space;
    problems_free(&problems);
    return rc;
}

void space_free(struct space *space)
{
    if (!space)
        return;
    compile_free(space);
    rules_free(space);
    inert_free_all(space);
    job_texts_free(space);
    for (int i = 0; i < LIMIT_COUNT; i++)
        expression_free(&space->limits[i].expression);
    expression_free(&space->devices);
    formulas_free(space);
    free(space->job_ranks);
    for (int i = 0; i < SECTION_COUNT; i++)
        relation_free(&space->relations[i]);
    db_close(space->db);
    for (int i = 0; i < SECTION_COUNT; i++)
        specs_free(space->specs[i]);
    evaluator_free(space->evaluator);
    names_free(&space->names);
    prediction_free(space);
    order_free(space);
    free(space);
}
