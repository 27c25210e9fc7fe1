#include "batch/executor.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/parts.h"
#include "batch/script.h"
#include "config/sweep.h"
#include "device/devices.h"
#include "metrics/json_value.h"
#include "space/launch.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

/* --- request --- */

/* Turns a job's cluster_spec into what is asked for. Pure. */

static const char *text_of(const cJSON *cluster, const char *key, const char *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsString(item) && item->valuestring[0] ? item->valuestring : otherwise;
}

static void add_text(struct batch_values *v, const char *name, const char *text)
{
    batch_values_add(v, name, text ? xstrdup(text) : NULL, false);
}

/* Texts of the cluster_spec, before those of the configuration. */
static void add_texts(struct batch_values *v, const struct batch_wish *w, const cJSON *cluster)
{
    const struct batch_config *c = w->config;
    const struct {
        const char *name, *otherwise;
    } texts[] = {{"partition", c->partition},
                 {"account", c->account},
                 {"qos", c->qos},
                 {"constraint", c->constraint},
                 {"reservation", c->reservation},
                 {"queue", c->partition},
                 {"gpu_type", c->gpus ? c->gpu_type : NULL}};
    for (size_t i = 0; i < LENGTH(texts); i++)
        add_text(v, texts[i].name, text_of(cluster, texts[i].name, texts[i].otherwise));
    OWNED char *worked_out = w->memory_mib > 0 ? xasprintf("%" PRId64 "M", w->memory_mib) : NULL;
    const char *memory = text_of(cluster, "memory", batch_memory_varies(c) ? worked_out : c->memory);
    OWNED char *size =
        memory ? xasprintf("%s%s", memory, strchr("KMGTkmgt", memory[strlen(memory) - 1]) ? "iB" : "") : NULL;
    int64_t bytes = 0;
    add_text(v, "memory", memory);
    batch_values_add_count(v, "memory_mib", size && parse_size_bytes(size, &bytes) ? bytes >> 20 : 0);
}

static void add_time(struct batch_values *v, int64_t minutes)
{
    batch_values_add_count(v, "minutes", minutes);
    batch_values_add_count(v, "seconds", minutes * 60);
    batch_values_add(v, "hms",
                     minutes > 0 ? xasprintf("%02" PRId64 ":%02" PRId64 ":00", minutes / 60, minutes % 60) : NULL,
                     false);
}

static void add_counts(struct batch_values *v, const struct batch_wish *w, const char *type)
{
    const struct job_shape shape = job_shape_of(w->config, w->spec_json, w->devices);
    const int64_t gpus = !w->config->gpus ? 0 : shape.devices_per_node;
    const int64_t tasks = shape.tasks_per_node, each = shape.cpus_per_task;
    const int64_t cpus = tasks || each ? (tasks ? tasks : 1) * (each ? each : 1) : 0;
    batch_values_add_count(v, "nodes", shape.nodes);
    batch_values_add_count(v, "tasks_per_node", tasks);
    batch_values_add_count(v, "cpus_per_task", each);
    batch_values_add_count(v, "cpus_per_node", cpus);
    batch_values_add_count(v, "slots", cpus * shape.nodes);
    batch_values_add_count(v, "gpus_per_node", gpus);
    batch_values_add_count(v, "gpus", gpus * shape.nodes);
    batch_values_add(v, "typed_gpus_per_node",
                     gpus > 0 ? xasprintf("%s%s%" PRId64, type ? type : "", type ? ":" : "", gpus) : NULL, false);
}

/* Adds words of one's own: those of [executor.set], then keys of the cluster_spec. */
static void add_own(struct batch_values *v, const struct batch_wish *w, const cJSON *cluster)
{
    const cJSON *item;
    for (size_t i = 0; i < w->config->set_count; i++)
        add_text(v, w->config->set[i].name, w->config->set[i].value);
    cJSON_ArrayForEach(item, cluster) batch_values_add(v, item->string,
                                                       cJSON_IsString(item)   ? xstrdup(item->valuestring)
                                                       : cJSON_IsNumber(item) ? cJSON_PrintUnformatted(item)
                                                                              : NULL,
                                                       false);
}

void batch_wish_add(const struct batch_wish *w, struct buffer *out)
{
    OWNED_VALUES v = {0};
    struct buffer options = BUFFER_INIT;
    OWNED_JSON *spec = json_parse(w->spec_json);
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec");
    add_texts(&v, w, cluster);
    add_counts(&v, w, text_of(cluster, "gpu_type", w->config->gpu_type));
    add_time(&v, w->minutes);
    for (char *const *p = w->config->options; p && *p; p++)
        buffer_printf(&options, "%s%s", options.length ? "\n" : "", *p);
    batch_values_add(&v, "options", options.length ? buffer_take(&options) : NULL, true);
    batch_values_add(&v, "framed", w->config->shared ? NULL : xstrdup("true"), false);
    add_own(&v, w, cluster);
    batch_fill(w->system->request, &v, out);
}

