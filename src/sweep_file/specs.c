#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/hf_config.h"
#include "sweep_file/schema.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define LARGEST_COUNT INT64_MAX
#define MOST_VALUES 1000000 /* that are written out */
#define ROUNDING 1e-9       /* of a step: 0.1 ten times over is to meet 1 */

#define RANGE_KEYS(types)                                                                                              \
    {                                                                                                                  \
        {.name = "from", (types), EVERY, .required = true}, {.name = "to", (types), EVERY, .required = true},          \
            {.name = "step", (types), EVERY}, {.name = "factor", (types), EVERY},                                      \
    }
static const struct schema_key range_keys[] = RANGE_KEYS(TYPE_INT), real_range_keys[] = RANGE_KEYS(TYPE_NUMBER);
static const struct schema schema_range = {"a range", SCHEMA_KEYS(range_keys)};
static const struct schema schema_real_range = {"a range", SCHEMA_KEYS(real_range_keys)};

bool range_is_meant(const struct toml_node *node)
{
    return node->kind == NODE_TABLE && (toml_child(node, "from") || toml_child(node, "to"));
}

static const char *number_text(const struct reading *r, const struct toml_node *number, bool is_real)
{
    return arena_keep(r->arena, is_real ? xasprintf("%g", number_of(number)) : xasprintf("%" PRId64, number->integer));
}

static bool check_range_table(const struct reading *r, const struct toml_node *node, const struct found *found)
{
    const struct toml_node *from = found_key(found, "from"), *to = found_key(found, "to"), *bad = NULL;
    const struct toml_node *step = found_key(found, "step"), *factor = found_key(found, "factor");
    const char *name = node->key ? node->key : "it";
    const bool is_real = found->of == &schema_real_range;
    if (!from || !to)
        return false;
    for (size_t i = 0; i < found->of->count; i++)
        if (found->nodes[i] && !isfinite(number_of(found->nodes[i])))
            bad = found->nodes[i];
    if (bad)
        problem_at_value(r, bad, "%s: NaN and infinity cannot be values of an axis", name);
    else if (step && factor)
        problem_at_key(r, factor, "a range can have a step or a factor, but not both");
    else if (is_real && !step && !factor)
        problem_at_value(r, node, "%s: a range of reals needs a step or a factor", name);
    else if (step && !(number_of(step) > 0))
        problem_at_value(r, step, "step must be %s, not %s", is_real ? "above 0" : "at least 1",
                         number_text(r, step, is_real));
    else if (factor && !(number_of(factor) > 1))
        problem_at_value(r, factor, "factor must be %s, not %s", is_real ? "above 1" : "at least 2",
                         number_text(r, factor, is_real));
    else if (factor && !(number_of(from) > 0))
        problem_at_value(r, from, "a range %s, not at %s",
                         is_real ? "of reals with a factor must begin above 0"
                                 : "with a factor must begin at 1 or above",
                         number_text(r, from, is_real));
    else if (is_real ? number_of(from) > number_of(to) : from->integer > to->integer)
        problem_at_value(r, node, "%s: the range from %s to %s is empty", name, number_text(r, from, is_real),
                         number_text(r, to, is_real));
    else
        return true;
    return false;
}

static uint64_t count_powers(int64_t from, int64_t to, int64_t factor)
{
    uint64_t count = 1;
    while (from <= to / factor) {
        from *= factor;
        count++;
    }
    return count;
}

/* 0.1 + 2 * 0.1 is meant as 0.3. */
static double rounded(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    return strtod(text, NULL);
}

static uint64_t count_reals(const struct number_range *range, double to)
{
    const double steps = range->real_factor != 0 ? log(to / range->from) / log(range->real_factor)
                                                 : (to - range->from) / range->real_step;
    const double last = floor(steps + ROUNDING);
    return last < MOST_VALUES ? (uint64_t)last + 1 : MOST_VALUES + 1;
}

bool range_read(const struct reading *r, const struct toml_node *node, bool may_be_real, struct number_range *out)
{
    const bool is_real = may_be_real && ANY(i, node->child_count, node->children[i].kind == NODE_FLOAT);
    const struct found found = schema_match(is_real ? &schema_real_range : &schema_range, r, node);
    if (!check_range_table(r, node, &found))
        return false;
    const struct toml_node *from = found_key(&found, "from"), *to = found_key(&found, "to");
    const struct toml_node *step = found_key(&found, "step"), *factor = found_key(&found, "factor");
    *out = (struct number_range){.is_real = is_real};
    if (is_real) {
        out->from = number_of(from);
        out->real_step = number_of(step);
        out->real_factor = number_of(factor);
        out->count = count_reals(out, number_of(to));
        return true;
    }
    out->first = from->integer;
    out->factor = factor ? factor->integer : 0;
    out->step = factor ? 0 : step ? step->integer : 1;
    const uint64_t steps = factor ? count_powers(from->integer, to->integer, out->factor) - 1
                                  : ((uint64_t)to->integer - (uint64_t)from->integer) / (uint64_t)out->step;
    if (steps >= LARGEST_COUNT) {
        problem_at_value(r, node, "%s: the range has too many values to count", node->key ? node->key : "it");
        return false;
    }
    out->count = steps + 1;
    return true;
}

