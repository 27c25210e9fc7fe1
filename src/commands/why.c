#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/match_words.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "database/db.h"
#include "report/text.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/subset.h"
#include "space/compile.h"
#include "space/describe.h"
#include "space/match.h"
#include "store/imports.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- what the database knows about a job --- */

/* Says what would change the outcome. Not for a pruned job, whose witness says it, nor for one measured elsewhere. */
static void add_change(const char *state, const char *failure, struct buffer *out)
{
    if (strcmp(state, "ok") == 0)
        buffer_add_text(out, "    it runs again if its keys or the command change, if it is stale (run --stale), or if "
                             "its row is deleted\n");
    else if (strcmp(state, "failed") == 0)
        buffer_printf(out, "%s    to retry it: `run --retry-failed=%s`; [retry] %s = N allows N attempts\n",
                      strcmp(failure, "no-metric") == 0 ? "    numbers are read from the output, or from the file in "
                                                          "{job_dir} that `file` under [job.metrics.NAME] names\n"
                                                        : "",
                      failure, failure);
    else if (strcmp(state, "held") == 0)
        buffer_add_text(out, "    it waits for its host; the next `run` tries it, or `run --release` makes the active "
                             "run try it\n");
    else if (strcmp(state, "pending") == 0)
        buffer_add_text(out, "    it waits for its turn; `run` starts it\n");
}

/* Columns 2 to 5 and 7: number, failure or state, message, duration_ms (NULL: unknown), where else it was measured. */
static void add_attempt(const struct stmt *s, struct buffer *out)
{
    char duration[32];
    buffer_printf(out, "    attempt %" PRId64 ": %s", stmt_int(s, 2), stmt_text(s, 3));
    if (!stmt_is_null(s, 5))
        buffer_printf(out, " after %s", format_duration_ms(stmt_int(s, 5), duration, sizeof duration));
    if (!stmt_is_null(s, 7)) {
        buffer_add_text(out, ", measured elsewhere (");
        text_add_line(out, stmt_text(s, 7));
        buffer_add_char(out, ')');
    }
    if (!stmt_is_null(s, 4)) {
        buffer_add_text(out, ": ");
        text_add_line(out, stmt_text(s, 4));
    }
    buffer_add_char(out, '\n');
}

static int add_attempts(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned' WHEN j.held IS NOT NULL THEN 'held' ELSE "
                   "j.state "
                   "END, j.failure, a.number, coalesce(a.failure, a.state), a.message, "
                   "a.duration_ms, j.held, iif(a.executor = '" IMPORT_EXECUTOR "', a.log_tail, NULL) FROM job AS j"
                   " LEFT JOIN attempt AS a ON a.job_id = j.id AND a.kind = 'trial' WHERE j.key = ? ORDER BY a.number",
                   &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, key->bytes, sizeof key->bytes);
    int rc;
    bool known = false;
    struct buffer change = BUFFER_INIT;
    while ((rc = stmt_next(s, e)) > 0) {
        if (!known && stmt_is_null(s, 7))
            add_change(stmt_text(s, 0), stmt_text(s, 1), &change);
        if (!known)
            buffer_printf(out, ": %s%s%s\n", stmt_text(s, 0), stmt_is_null(s, 1) ? "" : "/",
                          stmt_is_null(s, 1) ? "" : stmt_text(s, 1));
        if (!known && !stmt_is_null(s, 6)) {
            buffer_add_text(out, "    ");
            text_add_line(out, stmt_text(s, 6));
            buffer_add_char(out, '\n');
        }
        known = true;
        if (!stmt_is_null(s, 2))
            add_attempt(s, out);
    }
    if (!known)
        buffer_add_text(out, ": new, it would run\n");
    buffer_add(out, change.data, change.length);
    buffer_free(&change);
    stmt_free(s);
    return rc;
}

