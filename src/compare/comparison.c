#include "compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "config/own_metrics.h"
#include "expression/rewrite.h"
#include "results/compared_jobs.h"
#include "results/json.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/suggest.h"

/* --- all pairs of a comparison --- */

/* A job and what it is matched by. */
struct placed {
    struct compared_identity rest;    /* identity without the key and the free keys */
    struct compared_identity setting; /* of the free keys */
    uint32_t value;                   /* index of its value */
    uint32_t job;                     /* its index */
};

/* The jobs of one group with one value of the key and of each free key. There are several only if they differ in labels
 * or replicate keys alone. */
struct value_side {
    int64_t job; /* the first of them */
    uint64_t setting;
    double sum;
    uint32_t group, value, count;   /* values in the sum */
    uint8_t state;                  /* an enum compared_state */
    bool one_of_several, no_choice; /* of several measured ones: chosen, or none could be */
};

struct pairing {
    struct compared_jobs *jobs;
    const struct comparison_request *request;
    struct comparison
        *out; /* its metric's direction: which of the jobs that differ in free keys alone represents them */
    enum section_kind section;
    const uint32_t *values_of; /* by spec of the section: 1 + the number of its value's text; NULL: no such key */
    struct string_list values;
    uint32_t *places; /* by text number: index of the value */
    struct placed *placed;
    size_t placed_count;
    struct value_side *sides; /* of all groups, in order of group, then value */
    size_t side_count;
};

/* --- values --- */

/* 1 + the number of its value's text; 0: it has none. */
static uint32_t value_of(const struct pairing *p, const struct compared_job *job)
{
    const uint32_t spec = job->specs[p->section];
    return p->values_of && spec != COMPARED_NO_SPEC ? p->values_of[spec] : 0;
}

static void collect_values(struct pairing *p)
{
    struct texts *texts = &p->jobs->texts;
    OWNED bool *seen = xcalloc(texts->count + 1, sizeof *seen);
    for (size_t i = 0; i < p->jobs->count; i++)
        seen[value_of(p, &p->jobs->jobs[i])] = true;
    for (size_t i = 0; i < texts->count; i++)
        if (seen[i + 1])
            string_list_add(&p->values, xstrdup(texts->items[i]));
    string_list_sort_values(&p->values);
    p->places = xcalloc(texts->count + 1, sizeof *p->places);
    for (size_t i = 0; i < p->values.count; i++)
        p->places[texts_number(texts, p->values.items[i])] = (uint32_t)i;
    p->out->values = p->values.count;
}

static int unknown_value(const struct pairing *p, const char *text, struct error *e)
{
    OWNED_BUFFER all = BUFFER_INIT;
    for (size_t i = 0; i < p->values.count && i < 20; i++)
        buffer_printf(&all, "%s%s", i ? ", " : "", p->values.items[i]);
    error_set(e, ERROR_USAGE, "--by %s: no job has the value %s; its values are %s", p->request->key, text,
              p->values.count ? buffer_text(&all) : "none");
    return -1;
}

/* --- pairs --- */

static void add_pair(struct comparison *c, const char *a, const char *b)
{
    *array_add(c->pairs, c->count) = (struct comparison_pair){.a = xstrdup(a), .b = xstrdup(b)};
}

/* With more values, each is compared only with the next. */
static bool has_neighbours_only(const struct pairing *p)
{
    return p->values.count > COMPARISON_VALUES;
}

static int choose_pairs(struct pairing *p, struct error *e)
{
    const struct comparison_request *r = p->request;
    if (r->a && string_list_find(&p->values, r->a) == p->values.count)
        return unknown_value(p, r->a, e);
    if (r->b && string_list_find(&p->values, r->b) == p->values.count)
        return unknown_value(p, r->b, e);
    if (r->a && r->b && strcmp(r->a, r->b) == 0)
        return error_set(e, ERROR_USAGE, "--by %s=%s,%s: a value cannot be compared with itself", r->key, r->a, r->b);
    if (r->a) {
        add_pair(p->out, r->a, r->b);
        return 0;
    }
    for (size_t i = 0; i < p->values.count; i++)
        for (size_t j = i + 1; j < p->values.count && (!has_neighbours_only(p) || j == i + 1); j++)
            add_pair(p->out, p->values.items[i], p->values.items[j]);
    return 0;
}

