#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/buffer.h"
#include "util/memory.h"

/* What a column is given as. SQLite has no booleans: as text they stay what they are (import/table.h). */
static char *column_expression(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_BOOL)
        return xstrdup(node->integer ? "'true'" : "'false'");
    return read_expression(r, node);
}

/* The one of that kind and name; new when there was none. */
static struct import_column *column_named(struct import_config *c, const struct import_column *like, const char *name)
{
    for (size_t i = 0; i < c->column_count; i++) {
        struct import_column *known = &c->columns[i];
        if (known->is_metric == like->is_metric && known->section == like->section && strcmp(known->name, name) == 0)
            return known;
    }
    c->columns = array_grow(c->columns, c->column_count, sizeof *c->columns);
    struct import_column *added = &c->columns[c->column_count++];
    *added = *like;
    added->name = xstrdup(name);
    return added;
}

/* A later one replaces: the file's that of a profile. */
static void read_column(const struct reading *r, const struct toml_node *node, const struct import_column *like)
{
    char *expression = check_key_name(r, node, node->key) ? column_expression(r, node) : NULL;
    if (!expression)
        return;
    struct import_column *column = column_named(&r->sweep->import, like, node->key);
    text_replace(&column->expression, expression);
    column->at = reading_at_key(r, node);
}

static void read_columns(const struct reading *r, const struct toml_node *table, const struct import_column *like)
{
    if (!table || !check_entry_count(r, table, r->sweep->import.column_count, "columns"))
        return;
    for (size_t i = 0; i < table->child_count; i++)
        read_column(r, &table->children[i], like);
}

static void read_state(const struct reading *r, const struct toml_node *node)
{
    struct import_config *c = &r->sweep->import;
    size_t i = 0;
    if (!schema_expect(r, node, node->key, TYPE_STRING) || !check_outcome(r, node))
        return;
    while (i < c->state_count && strcmp(c->states[i].value, node->key) != 0)
        i++;
    if (i == c->state_count) {
        c->states = array_grow(c->states, c->state_count++, sizeof *c->states);
        c->states[i] = (struct import_state){.value = xstrdup(node->key)};
    }
    text_replace(&c->states[i].outcome, xstrdup(node->text));
    c->states[i].at = reading_at_key(r, node);
}

static void read_refusal(const struct reading *r, const struct toml_node *table)
{
    struct import_config *c = &r->sweep->import;
    const struct toml_node *found[REFUSE_COUNT];
    schema_match(&schema_refuse, r, table, found);
    if (!found[REFUSE_WHEN] || !found[REFUSE_WHY] || !check_not_blank(r, found[REFUSE_WHEN], "when") ||
        !check_not_blank(r, found[REFUSE_WHY], "why"))
        return;
    c->refusals = array_grow(c->refusals, c->refusal_count, sizeof *c->refusals);
    c->refusals[c->refusal_count++] =
        (struct import_refusal){xstrdup(found[REFUSE_WHEN]->text), xstrdup(found[REFUSE_WHY]->text),
                                reading_at_value(r, found[REFUSE_WHEN])};
}

static void read_lists(const struct reading *r, const struct toml_node *states, const struct toml_node *refusals)
{
    const struct import_config *c = &r->sweep->import;
    if (states && check_entry_count(r, states, c->state_count, "states"))
        for (size_t i = 0; i < states->child_count; i++)
            read_state(r, &states->children[i]);
    if (refusals && check_entry_count(r, refusals, c->refusal_count, "refusals"))
        for (size_t i = 0; i < refusals->child_count; i++)
            read_refusal(r, &refusals->children[i]);
}

static void read_text(const struct reading *r, const struct toml_node *node, char **text, struct position *at)
{
    if (!node || !check_not_blank(r, node, node->key))
        return;
    text_replace(text, xstrdup(node->text));
    *at = reading_at_value(r, node);
}

static void read_decimal_commas(const struct reading *r, const struct toml_node *list, struct word_list *out)
{
    word_list_clear(out);
    out->items = xcalloc(list->child_count + 1, sizeof *out->items);
    for (; out->count < list->child_count; out->count++) {
        const struct toml_node *name = &list->children[out->count];
        out->items[out->count] = (struct listed_word){xstrdup(name->text), reading_at_value(r, name)};
    }
}

void read_import(const struct reading *r, const struct toml_node *table)
{
    struct import_config *c = &r->sweep->import;
    const struct toml_node *found[IMPORT_COUNT];
    schema_match(&schema_import, r, table, found);
    c->given = true;
    c->at = reading_at_key(r, table);
    read_text(r, found[IMPORT_STATE], &c->state, &c->state_at);
    read_text(r, found[IMPORT_DURATION], &c->duration, &c->duration_at);
    if (found[IMPORT_DECIMAL_COMMA])
        read_decimal_commas(r, found[IMPORT_DECIMAL_COMMA], &c->decimal_commas);
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        read_columns(r, found[IMPORT_CLUSTER + kind], &(struct import_column){.section = (enum section_kind)kind});
    read_columns(r, found[IMPORT_METRICS], &(struct import_column){.is_metric = true});
    read_lists(r, found[IMPORT_STATES], found[IMPORT_REFUSE]);
}

void import_free(struct import_config *c)
{
    for (size_t i = 0; i < c->column_count; i++) {
        free(c->columns[i].name);
        free(c->columns[i].expression);
    }
    for (size_t i = 0; i < c->state_count; i++) {
        free(c->states[i].value);
        free(c->states[i].outcome);
    }
    for (size_t i = 0; i < c->refusal_count; i++) {
        free(c->refusals[i].when);
        free(c->refusals[i].why);
    }
    word_list_clear(&c->decimal_commas);
    free(c->columns);
    free(c->states);
    free(c->refusals);
    free(c->state);
    free(c->duration);
}
