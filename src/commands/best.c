#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "answers/conditions_report.h"
#include "cli/batch_notice.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/sweep_files.h"
#include "cli/written_file.h"
#include "compare/comparison.h"
#include "config/meaning.h"
#include "config/own_metrics.h"
#include "database/open.h"
#include "deepspeed/training_command.h"
#include "measures/measures.h"
#include "process/job_file.h"
#include "report/full_training.h"
#include "report/group_winners.h"
#include "report/job_command.h"
#include "report/text.h"
#include "results/best.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/status.h"
#include "results/subset.h"
#include "secrets/secrets.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

#define LARGEST_CONFIG (16 << 20)
#define PARETO_LISTED 20

struct best_options {
    const char *db, *out, *group, *of, *subject_to, *memory;
    bool json;
};

#define AT(member) offsetof(struct best_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION(STRING, "out", AT(out), "DIR",
           "write command.sh, job.json, metrics.json, sweep.toml and ds_config.json to this directory, and the job's "
           "files"),
    OPTION(STRING, "group", AT(group), "GROUP|KEYS",
           "show the winner of this group (KEY=VALUE, or a part of its text), or of each group of these keys, in "
           "place of "
           "[sweep] group_by"),
    OPTION(STRING, "of", AT(of), "KEY", "show the winner for each value of this key", .offer = OFFER_KEYS),
    OPTION(STRING, "subject-to", AT(subject_to), "SQL",
           "what would win under this condition, in place of [sweep] subject_to: 'peak_memory <= 40 GiB'"),
    OPTION(STRING, "memory", AT(memory), "SIZE|PERCENT",
           "the same with that much memory at most, 40GiB or 50% of `device_memory` (else of the most measured), and "
           "what "
           "that loses"),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

/* --- pieces of text --- */

/* The winner's command as a shell line; NULL if none was run here. The caller's. */
static char *command_of(const struct best *b)
{
    return b->launch.command[0] ? job_command_line(&b->launch, false) : NULL;
}

/* The caller's. */
static char *why_no_command(const struct best *b)
{
    return b->launch.measured_elsewhere
               ? xasprintf("no command: the job was measured elsewhere (%s)", b->launch.measured_elsewhere)
               : xstrdup("no command was recorded");
}

static char *files_of(const struct best *b)
{
    if (!b->directory)
        return NULL;
    return b->directory[0] == '/' ? xstrdup(b->directory) : xasprintf("%s/%s", b->launch.job_files, b->directory);
}

static void add_value(const struct best *b, double value, struct buffer *out)
{
    text_add_rounded(out, value);
    buffer_printf(out, "%s%s", b->unit[0] ? " " : "", b->unit);
}

static void add_line(struct buffer *out, const char *text)
{
    text_add_printable(out, text, strlen(text), 0, false);
    buffer_add_char(out, '\n');
}

static const struct job_key *find_key(const struct best_job *job, const struct job_key *key)
{
    for (size_t i = 0; i < job->keys.count; i++)
        if (strcmp(job->keys.items[i].section, key->section) == 0 && strcmp(job->keys.items[i].name, key->name) == 0)
            return &job->keys.items[i];
    return NULL;
}

/* Returns whether the winner lacks the key or has another value. */
static bool is_difference(const struct best_job *winner, const struct job_key *key)
{
    const struct job_key *same = find_key(winner, key);
    return !same || strcmp(same->text, key->text) != 0;
}

/* --- as text --- */

static void add_keys(const struct best_job *job, struct buffer *out)
{
    size_t width = 0;
    for (size_t i = 0; i < job->keys.count; i++) {
        OWNED char *title = job_key_title(&job->keys, &job->keys.items[i]);
        width = strlen(title) > width ? strlen(title) : width;
    }
    for (size_t i = 0; i < job->keys.count; i++) {
        OWNED char *title = job_key_title(&job->keys, &job->keys.items[i]);
        buffer_printf(out, "  %-*s  ", (int)width, title);
        add_line(out, job->keys.items[i].text);
    }
}

