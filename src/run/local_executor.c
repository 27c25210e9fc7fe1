#include "run/local_executor.h"

#include <stdlib.h>

#include "run/cgroup.h"
#include "run/guardian.h"
#include "run/slurm_steps.h"
#include "util/memory.h"

struct local_executor {
    struct executor base;
    struct executor_methods methods;
    struct supervisor *supervisor;
    struct slurm_steps *steps; /* NULL: on this machine itself */
    int guardian; /* see run/guardian.h; -1: none */
    const char *token;
    bool started_any;
    char *cgroup; /* see run/cgroup.h; NULL: none */
};

static struct local_executor *local(struct executor *x)
{
    return (struct local_executor *)x;
}

static const struct local_executor *local_const(const struct executor *x)
{
    return (const struct local_executor *)x;
}

static struct whereabouts start(struct executor *x, const struct launch *launch, const struct flight *flight)
{
    struct slurm_steps *steps = local(x)->steps;
    /* A run that starts nothing is spared the move, which may take 20 ms. Slurm has groups of its own. */
    if (!local(x)->started_any && !steps)
        local(x)->cgroup = cgroup_enter(local(x)->token);
    local(x)->started_any = true;
    return supervisor_start(local(x)->supervisor, steps ? slurm_steps_launch(steps, launch, flight) : launch);
}

static size_t wait_for_ends(struct executor *x, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake)
{
    size_t n = supervisor_wait(local(x)->supervisor, timeout_ms, out, room, &wake->bits, &wake->signal);
    for (size_t i = 0; local(x)->steps && i < n; i++)
        slurm_steps_ended(local(x)->steps, &out[i]);
    return n;
}

static size_t running(const struct executor *x)
{
    return supervisor_running(local_const(x)->supervisor);
}

static bool files(const struct executor *x, int64_t attempt, const char **log_path, const char **metrics_path)
{
    return supervisor_files(local_const(x)->supervisor, attempt, log_path, metrics_path);
}

static void stop(struct executor *x, int64_t attempt)
{
    supervisor_stop(local(x)->supervisor, attempt);
}

static void cancel_all(struct executor *x)
{
    supervisor_cancel_all(local(x)->supervisor);
}

static void local_executor_free(struct executor *x)
{
    if (!x)
        return;
    supervisor_free(local(x)->supervisor);
    cgroup_leave(local(x)->cgroup);
    guardian_dismiss(local(x)->guardian);
    slurm_steps_free(local(x)->steps);
    free(x);
}

static const struct executor_methods methods = {
    .start = start,
    .wait = wait_for_ends,
    .running = running,
    .files = files,
    .stop = stop,
    .cancel_all = cancel_all,
    .free = local_executor_free,
};

int local_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    struct local_executor *x = xcalloc(1, sizeof *x);
    struct supervisor_options supervisor = {
        .slots = options->slots,
        .scratch_dir = options->scratch_dir,
        .token_prefix = options->token_prefix,
        .first_metric = options->first_metric,
        .context = options->context,
        .terminate = options->allocation ? slurm_steps_terminate : NULL,
    };
    x->methods = methods;
    x->methods.name = options->allocation ? "slurm-step" : "local";
    x->base.methods = &x->methods;
    x->guardian = -1;
    x->token = options->token_prefix;
    int rc = options->allocation ? slurm_steps_create(options, &x->steps, e) : 0;
    if (rc == 0) {
        supervisor.terminate_context = x->steps;
        x->guardian = guardian_start(options->token_prefix, options->sweep->job.grace_ms);
        rc = supervisor_create(&supervisor, &x->supervisor, e);
    }
    if (rc < 0)
        local_executor_free(&x->base);
    else
        *out = &x->base;
    return rc;
}
