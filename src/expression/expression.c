#include "expression/expression.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/db.h"
#include "expression/names.h"
#include "expression/rewrite.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/suggest.h"

#define MOST_HINT_PAIRS 1000000

static struct key *find_name(const struct names *n, enum section_kind section, const char *name)
{
    return FIND(i, n->key_count, n->keys[i].section == section && strcmp(n->keys[i].name, name) == 0, &n->keys[i]);
}

const struct key *names_find(const struct names *n, enum section_kind section, const char *name)
{
    return find_name(n, section, name);
}

static bool axis_is_bool(const struct axis *a, size_t k)
{
    return axis_value(a, k)->kind == VALUE_BOOL;
}

/* A column of 0 and 1 must not stand for numbers here and truth there. What could not be read says nothing. */
static bool mixes_bool(const struct axis *a, size_t k, bool expected)
{
    for (size_t v = 0; v < a->value_count; v++) {
        enum value_kind kind = axis_value(a, v * a->key_count + k)->kind;
        if (kind != VALUE_NULL && (kind == VALUE_BOOL) != expected)
            return true;
    }
    return false;
}

static void mark_texts(const struct axis *a, size_t k, struct key *key)
{
    for (size_t v = 0; v < a->value_count; v++) {
        const struct value *value = axis_value(a, v * a->key_count + k);
        key->has_auto |= value->kind == VALUE_STRING && strcmp(value->text, "auto") == 0;
        key->has_list |= value->kind == VALUE_JSON && value->text[0] == '[';
    }
}

static void collect_axis(const struct sweep *s, enum section_kind section, const struct axis *a, struct names *n,
                         struct problems *problems)
{
    for (size_t k = 0; k < a->key_count; k++) {
        struct key *key = find_name(n, section, a->keys[k]);
        if (!key) {
            key = arena_add(n->arena, n->keys, n->key_count);
            *key = (struct key){.name = arena_text(n->arena, a->keys[k]),
                                .section = section,
                                .is_label = sweep_is_label(s, a->keys[k]),
                                .is_bool = axis_is_bool(a, k)};
        }
        mark_texts(a, k, key);
        if (mixes_bool(a, k, key->is_bool))
            problems_add(problems, a->at, "`%s` is a boolean in one place and another type elsewhere; use one type",
                         a->keys[k]);
    }
}

static void mark_nullable(const struct sweep *s, struct names *n)
{
    for (size_t i = 0; i < n->key_count; i++) {
        const struct section *section = &s->sections[n->keys[i].section];
        for (size_t b = 0; b < section->block_count; b++)
            if (!block_axis(&section->blocks[b], n->keys[i].name))
                n->keys[i].is_nullable = true;
    }
}

static const struct axis *axis_of(const struct sweep *s, const char *name)
{
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);)
        if (axis_has(at.axis, name))
            return at.axis;
    return NULL;
}

/* Two names of one thing in one sweep: rules would see one value and the job another. */
static void refuse_doubles(const struct sweep *s, struct problems *problems)
{
    for (size_t i = 0; i < s->synonym_count; i++) {
        const char *first = axis_of(s, s->synonyms[i].name) ? s->synonyms[i].name : NULL;
        for (char **other = s->synonyms[i].keys; *other; other++) {
            const struct axis *axis = axis_of(s, *other);
            if (axis && first)
                problems_add(problems, axis->at, "`%s` and `%s` are names of the same key; use one of them", *other,
                             first);
            first = axis && !first ? *other : first;
        }
    }
}

void names_collect(const struct sweep *s, struct arena *arena, struct names *out, struct problems *problems)
{
    struct names n = {.arena = arena,
                      .synonyms = s->synonyms,
                      .synonym_count = s->synonym_count,
                      .declared = s->derived,
                      .declared_count = s->derived_count,
                      .problems = problems};
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);)
        collect_axis(s, at.section, at.axis, &n, problems);
    refuse_doubles(s, problems);
    mark_nullable(s, &n);
    *out = n;
}

void names_add_derived(struct names *n, const char *name, const struct expression *x, bool is_builtin)
{
    *arena_add(n->arena, n->derived, n->derived_count) =
        (struct derived_key){arena_text(n->arena, name), *x, is_builtin,
                             ANY(i, x->key_count, n->keys[x->keys[i]].is_label)};
}

/* "section.key": the key's index; SIZE_MAX when it is none. */
static size_t resolve_qualified(const struct names *n, const char *text)
{
    const char *name;
    const enum section_kind section = section_split(text, &name);
    const struct key *key = section < SECTION_COUNT ? find_name(n, section, name) : NULL;
    return key ? (size_t)(key - n->keys) : (size_t)-1;
}