struct value range_at(const struct number_range *range, uint64_t position)
{
    struct value v = {.kind = range->is_real ? VALUE_FLOAT : VALUE_INT, .integer = range->first};
    if (range->is_real)
        v.real = rounded(range->real_factor != 0 ? range->from * pow(range->real_factor, (double)position)
                                                 : range->from + range->real_step * (double)position);
    /* The sum is within the range, the product need not be: from -2^63 on it takes 64 bits without a sign. */
    v.integer = (int64_t)((uint64_t)v.integer + (uint64_t)range->step * position);
    for (; range->factor && position > 0; position--)
        v.integer *= range->factor;
    return v;
}

#define FILE_MOST_BYTES ((size_t)16 << 20)

/* By its own name or another that the profile has for it. */
static bool has_meaning(const struct sweep *s, const struct block *block, const char *name)
{
    bool found = block_axis(block, name);
    for (size_t i = 0; i < s->synonym_count && !found; i++)
        for (char **other = s->synonyms[i].keys; strcmp(s->synonyms[i].name, name) == 0 && *other && !found; other++)
            found = block_axis(block, *other);
    return found;
}

/* The keys that the file named by `node` has (hf_config.h) are added to the block, each an axis of one value; those
 * that the block has already, also by a [synonym], stand. The file is looked for beside the sweep file, and its text
 * counts towards what the sweep is. What is wrong with it is a problem at the node. */
static void hf_keys_add(const struct reading *r, const struct toml_node *node, struct block *block)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct hf_keys keys = {NULL, 0};
    struct error e = ERROR_INIT;
    OWNED char *path = path_beside(r->file, node->text);
    if (file_read(path, FILE_MOST_BYTES, &text, &e) < 0 ||
        hf_config_read(r->arena, node->text, buffer_text(&text), &r->gathered->types, &keys, &e) < 0)
        problem_at_value(r, node, "%s", e.text);
    else
        /* A sweep whose file has changed is another sweep. */
        r->sweep->profile_text = arena_keep(r->arena, xasprintf("%s%s", r->sweep->profile_text, buffer_text(&text)));
    for (size_t i = 0; i < keys.count; i++)
        if (!has_meaning(r->sweep, block, keys.items[i].name))
            block_add_key(r->arena, block, keys.items[i].name, &keys.items[i].value, reading_at_value(r, node))
                ->is_from_file = true;
}

const char *const section_names[SECTION_COUNT] = {
    [SECTION_CLUSTER] = "cluster_spec",
    [SECTION_MODEL] = "model",
    [SECTION_TRAINING] = "training_spec",
    [SECTION_PARALLEL] = "parallel_spec",
};

/* One [[section]] table on its way to a block. */
struct block_reading {
    const struct reading *r;
    enum section_kind kind;
    struct block *block;
};

/* --- names --- */

static char *join_key(const struct reading *r, const char *prefix, const char *key)
{
    return prefix ? arena_keep(r->arena, xasprintf("%s.%s", prefix, key)) : arena_text(r->arena, key);
}

static int compare_text(const void *text, const void *word)
{
    return strcmp(text, ((const struct listed_word *)word)->text);
}

static bool list_values_have(const struct reading *r, const char *key)
{
    const struct word_list *w = &r->gathered->list_values;
    return w->count > 0 && bsearch(key, w->items, w->count, sizeof *w->items, compare_text);
}

/* Returns whether a list is one value of this key: it is named bare or with its section. */
static bool takes_lists(const struct block_reading *b, const char *key)
{
    if (list_values_have(b->r, key))
        return true;
    OWNED char *qualified = xasprintf("%s.%s", section_names[b->kind], key);
    return list_values_have(b->r, qualified);
}

/* --- values --- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), width = strlen(end);
    return length >= width && strcmp(text + length - width, end) == 0;
}

/* Sizes that expressions compare: device_memory, host_memory, … */
static bool is_size(const struct block_reading *b, const char *key)
{
    return b->kind == SECTION_CLUSTER && (ends_with(key, "_memory") || ends_with(key, "_bytes"));
}

