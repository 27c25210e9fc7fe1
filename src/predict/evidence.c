#include "predict/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FULL_WEIGHT 5.0 /* runs of a table that make half of its weight */
#define NINE_IN_TEN 9   /* with this many runs, the largest error holds for the next run with a probability of 0.9 */

#define NAME(id, name, bears_on) name,
static const char *const plan_feature_names[PLAN_FEATURES] = {FEATURES(NAME)};

enum { MEMORY = 1 << QUANTITY_OF_MEMORY, TIME = 1 << QUANTITY_OF_TIME, BOTH = MEMORY | TIME };
#define BEARS_ON(id, name, bears_on) bears_on,
static const int bears_on[PLAN_FEATURES] = {FEATURES(BEARS_ON)};

/* 0.95 quantiles of Student's distribution divided by the normal one's, by degrees of freedom. */
static const double student[] = {3.84, 3.84, 1.78, 1.43, 1.30, 1.22, 1.18, 1.15, 1.13};

static double student_factor(double tables)
{
    size_t most = sizeof student / sizeof *student - 1, freedom = tables < 1 ? 0 : (size_t)tables - 1;
    return student[freedom < most ? freedom : most];
}

/* A profile that differs from another only in what it shards shares the other's comparisons. */
static const char *evidence_name(const char *framework)
{
    return strcmp(framework, "megatron-distopt") == 0 ? "megatron" : framework;
}

/* Widths of the tables that count. `least` is the widest of them, where a table with too few runs to tell nine in ten
 * counts times its weight. */
struct pool {
    double sum, weight, tables, widest, least;
};

static void pool_add(struct pool *p, const struct compared_table *row)
{
    double weight = (double)row->runs / ((double)row->runs + FULL_WEIGHT);
    p->sum += weight * row->within;
    p->weight += weight;
    p->tables++;
    p->widest = fmax(p->widest, row->within);
    p->least = fmax(p->least, row->runs < NINE_IN_TEN ? weight * row->within : row->within);
}

static bool counts(const struct compared_table *row, const char *without, enum predicted_quantity quantity,
                   enum plan_feature feature)
{
    return row->quantity == quantity && row->feature == feature && !(without && strcmp(row->table, without) == 0);
}

#define TABLES_TOGETHER 3 /* from which on Student's distribution is not much wider than the normal one */

/* The framework's own tables, with what is known elsewhere as one more, or as many as make three. The next run may be
 * like those of any table, not like their mean. */
static double among(const struct pool *own, double elsewhere)
{
    if (own->tables == 0)
        return elsewhere;
    double more = fmax(1, TABLES_TOGETHER - own->tables);
    return fmax(own->least, (own->sum + more * elsewhere) / (own->weight + more));
}

static void pool_tables(const char *framework, const char *without, enum predicted_quantity quantity,
                        enum plan_feature feature, struct pool *own, struct pool *others)
{
    *own = *others = (struct pool){0};
    for (size_t i = 0; i < evidence_count; i++)
        if (counts(&evidence_rows[i], without, quantity, feature))
            pool_add(strcmp(evidence_rows[i].framework, framework) == 0 ? own : others, &evidence_rows[i]);
}

bool evidence_has_table(const char *framework, const char *without, enum predicted_quantity quantity)
{
    for (size_t i = 0; i < evidence_count; i++)
        if (counts(&evidence_rows[i], without, quantity, evidence_rows[i].feature) &&
            strcmp(evidence_rows[i].framework, evidence_name(framework)) == 0)
            return true;
    return false;
}

bool evidence_has_device(const char *chips, const char *device)
{
    char chip[16];
    snprintf(chip, sizeof chip, "%.*s", (int)strcspn(device, "-"), device);
    return !chips || strstr(chips, chip) != NULL;
}

static double halfway(double elsewhere)
{
    return fmax(elsewhere, (elsewhere + UNCOMPARED_MEMORY) / 2);
}

/* Runs with features stand for the plain ones of a framework that was compared with no plain run. */
static double plain_width(const char *framework, const char *without)
{
    struct pool own, others;
    pool_tables(framework, without, QUANTITY_OF_MEMORY, FEATURE_PLAIN, &own, &others);
    for (size_t i = 0, plain = (size_t)own.tables; plain == 0 && i < evidence_count; i++)
        if (counts(&evidence_rows[i], without, QUANTITY_OF_MEMORY, evidence_rows[i].feature) &&
            strcmp(evidence_rows[i].framework, framework) == 0)
            pool_add(&own, &evidence_rows[i]);
    if (others.tables == 0)
        return UNCOMPARED_MEMORY;
    return among(&own, student_factor(others.tables) * others.widest); /* not the widest possible */
}

