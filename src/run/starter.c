#include "run/starter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/db.h"
#include "process/environment.h"
#include "process/job_file.h"
#include "process/process.h"
#include "run/scripts.h"
#include "space/identity.h"
#include "space/job_texts.h"
#include "space/launch.h"
#include "store/jobs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

void running_attempt_free(struct running_attempt *f)
{
    job_details_free(&f->job);
    free_all(f->directory, f->job_dir, (char *)f->start.command_json, (char *)f->start.environment_json,
             (char *)f->start.scripts_json, (char *)f->start.reference, (char *)f->start.given, (char *)f->start.host,
             (char *)f->start.devices, f->devices, f->cpus, f->hosts, f->kept, f->conditions, f->fixtures,
             f->fixture_died, (int64_t *)f->start.fixtures);
    places_free(&f->failed);
    given_files_free(&f->start.files);
}

int starter_open(struct starter *s, struct db *db, struct error *e)
{
    const struct sweep *sweep = s->space->sweep;
    const char *slash = strrchr(sweep->path, '/');
    if (job_loader_create(s->space, db, &s->loader, e) < 0)
        return -1;
    s->db = db;
    s->config_directory = slash ? xstrndup(sweep->path, (size_t)(slash - sweep->path)) : xstrdup(".");
    s->scripts = scripts_create();
    s->base_environment = environment_base(s->runner_environment, job_passing(&sweep->job));
    return 0;
}

void starter_close(struct starter *s)
{
    job_loader_free(s->loader);
    strings_free(s->base_environment);
    scripts_free(s->scripts);
    free_all(s->config_directory, s->given);
}

/* --- rendezvous --- */

enum { PORT_FIRST = 10000, PORT_AFTER = 29400 };

/* Launchers that take their port from nowhere but their arguments. */
static const struct {
    const char *program, *option, *otherwise;
} launchers[] = {
    {"deepspeed", "--master_port", "29500"},
    {"accelerate", "--main_process_port", "29500"},
};

static const char *const port_options[] = {"--master_port",       "--master-port",   "--main_process_port",
                                           "--main-process-port", "--rdzv_endpoint", "--rdzv-endpoint"};

/* The port of an attempt: that of no other that runs beside it. Below the ports that the kernel gives to clients and
 * below those that launchers take where none is named (29400, 29500). */
static int rendezvous_port(int64_t attempt_id)
{
    /* Those of one runner are consecutive attempts. */
    return (int)(PORT_FIRST + (getpid() * 64LL + attempt_id) % (PORT_AFTER - PORT_FIRST));
}

/* MASTER_PORT, and PET_MASTER_PORT, which is what torchrun reads: `port`, or what the user's own settings of the job
 * (`declared`) and those that were passed on (`base`) say. The list is NULL-terminated and the caller's. */
static char **rendezvous_settings(int port, char *const *base, char *const *declared)
{
    const char *own = environment_value(declared, "MASTER_PORT");
    const char *pet = environment_value(declared, "PET_MASTER_PORT");
    own = own ? own : environment_value(base, "MASTER_PORT");
    pet = pet ? pet : environment_value(base, "PET_MASTER_PORT");
    char **settings = xcalloc(3, sizeof *settings);
    settings[0] = own ? xasprintf("MASTER_PORT=%s", own) : xasprintf("MASTER_PORT=%d", port);
    settings[1] = pet ? xasprintf("PET_MASTER_PORT=%s", pet) : xasprintf("PET_%s", settings[0]);
    return settings;
}

static bool names_option(char *const *words, const char *option)
{
    size_t length = strlen(option);
    for (; *words; words++)
        if (strncmp(*words, option, length) == 0 && ((*words)[length] == '\0' || (*words)[length] == '='))
            return true;
    return false;
}

/* A text without a placeholder is the same for every job; "" hides all devices. */
static const struct setting *fixed_variable(const struct job_config *job, const char *ending)
{
    for (size_t i = 0; i < job->environment_count; i++) {
        const struct setting *s = &job->environment[i];
        const char *end = strstr(s->name, ending);
        if (end && end[strlen(ending)] == '\0' && *s->value && !strchr(s->value, '{'))
            return s;
    }
    return NULL;
}

