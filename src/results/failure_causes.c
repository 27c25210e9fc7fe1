#include "results/failure_causes.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/sweep.h"
#include "database/function.h"
#include "pattern/engine.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/utf8.h"

#define LEVELS_MOST 256               /* a key with more values is left out: it names jobs rather than kinds of them */
#define LIKELY_LOG -2.995732273553991 /* log 0.05 */
#define NO_CAUSE ((size_t)-1)

#define CAUSE_JOBS_MOST 200000 /* the newest ones are compared: a fraction of a second */

/* A job that failed and its cause, a number. */
struct caused_job {
    int64_t job_id;
    size_t cause;
};

struct caused_jobs {
    struct caused_job *items; /* in the order of ids */
    size_t count;
    size_t cause_count;
    int64_t others;   /* jobs of further causes */
    int64_t from_job; /* jobs with smaller ids were not looked for; 0: all were */
};

#define CAUSE_TERMS_MOST 3   /* of one match */
#define CAUSE_MATCHES_MOST 3 /* of one cause */

enum cause_relation { CAUSE_IS = 1, CAUSE_AT_LEAST, CAUSE_AT_MOST };
static const char *const relation_signs[] = {[CAUSE_IS] = "=", [CAUSE_AT_LEAST] = ">=", [CAUSE_AT_MOST] = "<="};

struct failure_cause {
    cJSON *said;          /* of "failures" of `status --json` */
    cJSON *where, *words; /* its matches, what explains most first, as JSON and as texts */
    int64_t compared;     /* jobs with the cause, of all that were compared */
};

/* --- what the jobs have --- */

struct level {
    char *text;
    double number; /* NaN: none */
};

struct swept_key {
    size_t section;
    char *key;
    struct level *levels;
    size_t level_count;
    bool numeric;
    bool left_out; /* it has too many values, or the jobs have one only */
    size_t *order; /* numeric: the levels, smallest first */
};

struct spec {
    int64_t id;
    int *levels; /* by axis; -1: absent */
    size_t level_count;
};

struct row {
    size_t cause;
    size_t specs[SECTION_COUNT]; /* indices; (size_t)-1: none */
    bool matched;                /* by an earlier match of the cause that is looked at */
};

struct jobs {
    struct swept_key *axes;
    size_t axis_count;
    struct spec *specs; /* in the order of ids */
    size_t spec_count;
    struct row *rows;
    size_t row_count;
    size_t *looked_at; /* indices of the rows that the next term is sought among */
};

static void jobs_free(struct jobs *j)
{
    for (size_t a = 0; a < j->axis_count; a++) {
        for (size_t i = 0; i < j->axes[a].level_count; i++)
            free(j->axes[a].levels[i].text);
        free_all(j->axes[a].levels, j->axes[a].order, j->axes[a].key);
    }
    for (size_t i = 0; i < j->spec_count; i++)
        free(j->specs[i].levels);
    free_all(j->axes, j->specs, j->rows, j->looked_at);
}

static size_t axis_of(struct jobs *j, size_t section, const char *key)
{
    size_t a = FIRST(k, j->axis_count, j->axes[k].section == section && strcmp(j->axes[k].key, key) == 0);
    if (a == j->axis_count)
        *array_add(j->axes, j->axis_count) =
            (struct swept_key){.section = section, .key = xstrdup(key), .numeric = true};
    return a;
}

static int level_of(struct swept_key *a, const char *text, double number)
{
    for (size_t i = 0; i < a->level_count; i++)
        if (strcmp(a->levels[i].text, text) == 0)
            return (int)i;
    if (a->level_count == LEVELS_MOST) {
        a->left_out = true;
        return -1;
    }
    *array_add(a->levels, a->level_count) = (struct level){xstrdup(text), number};
    a->numeric = a->numeric && isfinite(number);
    return (int)a->level_count - 1;
}

