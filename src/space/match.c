#include "space/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/guard.h"
#include "expression/expression.h"
#include "space/compile.h"
#include "space/identity.h"
#include "util/memory.h"
#include "util/string_list.h"

/* A rule is counted by itself where that takes up to about so many evaluations, which is some milliseconds. */
#define CHEAP_EVALUATIONS 60000

/* The time that SQLite may take for expressions: this, and so much for each combination. The slowest real sweep takes a
 * thousandth. */
#define PATIENCE_MS 10000
#define PATIENCE_PER_COMBINATION_US 100
#define MOST_PATIENCE_MS (INT64_C(86400000) * 365)

/* --- counting --- */

struct census {
    struct space *space;
    struct formula *filter; /* NULL: none */
    struct hash_map memory;
    size_t rule;              /* that is being counted; the number of rules: none */
    struct constraints rules; /* of those so far, and the filter */
    int64_t left;             /* that meet them */
};

/* An expression without end, or one that is hostile, must end; one that is merely large, must not. */
static void allow_time(struct space *space)
{
    int64_t combinations = space_combinations(space);
    int64_t ms = PATIENCE_MS + combinations / (1000 / PATIENCE_PER_COMBINATION_US);
    ms = ms < MOST_PATIENCE_MS ? ms : MOST_PATIENCE_MS;
    OWNED char *sentence =
        xasprintf("%s: evaluating the rules and expressions for %lld combinations takes more than %lld s; "
                  "simplify them or try fewer values",
                  space->sweep->path, (long long)combinations, (long long)ms / 1000);
    guard_limit_time(space->db, ms, sentence);
}

static int count(struct census *c, const struct constraints *constraints, int64_t most, int64_t *out, struct error *e)
{
    struct product product = space_product(c->space);
    product.watch = c->space->watch;
    product.rule = c->rule;
    return combinations_count(&product, constraints, &c->memory, most, out, e);
}

/* How many of `of` combinations a rule makes false whatever the others say; -1 where that is dear. */
static int count_alone(struct census *c, size_t rule, int64_t of, int64_t *out, struct error *e)
{
    const struct space_rule *r = &c->space->rules[rule];
    struct constraints alone = {NULL, 0};
    int64_t met = 0;
    *out = -1;
    c->rule = rule;
    if (r->is_costly)
        return 0;
    constraints_add(&alone, c->filter, DEMAND_TRUE);
    formulas_add_rule(c->space, rule, &alone);
    int rc = count(c, &alone, CHEAP_EVALUATIONS, &met, e);
    if (rc > 0)
        *out = of - met;
    free(alone.items);
    return rc < 0 ? -1 : 0;
}

/* How many fewer are left with this rule, too. */
static int count_fewer(struct census *c, size_t rule, int64_t *out, struct error *e)
{
    const size_t before = c->rules.count;
    int64_t left = 0;
    c->rule = rule;
    formulas_add_rule(c->space, rule, &c->rules);
    int rc = count(c, &c->rules, 0, &left, e);
    c->rules.count = before;
    *out = c->left - left;
    return rc < 0 ? -1 : 0;
}

/* Finds how many of those that are left it excludes, where that follows from how many of all it makes false by
 * itself. */
static bool follows_from_alone(const struct census *c, int64_t of, struct rule_count *out)
{
    if (c->left > 0 && out->alone != 0 && out->alone != of)
        return false;
    out->excluded = out->alone == of ? c->left : 0;
    return true;
}

/* Counts a rule that excludes. All that the first one excludes it makes false by itself. */
static int count_rule(struct census *c, size_t rule, int64_t combinations, struct rule_count *out, struct error *e)
{
    bool is_first = c->rules.count == 0;
    if (!is_first && count_alone(c, rule, combinations, &out->alone, e) < 0)
        return -1;
    if ((is_first || !follows_from_alone(c, combinations, out)) && count_fewer(c, rule, &out->excluded, e) < 0)
        return -1;
    if (is_first)
        out->alone = c->space->rules[rule].is_costly ? -1 : out->excluded;
    if (out->excluded > 0)
        formulas_add_rule(c->space, rule, &c->rules);
    c->left -= out->excluded;
    return 0;
}

