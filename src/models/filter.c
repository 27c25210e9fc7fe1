#include "models/filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "database/guard.h"
#include "expression/rewrite.h"
#include "models/cursor.h"
#include "util/memory.h"
#include "util/suggest.h"

#define ANY_KIND (-1)

static int check_stack(const struct model_space_table *space, size_t key, const char *filter, struct error *e)
{
    if (key >= space->key_count || !model_key_is_stack(&space->keys[key]))
        return error_set(e, ERROR_USAGE, "%s: the model space has no layers to look at", filter);
    return 0;
}

static int accepts_layers(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    return c->parts[f->key].stack.layers == (uint64_t)f->low;
}

int model_filter_fixed_layers(const struct model_space_table *space, size_t stack_key, unsigned layers,
                              struct model_filter *out, struct error *e)
{
    static const char name[] = "fixed layers";
    if (check_stack(space, stack_key, name, e))
        return -1;
    *out =
        (struct model_filter){.name = name, .accepts = accepts_layers, .key = stack_key, .low = layers, .high = layers};
    return 0;
}

static bool similar(int64_t a, int64_t b, double tolerance)
{
    return fabs((double)a - (double)b) / (double)(a > b ? a : b) <= tolerance;
}

/* From `base`, which is similar to itself, the farthest number towards `end`, which is not, that still is.
 * Similarity only falls on the way, so halving finds it, with the very rounding of `similar`. */