static void take_value(struct jobs *j, const struct stmt *s)
{
    int64_t id = stmt_int(s, 0);
    size_t a = axis_of(j, (size_t)stmt_int(s, 1), stmt_text(s, 2));
    if (j->spec_count == 0 || j->specs[j->spec_count - 1].id != id)
        *array_add(j->specs, j->spec_count) = (struct spec){.id = id};
    struct spec *spec = &j->specs[j->spec_count - 1];
    while (spec->level_count <= a)
        *array_add(spec->levels, spec->level_count) = -1;
    spec->levels[a] = j->axes[a].left_out ? -1 : level_of(&j->axes[a], stmt_text(s, 3), stmt_double_or_nan(s, 4));
}

/* The jobs that are compared. */
#define COMPARED_SQL                                                                                                   \
    "(SELECT id, cluster_id, model_id, training_id, parallel_id FROM job"                                              \
    " WHERE sweep_id = ?1 AND id >= ?2 AND state IN ('ok', 'failed') ORDER BY id DESC LIMIT ?3)"
#define COMPARED_VALUES(sweep_id, jobs) VALUES(sql_int(sweep_id), sql_int((jobs)->from_job), sql_int(CAUSE_JOBS_MOST))

/* Reads the specs of the jobs that are compared alone: there may be a million others. */
static int read_specs(struct db *db, int64_t sweep_id, const struct caused_jobs *jobs, struct jobs *j, struct error *e)
{
    static const char sql[] =
        "WITH j AS MATERIALIZED " COMPARED_SQL ", used (id) AS (SELECT cluster_id FROM j UNION SELECT model_id FROM j"
        "  UNION SELECT training_id FROM j UNION SELECT parallel_id FROM j)"
        " SELECT s.id, CASE s.kind WHEN 'cluster_spec' THEN 0 WHEN 'model' THEN 1 WHEN 'training_spec' THEN 2"
        " ELSE 3 END, k.key, CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE k.value END,"
        " CASE WHEN k.type IN ('integer', 'real') THEN k.value END"
        " FROM used CROSS JOIN spec AS s ON s.id = used.id, json_each(s.json) AS k"
        " WHERE k.type <> 'null' ORDER BY s.id, k.id";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, COMPARED_VALUES(sweep_id, jobs), &s, e)) > 0)
        take_value(j, s);
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct spec *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct row row_of(const struct jobs *j, const struct stmt *s)
{
    struct row row = {.cause = NO_CAUSE};
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        const struct spec wanted = {.id = stmt_int(s, (int)i + 1)};
        const struct spec *found =
            j->spec_count ? bsearch(&wanted, j->specs, j->spec_count, sizeof *j->specs, by_id) : NULL;
        row.specs[i] = found ? (size_t)(found - j->specs) : (size_t)-1;
    }
    return row;
}

static int read_rows(struct db *db, int64_t sweep_id, const struct caused_jobs *jobs, struct jobs *j, struct error *e)
{
    struct stmt *s = NULL;
    size_t at = 0;
    int rc;
    while ((rc = db_next(db, "SELECT * FROM " COMPARED_SQL " ORDER BY id", COMPARED_VALUES(sweep_id, jobs), &s, e)) >
           0) {
        struct row *row = array_add(j->rows, j->row_count);
        *row = row_of(j, s);
        while (at < jobs->count && jobs->items[at].job_id < stmt_int(s, 0))
            at++;
        if (at < jobs->count && jobs->items[at].job_id == stmt_int(s, 0))
            row->cause = jobs->items[at].cause;
    }
    return rc;
}

static int level_in(const struct jobs *j, const struct row *r, size_t axis)
{
    size_t spec = r->specs[j->axes[axis].section];
    return spec != (size_t)-1 && axis < j->specs[spec].level_count ? j->specs[spec].levels[axis] : -1;
}

static void leave_out_what_is_the_same(struct jobs *j)
{
    for (size_t a = 0; a < j->axis_count; a++) {
        size_t row = 1;
        while (row < j->row_count && level_in(j, &j->rows[row], a) == level_in(j, &j->rows[0], a))
            row++;
        j->axes[a].left_out |= row >= j->row_count;
    }
}

/* Numbers, smallest first, by insertion: there are few. */
static void sort_levels(struct swept_key *a)
{
    a->order = xcalloc(a->level_count + 1, sizeof *a->order);
    for (size_t i = 0; i < a->level_count; i++) {
        size_t at = i;
        while (at > 0 && a->levels[a->order[at - 1]].number > a->levels[i].number) {
            a->order[at] = a->order[at - 1];
            at--;
        }
        a->order[at] = i;
    }
}