/* Index of the pair of two values, of which `first` comes first; SIZE_MAX if there is none. `*swapped` is set if it was
 * requested the other way round. */
static size_t pair_of(const struct pairing *p, size_t first, size_t second, bool *swapped)
{
    const size_t n = p->values.count;
    *swapped = false;
    if (p->request->a) {
        const char *a = p->values.items[first], *b = p->values.items[second];
        *swapped = strcmp(a, p->request->b) == 0 && strcmp(b, p->request->a) == 0;
        return *swapped || (strcmp(a, p->request->a) == 0 && strcmp(b, p->request->b) == 0) ? 0 : SIZE_MAX;
    }
    if (has_neighbours_only(p))
        return second == first + 1 ? first : SIZE_MAX;
    return first * (2 * n - first - 1) / 2 + second - first - 1;
}

static double mean_of(const struct value_side *s)
{
    return s->count ? s->sum / (double)s->count : NAN;
}

static int64_t first_job(int64_t known, int64_t job)
{
    return known && known < job ? known : job;
}

static void count_pair(struct comparison_pair *pair, const struct value_side *a, const struct value_side *b)
{
    double x = mean_of(a), y = mean_of(b);
    if (a->no_choice || b->no_choice) {
        pair->without_choice++;
    } else if (a->state == COMPARED_OPEN || b->state == COMPARED_OPEN) {
        pair->open++;
    } else if (a->state == COMPARED_OK && b->state == COMPARED_OK) {
        if (x > 0 && y > 0 && isfinite(x) && isfinite(y) && isfinite(y / x)) {
            *array_add(pair->ratios, pair->summary.count) = y / x;
            pair->chosen_a |= a->one_of_several;
            pair->chosen_b |= b->one_of_several;
        } else {
            pair->without_ratio++;
        }
    } else if (a->state == COMPARED_OK) {
        pair->only_a++;
        pair->example_only_a = first_job(pair->example_only_a, b->job);
    } else if (b->state == COMPARED_OK) {
        pair->only_b++;
        pair->example_only_b = first_job(pair->example_only_b, a->job);
    } else {
        pair->neither++;
    }
}

/* Counts the pairs of the sides of one group, one side per value. */
static void count_group(struct pairing *p, const struct value_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && (!has_neighbours_only(p) || p->request->a || j == i + 1); j++) {
            bool swapped;
            size_t pair = pair_of(p, sides[i].value, sides[j].value, &swapped);
            if (pair != SIZE_MAX)
                count_pair(&p->out->pairs[pair], &sides[swapped ? j : i], &sides[swapped ? i : j]);
        }
}

/* --- groups --- */

static bool is_measured(const struct value_side *s)
{
    const double mean = mean_of(s);
    return s->state == COMPARED_OK && mean > 0 && isfinite(mean);
}

/* Returns whether `a` rather than `b` represents a value: measured, then ok before not ok, then what was chosen, then
 * the first. */
static bool stands_before(const struct value_side *a, const struct value_side *b)
{
    if (is_measured(a) != is_measured(b))
        return is_measured(a);
    if (a->state != b->state)
        return a->state > b->state;
    return a->no_choice != b->no_choice ? b->no_choice : a->job < b->job;
}

/* Marks the sides of values that were measured with several settings of the free keys. */
static void choose_settings(struct pairing *p)
{
    OWNED struct side_candidate *choices = xcalloc(p->side_count + 1, sizeof *choices);
    size_t count = 0;
    for (size_t i = 0; i < p->side_count; i++) {
        const struct value_side *s = &p->sides[i];
        const double cost = log(mean_of(s));
        if (is_measured(s))
            choices[count++] =
                (struct side_candidate){s->group, s->value, s->setting, p->out->metric.maximise ? -cost : cost,
                                        false,    false};
    }
    choices_make(choices, count, p->request->seed);
    for (size_t i = 0, k = 0; i < p->side_count; i++) {
        if (!is_measured(&p->sides[i]))
            continue;
        p->sides[i].one_of_several = choices[k].one_of_several;
        p->sides[i].no_choice = !choices[k++].chosen;
    }
}

