#include "commands/compare_jobs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "database/open.h"
#include "files/document.h"
#include "process/job_file.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/query.h"
#include "util/memory.h"
#include "util/quantile.h"

#define LOG_MOST (16 << 20)
#define LINES_LISTED 5

/* The runs of one side that have a value of a metric; the samples of a single one say how sure that is. */
struct side_runs {
    double *values;
    size_t count;
    double stddev, samples;        /* of the last */
    double value, mean, low, high; /* NAN: none */
    struct standard_error error;
};

struct figure {
    char *metric, *unit, *better; /* better NULL: not known */
    struct side_runs sides[2];
    double ratio;
    bool told_apart;
};

struct two_sides {
    struct db *db;
    cJSON *jobs[2]; /* their numbers */
    struct figure *figures;
    size_t figure_count;
    cJSON *apart, *lines;
    char *no_log; /* why the logs were not compared; NULL: they were */
};

/* --- which jobs --- */

bool compare_names_jobs(const char *word)
{
    const size_t length = strlen(word);
    return (length > 0 && strspn(word, "0123456789") == length) ||
           (length >= 8 && strspn(word, "0123456789abcdefABCDEF") == length) || strpbrk(word, "=<> ");
}

static int find_jobs(struct db *db, const char *word, cJSON *out, struct error *e)
{
    const struct result_query q = {.where = word, .columns = "job"};
    struct stmt *s = NULL;
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
    stmt_free(s);
    return rc == 0 && !out->child ? error_set(e, ERROR_NOTHING, "%s: no job of the current sweep is like that", word)
                                  : rc;
}

/* --- figures --- */

static struct figure *figure_of(struct two_sides *p, const struct stmt *s)
{
    struct figure *last = p->figure_count ? &p->figures[p->figure_count - 1] : NULL;
    if (last && strcmp(last->metric, stmt_text(s, 0)) == 0)
        return last;
    p->figures = array_grow(p->figures, p->figure_count, sizeof *p->figures);
    last = &p->figures[p->figure_count++];
    *last =
        (struct figure){.metric = stmt_copy_text(s, 0), .unit = stmt_copy_text(s, 1), .better = stmt_copy_text(s, 2)};
    return last;
}

/* 95 %, by Student's t; for one run from its samples, if they are independent and the value is their middle. */
static void sum_up(struct side_runs *r)
{
    double squares = 0;
    r->value = r->mean = r->low = r->high = NAN;
    r->error = (struct standard_error){NAN, 0};
    if (r->count == 0)
        return;
    r->mean = 0;
    for (size_t i = 0; i < r->count; i++)
        r->mean += r->values[i] / (double)r->count;
    for (size_t i = 0; i < r->count; i++)
        squares += (r->values[i] - r->mean) * (r->values[i] - r->mean);
    r->value = median(r->values, r->count);
    if (r->count > 1)
        r->error =
            (struct standard_error){sqrt(squares / (double)(r->count - 1) / (double)r->count), (double)r->count - 1};
    else if (r->samples > 1 && isfinite(r->stddev))
        r->error = (struct standard_error){r->stddev / sqrt(r->samples), r->samples - 1};
    if (r->error.freedom >= 1) {
        const double half = student_quantile(0.975, r->error.freedom) * r->error.error;
        r->low = r->mean - half;
        r->high = r->mean + half;
    }
}

