#include "run/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/own_metrics.h"
#include "config/sweep.h"
#include "measures/definitions.h"
#include "metrics/log_files.h"
#include "process/log_cap.h"
#include "run/host_watch.h"
#include "space/job_texts.h"
#include "util/buffer.h"
#include "util/fault.h"
#include "util/memory.h"

/* Names of metrics in a message, and how long they may be. */
#define METRICS_NAMED 5
#define METRIC_NAME_BYTES 40

static const struct metric undeclared = {.take = TAKE_MEDIAN};

static const struct metric *declared(const struct sweep *s, const char *name)
{
    const struct metric *m = job_find_metric(&s->job, name);
    return m ? m : &undeclared;
}

struct summary recording_summary(const struct recording *r, size_t metric)
{
    return sample_list_summarise(&r->samples, metric, declared(r->sweep, r->samples.names[metric])->take);
}

/* Finds whether all that the objective is, or is computed from, is there; its steps are those of the first. */
static void find_objective(struct recording *r, const struct measures *measures)
{
    if (r->sweep->objective_count == 0 || r->is_full)
        return;
    const char *const itself[] = {r->sweep->objectives[0].metric, NULL};
    const char *const *read = measures_inputs(measures, itself[0]);
    const bool is_derived = read;
    r->has_objective = true;
    r->objective = NAN;
    for (read = read ? read : itself; *read; read++) {
        const size_t i = sample_list_find(&r->samples, *read);
        const bool is_there = i < r->samples.name_count;
        const struct summary s = is_there ? recording_summary(r, i) : (struct summary){0};
        r->has_objective &= s.reported > 0;
        if (!r->no_number && s.reported > 0 && !(isfinite(s.value) && s.ended_finite)) {
            r->no_number = r->samples.names[i];
            r->summary = s;
        }
        if (!is_there || r->counted_steps > 0)
            continue;
        r->objective = is_derived ? NAN : s.value;
        r->counted_steps = s.count;
        r->last_step = r->samples.series[i].tally.last_step;
    }
}

/* Rounded up: what a short job took is little, not nothing. */
static int64_t milliseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000 + (t.tv_usec + 999) / 1000;
}

void recording_secrets(struct secrets *out, const struct space *space, char *const *environment)
{
    const struct sweep *sweep = space->sweep;
    /* The command line may have a command in place of the sweep file's. */
    OWNED_STRINGS words = job_texts_command(space);
    declared_secrets_add(out, sweep);
    declared_secrets_add_command(out, words);
    secrets_add_settings(out, environment, sweep->job.secrets);
}

/* The messages and the end of the output are the only texts of a job's own that are recorded. */
static void redact(struct recording *r, const struct secrets *secrets)
{
    OWNED char *message = r->verdict.message, *consequence = r->verdict.consequence, *tail = (char *)r->end.log_tail;
    r->verdict.message = secrets_redact(secrets, message);
    r->verdict.consequence = secrets_redact(secrets, consequence);
    r->end.message = r->verdict.message;
    r->end.consequence = r->verdict.consequence;
    r->end.log_tail = secrets_redact(secrets, tail);
}

/* Records the attempt as lost, which is no fault of the job. */
static void declare_lost(struct recording *r, enum blame blame, char *message)
{
    r->blame = blame;
    free_all(r->verdict.message, r->verdict.consequence);
    r->verdict = (struct verdict){FAILURE_LOST, message, NULL, false};
}

/* An attempt whose report cannot be read, or could not be written, is lost; that is no verdict on the job. */
static void judge_unread(struct recording *r, const struct recording_context *context, const struct outcome *o)
{
    static const char disk_is_full[] = "the disk or a quota is full, or a file cannot grow any further (ulimit -f), so "
                                       "its output may be cut off";
    const enum failure f = r->verdict.failure;
    const bool wrote_nothing = f == FAILURE_NO_METRIC || (f == FAILURE_EXIT && o->log_bytes == 0);
    const bool speaks = !r->is_full && r->sweep->objective_count + r->sweep->job.metric_count > 0;
    if (r->samples.read_error && (!f || f == FAILURE_NO_METRIC))
        declare_lost(r, BLAME_HOST, xasprintf("its output cannot be read: %s", strerror(r->samples.read_error)));
    else if (o->log_error && (!f || f == FAILURE_NO_METRIC))
        declare_lost(r, BLAME_HOST, xasprintf("its output cannot be kept: %s", strerror(o->log_error)));
    else if (o->directory_moved && f == FAILURE_NO_METRIC)
        declare_lost(r, BLAME_HOST,
                     xstrdup("its directory was moved or removed while it ran, and with it what it reported there"));
    else if ((o->disk_full && (f == FAILURE_EXIT || f == FAILURE_NO_METRIC || (!f && speaks))) ||
             (wrote_nothing && context->scratch && !host_has_room(context->scratch)))
        declare_lost(r, BLAME_HOST, xstrdup(disk_is_full));
}

