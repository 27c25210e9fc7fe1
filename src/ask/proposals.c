#include "ask/proposals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "measures/learning.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/views.h"
#include "search/driver.h"
#include "space/compile.h"
#include "space/match.h"
#include "store/imports.h"
#include "store/jobs.h"
#include "store/runners.h"
#include "store/trials.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

/* --- one trial --- */

/* Appends it as src/ask/asked_trial.sql has it. */
static int add_trial(const struct proposal_place *place, int64_t trial_id, cJSON *list, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(place->db, embedded_text("src/ask/asked_trial.sql"), VALUES(sql_int(trial_id)), &s, e);
    if (rc > 0)
        json_add_columns(json_add_item(list, NULL, 0), s, 0);
    return rc < 0 ? -1 : 0;
}

/* The last trial of the job that a client asked for; 0: none. */
static int last_trial(const struct proposal_place *place, int64_t job_id, int64_t *trial_id, struct error *e)
{
    return db_query_int(place->db,
                        "SELECT max(t.id) FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                        " WHERE t.job_id = ?1 AND s.sweep_id = ?2 AND s.strategy = '" PROPOSALS_STRATEGY "'",
                        VALUES(sql_int(job_id), sql_int(place->sweep_id)), 0, trial_id, e);
}

/* The search for proposals from `by`, created if there is none. */
static int open_search(const struct proposal_place *place, const char *by, int64_t *id, struct error *e)
{
    OWNED_JSON *options = cJSON_CreateObject();
    cJSON_AddStringToObject(options, "by", by);
    OWNED char *json = cJSON_PrintUnformatted(options);
    return search_open(place->db, place->sweep_id, PROPOSALS_STRATEGY, json, id, e);
}

/* The next number of an event of the search that follows in brackets. */
#define NEXT_EVENT "SELECT max(coalesce(max(asked), 0), coalesce(max(told), 0)) + 1 FROM trial WHERE search_id = "

/* --- outcomes --- */

/* Copies the job's outcome to its trial, if it has ended. */
static int take_outcome(const struct proposal_place *place, int64_t trial_id, int64_t job_id, struct error *e)
{
    const struct sweep *sweep = place->space->sweep;
    const struct job_outcome_query query = {place->sweep_id, job_id,
                                            sweep->objective_count ? sweep->objectives[0].metric : NULL};
    struct job_outcome o;
    int64_t told;
    OWNED_STMT *s = NULL;
    int rc = job_outcome_next(place->db, &query, &s, &o, e);
    if (rc <= 0 || (strcmp(o.state, "ok") != 0 && strcmp(o.state, "failed") != 0))
        return rc < 0 ? -1 : 0;
    if (strcmp(o.state, "ok") == 0 && o.stopped)
        o.state = "stopped";
    if (db_query_int(place->db, NEXT_EVENT "(SELECT search_id FROM trial WHERE id = ?)", VALUES(sql_int(trial_id)), 1,
                     &told, e) < 0)
        return -1;
    return trial_record_outcome(place->db, trial_id, told, &o, e);
}

/* --- jobs that become trials --- */

/* A job to be made a trial if it is none yet, with its outcome if it has ended. */
struct acceptance {
    int64_t job_id;
    bool has_ended;
    const char *by, *why;
};

static int take_job(const struct proposal_place *place, const struct acceptance *a, cJSON *asked, struct error *e)
{
    struct trial_row row = {.resource = NAN, .reason = a->why, .outcome = {.job_id = a->job_id}};
    int64_t search_id, trial_id;
    if (last_trial(place, a->job_id, &trial_id, e) < 0)
        return -1;
    /* The job is asked for again after the previous client ended: the same trial. */
    if (trial_id)
        return add_trial(place, trial_id, asked, e);
    if (open_search(place, a->by, &search_id, e) < 0 ||
        db_query_int(place->db, NEXT_EVENT "?", VALUES(sql_int(search_id)), 1, &row.asked, e) < 0 ||
        trial_record(place->db, search_id, &row, &trial_id, e) < 0 ||
        (a->has_ended && take_outcome(place, trial_id, a->job_id, e) < 0))
        return -1;
    return add_trial(place, trial_id, asked, e);
}

/* --- open trials --- */

#define OPEN_TRIALS                                                                                                    \
    " FROM trial AS t JOIN search AS s ON s.id = t.search_id"                                                          \
    " WHERE s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "' AND t.told IS NULL"

