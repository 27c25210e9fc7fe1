#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "answers/idle_keys.h"
#include "cli/match_words.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/lock.h"
#include "database/open.h"
#include "plan/plan.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/json.h"
#include "search/driver.h"
#include "space/describe.h"
#include "space/identity.h"
#include "util/memory.h"

#define JOBS_SHOWN 100 /* without --all or --limit */

static const char *const mark_signs[PLAN_MARK_COUNT] = {[PLAN_NEW] = "+",    [PLAN_DONE] = "=",    [PLAN_RETRY] = "~",
                                                        [PLAN_FAILED] = "!", [PLAN_RUNNING] = ">", [PLAN_PRUNED] = "x"};

/* The printing of a plan: as soon as a job is known where everything is asked for, else at the end. */
struct plan_printing {
    struct space *space;
    const char *shard; /* --shard; NULL: all */
    struct describer *describer;
    struct match_json *json; /* with --json --all: jobs are printed as they come, before the counts */
    struct match_display progress;
    const struct search_options *search; /* completed; NULL: every job runs */
    int64_t trials_made;                 /* of it before */
    char *search_finished;               /* why it has ended; NULL: it goes on */
    bool is_json, is_eager;
    bool has_head; /* it is printed */
    struct buffer text;
    struct buffer lines; /* of jobs, until the head is there */
    int64_t shown, most;
};

static int print_text(struct plan_printing *p, struct error *e)
{
    match_display_clear(&p->progress);
    int rc = p->is_json ? output_write(buffer_text(&p->text), p->text.length, e) : output_people(&p->text, e);
    buffer_clear(&p->text);
    return rc;
}

static int list_job(void *context, const struct match *m, enum plan_mark mark, const struct hash128 *witness,
                    struct error *e)
{
    struct plan_printing *p = context;
    struct buffer words = BUFFER_INIT, *lines = p->has_head ? &p->text : &p->lines;
    char hex[HASH_HEX_BYTES];
    describe_match(p->describer, m, &words);
    text_add_styled(lines, text_state_style(plan_mark_names[mark]), mark_signs[mark]);
    buffer_printf(lines, " %.16s  ", hash_hex(&m->key, hex));
    text_add_line(lines, buffer_text(&words));
    match_add_prediction(m, lines);
    if (witness)
        buffer_printf(lines, "  needs at least as much memory as %.16s, which ran out of it", hash_hex(witness, hex));
    buffer_add_char(lines, '\n');
    buffer_free(&words);
    p->shown++;
    return p->has_head ? print_text(p, e) : 0;
}

/* The document begins with the first job; jobs are not kept in memory. */
static void begin_list(struct plan_printing *p)
{
    buffer_printf(&p->text, p->shown++ ? ",\n" : "{\n\t\"schema_version\":\t%d,\n\t\"planned\":\t[\n",
                  JSON_SCHEMA_VERSION);
}

static int list_job_json(void *context, const struct match *m, enum plan_mark mark, const struct hash128 *witness,
                         struct error *e)
{
    struct plan_printing *p = context;
    OWNED_JSON *job = cJSON_CreateObject();
    char hex[HASH_HEX_BYTES];
    cJSON_AddStringToObject(job, "mark", plan_mark_names[mark]);
    int rc = match_json_add(p->json, m, job, e);
    json_add_text(job, "witness_key", witness ? hash_hex(witness, hex) : NULL);
    begin_list(p);
    OWNED char *text = json_print(job, false);
    text_add_valid(&p->text, text, strlen(text));
    return rc == 0 ? print_text(p, e) : rc;
}

static void add_predicted_json(const struct space *space, const struct plan *plan, cJSON *o)
{
    if (!space->prediction.asked && !space->prediction.note[0]) {
        cJSON_AddNullToObject(o, "predicted");
        return;
    }
    JSON_ADD(cJSON_AddObjectToObject(o, "predicted"), JSON_INT("memory", plan->predicted_memory),
             JSON_INT("time", plan->predicted_time), JSON_REAL("device_hours", plan->device_hours),
             JSON_REAL("step_device_seconds", plan->step_device_seconds),
             JSON_INT("may_not_fit", plan->risks[OOM_RISK]), JSON_INT("does_not_fit", plan->risks[OOM_CERTAIN]),
             JSON_INT("audits", plan->audits), JSON_TEXT("note", space->prediction.note));
}