static int count_rules(struct census *c, int64_t combinations, struct rule_count *rules, struct error *e)
{
    const struct space *space = c->space;
    for (size_t i = 0; i < space->rule_count; i++)
        if (!space->rules[i].warning && count_rule(c, i, combinations, &rules[i], e) < 0)
            return -1;
    for (size_t i = 0; i < space->rule_count; i++) {
        if (!space->rules[i].warning)
            continue;
        if (count_alone(c, i, combinations, &rules[i].alone, e) < 0 ||
            (!follows_from_alone(c, combinations, &rules[i]) && count_fewer(c, i, &rules[i].excluded, e) < 0))
            return -1;
    }
    return 0;
}

int match_count(struct space *space, const struct expression *filter, struct match_counts *out, struct error *e)
{
    struct match_counts m = {space_combinations(space), 0, xcalloc(space->rule_count + 1, sizeof *m.rules)};
    struct census c = {.space = space, .filter = formulas_compile_filter(space, filter), .rule = space->rule_count};
    allow_time(space);
    constraints_add(&c.rules, c.filter, DEMAND_TRUE);
    int rc = filter ? count(&c, &c.rules, 0, &m.combinations, e) : 0;
    c.left = m.combinations;
    if (rc >= 0)
        rc = count_rules(&c, m.combinations, m.rules, e);
    m.matched = c.left;
    if (rc < 0) {
        compile_blame(space, e);
        free(m.rules);
    } else
        *out = m;
    hash_map_free(&c.memory);
    formula_free(c.filter);
    free(c.rules.items);
    return rc;
}

/* --- what can be told without looking --- */

/* Returns whether what differs in a spec is another job. */
static bool specs_identify(const struct space *space)
{
    return space->inert_count == 0 && !space->of_jobs;
}

bool match_are_distinct(const struct space *space)
{
    bool distinct = specs_identify(space);
    for (int i = 0; i < SECTION_COUNT && distinct; i++)
        distinct = space->counts[i] <= 1 || specs_are_distinct(space->specs[i]);
    return distinct;
}

/* A relation of each section with each spec once. */
static bool make_distinct(const struct space *space, struct arena *arena, struct relation *out)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct spec_block *blocks;
        size_t count;
        if (space->relations[i].shape_count == 0)
            continue;
        if (!specs_distinct_blocks(space->specs[i], arena, &blocks, &count))
            return false;
        relation_make(arena, blocks, count, &space->names, (enum section_kind)i, &out[i]);
    }
    return true;
}

int match_count_jobs(struct space *space, const struct expression *filter, int64_t *out, struct error *e)
{
    struct arena scratch = {0};
    struct relation relations[SECTION_COUNT] = {{NULL, 0}};
    struct product product = space_product(space);
    struct constraints c = {NULL, 0};
    int rc = 0;
    product.relations = relations;
    struct formula *within = formulas_compile_filter(space, filter);
    formulas_add_rules(space, space->rule_count, &c);
    constraints_add(&c, within, DEMAND_TRUE);
    if (specs_identify(space) && make_distinct(space, &scratch, relations))
        rc = combinations_count(&product, &c, NULL, 0, out, e);
    free(c.items);
    formula_free(within);
    arena_free(&scratch);
    return rc < 0 ? compile_blame(space, e) : rc;
}

static bool is_fixed(const struct space *space, const struct formula *f)
{
    size_t count = 0;
    const size_t *keys = f ? formula_keys(f, &count) : NULL;
    return !ANY(i, count, specs_differ(space->specs[space->names.keys[keys[i]].section], keys[i]));
}

bool match_are_alike(const struct space *space)
{
    const struct formulas *f = space->formulas;
    bool alike = !space->of_jobs && !space->prediction.asked && is_fixed(space, f->devices);
    for (int i = 0; i < LIMIT_COUNT; i++)
        alike = alike && is_fixed(space, f->limits[i]);
    for (size_t i = 0; i < space->names.derived_count; i++)
        alike = alike && is_fixed(space, f->derived[i]);
    return alike;
}

