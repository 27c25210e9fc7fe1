#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/batch_notice.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "commands/commands.h"
#include "commands/compare_jobs.h"
#include "compare/before_after.h"
#include "compare/comparison.h"
#include "database/open.h"
#include "page/page.h"
#include "report/saying.h"
#include "results/conditions.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- two databases --- */

/* All borrowed for the call. */
struct compare_databases_request {
    const char *before, *now; /* paths */
    const char *metric;       /* NULL: the objective */
    const char *by;           /* NULL: one verdict for all */
    const char *fail_slower;  /* "5%"; NULL: the figures without a verdict */
    bool json, markdown;
};

static int print_change(struct db *said, const struct compare_databases_request *r, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    const char *sql = r->markdown ? "SELECT line FROM change_markdown ORDER BY part, n"
                                  : "SELECT line FROM change_line ORDER BY part, n";
    if (!r->json)
        return saying_add_lines(said, sql, "", &out, e) < 0 ? -1 : output_people_take(&out, e);
    cJSON *root = json_document();
    if (saying_add_rows(said, "SELECT * FROM heading", NULL, root, e) < 0 ||
        saying_add_rows(said, "SELECT * FROM groups", "groups", root, e) < 0 ||
        saying_add_rows(said, "SELECT * FROM job_ratios", "job_ratios", root, e) < 0 ||
        saying_add_rows(said, "SELECT * FROM left_out", NULL, root, e) < 0) {
        cJSON_Delete(root);
        return -1;
    }
    return output_json_take(root, e);
}

/* "5%" is the ratio 1.05. */
static int read_limit(const char *text, double *out, struct error *e)
{
    size_t length = text ? strlen(text) : 0;
    double value = 5;
    OWNED char *number = length && text[length - 1] == '%' ? xstrndup(text, length - 1) : NULL;
    bool wrong = text && (!number || !parse_double(number, &value) || !(value > 0) || value > 1000);
    if (wrong)
        return error_set(e, ERROR_USAGE, "--fail-slower %s: must be a percentage above 0, such as 5%%", text);
    *out = 1 + value / 100;
    return 0;
}

/* Prints the comparison. Returns an exit status: STATUS_FAILED if a group is slower, else STATUS_JOBS_FAILED if one
 * cannot be decided, else STATUS_OK. -1 with `e` set on an error. */
static int compare_databases(const struct compare_databases_request *r, struct error *e)
{
    OWNED_DB *before = NULL, *now = NULL, *said = NULL;
    double limit = 1;
    int64_t status = STATUS_OK;
    if (read_limit(r->fail_slower, &limit, e) < 0 || store_open_read_only(r->before, &before, e) < 0 ||
        store_open_read_only(r->now, &now, e) < 0 || saying_open("sql/comparisons.sql", &said, e) < 0)
        return -1;
    const struct before_after_request request = {r->before, r->now, r->metric, r->by, limit, r->fail_slower != NULL};
    int rc = before_after_read(before, now, &request, said, e);
    if (rc == 0)
        rc = print_change(said, r, e);
    if (rc == 0 && r->fail_slower)
        rc = db_query_int(said,
                          "SELECT CASE WHEN sum(verdict = 'slower') THEN ?1 WHEN sum(verdict = 'too few repeats') THEN "
                          "?2 END FROM judged",
                          VALUES(sql_int(STATUS_FAILED), sql_int(STATUS_JOBS_FAILED)), STATUS_OK, &status, e);
    return rc < 0 ? -1 : (int)status;
}

/* --- two jobs, or one key --- */

/* --- pairs in tables --- */

static cJSON *free_json(const struct comparison *c)
{
    return c->free.count ? cJSON_CreateStringArray((const char *const *)c->free.items, (int)c->free.count)
                         : cJSON_CreateArray();
}