/* A job that a server dies under is told from one that ends it by doing so again. */
static void judge_fixture(struct recording *r, const struct running_attempt *f, const struct outcome *o)
{
    if (!f->fixture_died || (!r->verdict.failure && o->ending != ENDING_STOPPED))
        return;
    if (f->fixture_deaths == 0) {
        declare_lost(r, BLAME_RUNNER, xstrdup(f->fixture_died));
        return;
    }
    /* One that was ended because the server was gone is not one that a person cancelled. */
    const bool was_stopped = !r->verdict.failure || r->verdict.failure == FAILURE_CANCELLED;
    const enum failure failure = was_stopped ? FAILURE_EXIT : r->verdict.failure;
    char *message = xasprintf("%s; so it did when this job ran before: the job ends it", f->fixture_died);
    free(r->verdict.message);
    r->verdict = (struct verdict){failure, message, r->verdict.consequence, false};
}

/* Nor is a duration that nobody knows, where it is the objective. */
static void judge_undated(struct recording *r, const struct outcome *o)
{
    const char *objective = r->sweep->objective_count && !r->is_full ? r->sweep->objectives[0].metric : "";
    if (o->unwatched_ms == 0 || r->verdict.failure != FAILURE_NO_METRIC ||
        own_metric_by_name(objective) != OWN_DURATION)
        return;
    declare_lost(r, BLAME_RUNNER,
                 xasprintf("it took between %.1f and %.1f s: the runner stood still, and the job may have ended or "
                           "stood still meanwhile",
                           (double)(o->duration_ms - o->unwatched_ms) / 1000, (double)o->duration_ms / 1000));
}

/* A job that ends well has not gone well where its objective is no number in the end. */
static void judge_diverged(struct recording *r)
{
    const struct summary *s = &r->summary;
    struct buffer text = BUFFER_INIT;
    if (r->verdict.failure || !r->has_objective || !r->no_number)
        return;
    const int64_t all = s->count + s->not_finite;
    buffer_printf(&text, "%s is not a finite number: %lld of %lld samples are NaN or infinite", r->no_number,
                  (long long)s->not_finite, (long long)all);
    free(r->verdict.message);
    r->verdict = (struct verdict){FAILURE_DIVERGED, buffer_take(&text), r->verdict.consequence, false};
}

/* "; it reported loss, step_time": a name that is misspelt is seen at once. */
static void add_reported(const struct sample_list *l, struct buffer *text)
{
    size_t named = 0;
    for (size_t m = 0; m < l->name_count && named < METRICS_NAMED; m++) {
        if (l->series[m].tally.reported == 0 || strlen(l->names[m]) > METRIC_NAME_BYTES)
            continue;
        buffer_printf(text, "%s%s", named ? ", " : "; it reported ", l->names[m]);
        named++;
    }
}

/* The verdict does not know which metric it is, nor from what it is worked out. */
static void add_objective(const struct recording *r, const struct measures *measures, struct buffer *text)
{
    static const char unnamed[] = "the objective";
    const char *name = r->sweep->objectives[0].metric, *message = r->verdict.message;
    const char *at = strstr(message, unnamed);
    const char *const *read = measures_inputs(measures, name);
    if (!at) {
        buffer_add_text(text, message);
        return;
    }
    at += strlen(unnamed);
    buffer_add(text, message, (size_t)(at - message));
    buffer_printf(text, " %s", name);
    for (size_t i = 0; read && read[i]; i++)
        buffer_printf(text, "%s%s", i ? ", " : " (computed from ", read[i]);
    buffer_printf(text, "%s%s", read && read[0] ? ")" : "", at);
}

