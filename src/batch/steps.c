#include "batch/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/client.h"
#include "metrics/classify.h"
#include "process/process.h"
#include "run/local_executor.h"
#include "space/launch.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

enum {
    END_PATIENCE_MS = 30000, /* a step that was killed is gone within seconds, unless its node is */
    LOOK_EVERY_MS = 200,
    SAID_BYTES = 8192
};

/* A running attempt. */
struct step {
    int64_t attempt;
    char *nodes;
};

struct slurm_steps {
    const struct allocation *allocation;
    const struct batch_config *config;
    char *token;        /* runner_token() of run/previous_runner.h */
    char **environment; /* of Slurm's commands */
    struct step *steps;
    size_t count;
    struct launch launch; /* the last one, whose words it owns */
    char **argv, **settings;
};

/* --- what srun is asked for --- */

static void add_option(struct string_list *words, const char *option, int64_t value)
{
    string_list_add(words, xasprintf("--%s=%lld", option, (long long)value));
}

static void add_words(struct string_list *words, char *const *more)
{
    for (; more && *more; more++)
        string_list_add(words, xstrdup(*more));
}

char **step_command(const struct step_request *r, char *const *launcher, char *const *command)
{
    struct string_list words = STRING_LIST_INIT;
    const bool is_launched = launcher && *launcher;
    const char *first = is_launched ? *launcher : *command;
    const bool own = first && strcmp(first, "srun") == 0;
    string_list_add(&words, xstrdup("srun"));
    add_option(&words, "jobid", r->job);
    string_list_add(&words, xstrdup("--exact"));
    add_option(&words, "nodes", r->node_count);
    string_list_add(&words, xasprintf("--nodelist=%s", r->nodes));
    add_option(&words, "ntasks", r->node_count * r->tasks_per_node);
    add_option(&words, "ntasks-per-node", r->tasks_per_node);
    add_option(&words, "cpus-per-task", r->cpus_per_task);
    if (r->gpus_per_node > 0)
        add_option(&words, "gpus-per-node", r->gpus_per_node);
    if (r->no_gpus)
        string_list_add(&words, xstrdup("--gres=none"));
    if (r->memory)
        string_list_add(&words, xasprintf("--mem=%s", r->memory));
    string_list_add(&words, xasprintf("--job-name=%s", r->name));
    add_words(&words, (char *const[]){(char *)"--kill-on-bad-exit=1", (char *)"--quiet", NULL});
    add_words(&words, is_launched && own ? launcher + 1 : launcher);
    add_words(&words, !is_launched && own ? command + 1 : command);
    return string_list_take(&words);
}

