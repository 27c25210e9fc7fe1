#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "commands/commands.h"
#include "compare/comparison.h"
#include "compare/slowdown.h"
#include "database/function.h"
#include "database/open.h"
#include "files/document.h"
#include "page/page.h"
#include "process/job_file.h"
#include "report/saying.h"
#include "results/best.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/query.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/quantile.h"
#include "util/string_list.h"

#define LOG_MOST (16 << 20)
#define LINES_LISTED 5

struct two_sides {
    struct db *db;
    cJSON *jobs[2]; /* their numbers */
    cJSON *document;
};

/* --- two jobs, or two sets of them, side by side --- */

/* Returns whether the word names jobs, not a database: a job's number or the beginning of its key, or a condition in
 * SQL. */
static bool compare_names_jobs(const char *word)
{
    const size_t length = strlen(word);
    return (length > 0 && strspn(word, "0123456789") == length) ||
           (length >= 8 && strspn(word, "0123456789abcdefABCDEF") == length) || strpbrk(word, "=<> ");
}

static int find_jobs(struct db *db, const char *word, cJSON *out, struct error *e)
{
    const struct result_query q = {.where = word, .columns = "job"};
    OWNED_STMT *s = NULL;
    int64_t job;
    if (!strpbrk(word, "=<> ")) {
        int rc = job_named(db, word, &job, e);
        if (rc == 0)
            cJSON_AddItemToArray(out, cJSON_CreateNumber((double)job));
        return rc;
    }
    int rc = result_query_open(db, &q, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        cJSON_AddItemToArray(out, cJSON_CreateNumber(stmt_double(s, 0)));
        rc = 0;
    }
    return rc == 0 && !out->child ? error_set(e, ERROR_NOTHING, "%s: no job of the current sweep is like that", word)
                                  : rc;
}

/* --- figures --- */

/* Of the runs of a side: its median, its mean and half the 95 % interval of that by Student's t; for one run from its
 * samples, if they are independent and the value is their middle. `values` is sorted. */
static bool statistic_of(const char *name, double *values, size_t count, double stddev, double samples, double *out)
{
    struct standard_error error = {NAN, 0};
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    if (count > 1)
        error = (struct standard_error){sqrt(squares / (double)(count - 1) / (double)count), (double)count - 1};
    else if (samples > 1 && isfinite(stddev))
        error = (struct standard_error){stddev / sqrt(samples), samples - 1};
    *out = strcmp(name, "value") == 0   ? median(values, count)
           : strcmp(name, "mean") == 0  ? mean
           : error.freedom < 1          ? (double)NAN
           : strcmp(name, "half") == 0  ? student_quantile(0.975, error.freedom) * error.error
           : strcmp(name, "error") == 0 ? error.error
                                        : error.freedom;
    return !isnan(*out);
}

/* statistic(NAME, values, stddev, samples) */
static bool statistic(void *context, const struct sql_value *a, int count, double *out)
{
    OWNED double *values = NULL;
    OWNED_JSON *list = count == 4 && a[1].type == COLUMN_TEXT ? cJSON_Parse(a[1].text) : NULL;
    const cJSON *value;
    size_t n = 0;
    (void)context;
    cJSON_ArrayForEach(value, list)
    {
        *array_add(values, n) = value->valuedouble;
    }
    return n && statistic_of(a[0].text, values, n, sql_number(&a[2]), sql_number(&a[3]), out);
}

/* --- what differs --- */

struct given_values {
    cJSON *all; /* [side, "config.yaml: data.lr", "0.1"] each */
    int side;
    const char *file;
};

static void add_given(struct given_values *g, char *name, const char *text)
{
    cJSON *item = cJSON_CreateArray();
    cJSON_AddItemToArray(item, cJSON_CreateNumber(g->side));
    cJSON_AddItemToArray(item, cJSON_CreateString(name));
    cJSON_AddItemToArray(item, cJSON_CreateString(text));
    cJSON_AddItemToArray(g->all, item);
    free(name);
}

