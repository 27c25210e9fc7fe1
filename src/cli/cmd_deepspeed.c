#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "deepspeed/ds_config.h"
#include "deepspeed/tuning_space.h"
#include "deepspeed/tuning_tree.h"
#include "run/become.h"
#include "run/devices.h"
#include "run/hosts.h"
#include "store/open.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define LARGEST_CONFIG (16u << 20)
#define DEFAULT_HOSTFILE "/job/hostfile" /* DeepSpeed launcher/runner.py: DLTS_HOSTFILE */

extern char **environ;

struct deepspeed_options {
    int autotuning; /* index into modes */
    int64_t num_nodes, num_gpus, master_port, jobs;
    const char *hostfile, *include, *exclude, *launcher, *db, *timeout, *retry_failed;
    bool print_config, dry_run;
    int progress;
};

#define AT(member) offsetof(struct deepspeed_options, member)

enum { MODE_TUNE, MODE_RUN };
static const char *const modes[] = {[MODE_TUNE] = "tune", [MODE_RUN] = "run", NULL};
static const char *const progress_words[] = {"auto", "tty", "plain", "json", "none", NULL};

static const struct option options[] = {
    {.name = "autotuning", .kind = OPTION_CHOICE, .offset = AT(autotuning), .value = "tune|run",
     .help = "find the best, or launch the script with it too", .choices = modes, .fallback = "tune"},
    {.name = "num_nodes", .kind = OPTION_INT, .offset = AT(num_nodes), .value = "N",
     .help = "hosts; where the ds_config says, at most", .least = 1, .most = 65536},
    {.name = "num_gpus", .kind = OPTION_INT, .offset = AT(num_gpus), .value = "N",
     .help = "devices of each host; where the ds_config says, at most", .least = 1, .most = 1024},
    {.name = "hostfile", .letter = 'H', .kind = OPTION_STRING, .offset = AT(hostfile), .value = "FILE",
     .help = "hosts: lines of \"NAME slots=N\" (" DEFAULT_HOSTFILE ")"},
    {.name = "include", .letter = 'i', .kind = OPTION_STRING, .offset = AT(include), .value = "HOST:0,1@...",
     .help = "only these hosts and devices of the hostfile"},
    {.name = "exclude", .letter = 'e', .kind = OPTION_STRING, .offset = AT(exclude), .value = "HOST:0,1@...",
     .help = "all but these"},
    {.name = "master_port", .kind = OPTION_INT, .offset = AT(master_port), .value = "PORT",
     .help = "for the launcher", .least = 1, .most = 65535},
    {.name = "launcher", .kind = OPTION_STRING, .offset = AT(launcher), .value = "WORDS",
     .help = "torchrun, accelerate, srun or your own words",
     .fallback = "deepspeed"},
    {.name = "timeout", .kind = OPTION_STRING, .offset = AT(timeout), .value = "DURATION", .help = "of each attempt",
     .fallback = "30m"},
    {.name = "db", .letter = 'd', .kind = OPTION_STRING, .offset = AT(db), .value = "FILE",
     .help = "the database; DeepSpeed's files beside it", .fallback = "results.db"},
    {.name = "jobs", .letter = 'j', .kind = OPTION_INT, .offset = AT(jobs), .value = "N", .help = "jobs at a time",
     .least = 1, .most = 65536},
    {.name = "retry-failed", .kind = OPTION_STRING, .offset = AT(retry_failed), .value = "CLASS,...",
     .help = "failed jobs too, or those of some classes", .value_optional = true},
    {.name = "progress", .kind = OPTION_CHOICE, .offset = AT(progress), .value = "HOW",
     .help = "auto, tty, plain, json or none", .choices = progress_words, .fallback = "auto"},
    {.name = "print-config", .kind = OPTION_FLAG, .offset = AT(print_config),
     .help = "print the sweep file that this amounts to, run nothing"},
    {.name = "dry-run", .letter = 'D', .kind = OPTION_FLAG, .offset = AT(dry_run), .help = "show the plan, run nothing"},
    {.name = NULL},
};

