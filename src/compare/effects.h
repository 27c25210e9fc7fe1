/* The effect of each key on the objective: one computation for the page, `compare --rank` and its JSON. */
#pragma once

#include "database/db.h"

#define EFFECTS_KEYS_MOST 16

/* Compares by each of the keys, at most EFFECTS_KEYS_MOST, and has `said` tell of it (sql/comparisons.sql, all keys),
 * where `asked` has the rest. */
int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count, struct db *said,
                     struct error *e);