/* The nodes of "n1:0,n1:1,n2:0", each once: "n1,n2"; how many there are, and how many devices of the first. */
static char *nodes_of(const char *devices, int64_t *count, int64_t *each)
{
    struct buffer nodes = BUFFER_INIT;
    const char *last = "";
    size_t last_length = 0;
    *count = *each = 0;
    while (*devices) {
        size_t length = strcspn(devices, ",");
        const char *colon = memrchr(devices, ':', length);
        size_t name = colon ? (size_t)(colon - devices) : length;
        if (name != last_length || strncmp(devices, last, name) != 0) {
            buffer_add_text(&nodes, (*count)++ ? "," : "");
            buffer_add(&nodes, devices, name);
            last = devices;
            last_length = name;
        }
        *each += *count == 1;
        devices += length + (devices[length] == ',');
    }
    return buffer_take(&nodes);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void step_share(const struct allocation *a, const struct batch_config *config, const char *devices,
                const char *spec_json, struct step_request *out)
{
    const struct job_shape shape = job_shape_of(config, spec_json, 0);
    int64_t each, cpus = INT64_MAX, memory = INT64_MAX;
    bool gpus = false, by_gpus = false;
    char *nodes = nodes_of(devices, &out->node_count, &each);
    for (size_t i = 0; i < a->count; i++)
        gpus |= a->nodes[i].gpus > 0;
    by_gpus = gpus && !!config->gpus;
    int64_t cpus_each = config->cpus_per_task > 0 ? config->cpus_per_task : 1;
    for (const char *name = nodes; *name; name += strcspn(name, ","), name += *name == ',') {
        const struct allocation_node *n = allocation_node(a, name, strcspn(name, ","));
        int64_t units = n ? (by_gpus ? n->gpus : n->cpus / cpus_each) : 0;
        if (units <= 0)
            continue;
        cpus = least(cpus, by_gpus ? n->cpus * each / units : each * cpus_each);
        memory = least(memory, n->memory_mb * each / units);
    }
    int64_t tasks = shape.tasks_per_node > 0 ? shape.tasks_per_node : 1;
    int64_t share = cpus == INT64_MAX || cpus < tasks ? 1 : cpus / tasks;
    out->nodes = nodes;
    out->tasks_per_node = tasks;
    out->cpus_per_task = by_gpus && shape.cpus_per_task > 0 ? shape.cpus_per_task : share;
    out->gpus_per_node = by_gpus ? each : 0;
    out->no_gpus = gpus && !by_gpus;
    out->memory = config->memory && !batch_memory_varies(config) ? xstrdup(config->memory)
                  : memory > 0 && memory != INT64_MAX            ? xasprintf("%lldM", (long long)memory)
                                                                 : NULL;
}

/* --- starting --- */

static char *name_of(const struct slurm_steps *s, int64_t attempt)
{
    return xasprintf("%s:%lld", s->token, (long long)attempt);
}

/* Slurm says which devices are the step's, and the first of its nodes is where its ranks meet, unless the user's [job]
 * env does. */
static char **settings_of(const struct slurm_steps *s, const struct launch *launch, const char *nodes)
{
    static char *const replaced[] = {(char *)"MASTER_ADDR", (char *)"SLURM_CONF", NULL};
    struct string_list settings = STRING_LIST_INIT;
    const char *configuration = environment_value(s->environment, "SLURM_CONF");
    for (char *const *p = launch->environment; *p; p++) {
        const bool is_theirs = setting_is_among(*p, device_variables) || setting_is_among(*p, replaced);
        if (!is_theirs || strings_have(launch->declared, *p))
            string_list_add(&settings, xstrdup(*p));
    }
    if (!settings.count || !environment_value(settings.items, "MASTER_ADDR"))
        string_list_add(&settings, xasprintf("MASTER_ADDR=%.*s", (int)strcspn(nodes, ","), nodes));
    if (configuration)
        string_list_add(&settings, xasprintf("SLURM_CONF=%s", configuration));
    return string_list_take(&settings);
}

static void forget_launch(struct slurm_steps *s)
{
    strings_free(s->argv);
    strings_free(s->settings);
    s->argv = s->settings = NULL;
}

/* The launch as it is to be started: through srun, on the nodes of the attempt's devices. Valid until the next call. */
static const struct launch *slurm_steps_launch(void *steps, const struct launch *launch,
                                               const struct running_attempt *attempt)
{
    struct slurm_steps *s = steps;
    struct step_request request = {.job = s->allocation->job};
    OWNED char *name = name_of(s, launch->attempt);
    forget_launch(s);
    step_share(s->allocation, s->config, attempt->devices ? attempt->devices : "", attempt->job.spec_json, &request);
    request.name = name;
    if (attempt->job.memory_mib > 0)
        text_replace((char **)&request.memory, xasprintf("%lldM", (long long)attempt->job.memory_mib));
    s->argv = step_command(&request, s->config->launcher, launch->argv);
    s->settings = settings_of(s, launch, request.nodes);
    s->launch = *launch;
    s->launch.argv = s->argv;
    s->launch.environment = s->settings;
    *array_add(s->steps, s->count) = (struct step){launch->attempt, (char *)request.nodes};
    free((char *)request.memory);
    return &s->launch;
}

/* --- ending --- */

/* Returns whether a step of that name is meant by `wanted`: a name, or one's beginning where it ends with ":". */
static bool is_meant(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    bool prefix = length > 0 && wanted[length - 1] == ':';
    return prefix ? strncmp(name, wanted, length) == 0 : strcmp(name, wanted) == 0;
}

/* Adds the ids ("1.0") of all steps of the user that are meant. -1: no answer. */
static int find_steps(char *const *environment, const char *wanted, struct string_list *ids)
{
    char *argv[] =
        {(char *)"squeue", (char *)"--steps", (char *)"--me", (char *)"-h", (char *)"-o", (char *)"%i|%j", NULL};
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int rc = batch_command(environment, argv, NULL, &answer, &e);
    if (rc == 0 && answer.exit_code != 0)
        rc = -1;
    char *rest = rc == 0 ? answer.output : NULL;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *id = strsep(&line, "|");
        if (line && is_meant(line, wanted))
            string_list_add(ids, xstrdup(id));
    }
    return rc;
}

/* Signals those that are meant by `name`; how many there are, -1: no answer. */
static int signal_steps(char *const *environment, const char *name, const char *signal_name)
{
    enum { WORDS = 2 };
    OWNED_LIST words = STRING_LIST_INIT;
    string_list_add(&words, xstrdup("scancel"));
    string_list_add(&words, xasprintf("--signal=%s", signal_name));
    int rc = find_steps(environment, name, &words), count = (int)words.count - WORDS;
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    if (rc == 0 && count > 0)
        rc = batch_command(environment, words.items, NULL, &answer, &e);
    return rc < 0 ? -1 : count;
}