/* What one call works with. */
struct tuning {
    const struct deepspeed_options *o;
    char *const *program;
    size_t config_at;
    char *ds_file;
    struct json root;
    struct autotuning knobs;
    struct host_list hosts;
    struct tuning_cluster cluster;
    char *hostfile; /* an absolute path; NULL: there is none */
    struct buffer toml;
    bool equal_batch;
};

/* NULL: there is none. */
static const char *hostfile_of(const struct deepspeed_options *o)
{
    if (o->hostfile)
        return o->hostfile;
    return access(DEFAULT_HOSTFILE, R_OK) == 0 ? DEFAULT_HOSTFILE : NULL;
}

/* --- launchers --- */

/* Ranks of a step of Slurm's as torch.distributed wants to be told of them. */
#define SLURM_RANKS                                                                                                    \
    "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "                                     \
    "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_STEP_NODELIST\" | head -n 1) MASTER_PORT=${MASTER_PORT:-29500}; "   \
    "exec python3 \"$@\""

/* `port` is how it is told a port of the user's own. `keeps`: it keeps to the devices of its environment, and finds a port
 * that is free; DeepSpeed's takes devices 0, 1, … and 29500, and accelerate that port, whatever they find there. */
static const struct launcher {
    const char *name, *words[10], *port;
    bool keeps;
} launchers[] = {
    {"deepspeed", {"deepspeed"}, "--master_port", false}, /* and which hosts, see add_hosts */
    {"torchrun", {"torchrun", "--nnodes={nodes}", "--nproc_per_node={gpus_per_node}"}, "--master_port", true},
    {"accelerate", {"accelerate", "launch", "--num_machines={nodes}", "--num_processes={gpus}"}, "--main_process_port",
     false},
    {"srun", {"srun", "--nodes={nodes}", "--ntasks-per-node={gpus_per_node}", "--gpus-per-node={gpus_per_node}", "/bin/sh",
              "-c", SLURM_RANKS, "sh"}, NULL, true},
};

/* NULL: words of the user's own. */
static const struct launcher *launcher_of(const struct deepspeed_options *o)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(launchers[i].name, o->launcher) == 0)
            return &launchers[i];
    return NULL;
}

static bool is_deepspeed(const struct deepspeed_options *o)
{
    return strcmp(o->launcher, "deepspeed") == 0;
}

struct words {
    char **items; /* NULL-terminated */
    size_t count;
};

static void add_word(struct words *w, char *text)
{
    w->items = xreallocarray(w->items, w->count + 2, sizeof *w->items);
    w->items[w->count++] = text;
    w->items[w->count] = NULL;
}

/* It takes no numbers beside an include. */
static void add_hosts(const struct tuning *t, struct words *w)
{
    if (t->hostfile)
        add_word(w, xasprintf("--hostfile=%s", t->hostfile));
    if (t->hosts.count > 0) {
        add_word(w, xstrdup("--include={include}"));
    } else {
        add_word(w, xstrdup("--num_nodes={nodes}"));
        add_word(w, xstrdup("--num_gpus={gpus_per_node}"));
    }
}

static struct words launcher_words(const struct tuning *t)
{
    struct words w = {NULL, 0};
    const struct launcher *known = launcher_of(t->o);
    char *copy = xstrdup(known ? "" : t->o->launcher), *rest = NULL;
    for (size_t k = 0; known && known->words[k]; k++)
        add_word(&w, xstrdup(known->words[k]));
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        add_word(&w, xstrdup(word));
    free(copy);
    if (is_deepspeed(t->o))
        add_hosts(t, &w);
    if (known && known->port && t->o->master_port) {
        add_word(&w, xasprintf("%s=%lld", known->port, (long long)t->o->master_port));
    } else if (strcmp(t->o->launcher, "torchrun") == 0 && tuning_cluster_is_one_host(&t->cluster, &t->knobs)) {
        add_word(&w, xstrdup("--rdzv_backend=c10d"));
        add_word(&w, xstrdup("--rdzv_endpoint=localhost:0"));
    }
    return w;
}