/* --- excluded combinations --- */

/* The values of the keys that a rule reads, as a JSON object: one call, which is SQLite's as a whole. Names of keys
 * hold no quotes (template.h). */
static struct formula *compile_values(const struct space *space, const struct expression *x)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    for (size_t i = 0; i < x->key_count; i++) {
        buffer_printf(&sql, "%s\"%s\":' || json_quote(", i ? " || '," : "trim('{", space->names.keys[x->keys[i]].name);
        expression_add_column(&sql, &space->names.keys[x->keys[i]]);
        buffer_add_char(&sql, ')');
    }
    buffer_add_text(&sql, x->key_count ? " || '}')" : "'{}'");
    return formula_compile(&space->names, buffer_text(&sql));
}

int match_excluded(struct space *space, const struct exclusion_query *q, struct error *e)
{
    const struct product product = space_product(space);
    OWNED struct datum *keys = xcalloc(space->names.key_count + 1, sizeof *keys);
    const struct scope s = {keys, space->evaluator};
    struct formula *filter = formulas_compile_filter(space, q->filter);
    struct formula *values = compile_values(space, &space->rules[q->rule].accepts);
    struct constraints c = {NULL, 0};
    OWNED_LIST given = STRING_LIST_INIT;
    int64_t rank, specs[SECTION_COUNT], shown = 0;
    formulas_add_rules(space, q->rule, &c);
    constraints_add(&c, space->formulas->rules[q->rule].whole, DEMAND_FALSE);
    constraints_add(&c, filter, DEMAND_TRUE);
    struct combinations *walk = combinations_open(&product, &c);
    int rc = 0;
    for (int seen = 0; rc >= 0 && shown < q->limit && (!q->distinct || seen < EXCLUSIONS_LOOKED_AT) &&
                       (rc = combinations_next(walk, &rank, specs, e)) > 0;
         seen++) {
        space_read_keys(space, rank, keys);
        const struct datum json = formula_value(values, &s);
        if (evaluator_failed(space->evaluator, e))
            rc = -1;
        else if (!q->distinct || string_list_find(&given, json.text) == given.count) {
            string_list_add(&given, xstrdup(json.text));
            rc = q->each(q->context, rank, json.text, e);
            shown++;
        }
    }
    combinations_close(walk);
    formula_free(filter);
    formula_free(values);
    free(c.items);
    return rc < 0 ? -1 : 0;
}

/* --- the matches, one after the other --- */

struct match_cursor {
    struct space *space;
    struct combinations *walk; /* NULL: one at a time */
    struct formula *filter;
    struct value *stored; /* of a stored job, one per names.keys; NULL: combinations of the sweep */
    enum rules_use rules; /* of one at a time */
    bool is_given;        /* the same: it was not given yet */
    bool has_hash[SECTION_COUNT];
    struct hash128 hashes[SECTION_COUNT]; /* of the stored job */
    struct datum *keys;                   /* of the combination */
    struct scope scope;
    int64_t bound[SECTION_COUNT]; /* whose keys those are: the spec, plus 1; 0: none */
    struct match current;
    struct value *values; /* borrow their texts */
    struct value *derived;
    struct value *counted; /* as `values`, NULL where the key is inert */
    bool *is_inert;        /* by key */
    struct buffer identity, core;
};

bool match_keeps_derived(const struct space *space, size_t derived)
{
    if (!space->names.derived[derived].is_builtin)
        return true;
    return ANY(i, space->placeholder_count,
               space->placeholders[i].is_derived && space->placeholders[i].index == derived);
}

static struct value value_of(const struct datum *c)
{
    switch (c->kind) {
    case DATUM_INT:
        return (struct value){VALUE_INT, c->integer, 0, NULL};
    case DATUM_REAL:
        return (struct value){VALUE_FLOAT, 0, c->real, NULL};
    case DATUM_TEXT:
        return (struct value){VALUE_STRING, 0, 0, (char *)c->text};
    default:
        return (struct value){VALUE_NULL, 0, 0, NULL};
    }
}

