#include "answers/replay_report.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "results/json.h"
#include "util/memory.h"

/* Summarised numbers of a result. */
enum measure {
    TRIALS,
    FAILED,
    HOURS,
    STOP_TRIALS,
    STOP_SLOWDOWN,
    FIRST_SLOWDOWN,
    MEASURE_COUNT = FIRST_SLOWDOWN + REPLAY_MARKS
};

/* The staged search compared with one of all keys at once. */
struct joint_results {
    const char *strategy;
    double *losses; /* groups × seeds */
};

struct strategy_results {
    const char *name;
    struct joint_results *joint;
    size_t joint_count;
    double *values[MEASURE_COUNT]; /* groups × seeds; NAN: no such search */
    size_t arrived, searches;
    int64_t slowest_us; /* slowest decision */
};

struct replay_report {
    const struct replay_source *source;
    const struct replay_group *groups;
    size_t seeds;
    size_t ok, failed, hopeless; /* candidates; groups without a successful one */
    struct strategy_results *strategies;
    size_t count;
};

struct replay_report *replay_report_create(const struct replay_source *source, const struct replay_group *groups,
                                           size_t seeds)
{
    struct replay_report *r = xcalloc(1, sizeof *r);
    r->source = source;
    r->groups = groups;
    r->seeds = seeds;
    for (size_t g = 0; g < source->group_count; g++) {
        r->ok += groups[g].ok;
        r->failed += groups[g].failed;
        r->hopeless += groups[g].ok == 0;
    }
    return r;
}

static void release(struct strategy_results *s)
{
    for (size_t i = 0; i < s->joint_count; i++)
        free(s->joint[i].losses);
    free(s->joint);
    for (int m = 0; m < MEASURE_COUNT; m++)
        free(s->values[m]);
}

void replay_report_free(struct replay_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        release(&r->strategies[i]);
    free(r->strategies);
    free(r);
}

bool replay_report_any_runnable(const struct replay_report *r)
{
    return r->ok > 0;
}

static double *no_values(const struct replay_report *r)
{
    size_t searches = r->source->group_count * r->seeds;
    double *values = xcalloc(searches + 1, sizeof *values);
    for (size_t i = 0; i < searches; i++)
        values[i] = NAN;
    return values;
}

void replay_report_begin(struct replay_report *r, const char *strategy)
{
    r->strategies = array_grow(r->strategies, r->count, sizeof *r->strategies);
    struct strategy_results *s = &r->strategies[r->count++];
    *s = (struct strategy_results){.name = strategy};
    for (int m = 0; m < MEASURE_COUNT; m++)
        s->values[m] = no_values(r);
}

void replay_report_add(struct replay_report *r, size_t group, size_t seed, const struct replay_result *result)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    size_t at = group * r->seeds + seed;
    s->values[TRIALS][at] = (double)result->trials;
    s->values[FAILED][at] = (double)result->failed;
    s->values[HOURS][at] = result->device_hours;
    s->values[STOP_TRIALS][at] = (double)result->stop_trials;
    s->values[STOP_SLOWDOWN][at] = result->stop_slowdown;
    for (size_t m = 0; m < REPLAY_MARKS; m++)
        s->values[FIRST_SLOWDOWN + m][at] = result->slowdown[m];
    s->arrived += result->arrived;
    s->searches++;
}

void replay_report_add_joint(struct replay_report *r, const char *strategy, size_t group, size_t seed, double loss)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    size_t i = 0;
    while (i < s->joint_count && strcmp(s->joint[i].strategy, strategy) != 0)
        i++;
    if (i == s->joint_count) {
        s->joint = array_grow(s->joint, s->joint_count++, sizeof *s->joint);
        s->joint[i] = (struct joint_results){strategy, no_values(r)};
    }
    s->joint[i].losses[group * r->seeds + seed] = loss;
}

static struct replay_statistics joint_loss(const struct replay_report *r, const struct joint_results *j)
{
    return replay_summarise(j->losses, r->source->group_count, r->seeds);
}

void replay_report_decision(struct replay_report *r, int64_t us)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    s->slowest_us = us > s->slowest_us ? us : s->slowest_us;
}

void replay_report_withdraw(struct replay_report *r)
{
    release(&r->strategies[--r->count]);
}

/* For one group, or for all with SIZE_MAX. */
static struct replay_statistics summary(const struct replay_report *r, const struct strategy_results *s, enum measure m,
                                        size_t group)
{
    if (group == SIZE_MAX)
        return replay_summarise(s->values[m], r->source->group_count, r->seeds);
    return replay_summarise(s->values[m] + group * r->seeds, 1, r->seeds);
}

/* --- text --- */

static void add_number(struct buffer *out, double value)
{
    if (isnan(value))
        buffer_add_char(out, '-');
    else
        buffer_printf(out, "%.2f", value);
}

