#include "run/rendezvous.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "process/process.h"
#include "util/file.h"
#include "util/memory.h"

enum { PORT_FIRST = 10000, PORT_AFTER = 29400 };

/* Launchers that take their port from nowhere but their arguments. */
static const struct {
    const char *program, *option, *otherwise;
} launchers[] = {
    {"deepspeed", "--master_port", "29500"},
    {"accelerate", "--main_process_port", "29500"},
};

int rendezvous_port(int64_t attempt_id)
{
    /* Those of one runner are consecutive attempts. */
    return (int)(PORT_FIRST + (getpid() * 64LL + attempt_id) % (PORT_AFTER - PORT_FIRST));
}

char **rendezvous_settings(int port, char *const *base, char *const *declared)
{
    const char *own = environment_value(declared, "MASTER_PORT");
    const char *pet = environment_value(declared, "PET_MASTER_PORT");
    own = own ? own : environment_value(base, "MASTER_PORT");
    pet = pet ? pet : environment_value(base, "PET_MASTER_PORT");
    char **settings = xcalloc(3, sizeof *settings);
    settings[0] = own ? xasprintf("MASTER_PORT=%s", own) : xasprintf("MASTER_PORT=%d", port);
    settings[1] = pet ? xasprintf("PET_MASTER_PORT=%s", pet) : xasprintf("PET_%s", settings[0]);
    return settings;
}

static bool names_option(char *const *words, const char *option)
{
    size_t length = strlen(option);
    for (; *words; words++)
        if (strncmp(*words, option, length) == 0 && ((*words)[length] == '\0' || (*words)[length] == '='))
            return true;
    return false;
}

/* A text without a placeholder is the same for every job. */
static const struct setting *fixed_port(const struct job_config *job)
{
    for (size_t i = 0; i < job->environment_count; i++) {
        const struct setting *s = &job->environment[i];
        if ((strcmp(s->name, "MASTER_PORT") == 0 || strcmp(s->name, "PET_MASTER_PORT") == 0) && !strchr(s->value, '{'))
            return s;
    }
    return NULL;
}

char *rendezvous_warning(const struct job_config *job)
{
    const struct setting *fixed = fixed_port(job);
    if (fixed)
        return xasprintf("%s of [job] env is %s for every job, so jobs that run at the same time on one machine would "
                         "collide; leave it out, or run one job at a time with -j 1",
                         fixed->name, fixed->value);
    if (!job->command.words || !job->command.words[0])
        return NULL;
    for (size_t i = 0; i < LENGTH(launchers); i++)
        if (strcmp(path_name(job->command.words[0]), launchers[i].program) == 0 &&
            !names_option(job->command.words + 1, launchers[i].option))
            return xasprintf("%s uses port %s by default, so jobs that run at the same time on one machine would "
                             "collide; give it %s={master_port}, or run one job at a time with -j 1",
                             launchers[i].program, launchers[i].otherwise, launchers[i].option);
    return NULL;
}
