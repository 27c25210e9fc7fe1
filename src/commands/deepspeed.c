#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/open.h"
#include "deepspeed/accelerate_config.h"
#include "deepspeed/ds_check.h"
#include "deepspeed/ds_config.h"
#include "deepspeed/tuning_cluster.h"
#include "deepspeed/tuning_launcher.h"
#include "deepspeed/tuning_space.h"
#include "deepspeed/tuning_tree.h"
#include "device/hostfile.h"
#include "process/environment.h"
#include "process/process.h"
#include "results/failure_causes.h"
#include "results/status.h"
#include "secrets/secrets.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

/* --- the options --- */

#define DEFAULT_HOSTFILE "/job/hostfile" /* DeepSpeed launcher/runner.py: DLTS_HOSTFILE */
enum { MODE_TUNE, MODE_RUN };            /* as --autotuning lists them */

/* Ends with one without a name. */
static const struct option *find_option(const char *name)
{
    const struct option *o = deepspeed_command.options;
    while (strcmp(o->name, name) != 0)
        o++;
    return o;
}

/* Appends what is given of the options that DeepSpeed's launcher has and that mean nothing here: "--quiet",
 * "--ssh_port=22". */
static void deepspeed_options_add_forwarded(const struct deepspeed_options *o, struct string_list *words)
{
    static const char *const forwarded[] = {"bind_core_list", "no_python",   "no_ssh_check", "force_multi",
                                            "ssh_port",       "venv_script", "log_level",    "quiet"};
    for (size_t i = 0; i < LENGTH(forwarded); i++) {
        const struct option *option = find_option(forwarded[i]);
        const void *at = (const char *)o + option->offset;
        if (option->kind == OPTION_FLAG && *(const bool *)at)
            string_list_add(words, xasprintf("--%s", option->name));
        else if (option->kind == OPTION_INT && *(const int64_t *)at)
            string_list_add(words, xasprintf("--%s=%lld", option->name, (long long)*(const int64_t *)at));
        else if (option->kind == OPTION_STRING && *(const char *const *)at)
            string_list_add(words, xasprintf("--%s=%s", option->name, *(const char *const *)at));
    }
}

/* ERROR_USAGE for an invalid duration or release, or an empty launcher. */
static int deepspeed_options_check(const struct deepspeed_options *o, struct error *e)
{
    int64_t ms, release;
    if (!o->launcher[strspn(o->launcher, " \t")])
        return error_set(e, ERROR_USAGE,
                         "--launcher: the name is empty; give torchrun, accelerate, srun or a command line of your "
                         "own");
    if (!parse_duration_ms(o->timeout, &ms))
        return error_set(e, ERROR_USAGE, "--timeout %s: must be a duration such as 90, 90s, 10m or 1h30m", o->timeout);
    if (o->version && !parse_release(o->version, true, &release))
        return error_set(e, ERROR_USAGE, "--ds_version %s: must be a release such as 0.14 or 0.14.5", o->version);
    return 0;
}

/* Takes from Accelerate's configuration what the command line does not say. Texts that are borrowed from
 * `*own_include`, the caller's, NULL: nothing, and from `a` must outlive `o`. */
static void deepspeed_options_overlay(struct deepspeed_options *o, const struct accelerate_config *a,
                                      char **own_include)
{
    const int64_t machines = a->num_machines ? a->num_machines : 1;
    o->num_nodes = o->num_nodes ? o->num_nodes : a->num_machines;
    o->num_gpus = o->num_gpus ? o->num_gpus : a->num_processes / machines;
    o->hostfile = o->hostfile ? o->hostfile : a->hostfile;
    *own_include = a->gpu_ids && machines == 1 ? xasprintf("localhost:%s", a->gpu_ids) : NULL;
    if (!o->include && !o->exclude) {
        o->include = a->include ? a->include : *own_include;
        o->exclude = a->exclude;
    }
    /* The port only matters if other hosts must reach it. */
    if (machines > 1) {
        o->master_port = o->master_port ? o->master_port : a->main_process_port;
        o->master_addr = o->master_addr ? o->master_addr : a->main_process_ip;
    }
}

/* --- the command --- */

#define LARGEST_CONFIG (16u << 20)