static void add_leaf(void *context, const char *path, const struct doc_node *leaf)
{
    struct given_values *g = context;
    add_given(g, xasprintf("%s: %s", g->file, path), leaf->text ? leaf->text : doc_kind_names[leaf->kind]);
}

/* Adds the values of a file, or the lines of one that is only text. */
static void add_values(struct given_values *g, const char *text, size_t length)
{
    struct doc d;
    struct error ignored = ERROR_INIT;
    const enum file_format format = file_format_of(g->file);
    if (format != FORMAT_NONE && document_parse(g->file, text, length, format, &d, &ignored) == 0) {
        document_leaves(&d, add_leaf, g);
        document_free(&d);
        return;
    }
    for (int line = 1; *text; line++) {
        const size_t n = strcspn(text, "\n");
        OWNED char *words = xstrndup(text, n);
        add_given(g, xasprintf("%s:%d", g->file, line), words);
        text += n + (text[n] == '\n');
    }
}

/* The values of the files that the jobs of a side were given. */
static int read_given(struct db *db, const char *jobs, struct given_values *g, struct error *e)
{
    static const char sql[] =
        "SELECT f.path, t.text FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value"
        " JOIN attempt_file AS f ON f.attempt_id = coalesce(j.attempt_id, (SELECT max(id) FROM attempt"
        " WHERE job_id = j.id AND kind = 'trial')) JOIN given_text AS t ON t.id = f.text_id ORDER BY f.path, t.id";
    OWNED_STMT *s = NULL;
    int rc = db_query(db, sql, VALUES(sql_text(jobs)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        g->file = stmt_text(s, 0);
        add_values(g, stmt_text(s, 1), (size_t)stmt_bytes(s, 1));
        rc = 0;
    }
    return rc;
}

static int read_document(struct two_sides *p, const char *first, const char *second, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED_JSON *all = cJSON_CreateArray();
    struct given_values given = {.all = all}, others = {.all = all, .side = 1};
    int rc = read_given(p->db, first, &given, e) < 0 || read_given(p->db, second, &others, e) < 0 ? -1 : 0;
    OWNED char *values = cJSON_PrintUnformatted(all);
    if (rc == 0)
        rc = db_add_real_function(p->db, "statistic", statistic, NULL, e);
    if (rc == 0)
        rc = answer_open(p->db, "sql/answers/side_by_side.sql", NULL,
                         VALUES(sql_text(first), sql_text(second), sql_text(values)), &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, &p->document, NULL, e);
}

/* --- logs --- */

/* Reads what was kept of the output of the attempt that stands for the job, or of its newest; NULL: nothing. The
 * caller's. */
static int read_log(const struct two_sides *p, const cJSON *job, char **out, struct error *e)
{
    struct job_log log = {0};
    int64_t number = 0;
    *out = NULL;
    if (db_query_int(p->db, "SELECT a.number FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id WHERE j.id = ?",
                     VALUES(sql_int((int64_t)job->valuedouble)), 0, &number, e) < 0)
        return -1;
    if (job_log_read(p->db, (int64_t)job->valuedouble, number, &log, NULL) == 0 && log.directory) {
        OWNED char *files = store_directory_of(p->db);
        OWNED char *path = log.directory[0] == '/' ? xasprintf("%s/output.log", log.directory)
                                                   : xasprintf("%s/%s/output.log", files, log.directory);
        *out = job_file_text(path, LOG_MOST);
    }
    job_log_free(&log);
    return 0;
}

/* The line without its digits: times and numbers of steps differ in any two logs. */
static bool are_alike(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < a_length && (isdigit((unsigned char)a[i]) || strchr(".+-e", a[i])))
            i++;
        while (k < b_length && (isdigit((unsigned char)b[k]) || strchr(".+-e", b[k])))
            k++;
        if (i == a_length || k == b_length)
            return i == a_length && k == b_length;
        if (a[i++] != b[k++])
            return false;
    }
}

