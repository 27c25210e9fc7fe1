#include "cli/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/search_model.h"
#include "config/failure.h"
#include "deepspeed/tuning_launcher.h"
#include "device/hostfile.h"
#include "measures/learning.h"
#include "measures/measures.h"
#include "space/compile.h"
#include "space/enumerate.h"
#include "space/row_space.h"
#include "ssh/hosts.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"
#include "util/string_list.h"
#include "util/suggest.h"

extern char **environ;

/* --- the space of a sweep file --- */

/* The words before the script; those after it are its arguments. */
static char *launcher_of(const struct job_config *job)
{
    struct buffer words = BUFFER_INIT;
    if (job->command.words && job->command.is_line)
        return xstrdup(job->command.words[2]);
    for (char **word = job->command.words; word && *word && !length_before(*word, ".py"); word++)
        buffer_printf(&words, "%s%s", words.length ? " " : "", *word);
    return buffer_take(&words);
}

char *sweep_space_find_release(struct sweep *sweep)
{
    struct deepspeed_settings *d = &sweep->deepspeed;
    OWNED char *python = NULL;
    char *absent = NULL;
    if (!d->given || d->version)
        return NULL;
    OWNED char *launcher = launcher_of(&sweep->job), *release = installed_release(launcher, environ, &python);
    if (release && parse_release(release, true, &d->version))
        output_message("using rules and keys of DeepSpeed %s, which %s has; to choose another release, set [deepspeed] "
                       "version",
                       release, python);
    else
        absent = xasprintf("%s has no package deepspeed, so the rules of its newest release apply; to choose a "
                           "release, set [deepspeed] version or --ds_version",
                           python);
    return absent;
}

int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e)
{
    struct space *space = NULL;
    /* With problems, the models of [model_space] are not listed, so any name may be one of their keys. */
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

/* --- the sweep file that is recorded --- */

/* A file that cannot be read counts as changed; loading it will report the error. */
static int is_as_recorded(struct db *db, const char *path, bool *yes, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    struct error unread = ERROR_INIT;
    *yes = false;
    return sweep_load(path, &sweep, &unread) < 0 ? 0 : sweep_is_as_recorded(db, sweep, yes, e);
}

static int say_gone(const char *path, const char *db_path, struct error *e)
{
    OWNED char *name = shell_word(db_path);
    error_set(e, ERROR_USAGE,
              "%s: the sweep file of %s no longer exists; name it with -c FILE (sqlite3 %s 'SELECT text FROM "
              "current_sweep' prints the recorded copy)",
              path, db_path, name);
    return -1;
}

/* The first of the NULL-terminated `places` that is as it was recorded, else the first that exists. */
static int choose_recorded(struct db *db, const char *db_path, char *const *places, char **path, struct error *e)
{
    const char *first = NULL;
    for (char *const *place = places; *place; place++) {
        bool is_same;
        if (access(*place, F_OK) < 0)
            continue;
        if (is_as_recorded(db, *place, &is_same, e) < 0)
            return -1;
        if (is_same) {
            *path = xstrdup(*place);
            return 0;
        }
        first = first ? first : *place;
    }
    if (!first)
        return say_gone(places[0], db_path, e);
    output_message("%s, or a file that it includes, has changed since %s recorded it; using it as it is now", first,
                   db_path);
    *path = xstrdup(first);
    return 0;
}

int recorded_sweep_find(struct db *db, const char *db_path, char **path, struct error *e)
{
    OWNED char *recorded = NULL, *directory = NULL;
    *path = NULL;
    if (sweep_read_place(db, &recorded, &directory, e) < 0)
        return -1;
    bool moved = recorded && recorded[0] != '/' && directory;
    OWNED char *there = moved ? xasprintf("%s/%s", directory, recorded) : NULL;
    const char *slash = strrchr(db_path, '/');
    bool is_elsewhere = recorded && recorded[0] != '/' && slash;
    OWNED char *beside = is_elsewhere ? xasprintf("%.*s/%s", (int)(slash - db_path), db_path, recorded) : NULL;
    char *const places[] = {recorded, there ? there : beside, there ? beside : NULL, NULL};
    return recorded ? choose_recorded(db, db_path, places, path, e) : 0;
}

/* --- a session --- */

static int check_class(const char *name, struct error *e)
{
    if (strcmp(name, "all") == 0 || failure_by_name(name) != FAILURE_NONE)
        return 0;
    OWNED_BUFFER hint = BUFFER_INIT;
    struct suggestion meant = SUGGEST(name, i, FAILURE_COUNT - 1, failure_names[i + 1]);
    buffer_add_text(&hint, suggest_between(&meant, " (did you mean `", "`?)"));
    if (!meant.near)
        for (int i = 1; i < FAILURE_COUNT; i++)
            buffer_printf(&hint, "%s%s", i == 1 ? "; must be one of " : ", ", failure_names[i]);
    error_set(e, ERROR_USAGE, "--retry-failed: unknown failure class `%s`%s", name, buffer_text(&hint));
    return -1;
}

/* "3/8". */
static int parse_shard(const char *text, struct shard *out, struct error *e)
{
    char *of, *end = NULL;
    out->number = strtoll(text, &of, 10);
    out->of = *of == '/' ? strtoll(of + 1, &end, 10) : 0;
    if (end && !*end && strspn(text, "0123456789/") == strlen(text) && out->number >= 1 && out->number <= out->of &&
        out->of <= SHARDS_MOST)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "--shard %s: must be K/N, part K of N parts, with 1 <= K <= N <= %d; the third of eight is "
                     "--shard 3/8",
                     text, SHARDS_MOST);
}