struct value match_column_value(const struct stmt *s, int column)
{
    const struct datum cell = datum_of_column(s, column);
    struct value v = value_of(&cell);
    v.text = v.text ? xstrdup(v.text) : NULL;
    return v;
}

struct value match_typed(struct value value, const struct placeholder *p)
{
    if (p->is_bool && value.kind == VALUE_INT)
        value.kind = VALUE_BOOL;
    if (p->has_list && value.kind == VALUE_STRING && value.text[0] == '[')
        value.kind = VALUE_JSON;
    return value;
}

/* --- making --- */

static struct match_cursor *make_cursor(struct space *space)
{
    struct match_cursor *c = xcalloc(1, sizeof *c);
    c->space = space;
    c->values = xcalloc(space->placeholder_count + 1, sizeof *c->values);
    c->derived = xcalloc(space->names.derived_count + 1, sizeof *c->derived);
    c->counted = xcalloc(space->placeholder_count + 1, sizeof *c->counted);
    c->is_inert = xcalloc(space->names.key_count + 1, sizeof *c->is_inert);
    c->keys = xcalloc(space->names.key_count + 1, sizeof *c->keys);
    c->scope = (struct scope){c->keys, space->evaluator};
    return c;
}

struct match_cursor *match_open(struct space *space, const struct expression *filter)
{
    struct product product = space_product(space);
    struct match_cursor *c = make_cursor(space);
    product.watch = space->watch;
    product.rule = space->rule_count;
    struct constraints constraints = {NULL, 0};
    c->filter = formulas_compile_filter(space, filter);
    formulas_add_rules(space, space->rule_count, &constraints);
    constraints_add(&constraints, c->filter, DEMAND_TRUE);
    c->walk = combinations_open(&product, &constraints);
    free(constraints.items);
    allow_time(space);
    return c;
}

void match_seek_rank(struct match_cursor *c, int64_t rank)
{
    combinations_seek(c->walk, rank);
}

struct match_cursor *match_open_single(struct space *space, enum rules_use rules)
{
    struct match_cursor *c = make_cursor(space);
    c->rules = rules;
    return c;
}

void match_seek(struct match_cursor *c, const int64_t *spec)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        c->current.spec[i] = !c->space->counts[i] ? -1 : spec[i] < 0 ? 0 : spec[i]; /* the default cluster has one */
    c->is_given = true;
}

struct match_cursor *match_open_stored(struct space *space)
{
    struct match_cursor *c = make_cursor(space);
    c->stored = xcalloc(space->names.key_count + 1, sizeof *c->stored);
    return c;
}

static void drop_stored(struct match_cursor *c)
{
    for (size_t k = 0; c->stored && k < c->space->names.key_count; k++) {
        value_free(&c->stored[k]);
        c->stored[k] = (struct value){.kind = VALUE_NULL};
        c->keys[k].kind = DATUM_NULL;
    }
}

/* False where the sweep lacks a key, of which nobody could say what it means, or the spec is no canonical JSON. */
static bool read_spec(struct match_cursor *c, enum section_kind section, const char *json)
{
    const struct names *n = &c->space->names;
    const char *at = json + (*json == '{');
    struct value value;
    char *name;
    while (value_next_member(&at, &name, &value)) {
        const struct key *key = names_find(n, section, name);
        free(name);
        if (!key) {
            value_free(&value);
            return false;
        }
        c->stored[key - n->keys] = value;
        c->keys[key - n->keys] = specs_datum_of(&value);
    }
    return c->space->counts[section] && strcmp(at, "}") == 0;
}

