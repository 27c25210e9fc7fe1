#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers/prediction_report.h"
#include "cli/match_words.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "config/scaling.h"
#include "measures/learning.h"
#include "predict/input_table.h"
#include "results/json.h"
#include "space/describe.h"
#include "space/match.h"
#include "space/space.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- keys that a scaling may change --- */

/* Inputs that count devices, or groups of them; the second is not made more by more devices of a host. */
enum { GROWING_RANKS, GROWING_HOSTS };
static const char *const growing[] = {[GROWING_RANKS] = "dp", [GROWING_HOSTS] = "nodes"};

/* The key that an input is; false: none is, or the scaled one. */
static bool find_input_key(const struct space *space, const char *name, const struct scaling *x, struct scaled_key *out)
{
    size_t index;
    if (names_resolve(&space->names, name, &index) != RESOLVED_KEY)
        return false;
    const struct key *key = &space->names.keys[index];
    *out = (struct scaled_key){key->section, key->name};
    return !scaling_is_key(x, key->section, key->name) && !scaling_follower(x, key->section, key->name);
}

/* Returns what [predict.keys] says of the input; NULL: nothing. */
static const char *declared_key(const struct space *space, const char *input)
{
    const struct predict_config *c = &space->sweep->predict;
    for (size_t i = 0; i < c->key_count; i++)
        if (!c->keys[i].is_default && strcmp(c->keys[i].name, input) == 0)
            return c->keys[i].expression;
    return NULL;
}

/* An expression that is more than a key follows what it reads. `*out` borrows its name. */
static bool find_input(const struct space *space, const char *input, const struct scaling *x, struct scaled_key *out)
{
    const char *declared = declared_key(space, input);
    if (declared)
        return find_input_key(space, declared, x, out);
    for (const char *const *name = inputs[input_find(input)].names; *name; name++)
        if (find_input_key(space, *name, x, out))
            return true;
    return false;
}

static struct scaled_key own(struct scaled_key key)
{
    return (struct scaled_key){key.section, xstrdup(key.name)};
}

static void add_follower(struct scaling *x, struct scaled_key key, bool falls)
{
    *array_add(x->followers, x->follower_count) = (struct scaled_follower){own(key), falls};
}

static bool names_key(const struct space *space, const char *name, const struct scaled_key *key)
{
    size_t index;
    if (names_resolve(&space->names, name, &index) != RESOLVED_KEY)
        return false;
    const struct key *named = &space->names.keys[index];
    return named->section == key->section && strcmp(named->name, key->name) == 0;
}

static bool is_input(const struct space *space, const char *input, const struct scaled_key *key)
{
    const char *declared = declared_key(space, input);
    const char *const *name = inputs[input_find(input)].names;
    while (!declared && *name && !names_key(space, *name, key))
        name++;
    return declared ? names_key(space, declared, key) : *name != NULL;
}

static void add_followers(const struct space *space, struct scaling *x)
{
    struct scaled_key key, batch;
    size_t count = is_input(space, "devices_per_node", &x->key) ? GROWING_HOSTS : LENGTH(growing);
    for (size_t i = 0; i < count; i++)
        while (find_input(space, growing[i], x, &key))
            add_follower(x, key, false);
    if (find_input(space, "global_batch", x, &batch) && find_input(space, "gradient_accumulation", x, &key)) {
        add_follower(x, key, true);
        x->batch = own(batch);
    }
}

static int is_derived(const struct names *n, size_t index, struct error *e)
{
    const struct expression *x = &n->derived[index].expression;
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; i < x->key_count; i++)
        buffer_printf(&list, "%s`%s`", i ? ", " : "", n->keys[x->keys[i]].name);
    return error_set(e, ERROR_USAGE, "`%s` is derived%s%s; scale a key of the specs", n->derived[index].name,
                     x->key_count ? " from " : "", buffer_text(&list));
}