static void add_line(struct two_sides *p, size_t line, const char *const text[2], const size_t length[2], bool has[2])
{
    OWNED char *first = xstrndup(text[0], length[0]), *second = xstrndup(text[1], length[1]);
    JSON_ITEM(cJSON_GetObjectItemCaseSensitive(p->document, "log_lines"), JSON_INT("line", line),
              JSON_TEXT("of_first", has[0] ? first : NULL), JSON_TEXT("of_second", has[1] ? second : NULL));
}

/* The first lines that differ, and then the first that do so in more than numbers. */
static void compare_logs(struct two_sides *p, const char *first, const char *second)
{
    const char *at[2] = {first, second};
    int plain = 0, in_words = 0;
    for (size_t line = 1; (*at[0] || *at[1]) && (plain < LINES_LISTED || in_words < LINES_LISTED); line++) {
        const size_t length[2] = {strcspn(at[0], "\n"), strcspn(at[1], "\n")};
        bool has[2] = {*at[0] != '\0', *at[1] != '\0'};
        const bool same = has[0] == has[1] && length[0] == length[1] && memcmp(at[0], at[1], length[0]) == 0;
        const bool alike = has[0] == has[1] && are_alike(at[0], length[0], at[1], length[1]);
        if (!same && (plain < LINES_LISTED || (!alike && in_words < LINES_LISTED)))
            add_line(p, line, at, length, has);
        plain += !same;
        in_words += !alike;
        for (size_t k = 0; k < 2; k++)
            at[k] += length[k] + (at[k][length[k]] == '\n');
    }
}

static int read_logs(struct two_sides *p, struct error *e)
{
    OWNED char *first = NULL, *second = NULL, *why = NULL;
    const cJSON *jobs[2] = {p->jobs[0]->child, p->jobs[1]->child};
    cJSON_AddArrayToObject(p->document, "log_lines");
    if (!jobs[0] || !jobs[1] || jobs[0]->next || jobs[1]->next)
        why = xstrdup("only the logs of two jobs are compared");
    else if (read_log(p, jobs[0], &first, e) < 0 || read_log(p, jobs[1], &second, e) < 0)
        return -1;
    else if (!first || !second)
        why = xasprintf("there is no log of job %.0f, or it has more than %d MiB", jobs[first != NULL]->valuedouble,
                        LOG_MOST >> 20);
    else
        compare_logs(p, first, second);
    json_add_text(p->document, "no_log", why);
    return 0;
}

static int read_all(struct two_sides *p, char *const words[2], struct error *e)
{
    if (find_jobs(p->db, words[0], p->jobs[0], e) < 0 || find_jobs(p->db, words[1], p->jobs[1], e) < 0)
        return -1;
    OWNED char *first = cJSON_PrintUnformatted(p->jobs[0]), *second = cJSON_PrintUnformatted(p->jobs[1]);
    return read_document(p, first, second, e) < 0 ? -1 : read_logs(p, e);
}

/* Prints two runs, or two sets of them, side by side. An exit status, or -1. */
static int compare_jobs(const char *db, char *const words[2], bool json, struct error *e)
{
    OWNED_DB *opened = NULL;
    OWNED_JSON *first = cJSON_CreateArray(), *second = cJSON_CreateArray(), *document = NULL;
    /* One transaction: a runner may be at work. */
    if (store_open_read_only(db, &opened, e) < 0 || db_read_begin(opened, e) < 0)
        return -1;
    struct two_sides p = {.db = opened, .jobs = {first, second}};
    int rc = read_all(&p, words, e);
    db_read_end(opened);
    document = p.document;
    return rc < 0 ? -1 : output_answer(json, "sql/texts/side_by_side.sql", document, NULL, e);
}

/* --- what sql/comparisons.sql says --- */