/* "timeout,oom" as words; all classes when empty. */
static int parse_classes(const char *text, char ***out, struct error *e)
{
    char **classes = NULL;
    size_t count = 0;
    char *copy = xstrdup(*text ? text : "all"), *rest = NULL;
    int rc = 0;
    for (char *word = strtok_r(copy, ",", &rest); rc == 0 && word; word = strtok_r(NULL, ",", &rest)) {
        rc = check_class(word, e);
        *array_add(classes, count) = xstrdup(word);
    }
    classes = array_grow(classes, count, sizeof *classes);
    classes[count] = NULL;
    free(copy);
    *out = classes;
    return rc;
}

static char *const *given_command(struct session *s, const struct run_options *o, char *const *program)
{
    if (program && program[0])
        return program;
    if (!o->command)
        return NULL;
    s->shell_line[0] = (char *)"/bin/sh";
    s->shell_line[1] = (char *)"-c";
    s->shell_line[2] = (char *)o->command;
    return s->shell_line;
}

static int compile_only(struct session *s, const char *only, struct error *e)
{
    const struct source_text source = {only, UNKNOWN_IS_ERROR, NULL, "--only", only, NULL};
    return compile_alone(s->space, &source, &s->only, e);
}

/* --prune; with "estimate" the file sets the threshold. */
static int set_prune(struct session *s, const char *how, struct error *e)
{
    enum prune *prune = &s->sweep->predict.prune;
    bool by_estimate = *prune == PRUNE_CERTAIN || *prune == PRUNE_RISKY;
    if (strcmp(how, "sound") == 0)
        *prune = PRUNE_SOUND;
    else if (strcmp(how, "off") == 0)
        *prune = PRUNE_OFF;
    else if (strcmp(how, "estimate") != 0)
        return error_set(e, ERROR_USAGE, "--prune %s: must be sound, estimate or off", how);
    else if (!by_estimate)
        *prune = PRUNE_CERTAIN;
    return 0;
}

/* If there are problems, the sweep only serves to find more of them. */
static int load_sweep(struct session *s, const struct run_options *o, struct problems *problems, struct error *e)
{
    if (sweep_read(o->config, &s->sweep, problems, e) < 0)
        return -1;
    if (problems->found > 0)
        return 0;
    if (o->metric && sweep_set_objective(s->sweep, o->metric, e) < 0)
        return error_context(e, "--metric");
    if (!o->search_model)
        return search_model_not_forgotten(s->sweep, e);
    return search_model_need(s->sweep, e) < 0 ? -1 : search_model_fill(s->sweep, e);
}

static int find_devices(struct session *s, bool in_allocation, struct error *e)
{
    const struct local_config *c = &s->sweep->local;
    if (s->by_ssh)
        return ssh_hosts_devices(s->sweep, environ, &s->devices, e);
    if (in_allocation) {
        if (allocation_read(s->system, environ, &s->allocation, e) < 0)
            return -1;
        allocation_devices(&s->allocation, !s->sweep->batch.gpus, s->sweep->batch.cpus_per_task, &s->devices);
        return 0;
    }
    if (c->devices < 0) {
        devices_discover(environ, "", &s->devices);
        return 0;
    }
    s->devices = (struct device_list){.source = "[local] devices"};
    if (c->device_names)
        device_list_add_names(&s->devices, c->device_names);
    else
        device_list_add_count(&s->devices, c->devices);
    return 0;
}