static struct value size_value(const struct reading *r, const char *key, const struct toml_node *node)
{
    struct value v = {.kind = VALUE_INT, .integer = node->integer};
    if (node->kind == NODE_FLOAT)
        v = (struct value){.kind = VALUE_FLOAT, .real = node->real};
    else if (node->kind == NODE_STRING && !parse_size_bytes(node->text, &v.integer))
        problem_at_value(r, node, "%s: \"%s\" is not a size, such as \"80GiB\", \"24 MiB\" or bytes as a number", key,
                         node->text);
    else
        schema_expect(r, node, key, TYPE_STRING | TYPE_NUMBER);
    return v;
}

/* Keys that say how many devices a job takes: an expression would make 0 of a text, and nobody has half a host. */
static void check_count(const struct block_reading *b, const char *key, const struct toml_node *node)
{
    enum { MOST = 1000000 }; /* of either; what they multiply to is far from overflowing */
    const struct toml_node *least = b->kind == SECTION_CLUSTER ? known("cluster_counts", key) : NULL;
    if (least && (node->kind != NODE_INT || node->integer < least->integer))
        problem_at_value(b->r, node, "%s must be an integer of at least %d", key, (int)least->integer);
    else if (least && node->integer > MOST)
        problem_at_value(b->r, node, "%s must be at most %d, not %" PRId64, key, MOST, node->integer);
}

/* A share of a device that jobs have in common, or whole devices. */
static void check_gpus(const struct block_reading *b, const char *key, const struct toml_node *node)
{
    if (b->kind != SECTION_CLUSTER || strcmp(key, "gpus") != 0 || node->kind != NODE_FLOAT)
        return;
    if (!(node->real > 0) || (node->real > 1 && node->real != floor(node->real)))
        problem_at_value(b->r, node,
                         "gpus must be a whole number, or the share of one device that a job takes, above 0 "
                         "and below 1, not %g",
                         node->real);
}

static struct value read_value(const struct block_reading *b, const char *key, const struct toml_node *node)
{
    const struct toml_node *bad = find_not_finite(node);
    if (bad)
        problem_at_value(b->r, bad, "%s: NaN and infinity cannot be values of an axis", key);
    if (range_is_meant(node) && !takes_lists(b, key))
        problem_at_value(b->r, node,
                         "%s: a range cannot be an element of a list (for keys whose tables are values, see "
                         "list_values)",
                         key);
    check_count(b, key, node);
    check_gpus(b, key, node);
    struct value v = is_size(b, key) ? size_value(b->r, key, node) : plain_value(b->r, node);
    if (v.text && strlen(v.text) > SPEC_LONGEST)
        problem_at_value(b->r, node,
                         "%s: a value of %zu KiB is larger than %d KiB; put it into a file and sweep over file names",
                         key, strlen(v.text) >> 10, SPEC_LONGEST >> 10);
    return v;
}

/* --- axes --- */

static void make_values(const struct block_reading *b, struct axis *axis, size_t count)
{
    axis->value_count = count;
    axis->values = arena_keep(b->r->arena, xcalloc(count * axis->key_count, sizeof *axis->values));
}

/* At first with a single value that is not there: the key is known, so that what uses it can be checked. */
static struct axis *add_axis(const struct block_reading *b, const struct toml_node *node, char **keys, size_t count)
{
    struct axis *axis = arena_add(b->r->arena, b->block->axes, b->block->axis_count);
    *axis = (struct axis){.keys = keys, .key_count = count, .at = reading_at_key(b->r, node)};
    make_values(b, axis, 1);
    return axis;
}

/* One row of an axis as JSON: equal text, equal values. */
static char *row_text(const struct axis *axis, size_t row)
{
    struct buffer text = BUFFER_INIT;
    for (size_t k = 0; k < axis->key_count; k++) {
        buffer_add_text(&text, axis->key_count == 1 ? "" : k == 0 ? "[" : ", ");
        value_add_json(&axis->values[row * axis->key_count + k], &text);
    }
    if (axis->key_count > 1)
        buffer_add_char(&text, ']');
    return buffer_take(&text);
}

static void check_distinct(const struct reading *r, const struct axis *axis, const struct toml_node *list)
{
    struct word_list rows = {NULL, 0};
    for (size_t i = 0; i < axis->value_count; i++)
        words_add(r, &rows, arena_keep(r->arena, row_text(axis, i)), reading_at_value(r, &list->children[i]));
    words_check_differ(r, list->key, &rows);
}