/* Kills them until none is there. Returns how many are left: on nodes that do not answer; -1: Slurm does not. */
static int end_steps(char *const *environment, const char *name)
{
    const struct timespec pause = {0, LOOK_EVERY_MS * 1000000};
    int64_t until_ms = clock_monotonic_ms() + END_PATIENCE_MS;
    int left;
    while ((left = signal_steps(environment, name, "KILL")) != 0 && clock_monotonic_ms() < until_ms)
        nanosleep(&pause, NULL);
    return left;
}

/* Sends TERM to the attempt's step; false when it has none. A local_proxy.terminate. */
static bool slurm_steps_terminate(void *steps, int64_t attempt)
{
    struct slurm_steps *s = steps;
    OWNED char *name = name_of(s, attempt);
    return signal_steps(s->environment, name, "TERM") > 0;
}

/* --- what became of it --- */

/* The words of srun and slurmstepd as of 22.05, in the order in which they count. */
static const struct {
    const char *text;
    enum step_word word;
} words[] = {
    {"Unable to create step", STEP_NOT_CREATED},
    {"execve(): ", STEP_NOT_CREATED},
    {"Node failure on ", STEP_NODE_FAILED},
    {"DUE TO NODE FAILURE", STEP_NODE_FAILED},
    {"DUE TO TIME LIMIT", STEP_ALLOCATION_ENDED},
    {"DUE TO PREEMPTION", STEP_ALLOCATION_ENDED},
    {"DUE TO JOB REQUEUE", STEP_ALLOCATION_ENDED},
    {"Job/step already completing or completed", STEP_ALLOCATION_ENDED},
    {" CANCELLED AT ", STEP_CANCELLED},
};

static bool line_has(const char *line, const char *text)
{
    return memmem(line, strcspn(line, "\n"), text, strlen(text)) != NULL;
}

/* "srun: error: n1: task 0: Exited with exit code 7", or a signal's name for the last: its exit status, 0 of a signal;
 * -1: another line. */
static int task_end_of(const char *line)
{
    static const char exited[] = ": Exited with exit code ";
    if (strncmp(line, "srun: error: ", 13) != 0 || !line_has(line, ": task"))
        return -1;
    return line_has(line, exited) ? atoi(strstr(line, exited) + sizeof exited - 1) : 0;
}

enum step_word step_word_of(const char *log_end, char **node, int *exit_code)
{
    const size_t count = LENGTH(words);
    size_t found = count;
    int first_end = -1;
    *node = NULL;
    *exit_code = -1;
    for (const char *line = log_end; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, "srun: ", 6) != 0 && strncmp(line, "slurmstepd", 10) != 0)
            continue;
        first_end = first_end < 0 ? task_end_of(line) : first_end;
        size_t at = FIRST(k, found, line_has(line, words[k].text));
        if (at < found && words[at].word == STEP_CANCELLED && first_end >= 0)
            *exit_code = first_end > 0 ? first_end : -1;
        else
            found = at;
        const char *mark =
            found < count && words[found].word == STEP_NODE_FAILED ? strstr(line, "Node failure on ") : NULL;
        if (mark && !*node)
            *node = xstrndup(mark + 16, strcspn(mark + 16, " \n"));
    }
    return found < count ? words[found].word : STEP_SAID_NOTHING;
}

static void set_ending(struct outcome *o, enum ending ending, const char *note)
{
    o->ending = ending;
    free(o->note);
    o->note = xstrdup(note);
}

/* srun ends with the exit status of its tasks, and with 1 or 128 + n for what it says. */
static void read_words(struct outcome *o)
{
    char *end = o->log_path ? log_tail(o->log_path, SAID_BYTES) : xstrdup(""), *node;
    int task_exit;
    enum step_word word = step_word_of(end, &node, &task_exit);
    /* srun of 22.05 ends with 0 when a node fails. */
    switch (o->exit_code != 0 || word == STEP_NODE_FAILED ? word : STEP_SAID_NOTHING) {
    case STEP_NOT_CREATED:
        set_ending(o, ENDING_SPAWN_FAILED, "srun could not start it; its output says why");
        o->spawn_stage = "Slurm";
        break;
    case STEP_NODE_FAILED:
        set_ending(o, ENDING_LOST, "Slurm: a node of the step failed");
        break;
    case STEP_ALLOCATION_ENDED:
        set_ending(o, ENDING_LOST, "Slurm: the allocation ended");
        break;
    case STEP_CANCELLED:
        set_ending(o, ENDING_ABORTED, "Slurm: the step was cancelled by someone else");
        break;
    case STEP_SAID_NOTHING:
        if (task_exit > 0)
            o->exit_code = task_exit;
        else if (o->exit_code > 128 && o->exit_code < 128 + 65) {
            o->ending = ENDING_SIGNALED;
            o->signal_number = o->exit_code - 128;
            o->exit_code = -1;
        }
        break;
    }
    if (node) {
        free(o->host);
        o->host = node;
    }
    free(end);
}

