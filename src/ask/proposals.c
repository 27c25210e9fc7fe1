#include "ask/proposals.h"

#include <stdlib.h>
#include <string.h>

#include "results/json.h"
#include "space/compile.h"
#include "space/match.h"
#include "store/job_specs.h"
#include "store/jobs.h"
#include "store/trials.h"
#include "util/memory.h"
#include "util/parse.h"

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
    size_t i = 0;
    while (i < SECTION_COUNT && strcmp(title, section_names[i]) != 0)
        i++;
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
    bool has_ended;
};

static int look_at_job(const struct proposal_place *place, int64_t id, struct job_found *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(place->db,
                     "SELECT coalesce(witness_id, 0), state IN ('ok', 'failed') FROM job WHERE id = ? AND sweep_id = ?",
                     VALUES(sql_int(id), sql_int(place->sweep_id)), &s, e);
    if (rc > 0)
        *out = (struct job_found){id, stmt_int(s, 0), stmt_int(s, 1) != 0};
    return rc < 0 ? -1 : 0;
}

/* The first job that matches a proposal and has not ended, is not pruned and is no trial; else the first match. */
static int find_job(const struct proposal_place *place, const struct expression *filter, struct job_found *out,
                    struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    struct job_found first = {0};
    int rc = match_open(place->space, filter, &cursor, e);
    bool chosen = false;
    for (int looked = 0; rc == 0 && !chosen && looked < LOOKED_AT_MOST; looked++) {
        struct job_found found = {0};
        int64_t id = 0, trial = 0;
        if ((rc = match_next(cursor, &m, e)) <= 0)
            break;
        rc = job_find(place->db, &m->key, &id, e);
        if (rc == 0 && id)
            rc = look_at_job(place, id, &found, e);
        if (rc == 0 && found.id)
            rc = proposals_find_trial(place, id, &trial, e);
        chosen = found.id && !found.has_ended && !found.witness && !trial;
        if (chosen || !first.id)
            first = found;
    }
    match_close(cursor);
    *out = first;
    return rc < 0 ? -1 : 0;
}

/* --- refusing --- */

static int keep_values(void *context, int64_t rank, const char *values_json, struct error *e)
{
    char **values = context;
    (void)rank;
    (void)e;
    free(*values);
    *values = xstrdup(values_json);
    return 0;
}

/* The first rule that excludes it; SIZE_MAX: none. */
static int find_rule(const struct proposal_place *place, const struct expression *filter, size_t *rule, char **values,
                     struct error *e)
{
    *rule = SIZE_MAX;
    for (size_t i = 0; i < place->space->rule_count; i++) {
        const struct exclusion_query q = {i, filter, 1, false, keep_values, values};
        if (place->space->rules[i].warning)
            continue;
        if (match_excluded(place->space, &q, e) < 0)
            return -1;
        if (*values) {
            *rule = i;
            return 0;
        }
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
        struct expression x = EXPRESSION_INIT;
        struct error ignored = ERROR_INIT;
        struct match_counts counts = {0};
        bool none = compile_alone(place->space, &source, &x, &ignored) == 0 &&
                    match_count(place->space, &x, &counts, &ignored) == 0 && counts.combinations == 0;
        char *said = none ? xasprintf("no combination has %s = %s", item->string, text) : NULL;
        free(counts.rules);
        expression_free(&x);
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
    cJSON_AddNumberToObject(nearest, "job", (double)id);
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
    cJSON *refused = cJSON_CreateObject(), *values = r->values_json ? cJSON_Parse(r->values_json) : NULL;
    cJSON_AddItemToArray(list, refused);
    cJSON_AddItemToObject(refused, "proposal", cJSON_Duplicate(p->given, true));
    add_proposed_keys(place, p, refused);
    cJSON_AddItemToObject(refused, "rule", r->rule ? cJSON_CreateString(r->rule) : cJSON_CreateNull());
    cJSON_AddStringToObject(refused, "reason", r->reason);
    cJSON_AddItemToObject(refused, "values", values ? values : cJSON_CreateNull());
    return add_nearest(place, p, refused, e);
}

static int refuse_excluded(const struct proposal_place *place, const struct asked_for *p,
                           const struct expression *filter, cJSON *list, struct error *e)
{
    OWNED char *values = NULL, *missing = NULL;
    size_t rule;
    if (find_rule(place, filter, &rule, &values, e) < 0)
        return -1;
    struct proposal_refusal r = {.values_json = values};
    if (rule != SIZE_MAX) {
        const struct space_rule *by = &place->space->rules[rule];
        r.rule = by->name;
        r.reason = by->reason && *by->reason ? by->reason : by->require;
    } else {
        missing = missing_value(place, p);
        r.reason = missing;
    }
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
    struct expression filter = EXPRESSION_INIT;
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
        rc = proposals_accept(place, &(struct acceptance){job.id, job.has_ended, p->by, p->why}, asked, e);
    expression_free(&filter);
    return rc;
}

int proposals_ask(const struct proposal_place *place, const cJSON *proposals, cJSON **answer, struct error *e)
{
    const bool is_list = cJSON_IsArray(proposals);
    int rc = 0, number = 0;
    if (is_list && cJSON_GetArraySize(proposals) > PROPOSALS_MOST)
        rc = error_set(e, ERROR_USAGE, "more than %d proposals", PROPOSALS_MOST);
    *answer = proposals_new_answer();
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
    return rc < 0 ? -1 : proposals_add_counts(place, *answer, e);
}
