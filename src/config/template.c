#include "config/template.h"

#include <ctype.h>
#include <stdbool.h>
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

bool template_is_name(const char *text)
{
    const size_t length = template_name_length(text);
    return length > 0 && !text[length];
}

/* A text on its way, behind what `literal` holds. */
struct parsing {
    struct arena *arena;
    struct template t;
    struct buffer literal;
};

static void add_part(struct parsing *p, struct template_part part)
{
    arena_keep(p->arena, part.text);
    p->t.has_options |= part.option != PART_ALWAYS;
    *arena_add(p->arena, p->t.parts, p->t.count) = part;
}

static void end_literal(struct parsing *p, enum template_option option)
{
    if (p->literal.length > 0)
        add_part(p, (struct template_part){.text = buffer_take(&p->literal), .option = option});
}

/* The brace that ends what begins at `text`, within which braces come in pairs; NULL: there is none. */
static const char *closing_brace(const char *text)
{
    for (size_t depth = 0; *text; text++) {
        if (*text == '}' && depth-- == 0)
            return text;
        depth += *text == '{';
    }
    return NULL;
}

static void add_within(struct parsing *p, const struct template_part *opens, const char *at, const char *end)
{
    for (; at < end; at++) {
        const bool is_value = at[0] == '{' && at[1] == '}';
        if (!is_value)
            buffer_add_char(&p->literal, *at);
        if (is_value || at + 1 == end)
            end_literal(p, PART_WITHIN);
        if (is_value)
            add_part(p, (struct template_part){.text = xstrdup(opens->text),
                                               .is_placeholder = 1,
                                               .is_raw = opens->is_raw,
                                               .option = PART_WITHIN});
        at += is_value;
    }
    add_part(p, (struct template_part){.text = xstrdup("}"), .option = PART_CLOSES});
}

/* The placeholder whose brace is at `text`: its bytes, 0 where it is none. */
static size_t read_placeholder(struct parsing *t, const char *text)
{
    const size_t name = template_name_length(text + 1);
    const char *p = text + 1 + name;
    const bool is_raw = t->t.is_line && strncmp(p, "!r", 2) == 0;
    p += is_raw ? 2 : 0;
    const bool is_optional = *p == '?';
    p += is_optional;
    const char *end = is_optional ? closing_brace(p) : *p == '}' ? p : NULL;
    if (name == 0 || !end)
        return 0;
    end_literal(t, PART_ALWAYS);
    const struct template_part part = {.text = xstrndup(text + 1, name),
                                       .is_placeholder = 1,
                                       .is_raw = is_raw,
                                       .option = !is_optional ? PART_ALWAYS
                                                 : p == end   ? PART_OPTIONAL
                                                              : PART_OPENS};
    add_part(t, part);
    if (p < end)
        add_within(t, &part, p, end);
    return (size_t)(end + 1 - text);
}

struct template template_parse(struct arena *arena, const char *text, bool is_line)
{
    struct parsing t = {arena, {.is_line = is_line}, BUFFER_INIT};
    for (const char *p = text; *p;) {
        const size_t placeholder = *p == '{' ? read_placeholder(&t, p) : 0;
        if (placeholder > 0) {
            p += placeholder;
        } else if (p[0] == '$' && p[1] == '{') {
            buffer_add_text(&t.literal, "${");
            p += 2;
        } else {
            buffer_add_char(&t.literal, *p);
            p += p[0] == '{' && p[1] == '{' ? 2 : 1;
        }
    }
    end_literal(&t, PART_ALWAYS);
    buffer_free(&t.literal);
    return t.t;
}

void template_add_part(const struct template_part *part, struct buffer *out)
{
    if (!part->is_placeholder)
        buffer_add_text(out, part->text);
    else if (part->option == PART_WITHIN)
        buffer_add_text(out, "{}");
    else
        buffer_printf(out, "{%s%s%s%s", part->text, part->is_raw ? "!r" : "", part->option ? "?" : "",
                      part->option == PART_OPENS ? "" : "}");
}

char *template_misspelt(const char *text)
{
    for (const char *p = strchr(text, '{'); p; p = strchr(p + 1, '{')) {
        const char *name = p + 1 + (p[1] == '.');
        size_t length = template_name_length(name);
        const char *end = name + length;
        int dots = (p[1] == '.') + (*end == '.');
        end += *end == '.';
        if (length > 0 && dots > 0 && (*end == '}' || *end == '?') && !(p > text && (p[-1] == '$' || p[-1] == '{')))
            return xstrndup(p, (size_t)(end - p) + 1);
    }
    return NULL;
}
