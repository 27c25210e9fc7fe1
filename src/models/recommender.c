#include "models/recommender.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "predict/bounds.h"
#include "util/memory.h"

#define MOST 1e15
#define TABLES_MOST 100000
#define DENSE_BYTES 16 /* parameter, gradient and two moments in fp32 */
#define INDEX_BYTES 8

#define FIELD(type, name, least, most)                                                                                 \
    {                                                                                                                  \
#name, offsetof(struct type, name), least, most                                                                \
    }
static const struct bound table_integers[] = {FIELD(embedding_table, rows, 1, 1e12),
                                              FIELD(embedding_table, dim, 1, 1e6)};
static const struct bound table_doubles[] = {FIELD(embedding_table, pooling, 0, 1e6)};
static const struct bound cross_integers[] = {FIELD(recommender, cross_layers, 0, 1e4),
                                              FIELD(recommender, cross_rank, 0, 1e6)};
static const struct bound plan_integers[] = {FIELD(recommender_plan, ranks, 1, 1e5),
                                             FIELD(recommender_plan, samples_per_rank, 1, 1e9)};
static const struct bound plan_doubles[] = {FIELD(recommender_plan, element_bytes, 1, 8),
                                            FIELD(recommender_plan, cached_fraction, 0, 1)};
#undef FIELD

static int check_widths(const char *name, const int64_t *widths, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        if (widths[i] < 1 || widths[i] > 10000000)
            return error_set(e, ERROR_USAGE, "width %zu of the %s MLP is %lld", i, name, (long long)widths[i]);
    return 0;
}

static int check(const struct recommender *r, struct error *e)
{
    if (r->table_count == 0 || r->table_count > TABLES_MOST || r->bottom_count == 0 || r->top_count == 0)
        return error_set(e, ERROR_USAGE, "a recommender needs tables, a bottom and a top");
    if ((unsigned)r->interaction > INTERACTION_CROSS)
        return error_set(e, ERROR_USAGE, "no such interaction: %d", (int)r->interaction);
    if (check_widths("bottom", r->bottom, r->bottom_count, e) || check_widths("top", r->top, r->top_count, e) ||
        bounds_check_integers(r, cross_integers, 2, e))
        return -1;
    for (size_t i = 0; i < r->table_count; i++) {
        if (bounds_check_integers(&r->tables[i], table_integers, 2, e) ||
            bounds_check_doubles(&r->tables[i], table_doubles, 1, e))
            return error_context(e, "table %zu", i);
        if (r->interaction == INTERACTION_DOT && r->tables[i].dim != r->bottom[r->bottom_count - 1])
            return error_set(e, ERROR_USAGE, "table %zu has dimension %lld, the dense vector %lld", i,
                             (long long)r->tables[i].dim, (long long)r->bottom[r->bottom_count - 1]);
    }
    return 0;
}

/* Parameters from `inputs` through the widths; `*outputs` gains the sum of what comes out of the layers. */
static double mlp_parameters(double inputs, const int64_t *widths, size_t count, double *outputs)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (inputs + 1) * (double)widths[i];
        *outputs += (double)widths[i];
        inputs = (double)widths[i];
    }
    return sum;
}

struct sums {
    double elements, dims, lookups, indices; /* over the tables: rows·dim, dim, pooling·dim, pooling */
    double layer_outputs;
};

static void measure(const struct recommender *r, struct recommender_size *out, struct sums *sums)
{
    double dense_width = (double)r->bottom[r->bottom_count - 1], vectors = (double)r->table_count + 1;
    *sums = (struct sums){0};
    for (size_t i = 0; i < r->table_count; i++) {
        sums->elements += (double)r->tables[i].rows * (double)r->tables[i].dim;
        sums->dims += (double)r->tables[i].dim;
        sums->lookups += r->tables[i].pooling * (double)r->tables[i].dim;
        sums->indices += r->tables[i].pooling;
    }
    double width = sums->dims + dense_width, cross = 0, products = 0;
    if (r->interaction == INTERACTION_DOT) {
        width = vectors * (vectors - 1) / 2 + dense_width;
        products = 3 * vectors * vectors * dense_width;
    }
    if (r->interaction == INTERACTION_CROSS) {
        double rank = (double)r->cross_rank;
        cross = (double)r->cross_layers * ((rank > 0 ? 2 * width * rank : width * width) + width);
    }
    double mlps = mlp_parameters((double)r->bottom[0], r->bottom + 1, r->bottom_count - 1, &sums->layer_outputs) +
                  mlp_parameters(width, r->top, r->top_count, &sums->layer_outputs);
    *out = (struct recommender_size){
        .sparse = sums->elements,
        .dense = mlps + cross,
        .interaction_width = width,
        .flops_per_sample = 6 * (mlps + cross) + products,
        .lookup_bytes_per_sample = 4 * sums->lookups,
        .exchanged_per_sample = sums->dims,
    };
}

