#include "run/local_executor.h"

#include <stdlib.h>

#include "run/guardian.h"
#include "util/memory.h"

struct local_executor {
    struct executor base;
    struct supervisor *supervisor;
    int guardian; /* see run/guardian.h; -1: none */
};

static struct local_executor *local(struct executor *x)
{
    return (struct local_executor *)x;
}

static const struct local_executor *local_const(const struct executor *x)
{
    return (const struct local_executor *)x;
}

static void start(struct executor *x, const struct launch *launch, const struct flight *flight)
{
    (void)flight;
    supervisor_start(local(x)->supervisor, launch);
}

static bool where(struct executor *x, int64_t attempt, struct whereabouts *out)
{
    return supervisor_where(local(x)->supervisor, attempt, out);
}

static size_t wait_for_ends(struct executor *x, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake)
{
    return supervisor_wait(local(x)->supervisor, timeout_ms, out, room, &wake->bits, &wake->signal);
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
    guardian_dismiss(local(x)->guardian);
    free(x);
}

static const struct executor_methods methods = {
    .name = "local",
    .start = start,
    .where = where,
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
    const struct supervisor_options supervisor = {
        .slots = options->slots,
        .scratch_dir = options->scratch_dir,
        .token_prefix = options->token_prefix,
        .first_metric = options->first_metric,
        .context = options->context,
    };
    x->base.methods = &methods;
    x->guardian = guardian_start(options->token_prefix, options->sweep->job.grace_ms);
    int rc = supervisor_create(&supervisor, &x->supervisor, e);
    if (rc < 0)
        local_executor_free(&x->base);
    else
        *out = &x->base;
    return rc;
}
