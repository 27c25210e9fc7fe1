#include "config/template.h"

#include <ctype.h>
#include <stdbool.h>
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

static void add_part(struct template *t, const struct template_part *part)
{
    *array_add(t->parts, t->count) = *part;
}

static void end_literal(struct template *t, struct buffer *literal)
{
    if (literal->length > 0)
        add_part(t, &(struct template_part){.text = buffer_take(literal)});
}

/* The end of a placeholder behind its name. */
static const char *ending_of(const char *behind, bool is_line)
{
    if (is_line && strncmp(behind, "!r}", 3) == 0)
        return "!r}";
    return *behind == '}' ? "}" : NULL;
}

static struct template parse(const char *text, bool is_line)
{
    struct template t = {NULL, 0};
    struct buffer literal = BUFFER_INIT;
    for (const char *p = text; *p;) {
        size_t name = *p == '{' ? template_name_length(p + 1) : 0;
        const char *ending = name > 0 ? ending_of(p + 1 + name, is_line) : NULL;
        if (ending) {
            end_literal(&t, &literal);
            add_part(&t, &(struct template_part){xstrndup(p + 1, name), 1, *ending == '!'});
            p += 1 + name + strlen(ending);
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

struct template template_parse(const char *text)
{
    return parse(text, false);
}

struct template template_parse_line(const char *text)
{
    return parse(text, true);
}

void template_add_part(const struct template_part *part, struct buffer *out)
{
    if (part->is_placeholder)
        buffer_printf(out, "{%s%s}", part->text, part->is_raw ? "!r" : "");
    else
        buffer_add_text(out, part->text);
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