/* Adds a file in which the objective may stand and that no reader looked at. */
static void add_elsewhere(const struct recording *r, const struct attempt_output *output,
                          const struct measures *measures, struct buffer *text)
{
    const char *name = r->sweep->objectives[0].metric;
    const char *const *read = measures_inputs(measures, name);
    const struct metric *m = job_find_metric(&r->sweep->job, read && read[0] ? read[0] : name);
    OWNED char *file = m && m->reader != READER_FILE && !m->file ? unread_file(output) : NULL;
    const struct job_config *job = &r->sweep->job;
    if (file && !ANY(i, job->metric_count, job->metrics[i].file && strcmp(job->metrics[i].file, file) == 0))
        buffer_printf(text,
                      "; it may be in %s, which is not read; if the job writes that file to {job_dir}, set file = "
                      "\"%s\" under [job.metrics.%s]",
                      file, file, m->name);
    const bool is_regex = m && m->reader == READER_REGEX && !m->file && output->log && r->samples.cut_numbers == 0;
    OWNED char *line = is_regex ? unread_line(m->pattern, output->log) : NULL;
    if (line)
        buffer_printf(text, "; this line nearly matches: \"%s\"; `meshsweep reread` takes it with a mended expression",
                      line);
    OWNED char *end =
        m && m->reader == READER_JSON && !m->file && output->log ? log_tail(output->log, TAIL_BYTES) : NULL;
    if (end && strstr(end, "\n{"))
        buffer_printf(text, "; the output has lines of JSON, which `jsonl` reads; `json` reads one whole document");
}

/* Explains what there is instead of the objective. */
static void explain_missing(struct recording *r, const struct attempt_output *output, const struct measures *measures)
{
    struct buffer text = BUFFER_INIT;
    if (r->verdict.failure != FAILURE_NO_METRIC)
        return;
    add_objective(r, measures, &text);
    add_reported(&r->samples, &text);
    add_elsewhere(r, output, measures, &text);
    if (r->samples.malformed_metrics > 0)
        buffer_printf(&text, "; lines of its metrics file that are not JSON objects: %zu",
                      r->samples.malformed_metrics);
    if (r->samples.irregular_files > 0)
        buffer_printf(&text, "; pipes, directories and devices where a file is to be read: %zu",
                      r->samples.irregular_files);
    if (r->samples.oversized_files > 0)
        buffer_printf(&text, "; JSON and CSV files that are too large to read: %zu", r->samples.oversized_files);
    if (r->samples.cut_numbers > 0)
        buffer_printf(&text, "; only a part of a number is matched: %s (%zu)", r->samples.cut_example,
                      r->samples.cut_numbers);
    free(r->verdict.message);
    r->verdict.message = buffer_take(&text);
}

/* Lists what caps have kept out of the summaries. NULL: nothing. The caller's. */
static char *describe_left_out(const struct sample_list *l, int64_t unwatched_ms)
{
    const struct {
        const char *what;
        int64_t count;
    } parts[] = {{"bytes of output written faster than they could be read", l->unread_bytes},
                 {"bytes in the middle of files over 1 GiB", l->passed_bytes},
                 {"lines of JSON over 4 MiB", (int64_t)l->oversized_lines},
                 {"JSON and CSV files over 16 MiB", (int64_t)l->oversized_files},
                 {"samples of metrics after the first 1,000", (int64_t)l->nameless},
                 {"milliseconds of its duration, in which its runner stood still", unwatched_ms}};
    struct buffer text = BUFFER_INIT;
    if (l->cut_numbers > 0)
        buffer_printf(&text, "numbers of which only a part is matched, as in \"%s\": %zu", l->cut_example,
                      l->cut_numbers);
    for (size_t i = 0; i < LENGTH(parts); i++)
        if (parts[i].count > 0)
            buffer_printf(&text, "%s%s: %lld", text.length ? "; " : "", parts[i].what, (long long)parts[i].count);
    if (text.length == 0)
        return NULL;
    return buffer_take(&text);
}

/* Whoever chose it wanted no more of it than this: nothing that counts is missing. */
static bool has_all_steps(const struct recording *r)
{
    const struct job_config *job = &r->sweep->job;
    return job->last_step > 0 && r->counted_steps > 0 && r->last_step >= job->least_step;
}

static double positive_or_nan(double value)
{
    return value > 0 ? value : NAN;
}