/* Keeps the first side of each value, in order of what stands before, and counts the pairs of each group. */
static void count_groups(struct pairing *p)
{
    for (size_t from = 0, end; from < p->side_count; from = end) {
        size_t kept = from;
        for (end = from + 1; end < p->side_count && p->sides[end].group == p->sides[from].group; end++) {
            if (p->sides[end].value != p->sides[kept].value)
                p->sides[++kept] = p->sides[end];
            else if (stands_before(&p->sides[end], &p->sides[kept]))
                p->sides[kept] = p->sides[end];
        }
        count_group(p, p->sides + from, kept - from + 1);
    }
}

static void add_job(struct value_side *side, const struct compared_job *j)
{
    side->state = j->state > side->state ? (uint8_t)j->state : side->state;
    if (j->state == COMPARED_OK && !isnan(j->value)) {
        side->sum += j->value;
        side->count++;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = compared_identity_order(&x->rest, &y->rest);
    if (order == 0)
        order = (x->value > y->value) - (x->value < y->value);
    if (order == 0)
        order = compared_identity_order(&x->setting, &y->setting);
    return order ? order : (x->job > y->job) - (x->job < y->job);
}

static bool is_same_side(const struct placed *a, const struct placed *b)
{
    return a->value == b->value && compared_identity_order(&a->rest, &b->rest) == 0 &&
           compared_identity_order(&a->setting, &b->setting) == 0;
}

static void pair_jobs(struct pairing *p)
{
    const struct placed *all = p->placed;
    const struct compared_job *jobs = p->jobs->jobs;
    uint32_t group = 0;
    array_sort(p->placed, p->placed_count, by_place);
    for (size_t i = 0; i < p->placed_count;) {
        const size_t from = i;
        group += from > 0 && compared_identity_order(&all[from - 1].rest, &all[from].rest) != 0;
        struct value_side side = {.group = group,
                                  .value = all[i].value,
                                  .job = jobs[all[i].job].id,
                                  .setting = all[i].setting.low};
        while (i < p->placed_count && is_same_side(&all[from], &all[i]))
            add_job(&side, &jobs[all[i++].job]);
        *array_add(p->sides, p->side_count) = side;
    }
    free(p->placed);
    p->placed = NULL;
    choose_settings(p);
    count_groups(p);
    for (size_t i = 0; i < p->out->count; i++) {
        struct comparison_pair *pair = &p->out->pairs[i];
        pair->summary = ratios_summarise(pair->ratios, pair->summary.count);
    }
}

/* --- what is equal --- */

static bool is_free(const struct comparison *c, enum section_kind kind, const char *key)
{
    for (size_t i = 0; i < c->free.count; i++) {
        const char *bare;
        const bool qualified = section_split(c->free.items[i], &bare) == kind;
        if (strcmp(qualified ? bare : c->free.items[i], key) == 0)
            return true;
    }
    return false;
}

/* By spec of a section, the identity of what must be equal, or of the free keys. If nothing is removed from a section,
 * what must be equal is the spec itself, so that specs that differ in labels alone are different. The caller frees it.
 */
static struct compared_identity *identities(const struct pairing *p, enum section_kind kind, bool of_free)
{
    const struct compared_section *s = &p->jobs->sections[kind];
    struct compared_identity *all = xcalloc(s->spec_count + 1, sizeof *all);
    bool *removed = xcalloc(s->key_count + 1, sizeof *removed), own = kind == p->section, any = own || of_free;
    for (size_t k = 0; k < s->key_count; k++) {
        const struct compared_key *key = &s->keys[k];
        const bool free_key = is_free(p->out, kind, key->name);
        removed[k] = key->is_replicate || free_key != of_free;
        any |= removed[k];
        removed[k] |= own && (key->is_label || !p->out->key || strcmp(key->name, p->out->key) == 0);
    }
    for (size_t i = 0; i < s->spec_count; i++)
        all[i] = any ? compared_spec_identity(p->jobs, kind, i, removed)
                     : compared_identity_of((uint64_t)kind << 56, (uint64_t)s->ids[i]);
    free(removed);
    return all;
}

static void add_parts(struct pairing *p, bool of_free)
{
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++) {
        OWNED struct compared_identity *parts = identities(p, kind, of_free);
        for (size_t i = 0; i < p->placed_count; i++) {
            struct placed *one = &p->placed[i];
            const uint32_t spec = p->jobs->jobs[one->job].specs[kind];
            if (spec != COMPARED_NO_SPEC)
                compared_identity_add(of_free ? &one->setting : &one->rest, parts[spec]);
        }
    }
}