/* Returns whether no other row of the table reaches further without exceeding `devices`. */
static bool reaches(const struct compared_scaling *row, double devices)
{
    if (row->beyond >= devices)
        return false;
    for (const struct compared_scaling *other = scaling_rows; other->pairs.table; other++)
        if (other->pairs.quantity == row->pairs.quantity && other->beyond > row->beyond && other->beyond < devices &&
            strcmp(other->pairs.table, row->pairs.table) == 0)
            return false;
    return true;
}

double evidence_scaling_width(const char *framework, enum predicted_quantity quantity, double devices, double doublings)
{
    struct pool own = {0}, others = {0};
    const char *name = evidence_name(framework);
    for (const struct compared_scaling *row = scaling_rows; row->pairs.table; row++)
        if (row->pairs.quantity == quantity && reaches(row, devices))
            pool_add(strcmp(row->pairs.framework, name) == 0 ? &own : &others, &row->pairs);
    return among(&own, student_factor(others.tables) * others.sum / others.weight) * sqrt(doublings);
}

/* Without the feature, the width would be `plain`; it therefore counts as one of the others' tables. */
static double feature_width(const char *framework, const char *without, enum plan_feature feature, double plain)
{
    struct pool own, others;
    pool_tables(framework, without, QUANTITY_OF_MEMORY, feature, &own, &others);
    if (FEATURES_OF_KIND & 1U << feature)
        return plain;
    if (own.tables + others.tables == 0)
        return UNCOMPARED_MEMORY;
    double elsewhere = others.tables > 0 ? (others.sum + plain) / (others.weight + 1) : halfway(plain);
    return among(&own, own.tables == 0 && feature == FEATURE_HELD ? halfway(elsewhere) : elsewhere);
}

void evidence_widths_of(const char *framework, const char *without, struct evidence_widths *out)
{
    const char *name = evidence_name(framework);
    struct pool own, others;
    for (int q = 0; q < PREDICTED_QUANTITIES; q++)
        for (int f = 0; f < PLAN_FEATURES; f++) {
            pool_tables(name, without, (enum predicted_quantity)q, (enum plan_feature)f, &own, &others);
            bool as_elsewhere = f == FEATURE_HELD && others.tables > 0;
            out->compared[q][f] = own.tables > 0 || as_elsewhere;
        }
    out->width[FEATURE_PLAIN] = plain_width(name, without);
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++)
        out->width[f] = feature_width(name, without, (enum plan_feature)f, out->width[FEATURE_PLAIN]);
}

feature_set evidence_features(feature_set features, enum predicted_quantity quantity)
{
    for (int f = 0; f < PLAN_FEATURES; f++)
        features &= bears_on[f] & 1 << quantity ? ~0U : ~(1U << f);
    return features;
}

double evidence_width(const struct evidence_widths *w, feature_set features)
{
    double width = w->width[FEATURE_PLAIN];
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++)
        if (features & 1U << f)
            width = fmax(width, w->width[f]);
    return width;
}

bool evidence_compared(const struct evidence_widths *w, enum predicted_quantity quantity, feature_set features)
{
    bool compared = w->compared[quantity][FEATURE_PLAIN];
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++)
        compared &= !(features & 1U << f) || w->compared[quantity][f];
    return compared;
}

double evidence_of_estimated(double share, double off)
{
    return 1 + fmax(share, UNSEEN_ESTIMATED) * expm1(off);
}

double evidence_of_products(double share, double off)
{
    return exp(off / fmax(share, UNSEEN_PRODUCTS));
}

void evidence_interval(const struct evidence_widths *w, enum predicted_quantity quantity, feature_set features,
                       double share, double *low, double *high)
{
    const bool compared = evidence_compared(w, quantity, features);
    if (quantity == QUANTITY_OF_TIME) {
        const struct unseen_spread *spread = compared ? &unseen_compared_time : &unseen_time;
        *low = evidence_of_products(share, -spread->below);
        *high = evidence_of_products(share, spread->above);
        return;
    }
    *low = exp(-evidence_width(w, features));
    *high = 1 / *low;
    if (compared)
        return;
    *low = fmin(*low, evidence_of_estimated(share, -unseen_memory.below));
    *high = fmax(*high, evidence_of_estimated(share, unseen_memory.above));
}