static void read_list_axis(const struct block_reading *b, const struct toml_node *node, struct axis *axis)
{
    if (node->child_count == 0) {
        problem_at_value(b->r, node,
                         "%s: the list is empty, but an axis needs a value (for a list as a value, use list_values)",
                         node->key);
        return;
    }
    make_values(b, axis, node->child_count);
    for (size_t i = 0; i < node->child_count; i++)
        axis->values[i] = read_value(b, axis->keys[0], &node->children[i]);
    check_distinct(b->r, axis, node);
}

/* A value of a range may be wrong for its key as one that is written out is: the ends tell. */
static void check_range_value(const struct block_reading *b, const char *key, const struct toml_node *range,
                              const struct value *value)
{
    struct toml_node end = *range;
    end.kind = value->kind == VALUE_INT ? NODE_INT : NODE_FLOAT;
    end.integer = value->integer;
    end.real = value->real;
    check_count(b, key, &end);
}

/* The values in ascending order, both ends included where the step meets them: integers, or reals of 15 digits where
 * one of its numbers is real. False after a complaint. */
static bool read_range_values(const struct block_reading *b, const struct toml_node *node, struct axis *axis)
{
    struct number_range range;
    if (!range_read(b->r, node, true, &range))
        return false;
    if (range.count > MOST_VALUES) {
        problem_at_value(b->r, node, "%s: the range has more than a million values", node->key);
        return false;
    }
    make_values(b, axis, (size_t)range.count);
    for (size_t i = 0; i < axis->value_count; i++) {
        axis->values[i] = range_at(&range, i);
        if (!range.is_real || i == 0 || axis->values[i].real > axis->values[i - 1].real)
            continue;
        problem_at_value(b->r, node, "%s: the step is too small: neighbouring values are equal in 15 digits",
                         node->key);
        return false;
    }
    return true;
}

static void read_range_axis(const struct block_reading *b, const struct toml_node *node, struct axis *axis)
{
    if (!read_range_values(b, node, axis)) {
        make_values(b, axis, 1);
        return;
    }
    check_range_value(b, axis->keys[0], node, &axis->values[0]);
    if (axis->value_count > 1)
        check_range_value(b, axis->keys[0], node, &axis->values[axis->value_count - 1]);
}

static void read_axis(const struct block_reading *b, const struct toml_node *node, const char *prefix)
{
    char *key = join_key(b->r, prefix, node->key), **keys = NULL;
    size_t count = 0;
    if (!check_key_name(b->r, node, key))
        return;
    *arena_add(b->r->arena, keys, count) = key;
    struct axis *axis = add_axis(b, node, keys, count);
    if (node->kind == NODE_LIST && !takes_lists(b, key))
        read_list_axis(b, node, axis);
    else if (range_is_meant(node) && !takes_lists(b, key))
        read_range_axis(b, node, axis);
    else
        axis->values[0] = read_value(b, key, node);
}

static size_t count_lists(const struct toml_node *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->child_count; i++)
        n += list->children[i].kind == NODE_LIST;
    return n;
}

static void read_tuple(const struct block_reading *b, const struct toml_node *tuple, const struct axis *axis,
                       struct value *out)
{
    for (size_t k = 0; k < axis->key_count; k++)
        out[k] = read_value(b, axis->keys[k], &tuple->children[k]);
}

/* Every tuple has as many elements as the group has keys. */
static bool check_tuples(const struct reading *r, const struct toml_node *node, size_t key_count)
{
    bool good = true;
    for (size_t i = 0; i < node->child_count; i++) {
        const struct toml_node *tuple = &node->children[i];
        if (tuple->child_count != key_count)
            problem_at_value(r, tuple, "%s ties %zu keys, but this has %zu values", node->key, key_count,
                             tuple->child_count);
        good &= tuple->child_count == key_count;
    }
    return good;
}

/* A list whose elements are all lists holds tuples; any other list is one tuple. */
static void read_group_values(const struct block_reading *b, const struct toml_node *node, struct axis *axis)
{
    bool one = count_lists(node) < node->child_count;
    if (one && node->child_count != axis->key_count) {
        problem_at_value(b->r, node, "%s ties %zu keys, so it needs a list of lists of %zu values each", node->key,
                         axis->key_count, axis->key_count);
        return;
    }
    if (!one && !check_tuples(b->r, node, axis->key_count))
        return;
    make_values(b, axis, one ? 1 : node->child_count);
    for (size_t i = 0; i < axis->value_count; i++)
        read_tuple(b, one ? node : &node->children[i], axis, axis->values + i * axis->key_count);
    if (!one)
        check_distinct(b->r, axis, node);
}