static bool seek_stored(struct match_cursor *c, const struct job_specs *job)
{
    drop_stored(c);
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (job->json[i] && !read_spec(c, (enum section_kind)i, job->json[i]))
            return false;
        c->has_hash[i] = c->space->counts[i] && job->hash[i];
        if (c->has_hash[i])
            memcpy(c->hashes[i].bytes, job->hash[i], sizeof c->hashes[i].bytes);
        c->current.spec[i] = c->space->counts[i] ? 0 : -1;
    }
    return c->is_given = true;
}

void match_close(struct match_cursor *c)
{
    if (!c)
        return;
    combinations_close(c->walk);
    formula_free(c->filter);
    drop_stored(c);
    free_all(c->stored, c->keys, c->values, c->derived, c->counted, c->is_inert);
    buffer_free(&c->identity);
    buffer_free(&c->core);
    free(c);
}

/* --- a combination --- */

/* Rules are only asked of what no walk has asked. */
static void bind_specs(struct match_cursor *c)
{
    const struct space *space = c->space;
    for (size_t k = 0; k < space->names.key_count; k++) {
        enum section_kind section = space->names.keys[k].section;
        if (c->bound[section] == c->current.spec[section] + 1 || (!space->formulas->is_read[k] && !c->rules))
            continue;
        c->keys[k] = specs_datum_of(specs_value(space->specs[section], c->current.spec[section], k));
    }
    for (int i = 0; i < SECTION_COUNT; i++)
        c->bound[i] = c->current.spec[i] + 1;
}

static bool breaks_rule(const struct match_cursor *c, size_t rule)
{
    const struct space *space = c->space;
    return !space->rules[rule].warning && formula_truth(space->formulas->rules[rule].whole, &c->scope) == CAN_BE_FALSE;
}

int match_broken(struct match_cursor *c, bool *breaks, struct error *e)
{
    for (size_t i = 0; i < c->space->rule_count; i++)
        breaks[i] = breaks_rule(c, i);
    return evaluator_failed(c->space->evaluator, e) ? -1 : 0;
}

static int64_t integer_of(const struct datum *cell)
{
    if (cell->kind == DATUM_REAL)
        return cell->real >= 9e18 ? INT64_MAX : cell->real <= -9e18 ? INT64_MIN : (int64_t)cell->real;
    return cell->kind == DATUM_INT ? cell->integer : cell->kind == DATUM_TEXT ? strtoll(cell->text, NULL, 10) : 0;
}

/* NULL: 0. */
static int64_t read_number(const struct match_cursor *c, struct formula *f)
{
    const struct datum cell = f ? formula_value(f, &c->scope) : (struct datum){DATUM_NULL, {0}};
    return integer_of(&cell);
}

static void read_texts(struct match_cursor *c)
{
    const struct space *space = c->space;
    for (size_t i = 0; i < space->names.derived_count; i++)
        if (space->formulas->derived[i]) {
            const struct datum cell = formula_value(space->formulas->derived[i], &c->scope);
            c->derived[i] = value_of(&cell);
        }
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        c->values[i] = match_typed(p->is_derived ? c->derived[p->index] : value_of(&c->keys[p->index]), p);
    }
}

static void read_prediction(struct match_cursor *c)
{
    struct match *m = &c->current;
    struct input_value values[INPUT_COUNT];
    const struct prediction *p = NULL;
    m->why_not = "";
    if (c->space->prediction.asked) {
        prediction_read_inputs(c->space, &c->scope, values);
        p = prediction_of_values(c->space, values, &m->why_not);
    }
    m->prediction = p;
    m->predicted_memory = p && p->has_memory ? p->measured_bytes : NAN;
    m->predicted_memory_of = p && p->has_memory ? prediction_memory_words(&c->space->prediction, p) : NULL;
    m->predicted_time = p && p->has_time ? p->seconds : NAN;
    m->predicted_steps = p ? p->steps : 0;
    m->risk = p ? p->verdict : 0;
    m->is_audit = prediction_prunes(&c->space->prediction, m->risk);
}

/* --- identity --- */

static bool has_inert(const struct space *space, int section)
{
    return ANY(i, space->inert_count, (int)space->names.keys[space->inert[i].key].section == section);
}

