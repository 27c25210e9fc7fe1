#include "config/value.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

void value_free(struct value *v)
{
    free(v->text);
    *v = (struct value){0};
}

struct value value_copy(const struct value *v)
{
    struct value copy = *v;
    if (v->text)
        copy.text = xstrdup(v->text);
    return copy;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_NULL:
        return true;
    case VALUE_BOOL:
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_FLOAT:
        /* NaN equals itself: equality here means "the same spec". */
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    case VALUE_STRING:
    case VALUE_JSON:
        return strcmp(a->text, b->text) == 0;
    }
    return false;
}

static void add_json_real(double real, struct buffer *out)
{
    const char *quote = isfinite(real) ? "" : "\"";
    buffer_add_text(out, quote);
    buffer_add_double(out, real);
    buffer_add_text(out, quote);
}

void value_add_json(const struct value *v, struct buffer *out)
{
    switch (v->kind) {
    case VALUE_NULL:
        buffer_add_text(out, "null");
        break;
    case VALUE_FLOAT:
        add_json_real(v->real, out);
        break;
    case VALUE_STRING:
        buffer_add_json_string(out, v->text, strlen(v->text));
        break;
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_JSON:
        value_add_text(v, out);
        break;
    }
}

void value_add_text(const struct value *v, struct buffer *out)
{
    switch (v->kind) {
    case VALUE_NULL:
        break;
    case VALUE_BOOL:
        buffer_add_text(out, v->integer ? "true" : "false");
        break;
    case VALUE_INT:
        buffer_add_int(out, v->integer);
        break;
    case VALUE_FLOAT:
        buffer_add_double(out, v->real);
        break;
    case VALUE_STRING:
    case VALUE_JSON:
        buffer_add_text(out, v->text);
        break;
    }
}

/* Behind the JSON value that begins at `text`. */
static const char *end_of_json(const char *text)
{
    for (size_t depth = 0; *text; text++) {
        if (*text == '"')
            while (text[1] && *++text != '"')
                text += *text == '\\' && text[1];
        else if (depth == 0 && strchr(",]}:", *text))
            break;
        else if (strchr("[{", *text))
            depth++;
        else if (strchr("]}", *text))
            depth--;
    }
    return text;
}

/* The text of a JSON string; the caller's. NULL: it is none. */
static char *text_of_json(const char *begin, size_t length)
{
    if (length < 2 || *begin != '"')
        return NULL;
    if (!memchr(begin, '\\', length))
        return xstrndup(begin + 1, length - 2);
    OWNED_JSON *string = cJSON_ParseWithLength(begin, length);
    return cJSON_IsString(string) ? xstrdup(string->valuestring) : NULL;
}

bool value_next_element(const char **json, struct value *out)
{
    const char *begin = *json, *end = end_of_json(begin);
    if (end == begin)
        return false;
    char *text = text_of_json(begin, (size_t)(end - begin));
    *out = (struct value){.kind = text ? VALUE_STRING : VALUE_JSON,
                          .text = text ? text : xstrndup(begin, (size_t)(end - begin))};
    *json = end + (*end == ',');
    return true;
}

/* Returns whether white space stands between its tokens: it is not canonical then. */
static bool is_spaced(const char *begin, const char *end)
{
    bool quoted = false;
    for (; begin < end; begin++) {
        if (*begin == '"')
            quoted = !quoted;
        else if (quoted)
            begin += *begin == '\\';
        else if (strchr(" \t\r\n", *begin))
            return true;
    }
    return false;
}

/* Whole numbers that 64 bits do not hold are real ones, as SQLite has them. */
static bool number_of_json(const char *begin, size_t length, struct value *out)
{
    char *end;
    errno = 0;
    *out = (struct value){.kind = VALUE_INT, .integer = strtoll(begin, &end, 10)};
    if (errno || end != begin + length)
        *out = (struct value){.kind = VALUE_FLOAT, .real = strtod(begin, &end)};
    return length && strspn(begin, "-+.eE0123456789") >= length && end == begin + length;
}

static bool value_of_json(const char *begin, size_t length, struct value *out)
{
    static const struct {
        const char *word;
        struct value value;
    } words[] = {{"true", {.kind = VALUE_BOOL, .integer = 1}},
                 {"false", {.kind = VALUE_BOOL}},
                 {"null", {.kind = VALUE_NULL}}};
    for (size_t i = 0; i < LENGTH(words); i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, begin, length) == 0) {
            *out = words[i].value;
            return true;
        }
    if (length && strchr("[{", *begin))
        *out = (struct value){.kind = VALUE_JSON, .text = xstrndup(begin, length)};
    else if (*begin == '"')
        *out = (struct value){.kind = VALUE_STRING, .text = text_of_json(begin, length)};
    else
        return number_of_json(begin, length, out);
    return out->text != NULL;
}

bool value_next_member(const char **json, char **name, struct value *out)
{
    const char *begin = *json, *colon = end_of_json(begin);
    const char *end = *colon == ':' ? end_of_json(colon + 1) : colon;
    if (!*end || !strchr(",}", *end) || is_spaced(begin, end) ||
        !(*name = text_of_json(begin, (size_t)(colon - begin))))
        return false;
    if (!value_of_json(colon + 1, (size_t)(end - colon - 1), out)) {
        free(*name);
        return false;
    }
    *json = end + (*end == ',');
    return true;
}