/* --- executor --- */

enum { LOOK_EVERY_MS = 500 };

static struct batch_executor *own(struct executor *x)
{
    return (struct batch_executor *)x;
}

static const struct batch_executor *own_const(const struct executor *x)
{
    return (const struct batch_executor *)x;
}

/* --- starting --- */

/* The job's settings without the devices that the runner itself may see: the batch system says which are the job's. */
static char **settings_of(const struct batch_executor *x, const struct launch *launch)
{
    struct string_list settings = STRING_LIST_INIT;
    for (char *const *p = launch->environment; *p; p++) {
        const bool inherited = strings_have(x->options.environment, *p);
        /* The machine has places of its own where files are not shared. */
        const bool foreign = !x->config->shared && !strings_have(launch->declared, *p);
        if (!inherited || !(foreign || setting_is_among(*p, device_variables)))
            string_list_add(&settings, xstrdup(*p));
    }
    string_list_add(&settings, xasprintf("MESHSWEEP_METRICS=%s/metrics.jsonl", launch->job_dir));
    return string_list_take(&settings);
}

static int write_job(const struct batch_executor *x, const struct launch *launch, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED_STRINGS settings = settings_of(x, launch);
    OWNED char *directory = launch->directory   ? path_absolute(launch->directory)
                            : x->config->shared ? xstrdup(x->directory)
                                                : NULL;
    OWNED char *path = xasprintf("%s/" BATCH_JOB_FILE, launch->job_dir);
    batch_job_add(settings, directory, x->config->launcher, launch->argv, &text);
    return file_make_directories(launch->job_dir, e) < 0 ? -1 : file_write_atomic(path, text.data, text.length, e);
}

/* Nodes on which the job was lost, and those that are set aside; NULL: none. Nobody knows which node of several failed,
 * and the batch system itself gives none that is down. The caller's. */
static char *exclusion_of(const struct running_attempt *attempt)
{
    struct buffer hosts = BUFFER_INIT;
    for (size_t i = 0; i < attempt->failed.count; i++) {
        const struct place *p = &attempt->failed.items[i];
        if (p->lost && p->is_named && !strpbrk(p->host, "[,"))
            buffer_printf(&hosts, "%s%s", hosts.length ? "," : "", p->host);
    }
    if (attempt->kept)
        buffer_printf(&hosts, "%s%s", hosts.length ? "," : "", attempt->kept);
    return hosts.length ? buffer_take(&hosts) : NULL;
}

static struct batch_array *array_for(struct batch_executor *x, const struct running_attempt *attempt, int64_t minutes)
{
    OWNED_BUFFER options = BUFFER_INIT;
    const struct batch_wish wish =
        {x->system, x->config, attempt->job.spec_json, attempt->job.devices, minutes, attempt->job.memory_mib};
    batch_wish_add(&wish, &options);
    OWNED char *exclude = exclusion_of(attempt);
    struct batch_array *a =
        batch_list_open(&x->batches, batch_next_name(x), buffer_text(&options), exclude, batch_array_size(x));
    if (a->count == 0)
        a->begun_ms = clock_monotonic_ms();
    return a;
}

/* 0 is none. */
static int64_t later(int64_t limit_ms, int64_t by_ms)
{
    return limit_ms > 0 ? limit_ms + by_ms : 0;
}

static void add_member(struct batch_executor *x, const struct launch *launch, const struct running_attempt *attempt)
{
    /* A job that ran out of time before gets more of it, once. */
    const double factor = attempt->timeouts > 0 ? x->config->timeout_factor : 1;
    const int64_t limit_ms = (int64_t)((double)launch->timeout_ms * factor);
    /* Whole minutes: what the job may take, the grace that it gets and a margin for the nodes' preparation. */
    const int64_t minutes = limit_ms <= 0 ? 0 : (limit_ms + launch->grace_ms + x->config->margin_ms + 59999) / 60000;
    /* Output comes here so much later than it is written. */
    const int64_t late_ms = x->config->shared ? 0 : 2 * x->config->heartbeat_ms;
    batch_array_add(array_for(x, attempt, minutes),
                    (struct batch_member){.attempt = launch->attempt,
                                          .directory = xstrdup(attempt->directory),
                                          .limit_ms = limit_ms,
                                          .grace_ms = launch->grace_ms,
                                          .minutes = minutes,
                                          .watched = {0, later(launch->idle_timeout_ms, late_ms),
                                                      later(launch->startup_timeout_ms, late_ms)}});
}