/* NaN: not known. */
static double own_value(enum own_metric metric, const struct outcome *o, int64_t trials)
{
    switch (metric) {
    case OWN_DURATION:
        return o->unwatched_ms > 0 ? NAN : (double)o->duration_ms / 1000;
    case OWN_CPU_TIME:
        return o->has_usage ? (double)(milliseconds(o->usage.ru_utime) + milliseconds(o->usage.ru_stime)) / 1000 : NAN;
    case OWN_MAX_RSS:
        return positive_or_nan((double)o->usage.ru_maxrss * 1024);
    case OWN_ATTEMPTS:
        return (double)trials;
    case OWN_DEVICE_MEMORY:
        return positive_or_nan((double)o->device_bytes);
    default:
        return NAN;
    }
}

/* Adds what was seen from outside, where it is an objective and the job reports nothing of that name itself. A job that
 * did not come to its end has no such measurement. */
static void add_own_metrics(struct recording *r, const struct outcome *o, int64_t trials)
{
    if (o->ending != ENDING_EXITED || o->exit_code != 0 || r->is_full)
        return;
    for (size_t i = 0; i < r->sweep->objective_count; i++) {
        const char *name = r->sweep->objectives[i].metric;
        double value = own_value(own_metric_by_name(name), o, trials);
        const size_t at = sample_list_find(&r->samples, name);
        if (!isnan(value) && (at == r->samples.name_count || r->samples.series[at].tally.reported == 0))
            sample_list_add_seen(&r->samples, name, value);
    }
}

_Static_assert(OWN_METRIC_COUNT - OWN_DEVICE_CLOCK == DEVICE_QUANTITY_COUNT, "the two lists are in one order");

/* Adds what was seen of the attempt's devices, however it ended. */
static void add_device_metrics(struct recording *r, const struct outcome *o, const struct running_attempt *f)
{
    for (int i = OWN_DEVICE_MEMORY; i < OWN_METRIC_COUNT; i++) {
        const enum device_quantity q = (enum device_quantity)(i - OWN_DEVICE_CLOCK);
        const double value = i == OWN_DEVICE_MEMORY ? positive_or_nan((double)o->device_bytes)
                                                    : device_conditions_value(f->conditions, f->condition_count, q);
        r->saw[i] = !isnan(value);
        if (r->saw[i])
            sample_list_add_seen(&r->samples, own_metrics[i].name, value);
    }
}

static struct attempt_end end_of(const struct recording *r, const struct outcome *o)
{
    return (struct attempt_end){
        .failure = r->failure,
        .message = r->verdict.message,
        .left_out = describe_left_out(&r->samples, o->unwatched_ms),
        .log_tail = o->log_path ? log_tail(o->log_path, TAIL_BYTES) : NULL,
        .ended_ms = o->ended_wall_ms,
        .duration_ms = o->duration_ms,
        .exit_code = o->exit_code,
        .signal = o->signal_number,
        .limit_ms = o->limit_ms,
        .user_ms = o->has_usage ? milliseconds(o->usage.ru_utime) : -1,
        .system_ms = o->has_usage ? milliseconds(o->usage.ru_stime) : -1,
        .max_rss_bytes = (int64_t)o->usage.ru_maxrss * 1024,
        .leftovers = o->leftover_count,
        .unwatched_ms = o->unwatched_ms,
        .log_bytes = o->log_bytes,
        .reference = o->reference ? xstrdup(o->reference) : NULL,
        .host = o->host ? xstrdup(o->host) : NULL,
        .cancelled_elsewhere = o->ending == ENDING_ABORTED,
    };
}

/* Files that readers name, and what DeepSpeed was given, stay in any case. */
struct keep_rules recording_keep_rules(const struct job_config *job)
{
    struct keep_rules rules = {job->keep_files, job->keep_files_size, STRING_LIST_INIT};
    string_list_add(&rules.own, xstrdup("ds_config*.json"));
    for (size_t i = 0; i < job->file_count; i++)
        string_list_add(&rules.own, xstrdup(job->files[i].path));
    for (size_t i = 0; i < job->metric_count; i++)
        for (const struct metric *m = &job->metrics[i]; m; m = m->fallback) {
            if (m->file)
                string_list_add(&rules.own, xstrdup(m->file));
            if (m->numerator)
                string_list_add(&rules.own, xstrndup(m->numerator, strcspn(m->numerator, ":")));
        }
    return rules;
}