/* The value of such an option that is a port, "29501" or "localhost:29501", in every job; NULL: none. */
static const char *fixed_port(char *const *words, const char **option)
{
    for (; *words; words++) {
        *option =
            FIND(i, LENGTH(port_options), names_option((char *[]){*words, NULL}, port_options[i]), port_options[i]);
        const char *equals = strchr(*words, '='), *value = equals ? equals + 1 : words[1] ? words[1] : "";
        const char *colon = strrchr(value, ':'), *port = colon ? colon + 1 : value;
        if (*option && *port >= '1' && *port <= '9')
            return value;
    }
    return NULL;
}

char *rendezvous_warning(const struct job_config *job, bool has_devices)
{
    const struct setting *port = fixed_variable(job, "MASTER_PORT"), *devices = fixed_variable(job, "VISIBLE_DEVICES");
    const char *option, *value;
    if (port || devices)
        return xasprintf("%s of [job] env is %s for every job, so jobs that run at the same time on one machine would "
                         "%s; leave it out, or run one job at a time with -j 1",
                         port ? port->name : devices->name, port ? port->value : devices->value,
                         port ? "collide" : "share them");
    if (!job->command.words || !job->command.words[0])
        return NULL;
    if ((value = fixed_port(job->command.words, &option)))
        return xasprintf("%s is %s for every job, so jobs that run at the same time on one machine would collide; "
                         "write "
                         "{master_port} instead of the port, or run one job at a time with -j 1",
                         option, value);
    if (has_devices && strcmp(path_name(job->command.words[0]), "deepspeed") == 0 &&
        names_option(job->command.words + 1, "--num_gpus"))
        return xstrdup(
            "deepspeed --num_gpus takes devices 0, 1, …, whichever the job is given, so jobs that run at the "
            "same time would share them; set exclusive = true in [local], or give it "
            "--include=localhost:{devices} instead");
    for (size_t i = 0; i < LENGTH(launchers); i++)
        if (strcmp(path_name(job->command.words[0]), launchers[i].program) == 0 &&
            !names_option(job->command.words + 1, launchers[i].option))
            return xasprintf("%s uses port %s by default, so jobs that run at the same time on one machine would "
                             "collide; give it %s={master_port}, or run one job at a time with -j 1",
                             launchers[i].program, launchers[i].otherwise, launchers[i].option);
    return NULL;
}

/* --- starting --- */

/* Takes `text`. */
static char *redacted(const struct secrets *secrets, char *text)
{
    char *public = secrets_redact(secrets, text);
    free(text);
    return public;
}

static char *public_command(const struct secrets *secrets, char *const *command)
{
    OWNED_STRINGS words = secrets_redact_words(secrets, command);
    OWNED_BUFFER json = BUFFER_INIT;
    strings_add_json(words, &json);
    /* Also what only JSON's escapes make of a known value. */
    return secrets_redact_values(secrets, buffer_text(&json));
}

/* Returns the variables that no setting of the user's replaces. */
static char **own_settings(const struct running_attempt *f, const struct job_details *job)
{
    char **settings = xcalloc(7, sizeof *settings);
    settings[0] = xasprintf("MESHSWEEP_JOB=%lld", (long long)f->claim.job_id);
    settings[1] = xasprintf("MESHSWEEP_JOB_KEY=%s", f->key_hex);
    settings[2] = xasprintf("MESHSWEEP_JOB_DIR=%s", f->job_dir);
    settings[3] = xasprintf("MESHSWEEP_NUMBER=%lld", (long long)f->claim.number);
    settings[4] = xasprintf("MESHSWEEP_SPEC=%s", job->spec_json);
    if (f->devices)
        settings[5] = xasprintf("MESHSWEEP_DEVICES=%s", f->devices);
    return settings;
}

/* The devices that it is given, and the address at which its processes meet; [job] env may say otherwise. */
static char **device_settings(const struct running_attempt *f, char *const *base)
{
    char **settings = xcalloc(4, sizeof *settings);
    if (!f->devices)
        return settings;
    settings[0] = xasprintf("CUDA_VISIBLE_DEVICES=%s", f->devices);
    settings[1] = xasprintf("HIP_VISIBLE_DEVICES=%s", f->devices);
    if (!environment_value(base, "MASTER_ADDR"))
        settings[2] = xstrdup("MASTER_ADDR=127.0.0.1");
    return settings;
}

