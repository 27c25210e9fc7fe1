#include "sweep_file/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

struct value plain_value(const struct toml_node *node)
{
    struct buffer json = BUFFER_INIT;
    switch (node->kind) {
    case NODE_STRING:
        return (struct value){.kind = VALUE_STRING, .text = xstrdup(node->text)};
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
    return (struct value){.kind = VALUE_JSON, .text = buffer_take(&json)};
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

bool group_parse(const char *key, char ***names, size_t *count)
{
    size_t length = strlen(key);
    if (length < 2 || key[0] != '(' || key[length - 1] != ')')
        return false;
    char *inside = xstrndup(key + 1, length - 2);
    char **list = NULL;
    size_t n = 0;
    for (char *p = inside, *comma; p; p = comma ? comma + 1 : NULL) {
        comma = strchr(p, ',');
        if (comma)
            *comma = '\0';
        list = array_grow(list, n, sizeof *list);
        list[n++] = copy_trimmed(p);
    }
    free(inside);
    *names = list;
    *count = n;
    return true;
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

char *constant_text(const struct toml_node *node)
{
    struct buffer text = BUFFER_INIT;
    if (node->kind == NODE_STRING)
        buffer_add_text(&text, node->text);
    else
        toml_add_json(node, &text);
    return buffer_take(&text);
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
    char *text = constant_text(node);
    if (!parse_duration_ms(text, ms))
        problem_at_value(r, node, "%s: \"%s\" is not a duration, such as \"5s\" or \"500ms\" (at most 10 years)",
                         node->key, text);
    free(text);
}

char *read_expression(const struct reading *r, const struct toml_node *node)
{
    if (!schema_expect(r, node, node->key, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL))
        return NULL;
    if (node->kind == NODE_STRING && !check_not_blank(r, node, node->key))
        return NULL;
    return check_finite(r, node) ? constant_text(node) : NULL;
}

bool check_outcome(const struct reading *r, const struct toml_node *string)
{
    return strcmp(string->text, "ok") == 0 ||
           check_choice(r, string, failure_declarable_names, FAILURE_DECLARABLE_COUNT) >= 0;
}

/* The index of an item of that name; `count`: there is none. */
static size_t find_item(const char *items, size_t count, size_t size, const char *name,
                        int (*compare)(const char *, const char *))
{
    size_t i = 0;
    for (const char *known; i < count; i++) {
        memcpy(&known, items + i * size, sizeof known);
        if (compare(known, name) == 0)
            break;
    }
    return i;
}

void *named_item(void *place, size_t *count, size_t size, const char *name)
{
    char *items, *copy;
    memcpy(&items, place, sizeof items);
    const size_t i = find_item(items, *count, size, name, strcmp);
    if (i < *count)
        return items + i * size;
    items = array_grow(items, (*count)++, size);
    memcpy(place, &items, sizeof items);
    memset(items + i * size, 0, size);
    copy = xstrdup(name);
    return memcpy(items + i * size, &copy, sizeof copy);
}

void *entry_slot(const struct reading *r, const struct toml_node *node, const char *name, const struct entries *kind)
{
    char *items, *const place = (char *)r->sweep + kind->items;
    size_t *count = (size_t *)(void *)((char *)r->sweep + kind->count);
    memcpy(&items, place, sizeof items);
    const size_t i = find_item(items, *count, kind->size, name, kind->compare);
    if (i < *count) {
        if (!check_replaces(r, node, name, (const struct position *)(const void *)(items + i * kind->size + kind->at)))
            return NULL;
        kind->release(items + i * kind->size);
        return items + i * kind->size;
    }
    items = array_grow(items, *count, kind->size);
    memcpy(place, &items, sizeof items);
    return items + (*count)++ * kind->size;
}

void entries_release(const struct entries *kind, struct sweep *s)
{
    const size_t *count = (const size_t *)(const void *)((const char *)s + kind->count);
    char *items;
    memcpy(&items, (const char *)s + kind->items, sizeof items);
    for (size_t i = 0; i < *count; i++)
        kind->release(items + i * kind->size);
    free(items);
}