int proposals_settle(const struct proposal_place *place, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(place->db,
                      "SELECT t.id, t.job_id" OPEN_TRIALS " AND EXISTS (SELECT 1 FROM job AS j WHERE j.id = t.job_id"
                      " AND (j.state IN ('ok', 'failed') OR j.witness_id IS NOT NULL))",
                      VALUES(sql_int(place->sweep_id)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = take_outcome(place, stmt_int(s, 0), stmt_int(s, 1), e);
    return rc;
}

static cJSON *new_answer(void)
{
    cJSON *answer = json_document();
    cJSON_AddArrayToObject(answer, "asked");
    cJSON_AddArrayToObject(answer, "refused");
    return answer;
}

/* The jobs `j` of the sweep ?1 that could run and that no client has asked for. */
#define UNASKED_JOBS                                                                                                   \
    " FROM job AS j WHERE j.sweep_id = ?1 AND j.state = 'pending' AND j.witness_id IS NULL AND j.held IS NULL AND NOT" \
    " EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id WHERE t.job_id = j.id"                   \
    "  AND s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "')"

/* Adds trials without an outcome, and jobs that no client has asked for. */
static int add_counts(const struct proposal_place *place, cJSON *answer, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc =
        db_next(place->db, "SELECT (SELECT count(*)" OPEN_TRIALS ") AS open, (SELECT count(*)" UNASKED_JOBS ") AS left",
                VALUES(sql_int(place->sweep_id)), &s, e);
    if (rc > 0)
        json_add_columns(answer, s, 0);
    return rc < 0 ? -1 : 0;
}

int proposals_open(const struct proposal_place *place, cJSON **answer, struct error *e)
{
    OWNED_STMT *s = NULL;
    *answer = new_answer();
    int rc = db_query(place->db, "SELECT t.id" OPEN_TRIALS " ORDER BY t.id", VALUES(sql_int(place->sweep_id)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = add_trial(place, stmt_int(s, 0), cJSON_GetObjectItemCaseSensitive(*answer, "asked"), e);
    return rc < 0 ? -1 : add_counts(place, *answer, e);
}

/* --- the next jobs, by the strategy ---
 *
 * Chooses the next jobs by the sweep's own strategy ([search]). Its trials belong to a search whose proposer is the
 * strategy, and the strategy is replayed from them on each call. It decides on configurations: the first replicate of
 * each is given out, then, if that is ok, the others, before anything new. The strategy is told their mean. */

struct deciding {
    const struct proposal_place *place;
    struct candidate_set set;
    struct search *search;
    int64_t search_id;
    bool *is_own;       /* by candidate: whether it is a trial of this search */
    int64_t *last_told; /* by candidate: the last sequence number at which it or a replicate was told */
    struct candidate_job **due;
    size_t due_count;
};

/* Returns whether a strategy decides which jobs are next. */
static bool is_decided(const struct sweep *s)
{
    return s->search.given && !search_strategy_has(s->search.options.strategy, IN_ORDER) && s->objective_count > 0;
}

static int note_own(struct deciding *d, struct error *e)
{
    struct trial_row row;
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = trial_next(d->place->db, d->search_id, &s, &row, e)) > 0) {
        size_t candidate = candidate_set_find(&d->set, row.outcome.job_id);
        const struct candidate_job *r = candidate_set_replicate(&d->set, row.outcome.job_id);
        if (candidate != SIZE_MAX)
            d->is_own[candidate] = true;
        else if (r)
            candidate = r->candidate;
        if (candidate != SIZE_MAX && row.told > d->last_told[candidate])
            d->last_told[candidate] = row.told;
    }
    return rc;
}

/* --- replicates --- */

static void keep_due(void *context, struct candidate_job *r)
{
    struct deciding *d = context;
    *array_add(d->due, d->due_count) = r;
}

static int add_replicates(struct deciding *d, size_t candidate, struct job_outcome *o, bool *waits, struct error *e)
{
    const struct replicates_query query =
        {d->place->db, d->place->sweep_id, d->place->space->sweep->objectives[0].metric, &d->set, keep_due, d};
    return replicates_add(&query, candidate, o, waits, e);
}

/* The trial belongs to the first replicate, but the strategy is told when the last one is. */
static int complete(void *context, struct trial_row *row, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, row->outcome.job_id);
    bool waits;
    if (!row->told || candidate == SIZE_MAX)
        return 0;
    if (add_replicates(d, candidate, &row->outcome, &waits, e) < 0)
        return -1;
    row->told = waits ? 0 : d->last_told[candidate];
    return 0;
}

static int give_due(struct deciding *d, size_t wanted, cJSON *asked, size_t *given, struct error *e)
{
    const char *strategy = search_options(d->search)->strategy;
    for (size_t i = 0; i < d->due_count && *given < wanted; i++) {
        const struct candidate_job *r = d->due[i];
        char reason[64];
        int64_t trial_id;
        if (last_trial(d->place, r->job_id, &trial_id, e) < 0)
            return -1;
        if (trial_id)
            continue;
        snprintf(reason, sizeof reason, "replicate of job %lld", (long long)d->set.job_ids[r->candidate]);
        if (take_job(d->place, &(struct acceptance){r->job_id, false, strategy, reason}, asked, e) < 0)
            return -1;
        ++*given;
    }
    return 0;
}

/* --- what the strategy knows --- */

/* Tells the strategy what has run without being asked for here. */
static int tell_known(struct deciding *d, struct error *e)
{
    const struct job_outcome_query every = {d->place->sweep_id, 0, d->place->space->sweep->objectives[0].metric};
    struct job_outcome o;
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = job_outcome_next(d->place->db, &every, &s, &o, e)) > 0) {
        size_t candidate = candidate_set_find(&d->set, o.job_id);
        bool waits;
        if (candidate == SIZE_MAX || d->is_own[candidate])
            continue;
        if (add_replicates(d, candidate, &o, &waits, e) < 0)
            return -1;
        const struct search_outcome outcome = search_outcome_of(&o);
        if (waits)
            search_begin(d->search, candidate, 0);
        else
            search_tell(d->search, candidate, &outcome);
    }
    return rc;
}

