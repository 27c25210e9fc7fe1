#include "space/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space/compile.h"
#include "space/identity.h"
#include "space/inert.h"
#include "space/join.h"
#include "store/guard.h"
#include "util/memory.h"

/* Counting a rule by itself looks at every combination of the sections that it reads: up to this many. */
#define CHEAP_ROWS 4000000

/* What walking the product may take: this, and so much for each combination. The slowest real sweep takes a thousandth. */
#define PATIENCE_MS 10000
#define PATIENCE_PER_COMBINATION_US 100
#define MOST_PATIENCE_MS (INT64_C(86400000) * 365)

struct match_cursor {
    struct space *space;
    bool is_limited; /* in time */
    struct stmt *select;
    struct match current;
    struct value *values;
    struct value *derived;
    struct value *counted; /* as `values`, borrowed, NULL where the key is inert */
    struct buffer identity;
};

static int64_t rows_of(const struct space *space, unsigned sections)
{
    int64_t rows = 1;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] && (sections & 1u << i))
            rows *= space->counts[i];
    return rows;
}

/* What a count is taken of: combinations that satisfy the first `rule_count` rules, the filter, and violate a rule
 * (either may be NULL). */
struct census {
    size_t rule_count;
    const struct expression *filter;
    const struct expression *violated;
};

static void note_keys(const struct expression *x, bool *keys, unsigned *sections)
{
    if (!x)
        return;
    *sections |= x->sections;
    for (size_t i = 0; i < x->key_count; i++)
        keys[x->keys[i]] = true;
}

static void add_census(const struct space *space, const struct census *c, const bool *keys, unsigned sections,
                       struct buffer *sql)
{
    buffer_add_text(sql, "SELECT coalesce(sum(1");
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] && (sections & 1u << i))
            buffer_printf(sql, " * \"%s\".\"#count\"", section_names[i]);
    buffer_add_text(sql, "), 0)");
    join_add_counting(space, sections, c->rule_count, keys, sql);
    if (c->filter)
        buffer_printf(sql, " AND %s", c->filter->sql);
    if (c->violated)
        buffer_printf(sql, " AND %s IS FALSE", c->violated->sql);
}