static int find_key(const struct space *space, const char *name, struct scaled_key *out, struct error *e)
{
    size_t index;
    enum resolution found = names_resolve(&space->names, name, &index);
    if (found == RESOLVED_KEY) {
        const struct key *key = &space->names.keys[index];
        *out = (struct scaled_key){key->section, xstrdup(key->name)};
        return 0;
    }
    if (found == RESOLVED_DERIVED)
        return is_derived(&space->names, index, e);
    OWNED char *hint = names_hint(&space->names, name, NULL, 0);
    return error_set(e, ERROR_USAGE,
                     found == RESOLVED_AMBIGUOUS ? "several sections have a key `%s`%s" : "no spec has a key `%s`%s",
                     name, hint);
}

/* Returns whether the number of devices follows from the key. */
static bool counts_devices(const struct space *space, const struct scaled_key *key)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < space->devices.key_count; i++) {
        const struct key *read = &n->keys[space->devices.keys[i]];
        if (read->section == key->section && strcmp(read->name, key->name) == 0)
            return true;
    }
    for (size_t i = 0; i < LENGTH(growing); i++)
        if (is_input(space, growing[i], key))
            return true;
    return false;
}

static int read_scaling(const struct space *space, const char *text, struct scaling *out, struct error *e)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        error_set(e, ERROR_USAGE, "`%s` is not of the form KEY=VALUE, such as num_hosts=64", text);
        return -1;
    }
    if (!parse_int64(equals + 1, &out->value) || out->value < 1) {
        error_set(e, ERROR_USAGE, "`%s` is not a positive integer", equals + 1);
        return -1;
    }
    char *name = xstrndup(text, (size_t)(equals - text));
    int rc = find_key(space, name, &out->key, e);
    free(name);
    if (rc == 0 && !counts_devices(space, &out->key))
        return error_set(e, ERROR_USAGE, "`%s` does not determine the number of devices", out->key.name);
    return rc;
}

/* The key is one of the space's specs on which the number of devices depends; what follows it are those of its keys
 * that predictions take the data-parallel degree, the number of nodes and the batch from. ERROR_USAGE, with a hint, for
 * a key that does not exist, is derived, is in several sections or says nothing of devices, and for a value that is no
 * whole number from 1. `*out` is the caller's (scaling_free). */
static int scaling_read(const struct space *space, const char *text, struct scaling *out, struct error *e)
{
    struct scaling x = {.value = 0};
    if (read_scaling(space, text, &x, e) < 0) {
        scaling_free(&x);
        return error_context(e, "--scale-to");
    }
    add_followers(space, &x);
    *out = x;
    return 0;
}

/* --- the command --- */

#define JOBS_SHOWN 100
#define SCALED_SHOWN 10

struct predicting {
    const struct predict_options *options;
    struct db *db;              /* NULL: there is none */
    struct session here, there; /* the sweep as it is, and as scaled */
    bool is_scaled;             /* --scale-to */
    struct scaling scaling;
    struct prediction_report *report;
};

static void release(struct predicting *p)
{
    session_close(&p->here);
    session_close(&p->there);
    scaling_free(&p->scaling);
    prediction_report_free(p->report);
}

/* --- rows --- */

/* One walk over the combinations, with what the database has measured of each. */
struct prediction_walk {
    const struct predicting *of;
    struct space *space;
    bool is_there;          /* it is that of the sweep scaled */
    struct stmt *lookup;    /* NULL: there is no database */
    struct stmt *summaries; /* NULL: there is no database */
    struct describer *describer;
    struct match_json *json; /* NULL: rows are not asked for */
};

static int look_up(struct prediction_walk *w, const struct hash128 *key, struct predicted_row *row, struct error *e)
{
    row->measured_bytes = row->measured_s = row->before_bytes = NAN;
    row->state = row->failure = "";
    if (!w->lookup)
        return 0;
    stmt_reset(w->lookup);
    stmt_bind_at(w->lookup, 1, sql_hash(key));
    int rc = stmt_next(w->lookup, e);
    if (rc <= 0)
        return rc;
    row->state = stmt_text(w->lookup, 0);
    row->failure = stmt_is_null(w->lookup, 1) ? "" : stmt_text(w->lookup, 1);
    row->measured_bytes = stmt_double_or_nan(w->lookup, 2);
    row->measured_s = stmt_double_or_nan(w->lookup, 3);
    row->before_bytes = stmt_double_or_nan(w->lookup, 4);
    row->is_audit = stmt_int(w->lookup, 5) != 0;
    row->job = stmt_int(w->lookup, 7);
    return 0;
}

