#include "sweep_file/values.h"

#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "sweep_file/schema.h"
#include "sweep_file/toml_value.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

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

struct setting *setting_slot(struct setting **list, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].name, name) == 0)
            return &(*list)[i];
    *list = array_grow(*list, *count, sizeof **list);
    struct setting *setting = &(*list)[(*count)++];
    *setting = (struct setting){.name = xstrdup(name)};
    return setting;
}