static int query_int(struct db *db, const char *sql, int64_t *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    int rc = guard_next(s, e);
    *out = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* An expression without end, or one that is hostile, must end; one that is merely large, must not. */
static void allow_time(struct space *space)
{
    int64_t combinations = space_combinations(space);
    int64_t ms = PATIENCE_MS + combinations / (1000 / PATIENCE_PER_COMBINATION_US);
    ms = ms < MOST_PATIENCE_MS ? ms : MOST_PATIENCE_MS;
    char *sentence = xasprintf("%s: the rules and expressions take too long for %lld combinations, more than %lld s;"
                               " make them simpler or the product smaller",
                               space->sweep->path, (long long)combinations, (long long)ms / 1000);
    guard_limit_time(space->db, ms, sentence);
    free(sentence);
}

static int take_census(struct space *space, const struct census *c, int64_t *out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    unsigned sections = 0;
    bool *keys = xcalloc(space->names.key_count, sizeof *keys);
    for (size_t i = 0; i < c->rule_count; i++)
        if (!space->rules[i].warning)
            note_keys(&space->rules[i].accepts, keys, &sections);
    note_keys(c->filter, keys, &sections);
    note_keys(c->violated, keys, &sections);
    add_census(space, c, keys, sections, &sql);
    int rc = query_int(space->db, buffer_text(&sql), out, e);
    /* Sections that no predicate reads multiply: they need not be walked. */
    if (rc == 0)
        *out *= space_combinations(space) / rows_of(space, sections);
    buffer_free(&sql);
    free(keys);
    return rc;
}

static int count_alone(struct space *space, const struct space_rule *rule, const struct expression *filter, int64_t *out,
                       struct error *e)
{
    const struct census census = {0, filter, &rule->accepts};
    *out = -1;
    if (rule->is_costly || rows_of(space, rule->accepts.sections | (filter ? filter->sections : 0)) > CHEAP_ROWS)
        return 0;
    return take_census(space, &census, out, e);
}

int match_count(struct space *space, const struct expression *filter, struct match_counts *out, struct error *e)
{
    struct match_counts c = {space_combinations(space), 0, xcalloc(space->rule_count, sizeof *c.rules)};
    const struct census all = {0, filter, NULL};
    allow_time(space);
    int rc = filter ? take_census(space, &all, &c.combinations, e) : 0;
    int64_t left = c.combinations;
    for (size_t i = 0; rc == 0 && i < space->rule_count; i++) {
        const struct space_rule *rule = &space->rules[i];
        rc = count_alone(space, rule, filter, &c.rules[i].alone, e);
        if (rc < 0 || rule->warning || c.rules[i].alone == 0)
            continue;
        /* How many the rules so far leave, less how many they leave with this one. */
        int64_t after = 0;
        const struct census so_far = {i + 1, filter, NULL};
        rc = take_census(space, &so_far, &after, e);
        c.rules[i].excluded = left - after;
        left = after;
    }
    c.matched = left;
    for (size_t i = 0; rc == 0 && i < space->rule_count; i++) {
        const struct census warned = {space->rule_count, filter, &space->rules[i].accepts};
        if (space->rules[i].warning && c.rules[i].alone != 0)
            rc = take_census(space, &warned, &c.rules[i].excluded, e);
    }
    if (rc < 0) {
        free(c.rules);
        return compile_blame(space, e);
    }
    *out = c;
    return rc;
}

static void add_select(struct space *space, struct buffer *sql)
{
    buffer_add_text(sql, "SELECT ");
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (space->counts[i])
            buffer_printf(sql, "\"%s\".\"#id\", \"%s\".\"#hash\", ", section_names[i], section_names[i]);
        else
            buffer_add_text(sql, "-1, NULL, ");
    }
    buffer_add_text(sql, space->devices.sql);
    for (int i = 0; i < LIMIT_COUNT; i++)
        buffer_printf(sql, ", %s", space->limits[i].given ? space->limits[i].expression.sql : "0");
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        buffer_add_text(sql, ", ");
        if (p->is_derived)
            buffer_add_text(sql, space->names.derived[p->index].sql);
        else
            expression_add_column(sql, &space->names.keys[p->index]);
    }
    for (size_t i = 0; i < space->names.derived_count; i++)
        if (match_keeps_derived(space, i))
            buffer_printf(sql, ", %s", space->names.derived[i].sql);
    if (space->prediction.asked) {
        buffer_add_text(sql, ", ");
        prediction_add_columns(space, sql);
    }
    if (space->inert_count > 0)
        inert_add_columns(space, sql);
}

static void add_order(const struct space *space, struct buffer *sql)
{
    const char *word = " ORDER BY ";
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!space->counts[i])
            continue;
        buffer_printf(sql, "%s\"%s\".\"#id\"", word, section_names[i]);
        word = ", ";
    }
}

bool match_keeps_derived(const struct space *space, size_t derived)
{
    if (!space->names.derived[derived].is_builtin)
        return true;
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (space->placeholders[i].is_derived && space->placeholders[i].index == derived)
            return true;
    return false;
}

/* `from`: what follows the columns. */
static int prepare_cursor(struct space *space, const struct buffer *from, struct match_cursor **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    struct match_cursor *c = xcalloc(1, sizeof *c);
    c->space = space;
    c->values = xcalloc(space->placeholder_count, sizeof *c->values);
    c->derived = xcalloc(space->names.derived_count, sizeof *c->derived);
    c->counted = xcalloc(space->placeholder_count, sizeof *c->counted);
    add_select(space, &sql);
    buffer_add(&sql, from->data, from->length);
    int rc = db_prepare(space->db, buffer_text(&sql), &c->select, e);
    buffer_free(&sql);
    if (rc < 0)
        match_close(c);
    else
        *out = c;
    return rc;
}

static int open_cursor(struct space *space, const struct expression *filter, size_t rule_count, bool ordered,
                       struct match_cursor **out, struct error *e)
{
    struct buffer from = BUFFER_INIT;
    join_add(space, ~0u, rule_count, &from);
    if (filter)
        buffer_printf(&from, " AND %s", filter->sql);
    if (ordered)
        add_order(space, &from);
    int rc = prepare_cursor(space, &from, out, e);
    buffer_free(&from);
    return rc;
}

