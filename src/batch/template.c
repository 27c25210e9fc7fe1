#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "batch/system.h"
#include "util/memory.h"
#include "util/shell.h"
#include "util/string_list.h"

void batch_values_add(struct batch_values *v, const char *name, char *text, bool is_list)
{
    if (text && !*text)
        text_replace(&text, NULL);
    *array_add(v->items, v->count) = (struct batch_value){name, text, is_list};
}

void batch_values_add_count(struct batch_values *v, const char *name, int64_t value)
{
    batch_values_add(v, name, value > 0 ? xasprintf("%" PRId64, value) : NULL, false);
}

void batch_values_free(struct batch_values *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->items[i].text);
    free(v->items);
}

/* --- one line --- */

/* A line that is filled, for the n-th time where it has a list. */
struct line_filling {
    const struct batch_values *values;
    size_t nth;
    bool lacks, lists; /* a value is missing; a list has more */
    struct buffer *out;
};

static void add_quoted(struct buffer *b, const char *value, size_t length)
{
    buffer_add_char(b, '"');
    for (size_t i = 0; i < length; i++) {
        if (value[i] == '"' || value[i] == '\\')
            buffer_add_char(b, '\\');
        buffer_add_char(b, value[i] == '\n' ? ' ' : value[i]);
    }
    buffer_add_char(b, '"');
}

static void add_value(struct line_filling *f, const char *value, size_t length, const char *filter)
{
    if (strncmp(filter, "|quoted", 7) == 0) {
        add_quoted(f->out, value, length);
    } else if (strncmp(filter, "|json", 5) == 0) {
        buffer_add_json_string(f->out, value, length);
    } else if (strncmp(filter, "|sh", 3) == 0) {
        OWNED char *word = xstrndup(value, length);
        shell_add_word(f->out, word);
    } else {
        /* A line of its own would be another option. */
        for (size_t i = 0; i < length; i++)
            buffer_add_char(f->out, value[i] == '\n' ? ' ' : value[i]);
    }
}

/* The n-th line of a list; NULL: it has fewer. */
static const char *nth_line(const char *text, size_t n)
{
    for (; text && n > 0; n--) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text;
}

static const struct batch_value *find_value(const struct batch_values *values, const char *name, size_t length)
{
    return FIND(i, values->count,
                strlen(values->items[i].name) == length && strncmp(values->items[i].name, name, length) == 0 &&
                    values->items[i].text,
                &values->items[i]);
}

/* Fills what stands between braces. */
static void fill_key(struct line_filling *f, const char *key)
{
    size_t name = strcspn(key, ":?|}"), otherwise = strcspn(key, "|}");
    const bool is_optional = key[name] == '?';
    const struct batch_value *v = find_value(f->values, key, name);
    const char *text = v && v->is_list ? nth_line(v->text, f->nth) : v ? v->text : NULL;
    if (text) {
        size_t length = v->is_list ? strcspn(text, "\n") : strlen(text);
        f->lists |= v->is_list && text[length];
        const char *at = is_optional ? memchr(key + name, '@', otherwise - name) : NULL;
        if (at)
            buffer_add(f->out, key + name + 1, (size_t)(at - key) - name - 1);
        add_value(f, text, length, key + otherwise);
        if (at)
            buffer_add(f->out, at + 1, (size_t)(key + otherwise - at) - 1);
    } else if (otherwise > name && !is_optional) {
        add_value(f, key + name + 1, otherwise - name - 1, key + otherwise);
    } else {
        f->lacks |= !is_optional;
    }
}

static void fill_line(struct line_filling *f, const char *line, size_t length)
{
    for (const char *c = line; c < line + length; c++) {
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            buffer_add_char(f->out, *c++);
        } else if (*c == '{') {
            fill_key(f, c + 1);
            c += strcspn(c, "}");
        } else {
            buffer_add_char(f->out, *c);
        }
    }
}

/* Appends the line, as often as it has values, with `end` behind each. */
static void fill_lines(const char *line, size_t length, const struct batch_values *values, const char *end,
                       struct buffer *out)
{
    struct line_filling f = {.values = values, .lists = true, .out = out};
    for (; f.lists; f.nth++) {
        size_t before = out->length;
        f.lists = false;
        fill_line(&f, line, length);
        if (!f.lacks) {
            buffer_add_text(out, end);
        } else if (out->length > before) {
            out->length = before;
            out->data[before] = '\0';
        }
        f.lists &= !f.lacks;
    }
}

void batch_fill(const char *pattern, const struct batch_values *values, struct buffer *out)
{
    for (const char *line = pattern; line && *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        fill_lines(line, length, values, "\n", out);
        line += length;
    }
}

char *batch_fill_text(const char *pattern, const struct batch_values *values)
{
    struct buffer b = BUFFER_INIT;
    fill_lines(pattern, strlen(pattern), values, "", &b);
    return buffer_take(&b);
}

char **batch_fill_words(char *const *patterns, const struct batch_values *values)
{
    struct string_list words = STRING_LIST_INIT;
    for (; *patterns; patterns++) {
        OWNED_BUFFER b = BUFFER_INIT;
        fill_lines(*patterns, strlen(*patterns), values, "\1", &b);
        /* One word for each time that it was filled. */
        for (char *word = b.data, *end; word && (end = strchr(word, '\1')); word = end + 1)
            string_list_add(&words, xstrndup(word, (size_t)(end - word)));
    }
    return string_list_take(&words);
}