#define NOT_IN_PROGRAM SIZE_MAX

extern char **environ;

/* State of one call. */
struct tuning_call {
    struct deepspeed_options own; /* including what Accelerate's configuration adds */
    struct accelerate_config accelerate;
    const struct deepspeed_options *o;
    char *const *program;
    size_t config_at;
    char *ds_file;
    char *release, *python; /* of DeepSpeed, and who was asked for it; either may be NULL */
    struct json root;
    struct autotuning knobs;
    struct host_list hosts;
    struct tuning_cluster cluster;
    char *hostfile; /* an absolute path; NULL: there is none */
    char *config_file, *own_include;
    struct string_list forwarded;
    struct buffer toml;
    struct tuning_notes notes;
};

/* NULL: there is none. */
static const char *hostfile_of(const struct deepspeed_options *o)
{
    if (o->hostfile)
        return o->hostfile;
    return access(DEFAULT_HOSTFILE, R_OK) == 0 ? DEFAULT_HOSTFILE : NULL;
}

static struct tuning_launcher launcher_of(const struct tuning_call *t)
{
    const struct deepspeed_options *o = t->o;
    /* With a port given by the user, jobs run one at a time and may use all devices. */
    const bool own_devices = t->hosts.count > 0 && !t->hostfile && !o->master_port;
    return (struct tuning_launcher){
        .name = o->launcher,
        .arguments = o->launcher_args,
        .forwarded = t->forwarded.items,
        .config = t->config_file,
        .ds_config = t->config_at != NOT_IN_PROGRAM ? NULL
                     : o->base64                    ? "{ds_config_base64}"
                                                    : "{ds_config}",
        .master_port = o->master_port,
        .master_addr = o->master_addr,
        .module = o->module,
        .no_local_rank = o->no_local_rank,
        .bind_cores = o->bind_cores,
        .hostfile = t->hostfile,
        .includes = t->hosts.count > 0 && !own_devices,
        .own_devices = own_devices,
        .several_hosts = !tuning_cluster_is_one_host(&t->cluster, &t->knobs) && t->cluster.most_nodes != 1,
        .within_slurm = getenv("SLURM_JOB_ID") != NULL,
    };
}

/* --- hosts --- */

static int read_hosts(struct tuning_call *t, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    const struct tuning_launcher launcher = launcher_of(t);
    const bool is_deepspeed = tuning_launcher_is_deepspeed(&launcher);
    const char *hostfile = hostfile_of(o);
    if (hostfile)
        t->hostfile = path_absolute(hostfile);
    return tuning_hosts_read(&(struct tuning_hosts_request){hostfile, o->include, o->exclude, is_deepspeed}, environ,
                             &t->hosts, e);
}

static int count_devices(const struct tuning_call *t, long long *out, struct error *e)
{
    *out = t->o->num_gpus ? t->o->num_gpus : tuning_hosts_least_devices(&t->hosts);
    if (*out > 0 || t->knobs.num_gpus)
        return 0;
    *out = tuning_hosts_own_devices(environ);
    if (*out > 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "this machine has no devices; give the number of devices per host with --num_gpus N, or with "
                     "\"num_gpus\" under \"autotuning\" in %s",
                     t->ds_file);
}

static int make_cluster(struct tuning_call *t, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    struct tuning_cluster *c = &t->cluster;
    if (read_hosts(t, e) < 0 || count_devices(t, &c->devices, e) < 0)
        return -1;
    c->hosts = &t->hosts;
    c->hostfile = t->hostfile;
    c->include = o->include;
    c->exclude = o->exclude;
    c->nodes = o->num_nodes ? o->num_nodes : t->hosts.count ? (long long)t->hosts.count : 1;
    c->most_nodes = t->knobs.num_nodes ? o->num_nodes : 0;
    c->most_devices = t->knobs.num_gpus ? o->num_gpus : 0;
    const struct tuning_launcher launcher = launcher_of(t);
    c->names_hosts =
        launcher.includes && (tuning_launcher_is_deepspeed(&launcher) || tuning_launcher_needs_ssh(&launcher));
    c->here_alone = tuning_launcher_is_deepspeed(&launcher) && !t->hostfile;
    c->exclusive = !tuning_launcher_keeps_apart(&launcher);
    return 0;
}