int match_open(struct space *space, const struct expression *filter, bool ordered, struct match_cursor **out,
               struct error *e)
{
    if (open_cursor(space, filter, space->rule_count, ordered, out, e) < 0)
        return -1;
    allow_time(space);
    (*out)->is_limited = true;
    return 0;
}

int match_open_single(struct space *space, bool ruled, struct match_cursor **out, struct error *e)
{
    struct buffer condition = BUFFER_INIT;
    buffer_add_text(&condition, "(true");
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i])
            buffer_printf(&condition, " AND \"%s\".\"#id\" = ?%d", section_names[i], i + 1);
    buffer_add_char(&condition, ')');
    const struct expression filter = {.sql = condition.data};
    int rc = open_cursor(space, &filter, ruled ? space->rule_count : 0, false, out, e);
    buffer_free(&condition);
    return rc;
}

void match_seek(struct match_cursor *c, const int64_t *spec)
{
    stmt_reset(c->select);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (c->space->counts[i])
            stmt_bind_int(c->select, i + 1, spec[i] < 0 ? 0 : spec[i]); /* the default cluster has one */
}

int match_open_stored(struct space *space, struct match_cursor **out, struct error *e)
{
    struct buffer from = BUFFER_INIT;
    buffer_add_char(&from, ' ');
    stored_add_from(space, &from);
    int rc = prepare_cursor(space, &from, out, e);
    buffer_free(&from);
    return rc;
}

void match_seek_stored(struct match_cursor *c, const struct stored_job *job)
{
    stmt_reset(c->select);
    stored_bind(c->select, c->space, job);
}

struct value match_column_value(const struct stmt *s, int column, bool is_bool)
{
    switch (stmt_type(s, column)) {
    case COLUMN_INT:
        return (struct value){is_bool ? VALUE_BOOL : VALUE_INT, stmt_int(s, column), 0, NULL};
    case COLUMN_FLOAT:
        return (struct value){VALUE_FLOAT, 0, stmt_double(s, column), NULL};
    case COLUMN_TEXT:
        return (struct value){VALUE_STRING, 0, 0, xstrdup(stmt_text(s, column))};
    default:
        return (struct value){VALUE_NULL, 0, 0, NULL};
    }
}

static void take(struct value *v, struct value now)
{
    value_free(v);
    *v = now;
}

static int64_t limit_of(const struct stmt *s, int column)
{
    int64_t ms = stmt_int(s, column);
    return ms > 0 ? ms : 0;
}

/* Returns the column after its own. */
static int read_prediction(struct match_cursor *c, int column)
{
    struct match *m = &c->current;
    const struct prediction *p = NULL;
    m->why_not = "";
    if (c->space->prediction.asked)
        p = prediction_of_row(c->space, c->select, column, &m->why_not);
    m->prediction = p;
    m->predicted_memory = p && p->has_memory ? p->memory.most.bytes : NAN;
    m->predicted_time = p && p->has_time ? p->seconds : NAN;
    m->predicted_steps = p ? p->steps : 0;
    m->risk = p ? p->verdict : 0;
    m->is_audit = prediction_prunes(c->space, m->risk);
    return c->space->prediction.asked ? column + INPUT_COUNT : column;
}

/* Whether the placeholder stands for that key. */
static bool stands_for(const struct placeholder *p, const struct space_inert *inert)
{
    return !p->is_derived && p->index == inert->key;
}

/* An inert value counts neither in its spec nor in the command: two commands that differ in it do the same. */
static struct hash128 identify(struct match_cursor *c, int column, const void **hashes)
{
    const struct space *space = c->space;
    struct hash128 cores[SECTION_COUNT];
    if (space->inert_count == 0)
        return identity_job_key(space, hashes, c->values, c->derived, &c->identity);
    for (int i = 0; i < SECTION_COUNT; i++, column++) {
        const char *core = stmt_text(c->select, column);
        if (stmt_type(c->select, column) != COLUMN_TEXT)
            continue;
        cores[i] = hash_bytes(core, strlen(core));
        hashes[i] = cores[i].bytes;
    }
    if (space->placeholder_count > 0)
        memcpy(c->counted, c->values, space->placeholder_count * sizeof *c->values);
    for (size_t i = 0; i < space->inert_count; i++, column++)
        for (size_t p = 0; stmt_int(c->select, column) && p < space->placeholder_count; p++)
            if (stands_for(&space->placeholders[p], &space->inert[i]))
                c->counted[p] = (struct value){VALUE_NULL, 0, 0, NULL};
    return identity_job_key(space, hashes, c->counted, c->derived, &c->identity);
}

