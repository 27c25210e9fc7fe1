#include "cli/sweep_space.h"

int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e)
{
    struct space *space = NULL;
    /* Its models are not listed while something is wrong: any name may be theirs. */
    if (problems->found > 0 && sweep->model_space)
        problems_excuse_all(problems);
    if (!*ds_config)
        *ds_config = ds_config_open(sweep, problems);
    options->base = ds_config_base(*ds_config);
    int rc = space_build_noting(sweep, options, problems, &space, e);
    if (problems->found > 0)
        rc = problems_report(problems, sweep->files, e);
    if (rc == 0)
        *out = space;
    return rc;
}