int recommender_measure(const struct recommender *r, struct recommender_size *out, struct error *e)
{
    struct recommender_size size;
    struct sums sums;
    if (check(r, e))
        return -1;
    measure(r, &size, &sums);
    if (!(size.sparse + size.dense <= MOST))
        return error_set(e, ERROR_USAGE, "%.3g parameters are more than can be meant", size.sparse + size.dense);
    *out = size;
    return 0;
}

static double optimizer_bytes(const struct embedding_table *t, enum embedding_optimizer optimizer)
{
    static const double per_row[] = {[EMBEDDING_ROWWISE_ADAGRAD] = 4, [EMBEDDING_SGD] = 0};
    static const double per_element[] = {[EMBEDDING_ADAGRAD] = 4, [EMBEDDING_ADAM] = 8, [EMBEDDING_SGD] = 0};
    return (double)t->rows * (per_row[optimizer] + per_element[optimizer] * (double)t->dim);
}

struct weighed_table {
    double table, optimizer; /* bytes */
};

static int heavier_first(const void *a, const void *b)
{
    const struct weighed_table *x = a, *y = b;
    double wx = x->table + x->optimizer, wy = y->table + y->optimizer;
    return (wx < wy) - (wx > wy);
}

/* The fullest rank when each table goes where least is, the heaviest first. */
static struct weighed_table fullest_rank(struct weighed_table *tables, size_t count, size_t ranks)
{
    struct weighed_table *loads = xcalloc(ranks, sizeof *loads), fullest = {0};
    qsort(tables, count, sizeof *tables, heavier_first);
    for (size_t i = 0; i < count; i++) {
        struct weighed_table *least = loads;
        for (size_t k = 1; k < ranks && least->table > 0; k++)
            if (loads[k].table + loads[k].optimizer < least->table + least->optimizer)
                least = &loads[k];
        least->table += tables[i].table;
        least->optimizer += tables[i].optimizer;
        if (least->table + least->optimizer > fullest.table + fullest.optimizer)
            fullest = *least;
    }
    free(loads);
    return fullest;
}

static struct weighed_table tables_of_rank(const struct recommender *r, const struct recommender_plan *plan)
{
    struct weighed_table *tables = xcalloc(r->table_count, sizeof *tables), all = {0};
    for (size_t i = 0; i < r->table_count; i++) {
        const struct embedding_table *t = &r->tables[i];
        tables[i].table = plan->cached_fraction * plan->element_bytes * (double)t->rows * (double)t->dim;
        tables[i].optimizer = plan->cached_fraction * optimizer_bytes(t, plan->optimizer);
        all.table += tables[i].table;
        all.optimizer += tables[i].optimizer;
    }
    if (plan->sharding == EMBEDDING_TABLE_WISE)
        all = fullest_rank(tables, r->table_count, (size_t)plan->ranks);
    double share =
        plan->sharding == EMBEDDING_ROW_WISE || plan->sharding == EMBEDDING_COLUMN_WISE ? 1 / (double)plan->ranks : 1;
    free(tables);
    return (struct weighed_table){all.table * share, all.optimizer * share};
}

/* Each rank holds the pooled vectors of its samples, and as much again to exchange them where tables are
 * elsewhere. */
static double activation_bytes(const struct recommender *r, const struct recommender_plan *plan,
                               const struct sums *sums)
{
    bool exchanged = plan->ranks > 1 && plan->sharding != EMBEDDING_REPLICATED;
    double vectors = (double)r->table_count + 1;
    double pooled = 2 * 4 * sums->dims * (exchanged ? 3 : 1);
    double products = r->interaction == INTERACTION_DOT ? 4 * vectors * vectors : 0;
    return (double)plan->samples_per_rank * (pooled + INDEX_BYTES * sums->indices + 4 * sums->layer_outputs + products);
}

int recommender_memory(const struct recommender *r, const struct recommender_plan *plan, struct recommender_memory *out,
                       struct error *e)
{
    struct recommender_size size;
    struct sums sums;
    if (check(r, e) || bounds_check_integers(plan, plan_integers, 2, e) ||
        bounds_check_doubles(plan, plan_doubles, 2, e))
        return -1;
    if ((unsigned)plan->sharding > EMBEDDING_REPLICATED || (unsigned)plan->optimizer > EMBEDDING_SGD)
        return error_set(e, ERROR_USAGE, "no such sharding or optimizer of embeddings");
    measure(r, &size, &sums);
    struct weighed_table mine = tables_of_rank(r, plan);
    struct recommender_memory m = {.tables = mine.table,
                                   .optimizer = mine.optimizer,
                                   .dense = DENSE_BYTES * size.dense,
                                   .activations = activation_bytes(r, plan, &sums)};
    m.total = m.tables + m.optimizer + m.dense + m.activations;
    if (!(m.total <= MOST))
        return error_set(e, ERROR_USAGE, "%.3g bytes on one device cannot be meant", m.total);
    *out = m;
    return 0;
}