static void read_row(struct match_cursor *c)
{
    const struct space *space = c->space;
    struct match *m = &c->current;
    const void *hashes[SECTION_COUNT];
    int column = 0;
    m->rank = 0;
    for (int i = 0; i < SECTION_COUNT; i++, column += 2) {
        m->spec[i] = stmt_int(c->select, column);
        hashes[i] = stmt_blob(c->select, column + 1);
        if (space->counts[i])
            m->rank = m->rank * space->counts[i] + m->spec[i];
    }
    m->devices = stmt_int(c->select, column++);
    for (int i = 0; i < LIMIT_COUNT; i++)
        m->limit_ms[i] = limit_of(c->select, column++);
    for (size_t i = 0; i < space->placeholder_count; i++)
        take(&c->values[i], match_column_value(c->select, column++, space->placeholders[i].is_bool));
    for (size_t i = 0; i < space->names.derived_count; i++)
        if (match_keeps_derived(space, i))
            take(&c->derived[i], match_column_value(c->select, column++, false));
    column = read_prediction(c, column);
    m->values = c->values;
    m->derived = c->derived;
    m->key = identify(c, column, hashes);
}

int match_next(struct match_cursor *c, const struct match **out, struct error *e)
{
    int rc = c->is_limited ? guard_next(c->select, e) : stmt_next(c->select, e);
    if (rc > 0) {
        read_row(c);
        *out = &c->current;
    }
    return rc < 0 && c->is_limited ? compile_blame(c->space, e) : rc;
}

void match_close(struct match_cursor *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->space->placeholder_count; i++)
        value_free(&c->values[i]);
    for (size_t i = 0; i < c->space->names.derived_count; i++)
        value_free(&c->derived[i]);
    stmt_free(c->select);
    free(c->values);
    free(c->derived);
    free(c->counted);
    buffer_free(&c->identity);
    free(c);
}

void match_add_derived_json(const struct space *space, const struct match *m, struct buffer *out)
{
    size_t start = out->length;
    for (size_t i = 0; i < space->names.derived_count; i++) {
        if (!match_keeps_derived(space, i))
            continue;
        buffer_add_char(out, out->length == start ? '{' : ',');
        buffer_add_json_string(out, space->names.derived[i].name, strlen(space->names.derived[i].name));
        buffer_add_char(out, ':');
        value_add_json(&m->derived[i], out);
    }
    if (out->length > start)
        buffer_add_char(out, '}');
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

static void add_excluded_select(const struct space *space, size_t rule, const struct expression *filter,
                                struct buffer *sql)
{
    const struct expression *x = &space->rules[rule].accepts;
    /* Horner: ((id * count + id) * count + id). */
    buffer_add_text(sql, "SELECT ");
    for (int i = 0; i < SECTION_COUNT; i++)
        buffer_add_text(sql, space->counts[i] ? "(" : "");
    buffer_add_char(sql, '0');
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i])
            buffer_printf(sql, " * %lld + \"%s\".\"#id\")", (long long)space->counts[i], section_names[i]);
    buffer_add_text(sql, ", ");
    add_values(space, x, sql);
    join_add(space, ~0u, rule, sql);
    buffer_printf(sql, " AND %s IS FALSE", x->sql);
    if (filter)
        buffer_printf(sql, " AND %s", filter->sql);
    buffer_add_text(sql, " LIMIT ?");
}

int match_excluded(struct space *space, const struct exclusion_query *q, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    struct stmt *s = NULL;
    add_excluded_select(space, q->rule, q->filter, &sql);
    int rc = db_prepare(space->db, buffer_text(&sql), &s, e);
    buffer_free(&sql);
    if (rc < 0)
        return -1;
    stmt_bind_int(s, 1, q->limit);
    while ((rc = guard_next(s, e)) > 0)
        if ((rc = q->each(q->context, stmt_int(s, 0), stmt_text(s, 1), e)) < 0)
            break;
    stmt_free(s);
    return rc;
}