/* --- one condition --- */

struct key_condition {
    size_t axis, level;
    enum cause_relation relation;
};

struct ended_share {
    int64_t jobs, ended; /* with the cause, of those that ended */
    uint64_t who;        /* sum of a number for each: equal where the same jobs are meant */
};

static bool meets(const struct jobs *j, const struct row *r, const struct key_condition *c)
{
    int level = level_in(j, r, c->axis);
    if (level < 0 || c->relation == CAUSE_IS)
        return level == (int)c->level;
    double is = j->axes[c->axis].levels[level].number, wanted = j->axes[c->axis].levels[c->level].number;
    return c->relation == CAUSE_AT_LEAST ? is >= wanted : is <= wanted;
}

static bool meets_all(const struct jobs *j, const struct row *r, const struct key_condition *terms, size_t count)
{
    return !ANY(i, count, !meets(j, r, &terms[i]));
}

static void add_share(struct ended_share *to, const struct ended_share *what)
{
    to->jobs += what->jobs;
    to->ended += what->ended;
    to->who += what->who;
}

/* Returns a row's share: Fibonacci hashing spreads indices over all bits. */
static struct ended_share share_of(const struct jobs *j, size_t row, size_t cause)
{
    uint64_t mixed = (row + 1) * 0x9e3779b97f4a7c15U;
    return (struct ended_share){j->rows[row].cause == cause, 1, mixed ^ (mixed >> 29)};
}

/* log of the probability that `with->jobs` or more of `with->ended` have the cause when so many of `all` have it and
 * are drawn by chance: the upper tail of the hypergeometric distribution. */
static double chance_log(const struct ended_share *with, const struct ended_share *all)
{
    double x = (double)with->jobs, n = (double)with->ended, k = (double)all->jobs, total = (double)all->ended;
    double first = lgamma(k + 1) - lgamma(x + 1) - lgamma(k - x + 1) + lgamma(total - k + 1) - lgamma(n - x + 1) -
                   lgamma(total - k - n + x + 1) - lgamma(total + 1) + lgamma(n + 1) + lgamma(total - n + 1);
    double sum = 1, term = 1;
    for (; x < k && x < n && term > 1e-12 * sum; x++) {
        term *= (k - x) * (n - x) / ((x + 1) * (total - k - n + x + 1));
        sum += term;
    }
    return first + log(sum);
}

/* --- the condition that tells most --- */

struct key_search {
    const struct jobs *jobs;
    size_t cause;
    struct ended_share all;
    size_t looked_at;
    struct key_condition best;
    struct ended_share best_share;
    double best_log; /* 1: none */
};

static void look_at(struct key_search *s, const struct key_condition *c, const struct ended_share *t)
{
    if (t->ended == 0 || t->ended == s->all.ended)
        return;
    s->looked_at++;
    if (t->jobs < 2 || (double)t->jobs * (double)s->all.ended <= (double)s->all.jobs * (double)t->ended)
        return;
    double chance = chance_log(t, &s->all);
    if (chance < s->best_log - 1e-9) {
        s->best_log = chance;
        s->best = *c;
        s->best_share = *t;
    }
}

/* Numbers may be bounded from either side, by any but the outermost ones, which stand for themselves. */
static void look_at_bounds(struct key_search *s, size_t axis, const struct ended_share *levels)
{
    const struct swept_key *a = &s->jobs->axes[axis];
    struct ended_share below = {0}, above = {0};
    for (size_t i = 0; i + 1 < a->level_count; i++) {
        size_t low = a->order[i], high = a->order[a->level_count - 1 - i];
        add_share(&below, &levels[low]);
        add_share(&above, &levels[high]);
        if (i == 0)
            continue;
        look_at(s, &(struct key_condition){axis, low, CAUSE_AT_MOST}, &below);
        look_at(s, &(struct key_condition){axis, high, CAUSE_AT_LEAST}, &above);
    }
}

