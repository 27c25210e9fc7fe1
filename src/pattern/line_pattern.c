#include "pattern/line_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "pattern/syntax.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/utf8.h"

enum { NEEDLE_BYTES_LEAST = 3 }; /* shorter ones are on too many lines */

/* Past the bracket expression that begins at `p`: "]" right after "[" or "[^" stands for itself, and "[:alpha:]",
 * "[.x.]", "[=x=]" hold brackets of their own. */
static const char *skip_bracket(const char *p)
{
    p++;
    p += *p == '^';
    p += *p == ']';
    while (*p && *p != ']') {
        if (p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
            const char close[] = {p[1], ']', '\0'};
            const char *end = strstr(p + 2, close);
            p = end ? end + 1 : p;
        }
        p++;
    }
    return *p ? p + 1 : p;
}

/* Past one atom: an escape, a bracket expression, a group with all that is in it, or a single byte. */
static const char *skip_atom(const char *p)
{
    if (*p == '\\')
        return p[1] ? p + 2 : p + 1;
    if (*p == '[')
        return skip_bracket(p);
    if (*p != '(')
        return p + 1;
    for (p++; *p && *p != ')';)
        p = skip_atom(p);
    return *p ? p + 1 : p;
}

/* The byte that the atom stands for, 0 when it is not exactly one. Of escapes only those of special bytes are plain:
 * letters, digits and some others (\<, \') mean something to glibc. */
static char literal_of(const char *p)
{
    if (*p == '\\')
        return p[1] && strchr("^.[]$()|*+?{}\\/-", p[1]) ? p[1] : '\0';
    return strchr(".[(*^$|)+?{", *p) ? '\0' : *p;
}

/* Past what says how often the atom before it comes. `*optional`: perhaps never. */
static const char *skip_quantifiers(const char *p, bool *optional)
{
    *optional = false;
    while (*p && strchr("*+?{", *p)) {
        *optional |= *p != '+';
        if (*p == '{')
            p += strcspn(p, "}");
        p += *p != '\0';
    }
    return p;
}

/* Ends a run of literals; the longest stays. */
static void end_run(struct buffer *run, struct buffer *longest)
{
    if (run->length > longest->length) {
        buffer_clear(longest);
        buffer_add(longest, run->data, run->length);
    }
    buffer_clear(run);
}

/* The longest run of literals in the alternative that begins at `p`; returns where it ends. */
static const char *longest_literal(const char *p, struct buffer *longest)
{
    struct buffer run = BUFFER_INIT;
    while (*p && *p != '|') {
        char literal = literal_of(p);
        bool optional;
        const char *after = skip_atom(p);
        p = skip_quantifiers(after, &optional);
        if (literal && !optional)
            buffer_add_char(&run, literal);
        /* What is optional may be a character of several bytes, of which the first ones are in the run already. */
        while (optional && run.length && (run.data[run.length - 1] & 0x80))
            run.length--;
        if (!literal || p != after)
            end_run(&run, longest);
    }
    end_run(&run, longest);
    buffer_free(&run);
    return p;
}

static void drop_needles(struct line_pattern *p)
{
    for (size_t i = 0; i < p->needle_count; i++)
        free(p->needles[i]);
    free(p->needles);
    p->needles = NULL;
    p->needle_count = 0;
}

static void find_needles(struct line_pattern *p, const char *text)
{
    for (;;) {
        struct buffer longest = BUFFER_INIT;
        text = longest_literal(text, &longest);
        if (longest.length < NEEDLE_BYTES_LEAST) {
            buffer_free(&longest);
            drop_needles(p);
            return;
        }
        p->needles = array_grow(p->needles, p->needle_count, sizeof *p->needles);
        p->needles[p->needle_count++] = buffer_take(&longest);
        if (*text == '\0')
            return;
        text++;
    }
}

int line_pattern_compile(struct line_pattern *p, const char *text, char why[256])
{
    struct buffer translated = BUFFER_INIT;
    *p = (struct line_pattern){.engine = NULL};
    int rc = syntax_translate(text, &translated, why);
    if (rc == 0)
        rc = engine_create(buffer_text(&translated), &p->engine, why);
    buffer_free(&translated);
    if (rc < 0)
        return -1;
    p->group_count = engine_group_count(p->engine);
    find_needles(p, text);
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
    char *mended = mend(text, strlen(text));
    bool matches = mended && engine_match(p->engine, mended, within, count, groups);
    free(mended);
    return matches;
}

bool line_pattern_match(const struct line_pattern *p, const char *line, size_t count, struct text_range *groups)
{
    return line_pattern_match_within(p, line, (struct text_range){0, (ptrdiff_t)strlen(line)}, count, groups);
}