/* --- the sweep file --- */

static int check_script(const struct tuning_call *t, struct error *e)
{
    const char *script = t->program ? t->program[0] : NULL;
    if (!script)
        return error_set(e, ERROR_USAGE,
                         "no script is given; usage: meshsweep deepspeed [OPTIONS] SCRIPT ARGUMENT... --deepspeed "
                         "FILE");
    bool is_file = !t->o->module && (strchr(script, '/') || length_before(script, ".py"));
    if (is_file && access(script, R_OK) != 0)
        return error_set(e, ERROR_USAGE, "%s: no such script; give its path, or --module for a Python module", script);
    return 0;
}

static int check_config(struct tuning_call *t, const char *named, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    int64_t release = 0;
    if (t->release)
        parse_release(t->release, true, &release);
    if (t->root.kind != JSON_OBJECT)
        return error_set(e, ERROR_USAGE, "%s:1:1: a ds_config is a JSON object", named);
    autotuning_read(named, json_text_find(&t->root, "autotuning"), &t->knobs, &problems);
    ds_check_base(&t->root, named, release, &problems);
    return problems_report(&problems, NULL, e);
}

/* Beside the experiments, since jobs and the final training use both files. */
static int write_plugin(struct tuning_call *t, char **ds_config, struct error *e)
{
    OWNED_BY(autotuning_free) struct autotuning usual;
    OWNED_BY(problems_free) struct problems none = PROBLEMS_INIT;
    autotuning_read(t->o->config_file, NULL, &usual, &none);
    OWNED char *directory = path_beside(t->o->db, usual.exps_dir);
    free(t->config_file);
    return accelerate_config_write_plugin(&t->accelerate, directory, ds_config, &t->config_file, e);
}

/* The path of the ds_config, the caller's. A script that only uses Accelerate has no argument for it. */
static int find_config(struct tuning_call *t, char **named, struct error *e)
{
    struct error none = ERROR_INIT;
    if (ds_arguments_find_config(t->program, &t->config_at, &none) == 0) {
        *named = ds_arguments_config_path(t->program[t->config_at]);
        return 0;
    }
    t->config_at = NOT_IN_PROGRAM;
    if (t->accelerate.ds_config && t->accelerate.instead)
        return error_set(e, ERROR_USAGE,
                         "%s: Accelerate refuses %s beside deepspeed_config_file; move it into that file",
                         t->o->config_file, t->accelerate.instead);
    if (t->accelerate.ds_config) {
        *named = xstrdup(t->accelerate.ds_config);
        return 0;
    }
    if (accelerate_config_is_plugin(&t->accelerate))
        return write_plugin(t, named, e);
    *e = none;
    return -1;
}

/* Transformers' Trainer refuses both together (trainer.py), in each job. */
static int check_fsdp(const struct tuning_call *t, struct error *e)
{
    static const char *const off[] = {"", "false", "False", "0"};
    const char *value = ds_arguments_value(t->program, "--fsdp");
    for (size_t i = 0; value && i < LENGTH(off); i++)
        if (strcmp(value, off[i]) == 0)
            return 0;
    return !value ? 0
                  : error_set(e, ERROR_USAGE,
                              "the script has --fsdp beside a ds_config: both share out the model, and Hugging Face's "
                              "Trainer refuses them together; leave --fsdp out, or tune FSDP with `meshsweep run` and "
                              "the profile fsdp or fsdp2");
}

static int read_config(struct tuning_call *t, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *named = NULL;
    if (find_config(t, &named, e) < 0)
        return -1;
    t->ds_file = path_absolute(named);
    int rc = file_read(named, LARGEST_CONFIG, &text, e);
    if (rc < 0)
        e->kind = ERROR_USAGE;
    rc = rc < 0 ? rc : json_text_parse(named, buffer_text(&text), &t->root, e);
    return rc < 0 ? rc : check_config(t, named, e);
}

static int read_accelerate(struct tuning_call *t, struct error *e)
{
    if (!t->own.config_file)
        return 0;
    t->config_file = path_absolute(t->own.config_file);
    if (accelerate_config_read(t->own.config_file, &t->accelerate, e) < 0)
        return -1;
    deepspeed_options_overlay(&t->own, &t->accelerate, &t->own_include);
    return 0;
}