static void look_at_axis(struct key_search *s, size_t axis, size_t row_count)
{
    const struct jobs *j = s->jobs;
    const struct swept_key *a = &j->axes[axis];
    struct ended_share levels[LEVELS_MOST] = {{0}};
    for (size_t i = 0; i < row_count; i++) {
        int level = level_in(j, &j->rows[j->looked_at[i]], axis);
        const struct ended_share one = share_of(j, j->looked_at[i], s->cause);
        if (level >= 0)
            add_share(&levels[level], &one);
    }
    for (size_t i = 0; i < a->level_count; i++)
        look_at(s, &(struct key_condition){axis, i, CAUSE_IS}, &levels[i]);
    if (a->numeric)
        look_at_bounds(s, axis, levels);
}

/* Adds the term that tells most among the jobs that meet those before it and that no match has yet. */
static bool add_term(const struct jobs *j, size_t cause, struct key_condition *terms, size_t *term_count)
{
    struct key_search s = {.jobs = j, .cause = cause, .best_log = 1};
    size_t row_count = 0;
    for (size_t i = 0; i < j->row_count; i++) {
        const struct ended_share one = share_of(j, i, cause);
        if (j->rows[i].matched || !meets_all(j, &j->rows[i], terms, *term_count))
            continue;
        j->looked_at[row_count++] = i;
        add_share(&s.all, &one);
    }
    if (s.all.jobs < 2 || s.all.jobs == s.all.ended)
        return false;
    for (size_t a = 0; a < j->axis_count; a++)
        if (!j->axes[a].left_out && !ANY(i, *term_count, terms[i].axis == a))
            look_at_axis(&s, a, row_count);
    bool exact = s.best_share.jobs == s.best_share.ended && s.best_share.jobs == s.all.jobs;
    if (s.best_log > 0 || (!exact && s.best_log + log((double)s.looked_at) > LIKELY_LOG))
        return false;
    terms[(*term_count)++] = s.best;
    return true;
}

/* --- all of them --- */

static char *title_of(const struct jobs *j, const struct swept_key *a)
{
    size_t count = 0;
    for (size_t i = 0; i < j->axis_count; i++)
        count += strcmp(j->axes[i].key, a->key) == 0;
    return count == 1 ? xstrdup(a->key) : xasprintf("%s.%s", section_names[a->section], a->key);
}

/* "all 12 with tp=8, micro_batch>=16; none of 36 without", "9 of 12 with tp=8; 3 of 36 without". */
static void add_words(const struct failure_cause *c, int64_t all, const struct ended_share *met, const char *terms)
{
    OWNED_BUFFER words = BUFFER_INIT;
    const long long jobs = met->jobs, ended = met->ended, others = c->compared - jobs, without = all - ended;
    if (jobs == ended)
        buffer_printf(&words, "all %lld with %s", jobs, terms);
    else
        buffer_printf(&words, "%lld of %lld with %s", jobs, ended, terms);
    if (others > 0)
        buffer_printf(&words, "; %lld of %lld without", others, without);
    else
        buffer_printf(&words, "; none of %lld without", without);
    cJSON_AddItemToArray(c->words, cJSON_CreateString(buffer_text(&words)));
}

/* Marks the jobs that meet all terms, and adds the match with how many they are. */
static void add_match(struct jobs *j, size_t cause, const struct key_condition *terms, size_t term_count,
                      struct failure_cause *out)
{
    struct ended_share met = {0};
    OWNED_BUFFER words = BUFFER_INIT;
    cJSON *match = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(match, "terms");
    for (size_t i = 0; i < j->row_count; i++) {
        if (!meets_all(j, &j->rows[i], terms, term_count))
            continue;
        j->rows[i].matched = true;
        met.jobs += j->rows[i].cause == cause;
        met.ended++;
    }
    for (size_t i = 0; i < term_count; i++) {
        const struct swept_key *a = &j->axes[terms[i].axis];
        const struct level *level = &a->levels[terms[i].level];
        cJSON *term = cJSON_CreateObject();
        OWNED char *title = title_of(j, a);
        JSON_ADD(term, JSON_STRING("name", title), JSON_STRING("relation", relation_signs[terms[i].relation]));
        cJSON_AddItemToObject(term, "term_value",
                              isfinite(level->number) ? cJSON_CreateNumber(level->number)
                                                      : cJSON_CreateString(level->text));
        cJSON_AddItemToArray(list, term);
        buffer_printf(&words, "%s%s%s%s", i ? ", " : "", title, relation_signs[terms[i].relation], level->text);
    }
    JSON_ADD(match, JSON_INT("jobs", met.jobs), JSON_INT("ended_jobs", met.ended));
    cJSON_AddItemToArray(out->where, match);
    add_words(out, (int64_t)j->row_count, &met, buffer_text(&words));
}

