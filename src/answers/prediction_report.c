#include "answers/prediction_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "measures/learning.h"
#include "report/saying.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/parse.h"

struct prediction_report {
    struct report_request request;
    struct db *db;
    int64_t seen;
};

int prediction_report_create(const struct report_request *request, struct prediction_report **out, struct error *e)
{
    struct prediction_report *r = xcalloc(1, sizeof *r);
    r->request = *request;
    int rc = saying_open("sql/predictions.sql", &r->db, e);
    if (rc == 0)
        rc = db_run(r->db, "INSERT INTO asked VALUES (?, ?)",
                    VALUES(sql_int(request->most), sql_text(request->memory_words)), e);
    if (rc == 0)
        *out = r;
    else
        prediction_report_free(r);
    return rc;
}

void prediction_report_free(struct prediction_report *r)
{
    if (!r)
        return;
    db_close(r->db);
    free(r);
}

struct db *prediction_report_db(const struct prediction_report *r)
{
    return r->db;
}

/* --- rows --- */

/* Splits "a=1 key=4 b=2" into the value and the rest; false if the words do not have the key. */
static bool split_words(const char *words, const char *key, struct buffer *rest, double *value)
{
    bool found = false;
    char *copy = xstrdup(words), *left = NULL;
    size_t length = strlen(key);
    for (char *word = strtok_r(copy, " ", &left); word; word = strtok_r(NULL, " ", &left)) {
        if (strncmp(word, key, length) == 0 && word[length] == '=' && parse_double(word + length + 1, value))
            found = true;
        else
            buffer_printf(rest, "%s%s", rest->length ? " " : "", word);
    }
    free(copy);
    return found;
}

static int add_seen(struct prediction_report *r, const struct predicted_row *row, const char *rest, double size,
                    struct error *e)
{
    static const struct prediction none = {.where = {.framework = NULL}};
    const struct prediction *p = row->prediction ? row->prediction : &none;
    const bool m = p->has_memory, t = p->has_time, o = p->has_probability;
    const int64_t by_evidence =
        p->by_evidence[QUANTITY_OF_MEMORY] << QUANTITY_OF_MEMORY | p->by_evidence[QUANTITY_OF_TIME] << QUANTITY_OF_TIME;
    return db_run(r->db,
                  "INSERT INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                  "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(r->seen), sql_text(row->words), sql_text(row->state), sql_text(row->failure),
                         sql_text(row->prediction ? NULL : row->why), sql_text(row->predicted_memory_of),
                         sql_real(m ? p->measured_bytes : NAN), sql_real(p->measured_low), sql_real(p->measured_high),
                         sql_int(p->by_line), sql_text(o ? oom_verdict_names[p->verdict] : NULL),
                         sql_real(p->oom_probability), sql_real(m ? p->memory.most.bytes : NAN),
                         sql_real(p->usable_bytes), sql_real(row->before_bytes), sql_int(row->is_audit),
                         sql_real(row->measured_bytes), sql_real(t ? p->seconds : NAN), sql_real(p->low_s),
                         sql_real(p->high_s), sql_int(p->time_calibrated), sql_real(p->peak_seconds),
                         sql_real(p->flops), sql_real(p->peak_flops), sql_real(row->measured_s),
                         sql_text(p->where.framework), sql_int(p->features), sql_int(by_evidence), sql_text(rest),
                         sql_real(size), sql_positive(row->job), sql_text(row->document), sql_int(p->memory_calibrated),
                         sql_int(p->lengths_unknown), sql_int(p->by_baseline)),
                  e);
}

/* Keeps what the report asks of. */
int prediction_report_add(struct prediction_report *r, const struct predicted_row *row, struct error *e)
{
    OWNED_BUFFER rest = BUFFER_INIT;
    double size = NAN;
    const enum report_kind kind = r->request.kind;
    const bool is_measured = !isnan(row->measured_bytes) || !isnan(row->measured_s);
    r->seen++;
    if (kind == REPORT_LIST       ? row->document || r->seen <= r->request.most || (row->prediction && is_measured)
        : kind == REPORT_FRONTIER ? split_words(row->words, r->request.frontier_key, &rest, &size)
                                  : row->prediction && row->state[0])
        return add_seen(r, row, buffer_text(&rest), size, e);
    return 0;
}

