#include "space/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space/compile.h"
#include "space/identity.h"
#include "util/memory.h"

#define ALL_SECTIONS ((1U << SECTION_COUNT) - 1)
#define HASHES_KEPT 1024 /* per section; a power of two */

struct kept_hash {
    int64_t spec; /* plus 1; 0: none */
    struct hash128 hash;
};

/* A number that is the same until a spec changes that it is made from. */
struct kept_number {
    struct formula *formula; /* NULL: it is 0 */
    unsigned sections;       /* bits: whose keys it reads */
    bool is_known;
    int64_t number;
};

struct match_cursor {
    struct space *space;
    struct combinations *walk; /* NULL: one at a time */
    struct solver_watch watch;
    struct formula *filter;
    struct stmt *stored;  /* the keys of a stored job, in the order of names.keys; NULL: combinations of the sweep */
    enum rules_use rules; /* of one at a time */
    bool is_given;        /* the same: it was not given yet */
    bool has_hash[SECTION_COUNT];
    struct hash128 hashes[SECTION_COUNT]; /* of the stored job */
    struct kept_hash *kept[SECTION_COUNT];
    struct range *keys; /* of the combination */
    struct scope scope;
    int64_t bound[SECTION_COUNT]; /* whose keys those are: the spec, plus 1; 0: none */
    unsigned changed;             /* sections (bits) whose spec is another than in the combination before */
    struct kept_number devices, limits[LIMIT_COUNT];
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
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (space->placeholders[i].is_derived && space->placeholders[i].index == derived)
            return true;
    return false;
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

struct value match_column_value(const struct stmt *s, int column, bool is_bool)
{
    const struct datum cell = datum_of_column(s, column);
    struct value v = value_of(&cell);
    v.kind = is_bool && v.kind == VALUE_INT ? VALUE_BOOL : v.kind;
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

static struct kept_number number_of(const struct space *space, struct formula *f)
{
    struct kept_number n = {.formula = f};
    size_t count = 0;
    const size_t *keys = f ? formula_keys(f, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        n.sections |= 1U << space->names.keys[keys[i]].section;
    return n;
}

static struct match_cursor *make_cursor(struct space *space)
{
    struct match_cursor *c = xcalloc(1, sizeof *c);
    c->space = space;
    c->values = xcalloc(space->placeholder_count + 1, sizeof *c->values);
    c->derived = xcalloc(space->names.derived_count + 1, sizeof *c->derived);
    c->counted = xcalloc(space->placeholder_count + 1, sizeof *c->counted);
    c->is_inert = xcalloc(space->names.key_count + 1, sizeof *c->is_inert);
    c->keys = xcalloc(space->names.key_count + 1, sizeof *c->keys);
    for (size_t k = 0; k < space->names.key_count; k++)
        c->keys[k] = (struct range){.exact = true};
    for (int i = 0; i < SECTION_COUNT; i++)
        c->kept[i] = xcalloc(HASHES_KEPT, sizeof *c->kept[i]);
    c->scope = evaluator_scope(space->evaluator, c->keys);
    c->devices = number_of(space, space->formulas->devices);
    for (int i = 0; i < LIMIT_COUNT; i++)
        c->limits[i] = number_of(space, space->formulas->limits[i]);
    return c;
}

static int look_at_watch(void *context, double share, struct error *e)
{
    const struct space *space = context;
    return space->watch->look(space->watch->context, space->rule_count, share, e);
}

int match_open(struct space *space, const struct expression *filter, struct match_cursor **out, struct error *e)
{
    struct product product = space_product(space);
    struct match_cursor *c = make_cursor(space);
    c->watch = (struct solver_watch){look_at_watch, space};
    product.watch = space->watch ? &c->watch : NULL;
    struct constraints constraints = {NULL, 0};
    (void)e;
    c->filter = formulas_compile_filter(space, filter);
    formulas_add_rules(space, space->rule_count, &constraints);
    constraints_add(&constraints, c->filter, DEMAND_TRUE);
    c->walk = combinations_open(&product, &constraints);
    free(constraints.items);
    match_allow_time(space);
    *out = c;
    return 0;
}

void match_seek_rank(struct match_cursor *c, int64_t rank)
{
    combinations_seek(c->walk, rank);
}

int match_open_single(struct space *space, enum rules_use rules, struct match_cursor **out, struct error *e)
{
    (void)e;
    *out = make_cursor(space);
    (*out)->rules = rules;
    return 0;
}

void match_seek(struct match_cursor *c, const int64_t *spec)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        c->current.spec[i] = !c->space->counts[i] ? -1 : spec[i] < 0 ? 0 : spec[i]; /* the default cluster has one */
    c->is_given = true;
}

int match_open_stored(struct space *space, struct match_cursor **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    struct match_cursor *c = make_cursor(space);
    buffer_add_text(&sql, "SELECT 0");
    for (size_t k = 0; k < space->names.key_count; k++) {
        buffer_add_text(&sql, ", ");
        expression_add_column(&sql, &space->names.keys[k]);
    }
    buffer_add_char(&sql, ' ');
    stored_add_from(space, NULL, &sql);
    int rc = db_prepare_built(space->db, &sql, &c->stored, e);
    if (rc < 0)
        match_close(c);
    else
        *out = c;
    return rc;
}

static void seek_stored(struct match_cursor *c, const struct job_specs *job)
{
    stmt_reset(c->stored);
    stored_bind(c->stored, c->space, job);
    for (int i = 0; i < SECTION_COUNT; i++) {
        c->has_hash[i] = c->space->counts[i] && job->hash[i];
        if (c->has_hash[i])
            memcpy(c->hashes[i].bytes, job->hash[i], sizeof c->hashes[i].bytes);
        c->current.spec[i] = c->space->counts[i] ? 0 : -1;
    }
    c->is_given = true;
}

void match_close(struct match_cursor *c)
{
    if (!c)
        return;
    combinations_close(c->walk);
    formula_free(c->filter);
    stmt_free(c->stored);
    for (int i = 0; i < SECTION_COUNT; i++)
        free(c->kept[i]);
    free_all(c->keys, c->values, c->derived, c->counted, c->is_inert);
    buffer_free(&c->identity);
    buffer_free(&c->core);
    free(c);
}

/* --- a combination --- */

/* Rules are only asked of what no walk has asked. */
static void bind_specs(struct match_cursor *c)
{
    const struct space *space = c->space;
    c->changed = 0;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (c->bound[i] != c->current.spec[i] + 1)
            c->changed |= 1U << i;
    for (size_t k = 0; k < space->names.key_count; k++) {
        enum section_kind section = space->names.keys[k].section;
        if (!(c->changed & 1U << section) || (!space->formulas->is_read[k] && !c->rules))
            continue;
        const struct datum cell = specs_datum_of(specs_value(space->specs[section], c->current.spec[section], k));
        c->keys[k] = range_of_datum(&cell);
    }
    for (int i = 0; i < SECTION_COUNT; i++)
        c->bound[i] = c->current.spec[i] + 1;
}

static int bind_stored(struct match_cursor *c, struct error *e)
{
    int rc = stmt_next(c->stored, e);
    for (size_t k = 0; rc > 0 && k < c->space->names.key_count; k++) {
        const struct datum cell = datum_of_column(c->stored, (int)k + 1);
        c->keys[k] = range_of_datum(&cell);
    }
    c->changed = ALL_SECTIONS;
    return rc;
}

static bool obeys_rules(struct match_cursor *c)
{
    const struct space *space = c->space;
    for (size_t i = 0; i < space->rule_count; i++)
        if (!space->rules[i].warning && formula_truth(space->formulas->rules[i].whole, &c->scope) == CAN_BE_FALSE)
            return false;
    return true;
}

int match_broken(struct match_cursor *c, bool *breaks, struct error *e)
{
    const struct space *space = c->space;
    for (size_t i = 0; i < space->rule_count; i++)
        breaks[i] =
            !space->rules[i].warning && formula_truth(space->formulas->rules[i].whole, &c->scope) == CAN_BE_FALSE;
    return evaluator_failed(space->evaluator, e) ? -1 : 0;
}

static int64_t integer_of(const struct datum *cell)
{
    if (cell->kind == DATUM_REAL)
        return cell->real >= 9e18 ? INT64_MAX : cell->real <= -9e18 ? INT64_MIN : (int64_t)cell->real;
    return cell->kind == DATUM_INT ? cell->integer : cell->kind == DATUM_TEXT ? strtoll(cell->text, NULL, 10) : 0;
}

static int64_t read_number(const struct match_cursor *c, struct kept_number *n)
{
    if (n->formula && (!n->is_known || (n->sections & c->changed))) {
        const struct datum cell = formula_value(n->formula, &c->scope);
        n->number = integer_of(&cell);
        n->is_known = true;
    }
    return n->number;
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
        c->values[i] = match_typed(p->is_derived ? c->derived[p->index] : value_of(&c->keys[p->index].datum), p);
    }
}

static void read_inputs(struct match_cursor *c, struct input_value *values)
{
    for (int i = 0; i < INPUT_COUNT; i++) {
        struct formula *f = c->space->formulas->inputs[i];
        const struct datum cell = f ? formula_value(f, &c->scope) : (struct datum){DATUM_NULL, {0}};
        values[i] = cell.kind == DATUM_TEXT   ? (struct input_value){INPUT_TEXT, 0, cell.text}
                    : cell.kind == DATUM_INT  ? (struct input_value){INPUT_NUMBER, (double)cell.integer, NULL}
                    : cell.kind == DATUM_REAL ? (struct input_value){INPUT_NUMBER, cell.real, NULL}
                                              : (struct input_value){INPUT_ABSENT, 0, NULL};
    }
}

static void read_prediction(struct match_cursor *c)
{
    struct match *m = &c->current;
    struct input_value values[INPUT_COUNT];
    const struct prediction *p = NULL;
    m->why_not = "";
    if (c->space->prediction.asked) {
        read_inputs(c, values);
        p = prediction_of_values(c->space, values, &m->why_not);
    }
    m->prediction = p;
    m->predicted_memory = p && p->has_memory ? p->measured_bytes : NAN;
    m->predicted_memory_of = p && p->has_memory ? prediction_memory_words(&c->space->prediction, p) : NULL;
    m->predicted_time = p && p->has_time ? p->seconds : NAN;
    m->predicted_steps = p ? p->steps : 0;
    m->risk = p ? p->verdict : 0;
    m->is_audit = prediction_prunes(c->space, m->risk);
}

/* --- identity --- */

static const struct hash128 *spec_hash(struct match_cursor *c, int section)
{
    int64_t spec = c->current.spec[section];
    struct kept_hash *kept = &c->kept[section][spec & (HASHES_KEPT - 1)];
    if (kept->spec != spec + 1)
        *kept = (struct kept_hash){spec + 1, specs_hash(c->space->specs[section], spec)};
    return &kept->hash;
}

static bool has_inert(const struct space *space, int section)
{
    for (size_t i = 0; i < space->inert_count; i++)
        if ((int)space->names.keys[space->inert[i].key].section == section)
            return true;
    return false;
}

static void find_inert(struct match_cursor *c)
{
    const struct space *space = c->space;
    for (size_t i = 0; i < space->inert_count; i++)
        c->is_inert[space->inert[i].key] = formula_truth(space->formulas->inert[i], &c->scope) == CAN_BE_TRUE;
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
        cores[i] = c->stored ? c->hashes[i] : has_inert(space, i) ? core_hash(c, i) : *spec_hash(c, i);
        hashes[i] = cores[i].bytes;
    }
    return identity_job_key(space, hashes, space->inert_count ? c->counted : c->values, c->derived, &c->identity);
}