/* ", zero_stage 1, …": keys that differ from the winner's. */
static void add_differences(const struct best *b, const struct job_keys *keys, struct buffer *out)
{
    for (size_t i = 0; i < keys->count; i++) {
        const struct job_key *key = &keys->items[i];
        if (!is_difference(&b->jobs[0], key))
            continue;
        OWNED char *title = job_key_title(keys, key);
        buffer_printf(out, ", %s ", title);
        text_add_printable(out, key->text, strlen(key->text), 40, false);
    }
}

static void add_runner_up(const struct best *b, const struct best_job *job, struct buffer *out)
{
    buffer_printf(out, "  job %lld: ", (long long)job->job_id);
    add_value(b, job->value, out);
    add_differences(b, &job->keys, out);
    buffer_add_char(out, '\n');
}

static void add_unbeaten(const struct best *b, const struct pareto_job *job, struct buffer *out)
{
    buffer_printf(out, "  job %lld: ", (long long)job->job_id);
    for (size_t i = 0; i < b->pareto.objective_count; i++) {
        const struct pareto_objective *o = &b->pareto.objectives[i];
        buffer_printf(out, "%s%s ", i ? ", " : "", o->metric);
        text_add_rounded(out, job->values[i]);
        buffer_printf(out, "%s%s", o->unit[0] ? " " : "", o->unit);
    }
    if (job->tie)
        buffer_printf(out, ", tied with job %lld", (long long)job->tie);
    add_differences(b, &job->keys, out);
    buffer_add_char(out, '\n');
}

/* With several objectives only. */
static void add_pareto(const struct best *b, struct buffer *out)
{
    const struct pareto *p = &b->pareto;
    if (p->objective_count < 2)
        return;
    buffer_add_text(out, "\nno other job is at least as good in all objectives and better in one (Pareto set):");
    for (size_t i = 0; i < p->objective_count; i++)
        buffer_printf(out, "%s %s %s", i ? "," : "", p->objectives[i].maximise ? "highest" : "lowest",
                      p->objectives[i].metric);
    buffer_add_text(out, b->configurations.has_replicates ? "; means of replicates\n" : "\n");
    for (size_t i = 0; i < p->count && i < PARETO_LISTED; i++)
        add_unbeaten(b, &p->jobs[i], out);
    if (p->count > PARETO_LISTED)
        buffer_printf(out, "  and %zu more; --json lists them all\n", p->count - PARETO_LISTED);
    if (p->incomplete)
        buffer_printf(out, "  %zu ok %s one of these\n", p->incomplete, p->incomplete == 1 ? "job lacks" : "jobs lack");
}

static void add_configuration(const struct best *b, struct buffer *out)
{
    if (!b->configurations.has_replicates)
        return;
    configuration_add_text(b->jobs[0].configuration, out);
    buffer_add_text(out, "; the job shown is the median one\n");
    if (b->alike)
        buffer_printf(out, "cannot be told apart from %zu other%s (95 %%)\n", b->alike, b->alike == 1 ? "" : "s");
    buffer_add_char(out, '\n');
}

/* A loss of NaN is no reason against a job whose objective is its speed; its user has to know. */
static void add_not_finite(const struct best *b, struct buffer *out)
{
    const cJSON *metric;
    cJSON_ArrayForEach(metric, cJSON_GetObjectItemCaseSensitive(b->job, "metrics"))
    {
        const double not_finite = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(metric, "not_finite"));
        const double samples = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(metric, "samples"));
        if (not_finite > 0)
            buffer_printf(out, "\nwarning: %.0f of %.0f samples of its %s are NaN or infinite\n", not_finite,
                          samples + not_finite, metric->string);
    }
}

static void add_full_training(const struct best *b, struct buffer *out)
{
    const cJSON *last = full_training_last(cJSON_GetObjectItemCaseSensitive(b->job, "full_trainings"));
    if (!last)
        return;
    buffer_add_char(out, '\n');
    full_training_add_text(last, out);
}