/* Marks what is running or was given to other clients. */
static int begin_others(struct deciding *d, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(d->place->db, embedded_text("src/ask/jobs_of_others.sql"), VALUES(sql_int(d->place->sweep_id)),
                         &s, e)) > 0) {
        size_t candidate = candidate_set_find(&d->set, stmt_int(s, 0));
        if (candidate != SIZE_MAX && !d->is_own[candidate])
            search_begin(d->search, candidate, 0);
    }
    return rc;
}

static int go_on(struct deciding *d, struct error *e)
{
    const struct past_request past = {d->place->db, d->search_id, &d->set, d->search, complete, d};
    OWNED struct past_candidate *candidates = xcalloc(d->set.space.count + 1, sizeof *candidates);
    int64_t last = 0;
    return note_own(d, e) < 0 || tell_known(d, e) < 0 || past_repeat(&past, candidates, &last, e) < 0
               ? -1
               : begin_others(d, e);
}

static int say_nothing(const struct decision *decision, enum search_answer answer, const char *strategy,
                       struct error *e)
{
    if (answer == SEARCH_WAIT)
        return error_set(e, ERROR_NOTHING,
                         "%s waits for the results of jobs that were asked for: %s (meshsweep ask --open lists them)",
                         strategy, decision->reason);
    return error_set(e, ERROR_NOTHING, "%s has no more jobs to propose: %s", strategy, decision->reason);
}

static int decide(struct deciding *d, size_t wanted, cJSON *asked, struct error *e)
{
    const char *strategy = search_options(d->search)->strategy;
    struct decision decision;
    enum search_answer answer = SEARCH_RUN;
    size_t given = 0;
    if (give_due(d, wanted, asked, &given, e) < 0)
        return -1;
    while (given < wanted && (answer = search_ask(d->search, &decision)) == SEARCH_RUN) {
        const struct acceptance a = {d->set.job_ids[decision.candidate], false, strategy, decision.reason};
        if (take_job(d->place, &a, asked, e) < 0)
            return -1;
        given++;
    }
    return given > 0 || wanted == 0 ? 0 : say_nothing(&decision, answer, strategy, e);
}

/* Adds the jobs that the strategy chooses. */
static int decide_next(const struct proposal_place *place, size_t wanted, cJSON *asked, struct error *e)
{
    const struct search_options *given = &place->space->sweep->search.options;
    const struct candidate_request request = {.space = place->space,
                                              .db = place->db,
                                              .sweep_id = place->sweep_id,
                                              .equal_batch = given->equal_batch != 0};
    struct deciding d = {.place = place};
    int rc = candidates_load(&request, &d.set, e) < 0 || search_create(&d.set.space, given, &d.search, e) < 0
                 ? -1
                 : open_search(place, given->strategy, &d.search_id, e);
    if (rc == 0) {
        d.is_own = xcalloc(d.set.space.count + 1, sizeof *d.is_own);
        d.last_told = xcalloc(d.set.space.count + 1, sizeof *d.last_told);
        rc = go_on(&d, e);
    }
    if (rc == 0)
        rc = decide(&d, wanted, asked, e);
    free_all(d.is_own, d.last_told, d.due);
    search_free(d.search);
    candidates_free(&d.set);
    return rc;
}

/* --- the next jobs, in order --- */

static int say_exhausted(const struct proposal_place *place, struct error *e)
{
    int64_t open;
    if (db_query_int(place->db, "SELECT count(*)" OPEN_TRIALS, VALUES(sql_int(place->sweep_id)), 0, &open, e) < 0)
        return -1;
    if (open > 0)
        return error_set(e, ERROR_NOTHING,
                         "no job is left to ask for: all that have not run have been asked for (%lld without a result; "
                         "meshsweep ask --open lists them)",
                         (long long)open);
    return error_set(e, ERROR_NOTHING, "no job is left to ask for: every job of the sweep has an outcome");
}