static struct location start(struct executor *base, const struct launch *launch, const struct running_attempt *attempt)
{
    struct batch_executor *x = own(base);
    struct error e = ERROR_INIT;
    x->running++;
    if (launch->not_prepared)
        batch_report_not_started(x, launch->attempt, launch->not_prepared, false);
    else if (write_job(x, launch, &e) < 0)
        batch_report_not_started(x, launch->attempt, e.text, false);
    else
        add_member(x, launch, attempt);
    return LOCATION_NONE;
}

/* --- waiting --- */

static void drop_finished(struct batch_executor *x)
{
    for (size_t i = x->batches.count; i-- > 0;)
        /* Its directory stays until its ends stand in the database: see reattach. */
        if (x->batches.arrays[i].left == 0)
            batch_list_drop(&x->batches, i);
}

static void look_at_batches(struct batch_executor *x)
{
    int64_t now_ms = clock_monotonic_ms();
    batch_submit_due(x, now_ms);
    bool polled = now_ms >= x->poll_due_ms;
    if (polled)
        batch_poll(x, now_ms);
    now_ms = clock_monotonic_ms();
    if (polled || now_ms >= x->look_due_ms) {
        batch_look(x, now_ms, polled);
        x->look_due_ms = now_ms + (x->config->poll_ms < LOOK_EVERY_MS ? x->config->poll_ms : LOOK_EVERY_MS);
    }
    drop_finished(x);
}

static size_t take_ended(struct batch_executor *x, struct outcome *out, size_t room)
{
    size_t taken = 0;
    while (taken < room && x->ended_first < x->ended_count)
        out[taken++] = x->ended[x->ended_first++];
    if (x->ended_first == x->ended_count)
        x->ended_first = x->ended_count = 0;
    x->running -= taken;
    return taken;
}

static int64_t next_due_ms(const struct batch_executor *x)
{
    int64_t due_ms = batch_submit_due_ms(x);
    due_ms = x->poll_due_ms < due_ms ? x->poll_due_ms : due_ms;
    return x->look_due_ms < due_ms ? x->look_due_ms : due_ms;
}

static size_t wait_for_ends(struct executor *base, int64_t timeout_ms, struct outcome *out, size_t room,
                            struct wake *wake)
{
    struct batch_executor *x = own(base);
    int64_t now_ms = clock_monotonic_ms();
    int64_t until_ms = timeout_ms < 0 ? INT64_MAX : now_ms + timeout_ms;
    *wake = (struct wake){0, 0};
    x->news = false;
    for (;;) {
        look_at_batches(x);
        size_t taken = take_ended(x, out, room);
        interrupts_wait(&x->interrupts, 0, wake);
        now_ms = clock_monotonic_ms();
        if (taken > 0 || wake->bits || x->news || now_ms >= until_ms)
            return taken;
        int64_t due_ms = next_due_ms(x) < until_ms ? next_due_ms(x) : until_ms;
        if (due_ms > now_ms)
            interrupts_wait(&x->interrupts, due_ms - now_ms, wake);
        if (wake->bits)
            return 0;
    }
}

static size_t running(const struct executor *x)
{
    return own_const(x)->running;
}

static bool settled(const struct executor *base)
{
    const struct batch_executor *x = own_const(base);
    return !ANY(i, x->batches.count, x->batches.arrays[i].stage != BATCH_SUBMITTED);
}

/* --- one attempt --- */

static bool find_task(const struct batch_executor *x, int64_t attempt, struct batch_array **array, size_t *index)
{
    for (size_t i = 0; i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        for (size_t k = 0; k < a->count; k++) {
            if (a->members[k].attempt != attempt || a->members[k].reported)
                continue;
            *array = a;
            *index = k;
            return true;
        }
    }
    return false;
}

static void stop(struct executor *base, int64_t attempt)
{
    struct batch_executor *x = own(base);
    struct batch_array *a;
    size_t index;
    if (find_task(x, attempt, &a, &index) && !a->members[index].because)
        batch_cancel_member(x, a, index, ENDING_STOPPED);
}

static void cancel_all(struct executor *base)
{
    struct batch_executor *x = own(base);
    for (size_t i = 0; i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        for (size_t k = 0; k < a->count; k++) {
            if (a->members[k].reported)
                continue;
            if (a->stage <= BATCH_READY)
                batch_report_unsubmitted(x, a, k, NULL, false);
            else if (!a->members[k].because)
                a->members[k].because = ENDING_CANCELLED;
        }
        OWNED char *job = batch_reference(&x->batches, a, SIZE_MAX);
        if (a->stage == BATCH_SUBMITTED)
            batch_cancel(x->system, x->environment, job);
    }
    x->poll_due_ms = clock_monotonic_ms();
}