/* By what share the winner is behind the one without the condition of --subject-to or --memory, if there is one. */
static bool loses(const struct best *b, const struct best *without, double *share)
{
    if (without->count == 0 || best_group_count(without) > 1)
        return false;
    *share =
        b->maximise ? 1 - b->jobs[0].value / without->jobs[0].value : b->jobs[0].value / without->jobs[0].value - 1;
    return isfinite(*share);
}

static void add_without(const struct best *b, const struct best *without, struct buffer *out)
{
    double share;
    if (!loses(b, without, &share))
        return;
    if (b->jobs[0].job_id == without->jobs[0].job_id) {
        buffer_add_text(out, "\nwithout it the same job wins\n");
        return;
    }
    buffer_printf(out, "\nwithout it: job %lld, ", (long long)without->jobs[0].job_id);
    add_value(b, without->jobs[0].value, out);
    buffer_add_text(out, "; it loses ");
    text_add_figure(out, 3, 100 * share);
    buffer_add_text(out, " %\n");
}

static int print_text(const struct best *b, const struct best *without, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    OWNED char *line = command_of(b), *files = files_of(b), *redacted = job_command_redacted(&b->launch);
    line = line ? line : why_no_command(b);
    buffer_printf(&out, "%s %s ", b->maximise ? "highest" : "lowest", b->objective);
    add_value(b, b->jobs[0].value, &out);
    const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(b->job, "metrics");
    const char *point = json_text_of(cJSON_GetObjectItemCaseSensitive(metrics, b->objective), "point");
    if (point)
        buffer_printf(&out, " at %s", point);
    buffer_printf(&out, ", job %lld of sweep %s\n", (long long)b->jobs[0].job_id, b->sweep);
    add_configuration(b, &out);
    add_keys(&b->jobs[0], &out);
    add_not_finite(b, &out);
    buffer_printf(&out, "\ncommand\n%s\n", line);
    if (redacted[0])
        buffer_printf(&out, "secrets are left out; fill them in before you run it: %s\n", redacted);
    buffer_printf(&out, "\nfiles: %s\n", files ? files : "none were kept");
    add_full_training(b, &out);
    if (b->count > 1)
        buffer_printf(&out, "\nwithin %g %%\n", BEST_TOLERANCE * 100);
    for (size_t i = 1; i < b->count; i++)
        add_runner_up(b, &b->jobs[i], &out);
    if (b->more)
        buffer_add_text(&out, "  and more; meshsweep results --sort shows them\n");
    add_pareto(b, &out);
    conditions_add_text(&b->conditions, &out);
    add_without(b, without, &out);
    return output_people_take(&out, e);
}

/* --- as JSON --- */

static void json_add_differences(cJSON *item, const struct best *b, const struct job_keys *keys)
{
    cJSON *differs = cJSON_AddObjectToObject(item, "differs");
    for (size_t i = 0; i < keys->count; i++) {
        if (!is_difference(&b->jobs[0], &keys->items[i]))
            continue;
        OWNED char *title = xasprintf("%s.%s", keys->items[i].section, keys->items[i].name);
        json_add_raw(differs, title, keys->items[i].json);
    }
}

static cJSON *runner_up_json(const struct best *b, const struct best_job *job)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "job", (double)job->job_id);
    json_add_real(item, "value", job->value);
    json_add_differences(item, b, &job->keys);
    return item;
}