/* Adds the job that ran out of device memory although it needs no more, with the keys in which it differs. */
static int add_witness(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    static const char sql[] =
        "WITH pair AS (SELECT j.id AS pruned, j.witness_id AS witness FROM job AS j WHERE j.key = ?1"
        "  AND j.witness_id IS NOT NULL),"
        " word AS (SELECT j.id AS job, s.kind, k.key AS name, iif(k.type IN ('true', 'false'), k.type, k.value) AS "
        "value"
        "  FROM pair JOIN job AS j ON j.id IN (witness, "
        "pruned)"
        "  JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id), json_each(s.json) AS k)"
        " SELECT witness, (SELECT group_concat(name || '=' || value, ' ') FROM word AS a WHERE a.job = witness"
        "  AND NOT EXISTS (SELECT 1 FROM word AS b WHERE b.job = pruned AND b.kind = a.kind AND b.name = a.name"
        "                  AND b.value IS a.value)) FROM pair";
    struct stmt *s = NULL;
    int rc = db_next(db, sql, VALUES(sql_hash(key)), &s, e);
    if (rc > 0) {
        buffer_printf(out, "    pruned: job %" PRId64 " (", stmt_int(s, 0));
        text_add_line(out, stmt_is_null(s, 1) ? "" : stmt_text(s, 1));
        buffer_add_text(out, ") ran out of device memory, and this one needs at least as much; to run it anyway: "
                             "--prune off\n");
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* Adds the searches that chose it, and why. */
static int add_trials(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT s.strategy, t.reason FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                         " JOIN job AS j ON j.id = t.job_id WHERE j.key = ? AND t.asked IS NOT NULL ORDER BY t.id",
                         VALUES(sql_hash(key)), &s, e)) > 0)
        buffer_printf(out, "    chosen by %s: %s\n", stmt_text(s, 0), stmt_text(s, 1));
    return rc;
}

/* Completes a line that names the job with its state, then adds a line for each attempt, for what would change its
 * outcome, for the witness by which it was pruned, and for the searches that chose it. `db` may be NULL if there is
 * none yet. */
static int job_history_add(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e)
{
    if (!db) {
        buffer_add_text(out, ": new, it would run\n");
        return 0;
    }
    return add_attempts(db, key, out, e) < 0 || add_witness(db, key, out, e) < 0 || add_trials(db, key, out, e) < 0 ? -1
                                                                                                                    : 0;
}

/* --- the command --- */

#define SHOWN 10 /* jobs, and excluded combinations per rule */
#define VALUES_SHOWN 30

struct why_options {
    struct run_options match; /* config (NULL: not given), db and json; the rest stays at its default */
};

#define AT(member) (offsetof(struct why_options, match) + offsetof(struct run_options, member))

