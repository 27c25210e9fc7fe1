#include "space/match.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "database/guard.h"
#include "expression/expression.h"
#include "space/compile.h"
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
    size_t rule;              /* that is being counted; rule_count: none */
    struct constraints rules; /* of those so far, and the filter */
    int64_t left;             /* that meet them */
};

void match_allow_time(struct space *space)
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

static int look_at_watch(void *context, double share, struct error *e)
{
    const struct census *c = context;
    const struct match_watch *watch = c->space->watch;
    return watch->look(watch->context, c->rule, share, e);
}

static int count(struct census *c, const struct constraints *constraints, int64_t most, int64_t *out, struct error *e)
{
    const struct solver_watch watch = {look_at_watch, c};
    struct product product = space_product(c->space);
    product.watch = c->space->watch ? &watch : NULL;
    return combinations_count(&product, constraints, &c->memory, most, out, e);
}

static void copy_rules(const struct census *c, struct constraints *out)
{
    *out = (struct constraints){NULL, 0};
    for (size_t i = 0; i < c->rules.count; i++)
        constraints_add(out, c->rules.items[i].formula, c->rules.items[i].demand);
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
    struct constraints with;
    int64_t left = 0;
    c->rule = rule;
    copy_rules(c, &with);
    formulas_add_rule(c->space, rule, &with);
    int rc = count(c, &with, 0, &left, e);
    *out = c->left - left;
    free(with.items);
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
    match_allow_time(space);
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
static bool make_distinct(const struct space *space, struct relation *out)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct spec_block *blocks;
        size_t count;
        if (space->relations[i].shape_count == 0)
            continue;
        if (!specs_distinct_blocks(space->specs[i], &blocks, &count))
            return false;
        relation_make(blocks, count, &space->names, (enum section_kind)i, &out[i]);
        spec_blocks_free(blocks, count);
    }
    return true;
}

int match_count_jobs(struct space *space, const struct expression *filter, int64_t *out, struct error *e)
{
    struct relation relations[SECTION_COUNT] = {{NULL, 0}};
    struct product product = space_product(space);
    struct constraints c = {NULL, 0};
    int rc = 0;
    product.relations = relations;
    struct formula *within = formulas_compile_filter(space, filter);
    formulas_add_rules(space, space->rule_count, &c);
    constraints_add(&c, within, DEMAND_TRUE);
    if (specs_identify(space) && make_distinct(space, relations))
        rc = combinations_count(&product, &c, NULL, 0, out, e);
    free(c.items);
    formula_free(within);
    for (int i = 0; i < SECTION_COUNT; i++)
        relation_free(&relations[i]);
    return rc < 0 ? compile_blame(space, e) : rc;
}

