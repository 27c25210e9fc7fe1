#include "run/local_executor.h"

#include <stdlib.h>

#include "process/cgroup.h"
#include "process/guardian.h"
#include "util/memory.h"

struct local_executor {
    struct executor base;
    struct executor_methods methods; /* under the proxy's name */
    struct local_proxy proxy;        /* `launch` is NULL: processes here are the jobs */
    struct supervisor *supervisor;
    int guardian; /* see process/guardian.h; -1: none */
    const char *token;
    bool grouped; /* in a cgroup of its own, or not to be in one */
    char *cgroup; /* see process/cgroup.h; NULL: none */
};

static struct local_executor *local(struct executor *x)
{
    return (struct local_executor *)x;
}

static const struct local_executor *local_const(const struct executor *x)
{
    return (const struct local_executor *)x;
}

static struct location start(struct executor *x, const struct launch *launch, const struct running_attempt *attempt)
{
    const struct local_proxy *proxy = &local(x)->proxy;
    /* A run that starts nothing is spared the move, which may take 20 ms. */
    if (!local(x)->grouped)
        local(x)->cgroup = cgroup_enter(local(x)->token);
    local(x)->grouped = true;
    return supervisor_start(local(x)->supervisor,
                            proxy->launch ? proxy->launch(proxy->context, launch, attempt) : launch);
}

static size_t wait_for_ends(struct executor *x, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake)
{
    const struct local_proxy *proxy = &local(x)->proxy;
    size_t n = supervisor_wait(local(x)->supervisor, timeout_ms, out, room, wake);
    for (size_t i = 0; i < n && proxy->ended; i++)
        proxy->ended(proxy->context, &out[i]);
    return n;
}

static size_t running(const struct executor *x)
{
    return supervisor_running(local_const(x)->supervisor);
}

static bool files(const struct executor *x, int64_t attempt, struct attempt_files *out)
{
    return supervisor_files(local_const(x)->supervisor, attempt, out);
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
    if (local(x)->proxy.free)
        local(x)->proxy.free(local(x)->proxy.context);
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

int local_executor_create_proxy(const struct executor_options *options, const struct local_proxy *proxy,
                                struct executor **out, struct error *e)
{
    struct local_executor *x = xcalloc(1, sizeof *x);
    struct supervisor_options supervisor = {
        .slots = options->slots,
        .scratch_dir = options->scratch_dir,
        .token_prefix = options->token_prefix,
        .first_metric = options->first_metric,
        .read_on = options->read_on,
        .separate_streams = options->sweep->job.separate_streams,
        .context = options->context,
        .terminate = proxy->terminate,
        .terminate_context = proxy->context,
    };
    x->methods = methods;
    x->methods.name = proxy->name;
    x->base.methods = &x->methods;
    x->proxy = *proxy;
    x->token = options->token_prefix;
    x->grouped = proxy->terminate != NULL;
    x->guardian = guardian_start(options->token_prefix, options->sweep->job.grace_ms);
    int rc = supervisor_create(&supervisor, &x->supervisor, e);
    if (rc < 0)
        local_executor_free(&x->base);
    else
        *out = &x->base;
    return rc;
}

int local_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    return local_executor_create_proxy(options, &(struct local_proxy){.name = "local"}, out, e);
}