static const struct option options[] = {
    OPTION_CONFIG(AT(config)),
    OPTION_DB(AT(db)),
    OPTION(FLAG, "search-model", AT(search_model), NULL, "take the models from [model_space]"),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

static void add_quoted(struct buffer *sql, const char *value)
{
    buffer_add_char(sql, '\'');
    for (const char *p = value; *p; p++)
        buffer_printf(sql, *p == '\'' ? "''" : "%c", *p);
    buffer_add_char(sql, '\'');
}

static bool is_number_or_truth(const char *value)
{
    double number;
    return parse_double(value, &number) || strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

/* 7 matches the number and the text. */
static int add_word(struct buffer *sql, const char *word, struct error *e)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return error_set(e, ERROR_USAGE, "why: `%s` is not of the form KEY=VALUE; give KEY=VALUE…, or one job", word);
    const char *value = equals + 1;
    buffer_printf(sql, "%s%.*s IN (", sql->length ? " AND " : "", (int)(equals - word), word);
    if (is_number_or_truth(value))
        buffer_printf(sql, "%s, ", value);
    add_quoted(sql, value);
    buffer_add_char(sql, ')');
    return 0;
}

/* A condition for the combination of a recorded job. */
static int add_job(struct db *db, const char *word, struct buffer *sql, struct error *e)
{
    int64_t job;
    char *condition = NULL;
    if (!db)
        return error_set(e, ERROR_NOTHING,
                         "why: there is no database yet, so there is no job %s; name a database with -d FILE, or give "
                         "KEY=VALUE…",
                         word);
    if (job_named(db, word, &job, e) < 0 || subset_condition(db, job, &condition, e) < 0)
        return -1;
    buffer_add_text(sql, condition);
    free(condition);
    return 0;
}

static int compile_filter(struct session *s, const struct arguments *a, struct db *db, struct expression *out,
                          struct error *e)
{
    struct buffer sql = BUFFER_INIT, words = BUFFER_INIT;
    int rc = 0;
    bool is_job = a->word_count == 1 && !strchr(a->words[0], '=');
    if (is_job)
        rc = add_job(db, a->words[0], &sql, e);
    for (size_t i = 0; rc == 0 && !is_job && i < a->word_count; i++) {
        buffer_printf(&words, "%s%s", i ? " " : "", a->words[i]);
        rc = add_word(&sql, a->words[i], e);
    }
    if (rc == 0 && a->word_count == 0)
        buffer_add_text(&sql, "true");
    const struct source_text source =
        {buffer_text(&sql), UNKNOWN_IS_ERROR, NULL, "why", buffer_text(words.length ? &words : &sql), NULL};
    if (rc == 0)
        rc = compile_alone(s->space, &source, out, e);
    buffer_free(&words);
    buffer_free(&sql);
    return rc;
}

struct answer {
    struct session *session;
    struct db *db; /* NULL: there is none yet */
    const struct expression *filter;
    struct describer *describer;
    struct buffer out;
    cJSON *json; /* NULL: text is wanted */
};

static int add_jobs(struct answer *w, struct error *e)
{
    struct match_cursor *cursor = NULL;
    const struct match *m;
    if (match_open(w->session->space, w->filter, &cursor, e) < 0)
        return -1;
    int rc = 0;
    for (int shown = 0; shown < SHOWN && (rc = match_next(cursor, &m, e)) > 0; shown++) {
        struct buffer words = BUFFER_INIT;
        char hex[HASH_HEX_BYTES];
        rc = describe_match(w->describer, m, &words, e);
        buffer_printf(&w->out, "  job %.16s  ", hash_hex(&m->key, hex));
        text_add_line(&w->out, buffer_text(&words));
        buffer_free(&words);
        if (rc == 0)
            rc = job_history_add(w->db, &m->key, &w->out, e);
        if (rc < 0)
            break;
        size_t before = w->out.length;
        buffer_add_text(&w->out, "  ");
        match_add_prediction(m, &w->out);
        if (w->out.length > before + 2)
            buffer_add_char(&w->out, '\n');
        else
            w->out.length = before;
    }
    match_close(cursor);
    return rc < 0 ? -1 : 0;
}

static int add_excluded(void *context, int64_t rank, const char *values_json, struct error *e)
{
    struct answer *w = context;
    (void)e;
    buffer_printf(&w->out, "    #%" PRId64 " ", rank);
    text_add_line(&w->out, values_json);
    buffer_add_char(&w->out, '\n');
    return 0;
}

static int add_rule(struct answer *w, size_t i, const struct match_counts *counts, struct error *e)
{
    const struct space_rule *r = &w->session->space->rules[i];
    if (counts->rules[i].excluded == 0)
        return 0;
    buffer_printf(&w->out, "  %s %" PRId64 " by rule %s: ", r->warning ? "warned" : "excluded",
                  counts->rules[i].excluded, r->name);
    text_add_line(&w->out, r->reason[0] ? r->reason : "(no reason given)");
    buffer_add_text(&w->out, "\n    require: ");
    text_add_line(&w->out, r->require);
    buffer_printf(&w->out, "\n    source: %s\n", r->source);
    if (!r->warning)
        buffer_printf(&w->out, "    disable_rules = [\"%s\"] under [sweep] would let them run\n", r->name);
    const struct exclusion_query query = {i, w->filter, SHOWN, true, add_excluded, w};
    return r->warning ? 0 : match_excluded(w->session->space, &query, e);
}

/* Selects the values of a key in order, and whether one of them is `value`. */
static int open_values(struct answer *w, const struct key *key, const char *value, struct stmt **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, "SELECT DISTINCT CAST(");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " AS TEXT) AS v, max(");
    expression_add_column(&sql, key);
    buffer_add_text(&sql, " IN (");
    if (is_number_or_truth(value))
        buffer_printf(&sql, "%s, ", value);
    add_quoted(&sql, value);
    buffer_printf(&sql, ")) OVER () FROM \"%s\" WHERE v IS NOT NULL ORDER BY ", section_names[key->section]);
    expression_add_column(&sql, key);
    int rc = db_prepare(w->session->space->db, buffer_text(&sql), out, e);
    buffer_free(&sql);
    return rc;
}

/* {"tp": ["1", "2", "4"]}: as texts, as they are written after "tp=". */
static int add_values_json(struct answer *w, const struct key *key, const char *value, struct error *e)
{
    struct stmt *s = NULL;
    cJSON *list = cJSON_CreateArray();
    int rc = open_values(w, key, value, &s, e);
    bool is_there = false;
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        is_there = stmt_int(s, 1) != 0;
        if (is_there || cJSON_GetArraySize(list) > VALUES_SHOWN)
            break;
        cJSON_AddItemToArray(list, cJSON_CreateString(stmt_text(s, 0)));
    }
    stmt_free(s);
    if (is_there)
        cJSON_Delete(list);
    else
        cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(w->json, "known_values"), key->name, list);
    return rc;
}