/* The rows of views: in a list of the name beside the view's, or (NULL) its one row's columns; then `more`. */
static int print_document(struct db *said, const char *const parts[][2], cJSON *more, struct error *e)
{
    OWNED_JSON *root = json_document();
    int rc = 0;
    for (; rc == 0 && (*parts)[0]; parts++) {
        OWNED char *sql = xasprintf("SELECT * FROM %s", (*parts)[0]);
        rc = saying_add_rows(said, sql, (*parts)[1], root, e);
    }
    json_take_members(root, more);
    return rc < 0 ? -1 : output_json(root, e);
}

/* The lines of a view; then what stands beside them of jobs that cannot win (NULL: nothing). */
static int print_lines(struct db *said, const char *view, const char *order, const cJSON *beside, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    OWNED char *sql = xasprintf("SELECT line FROM %s ORDER BY %s", view, order);
    const char *const more[] = {json_text_of(beside, "unranked"), json_text_of(beside, "excluded")};
    if (saying_add_lines(said, sql, "", &out, e) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(more); i++)
        if (more[i])
            buffer_printf(&out, "%s%s\n", i && more[0] ? "" : "\n", more[i]);
    return output_people(&out, e);
}

/* --- two databases: the jobs that they have in common, before and now --- */

#define KEY_BYTES 16

/* The jobs of the two current sweeps by job key. All their successful attempts count, each with its summary, whether or
 * not they meet [sweep] subject_to. */
struct before_after {
    const struct compare_options *options;
    char *const *paths;
    struct db *before, *now, *said;
    struct compared_metric metric; /* by default the objective of the later sweep */
    double limit;                  /* the slowdown to detect, as a ratio above 1 */
};

static void close_before_after(struct before_after *c)
{
    store_close(c->said);
    store_close(c->now);
    store_close(c->before);
    free_all(c->metric.name, c->metric.unit);
}

static int read_metric(struct before_after *c, struct error *e)
{
    const char *metric = c->options->metric;
    if (compared_metric_read(c->now, "the second database", metric, &c->metric, e) < 0)
        return -1;
    return c->metric.has_direction
               ? 0
               : error_set(e, ERROR_USAGE,
                           "--metric %s: its direction is not known; set better = \"min\" or \"max\" under "
                           "[%smetrics.%s]",
                           metric, c->metric.is_derived ? "" : "job.", metric);
}

/* Both statements have a row. */
static int check_part(const struct stmt *before, const struct stmt *now, const char *metric, struct error *e)
{
    const char *was = stmt_is_null(before, 1) ? "" : stmt_text(before, 1),
               *is = stmt_is_null(now, 1) ? "" : stmt_text(now, 1);
    if (strcmp(was, is) == 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: its %s was \"%s\" and is now \"%s\", so the databases cannot be compared; run the newer "
                     "sweep file on the earlier one, which makes its numbers anew",
                     metric, stmt_text(now, 0), was, is);
}

static int check_definition(const struct before_after *c, struct error *e)
{
    OWNED_STMT *was = NULL, *is = NULL;
    const char *parts = embedded_text("src/compare/definition_parts.sql");
    int rc = db_query(c->before, parts, VALUES(sql_text(c->metric.name)), &was, e);
    if (rc == 0)
        rc = db_query(c->now, parts, VALUES(sql_text(c->metric.name)), &is, e);
    while (rc == 0 && stmt_next(was, e) > 0 && stmt_next(is, e) > 0)
        rc = check_part(was, is, c->metric.name, e);
    return rc;
}

static int place_groups(struct db *out, struct error *e)
{
    OWNED_LIST values = STRING_LIST_INIT;
    int rc = db_query_texts(out, "SELECT DISTINCT value FROM member", NO_VALUES, &values, e);
    string_list_sort_values(&values);
    for (size_t i = 0; rc == 0 && i < values.count; i++)
        rc = db_run(out, "INSERT INTO group_place (value) VALUES (?)", VALUES(sql_text(values.items[i])), e);
    return rc;
}