static char *take_nodes(struct slurm_steps *s, int64_t attempt)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].attempt != attempt)
            continue;
        char *nodes = s->steps[i].nodes;
        s->steps[i] = s->steps[--s->count];
        return nodes;
    }
    return NULL;
}

/* Says what became of the step, and where; one that did not end of itself is ended on its nodes, and that is
 * verified. */
static void slurm_steps_ended(void *steps, struct outcome *o)
{
    struct slurm_steps *s = steps;
    OWNED char *name = name_of(s, o->attempt);
    free(o->host);
    o->host = take_nodes(s, o->attempt);
    if (o->ending != ENDING_EXITED && o->ending != ENDING_SPAWN_FAILED && end_steps(s->environment, name) != 0 &&
        !o->note)
        o->note = xasprintf("its step is still known to Slurm on %s", o->host ? o->host : "its nodes");
    if (o->ending == ENDING_EXITED)
        read_words(o);
}

/* --- the whole --- */

static void slurm_steps_free(void *steps)
{
    struct slurm_steps *s = steps;
    if (!s)
        return;
    OWNED char *all = xasprintf("%s:", s->token);
    if (s->count > 0)
        end_steps(s->environment, all);
    forget_launch(s);
    for (size_t i = 0; i < s->count; i++)
        free(s->steps[i].nodes);
    free(s->steps);
    strings_free(s->environment);
    free_all(s->token, s);
}

/* Ends what earlier runners of the same database left running. -1: Slurm does not answer. */
static int slurm_steps_create(const struct executor_options *options, struct slurm_steps **out, struct error *e)
{
    struct slurm_steps *s = xcalloc(1, sizeof *s);
    const char *colon = strrchr(options->token_prefix, ':');
    s->allocation = options->allocation;
    s->config = &options->sweep->batch;
    s->token = xstrdup(options->token_prefix);
    s->environment = batch_environment(options->system, options->environment, job_passing(&options->sweep->job));
    OWNED char *database = xstrndup(options->token_prefix, (size_t)(colon - options->token_prefix) + 1);
    int rc = end_steps(s->environment, database);
    if (rc < 0) {
        slurm_steps_free(s);
        return error_set(e, ERROR_FAILED,
                         "squeue --steps --me does not answer, and an earlier run may have left steps; try again when "
                         "it does");
    }
    *out = s;
    return 0;
}

void allocation_free(struct allocation *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->nodes[i].name);
    free(a->nodes);
    *a = (struct allocation){0};
}

static void add_node(struct allocation *a, struct allocation_node node)
{
    *array_add(a->nodes, a->count) = node;
}

/* --- what scontrol prints --- */

/* The value of "KEY=" within a group, up to the next blank; "" when there is none. The caller's. */
static char *value_of(const char *group, size_t length, const char *key)
{
    const char *at = memmem(group, length, key, strlen(key));
    if (!at)
        return xstrdup("");
    at += strlen(key);
    size_t n = strcspn(at, " \n");
    return xstrndup(at, n < length - (size_t)(at - group) ? n : length - (size_t)(at - group));
}

/* "0-6,8": 8. */
static int64_t count_ids(const char *text)
{
    int64_t count = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        long long first = strtoll(text, &end, 10), last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        count += last >= first && last - first < 1 << 20 ? last - first + 1 : 0;
        text = end + (*end == ',');
    }
    return count;
}

/* "gpu:a100:2(IDX:0-1),gpu:1(IDX:2),license:3": 3. */
static int64_t count_gpus(const char *text)
{
    int64_t count = 0;
    for (const char *at = text; (at = strstr(at, "gpu:")); at += 4) {
        const char *end = at + strcspn(at, "(,");
        const char *digits = end;
        while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        int64_t n = strtoll(digits, NULL, 10);
        count += (at == text || at[-1] == ',') && n > 0 && n < 1 << 20 ? n : 0;
    }
    return count;
}

