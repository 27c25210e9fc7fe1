#include "slurm/step_executor.h"

#include "run/local_executor.h"
#include "slurm/steps.h"

static const struct launch *launch_step(void *steps, const struct launch *launch, const struct running_attempt *attempt)
{
    return slurm_steps_launch(steps, launch, attempt);
}

static void step_ended(void *steps, struct outcome *o)
{
    slurm_steps_ended(steps, o);
}

static void free_steps(void *steps)
{
    slurm_steps_free(steps);
}

int slurm_step_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    struct slurm_steps *steps;
    if (slurm_steps_create(options, &steps, e) < 0)
        return -1;
    const struct local_proxy proxy = {
        .name = "slurm-step",
        .launch = launch_step,
        .terminate = slurm_steps_terminate,
        .ended = step_ended,
        .free = free_steps,
        .context = steps,
    };
    return local_executor_create_proxy(options, &proxy, out, e);
}