static cJSON *head_as_json(const struct plan_printing *p, const struct plan *plan)
{
    const struct space *space = p->space;
    cJSON *o = p->json ? cJSON_CreateObject() : json_document();
    JSON_ADD(o, JSON_STRING("sweep", space->sweep->name), JSON_INT("combinations", plan->match.combinations),
             JSON_INT("matched", plan->match.matched), JSON_INT("jobs", plan->jobs),
             JSON_INT("duplicates", plan->duplicates));
    cJSON *excluded = cJSON_AddObjectToObject(o, "excluded"), *warned = cJSON_AddObjectToObject(o, "warned_by");
    for (size_t i = 0; i < space->rule_count; i++)
        cJSON_AddNumberToObject(space->rules[i].warning ? warned : excluded, space->rules[i].name,
                                (double)plan->match.rules[i].excluded);
    return o;
}

static cJSON *end_as_json(const struct plan_printing *p, const struct plan *plan)
{
    const struct space *space = p->space;
    cJSON *o = cJSON_CreateObject();
    for (int i = 1; i < PLAN_MARK_COUNT; i++)
        cJSON_AddNumberToObject(o, plan_mark_names[i], (double)plan->marks[i]);
    JSON_ADD(o, JSON_INT("gone", plan->gone), JSON_TEXT("shard", p->shard),
             JSON_INT("jobs_of_other_shards", plan->others));
    cJSON_AddItemToObject(o, "reasons", cJSON_Duplicate(plan->reasons, true));
    json_add_real(o, "device_hours_max", plan->device_hours_max);
    add_predicted_json(space, plan, o);
    cJSON_AddItemToObject(o, "unreached", unreached_keys(space, REACHES_CHOICE));
    return o;
}

/* What the text says beside the document, in its head and after the jobs. */
static cJSON *beside_head(const struct space *space, const struct plan *plan)
{
    cJSON *o = cJSON_CreateObject(), *rules = cJSON_AddArrayToObject(o, "rules");
    for (size_t i = 0; i < space->rule_count; i++) {
        const struct space_rule *rule = &space->rules[i];
        JSON_ITEM(rules, JSON_STRING("rule", rule->name), JSON_TRUTH("warns", rule->warning),
                  JSON_INT("combinations", plan->match.rules[i].excluded),
                  JSON_STRING("why", rule->reason[0] ? rule->reason : rule->require));
    }
    return o;
}

static cJSON *beside_end(const struct plan_printing *p, const struct plan *plan)
{
    const struct space *space = p->space;
    const struct search_options *search = p->search;
    OWNED char *unreached = unreached_sentence(space);
    cJSON *o = cJSON_CreateObject();
    JSON_ADD(o, JSON_INT("jobs", plan->jobs), JSON_INT("shown", p->shown), JSON_TRUTH("all", p->most == INT64_MAX),
             JSON_TEXT("hint", plan->hint), JSON_TEXT("search", search ? search->strategy : NULL),
             JSON_TRUTH("memory_first", search && search_strategy_has(search->strategy, MEMORY_FIRST)),
             JSON_REAL("max_trials", search ? search->numbers[SEARCH_MAX_TRIALS] : 0),
             JSON_INT("trials_made", p->trials_made), JSON_TEXT("search_finished", p->search_finished),
             JSON_REAL("device_hours_each", plan->device_hours_each),
             JSON_TRUTH("limits_grow", space->limits[LIMIT_TOTAL].later != NULL),
             JSON_TRUTH("predicts", space->prediction.asked), JSON_INT("predicted_length", plan->predicted_length),
             JSON_TEXT("unreached", unreached), JSON_TRUTH("has_command", space->command.count > 0));
    return o;
}

/* Appends what sql/texts/plan.sql makes of a part of the document; takes both. */
static int say_piece(cJSON *piece, cJSON *beside, struct buffer *out, struct error *e)
{
    int rc = saying_add_text("sql/texts/plan.sql", piece, beside, out, e);
    cJSON_Delete(piece);
    cJSON_Delete(beside);
    return rc;
}

/* Appends the members of `piece` to an object that is written in pieces and not closed here. */
static void add_json_piece(cJSON *piece, bool is_first, struct buffer *out)
{
    OWNED char *text = json_print(piece, true);
    buffer_add_text(out, is_first ? "{" : ",");
    buffer_add(out, text + strlen("{"), strlen(text) - strlen("{") - strlen("\n}"));
    cJSON_Delete(piece);
}