/* "tp is one of 1, 2, 4": the values of a key that no spec has with this value. */
static int add_values(struct answer *w, const struct key *key, const char *value, struct error *e)
{
    struct stmt *s = NULL;
    int shown = 0;
    if (w->json)
        return add_values_json(w, key, value, e);
    int rc = open_values(w, key, value, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        if (stmt_int(s, 1) || shown > VALUES_SHOWN)
            break;
        buffer_printf(&w->out, shown ? ", " : "  %s is one of ", key->name);
        if (shown++ < VALUES_SHOWN)
            text_add_line(&w->out, stmt_text(s, 0));
        else
            buffer_add_text(&w->out, "…");
    }
    buffer_add_text(&w->out, shown ? "\n" : "");
    stmt_free(s);
    return rc;
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
        char *name = xstrndup(a->words[i], (size_t)(equals - a->words[i]));
        if (names_resolve(n, name, &index) == RESOLVED_KEY)
            rc = add_values(w, &n->keys[index], equals + 1, e);
        free(name);
    }
    return rc;
}

/* --- as JSON --- */

/* Adds the columns of the only row to `object`, or with `list` the rows as a list. */
static int add_rows(struct answer *w, const char *sql, const struct hash128 *key, cJSON *object, const char *list,
                    struct error *e)
{
    struct stmt *s = NULL;
    cJSON *rows = list ? cJSON_AddArrayToObject(object, list) : NULL;
    if (!w->db)
        return 0;
    int rc;
    while ((rc = db_next(w->db, sql, VALUES(sql_hash(key)), &s, e)) > 0) {
        cJSON *row = rows ? cJSON_CreateObject() : object;
        json_add_columns(row, s, 0);
        if (rows)
            cJSON_AddItemToArray(rows, row);
    }
    return rc;
}

static const char job_sql[] =
    "SELECT j.id AS job, CASE WHEN j.witness_id IS NOT NULL THEN 'pruned' WHEN j.held IS NOT NULL THEN 'held' ELSE "
    "j.state END AS state, j.failure, j.held AS why_held, j.witness_id AS pruned_by FROM job AS j WHERE j.key = ?1";
static const char attempts_sql[] =
    "SELECT a.number AS attempt, a.state, a.failure, a.message, a.duration_ms, iif(a.executor = '" IMPORT_EXECUTOR
    "', a.log_tail, NULL) AS measured_elsewhere FROM job AS j JOIN attempt AS a ON a.job_id = j.id WHERE j.key = ?1"
    " AND a.kind = 'trial' ORDER BY a.number";
static const char choices_sql[] = "SELECT s.strategy, t.reason FROM trial AS t JOIN search AS s ON s.id = t.search_id "
                                  "JOIN job AS j ON j.id = t.job_id"
                                  " WHERE j.key = ?1 AND t.asked IS NOT NULL ORDER BY t.id";

static int add_job_json(struct answer *w, struct match_json *m, const struct match *match, cJSON *list, struct error *e)
{
    static const char *const unknown[] = {"job", "state", "failure", "why_held", "pruned_by"};
    cJSON *job = cJSON_CreateObject();
    cJSON_AddItemToArray(list, job);
    if (add_rows(w, job_sql, &match->key, job, NULL, e) < 0)
        return -1;
    const bool is_new = !job->child;
    for (size_t i = 0; is_new && i < sizeof unknown / sizeof *unknown; i++)
        json_add_text(job, unknown[i], strcmp(unknown[i], "state") == 0 ? "new" : NULL);
    if (match_json_add(m, match, job, e) < 0 || add_rows(w, attempts_sql, &match->key, job, "attempts", e) < 0)
        return -1;
    return add_rows(w, choices_sql, &match->key, job, "choices", e);
}

static int add_jobs_json(struct answer *w, struct error *e)
{
    struct match_cursor *cursor = NULL;
    struct match_json *m = NULL;
    const struct match *match;
    cJSON *list = cJSON_AddArrayToObject(w->json, "found");
    int rc = match_json_create(w->session->space, &m, e);
    if (rc == 0)
        rc = match_open(w->session->space, w->filter, &cursor, e);
    for (int shown = 0; rc == 0 && shown < SHOWN && (rc = match_next(cursor, &match, e)) > 0; shown++)
        rc = add_job_json(w, m, match, list, e);
    match_close(cursor);
    match_json_free(m);
    return rc < 0 ? -1 : 0;
}

static int add_excluded_json(void *context, int64_t rank, const char *values_json, struct error *e)
{
    cJSON *example = cJSON_CreateObject();
    (void)e;
    cJSON_AddItemToArray(context, example);
    cJSON_AddNumberToObject(example, "number", (double)rank);
    json_add_raw(example, "values", values_json);
    return 0;
}

