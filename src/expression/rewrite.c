#include "expression/rewrite.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "database/db.h"
#include "util/memory.h"

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
    }
    if (!p)
        return -1;
    buffer_add_char(sql, ')');
    return 0;
}
