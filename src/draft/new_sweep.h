/* Writes the text of a new, commented sweep file from a command, axes and a log. */
#pragma once

#include <stdbool.h>

#include "draft/log_readers.h"
#include "util/buffer.h"
#include "util/error.h"

/* Writes the whole file. `axes` are "KEY=VALUE,VALUE"; both lists are NULL-terminated. An axis that the command does
 * not name as {KEY} becomes a key of the ds_config that the command names (ds_base.h), or is added to it as --KEY={KEY}
 * or as the script's text requires (script_options.h). `name` is the sweep's; `path` is where the file will be, "-" for
 * the working directory. ERROR_USAGE if an axis has no key or no value. */
struct new_sweep {
    const char *name, *path;
    char *const *command, *const *axes;
    const struct log_readers *log;
    char *const *environment; /* the user's: what the command reads of it is passed on; NULL: nothing */
};
int new_sweep_add_toml(const struct new_sweep *n, struct buffer *out, struct error *e);

/* The degrees of parallelism that together with dp use all devices of a job. */
#define DEGREES_BESIDE_DP "tp", "pp", "cp"

/* [derive] with dp as the rest of the devices, for jobs that have those of the degrees for which `has` is true. NULL:
 * none is. The caller's. */
char *new_sweep_derived(const bool *has);