/* Adds, for several objectives, "pareto": [{"job", "tie", "values": {…}, "differs": {…}}, …]; for one nothing. */
static void json_add_pareto(cJSON *root, const struct best *b)
{
    const struct pareto *p = &b->pareto;
    cJSON *set = cJSON_AddArrayToObject(root, "pareto");
    for (size_t i = 0; p->objective_count > 1 && i < p->count; i++) {
        cJSON *item = cJSON_CreateObject(), *values;
        cJSON_AddItemToArray(set, item);
        cJSON_AddNumberToObject(item, "job", (double)p->jobs[i].job_id);
        json_add_count(item, "tie", p->jobs[i].tie ? p->jobs[i].tie : -1);
        values = cJSON_AddObjectToObject(item, "values");
        for (size_t k = 0; k < p->objective_count; k++)
            json_add_real(values, p->objectives[k].metric, p->jobs[i].values[k]);
        json_add_differences(item, b, &p->jobs[i].keys);
    }
}

static void json_add_objective(cJSON *root, const struct best *b)
{
    cJSON_AddStringToObject(root, "objective", b->objective);
    cJSON_AddStringToObject(root, "better", b->maximise ? "max" : "min");
    json_add_text(root, "unit", b->unit);
}

static int print_json(const struct best *b, const struct best *without, struct error *e)
{
    double share = NAN;
    cJSON *root = json_document();
    OWNED char *line = command_of(b), *files = files_of(b), *redacted = job_command_redacted(&b->launch);
    json_add_objective(root, b);
    json_add_real(root, "value", b->jobs[0].value);
    for (cJSON *item = b->job->child->next; item; item = item->next)
        cJSON_AddItemReferenceToObject(root, item->string, item);
    json_add_text(root, "shell", line);
    json_add_text(root, "secrets_left_out", redacted);
    json_add_text(root, "files", files);
    configuration_add_json(b->jobs[0].configuration, b->alike, root);
    cJSON *close = cJSON_AddArrayToObject(root, "close");
    for (size_t i = 1; i < b->count; i++)
        cJSON_AddItemToArray(close, runner_up_json(b, &b->jobs[i]));
    json_add_pareto(root, b);
    cJSON_AddItemToObject(root, "subject_to", cJSON_Duplicate(b->conditions.list, true));
    unranked_add_json(&b->conditions.unranked, root);
    const bool known = loses(b, without, &share);
    cJSON *other = known ? cJSON_AddObjectToObject(root, "without") : cJSON_AddNullToObject(root, "without");
    if (known) {
        cJSON_AddNumberToObject(other, "job", (double)without->jobs[0].job_id);
        json_add_real(other, "value", without->jobs[0].value);
    }
    json_add_real(root, "lost_share", known ? share : NAN);
    return output_json_take(root, e);
}

/* --- as files --- */

/* Who may read the database may read it. */
static int write_file(const char *db, const char *directory, const char *name, struct buffer *text, struct error *e)
{
    struct stat status;
    OWNED char *path = xasprintf("%s/%s", directory, name);
    int rc = file_write_like(path, db, text->data, text->length, e);
    if (rc == 0 && strcmp(name, "command.sh") == 0 &&
        (stat(path, &status) < 0 || chmod(path, status.st_mode | (status.st_mode & 0444) >> 2) < 0))
        rc = error_errno(e, errno, "%s: cannot make it executable", path);
    buffer_free(text);
    return rc;
}

