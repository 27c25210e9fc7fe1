#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/failure.h"
#include "config/template.h"
#include "sweep_file/schema.h"
#include "util/memory.h"

#define RETRY_MOST_ATTEMPTS 1000

static void read_retry_limit(const struct reading *r, const struct toml_node *node)
{
    if (!check_range(r, node, 1, RETRY_MOST_ATTEMPTS))
        return;
    struct retry_limit *limit = named_item(r, &r->sweep->retries, &r->sweep->retry_count, sizeof *limit, node->key);
    limit->attempts = node->integer;
    limit->at = reading_at_key(r, node);
}

#define CLASS(id, key, attempts)                                                                                       \
    {.name = (key), TYPE_INT, DEFAULTS, .read = read_retry_limit, .least = 1, .most = RETRY_MOST_ATTEMPTS},

static const struct schema_key retry_keys[] = {
    FAILURES_DECLARABLE(CLASS){.name = "backoff",
                               TYPE_TIME,
                               DEFAULTS,
                               FORM_DURATION,
                               offsetof(struct sweep, retry_backoff_ms),
                               .otherwise = 1000},
    {.name = "backoff_max",
     TYPE_TIME,
     DEFAULTS,
     FORM_DURATION,
     offsetof(struct sweep, retry_backoff_max_ms),
     .otherwise = 300000},
    {.name = "changed", TYPE_BOOL, DEFAULTS, FORM_BOOL, offsetof(struct sweep, retry_changed)},
    {.name = "place", TYPE_TIME, DEFAULTS, FORM_DURATION, offsetof(struct sweep, retry_place_ms), .otherwise = 1800000},
};
const struct schema schema_retry = {"[retry]", SCHEMA_KEYS(retry_keys)};

static const char *const levels[] = {"exclude", "warn", NULL};

/* SQLite compares column names without regard to case. */
static const struct entries derived_entries = ENTRIES(derived, derived_count, struct derived, strcasecmp);
static const struct entries rule_entries = ENTRIES(rules, rule_count, struct rule, strcmp);
static const struct entries synonym_entries = ENTRIES(synonyms, synonym_count, struct synonym, strcmp);
static const struct entries inert_entries = ENTRIES(inert, inert_count, struct inert, strcmp);

void read_derived(const struct reading *r, const struct toml_node *node)
{
    char *expression = check_key_name(r, node, node->key) ? read_expression(r, node) : NULL;
    struct derived *d = expression ? entry_slot(r, node, node->key, &derived_entries) : NULL;
    if (!expression)
        problems_excuse(r->problems, node->key);
    if (d)
        *d = (struct derived){arena_text(r->arena, node->key), expression, reading_at_key(r, node)};
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

static void read_rule(const struct reading *r, struct found *found)
{
    struct rule rule = {.why = "", .source = r->source, .at = reading_at_value(r, found->table)};
    const struct toml_node *name = found_key(found, "name");
    bool good = schema_take(r, found, &rule);
    good &= name && check_entry_name(r, reading_at_value(r, name), name->text, "rule");
    good &= rule.require != NULL;
    if (!good && name)
        problems_excuse(r->problems, name->text);
    struct rule *slot = good ? entry_slot(r, name, name->text, &rule_entries) : NULL;
    if (slot)
        *slot = rule;
}

const struct schema schema_rule = {"[[rule]]", SCHEMA_KEYS(rule_keys), read_rule};

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
    {.name = "pattern", TYPE_STRING, EVERY, FORM_REGEX, AT(pattern), .required = true},
    {.name = "source", TYPE_STRING, EVERY, FORM_STRING, AT(source)},
};

static void read_failure(const struct reading *r, struct found *found)
{
    struct sweep *s = r->sweep;
    struct failure_pattern pattern = {.source = r->source, .at = reading_at_value(r, found->table)};
    schema_take(r, found, &pattern);
    if (pattern.pattern && pattern.class_name)
        *arena_add(r->arena, s->failures, s->failure_count) = pattern;
}

const struct schema schema_failure = {"[[failure]]", SCHEMA_KEYS(failure_keys), read_failure};

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

static char **key_list(const struct reading *r, const struct toml_node *node)
{
    check_is_key(r, node);
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++)
        check_is_key(r, &node->children[i]);
    return toml_strings(r->arena, node);
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
    struct synonym *slot = entry_slot(r, node, name, &synonym_entries);
    if (slot)
        *slot = (struct synonym){arena_text(r->arena, name), key_list(r, node), reading_at_key(r, node)};
}

void read_inert(const struct reading *r, const struct toml_node *node, const char *key)
{
    if (!is_key(key)) {
        problem_at_key(r, node, "\"%s\" cannot be a key", key);
        return;
    }
    if (!schema_expect(r, node, key, TYPE_STRING) || !check_not_blank(r, node, key))
        return;
    struct inert *slot = entry_slot(r, node, key, &inert_entries);
    if (slot)
        *slot = (struct inert){arena_text(r->arena, key), arena_text(r->arena, node->text), reading_at_key(r, node)};
}
