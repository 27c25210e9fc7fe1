#include "deepspeed/ds_preparation.h"

#include <stdlib.h>

#include "deepspeed/ds_arguments.h"
#include "util/file.h"
#include "util/memory.h"

static int make(void *context, const char *spec_json, const char *job_dir, char **runtime, struct error *e)
{
    const struct ds_preparation *p = context;
    struct buffer text = BUFFER_INIT, base64 = BUFFER_INIT;
    char *directory = path_absolute(job_dir);
    char *path = xasprintf("%s/ds_config.json", directory);
    int rc = ds_config_render(p->config, spec_json, &text, e);
    if (rc == 0)
        rc = ds_config_add_profiling(p->config, directory, &text, e);
    if (rc == 0)
        rc = file_make_directories(directory, e);
    if (rc == 0)
        rc = file_write_atomic(path, text.data, text.length, e);
    free(directory);
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

static char **copy_of(char *const *command)
{
    const struct deepspeed_settings none = {0};
    return ds_arguments_map(&none, "{}", command);
}

static char **command(void *context, const char *spec_json, char *const *words)
{
    const struct ds_preparation *p = context;
    struct buffer text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    char **mapped = ds_config_render(p->config, spec_json, &text, &ignored) < 0
                        ? copy_of(words)
                        : ds_arguments_map(&p->sweep->deepspeed, text.data, words);
    buffer_free(&text);
    return mapped;
}

struct preparation ds_preparation_of(struct ds_preparation *p)
{
    return (struct preparation){make, command, p};
}