static bool check_group(const struct block_reading *b, const struct toml_node *node, char **keys, size_t count)
{
    if (count < 2) {
        problem_at_key(b->r, node, "%s: a tied group needs at least two keys", node->key);
        return false;
    }
    for (size_t k = 0; k < count; k++)
        if (!check_key_name(b->r, node, keys[k]))
            return false;
    if (node->kind != NODE_LIST || node->child_count == 0) {
        problem_at_value(b->r, node, "%s must be a list of lists of %zu values each", node->key, count);
        return false;
    }
    return true;
}

static void read_group(const struct block_reading *b, const struct toml_node *node, const char *prefix)
{
    char **keys;
    size_t count;
    if (!group_parse(b->r->arena, node->key, &keys, &count)) {
        problem_at_key(b->r, node, "\"%s\" is not a tied group; write one as \"(a, b)\"", node->key);
        reading_excuse(b->r, node);
        return;
    }
    for (size_t k = 0; prefix && k < count; k++)
        keys[k] = join_key(b->r, prefix, keys[k]);
    if (check_group(b, node, keys, count)) {
        read_group_values(b, node, add_axis(b, node, keys, count));
        return;
    }
    for (size_t k = 0; k < count; k++)
        problems_excuse(b->r->problems, keys[k]);
}

/* --- blocks --- */

/* Tables written as [section.key] or with dotted keys are part of the block, but for ranges; { … } is a value. */
static void read_axes(const struct block_reading *b, const struct toml_node *table, const char *prefix)
{
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        if (node->key[0] == '(') {
            read_group(b, node, prefix);
        } else if (node->kind == NODE_TABLE && !node->is_inline && !range_is_meant(node)) {
            read_axes(b, node, join_key(b->r, prefix, node->key));
        } else {
            read_axis(b, node, prefix);
        }
    }
}

static void check_keys_once(const struct reading *r, const struct block *block)
{
    struct word_list keys = {NULL, 0};
    for (size_t a = 0; a < block->axis_count; a++)
        for (size_t k = 0; k < block->axes[a].key_count; k++)
            words_add(r, &keys, block->axes[a].keys[k], block->axes[a].at);
    words_sort(&keys);
    for (size_t i = 1; i < keys.count; i++)
        if (strcmp(keys.items[i].text, keys.items[i - 1].text) == 0)
            problems_add(r->problems, keys.items[i].at, "\"%s\" is given twice in one block (first on line %d)",
                         keys.items[i].text, keys.items[i - 1].at.line);
}

static void read_block(const struct reading *r, enum section_kind kind, const struct toml_node *table)
{
    struct section *section = &r->sweep->sections[kind];
    struct block *block = arena_add(r->arena, section->blocks, section->block_count);
    *block = (struct block){.at = reading_at_value(r, table)};
    struct block_reading b = {.r = r, .kind = kind, .block = block};
    read_axes(&b, table, NULL);
    check_keys_once(r, block);
    const struct toml_node *config = toml_child(table, HF_CONFIG_KEY);
    if (!config)
        return;
    if (kind != SECTION_MODEL)
        problem_at_key(r, config, "%s belongs in [[model]]", HF_CONFIG_KEY);
    else if (config->kind != NODE_STRING)
        problem_at_value(r, config, "%s must be the name of a config.json, or a list of such names", HF_CONFIG_KEY);
    else
        hf_keys_add(r, config, block);
}

/* Files have keys that others lack: each has a block of its own. */
static void read_blocks(const struct reading *r, enum section_kind kind, const struct toml_node *table)
{
    const struct toml_node *files = toml_child(table, HF_CONFIG_KEY);
    if (!files || files->kind != NODE_LIST || files->child_count == 0) {
        read_block(r, kind, table);
        return;
    }
    struct toml_node one = *table;
    one.children = xcalloc(table->child_count, sizeof *one.children);
    memcpy(one.children, table->children, table->child_count * sizeof *one.children);
    struct toml_node *file = &one.children[files - table->children];
    for (size_t i = 0; i < files->child_count; i++) {
        *file = files->children[i];
        file->key = files->key;
        file->key_line = files->key_line;
        file->key_column = files->key_column;
        read_block(r, kind, &one);
    }
    free(one.children);
}

void read_section(const struct reading *r, enum section_kind kind, const struct toml_node *node)
{
    if (node->kind == NODE_TABLE)
        read_blocks(r, kind, node);
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++)
        read_blocks(r, kind, &node->children[i]);
}