static bool describe_feature(const char *framework, enum predicted_quantity quantity, enum plan_feature feature,
                             struct buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < evidence_count; i++) {
        const struct compared_table *row = &evidence_rows[i];
        if (!counts(row, NULL, quantity, feature) || (framework && strcmp(row->framework, framework) != 0))
            continue;
        buffer_printf(out, "  %s, %s: nine in ten of %zu runs within %.0f %% (%s)\n", row->framework,
                      plan_feature_names[feature], row->runs, 100 * expm1(row->within), row->table);
        any = true;
    }
    return any;
}

#define HALF 0.5 /* of memory is estimated, the other half states; of a step is products */

void evidence_describe(const char *framework, enum predicted_quantity quantity, feature_set features,
                       struct buffer *out)
{
    const char *name = evidence_name(framework), *words[] = {"memory", "time"};
    const char *of_half[] = {"half of which is model states", "half of which is products"};
    struct evidence_widths w;
    double low, high;
    features = evidence_features(features, quantity);
    evidence_widths_of(framework, NULL, &w);
    if (!describe_feature(name, quantity, FEATURE_PLAIN, out))
        buffer_printf(out, "  %s: no measurement of %s to compare with%s\n", framework, words[quantity],
                      quantity == QUANTITY_OF_MEMORY ? ", so as wide as the widest of other frameworks" : "");
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++) {
        bool is_kind = FEATURES_OF_KIND & 1U << f;
        if (!(features & 1U << f) || (is_kind && w.compared[quantity][f]))
            continue;
        if (is_kind || !describe_feature(NULL, quantity, (enum plan_feature)f, out))
            buffer_printf(out, "  %s: no measurement of %s to compare with in %s\n", plan_feature_names[f],
                          words[quantity], is_kind ? framework : "any framework");
    }
    const bool compared = evidence_compared(&w, quantity, features);
    evidence_interval(&w, quantity, features, HALF, &low, &high);
    if (!compared || quantity == QUANTITY_OF_TIME)
        buffer_printf(out, "  %s: %s %s is %.2f to %.1f times as predicted, as in sources that were new\n",
                      compared ? "all of this was compared" : "not all of this was compared", words[quantity],
                      of_half[quantity], low, high);
}

/* Returns whether no other feature of its table has more runs, nor one before it as many. */
static bool is_most_of_table(const struct compared_table *row)
{
    if (FEATURES_OF_KIND & 1U << row->feature)
        return false;
    for (const struct compared_table *other = evidence_rows; other < evidence_rows + evidence_count; other++)
        if (other->quantity == row->quantity && strcmp(other->table, row->table) == 0 &&
            !(FEATURES_OF_KIND & 1U << other->feature) &&
            (other->runs > row->runs || (other->runs == row->runs && other < row)))
            return false;
    return true;
}

void evidence_describe_sources(enum predicted_quantity quantity, struct buffer *out)
{
    for (size_t i = 0; i < evidence_count; i++) {
        const struct compared_table *row = &evidence_rows[i];
        struct evidence_widths w;
        double low, high;
        if (row->quantity != quantity || !is_most_of_table(row))
            continue;
        evidence_widths_of(row->framework, row->table, &w);
        evidence_interval(&w, quantity, 1U << row->feature, HALF, &low, &high);
        buffer_printf(out, "  %s, %s: %.0f to +%.0f %% without it; nine in ten of %zu runs are within %.0f %% (%s)\n",
                      row->framework, plan_feature_names[row->feature], 100 * (low - 1), 100 * (high - 1), row->runs,
                      100 * expm1(row->within), row->table);
    }
}

/* --- whether memory is enough --- */

const char *const oom_verdict_names[] = {[OOM_FITS] = "fits", [OOM_RISK] = "risk", [OOM_CERTAIN] = "certain"};

static double normal_cumulative(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

double oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes)
{
    double available = usable_bytes - reserve_bytes;
    double distance = log(predicted_bytes / available) / sigma;
    bool is_known = predicted_bytes > 0 && sigma > 0 && reserve_bytes >= 0 && available > 0 && isfinite(distance);
    return is_known ? normal_cumulative(distance) : NAN;
}
