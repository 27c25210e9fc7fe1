/* What is said of a key that its table does not have. */
#ifndef MESHSWEEP_SWEEP_FILE_UNKNOWN_KEY_H
#define MESHSWEEP_SWEEP_FILE_UNKNOWN_KEY_H

#include <stddef.h>

#include "sweep_file/reading.h"

/* Complains of `node`, a key of the table `title` ("[job]"), which has `names` alone: with what may have been meant,
 * which is one of these that is spelt like it, or what other tools call so, or the tables that have such a key. Returns
 * the index of the name that it seems to mean, `count` where none. */
size_t unknown_key(const struct reading *r, const struct toml_node *node, const char *title, const char *const *names,
                   size_t count);

#endif