static void free_words(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}

/* --- hosts --- */

static size_t count_own_devices(void)
{
    struct device_list found = DEVICE_LIST_INIT;
    devices_discover(environ, "", &found);
    size_t count = found.count;
    device_list_free(&found);
    return count;
}

/* This machine as a host, by the numbers of its devices. */
static int add_own_host(const struct device_list *found, struct host_list *out, struct error *e)
{
    struct host *host = out->hosts = xcalloc(1, sizeof *out->hosts);
    out->count = 1;
    *host = (struct host){xstrdup("localhost"), xcalloc(found->count + 1, sizeof *host->devices), 0};
    for (size_t i = 0; i < found->count; i++) {
        int64_t number;
        if (!parse_int64(found->names[i], &number) || number < 0 || number >= DEVICES_MOST)
            return error_set(e, ERROR_USAGE, "--include and --exclude choose devices by their numbers, and %s says %s",
                             found->source, found->names[i]);
        host->devices[host->device_count++] = (int)number;
    }
    if (found->count > 0)
        return 0;
    return error_set(e, ERROR_USAGE, "--include and --exclude choose among the hosts of a hostfile (--hostfile FILE), or "
                     "among the devices of this machine (localhost:0,1), which has none");
}

/* Without a hostfile the filters are for this machine, which has that name. Without filters DeepSpeed's launcher is told
 * which devices there are all the same, as far as they have numbers: it ignores CUDA_VISIBLE_DEVICES where it is told how
 * many (launcher/runner.py). */
static int read_own_host(struct tuning *t, bool filtered, struct error *e)
{
    struct device_list found = DEVICE_LIST_INIT;
    struct error ignored = ERROR_INIT;
    devices_discover(environ, "", &found);
    int rc = add_own_host(&found, &t->hosts, filtered ? e : &ignored);
    device_list_free(&found);
    if (rc < 0)
        host_list_free(&t->hosts);
    return filtered ? rc : 0;
}

static int read_hostfile(struct tuning *t, const char *path, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    int rc = file_read(path, LARGEST_CONFIG, &text, e);
    if (rc < 0 && e)
        e->kind = ERROR_USAGE;
    rc = rc < 0 ? rc : hosts_parse(path, buffer_text(&text), &t->hosts, e);
    buffer_free(&text);
    return rc;
}

static int read_hosts(struct tuning *t, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    const char *hostfile = hostfile_of(o);
    int rc = 0;
    if (hostfile) {
        t->hostfile = path_absolute(hostfile);
        rc = read_hostfile(t, hostfile, e);
    } else if (o->include || o->exclude || is_deepspeed(o)) {
        rc = read_own_host(t, o->include || o->exclude, e);
    }
    return rc < 0 ? rc : hosts_filter(&t->hosts, o->include, o->exclude, e);
}

/* Devices that every host has; 0 without hosts. */
static long long least_devices(const struct host_list *l)
{
    size_t least = l->count ? l->hosts[0].device_count : 0;
    for (size_t i = 1; i < l->count; i++)
        least = l->hosts[i].device_count < least ? l->hosts[i].device_count : least;
    return (long long)least;
}

static int count_devices(const struct tuning *t, long long *out, struct error *e)
{
    *out = t->o->num_gpus ? t->o->num_gpus : least_devices(&t->hosts);
    if (*out > 0 || t->knobs.num_gpus)
        return 0;
    *out = (long long)count_own_devices();
    if (*out > 0)
        return 0;
    return error_set(e, ERROR_USAGE, "this machine has no devices: say how many each host has with --num_gpus N, or "
                     "\"num_gpus\" in %s under autotuning", t->ds_file);
}

