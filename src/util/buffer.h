/* A growing byte string, always NUL-terminated once it holds anything. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    char *data; /* NULL while empty and never used; may hold NUL bytes */
    size_t length;
    size_t capacity;
};

#define BUFFER_INIT ((struct buffer){NULL, 0, 0})

/* Makes room for `more` bytes and a NUL after the end, for a caller who writes there and then raises `length`. */
void buffer_reserve(struct buffer *b, size_t more);

void buffer_add(struct buffer *b, const void *bytes, size_t length);
void buffer_add_text(struct buffer *b, const char *text);
void buffer_add_char(struct buffer *b, char c);
/* Within `quote`, each of which is doubled in it: as SQL has its names and its texts. */
void buffer_add_quoted(struct buffer *b, const char *text, char quote);
void buffer_add_int(struct buffer *b, int64_t value); /* decimal */
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "1 job", "2 jobs". */
void buffer_add_count(struct buffer *b, int64_t count, const char *noun);

void buffer_vprintf(struct buffer *b, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Empties without releasing. */
void buffer_clear(struct buffer *b);
void buffer_free(struct buffer *b);

/* Hands the text over: the caller's, NUL-terminated (never NULL); the buffer is empty afterwards. */
char *buffer_take(struct buffer *b);

/* The text as it stands, "" when empty. Borrowed until the next change. */
const char *buffer_text(const struct buffer *b);

/* Appends `text` as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD. It is a basic string of
 * TOML too, which takes no DEL as it stands. */
void buffer_add_json_string(struct buffer *b, const char *text, size_t length);

/* The same as TOML takes it, in single quotes where a person reads it better so: with backslashes or quotes in it.
 * Between two texts. */
void buffer_add_toml_string(struct buffer *b, const char *before, const char *text, const char *after);

/* A value that a person wrote, as TOML: a number, true and false as they are, anything else as a JSON string. */
void buffer_add_toml_value(struct buffer *b, const char *value, size_t length);

/* Appends the shortest decimal that reads back equal; "NaN", "Infinity" and "-Infinity" for what JSON lacks. */
void buffer_add_double(struct buffer *b, double value);

/* A local one, which is released where its scope ends: `OWNED_BUFFER x = BUFFER_INIT;` */
#define OWNED_BUFFER __attribute__((cleanup(buffer_free))) struct buffer
