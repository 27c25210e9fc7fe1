#include "expression/expression.h"

#include <stdlib.h>

#include "expression/rewrite.h"
#include "util/memory.h"

struct resolver {
    const struct names *names;
    enum unknown_names unknown;
    struct expression out; /* but for its sql */
};

void expression_free(struct expression *x)
{
    free_all(x->sql, x->keys);
    *x = EXPRESSION_INIT;
}

void expression_add_name(struct buffer *b, const char *name)
{
    buffer_add_quoted(b, name, '"');
}

void expression_add_column(struct buffer *b, const struct key *key)
{
    expression_add_name(b, section_names[key->section]);
    buffer_add_char(b, '.');
    expression_add_name(b, key->name);
}

static void note_key(struct expression *x, size_t index)
{
    for (size_t i = 0; i < x->key_count; i++)
        if (x->keys[i] == index)
            return;
    *array_add(x->keys, x->key_count) = index;
}

static void use_key(struct resolver *r, size_t index, struct buffer *sql)
{
    const struct key *key = &r->names->keys[index];
    bool auto_is_null = key->has_auto && r->unknown == UNKNOWN_IS_NULL;
    buffer_add_text(sql, auto_is_null ? "nullif(" : "");
    buffer_add_text(sql, key->otherwise ? "coalesce(" : "");
    expression_add_column(sql, key);
    if (key->otherwise)
        buffer_printf(sql, ", %s)", key->otherwise);
    buffer_add_text(sql, auto_is_null ? ", 'auto')" : "");
    r->out.sections |= 1u << key->section;
    r->out.reads_label |= key->is_label;
    note_key(&r->out, index);
}

static void use_derived(struct resolver *r, size_t index, struct buffer *sql)
{
    const struct derived_key *d = &r->names->derived[index];
    buffer_add_text(sql, d->sql);
    r->out.sections |= d->sections;
    r->out.reads_label |= d->reads_label;
    for (size_t i = 0; i < d->key_count; i++)
        note_key(&r->out, d->keys[i]);
}

static int use_name(void *context, const char *name, bool quoted, struct buffer *sql, struct error *e)
{
    struct resolver *r = context;
    size_t index = 0;
    enum resolution found = names_resolve(r->names, name, &index);
    if (found == RESOLVED_KEY)
        use_key(r, index, sql);
    else if (found == RESOLVED_DERIVED)
        use_derived(r, index, sql);
    else if (!quoted && rewrite_is_word_of_sql(name))
        buffer_add_text(sql, name);
    else if (found == RESOLVED_UNKNOWN && (r->unknown == UNKNOWN_IS_NULL || names_excused(r->names, name)))
        buffer_add_text(sql, "NULL");
    else {
        OWNED char *hint = names_hint(r->names, name, NULL, 0);
        if (quoted && !*hint) {
            free(hint);
            hint = xasprintf(" (put strings in single quotes: '%s')", name);
        }
        error_set(e, ERROR_USAGE, "%s `%s`%s", found == RESOLVED_AMBIGUOUS ? "ambiguous key" : "unknown key", name,
                  hint);
        return -1;
    }
    return 0;
}

/* "predict_memory()" is a derived key of that name, a call with all its arguments. */
static int use_call(void *context, const char *name, bool empty, struct buffer *sql, struct error *e)
{
    struct resolver *r = context;
    size_t index = 0;
    (void)e;
    OWNED char *call = xasprintf("%s()", name);
    bool found = empty && names_resolve(r->names, call, &index) == RESOLVED_DERIVED;
    if (!found) {
        buffer_printf(sql, "%s(", name);
        return 0;
    }
    use_derived(r, index, sql);
    /* The closing parenthesis stands in the text. */
    sql->data[--sql->length] = '\0';
    return 0;
}

int expression_resolve(const struct names *n, const char *text, enum unknown_names unknown, struct expression *out,
                       struct error *e)
{
    struct resolver r = {.names = n, .unknown = unknown};
    struct buffer sql = BUFFER_INIT;
    if (rewrite_expression(text, &(struct rewriter){use_name, use_call, &r}, &sql, e) < 0) {
        buffer_free(&sql);
        expression_free(&r.out);
        return -1;
    }
    *out = r.out;
    out->sql = buffer_take(&sql);
    return 0;
}

void expression_add_member(struct buffer *b, const char *json, const char *key)
{
    OWNED char *path = xasprintf("$.\"%s\"", key);
    buffer_printf(b, "json_extract(%s, ", json);
    buffer_add_quoted(b, path, '\'');
    buffer_add_char(b, ')');
}
