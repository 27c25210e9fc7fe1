#include "sweep_file/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "pattern/line_pattern.h"
#include "sweep_file/reading.h"
#include "toml/known.h"
#include "toml/parse.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define KEY_FORM "use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"
#define LONGEST_PATTERN 4096
#define MOST_COPIES 100000

struct toml_node *reading_carried(const char *file, const char *key, const struct schema *of, struct sweep *s,
                                  struct hf_type_table *types)
{
    struct problems problems = PROBLEMS_INIT;
    struct toml_node *root = toml_carried(file);
    const struct reading reading = {.sweep = s,
                                    .arena = &s->arena,
                                    .problems = &problems,
                                    .types = types,
                                    .file = file,
                                    .source = file,
                                    .role = FILE_PROFILE,
                                    .is_carried = true};
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
    array_sort(list->items, list->count, compare_words);
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
    struct suggestion meant = SUGGEST(string->text, i, count, choices[i]);
    problem_at_value(r, string, "%s must be %s%s", string->key, buffer_text(&list), suggest_hint(&meant));
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

/* A number from `least` to `most`; false where it is another. */
static bool read_bounded(const struct reading *r, const struct toml_node *number, double least, double most,
                         double *out)
{
    *out = number_of(number);
    /* Written so that NaN is refused. */
    if (*out >= least && *out <= most)
        return true;
    problem_at_value(r, number, "%s must be between %g and %g", number->key, least, most);
    return false;
}

/* A duration ("5s", or seconds) as the value of a key; `*ms` stays as it is when there is none. */
static void read_duration(const struct reading *r, const struct toml_node *node, int64_t *ms)
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

void *read_sentence(const struct reading *r, const struct toml_node *node, const char *name)
{
    const bool good = schema_expect(r, node, name, TYPE_STRING) && check_not_blank(r, node, name);
    return good ? arena_text(r->arena, node->text) : NULL;
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

/* Reads name and value of an entry into its place. */
static void entry_read(const struct reading *r, const struct toml_node *node, const char *name,
                       const struct entries *kind)
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

#define KEYS_LISTED 20

/* --- what is said of a key that its table does not have --- */

/* The tables that people write by hand most, where a key that is out of place is looked for. */
static const struct schema *const common[] = {&schema_top,       &schema_sweep, &schema_job,     &schema_metric,
                                              &schema_deepspeed, &schema_rule,  &schema_failure, &schema_model_space,
                                              &schema_predict,   &schema_slurm, &schema_ssh,     &schema_local};

/* The key of that name; s->count: there is none. */
static size_t find_key(const struct schema *s, const char *name)
{
    size_t i = FIRST(k, s->count, strcmp(s->keys[k].name, name) == 0);
    return i;
}

/* "; did you mean "better"?" for what other tools call so, and which key it is; else NULL. The caller's. */
static char *said_elsewhere(const struct schema *s, const char *said, size_t *meant)
{
    const struct toml_node *table = known("other_names", s->title), *key = table ? toml_child(table, said) : NULL;
    if (!key)
        return NULL;
    if (key->kind == NODE_LIST)
        return xasprintf("; did you mean \"%s\" in %s?", key->children[0].text, key->children[1].text);
    *meant = find_key(s, key->text);
    return xasprintf("; did you mean \"%s\"?", key->text);
}

static char *nearest(const struct schema *s, const char *name, size_t *meant)
{
    struct suggestion key = SUGGEST(name, i, s->count, s->keys[i].name);
    *meant = key.near ? find_key(s, key.near) : s->count;
    return key.near ? xstrdup(suggest_hint(&key)) : NULL;
}

/* A table of that name is no home of a value. */
static bool is_known_in(const struct schema *s, const struct toml_node *node)
{
    const struct toml_node *table = known("other_names", s->title), *key = table ? toml_child(table, node->key) : NULL;
    const size_t at = find_key(s, node->key);
    const bool is_tables = at < s->count && s->keys[at].types == TYPE_TABLE && node->kind != NODE_TABLE;
    return (at < s->count && !is_tables) || (key && key->kind == NODE_STRING);
}

/* "; it belongs in [job]" of a key that is out of place: `profile` below [sweep], `timeout` above [job]; NULL where no
 * table has it. The caller's. */
static char *homes_of(const struct toml_node *node)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < LENGTH(common); i++) {
        const struct schema *s = common[i];
        if (is_known_in(s, node))
            buffer_printf(&b, "%s%s", b.length ? " or " : "; it belongs in ",
                          s == &schema_top ? "the top of the file, before the first [table]" : s->title);
    }
    return b.length ? buffer_take(&b) : NULL;
}

