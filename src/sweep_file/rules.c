#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "config/failure.h"
#include "config/template.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

#define CLASS(id, key, times)                                                                                          \
    {.name = (key),                                                                                                    \
     .types = TYPE_INT,                                                                                                \
     .files = DEFAULTS,                                                                                                \
     .form = FORM_COUNT,                                                                                               \
     .at = offsetof(struct sweep, retry.attempts[FAILURE_##id]),                                                       \
     .least = 1,                                                                                                       \
     .most = 1000,                                                                                                     \
     .otherwise = (times)},

const struct schema schema_retry = {SCHEMA("[retry]", FAILURES_DECLARABLE(CLASS) KEYS_OF_RETRY)};

static const char *const levels[] = {"exclude", "warn", NULL};

/* SQLite compares column names without regard to case. */
const struct entries derived_entries = {ENTRIES(sweep, derived, derived_count, struct derived),
                                        .compare = strcasecmp,
                                        .is_once = true,
                                        .good_name = check_key_name,
                                        .value = read_expression,
                                        .is_excused = true};

static const struct entries rule_entries = {ENTRIES(sweep, rules, rule_count, struct rule), .is_once = true};

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

const struct schema schema_rule = {SCHEMA("[[rule]]", KEYS_OF_RULE), read_rule};

static void read_failure(const struct reading *r, struct found *found)
{
    struct sweep *s = r->sweep;
    struct failure_pattern pattern = {.source = r->source, .at = reading_at_value(r, found->table)};
    schema_take(r, found, &pattern);
    if (pattern.pattern && pattern.class_name)
        *arena_add(r->arena, s->failures, s->failure_count) = pattern;
}

const struct schema schema_failure = {SCHEMA("[[failure]]", KEYS_OF_FAILURE), read_failure};

/* --- [synonym], [inert] --- */

static bool is_good_key(const struct reading *r, const struct toml_node *node, const char *name)
{
    return check_is_key(r, reading_at_key(r, node), name);
}

static void *read_keys(const struct reading *r, const struct toml_node *node, const char *name)
{
    size_t count;
    const struct toml_node *keys = toml_texts(node, &count);
    if (!schema_expect(r, node, name, TYPE_STRING | TYPE_STRINGS)) {
        problems_excuse(r->problems, name);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        check_is_key(r, reading_at_value(r, &keys[i]), keys[i].text);
    return toml_strings(r->arena, node);
}

const struct entries synonym_entries = {ENTRIES(sweep, synonyms, synonym_count, struct synonym), .is_once = true,
                                        .good_name = is_good_key, .value = read_keys, .is_dotted = true},
                     inert_entries = {ENTRIES(sweep, inert, inert_count, struct inert), .is_once = true,
                                      .good_name = is_good_key, .value = read_sentence, .is_dotted = true};

/* --- [was] --- */

static const struct entries was_entries = {ENTRIES(sweep, was, was_count, struct was_key), .is_once = true};

static bool check_from(const struct reading *r, const struct toml_node *node)
{
    const bool good = node->kind == NODE_STRING && template_is_name(node->text);
    if (!good)
        problem_at_value(r, node, "renamed_from must be the name that the key had");
    return good;
}

void read_was(const struct reading *r, const struct toml_node *node, const char *name)
{
    static const char dropped[] = "dropped.";
    const bool is_dropped = strncmp(name, dropped, sizeof dropped - 1) == 0;
    const size_t length = is_dropped ? 0 : length_before(name, ".renamed_from");
    OWNED char *renamed = length ? xstrndup(name, length) : NULL;
    if (strcmp(name, "dropped") == 0) {
        problem_at_value(r, node, "dropped must say which value the results have that stay: dropped = { KEY = VALUE }");
        return;
    }
    if ((renamed && !check_from(r, node)) || !check_finite(r, node))
        return;
    const char *key = renamed ? renamed : is_dropped ? name + sizeof dropped - 1 : name;
    struct was_key *slot = entry_slot(r, node, key, &was_entries);
    struct buffer json = BUFFER_INIT;
    if (!slot)
        return;
    toml_add_json(node, &json);
    char *text = arena_keep(r->arena, buffer_take(&json));
    *slot = (struct was_key){.name = arena_text(r->arena, key),
                             .kind = renamed      ? WAS_RENAMED
                                     : is_dropped ? WAS_DROPPED
                                                  : WAS_ADDED,
                             .section = SECTION_COUNT,
                             .text = renamed ? arena_text(r->arena, node->text) : text,
                             .at = reading_at_key(r, node)};
}
