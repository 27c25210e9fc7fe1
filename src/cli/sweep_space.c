#include "cli/sweep_space.h"

#include <string.h>

#include "cli/output.h"
#include "deepspeed/tuning_launcher.h"
#include "measures/measures.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

extern char **environ;

/* The words before the script; those after it are its arguments. */
static char *launcher_of(const struct job_config *job)
{
    struct buffer words = BUFFER_INIT;
    if (job->command.words && job->command.is_line)
        return xstrdup(job->command.words[2]);
    for (char **word = job->command.words; word && *word && !length_before(*word, ".py"); word++)
        buffer_printf(&words, "%s%s", words.length ? " " : "", *word);
    return buffer_take(&words);
}

char *sweep_space_find_release(struct sweep *sweep)
{
    struct deepspeed_settings *d = &sweep->deepspeed;
    OWNED char *python = NULL;
    char *absent = NULL;
    if (!d->given || d->version)
        return NULL;
    OWNED char *launcher = launcher_of(&sweep->job), *release = installed_release(launcher, environ, &python);
    if (release && parse_release(release, true, &d->version))
        output_message("using rules and keys of DeepSpeed %s, which %s has; to choose another release, set [deepspeed] "
                       "version",
                       release, python);
    else
        absent = xasprintf("%s has no package deepspeed, so the rules of its newest release apply; to choose a "
                           "release, set [deepspeed] version or --ds_version",
                           python);
    return absent;
}

int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e)
{
    struct space *space = NULL;
    /* With problems, the models of [model_space] are not listed, so any name may be one of their keys. */
    if (problems->found > 0 && sweep->model_space)
        problems_excuse_all(problems);
    if (!*ds_config)
        *ds_config = ds_config_open(sweep, problems);
    ds_config_need_batch(*ds_config, problems);
    options->base = ds_config_base(*ds_config);
    struct measures *measures = NULL;
    int rc = space_build_noting(sweep, options, problems, &space, e);
    if (rc == 0 && space)
        rc = measures_compile(space, problems, &measures, e);
    measures_free(measures);
    if (problems->found > 0)
        rc = problems_report(problems, sweep->files, e);
    if (rc < 0)
        space_free(space);
    if (rc == 0)
        *out = space;
    return rc;
}

void sweep_space_warn(const struct ds_config *ds_config)
{
    const struct string_list *warnings = ds_config_warnings(ds_config);
    for (size_t i = 0; warnings && i < warnings->count; i++)
        output_message("%s", warnings->items[i]);
}
