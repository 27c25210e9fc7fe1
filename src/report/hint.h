/* Commands that messages recommend, ready to type. */
#pragma once

#include "util/buffer.h"

/* Append " -c FILE" and " -d FILE", quoted for a shell; nothing if it is the default. */
void hint_add_config(struct buffer *out, const char *path);
void hint_add_db(struct buffer *out, const char *path);