/* A path is useless on hosts without a shared file system. */
static void send_config_where_needed(struct tuning_call *t)
{
    const char *host = t->hostfile && !t->own.base64 && launcher_of(t).several_hosts
                           ? shared_file_lacking_host(&t->hosts, t->ds_file, environ)
                           : NULL;
    t->own.base64 |= host != NULL;
    if (host)
        output_message("%s does not see %s; each job gets its ds_config in its command instead (--config_base64)", host,
                       t->ds_file);
}

static int write_space(struct tuning_call *t, bool from_smallest, bool trainers, struct error *e)
{
    OWNED_LIST launcher = STRING_LIST_INIT;
    const struct tuning_launcher how = launcher_of(t);
    if (tuning_launcher_add(&how, &launcher, e) < 0)
        return -1;
    char *const all[] = {"*", NULL};
    OWNED_STRINGS secrets = environment_kept_out(environ, (struct environment_passing){.names = all});
    const struct tuning_request request = {.ds_file = t->ds_file,
                                           .root = &t->root,
                                           .knobs = &t->knobs,
                                           .launcher = launcher.items,
                                           .program = t->program,
                                           .config_at = t->config_at,
                                           .version = t->release,
                                           .asked = t->python,
                                           .base64 = t->o->base64,
                                           .cluster = &t->cluster,
                                           .timeout = t->o->timeout,
                                           .host_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                                           .clean = t->o->env_clean,
                                           .secrets = secrets,
                                           .from_smallest = from_smallest,
                                           .trainers = trainers};
    buffer_free(&t->toml);
    string_list_free(&t->notes.sentences);
    return tuning_space_write(&request, &t->toml, &t->notes, e);
}

static int make_sweep(struct tuning_call *t, struct error *e)
{
    if (read_accelerate(t, e) < 0 || deepspeed_options_check(t->o, e) < 0 || check_script(t, e) < 0)
        return -1;
    t->release = t->o->version ? xstrdup(t->o->version) : installed_release(t->o->launcher, environ, &t->python);
    if (check_fsdp(t, e) < 0 || read_config(t, e) < 0 || make_cluster(t, e) < 0)
        return -1;
    send_config_where_needed(t);
    return write_space(t, false, false, e);
}

/* --- tuning --- */

static int run_sweep(const struct tuning_call *t, const char *path, struct error *e)
{
    const struct deepspeed_options *o = t->o;
    struct run_options run = {.config = path,
                              .db = o->db,
                              .jobs = o->jobs,
                              .max_fail = o->max_fail,
                              .pause_after = o->pause_after,
                              .keep_going = o->keep_going,
                              .retry_failed = o->retry_failed,
                              .dry_run = o->dry_run,
                              .stale = o->stale,
                              .tell_stale = true,
                              .progress = o->progress};
    for (size_t i = 0; i < t->notes.sentences.count; i++)
        output_message("%s", t->notes.sentences.items[i]);
    if (t->notes.batches_differ)
        output_message("the global batch differs between configurations, so their steps do different amounts of "
                       "work%s; set train_batch_size to compare at one global batch",
                       strcmp(t->knobs.metric, "throughput") == 0 ? " and they are compared per sample" : "");
    return command_run(&run, &(struct arguments){0}, e);
}

static int write_tree(const struct tuning_call *t, struct tuning_tree *tree, char ***winner, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED char *directory = store_directory(t->o->db);
    tree->job_files = directory;
    return store_open_read_only(t->o->db, &db, e) < 0 ? -1 : tuning_tree_write(tree, db, winner, e);
}

/* Recorded commands have no secrets; they are restored from this process's command line. */
static int launch(const struct tuning_call *t, char **winner, struct error *e)
{
    struct secrets secrets = SECRETS_INIT;
    secrets_add_settings(&secrets, environ, NULL);
    bool whole = secrets_restore_words(&secrets, winner, t->program);
    secrets_free(&secrets);
    if (!whole)
        return error_set(e, ERROR_FAILED,
                         "the winner's command contains secrets, which are not recorded, so it cannot be launched from "
                         "here; meshsweep best prints it with their places marked");
    return process_become(winner, e);
}