static void add_rule(struct sweep *sweep, const char *name, char *require, char *why, const char *source)
{
    *arena_add(&sweep->arena, sweep->rules, sweep->rule_count) =
        (struct rule){.name = arena_text(&sweep->arena, name),
                      .require = arena_keep(&sweep->arena, require),
                      .why = arena_keep(&sweep->arena, why),
                      .source = arena_text(&sweep->arena, source),
                      .at = {sweep->files[0], 0, 0}};
}

static int read_hosts(const struct sweep *sweep, struct host_list *out, struct error *e)
{
    enum { MOST_BYTES = 1 << 20 };
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *path = path_beside(sweep->path, sweep->local.hostfile);
    int rc = file_read(path, MOST_BYTES, &text, e);
    if (rc == 0)
        rc = hosts_parse(path, buffer_text(&text), out, e);
    if (rc == 0)
        rc = hosts_filter(out, sweep->local.include, sweep->local.exclude, e);
    return rc;
}

/* A rule: enough hosts must have as many devices as a node needs. */
static char *nodes_fit(const size_t *devices, size_t count)
{
    struct buffer require = BUFFER_INIT;
    buffer_add_text(&require, "nodes <= 0");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&require, " + (gpus_per_node <= %zu)", devices[i]);
    return buffer_take(&require);
}

static int exclude_by_hosts(struct session *s, struct error *e)
{
    struct host_list hosts = HOST_LIST_INIT;
    if (read_hosts(s->sweep, &hosts, e) < 0) {
        host_list_free(&hosts);
        return -1;
    }
    OWNED size_t *devices = xcalloc(hosts.count + 1, sizeof *devices);
    for (size_t i = 0; i < hosts.count; i++)
        devices[i] = hosts.hosts[i].device_count;
    add_rule(s->sweep, "devices.exist", nodes_fit(devices, hosts.count),
             xasprintf("the hostfile has %zu host%s with %lld device%s in total", hosts.count,
                       hosts.count == 1 ? "" : "s", (long long)hosts_device_count(&hosts),
                       hosts_device_count(&hosts) == 1 ? "" : "s"),
             s->sweep->local.hostfile);
    host_list_free(&hosts);
    return 0;
}

/* Excludes by the nodes of an allocation or by hosts reached by ssh. */
static void exclude_by_nodes(struct session *s)
{
    const bool is_ssh = s->by_ssh;
    const size_t count = s->devices.count ? s->devices.nodes[s->devices.count - 1] + (size_t)1 : 0;
    OWNED size_t *devices = xcalloc(count + 1, sizeof *devices);
    for (size_t i = 0; i < s->devices.count; i++)
        devices[s->devices.nodes[i]]++;
    add_rule(s->sweep, "devices.exist", nodes_fit(devices, count),
             is_ssh ? xasprintf("[ssh] has %zu host%s with %zu device%s in total", count, count == 1 ? "" : "s",
                                s->devices.count, s->devices.count == 1 ? "" : "s")
                    : xasprintf("the allocation has %zu node%s with %zu device%s in total (%s)", s->allocation.count,
                                s->allocation.count == 1 ? "" : "s", s->devices.count, s->devices.count == 1 ? "" : "s",
                                s->devices.source),
             is_ssh ? "--executor ssh" : "--in-allocation");
}

/* Jobs that need more devices than there are would wait forever, so a rule excludes them. Without a hostfile, the hosts
 * that a launcher can reach are not known. */
static int exclude_larger(struct session *s, struct error *e)
{
    if (s->allocation.job || s->by_ssh) {
        exclude_by_nodes(s);
        return 0;
    }
    if (s->sweep->local.hostfile)
        return exclude_by_hosts(s, e);
    const size_t most = device_list_most(&s->devices);
    if (most > 0)
        add_rule(s->sweep, "devices.exist", xasprintf("nodes > 1 OR gpus_per_node <= %zu", most),
                 most < s->devices.count
                     ? xasprintf("this machine has MIG instances (%s), of which a job can use one", s->devices.source)
                     : xasprintf("this machine has %zu device%s (%s)", s->devices.count,
                                 s->devices.count == 1 ? "" : "s", s->devices.source),
                 s->devices.source);
    return 0;
}

/* Returns whether the key of a cluster_spec has a value but 1. */
static bool has_several(const struct sweep *sweep, const char *key)
{
    for (struct axis_place at = AXES_OF(SECTION_CLUSTER); sweep_next_axis(sweep, &at);)
        for (size_t k = 0; k < at.axis->value_count * at.axis->key_count; k++)
            if (strcmp(at.axis->keys[k % at.axis->key_count], key) == 0 && axis_value(at.axis, k)->integer != 1)
                return true;
    return false;
}