static char *describe_files(const struct recording_context *context)
{
    struct keep_rules rules = recording_keep_rules(&context->sweep->job);
    OWNED char *json = context->job_dir ? left_files_json(context->job_dir, &rules) : NULL;
    char *public = json ? secrets_redact_values(context->secrets, json) : NULL;
    string_list_free(&rules.own);
    return public;
}

static void add_conditions(struct recording *r, const struct running_attempt *f)
{
    if (!f->conditions)
        return;
    r->end.device_condition =
        device_conditions_json(f->conditions, f->devices, f->condition_count,
                               (struct device_sharing){(double)f->gang.parts / DEVICE_PARTS, f->neighbours});
    if (!f->conditions[0].model[0])
        return;
    r->device_clock = device_conditions_value(f->conditions, f->condition_count, DEVICE_CLOCK);
    r->device_throttled = device_conditions_value(f->conditions, f->condition_count, DEVICE_THROTTLED);
    r->end.device_model = xstrdup(f->conditions[0].model);
}

void recording_make(const struct recording_context *context, const struct outcome *o, struct recording *out)
{
    struct recording r = {.sweep = context->sweep,
                          .duration_ms = o->duration_ms,
                          .is_full = context->attempt->claim.full,
                          .is_profile = context->attempt->claim.profile};
    if (context->reading)
        output_reading_finish(context->reading, o->log_path, o->metrics_path, context->job_dir, &r.samples);
    else
        readers_read(context->readers, o->log_path, o->metrics_path, context->job_dir, &r.samples);
    add_device_metrics(&r, o, context->attempt);
    add_own_metrics(&r, o, context->attempt->claim.trials);
    find_objective(&r, context->measures);
    const struct attempt_output output = {o->log_path, context->job_dir};
    r.verdict =
        classify(context->classifier, o, &output, context->sweep->objective_count > 0 && !r.is_full, r.has_objective);
    if (o->ending == ENDING_STOPPED && !r.verdict.failure && context->attempt->why_ended) {
        free(r.verdict.message);
        r.verdict.message = xstrdup(context->attempt->why_ended);
    }
    if (o->ending == ENDING_LOST)
        r.blame = o->preempted ? BLAME_PREEMPTION : BLAME_NODE;
    judge_fixture(&r, context->attempt, o);
    judge_unread(&r, context, o);
    judge_undated(&r, o);
    judge_diverged(&r);
    explain_missing(&r, &output, context->measures);
    r.failure = r.verdict.failure ? failure_names[r.verdict.failure] : NULL;
    r.kept_files = o->log_path || o->metrics_path;
    r.end = end_of(&r, o);
    r.end.files = describe_files(context);
    add_conditions(&r, context->attempt);
    if (o->ending == ENDING_STOPPED && !r.failure && !has_all_steps(&r))
        r.end.stopped_steps = r.counted_steps;
    redact(&r, context->secrets);
    if (o->log_path && o->log_cap_bytes > 0)
        log_cap_compact(o->log_path, o->log_bytes, o->log_cap_bytes);
    *out = r;
}

int recording_store_samples(struct attempt_store *store, int64_t attempt_id, const struct recording *r, struct error *e)
{
    OWNED enum take *takes = xcalloc(r->samples.name_count + 1, sizeof *takes);
    for (size_t i = 0; i < r->samples.name_count; i++)
        takes[i] = declared(r->sweep, r->samples.names[i])->take;
    return samples_store(store, attempt_id, &r->samples, r->is_full ? NULL : takes, e);
}

/* Returns what the attempt's row is about to say. */
static struct seen_values seen_of(const struct recording *r, const struct claim *claim)
{
    struct seen_values seen = {.is_ok = !r->failure};
    seen.values[OWN_DURATION] = r->end.unwatched_ms > 0 ? NAN : (double)r->end.duration_ms / 1000;
    seen.values[OWN_CPU_TIME] = r->end.user_ms < 0 ? NAN : (double)(r->end.user_ms + r->end.system_ms) / 1000;
    seen.values[OWN_MAX_RSS] = positive_or_nan((double)r->end.max_rss_bytes);
    seen.values[OWN_ATTEMPTS] = (double)claim->trials;
    for (int i = OWN_DEVICE_MEMORY; i < OWN_METRIC_COUNT; i++)
        seen.values[i] = NAN;
    return seen;
}