static char **environment_of(const struct starter *s, const struct running_attempt *f, const struct launch_texts *texts)
{
    char *const *declared = texts->environment;
    OWNED_STRINGS own = own_settings(f, &f->job);
    OWNED_STRINGS devices = device_settings(f, s->base_environment);
    OWNED_STRINGS ports = rendezvous_settings(rendezvous_port(f->claim.attempt_id), s->base_environment, declared);
    OWNED_STRINGS shared = f->fixtures ? fixtures_settings(s->fixtures, f->fixtures, s->space->fixture_count) : NULL;
    OWNED_STRINGS base = environment_with(s->base_environment, devices, shared);
    OWNED_STRINGS given = environment_with(base, NULL, ports);
    environment_drop(given, texts->unset);
    return environment_with(given, declared, own);
}

/* Returns what [job] env set, as it is recorded: with PWD where [job] cwd gives it a directory of its own. */
static char *shown_environment(const struct starter *s, const struct launch_texts *texts)
{
    OWNED char *directory = texts->directory ? path_absolute(texts->directory) : NULL;
    char *own[] = {directory ? xasprintf("PWD=%s", directory) : NULL, NULL};
    OWNED_STRINGS shown = environment_with(NULL, texts->environment, own);
    char *json = environment_declared_json(shown, s->space->sweep->job.secrets);
    free(own[0]);
    return redacted(s->secrets, json);
}

static struct attempt_start describe_start(const struct starter *s, const struct running_attempt *f,
                                           const struct launch_texts *texts, const struct location *where)
{
    return (struct attempt_start){
        .attempt_id = f->claim.attempt_id,
        .slot = where->slot,
        .pid = where->process.pid,
        .start_ticks = where->process.start_ticks,
        .started_ms = clock_wall_ms(),
        .command_json = public_command(s->secrets, texts->command),
        .environment_json = shown_environment(s, texts),
        .directory = s->space->needs_job_dir || s->executor->methods->jobs_survive ? f->directory : NULL,
        .waits = s->executor->methods->jobs_survive ? WAITS_UNSUBMITTED : NULL,
    };
}

/* The command with what binds it to its processors; words borrowed, the array the caller's. */
static char **bound(const struct running_attempt *f, char **command)
{
    size_t count = 0;
    while (command[count])
        count++;
    char **words = xcalloc(count + 5, sizeof *words);
    size_t n = 0;
    if (f->cpus) {
        words[n++] = (char *)"taskset";
        words[n++] = (char *)"-c";
        words[n++] = f->cpus;
    }
    memcpy(words + n, command, count * sizeof *words);
    return words;
}

static void start_process(struct starter *s, struct running_attempt *f, const struct launch_texts *texts,
                          const char *not_prepared)
{
    const struct job_details *job = &f->job;
    OWNED_STRINGS environment = environment_of(s, f, texts);
    char **command = bound(f, texts->command);
    const struct launch launch = {
        .attempt = f->claim.attempt_id,
        .argv = command,
        .environment = environment,
        .declared = texts->environment,
        .directory = texts->directory,
        .job_dir = f->job_dir,
        .make_job_dir = s->space->needs_job_dir,
        .not_prepared = not_prepared,
        .timeout_ms = job->limit_ms[LIMIT_TOTAL],
        .idle_timeout_ms = job->limit_ms[LIMIT_IDLE],
        .startup_timeout_ms = job->limit_ms[LIMIT_STARTUP],
        .grace_ms = s->space->sweep->job.grace_ms,
    };
    /* Before the job can change them. */
    OWNED char *scripts = scripts_json(s->scripts, texts->command, texts->directory, f->job_dir);
    const struct location where = s->executor->methods->start(s->executor, &launch, f);
    f->start = describe_start(s, f, texts, &where);
    /* Names of files are no names of secrets. */
    f->start.scripts_json = scripts ? secrets_redact_values(s->secrets, scripts) : NULL;
    f->start.given = job->given ? xstrdup(job->given) : NULL;
    f->start.devices = f->devices ? xstrdup(f->devices) : NULL;
    f->start.fixtures = f->fixtures ? fixtures_starts(s->fixtures, f->fixtures) : NULL;
    free(command);
}

