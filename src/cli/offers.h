/* Completions of a command line from its database and sweep file. Those that are missing or cannot be read are ignored
 * silently. */
#ifndef MESHSWEEP_CLI_OFFERS_H
#define MESHSWEEP_CLI_OFFERS_H

#include "cli/options.h"
#include "util/buffer.h"

/* "columns", "keys", "metrics", "jobs", ..., indexed by enum offer; NULL for OFFER_NOTHING. */
extern const char *const offer_names[OFFER_COUNT];

/* Appends lines, each what the last of `words` may become: those of a command line after the name of the program,
 * NULL-terminated, as they were typed: quotes and "=" by itself are taken as a shell splits them. Databases and sweep
 * files are those of -d and -c among the words, else results.db and sweep.toml.
 *
 * Of a condition or a list with commas only the last name is completed: "tp = 2 AND la" becomes "tp = 2 AND layers".
 * Job numbers are those that begin with the word, the shortest first, a hundred at most. Of a combination the key is
 * completed up to its "=", then the value: "z" becomes "zero_stage=", "zero_stage=" becomes "zero_stage=3"; where "="
 * is a word by itself, "3" alone. Values that a shell would want quoted are not offered. */
void offers_add(enum offer offer, char *const *words, struct buffer *out);

#endif