static int next_in_order(const struct proposal_place *place, size_t wanted, cJSON *asked, struct error *e)
{
    OWNED_STMT *s = NULL;
    size_t given = 0;
    int rc = db_query(place->db, "SELECT j.id" UNASKED_JOBS " ORDER BY j.aside, j.priority, j.rank LIMIT ?2",
                      VALUES(sql_int(place->sweep_id), sql_int((int64_t)wanted)), &s, e);
    for (; rc == 0 && (rc = stmt_next(s, e)) > 0; given++)
        rc = take_job(place, &(struct acceptance){stmt_int(s, 0), false, place->by, place->why}, asked, e);
    return rc == 0 && given == 0 ? say_exhausted(place, e) : rc;
}

int proposals_next(const struct proposal_place *place, size_t wanted, cJSON **answer, struct error *e)
{
    *answer = new_answer();
    cJSON *asked = cJSON_GetObjectItemCaseSensitive(*answer, "asked");
    int rc =
        is_decided(place->space->sweep) ? decide_next(place, wanted, asked, e) : next_in_order(place, wanted, asked, e);
    return rc < 0 ? -1 : add_counts(place, *answer, e);
}

/* --- proposals --- */

#define LOOKED_AT_MOST 10000 /* most matches of one proposal examined */
#define PROPOSALS_MOST 10000
#define DERIVED_TITLE "derived" /* besides the sections, in documents */

/* A proposal being processed. */
struct asked_for {
    const cJSON *given;
    cJSON *keys; /* one object, keys as name or section.name */
    const char *by, *why;
    char *condition; /* SQL over the keys */
};

/* --- reading --- */

/* 7 matches the number or the text. */
static void add_value(struct buffer *sql, const cJSON *value)
{
    OWNED char *text = cJSON_IsString(value) ? xstrdup(value->valuestring) : cJSON_PrintUnformatted(value);
    double number = value->valuedouble;
    if (cJSON_IsNumber(value) || (cJSON_IsString(value) && parse_double(value->valuestring, &number))) {
        buffer_add_double(sql, number);
        buffer_add_text(sql, ", ");
    } else if (cJSON_IsBool(value)) {
        buffer_printf(sql, "%d, ", cJSON_IsTrue(value) != 0);
    }
    buffer_add_quoted(sql, text, '\'');
}

static char *condition_of(const cJSON *keys)
{
    struct buffer sql = BUFFER_INIT;
    for (const cJSON *item = keys->child; item; item = item->next) {
        buffer_add_text(&sql, item == keys->child ? "" : " AND ");
        expression_add_name(&sql, item->string);
        if (cJSON_IsNull(item)) {
            buffer_add_text(&sql, " IS NULL");
            continue;
        }
        buffer_add_text(&sql, " IN (");
        add_value(&sql, item);
        buffer_add_char(&sql, ')');
    }
    if (sql.length == 0)
        buffer_add_text(&sql, "true");
    return buffer_take(&sql);
}

static int text_of(const cJSON *item, const char *name, const char **out, struct error *e)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, name);
    if (text && !cJSON_IsString(text))
        return error_set(e, ERROR_USAGE, "\"%s\" must be a string", name);
    *out = text ? text->valuestring : *out;
    return 0;
}

/* The section of keys with that title in documents; derived keys have SECTION_COUNT. SIZE_MAX: no such title. */
static size_t section_titled(const char *title)
{
    size_t i = FIRST(k, SECTION_COUNT, strcmp(title, section_names[k]) == 0);
    return i == SECTION_COUNT && strcmp(title, DERIVED_TITLE) != 0 ? SIZE_MAX : i;
}

static cJSON *flat_keys(const cJSON *keys)
{
    cJSON *flat = cJSON_CreateObject();
    for (const cJSON *item = keys->child; item; item = item->next) {
        const size_t section = section_titled(item->string);
        if (section == SIZE_MAX || !(cJSON_IsObject(item) || cJSON_IsNull(item))) {
            cJSON_AddItemToObject(flat, item->string, cJSON_Duplicate(item, true));
            continue;
        }
        for (const cJSON *key = item->child; key; key = key->next) {
            OWNED char *name =
                section < SECTION_COUNT ? xasprintf("%s.%s", item->string, key->string) : xstrdup(key->string);
            cJSON_AddItemToObject(flat, name, cJSON_Duplicate(key, true));
        }
    }
    return flat;
}

static int read_proposal(const struct proposal_place *place, const cJSON *item, struct asked_for *out, struct error *e)
{
    const cJSON *named = cJSON_GetObjectItemCaseSensitive(item, "keys"), *keys = named ? named : item;
    *out = (struct asked_for){.given = item, .by = place->by, .why = place->why};
    if (!cJSON_IsObject(keys))
        return error_set(e, ERROR_USAGE,
                         "a proposal must be an object of keys and values, such as {\"micro_batch\": 4}");
    if (named && (text_of(item, "by", &out->by, e) < 0 || text_of(item, "why", &out->why, e) < 0))
        return -1;
    out->keys = flat_keys(keys);
    out->condition = condition_of(out->keys);
    return 0;
}

