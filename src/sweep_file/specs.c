#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sweep_file/hf_config.h"
#include "sweep_file/schema.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define LARGEST_COUNT INT64_MAX
#define MOST_VALUES 1000000 /* that are written out */
#define ROUNDING 1e-9       /* of a step: 0.1 ten times over is to meet 1 */

static const struct schema schema_range = {SCHEMA("a range", KEYS_OF_RANGE)};
static const struct schema schema_real_range = {SCHEMA("a range", KEYS_OF_REAL_RANGE)};

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
        hf_config_read(r->arena, node->text, buffer_text(&text), r->types, &keys, &e) < 0)
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

/* Returns whether a list is one value of this key: it is named bare or with its section. */
static bool takes_lists(const struct block_reading *b, const char *key)
{
    const struct word_list *lists = &b->r->sweep->list_values;
    OWNED char *qualified = xasprintf("%s.%s", section_names[b->kind], key);
    return word_list_has(lists, key) || word_list_has(lists, qualified);
}

/* --- values --- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), width = strlen(end);
    return length >= width && strcmp(text + length - width, end) == 0;
}

/* Sizes that expressions compare: device_memory, host_memory, … */
static bool is_size(enum section_kind kind, const char *key)
{
    return kind == SECTION_CLUSTER && (ends_with(key, "_memory") || ends_with(key, "_bytes"));
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
    struct value v = is_size(b->kind, key) ? size_value(b->r, key, node) : plain_value(b->r, node);
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

/* --- when all files are read --- */

/* Pairs of words that are compared for a hint: more take long, and nobody writes them by hand. */
#define MOST_HINT_PAIRS 100000

/* SQLite compares column names without regard to case: words are sorted so too, then exactly, then as written. */
static int compare_columns(const void *a, const void *b)
{
    const struct listed_word *x = a, *y = b;
    int order = strcasecmp(x->text, y->text);
    if (order == 0)
        order = strcmp(x->text, y->text);
    if (order == 0)
        order = (x->at.line > y->at.line) - (x->at.line < y->at.line);
    return order;
}

static int compare_column(const void *text, const void *word)
{
    return strcasecmp(text, ((const struct listed_word *)word)->text);
}

/* The keys of a section, and those that a table gives it, each spelling once. */
static struct word_list section_keys(const struct reading *r, enum section_kind kind)
{
    const struct sweep *s = r->sweep;
    struct word_list all = {NULL, 0};
    for (size_t i = 0; i < s->import.column_count; i++)
        if (!s->import.columns[i].is_metric && s->import.columns[i].section == kind)
            words_add(r, &all, s->import.columns[i].name, s->import.columns[i].at);
    for (struct axis_place at = AXES_OF(kind); sweep_next_axis(s, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++)
            words_add(r, &all, at.axis->keys[k], at.axis->at);
    array_sort(all.items, all.count, compare_columns);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (kept == 0 || strcmp(all.items[i].text, all.items[kept - 1].text) != 0)
            all.items[kept++] = all.items[i];
    all.count = kept;
    return all;
}

static void check_case(const struct reading *r, const struct word_list *keys)
{
    for (size_t i = 1; i < keys->count; i++)
        if (strcasecmp(keys->items[i].text, keys->items[i - 1].text) == 0)
            problems_add(r->problems, keys->items[i].at, "\"%s\" differs from \"%s\" (line %d) only in case",
                         keys->items[i].text, keys->items[i - 1].text, keys->items[i - 1].at.line);
}

static const struct axis *constant_name(const struct block *block)
{
    for (size_t a = 0; a < block->axis_count; a++) {
        const struct axis *axis = &block->axes[a];
        if (axis->key_count == 1 && axis->value_count == 1 && strcmp(axis->keys[0], "name") == 0)
            return axis;
    }
    return NULL;
}

static void check_names(const struct reading *r, const struct section *section)
{
    struct word_list names = {NULL, 0};
    for (size_t b = 0; sweep_is_label(r->sweep, "name") && b < section->block_count; b++) {
        const struct axis *axis = constant_name(&section->blocks[b]);
        if (axis && axis->values[0].kind == VALUE_STRING)
            words_add(r, &names, axis->values[0].text, axis->at);
    }
    words_sort(&names);
    for (size_t i = 1; i < names.count; i++)
        if (strcmp(names.items[i].text, names.items[i - 1].text) == 0)
            problems_add(r->problems, names.items[i].at, "the name \"%s\" is given twice (first at %s:%d)",
                         names.items[i].text, names.items[i - 1].at.file, names.items[i - 1].at.line);
}

static const struct listed_word *find_column(const struct word_list *keys, const char *name)
{
    return keys->count ? bsearch(name, keys->items, keys->count, sizeof *keys->items, compare_column) : NULL;
}

/* Returns whether a derived key stays: one of a profile gives way to a key that the file sets itself. */
static bool check_derived(const struct reading *r, const struct word_list *keys, const struct derived *d)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++) {
        const struct listed_word *key = find_column(&keys[kind], d->name);
        if (key && sweep_in_profile(r->sweep, &d->at))
            return false;
        if (key)
            problems_add(r->problems, d->at, "\"%s\" is a derived key, but also a key of %s (line %d); rename one",
                         d->name, section_names[kind], key->at.line);
    }
    return true;
}

