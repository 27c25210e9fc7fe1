#include <string.h>

#include "config/failure.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

/* The expression of a column. SQLite has no booleans: as text they stay what they are (import/table.h). */
static char *column_expression(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_BOOL)
        return arena_text(r->arena, node->integer ? "'true'" : "'false'");
    return read_expression(r, node, node->key);
}

/* The one of that kind and name; new when there was none. */
static struct import_column *column_named(const struct reading *r, const struct import_column *like, const char *name)
{
    struct import_config *c = &r->sweep->import;
    for (size_t i = 0; i < c->column_count; i++) {
        struct import_column *known = &c->columns[i];
        if (known->is_metric == like->is_metric && known->section == like->section && strcmp(known->name, name) == 0)
            return known;
    }
    struct import_column *added = arena_add(r->arena, c->columns, c->column_count);
    *added = *like;
    added->name = arena_text(r->arena, name);
    return added;
}

/* [import.metrics], or a section. A later column replaces: the file's that of a profile. */
static void read_columns(const struct reading *r, const struct toml_node *table)
{
    struct import_column like = {.is_metric = strcmp(table->key, "metrics") == 0};
    while (!like.is_metric && strcmp(section_names[like.section], table->key) != 0)
        like.section++;
    if (!check_entry_count(r, table, r->sweep->import.column_count, "columns"))
        return;
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        char *expression = check_key_name(r, node, node->key) ? column_expression(r, node) : NULL;
        struct import_column *column = expression ? column_named(r, &like, node->key) : NULL;
        if (!column)
            continue;
        column->expression = expression;
        column->at = reading_at_key(r, node);
    }
}

static void *read_state(const struct reading *r, const struct toml_node *node, const char *name)
{
    const bool good =
        schema_expect(r, node, name, TYPE_STRING) &&
        (strcmp(node->text, "ok") == 0 || check_choice(r, node, failure_names + 1, FAILURE_DECLARABLE_COUNT) >= 0);
    return good ? arena_text(r->arena, node->text) : NULL;
}

static const struct entries state_entries = {ENTRIES(sweep, import.states, import.state_count, struct import_state),
                                             .value = read_state};

static void read_refusal(const struct reading *r, struct found *found)
{
    struct import_config *c = &r->sweep->import;
    struct import_refusal refusal = {0};
    const struct toml_node *when = found_key(found, "when"), *why = found_key(found, "why");
    if (!when || !why || !check_not_blank(r, when, "when") || !check_not_blank(r, why, "why"))
        return;
    schema_take(r, found, &refusal);
    *arena_add(r->arena, c->refusals, c->refusal_count) = refusal;
}

static const struct schema schema_refuse = {SCHEMA("[[import.refuse]]", KEYS_OF_REFUSE), read_refusal};

static void read_import(const struct reading *r, struct found *found)
{
    struct import_config *c = &r->sweep->import;
    c->given = true;
    c->at = reading_at_key(r, found->table);
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        if (found_key(found, section_names[kind]))
            read_columns(r, found_key(found, section_names[kind]));
    schema_take(r, found, r->sweep);
}

const struct schema schema_import = {SCHEMA("[import]", KEYS_OF_IMPORT), read_import};