/* "; its keys are regex, key, …" where they are few; only the file's tables, for a table. Else NULL. The caller's. */
static char *all_there_are(const struct schema *s, const struct reading *r, const struct toml_node *node)
{
    const bool is_file = strcmp(s->title, schema_top.title) == 0;
    const bool is_table = node->kind == NODE_TABLE || schema_type_fits(node, TYPE_TABLES);
    const char *lead = is_file ? "; its tables are " : "; its keys are ";
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; (is_file ? is_table : s->count <= KEYS_LISTED) && i < s->count; i++) {
        const struct schema_key *k = &s->keys[i];
        if (!is_file || ((k->types & (TYPE_TABLE | TYPE_TABLES)) && (k->files & r->role)))
            buffer_printf(&b, "%s%s", b.length ? ", " : lead, k->name);
    }
    return b.length ? buffer_take(&b) : NULL;
}

/* Complains of a key that the table does not have: with what may have been meant, which is one of its keys that is
 * spelt like it, or what other tools call so, or the tables that have such a key. Returns which key it seems to mean,
 * s->count where none. */
static size_t unknown_key(const struct schema *s, const struct reading *r, const struct toml_node *node)
{
    size_t meant = s->count;
    OWNED char *hint = NULL;
    reading_excuse(r, node);
    /* A hint that nobody will see is not looked for: a hostile file may have a million such keys. */
    if (r->problems->found < PROBLEMS_KEPT) {
        hint = said_elsewhere(s, node->key, &meant);
        hint = hint ? hint : nearest(s, node->key, &meant);
        hint = hint ? hint : homes_of(node);
        hint = hint ? hint : all_there_are(s, r, node);
    }
    problem_at_key(r, node, "unknown key \"%s\" in %s%s", node->key, s->title, hint ? hint : "");
    return meant;
}

/* --- a table and its schema --- */

static const struct {
    unsigned type;
    const char *name;
} type_names[] = {
    {TYPE_STRING, "a string"},         {TYPE_INT, "an integer"}, {TYPE_FLOAT, "a float"},
    {TYPE_BOOL, "true or false"},      {TYPE_TABLE, "a table"},  {TYPE_STRINGS, "a list of strings"},
    {TYPE_TABLES, "a list of tables"}, {TYPE_LIST, "a list"},
};

/* The bit of each kind of node; a list has that of its elements. */
static const unsigned node_types[] = {
    [NODE_TABLE] = TYPE_TABLE, [NODE_LIST] = 0,           [NODE_STRING] = TYPE_STRING,
    [NODE_INT] = TYPE_INT,     [NODE_FLOAT] = TYPE_FLOAT, [NODE_BOOL] = TYPE_BOOL,
};

static size_t first_not(const struct toml_node *list, enum node_kind kind)
{
    size_t i = FIRST(k, list->child_count, list->children[k].kind != kind);
    return i;
}

bool schema_type_fits(const struct toml_node *node, unsigned types)
{
    if (node->kind != NODE_LIST)
        return node_types[node->kind] & types;
    return (types & TYPE_LIST) || ((types & TYPE_STRINGS) && first_not(node, NODE_STRING) == node->child_count) ||
           ((types & TYPE_TABLES) && first_not(node, NODE_TABLE) == node->child_count);
}

static void add_types(unsigned types, struct buffer *out)
{
    const char *between = "";
    for (size_t i = 0; i < LENGTH(type_names); i++)
        if (types & type_names[i].type) {
            buffer_printf(out, "%s%s", between, type_names[i].name);
            between = " or ";
        }
}