static int read_members(const struct before_after *c, struct error *e)
{
    const char *by = c->options->by;
    if (!by)
        return 0;
    OWNED_STMT *s = NULL;
    OWNED char *columns = xasprintf("job,%s", by);
    const struct result_query q = {.columns = columns, .columns_option = "--by"};
    int rc = result_query_open(c->now, &q, &s, e);
    if (rc == 0 && stmt_column_count(s) != 2)
        rc = error_set(e, ERROR_USAGE, "--by %s: give one key", by);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = db_run(c->said, "INSERT INTO member VALUES (?, ?, ?)",
                    VALUES(sql_int(stmt_int(s, 0)), sql_text(stmt_is_null(s, 1) ? "" : stmt_text(s, 1)),
                           sql_int(stmt_type(s, 1) == COLUMN_TEXT)),
                    e);
    if (rc == 0)
        rc = db_exec(c->said,
                     "UPDATE member SET value = json_quote(value) WHERE is_text"
                     " AND value IN (SELECT value FROM member WHERE NOT is_text)",
                     e);
    return rc < 0 ? -1 : place_groups(c->said, e);
}

/* Adds the job whose first row `s` is at, and goes to the next job's. A row per successful attempt. */
static int add_side(const struct before_after *c, struct stmt *s, bool is_now, struct error *e)
{
    unsigned char key[KEY_BYTES];
    struct slowdown_runs runs = {0};
    const int64_t id = stmt_int(s, 1), ok = stmt_int(s, 2), breaches = stmt_int(s, 4);
    int rc = 1;
    memcpy(key, stmt_hash(s, 0), KEY_BYTES);
    for (; rc > 0 && memcmp(key, stmt_hash(s, 0), KEY_BYTES) == 0; rc = stmt_next(s, e)) {
        double value = stmt_double_or_nan(s, 3), cost = c->metric.maximise ? 1 / value : value;
        if (ok && cost > 0 && isfinite(cost))
            slowdown_add_run(&runs, cost);
    }
    if (rc >= 0 && db_run(c->said, "INSERT INTO side VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                          VALUES(sql_blob(key, KEY_BYTES), sql_int(is_now), sql_int(id), sql_int(ok), sql_int(breaches),
                                 sql_int((int64_t)runs.count), sql_real(runs.mean), sql_real(runs.squares)),
                          e) < 0)
        return -1;
    return rc;
}

static int read_side(const struct before_after *c, bool is_now, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(is_now ? c->now : c->before, embedded_text("src/compare/counted_values.sql"),
                      VALUES(sql_text(c->metric.name)), &s, e) < 0
                 ? -1
                 : stmt_next(s, e);
    while (rc > 0)
        rc = add_side(c, s, is_now, e);
    return rc;
}

static int check_common(const struct before_after *c, struct error *e)
{
    OWNED char *why = NULL;
    if (db_query_text(c->said, "SELECT why FROM nothing_common", NO_VALUES, &why, e) < 0)
        return -1;
    return why ? error_set(e, ERROR_NOTHING, "%s", why) : 0;
}

static int add_judged(struct db *out, const struct stmt *s, const struct slowdown *x, struct error *e)
{
    static const char *const names[] =
        {[SLOWDOWN_NONE] = "not slower", [SLOWDOWN_FOUND] = "slower", [SLOWDOWN_UNKNOWN] = "too few repeats"};
    return db_run(out, "INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(stmt_int(s, 0)), sql_text(stmt_is_null(s, 1) ? NULL : stmt_text(s, 1)),
                         sql_int((int64_t)x->jobs), sql_real(x->ratio), sql_finite(x->least), sql_finite(x->most),
                         sql_real(x->repeats), sql_text(names[x->verdict]), sql_positive(x->repeats_wanted)),
                  e);
}

static struct slowdown_runs runs_at(const struct stmt *s, int column)
{
    return (struct slowdown_runs){(size_t)stmt_int(s, column), stmt_double(s, column + 1), stmt_double(s, column + 2)};
}

