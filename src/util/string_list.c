#include "util/string_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

static void terminate(struct string_list *l)
{
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    l->items[l->count] = NULL;
}

void string_list_add(struct string_list *l, char *text)
{
    *array_add(l->items, l->count) = text;
    terminate(l);
}

size_t string_list_find(const struct string_list *l, const char *text)
{
    size_t i = FIRST(k, l->count, strcmp(l->items[k], text) == 0);
    return i;
}

const char *string_list_intern(struct string_list *l, char *text)
{
    const size_t i = text ? string_list_find(l, text) : 0;
    if (text && i == l->count)
        string_list_add(l, text);
    else
        free(text);
    return text ? l->items[i] : NULL;
}

char **string_list_take(struct string_list *l)
{
    terminate(l);
    char **items = l->items;
    *l = STRING_LIST_INIT;
    return items;
}

/* Numbers in their order, before texts in theirs. */
static int by_value(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    double p, q;
    bool x_number = parse_double(x, &p), y_number = parse_double(y, &q);
    if (x_number && y_number)
        return (p > q) - (p < q);
    return x_number != y_number ? y_number - x_number : strcmp(x, y);
}

void string_list_sort_values(struct string_list *l)
{
    array_sort(l->items, l->count, by_value);
}

void string_list_free(struct string_list *l)
{
    strings_free(l->items);
    *l = STRING_LIST_INIT;
}

bool strings_have(char *const *strings, const char *text)
{
    for (; strings && *strings; strings++)
        if (strcmp(*strings, text) == 0)
            return true;
    return false;
}

size_t length_before(const char *text, const char *ending)
{
    const size_t length = strlen(text), n = strlen(ending);
    return length > n && strcmp(text + length - n, ending) == 0 ? length - n : 0;
}

bool words_have(const char *words, const char *word)
{
    const size_t length = strlen(word);
    while (*words && (strcspn(words, " ") != length || strncasecmp(words, word, length) != 0)) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    return *words != '\0';
}

char **strings_copy(char *const *strings)
{
    struct string_list l = STRING_LIST_INIT;
    for (; *strings; strings++)
        string_list_add(&l, xstrdup(*strings));
    return string_list_take(&l);
}

void strings_replace(char **strings, const char *from, const char *to)
{
    const size_t n = strlen(from);
    for (; *strings; strings++) {
        struct buffer b = BUFFER_INIT;
        const char *rest = *strings;
        for (const char *at; (at = strstr(rest, from)); rest = at + n) {
            buffer_add(&b, rest, (size_t)(at - rest));
            buffer_add_text(&b, to);
        }
        buffer_add_text(&b, rest);
        free(*strings);
        *strings = buffer_take(&b);
    }
}

size_t setting_name_length(const char *setting)
{
    return strcspn(setting, "=");
}

bool setting_is_among(const char *setting, char *const *names)
{
    size_t n = setting_name_length(setting);
    for (; names && *names; names++)
        if (strlen(*names) == n && strncmp(*names, setting, n) == 0)
            return true;
    return false;
}

void strings_add_json(char *const *strings, struct buffer *out)
{
    const char *before = "[";
    for (; *strings; strings++, before = ",") {
        buffer_add_text(out, before);
        buffer_add_json_string(out, *strings, strlen(*strings));
    }
    buffer_add_text(out, before[0] == '[' ? "[]" : "]");
}
