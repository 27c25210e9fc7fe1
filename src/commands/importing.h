/* A trial import, and what it would give. */
#pragma once

#include "util/buffer.h"

/* Imports the table into memory by the sweep file's text, and says on standard error what it would give: the winner,
 * columns that are not used, refused rows; or why it cannot. `config` is the file's name. */
void import_try(const char *table, const char *config, const struct buffer *sweep_file);
