/* Words that the program knows: configs/knowledge/words.toml, read when the first is asked for. */
#pragma once

#include "toml/tree.h"

/* The value of `key` in the table of that name; NULL where it has none. Static. */
const struct toml_node *known(const char *table, const char *key);

/* Returns whether the text is one of the list's. */
bool known_has(const struct toml_node *list, const char *text);