char *attempt_directory_name(const char *key_hex, int64_t number, int again)
{
    return again < 2 ? xasprintf("%.16s/%lld", key_hex, (long long)number)
                     : xasprintf("%.16s/%lld-%d", key_hex, (long long)number, again);
}

/* Takes `name`. */
static void set_directory(const struct starter *s, struct running_attempt *f, char *name)
{
    free_all(f->directory, f->job_dir);
    f->directory = name;
    f->job_dir = xasprintf("%s/%s", s->directory, name);
}

static int load_job(struct starter *s, struct running_attempt *f, struct error *e)
{
    int rc = job_loader_read(s->loader, f->claim.job_id, &f->job, e);
    if (rc == 0)
        return error_set(e, ERROR_FAILED, "job %lld does not exist", (long long)f->claim.job_id);
    if (rc < 0)
        return -1;
    hash_hex(&f->job.key, f->key_hex);
    for (int i = 0; f->claim.full && !f->claim.profile && i < LIMIT_COUNT; i++)
        f->job.limit_ms[i] = i == LIMIT_TOTAL ? s->space->sweep->search.full_timeout_ms : 0;
    if (f->claim.number < 2)
        return 0;
    if (s->space->fixture_count &&
        db_query_int(s->db,
                     "SELECT count(*) FROM fixture_start JOIN attempt AS a ON a.id = ended_under WHERE a.job_id = ?",
                     VALUES(sql_int(f->claim.job_id)), 0, &f->fixture_deaths, e) < 0)
        return -1;
    return places_of_failures(s->db, f->claim.job_id, &f->failed, e);
}

int starter_load(struct starter *s, struct running_attempt *f, struct error *e)
{
    if (load_job(s, f, e) < 0)
        return -1;
    struct stat status;
    for (int again = 1; again == 1 || lstat(f->job_dir, &status) == 0; again++)
        set_directory(s, f, attempt_directory_name(f->key_hex, f->claim.number, again));
    return 0;
}

int starter_resume(struct starter *s, const struct recovered_attempt *left, struct running_attempt *f, struct error *e)
{
    *f = (struct running_attempt){.claim = left->claim, .start_recorded = left->started};
    if (load_job(s, f, e) < 0)
        return -1;
    set_directory(s, f,
                  left->directory ? xstrdup(left->directory) : attempt_directory_name(f->key_hex, f->claim.number, 1));
    f->start = (struct attempt_start){
        .attempt_id = left->claim.attempt_id,
        .slot = -1,
        .started_ms = clock_wall_ms(),
        .directory = s->space->needs_job_dir ? f->directory : NULL,
        .reference = left->reference ? xstrdup(left->reference) : NULL,
    };
    return 0;
}

/* --- what jobs were given --- */

static void note_given(struct starter *s, const struct running_attempt *f)
{
    OWNED_BUFFER b = BUFFER_INIT;
    const struct job_details *job = &f->job;
    const struct job_shape shape = job_shape_of(&s->space->sweep->batch, job->spec_json, job->devices);
    identity_add_given(s->space, job->values, &b);
    buffer_add(&b, &job->devices, sizeof job->devices);
    buffer_add(&b, &shape, sizeof shape);
    buffer_add(&b, &job->memory_mib, sizeof job->memory_mib);
    /* The files that are made for it. */
    if (s->preparation)
        buffer_add_text(&b, job->spec_json);
    *array_add(s->given, s->given_count) = (struct given_inputs){hash_bytes(b.data, b.length), f->claim.job_id};
}

