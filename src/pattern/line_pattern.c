#include "pattern/line_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/utf8.h"

/* --- syntax --- */

/* POSIX extended regular expressions, with what the C library adds to them (\b \B \w \W \s \S \< \> \` \') and what
 * everybody writes (\d \D; \d, \w and \s within brackets; (?:…)), in the syntax of the engine. */

enum {
    DEEPEST = 200,         /* groups within groups */
    NEEDLE_BYTES_LEAST = 3 /* shorter ones are on too many lines */
};

struct translation {
    const char *p;              /* what is to be read */
    int depth;                  /* of groups */
    char *why;                  /* of 256 bytes */
    const char *literal;        /* what the atom that was read last stands for */
    size_t literal_length;      /* 0: it is no literal */
    struct buffer run, longest; /* of literals, of the alternative at hand */
    struct line_pattern *out;   /* gets the needles */
    bool lacks_needle;          /* some alternative has none */
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

/* Within brackets a backslash stands for itself, but for \d, \w and \s, and so does "]" at the begin. */
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
        } else if (*t->p == '\\' && t->p[1] && strchr("dws", t->p[1])) {
            buffer_add_text(out, t->p[1] == 'd' ? "0-9" : t->p[1] == 'w' ? "0-9A-Za-z_" : "[:space:]");
            t->p += 2;
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
    } escapes[] = {{'b', "\\b"},          {'B', "\\B"},  {'w', "\\w"},   {'W', "\\W"},
                   {'<', "\\b"},          {'>', "\\b"},  {'`', "\\A"},   {'s', "[[:space:]]"},
                   {'S', "[^[:space:]]"}, {'\'', "\\z"}, {'d', "[0-9]"}, {'D', "[^0-9]"}};
    const char c = t->p[1];
    if (!c)
        return refuse(t, "it ends with a backslash");
    if (c >= '1' && c <= '9')
        return refuse(t, "back-references are not supported: they cannot be matched in linear time");
    t->p += 2;
    for (size_t i = 0; i < LENGTH(escapes); i++) {
        if (escapes[i].letter == c) {
            buffer_add_text(out, escapes[i].same);
            return 0;
        }
    }
    add_literal(out, c);
    t->literal = t->p - 1;
    t->literal_length = !(c & 0x80);
    return 0;
}

static int add_alternatives(struct translation *t, struct buffer *out);

static int add_group(struct translation *t, struct buffer *out)
{
    if (++t->depth > DEEPEST)
        return refuse(t, "too many groups within groups");
    buffer_add_char(out, *t->p++);
    if (strncmp(t->p, "?:", 2) == 0) {
        buffer_add(out, t->p, 2);
        t->p += 2;
    }
    if (add_alternatives(t, out) < 0)
        return -1;
    if (*t->p != ')')
        return refuse(t, "a (group) is not closed");
    buffer_add_char(out, *t->p++);
    t->depth--;
    t->literal_length = 0;
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
        t->literal = t->p;
        add_literal(out, *t->p++);
    }
    /* All bytes of a character are repeated together. */
    while ((t->p[-1] & 0x80) && (*t->p & 0xC0) == 0x80)
        buffer_add_char(out, *t->p++);
    t->literal_length = (size_t)(t->p - t->literal);
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

/* Ends a run of literals; the longest stays. */
static void end_run(struct translation *t)
{
    if (t->run.length > t->longest.length) {
        buffer_clear(&t->longest);
        buffer_add(&t->longest, t->run.data, t->run.length);
    }
    buffer_clear(&t->run);
}

static void note_atom(struct translation *t, bool is_repeated, bool is_optional)
{
    if (t->depth > 0)
        return;
    if (t->literal_length && !is_optional)
        buffer_add(&t->run, t->literal, t->literal_length);
    if (!t->literal_length || is_repeated)
        end_run(t);
}

static void end_alternative(struct translation *t)
{
    if (t->depth > 0)
        return;
    end_run(t);
    if (t->longest.length < NEEDLE_BYTES_LEAST)
        t->lacks_needle = true;
    else
        *array_add(t->out->needles, t->out->needle_count) = xstrdup(buffer_text(&t->longest));
    buffer_clear(&t->longest);
}