static void check_all_derived(const struct reading *r, const struct word_list *keys)
{
    struct sweep *s = r->sweep;
    size_t kept = 0;
    for (size_t i = 0; i < s->derived_count; i++) {
        if (check_derived(r, keys, &s->derived[i]))
            s->derived[kept++] = s->derived[i];
    }
    s->derived_count = kept;
}

/* A word of note or list_values that is no key does no harm where the block that had it is commented out; one that is
 * nearly a key is a slip that would change what counts as the same job. */
static void check_word(const struct reading *r, const struct listed_word *word, const struct word_list *known)
{
    const char *dot = strchr(word->text, '.');
    if (sweep_in_profile(r->sweep, &word->at) || problems_excused(r->problems, word->text) ||
        word_list_has(known, word->text) || (dot && word_list_has(known, dot + 1)))
        return;
    struct suggestion meant = SUGGEST(word->text, i, known->count, known->items[i].text);
    if (meant.near)
        problems_add(r->problems, word->at, "no section has a key \"%s\"%s", word->text, suggest_hint(&meant));
}

static void check_words(const struct reading *r, const struct word_list *keys)
{
    const struct word_list *lists[] = {&r->sweep->notes, &r->sweep->list_values};
    struct word_list known = {0};
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t i = 0; i < keys[kind].count; i++)
            words_add(r, &known, keys[kind].items[i].text, keys[kind].items[i].at);
    if (known.count * (lists[0]->count + lists[1]->count) > MOST_HINT_PAIRS)
        return;
    for (size_t l = 0; l < LENGTH(lists); l++)
        for (size_t i = 0; i < lists[l]->count; i++)
            check_word(r, &lists[l]->items[i], &known);
}

/* --- replicates and groups --- */

/* A word of a list that names a key of a section ("seed" or "training_spec.seed"). */
struct listed_key {
    enum section_kind kind;
    const char *key; /* its bare name; borrowed from the word */
};

static size_t sections_with(const struct word_list *keys, const char *name, struct listed_key *out)
{
    const char *behind;
    const enum section_kind said = section_split(name, &behind);
    size_t found = 0;
    for (enum section_kind k = 0; k < SECTION_COUNT; k++) {
        const char *bare = k == said ? behind : name;
        const struct listed_word *word = find_column(&keys[k], bare);
        if (!word || strcmp(word->text, bare) != 0)
            continue;
        *out = (struct listed_key){k, bare};
        found++;
    }
    return found;
}

static bool is_derived(const struct sweep *s, const char *name)
{
    return ANY(i, s->derived_count, strcmp(s->derived[i].name, name) == 0);
}

static void unknown_listed(const struct reading *r, const struct word_list *keys, const char *list,
                           const struct listed_word *word)
{
    struct suggestion meant = {0};
    for (int k = 0; k < SECTION_COUNT && !meant.near; k++)
        meant = SUGGEST(word->text, i, keys[k].count, keys[k].items[i].text);
    if (!problems_excused(r->problems, word->text))
        problems_add(r->problems, word->at, "%s: no section has a key \"%s\"%s", list, word->text,
                     suggest_hint(&meant));
}

/* The key that a word of `list` names. False after a complaint: no section has it, with what may be meant, or several
 * have. */
static bool listed_key_find(const struct reading *r, const struct word_list *keys, const char *list,
                            const struct listed_word *word, struct listed_key *out)
{
    size_t sections = sections_with(keys, word->text, out);
    if (sections == 0)
        unknown_listed(r, keys, list, word);
    else if (sections > 1)
        problems_add(r->problems, word->at, "%s: several sections have a key \"%s\"; write \"%s.%s\"", list, word->text,
                     section_names[out->kind], out->key);
    return sections == 1;
}

