#include "results/failure_causes.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "pattern/engine.h"
#include "results/compared_jobs.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
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
    const char *text;
    double number; /* NaN: none */
};

/* A key that the jobs have with several values, though not too many. */
struct swept_key {
    enum section_kind section;
    const struct compared_key *key;
    int64_t first; /* the spec that has it first */
    int *of_spec;  /* by spec of the section; -1: absent */
    struct level *levels;
    size_t level_count;
    bool numeric;
    size_t *order; /* numeric: the levels, smallest first */
};

struct jobs {
    struct compared_jobs all;
    struct swept_key *axes; /* in the order in which specs have them first */
    size_t axis_count;
    size_t *causes;    /* by job; NO_CAUSE: none */
    bool *matched;     /* by job: by an earlier match of the cause that is looked at */
    size_t *looked_at; /* indices of the jobs that the next term is sought among */
};

static void axis_free(struct swept_key *a)
{
    free_all(a->of_spec, a->levels, a->order);
}

static void jobs_free(struct jobs *j)
{
    for (size_t a = 0; a < j->axis_count; a++)
        axis_free(&j->axes[a]);
    free_all(j->axes, j->causes, j->matched, j->looked_at);
    compared_jobs_free(&j->all);
}

static int level_of(const struct jobs *j, const struct swept_key *a, size_t job)
{
    const uint32_t spec = j->all.jobs[job].specs[a->section];
    return spec == COMPARED_NO_SPEC ? -1 : a->of_spec[spec];
}

