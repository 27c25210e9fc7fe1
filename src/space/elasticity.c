#include "space/elasticity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "predict/layout.h"
#include "util/memory.h"

/* elasticity/constants.py */
#define MIN_DEVICES 1
#define MAX_DEVICES 10000
#define LATEST_VERSION 0.2

/* Numbers with more divisors than any smaller one, as far as DeepSpeed looks. */
static const int64_t highly_composite[] = {
    1,     2,     4,     6,      12,     24,     36,     48,     60,     120,    180,    240,    360,
    720,   840,   1260,  1680,   2520,   5040,   7560,   10080,  15120,  20160,  25200,  27720,  45360,
    50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
};

struct elasticity elasticity_default(void)
{
    return (struct elasticity){.min_devices = MIN_DEVICES,
                               .max_devices = MAX_DEVICES,
                               .prefer_larger = true,
                               .by_nodes = true,
                               .devices_per_node = 1,
                               .model_parallel = 1};
}

/* --- version 0.1 --- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the least common multiple of all micro-batches; 0: more than max_batch. */
static int64_t common_multiple(const struct elasticity *x)
{
    int64_t multiple = 1;
    for (size_t i = 0; multiple > 0 && i < x->micro_batch_count; i++) {
        multiple = multiple / greatest_divisor(multiple, x->micro_batches[i]) * x->micro_batches[i];
        if (multiple > x->max_batch)
            multiple = 0;
    }
    return multiple;
}

static int64_t scaled(const struct elasticity *x, int64_t base)
{
    size_t i = LENGTH(highly_composite);
    while (i > 1 && highly_composite[i - 1] > x->max_batch / base)
        i--;
    return highly_composite[i - 1] * base;
}

static bool batch_allows(const struct elasticity *x, int64_t batch, size_t micro_batches, int64_t ranks)
{
    if (ranks < x->min_devices || ranks > x->max_devices)
        return false;
    return ANY(i, micro_batches, batch % x->micro_batches[i] == 0 && batch / x->micro_batches[i] % ranks == 0);
}

/* Returns whether `ranks` is allowed by the micro-batch with that index, and by none before it. */
static bool is_new(const struct elasticity *x, int64_t batch, size_t index, int64_t ranks)
{
    return batch_allows(x, batch, index + 1, ranks) && !batch_allows(x, batch, index, ranks);
}

static size_t count_allowed(const struct elasticity *x, int64_t batch)
{
    size_t count = 0;
    for (size_t i = 0; i < x->micro_batch_count; i++) {
        int64_t most = batch % x->micro_batches[i] == 0 ? batch / x->micro_batches[i] : 0;
        for (int64_t n = 1; n <= most / n; n++)
            if (most % n == 0)
                count += (size_t)is_new(x, batch, i, n) + (size_t)(n != most / n && is_new(x, batch, i, most / n));
    }
    return count;
}

static bool has_micro_batches(const struct elasticity *x)
{
    for (size_t i = 0; i < x->micro_batch_count; i++)
        if (x->micro_batches[i] < 1 || x->micro_batches[i] > x->max_batch)
            return false;
    return x->micro_batch_count > 0;
}

int64_t elasticity_batch(const struct elasticity *x, size_t *allowed)
{
    int64_t best = 0;
    *allowed = 0;
    if (!has_micro_batches(x))
        return 0;
    int64_t multiple = common_multiple(x);
    for (size_t i = 0; i < x->micro_batch_count + (multiple > 0); i++) {
        int64_t batch = scaled(x, i < x->micro_batch_count ? x->micro_batches[i] : multiple);
        size_t count = count_allowed(x, batch);
        if (!best || count > *allowed || (count == *allowed && (x->prefer_larger ? batch > best : batch < best))) {
            best = batch;
            *allowed = count;
        }
    }
    return best;
}

static bool first_version_allows(const struct elasticity *x, int64_t ranks)
{
    size_t allowed;
    int64_t batch = elasticity_batch(x, &allowed);
    return batch > 0 && batch_allows(x, batch, x->micro_batch_count, ranks);
}

/* --- version 0.2 --- */

static int64_t smallest(const int64_t *numbers, size_t count)
{
    int64_t least = numbers[0];
    for (size_t i = 1; i < count; i++)
        least = numbers[i] < least ? numbers[i] : least;
    return least;
}

static bool nodes_allow(const struct elasticity *nodes, int64_t batch, int64_t ranks_per_node, int64_t ranks)
{
    return ranks % ranks_per_node == 0 && batch_allows(nodes, batch, nodes->micro_batch_count, ranks / ranks_per_node);
}

/* A batch for just this number of ranks; in floating point, as DeepSpeed does it: 49 / 49·49 is not 49 there. */
static bool fits_alone(const struct elasticity *x, int64_t ranks_per_node, int64_t ranks)
{
    double alone = (double)ranks / (double)x->devices_per_node * (double)ranks_per_node;
    size_t fitting = 0;
    if ((int64_t)alone != ranks)
        return false;
    for (size_t i = 0; i < x->micro_batch_count; i++)
        fitting += (double)x->micro_batches[i] * alone <= (double)x->max_batch;
    return x->prefer_larger ? fitting > 0 : fitting == x->micro_batch_count;
}

