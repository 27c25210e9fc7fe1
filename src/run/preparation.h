/* A job's preparation: a file in its directory, texts for its placeholders and arguments, besides its command. Part of
 * the runner's options, so that run need not know frameworks. */
#pragma once

#include "space/space.h"
#include "store/attempts.h"
#include "util/error.h"

struct preparation {
    /* Adds the files that the job needs in `job_dir`, and fills texts of `runtime` (indexed by enum runtime_name; the
     * caller's, free()). -1: the attempt is not started. */
    int (*make)(void *context, const char *spec_json, const char *job_dir, struct given_files *files, char **runtime,
                struct error *e);
    /* The command as it is to be started, given the rendered one; the caller's, strings and array. */
    char **(*command)(void *context, const char *spec_json, char *const *command);
    void *context;
};