/* The local executor starts a job's command on this machine, and nothing elsewhere. */
static void exclude_other_hosts(struct session *s, const struct run_options *o)
{
    const struct sweep *sweep = s->sweep;
    const bool has_command = s->space_options.command || sweep->job.command.words;
    static const char *const names[] = {"num_hosts", "num_nodes", "nodes"};
    OWNED_BUFFER require = BUFFER_INIT;
    for (size_t i = 0; i < LENGTH(names); i++)
        if (has_several(sweep, names[i]))
            buffer_printf(&require, "%scluster_spec.%s, ", require.length ? "" : "coalesce(", names[i]);
    if (s->system || s->by_ssh || !has_command || o->starts_nothing || o->several_hosts || sweep->local.several_hosts ||
        sweep_is_imported(sweep) || require.length == 0)
        return;
    buffer_add_text(&require, "1) <= 1");
    s->leaves_out_hosts = true;
    add_rule(s->sweep, "hosts.reached", buffer_take(&require),
             xstrdup(
                 "a job runs on this machine alone; for several hosts, use --executor ssh or slurm, or a command that "
                 "itself starts processes on them (mpirun, ssh, deepspeed --hostfile) and [local] several_hosts "
                 "= true"),
             "--executor local");
}

/* For measured tables, keys and jobs come from the database. */
static int build_imported(struct session *s, struct problems *problems, struct error *e)
{
    OWNED_DB *db = NULL;
    if (problems->found > 0)
        return problems_report(problems, s->sweep->files, e);
    if (s->space)
        return 0;
    if (store_exists(s->db_path) && store_open_read_only(s->db_path, &db, e) < 0)
        return -1;
    int rc = recorded_space_build(s->sweep, db, &s->space_options, &s->rows, &s->space, e);
    return rc < 0 || !s->only_text ? rc : compile_only(s, s->only_text, e);
}

static int build(struct session *s, const double *facts, struct problems *problems, struct error *e)
{
    if (sweep_is_imported(s->sweep))
        return build_imported(s, problems, e);
    struct space *space = NULL;
    s->space_options.facts = facts;
    int rc = sweep_space_build(s->sweep, &s->space_options, problems, &s->ds_config, &space, e);
    s->space_options.facts = NULL;
    if (rc < 0)
        return -1;
    s->only = (struct expression){.sql = NULL};
    space_free(s->space);
    s->space = space;
    return s->only_text ? compile_only(s, s->only_text, e) : 0;
}

int session_build(struct session *s, const double *facts, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    return build(s, facts, &problems, e);
}

/* The system that jobs are submitted to; its table of the sweep file counts from now on. */
static int choose_executor(struct session *s, const struct run_options *o, struct error *e)
{
    struct batch_config *other = &s->sweep->batch_other;
    const char *name = o->executor ? o->executor : other->name;
    s->by_ssh = name && strcmp(name, "ssh") == 0;
    if (!name || strcmp(name, "local") == 0)
        s->by_ssh = s->sweep->local.hostfile && !s->sweep->local.several_hosts && !o->several_hosts;
    if (s->by_ssh || !name || strcmp(name, "local") == 0)
        return 0;
    if (batch_system_load(name, o->executor ? NULL : s->sweep->path, &s->system, e) < 0)
        return o->executor
                   ? -1
                   : error_context(e, "%s:%d:%d", other->name_at.file, other->name_at.line, other->name_at.column);
    if (!batch_system_is_slurm(s->system)) {
        const struct batch_config slurm = s->sweep->batch;
        if (!other->name)
            other->name = arena_text(&s->sweep->arena, name);
        s->sweep->batch = *other;
        *other = slurm;
    }
    return 0;
}

/* Applies the command line to the sweep. */
static int prepare(struct session *s, const struct run_options *o, struct error *e)
{
    if (o->prune && set_prune(s, o->prune, e) < 0)
        return -1;
    if (choose_executor(s, o, e) < 0)
        return -1;
    if (o->in_allocation && !(s->system && batch_system_is_slurm(s->system)))
        return error_set(e, ERROR_USAGE, "--in-allocation needs --executor slurm");
    if ((s->system || s->by_ssh) && s->sweep->fixture_count > 0)
        return error_set(e, ERROR_USAGE,
                         "%s:%d: a [[fixture]] is started on the machine of the runner, where jobs of %s do not "
                         "run; use --executor local, or start it in the job's own command",
                         s->sweep->fixtures[0].at.file, s->sweep->fixtures[0].at.line,
                         s->by_ssh ? "ssh" : s->system->title);
    if (o->scaling) {
        sweep_scale(s->sweep, o->scaling);
        return 0;
    }
    exclude_other_hosts(s, o);
    if (s->by_ssh && o->starts_nothing)
        return 0;
    bool here = !s->system || o->in_allocation;
    return here && (find_devices(s, o->in_allocation, e) < 0 || exclude_larger(s, e) < 0) ? -1 : 0;
}

