#include "sweep_file/toml_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

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