/* Says what a metric of an attempt's devices is, where nobody has said so. */
static int define_own(struct db *db, enum own_metric metric, struct error *e)
{
    const struct own_metric_kind *m = &own_metrics[metric];
    const bool is_memory = metric == OWN_DEVICE_MEMORY;
    return db_run(db,
                  "INSERT OR IGNORE INTO metric_definition (name, unit, better, take, counter, rank)"
                  " VALUES (?1, ?2, ?3, 'max', ?4, ?5)",
                  VALUES(sql_text(m->name), sql_text(m->unit), sql_text(m->better),
                         sql_text(is_memory ? "device" : NULL), sql_text(is_memory ? "largest" : NULL)),
                  e);
}

/* Against what other attempts saw of such devices. */
static int judge_devices(struct db *db, struct recording *r, struct error *e)
{
    static const char sql[] =
        "SELECT c.value, t.value FROM (SELECT id FROM attempt WHERE device_model = ? AND state = 'ok' AND "
        "kind = 'trial' ORDER BY id DESC LIMIT ?2) AS a"
        " LEFT JOIN summary AS c ON c.attempt_id = a.id AND c.name = 'device_clock'"
        " LEFT JOIN summary AS t ON t.attempt_id = a.id AND t.name = 'device_throttled'";
    enum { PEERS_MOST = 200 };
    double clocks[PEERS_MOST], throttled[PEERS_MOST];
    struct device_peers peers = {clocks, throttled, 0};
    struct stmt *s = NULL;
    int rc;
    if (r->failure || !r->end.device_model)
        return 0;
    while ((rc = db_next(db, sql, VALUES(sql_text(r->end.device_model), sql_int(PEERS_MOST)), &s, e)) > 0) {
        clocks[peers.count] = stmt_double_or_nan(s, 0);
        throttled[peers.count++] = stmt_double_or_nan(s, 1);
    }
    if (rc == 0 && peers.count > 0)
        r->end.device_note = device_condition_unlike(r->device_clock, r->device_throttled, &peers);
    return rc;
}

static int store_measures(const struct recording_target *target, const struct claim *claim, struct recording *r,
                          struct error *e)
{
    const struct seen_values seen = seen_of(r, claim);
    struct measured measured;
    if (!target->measures || r->is_full)
        return 0;
    if (measures_record(target->measures, target->db, claim->attempt_id, &seen, &measured, e) < 0)
        return -1;
    r->is_infeasible = !r->failure && !measured.is_feasible;
    if (measured.is_derived)
        r->objective = measured.objective;
    return 0;
}

int recording_store(const struct recording_target *target, const struct claim *claim, const char *directory,
                    struct recording *r, struct error *e)
{
    struct attempt_store *store = target->store;
    r->end.attempt_id = claim->attempt_id;
    r->end.job_id = claim->job_id;
    r->end.full = claim->full;
    r->end.directory = r->kept_files ? directory : NULL;
    r->end.blame = r->blame;
    r->end.elsewhere = r->elsewhere;
    if (r->hold) {
        r->job_end = JOB_END_HELD;
        return attempt_hold(store, claim, r->hold, e);
    }
    bool running;
    /* A person may have deleted its row, or its job's, meanwhile. */
    if (db_query_bool(target->db, "SELECT 1 FROM attempt WHERE id = ? AND state = 'running'",
                      VALUES(sql_int(claim->attempt_id)), &running, e) < 0)
        return -1;
    r->job_end = JOB_END_GONE;
    if (!running)
        return 0;
    for (int i = OWN_DEVICE_MEMORY; i < OWN_METRIC_COUNT; i++)
        if (r->saw[i] && define_own(target->db, (enum own_metric)i, e) < 0)
            return -1;
    if (recording_store_samples(store, claim->attempt_id, r, e) < 0 || store_measures(target, claim, r, e) < 0 ||
        judge_devices(target->db, r, e) < 0)
        return -1;
    FAULT(SAMPLES_WRITTEN);
    int rc = attempt_record_end(store, &r->end, &r->job_end, e);
    FAULT(JOB_FINISHED);
    return rc;
}

void recording_free(struct recording *r)
{
    free_all(r->verdict.message, r->hold, r->verdict.consequence, (char *)r->end.log_tail, (char *)r->end.left_out,
             (char *)r->end.reference, (char *)r->end.host, (char *)r->end.device_model, (char *)r->end.device_note,
             (char *)r->end.device_condition, (char *)r->end.files);
    sample_list_free(&r->samples);
}