static int make_cluster(struct tuning *t, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    const struct launcher *known = launcher_of(o);
    struct tuning_cluster *c = &t->cluster;
    if (read_hosts(t, e) < 0 || count_devices(t, &c->devices, e) < 0)
        return -1;
    c->hosts = &t->hosts;
    c->hostfile = t->hostfile;
    c->include = o->include;
    c->exclude = o->exclude;
    c->tells_hosts = is_deepspeed(o);
    c->here_alone = is_deepspeed(o) && !t->hostfile;
    c->exclusive = t->hostfile || o->master_port || (known && !known->keeps);
    c->nodes = o->num_nodes ? o->num_nodes : t->hosts.count ? (long long)t->hosts.count : 1;
    c->most_nodes = t->knobs.num_nodes ? o->num_nodes : 0;
    c->most_devices = t->knobs.num_gpus ? o->num_gpus : 0;
    return 0;
}

/* --- the sweep file --- */

static int check_script(const struct tuning *t, struct error *e)
{
    const char *script = t->program ? t->program[0] : NULL;
    if (!script)
        return error_set(e, ERROR_USAGE, "no script is named: meshsweep deepspeed [OPTIONS] SCRIPT ARGUMENT... --deepspeed "
                         "FILE");
    size_t n = strlen(script);
    bool is_file = strchr(script, '/') || (n > 3 && strcmp(script + n - 3, ".py") == 0);
    if (is_file && access(script, R_OK) != 0)
        return error_set(e, ERROR_USAGE, "%s: there is no such script", script);
    return 0;
}

static int check_config(struct tuning *t, const char *named, struct error *e)
{
    struct problems problems = PROBLEMS_INIT;
    if (t->root.kind != JSON_OBJECT)
        return error_set(e, ERROR_USAGE, "%s:1:1: a ds_config is a JSON object", named);
    autotuning_read(named, json_text_find(&t->root, "autotuning"), &t->knobs, &problems);
    ds_config_check(&t->root, named, NULL, &problems);
    int rc = problems_report(&problems, NULL, e);
    problems_free(&problems);
    return rc;
}

static int read_config(struct tuning *t, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    if (tuning_find_config(t->program, &t->config_at, e) < 0)
        return -1;
    char *named = tuning_config_path(t->program[t->config_at]);
    t->ds_file = path_absolute(named);
    int rc = file_read(named, LARGEST_CONFIG, &text, e);
    if (rc < 0)
        e->kind = ERROR_USAGE;
    rc = rc < 0 ? rc : json_text_parse(named, buffer_text(&text), &t->root, e);
    rc = rc < 0 ? rc : check_config(t, named, e);
    buffer_free(&text);
    free(named);
    return rc;
}

static int check_options(const struct deepspeed_options *o, struct error *e)
{
    int64_t ms;
    if (!o->launcher[strspn(o->launcher, " \t")])
        return error_set(e, ERROR_USAGE, "--launcher: no launcher is named");
    if (!parse_duration_ms(o->timeout, &ms))
        return error_set(e, ERROR_USAGE, "--timeout %s: must be a duration such as 90, 90s, 10m or 1h30m", o->timeout);
    return 0;
}

static int make_sweep(struct tuning *t, struct error *e)
{
    if (check_options(t->o, e) < 0 || check_script(t, e) < 0 || read_config(t, e) < 0 || make_cluster(t, e) < 0)
        return -1;
    struct words launcher = launcher_words(t);
    const struct tuning_request request = {.ds_file = t->ds_file, .root = &t->root, .knobs = &t->knobs,
                                           .launcher = launcher.items, .program = t->program,
                                           .config_at = t->config_at, .cluster = &t->cluster, .timeout = t->o->timeout};
    int rc = tuning_space_write(&request, &t->toml, &t->equal_batch, e);
    free_words(launcher.items);
    return rc;
}

/* --- tuning --- */

static char *write_sweep(const struct tuning *t, const char *exps_dir, struct error *e)
{
    char *path = xasprintf("%s/sweep.toml", exps_dir);
    if (file_make_directories(exps_dir, e) == 0 && file_write_atomic(path, t->toml.data, t->toml.length, e) == 0)
        return path;
    free(path);
    return NULL;
}