/* --- finding its job --- */

struct job_found {
    int64_t id; /* 0: none */
    int64_t witness;
    bool has_ended, is_trial;
};

static int look_at_job(const struct proposal_place *place, const struct hash128 *key, struct job_found *out,
                       struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(place->db, embedded_text("src/ask/look_at_proposed.sql"),
                     VALUES(sql_hash(key), sql_int(place->sweep_id)), &s, e);
    *out = (struct job_found){0};
    if (rc > 0)
        *out = (struct job_found){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2) != 0, stmt_int(s, 3) != 0};
    return rc < 0 ? -1 : 0;
}

/* The first job that matches a proposal and has not ended, is not pruned and is no trial; else the first match. */
static int find_job(const struct proposal_place *place, const struct expression *filter, struct job_found *out,
                    struct error *e)
{
    struct match_cursor *cursor = match_open(place->space, filter);
    const struct match *m;
    bool chosen = false;
    int rc = 1;
    *out = (struct job_found){0};
    for (int looked = 0; !chosen && looked < LOOKED_AT_MOST && (rc = match_next(cursor, &m, e)) > 0; looked++) {
        struct job_found found;
        if ((rc = look_at_job(place, &m->key, &found, e)) < 0)
            break;
        chosen = found.id && !found.has_ended && !found.witness && !found.is_trial;
        if (chosen || !out->id)
            *out = found;
    }
    match_close(cursor);
    return rc < 0 ? -1 : 0;
}

/* --- refusing --- */

static int keep_values(void *context, int64_t rank, const char *values_json, struct error *e)
{
    char **values = context;
    (void)rank;
    (void)e;
    text_replace(values, xstrdup(values_json));
    return 0;
}

/* The first rule that excludes it, and what it came to by that, the caller's; NULL: none. */
static int find_rule(const struct proposal_place *place, const struct expression *filter,
                     const struct space_rule **rule, char **values, struct error *e)
{
    const struct space_rule *all = place->space->rules;
    *rule = NULL;
    for (size_t i = 0; !*values && i < place->space->rule_count; i++) {
        const struct exclusion_query q = {i, filter, 1, false, keep_values, values};
        if (!all[i].warning && match_excluded(place->space, &q, e) < 0)
            return -1;
        *rule = *values ? &all[i] : NULL;
    }
    return 0;
}

/* The key that has no such value in the sweep, in words. The caller frees it. */
static char *missing_value(const struct proposal_place *place, const struct asked_for *p)
{
    for (const cJSON *item = p->keys ? p->keys->child : NULL; item; item = item->next) {
        OWNED_JSON *alone = cJSON_CreateObject();
        cJSON_AddItemToObject(alone, item->string, cJSON_Duplicate(item, true));
        OWNED char *condition = condition_of(alone), *text = cJSON_PrintUnformatted(item);
        const struct source_text source = {condition, UNKNOWN_IS_ERROR, NULL, "key", item->string, NULL};
        struct expression x;
        struct error ignored = ERROR_INIT;
        struct match_counts counts = {0};
        bool none = compile_alone(place->space, &source, &x, &ignored) == 0 &&
                    match_count(place->space, &x, &counts, &ignored) == 0 && counts.combinations == 0;
        char *said = none ? xasprintf("no combination has %s = %s", item->string, text) : NULL;
        free(counts.rules);
        if (said)
            return said;
    }
    return xstrdup("no combination has all of these values");
}

/* The distance of a job from the proposal: the number of keys that differ, then by what factors. */
static void add_distance(const struct proposal_place *place, const cJSON *item, struct buffer *differ,
                         struct buffer *far)
{
    OWNED_BUFFER column = BUFFER_INIT;
    size_t index;
    if (names_resolve(&place->space->names, item->string, &index) != RESOLVED_KEY)
        return;
    const struct key *key = &place->space->names.keys[index];
    expression_add_member(&column, job_spec_columns[key->section], key->name);
    const char *value = buffer_text(&column);
    buffer_printf(differ, " + (coalesce(%s, '') NOT IN (", value);
    add_value(differ, item);
    buffer_add_text(differ, "))");
    if (cJSON_IsNumber(item) && item->valuedouble > 0) {
        OWNED_BUFFER wanted = BUFFER_INIT;
        buffer_add_double(&wanted, item->valuedouble);
        buffer_printf(far, " + iif(%s > 0, 1.0 * max(%s, %s) / min(%s, %s), 9e9)", value, value, buffer_text(&wanted),
                      value, buffer_text(&wanted));
    }
}