static void place_jobs(struct pairing *p)
{
    p->placed = xcalloc(p->jobs->count + 1, sizeof *p->placed);
    for (size_t i = 0; i < p->jobs->count; i++) {
        const struct compared_job *job = &p->jobs->jobs[i];
        const uint32_t value = value_of(p, job);
        if (value)
            p->placed[p->placed_count++] = (struct placed){.value = p->places[value - 1],
                                                           .job = (uint32_t)i,
                                                           .rest = compared_identity_of(UINT64_MAX, job->batch)};
    }
    add_parts(p, false);
    if (p->out->free.count)
        add_parts(p, true);
}

static void clear_pairs(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        free_all(c->pairs[i].a, c->pairs[i].b, c->pairs[i].ratios);
    free(c->pairs);
    c->pairs = NULL;
    c->count = 0;
}

/* Fills the pairs for the key and the free keys; earlier pairs are freed. ERROR_USAGE for a value that no job has. */
static int measure(struct pairing *p, struct error *e)
{
    p->section = section_named(p->out->section, strlen(p->out->section));
    const struct compared_section *s = &p->jobs->sections[p->section];
    const struct compared_key *key = p->out->key ? compared_key_named(s, p->out->key) : NULL;
    p->values_of = key ? key->values : p->out->key ? NULL : s->labels;
    clear_pairs(p->out);
    collect_values(p);
    int rc = choose_pairs(p, e);
    if (rc == 0) {
        place_jobs(p);
        pair_jobs(p);
    }
    string_list_free(&p->values);
    free_all(p->places, p->placed, p->sides);
    *p = (struct pairing){.jobs = p->jobs, .request = p->request, .out = p->out};
    return rc;
}

/* --- the subject: its metric, its key and the free keys, as requested --- */

int comparison_key_unknown(struct db *db, const char *option, const char *key, struct error *e)
{
    OWNED_LIST names = STRING_LIST_INIT;
    OWNED_BUFFER all = BUFFER_INIT;
    int rc = db_query_texts(db,
                            "SELECT k.key FROM spec AS s, json_each(s.json) AS k UNION SELECT k.key FROM job AS j,"
                            " json_each(j.derived) AS k WHERE j.id = (SELECT max(id) FROM job) ORDER BY 1 LIMIT 1000",
                            NO_VALUES, &names, e);
    for (size_t i = 0; i < names.count && i < 20; i++)
        buffer_printf(&all, "%s%s", i ? ", " : "", names.items[i]);
    const char *near = SUGGEST(key, i, names.count, names.items[i]).near;
    if (rc == 0 && near)
        error_set(e, ERROR_USAGE, "%s %s: no such key (did you mean %s?)", option, key, near);
    else if (rc == 0 && names.count > 0)
        error_set(e, ERROR_USAGE, "%s %s: no such key; the keys are %s", option, key, buffer_text(&all));
    else if (rc == 0)
        error_set(e, ERROR_NOTHING, "%s %s: the database has no jobs, so there is nothing to compare", option, key);
    return -1;
}

static int refuse_derived(struct db *db, const char *key, struct error *e)
{
    bool derived;
    if (db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)",
                      VALUES(sql_text(key)), &derived, e) < 0)
        return -1;
    return derived ? error_set(e, ERROR_USAGE,
                               "--by %s: it is derived from other keys, so no two jobs differ only in it; compare by "
                               "one of those keys",
                               key)
                   : comparison_key_unknown(db, "--by", key, e);
}

/* Looks in all specs of the database if no job of the current sweep has the key. */
static int find_in_specs(struct db *db, const char *key, const char *section, struct comparison *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT s.kind FROM spec AS s, json_each(s.json) AS k"
                     " WHERE k.key = ?1 AND (?2 IS NULL OR s.kind = ?2) LIMIT 1",
                     VALUES(sql_text(key), sql_text(section)), &s, e);
    if (rc > 0) {
        out->section = xstrdup(stmt_text(s, 0));
        out->key = xstrdup(key);
    }
    return rc;
}