/* By metric, then side. */
static int read_figures(struct two_sides *p, const char *first, const char *second, struct error *e)
{
    static const char sql[] =
        "SELECT s.name, d.unit, d.better, side.place, s.value,"
        " iif(coalesce(d.take, 'median') IN ('mean', 'median'), s.stddev, NULL), s.count"
        " FROM (SELECT 0 AS place, value AS job FROM json_each(?1) UNION ALL SELECT 1, value FROM json_each(?2)) AS "
        "side"
        " JOIN job AS j ON j.id = side.job JOIN attempt AS a ON a.job_id = j.id JOIN summary AS s ON s.attempt_id = "
        "a.id"
        " LEFT JOIN metric_definition AS d ON d.name = s.name"
        " WHERE a.id IN (SELECT id FROM counted_attempt WHERE job_id = j.id UNION ALL"
        "  SELECT j.attempt_id WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = j.id))"
        " ORDER BY s.name <> (SELECT objective FROM current_sweep), s.name, side.place";
    struct stmt *s = NULL;
    int rc = db_query(p->db, sql, VALUES(sql_text(first), sql_text(second)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        struct side_runs *r = &figure_of(p, s)->sides[stmt_int(s, 3) != 0];
        rc = 0;
        if (stmt_is_null(s, 4) || !isfinite(stmt_double(s, 4)))
            continue;
        *array_add(r->values, r->count) = stmt_double(s, 4);
        r->stddev = stmt_double_or_nan(s, 5);
        r->samples = stmt_double_or_nan(s, 6);
    }
    stmt_free(s);
    for (size_t i = 0; i < p->figure_count; i++) {
        struct side_runs *a = &p->figures[i].sides[0], *b = &p->figures[i].sides[1];
        sum_up(a);
        sum_up(b);
        p->figures[i].ratio = b->value / a->value;
        p->figures[i].told_apart = fabs(a->mean - b->mean) > welch_half_width(a->error, b->error, 0.025);
    }
    return rc;
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
        char *words = xstrndup(text, n);
        add_given(g, xasprintf("%s:%d", g->file, line), words);
        free(words);
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

static int read_apart(struct two_sides *p, const char *first, const char *second, struct error *e)
{
    struct stmt *s = NULL;
    struct given_values given = {.all = cJSON_CreateArray()}, others = {.all = given.all, .side = 1};
    int rc = read_given(p->db, first, &given, e) < 0 || read_given(p->db, second, &others, e) < 0 ? -1 : 0;
    char *values = cJSON_PrintUnformatted(given.all);
    if (rc == 0)
        rc = answer_open(p->db, "sql/answers/side_by_side.sql", NULL,
                         VALUES(sql_text(first), sql_text(second), sql_text(values)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        cJSON *item = cJSON_CreateObject();
        rc = 0;
        json_add_text(item, "part", stmt_text(s, 0));
        json_add_text(item, "what", stmt_text(s, 1));
        json_add_text(item, "of_first", stmt_is_null(s, 2) ? NULL : stmt_text(s, 2));
        json_add_text(item, "of_second", stmt_is_null(s, 3) ? NULL : stmt_text(s, 3));
        cJSON_AddItemToArray(p->apart, item);
    }
    stmt_free(s);
    cJSON_free(values);
    cJSON_Delete(given.all);
    return rc;
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
    cJSON *item = cJSON_CreateObject();
    static const char *const names[] = {"of_first", "of_second"};
    cJSON_AddNumberToObject(item, "line", (double)line);
    for (size_t k = 0; k < 2; k++) {
        OWNED char *copy = xstrndup(text[k], length[k]);
        json_add_text(item, names[k], has[k] ? copy : NULL);
    }
    cJSON_AddItemToArray(p->lines, item);
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
    char *logs[2] = {NULL, NULL};
    int rc = 0;
    if (p->jobs[0]->child->next || p->jobs[1]->child->next) {
        p->no_log = xstrdup("only the logs of two jobs are compared");
        return 0;
    }
    for (size_t k = 0; rc == 0 && k < 2; k++) {
        rc = read_log(p, p->jobs[k]->child, &logs[k], e);
        if (rc == 0 && !logs[k] && !p->no_log)
            p->no_log = xasprintf("there is no log of job %.0f, or it has more than %d MiB",
                                  p->jobs[k]->child->valuedouble, LOG_MOST >> 20);
    }
    if (rc == 0 && logs[0] && logs[1])
        compare_logs(p, logs[0], logs[1]);
    free_all(logs[0], logs[1]);
    return rc;
}

/* --- what is said --- */

static void add_side_json(cJSON *root, const char *name, const struct side_runs *r)
{
    cJSON *o = cJSON_AddObjectToObject(root, name);
    json_add_real(o, "value", r->value);
    json_add_real(o, "low", r->low);
    json_add_real(o, "high", r->high);
    cJSON_AddNumberToObject(o, "runs", (double)r->count);
}

static int print(const struct two_sides *p, bool json, struct error *e)
{
    cJSON *root = json_document();
    cJSON_AddItemReferenceToObject(root, "first_jobs", p->jobs[0]);
    cJSON_AddItemReferenceToObject(root, "second_jobs", p->jobs[1]);
    cJSON *figures = cJSON_AddArrayToObject(root, "figures");
    for (size_t i = 0; i < p->figure_count; i++) {
        const struct figure *f = &p->figures[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(figures, o);
        cJSON_AddStringToObject(o, "metric", f->metric);
        json_add_text(o, "unit", f->unit);
        json_add_text(o, "better", f->better);
        add_side_json(o, "first", &f->sides[0]);
        add_side_json(o, "second", &f->sides[1]);
        json_add_real(o, "ratio", f->ratio);
        cJSON_AddBoolToObject(o, "told_apart", f->told_apart);
    }
    cJSON_AddItemReferenceToObject(root, "apart", p->apart);
    cJSON_AddItemReferenceToObject(root, "log_lines", p->lines);
    json_add_text(root, "no_log", p->no_log);
    int rc = json ? output_json(root, e) : output_said("sql/texts/side_by_side.sql", root, NULL, e);
    cJSON_Delete(root);
    return rc;
}

/* --- all --- */

static int read_all(struct two_sides *p, char *const words[2], struct error *e)
{
    char *ids[2] = {NULL, NULL};
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < 2; k++) {
        rc = find_jobs(p->db, words[k], p->jobs[k], e);
        ids[k] = cJSON_PrintUnformatted(p->jobs[k]);
    }
    if (rc == 0)
        rc = read_figures(p, ids[0], ids[1], e) < 0 || read_apart(p, ids[0], ids[1], e) < 0 ? -1 : read_logs(p, e);
    free_all(ids[0], ids[1]);
    return rc;
}

static void release(struct two_sides *p)
{
    for (size_t i = 0; i < p->figure_count; i++) {
        free_all(p->figures[i].metric, p->figures[i].unit, p->figures[i].better, p->figures[i].sides[0].values,
                 p->figures[i].sides[1].values);
    }
    free(p->figures);
    cJSON_Delete(p->jobs[0]);
    cJSON_Delete(p->jobs[1]);
    cJSON_Delete(p->apart);
    cJSON_Delete(p->lines);
    free(p->no_log);
    store_close(p->db);
}

int compare_jobs(const char *db, char *const words[2], bool json, struct error *e)
{
    struct two_sides p = {.jobs = {cJSON_CreateArray(), cJSON_CreateArray()},
                          .apart = cJSON_CreateArray(),
                          .lines = cJSON_CreateArray()};
    int rc = store_open_read_only(db, &p.db, e);
    /* One transaction: a runner may be at work. */
    if (rc == 0 && (rc = db_read_begin(p.db, e)) == 0) {
        rc = read_all(&p, words, e);
        db_read_end(p.db);
    }
    if (rc == 0)
        rc = print(&p, json, e);
    release(&p);
    return rc;
}