/* --- coming after another runner --- */

static struct recovered_attempt *left_of(struct recovered_attempts *left, int64_t attempt)
{
    const size_t at = FIRST_SORTED(i, left->count, left->items[i].claim.attempt_id >= attempt);
    return at < left->count && left->items[at].claim.attempt_id == attempt ? &left->items[at] : NULL;
}

static void take_over(struct batch_executor *x, struct batch_array *a, struct recovered_attempts *left)
{
    for (size_t k = 0; k < a->count; k++) {
        struct batch_member *m = &a->members[k];
        struct recovered_attempt *l = left_of(left, m->attempt);
        if (!l || l->taken) {
            m->reported = true; /* its end stands in the database */
            a->left--;
            continue;
        }
        l->taken = true;
        free(l->directory);
        l->directory = xstrdup(m->directory);
        free(l->reference);
        l->reference = batch_reference(&x->batches, a, k);
        x->running++;
    }
}

static int reattach(struct executor *base, struct recovered_attempts *left, struct error *e)
{
    struct batch_executor *x = own(base);
    (void)e;
    batch_list_load(&x->batches);
    for (size_t i = x->batches.count; i-- > 0;) {
        struct batch_array *a = &x->batches.arrays[i];
        take_over(x, a, left);
        if (a->left > 0)
            continue;
        batch_array_remove(&x->batches, a);
        batch_list_drop(&x->batches, i);
    }
    return 0;
}

static void batch_executor_free(struct executor *base)
{
    struct batch_executor *x = own(base);
    if (!x)
        return;
    for (size_t i = x->ended_first; i < x->ended_count; i++)
        outcome_free(&x->ended[i]);
    free(x->ended);
    interrupts_end(&x->interrupts);
    batch_list_free(&x->batches);
    strings_free(x->environment);
    free_all(x->job_name, x->runner, x->directory);
    string_list_free(&x->waits);
    free_all(x->refused, x->refusal, x->log_path, x->metrics_path, x);
}

static bool files(const struct executor *base, int64_t attempt, struct attempt_files *out)
{
    /* Paths are borrowed until the next call. */
    struct batch_executor *x = (struct batch_executor *)own_const(base);
    struct batch_array *a;
    size_t index;
    if (!find_task(x, attempt, &a, &index))
        return false;
    free_all(x->log_path, x->metrics_path);
    x->log_path = xasprintf("%s/%s/output.log", x->batches.root, a->members[index].directory);
    x->metrics_path = xasprintf("%s/%s/metrics.jsonl", x->batches.root, a->members[index].directory);
    *out = (struct attempt_files){-1, x->log_path, x->metrics_path};
    return true;
}

static const struct executor_methods methods = {
    .jobs_survive = true,
    .settled = settled,
    .reattach = reattach,
    .start = start,
    .wait = wait_for_ends,
    .running = running,
    .files = files,
    .stop = stop,
    .cancel_all = cancel_all,
    .free = batch_executor_free,
};

/* The name of a job has nothing in it that listings or systems stumble over. */
static char *name_jobs(const char *sweep)
{
    enum { NAME_BYTES = 100 };
    char *name = xasprintf("meshsweep-%.*s", NAME_BYTES, sweep);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            *c = '_';
    return name;
}

int batch_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    char here[PATH_MAX];
    const char *colon = strrchr(options->token_prefix, ':');
    if (!getcwd(here, sizeof here))
        return error_set(e, ERROR_FAILED,
                         "the working directory, in which jobs run, no longer exists; start again in an existing one");
    if (batch_system_check_shared(options->system, options->sweep->batch.shared, e) < 0)
        return -1;
    struct batch_executor *x = xcalloc(1, sizeof *x);
    x->methods = methods;
    x->methods.name = options->system->name;
    x->base.methods = &x->methods;
    x->system = options->system;
    x->batches.system = options->system;
    x->batches.framed = !options->sweep->batch.shared;
    x->options = *options;
    x->config = &options->sweep->batch;
    x->environment = batch_environment(x->system, options->environment, job_passing(&options->sweep->job));
    x->job_name = name_jobs(options->sweep->name);
    x->runner = xstrndup(colon + 1, strcspn(colon + 1, "-")); /* its id */
    x->directory = xstrdup(here);
    x->batches.root = path_absolute(options->directory);
    x->batches.token = xstrndup(options->token_prefix, (size_t)(colon - options->token_prefix));
    interrupts_begin(&x->interrupts);
    *out = &x->base;
    return 0;
}