/* "key", "section.key" or a derived key as they stand. */
static enum resolution resolve_plain(const struct names *n, const char *text, size_t *index)
{
    size_t matches = 0;
    for (size_t i = 0; i < n->key_count; i++) {
        if (strcmp(n->keys[i].name, text) != 0)
            continue;
        *index = i;
        matches++;
    }
    if (matches)
        return matches == 1 ? RESOLVED_KEY : RESOLVED_AMBIGUOUS;
    /* Built-in derived keys give way to a key of the same name; user ones never share a name with a key. */
    for (size_t i = n->derived_count; i-- > 0;) {
        if (strcmp(n->derived[i].name, text) == 0) {
            *index = i;
            return RESOLVED_DERIVED;
        }
    }
    size_t qualified = resolve_qualified(n, text);
    if (qualified == (size_t)-1)
        return RESOLVED_UNKNOWN;
    *index = qualified;
    return RESOLVED_KEY;
}

void names_add_common(struct names *n, const char *name, const char *const *others)
{
    *arena_add(n->arena, n->common, n->common_count) = (struct common_name){name, others};
}

/* One after the other. */
static enum resolution resolve_first(const struct names *n, const char *const *names, size_t *index)
{
    enum resolution found = RESOLVED_UNKNOWN;
    for (; *names && found == RESOLVED_UNKNOWN; names++)
        found = resolve_plain(n, *names, index);
    return found;
}

enum resolution names_resolve(const struct names *n, const char *text, size_t *index)
{
    enum resolution found = resolve_plain(n, text, index);
    for (size_t i = 0; found == RESOLVED_UNKNOWN && i < n->synonym_count; i++) {
        if (strcmp(n->synonyms[i].name, text) != 0)
            continue;
        found = resolve_first(n, (const char *const *)n->synonyms[i].keys, index);
    }
    for (size_t i = 0; found == RESOLVED_UNKNOWN && i < n->common_count; i++)
        if (strcmp(n->common[i].name, text) == 0)
            found = resolve_first(n, n->common[i].others, index);
    return found;
}

bool names_excused(const struct names *n, const char *name)
{
    const char *dot = strchr(name, '.');
    return n->problems && (problems_excused(n->problems, name) || (dot && problems_excused(n->problems, dot + 1)));
}

static char *hint_ambiguous(const struct names *n, const char *text)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < n->key_count; i++)
        if (strcmp(n->keys[i].name, text) == 0)
            buffer_printf(&b, "%s%s.%s", b.length ? " or " : " (write ", section_names[n->keys[i].section], text);
    buffer_add_char(&b, ')');
    return buffer_take(&b);
}

/* Thousands of problems in a file of thousands of names: nobody reads the hints, and they would take minutes. */
static bool is_worth_a_hint(const struct names *n)
{
    return !n->problems || n->problems->found * (n->key_count + n->derived_count) < MOST_HINT_PAIRS;
}

/* A derived key that is declared, but further below. */
static bool is_to_come(const struct names *n, const char *text)
{
    return ANY(i, n->declared_count, strcmp(n->declared[i].name, text) == 0);
}

static const char *section_of(const char *text, size_t length)
{
    OWNED char *word = xstrndup(text, length);
    return SUGGEST(word, i, SECTION_COUNT, section_names[i]).near;
}

static char *hint_near(const struct names *n, const char *word, const char *const *others, size_t other_count)
{
    struct suggestion meant = suggest_for(word);
    for (size_t i = 0; i < n->key_count; i++)
        suggest_try(&meant, n->keys[i].name);
    for (size_t i = 0; i < n->derived_count; i++)
        suggest_try(&meant, n->derived[i].name);
    for (size_t i = 0; i < other_count; i++)
        suggest_try(&meant, others[i]);
    return xstrdup(suggest_between(&meant, " (did you mean `", "`?)"));
}

char *names_hint(const struct names *n, const char *text, const char *const *others, size_t other_count)
{
    size_t index;
    if (names_resolve(n, text, &index) == RESOLVED_AMBIGUOUS)
        return hint_ambiguous(n, text);
    if (is_to_come(n, text))
        return xstrdup(" (a derived key can use only keys defined above it)");
    if (!is_worth_a_hint(n))
        return xstrdup("");
    const char *dot = strchr(text, '.'), *section = dot ? section_of(text, (size_t)(dot - text)) : NULL;
    if (!section)
        return hint_near(n, text, others, other_count);
    OWNED char *qualified = xasprintf("%s%s", section, dot);
    bool known = names_resolve(n, qualified, &index) == RESOLVED_KEY;
    return known ? xasprintf(" (did you mean `%s`?)", qualified) : hint_near(n, dot + 1, NULL, 0);
}

/* --- expressions --- */

struct resolver {
    const struct names *names;
    enum unknown_names unknown;
    struct expression out; /* but for its sql */
};

