#include "util/buffer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/decimal.h"
#include "util/memory.h"
#include "util/utf8.h"

void buffer_reserve(struct buffer *b, size_t more)
{
    size_t needed = b->length + more + 1;
    if (needed <= b->capacity)
        return;
    size_t capacity = b->capacity ? b->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    b->data = xrealloc(b->data, capacity);
    b->capacity = capacity;
}

void buffer_add(struct buffer *b, const void *bytes, size_t length)
{
    buffer_reserve(b, length);
    if (length)
        memcpy(b->data + b->length, bytes, length);
    b->length += length;
    b->data[b->length] = '\0';
}

void buffer_add_text(struct buffer *b, const char *text)
{
    buffer_add(b, text, strlen(text));
}

void buffer_add_char(struct buffer *b, char c)
{
    buffer_add(b, &c, 1);
}

void buffer_add_quoted(struct buffer *b, const char *text, char quote)
{
    buffer_add_char(b, quote);
    for (; *text; text++) {
        if (*text == quote)
            buffer_add_char(b, quote);
        buffer_add_char(b, *text);
    }
    buffer_add_char(b, quote);
}

void buffer_add_int(struct buffer *b, int64_t value)
{
    char digits[24], *start = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--start = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--start = '-';
    buffer_add(b, start, (size_t)(digits + sizeof digits - start));
}

void buffer_vprintf(struct buffer *b, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    if (n > 0) {
        buffer_reserve(b, (size_t)n);
        vsnprintf(b->data + b->length, (size_t)n + 1, format, again);
        b->length += (size_t)n;
    }
    va_end(again);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(b, format, arguments);
    va_end(arguments);
}

void buffer_add_count(struct buffer *b, int64_t count, const char *noun)
{
    buffer_printf(b, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

void buffer_clear(struct buffer *b)
{
    b->length = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = BUFFER_INIT;
}

char *buffer_take(struct buffer *b)
{
    buffer_reserve(b, 0);
    b->data[b->length] = '\0';
    char *text = b->data;
    *b = BUFFER_INIT;
    return text;
}

const char *buffer_text(const struct buffer *b)
{
    return b->data ? b->data : "";
}

void buffer_add_json_string(struct buffer *b, const char *text, size_t length)
{
    buffer_add_char(b, '"');
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t width = utf8_sequence_length(text + i, length - i);
        if (c == '"' || c == '\\')
            buffer_printf(b, "\\%c", c);
        else if (c == '\n')
            buffer_add_text(b, "\\n");
        else if (c == '\t')
            buffer_add_text(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            buffer_printf(b, "\\u%04x", c);
        else if (width == 0)
            buffer_add_text(b, "\xEF\xBF\xBD");
        else
            buffer_add(b, text + i, width);
        i += width ? width : 1;
    }
    buffer_add_char(b, '"');
}

void buffer_add_double(struct buffer *b, double value)
{
    buffer_reserve(b, DECIMAL_BYTES);
    b->length += decimal_from_double(value, b->data + b->length);
}

void buffer_add_toml_string(struct buffer *b, const char *before, const char *text, const char *after)
{
    bool literal = strchr(text, '\\') || strchr(text, '"');
    for (const char *c = text; *c; c++)
        literal = literal && *c != '\'' && (unsigned char)*c >= ' ' && *c != '\x7f';
    buffer_add_text(b, before);
    if (literal)
        buffer_printf(b, "'%s'", text);
    else
        buffer_add_json_string(b, text, strlen(text));
    buffer_add_text(b, after);
}

static bool is_toml_literal(const char *value, size_t length)
{
    char *text = xstrndup(value, length), *end;
    (void)strtod(text, &end);
    bool is_number = length && *end == '\0' && strspn(text, "+-0123456789.eE") == length &&
                     isdigit((unsigned char)text[length - 1]) && isdigit((unsigned char)text[strspn(text, "+-")]) &&
                     !(text[strspn(text, "+-")] == '0' && isdigit((unsigned char)text[strspn(text, "+-") + 1]));
    bool is_literal = is_number || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    free(text);
    return is_literal;
}

void buffer_add_toml_value(struct buffer *b, const char *value, size_t length)
{
    if (is_toml_literal(value, length))
        buffer_add(b, value, length);
    else
        buffer_add_json_string(b, value, length);
}
