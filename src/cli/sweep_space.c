#include "cli/sweep_space.h"

#include "cli/output.h"
#include "measures/measures.h"

int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e)
{
    struct space *space = NULL;
    /* Its models are not listed while something is wrong: any name may be theirs. */
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