/* An atom and how often it comes. Where that is said twice ("a+?"), the second is of both: the engine would take it for
 * something else. */
static int add_repeated(struct translation *t, struct buffer *out)
{
    OWNED_BUFFER atom = BUFFER_INIT;
    bool anchor = *t->p == '^', is_optional = false;
    int times = 0;
    t->literal_length = 0;
    int rc = add_atom(t, &atom);
    for (; rc == 0 && !anchor && *t->p && strchr("*+?{", *t->p); times++) {
        is_optional |= *t->p != '+';
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
    if (rc == 0)
        note_atom(t, times > 0, is_optional);
    return rc;
}

/* Up to the end, or to what closes a group; outside of groups ")" stands for itself. */
static int add_alternatives(struct translation *t, struct buffer *out)
{
    while (*t->p && !(*t->p == ')' && t->depth > 0)) {
        if (*t->p != '|') {
            if (add_repeated(t, out) < 0)
                return -1;
            continue;
        }
        end_alternative(t);
        buffer_add_char(out, *t->p++);
    }
    end_alternative(t);
    return 0;
}

static void drop_needles(struct line_pattern *p)
{
    for (size_t i = 0; i < p->needle_count; i++)
        free(p->needles[i]);
    free(p->needles);
    p->needles = NULL;
    p->needle_count = 0;
}

/* Adds `text` to `out`, and finds the needles. Returns 0, or -1 with the reason in `why`: back-references ("\1"), which
 * cannot be matched in linear time, and what POSIX leaves undefined. What is wrong otherwise, the engine says. */
static int translate(struct line_pattern *p, const char *text, struct buffer *out, char why[256])
{
    struct translation t = {.p = text, .why = why, .out = p};
    int rc = add_alternatives(&t, out);
    if (rc < 0 || t.lacks_needle)
        drop_needles(p);
    buffer_free(&t.run);
    buffer_free(&t.longest);
    return rc;
}

/* --- line pattern --- */

int line_pattern_compile(struct line_pattern *p, const char *text, char why[256])
{
    OWNED_BUFFER translated = BUFFER_INIT;
    *p = (struct line_pattern){.engine = NULL};
    if (translate(p, text, &translated, why) < 0)
        return -1;
    if (engine_create(buffer_text(&translated), &p->engine, why) < 0) {
        drop_needles(p);
        return -1;
    }
    p->group_count = engine_group_count(p->engine);
    return 0;
}

void line_pattern_free(struct line_pattern *p)
{
    engine_free(p->engine);
    drop_needles(p);
}

/* The engine knows characters alone: bytes that are of none become question marks, one each, so that places stay. NULL:
 * there are none. The caller's. */
static char *mend(const char *text, size_t length)
{
    char any = 0;
    for (size_t i = 0; i < length; i++)
        any |= text[i];
    size_t at = any & 0x80 ? utf8_first_invalid(text, length) : length;
    if (at == length)
        return NULL;
    char *mended = xstrndup(text, length);
    for (; at < length; at += utf8_first_invalid(mended + at, length - at))
        mended[at] = '?';
    return mended;
}

bool line_pattern_match_within(const struct line_pattern *p, const char *text, struct text_range within, size_t count,
                               struct text_range *groups)
{
    bool possible = p->needle_count == 0;
    for (size_t i = 0; !possible && i < p->needle_count; i++)
        possible = strstr(text + within.begin, p->needles[i]) != NULL;
    if (!possible)
        return false;
    if (engine_match(p->engine, text, within, count, groups))
        return true;
    OWNED char *mended = mend(text, strlen(text));
    return mended && engine_match(p->engine, mended, within, count, groups);
}

bool line_pattern_match(const struct line_pattern *p, const char *line, size_t count, struct text_range *groups)
{
    return line_pattern_match_within(p, line, (struct text_range){0, (ptrdiff_t)strlen(line)}, count, groups);
}