unsigned expression_sections(const struct names *n, const struct expression *x)
{
    unsigned sections = 0;
    for (size_t i = 0; i < x->key_count; i++)
        sections |= 1U << n->keys[x->keys[i]].section;
    return sections;
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

static void note_key(struct resolver *r, size_t index)
{
    if (!ANY(i, r->out.key_count, r->out.keys[i] == index))
        *arena_add(r->names->arena, r->out.keys, r->out.key_count) = index;
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
    note_key(r, index);
}

static void use_derived(struct resolver *r, size_t index, struct buffer *sql)
{
    const struct expression *x = &r->names->derived[index].expression;
    buffer_add_text(sql, x->sql);
    for (size_t i = 0; i < x->key_count; i++)
        note_key(r, x->keys[i]);
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
        const char *before = sql->data + sql->length - 1;
        while (*before == ' ')
            before--;
        if ((quoted || *before == '=') && !*hint) {
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
    const int rc = rewrite_expression(text, &(struct rewriter){use_name, use_call, &r}, &sql, e);
    r.out.sql = arena_keep(n->arena, buffer_take(&sql));
    if (rc == 0)
        *out = r.out;
    return rc;
}

void expression_add_member(struct buffer *b, const char *json, const char *key)
{
    OWNED char *path = xasprintf("$.\"%s\"", key);
    buffer_printf(b, "json_extract(%s, ", json);
    buffer_add_quoted(b, path, '\'');
    buffer_add_char(b, ')');
}

void expression_add_row(const struct names *n, const size_t *keys, size_t count, const char *const *json,
                        struct buffer *sql)
{
    const char *word = " FROM (SELECT ";
    for (int section = 0; section < SECTION_COUNT; section++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            const struct key *key = &n->keys[keys ? keys[i] : i];
            if ((int)key->section != section)
                continue;
            buffer_add_text(sql, any ? ", " : word);
            if (strpbrk(key->name, "\"\\'"))
                buffer_add_text(sql, "NULL");
            else
                expression_add_member(sql, json[section], key->name);
            buffer_add_text(sql, " AS ");
            expression_add_name(sql, key->name);
            any = true;
        }
        if (any)
            buffer_printf(sql, ") AS \"%s\"", section_names[section]);
        word = any ? ", (SELECT " : word;
    }
}

/* --- token by token --- */

/* An expression on its way. */
struct rewriting {
    const struct rewriter *rewriter;
    struct buffer *sql;
    int depth;
    bool names_type; /* the next name is what CAST or COLLATE asks for, no key */
    struct error *e;
};

/* TRUE and FALSE are no keywords to SQLite, but constants where no column has the name. */
bool rewrite_is_word_of_sql(const char *name)
{
    return db_is_keyword(name) || strcasecmp(name, "true") == 0 || strcasecmp(name, "false") == 0;
}

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool continues_name(char c)
{
    return starts_name(c) || isdigit((unsigned char)c);
}

/* The end of a quoted run that starts at `p`, doubled quotes inside; NULL when it does not end. */
static const char *quoted_end(const char *p)
{
    char quote = *p == '[' ? ']' : *p;
    for (p++; *p; p++) {
        if (*p != quote)
            continue;
        if (p[1] != quote || quote == ']')
            return p + 1;
        p++;
    }
    return NULL;
}

/* Adds the name between quotes, undoubled. */
static void add_unquoted(struct buffer *b, const char *from, const char *to)
{
    for (const char *p = from + 1; p < to - 1; p++) {
        buffer_add_char(b, *p);
        if (*p == *from && p[1] == *from)
            p++;
    }
}

/* Reads a chain of names joined by dots into `text`; NULL when a quote does not end. */
static const char *read_chain(const char *p, struct buffer *text, bool *quoted)
{
    for (;;) {
        const char *start = p;
        if (*p == '"' || *p == '`' || *p == '[') {
            *quoted = true;
            p = quoted_end(p);
            if (!p)
                return NULL;
            add_unquoted(text, start, p);
        } else {
            while (continues_name(*p))
                p++;
            buffer_add(text, start, (size_t)(p - start));
        }
        if (*p != '.' || !(starts_name(p[1]) || p[1] == '"' || p[1] == '`' || p[1] == '['))
            return p;
        buffer_add_char(text, '.');
        p++;
    }
}

static const char *skip_blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* `p` is behind the name. */
static const char *take_call(struct rewriting *w, const char *name, const char *p)
{
    const struct rewriter *r = w->rewriter;
    /* IN (…), LIKE (…): words of SQL whatever is called so. */
    if (!r->call || db_is_keyword(name)) {
        buffer_add_text(w->sql, name);
        return p;
    }
    p = skip_blanks(p) + 1;
    w->depth++;
    if (r->call(r->context, name, *skip_blanks(p) == ')', w->sql, w->e) < 0)
        return NULL;
    return p;
}

/* CAST(x AS INTEGER), x COLLATE NOCASE. */
static bool precedes_type(const char *name)
{
    return strcasecmp(name, "as") == 0 || strcasecmp(name, "collate") == 0;
}

static const char *take_name(struct rewriting *w, const char *p)
{
    const struct rewriter *r = w->rewriter;
    OWNED_BUFFER name = BUFFER_INIT;
    bool quoted = false, is_type = w->names_type;
    const char *end = read_chain(p, &name, &quoted);
    w->names_type = end && !quoted && precedes_type(buffer_text(&name));
    if (!end)
        error_set(w->e, ERROR_USAGE, "a quoted name is not closed");
    else if (is_type)
        buffer_add(w->sql, p, (size_t)(end - p));
    else if (*skip_blanks(end) == '(' && !quoted)
        end = take_call(w, buffer_text(&name), end);
    else if (r->name(r->context, buffer_text(&name), quoted, w->sql, w->e) < 0)
        end = NULL;
    return end;
}

static const char *take_number(struct rewriting *w, const char *p)
{
    const char *start = p;
    while (isalnum((unsigned char)*p) || *p == '.' || ((*p == '+' || *p == '-') && (p[-1] == 'e' || p[-1] == 'E')))
        p++;
    buffer_add(w->sql, start, (size_t)(p - start));
    return p;
}

static const char *take_string(struct rewriting *w, const char *p)
{
    const char *end = quoted_end(p);
    if (!end)
        error_set(w->e, ERROR_USAGE, "a string is not closed");
    else
        buffer_add(w->sql, p, (size_t)(end - p));
    return end;
}

/* Returns advice on what other languages write so. */
static const char *spelled_elsewhere(const char *p)
{
    static const char *const spellings[][2] = {
        {"&&", "in SQL, write AND instead of `&&`"},
        {"**", "in SQL, write pow(X, Y) instead of `**`"},
        {"{", "write keys without braces in an expression"},
    };
    return FIND(i, sizeof spellings / sizeof *spellings, strncmp(p, spellings[i][0], strlen(spellings[i][0])) == 0,
                spellings[i][1]);
}

static const char *take_symbol(struct rewriting *w, const char *p)
{
    const char *elsewhere = spelled_elsewhere(p);
    w->depth += (*p == '(') - (*p == ')');
    if (w->depth < 0)
        error_set(w->e, ERROR_USAGE, "there is one closing parenthesis too many");
    else if (*p == ';' || *p == '?' || *p == ':' || *p == '@' || *p == '$' || *p == '#')
        error_set(w->e, ERROR_USAGE, "`%c` has no meaning in an expression", *p);
    else if (elsewhere)
        error_set(w->e, ERROR_USAGE, "%s", elsewhere);
    else if ((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*'))
        error_set(w->e, ERROR_USAGE, "an expression cannot contain comments");
    else {
        buffer_add_char(w->sql, *p);
        return p + 1;
    }
    return NULL;
}

static const char *take_token(struct rewriting *w, const char *p)
{
    if (starts_name(*p) || *p == '"' || *p == '`' || *p == '[')
        return take_name(w, p);
    w->names_type &= isspace((unsigned char)*p) != 0;
    if (*p == '\'')
        return take_string(w, p);
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1])))
        return take_number(w, p);
    return take_symbol(w, p);
}

