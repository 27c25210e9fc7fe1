#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "compare/comparison.h"
#include "config/meaning.h"
#include "config/own_metrics.h"
#include "database/open.h"
#include "deepspeed/ds_preparation.h"
#include "measures/measures.h"
#include "process/job_file.h"
#include "report/job_command.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/best.h"
#include "results/configurations.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/query.h"
#include "results/status.h"
#include "secrets/secrets.h"
#include "sweep_file/reader.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

#define LARGEST_CONFIG (16 << 20)

/* What is printed, and how the winner was started. */
struct shown_best {
    const struct best_options *options;
    struct db *db;
    struct best best;
    struct job_launch launch;
};

static void release(struct shown_best *f)
{
    best_free(&f->best);
    job_launch_free(&f->launch);
}

static bool has_several(const struct shown_best *f)
{
    return json_count_of(f->best.beside, "winners") > 1;
}

/* NULL: none were kept. The caller's. */
static char *files_of(const struct shown_best *f)
{
    const char *directory = json_text_of(f->best.beside, "directory");
    return !directory            ? NULL
           : directory[0] == '/' ? xstrdup(directory)
                                 : xasprintf("%s/%s", f->launch.job_files, directory);
}

/* --- as files --- */

/* Who may read the database may read it. */
static int write_file(const struct shown_best *f, const char *name, const struct buffer *text, struct error *e)
{
    struct stat status;
    OWNED char *path = xasprintf("%s/%s", f->options->out, name);
    int rc = file_write_like(path, f->options->db, text->data, text->length, e);
    if (rc == 0 && strcmp(name, "command.sh") == 0 &&
        (stat(path, &status) < 0 || chmod(path, status.st_mode | (status.st_mode & 0444) >> 2) < 0))
        rc = error_errno(e, errno, "%s: cannot make it executable", path);
    return rc;
}

/* The command for a script that lies in its job's directory, with the ds_config to train with. The caller's. */
static char *command_of_script(const struct shown_best *f)
{
    OWNED char *files = files_of(f);
    struct job_launch l = f->launch;
    l.command = strings_copy(l.command);
    if (files) {
        OWNED char *config = xasprintf("%s/" DS_CONFIG_FILE, files),
                   *trained = xasprintf("%s/" DS_TRAINING_FILE, files);
        strings_replace(l.command, trained, config);
    }
    char *line = job_command_line(&l, true);
    strings_free(l.command);
    return line;
}

static void add_script(const struct shown_best *f, struct buffer *out)
{
    OWNED char *line = command_of_script(f);
    const char *objective = json_text_of(f->best.document, "objective"), *unit = json_text_of(f->best.document, "unit"),
               *sweep = json_text_or(f->best.document, "sweep", ""),
               *redacted = json_text_of(f->best.document, "secrets_left_out");
    buffer_add_text(out, "#!/bin/sh\n# ");
    text_add_printable(out, objective, strlen(objective), 0, false);
    buffer_add_char(out, ' ');
    text_add_rounded(out, json_real_of(f->best.document, "value"));
    buffer_printf(out, "%s%s, job %lld of sweep ", unit ? " " : "", unit ? unit : "", (long long)best_job(&f->best));
    text_add_printable(out, sweep, strlen(sweep), 0, false);
    buffer_printf(out, "\n%s%s%s", redacted ? "# Secrets are left out; fill them in before you run it: " : "",
                  redacted ? redacted : "", redacted ? "\n" : "");
    buffer_printf(out, "dir=$(cd \"$(dirname \"$0\")\" && pwd) || exit\n%s\n", line);
}

/* Copies the winner's ds_config.json for training, if it had one. */
static int copy_ds_config(const struct shown_best *f, struct error *e)
{
    OWNED char *files = files_of(f);
    static const char *const names[] = {DS_TRAINING_FILE, DS_CONFIG_FILE};
    OWNED_BUFFER text = BUFFER_INIT;
    int fd = -1;
    for (size_t i = 0; files && fd < 0 && i < LENGTH(names); i++) {
        OWNED char *path = xasprintf("%s/%s", files, names[i]);
        fd = job_file_open(path);
    }
    if (fd >= 0 && job_file_read(fd, LARGEST_CONFIG, &text) < 0)
        return error_errno(e, errno, "%s: its ds_config.json cannot be read", files);
    return fd >= 0 ? write_file(f, "ds_config.json", &text, e) : 0;
}