static void find_matches(struct jobs *j, size_t cause, struct failure_cause *out)
{
    for (size_t i = 0; i < j->row_count; i++) {
        j->rows[i].matched = false;
        out->compared += j->rows[i].cause == cause;
    }
    while (cJSON_GetArraySize(out->where) < CAUSE_MATCHES_MOST) {
        struct key_condition terms[CAUSE_TERMS_MOST];
        size_t count = 0;
        while (count < CAUSE_TERMS_MOST && add_term(j, cause, terms, &count))
            continue;
        if (count == 0)
            return;
        add_match(j, cause, terms, count, out);
    }
}

/* Finds what goes with the first causes, those of most jobs. The newest CAUSE_JOBS_MOST of the sweep's jobs that ended
 * (ok or failed) are compared.
 *
 * A match is found value by value: the one that is least likely to be met by so many jobs of the cause by chance
 * (Fisher's exact test, one-sided), then, where others share it, another one among the jobs that have it; then again
 * for the jobs of the cause that are not matched yet. A value counts where that is less likely than 0.05 divided by the
 * number of values looked at (Bonferroni), or where two jobs or more of the cause have it and nobody else. */
static int read_matches(struct db *db, int64_t sweep_id, const struct caused_jobs *jobs, struct failure_cause *causes,
                        struct error *e)
{
    struct jobs j = {0};
    if (jobs->cause_count == 0)
        return 0;
    int rc = read_specs(db, sweep_id, jobs, &j, e) < 0 ? -1 : read_rows(db, sweep_id, jobs, &j, e);
    leave_out_what_is_the_same(&j);
    for (size_t a = 0; a < j.axis_count; a++)
        sort_levels(&j.axes[a]);
    j.looked_at = xcalloc(j.row_count + 1, sizeof *j.looked_at);
    for (size_t i = 0; i < jobs->cause_count; i++) {
        const bool looked_at = rc == 0 && i < FAILURE_CAUSES_MATCHED;
        if (looked_at)
            find_matches(&j, i, &causes[i]);
        JSON_ADD(cJSON_AddObjectToObject(causes[i].said, "compared"), JSON_INT("jobs", causes[i].compared),
                 JSON_INT("ended_jobs", looked_at ? j.row_count : 0));
    }
    jobs_free(&j);
    return rc;
}

/* --- the causes --- */

static void call_cause_text(const struct sql_value *arguments, struct buffer *out)
{
    OWNED char *cause = cause_text(arguments->text);
    buffer_add_text(out, cause);
}

/* Fills `causes`, FAILURE_CAUSES_MOST of them. */
static int read_jobs(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_cause *causes,
                     struct caused_jobs *jobs, struct error *e)
{
    const struct sql_values values =
        VALUES(sql_int(sweep_id), sql_int(jobs_most > 0 ? jobs_most : -1), sql_int(FAILURE_CAUSES_MOST));
    struct stmt *s = NULL;
    int rc = db_add_text_function(db, "cause_text", 1, call_cause_text, e);
    while (rc >= 0 && (rc = db_next(db, embedded_text("src/results/failure_causes.sql"), values, &s, e)) > 0) {
        const size_t cause = (size_t)stmt_int(s, 1);
        *array_add(jobs->items, jobs->count) = (struct caused_job){stmt_int(s, 0), cause};
        jobs->others += cause == FAILURE_CAUSES_MOST;
        if (cause == FAILURE_CAUSES_MOST || causes[cause].said)
            continue;
        causes[cause] = (struct failure_cause){.said = cJSON_CreateObject(), .words = cJSON_CreateArray()};
        json_add_columns(causes[cause].said, s, 2);
        causes[cause].where = cJSON_AddArrayToObject(causes[cause].said, "where");
        jobs->cause_count++;
    }
    if (jobs->count > 0 && (int64_t)jobs->count == jobs_most)
        jobs->from_job = jobs->items[0].job_id;
    return rc;
}

