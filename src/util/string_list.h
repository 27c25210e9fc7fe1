/* Lists of strings, and the NULL-terminated arrays of strings that are made from them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct string_list {
    char **items; /* NULL-terminated; NULL while there was none */
    size_t count;
};

#define STRING_LIST_INIT ((struct string_list){NULL, 0})

/* At the end; `text` becomes the list's. */
void string_list_add(struct string_list *l, char *text);

/* Its index, or the count when it is missing. */
size_t string_list_find(const struct string_list *l, const char *text);

/* The list's copy of `text`, which it takes over; NULL of NULL. It stands as long as the list. */
const char *string_list_intern(struct string_list *l, char *text);

/* NULL-terminated, never NULL, the caller's: strings_free. The list is empty afterwards. */
char **string_list_take(struct string_list *l);

/* As values of a key: numbers in their order, then texts in theirs. */
void string_list_sort_values(struct string_list *l);

void string_list_free(struct string_list *l);

/* Returns whether `text` is among the NULL-terminated `strings`. NULL holds none. */
bool strings_have(char *const *strings, const char *text);

/* Bytes of the text before that ending; 0: it has another, or is no more than that. */
size_t length_before(const char *text, const char *ending);

/* Returns whether `word` is one of the words, in whatever case; a blank stands between two of them. */
bool words_have(const char *words, const char *word);

/* NULL-terminated, the caller's: strings_free. */
char **strings_copy(char *const *strings);

/* Appends them as a list in JSON. */
void strings_add_json(char *const *strings, struct buffer *out);

/* Puts `to` in each place where one of the strings (NULL-terminated, each the caller's) has `from`. */
void strings_replace(char **strings, const char *from, const char *to);

/* Bytes of the name in NAME=value, or of all when there is no "=". */
size_t setting_name_length(const char *setting);

/* Returns whether the name of NAME=value (or a name alone) is among the NULL-terminated `names`. NULL holds none. */
bool setting_is_among(const char *setting, char *const *names);

/* A local one, which is released where its scope ends: `OWNED_LIST x = STRING_LIST_INIT;` */
#define OWNED_LIST __attribute__((cleanup(string_list_free))) struct string_list
