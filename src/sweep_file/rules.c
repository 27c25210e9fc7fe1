#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/failure.h"
#include "config/template.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/suggest.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What [retry] has beside classes of failures. */
static const struct schema_key retry_keys[] = {
    {.name = "backoff", TYPE_TIME, DEFAULTS, FORM_DURATION, offsetof(struct sweep, retry_backoff_ms)},
    {.name = "backoff_max", TYPE_TIME, DEFAULTS, FORM_DURATION, offsetof(struct sweep, retry_backoff_max_ms)},
    {.name = "place", TYPE_TIME, DEFAULTS, FORM_DURATION, offsetof(struct sweep, retry_place_ms)},
};
const struct schema schema_retry = {"[retry]", SCHEMA_KEYS(retry_keys)};

static const char *const levels[] = {"exclude", "warn", NULL};

/* SQLite compares column names without regard to case. */
static struct derived *find_derived(struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->derived_count; i++)
        if (strcasecmp(s->derived[i].name, name) == 0)
            return &s->derived[i];
    return NULL;
}

static struct derived *derived_slot(const struct reading *r, const struct toml_node *node)
{
    struct sweep *s = r->sweep;
    struct derived *d = find_derived(s, node->key);
    if (d && !check_replaces(r, node, node->key, &d->at))
        return NULL;
    if (d) {
        derived_free(d);
        return d;
    }
    s->derived = array_grow(s->derived, s->derived_count, sizeof *s->derived);
    return &s->derived[s->derived_count++];
}

void read_derived(const struct reading *r, const struct toml_node *node)
{
    char *expression = check_key_name(r, node, node->key) ? read_expression(r, node) : NULL;
    struct derived *d = expression ? derived_slot(r, node) : NULL;
    if (!expression)
        problems_excuse(r->problems, node->key);
    if (d)
        *d = (struct derived){.name = xstrdup(node->key), .expression = expression, .at = reading_at_key(r, node)};
    else
        free(expression);
}

static struct rule *find_rule(struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->rule_count; i++)
        if (strcmp(s->rules[i].name, name) == 0)
            return &s->rules[i];
    return NULL;
}

static struct rule *rule_slot(const struct reading *r, const struct toml_node *name)
{
    struct sweep *s = r->sweep;
    struct rule *rule = find_rule(s, name->text);
    if (rule && !check_replaces(r, name, name->text, &rule->at))
        return NULL;
    if (rule) {
        rule_free(rule);
        return rule;
    }
    s->rules = array_grow(s->rules, s->rule_count, sizeof *s->rules);
    return &s->rules[s->rule_count++];
}

#define AT(member) offsetof(struct rule, member)

static const struct schema_key rule_keys[] = {
    {.name = "name", TYPE_STRING, EVERY, FORM_STRING, AT(name), .required = true},
    {.name = "require", TYPE_STRING, EVERY, FORM_TEXT, AT(require), .required = true},
    {.name = "when", TYPE_STRING, EVERY, FORM_TEXT, AT(when)},
    {.name = "why", TYPE_STRING, EVERY, FORM_STRING, AT(why)},
    {.name = "source", TYPE_STRING, EVERY, FORM_STRING, AT(source)},
    {.name = "level", TYPE_STRING, EVERY, FORM_EITHER, AT(warning), 1, .choices = levels},
};
const struct schema schema_rule = {"[[rule]]", SCHEMA_KEYS(rule_keys)};

void read_rule(const struct reading *r, const struct toml_node *table)
{
    const struct toml_node *found[LENGTH(rule_keys)];
    struct rule rule = {.why = xstrdup(""), .source = xstrdup(r->source), .at = reading_at_value(r, table)};
    schema_match(&schema_rule, r, table, found);
    const struct toml_node *name = found[0];
    bool good = schema_take(&schema_rule, r, found, &rule);
    good &= name && check_entry_name(r, reading_at_value(r, name), name->text, "rule");
    good &= rule.require != NULL;
    if (!good && name)
        problems_excuse(r->problems, name->text);
    struct rule *slot = good ? rule_slot(r, name) : NULL;
    if (slot)
        *slot = rule;
    else
        rule_free(&rule);
}

#undef AT
#define AT(member) offsetof(struct failure_pattern, member)

static const struct schema_key failure_keys[] = {
    {.name = "class",
     TYPE_STRING,
     EVERY,
     FORM_WORD,
     AT(class_name),
     .choices = failure_names + 1,
     .most = FAILURE_DECLARABLE_COUNT,
     .required = true},
    {.name = "pattern", TYPE_STRING, EVERY, FORM_STRING, AT(pattern), .required = true},
    {.name = "source", TYPE_STRING, EVERY, FORM_STRING, AT(source)},
};
const struct schema schema_failure = {"[[failure]]", SCHEMA_KEYS(failure_keys)};

void read_failure(const struct reading *r, const struct toml_node *table)
{
    struct sweep *s = r->sweep;
    const struct toml_node *found[LENGTH(failure_keys)];
    struct failure_pattern pattern = {.source = xstrdup(r->source), .at = reading_at_value(r, table)};
    schema_match(&schema_failure, r, table, found);
    const struct toml_node *regex = found[1];
    schema_take(&schema_failure, r, found, &pattern);
    if (!regex || !check_regex(r, regex, 0) || !pattern.class_name) {
        schema_release(&schema_failure, &pattern);
        return;
    }
    s->failures = array_grow(s->failures, s->failure_count, sizeof *s->failures);
    s->failures[s->failure_count++] = pattern;
}

