/* Within config: the keys of a model space and what they may be. */
#ifndef MESHSWEEP_SWEEP_FILE_MODEL_SPACE_KEYS_H
#define MESHSWEEP_SWEEP_FILE_MODEL_SPACE_KEYS_H

#include "config/model_space.h"
#include "sweep_file/reading.h"

/* A value, a list of values, a range or a multiset. On a complaint the key may come out without values. */
void read_space_key(const struct reading *r, const struct toml_node *node, struct space_key *out);

/* A number, a list of numbers or a range of them, each at least 1. */
void read_number_list(const struct reading *r, const struct toml_node *node, struct number_list *out);

/* The strings of a list of strings. */
struct string_list read_texts(const struct toml_node *list);

/* Complains about a text that is in a list of strings twice, and about an empty list. */
void check_texts(const struct reading *r, const struct toml_node *list);

char *literal_of(const struct toml_node *node);

#endif
