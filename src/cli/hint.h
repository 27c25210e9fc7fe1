/* Commands that messages advise, as they are to be typed here. */
#ifndef MESHSWEEP_CLI_HINT_H
#define MESHSWEEP_CLI_HINT_H

#include "util/buffer.h"

/* Append " -c FILE" and " -d FILE", as a shell takes them; nothing where that is what the tool takes by itself. */
void hint_add_config(struct buffer *out, const char *path);
void hint_add_db(struct buffer *out, const char *path);

#endif
