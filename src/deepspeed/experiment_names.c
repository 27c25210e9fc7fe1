#include "deepspeed/experiment_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "deepspeed/json_text.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

enum { NAME_MOST = 160 };

/* Experiments with the same name. */
struct namesakes {
    size_t *members, count;
    struct json *configs;       /* by index among the members */
    struct string_list differs; /* paths */
};

/* Keys that follow from others, or only say where the profile is written. */
static bool is_no_knob(const char *path)
{
    return strcmp(path, "train_batch_size") == 0 || strncmp(path, "autotuning", 10) == 0;
}

static bool is_same(const struct json *a, const struct json *b)
{
    return a && b && a->kind == JSON_SCALAR && b->kind == JSON_SCALAR && strcmp(a->text, b->text) == 0;
}

/* Notes the paths below `j` at which some member has another value. */
static void note_differences(struct namesakes *n, const struct json *j, const char *path)
{
    for (size_t i = 0; j->kind == JSON_OBJECT && i < j->count; i++) {
        const struct json *child = &j->children[i];
        char *inner = *path ? xasprintf("%s.%s", path, child->name) : xstrdup(child->name);
        bool differs = false;
        for (size_t k = 0; child->kind == JSON_SCALAR && !differs && k < n->count; k++)
            differs = !is_same(child, json_text_find(&n->configs[k], inner));
        if (child->kind == JSON_OBJECT)
            note_differences(n, child, inner);
        if (differs && !is_no_knob(inner) && string_list_find(&n->differs, inner) == n->differs.count)
            string_list_add(&n->differs, xstrdup(inner));
        free(inner);
    }
}

/* "offload_optimizer" for "zero_optimization.offload_optimizer.device": the last name that is specific. */
static void add_title(struct buffer *b, const char *path)
{
    const char *end = path + strlen(path), *dot = strrchr(path, '.');
    if (dot && (strcmp(dot, ".device") == 0 || strcmp(dot, ".enabled") == 0))
        end = dot;
    const char *begin = end;
    while (begin > path && begin[-1] != '.')
        begin--;
    buffer_add(b, begin, (size_t)(end - begin));
}

static void add_value(struct buffer *b, const struct json *j)
{
    for (const char *p = j->text; *p; p++)
        if (*p != '"')
            buffer_add_char(b, isalnum((unsigned char)*p) || strchr("._+-", *p) ? *p : '-');
}

static void add_knobs(const struct namesakes *n, size_t member, char **name)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, *name);
    for (size_t i = 0; i < n->differs.count; i++) {
        const struct json *value = json_text_find(&n->configs[member], n->differs.items[i]);
        if (!value || value->kind != JSON_SCALAR)
            continue;
        buffer_add_char(&b, '_');
        add_title(&b, n->differs.items[i]);
        buffer_add_char(&b, '-');
        add_value(&b, value);
    }
    if (b.length <= NAME_MOST) {
        free(*name);
        *name = buffer_take(&b);
    }
    buffer_free(&b);
}

static void tell_apart(struct namesakes *n, char **names, const char *const *configs)
{
    struct error ignored = ERROR_INIT;
    n->configs = xcalloc(n->count, sizeof *n->configs);
    for (size_t i = 0; i < n->count; i++)
        if (!configs[n->members[i]] || json_text_parse("", configs[n->members[i]], &n->configs[i], &ignored) < 0)
            n->configs[i] = (struct json){.kind = JSON_OBJECT};
    /* Keys may be in the first or in another member only. */
    note_differences(n, &n->configs[0], "");
    for (size_t i = 1; i < n->count; i++) {
        struct namesakes with_first = {.count = 1, .configs = n->configs, .differs = n->differs};
        note_differences(&with_first, &n->configs[i], "");
        n->differs = with_first.differs;
    }
    for (size_t i = 0; i < n->count; i++)
        add_knobs(n, i, &names[n->members[i]]);
    for (size_t i = 0; i < n->count; i++)
        json_text_free(&n->configs[i]);
    free(n->configs);
    string_list_free(&n->differs);
}

void experiment_names_tell_apart(char **names, const char *const *configs, size_t count)
{
    bool *seen = xcalloc(count + 1, sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        struct namesakes n = {.members = xcalloc(count, sizeof *n.members), .differs = STRING_LIST_INIT};
        for (size_t k = i; !seen[i] && k < count; k++)
            if (!seen[k] && strcmp(names[k], names[i]) == 0)
                n.members[n.count++] = k;
        for (size_t k = 0; k < n.count; k++)
            seen[n.members[k]] = true;
        if (n.count > 1)
            tell_apart(&n, names, configs);
        free(n.members);
    }
    free(seen);
}