/* Returns the section that has the most values of the key; if equal, the first by name. */
static enum section_kind section_with(const struct compared_jobs *jobs, const char *key)
{
    enum section_kind best = SECTION_COUNT;
    size_t most = 0;
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++) {
        const struct compared_key *k = compared_key_named(&jobs->sections[kind], key);
        if (k &&
            (k->distinct > most || (k->distinct == most && strcmp(section_names[kind], section_names[best]) < 0))) {
            best = kind;
            most = k->distinct;
        }
    }
    return best;
}

/* Finds the section whose specs have the key. */
static int find_key(struct db *db, const struct compared_jobs *jobs, const char *name, struct comparison *out,
                    struct error *e)
{
    const char *key;
    const enum section_kind section = section_split(name, &key);
    if (section_named(name, strlen(name)) < SECTION_COUNT) {
        out->section = xstrdup(name);
        return 0;
    }
    const enum section_kind found = section == SECTION_COUNT                            ? section_with(jobs, key)
                                    : compared_key_named(&jobs->sections[section], key) ? section
                                                                                        : SECTION_COUNT;
    if (found < SECTION_COUNT) {
        out->section = xstrdup(section_names[found]);
        out->key = xstrdup(key);
        return 0;
    }
    int rc = find_in_specs(db, key, section < SECTION_COUNT ? section_names[section] : NULL, out, e);
    return rc > 0 ? 0 : rc < 0 ? -1 : refuse_derived(db, name, e);
}

/* ERROR_USAGE for the value of --metric that is none of them: with what may have been meant, how one that every attempt
 * has is made a metric, or those that there are. Returns -1. */
static int metric_names_refuse(struct db *db, const char *name, struct error *e)
{
    if (own_metric_by_name(name))
        return error_set(e, ERROR_USAGE,
                         "--metric %s: it is not a metric of this sweep; to make it one, add [metrics.%s_seen] with "
                         "expression = \"%s\" and better = \"min\" to the sweep file, and the next run computes it for "
                         "all jobs that have run",
                         name, name, name);
    OWNED_LIST names = STRING_LIST_INIT;
    OWNED_BUFFER listed = BUFFER_INIT;
    int rc = db_query_texts(db, "SELECT name FROM metric_definition UNION SELECT name FROM summary ORDER BY name",
                            NO_VALUES, &names, e);
    const char *near = SUGGEST(name, i, names.count, names.items[i]).near;
    for (size_t i = 0; !near && i < names.count; i++)
        buffer_printf(&listed, "%s%s", i ? ", " : "; its metrics are ", names.items[i]);
    if (rc == 0 && near)
        rc = error_set(e, ERROR_USAGE, "--metric %s: no such metric; did you mean \"%s\"?", name, near);
    else if (rc == 0)
        rc = error_set(e, ERROR_USAGE, "--metric %s: no such metric%s", name, buffer_text(&listed));
    return rc;
}

int compared_metric_read(struct db *db, const char *whose, const char *metric, struct compared_metric *out,
                         struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, embedded_text("src/compare/compared_metric.sql"), VALUES(sql_text(metric)), &s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "%s has no sweep yet; `meshsweep run` records one", whose);
    else if (rc > 0 && stmt_is_null(s, 0))
        rc = error_set(e, ERROR_USAGE, "the sweep has no objective; name the metric to compare with --metric");
    else if (rc > 0 && metric && !stmt_int(s, 4))
        rc = metric_names_refuse(db, metric, e);
    if (rc > 0)
        *out = (struct compared_metric){.name = stmt_copy_text(s, 0),
                                        .unit = stmt_copy_text(s, 1),
                                        .is_objective = stmt_int(s, 2) != 0,
                                        .has_direction = !stmt_is_null(s, 3),
                                        .maximise = stmt_int(s, 3) != 0,
                                        .is_derived = stmt_int(s, 5) != 0};
    return rc < 0 ? -1 : 0;
}

static int check_free(struct db *db, const struct comparison_request *r, const struct comparison *c, const char *key,
                      struct error *e)
{
    static const char sql[] = "SELECT EXISTS (SELECT 1 FROM spec AS s, json_each(s.json) AS k"
                              " WHERE k.key = ?1 OR s.kind || '.' || k.key = ?1)"
                              " OR EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)";
    bool known;
    if (strcmp(key, r->key) == 0 || (c->key && strcmp(key, c->key) == 0))
        return error_set(e, ERROR_USAGE, "--free %s: it is the key to compare by", key);
    if (db_query_bool(db, sql, VALUES(sql_text(key)), &known, e) < 0)
        return -1;
    return known ? 0 : comparison_key_unknown(db, "--free", key, e);
}