/* The command for a script that lies in its job's directory, with the ds_config to train with. The caller's. */
static char *command_of_script(const struct best *b)
{
    OWNED char *files = files_of(b);
    struct job_launch l = b->launch;
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

static void add_script(const struct best *b, struct buffer *out)
{
    OWNED char *line = command_of_script(b), *redacted = job_command_redacted(&b->launch);
    buffer_add_text(out, "#!/bin/sh\n# ");
    text_add_printable(out, b->objective, strlen(b->objective), 0, false);
    buffer_add_char(out, ' ');
    add_value(b, b->jobs[0].value, out);
    buffer_printf(out, ", job %lld of sweep ", (long long)b->jobs[0].job_id);
    add_line(out, b->sweep);
    if (redacted[0])
        buffer_printf(out, "# Secrets are left out; fill them in before you run it: %s\n", redacted);
    buffer_printf(out, "dir=$(cd \"$(dirname \"$0\")\" && pwd) || exit\n%s\n", line);
}

/* Copies the winner's ds_config.json for training, if it had one. */
static int copy_ds_config(const struct best *b, const char *db, const char *directory, struct error *e)
{
    OWNED char *files = files_of(b);
    static const char *const names[] = {DS_TRAINING_FILE, DS_CONFIG_FILE};
    struct buffer text = BUFFER_INIT;
    int rc = 0, fd = -1;
    for (size_t i = 0; files && fd < 0 && i < LENGTH(names); i++) {
        OWNED char *path = xasprintf("%s/%s", files, names[i]);
        fd = job_file_open(path);
    }
    if (fd >= 0 && job_file_read(fd, LARGEST_CONFIG, &text) < 0)
        rc = error_errno(e, errno, "%s: its ds_config.json cannot be read", files);
    else if (fd >= 0)
        rc = write_file(db, directory, "ds_config.json", &text, e);
    return rc;
}

/* Writes what the winner was given by [[job.file]] where its command looks for it: below the script's directory. */
static int write_given(struct db *db, const char *db_path, const struct best *b, const char *directory, struct error *e)
{
    static const char sql[] =
        "SELECT f.path, t.text FROM job AS j JOIN attempt_file AS f ON f.attempt_id = j.attempt_id"
        " JOIN given_text AS t ON t.id = f.text_id WHERE j.id = ?1 AND f.path NOT IN ('" DS_CONFIG_FILE
        "', '" DS_TRAINING_FILE "') ORDER BY 1";
    const struct kept_files kept = {.option = "--out", .db_path = db_path, .db = db};
    OWNED_STMT *s = NULL;
    int rc = db_prepare(db, sql, &s, e);
    if (rc == 0)
        stmt_bind_int(s, 1, b->jobs[0].job_id);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        struct buffer text = BUFFER_INIT;
        OWNED char *path = xasprintf("%s/%s", directory, stmt_text(s, 0));
        OWNED char *above = xstrndup(path, (size_t)(path_name(path) - path));
        rc = written_file_check(path, &kept, e);
        rc = rc < 0 ? rc : file_make_directories(above, e);
        buffer_add_text(&text, stmt_text(s, 1));
        if (rc == 0 && strstr(buffer_text(&text), SECRET_REDACTED))
            output_message("%s: secrets are left out; fill them in before you run command.sh", path);
        if (rc == 0)
            rc = write_file(db_path, directory, stmt_text(s, 0), &text, e);
        else
            buffer_free(&text);
    }
    return rc;
}

/* Writes a sweep file with only the winner. */
static int write_sweep(struct db *db, const char *path, const struct best *b, const char *directory, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    OWNED char *where = xasprintf("job = %lld", (long long)b->jobs[0].job_id);
    const struct result_query q = {.where = where};
    int rc = subset_add_toml(db, &q, &text, e);
    if (rc == 0)
        rc = write_file(path, directory, "sweep.toml", &text, e);
    else
        buffer_free(&text);
    return rc;
}

static void add_json_line(const cJSON *value, struct buffer *out)
{
    char *text = cJSON_PrintUnformatted(value);
    buffer_printf(out, "%s\n", text);
    cJSON_free(text);
}

static int write_files(const struct best *b, const char *db, const char *directory, struct error *e)
{
    struct buffer script = BUFFER_INIT, job = BUFFER_INIT, metrics = BUFFER_INIT;
    const cJSON *measured = cJSON_GetObjectItemCaseSensitive(b->job, job_part_names[JOB_PART_METRICS]);
    if (file_make_directories(directory, e) < 0)
        return -1;
    const bool has_command = b->launch.command[0] != NULL;
    if (has_command)
        add_script(b, &script);
    add_json_line(b->job, &job);
    add_json_line(measured, &metrics);
    int rc = 0;
    /* write_file() frees the buffer. */
    if (has_command)
        rc |= write_file(db, directory, "command.sh", &script, rc ? NULL : e);
    rc |= write_file(db, directory, "job.json", &job, rc ? NULL : e);
    rc |= write_file(db, directory, "metrics.json", &metrics, rc ? NULL : e);
    return rc;
}

