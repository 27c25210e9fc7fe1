#include "cli/model_info_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "config/failure.h"
#include "report/saying.h"
#include "space/compile.h"
#include "space/enumerate.h"
#include "space/match.h"
#include "space/prediction.h"
#include "util/memory.h"

int model_info_open(const struct session *s, struct session *job, struct error *e)
{
    *job = (struct session){0};
    if (model_info_sweep(s->sweep, &job->sweep, e) < 0)
        return -1;
    return session_build(job, NULL, e);
}

int model_info_gather(const struct session *s, struct db *db, struct model_facts *out, struct error *e)
{
    struct session job;
    struct model_facts f = model_facts_given(s->sweep);
    int rc = 0;
    if (db && model_info_wants_job(s->sweep)) {
        rc = model_info_open(s, &job, e);
        if (rc == 0) {
            const struct hash128 hash = space_identity(job.space).hash;
            rc = model_facts_read(db, &hash, &f, e);
        }
        session_close(&job);
    }
    if (rc < 0)
        model_facts_free(&f);
    else
        *out = f;
    return rc;
}

int model_info_apply(struct session *s, const struct model_facts *f, struct error *e)
{
    return s->sweep->model_info.given ? session_build(s, f->values, e) : 0;
}

int model_info_use_known(struct session *s, struct db *db, struct error *e)
{
    struct model_facts facts;
    if (!s->sweep->model_info.given)
        return 0;
    if (model_info_gather(s, db, &facts, e) < 0)
        return -1;
    int rc = model_info_apply(s, &facts, e);
    model_facts_free(&facts);
    return rc;
}

void model_info_explain(const struct model_facts *f)
{
    static const char without[] =
        "the sweep continues without it; params and activation_memory can be given under [model_info] instead";
    if (f->rule)
        output_message("model information: the job that measures it is excluded by %s; %s", f->rule, without);
    else if (f->failure && failure_is_of_command(f->message))
        output_message("model information: job %lld failed (%s): %s; the command is the same for all jobs, so correct "
                       "it first",
                       (long long)f->job_id, f->failure, f->message);
    else if (f->failure)
        output_message("model information: job %lld failed (%s)%s%s; %s", (long long)f->job_id, f->failure,
                       f->message ? ": " : "", f->message ? f->message : "", without);
}

/* --- what the facts mean for each ZeRO stage --- */

#define STAGES_MOST 8

/* From one prediction, whose activations are in proportion to its micro-batch. */
static void add_need(const struct prediction *p, cJSON *stage)
{
    const struct memory_stage *most = &p->memory.most;
    const double activations = most->terms[MEMORY_ACTIVATIONS], states = most->bytes - most->slack - activations;
    const double room = p->usable_bytes - p->memory.reserve_bytes - states;
    json_add_real(stage, "state_bytes", states);
    if (p->usable_bytes > 0 && activations > 0)
        json_add_count(stage, "micro_batch", room > 0 ? (int64_t)(room * p->micro_batch / activations) : 0);
    else
        cJSON_AddNullToObject(stage, "micro_batch");
}

/* The rule that excludes the most of what `filter` leaves. */
static int add_rule(struct space *space, const struct expression *filter, cJSON *stage, struct error *e)
{
    struct match_counts counts = {0};
    const struct space_rule *rule = NULL;
    int64_t most = 0;
    if (match_count(space, filter, &counts, e) < 0)
        return -1;
    for (size_t i = 0; i < space->rule_count; i++)
        if (!space->rules[i].warning && counts.rules[i].excluded > most) {
            rule = &space->rules[i];
            most = counts.rules[i].excluded;
        }
    JSON_ADD(stage, JSON_TEXT("rule", rule ? rule->name : NULL), JSON_TEXT("reason", rule ? rule->reason : NULL));
    free(counts.rules);
    return 0;
}

static int add_stage(struct space *space, const struct key *key, int64_t value, cJSON *list, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    struct expression filter;
    struct match_cursor *cursor = NULL;
    const struct match *match = NULL;
    cJSON *stage = JSON_ITEM(list, JSON_COUNT("zero_stage", value));
    expression_add_column(&sql, key);
    buffer_printf(&sql, " IS %lld", (long long)value);
    const struct source_text source = {buffer_text(&sql), UNKNOWN_IS_ERROR, NULL, "ZeRO stage", key->name, NULL};
    int rc = compile_alone(space, &source, &filter, e);
    if (rc == 0)
        rc = match_next(cursor = match_open(space, &filter), &match, e);
    if (rc > 0 && match && match->prediction && match->prediction->has_memory)
        add_need(match->prediction, stage);
    if (rc == 0)
        rc = add_rule(space, &filter, stage, e);
    match_close(cursor);
    return rc < 0 ? -1 : 0;
}

int model_info_find_stages(struct session *s, struct model_facts *f, struct error *e)
{
    struct space *space = s->space;
    const struct key *key = s->sweep->model_info.given ? prediction_key(space, AT_ZERO_STAGE) : NULL;
    struct stmt *rows = NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    int64_t values[STAGES_MOST];
    size_t count = 0;
    int rc = 0;
    if (!key)
        return 0;
    buffer_add_text(&sql, "SELECT DISTINCT ");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " AS v FROM \"%s\" WHERE typeof(v) = 'integer' ORDER BY v LIMIT %d",
                  section_names[key->section], STAGES_MOST);
    while ((rc = db_next(space->db, buffer_text(&sql), NO_VALUES, &rows, e)) > 0)
        values[count++] = stmt_int(rows, 0);
    OWNED_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_stage(space, key, values[i], list, e);
    if (rc == 0 && count > 0)
        f->stages = cJSON_PrintUnformatted(list);
    return rc;
}

void model_info_tell(const struct model_facts *f)
{
    OWNED_BUFFER facts = BUFFER_INIT, stages = BUFFER_INIT;
    char *json = model_facts_json(f), *line, *rest;
    OWNED_JSON *info = cJSON_Parse(json), *beside = cJSON_CreateObject();
    saying_add_sentence("sql/texts/model_info.sql", info, NULL, &facts);
    cJSON_AddStringToObject(beside, "indent", "");
    saying_add_sentence("sql/texts/model_info.sql", info, beside, &stages);
    if (facts.length)
        output_message("model information: %s", buffer_text(&facts) + 2);
    rest = stages.data;
    while (stages.length && (line = strtok_r(NULL, "\n", &rest)))
        output_message("%s", line);
    free(json);
}
