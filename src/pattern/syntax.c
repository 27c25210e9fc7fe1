#include "pattern/syntax.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 200 }; /* groups within groups */

struct translation {
    const char *p; /* what is to be read */
    int depth;     /* of groups */
    char *why;     /* of 256 bytes */
};

static int refuse(struct translation *t, const char *reason)
{
    snprintf(t->why, 256, "%s", reason);
    return -1;
}

/* A byte that stands for itself. */
static void add_literal(struct buffer *out, char c)
{
    if (!(c & 0x80) && ispunct((unsigned char)c))
        buffer_add_char(out, '\\');
    buffer_add_char(out, c);
}

/* "[.x.]" and "[=x=]" within brackets are x; "[:alpha:]" is the same in both. */
static int add_element(struct translation *t, struct buffer *out)
{
    const char close[] = {t->p[1], ']', '\0'};
    const char *end = strstr(t->p + 2, close);
    if (!end)
        return refuse(t, "a [:class:] is not closed");
    if (t->p[1] == ':')
        buffer_add(out, t->p, (size_t)(end + 2 - t->p));
    for (const char *c = t->p + 2; t->p[1] != ':' && c < end; c++)
        add_literal(out, *c);
    t->p = end + 2;
    return 0;
}

/* Within brackets a backslash stands for itself, and so does "]" at the begin. */
static int add_bracket(struct translation *t, struct buffer *out)
{
    buffer_add_char(out, *t->p++);
    if (*t->p == '^')
        buffer_add_char(out, *t->p++);
    for (bool first = true; first || *t->p != ']'; first = false) {
        if (!*t->p)
            return refuse(t, "a [bracket expression] is not closed");
        if (*t->p == '[' && t->p[1] && strchr(":.=", t->p[1])) {
            if (add_element(t, out) < 0)
                return -1;
        } else if (*t->p == '-') {
            buffer_add_char(out, *t->p++);
        } else {
            add_literal(out, *t->p++);
        }
    }
    buffer_add_char(out, *t->p++);
    return 0;
}

static int add_escape(struct translation *t, struct buffer *out)
{
    static const struct {
        char letter;
        const char *same;
    } escapes[] = {{'b', "\\b"}, {'B', "\\B"}, {'w', "\\w"},         {'W', "\\W"},          {'<', "\\b"},
                   {'>', "\\b"}, {'`', "\\A"}, {'s', "[[:space:]]"}, {'S', "[^[:space:]]"}, {'\'', "\\z"}};
    const char c = t->p[1];
    if (!c)
        return refuse(t, "it ends with a backslash");
    if (c >= '1' && c <= '9')
        return refuse(t, "back-references are not supported: they cannot be matched in linear time");
    t->p += 2;
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (escapes[i].letter == c) {
            buffer_add_text(out, escapes[i].same);
            return 0;
        }
    }
    add_literal(out, c);
    return 0;
}

static int add_alternatives(struct translation *t, struct buffer *out);

static int add_group(struct translation *t, struct buffer *out)
{
    if (++t->depth > DEEPEST)
        return refuse(t, "too many groups within groups");
    buffer_add_char(out, *t->p++);
    if (add_alternatives(t, out) < 0)
        return -1;
    if (*t->p != ')')
        return refuse(t, "a (group) is not closed");
    buffer_add_char(out, *t->p++);
    t->depth--;
    return 0;
}

static int add_atom(struct translation *t, struct buffer *out)
{
    switch (*t->p) {
    case '[':
        return add_bracket(t, out);
    case '(':
        return add_group(t, out);
    case '\\':
        return add_escape(t, out);
    case '.':
    case '^':
    case '$':
        buffer_add_char(out, *t->p++);
        return 0;
    case '*':
    case '+':
    case '?':
    case '{':
        return refuse(t, "there is nothing for *, +, ? or { to repeat");
    default:
        add_literal(out, *t->p++);
    }
    /* Of a character of several bytes all are repeated. */
    while ((t->p[-1] & 0x80) && (*t->p & 0xC0) == 0x80)
        buffer_add_char(out, *t->p++);
    return 0;
}

/* "{2}", "{2,}", "{2,3}", and the C library's "{,3}". */
static int add_interval(struct translation *t, struct buffer *out)
{
    const char *p = t->p + 1;
    size_t least = strspn(p, "0123456789"), most;
    const char *after = p + least;
    bool comma = *after == ',';
    after += comma;
    most = comma ? strspn(after, "0123456789") : least;
    if (after[comma ? most : 0] != '}' || least + most == 0)
        return refuse(t, "a { has to be followed by one or two numbers and }, or to be written \\{");
    buffer_printf(out, "{%.*s%s%.*s}", (int)(least ? least : 1), least ? p : "0", comma ? "," : "",
                  comma ? (int)most : 0, after);
    t->p = after + (comma ? most : 0) + 1;
    return 0;
}

/* An atom and how often it comes. Where that is said twice ("a+?"), the second is of both: the engine would take it for
 * something else. */
static int add_repeated(struct translation *t, struct buffer *out)
{
    struct buffer atom = BUFFER_INIT;
    bool anchor = *t->p == '^';
    int rc = add_atom(t, &atom);
    for (int times = 0; rc == 0 && !anchor && *t->p && strchr("*+?{", *t->p); times++) {
        if (times > 0) {
            struct buffer both = BUFFER_INIT;
            buffer_printf(&both, "(?:%s)", buffer_text(&atom));
            buffer_free(&atom);
            atom = both;
        }
        if (*t->p == '{')
            rc = add_interval(t, &atom);
        else
            buffer_add_char(&atom, *t->p++);
    }
    if (rc == 0 && atom.length > 0)
        buffer_add(out, atom.data, atom.length);
    buffer_free(&atom);
    return rc;
}

/* Up to the end, or to what closes a group; outside of groups ")" stands for itself. */
static int add_alternatives(struct translation *t, struct buffer *out)
{
    while (*t->p && !(*t->p == ')' && t->depth > 0)) {
        if (*t->p == '|')
            buffer_add_char(out, *t->p++);
        else if (add_repeated(t, out) < 0)
            return -1;
    }
    return 0;
}

int syntax_translate(const char *text, struct buffer *out, char why[256])
{
    struct translation t = {text, 0, why};
    return add_alternatives(&t, out);
}