/* A replicate key that moves together with another one has no replicates: where it differs, so does the other. */
static void check_untied(const struct reading *r, const struct listed_key *key)
{
    for (struct axis_place at = AXES_OF(key->kind); sweep_next_axis(r->sweep, &at);)
        for (size_t k = 0; axis_has(at.axis, key->key) && k < at.axis->key_count; k++)
            if (!sweep_is_replicate(r->sweep, key->kind, at.axis->keys[k]))
                problems_add(r->problems, at.axis->at,
                             "\"%s\" is a replicate key, but it is tied to \"%s\": jobs that differ in one also "
                             "differ in the other, so they are not replicates",
                             key->key, at.axis->keys[k]);
}

/* A list of keys, and what is wrong with a key in it; NULL: nothing is. */
struct key_list {
    const char *name;
    bool has_derived; /* a derived key may be meant */
    const char *if_derived, *if_label, *if_replicate;
};

static const struct key_list replicate_list =
    {.name = "replicate",
     .has_derived = true,
     .if_derived = "is derived; name the key from which it is derived",
     .if_label = "does not count towards identity ([sweep] note): jobs that differ only in it are one job, which runs "
                 "once"};
static const struct key_list group_list =
    {.name = "group_by",
     .has_derived = true,
     .if_replicate = "is a replicate key, so its jobs are one configuration and in one group"};
static const struct key_list free_list =
    {.name = "free",
     .if_label = "does not count towards identity ([sweep] note), so there is nothing to choose",
     .if_replicate = "is a replicate key, so its jobs are one configuration"};

/* Returns whether the word names a key of a section that may stand in the list, and qualifies it. */
static bool check_listed(const struct reading *r, const struct word_list *keys, const struct key_list *list,
                         struct listed_word *word)
{
    struct listed_key key;
    const char *wrong;
    if (list->has_derived && sections_with(keys, word->text, &key) == 0 && is_derived(r->sweep, word->text))
        wrong = list->if_derived;
    else if (!listed_key_find(r, keys, list->name, word, &key))
        return false;
    else if (list->if_label && sweep_is_label(r->sweep, key.key))
        wrong = list->if_label;
    else if (list->if_replicate && sweep_is_replicate(r->sweep, key.kind, key.key))
        wrong = list->if_replicate;
    else {
        if (list == &replicate_list)
            check_untied(r, &key);
        word->text = arena_keep(r->arena, xasprintf("%s.%s", section_names[key.kind], key.key));
        return true;
    }
    if (wrong)
        problems_add(r->problems, word->at, "%s: \"%s\" %s", list->name, word->text, wrong);
    return false;
}

/* Returns whether all of them may stand in the list. */
static bool check_list(const struct reading *r, const struct word_list *keys, const struct key_list *list,
                       struct word_list *words)
{
    bool good = true;
    for (size_t i = 0; i < words->count; i++)
        good &= check_listed(r, keys, list, &words->items[i]);
    return good;
}

/* Names are compared one by one, and SQLite takes 2,000 columns: a section with more keys is reported and left out. */
static void check_key_count(const struct reading *r, enum section_kind kind, struct word_list *keys)
{
    struct section *section = &r->sweep->sections[kind];
    if (keys->count <= SECTION_MOST_KEYS)
        return;
    problems_add(r->problems, section->blocks[0].at, "%s has %zu keys, more than %d", section_names[kind], keys->count,
                 SECTION_MOST_KEYS);
    problems_excuse_all(r->problems);
    *section = (struct section){NULL, 0};
    keys->count = 0;
}

/* --- stages when all files are read --- */

static bool is_free(const struct search_stage *stage, enum section_kind kind, const char *key)
{
    OWNED char *qualified = xasprintf("%s.%s", section_names[kind], key);
    return word_list_has(&stage->free, qualified);
}

/* Keys that move together with one that is free are free. */
static void free_tied(const struct reading *r, struct search_stage *stage, enum section_kind kind,
                      const struct axis *axis)
{
    const bool any = ANY(k, axis->key_count, is_free(stage, kind, axis->keys[k]));
    for (size_t k = 0; any && k < axis->key_count; k++) {
        OWNED char *qualified = xasprintf("%s.%s", section_names[kind], axis->keys[k]);
        word_list_add(r->arena, &stage->free, qualified, axis->at);
    }
}

