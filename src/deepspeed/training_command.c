#include "deepspeed/training_command.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/ds_config.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"

#define LARGEST_CONFIG (16u << 20)

static char *read_text(const char *job_dir, const char *name)
{
    char *path = xasprintf("%s/%s", job_dir, name), *text = job_file_text(path, LARGEST_CONFIG);
    free(path);
    return text;
}

static char *base64_of(const char *text)
{
    struct buffer b = BUFFER_INIT;
    ds_config_add_base64(text, &b);
    return buffer_take(&b);
}

char *training_config(const char *job_dir)
{
    return read_text(job_dir, DS_TRAINING_FILE);
}

void training_command(char **words, const char *job_dir, const char *file)
{
    OWNED char *config = training_config(job_dir), *profiled = read_text(job_dir, DS_CONFIG_FILE);
    if (config && profiled) {
        OWNED char *directory = path_absolute(job_dir), *to = path_absolute(file);
        OWNED char *from = xasprintf("%s/" DS_CONFIG_FILE, directory);
        OWNED char *from_base64 = base64_of(profiled), *to_base64 = base64_of(config);
        strings_replace(words, from, to);
        strings_replace(words, from_base64, to_base64);
    }
}