/* Reads the keys of --free. A derived key is free along with those that it comes from, so it need not be removed. */
static int read_free(struct db *db, struct pairing *p, struct error *e)
{
    struct comparison *out = p->out;
    const char *list = p->request->free;
    int rc = 0;
    while (rc == 0 && list && *list) {
        size_t length = strcspn(list, ",");
        char *key = xstrndup(list, length);
        rc = check_free(db, p->request, out, key, e);
        string_list_add(&out->free, key);
        list += length + (list[length] == ',');
    }
    if (rc == 0 && out->free.count && !p->out->metric.has_direction)
        rc = error_set(e, ERROR_USAGE,
                       "--free: the direction of %s is not known; set better = \"min\" or \"max\" in its table",
                       out->metric.name);
    return rc;
}

/* --- key ties --- */

/* Keys that cannot be changed alone, because the sweep file connects them with others. */

static int add_word(void *context, const char *name, bool quoted, struct buffer *sql, struct error *e)
{
    (void)quoted;
    (void)sql;
    (void)e;
    cJSON_AddItemToArray(context, cJSON_CreateString(name));
    return 0;
}

/* `name`: of the derived key that it is; NULL: of none. */
static void add_expression(cJSON *list, const char *name, const char *expression)
{
    cJSON *words = cJSON_AddArrayToObject(JSON_ITEM(list, JSON_TEXT("name", name)), "words");
    const struct rewriter rewriter = {.name = add_word, .context = words};
    OWNED_BUFFER sql = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    rewrite_expression(expression ? expression : "", &rewriter, &sql, &ignored);
}

/* What connects keys, for src/compare/tied_keys.sql. */
static cJSON *connections_of(const struct sweep *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->rule_count; i++) {
        add_expression(list, NULL, s->rules[i].require);
        add_expression(list, NULL, s->rules[i].when);
    }
    for (size_t i = 0; i < s->derived_count; i++)
        add_expression(list, s->derived[i].name, s->derived[i].expression);
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);) {
        cJSON *group = cJSON_CreateObject(),
              *keys = cJSON_CreateStringArray((const char *const *)at.axis->keys, (int)at.axis->key_count);
        cJSON_AddItemToObject(group, "keys", keys);
        cJSON_AddItemToArray(list, group);
    }
    return list;
}

/* The keys with several values, but for the global batch, which defines the work done. */
static cJSON *swept_keys(const struct compared_jobs *jobs, const char *but)
{
    cJSON *list = cJSON_CreateArray();
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t k = 0; k < jobs->sections[kind].key_count; k++) {
            const struct compared_key *one = &jobs->sections[kind].keys[k];
            if (one->distinct > 1 && !one->is_label && !one->is_replicate && strcmp(one->name, "global_batch") != 0 &&
                strcmp(one->name, "train_batch_size") != 0 && strcmp(one->name, but) != 0)
                cJSON_AddItemToArray(list, cJSON_CreateString(one->name));
        }
    return list;
}

/* Adds the keys with several values in the current sweep that are connected with `key`: a rule or derived key reads
 * both, directly or through derived keys, or they are tied ("(tp, dp)"). Keys connected with these are added in turn.
 * Adds nothing if the recorded file can no longer be read. */
static int key_ties_read(struct db *db, const struct compared_jobs *jobs, const char *key, struct string_list *out,
                         struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED char *path = NULL, *text = NULL;
    struct error unreadable = ERROR_INIT;
    const char *dot = strchr(key, '.'), *bare = dot ? dot + 1 : key;
    int64_t id;
    if (sweep_read_current(db, &id, &path, &text, e) < 0)
        return -1;
    if (sweep_parse(path, text, strlen(text), &sweep, &unreadable) != 0)
        return 0;
    OWNED_JSON *connections = connections_of(sweep), *swept = swept_keys(jobs, bare);
    OWNED char *connected = cJSON_PrintUnformatted(connections), *among = cJSON_PrintUnformatted(swept);
    return db_query_texts(db, embedded_text("src/compare/tied_keys.sql"),
                          VALUES(sql_text(bare), sql_text(connected), sql_text(among)), out, e);
}

