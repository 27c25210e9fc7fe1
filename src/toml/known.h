/* Words that the program knows: configs/knowledge/words.toml, read when the first is asked for. */
#pragma once

#include "toml/tree.h"

/* The value of `key` in the table of that name, or with NULL the table; NULL where it has none. Static. */
const struct toml_node *known(const char *table, const char *key);

/* Returns whether the text is one of the list's. */
bool known_has(const struct toml_node *list, const char *text);

/* Returns whether one of the list's texts stands within the text. */
bool known_within(const struct toml_node *list, const char *text);

/* The text of a key in a row; NULL: no such row or key. Static. */
const char *known_text(const struct toml_node *row, const char *key);
bool known_says(const struct toml_node *row, const char *key, const char *text);