/* Measurements without an observation: the job ran, or was imported, before it had a prediction. */
static int measure_unobserved(struct prediction_walk *w, const struct match *m, struct predicted_row *row,
                              struct error *e)
{
    struct measurement measured;
    bool is_observed = row->measured_bytes > 0 && row->measured_s > 0;
    if (!w->summaries || is_observed || strcmp(row->state, "ok") != 0 || stmt_is_null(w->lookup, 6))
        return 0;
    if (learning_measure(w->space, w->summaries, stmt_int(w->lookup, 6), m->prediction, &measured, e) < 0)
        return -1;
    row->measured_bytes = isnan(row->measured_bytes) ? measured.bytes : row->measured_bytes;
    row->measured_s = isnan(row->measured_s) ? measured.seconds : row->measured_s;
    return 0;
}

static int take_match(struct prediction_walk *w, const struct match *m, struct error *e)
{
    struct predicted_row row = {.prediction = m->prediction,
                                .why = m->why_not,
                                .predicted_memory_of = m->predicted_memory_of};
    OWNED_BUFFER words = BUFFER_INIT;
    OWNED_JSON *document = w->json ? cJSON_CreateObject() : NULL;
    int rc = look_up(w, &m->key, &row, e);
    if (rc == 0)
        rc = measure_unobserved(w, m, &row, e);
    describe_match(w->describer, m, &words);
    row.words = buffer_text(&words);
    if (rc == 0 && w->json)
        rc = match_json_add(w->json, m, document, e);
    OWNED char *text = document ? cJSON_PrintUnformatted(document) : NULL;
    row.document = text;
    if (rc < 0)
        return -1;
    return w->of->is_scaled && !w->json ? prediction_report_add_plan(w->of->report, &row, w->is_there, e)
                                        : prediction_report_add(w->of->report, &row, e);
}

static void end_walk(struct prediction_walk *w)
{
    match_json_free(w->json);
    stmt_free(w->lookup);
    stmt_free(w->summaries);
    describer_free(w->describer);
}

/* Has the report know the combinations of a session: as rows, or as what it asks for. `*any`: some matched. */
static int walk(const struct predicting *p, struct session *s, bool as_rows, bool *any, struct error *e)
{
    OWNED_BY(end_walk) struct prediction_walk w = {.of = p, .space = s->space, .is_there = s == &p->there};
    const struct match *m;
    int rc;
    if ((p->db && (db_prepare(p->db, embedded_text("src/commands/predicted_job.sql"), &w.lookup, e) < 0 ||
                   learning_summaries(p->db, &w.summaries, e) < 0)) ||
        (as_rows && match_json_create(s->space, &w.json, e) < 0))
        return -1;
    w.describer = describer_create(s->space, p->is_scaled ? &p->scaling : NULL);
    struct match_cursor *cursor = match_open(s->space, s->only.sql ? &s->only : NULL);
    while ((rc = match_next(cursor, &m, e)) > 0 && (rc = take_match(&w, m, e)) == 0)
        *any = true;
    match_close(cursor);
    return rc;
}

/* Makes the view `results` of the report's rows. `*brief`: its columns for people, comma-separated; the caller's. */
static int make_view(struct db *db, const struct space *space, bool is_scaled, char **brief, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED char *keys = match_keys_json(space);
    if (db_next(db, embedded_text("src/commands/predicted_columns.sql"), VALUES(sql_text(keys), sql_int(is_scaled)), &s,
                e) < 0)
        return -1;
    OWNED char *view = stmt_copy_text(s, 0);
    *brief = stmt_copy_text(s, 1);
    stmt_reset(s);
    return db_exec(db, view, e);
}

static int check_asked(const struct session *s, struct error *e)
{
    if (!s->sweep->predict.given)
        return error_set(e, ERROR_USAGE, "%s: the file has no [predict] table; see [predict] in meshsweep(5)",
                         s->sweep->path);
    if (!s->space->prediction.asked)
        return error_set(e, ERROR_NOTHING, "%s: %s", s->sweep->path, s->space->prediction.note);
    return 0;
}