static int add_rules_json(struct answer *w, const struct match_counts *counts, struct error *e)
{
    cJSON *list = cJSON_AddArrayToObject(w->json, "rules");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->session->space->rule_count; i++) {
        const struct space_rule *r = &w->session->space->rules[i];
        if (counts->rules[i].excluded == 0)
            continue;
        cJSON *rule = cJSON_CreateObject();
        cJSON_AddItemToArray(list, rule);
        cJSON_AddStringToObject(rule, "rule", r->name);
        json_add_text(rule, "reason", r->reason);
        cJSON_AddStringToObject(rule, "level", r->warning ? "warn" : "exclude");
        json_add_count(rule, "combinations", counts->rules[i].excluded);
        cJSON_AddStringToObject(rule, "require", r->require);
        json_add_text(rule, "source", r->source);
        const struct exclusion_query query = {i,    w->filter,         SHOWN,
                                              true, add_excluded_json, cJSON_AddArrayToObject(rule, "examples")};
        rc = r->warning ? 0 : match_excluded(w->session->space, &query, e);
    }
    return rc;
}

static int answer_json(struct answer *w, const struct arguments *a, struct error *e)
{
    struct match_counts counts;
    if (match_count(w->session->space, w->filter, &counts, e) < 0)
        return -1;
    json_add_count(w->json, "combinations", counts.combinations);
    json_add_count(w->json, "all_combinations", space_combinations(w->session->space));
    json_add_count(w->json, "matched", counts.matched);
    int rc = add_jobs_json(w, e);
    if (rc == 0)
        rc = add_rules_json(w, &counts, e);
    cJSON_AddObjectToObject(w->json, "known_values");
    if (rc == 0 && counts.combinations == 0)
        rc = add_missing_values(w, a, e);
    if (rc == 0)
        rc = output_json(w->json, e);
    free(counts.rules);
    return rc < 0 ? -1 : counts.combinations == 0 ? STATUS_NOTHING : STATUS_OK;
}

/* --- as text --- */

static int answer(struct answer *w, const struct arguments *a, struct error *e)
{
    struct match_counts counts;
    if (describer_create(w->session->space, &w->describer, e) < 0 ||
        match_count(w->session->space, w->filter, &counts, e) < 0)
        return -1;
    buffer_printf(&w->out, "%" PRId64 " of ", counts.combinations);
    buffer_add_count(&w->out, space_combinations(w->session->space), "combination");
    buffer_printf(&w->out, " %s these values; %" PRId64 " matched\n", counts.combinations == 1 ? "has" : "have",
                  counts.matched);
    int rc = counts.combinations == 0 ? add_missing_values(w, a, e) : add_jobs(w, e);
    if (rc == 0 && counts.matched > SHOWN)
        buffer_printf(&w->out, "  … and %" PRId64 " more; give more keys to narrow them down\n",
                      counts.matched - SHOWN);
    for (size_t i = 0; rc == 0 && i < w->session->space->rule_count; i++)
        rc = add_rule(w, i, &counts, e);
    int status = counts.combinations == 0 ? STATUS_NOTHING : STATUS_OK;
    free(counts.rules);
    return rc < 0 ? -1 : status;
}

static int why(const struct arguments *a, struct error *e)
{
    const struct why_options *o = a->options;
    struct session s = {0};
    struct expression filter = EXPRESSION_INIT;
    struct answer w = {.session = &s, .filter = &filter, .json = o->match.json ? json_document() : NULL};
    int status = session_open_known(&s, &o->match, a, &w.db, e);
    if (status == 0)
        status = compile_filter(&s, a, w.db, &filter, e);
    if (status == 0)
        status = w.json ? answer_json(&w, a, e) : answer(&w, a, e);
    if (status >= 0 && output_people(&w.out, e) < 0)
        status = -1;
    describer_free(w.describer);
    buffer_free(&w.out);
    cJSON_Delete(w.json);
    expression_free(&filter);
    db_close(w.db);
    session_close(&s);
    return status;
}

const struct command why_command = {
    .name = "why",
    .summary = "Explain why a combination ran, was skipped or was excluded",
    .usage = "[OPTIONS] JOB|KEY=VALUE...",
    .example = "meshsweep why 24\nmeshsweep why zero_stage=3 pp=2",
    .options = options,
    .options_bytes = sizeof(struct why_options),
    .offer = OFFER_COMBINATIONS,
    .words_most = 256,
    .pages = true,
    .run = why,
};