static int compare_given(const void *a, const void *b)
{
    const struct given_inputs *x = a, *y = b;
    const int order = memcmp(&x->hash, &y->hash, sizeof x->hash);
    return order ? order : (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

int64_t starter_count_same(struct starter *s, int64_t *different)
{
    int64_t same = 0;
    *different = 0;
    array_sort(s->given, s->given_count, compare_given);
    for (size_t i = 0, next; i < s->given_count; i = next) {
        int64_t jobs = 1;
        for (next = i + 1;
             next < s->given_count && memcmp(&s->given[next].hash, &s->given[i].hash, sizeof s->given[i].hash) == 0;
             next++)
            jobs += s->given[next].job_id != s->given[next - 1].job_id;
        same += jobs > 1 ? jobs : 0;
        *different += jobs > 1;
    }
    return same;
}

/* Writes the file where the job will look for it. */
static int write_file(const char *job_dir, const struct given_file *file, bool share, struct error *e)
{
    OWNED char *path = xasprintf("%s/%s", job_dir, file->path);
    OWNED char *directory = xstrndup(path, (size_t)(path_name(path) - path) - 1);
    int in = job_directory_make(directory), fd = in < 0 ? -1 : job_file_create(in, path_name(path), 0);
    int rc = fd < 0 ? -1 : file_write_all(fd, file->text, strlen(file->text));
    if (rc < 0)
        error_errno(e, errno, "%s", path);
    if (share && rc == 0)
        job_file_share(path);
    descriptor_close(&in);
    descriptor_close(&fd);
    return rc;
}

static int write_files(const struct starter *s, const struct running_attempt *f, const struct given_files *files,
                       struct error *e)
{
    for (size_t i = 0; i < files->count; i++)
        if (write_file(f->job_dir, &files->items[i], s->space->sweep->share, e) < 0)
            return -1;
    return 0;
}

/* Makes what the job finds in its directory, and notes it as it is recorded. NULL, or why not: the caller's. */
static char *prepare(const struct starter *s, const struct running_attempt *f, char **made, struct given_files *files)
{
    struct error e = ERROR_INIT;
    const struct preparation *p = s->preparation;
    int rc = p ? p->make(p->context, f->job.spec_json, f->job_dir, files, made, &e) : 0;
    for (size_t i = 0; i < s->space->file_count; i++)
        made[RUNTIME_FILE(i)] = xasprintf("%s/%s", f->job_dir, s->space->sweep->job.files[i].path);
    if (rc == 0)
        rc = job_files_render(s->space, f->job.values, (const char *const *)made, files, &e);
    if (rc == 0)
        rc = write_files(s, f, files, &e);
    for (size_t i = 0; i < files->count; i++)
        files->items[i].text = redacted(s->secrets, files->items[i].text);
    return rc == 0 ? NULL : xasprintf("its files cannot be created: %s", e.text);
}

static void replace_command(const struct starter *s, const struct running_attempt *f, struct launch_texts *texts)
{
    if (!s->preparation || !texts->command[0])
        return;
    char **command = s->preparation->command(s->preparation->context, f->job.spec_json, texts->command);
    for (char **p = texts->command; *p; p++)
        free(*p);
    free(texts->command);
    texts->command = command;
}

/* Returns the texts that every attempt has. */
static char **runtime_of(const struct starter *s, const struct running_attempt *f)
{
    char **runtime = xcalloc(RUNTIME_FIXTURE(s->space, s->space->fixture_count), sizeof *runtime);
    runtime[RUNTIME_JOB_DIR] = xstrdup(f->job_dir);
    runtime[RUNTIME_JOB_KEY] = xstrdup(f->key_hex);
    runtime[RUNTIME_ATTEMPT] = xasprintf("%lld", (long long)f->claim.number);
    runtime[RUNTIME_CONFIG_DIR] = xstrdup(s->config_directory);
    runtime[RUNTIME_MASTER_PORT] = xasprintf("%d", rendezvous_port(f->claim.attempt_id));
    runtime[RUNTIME_DEVICES] = f->devices ? xstrdup(f->devices) : NULL;
    runtime[RUNTIME_HOSTS] = xstrdup(f->hosts ? f->hosts : "localhost");
    return runtime;
}

void starter_start(struct starter *s, struct running_attempt *f)
{
    struct launch_texts texts;
    struct given_files files = {NULL, 0};
    char **runtime = runtime_of(s, f);
    if (f->fixtures)
        fixtures_runtime(s->fixtures, f->fixtures, (const char **)runtime);
    OWNED char *not_prepared = prepare(s, f, runtime, &files);
    launch_texts_render(s->space, &f->job, (const char *const *)runtime, &texts);
    note_given(s, f);
    replace_command(s, f, &texts);
    if (f->claim.profile)
        launch_texts_profile(s->space, &f->job, (const char *const *)runtime, &texts);
    start_process(s, f, &texts, not_prepared);
    f->start.files = files;
    launch_texts_free(&texts);
    blocks_free((void *const *)runtime, RUNTIME_FILE(s->space->file_count));
    free(runtime);
}

/* --- whether the first can start --- */

/* The text where it is the same for every job, the caller's; else NULL. */
static char *text_of_all(const struct space *space, const struct template *t)
{
    const char *path = space->sweep->path, *slash = strrchr(path, '/');
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->parts[i].is_placeholder) {
            buffer_add_text(&b, t->parts[i].text);
        } else if (t->parts[i].slot == -(int)RUNTIME_CONFIG_DIR && !t->parts[i].option) {
            buffer_add(&b, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
        } else {
            buffer_free(&b);
            return NULL;
        }
    }
    return buffer_take(&b);
}

static int not_there(const struct start_check *c, const char *what, int number, struct error *e)
{
    const struct position *at = &c->space->sweep->job.command.at;
    return error_set(e, ERROR_USAGE, "%s:%d: no job can be started: %s: %s",
                     at->file ? at->file : c->space->sweep->path, at->line, what, strerror(number));
}

static int check_directory(const struct start_check *c, const char *directory, struct error *e)
{
    struct stat status;
    int number = stat(directory, &status) < 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (number == 0)
        return 0;
    OWNED char *what = xasprintf("the working directory %s", directory);
    not_there(c, what, number, e);
    return -1;
}

/* 0, or why it cannot be run. */
static int find_program(const struct start_check *c, const char *program, const char *directory)
{
    int number = 0;
    if (strchr(program, '/')) {
        OWNED char *path = program[0] == '/' || !directory ? xstrdup(program) : xasprintf("%s/%s", directory, program);
        number = access(path, X_OK) < 0 ? errno : 0;
        return number;
    }
    OWNED_STRINGS environment = environment_base(c->environment, job_passing(&c->space->sweep->job));
    OWNED char *found = process_find_program(program, environment, directory, &number);
    const struct job_config *job = &c->space->sweep->job;
    return found || ANY(i, job->environment_count, strcmp(job->environment[i].name, "PATH") == 0) ? 0 : number;
}

static int check_program(const struct start_check *c, const char *program, const char *directory, struct error *e)
{
    int number = find_program(c, program, directory);
    if (number == 0)
        return 0;
    OWNED char *what = xasprintf("the program %s", program);
    not_there(c, what, number, e);
    return -1;
}

/* One that is declared and another for each job has its relative programs elsewhere. */
static int check_here(const struct start_check *c, struct error *e)
{
    const struct space *space = c->space;
    bool is_declared = space->sweep->job.directory != NULL;
    OWNED char *directory = is_declared ? text_of_all(space, &space->directory) : NULL;
    OWNED char *program = space->command.count > 0 ? text_of_all(space, &space->command.items[0]) : NULL;
    int rc = directory ? check_directory(c, directory, e) : 0;
    if (rc == 0 && program && (directory || !is_declared))
        rc = check_program(c, program, directory, e);
    return rc;
}

static int check_launcher(const struct start_check *c, struct error *e)
{
    int number = 0;
    OWNED char *found = process_find_program(c->launcher, c->environment, NULL, &number);
    return found ? 0
                 : error_set(e, ERROR_USAGE, "no job can be started: %s was not found here: %s", c->launcher,
                             strerror(number));
}

int start_check(const struct start_check *c, struct error *e)
{
    /* Those that are held or pruned, too. Each part has an index of its own; there is none of all that is pending. */
    static const char sql[] =
        "SELECT EXISTS (SELECT 1 FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL"
        "  AND held IS NULL) OR EXISTS (SELECT 1 FROM job WHERE held IS NOT NULL AND sweep_id = ?1)"
        " OR EXISTS (SELECT 1 FROM job WHERE witness_id IS NOT NULL AND sweep_id = ?1)";
    bool due = false;
    int rc = db_query_bool(c->db, sql, VALUES(sql_int(c->sweep_id)), &due, e);
    if (rc < 0 || !due)
        return rc;
    return c->launcher ? check_launcher(c, e) : check_here(c, e);
}