static int print_head(struct plan_printing *p, const struct plan *plan, struct error *e)
{
    if (p->is_json)
        add_json_piece(head_as_json(p, plan), !p->json, &p->text);
    else if (say_piece(head_as_json(p, plan), beside_head(p->space, plan), &p->text, e) < 0)
        return -1;
    p->has_head = true;
    return print_text(p, e);
}

static int print_early(void *context, const struct plan *known, bool is_counted, struct error *e)
{
    struct plan_printing *p = context;
    if (!p->is_eager || !is_counted || p->json)
        return 0;
    return print_head(p, known, e) < 0 ? -1 : output_flush_all(e);
}

static int print_plan(struct plan_printing *p, const struct plan *plan, struct error *e)
{
    if (p->json && p->shown == 0)
        begin_list(p);
    if (p->json)
        buffer_add_text(&p->text, "]");
    if (!p->has_head && print_head(p, plan, e) < 0)
        return -1;
    if (p->is_json) {
        add_json_piece(end_as_json(p, plan), false, &p->text);
        buffer_add_text(&p->text, "\n}\n");
    } else {
        buffer_add(&p->text, p->lines.data, p->lines.length);
        if (say_piece(end_as_json(p, plan), beside_end(p, plan), &p->text, e) < 0)
            return -1;
    }
    return print_text(p, e);
}

static void show_progress(void *context, int64_t matches, int64_t of)
{
    struct plan_printing *p = context;
    match_display_matches(&p->progress, matches, of);
}

static void release(struct plan_printing *p)
{
    describer_free(p->describer);
    match_json_free(p->json);
    buffer_free(&p->text);
    buffer_free(&p->lines);
    free(p->search_finished);
}

static int make_plan(struct session *s, const struct run_options *o, const struct search_setup *setup, struct db *db,
                     struct error *e)
{
    OWNED_BY(plan_free) struct plan plan = {0};
    struct search_options search = setup->options;
    int rc = 0;
    search_options_complete(&search);
    OWNED_BY(release)
    struct plan_printing printing = {.space = s->space,
                                     .shard = o->shard,
                                     .search = setup->wanted ? &search : NULL,
                                     .is_json = o->json,
                                     .is_eager = o->json || o->all,
                                     .progress = {.is_live = output_has_cursor(stderr)},
                                     .most = o->all     ? INT64_MAX
                                             : o->limit ? o->limit
                                                        : JOBS_SHOWN};
    const struct plan_request request = {.space = s->space,
                                         .db = db,
                                         .only = s->only.sql ? &s->only : NULL,
                                         .shard = s->shard,
                                         .policy = &s->sweep->retry,
                                         .forced = s->forced,
                                         .runner_alive = writer_lock_is_held(o->db),
                                         .each = !o->json ? list_job
                                                 : o->all ? list_job_json
                                                          : NULL,
                                         .each_most = printing.most,
                                         .counted = print_early,
                                         .looked_at = show_progress,
                                         .context = &printing};
    printing.describer = o->json ? NULL : describer_create(s->space, NULL);
    if (o->json && o->all && match_json_create(s->space, &printing.json, e) < 0)
        return -1;
    match_display_begin(&printing.progress, s->space);
    if (db && setup->wanted) {
        const struct hash128 sweep = space_identity(s->space).hash;
        rc = search_look_up(db, &sweep, &search, &printing.trials_made, &printing.search_finished, e);
    }
    if (rc == 0)
        rc = plan_make(&request, &plan, e);
    match_display_end(&printing.progress);
    if (rc < 0 || print_plan(&printing, &plan, e) < 0)
        return -1;
    return plan.jobs == 0 ? STATUS_NOTHING : STATUS_OK;
}

int command_plan(const struct run_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(session_close) struct session s = {0};
    OWNED_DB *db = NULL;
    struct search_setup search = {0};
    if (session_open(&s, o, a->program, e) < 0 || search_setup_read(o, s.sweep, &search, e) < 0 ||
        search_setup_check(&search, s.space, s.only.sql ? &s.only : NULL, e) < 0 ||
        (store_exists(o->db) && store_open_read_only(o->db, &db, e) < 0) || session_use_known(&s, db, e) < 0)
        return -1;
    return make_plan(&s, o, &search, db, e);
}