static int run_sweep(const struct tuning *t, const char *path, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    struct run_options run = {.config = path, .db = o->db, .jobs = o->jobs, .retry_failed = o->retry_failed,
                              .dry_run = o->dry_run, .progress = o->progress};
    const struct arguments arguments = {.options = &run};
    if (!t->equal_batch)
        output_message("the global batch differs between configurations, so they do not do the same work in a step; give "
                       "train_batch_size or autotuning.max_train_batch_size to compare at one");
    return run_command.run(&arguments, e);
}

static int write_tree(const struct tuning *t, const char *exps_dir, const char *results_dir, char ***winner,
                      struct error *e)
{
    struct db *db = NULL;
    char *directory = store_directory(t->o->db);
    const struct tuning_tree tree = {directory, exps_dir, results_dir, &t->root};
    int rc = store_open_read_only(t->o->db, &db, e);
    rc = rc < 0 ? rc : tuning_tree_write(&tree, db, winner, e);
    store_close(db);
    free(directory);
    return rc;
}

/* A failed attempt is an answer too: with a winner the tuning went well. */
static int conclude(const struct tuning *t, int status, const char *results_dir, char *const *winner, struct error *e)
{
    if (status == STATUS_NOTHING) {
        output_message("no configuration can be run, so there is no best one and nothing to launch");
        return STATUS_JOBS_FAILED;
    }
    if (status != STATUS_OK && status != STATUS_JOBS_FAILED)
        return status;
    if (!winner) {
        output_message("no configuration could be run and measured, so there is no best one and nothing to launch; "
                       "%s/*/stderr.log and meshsweep status say why", results_dir);
        return STATUS_JOBS_FAILED;
    }
    output_message("the best configuration is %s/ds_config_optimal.json, its command %s/cmd_optimal.txt", results_dir,
                   results_dir);
    if (t->o->autotuning == MODE_TUNE)
        return STATUS_OK;
    if (output_flush_all(e) < 0)
        return -1;
    return become(winner, e);
}

static int tune(const struct tuning *t, struct error *e)
{
    char *exps_dir = path_beside(t->o->db, t->knobs.exps_dir), *results_dir = path_beside(t->o->db, t->knobs.results_dir);
    char **winner = NULL, *path = write_sweep(t, exps_dir, e);
    int status = path ? run_sweep(t, path, e) : -1;
    if (status >= 0 && !t->o->dry_run) {
        status = write_tree(t, exps_dir, results_dir, &winner, e) < 0 ? -1 : status;
        status = status < 0 ? -1 : conclude(t, status, results_dir, winner, e);
    }
    free_words(winner);
    free(path);
    free(exps_dir);
    free(results_dir);
    return status;
}

static int deepspeed(const struct arguments *a, struct error *e)
{
    struct tuning t = {.o = a->options, .program = a->program, .hosts = HOST_LIST_INIT, .toml = BUFFER_INIT};
    int status = make_sweep(&t, e);
    if (status == 0)
        status = t.o->print_config ? output_text(buffer_text(&t.toml), e) : tune(&t, e);
    autotuning_free(&t.knobs);
    json_text_free(&t.root);
    host_list_free(&t.hosts);
    free(t.hostfile);
    buffer_free(&t.toml);
    free(t.ds_file);
    return status;
}

const struct command deepspeed_command = {
    .name = "deepspeed",
    .summary = "Tune a DeepSpeed script: the front end of DeepSpeed's autotuning",
    .usage = "[OPTIONS] SCRIPT ARGUMENT... --deepspeed FILE",
    .example = "meshsweep deepspeed --num_gpus 8 train.py --lr 1e-4 --deepspeed ds_config.json\n"
               "meshsweep deepspeed --autotuning=run --launcher torchrun train.py --deepspeed=ds.json\n"
               "meshsweep deepspeed --print-config train.py --deepspeed ds_config.json >sweep.toml",
    .options = options,
    .options_bytes = sizeof(struct deepspeed_options),
    .takes_program = true,
    .first_word_is_program = true,
    .run = deepspeed,
};
