#include "deepspeed/ds_preparation.h"

#include <math.h>
#include <stdlib.h>

#include "deepspeed/ds_arguments.h"
#include "deepspeed/profile_steps.h"
#include "deepspeed/training_command.h"
#include "util/file.h"
#include "util/memory.h"

static int64_t last_step(const struct ds_preparation *p, const char *text)
{
    const int64_t *steps = p->sweep->deepspeed.profile_steps;
    double seconds = NAN;
    if (steps[PROFILE_MOST] && p->sweep->objective_count > 0)
        seconds = profile_step_seconds(p->db_path, p->sweep->objectives[0].metric, ds_config_batch(text));
    return profile_steps_last(steps, seconds);
}

static int make(void *context, const char *spec_json, const char *job_dir, char **runtime, struct error *e)
{
    const struct ds_preparation *p = context;
    struct buffer text = BUFFER_INIT, base64 = BUFFER_INIT;
    char *directory = path_absolute(job_dir);
    char *path = xasprintf("%s/" DS_CONFIG_FILE, directory), *to_train = xasprintf("%s/" DS_TRAINING_FILE, directory);
    int rc = ds_config_render(p->config, spec_json, &text, e);
    rc = rc < 0 ? rc : file_make_directories(directory, e);
    if (rc == 0 && ds_config_is_profiled(p->config))
        rc = file_write_atomic(to_train, text.data, text.length, e);
    if (rc == 0)
        rc = ds_config_add_profiling(p->config, directory, last_step(p, buffer_text(&text)), &text, e);
    rc = rc < 0 ? rc : file_write_atomic(path, text.data, text.length, e);
    free(directory);
    free(to_train);
    if (rc == 0) {
        ds_config_add_base64(text.data, &base64);
        runtime[RUNTIME_DS_CONFIG] = path;
        runtime[RUNTIME_DS_CONFIG_BASE64] = buffer_take(&base64);
    } else {
        free(path);
    }
    buffer_free(&text);
    return rc;
}

static char **command(void *context, const char *spec_json, char *const *words)
{
    const struct ds_preparation *p = context;
    struct buffer text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    char **mapped = ds_config_render(p->config, spec_json, &text, &ignored) < 0
                        ? strings_copy(words)
                        : ds_arguments_map(&p->sweep->deepspeed, text.data, words);
    buffer_free(&text);
    return mapped;
}

struct preparation ds_preparation_of(struct ds_preparation *p)
{
    return (struct preparation){make, command, p};
}