int failure_causes_read(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out, struct error *e)
{
    OWNED struct failure_cause *causes = xcalloc(FAILURE_CAUSES_MOST, sizeof *causes);
    struct caused_jobs jobs = {.items = NULL};
    int rc = read_jobs(db, sweep_id, jobs_most, causes, &jobs, e);
    if (rc == 0)
        rc = read_matches(db, sweep_id, &jobs, causes, e);
    *out = (struct failure_causes){cJSON_CreateArray(), cJSON_CreateArray(), jobs.others};
    for (size_t i = 0; i < FAILURE_CAUSES_MOST; i++) {
        cJSON_AddItemToArray(out->list, causes[i].said);
        cJSON_AddItemToArray(out->words, causes[i].words);
    }
    free(jobs.items);
    if (rc < 0)
        failure_causes_free(out);
    return rc;
}

void failure_causes_free(struct failure_causes *c)
{
    cJSON_Delete(c->list);
    cJSON_Delete(c->words);
    *c = (struct failure_causes){NULL, NULL, 0};
}

/* --- texts --- */

#define HEX "[0-9A-Fa-f]"
#define LETTER "[A-Fa-f]"
#define OF_UUID "-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}"

/* "0x7f21", a UUID, "0c0ffee1"; and "c0ffee1234ab", of eight digits and more, of both kinds. */
#define IDENTIFIER "0[xX]" HEX "+|[0-9]" HEX "{7}(?:" OF_UUID "|" HEX "*\\b)"
#define LETTERS(count, rest) LETTER "{" count "}[0-9]" HEX "{" rest ",}"
#define OF_LETTERS                                                                                                     \
    "(?:" LETTER HEX "{7}" OF_UUID "|(?:" LETTERS("1", "6") "|" LETTERS("2", "5") "|" LETTERS("3", "4") "|" LETTERS(   \
        "4", "3") "|" LETTERS("5", "2") "|" LETTERS("6", "1") "|" LETTERS("7,", "0") ")\\b)"

/* Numbers; what makes them durations or amounts of memory, "1m30s" being one; what joins them to a date, a list, a
 * shape, an address with its port. */
#define NUMBER "[0-9]+(?:\\.[0-9]+)*(?:[eE][-+]?[0-9]+\\b)?"
#define UNIT "(?:[KMGT]i?B|kB|bytes?|B|(?:millisecond|second|minute|hour|day)s?|[mun]s|min|[smhd])"
#define AMOUNT IDENTIFIER "|" NUMBER "(?:" UNIT "(?:" IDENTIFIER "|" NUMBER "))*(?: ?" UNIT "\\b)?"
#define JOINT "(?:, | x |[-:.,/xT _])"

/* What a message is matched by. Within a word an amount begins with a digit. */
static const char varying[] =
    "\\[(?:rank|default)[0-9]+\\]: ?|/tmp/[^/ '\"):,]*|"
    "(?:" AMOUNT "|\\b" OF_LETTERS ")(?:" JOINT "(?:" AMOUNT "|" OF_LETTERS ")|" OF_LETTERS ")*";

static struct engine *varying_engine;

static void make_engine(void)
{
    char why[256];
    const int rc = engine_create(varying, &varying_engine, why);
    assert(rc == 0);
    (void)rc;
}

char *cause_text(const char *message)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct buffer b = BUFFER_INIT;
    struct text_range found, left = {0, (ptrdiff_t)strlen(message)};
    pthread_once(&once, make_engine);
    for (; b.length < CAUSE_BYTES && engine_match(varying_engine, message, left, 1, &found); left.begin = found.end) {
        buffer_add(&b, message + left.begin, (size_t)(found.begin - left.begin));
        buffer_add_text(&b, message[found.begin] == '[' ? "" : message[found.begin] == '/' ? "/tmp/#" : "#");
    }
    buffer_add_text(&b, message + left.begin);
    char *cause = buffer_take(&b);
    cause[utf8_cut(cause, strlen(cause), CAUSE_BYTES)] = '\0';
    return cause;
}