/* Finds the levels of the specs. False: there are too many. */
static bool find_levels(const struct jobs *j, struct swept_key *a)
{
    const struct compared_section *s = &j->all.sections[a->section];
    for (size_t i = 0; i < s->spec_count; i++) {
        const uint32_t value = a->key->values[i];
        const char *text = value ? j->all.texts.items[value - 1] : "";
        double number;
        a->of_spec[i] = -1;
        if (!value || (!a->key->quoted[i] && strcmp(text, "null") == 0))
            continue;
        const size_t level = FIRST(k, a->level_count, a->levels[k].text == text);
        if (level == LEVELS_MOST)
            return false;
        if (level == a->level_count) {
            number = !a->key->quoted[i] && parse_double(text, &number) ? number : (double)NAN;
            *array_add(a->levels, a->level_count) = (struct level){text, number};
            a->numeric &= isfinite(number);
        }
        a->of_spec[i] = (int)level;
        a->first = a->first ? a->first : s->ids[i];
    }
    return true;
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

static void add_axis(struct jobs *j, enum section_kind section, const struct compared_key *key)
{
    struct swept_key a = {.section = section, .key = key, .numeric = true};
    a.of_spec = xcalloc(j->all.sections[section].spec_count + 1, sizeof *a.of_spec);
    if (!find_levels(j, &a) || !ANY(i, j->all.count, level_of(j, &a, i) != level_of(j, &a, 0))) {
        axis_free(&a);
        return;
    }
    sort_levels(&a);
    array_add(j->axes, j->axis_count);
    size_t at = j->axis_count - 1;
    for (; at > 0 && j->axes[at - 1].first > a.first; at--)
        j->axes[at] = j->axes[at - 1];
    j->axes[at] = a;
}

static int jobs_read(struct db *db, int64_t sweep_id, const struct caused_jobs *caused, struct jobs *j, struct error *e)
{
    size_t at = 0;
    if (compared_jobs_read_ended(db, sweep_id, caused->from_job, CAUSE_JOBS_MOST, &j->all, e) < 0)
        return -1;
    j->causes = xcalloc(j->all.count + 1, sizeof *j->causes);
    j->matched = xcalloc(j->all.count + 1, sizeof *j->matched);
    j->looked_at = xcalloc(j->all.count + 1, sizeof *j->looked_at);
    for (size_t i = 0; i < j->all.count; i++) {
        while (at < caused->count && caused->items[at].job_id < j->all.jobs[i].id)
            at++;
        j->causes[i] =
            at < caused->count && caused->items[at].job_id == j->all.jobs[i].id ? caused->items[at].cause : NO_CAUSE;
    }
    for (enum section_kind section = 0; section < SECTION_COUNT; section++)
        for (size_t k = 0; k < j->all.sections[section].key_count; k++)
            add_axis(j, section, &j->all.sections[section].keys[k]);
    return 0;
}

/* --- one condition --- */

struct key_condition {
    size_t axis, level;
    enum cause_relation relation;
};

struct ended_share {
    int64_t jobs, ended; /* with the cause, of those that ended */
};

static bool meets(const struct jobs *j, size_t job, const struct key_condition *c)
{
    const struct swept_key *a = &j->axes[c->axis];
    const int level = level_of(j, a, job);
    if (level < 0 || c->relation == CAUSE_IS)
        return level == (int)c->level;
    double is = a->levels[level].number, wanted = a->levels[c->level].number;
    return c->relation == CAUSE_AT_LEAST ? is >= wanted : is <= wanted;
}

static bool meets_all(const struct jobs *j, size_t job, const struct key_condition *terms, size_t count)
{
    return !ANY(i, count, !meets(j, job, &terms[i]));
}

static void add_share(struct ended_share *to, const struct ended_share *what)
{
    to->jobs += what->jobs;
    to->ended += what->ended;
}

static void add_job(struct ended_share *to, const struct jobs *j, size_t job, size_t cause)
{
    to->jobs += j->causes[job] == cause;
    to->ended++;
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

static void look_at_axis(struct key_search *s, size_t axis, size_t job_count)
{
    const struct jobs *j = s->jobs;
    const struct swept_key *a = &j->axes[axis];
    struct ended_share levels[LEVELS_MOST] = {{0}};
    for (size_t i = 0; i < job_count; i++) {
        const int level = level_of(j, a, j->looked_at[i]);
        if (level >= 0)
            add_job(&levels[level], j, j->looked_at[i], s->cause);
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
    size_t job_count = 0;
    for (size_t i = 0; i < j->all.count; i++) {
        if (j->matched[i] || !meets_all(j, i, terms, *term_count))
            continue;
        j->looked_at[job_count++] = i;
        add_job(&s.all, j, i, cause);
    }
    if (s.all.jobs < 2 || s.all.jobs == s.all.ended)
        return false;
    for (size_t a = 0; a < j->axis_count; a++)
        if (!ANY(i, *term_count, terms[i].axis == a))
            look_at_axis(&s, a, job_count);
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
    for (enum section_kind section = 0; section < SECTION_COUNT; section++)
        count += compared_key_named(&j->all.sections[section], a->key->name) != NULL;
    return count == 1 ? xstrdup(a->key->name) : xasprintf("%s.%s", section_names[a->section], a->key->name);
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

/* Reals as SQLite writes them: "1.0e-05". */
static void add_level(const struct level *l, struct buffer *out)
{
    char digits[32];
    const bool is_real = isfinite(l->number) && strpbrk(l->text, ".e");
    snprintf(digits, sizeof digits, "%.15g", l->number);
    const size_t whole = is_real ? strcspn(digits, ".e") : 0;
    if (is_real)
        buffer_printf(out, "%.*s%s%s", (int)whole, digits, digits[whole] == '.' ? "" : ".0", digits + whole);
    else
        buffer_add_text(out, l->text);
}

/* Marks the jobs that meet all terms, and adds the match with how many they are. */
static void add_match(struct jobs *j, size_t cause, const struct key_condition *terms, size_t term_count,
                      struct failure_cause *out)
{
    struct ended_share met = {0};
    OWNED_BUFFER words = BUFFER_INIT;
    cJSON *match = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(match, "terms");
    for (size_t i = 0; i < j->all.count; i++) {
        if (!meets_all(j, i, terms, term_count))
            continue;
        j->matched[i] = true;
        add_job(&met, j, i, cause);
    }
    for (size_t i = 0; i < term_count; i++) {
        const struct swept_key *a = &j->axes[terms[i].axis];
        const struct level *level = &a->levels[terms[i].level];
        OWNED char *title = title_of(j, a);
        cJSON *term =
            JSON_ITEM(list, JSON_STRING("name", title), JSON_STRING("relation", relation_signs[terms[i].relation]));
        cJSON_AddItemToObject(term, "term_value",
                              isfinite(level->number) ? cJSON_CreateNumber(level->number)
                                                      : cJSON_CreateString(level->text));
        buffer_printf(&words, "%s%s%s", i ? ", " : "", title, relation_signs[terms[i].relation]);
        add_level(level, &words);
    }
    JSON_ADD(match, JSON_INT("jobs", met.jobs), JSON_INT("ended_jobs", met.ended));
    cJSON_AddItemToArray(out->where, match);
    add_words(out, (int64_t)j->all.count, &met, buffer_text(&words));
}

static void find_matches(struct jobs *j, size_t cause, struct failure_cause *out)
{
    for (size_t i = 0; i < j->all.count; i++) {
        j->matched[i] = false;
        out->compared += j->causes[i] == cause;
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
    int rc = jobs_read(db, sweep_id, jobs, &j, e);
    for (size_t i = 0; i < jobs->cause_count; i++) {
        const bool looked_at = rc == 0 && i < FAILURE_CAUSES_MATCHED;
        if (looked_at)
            find_matches(&j, i, &causes[i]);
        JSON_ADD(cJSON_AddObjectToObject(causes[i].said, "compared"), JSON_INT("jobs", causes[i].compared),
                 JSON_INT("ended_jobs", looked_at ? j.all.count : 0));
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