/* --- comparison --- */

static size_t most_pairs(const struct comparison *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t pairs = c->pairs[i].summary.count + (size_t)c->pairs[i].without_choice;
        most = pairs > most ? pairs : most;
    }
    return most;
}

/* Fixes again each freed key that adds no pairs. */
static int fix_needless(struct pairing *p, struct error *e)
{
    struct string_list all = p->out->free;
    size_t most = most_pairs(p->out);
    OWNED bool *fixed = xcalloc(all.count + 1, sizeof *fixed);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i <= all.count; i++) {
        fixed[i] = true;
        p->out->free = STRING_LIST_INIT;
        for (size_t k = 0; k < all.count; k++)
            if (!fixed[k])
                string_list_add(&p->out->free, xstrdup(all.items[k]));
        rc = measure(p, e);
        fixed[i] = most_pairs(p->out) >= most;
        if (i < all.count)
            string_list_free(&p->out->free);
    }
    string_list_free(&all);
    return rc;
}

/* If a key cannot be changed alone, keys that must follow it are freed. */
static int find_free(struct db *db, struct pairing *p, struct error *e)
{
    size_t alone = most_pairs(p->out);
    if (!p->out->key || p->out->values < 2 || alone >= RATIOS_LEAST || !p->out->metric.has_direction)
        return 0;
    if (key_ties_read(db, p->jobs, p->out->key, &p->out->free, e) < 0)
        return -1;
    int rc = p->out->free.count ? measure(p, e) : 0;
    if (rc == 0 && most_pairs(p->out) > alone) {
        p->out->free_was_found = true;
        p->out->pairs_alone = alone;
        return fix_needless(p, e);
    }
    bool tried = p->out->free.count > 0;
    string_list_free(&p->out->free);
    return rc == 0 && tried ? measure(p, e) : rc;
}

static int compare_values(struct db *db, struct compared_jobs *jobs, struct pairing *p, struct error *e)
{
    struct comparison *out = p->out;
    p->jobs = jobs;
    if (find_key(db, jobs, p->request->key, out, e) < 0 || read_free(db, p, e) < 0)
        return -1;
    const enum section_kind section = section_named(out->section, strlen(out->section));
    if ((!out->key && compared_jobs_read_labels(db, jobs, section, e) < 0) || measure(p, e) < 0 ||
        (!p->request->free && find_free(db, p, e) < 0))
        return -1;
    return db_query_bool(db, embedded_text("src/compare/says_batch.sql"), NO_VALUES, &out->says_batch, e);
}

/* Reads the jobs if the request brings none. */
static int read_and_compare(struct db *db, struct pairing *p, struct error *e)
{
    struct compared_jobs own = {0};
    if (compared_metric_read(db, "this database", p->request->metric, &p->out->metric, e) < 0)
        return -1;
    if (p->request->jobs)
        return compare_values(db, p->request->jobs, p, e);
    int rc = compared_jobs_read(db, p->out->metric.name, &own, e);
    rc = rc == 0 ? compare_values(db, &own, p, e) : rc;
    compared_jobs_free(&own);
    return rc;
}