/* --- the command --- */

/* " (2 diverged, 1 oom)". */
static void add_classes(const cJSON *status, struct buffer *out)
{
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(status, "failure_classes")->child;
    for (const cJSON *class = first; class; class = class->next)
        buffer_printf(out, "%s%.0f %s", class == first ? " (" : ", ", class->valuedouble, class->string);
    buffer_add_text(out, first ? ")" : "");
}

static void say_nearest(const struct best *b)
{
    OWNED_BUFFER text = BUFFER_INIT;
    conditions_add_nearest(&b->conditions, &text);
    output_message("there is no best job: %s", buffer_text(&text));
}

/* Says why there is no best job. */
static int say_nothing_ok(struct db *db, const struct best *b, struct error *e)
{
    cJSON *s;
    if (status_read(db, false, 0, &s, NULL, e) < 0)
        return -1;
    const cJSON *states = cJSON_GetObjectItemCaseSensitive(s, "states");
    const int64_t ok = json_count_of(states, "ok"), failed = json_count_of(states, "failed");
    const int64_t running = json_count_of(states, "running"), pending = json_count_of(states, "pending");
    int status = STATUS_JOBS_FAILED;
    OWNED_BUFFER classes = BUFFER_INIT;
    add_classes(s, &classes);
    if (json_count_of(s, "jobs") == 0)
        status = error_set(e, ERROR_NOTHING,
                           "the database has no jobs, because no combination matched; meshsweep plan shows why");
    else if (ok + failed == 0)
        status =
            error_set(e, ERROR_NOTHING, "no job has finished yet: %lld running, %lld pending; see meshsweep status",
                      (long long)running, (long long)pending);
    else if (b->conditions.nearest)
        say_nearest(b);
    else if (ok) {
        const struct unranked *u = &b->conditions.unranked;
        output_message("there is no best job: %lld are ok, but none%s has a value of %s%s%s", (long long)ok,
                       b->conditions.list->child ? " that meets [sweep] subject_to" : "", b->objective,
                       u->why ? ": " : "", u->why ? u->why : "");
        if (u->which)
            output_message("%lld excluded: %s", (long long)u->excluded, u->which);
    } else
        output_message("no job has succeeded: %lld failed%s, %lld running, %lld pending; see meshsweep status",
                       (long long)failed, buffer_text(&classes), (long long)running, (long long)pending);
    cJSON_Delete(s);
    return status;
}

static int check_out(struct db *db, const struct best_options *o, struct error *e)
{
    static const char *const names[] = {"command.sh", "job.json", "metrics.json", "sweep.toml", "ds_config.json", NULL};
    const struct kept_files kept = {.option = "--out", .db_path = o->db, .db = db};
    return written_files_check(o->out, names, &kept, e);
}

static void say_no_script(const struct best *b)
{
    OWNED char *why = why_no_command(b);
    output_message("command.sh was not written: %s", why);
}

static int print(struct db *db, const struct best *b, const struct best *without, const struct best_options *o,
                 struct error *e)
{
    if (o->out && check_out(db, o, e) < 0)
        return -1;
    if (o->out && !b->launch.command[0])
        say_no_script(b);
    if (o->out && (write_files(b, o->db, o->out, e) < 0 || write_sweep(db, o->db, b, o->out, e) < 0 ||
                   sweep_files_copy(db, o->out, e) < 0 || copy_ds_config(b, o->db, o->out, e) < 0 ||
                   write_given(db, o->db, b, o->out, e) < 0))
        return -1;
    cJSON *trainings = NULL;
    if (full_trainings_read(db, b->jobs[0].job_id, &trainings, e) < 0)
        return -1;
    cJSON_AddItemToObject(b->job, "full_trainings", trainings);
    batch_notice_say(&b->batches);
    if (b->count > 0 && device_notice_say(db, b->jobs[0].job_id, e) < 0)
        return -1;
    return o->json ? print_json(b, without, e) : print_text(b, without, e);
}