static bool second_version_allows(const struct elasticity *x, int64_t ranks)
{
    if (x->devices_per_node % x->model_parallel != 0)
        return false;
    int64_t per_node = x->devices_per_node / x->model_parallel;
    struct elasticity nodes = *x;
    size_t allowed;
    nodes.max_batch = x->max_batch / per_node;
    if (!has_micro_batches(&nodes))
        return false;
    nodes.min_devices = x->min_devices / x->devices_per_node;
    nodes.max_devices = x->max_devices / x->devices_per_node;
    int64_t least = smallest(x->micro_batches, x->micro_batch_count);
    if (nodes.min_devices == 0)
        nodes.min_devices = MIN_DEVICES;
    if (nodes.max_devices == 0)
        nodes.max_devices = nodes.max_batch / least;
    int64_t batch = elasticity_batch(&nodes, &allowed);
    /* There DeepSpeed has no list at all, and ends with a TypeError. */
    if (allowed == 0 && !(x->prefer_larger && batch > least))
        return false;
    if (nodes_allow(&nodes, batch, per_node, ranks / x->model_parallel))
        return nodes_allow(&nodes, batch, per_node, ranks);
    return fits_alone(x, per_node, ranks);
}

bool elasticity_allows(const struct elasticity *x, int64_t ranks)
{
    if (ranks < 1 || x->min_devices < 1 || x->max_devices < x->min_devices || x->devices_per_node < 1 ||
        x->model_parallel < 1 || !has_micro_batches(x))
        return false;
    return x->by_nodes ? second_version_allows(x, ranks) : first_version_allows(x, ranks);
}

/* --- in SQL --- */

enum {
    AT_RANKS,
    AT_MAX_BATCH,
    AT_MICRO_BATCHES,
    AT_MIN,
    AT_MAX,
    AT_PREFER_LARGER,
    AT_VERSION,
    AT_PER_NODE,
    AT_MODEL_PARALLEL,
    ARGUMENT_COUNT
};

/* Absent: what is there stays. A float without a fraction is whole, as in a sweep file's 1e4. */
static bool read_whole(const struct sql_value *a, int64_t *out)
{
    if (a->type == COLUMN_INT)
        *out = a->integer;
    else if (a->type == COLUMN_FLOAT && a->real == floor(a->real) && fabs(a->real) <= ELASTICITY_BATCH_MOST)
        *out = (int64_t)a->real;
    else
        return a->type == COLUMN_NULL;
    return true;
}

/* "[8, 12, 16]". DeepSpeed refuses whatever is no list of whole numbers: then there are no micro-batches. */
static bool read_list(const struct sql_value *a, struct elasticity *x)
{
    const char *p = a->type == COLUMN_TEXT ? a->text : "";
    x->micro_batch_count = 0;
    while (*p == (x->micro_batch_count ? ',' : '[')) {
        char *end;
        if (x->micro_batch_count == ELASTICITY_MICRO_BATCHES_MOST)
            return false;
        x->micro_batches[x->micro_batch_count++] = strtoll(p + 1, &end, 10);
        p = end + strspn(end, " \t\r\n");
    }
    if (strcmp(p, "]") != 0)
        x->micro_batch_count = 0;
    return a->type != COLUMN_NULL;
}

/* 0.1, or "0.1". Another than these two is none of this function's business. */
static bool read_version(const struct sql_value *a, struct elasticity *x)
{
    double version = a->type == COLUMN_NULL    ? LATEST_VERSION
                     : a->type == COLUMN_FLOAT ? a->real
                     : a->type == COLUMN_TEXT  ? strtod(a->text, NULL)
                                               : 0;
    x->by_nodes = version == LATEST_VERSION;
    return x->by_nodes || version == 0.1;
}

static bool call(void *context, const struct sql_value *arguments, int count, double *out)
{
    struct elasticity x = elasticity_default();
    int64_t ranks = 0, prefer_larger = x.prefer_larger;
    (void)context;
    if (count != ARGUMENT_COUNT || arguments[AT_RANKS].type == COLUMN_NULL ||
        arguments[AT_MAX_BATCH].type == COLUMN_NULL)
        return false;
    if (!read_whole(&arguments[AT_RANKS], &ranks) || !read_whole(&arguments[AT_MAX_BATCH], &x.max_batch) ||
        !read_whole(&arguments[AT_MIN], &x.min_devices) || !read_whole(&arguments[AT_MAX], &x.max_devices) ||
        !read_whole(&arguments[AT_PREFER_LARGER], &prefer_larger) ||
        !read_whole(&arguments[AT_PER_NODE], &x.devices_per_node) ||
        !read_whole(&arguments[AT_MODEL_PARALLEL], &x.model_parallel) || !read_version(&arguments[AT_VERSION], &x) ||
        !read_list(&arguments[AT_MICRO_BATCHES], &x) || x.max_batch > ELASTICITY_BATCH_MOST)
        return false;
    x.prefer_larger = prefer_larger != 0;
    *out = elasticity_allows(&x, ranks);
    return true;
}

int elasticity_add_function(struct db *db, struct error *e)
{
    return db_add_real_function(db, "elastic_allows", call, NULL, e);
}

/* --- pipeline layouts --- */

static const char *const questions[] = {"layout_layers", "layout_mtp", "layout_parts", "layout_is_whole"};

static bool ask_layout(void *context, const struct sql_value *arguments, int count, double *out)
{
    const size_t question = (size_t)((const char *const *)context - questions);
    struct pipeline_layout l;
    if (count != 1 || arguments->type == COLUMN_NULL)
        return false;
    *out = -1;
    if (arguments->type == COLUMN_TEXT && layout_read(arguments->text, &l))
        *out = (const double[]){(double)l.layers, (double)l.mtp, (double)l.parts,
                                layout_is_whole(arguments->text)}[question];
    return true;
}

int layouts_add_functions(struct db *db, struct error *e)
{
    for (size_t i = 0; i < LENGTH(questions); i++)
        if (db_add_real_function(db, questions[i], ask_layout, (void *)&questions[i], e) < 0)
            return -1;
    return 0;
}