/* Reports whether more than half of the jobs that ended failed, and more than half of those for one reason, which it
 * then states. Out of memory is what a tuning finds out, and no such reason. */
static int tell_most_failed(const struct tuning_call *t, bool *most, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED_STMT *s = NULL;
    OWNED_BY(failure_causes_free) struct failure_causes causes = {.list = NULL};
    *most = false;
    int rc = store_open_read_only(t->o->db, &db, e);
    if (rc == 0)
        rc = status_part(db, "SELECT this.id, jobs - pending - running - pruned - held FROM counts, this", NO_VALUES,
                         &s, e);
    if (rc == 0 && (rc = stmt_next(s, e)) > 0 &&
        (rc = failure_causes_read(db, stmt_int(s, 0), STATUS_FAILURES_MOST, &causes, e)) == 0 && causes.list->child) {
        const cJSON *first = causes.list->child;
        const int64_t jobs = json_count_of(first, "jobs"), ended = stmt_int(s, 1);
        *most = 2 * jobs > ended && strcmp(json_text_of(first, "class"), "oom") != 0;
        if (*most)
            output_message("%lld of %lld configurations failed the same way, so the best one may not have been found: "
                           "%s",
                           (long long)jobs, (long long)ended, json_text_or(first, "message", ""));
    }
    return rc;
}

/* With a winner, tuning succeeded, even if some attempts failed. */
static int conclude(const struct tuning_call *t, int status, const char *results_dir, char **winner, struct error *e)
{
    bool most_failed;
    if (status == STATUS_NOTHING) {
        output_message("no configuration can be run, so there is no best one and nothing to launch; meshsweep plan on "
                       "the output of --print-config shows which rules exclude them");
        return STATUS_JOBS_FAILED;
    }
    if (status > STATUS_SIGNAL && winner)
        output_message("interrupted: the best configuration so far is %s/ds_config_best_so_far.json, and its command "
                       "is in %s/cmd_best_so_far.txt; repeat the same command to continue",
                       results_dir, results_dir);
    if (status != STATUS_OK && status != STATUS_JOBS_FAILED)
        return status;
    if (!winner) {
        output_message("no configuration could be run and measured, so there is no best one and nothing to launch; see "
                       "%s/*/reason.txt and meshsweep status for the reasons",
                       results_dir);
        return STATUS_JOBS_FAILED;
    }
    if (tell_most_failed(t, &most_failed, e) < 0)
        return -1;
    output_message("%s configuration is %s/ds_config_optimal.json, its command %s/cmd_optimal.txt%s",
                   most_failed ? "of what is left the best" : "the best", results_dir, results_dir,
                   secrets_are_left_out(winner) ? ", where its secrets are left out" : "");
    if (most_failed)
        return STATUS_JOBS_FAILED;
    if (t->o->autotuning == MODE_TUNE)
        return STATUS_OK;
    if (output_flush_all(e) < 0)
        return -1;
    return launch(t, winner, e);
}

static int check_outputs(const struct tuning_call *t, const char *exps_dir, const char *results_dir, struct error *e)
{
    static const char *const of_experiments[] = {"sweep.toml", NULL};
    static const char *const of_results[] = {"summary.txt",         "ds_config_optimal.json",
                                             "cmd_optimal.txt",     "ds_config_best_so_far.json",
                                             "cmd_best_so_far.txt", NULL};
    char *const read[] = {t->ds_file, t->hostfile};
    struct kept_files kept = {.option = "autotuning.exps_dir",
                              .db_path = t->o->db,
                              .inputs = read,
                              .input_count = t->hostfile ? 2 : 1};
    if (written_files_check(exps_dir, of_experiments, &kept, e) < 0)
        return -1;
    kept.option = "autotuning.results_dir";
    return written_files_check(results_dir, of_results, &kept, e);
}

/* Runs the sweep and writes DeepSpeed's files. */
static int run_tree(const struct tuning_call *t, const char *exps_dir, const char *results_dir, char ***winner,
                    struct error *e)
{
    OWNED char *path = tuning_tree_write_sweep(exps_dir, &t->toml, e);
    int status = path ? run_sweep(t, path, e) : -1;
    struct tuning_tree tree = {NULL, exps_dir, results_dir, t->knobs.metric, status > STATUS_SIGNAL};
    if (status >= 0 && !t->o->dry_run && write_tree(t, &tree, winner, e) < 0)
        status = -1;
    return status;
}