int allocation_parse(const char *text, struct allocation *out)
{
    static const char mark[] = " Nodes=";
    struct allocation a = {0};
    for (const char *at = strstr(text, mark), *next; at; at = next) {
        next = strstr(at + 1, mark);
        size_t length = next ? (size_t)(next - at) : strlen(at);
        OWNED char *name = value_of(at, length, "Nodes="), *cpus = value_of(at, length, "CPU_IDs=");
        OWNED char *memory = value_of(at, length, "Mem="), *gres = value_of(at, length, "GRES=");
        int64_t megabytes = strtoll(memory, NULL, 10);
        if (*name && *cpus)
            add_node(&a, (struct allocation_node){xstrdup(name), count_ids(cpus), count_gpus(gres),
                                                  megabytes > 0 ? megabytes : 0});
    }
    *out = a;
    return a.count > 0 ? 0 : -1;
}

/* --- asking --- */

static int ask_scontrol(char *const *environment, const char *what, const char *of, const char *option, char **answer,
                        struct error *e)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)what, (char *)of, (char *)option, (char *)"-o", NULL};
    OWNED_RESULT result = EXTERNAL_COMMAND_RESULT_INIT;
    int rc = batch_command(environment, argv, NULL, &result, e);
    if (rc == 0 && result.exit_code != 0)
        rc = error_set(e, ERROR_FAILED, "scontrol show %s %s: %.200s", what, of, result.errors);
    if (rc == 0)
        *answer = xstrdup(result.output);
    return rc;
}

/* The nodes of each group, one by one. */
static int spread(char *const *environment, const struct allocation *groups, struct allocation *out, struct error *e)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct allocation_node *g = &groups->nodes[i];
        char *names = NULL, *rest = NULL;
        if (ask_scontrol(environment, "hostnames", g->name, NULL, &names, e) < 0)
            return -1;
        for (char *name = strtok_r(names, " \n", &rest); name; name = strtok_r(NULL, " \n", &rest))
            add_node(out, (struct allocation_node){xstrdup(name), g->cpus, g->gpus, g->memory_mb});
        free(names);
    }
    return 0;
}

int allocation_read(const struct batch_system *slurm, char *const *environment, struct allocation *out, struct error *e)
{
    const char *job = environment_value(environment, "SLURM_JOB_ID");
    struct allocation a = {0}, groups = {0};
    OWNED char *text = NULL;
    if (!job || !parse_int64(job, &a.job) || a.job <= 0)
        return error_set(e, ERROR_USAGE,
                         "--in-allocation: SLURM_JOB_ID is not set; start meshsweep inside salloc or sbatch");
    OWNED_STRINGS bare = batch_environment(slurm, environment, (struct environment_passing){0});
    int rc = ask_scontrol(bare, "job", job, "-d", &text, e);
    if (rc == 0 && allocation_parse(text, &groups) < 0)
        rc = error_set(e, ERROR_FAILED, "--in-allocation: Slurm's job %s holds no nodes", job);
    if (rc == 0)
        rc = spread(bare, &groups, &a, e);
    allocation_free(&groups);
    if (rc == 0)
        *out = a;
    else
        allocation_free(&a);
    return rc;
}

/* --- sharing it out --- */

void allocation_devices(const struct allocation *a, bool by_cpus, int64_t cpus_each, struct device_list *out)
{
    bool gpus = false;
    for (size_t i = 0; i < a->count; i++)
        gpus |= !by_cpus && a->nodes[i].gpus > 0;
    *out = (struct device_list){.source = gpus ? "GPUs of the allocation" : "processors of the allocation"};
    for (size_t i = 0; i < a->count; i++) {
        const struct allocation_node *n = &a->nodes[i];
        device_list_add_node(out, (uint16_t)i, n->name, gpus ? n->gpus : n->cpus / (cpus_each > 0 ? cpus_each : 1));
    }
}

const struct allocation_node *allocation_node(const struct allocation *a, const char *name, size_t length)
{
    return FIND(i, a->count, strlen(a->nodes[i].name) == length && strncmp(a->nodes[i].name, name, length) == 0,
                &a->nodes[i]);
}

/* --- the executor --- */

int slurm_step_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    struct slurm_steps *steps = NULL;
    if (slurm_steps_create(options, &steps, e) < 0)
        return -1;
    const struct local_proxy proxy = {
        .name = "slurm-step",
        .launch = slurm_steps_launch,
        .terminate = slurm_steps_terminate,
        .ended = slurm_steps_ended,
        .free = slurm_steps_free,
        .context = steps,
    };
    return local_executor_create_proxy(options, &proxy, out, e);
}
