#include "report/status_json.h"

#include "report/failure_list.h"
#include "results/json.h"

int64_t status_job_count(const struct sweep_status *s)
{
    return s->pending + s->pruned + s->held + s->running + s->ok + s->failed;
}

/* The clock may have been set back. */
int64_t status_elapsed_ms(const struct status_attempt *a, int64_t now_ms)
{
    return now_ms > a->started_ms ? now_ms - a->started_ms : 0;
}

int64_t status_due_in_ms(int64_t due_ms, int64_t now_ms)
{
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

static cJSON *counts_json(const struct sweep_status *s)
{
    cJSON *counts = cJSON_CreateObject();
    cJSON_AddNumberToObject(counts, "pending", (double)s->pending);
    cJSON_AddNumberToObject(counts, "running", (double)s->running);
    cJSON_AddNumberToObject(counts, "pruned", (double)s->pruned);
    cJSON_AddNumberToObject(counts, "held", (double)s->held);
    cJSON_AddNumberToObject(counts, "ok", (double)s->ok);
    cJSON_AddNumberToObject(counts, "failed", (double)s->failed);
    return counts;
}

static cJSON *holds_json(const struct sweep_status *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->hold_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "jobs", (double)s->holds[i].jobs);
        cJSON_AddNumberToObject(item, "first_job", (double)s->holds[i].first_job);
        cJSON_AddStringToObject(item, "why", s->holds[i].why);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *classes_json(const struct sweep_status *s)
{
    cJSON *classes = cJSON_CreateObject();
    for (size_t i = 0; i < s->class_count; i++)
        cJSON_AddNumberToObject(classes, s->classes[i].name, (double)s->classes[i].jobs);
    return classes;
}

static cJSON *running_json(const struct sweep_status *s, int64_t now_ms)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->attempt_count; i++) {
        const struct status_attempt *a = &s->attempts[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "job", (double)a->job_id);
        cJSON_AddNumberToObject(item, "attempt", (double)a->number);
        json_add_count(item, "slot", a->slot);
        json_add_raw(item, "keys", a->keys_json);
        cJSON_AddNumberToObject(item, "elapsed_ms", (double)status_elapsed_ms(a, now_ms));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *retries_json(const struct sweep_status *s, int64_t now_ms)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->retry_count; i++) {
        const struct status_retry *r = &s->retries[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "job", (double)r->job_id);
        cJSON_AddNumberToObject(item, "attempt", (double)r->number);
        cJSON_AddNumberToObject(item, "due_in_ms", (double)status_due_in_ms(r->due_ms, now_ms));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *best_json(const struct sweep_status *s)
{
    cJSON *best = cJSON_CreateObject();
    cJSON_AddNumberToObject(best, "job", (double)s->best_job);
    cJSON_AddStringToObject(best, "objective", s->objective);
    json_add_real(best, "value", s->best);
    json_add_text(best, "unit", s->unit);
    return best;
}

static cJSON *slow_nodes_json(const struct sweep_status *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->slow_node_count; i++) {
        cJSON *node = cJSON_CreateObject();
        cJSON_AddStringToObject(node, "host", s->slow_nodes[i].host);
        json_add_real(node, "ratio", s->slow_nodes[i].ratio);
        cJSON_AddNumberToObject(node, "pairs", (double)s->slow_nodes[i].compared);
        cJSON_AddItemToArray(list, node);
    }
    return list;
}

static cJSON *places_json(const struct sweep_status *s, int64_t now_ms)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->place_count; i++) {
        const struct status_place *p = &s->places[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "host", p->host);
        json_add_text(item, "device", p->device);
        json_add_text(item, "message", p->message);
        cJSON_AddNumberToObject(item, "jobs", (double)p->jobs);
        cJSON_AddNumberToObject(item, "due_in_ms", (double)status_due_in_ms(p->until_ms, now_ms));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *witnesses_json(const struct sweep_status *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->witness_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "witness", (double)s->witnesses[i].job_id);
        cJSON_AddNumberToObject(item, "jobs", (double)s->witnesses[i].jobs);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *rules_json(const struct sweep_status *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->rule_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "rule", s->rules[i].name);
        json_add_text(item, "reason", s->rules[i].reason);
        cJSON_AddStringToObject(item, "level", s->rules[i].warning ? "warn" : "exclude");
        cJSON_AddNumberToObject(item, "combinations", (double)s->rules[i].combinations);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* The jobs, best first by the first objective. */
static cJSON *pareto_json(const struct pareto *p)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < p->count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)p->jobs[i].job_id));
    return list;
}