static int judge_groups(const struct before_after *c, struct error *e)
{
    static const char sql[] =
        "SELECT place, nullif(value, ''), lead(place) OVER (ORDER BY place, job), runs_before, mean_before,"
        " squares_before, runs, mean, squares FROM measured ORDER BY place, job";
    OWNED struct slowdown_job *jobs = NULL;
    OWNED_STMT *s = NULL;
    size_t count = 0;
    int64_t groups;
    int rc = db_query_int(c->said, "SELECT count(DISTINCT place) FROM measured", NO_VALUES, 0, &groups, e);
    if (rc == 0)
        rc = db_query(c->said, sql, NO_VALUES, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        *array_add(jobs, count) = (struct slowdown_job){runs_at(s, 3), runs_at(s, 6)};
        if (!stmt_is_null(s, 2) && stmt_int(s, 2) == stmt_int(s, 0))
            continue;
        const struct slowdown judged = slowdown_judge(jobs, count, c->limit, (size_t)groups);
        rc = add_judged(c->said, s, &judged, e);
        count = 0;
    }
    return rc;
}

static int add_change(const struct before_after *c, struct error *e)
{
    const struct compare_options *o = c->options;
    return db_run(c->said, "INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(c->metric.name), sql_text(c->metric.unit), sql_int(c->metric.maximise),
                         sql_text(o->by), sql_text(c->paths[0]), sql_text(c->paths[1]), sql_real(c->limit),
                         sql_int(o->fail_slower != NULL), sql_real(SLOWDOWN_FALSE_ALARMS), sql_real(SLOWDOWN_MISSED)),
                  e);
}

/* ERROR_USAGE for an unknown metric or key, a metric without a direction, or units that differ. ERROR_NOTHING if no job
 * is in both databases, or none was measured on both sides. */
static int read_change(struct before_after *c, struct error *e)
{
    /* One transaction per database, because runners may be at work. */
    if (db_read_begin(c->before, e) < 0 || db_read_begin(c->now, e) < 0)
        return -1;
    const int rc = read_metric(c, e) < 0 || check_definition(c, e) < 0 || read_members(c, e) < 0 ||
                           read_side(c, false, e) < 0 || read_side(c, true, e) < 0 || add_change(c, e) < 0 ||
                           check_common(c, e) < 0
                       ? -1
                       : judge_groups(c, e);
    db_read_end(c->now);
    db_read_end(c->before);
    return rc;
}