static int add_subject(struct db *said, const struct comparison *c, size_t together, struct error *e)
{
    bool chosen = false;
    for (size_t i = 0; i < c->count; i++)
        chosen |= c->pairs[i].chosen_a || c->pairs[i].chosen_b;
    OWNED_JSON *list = free_json(c);
    char *free_keys = cJSON_PrintUnformatted(list);
    const int rc = db_run(said, "INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                          VALUES(sql_text(c->metric), sql_text(c->unit), sql_int(c->is_objective), sql_int(c->maximise),
                                 sql_text(c->section), sql_text(c->key ? c->key : c->section), sql_text(free_keys),
                                 sql_int(c->free_was_found), sql_int((int64_t)c->pairs_alone), sql_int(c->says_batch),
                                 sql_int((int64_t)together), sql_int(chosen), sql_int(RATIOS_LEAST),
                                 sql_int(RATIOS_INTERVAL_LEAST)),
                          e);
    cJSON_free(free_keys);
    return rc;
}

static int print_text(struct db *said, const cJSON *beside, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    OWNED_BUFFER lines = BUFFER_INIT;
    if (saying_add_lines(said, "SELECT line FROM pair_line ORDER BY n, part", "", &out, e) < 0) {
        buffer_free(&out);
        return -1;
    }
    unranked_add_text(beside, &lines);
    buffer_printf(&out, "%s%s", lines.length ? "\n" : "", buffer_text(&lines));
    return output_people_take(&out, e);
}

static int print_json(struct db *said, const struct comparison *c, cJSON *unranked, struct error *e)
{
    cJSON *root = json_document();
    int rc = saying_add_rows(said, "SELECT * FROM subject", NULL, root, e);
    cJSON_AddItemToObject(root, "free", free_json(c));
    if (rc == 0)
        rc = saying_add_rows(said, "SELECT * FROM freedom", NULL, root, e);
    if (rc == 0)
        rc = saying_add_rows(said, "SELECT * FROM comparisons", "comparisons", root, e);
    json_take_members(root, unranked);
    if (rc == 0)
        return output_json_take(root, e);
    cJSON_Delete(root);
    return -1;
}

/* --- the command --- */

/* "KEY" or "KEY=A,B" taken apart; the texts are the caller's. */
static int read_by(const char *by, char **key, char **a, char **b, struct error *e)
{
    if (!by)
        return error_set(e, ERROR_USAGE,
                         "compare: name the key to compare by: --by KEY or --by KEY=A,B; or two jobs, or two "
                         "databases: meshsweep compare BEFORE.db NOW.db");
    size_t length = strcspn(by, "=");
    const char *values = by[length] ? by + length + 1 : NULL, *comma = values ? strchr(values, ',') : NULL;
    if (length == 0 || (values && (!comma || comma == values || !comma[1])))
        return error_set(e, ERROR_USAGE, "--by %s: must be of the form KEY or KEY=A,B", by);
    *key = xstrndup(by, length);
    *a = values ? xstrndup(values, (size_t)(comma - values)) : NULL;
    *b = values ? xstrdup(comma + 1) : NULL;
    return 0;
}

static bool has_pairs(const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct comparison_pair *p = &c->pairs[i];
        if (p->summary.count +
                (size_t)(p->only_a + p->only_b + p->neither + p->open + p->without_ratio + p->without_choice) >
            0)
            return true;
    }
    return false;
}

static int print(struct db *db, struct comparison *c, const struct compare_options *o, struct error *e)
{
    OWNED_DB *said = NULL;
    const size_t together = comparisons_judge(c, 1);
    if (!o->json && c->values < 2)
        return error_set(e, ERROR_NOTHING,
                         "--by %s: all jobs that have it have the same value, so there is nothing to compare", o->by);
    if (!o->json && !has_pairs(c))
        return error_set(e, ERROR_NOTHING,
                         "--by %s: no two jobs differ only in it; the effects of keys that change together cannot be "
                         "separated",
                         o->by);
    OWNED_JSON *unranked = cJSON_CreateObject(), *beside = cJSON_CreateObject();
    int rc = unranked_read(db, c->metric, unranked, beside, e) < 0 || saying_open("sql/comparisons.sql", &said, e) < 0
                 ? -1
                 : add_subject(said, c, together, e);
    for (size_t i = 0; rc == 0 && i < c->count; i++)
        rc = comparison_say_pair(said, NULL, &c->pairs[i], o->json, e);
    if (rc == 0)
        rc = o->json ? print_json(said, c, unranked, e) : print_text(said, beside, e);
    return rc;
}

