#include <stdlib.h>
#include <string.h>

#include "cli/match_words.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/open.h"
#include "results/job_record.h"
#include "results/json.h"
#include "secrets/secrets.h"
#include "space/compile.h"
#include "space/match.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"

#define SHOWN 10 /* jobs, and excluded combinations per rule */
#define VALUES_SHOWN 30

/* --- which combinations --- */

/* "7, '7'": 7 matches the number and the text. */
static void add_either(struct buffer *sql, const char *value)
{
    double number;
    if (parse_double(value, &number) || strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        buffer_printf(sql, "%s, ", value);
    buffer_add_quoted(sql, value, '\'');
}

static int add_word(struct buffer *sql, const char *word, struct error *e)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return error_set(e, ERROR_USAGE, "why: `%s` is not of the form KEY=VALUE; give KEY=VALUE…, or one job", word);
    buffer_printf(sql, "%s%.*s IN (", sql->length ? " AND " : "", (int)(equals - word), word);
    add_either(sql, equals + 1);
    buffer_add_char(sql, ')');
    return 0;
}

/* A condition for the combination of a recorded job. */
static int add_job(const struct space *space, struct db *db, const char *word, struct buffer *sql, struct error *e)
{
    int64_t job;
    OWNED char *condition = NULL;
    if (!db)
        return error_set(e, ERROR_NOTHING,
                         "why: there is no database yet, so there is no job %s; name a database with -d FILE, or give "
                         "KEY=VALUE…",
                         word);
    if (job_named(db, word, &job, e) < 0)
        return -1;
    OWNED char *keys = match_keys_json(space);
    int rc = db_query_text(db, embedded_text("src/commands/combination_of_job.sql"),
                           VALUES(sql_int(job), sql_text(keys), sql_text(SECRET_REDACTED)), &condition, e);
    buffer_add_text(sql, condition ? condition : "");
    return rc;
}

#define KEYS_LISTED 20

/* For a word that no key comes near: "; the keys are tp, pp, …". The caller's. */
static char *list_keys(const struct names *n)
{
    struct buffer b = BUFFER_INIT;
    const size_t count = n->key_count + n->declared_count;
    for (size_t i = 0; i < count && i < KEYS_LISTED; i++)
        buffer_printf(&b, "%s%s", i ? ", " : "; the keys are ",
                      i < n->key_count ? n->keys[i].name : n->declared[i - n->key_count].name);
    buffer_add_text(&b, count > KEYS_LISTED ? ", …" : "");
    return buffer_take(&b);
}

static int compile_filter(struct session *s, const struct arguments *a, struct db *db, struct expression *out,
                          struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT, words = BUFFER_INIT;
    int rc = 0;
    bool is_job = a->word_count == 1 && !strchr(a->words[0], '=');
    if (is_job)
        rc = add_job(s->space, db, a->words[0], &sql, e);
    for (size_t i = 0; rc == 0 && !is_job && i < a->word_count; i++) {
        buffer_printf(&words, "%s%s", i ? " " : "", a->words[i]);
        rc = add_word(&sql, a->words[i], e);
    }
    if (rc == 0 && a->word_count == 0)
        buffer_add_text(&sql, "true");
    OWNED char *keys = list_keys(&s->space->names);
    const struct source_text source =
        {buffer_text(&sql), UNKNOWN_IS_ERROR, NULL, "why", buffer_text(words.length ? &words : &sql), keys};
    if (rc == 0)
        rc = compile_alone(s->space, &source, out, e);
    return rc;
}

/* --- the document --- */

struct answer {
    struct session *session;
    struct db *db; /* NULL: there is none yet */
    const struct expression *filter;
    cJSON *document, *beside; /* `beside`: of each job found {"witness": what it differs in, "predicted": as text} */
    struct match_counts counts;
};

#define NEW_JOB "{\"job\":null,\"state\":\"new\",\"failure\":null,\"why_held\":null,\"pruned_by\":null}"

/* Reads what the database knows of the job: `parts` are attempts, then choices. */
static int read_job(struct db *db, const struct hash128 *key, cJSON **job, cJSON *parts[2], cJSON *beside,
                    struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db ? answer_open(db, "sql/answers/why.sql", NULL, VALUES(sql_hash(key)), &s, e) : 0;
    if (rc == 0 && s && (rc = stmt_next(s, e)) > 0) {
        rc = answer_take(s, 0, job, e);
        for (int i = 0; rc == 0 && i < 2; i++)
            rc = answer_take(s, i + 1, &parts[i], e);
        json_add_text(beside, "witness", stmt_text(s, 3));
    }
    return rc;
}

static int add_job_found(struct answer *w, struct match_json *m, const struct match *match, cJSON *list,
                         struct error *e)
{
    cJSON *job = NULL, *parts[2] = {NULL, NULL}, *beside = cJSON_CreateObject();
    OWNED_BUFFER predicted = BUFFER_INIT;
    int rc = read_job(w->db, &match->key, &job, parts, beside, e);
    job = job ? job : cJSON_Parse(NEW_JOB);
    if (rc == 0)
        rc = match_json_add(m, match, job, e);
    cJSON_AddItemToObject(job, "attempts", parts[0] ? parts[0] : cJSON_CreateArray());
    cJSON_AddItemToObject(job, "choices", parts[1] ? parts[1] : cJSON_CreateArray());
    cJSON_AddItemToArray(list, job);
    match_add_prediction(match, &predicted);
    json_add_text(beside, "predicted", buffer_text(&predicted));
    cJSON_AddItemToArray(w->beside, beside);
    return rc;
}