/* The file recorded in the database if none is named and there is no default file; `*path` is the caller's. */
static int find_recorded(const struct run_options *o, char **path, struct error *e)
{
    OWNED_DB *db = NULL;
    if (strcmp(o->config, SWEEP_FILE) != 0 || access(SWEEP_FILE, F_OK) == 0 || !o->db || !store_exists(o->db))
        return 0;
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0)
        rc = recorded_sweep_find(db, o->db, path, e);
    if (rc == 0 && *path)
        output_message("there is no %s here; using %s, which is recorded in %s", SWEEP_FILE, *path, o->db);
    return rc;
}

static int open_named(struct session *s, const struct run_options *o, char *const *program, struct error *e)
{
    *s = (struct session){.only_text = o->only, .db_path = o->db};
    if ((o->retry_failed && parse_classes(o->retry_failed, &s->forced, e) < 0) ||
        (o->shard && parse_shard(o->shard, &s->shard, e) < 0))
        return -1;
    s->space_options = (struct space_options){.manual_timeout_ms = o->manual_timeout_ms,
                                              .command = given_command(s, o, program),
                                              .scaling = o->scaling};
    s->space_options.command_is_line = s->space_options.command == s->shell_line;
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    int rc = load_sweep(s, o, &problems, e);
    if (rc == 0)
        s->release_note = sweep_space_find_release(s->sweep);
    if (rc == 0 && problems.found == 0)
        rc = prepare(s, o, e);
    if (rc == 0)
        rc = build(s, NULL, &problems, e);
    if (rc == 0)
        sweep_space_warn(s->ds_config);
    return rc;
}

int session_open(struct session *s, const struct run_options *o, char *const *program, struct error *e)
{
    struct run_options named = *o;
    OWNED char *path = NULL;
    *s = (struct session){0};
    if (find_recorded(o, &path, e) < 0)
        return -1;
    named.config = path ? path : o->config;
    return open_named(s, &named, program, e);
}

int session_open_recorded(struct session *s, const struct run_options *o, struct db *db, struct error *e)
{
    struct run_options named = *o;
    OWNED char *path = NULL;
    *s = (struct session){0};
    if (!o->config && db && recorded_sweep_find(db, o->db, &path, e) < 0)
        return -1;
    if (!o->config)
        named.config = path ? path : SWEEP_FILE;
    return session_open(s, &named, NULL, e);
}

void session_close(struct session *s)
{
    free(s->release_note);
    device_list_free(&s->devices);
    allocation_free(&s->allocation);
    space_free(s->space);
    row_space_free(s->rows);
    ds_config_free(s->ds_config);
    sweep_free(s->sweep);
    strings_free(s->forced);
    batch_system_free(s->system);
}

int session_use_known(struct session *s, struct db *db, struct error *e)
{
    if (!db)
        return 0;
    return model_info_use_known(s, db, e) < 0 ? -1 : learning_load(s->space, db, e);
}

int session_open_known(struct session *s, const struct run_options *o, struct db **db, struct error *e)
{
    *s = (struct session){0};
    *db = NULL;
    if (store_exists(o->db) && store_open_read_only(o->db, db, e) < 0)
        return -1;
    return session_open_recorded(s, o, *db, e) < 0 ? -1 : session_use_known(s, *db, e);
}

int session_open_store(const char *path, struct db **out, struct error *e)
{
    return session_open_store_with(path, NULL, out, e);
}

int session_open_store_with(const char *path, const struct store_opening *o, struct db **out, struct error *e)
{
    OWNED char *notice = NULL;
    int rc = store_open(path, o, out, &notice, e);
    if (notice)
        output_message("%s", notice);
    return rc;
}

bool session_is_narrowed(const struct session *s)
{
    return s->only.sql || s->shard.of > 0;
}

int session_narrow(const struct session *s, struct db *db, int64_t sweep_id, struct error *e)
{
    int64_t others;
    if (s->only.sql && enumerate_select(s->space, db, &s->only, e) < 0)
        return -1;
    if (s->shard.of == 0)
        return db_exec(db, "DELETE FROM meta WHERE name = 'shard'", e);
    if (selection_take_shard(db, sweep_id, s->only.sql != NULL, &s->shard, &others, e) < 0)
        return -1;
    output_message("shard %lld/%lld: %lld jobs belong to other shards", (long long)s->shard.number,
                   (long long)s->shard.of, (long long)others);
    return 0;
}