static int compare_two(const struct compare_options *o, const struct arguments *a, struct error *e)
{
    if (a->word_count != 2)
        return error_set(e, ERROR_USAGE,
                         "compare: name two jobs, or two databases: meshsweep compare 4 7, meshsweep "
                         "compare BEFORE.db NOW.db");
    if (o->scaling || o->rank)
        return error_set(e, ERROR_USAGE, "compare: --%s is of one database, which -d names",
                         o->rank ? "rank" : "scaling");
    if (compare_names_jobs(a->words[0]) && compare_names_jobs(a->words[1]) && !store_exists(a->words[0]))
        return o->by || o->metric || o->free || o->fail_slower || o->markdown
                   ? error_set(e, ERROR_USAGE,
                               "compare: two jobs are compared in everything; give no option but -d and --json")
                   : compare_jobs(o->db, a->words, o->json, e);
    const struct compare_databases_request request = {a->words[0],    a->words[1], o->metric,  o->by,
                                                      o->fail_slower, o->json,     o->markdown};
    return compare_databases(&request, e);
}

/* --- all keys --- */

static int print_ranked(struct db *said, bool json, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    if (!json && saying_add_lines(said, "SELECT line FROM ranked_line ORDER BY part, n", "", &out, e) < 0)
        return -1;
    if (!json && !out.length)
        return error_set(e, ERROR_NOTHING, "--rank: no two successful jobs differ in one key only");
    if (!json)
        return output_people(&out, e);
    OWNED_JSON *root = json_document();
    if (saying_add_rows(said, "SELECT * FROM ranked_by", NULL, root, e) < 0 ||
        saying_add_rows(said, "SELECT * FROM ranked", "ranked", root, e) < 0)
        return -1;
    return output_json(root, e);
}

static int compare_keys(const struct compare_options *o, struct error *e)
{
    OWNED_DB *db = NULL, *said = NULL;
    if (o->by || o->metric || o->free || o->scaling)
        return error_set(e, ERROR_USAGE, "compare: --rank is of all keys and the objective; give only -d and --json");
    if (store_open_read_only(o->db, &db, e) < 0 || saying_open("sql/comparisons.sql", &said, e) < 0 ||
        html_rank_keys(db, said, e) < 0)
        return -1;
    return print_ranked(said, o->json, e);
}

static int compare_sizes(const struct compare_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    if (o->by)
        return error_set(e, ERROR_USAGE, "compare: give only one of --by and --scaling");
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    return result_answer(db, "sql/answers/scaling.sql",
                         VALUES(sql_text(o->scaling), sql_text(o->metric), sql_text(o->free)), o->json, e);
}

int command_compare(const struct compare_options *o, const struct arguments *a, struct error *e)
{
    OWNED char *key = NULL, *first = NULL, *second = NULL;
    OWNED_DB *db = NULL;
    OWNED_BY(comparison_free) struct comparison c = {0};
    if (a->word_count)
        return compare_two(o, a, e);
    if (o->fail_slower || o->markdown)
        return error_set(e, ERROR_USAGE, "compare: %s is for two databases: meshsweep compare BEFORE.db NOW.db",
                         o->fail_slower ? "--fail-slower" : "--markdown");
    if (o->rank)
        return compare_keys(o, e);
    if (o->scaling)
        return compare_sizes(o, e);
    if (read_by(o->by, &key, &first, &second, e) < 0)
        return -1;
    const struct comparison_request request =
        {.key = key, .a = first, .b = second, .metric = o->metric, .free = o->free, .seed = (uint64_t)o->seed};
    if (store_open_read_only(o->db, &db, e) < 0 || comparison_read(db, &request, &c, e) < 0 ||
        device_notice_say(db, 0, e) < 0)
        return -1;
    return print(db, &c, o, e);
}