static bool is_fixed(const struct space *space, const struct formula *f)
{
    size_t count = 0;
    const size_t *keys = f ? formula_keys(f, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (specs_differ(space->specs[space->names.keys[keys[i]].section], keys[i]))
            return false;
    return true;
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

/* SQLite takes up to 127 arguments. */
#define KEYS_PER_CALL 60

/* The values of the keys that an expression reads, as a JSON object. Names of keys hold no quotes (template.h). */
static void add_values(const struct space *space, const struct expression *x, struct buffer *sql)
{
    for (size_t i = KEYS_PER_CALL; i < x->key_count; i += KEYS_PER_CALL)
        buffer_add_text(sql, "json_insert(");
    buffer_add_text(sql, "json_object(");
    for (size_t i = 0; i < x->key_count; i++) {
        const struct key *key = &space->names.keys[x->keys[i]];
        bool is_first_call = i < KEYS_PER_CALL;
        if (i > 0)
            buffer_add_text(sql, i % KEYS_PER_CALL == 0 ? "), " : ", ");
        buffer_printf(sql, is_first_call ? "'%s', " : "'$.\"%s\"', ", key->name);
        expression_add_column(sql, key);
    }
    buffer_add_char(sql, ')');
}

/* The values of what the rule reads in the combination at a rank. */
static int prepare_values(const struct space *space, size_t rule, struct stmt **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, "SELECT ");
    add_values(space, &space->rules[rule].accepts, &sql);
    space_add_combination(space, 1, &sql);
    return db_prepare_built(space->db, &sql, out, e);
}

/* 1 where it was given, 0 where its values were before. */
static int give_excluded(const struct space *space, const struct exclusion_query *q, struct stmt *values, int64_t rank,
                         struct string_list *given, struct error *e)
{
    space_bind_rank(space, values, 1, rank);
    int rc = guard_next(values, e);
    if (rc > 0 && (!q->distinct || string_list_find(given, stmt_text(values, 0)) == given->count)) {
        string_list_add(given, stmt_copy_text(values, 0));
        rc = q->each(q->context, rank, stmt_text(values, 0), e) < 0 ? -1 : 1;
    } else if (rc > 0) {
        rc = 0;
    }
    stmt_reset(values);
    return rc;
}

int match_excluded(struct space *space, const struct exclusion_query *q, struct error *e)
{
    const struct product product = space_product(space);
    struct formula *filter = formulas_compile_filter(space, q->filter);
    struct constraints c = {NULL, 0};
    struct stmt *values = NULL;
    int64_t rank, specs[SECTION_COUNT];
    formulas_add_rules(space, q->rule, &c);
    constraints_add(&c, space->formulas->rules[q->rule].whole, DEMAND_FALSE);
    constraints_add(&c, filter, DEMAND_TRUE);
    struct combinations *walk = combinations_open(&product, &c);
    struct string_list given = STRING_LIST_INIT;
    int rc = prepare_values(space, q->rule, &values, e);
    for (int64_t seen = 0, shown = 0; rc >= 0 && shown < q->limit && (!q->distinct || seen < EXCLUSIONS_LOOKED_AT) &&
                                      (rc = combinations_next(walk, &rank, specs, e)) > 0;
         seen++) {
        rc = give_excluded(space, q, values, rank, &given, e);
        shown += rc > 0;
    }
    string_list_free(&given);
    stmt_free(values);
    combinations_close(walk);
    formula_free(filter);
    free(c.items);
    return rc < 0 ? -1 : 0;
}

/* --- jobs of a database --- */

static bool keys_are_known(const struct space *space, enum section_kind section, const char *json)
{
    cJSON *spec = cJSON_Parse(json);
    bool known = spec && space->counts[section];
    for (const cJSON *k = spec ? spec->child : NULL; k && known; k = k->next)
        known = names_find(&space->names, section, k->string) != NULL;
    cJSON_Delete(spec);
    return known;
}

bool stored_is_known(const struct space *space, const struct job_specs *job)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (job->json[i] && !keys_are_known(space, (enum section_kind)i, job->json[i]))
            return false;
    return true;
}

/* json_extract() wants a path, in which a key's own quotes and backslashes have no place: such keys stay NULL. */
static void add_value(const struct key *key, const char *json, struct buffer *sql)
{
    if (strpbrk(key->name, "\"\\'"))
        buffer_add_text(sql, "NULL AS ");
    else
        buffer_printf(sql, "json_extract(%s, '$.\"%s\"') AS ", json, key->name);
    expression_add_name(sql, key->name);
}

void stored_add_from(const struct space *space, const char *const *json, struct buffer *sql)
{
    static const char *const parameters[SECTION_COUNT] = {"?1", "?2", "?3", "?4"};
    const char *word = "FROM";
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!space->counts[i])
            continue;
        const char *of_spec = json ? json[i] : parameters[i];
        buffer_printf(sql, "%s (SELECT 0 AS \"#id\", ", word);
        if (json)
            buffer_add_text(sql, "NULL");
        else
            buffer_printf(sql, "?%d", SECTION_COUNT + i + 1);
        buffer_printf(sql, " AS \"#hash\", NULL AS \"#core\", %s AS \"#json\"", of_spec);
        for (size_t k = 0; k < space->names.key_count; k++)
            if ((int)space->names.keys[k].section == i) {
                buffer_add_text(sql, ", ");
                add_value(&space->names.keys[k], of_spec, sql);
            }
        buffer_printf(sql, ") AS \"%s\"", section_names[i]);
        word = " CROSS JOIN";
    }
}

void stored_bind(struct stmt *s, const struct space *space, const struct job_specs *job)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!space->counts[i])
            continue;
        stmt_bind_text(s, i + 1, job->json[i]);
        stmt_bind_blob(s, SECTION_COUNT + i + 1, job->hash[i], sizeof(struct hash128));
    }
}