void schema_wrong_type(const struct reading *r, const struct toml_node *node, const char *name, unsigned types)
{
    OWNED_BUFFER wanted = BUFFER_INIT;
    add_types(types, &wanted);
    const struct toml_node *culprit = node;
    if (node->kind == NODE_LIST && (types & (TYPE_STRINGS | TYPE_TABLES)))
        culprit = &node->children[first_not(node, types & TYPE_STRINGS ? NODE_STRING : NODE_TABLE)];
    problem_at_value(r, culprit, "%s must be %s, %s %s", name, buffer_text(&wanted),
                     culprit == node ? "not" : "but the list has", toml_kind_name(culprit->kind));
}

bool schema_expect(const struct reading *r, const struct toml_node *node, const char *name, unsigned types)
{
    bool fits = schema_type_fits(node, types);
    if (!fits)
        schema_wrong_type(r, node, name, types);
    return fits;
}

/* A table that was not read may have had any name. */
static void excuse_value(const struct reading *r, const struct toml_node *node, unsigned types)
{
    if (types & (TYPE_TABLE | TYPE_TABLES))
        problems_excuse_all(r->problems);
    else
        reading_excuse(r, node);
}

static const char *role_name(enum file_role role)
{
    return role == FILE_PROFILE ? "a profile" : "an included file";
}

struct found schema_match(const struct schema *s, const struct reading *r, const struct toml_node *table)
{
    struct found f = {.of = s, .table = table};
    bool seen[KEYS_MOST] = {false};
    assert(s->count <= KEYS_MOST);
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        size_t k = find_key(s, node->key);
        bool known = k < s->count;
        if (!known)
            k = unknown_key(s, r, node);
        if (k < s->count)
            seen[k] = true;
        if (!known)
            continue;
        if (!(s->keys[k].files & r->role))
            problem_at_key(r, node, "%s is not allowed in %s", node->key, role_name(r->role));
        else if (schema_expect(r, node, node->key, s->keys[k].types))
            f.nodes[k] = node;
        if (!f.nodes[k])
            excuse_value(r, node, s->keys[k].types);
    }
    for (size_t k = 0; k < s->count; k++)
        if (s->keys[k].required && !seen[k])
            problem_at_value(r, table, "%s lacks \"%s\"", s->title, s->keys[k].name);
    return f;
}

const struct toml_node *found_key(const struct found *f, const char *name)
{
    const size_t k = find_key(f->of, name);
    assert(k < f->of->count);
    return f->nodes[k];
}

/* --- values --- */

static void take_line(const struct reading *r, const struct toml_node *node, const char *key, char **out)
{
    if (!check_not_blank(r, node, key))
        return;
    if (strpbrk(node->text, "\r\n"))
        problem_at_value(r, node, "%s must not contain a line break", key);
    else
        *out = arena_text(r->arena, node->text);
}

static void take_strings(const struct reading *r, const struct toml_node *list, enum key_form form, char ***out)
{
    *out = toml_strings(r->arena, list);
    for (size_t i = 0; form == FORM_LINES && i < list->child_count; i++)
        take_line(r, &list->children[i], list->key, &(*out)[i]);
}

bool check_is_key(const struct reading *r, struct position at, const char *name)
{
    const bool good = template_is_name(name);
    if (!good)
        problems_add(r->problems, at, "\"%s\" cannot be a key", name);
    return good;
}

void read_words(const struct reading *r, const struct toml_node *node, enum key_form form, const char *what,
                struct word_list *out)
{
    struct word_list none = {0}, words = form > FORM_KEYS ? *out : none;
    const bool are_names = form == FORM_NAMES, are_keys = !are_names && form != FORM_WORDS;
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    if (form != FORM_WORDS && !check_entry_count(r, node, words.count, are_names ? "names" : "keys"))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *text = texts[i].text;
        const struct position at = reading_at_value(r, &texts[i]);
        const bool good = are_names  ? check_entry_name(r, at, text, what)
                          : are_keys ? check_is_key(r, at, text)
                                     : !what || check_not_blank(r, &texts[i], what);
        if (!good && !are_names && !are_keys)
            return;
        if (good && (form == FORM_MORE_KEYS || form == FORM_WORDS || !word_list_has(&words, text)))
            words_add(r, &words, arena_text(r->arena, text), at);
    }
    *out = words;
}

