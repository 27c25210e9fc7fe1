#include "sweep_file/reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "pattern/line_pattern.h"
#include "sweep_file/schema.h"
#include "toml/parse.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define KEY_FORM "use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"
#define LONGEST_PATTERN 4096
#define MOST_COPIES 100000

struct toml_node *reading_carried(const char *file, const char *key, const struct schema *of, struct sweep *s,
                                  struct gathered *g)
{
    const char *text = embedded_text(file);
    struct problems problems = PROBLEMS_INIT;
    struct toml_node *root;
    struct toml_fault fault;
    const struct reading reading = {.sweep = s,
                                    .arena = &s->arena,
                                    .problems = &problems,
                                    .gathered = g,
                                    .file = file,
                                    .source = file,
                                    .role = FILE_PROFILE,
                                    .is_carried = true};
    if (toml_parse(text, strlen(text), &root, &fault) < 0)
        abort();
    const struct toml_node *list = toml_child(root, key);
    for (size_t i = 0; i < list->child_count; i++)
        schema_read(of, &reading, &list->children[i], s);
    if (problems.found > 0)
        abort();
    return root;
}

char *texts_add(struct arena *p, char ***list, const char *text)
{
    size_t count = 0;
    while (*list && (*list)[count])
        count++;
    *arena_add(p, *list, count) = arena_text(p, text);
    *arena_add(p, *list, count) = NULL;
    return (*list)[count - 2];
}

void words_add(const struct reading *r, struct word_list *list, const char *text, struct position at)
{
    *arena_add(r->arena, list->items, list->count) = (struct listed_word){text, at};
}

static int compare_words(const void *a, const void *b)
{
    const struct listed_word *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    if (order == 0)
        order = (x->at.line > y->at.line) - (x->at.line < y->at.line);
    return order ? order : (x->at.column > y->at.column) - (x->at.column < y->at.column);
}

void words_sort(struct word_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_words);
}

void words_check_differ(const struct reading *r, const char *what, struct word_list *words)
{
    words_sort(words);
    for (size_t i = 1; i < words->count; i++)
        if (strcmp(words->items[i].text, words->items[i - 1].text) == 0)
            problems_add(r->problems, words->items[i].at, "%s: %s is listed twice", what, words->items[i].text);
}

struct position reading_at_key(const struct reading *r, const struct toml_node *node)
{
    if (!node->key)
        return reading_at_value(r, node);
    return (struct position){.file = r->file, .line = node->key_line, .column = node->key_column};
}

struct position reading_at_value(const struct reading *r, const struct toml_node *node)
{
    return (struct position){.file = r->file, .line = node->line, .column = node->column};
}

/* "(pp, tp)" has two names. */
static void excuse_names(struct problems *p, const char *prefix, const char *key)
{
    while (*key) {
        size_t length = template_name_length(key);
        if (length > 0) {
            OWNED char *name = xasprintf("%s%s%.*s", prefix, *prefix ? "." : "", (int)length, key);
            problems_excuse(p, name);
        }
        key += length ? length : 1;
    }
}

static void excuse_below(struct problems *p, const struct toml_node *node, const char *prefix)
{
    for (size_t i = 0; i < node->child_count && !p->all_excused; i++) {
        const struct toml_node *child = &node->children[i];
        if (!child->key) {
            excuse_below(p, child, prefix);
            continue;
        }
        OWNED char *whole = xasprintf("%s%s%s", prefix, *prefix ? "." : "", child->key);
        excuse_names(p, prefix, child->key);
        if (child->kind == NODE_TABLE)
            excuse_below(p, child, whole);
    }
}

void reading_excuse(const struct reading *r, const struct toml_node *node)
{
    if (node->key)
        excuse_names(r->problems, "", node->key);
    excuse_below(r->problems, node, "");
}

bool check_replaces(const struct reading *r, const struct toml_node *node, const char *name,
                    const struct position *first)
{
    if (first->file == r->file)
        problem_at_value(r, node, "\"%s\" is given twice (first on line %d)", name, first->line);
    else if (!sweep_in_profile(r->sweep, first))
        problem_at_value(r, node, "\"%s\" is given twice (first at %s:%d)", name, first->file, first->line);
    else
        return true;
    return false;
}

bool check_not_blank(const struct reading *r, const struct toml_node *string, const char *what)
{
    if (string->text[strspn(string->text, " \t\r\n")])
        return true;
    problem_at_value(r, string, "%s is empty", what);
    return false;
}

bool is_inside_path(const char *path)
{
    if (!*path || *path == '/')
        return false;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
            return false;
    }
    return true;
}