static struct retry_limit *retry_slot(struct sweep *s, const char *class_name)
{
    for (size_t i = 0; i < s->retry_count; i++)
        if (strcmp(s->retries[i].class_name, class_name) == 0)
            return &s->retries[i];
    s->retries = array_grow(s->retries, s->retry_count, sizeof *s->retries);
    struct retry_limit *limit = &s->retries[s->retry_count++];
    *limit = (struct retry_limit){.class_name = xstrdup(class_name)};
    return limit;
}

static void unknown_in_retry(const struct reading *r, const struct toml_node *node)
{
    const char *names[FAILURE_DECLARABLE_COUNT + LENGTH(retry_keys)];
    for (size_t i = 0; i < FAILURE_DECLARABLE_COUNT; i++)
        names[i] = failure_declarable_names[i];
    for (size_t i = 0; i < LENGTH(retry_keys); i++)
        names[FAILURE_DECLARABLE_COUNT + i] = retry_keys[i].name;
    unknown_key(r, node, "[retry]", names, LENGTH(names));
}

static void read_retry_limit(const struct reading *r, const struct toml_node *node)
{
    if (!schema_expect(r, node, node->key, TYPE_INT) || !check_range(r, node, 1, RETRY_MOST_ATTEMPTS))
        return;
    struct retry_limit *limit = retry_slot(r->sweep, node->key);
    limit->attempts = node->integer;
    limit->at = reading_at_key(r, node);
}

static bool read_class(const struct reading *r, const struct toml_node *node)
{
    for (size_t i = 0; i < FAILURE_DECLARABLE_COUNT; i++)
        if (strcmp(failure_declarable_names[i], node->key) == 0) {
            read_retry_limit(r, node);
            return true;
        }
    return false;
}

void read_retry(const struct reading *r, const struct toml_node *table)
{
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        if (!read_class(r, node) && !schema_take_child(&schema_retry, r, node))
            unknown_in_retry(r, node);
    }
}

/* --- [synonym], [inert] --- */

static bool is_key(const char *text)
{
    size_t length = template_name_length(text);
    return length > 0 && !text[length];
}

static void check_is_key(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_STRING && !is_key(node->text))
        problem_at_value(r, node, "\"%s\" cannot be a key", node->text);
}

static void walk(const struct reading *r, const struct toml_node *node, const char *prefix,
                 void (*take)(const struct reading *r, const struct toml_node *node, const char *name))
{
    char *name = *prefix ? xasprintf("%s.%s", prefix, node->key) : xstrdup(node->key);
    if (node->kind != NODE_TABLE)
        take(r, node, name);
    for (size_t i = 0; node->kind == NODE_TABLE && i < node->child_count; i++)
        walk(r, &node->children[i], name, take);
    free(name);
}

void walk_dotted(const struct reading *r, const struct toml_node *table,
                 void (*take)(const struct reading *r, const struct toml_node *node, const char *name))
{
    for (size_t i = 0; i < table->child_count; i++)
        walk(r, &table->children[i], "", take);
}

static char **key_list(const struct reading *r, const struct toml_node *node)
{
    check_is_key(r, node);
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++)
        check_is_key(r, &node->children[i]);
    return toml_strings(node);
}

static struct synonym *synonym_slot(const struct reading *r, const struct toml_node *node, const char *name)
{
    struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->synonym_count; i++) {
        struct synonym *old = &s->synonyms[i];
        if (strcmp(old->name, name) != 0)
            continue;
        if (!check_replaces(r, node, name, &old->at))
            return NULL;
        synonym_free(old);
        return old;
    }
    s->synonyms = array_grow(s->synonyms, s->synonym_count, sizeof *s->synonyms);
    return &s->synonyms[s->synonym_count++];
}

void read_synonym(const struct reading *r, const struct toml_node *node, const char *name)
{
    const unsigned types = TYPE_STRING | TYPE_STRINGS;
    if (!is_key(name)) {
        problem_at_key(r, node, "\"%s\" cannot be a key", name);
        return;
    }
    if (!schema_expect(r, node, name, types)) {
        problems_excuse(r->problems, name);
        return;
    }
    struct synonym *slot = synonym_slot(r, node, name);
    if (slot)
        *slot = (struct synonym){.name = xstrdup(name), .keys = key_list(r, node), .at = reading_at_key(r, node)};
}

static struct inert *inert_slot(const struct reading *r, const struct toml_node *node, const char *key)
{
    struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->inert_count; i++) {
        struct inert *old = &s->inert[i];
        if (strcmp(old->key, key) != 0)
            continue;
        if (!check_replaces(r, node, key, &old->at))
            return NULL;
        inert_free(old);
        return old;
    }
    s->inert = array_grow(s->inert, s->inert_count, sizeof *s->inert);
    return &s->inert[s->inert_count++];
}

void read_inert(const struct reading *r, const struct toml_node *node, const char *key)
{
    if (!is_key(key)) {
        problem_at_key(r, node, "\"%s\" cannot be a key", key);
        return;
    }
    if (!schema_expect(r, node, key, TYPE_STRING) || !check_not_blank(r, node, key))
        return;
    struct inert *slot = inert_slot(r, node, key);
    if (slot)
        *slot = (struct inert){.key = xstrdup(key), .condition = xstrdup(node->text), .at = reading_at_key(r, node)};
}