/* The nearest job of the sweep; 0: none. */
static int find_nearest(const struct proposal_place *place, const struct asked_for *p, int64_t *id, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT, differ = BUFFER_INIT, far = BUFFER_INIT;
    for (const cJSON *item = p->keys->child; item; item = item->next)
        add_distance(place, item, &differ, &far);
    buffer_printf(&sql,
                  "SELECT j.id" JOB_SPECS_FROM_SQL " WHERE j.sweep_id = ?1 AND j.witness_id IS NULL"
                  " ORDER BY 0.0%s, 0.0%s, j.rank LIMIT 1",
                  buffer_text(&differ), buffer_text(&far));
    return db_query_int(place->db, buffer_text(&sql), VALUES(sql_int(place->sweep_id)), 0, id, e);
}

/* Adds all its keys, so that it can be proposed as it is. */
static int add_nearest(const struct proposal_place *place, const struct asked_for *p, cJSON *refused, struct error *e)
{
    int64_t id = 0;
    if (find_nearest(place, p, &id, e) < 0)
        return -1;
    if (id == 0) {
        cJSON_AddNullToObject(refused, "nearest");
        return 0;
    }
    cJSON *nearest = cJSON_AddObjectToObject(refused, "nearest");
    json_add_count(nearest, "job", id);
    return json_add_keys(nearest, place->db, id, e);
}

/* Adds the keys that the sweep has, by section. */
static void add_proposed_keys(const struct proposal_place *place, const struct asked_for *p, cJSON *refused)
{
    const struct names *names = &place->space->names;
    cJSON *keys = cJSON_AddObjectToObject(refused, "keys"), *sections[SECTION_COUNT + 1];
    for (size_t i = 0; i <= SECTION_COUNT; i++)
        sections[i] = cJSON_AddNullToObject(keys, i < SECTION_COUNT ? section_names[i] : DERIVED_TITLE);
    for (const cJSON *item = p->keys->child; item; item = item->next) {
        size_t index;
        const enum resolution found = names_resolve(names, item->string, &index);
        if (found != RESOLVED_KEY && found != RESOLVED_DERIVED)
            continue;
        cJSON *section = sections[found == RESOLVED_KEY ? names->keys[index].section : SECTION_COUNT];
        section->type = cJSON_Object;
        cJSON_AddItemToObject(section, found == RESOLVED_KEY ? names->keys[index].name : item->string,
                              cJSON_Duplicate(item, true));
    }
}

struct proposal_refusal {
    const char *rule, *reason, *values_json; /* NULL: none */
};

static int refuse(const struct proposal_place *place, const struct asked_for *p, const struct proposal_refusal *r,
                  cJSON *list, struct error *e)
{
    cJSON *refused = json_add_item(list, NULL, 0), *values = r->values_json ? cJSON_Parse(r->values_json) : NULL;
    cJSON_AddItemToObject(refused, "proposal", cJSON_Duplicate(p->given, true));
    add_proposed_keys(place, p, refused);
    JSON_ADD(refused, JSON_TEXT("rule", r->rule), JSON_STRING("reason", r->reason));
    cJSON_AddItemToObject(refused, "values", values ? values : cJSON_CreateNull());
    return add_nearest(place, p, refused, e);
}

static int refuse_excluded(const struct proposal_place *place, const struct asked_for *p,
                           const struct expression *filter, cJSON *list, struct error *e)
{
    OWNED char *values = NULL, *missing = NULL;
    const struct space_rule *by;
    if (find_rule(place, filter, &by, &values, e) < 0)
        return -1;
    missing = by ? NULL : missing_value(place, p);
    const struct proposal_refusal r = {.rule = by ? by->name : NULL,
                                       .reason = !by                         ? missing
                                                 : by->reason && *by->reason ? by->reason
                                                                             : by->require,
                                       .values_json = values};
    return refuse(place, p, &r, list, e);
}

static int refuse_pruned(const struct proposal_place *place, const struct asked_for *p, int64_t witness, cJSON *list,
                         struct error *e)
{
    OWNED char *reason =
        xasprintf("needs at least as much device memory as job %lld, which ran out of it", (long long)witness);
    const struct proposal_refusal r = {"predict.order", reason, NULL};
    return refuse(place, p, &r, list, e);
}

static int ask_one(const struct proposal_place *place, const struct asked_for *p, cJSON *answer, struct error *e)
{
    cJSON *asked = cJSON_GetObjectItemCaseSensitive(answer, "asked");
    cJSON *refused = cJSON_GetObjectItemCaseSensitive(answer, "refused");
    const struct source_text source = {p->condition, UNKNOWN_IS_ERROR, NULL, "proposal", p->condition, NULL};
    struct expression filter;
    struct job_found job = {0};
    struct error why = ERROR_INIT;
    if (compile_alone(place->space, &source, &filter, &why) < 0) {
        const char *text = strstr(why.text, "unknown key");
        const struct proposal_refusal r = {NULL, text ? text : why.text, NULL};
        return refuse(place, p, &r, refused, e);
    }
    int rc = find_job(place, &filter, &job, e);
    if (rc == 0 && job.id == 0)
        rc = refuse_excluded(place, p, &filter, refused, e);
    else if (rc == 0 && job.witness)
        rc = refuse_pruned(place, p, job.witness, refused, e);
    else if (rc == 0)
        rc = take_job(place, &(struct acceptance){job.id, job.has_ended, p->by, p->why}, asked, e);
    return rc;
}