static void find_inert(struct match_cursor *c)
{
    const struct space *space = c->space;
    memset(c->is_inert, 0, space->names.key_count * sizeof *c->is_inert);
    for (size_t i = 0; i < space->inert_count; i++)
        c->is_inert[space->inert[i].key] |= formula_truth(space->formulas->inert[i], &c->scope) == CAN_BE_TRUE;
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        c->counted[i] = c->values[i];
        if (!p->is_derived && c->is_inert[p->index])
            c->counted[i] = (struct value){VALUE_NULL, 0, 0, NULL};
    }
}

/* Returns the hash of the spec without what is inert. */
static struct hash128 core_hash(struct match_cursor *c, int section)
{
    buffer_clear(&c->core);
    specs_add_json(c->space->specs[section], c->current.spec[section], true, c->is_inert, &c->core);
    return hash_bytes(c->core.data, c->core.length);
}

/* An inert value counts neither in its spec nor in the command: two commands that differ in it do the same. */
static struct hash128 identify(struct match_cursor *c)
{
    const struct space *space = c->space;
    struct hash128 cores[SECTION_COUNT];
    const void *hashes[SECTION_COUNT] = {NULL};
    if (space->inert_count > 0)
        find_inert(c);
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (c->stored ? !c->has_hash[i] : !space->counts[i])
            continue;
        cores[i] = c->stored             ? c->hashes[i]
                   : has_inert(space, i) ? core_hash(c, i)
                                         : specs_hash(space->specs[i], c->current.spec[i]);
        hashes[i] = cores[i].bytes;
    }
    return identity_job_key(space, hashes, space->inert_count ? c->counted : c->values, c->derived, &c->identity);
}

static void read_row(struct match_cursor *c)
{
    struct space *space = c->space;
    struct match *m = &c->current;
    m->rank = combination_rank(space->counts, m->spec);
    m->devices = read_number(c, space->formulas->devices);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        int64_t ms = read_number(c, space->formulas->limits[i]);
        m->limit_ms[i] = ms > 0 ? ms : 0;
    }
    read_texts(c);
    read_prediction(c);
    m->values = c->values;
    m->derived = c->derived;
    m->key = identify(c);
}

static int next_combination(struct match_cursor *c, struct error *e)
{
    if (c->walk)
        return combinations_next(c->walk, &c->current.rank, c->current.spec, e);
    bool given = c->is_given;
    c->is_given = false;
    return given;
}

struct datum *match_keys(const struct match_cursor *c)
{
    return c->keys;
}

int match_next(struct match_cursor *c, const struct match **out, struct error *e)
{
    int rc = next_combination(c, e);
    if (rc > 0 && !c->stored)
        bind_specs(c);
    if (rc > 0 && c->rules == RULES_EXCLUDE && ANY(i, c->space->rule_count, breaks_rule(c, i)))
        rc = 0;
    if (rc > 0)
        read_row(c);
    if (evaluator_failed(c->space->evaluator, e))
        rc = -1;
    *out = &c->current;
    return rc < 0 && c->walk ? compile_blame(c->space, e) : rc;
}

void match_add_derived_json(const struct space *space, const struct match *m, struct buffer *out)
{
    size_t start = out->length;
    for (size_t i = 0; i < space->names.derived_count; i++) {
        if (!space->formulas->derived[i])
            continue;
        buffer_add_char(out, out->length == start ? '{' : ',');
        buffer_add_json_string(out, space->names.derived[i].name, strlen(space->names.derived[i].name));
        buffer_add_char(out, ':');
        value_add_json(&m->derived[i], out);
    }
    if (out->length > start)
        buffer_add_char(out, '}');
}

const struct match *match_stored(struct match_cursor *c, const struct job_specs *job)
{
    const struct match *m;
    struct error unusual = ERROR_INIT;
    bool is_same = seek_stored(c, job) && match_next(c, &m, &unusual) > 0 &&
                   memcmp(m->key.bytes, job->key, sizeof m->key.bytes) == 0;
    return is_same ? m : NULL;
}
