#include "space/join.h"

struct order {
    enum section_kind sections[SECTION_COUNT];
    int count;
};

/* Rows looked at when the sections are joined in this order, guessing that a rule keeps one combination in five:
 * SQLite evaluates a predicate at the outermost loop that has its columns. */
static double order_cost(const struct space *space, size_t rule_count, const struct order *o)
{
    double rows = 1, cost = 0;
    unsigned seen = 0;
    for (int i = 0; i < o->count; i++) {
        rows *= (double)space->counts[o->sections[i]];
        cost += rows;
        unsigned now = seen | 1u << o->sections[i];
        for (size_t r = 0; r < rule_count; r++) {
            unsigned needs = space->rules[r].accepts.sections;
            if (!space->rules[r].warning && (needs & ~now) == 0 && (needs & ~seen) != 0)
                rows *= 0.2;
        }
        seen = now;
    }
    return cost;
}

/* Tries every order of at most four sections. */
static void best_order(const struct space *space, size_t rule_count, struct order *o, int fixed, struct order *best,
                       double *best_cost)
{
    if (fixed == o->count) {
        double cost = order_cost(space, rule_count, o);
        if (cost < *best_cost) {
            *best_cost = cost;
            *best = *o;
        }
        return;
    }
    for (int i = fixed; i < o->count; i++) {
        struct order next = *o;
        next.sections[fixed] = o->sections[i];
        next.sections[i] = o->sections[fixed];
        best_order(space, rule_count, &next, fixed + 1, best, best_cost);
    }
}

static struct order order_of(const struct space *space, unsigned sections, size_t rule_count)
{
    struct order all = {.count = 0}, best;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] && (sections & 1u << i))
            all.sections[all.count++] = (enum section_kind)i;
    double cost = 1e300;
    best = all;
    best_order(space, rule_count, &all, 0, &best, &cost);
    return best;
}

/* Always a WHERE, so that further conditions can follow with AND. */
static void add_rules(const struct space *space, size_t rule_count, struct buffer *sql)
{
    buffer_add_text(sql, " WHERE true");
    for (size_t r = 0; r < rule_count; r++)
        if (!space->rules[r].warning)
            buffer_printf(sql, " AND %s IS NOT FALSE", space->rules[r].accepts.sql);
}

void join_add(const struct space *space, unsigned sections, size_t rule_count, struct buffer *sql)
{
    struct order o = order_of(space, sections, rule_count);
    for (int i = 0; i < o.count; i++)
        buffer_printf(sql, "%s\"%s\"", i ? " CROSS JOIN " : " FROM ", section_names[o.sections[i]]);
    add_rules(space, rule_count, sql);
}

static void add_projection(const struct space *space, enum section_kind section, const bool *keys, struct buffer *sql)
{
    struct buffer columns = BUFFER_INIT;
    for (size_t i = 0; i < space->names.key_count; i++) {
        if (!keys[i] || space->names.keys[i].section != section)
            continue;
        buffer_add_text(&columns, columns.length ? ", " : "");
        expression_add_name(&columns, space->names.keys[i].name);
    }
    buffer_printf(sql, "(SELECT %s%s count(*) AS \"#count\" FROM \"%s\"%s%s) AS \"%s\"", buffer_text(&columns),
                  columns.length ? "," : "", section_names[section], columns.length ? " GROUP BY " : "",
                  buffer_text(&columns), section_names[section]);
    buffer_free(&columns);
}

void join_add_counting(const struct space *space, unsigned sections, size_t rule_count, const bool *keys,
                       struct buffer *sql)
{
    struct order o = order_of(space, sections, rule_count);
    for (int i = 0; i < o.count; i++) {
        buffer_add_text(sql, i ? " CROSS JOIN " : " FROM ");
        add_projection(space, o.sections[i], keys, sql);
    }
    add_rules(space, rule_count, sql);
}