int proposals_ask(const struct proposal_place *place, const cJSON *proposals, cJSON **answer, struct error *e)
{
    const bool is_list = cJSON_IsArray(proposals);
    int rc = 0, number = 0;
    if (is_list && cJSON_GetArraySize(proposals) > PROPOSALS_MOST)
        rc = error_set(e, ERROR_USAGE, "more than %d proposals", PROPOSALS_MOST);
    *answer = new_answer();
    for (const cJSON *item = is_list ? proposals->child : proposals; rc == 0 && item;
         item = is_list ? item->next : NULL) {
        struct asked_for p;
        number++;
        rc = read_proposal(place, item, &p, e);
        if (rc < 0) {
            error_context(e, "proposal %d", number);
            break;
        }
        rc = ask_one(place, &p, *answer, e);
        cJSON_Delete(p.keys);
        free(p.condition);
    }
    return rc < 0 ? -1 : add_counts(place, *answer, e);
}

/* --- results --- */

/* A result being processed. */
struct told {
    int64_t trial_id, job_id;
    const char *failure, *message;
    double duration_s;
    const cJSON *metrics;
};

/* --- which trial --- */

static int number_of(const cJSON *item, const char *name, int64_t *out, struct error *e)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, name);
    *out = 0;
    if (!number)
        return 0;
    if (!cJSON_IsNumber(number) || number->valuedouble < 1 || number->valuedouble > 9e15)
        return error_set(e, ERROR_USAGE, "\"%s\" must be a whole number above 0", name);
    *out = (int64_t)number->valuedouble;
    return 0;
}

/* Finds the job named by its number or key. */
static int find_named(const struct proposal_place *place, const cJSON *item, int64_t *job, struct error *e)
{
    const char *key = NULL;
    if (number_of(item, "job", job, e) < 0 || (!*job && text_of(item, "key", &key, e) < 0))
        return -1;
    return key ? job_named(place->db, key, job, e) : 0;
}

static int find_trial(const struct proposal_place *place, const cJSON *item, struct told *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int64_t trial, job;
    if (number_of(item, "trial", &trial, e) < 0 || find_named(place, item, &job, e) < 0)
        return -1;
    if (!trial && !job)
        return error_set(e, ERROR_USAGE, "it names no job; add \"trial\": N, \"job\": N or \"key\": \"…\"");
    int rc = db_next(place->db,
                     "SELECT t.id, t.job_id, t.outcome, j.state FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                     " JOIN job AS j ON j.id = t.job_id WHERE s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY
                     "' AND (?2 = 0 OR t.id = ?2) AND (?3 = 0 OR t.job_id = ?3) ORDER BY t.id DESC LIMIT 1",
                     VALUES(sql_int(place->sweep_id), sql_int(trial), sql_int(job)), &s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_USAGE, "%s %lld was not asked for; meshsweep ask --open lists the jobs that were",
                       trial ? "trial" : "job", (long long)(trial ? trial : job));
    else if (rc > 0 && !stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE, "trial %lld (job %lld) already has an outcome: %s", (long long)stmt_int(s, 0),
                       (long long)stmt_int(s, 1), stmt_text(s, 2));
    else if (rc > 0 && strcmp(stmt_text(s, 3), "running") == 0)
        rc = error_set(e, ERROR_USAGE, "job %lld is being run here; its run records the result",
                       (long long)stmt_int(s, 1));
    if (rc > 0) {
        out->trial_id = stmt_int(s, 0);
        out->job_id = stmt_int(s, 1);
    }
    return rc < 0 ? -1 : 0;
}

/* --- what came of it --- */

static int read_failure(const cJSON *item, struct told *out, struct error *e)
{
    const cJSON *failure = cJSON_GetObjectItemCaseSensitive(item, "failure");
    if (text_of(item, "message", &out->message, e) < 0)
        return -1;
    if (!failure || cJSON_IsNull(failure))
        return 0;
    const char *name = cJSON_IsString(failure) ? failure->valuestring : "";
    const enum failure class = failure_by_name(name);
    struct suggestion meant = SUGGEST(name, i, FAILURE_COUNT - 1, failure_names[i + 1]);
    if (!class)
        return error_set(e, ERROR_USAGE, "there is no failure class \"%s\"%s", name, suggest_hint(&meant));
    out->failure = failure_names[class];
    return 0;
}

static int check_numbers(const cJSON *metrics, struct error *e)
{
    if (metrics && !cJSON_IsObject(metrics))
        return error_set(e, ERROR_USAGE, "\"metrics\" must be an object of names and numbers");
    for (const cJSON *m = metrics ? metrics->child : NULL; m; m = m->next)
        if (!cJSON_IsNumber(m) || !isfinite(m->valuedouble))
            return error_set(e, ERROR_USAGE,
                             "metric \"%s\" must be a finite number; for a job that diverged, write \"failure\": "
                             "\"diverged\" instead",
                             m->string);
    return 0;
}