static void read_row(struct match_cursor *c)
{
    struct space *space = c->space;
    struct match *m = &c->current;
    m->rank = combination_rank(space->counts, m->spec);
    m->devices = read_number(c, &c->devices);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        int64_t ms = read_number(c, &c->limits[i]);
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

/* Forgets what was worked out: it may be wrong. */
static void forget(struct match_cursor *c)
{
    c->devices.is_known = false;
    for (int i = 0; i < LIMIT_COUNT; i++)
        c->limits[i].is_known = false;
}

int match_next(struct match_cursor *c, const struct match **out, struct error *e)
{
    int rc = next_combination(c, e);
    if (rc > 0 && c->stored)
        rc = bind_stored(c, e);
    else if (rc > 0)
        bind_specs(c);
    if (rc > 0 && c->rules == RULES_EXCLUDE && !obeys_rules(c))
        rc = 0;
    if (rc > 0)
        read_row(c);
    if (evaluator_failed(c->space->evaluator, e)) {
        forget(c);
        rc = -1;
    }
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
    if (!stored_is_known(c->space, job))
        return NULL;
    seek_stored(c, job);
    bool is_same = match_next(c, &m, &unusual) > 0 && memcmp(m->key.bytes, job->key, sizeof m->key.bytes) == 0;
    return is_same ? m : NULL;
}
