/* The part that `merge` and `pull` have in common. */
#pragma once

#include <stdbool.h>

#include "database/merge.h"

/* Adds what is new in the database at `source`, whose job files are in `directory` (NULL: beside it), to `counts`. */
int merge_into(struct db *db, const char *source, const char *directory, struct merge_counts *counts, struct error *e);

int merge_print(const char *path, const struct merge_counts *counts, bool as_json, struct error *e);