static void add_row(const struct replay_report *r, const struct strategy_results *s, size_t group, struct buffer *out)
{
    struct replay_statistics trials = summary(r, s, TRIALS, group), failed = summary(r, s, FAILED, group);
    if (group == SIZE_MAX) {
        buffer_printf(out, "| %s | %.2f", s->name, trials.mean);
        if (!isnan(trials.low))
            buffer_printf(out, " (%.2f to %.2f)", trials.low, trials.high);
        buffer_printf(out, " | %.0f | %.0f | %.2f | %.0f %% |", trials.median, trials.p90, failed.mean,
                      100 * (double)s->arrived / (double)s->searches);
    } else
        buffer_printf(out, "| %s, %s | %.2f | %.0f | %.0f | %.2f | |", s->name, r->source->group_names[group],
                      trials.mean, trials.median, trials.p90, failed.mean);
    for (int m = 0; m < REPLAY_MARKS; m++) {
        buffer_add_char(out, ' ');
        add_number(out, summary(r, s, (enum measure)(FIRST_SLOWDOWN + m), group).mean);
        buffer_add_text(out, m + 1 < REPLAY_MARKS ? "," : " |");
    }
    buffer_printf(out, " %.1f at %.2f |", summary(r, s, STOP_TRIALS, group).mean,
                  summary(r, s, STOP_SLOWDOWN, group).mean);
    buffer_add_char(out, ' ');
    add_number(out, summary(r, s, HOURS, group).mean);
    buffer_add_text(out, " |\n");
}

static void add_heading(const struct replay_report *r, struct buffer *out)
{
    size_t all = r->ok + r->failed;
    buffer_printf(out, "%zu group%s, %zu jobs, %.0f %% of them failed; %zu group%s with no runnable job",
                  r->source->group_count, r->source->group_count == 1 ? "" : "s", all,
                  100 * (double)r->failed / (double)all, r->hopeless, r->hopeless == 1 ? "" : "s");
    if (r->source->replicates > 0)
        buffer_printf(out, "; %zu more jobs are replicates of these: a trial runs all of them, and their mean counts",
                      r->source->replicates);
    if (r->source->infeasible > 0)
        buffer_printf(out, "; %zu jobs ran but do not meet [sweep] subject_to, so they count as failed",
                      r->source->infeasible);
    if (r->source->excluded > 0)
        buffer_printf(out, "; %zu jobs excluded by rules", r->source->excluded);
    if (r->source->unmeasured > 0)
        buffer_printf(out, "; %zu jobs not measured", r->source->unmeasured);
    buffer_printf(out, "; %zu search%s of each group by %s\n\n", r->seeds, r->seeds == 1 ? "" : "es",
                  r->source->objective);
    buffer_add_text(out, "| strategy | trials (95 %) | median | p90 | failed | arrived | slowdown after 1, 3, 5, 10 | "
                         "ends after | device-hours |\n|---|---|---|---|---|---|---|---|---|\n");
}

/* "3.1 % worse", "0.5 % better". */
static void add_loss(struct buffer *out, double loss)
{
    buffer_printf(out, "%.1f %% %s", 100 * fabs(loss), loss < 0 ? "better" : "worse");
}

static void add_joint(const struct replay_report *r, const struct strategy_results *s, struct buffer *out)
{
    for (size_t i = 0; i < s->joint_count; i++) {
        struct replay_statistics loss = joint_loss(r, &s->joint[i]);
        buffer_printf(out, "\n%s finds ", s->name);
        add_loss(out, loss.mean);
        buffer_printf(out, " than %s among all keys at once with as many trials (", s->joint[i].strategy);
        if (!isnan(loss.low)) {
            buffer_add_text(out, "95 %: ");
            add_loss(out, loss.low);
            buffer_add_text(out, " to ");
            add_loss(out, loss.high);
            buffer_add_text(out, "; ");
        }
        buffer_add_text(out, "half of the searches: ");
        add_loss(out, loss.median);
        buffer_add_text(out, ", or less)\n");
    }
}

static int64_t winner_of(const struct replay_report *r, size_t group)
{
    const struct replay_group *g = &r->groups[group];
    return r->source->set.job_ids[g->members[g->winner]];
}

/* The best configuration of each group. */
static void add_winners(const struct replay_report *r, struct buffer *out)
{
    buffer_printf(out, "\n| group | best %s | job |\n|---|---|---|\n", r->source->objective);
    for (size_t g = 0; g < r->source->group_count; g++) {
        buffer_printf(out, "| %s | ", r->source->group_names[g]);
        if (r->groups[g].ok > 0)
            buffer_printf(out, "%.6g | %lld |\n", r->groups[g].best, (long long)winner_of(r, g));
        else
            buffer_add_text(out, "- | - |\n");
    }
}