/* Writes what the winner was given by [[job.file]] where its command looks for it: below the script's directory. */
static int write_given(const struct shown_best *f, const struct kept_files *kept, struct error *e)
{
    static const char sql[] =
        "SELECT f.path, t.text FROM job AS j JOIN attempt_file AS f ON f.attempt_id = j.attempt_id"
        " JOIN given_text AS t ON t.id = f.text_id WHERE j.id = ?1 AND f.path NOT IN ('" DS_CONFIG_FILE
        "', '" DS_TRAINING_FILE "') ORDER BY 1";
    OWNED_STMT *s = NULL;
    int rc = db_query(f->db, sql, VALUES(sql_int(best_job(&f->best))), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        OWNED_BUFFER text = BUFFER_INIT;
        OWNED char *path = xasprintf("%s/%s", f->options->out, stmt_text(s, 0));
        OWNED char *above = xstrndup(path, (size_t)(path_name(path) - path));
        if (written_file_check(path, kept, e) < 0 || file_make_directories(above, e) < 0)
            return -1;
        buffer_add_text(&text, stmt_text(s, 1));
        if (strstr(buffer_text(&text), SECRET_REDACTED))
            output_message("%s: secrets are left out; fill them in before you run command.sh", path);
        rc = write_file(f, stmt_text(s, 0), &text, e);
    }
    return rc;
}

static void add_json_line(cJSON *value, struct buffer *out)
{
    OWNED char *text = json_print(value, false);
    buffer_printf(out, "%s\n", text);
}

/* "job.json": of the document what is said of the job. */
static void add_job(const cJSON *document, struct buffer *out)
{
    OWNED_JSON *job = json_document();
    cJSON *item = cJSON_GetObjectItemCaseSensitive(document, "job");
    for (; strcmp(item->string, "full_trainings") != 0; item = item->next)
        cJSON_AddItemReferenceToObject(job, item->string, item);
    add_json_line(job, out);
}

/* The script and what the document says; a sweep file with only the winner, and the files that it needs. */
static int write_out(const struct shown_best *f, struct error *e)
{
    static const char *const names[] = {"command.sh", "job.json", "metrics.json", "sweep.toml", "ds_config.json", NULL};
    const char *directory = f->options->out, *elsewhere = f->launch.measured_elsewhere;
    const struct kept_files kept = {.option = "--out", .db_path = f->options->db, .db = f->db};
    const bool has_command = f->launch.command[0] != NULL;
    OWNED_BUFFER script = BUFFER_INIT, job = BUFFER_INIT, metrics = BUFFER_INIT, sweep = BUFFER_INIT;
    OWNED char *where = xasprintf("job = %lld", (long long)best_job(&f->best));
    const struct result_query alone = {.where = where};
    if (written_files_check(directory, names, &kept, e) < 0)
        return -1;
    if (has_command)
        add_script(f, &script);
    else if (elsewhere)
        output_message("command.sh was not written: no command: the job was measured elsewhere (%s)", elsewhere);
    else
        output_message("command.sh was not written: no command was recorded");
    add_job(f->best.document, &job);
    add_json_line(cJSON_GetObjectItemCaseSensitive(f->best.document, "metrics"), &metrics);
    return file_make_directories(directory, e) < 0 || (has_command && write_file(f, "command.sh", &script, e) < 0) ||
                   write_file(f, "job.json", &job, e) < 0 || write_file(f, "metrics.json", &metrics, e) < 0 ||
                   subset_add_toml(f->db, &alone, &sweep, e) < 0 || write_file(f, "sweep.toml", &sweep, e) < 0 ||
                   sweep_files_copy(f->db, directory, e) < 0 || copy_ds_config(f, e) < 0
               ? -1
               : write_given(f, &kept, e);
}

/* --- the command --- */

/* Says why there is no best job. */
static int say_nothing_ok(const struct shown_best *f, struct error *e)
{
    OWNED_JSON *status = NULL, *best = cJSON_CreateObject();
    OWNED_BUFFER text = BUFFER_INIT;
    if (status_read(f->db, false, 0, &status, NULL, e) < 0)
        return -1;
    const cJSON *states = cJSON_GetObjectItemCaseSensitive(status, "states");
    cJSON_AddItemReferenceToObject(best, "best", f->best.document);
    cJSON_AddItemReferenceToObject(best, "beside", f->best.beside);
    saying_add_sentence("sql/texts/no_best.sql", status, best, &text);
    if (json_count_of(states, "ok") + json_count_of(states, "failed") == 0)
        return error_set(e, ERROR_NOTHING, "%s", buffer_text(&text));
    for (char *rest = text.data, *line; rest && (line = strtok_r(rest, "\n", &rest));)
        output_message("%s", line);
    return STATUS_JOBS_FAILED;
}

