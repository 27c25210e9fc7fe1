#include "sweep_file/range.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sweep_file/schema.h"
#include "sweep_file/values.h"
#include "util/memory.h"

#define LARGEST_COUNT INT64_MAX
#define MOST_VALUES 1000000 /* that are written out */
#define ROUNDING 1e-9       /* of a step: 0.1 ten times over is to meet 1 */

enum range_key { RANGE_FROM, RANGE_TO, RANGE_STEP, RANGE_FACTOR, RANGE_COUNT };

static const struct schema_key range_keys[] = {
    {.name = "from", TYPE_INT, EVERY, .required = true},
    {.name = "to", TYPE_INT, EVERY, .required = true},
    {.name = "step", TYPE_INT, EVERY},
    {.name = "factor", TYPE_INT, EVERY},
};
const struct schema schema_range = {"a range", SCHEMA_KEYS(range_keys)};

static const struct schema_key real_range_keys[] = {
    {.name = "from", TYPE_NUMBER, EVERY, .required = true},
    {.name = "to", TYPE_NUMBER, EVERY, .required = true},
    {.name = "step", TYPE_NUMBER, EVERY},
    {.name = "factor", TYPE_NUMBER, EVERY},
};
static const struct schema schema_real_range = {"a range", SCHEMA_KEYS(real_range_keys)};

bool range_is_meant(const struct toml_node *node)
{
    return node->kind == NODE_TABLE && (toml_child(node, "from") || toml_child(node, "to"));
}

/* --- of integers --- */

static uint64_t count_powers(int64_t from, int64_t to, int64_t factor)
{
    uint64_t count = 1;
    while (from <= to / factor) {
        from *= factor;
        count++;
    }
    return count;
}

static bool check_range_table(const struct reading *r, const struct toml_node *node,
                              const struct toml_node *const *found)
{
    const struct toml_node *from = found[RANGE_FROM], *to = found[RANGE_TO];
    const struct toml_node *step = found[RANGE_STEP], *factor = found[RANGE_FACTOR];
    if (!from || !to)
        return false;
    if (step && factor)
        problem_at_key(r, factor, "a range can have a step or a factor, but not both");
    else if (step && step->integer < 1)
        problem_at_value(r, step, "step must be at least 1, not %" PRId64, step->integer);
    else if (factor && factor->integer < 2)
        problem_at_value(r, factor, "factor must be at least 2, not %" PRId64, factor->integer);
    else if (factor && from->integer < 1)
        problem_at_value(r, from, "a range with a factor must begin at 1 or above, not at %" PRId64, from->integer);
    else if (from->integer > to->integer)
        problem_at_value(r, node, "%s: the range from %" PRId64 " to %" PRId64 " is empty",
                         node->key ? node->key : "it", from->integer, to->integer);
    else
        return true;
    return false;
}

bool range_read(const struct reading *r, const struct toml_node *node, struct number_range *out)
{
    const struct toml_node *found[RANGE_COUNT];
    schema_match(&schema_range, r, node, found);
    if (!check_range_table(r, node, found))
        return false;
    int64_t from = found[RANGE_FROM]->integer, to = found[RANGE_TO]->integer;
    if (found[RANGE_FACTOR]) {
        int64_t factor = found[RANGE_FACTOR]->integer;
        *out = (struct number_range){.first = from, .factor = factor, .count = count_powers(from, to, factor)};
        return true;
    }
    int64_t step = found[RANGE_STEP] ? found[RANGE_STEP]->integer : 1;
    uint64_t steps = ((uint64_t)to - (uint64_t)from) / (uint64_t)step;
    if (steps >= LARGEST_COUNT) {
        problem_at_value(r, node, "%s: the range has too many values to count", node->key ? node->key : "it");
        return false;
    }
    *out = (struct number_range){.first = from, .step = step, .count = steps + 1};
    return true;
}

int64_t range_at(const struct number_range *range, uint64_t position)
{
    int64_t value = range->first;
    /* The sum is within the range, the product need not be: from -2^63 on it takes 64 bits without a sign. */
    if (range->step)
        return (int64_t)((uint64_t)value + (uint64_t)range->step * position);
    while (position-- > 0)
        value *= range->factor;
    return value;
}

