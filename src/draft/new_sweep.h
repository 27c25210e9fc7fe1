/* Writes the text of a new, commented sweep file from a command, axes and a log. */
#ifndef MESHSWEEP_DRAFT_NEW_SWEEP_H
#define MESHSWEEP_DRAFT_NEW_SWEEP_H

#include "draft/log_readers.h"
#include "util/buffer.h"
#include "util/error.h"

/* The whole file. `axes` are "KEY=VALUE,VALUE" and both lists are NULL-terminated; an axis that the command does not
 * name as {KEY} becomes an argument --KEY={KEY} of it, or what the script's text asks for (script_options.h). `name` is
 * the sweep's. ERROR_USAGE: an axis without a key or a value. */
struct new_sweep {
    const char *name;
    char *const *command, *const *axes;
    const struct log_readers *log;
};
int new_sweep_add_toml(const struct new_sweep *n, struct buffer *out, struct error *e);

#endif