/* Placeholders that the program fills itself. */
static const char *const own_placeholders[] = {"job_dir",    "job_key",   "attempt",
                                               "config_dir", "ds_config", "ds_config_base64"};

bool check_key_name(const struct reading *r, const struct toml_node *node, const char *name)
{
    if (!template_is_name(name)) {
        problem_at_key(r, node, "\"%s\" cannot be a key: " KEY_FORM, name);
        problems_excuse(r->problems, name);
        return false;
    }
    for (size_t i = 0; i < LENGTH(own_placeholders); i++) {
        if (strcmp(name, own_placeholders[i]) == 0) {
            problem_at_key(r, node, "\"%s\" cannot be a key: the placeholder {%s} has another meaning", name, name);
            return false;
        }
    }
    return true;
}

bool check_entry_name(const struct reading *r, struct position at, const char *name, const char *what)
{
    const char *p = name;
    size_t length;
    while ((length = template_name_length(p)) > 0 && p[length] == '/')
        p += length + 1;
    if (length > 0 && !p[length])
        return true;
    problems_add(r->problems, at,
                 "\"%s\" cannot be the name of a %s: use letters, digits, \"_\", \"-\", inner dots and slashes", name,
                 what);
    return false;
}

/* The engine copies what is repeated: "((a{999}){999}){999}" would take all memory. */
static bool too_many_repeats(const char *pattern)
{
    double copies = 1;
    for (const char *p = strchr(pattern, '{'); p; p = strchr(p + 1, '{')) {
        const char *last = strchr(p, '}') ? memchr(p, ',', (size_t)(strchr(p, '}') - p)) : NULL;
        double times = strtod(last ? last + 1 : p + 1, NULL);
        copies *= times > 1 ? times : 1;
    }
    return strlen(pattern) > LONGEST_PATTERN || copies > MOST_COPIES;
}

bool check_regex(const struct reading *r, const struct toml_node *string, size_t groups)
{
    if (too_many_repeats(string->text)) {
        problem_at_value(r, string, "invalid regular expression: it is too long or repeats too often");
        return false;
    }
    struct line_pattern pattern;
    char reason[256];
    if (line_pattern_compile(&pattern, string->text, reason) != 0) {
        problem_at_value(r, string, "invalid regular expression: %s", reason);
        return false;
    }
    size_t have = pattern.group_count;
    line_pattern_free(&pattern);
    if (!*string->text)
        problem_at_value(r, string, "invalid regular expression: it is empty");
    else if (have < groups)
        problem_at_value(r, string, "invalid regular expression: it needs a (group) that matches the number");
    else
        return true;
    return false;
}

bool check_template(const struct reading *r, const struct toml_node *string)
{
    OWNED char *half = template_misspelt(string->text);
    if (!half)
        return true;
    problem_at_value(r, string, "%s is not a placeholder: half of its name is missing", half);
    return false;
}

int check_choice(const struct reading *r, const struct toml_node *string, const char *const *choices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(string->text, choices[i]) == 0)
            return (int)i;
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; i < count; i++)
        buffer_printf(&list, "%s\"%s\"", i == 0 ? "" : i + 1 == count ? " or " : ", ", choices[i]);
    OWNED char *hint = suggest_hint(string->text, choices, count);
    problem_at_value(r, string, "%s must be %s%s", string->key, buffer_text(&list), hint);
    return -1;
}

bool check_entry_count(const struct reading *r, const struct toml_node *node, size_t have, const char *what)
{
    if (have + node->child_count <= MOST_ENTRIES)
        return true;
    problem_at_key(r, node, "more than %d %s", MOST_ENTRIES, what);
    problems_excuse_all(r->problems);
    return false;
}

bool check_range(const struct reading *r, const struct toml_node *integer, int64_t least, int64_t most)
{
    if (integer->integer >= least && integer->integer <= most)
        return true;
    problem_at_value(r, integer, "%s must be from %" PRId64 " to %" PRId64 ", not %" PRId64, integer->key, least, most,
                     integer->integer);
    return false;
}

/* --- what nodes stand for --- */

struct value plain_value(const struct reading *r, const struct toml_node *node)
{
    struct buffer json = BUFFER_INIT;
    switch (node->kind) {
    case NODE_STRING:
        return (struct value){.kind = VALUE_STRING, .text = arena_text(r->arena, node->text)};
    case NODE_INT:
        return (struct value){.kind = VALUE_INT, .integer = node->integer};
    case NODE_BOOL:
        return (struct value){.kind = VALUE_BOOL, .integer = node->integer};
    case NODE_FLOAT:
        /* -0.0 and 0.0 are one value, so they get one spelling. */
        return (struct value){.kind = VALUE_FLOAT, .real = node->real == 0 ? 0.0 : node->real};
    case NODE_TABLE:
    case NODE_LIST:
        break;
    }
    toml_add_json(node, &json);
    return (struct value){.kind = VALUE_JSON, .text = arena_keep(r->arena, buffer_take(&json))};
}