static bool wants_table(const struct predict_options *o)
{
    return o->where || o->sort || o->columns || o->format || o->json;
}

/* Rows as `results` has them. */
static int answer_table(const struct predicting *p, struct session *s, struct error *e)
{
    const struct predict_options *o = p->options;
    const struct report_format *format;
    struct db *db = prediction_report_db(p->report);
    OWNED char *brief = NULL;
    bool any = false;
    uint64_t count = 0;
    if (report_format_find(o->format ? o->format : "table", &format, e) < 0 ||
        make_view(db, s->space, p->is_scaled, &brief, e) < 0 || walk(p, s, true, &any, e) < 0)
        return -1;
    if (o->json)
        format = &report_document;
    bool is_brief = !o->columns && (format->render == render_table || format->render == render_markdown);
    const struct result_query q = {.where = o->where,
                                   .sort = o->sort,
                                   .columns = is_brief ? brief : o->columns,
                                   .limit = o->match.limit,
                                   .is_table = true};
    int rc = result_output(db, &q, format, &output_sink, &count, e);
    return rc == 0 && count == 0 ? error_set(e, ERROR_NOTHING, "no combination matches") : rc;
}

static int create_report(struct predicting *p, struct error *e)
{
    const struct predict_options *o = p->options;
    const struct report_request request = {.most = o->match.all     ? INT64_MAX
                                                   : o->match.limit ? o->match.limit
                                                   : p->is_scaled   ? SCALED_SHOWN
                                                                    : JOBS_SHOWN,
                                           .kind = o->accuracy   ? REPORT_ACCURACY
                                                   : o->frontier ? REPORT_FRONTIER
                                                                 : REPORT_LIST,
                                           .frontier_key = o->frontier,
                                           .memory_words = p->here.space->prediction.memory_words};
    return prediction_report_create(&request, &p->report, e);
}

static int answer_report(struct predicting *p, struct buffer *out, struct error *e)
{
    bool any = false;
    if (walk(p, &p->here, false, &any, e) < 0)
        return -1;
    return any ? prediction_report_end(p->report, p->here.space, p->db, out, e)
               : error_set(e, ERROR_NOTHING, "no combination matches; meshsweep plan shows why");
}

static int answer(struct predicting *p, struct buffer *out, struct error *e)
{
    const struct predict_options *o = p->options;
    struct space *space = p->here.space;
    if (wants_table(o) && (o->profile || o->accuracy || o->frontier))
        return error_set(e, ERROR_USAGE,
                         "predict: --where, --sort, --columns, --format and --json apply only to the list of "
                         "combinations");
    if (o->profile)
        return p->db ? prediction_report_profile(space, p->db, out, e)
                     : error_set(e, ERROR_NOTHING, "there is no database, so nothing has been measured");
    if (check_asked(&p->here, e) < 0 || create_report(p, e) < 0)
        return -1;
    int rc = wants_table(o) ? answer_table(p, &p->here, e) : answer_report(p, out, e);
    if (rc == 0 && space->prediction.note[0])
        output_message("%s", space->prediction.note);
    return rc;
}

/* --- scaled --- */

/* Reports why no combination is left. The rules say nothing of the jobs of a table. */
static int nothing_there(struct predicting *p, struct error *e)
{
    struct match_counts counts = {0};
    struct space *space = p->there.space;
    size_t most = 0;
    if (match_count(space, NULL, &counts, e) < 0)
        return -1;
    for (size_t i = 1; i < space->rule_count; i++)
        if (!space->rules[i].warning && counts.rules[i].excluded > counts.rules[most].excluded)
            most = i;
    if (space->rule_count > 0 && counts.rules[most].excluded > 0)
        error_set(e, ERROR_NOTHING,
                  "%s=%" PRId64 ": no combination is left; rule %s excludes %" PRId64 " of %" PRId64 " (%s)",
                  p->scaling.key.name, p->scaling.value, space->rules[most].name, counts.rules[most].excluded,
                  counts.combinations,
                  space->rules[most].reason[0] ? space->rules[most].reason : space->rules[most].require);
    else
        error_set(e, ERROR_NOTHING, "%s=%" PRId64 ": no combination is left", p->scaling.key.name, p->scaling.value);
    free(counts.rules);
    return -1;
}