static int check_objective(const struct proposal_place *place, const struct told *t, struct error *e)
{
    const struct sweep *sweep = place->space->sweep;
    if (t->failure || sweep->objective_count == 0)
        return 0;
    const char *objective = sweep->objectives[0].metric;
    const char *const itself[] = {objective, NULL}, *const *read = measures_inputs(place->measures, objective);
    for (read = read ? read : itself; *read; read++)
        if (!cJSON_GetObjectItemCaseSensitive(t->metrics, *read))
            return error_set(e, ERROR_USAGE,
                             "it lacks the metric \"%s\"%s; for a job that failed, write \"failure\": CLASS instead",
                             *read,
                             read == itself ? ", which is the objective" : ", from which the objective is computed");
    return 0;
}

static int read_told(const struct proposal_place *place, const cJSON *item, struct told *out, struct error *e)
{
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(item, "duration");
    *out = (struct told){.duration_s = NAN, .metrics = cJSON_GetObjectItemCaseSensitive(item, "metrics")};
    if (!cJSON_IsObject(item))
        return error_set(e, ERROR_USAGE,
                         "a result must be an object, such as {\"trial\": 1, \"metrics\": {\"loss\": 2.5}}");
    if (duration && (!cJSON_IsNumber(duration) || !(duration->valuedouble >= 0) || duration->valuedouble > 1e12))
        return error_set(e, ERROR_USAGE, "\"duration\" must be a number of seconds");
    if (duration)
        out->duration_s = duration->valuedouble;
    if (find_trial(place, item, out, e) < 0 || read_failure(item, out, e) < 0 || check_numbers(out->metrics, e) < 0)
        return -1;
    return check_objective(place, out, e);
}

/* --- recording --- */

static int put_attempt(const struct proposal_place *place, const struct told *t, int64_t runner_id, struct error *e)
{
    struct import_store *store = NULL;
    struct import_removal none;
    OWNED char *source = xasprintf("trial %lld", (long long)t->trial_id);
    const struct hash128 row = hash_bytes(source, strlen(source));
    const struct import_origin origin = {.runner_id = runner_id, .file = source};
    struct imported_attempt attempt = {.job_id = t->job_id,
                                       .row = &row,
                                       .failure = t->failure,
                                       .message = t->message,
                                       .duration_s = t->duration_s};
    struct measured ignored;
    int64_t id = 0;
    bool is_new;
    int rc = db_query_int(place->db, "SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = ?",
                          VALUES(sql_int(t->job_id)), 0, &attempt.number, e) < 0 ||
                     import_store_create(place->db, &origin, &store, e) < 0
                 ? -1
                 : import_store_put(store, &attempt, &id, &is_new, e);
    for (const cJSON *m = t->metrics ? t->metrics->child : NULL; rc == 0 && m; m = m->next)
        rc = import_store_metric(store, &attempt, id, m->string, m->valuedouble, e);
    if (rc == 0)
        rc = import_store_flush(store, e);
    if (rc == 0 && place->measures)
        rc = measures_record(place->measures, place->db, id, NULL, &ignored, e);
    if (rc == 0)
        rc = import_store_finish(store, &none, e);
    import_store_free(store);
    const struct attempt_result result = {id, t->job_id, t->failure};
    return rc < 0 ? -1 : learning_note(place->space, place->db, &result, e);
}

static int tell_one(const struct proposal_place *place, const cJSON *item, int64_t runner_id, cJSON *list,
                    struct error *e)
{
    struct told t;
    if (read_told(place, item, &t, e) < 0 || put_attempt(place, &t, runner_id, e) < 0 ||
        take_outcome(place, t.trial_id, t.job_id, e) < 0)
        return -1;
    return add_trial(place, t.trial_id, list, e);
}

int proposals_tell(const struct proposal_place *place, const cJSON *results, cJSON **answer, struct error *e)
{
    const bool is_list = cJSON_IsArray(results);
    int64_t runner_id;
    int number = 0;
    *answer = json_document();
    cJSON *list = cJSON_AddArrayToObject(*answer, "told");
    int rc =
        runner_record(place->db, &place->runner, &runner_id, e) < 0 ? -1 : runner_record_end(place->db, runner_id, e);
    for (const cJSON *item = is_list ? results->child : results; rc == 0 && item; item = is_list ? item->next : NULL) {
        number++;
        rc = tell_one(place, item, runner_id, list, e);
        if (rc < 0 && is_list)
            error_context(e, "result %d", number);
    }
    if (rc == 0)
        rc = result_views_refresh(place->db, e);
    return rc < 0 ? -1 : add_counts(place, *answer, e);
}