const struct toml_node *find_not_finite(const struct toml_node *node)
{
    if (node->kind == NODE_FLOAT && !isfinite(node->real))
        return node;
    for (size_t i = 0; i < node->child_count; i++) {
        const struct toml_node *found = find_not_finite(&node->children[i]);
        if (found)
            return found;
    }
    return NULL;
}

static char *copy_trimmed(const char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return xstrndup(text, length);
}

bool group_parse(struct arena *p, const char *key, char ***names, size_t *count)
{
    size_t length = strlen(key);
    if (length < 2 || key[0] != '(' || key[length - 1] != ')')
        return false;
    OWNED char *inside = xstrndup(key + 1, length - 2);
    *names = NULL;
    *count = 0;
    for (char *at = inside, *comma; at; at = comma ? comma + 1 : NULL) {
        comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        *arena_add(p, *names, *count) = arena_keep(p, copy_trimmed(at));
    }
    return true;
}

char *literal_text(const struct reading *r, const struct toml_node *node)
{
    struct buffer text = BUFFER_INIT;
    toml_add_literal(node, &text);
    return arena_keep(r->arena, buffer_take(&text));
}

char *constant_text(const struct reading *r, const struct toml_node *node)
{
    struct buffer text = BUFFER_INIT;
    if (node->kind == NODE_STRING)
        return arena_text(r->arena, node->text);
    toml_add_json(node, &text);
    return arena_keep(r->arena, buffer_take(&text));
}

bool check_finite(const struct reading *r, const struct toml_node *node)
{
    if (!find_not_finite(node))
        return true;
    problem_at_value(r, node, "%s must be finite", node->key);
    return false;
}

double number_of(const struct toml_node *number)
{
    return !number ? 0 : number->kind == NODE_INT ? (double)number->integer : number->real;
}

bool read_bounded(const struct reading *r, const struct toml_node *number, double least, double most, double *out)
{
    *out = number_of(number);
    /* Written so that NaN is refused. */
    if (*out >= least && *out <= most)
        return true;
    problem_at_value(r, number, "%s must be between %g and %g", number->key, least, most);
    return false;
}

void read_duration(const struct reading *r, const struct toml_node *node, int64_t *ms)
{
    if (!check_finite(r, node))
        return;
    const char *text = constant_text(r, node);
    if (!parse_duration_ms(text, ms))
        problem_at_value(r, node, "%s: \"%s\" is not a duration, such as \"5s\" or \"500ms\" (at most 10 years)",
                         node->key, text);
}

void *read_expression(const struct reading *r, const struct toml_node *node, const char *name)
{
    if (!schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL))
        return NULL;
    if (node->kind == NODE_STRING && !check_not_blank(r, node, name))
        return NULL;
    return check_finite(r, node) ? constant_text(r, node) : NULL;
}

void *entry_slot(const struct reading *r, const struct toml_node *node, const char *name, const struct entries *kind)
{
    char *items, *const place = (char *)r->into + kind->items;
    size_t *count = (size_t *)(void *)((char *)r->into + kind->count), i = 0;
    memcpy(&items, place, sizeof items);
    for (const char *known; i < *count; i++) {
        memcpy(&known, items + i * kind->size, sizeof known);
        if ((kind->compare ? kind->compare : strcmp)(known, name) == 0)
            break;
    }
    char *item = items + i * kind->size;
    if (i < *count)
        return kind->is_once && !check_replaces(r, node, name, (const void *)(item + kind->at)) ? NULL : item;
    items = arena_grow(r->arena, items, (*count)++, kind->size);
    memcpy(place, &items, sizeof items);
    return items + i * kind->size;
}

void entry_read(const struct reading *r, const struct toml_node *node, const char *name, const struct entries *kind)
{
    void *value = !kind->good_name || kind->good_name(r, node, name) ? kind->value(r, node, name) : NULL;
    char *item = value ? entry_slot(r, node, name, kind) : NULL;
    if (!value && kind->is_excused)
        problems_excuse(r->problems, name);
    if (!item)
        return;
    const void *const parts[] = {arena_text(r->arena, name), value};
    const struct position at = reading_at_key(r, node);
    memcpy(item, parts, sizeof parts);
    memcpy(item + kind->at, &at, sizeof at);
}

char *hint_among(const char *name, const void *items, size_t count, size_t size)
{
    OWNED const char **names = xcalloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        memcpy(&names[i], (const char *)items + i * size, sizeof *names);
    return suggest_hint(name, names, count);
}
