#include "config/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

static size_t word_length(const char *text)
{
    size_t n = 0;
    if (isalpha((unsigned char)text[0]) || text[0] == '_')
        while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '-')
            n++;
    return n;
}

size_t template_name_length(const char *text)
{
    size_t n = word_length(text);
    while (n > 0 && text[n] == '.') {
        size_t more = word_length(text + n + 1);
        if (more == 0)
            break;
        n += 1 + more;
    }
    return n;
}

static void add_part(struct template *t, char *text, int is_placeholder)
{
    t->parts = array_grow(t->parts, t->count, sizeof *t->parts);
    t->parts[t->count++] = (struct template_part){.text = text, .is_placeholder = is_placeholder};
}

static void end_literal(struct template *t, struct buffer *literal)
{
    if (literal->length > 0)
        add_part(t, buffer_take(literal), 0);
}

struct template template_parse(const char *text)
{
    struct template t = {NULL, 0};
    struct buffer literal = BUFFER_INIT;
    for (const char *p = text; *p;) {
        size_t name = *p == '{' ? template_name_length(p + 1) : 0;
        if (name > 0 && p[1 + name] == '}') {
            end_literal(&t, &literal);
            add_part(&t, xstrndup(p + 1, name), 1);
            p += name + 2;
        } else if (p[0] == '$' && p[1] == '{') {
            buffer_add_text(&literal, "${");
            p += 2;
        } else {
            buffer_add_char(&literal, *p);
            p += p[0] == '{' && p[1] == '{' ? 2 : 1;
        }
    }
    end_literal(&t, &literal);
    buffer_free(&literal);
    return t;
}

void template_free(struct template *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->parts[i].text);
    free(t->parts);
    *t = (struct template){NULL, 0};
}

char *template_misspelt(const char *text)
{
    for (const char *p = strchr(text, '{'); p; p = strchr(p + 1, '{')) {
        const char *name = p + 1 + (p[1] == '.');
        size_t length = template_name_length(name);
        const char *end = name + length;
        int dots = (p[1] == '.') + (*end == '.');
        end += *end == '.';
        if (length > 0 && dots > 0 && *end == '}' && !(p > text && (p[-1] == '$' || p[-1] == '{')))
            return xstrndup(p, (size_t)(end - p) + 1);
    }
    return NULL;
}