static void take_duration(const struct reading *r, const struct toml_node *node, double least_ms, int64_t *out)
{
    int64_t ms = *out;
    read_duration(r, node, &ms);
    if ((double)ms < least_ms)
        problem_at_value(r, node, "%s must be at least %g ms", node->key, least_ms);
    else
        *out = ms;
}

static size_t choice_count(const struct schema_key *k)
{
    size_t count = (size_t)k->most;
    while (k->choices && k->most == 0 && k->choices[count])
        count++;
    return count;
}

static void take_choice(const struct reading *r, const struct toml_node *node, const struct schema_key *k, void *out)
{
    const int choice = check_choice(r, node, k->choices, choice_count(k)), number = choice + (int)k->least;
    if (choice < 0)
        return;
    if (k->form == FORM_WORD)
        *(const char **)out = k->choices[choice];
    else if (k->form == FORM_EITHER)
        *(bool *)out = choice == (int)k->least;
    else
        *(int *)out = number;
}

static void take_text(const struct reading *r, const struct toml_node *node, enum key_form form, char **out)
{
    if (form == FORM_LINE)
        take_line(r, node, node->key, out);
    else if (form == FORM_LIMIT)
        read_limit(r, node, out);
    else if (form == FORM_REGEX)
        *out = check_regex(r, node, 0) ? arena_text(r->arena, node->text) : *out;
    else if ((form != FORM_TEXT && form != FORM_TEMPLATE) ||
             (check_not_blank(r, node, node->key) && (form == FORM_TEXT || check_template(r, node))))
        *out = constant_text(r, node);
}

static void take_number(const struct reading *r, const struct toml_node *node, const struct schema_key *k, void *out)
{
    double real;
    if (k->form == FORM_BOOL)
        *(bool *)out = node->integer;
    else if (k->form == FORM_SWITCH)
        *(int *)out = node->integer != 0;
    else if (k->form == FORM_DURATION)
        take_duration(r, node, k->least, out);
    else if (k->form == FORM_SIZE) {
        if (!parse_size_bytes(node->text, out))
            problem_at_value(r, node, "%s: \"%s\" is not a size, such as \"1GiB\"", node->key, node->text);
    } else if (k->form == FORM_NUMBER && read_bounded(r, node, k->least, k->most, &real))
        *(double *)out = real;
    else if (k->form == FORM_INT ||
             (k->form == FORM_COUNT && check_range(r, node, (int64_t)k->least, (int64_t)k->most)))
        *(int64_t *)out = node->integer;
}

static void take_value(const struct reading *r, const struct toml_node *node, const struct schema_key *k, void *out)
{
    if (k->form <= FORM_NODE)
        return;
    if (k->form <= FORM_LIMIT)
        take_text(r, node, k->form, out);
    else if (k->form <= FORM_NAMES && k->form >= FORM_WORDS)
        read_words(r, node, k->form, k->what, out);
    else if (k->form == FORM_COMMAND)
        read_command(r, node, out);
    else if (k->form == FORM_LINES || k->form == FORM_STRINGS)
        take_strings(r, node, k->form, out);
    else if (k->choices)
        take_choice(r, node, k, out);
    else
        take_number(r, node, k, out);
}

static void walk(const struct reading *r, const struct toml_node *node, const char *prefix, const struct schema_key *k)
{
    OWNED char *name = *prefix ? xasprintf("%s.%s", prefix, node->key) : xstrdup(node->key);
    const bool is_table = node->kind == NODE_TABLE && (k->walk || k->entries->is_dotted);
    if (!is_table && k->walk)
        k->walk(r, node, name);
    else if (!is_table)
        entry_read(r, node, name, k->entries);
    for (size_t i = 0; is_table && i < node->child_count; i++)
        walk(r, &node->children[i], name, k);
}

/* [job.metrics.NAME]. */
static bool check_named_table(const struct reading *r, const struct toml_node *node, const char *what)
{
    if (!check_entry_name(r, reading_at_key(r, node), node->key, what))
        return false;
    const bool is_table = schema_expect(r, node, node->key, TYPE_TABLE);
    if (!is_table)
        problems_excuse(r->problems, node->key);
    return is_table;
}