static int print_groups(struct db *db, const struct best *b, const struct best_options *o, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    int rc;
    if (o->out)
        return error_set(e, ERROR_USAGE,
                         "--out: there are %zu groups, each with its own winner; choose one with --group",
                         best_group_count(b));
    if (o->json) {
        cJSON *root = json_document();
        json_add_objective(root, b);
        cJSON_AddItemToObject(root, "groups", group_winners_json(b));
        return output_json_take(root, e);
    }
    buffer_printf(&out, "%s %s in each group; groups are not compared with each other\n\n",
                  b->maximise ? "highest" : "lowest", b->objective);
    rc = group_winners_add_text(db, b, "", &out, e);
    buffer_add_text(&out, "\nmeshsweep best --group GROUP shows the winner of one group with its command\n");
    if (rc == 0)
        rc = output_people(&out, e);
    buffer_free(&out);
    return rc;
}

/* --- what if --- */

/* "peak_memory <= 34359738368 B". A share is of the key device_memory or, without one, of the most that a job used. */
static int memory_condition(struct db *db, const struct sweep *sweep, const char *bound, char **out, struct error *e)
{
    static const char sql[] =
        "WITH device (bytes) AS (SELECT max(json ->> '$.device_memory') FROM spec WHERE kind = 'cluster_spec')"
        " SELECT iif(typeof(bytes) IN ('integer', 'real'), printf('%s <= %d B', ?1, ?2 * bytes),"
        " (SELECT printf('%s <= %!.15g', ?1, ?2 * max(value)) FROM job_metric WHERE name = ?1 HAVING max(value) "
        "> 0))"
        " FROM device";
    const char *metric = sweep_memory_metric(sweep);
    const size_t length = strlen(bound);
    char *number = xstrndup(bound, length ? length - 1 : 0);
    double percent = 0;
    const bool is_share = length && bound[length - 1] == '%';
    const bool wrong = is_share && (!parse_double(number, &percent) || !(percent > 0) || percent > 100);
    free(number);
    *out = NULL;
    metric = metric ? metric : own_metrics[OWN_DEVICE_MEMORY].name;
    if (wrong)
        return error_set(e, ERROR_USAGE, "--memory %s: must be a size, such as 40GiB, or a percentage up to 100%%",
                         bound);
    if (!is_share)
        *out = xasprintf("%s <= %s", metric, bound);
    else if (db_query_text(db, sql, VALUES(sql_text(metric), sql_real(percent / 100)), out, e) < 0)
        return -1;
    return *out ? 0
                : error_set(e, ERROR_USAGE, "--memory %s: no job has a value of %s, nor a key `device_memory`", bound,
                            metric);
}

static int suppose_conditions(struct db *db, const struct best_options *o, const struct arguments *a, struct error *e)
{
    const struct run_options from = {.db = o->db};
    struct session s;
    struct measures *m = NULL;
    char *memory = NULL;
    int rc = session_open_recorded(&s, &from, a, db, e);
    if (rc == 0 && o->memory)
        rc = memory_condition(db, s.sweep, o->memory, &memory, e);
    if (rc == 0) {
        sweep_set_condition(s.sweep, memory ? memory : o->subject_to, memory ? "--memory" : "--subject-to");
        rc = measures_create(s.space, &m, e);
    }
    free(memory);
    if (rc == 0)
        rc = measures_suppose(m, db, e);
    measures_free(m);
    session_close(&s);
    return rc;
}