int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e)
{
    struct pairing p = {.request = request, .out = out};
    *out = (struct comparison){0};
    /* One transaction, because a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_and_compare(db, &p, e);
    db_read_end(db);
    if (rc < 0)
        comparison_free(out);
    return rc < 0 ? -1 : 0;
}

size_t comparisons_judge(struct comparison *items, size_t count)
{
    size_t together = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++)
            together += items[i].pairs[j].summary.count >= RATIOS_INTERVAL_LEAST;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++) {
            struct comparison_pair *p = &items[i].pairs[j];
            ratios_judge(p->ratios, &p->summary, together, (unsigned)p->chosen_a + p->chosen_b);
        }
    return together;
}

int comparison_say_pair(struct db *said, const char *by, const struct comparison_pair *p, bool ratios_too,
                        struct error *e)
{
    static const char *const verdicts[] =
        {[RATIO_TOO_FEW] = "too few pairs", [RATIO_SAME] = "same", [RATIO_LOWER] = "lower", [RATIO_HIGHER] = "higher"};
    static const char *const intervals[] = {[RATIO_INTERVAL_RANKS] = "ranks", [RATIO_INTERVAL_STUDENT] = "student"};
    const struct ratio_summary *s = &p->summary;
    OWNED_JSON *list = s->count && ratios_too ? cJSON_CreateDoubleArray(p->ratios, (int)s->count) : cJSON_CreateArray();
    char *ratios = cJSON_PrintUnformatted(list);
    const int rc =
        db_run(said,
               "INSERT INTO pair VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               VALUES(sql_text(by), sql_text(p->a), sql_text(p->b), sql_int((int64_t)s->count), sql_real(s->median),
                      sql_real(s->low), sql_real(s->high), sql_real(s->confidence), sql_text(intervals[s->interval]),
                      sql_real(s->minimum), sql_real(s->quarter), sql_real(s->three_quarters), sql_real(s->maximum),
                      sql_text(verdicts[s->verdict]), sql_int(p->only_a), sql_int(p->only_b), sql_int(p->neither),
                      sql_int(p->open), sql_int(p->without_ratio), sql_int(p->without_choice), sql_text(ratios),
                      sql_int(p->example_only_a), sql_int(p->example_only_b)),
               e);
    cJSON_free(ratios);
    return rc;
}

void comparison_free(struct comparison *c)
{
    clear_pairs(c);
    string_list_free(&c->free);
    free_all(c->section, c->key, c->metric.name, c->metric.unit);
    *c = (struct comparison){0};
}

/* --- effects --- */

struct key_effects {
    struct compared_jobs jobs;
    struct comparison items[EFFECTS_KEYS_MOST];
    const char *keys[EFFECTS_KEYS_MOST]; /* as they were asked for */
    size_t count;
};

/* A key that cannot be compared by has no effect. */
static int read_effect(struct db *db, const char *key, struct key_effects *x, struct error *e)
{
    const struct comparison_request request = {.key = key, .seed = 1, .jobs = &x->jobs};
    struct error why = ERROR_INIT;
    if (comparison_read(db, &request, &x->items[x->count], &why) == 0)
        x->keys[x->count++] = key;
    else if (why.kind != ERROR_USAGE)
        *e = why;
    return why.kind == ERROR_NONE || why.kind == ERROR_USAGE ? 0 : -1;
}

static int say_effect(struct db *said, const char *key, const struct comparison *c, struct error *e)
{
    const char *by = c->key ? c->key : c->section;
    OWNED_BUFFER tied = BUFFER_INIT;
    int rc = 0;
    for (size_t i = 0; i < c->free.count; i++)
        buffer_printf(&tied, "%s%s", i ? ", " : "", c->free.items[i]);
    for (size_t i = 0; rc == 0 && i < c->count; i++)
        rc = comparison_say_pair(said, by, &c->pairs[i], false, e);
    return rc < 0 ? -1
                  : db_run(said, "INSERT INTO effect VALUES (NULL, ?, (SELECT max(n) FROM pair), ?, ?)",
                           VALUES(sql_text(key), sql_int((int64_t)c->pairs_alone),
                                  sql_text(c->free_was_found ? buffer_text(&tied) : NULL)),
                           e);
}

static int say_effects(struct db *said, struct key_effects *x, struct error *e)
{
    const size_t together = comparisons_judge(x->items, x->count);
    int rc = db_run(said, "UPDATE asked SET together = ?", VALUES(sql_int((int64_t)together)), e);
    for (size_t i = 0; rc == 0 && i < x->count; i++)
        rc = say_effect(said, x->keys[i], &x->items[i], e);
    return rc;
}

int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count, struct db *said,
                     struct error *e)
{
    struct key_effects x = {0};
    int rc = count ? compared_jobs_read(db, objective, &x.jobs, e) : 0;
    for (size_t i = 0; rc == 0 && i < count && i < EFFECTS_KEYS_MOST; i++)
        rc = read_effect(db, keys[i], &x, e);
    if (rc == 0)
        rc = say_effects(said, &x, e);
    for (size_t i = 0; i < x.count; i++)
        comparison_free(&x.items[i]);
    compared_jobs_free(&x.jobs);
    return rc;
}