/* Like DeepSpeed's tuner if the first micro-batch does not run. */
static bool may_begin_smaller(const struct tuning_call *t)
{
    long long first;
    const struct json *micro = json_text_find(&t->root, "train_micro_batch_size_per_gpu");
    return micro && json_text_integer(micro, &first) && first > t->knobs.min_micro_batch;
}

/* Returns whether a job ended with what Transformers' Trainer says of a ds_config that differs from its arguments
 * (integrations/deepspeed.py: trainer_config_finalize). 1, 0 or -1. */
static int failed_as_trainers(const struct tuning_call *t, struct error *e)
{
    OWNED_DB *db = NULL;
    int64_t found = 0;
    int rc = store_open_read_only(t->o->db, &db, e);
    if (rc == 0)
        rc = db_query_int(db,
                          "SELECT EXISTS (SELECT 1 FROM attempt WHERE state = 'failed'"
                          " AND log_tail LIKE '%DeepSpeed config values that mismatch TrainingArguments%')",
                          NO_VALUES, 0, &found, e);
    return rc < 0 ? -1 : found != 0;
}

/* Tries what may help where no job ended well, once each. */
static int try_again(struct tuning_call *t, const char *exps_dir, const char *results_dir, char ***winner,
                     struct error *e)
{
    int status = STATUS_JOBS_FAILED;
    const int trainers = failed_as_trainers(t, e);
    if (trainers < 0)
        return -1;
    if (trainers) {
        output_message("the script is one of Hugging Face's Trainer, whose arguments must say what the ds_config says; "
                       "trying once more with --per_device_train_batch_size and the like in each job's command");
        status = write_space(t, false, true, e) < 0 ? -1 : run_tree(t, exps_dir, results_dir, winner, e);
    }
    if (status == STATUS_JOBS_FAILED && !*winner && may_begin_smaller(t)) {
        output_message("nothing runs at the given micro-batch; trying smaller ones");
        status = write_space(t, true, trainers, e) < 0 ? -1 : run_tree(t, exps_dir, results_dir, winner, e);
    }
    return status;
}

static int tune(struct tuning_call *t, struct error *e)
{
    OWNED char *exps_dir = path_beside(t->o->db, t->knobs.exps_dir),
               *results_dir = path_beside(t->o->db, t->knobs.results_dir);
    OWNED_STRINGS winner = NULL;
    int status = check_outputs(t, exps_dir, results_dir, e);
    status = status < 0 ? -1 : run_tree(t, exps_dir, results_dir, &winner, e);
    if (status == STATUS_JOBS_FAILED && !winner && !t->o->dry_run)
        status = try_again(t, exps_dir, results_dir, &winner, e);
    if (status >= 0 && !t->o->dry_run)
        status = conclude(t, status, results_dir, winner, e);
    return status;
}

int command_deepspeed(const struct deepspeed_options *o, const struct arguments *a, struct error *e)
{
    struct tuning_call t = {.own = *o,
                            .program = a->program,
                            .hosts = HOST_LIST_INIT,
                            .forwarded = STRING_LIST_INIT,
                            .toml = BUFFER_INIT};
    t.o = &t.own;
    deepspeed_options_add_forwarded(&t.own, &t.forwarded);
    if (strcmp(t.own.launcher, "pdsh") == 0)
        t.own.launcher = "deepspeed"; /* pdsh is how DeepSpeed's launcher reaches hosts by default */
    if (t.own.progress == PROGRESS_JSON)
        output_set_events();
    int status = make_sweep(&t, e);
    if (status == 0)
        status = t.o->print_config ? output_text(buffer_text(&t.toml), e) : tune(&t, e);
    autotuning_free(&t.knobs);
    json_text_free(&t.root);
    host_list_free(&t.hosts);
    string_list_free(&t.forwarded);
    free_all(t.hostfile, t.config_file, t.own_include);
    accelerate_config_free(&t.accelerate);
    string_list_free(&t.notes.sentences);
    buffer_free(&t.toml);
    free_all(t.ds_file, t.release, t.python);
    return status;
}