static void set_text(cJSON *document, const char *name, const char *text)
{
    cJSON_ReplaceItemInObjectCaseSensitive(document, name,
                                           text && *text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

/* How the winner is run, and what else only the program can tell. */
static int fill(struct shown_best *f, struct error *e)
{
    OWNED char *line = f->launch.command[0] ? job_command_line(&f->launch, false) : NULL, *files = files_of(f),
               *redacted = job_command_redacted(&f->launch);
    cJSON *trainings = NULL;
    if (full_trainings_read(f->db, best_job(&f->best), &trainings, e) < 0)
        return -1;
    cJSON_ReplaceItemInObjectCaseSensitive(f->best.document, "full_trainings", trainings);
    set_text(f->best.document, "shell", line);
    set_text(f->best.document, "secrets_left_out", redacted);
    set_text(f->best.document, "files", files);
    return 0;
}

/* By what share the winner is behind the one without the condition of --subject-to or --memory, if there is one. */
static void compare_without(struct shown_best *f, const struct best *without)
{
    const double value = json_real_of(f->best.document, "value"), other = json_real_of(without->document, "value");
    const bool maximise = strcmp(json_text_of(f->best.document, "better"), "max") == 0;
    const double share = maximise ? 1 - value / other : value / other - 1;
    cJSON *said = isfinite(share) ? cJSON_AddObjectToObject(f->best.document, "without")
                                  : cJSON_AddNullToObject(f->best.document, "without");
    if (isfinite(share)) {
        JSON_ADD(said, JSON_INT("job", best_job(without)), JSON_REAL("value", other));
    }
    json_add_real(f->best.document, "lost_share", share);
}

/* `say`: which part of the text. */
static int print_part(const struct shown_best *f, cJSON *document, const char *say, struct error *e)
{
    cJSON_AddStringToObject(f->best.beside, "say", say);
    return f->options->json ? output_json(document, e)
                            : output_said("sql/texts/best.sql", f->best.document, f->best.beside, e);
}

static int print(struct shown_best *f, struct error *e)
{
    if (fill(f, e) < 0 || (f->options->out && write_out(f, e) < 0))
        return -1;
    batch_notice_say(f->best.beside);
    return device_notice_say(f->db, best_job(&f->best), e) < 0 ? -1 : print_part(f, f->best.document, "winner", e);
}

static int print_groups(const struct shown_best *f, struct error *e)
{
    if (f->options->out)
        return error_set(e, ERROR_USAGE,
                         "--out: there are %lld groups, each with its own winner; choose one with --group",
                         (long long)json_count_of(f->best.beside, "winners"));
    return print_part(f, cJSON_GetObjectItemCaseSensitive(f->best.beside, "groups"), "groups", e);
}

/* --- what if --- */

/* "peak_memory <= 34359738368 B". A share is of the key device_memory or, without one, of the most that a job used. */
static int memory_condition(struct db *db, const struct sweep *sweep, const char *bound, char **out, struct error *e)
{
    const char *metric = sweep_memory_metric(sweep);
    const size_t length = strlen(bound);
    OWNED char *number = xstrndup(bound, length ? length - 1 : 0);
    double percent = 0;
    const bool is_share = length && bound[length - 1] == '%';
    const bool wrong = is_share && (!parse_double(number, &percent) || !(percent > 0) || percent > 100);
    *out = NULL;
    metric = metric ? metric : own_metrics[OWN_DEVICE_MEMORY].name;
    if (wrong)
        return error_set(e, ERROR_USAGE, "--memory %s: must be a size, such as 40GiB, or a percentage up to 100%%",
                         bound);
    if (!is_share)
        *out = xasprintf("%s <= %s", metric, bound);
    else if (db_query_text(db, embedded_text("src/commands/memory_bound.sql"),
                           VALUES(sql_text(metric), sql_real(percent / 100)), out, e) < 0)
        return -1;
    return *out ? 0
                : error_set(e, ERROR_USAGE, "--memory %s: no job has a value of %s, nor a key `device_memory`", bound,
                            metric);
}

static int suppose_conditions(struct db *db, const struct best_options *o, struct error *e)
{
    const struct run_options from = {.db = o->db};
    OWNED_BY(session_close) struct session s = {0};
    OWNED char *memory = NULL;
    if (session_open_recorded(&s, &from, db, e) < 0 ||
        (o->memory && memory_condition(db, s.sweep, o->memory, &memory, e) < 0))
        return -1;
    return measures_suppose(s.space, memory ? memory : o->subject_to, memory ? "--memory" : "--subject-to", db, e);
}

/* Adds the key as [sweep] group_by lists it. */
static int add_group_key(struct db *db, const char *option, const char *word, size_t length, struct string_list *out,
                         struct error *e)
{
    OWNED_LIST found = STRING_LIST_INIT;
    bool replicates = false;
    OWNED char *key = xstrndup(word, length);
    int rc = db_query_texts(db, embedded_text("src/commands/group_key.sql"), VALUES(sql_text(key)), &found, e);
    if (rc == 0 && found.count == 0)
        rc = comparison_key_unknown(db, option, key, e);
    else if (rc == 0 && found.count > 1 && strcmp(found.items[0], key) != 0)
        rc = error_set(e, ERROR_USAGE, "%s %s: several sections have the key; say which: %s or %s", option, key,
                       found.items[0], found.items[1]);
    else if (rc == 0)
        rc = db_query_bool(db,
                           "SELECT 1 FROM meta AS m, json_each(m.value) AS k WHERE m.name = 'replicate'"
                           " AND k.value = ?",
                           VALUES(sql_text(found.items[0])), &replicates, e);
    if (rc == 0 && replicates)
        rc = error_set(e, ERROR_USAGE, "%s %s: it is a replicate key, over whose values means are taken", option, key);
    else if (rc == 0)
        string_list_add(out, xstrdup(found.items[0]));
    return rc;
}

/* Adds layers and num_hosts from "layers=2, num_hosts=1" and from "layers,num_hosts". */
static int add_group_keys(struct db *db, const char *option, const char *text, struct string_list *out, struct error *e)
{
    int rc = 0;
    for (const char *p = text; rc == 0 && *p; p += strcspn(p, ",")) {
        p += strspn(p, ", ");
        rc = add_group_key(db, option, p, strcspn(p, "=,"), out, e);
    }
    return rc;
}

/* `*group`: which group is asked for; NULL: all. */
static int suppose(struct db *db, const struct best_options *o, const char **group, struct error *e)
{
    OWNED_LIST keys = STRING_LIST_INIT;
    OWNED_BUFFER json = BUFFER_INIT;
    bool has_groups = false;
    const bool conditional = o->subject_to || o->memory;
    if (o->subject_to && o->memory)
        return error_set(e, ERROR_USAGE, "best: give only one of --memory and --subject-to");
    if (((conditional || o->group || o->of) && db_allow_temporary(db, e) < 0) ||
        (conditional && suppose_conditions(db, o, e) < 0) ||
        db_query_bool(db, "SELECT 1 FROM meta WHERE name = 'group_by'", NO_VALUES, &has_groups, e) < 0)
        return -1;
    *group = o->group && strchr(o->group, '=') ? o->group : NULL;
    const bool replaces = o->group && !(*group && has_groups);
    if ((replaces && add_group_keys(db, "--group", o->group, &keys, e) < 0) ||
        (!replaces && o->of &&
         db_query_texts(db, "SELECT k.value FROM meta AS m, json_each(m.value) AS k WHERE m.name = 'group_by'",
                        NO_VALUES, &keys, e) < 0) ||
        (o->of && add_group_keys(db, "--of", o->of, &keys, e) < 0))
        return -1;
    for (size_t i = 0; i < keys.count; i++)
        buffer_printf(&json, "%s\"%s\"", i ? "," : "[", keys.items[i]);
    buffer_add_char(&json, ']');
    return keys.count || conditional ? configurations_suppose(db, keys.count ? buffer_text(&json) : NULL, e) : 0;
}

static int answer(struct shown_best *f, struct error *e)
{
    const struct best_options *o = f->options;
    OWNED_BY(release) struct shown_best without = {.db = f->db};
    const struct best none = {NULL, NULL};
    const char *group = NULL;
    if (((o->subject_to || o->memory) && !o->group && !o->of && best_read(f->db, NULL, &without.best, e) < 0) ||
        suppose(f->db, o, &group, e) < 0 || best_read(f->db, group, &f->best, e) < 0)
        return -1;
    if (has_several(f))
        return print_groups(f, e);
    if (best_job(&f->best) < 0)
        return say_nothing_ok(f, e);
    compare_without(f, has_several(&without) ? &none : &without.best);
    if (job_launch_read(f->db, best_job(&f->best), &f->launch, e) < 0)
        return -1;
    job_command_train(&f->launch);
    return print(f, e);
}

int command_best(const struct best_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    OWNED_BY(release) struct shown_best f = {.options = o, .db = db};
    return answer(&f, e);
}
