/* Pipeline layouts (predict/layout.h) in rules and derived keys. */
#pragma once

#include "database/db.h"

/* Makes SQL functions of a layout's text known to `db`:
 *   layout_layers(text)    its transformer layers
 *   layout_mtp(text)       its multi-token-prediction layers
 *   layout_parts(text)     its parts, p·v of them
 *   layout_is_whole(text)  1 where the embedding comes first, the head last, and each of them once, else 0
 * -1 for what is not a layout, NULL for NULL. */
int layouts_add_functions(struct db *db, struct error *e);