int prediction_report_add_plan(struct prediction_report *r, const struct predicted_row *row, bool is_there,
                               struct error *e)
{
    const struct prediction *p = row->prediction;
    const bool is_measured = !is_there && (row->measured_s > 0 || row->measured_bytes > 0);
    if (!p)
        return is_there ? db_run(r->db, "INSERT INTO plan (is_there) VALUES (1)", NO_VALUES, e) : 0;
    const bool m = p->has_memory, t = p->has_time;
    const double memory_width = evidence_scaling_width(p->where.framework, QUANTITY_OF_MEMORY, p->devices, 1);
    const double time_width = evidence_scaling_width(p->where.framework, QUANTITY_OF_TIME, p->devices, 1);
    /* Rounded: the same work is reckoned from other batches. */
    const double work = (double)(float)(p->flops / p->samples);
    const struct hash128 hash = hash_bytes(row->words, strlen(row->words));
    int64_t id;
    memcpy(&id, hash.bytes, sizeof id);
    return db_run(r->db, "INSERT INTO plan VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(is_there), sql_text(row->words), sql_int(id), sql_real(work), sql_int(p->tokens > 0),
                         sql_text(row->predicted_memory_of), sql_real(memory_width), sql_real(time_width),
                         sql_real(p->devices), sql_real(p->samples), sql_real(p->tokens > 0 ? p->tokens : p->samples),
                         sql_real(m ? p->memory.most.bytes : NAN), sql_real(m ? p->memory.low_bytes : NAN),
                         sql_real(m ? p->memory.high_bytes : NAN),
                         sql_text(p->has_probability ? oom_verdict_names[p->verdict] : NULL),
                         sql_real(t ? p->seconds : NAN), sql_real(t ? p->low_s : NAN), sql_real(t ? p->high_s : NAN),
                         sql_int(is_measured)),
                  e);
}

/* --- the report --- */

static const char *const quantity_words[PREDICTED_QUANTITIES] = {"memory", "time"};
static const char *const width_of_intervals[] = {
    "as wide as the errors of predictions in comparisons with published runs:",
    "as wide as the errors of predictions of sources that were new, the wider the less of a step is products of "
    "matrices; comparisons with published runs:",
};

/* Once for each framework, with the features of any of its plans that have their interval from comparisons. */
static int add_evidence(struct db *db, enum predicted_quantity q, struct buffer *out, struct error *e)
{
    static const char sql[] =
        "WITH listed AS NOT MATERIALIZED (SELECT * FROM seen, asked WHERE n <= most AND why IS NULL)"
        " SELECT framework, features, lead(framework) OVER (ORDER BY first)"
        " FROM (SELECT DISTINCT framework, features FROM listed WHERE by_evidence >> ?1 & 1)"
        " JOIN (SELECT framework, min(n) AS first FROM listed GROUP BY framework) USING (framework) ORDER BY first";
    OWNED_STMT *s = NULL;
    feature_set features = 0;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(q)), &s, e)) > 0) {
        features |= (feature_set)stmt_int(s, 1);
        if (!stmt_is_null(s, 2) && strcmp(stmt_text(s, 2), stmt_text(s, 0)) == 0)
            continue;
        buffer_printf(out, "\nthe intervals of %s are %s\n", quantity_words[q], width_of_intervals[q]);
        evidence_describe(stmt_text(s, 0), q, features, out);
        features = 0;
    }
    return rc;
}

static void add_weights(struct buffer *out, const char *json, const char *const *names, int count)
{
    OWNED_JSON *list = cJSON_Parse(json);
    int i = 0;
    for (const cJSON *n = list ? list->child : NULL; n && i < count; n = n->next, i++) {
        buffer_printf(out, "%s = ", names[i]);
        buffer_add_double(out, n->valuedouble);
        buffer_add_char(out, '\n');
    }
}

static int add_calibration(void *context, const struct calibration_row *row, struct error *e)
{
    const bool is_memory = strcmp(row->quantity, "memory") == 0;
    OWNED_BUFFER terms = BUFFER_INIT;
    buffer_add_text(&terms, "sigma = ");
    buffer_add_double(&terms, row->sigma);
    buffer_add_char(&terms, '\n');
    add_weights(&terms, row->weights_json, is_memory ? memory_term_names : time_term_names,
                is_memory ? (int)MEMORY_TERM_COUNT : (int)TIME_TERM_COUNT);
    return db_run(context, "INSERT INTO calibration VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(row->quantity), sql_text(row->framework), sql_text(row->device),
                         sql_text(row->cluster), sql_int(row->prior), sql_int(row->measured), sql_int(row->censored),
                         sql_int(row->broken), sql_real(row->sigma), sql_real(row->model_error),
                         isnan(row->baseline) ? sql_null() : sql_real(row->baseline_error),
                         sql_text(buffer_text(&terms))),
                  e);
}

