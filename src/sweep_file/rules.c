#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/failure.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/unknown_key.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/suggest.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MOST_ATTEMPTS 1000

/* What [retry] has beside classes of failures. */
static const struct {
    const char *key;
    size_t ms; /* its place in a sweep */
} waits[] = {
    {"backoff", offsetof(struct sweep, retry_backoff_ms)},
    {"backoff_max", offsetof(struct sweep, retry_backoff_max_ms)},
    {"place", offsetof(struct sweep, retry_place_ms)},
};

static const char *const levels[] = {"exclude", "warn"};

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

static void read_derived(const struct reading *r, const struct toml_node *node)
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

void read_derive(const struct reading *r, const struct toml_node *table)
{
    if (!check_entry_count(r, table, r->sweep->derived_count, "derived keys"))
        return;
    for (size_t i = 0; i < table->child_count; i++)
        read_derived(r, &table->children[i]);
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

static char *text_or(const struct toml_node *string, const char *otherwise)
{
    return string ? xstrdup(string->text) : otherwise ? xstrdup(otherwise) : NULL;
}

static bool check_rule(const struct reading *r, const struct toml_node *const *found)
{
    bool good = true;
    if (found[RULE_NAME])
        good &= check_entry_name(r, reading_at_value(r, found[RULE_NAME]), found[RULE_NAME]->text, "rule");
    if (found[RULE_REQUIRE])
        good &= check_not_blank(r, found[RULE_REQUIRE], "require");
    if (found[RULE_WHEN])
        good &= check_not_blank(r, found[RULE_WHEN], "when");
    if (found[RULE_LEVEL])
        good &= check_choice(r, found[RULE_LEVEL], levels, LENGTH(levels)) >= 0;
    return good && found[RULE_NAME] && found[RULE_REQUIRE];
}

static void read_rule(const struct reading *r, const struct toml_node *table)
{
    const struct toml_node *found[RULE_COUNT];
    schema_match(&schema_rule, r, table, found);
    if (!check_rule(r, found)) {
        if (found[RULE_NAME])
            problems_excuse(r->problems, found[RULE_NAME]->text);
        return;
    }
    struct rule *rule = rule_slot(r, found[RULE_NAME]);
    if (!rule)
        return;
    *rule = (struct rule){
        .name = xstrdup(found[RULE_NAME]->text),
        .require = xstrdup(found[RULE_REQUIRE]->text),
        .when = text_or(found[RULE_WHEN], NULL),
        .why = text_or(found[RULE_WHY], ""),
        .source = text_or(found[RULE_SOURCE], r->source),
        .warning = found[RULE_LEVEL] && strcmp(found[RULE_LEVEL]->text, "warn") == 0,
        .at = reading_at_value(r, table),
    };
}

void read_rules(const struct reading *r, const struct toml_node *list)
{
    if (!check_entry_count(r, list, r->sweep->rule_count, "rules"))
        return;
    for (size_t i = 0; i < list->child_count; i++)
        read_rule(r, &list->children[i]);
}

static void read_failure(const struct reading *r, const struct toml_node *table)
{
    struct sweep *s = r->sweep;
    const struct toml_node *found[PATTERN_COUNT];
    schema_match(&schema_failure, r, table, found);
    const struct toml_node *class = found[PATTERN_CLASS], *pattern = found[PATTERN_REGEX];
    bool good = class && check_failure_class(r, class);
    good &= pattern && check_regex(r, pattern, 0);
    if (!good)
        return;
    s->failures = array_grow(s->failures, s->failure_count, sizeof *s->failures);
    s->failures[s->failure_count++] = (struct failure_pattern){
        .class_name = xstrdup(class->text),
        .pattern = xstrdup(pattern->text),
        .source = text_or(found[PATTERN_SOURCE], r->source),
        .at = reading_at_value(r, table),
    };
}

void read_failures(const struct reading *r, const struct toml_node *list)
{
    if (!check_entry_count(r, list, r->sweep->failure_count, "failure patterns"))
        return;
    for (size_t i = 0; i < list->child_count; i++)
        read_failure(r, &list->children[i]);
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
    const char *names[FAILURE_DECLARABLE_COUNT + LENGTH(waits)];
    for (size_t i = 0; i < FAILURE_DECLARABLE_COUNT; i++)
        names[i] = failure_declarable_names[i];
    for (size_t i = 0; i < LENGTH(waits); i++)
        names[FAILURE_DECLARABLE_COUNT + i] = waits[i].key;
    unknown_key(r, node, "[retry]", names, LENGTH(names));
}

static void read_retry_limit(const struct reading *r, const struct toml_node *node)
{
    if (!schema_expect(r, node, node->key, TYPE_INT) || !check_range(r, node, 1, MOST_ATTEMPTS))
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

static bool read_wait(const struct reading *r, const struct toml_node *node)
{
    for (size_t i = 0; i < LENGTH(waits); i++)
        if (strcmp(waits[i].key, node->key) == 0) {
            if (schema_expect(r, node, node->key, TYPE_STRING | TYPE_NUMBER))
                read_duration(r, node, (int64_t *)((char *)r->sweep + waits[i].ms));
            return true;
        }
    return false;
}

void read_retry(const struct reading *r, const struct toml_node *table)
{
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        if (!read_class(r, node) && !read_wait(r, node))
            unknown_in_retry(r, node);
    }
}
