/* Single values that several tables of a sweep file share. Each complains at the value. */
#ifndef MESHSWEEP_SWEEP_FILE_VALUES_H
#define MESHSWEEP_SWEEP_FILE_VALUES_H

#include "sweep_file/reading.h"

/* Whether no NaN and no infinity is in it. */
bool check_finite(const struct reading *r, const struct toml_node *node);

/* 0 of NULL. */
double number_of(const struct toml_node *number);

/* A number from `least` to `most`; false where it is another. */
bool read_bounded(const struct reading *r, const struct toml_node *number, double least, double most, double *out);

/* A duration ("5s", or seconds) as the value of a key; `*ms` stays as it is when there is none. */
void read_duration(const struct reading *r, const struct toml_node *node, int64_t *ms);

/* SQL as a string, or a constant as SQL spells it; NULL for anything else. The caller's to free. */
char *read_expression(const struct reading *r, const struct toml_node *node);

/* A string as it stands, another constant as JSON. The caller's to free. */
char *constant_text(const struct toml_node *node);

/* Whether `string` is "ok" or a failure class. */
bool check_outcome(const struct reading *r, const struct toml_node *string);

/* The setting of that name, which is made where it is missing. */
struct setting *setting_slot(struct setting **list, size_t *count, const char *name);

#endif