static bool is_free_somewhere(const struct search_config *c, enum section_kind kind, const char *key)
{
    return ANY(i, c->stage_count, is_free(&c->stages[i], kind, key));
}

/* Keys of other sections separate what is compared. */
static void check_stage_axis(const struct reading *r, const struct axis *axis)
{
    const struct sweep *s = r->sweep;
    if (axis->value_count < 2)
        return;
    for (size_t k = 0; k < axis->key_count; k++) {
        const char *key = axis->keys[k];
        if (!is_free_somewhere(&s->search, SECTION_PARALLEL, key) && !sweep_is_label(s, key) &&
            !sweep_is_replicate(s, SECTION_PARALLEL, key))
            problems_add(r->problems, axis->at,
                         "\"%s\" has %zu values but is not free in any stage of [search], so only the first would be "
                         "tried; add it to `free` of a stage",
                         key, axis->value_count);
    }
}

/* Returns whether its keys are keys of the sweep. */
static bool check_stage(const struct reading *r, const struct word_list *section_keys, struct search_stage *stage)
{
    const bool known = check_list(r, section_keys, &free_list, &stage->free);
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(r->sweep, &at);)
        free_tied(r, stage, at.section, at.axis);
    return known;
}

static void check_search_stages(const struct reading *r, const struct word_list *section_keys)
{
    const struct search_config *c = &r->sweep->search;
    bool known = c->stage_count > 0;
    for (size_t i = 0; i < c->stage_count; i++)
        known &= check_stage(r, section_keys, &c->stages[i]);
    for (struct axis_place at = AXES_OF(SECTION_PARALLEL); known && sweep_next_axis(r->sweep, &at);)
        check_stage_axis(r, at.axis);
}

/* --- [was] --- */

static void check_absent(const struct reading *r, const struct word_list *keys, const struct was_key *w,
                         const char *key)
{
    for (int k = 0; k < SECTION_COUNT; k++) {
        if (w->section != SECTION_COUNT && (int)w->section != k)
            continue;
        for (size_t i = 0; i < keys[k].count; i++)
            if (strcmp(keys[k].items[i].text, key) == 0)
                problems_add(r->problems, w->at, "[was]: %s still has a key \"%s\" (line %d)", section_names[k], key,
                             keys[k].items[i].at.line);
    }
}

/* As the section would have it: in bytes. */
static void take_size(const struct reading *r, struct was_key *w)
{
    int64_t bytes;
    if (w->text[0] != '"' || !is_size(w->section, w->name))
        return;
    OWNED char *size = xstrndup(w->text + 1, strlen(w->text) - 1);
    size[strcspn(size, "\"")] = '\0';
    if (parse_size_bytes(size, &bytes))
        w->text = arena_keep(r->arena, xasprintf("%lld", (long long)bytes));
}

static void check_was(const struct reading *r, const struct word_list *keys)
{
    for (size_t i = 0; i < r->sweep->was_count; i++) {
        struct was_key *w = &r->sweep->was[i];
        struct listed_key found;
        if (w->kind == WAS_DROPPED) {
            const char *key; /* of "training_spec.seed" */
            w->section = section_split(w->name, &key);
            w->name += key - w->name;
            check_absent(r, keys, w, w->name);
        } else if (listed_key_find(r, keys, "[was]", &(struct listed_word){w->name, w->at}, &found)) {
            w->section = found.kind;
            w->name = arena_text(r->arena, found.key);
            take_size(r, w);
            if (w->kind == WAS_RENAMED)
                check_absent(r, keys, w, w->text);
        }
    }
}

void check_sections(const struct reading *r)
{
    struct word_list keys[SECTION_COUNT];
    for (int kind = 0; kind < SECTION_COUNT; kind++) {
        keys[kind] = section_keys(r, (enum section_kind)kind);
        check_key_count(r, (enum section_kind)kind, &keys[kind]);
        check_case(r, &keys[kind]);
        check_names(r, &r->sweep->sections[kind]);
    }
    check_all_derived(r, keys);
    check_words(r, keys);
    check_list(r, keys, &replicate_list, &r->sweep->replicates);
    check_list(r, keys, &group_list, &r->sweep->groups);
    check_search_stages(r, keys);
    check_was(r, keys);
}