/* Adds the key as [sweep] group_by lists it. */
static int add_group_key(struct db *db, const char *option, const char *word, size_t length, struct string_list *out,
                         struct error *e)
{
    static const char sql[] =
        "SELECT DISTINCT name FROM (SELECT s.kind || '.' || k.key AS name, k.key AS bare FROM spec AS s, "
        "json_each(s.json)"
        " AS k UNION SELECT k.key, k.key FROM job AS j, json_each(j.derived) AS k WHERE j.id = (SELECT max(id) FROM job"
        " WHERE sweep_id = (SELECT id FROM current_sweep))) WHERE (?1 IN (name, bare, 'derived.' || bare))"
        " AND name NOT GLOB '*[\"'']*' ORDER BY name <> ?1, name";
    OWNED_LIST found = STRING_LIST_INIT;
    bool replicates = false;
    OWNED char *key = xstrndup(word, length);
    int rc = db_query_texts(db, sql, VALUES(sql_text(key)), &found, e);
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
static int suppose(struct db *db, const struct best_options *o, const struct arguments *a, const char **group,
                   struct error *e)
{
    OWNED_LIST keys = STRING_LIST_INIT;
    OWNED_BUFFER json = BUFFER_INIT;
    bool has_groups = false;
    const bool conditional = o->subject_to || o->memory;
    if (o->subject_to && o->memory)
        return error_set(e, ERROR_USAGE, "best: give only one of --memory and --subject-to");
    int rc = conditional || o->group || o->of ? db_allow_temporary(db, e) : 0;
    if (rc == 0 && conditional)
        rc = suppose_conditions(db, o, a, e);
    *group = o->group && strchr(o->group, '=') ? o->group : NULL;
    if (rc == 0)
        rc = db_query_bool(db, "SELECT 1 FROM meta WHERE name = 'group_by'", NO_VALUES, &has_groups, e);
    const bool replaces = o->group && !(*group && has_groups);
    if (rc == 0 && replaces)
        rc = add_group_keys(db, "--group", o->group, &keys, e);
    else if (rc == 0 && o->of)
        rc = db_query_texts(db, "SELECT k.value FROM meta AS m, json_each(m.value) AS k WHERE m.name = 'group_by'",
                            NO_VALUES, &keys, e);
    if (rc == 0 && o->of)
        rc = add_group_keys(db, "--of", o->of, &keys, e);
    for (size_t i = 0; i < keys.count; i++)
        buffer_printf(&json, "%s\"%s\"", i ? "," : "[", keys.items[i]);
    buffer_add_char(&json, ']');
    if (rc == 0 && (keys.count || conditional))
        rc = configurations_suppose(db, keys.count ? buffer_text(&json) : NULL, e);
    return rc;
}

static int best(const struct arguments *a, struct error *e)
{
    const struct best_options *o = a->options;
    struct db *db = NULL;
    struct best b = {0}, without = {0};
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    const char *group = NULL;
    int rc = (o->subject_to || o->memory) && !o->group && !o->of ? best_read(db, &without, e) : 0;
    if (rc == 0)
        rc = suppose(db, o, a, &group, e);
    if (rc == 0)
        rc = best_read_group(db, group, &b, e);
    if (rc == 0 && best_group_count(&b) > 1) {
        rc = print_groups(db, &b, o, e);
        best_free(&b);
        best_free(&without);
        store_close(db);
        return rc;
    }
    if (rc == 0 && b.count)
        job_command_train(&b.launch);
    if (rc == 0)
        rc = b.count ? print(db, &b, &without, o, e) : say_nothing_ok(db, &b, e);
    best_free(&b);
    best_free(&without);
    store_close(db);
    return rc;
}

const struct command best_command = {
    .name = "best",
    .summary = "Show the winner under the objective, with its exact command",
    .usage = "[OPTIONS]",
    .example = "meshsweep best --out winner && sh winner/command.sh\nmeshsweep best --of zero_stage\n"
               "meshsweep best --memory 50%\n"
               "meshsweep best --subject-to 'duration <= 60 s'",
    .options = options,
    .options_bytes = sizeof(struct best_options),
    .pages = true,
    .run = best,
};