static cJSON *search_json(const struct sweep_status *s)
{
    const struct status_search *x = &s->search;
    if (!x->strategy)
        return cJSON_CreateNull();
    cJSON *search = cJSON_CreateObject();
    cJSON_AddStringToObject(search, "strategy", x->strategy);
    cJSON_AddNumberToObject(search, "trials_made", (double)x->trials);
    cJSON_AddNumberToObject(search, "ok", (double)x->ok);
    cJSON_AddNumberToObject(search, "stopped_early", (double)x->stopped);
    cJSON_AddNumberToObject(search, "failed", (double)x->failed);
    json_add_count(search, "trials_to_come", s->to_come);
    json_add_text(search, "why_it_ended", x->ended);
    return search;
}

cJSON *status_json(const struct sweep_status *s, const struct status_beside *beside)
{
    cJSON *root = json_document();
    json_add_text(root, "sweep", s->name);
    json_add_text(root, "path", s->path);
    json_add_count(root, "combinations", s->combinations);
    json_add_count(root, "excluded_combinations", s->excluded);
    json_add_count(root, "duplicates", s->duplicates);
    cJSON_AddNumberToObject(root, "jobs", (double)status_job_count(s));
    cJSON_AddItemToObject(root, "states", counts_json(s));
    cJSON_AddItemToObject(root, "failure_classes", classes_json(s));
    cJSON_AddBoolToObject(root, "runner_alive", beside->runner_alive);
    cJSON_AddItemToObject(root, "running_attempts", running_json(s, beside->now_ms));
    cJSON_AddNumberToObject(root, "retries_waiting", (double)s->retry_total);
    cJSON_AddItemToObject(root, "retries", retries_json(s, beside->now_ms));
    cJSON_AddItemToObject(root, "search", search_json(s));
    cJSON_AddNumberToObject(root, "open", (double)s->open);
    json_add_count(root, "mean_duration_ms", s->mean_ms);
    json_add_count(root, "waiting_duration_ms", s->waiting_ms);
    json_add_real(root, "jobs_per_second", s->rate);
    json_add_real(root, "device_hours", s->device_hours);
    json_add_real(root, "device_hours_left", s->device_hours_left);
    cJSON_AddItemToObject(root, "slow_nodes", slow_nodes_json(s));
    cJSON_AddItemToObject(root, "places_aside", places_json(s, beside->now_ms));
    json_add_count(root, "eta_ms", beside->eta_ms);
    cJSON *info = s->model_info ? cJSON_Parse(s->model_info) : NULL;
    cJSON_AddItemToObject(root, "model_info", info ? info : cJSON_CreateNull());
    cJSON_AddItemToObject(root, "best", s->has_best && !beside->winners ? best_json(s) : cJSON_CreateNull());
    if (beside->winners)
        cJSON_AddItemReferenceToObject(root, "winners", beside->winners);
    else
        cJSON_AddArrayToObject(root, "winners");
    cJSON_AddItemToObject(root, "subject_to", beside->subject_to);
    cJSON_AddItemToObject(root, "pareto_jobs", pareto_json(beside->pareto));
    cJSON_AddItemReferenceToObject(root, "full_trainings", (cJSON *)beside->full_trainings);
    cJSON_AddItemToObject(root, "failures", failure_list_json(&s->causes));
    cJSON_AddItemToObject(root, "witnesses", witnesses_json(s));
    cJSON_AddItemToObject(root, "holds", holds_json(s));
    cJSON_AddNumberToObject(root, "run_last", (double)s->aside);
    cJSON_AddItemToObject(root, "rules", rules_json(s));
    return root;
}