/* --- of values --- */

struct real_range {
    double from, to, step, factor; /* one of step and factor; the other is 0 */
};

static bool check_real_range(const struct reading *r, const struct toml_node *node,
                             const struct toml_node *const *found, struct real_range *out)
{
    const struct toml_node *step = found[RANGE_STEP], *factor = found[RANGE_FACTOR], *bad = NULL;
    if (!found[RANGE_FROM] || !found[RANGE_TO])
        return false;
    for (int i = 0; i < RANGE_COUNT; i++)
        if (found[i] && !isfinite(number_of(found[i])))
            bad = found[i];
    *out = (struct real_range){number_of(found[RANGE_FROM]), number_of(found[RANGE_TO]), number_of(step),
                               number_of(factor)};
    if (bad)
        problem_at_value(r, bad, "%s: NaN and infinity cannot be values of an axis", node->key);
    else if (step && factor)
        problem_at_key(r, factor, "a range can have a step or a factor, but not both");
    else if (!step && !factor)
        problem_at_value(r, node, "%s: a range of reals needs a step or a factor", node->key);
    else if (step && out->step <= 0)
        problem_at_value(r, step, "step must be above 0, not %g", out->step);
    else if (factor && out->factor <= 1)
        problem_at_value(r, factor, "factor must be above 1, not %g", out->factor);
    else if (factor && out->from <= 0)
        problem_at_value(r, found[RANGE_FROM], "a range of reals with a factor must begin above 0, not at %g",
                         out->from);
    else if (out->from > out->to)
        problem_at_value(r, node, "%s: the range from %g to %g is empty", node->key, out->from, out->to);
    else
        return true;
    return false;
}

/* Of 0.1 + 2 * 0.1 one means 0.3. */
static double rounded(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    return strtod(text, NULL);
}

static double real_at(const struct real_range *range, double position)
{
    return rounded(range->factor != 0 ? range->from * pow(range->factor, position)
                                      : range->from + range->step * position);
}

static double last_position(const struct real_range *range)
{
    double steps = range->factor != 0 ? log(range->to / range->from) / log(range->factor)
                                      : (range->to - range->from) / range->step;
    return floor(steps + ROUNDING);
}

static bool too_many(const struct reading *r, const struct toml_node *node)
{
    problem_at_value(r, node, "%s: the range has more than a million values", node->key);
    return false;
}

static bool read_reals(const struct reading *r, const struct toml_node *node, const struct toml_node *const *found,
                       struct value **values, size_t *count)
{
    struct real_range range;
    if (!check_real_range(r, node, found, &range))
        return false;
    double last = last_position(&range);
    if (!(last < MOST_VALUES))
        return too_many(r, node);
    *count = (size_t)last + 1;
    *values = xcalloc(*count, sizeof **values);
    for (size_t i = 0; i < *count; i++) {
        (*values)[i] = (struct value){.kind = VALUE_FLOAT, .real = real_at(&range, (double)i)};
        if (i == 0 || (*values)[i].real > (*values)[i - 1].real)
            continue;
        problem_at_value(r, node, "%s: the step is too small: neighbouring values are equal in 15 digits", node->key);
        free(*values);
        *values = NULL;
        return false;
    }
    return true;
}

static bool read_integers(const struct reading *r, const struct toml_node *node, struct value **values, size_t *count)
{
    struct number_range range;
    if (!range_read(r, node, &range))
        return false;
    if (range.count > MOST_VALUES)
        return too_many(r, node);
    *count = (size_t)range.count;
    *values = xcalloc(*count, sizeof **values);
    for (size_t i = 0; i < *count; i++)
        (*values)[i] = (struct value){.kind = VALUE_INT, .integer = range_at(&range, i)};
    return true;
}

bool range_read_values(const struct reading *r, const struct toml_node *node, struct value **values, size_t *count)
{
    const struct toml_node *found[RANGE_COUNT];
    for (size_t i = 0; i < node->child_count; i++) {
        if (node->children[i].kind != NODE_FLOAT)
            continue;
        schema_match(&schema_real_range, r, node, found);
        return read_reals(r, node, found, values, count);
    }
    return read_integers(r, node, values, count);
}