static int add_jobs(struct answer *w, struct error *e)
{
    struct match_cursor *cursor = match_open(w->session->space, w->filter);
    struct match_json *m = NULL;
    const struct match *match;
    cJSON *list = cJSON_AddArrayToObject(w->document, "found");
    int rc = match_json_create(w->session->space, &m, e);
    for (int shown = 0; rc == 0 && shown < SHOWN && (rc = match_next(cursor, &match, e)) > 0; shown++)
        rc = add_job_found(w, m, match, list, e);
    match_close(cursor);
    match_json_free(m);
    return rc < 0 ? -1 : 0;
}

static int add_excluded(void *context, int64_t rank, const char *values_json, struct error *e)
{
    (void)e;
    json_add_raw(JSON_ITEM(context, JSON_INT("number", rank)), "values", values_json);
    return 0;
}

static int add_rules(struct answer *w, struct error *e)
{
    cJSON *list = cJSON_AddArrayToObject(w->document, "rules");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->session->space->rule_count; i++) {
        const struct space_rule *r = &w->session->space->rules[i];
        if (w->counts.rules[i].excluded == 0)
            continue;
        cJSON *rule = JSON_ITEM(list, JSON_STRING("rule", r->name), JSON_TEXT("reason", r->reason),
                                JSON_STRING("level", r->warning ? "warn" : "exclude"),
                                JSON_COUNT("combinations", w->counts.rules[i].excluded),
                                JSON_STRING("require", r->require), JSON_TEXT("source", r->source));
        const struct exclusion_query query = {i,    w->filter,    SHOWN,
                                              true, add_excluded, cJSON_AddArrayToObject(rule, "examples")};
        rc = r->warning ? 0 : match_excluded(w->session->space, &query, e);
    }
    return rc;
}

/* {"tp": ["1", "2", "4"]}: as texts, as they are written after "tp=". Nothing where one of them is `value`. */
static int add_values(struct answer *w, const struct key *key, const char *value, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    struct stmt *s = NULL;
    cJSON *list = cJSON_CreateArray();
    bool is_there = false;
    int rc;
    buffer_add_text(&sql, "SELECT DISTINCT iif(typeof(v) = 'real', number(v), v), max(v IN (");
    add_either(&sql, value);
    buffer_add_text(&sql, ")) OVER () FROM (SELECT ");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " AS v FROM \"%s\") WHERE v IS NOT NULL ORDER BY v", section_names[key->section]);
    while ((rc = db_next(w->session->space->db, buffer_text(&sql), NO_VALUES, &s, e)) > 0 && !is_there &&
           cJSON_GetArraySize(list) <= VALUES_SHOWN) {
        is_there = stmt_int(s, 1) != 0;
        cJSON_AddItemToArray(list, cJSON_CreateString(stmt_text(s, 0)));
    }
    stmt_free(s);
    if (is_there)
        cJSON_Delete(list);
    else
        cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(w->document, "known_values"), key->name, list);
    return rc < 0 ? -1 : 0;
}

/* If no combination has these values: the values that there are. */
static int add_missing_values(struct answer *w, const struct arguments *a, struct error *e)
{
    const struct names *n = &w->session->space->names;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < a->word_count; i++) {
        const char *equals = strchr(a->words[i], '=');
        size_t index;
        if (!equals)
            continue;
        OWNED char *name = xstrndup(a->words[i], (size_t)(equals - a->words[i]));
        if (names_resolve(n, name, &index) == RESOLVED_KEY)
            rc = add_values(w, &n->keys[index], equals + 1, e);
    }
    return rc;
}

static int make_document(struct answer *w, const struct arguments *a, struct error *e)
{
    if (match_count(w->session->space, w->filter, &w->counts, e) < 0)
        return -1;
    JSON_ADD(w->document, JSON_COUNT("combinations", w->counts.combinations),
             JSON_COUNT("all_combinations", space_combinations(w->session->space)),
             JSON_COUNT("matched", w->counts.matched));
    int rc = add_jobs(w, e);
    if (rc == 0)
        rc = add_rules(w, e);
    cJSON_AddObjectToObject(w->document, "known_values");
    return rc == 0 && w->counts.combinations == 0 ? add_missing_values(w, a, e) : rc;
}

int command_why(const struct run_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(session_close) struct session s = {0};
    OWNED_DB *db = NULL;
    struct expression filter = {.sql = NULL};
    OWNED_JSON *document = json_document(), *beside = cJSON_CreateArray();
    if (session_open_known(&s, o, &db, e) < 0 || compile_filter(&s, a, db, &filter, e) < 0)
        return -1;
    struct answer w = {.session = &s, .db = db, .filter = &filter, .document = document, .beside = beside};
    int rc = make_document(&w, a, e);
    free(w.counts.rules);
    if (rc == 0)
        rc = output_answer(o->json, "sql/texts/why.sql", document, beside, e);
    return rc == 0 && w.counts.combinations == 0 ? STATUS_NOTHING : rc;
}