static int print_change(const struct before_after *c, struct error *e)
{
    static const char *const parts[][2] = {{"heading", NULL},
                                           {"groups", "groups"},
                                           {"job_ratios", "job_ratios"},
                                           {"left_out", NULL},
                                           {NULL, NULL}};
    const struct compare_options *o = c->options;
    return o->json ? print_document(c->said, parts, NULL, e)
                   : print_lines(c->said, o->markdown ? "change_markdown" : "change_line", "part, n", NULL, e);
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
static int compare_databases(const struct compare_options *o, char *const words[2], struct error *e)
{
    OWNED_BY(close_before_after) struct before_after c = {.options = o, .paths = words, .limit = 1};
    int64_t status = STATUS_OK;
    if (read_limit(o->fail_slower, &c.limit, e) < 0 || store_open_read_only(words[0], &c.before, e) < 0 ||
        store_open_read_only(words[1], &c.now, e) < 0 || saying_open("sql/comparisons.sql", &c.said, e) < 0 ||
        read_change(&c, e) < 0 || print_change(&c, e) < 0)
        return -1;
    const int rc =
        db_query_int(c.said,
                     "SELECT CASE WHEN sum(verdict = 'slower') THEN ?1 WHEN sum(verdict = 'too few repeats')"
                     " THEN ?2 END FROM judged WHERE ?3",
                     VALUES(sql_int(STATUS_FAILED), sql_int(STATUS_JOBS_FAILED), sql_int(o->fail_slower != NULL)),
                     STATUS_OK, &status, e);
    return rc < 0 ? -1 : (int)status;
}

/* --- pairs in tables --- */

static int add_subject(struct db *said, const struct comparison *c, size_t together, struct error *e)
{
    bool chosen = false;
    for (size_t i = 0; i < c->count; i++)
        chosen |= c->pairs[i].chosen_a || c->pairs[i].chosen_b;
    OWNED_JSON *list = c->free.count ? cJSON_CreateStringArray((const char *const *)c->free.items, (int)c->free.count)
                                     : cJSON_CreateArray();
    OWNED char *free_keys = cJSON_PrintUnformatted(list);
    return db_run(said, "INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(c->metric.name), sql_text(c->metric.unit), sql_int(c->metric.is_objective),
                         sql_int(c->metric.is_objective && c->metric.maximise), sql_text(c->section),
                         sql_text(c->key ? c->key : c->section), sql_text(free_keys), sql_int(c->free_was_found),
                         sql_int((int64_t)c->pairs_alone), sql_int(c->says_batch), sql_int((int64_t)together),
                         sql_int(chosen), sql_int(RATIOS_LEAST), sql_int(RATIOS_INTERVAL_LEAST)),
                  e);
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

static int print(struct db *db, struct comparison *c, const struct compare_options *o, struct error *e)
{
    static const char *const parts[][2] = {{"subject", NULL}, {"comparisons", "comparisons"}, {NULL, NULL}};
    OWNED_JSON *unranked = cJSON_CreateObject(), *beside = cJSON_CreateObject();
    OWNED_DB *said = NULL;
    bool any = o->json;
    if (!o->json && c->values < 2)
        return error_set(e, ERROR_NOTHING,
                         "--by %s: all jobs that have it have the same value, so there is nothing to compare", o->by);
    if (saying_open("sql/comparisons.sql", &said, e) < 0 || add_subject(said, c, comparisons_judge(c, 1), e) < 0)
        return -1;
    for (size_t i = 0; i < c->count; i++)
        if (comparison_say_pair(said, NULL, &c->pairs[i], o->json, e) < 0)
            return -1;
    if (!any && db_query_bool(said,
                              "SELECT 1 FROM pair WHERE pairs + only_a + only_b + neither + open + without_ratio"
                              " + without_choice LIMIT 1",
                              NO_VALUES, &any, e) < 0)
        return -1;
    if (!any)
        return error_set(e, ERROR_NOTHING,
                         "--by %s: no two jobs differ only in it; the effects of keys that change together cannot be "
                         "separated",
                         o->by);
    return unranked_read(db, c->metric.name, unranked, beside, e) < 0 ? -1
           : o->json                                                  ? print_document(said, parts, unranked, e)
                     : print_lines(said, "pair_line", "n, part", beside, e);
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
    return compare_databases(o, a->words, e);
}

/* --- all keys --- */

static int compare_keys(const struct compare_options *o, struct error *e)
{
    static const char *const parts[][2] = {{"ranked_by", NULL}, {"ranked", "ranked"}, {NULL, NULL}};
    OWNED_DB *db = NULL, *said = NULL;
    bool any = false;
    if (o->by || o->metric || o->free || o->scaling)
        return error_set(e, ERROR_USAGE, "compare: --rank is of all keys and the objective; give only -d and --json");
    if (store_open_read_only(o->db, &db, e) < 0 || saying_open("sql/comparisons.sql", &said, e) < 0 ||
        html_rank_keys(db, said, e) < 0)
        return -1;
    if (o->json)
        return print_document(said, parts, NULL, e);
    int rc = db_query_bool(said, "SELECT 1 FROM ranked_line", NO_VALUES, &any, e);
    if (rc == 0 && !any)
        return error_set(e, ERROR_NOTHING, "--rank: no two successful jobs differ in one key only");
    return rc < 0 ? -1 : print_lines(said, "ranked_line", "part, n", NULL, e);
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
