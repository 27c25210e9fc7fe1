/* Fuzzing: any text as a DeepSpeed configuration; after a line "---", what the specs lay over it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deepspeed/ds_config.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

#define BASE_FD 900 /* the sweep below names it */

static const char sweep_text[] =
    "[job]\ncommand = [\"deepspeed\", \"train.py\", \"--lr=1\", \"--deepspeed\", \"{ds_config}\"]\n"
    "[deepspeed]\nconfig = \"/proc/self/fd/900\"\nauto = \"resolve\"\n"
    "[deepspeed.arg_mappings]\n\"optimizer.params.lr\" = \"--lr\"\ntrain_micro_batch_size_per_gpu = \"--batch\"\n"
    "[[parallel_spec]]\n\"zero_optimization.stage\" = [0, 3]\n";

static struct sweep *the_sweep(void)
{
    static struct sweep *sweep;
    struct error e = ERROR_INIT;
    if (!sweep && sweep_parse("fuzz.toml", sweep_text, strlen(sweep_text), &sweep, &e) < 0)
        abort();
    return sweep;
}

static void put_base(const uint8_t *data, size_t size)
{
    int fd = memfd_create("base", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || dup2(fd, BASE_FD) < 0)
        abort();
    close(fd);
}

static void render(const struct sweep *s, const struct ds_config *c, const char *spec_json)
{
    static char *const command[] = {(char *)"python", (char *)"--lr=1", (char *)"--batch", (char *)"2", NULL};
    struct buffer json = BUFFER_INIT;
    struct error e = ERROR_INIT;
    if (ds_config_render(c, spec_json, &json, &e) == 0) {
        char **mapped = ds_arguments_map(&s->deepspeed, buffer_text(&json), command);
        for (char **p = mapped; *p; p++)
            free(*p);
        free(mapped);
    }
    buffer_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char fence[] = "\n---\n", plain[] = "{\"parallel_spec\": {\"zero_optimization.stage\": 3}}";
    struct problems problems = PROBLEMS_INIT;
    const uint8_t *cut = memmem(data, size, fence, strlen(fence));
    size_t base = cut ? (size_t)(cut - data) : size;
    char *spec = cut ? xstrndup((const char *)cut + strlen(fence), size - base - strlen(fence)) : xstrdup(plain);
    put_base(data, base);
    struct ds_config *c = ds_config_open(the_sweep(), &problems);
    if (problems.found == 0) {
        render(the_sweep(), c, plain);
        render(the_sweep(), c, spec);
    }
    ds_config_free(c);
    problems_free(&problems);
    free(spec);
    return 0;
}