static int any_there(const struct predicting *p, bool *any, struct error *e)
{
    return db_query_bool(prediction_report_db(p->report), "SELECT 1 FROM plan WHERE is_there AND words IS NOT NULL",
                         NO_VALUES, any, e);
}

static int check_there(struct predicting *p, struct error *e)
{
    bool any = false;
    int64_t without = 0;
    if (any_there(p, &any, e) < 0 ||
        db_query_int(prediction_report_db(p->report), "SELECT count(*) FROM plan WHERE words IS NULL", NO_VALUES, 0,
                     &without, e) < 0)
        return -1;
    if (any)
        return 0;
    if (without == 0)
        return nothing_there(p, e);
    return error_set(e, ERROR_NOTHING, "%s=%" PRId64 ": nothing can be predicted for any of %" PRId64 " combinations",
                     p->scaling.key.name, p->scaling.value, without);
}

/* Replaces the plans found before. */
static int find_plans(struct predicting *p, struct error *e)
{
    struct run_options scaled = p->options->match;
    bool any = false;
    scaled.scaling = &p->scaling;
    session_close(&p->there);
    return db_exec(prediction_report_db(p->report), "DELETE FROM plan", e) < 0 ||
                   session_open_recorded(&p->there, &scaled, p->db, e) < 0 ||
                   session_use_known(&p->there, p->db, e) < 0 || walk(p, &p->here, false, &any, e) < 0 ||
                   check_asked(&p->there, e) < 0
               ? -1
               : walk(p, &p->there, false, &any, e);
}

static int answer_scaled(struct predicting *p, struct buffer *out, struct error *e)
{
    const struct predict_options *o = p->options;
    bool any = false;
    if (o->profile || o->accuracy || o->frontier)
        return error_set(e, ERROR_USAGE,
                         "predict: --scale-to cannot be combined with --profile, --accuracy or --frontier");
    if (check_asked(&p->here, e) < 0 || scaling_read(p->here.space, o->scale_to, &p->scaling, e) < 0 ||
        create_report(p, e) < 0 || find_plans(p, e) < 0 || any_there(p, &any, e) < 0)
        return -1;
    if ((!any && scaling_let_batch_grow(&p->scaling) && find_plans(p, e) < 0) || check_there(p, e) < 0 ||
        prediction_report_rank(p->report, e) < 0)
        return -1;
    return wants_table(o) ? answer_table(p, &p->there, e) : prediction_report_scaled(p->report, &p->scaling, out, e);
}

/* A line for each input: its name (its other names): the words that it takes; what it means. */
static int print_keys(struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        buffer_add_text(&out, inputs[i].name);
        for (const char *const *other = inputs[i].names + 1; *other; other++)
            buffer_printf(&out, "%s%s%s", other == inputs[i].names + 1 ? " (" : " ", *other, other[1] ? "" : ")");
        buffer_add_char(&out, ':');
        for (const struct input_word *w = inputs[i].place.words; w && w->text; w++)
            buffer_printf(&out, " %s%s", w->text, w[1].text ? "," : ";");
        buffer_printf(&out, " %s\n", inputs[i].means);
    }
    return output_text(buffer_text(&out), e);
}

int command_predict(const struct predict_options *o, struct error *e)
{
    OWNED_BY(release) struct predicting p = {.options = o, .is_scaled = o->scale_to != NULL};
    OWNED_DB *db = NULL;
    OWNED_BUFFER out = BUFFER_INIT;
    struct run_options match = o->match;
    if (o->keys)
        return print_keys(e);
    match.starts_nothing = true;
    if (session_open_known(&p.here, &match, &db, e) < 0)
        return -1;
    p.db = db;
    int rc = p.is_scaled ? answer_scaled(&p, &out, e) : answer(&p, &out, e);
    return rc == 0 && output_people(&out, e) < 0 ? -1 : rc;
}