/* What SQLite would say of the parenthesis that is put behind it. */
static bool ends_early(const char *text)
{
    static const char *const words[] = {"and",  "or",      "not",  "in",   "is",  "like",
                                        "glob", "between", "when", "then", "else"};
    const char *end = text + strlen(text), *word;
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    for (word = end; word > text && (isalnum((unsigned char)word[-1]) || strchr("_.", word[-1]));)
        word--;
    return end == text || strchr("+-*/%<>=|&~,", end[-1]) ||
           ANY(i, LENGTH(words), strncasecmp(words[i], word, strlen(words[i])) == 0 && word + strlen(words[i]) == end);
}

int rewrite_expression(const char *text, const struct rewriter *r, struct buffer *sql, struct error *e)
{
    struct rewriting w = {.rewriter = r, .sql = sql, .e = e};
    const size_t start = sql->length;
    buffer_add_char(sql, '(');
    const char *p = text;
    while (p && *p) {
        p = take_token(&w, p);
        if (p && sql->length - start > REWRITE_LONGEST) {
            error_set(e, ERROR_USAGE, "the expression is longer than %d bytes when its derived keys are written out",
                      REWRITE_LONGEST);
            p = NULL;
        }
    }
    if (p && w.depth > 0) {
        error_set(e, ERROR_USAGE, "a parenthesis is not closed");
        p = NULL;
    } else if (p && ends_early(text)) {
        error_set(e, ERROR_USAGE, "it ends too early");
        p = NULL;
    }
    if (!p)
        return -1;
    buffer_add_char(sql, ')');
    return 0;
}
