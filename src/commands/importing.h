/* A trial import, and what it would give. */
#ifndef MESHSWEEP_COMMANDS_IMPORTING_H
#define MESHSWEEP_COMMANDS_IMPORTING_H

#include "util/buffer.h"

/* Imports the table into memory by the sweep file's text, and says on standard error what it would give: the winner,
 * columns that are not used, refused rows; or why it cannot. `config` is the file's name. */
void import_try(const char *table, const char *config, const struct buffer *sweep_file);

#endif