static int read_errors(const struct prediction_report *r, struct db *db, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT quantity, predicted / measured FROM observation WHERE kind = 'measured'",
                         NO_VALUES, &s, e)) > 0)
        if (db_run(r->db, "INSERT INTO observed VALUES (?, ?)",
                   VALUES(sql_text(stmt_text(s, 0)), sql_real(stmt_double(s, 1))), e) < 0)
            return -1;
    return rc;
}

static int add_accuracy(const struct prediction_report *r, struct db *db, struct buffer *out, struct error *e)
{
    if (!db)
        return error_set(e, ERROR_NOTHING, "there is no database, so nothing has been measured");
    if (read_errors(r, db, e) < 0 || saying_add_lines(r->db, "SELECT line FROM accuracy ORDER BY n", "", out, e) < 0 ||
        saying_add_lines(r->db, "SELECT line FROM pruning ORDER BY n", "", out, e) < 0)
        return -1;
    for (int q = 0; q < PREDICTED_QUANTITIES; q++) {
        buffer_printf(out, "\n90 %% intervals of %s before any run, each published source left out (half of %s):\n",
                      quantity_words[q], q == QUANTITY_OF_TIME ? "a step is products" : "memory is model states");
        evidence_describe_sources((enum predicted_quantity)q, out);
    }
    return 0;
}

static int add_frontier(const struct prediction_report *r, struct buffer *out, struct error *e)
{
    const char *key = r->request.frontier_key;
    OWNED char *title = xasprintf("%s:  largest ok  smallest oom  predicted limit  headroom at largest\n", key);
    if (saying_add_lines(r->db, "SELECT line FROM frontier ORDER BY first", title, out, e) < 0)
        return -1;
    return out->length
               ? 0
               : error_set(e, ERROR_NOTHING, "no two combinations differ in `%s`, or its values are not numbers", key);
}

int prediction_report_end(struct prediction_report *r, struct space *space, struct db *db, struct buffer *out,
                          struct error *e)
{
    static const char residuals[] = "SELECT line FROM residual ORDER BY word";
    if (r->request.kind == REPORT_ACCURACY)
        return add_accuracy(r, db, out, e);
    if (r->request.kind == REPORT_FRONTIER)
        return add_frontier(r, out, e);
    if (saying_add_lines(r->db, "SELECT line FROM list, asked WHERE n <= most ORDER BY n", "", out, e) < 0)
        return -1;
    if (r->seen > r->request.most)
        buffer_printf(out, "… and %" PRId64 " more; --all lists them\n", r->seen - r->request.most);
    if (add_evidence(r->db, QUANTITY_OF_MEMORY, out, e) < 0 || add_evidence(r->db, QUANTITY_OF_TIME, out, e) < 0 ||
        saying_add_lines(r->db, residuals, "\npredicted over measured, by axis\n", out, e) < 0)
        return -1;
    if (!db)
        return 0;
    buffer_add_char(out, '\n');
    return learning_calibrations(space, db, add_calibration, r->db, e) < 0
               ? -1
               : saying_add_lines(r->db, "SELECT line FROM calibration_line ORDER BY n", "", out, e);
}

int prediction_report_rank(struct prediction_report *r, struct error *e)
{
    return db_exec(r->db, embedded_text("sql/scaled_plans.sql"), e);
}

int prediction_report_scaled(struct prediction_report *r, const struct scaling *x, struct buffer *out, struct error *e)
{
    buffer_printf(out, "%s=%" PRId64 ", the best plans first\n\n", x->key.name, x->value);
    return saying_add_lines(r->db, "SELECT line FROM plan_line ORDER BY work, n", "", out, e);
}

int prediction_report_profile(struct space *space, struct db *db, struct buffer *out, struct error *e)
{
    struct db *said = NULL;
    int rc = saying_open("sql/predictions.sql", &said, e);
    if (rc == 0)
        rc = learning_calibrations(space, db, add_calibration, said, e);
    if (rc == 0)
        rc = saying_add_lines(said, "SELECT line FROM profile_line ORDER BY n, part", "", out, e);
    db_close(said);
    if (rc == 0 && out->length == 0)
        return error_set(e, ERROR_NOTHING,
                         "nothing is calibrated yet: that takes three measurements with one framework, device and "
                         "cluster");
    return rc;
}