void replay_report_text(const struct replay_report *r, bool groups, struct buffer *out)
{
    groups |= r->source->has_listed_groups;
    add_heading(r, out);
    for (size_t i = 0; i < r->count; i++) {
        add_row(r, &r->strategies[i], SIZE_MAX, out);
        for (size_t g = 0; groups && g < r->source->group_count; g++)
            if (r->groups[g].ok > 0)
                add_row(r, &r->strategies[i], g, out);
    }
    if (groups)
        add_winners(r, out);
    for (size_t i = 0; i < r->count; i++)
        add_joint(r, &r->strategies[i], out);
}

/* --- JSON --- */

static void add_statistics(cJSON *to, const char *name, struct replay_statistics s, bool interval)
{
    if (isnan(s.mean)) {
        cJSON_AddNullToObject(to, name);
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(to, name);
    cJSON_AddNumberToObject(o, "mean", s.mean);
    if (interval) {
        json_add_real(o, "low", s.low);
        json_add_real(o, "high", s.high);
    }
    cJSON_AddNumberToObject(o, "median", s.median);
    cJSON_AddNumberToObject(o, "p90", s.p90);
}

static void add_measures(cJSON *to, const struct replay_report *r, const struct strategy_results *s, size_t group)
{
    bool all = group == SIZE_MAX;
    add_statistics(to, "trials", summary(r, s, TRIALS, group), all);
    add_statistics(to, "failed_trials", summary(r, s, FAILED, group), all);
    add_statistics(to, "hours", summary(r, s, HOURS, group), all);
    add_statistics(to, "ends_after_trials", summary(r, s, STOP_TRIALS, group), all);
    add_statistics(to, "ends_at_slowdown", summary(r, s, STOP_SLOWDOWN, group), all);
    cJSON *slowdowns = cJSON_AddObjectToObject(to, "slowdown");
    for (size_t m = 0; m < REPLAY_MARKS; m++) {
        char *name = xasprintf("after_%zu", replay_marks[m]);
        add_statistics(slowdowns, name, summary(r, s, (enum measure)(FIRST_SLOWDOWN + m), group), all);
        free(name);
    }
}

static cJSON *strategy_json(const struct replay_report *r, const struct strategy_results *s)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "strategy", s->name);
    cJSON_AddNumberToObject(o, "searches", (double)s->searches);
    cJSON_AddNumberToObject(o, "arrived", (double)s->arrived);
    cJSON_AddNumberToObject(o, "slowest_decision_ms", (double)s->slowest_us / 1000);
    add_measures(o, r, s, SIZE_MAX);
    cJSON *joint = cJSON_AddArrayToObject(o, "loss_against_joint");
    for (size_t i = 0; i < s->joint_count; i++) {
        cJSON *against = cJSON_CreateObject();
        cJSON_AddStringToObject(against, "strategy", s->joint[i].strategy);
        add_statistics(against, "loss", joint_loss(r, &s->joint[i]), true);
        cJSON_AddItemToArray(joint, against);
    }
    cJSON *groups = cJSON_AddArrayToObject(o, "groups");
    for (size_t g = 0; g < r->source->group_count; g++) {
        if (r->groups[g].ok == 0)
            continue;
        cJSON *group = cJSON_CreateObject();
        cJSON_AddStringToObject(group, "group", r->source->group_names[g]);
        cJSON_AddNumberToObject(group, "best_value", r->groups[g].best);
        cJSON_AddNumberToObject(group, "best_job", (double)winner_of(r, g));
        add_measures(group, r, s, g);
        cJSON_AddItemToArray(groups, group);
    }
    return o;
}

int replay_report_json(const struct replay_report *r, int (*print)(const struct cJSON *value, struct error *e),
                       struct error *e)
{
    cJSON *all = json_document();
    cJSON_AddStringToObject(all, "objective", r->source->objective);
    cJSON_AddNumberToObject(all, "group_count", (double)r->source->group_count);
    cJSON_AddNumberToObject(all, "groups_without_runnable_job", (double)r->hopeless);
    cJSON_AddNumberToObject(all, "jobs", (double)(r->ok + r->failed));
    cJSON_AddNumberToObject(all, "failed_jobs", (double)r->failed);
    cJSON_AddNumberToObject(all, "further_replicates", (double)r->source->replicates);
    cJSON_AddNumberToObject(all, "infeasible", (double)r->source->infeasible);
    cJSON_AddNumberToObject(all, "excluded_by_rules", (double)r->source->excluded);
    cJSON_AddNumberToObject(all, "not_measured", (double)r->source->unmeasured);
    cJSON_AddNumberToObject(all, "seeds", (double)r->seeds);
    cJSON *strategies = cJSON_AddArrayToObject(all, "strategies");
    for (size_t i = 0; i < r->count; i++)
        cJSON_AddItemToArray(strategies, strategy_json(r, &r->strategies[i]));
    int rc = print(all, e);
    cJSON_Delete(all);
    return rc;
}