static void take_entries(const struct reading *r, const struct toml_node *node, const struct schema_key *k,
                         const size_t *have)
{
    if (k->what && !check_entry_count(r, node, *have, k->what))
        return;
    for (size_t i = 0; i < node->child_count; i++)
        if (k->walk || k->entries)
            walk(r, &node->children[i], "", k);
        else if (k->each)
            k->each(r, &node->children[i]);
        else if (!k->named || check_named_table(r, &node->children[i], k->named))
            schema_read(k->of, r, &node->children[i], r->into);
}

bool schema_take(const struct reading *r, struct found *f, void *into)
{
    struct reading inner = *r;
    bool all = true;
    inner.into = into;
    for (size_t i = 0; i < f->of->count; i++) {
        const struct schema_key *k = &f->of->keys[i];
        const struct toml_node *node = f->nodes[i];
        const size_t before = r->problems->found;
        void *at = (char *)into + k->at;
        if (!node)
            continue;
        if (k->read)
            k->read(&inner, node);
        else if (k->each || k->walk || k->entries || k->named || (k->form == FORM_TABLE && node->kind == NODE_LIST))
            take_entries(&inner, node, k, at);
        else if (k->form == FORM_TABLE)
            schema_read(k->of, r, node, into);
        else
            take_value(r, node, k, at);
        if (r->problems->found > before) {
            f->nodes[i] = k->form == FORM_NODE || k->form == FORM_COMMAND ? node : NULL;
            all = false;
        } else if (k->where) {
            *(struct position *)(void *)((char *)into + k->where) = reading_at_value(r, node);
        }
    }
    return all;
}

void schema_read(const struct schema *s, const struct reading *r, const struct toml_node *table, void *into)
{
    struct found f = schema_match(s, r, table);
    struct reading inner = *r;
    inner.into = into;
    if (s->read)
        s->read(&inner, &f);
    else
        schema_take(r, &f, into);
}

void schema_set_defaults(const struct schema *s, void *into)
{
    for (const struct schema_key *k = s->keys; k < s->keys + s->count; k++) {
        void *at = (char *)into + k->at;
        if (k->form == FORM_TABLE && !k->of->read)
            schema_set_defaults(k->of, into);
        else if (k->otherwise != 0 && k->form == FORM_BOOL)
            *(bool *)at = true;
        else if (k->otherwise != 0 && k->form == FORM_NUMBER)
            *(double *)at = k->otherwise;
        else if (k->otherwise != 0)
            *(int64_t *)at = (int64_t)k->otherwise;
    }
}

/* --- all of it, for scripts/sweep_schema.py --- */

/* "1 1000": a number's least and most; "text": not blank; the words there are. */
static void add_bounds(const struct schema_key *k, struct buffer *out)
{
    const bool is_text = k->form == FORM_TEXT || k->form == FORM_LINE || k->form == FORM_TEMPLATE;
    if (k->form == FORM_DURATION)
        buffer_printf(out, "%.16g inf", k->least / 1000);
    else if (!k->choices && k->most > k->least)
        buffer_printf(out, "%.16g %.16g", k->least, k->most);
    buffer_add_text(out, is_text ? "text\t" : "\t");
    for (size_t i = 0; k->choices && i < choice_count(k); i++)
        buffer_printf(out, "%s%s", i ? " " : "", k->choices[i]);
}

static void add_row(const struct schema *s, const struct schema_key *k, struct buffer *out)
{
    buffer_printf(out, "%s\t%s\t", s->title, k->name);
    add_types(k->shown ? k->shown : k->types, out);
    buffer_printf(out, "\t%s\t%s%s\t", k->required ? "required" : "", k->named ? "named " : "",
                  k->of ? k->of->title : "");
    add_bounds(k, out);
    buffer_add_char(out, '\n');
}

static void add_table(const struct schema *s, struct buffer *out)
{
    for (size_t i = 0; i < s->count; i++)
        add_row(s, &s->keys[i], out);
    for (size_t i = 0; i < s->count; i++)
        if (s->keys[i].of)
            add_table(s->keys[i].of, out);
}

void schema_add_rows(struct buffer *out)
{
    add_table(&schema_top, out);
}