static int64_t farthest_similar(int64_t base, int64_t end, double tolerance)
{
    int64_t inside = base, outside = end;
    while (inside - outside > 1 || outside - inside > 1) {
        int64_t middle = inside + (outside - inside) / 2;
        if (similar(middle, base, tolerance))
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static int accepts_parameters(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    return c->parameters >= f->low && c->parameters <= f->high;
}

struct model_filter model_filter_similar_parameters(int64_t base, double tolerance)
{
    return (struct model_filter){
        .accepts = accepts_parameters,
        .low = farthest_similar(base, 0, tolerance),
        .high = similar(INT64_MAX, base, tolerance) ? INT64_MAX : farthest_similar(base, INT64_MAX, tolerance),
    };
}

/* The kind of the first element; every layer has one. */
static unsigned first_kind(const struct layer_state *st)
{
    unsigned kind = 0;
    while (st->counts[kind] == 0)
        kind++;
    return kind;
}

static int accepts_uniform(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    const struct layer_state *st = &c->parts[f->key].stack;
    const size_t kinds = c->space->keys[f->key].kinds.count;
    unsigned kind = f->low == ANY_KIND ? first_kind(st) : (unsigned)f->low;
    for (unsigned layer = 0; layer < st->layers; layer++)
        if (st->counts[layer * kinds + kind] != st->sizes[layer])
            return 0;
    return 1;
}

int model_filter_uniform_mixer(const struct model_space_table *space, size_t stack_key, const char *kind,
                               struct model_filter *out, struct error *e)
{
    static const char name[] = "uniform mixer";
    if (check_stack(space, stack_key, name, e))
        return -1;
    const struct string_list *kinds = &space->keys[stack_key].kinds;
    const size_t k = kind ? FIRST(i, kinds->count, strcmp(kinds->items[i], kind) == 0) : 0;
    if (k == kinds->count)
        return error_set(e, ERROR_USAGE, "%s: the model space has no %s", name, kind);
    int64_t number = kind ? (int64_t)k : ANY_KIND;
    *out = (struct model_filter){.name = name,
                                 .accepts = accepts_uniform,
                                 .key = stack_key,
                                 .low = number,
                                 .high = number};
    return 0;
}

int model_filters_accept(struct model_filter *filters, size_t count, const struct model_candidate *c, struct error *e)
{
    for (size_t i = 0; i < count; i++) {
        int rc = filters[i].accepts(&filters[i], c, e);
        if (rc == 0)
            filters[i].removed++;
        if (rc <= 0)
            return rc;
    }
    return 1;
}

int model_filters_next(struct model_filter *filters, size_t count, struct model_cursor *cursor,
                       const struct model_candidate **out, struct error *e)
{
    const struct model_candidate *c;
    while ((c = model_cursor_next(cursor)) != NULL) {
        int rc = model_filters_accept(filters, count, c, e);
        if (rc > 0)
            *out = c;
        if (rc != 0)
            return rc;
    }
    return 0;
}

#define ELEMENTS_FUNCTION "model_elements"
#define BASE_PREFIX "base."

struct model_evaluator {
    const struct model_base *base; /* and its table, whose keys names stand for */
    struct db *db;
    const struct model_candidate *current; /* that elements() looks at */
};

enum source { SOURCE_AXIS = 1, SOURCE_STACK, SOURCE_LAYERS, SOURCE_PARAMETERS, SOURCE_FLOPS };

/* The value to which parameter number i + 1 of the statement is set for every candidate. */
struct binding {
    enum source source;
    size_t key;
};

struct model_expression {
    struct model_evaluator *evaluator;
    struct stmt *statement;
    struct binding *bindings;
    size_t binding_count;
    struct buffer text; /* of a stack being bound */
};

/* --- elements of a candidate --- */

static int64_t count_in_layer(const struct model_candidate *c, size_t key, unsigned layer, size_t kind)
{
    const size_t kinds = c->space->keys[key].kinds.count;
    const struct layer_state *st = &c->parts[key].stack;
    return kind < kinds ? st->counts[layer * kinds + kind] : st->sizes[layer];
}

/* (key), (key, layer), (key, kind) or (key, layer, kind); the key is ours. */
static int elements(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e)
{
    const struct model_candidate *c = ((const struct model_evaluator *)context)->current;
    const size_t key = (size_t)arguments[0].integer;
    const struct space_key *k = &c->space->keys[key];
    const struct sql_value *last = &arguments[count - 1];
    const bool has_kind = count > 1 && last->type == COLUMN_TEXT, has_layer = count - has_kind == 2;
    const size_t kind = has_kind ? string_list_find(&k->kinds, last->text) : SIZE_MAX;
    if (count > 3 || count - has_kind > 2 || (has_layer && arguments[1].type == COLUMN_TEXT))
        return error_set(e, ERROR_USAGE, "%s() takes a layer number, a kind in quotes, or both", k->name);
    if (has_kind && kind == k->kinds.count)
        return error_set(e, ERROR_USAGE, "%s(): there is no kind '%s'", k->name, last->text);
    const unsigned layers = c->parts[key].stack.layers;
    if (has_layer) {
        const int64_t layer = arguments[1].integer;
        if (arguments[1].type != COLUMN_INT || layer < 1 || layer > layers)
            return 0;
        *out = count_in_layer(c, key, (unsigned)layer - 1, kind);
        return 1;
    }
    *out = 0;
    for (unsigned layer = 0; layer < layers; layer++)
        *out += count_in_layer(c, key, layer, kind);
    return 1;
}

int model_evaluator_open(const struct model_base *base, struct model_evaluator **out, struct error *e)
{
    struct model_evaluator *evaluator = xcalloc(1, sizeof *evaluator);
    evaluator->base = base;
    if (db_open(NULL, DB_TEMPORARY, &evaluator->db, e) < 0 ||
        db_add_function(evaluator->db, ELEMENTS_FUNCTION, elements, evaluator, e) < 0) {
        model_evaluator_close(evaluator);
        return -1;
    }
    guard_limit_values(evaluator->db);
    *out = evaluator;
    return 0;
}

void model_evaluator_close(struct model_evaluator *evaluator)
{
    if (!evaluator)
        return;
    db_close(evaluator->db);
    free(evaluator);
}

/* --- names --- */

static void use_binding(struct model_expression *x, enum source source, size_t key, struct buffer *sql)
{
    size_t i = FIRST(k, x->binding_count, x->bindings[k].source == source && x->bindings[k].key == key);
    if (i == x->binding_count)
        *array_add(x->bindings, x->binding_count) = (struct binding){source, key};
    buffer_printf(sql, "?%zu", i + 1);
}

static void add_value(const struct value *v, struct buffer *sql)
{
    if (v->kind == VALUE_STRING || v->kind == VALUE_JSON)
        buffer_add_quoted(sql, v->text, '\'');
    else if (v->kind == VALUE_FLOAT)
        buffer_add_double(sql, v->real);
    else
        buffer_printf(sql, "%lld", (long long)v->integer);
}

static const char no_base[] = "there is no [model_space.base] to compare with";
static const char no_parameters[] =
    "the parameters of these models cannot be counted, only those of DHEN models (see mixers)";

/* 1 when the name stands for something of the base's, 0, or -1. */
static int use_base(const struct model_base *base, const char *name, struct buffer *sql, struct error *e)
{
    const struct base_key *key = model_space_base_key(base->table, name);
    const size_t stack = model_space_main_stack(base->table);
    const bool params = strcmp(name, "params") == 0, flops = strcmp(name, "flops") == 0;
    if (base->table->base_count == 0)
        return error_set(e, ERROR_USAGE, "`" BASE_PREFIX "%s`: %s", name, no_base);
    if (key)
        add_value(&key->value, sql);
    else if ((params || flops) && !base->table->dhen)
        return error_set(e, ERROR_USAGE, "`" BASE_PREFIX "%s`: %s", name, no_parameters);
    else if (params || flops)
        buffer_printf(sql, "%lld", (long long)(params ? base->parameters : base->flops));
    else if (strcmp(name, LAYER_COUNT_NAME) == 0 && stack != MODEL_NO_KEY)
        buffer_printf(sql, "%u", model_base_layers(base, &base->table->keys[stack]));
    else
        return 0;
    return 1;
}

/* 1 when the name stands for something of the candidate's, 0, or -1. */
static int use_candidate(const struct model_space_table *space, struct model_expression *x, const char *name,
                         struct buffer *sql, struct error *e)
{
    const size_t key = model_space_find(space, name), layers = model_space_find_layers(space, name);
    const bool params = strcmp(name, "params") == 0, flops = strcmp(name, "flops") == 0;
    if (key != MODEL_NO_KEY)
        use_binding(x, model_key_is_stack(&space->keys[key]) ? SOURCE_STACK : SOURCE_AXIS, key, sql);
    else if (layers != MODEL_NO_KEY)
        use_binding(x, SOURCE_LAYERS, layers, sql);
    else if ((params || flops) && !space->dhen)
        return error_set(e, ERROR_USAGE, "`%s`: %s", name, no_parameters);
    else if (params || flops)
        use_binding(x, params ? SOURCE_PARAMETERS : SOURCE_FLOPS, 0, sql);
    else
        return 0;
    return 1;
}

/* Fails with the names that could have been meant: only those that would do. */
static int unknown_name(const struct model_space_table *space, const char *name, struct error *e)
{
    static const char *const dhen_names[] = {"params", "flops", BASE_PREFIX "params", BASE_PREFIX "flops"};
    struct suggestion meant = suggest_for(name);
    for (size_t i = 0; space->dhen && i < (space->base_count > 0 ? 4 : 2); i++)
        suggest_try(&meant, dhen_names[i]);
    if (model_space_main_stack(space) != MODEL_NO_KEY) {
        suggest_try(&meant, LAYER_COUNT_NAME);
        suggest_try(&meant, "mixers");
    }
    for (size_t k = 0; k < space->key_count; k++) {
        suggest_try(&meant, space->keys[k].name);
        if (space->keys[k].layers_key)
            suggest_try(&meant, space->keys[k].layers_key);
    }
    return error_set(e, ERROR_USAGE, "unknown key `%s`%s", name, suggest_between(&meant, " (did you mean `", "`?)"));
}

static int use_name(void *context, const char *name, bool quoted, struct buffer *sql, struct error *e)
{
    struct model_expression *x = context;
    const struct model_base *base = x->evaluator->base;
    int found = use_candidate(base->table, x, name, sql, e);
    if (found == 0 && strncmp(name, BASE_PREFIX, strlen(BASE_PREFIX)) == 0)
        found = use_base(base, name + strlen(BASE_PREFIX), sql, e);
    if (found == 0 && !quoted && rewrite_is_word_of_sql(name)) {
        buffer_add_text(sql, name);
        found = 1;
    }
    if (found == 0)
        return unknown_name(base->table, name, e);
    return found < 0 ? -1 : 0;
}

/* A stack's name as a function, and mixers(), count its elements. */
static int use_call(void *context, const char *name, bool empty, struct buffer *sql, struct error *e)
{
    struct model_expression *x = context;
    const struct model_space_table *space = x->evaluator->base->table;
    size_t key = model_space_find(space, name);
    if (key == MODEL_NO_KEY && strcmp(name, "mixers") == 0) {
        key = model_space_main_stack(space);
        if (key == MODEL_NO_KEY)
            return error_set(e, ERROR_USAGE,
                             "mixers(): the model space has no layers of mixers, or several kinds of them");
    }
    if (key == MODEL_NO_KEY || !model_key_is_stack(&space->keys[key])) {
        buffer_printf(sql, "%s(", name);
        return 0;
    }
    buffer_printf(sql, ELEMENTS_FUNCTION "(%zu%s", key, empty ? "" : ", ");
    return 0;
}

/* --- compiling and running --- */

int model_expression_compile(struct model_evaluator *evaluator, const char *text, struct model_expression **out,
                             struct error *e)
{
    struct model_expression *x = xcalloc(1, sizeof *x);
    OWNED_BUFFER sql = BUFFER_INIT;
    x->evaluator = evaluator;
    buffer_add_text(&sql, "SELECT ");
    int rc = rewrite_expression(text, &(struct rewriter){use_name, use_call, x}, &sql, e);
    buffer_add_text(&sql, " IS TRUE");
    if (rc == 0)
        rc = guard_prepare(evaluator->db, buffer_text(&sql), &x->statement, e);
    if (rc < 0)
        model_expression_free(x);
    else
        *out = x;
    return rc;
}

void model_expression_free(struct model_expression *x)
{
    if (!x)
        return;
    stmt_free(x->statement);
    buffer_free(&x->text);
    free_all(x->bindings, x);
}

bool model_expression_reads_flops(const struct model_expression *x)
{
    return ANY(i, x->binding_count, x->bindings[i].source == SOURCE_FLOPS);
}

static struct sql_value sql_of(const struct value *v)
{
    return v->kind == VALUE_STRING || v->kind == VALUE_JSON ? sql_text(v->text)
           : v->kind == VALUE_FLOAT                         ? sql_real(v->real)
                                                            : sql_int(v->integer);
}

/* Texts are borrowed until the next call. */
static struct sql_value value_of(struct model_expression *x, const struct binding *b, const struct model_candidate *c)
{
    const struct model_part *part = &c->parts[b->key];
    const struct space_key *key = &c->space->keys[b->key];
    switch (b->source) {
    case SOURCE_AXIS:
        return model_key_has_integers(key) ? sql_int(model_key_integer(key, part->position))
                                           : sql_of(&key->values[part->position]);
    case SOURCE_STACK:
        buffer_clear(&x->text);
        model_candidate_add_json(c, b->key, &x->text);
        return sql_text(buffer_text(&x->text));
    case SOURCE_LAYERS:
        return sql_int(part->stack.layers);
    case SOURCE_PARAMETERS:
        return sql_int(c->parameters);
    case SOURCE_FLOPS:
        return sql_int(c->flops);
    }
    return sql_null();
}

int model_expression_accepts(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    struct model_expression *x = f->context;
    for (size_t i = 0; i < x->binding_count; i++)
        stmt_bind_at(x->statement, (int)i + 1, value_of(x, &x->bindings[i], c));
    x->evaluator->current = c;
    int truth = guard_truth(x->statement, e);
    return truth < 0 ? error_context(e, "%s", f->name) : truth;
}
