#include "run/line_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"

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
    *p = (struct line_pattern){.needles = NULL};
    int rc = regcomp(&p->regex, text, REG_EXTENDED);
    if (rc != 0)
        regerror(rc, &p->regex, why, 256);
    else
        find_needles(p, text);
    return rc;
}

void line_pattern_free(struct line_pattern *p)
{
    regfree(&p->regex);
    drop_needles(p);
}

bool line_pattern_match(const struct line_pattern *p, const char *line, size_t count, regmatch_t *groups)
{
    bool possible = p->needle_count == 0;
    for (size_t i = 0; !possible && i < p->needle_count; i++)
        possible = strstr(line, p->needles[i]) != NULL;
    return possible && regexec(&p->regex, line, count, groups, 0) == 0;
}
