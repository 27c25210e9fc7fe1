#include "search/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/meaning.h"
#include "predict/evidence.h"
#include "predict/input_table.h"
#include "predict/plan.h"
#include "search/belief.h"
#include "search/state.h"
#include "space/compile.h"
#include "util/hash.h"
#include "util/linear.h"
#include "util/memory.h"

/* The inputs in which the candidates of a memory class may differ. */
static const size_t of_batch[] = {AT_MICRO_BATCH, AT_GRADIENT_ACCUMULATION, AT_GLOBAL_BATCH};

/* What gets numbers as it comes; REPLICATED like the candidates. */
enum { GROUPS, CONFIGURATIONS, MEMORY_CLASSES, PLACES, REPLICATED, NUMBERED };

struct candidate_loading {
    const struct candidate_request *request;
    struct candidate_set *set;
    struct scope scope; /* of the row's keys, one per names.keys */
    struct input_value inputs[INPUT_COUNT];
    size_t *key_index; /* into names.keys, for every key that is not a label */
    size_t *key_input; /* of of_batch, or AT_ZERO_STAGE, the one that a key is; NONE: none of them */
    size_t key_count;
    struct hash_index numbers[NUMBERED];
    /* By key: it counts in a group, in a configuration, and in what replicates have in common. */
    bool *of_group, *of_configuration, *of_replicates;
    bool by_list;          /* group_by made the list, not the default sections */
    bool all_compete;      /* group_by is an empty list */
    struct hash128 *wider; /* by candidate: the group to use if every candidate would be alone */
};

/* --- keys --- */

/* The place of a key of that name; key_count: it is a label; SIZE_MAX: it is no key. */
static size_t find_key(const struct candidate_loading *l, const char *name)
{
    size_t index;
    if (names_resolve(&l->request->space->names, name, &index) != RESOLVED_KEY)
        return SIZE_MAX;
    return FIRST(k, l->key_count, l->key_index[k] == index);
}

static void mark_key(struct candidate_loading *l, const char *name, size_t input)
{
    const size_t k = find_key(l, name);
    if (k < l->key_count)
        l->key_input[k] = input;
}

static void mark_input(struct candidate_loading *l, size_t input)
{
    const struct predict_config *c = &l->request->space->sweep->predict;
    for (const char *const *name = inputs[input].names; *name; name++)
        mark_key(l, *name, input);
    for (size_t k = 0; k < c->key_count; k++)
        if (strcmp(c->keys[k].name, inputs[input].name) == 0)
            mark_key(l, c->keys[k].expression, input);
}

static void choose_keys(struct candidate_loading *l)
{
    const struct names *n = &l->request->space->names;
    l->key_index = xcalloc(n->key_count + 1, sizeof *l->key_index);
    l->key_input = xcalloc(n->key_count + 1, sizeof *l->key_input);
    l->set->keys = xcalloc(n->key_count + 1, sizeof *l->set->keys);
    l->set->sections = xcalloc(n->key_count + 1, sizeof *l->set->sections);
    for (size_t i = 0; i < n->key_count; i++) {
        /* A name that alone tells two models apart is no label (join/specs.h). */
        if (n->keys[i].is_label &&
            (strcmp(n->keys[i].name, "name") != 0 || !specs_have_twins(l->request->space->specs[n->keys[i].section])))
            continue;
        l->set->keys[l->key_count] = n->keys[i].name;
        l->set->sections[l->key_count] = section_names[n->keys[i].section];
        l->key_input[l->key_count] = NONE;
        l->key_index[l->key_count++] = i;
    }
    for (size_t i = 0; i < LENGTH(of_batch); i++)
        mark_input(l, of_batch[i]);
    mark_input(l, AT_ZERO_STAGE);
}

/* By key, whether it is listed. `*all`: every word of the list is a key. */
static bool *listed_keys(const struct candidate_loading *l, const struct word_list *words, bool *all)
{
    bool *listed = xcalloc(l->key_count + 1, sizeof *listed);
    *all = true;
    for (size_t i = 0; i < words->count; i++) {
        const size_t k = find_key(l, words->items[i].text);
        if (k < l->key_count)
            listed[k] = true;
        *all &= k != SIZE_MAX;
    }
    return listed;
}

static void mark_shared(struct candidate_loading *l)
{
    const struct sweep *sweep = l->request->space->sweep;
    bool all, *is_replicate = listed_keys(l, &sweep->replicates, &all);
    l->of_group = listed_keys(l, &sweep->groups, &all);
    l->of_configuration = xcalloc(l->key_count + 1, sizeof *l->of_configuration);
    l->of_replicates = is_replicate;
    l->by_list = all && sweep->groups_given;
    l->all_compete = l->by_list && sweep->groups.count == 0;
    for (size_t k = 0; k < l->key_count; k++) {
        if (!l->by_list)
            l->of_group[k] =
                l->request->space->names.keys[l->key_index[k]].section != SECTION_PARALLEL &&
                (l->key_input[k] == NONE || (l->key_input[k] == AT_GLOBAL_BATCH && l->request->equal_batch));
        l->of_configuration[k] = l->key_input[k] != AT_MICRO_BATCH && l->key_input[k] != AT_GRADIENT_ACCUMULATION;
        l->of_replicates[k] = !is_replicate[k];
    }
}

/* Keys declared from the smallest need of memory to the largest, such as offload devices: saving memory costs speed. */
static void mark_savers(struct candidate_loading *l)
{
    const struct predict_config *c = &l->request->space->sweep->predict;
    l->set->saves_memory = xcalloc(l->key_count + 1, sizeof *l->set->saves_memory);
    for (size_t i = 0; i < c->order_count; i++) {
        const size_t k = c->order[i].direction == ORDER_LISTED ? find_key(l, c->order[i].expression) : SIZE_MAX;
        if (k < l->key_count)
            l->set->saves_memory[k] |= l->key_input[k] == NONE;
    }
}

/* --- one candidate --- */

/* A word as a number that is exact, of 52 bits, and unlike any that people sweep over; NAN: absent. */
static double number_of(const struct input_value *v)
{
    uint64_t code;
    if (v->kind != INPUT_TEXT)
        return v->kind == INPUT_NUMBER ? v->number : NAN;
    const struct hash128 hash = hash_bytes(v->text, strlen(v->text));
    memcpy(&code, hash.bytes, sizeof code);
    return -(double)(code >> 12);
}

static void add_value(struct buffer *b, size_t key, double value)
{
    buffer_add(b, &key, sizeof key);
    buffer_add(b, &value, sizeof value);
}

/* Hash of the values of the keys that count; `batch`, if not NULL, counts as well. */
static struct hash128 hash_keys(const struct candidate_loading *l, const double *values, const bool *counts,
                                const double *batch)
{
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t k = 0; counts && k < l->key_count; k++)
        if (counts[k])
            add_value(&b, k, values[k]);
    if (batch)
        add_value(&b, SIZE_MAX, *batch);
    return hash_bytes(buffer_text(&b), b.length);
}

static struct hash128 memory_hash(const struct candidate_loading *l)
{
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (!ANY(k, LENGTH(of_batch), of_batch[k] == i))
            add_value(&b, i, number_of(&l->inputs[i]));
    return hash_bytes(buffer_text(&b), b.length);
}

static size_t place_of(struct candidate_loading *l, const struct place_of_measurement *where)
{
    struct candidate_set *set = l->set;
    OWNED char *name = xasprintf("%s\n%s\n%s", where->framework, where->device, where->cluster);
    const struct hash128 hash = hash_bytes(name, strlen(name));
    bool is_new;
    size_t place = hash_index_add(&l->numbers[PLACES], &hash, &is_new);
    if (is_new) {
        const struct framework *f =
            predictor_prior(prediction_predictor(&l->request->space->prediction), where->framework);
        *array_add(set->places, set->space.place_count) =
            (struct search_place){true, true, calibration_of_memory(&f->memory), calibration_of_time(&f->time)};
    }
    return place;
}

void candidate_predict(struct candidate *c, const struct search_place *place)
{
    if (c->memory_terms) {
        c->bytes = weighted_sum(place->memory.weights, c->memory_terms, place->memory.terms);
        c->oom_probability = oom_probability(c->bytes, place->memory.sigma, c->usable_bytes, 0);
    }
    if (c->time_terms)
        c->seconds = weighted_sum(place->time.weights, c->time_terms, place->time.terms);
}

static void take_memory(const struct prediction *p, struct candidate *c, double *terms)
{
    memcpy(terms, p->memory.most.terms, MEMORY_TERM_COUNT * sizeof *terms);
    /* what is only held is given back before memory runs out */
    terms[MEMORY_BASE] = fmax(0, terms[MEMORY_BASE] - p->memory.most.slack);
    c->memory_terms = terms;
    if (p->usable_bytes > p->memory.reserve_bytes)
        c->usable_bytes = p->usable_bytes - p->memory.reserve_bytes;
}

/* Steps, samples, tokens or operations per step: the objective counts one of them. */
static double work_of(const struct sweep *s, const struct prediction *p, double devices)
{
    const struct metric_meaning *m = metric_meaning(s, s->objectives[0].metric);
    const double work[] = {[WORK_NONE] = 1,
                           [WORK_STEPS] = 1,
                           [WORK_SAMPLES] = p->samples,
                           [WORK_TOKENS] = p->tokens,
                           [WORK_FLOPS] = p->flops};
    return m->per_device ? work[m->work] / devices : work[m->work];
}

static void take_prediction(struct candidate_loading *l, struct candidate *c, double *terms)
{
    const struct space *space = l->request->space;
    const char *why;
    const struct prediction *p =
        space->prediction.asked ? prediction_of_values(l->request->space, l->inputs, &why) : NULL;
    if (!p)
        return;
    c->place = place_of(l, &p->where);
    if (p->has_memory)
        take_memory(p, c, terms);
    if (p->has_time)
        c->time_terms = memcpy(terms + CALIBRATION_TERMS, p->step.terms, TIME_TERM_COUNT * sizeof *terms);
    candidate_predict(c, &l->set->places[c->place]);
    if (p->has_time && l->set->space.relation == SEARCH_RATE)
        c->work = work_of(space->sweep, p, c->devices);
}

static double devices_of(const struct candidate_loading *l)
{
    const struct datum value = formula_value(l->request->space->formulas->devices, &l->scope);
    const struct input_value devices = prediction_input(datum_sql(&value));
    return devices.kind == INPUT_NUMBER ? fmax(1, devices.number) : 1;
}

/* Of one that is a number; NAN: it is none. */
static double number_at(const struct candidate_loading *l, size_t input)
{
    return l->inputs[input].kind == INPUT_NUMBER ? l->inputs[input].number : NAN;
}

static void take_layout(const struct candidate_loading *l, struct candidate *c)
{
    const struct layout layout = layout_of(l->inputs, c->devices);
    c->usual_bytes = log(layout_bytes(&layout));
    if (l->set->space.relation == SEARCH_UNRELATED)
        return;
    double samples = layout.dp * layout.micro_batch * layout.micro_batches, tokens = samples * layout.seq;
    struct prediction batch = {.samples = samples, .tokens = tokens, .flops = tokens};
    double work =
        l->set->space.relation == SEARCH_RATE ? log(work_of(l->request->space->sweep, &batch, c->devices)) : 0;
    c->usual_merit = work - log(layout_seconds(&layout));
}

static void take_row(struct candidate_loading *l, const void *key16, size_t n)
{
    struct candidate_set *set = l->set;
    const double *values = set->values + n * l->key_count;
    struct candidate *c = &set->candidates[n];
    prediction_read_inputs(l->request->space, &l->scope, l->inputs);
    *c = (struct candidate){.values = values,
                            .micro_batch = number_at(l, AT_MICRO_BATCH),
                            .zero_stage = number_at(l, AT_ZERO_STAGE),
                            .devices = devices_of(l),
                            .bytes = NAN,
                            .usable_bytes = NAN,
                            .oom_probability = NAN,
                            .seconds = NAN,
                            .work = 1};
    memcpy(&c->identity, key16, sizeof c->identity);
    take_layout(l, c);
    take_prediction(l, c, set->terms + n * 2 * CALIBRATION_TERMS);
    const double global_batch = number_at(l, AT_GLOBAL_BATCH);
    const double *batch = l->request->equal_batch && !l->all_compete ? &global_batch : NULL;
    const struct hash128 group = hash_keys(l, values, l->of_group, batch);
    c->group = hash_index_add(&l->numbers[GROUPS], &group, NULL);
    l->wider[n] = hash_keys(l, values, NULL, batch);
    const struct hash128 configuration = hash_keys(l, values, l->of_configuration, NULL);
    c->configuration = hash_index_add(&l->numbers[CONFIGURATIONS], &configuration, NULL);
    const struct hash128 class = isnan(c->bytes) ? configuration : memory_hash(l);
    c->memory_class = hash_index_add(&l->numbers[MEMORY_CLASSES], &class, NULL);
}

/* --- all of them --- */

static enum search_relation relation_of(const struct sweep *s)
{
    if (s->objective_count == 0)
        return SEARCH_UNRELATED;
    enum metric_quantity quantity = metric_meaning(s, s->objectives[0].metric)->quantity;
    if (s->objectives[0].maximise)
        return quantity == QUANTITY_RATE ? SEARCH_RATE : SEARCH_UNRELATED;
    return quantity == QUANTITY_STEP_TIME ? SEARCH_TIME : SEARCH_UNRELATED;
}

static void make_room(struct candidate_loading *l, size_t count)
{
    struct candidate_set *set = l->set;
    set->candidates = xcalloc(count + 1, sizeof *set->candidates);
    set->job_ids = xcalloc(count + 1, sizeof *set->job_ids);
    l->wider = xcalloc(count + 1, sizeof *l->wider);
    set->values = xcalloc(count + 1, (l->key_count + 1) * sizeof *set->values);
    set->terms = xcalloc(count + 1, 2 * CALIBRATION_TERMS * sizeof *set->terms);
}

/* Reads the values of the row's keys. True: its job differs from an earlier candidate only in replicate keys, and is
 * recorded as its replicate. */
static bool is_further_replicate(struct candidate_loading *l, int64_t job_id)
{
    struct candidate_set *set = l->set;
    double *values = set->values + set->space.count * l->key_count;
    for (size_t k = 0; k < l->key_count; k++) {
        const struct input_value value = prediction_input(datum_sql(&l->scope.keys[l->key_index[k]]));
        values[k] = number_of(&value);
    }
    if (!l->request->space->sweep->replicates.count)
        return false;
    const struct hash128 shared = hash_keys(l, values, l->of_replicates, NULL);
    size_t candidate = hash_index_add(&l->numbers[REPLICATED], &shared, NULL);
    if (candidate == set->space.count)
        return false;
    *array_add(set->replicates, set->replicate_count) = (struct candidate_job){job_id, candidate, false};
    return true;
}

BY_NUMBER(compare_by_id, struct candidate_job, ->job_id)

static struct candidate_job *find_job(struct candidate_job *jobs, size_t count, int64_t job_id)
{
    const struct candidate_job key = {job_id, 0, false};
    return jobs ? bsearch(&key, jobs, count, sizeof *jobs, compare_by_id) : NULL;
}

static int read_jobs(struct candidate_loading *l, struct error *e)
{
    const struct candidate_request *r = l->request;
    struct candidate_set *set = l->set;
    OWNED_STMT *jobs = NULL;
    OWNED char *sql =
        xasprintf("SELECT id, key, rank, count(*) OVER () FROM job WHERE sweep_id = ?1%s ORDER BY priority,"
                  " rank",
                  r->only_selected ? " AND id IN (SELECT job_id FROM temp.selected)" : "");
    int rc = db_query(r->db, sql, VALUES(sql_int(r->sweep_id)), &jobs, e);
    while (rc == 0 && (rc = stmt_next(jobs, e)) > 0) {
        if (!set->candidates)
            make_room(l, (size_t)stmt_int(jobs, 3));
        space_read_keys(r->space, stmt_int(jobs, 2), l->scope.keys);
        if (!is_further_replicate(l, stmt_int(jobs, 0))) {
            set->job_ids[set->space.count] = stmt_int(jobs, 0);
            take_row(l, stmt_hash(jobs, 1), set->space.count++);
        }
        rc = evaluator_failed(r->space->evaluator, e) ? -1 : 0;
    }
    set->space.candidates = set->candidates;
    return rc < 0 ? -1 : 0;
}

/* If every job would be a group of its own (all keys in training_spec, say) and there is no group_by, widens the
 * groups. */
static void join_the_lonely(struct candidate_loading *l)
{
    struct candidate_set *set = l->set;
    size_t count = set->space.count;
    if (l->by_list || count < 2 || l->numbers[GROUPS].count < count)
        return;
    hash_index_free(&l->numbers[GROUPS]);
    for (size_t i = 0; i < count; i++)
        set->candidates[i].group = hash_index_add(&l->numbers[GROUPS], &l->wider[i], NULL);
}

static void finish_set(struct candidate_loading *l)
{
    struct candidate_set *set = l->set;
    struct search_space *s = &set->space;
    bool timed = false;
    for (size_t i = 0; i < s->count; i++)
        timed |= !isnan(s->candidates[i].seconds);
    set->by_job = xcalloc(s->count + 1, sizeof *set->by_job);
    for (size_t i = 0; i < s->count; i++)
        set->by_job[i] = (struct candidate_job){set->job_ids[i], i, false};
    array_sort(set->by_job, s->count, compare_by_id);
    array_sort(set->replicates, set->replicate_count, compare_by_id);
    join_the_lonely(l);
    s->group_count = l->numbers[GROUPS].count;
    s->configuration_count = l->numbers[CONFIGURATIONS].count;
    s->memory_class_count = l->numbers[MEMORY_CLASSES].count;
    s->places = set->places;
    set->unknown = s->relation == SEARCH_UNRELATED
                       ? "the objective does not depend on step time, so predicted times are not used"
                   : timed ? NULL
                           : "no step time is predicted for any candidate";
}

int candidates_load(const struct candidate_request *request, struct candidate_set *out, struct error *e)
{
    const struct sweep *sweep = request->space->sweep;
    struct candidate_loading l = {.request = request, .set = out};
    *out = (struct candidate_set){0};
    choose_keys(&l);
    mark_savers(&l);
    mark_shared(&l);
    out->space = (struct search_space){
        .keys = out->keys,
        .sections = out->sections,
        .key_count = l.key_count,
        .saves_memory = out->saves_memory,
        .maximise = sweep->objective_count > 0 && sweep->objectives[0].maximise,
        .relation = relation_of(sweep),
    };
    l.scope =
        (struct scope){xcalloc(request->space->names.key_count + 1, sizeof *l.scope.keys), request->space->evaluator};
    int rc = read_jobs(&l, e);
    if (rc == 0)
        finish_set(&l);
    free_all(l.scope.keys, l.key_index, l.key_input);
    for (size_t i = 0; i < NUMBERED; i++)
        hash_index_free(&l.numbers[i]);
    free_all(l.of_group, l.of_configuration, l.of_replicates, l.wider);
    if (rc < 0)
        candidates_free(out);
    return rc;
}

void candidates_free(struct candidate_set *set)
{
    free_all(set->job_ids, set->replicates, set->by_job, set->candidates, set->keys, set->sections, set->saves_memory,
             set->values, set->terms, set->places);
    *set = (struct candidate_set){0};
}

size_t candidate_set_find(const struct candidate_set *set, int64_t job_id)
{
    const struct candidate_job *found = find_job(set->by_job, set->space.count, job_id);
    return found ? found->candidate : SIZE_MAX;
}

struct candidate_job *candidate_set_replicate(const struct candidate_set *set, int64_t job_id)
{
    return find_job(set->replicates, set->replicate_count, job_id);
}

/* --- for people --- */

/* Adds the keys that differ between groups but never within one. Those of models and clusters separate jobs if there
 * is no group_by (`quoted`): people seldom want a winner for each value of a training_spec key (`others`), but may want
 * one for each model or cluster. */
static void add_separating_keys(const struct search_space *s, struct buffer *kept, struct buffer *others,
                                struct buffer *quoted)
{
    OWNED bool *differs = search_keys_within(s, CLASS_GROUP);
    for (size_t k = 0; k < s->key_count; k++) {
        const char *section = s->sections[k];
        const bool is_kept = strcmp(section, section_names[SECTION_TRAINING]) != 0;
        struct buffer *to = is_kept ? kept : others;
        if (differs[k] || strcmp(section, section_names[SECTION_PARALLEL]) == 0 ||
            !ANY(i, s->count, !same_value(s->candidates[i].values[k], s->candidates[0].values[k])))
            continue;
        buffer_printf(to, "%s%s.%s", to->length ? ", " : "", section, s->keys[k]);
        if (is_kept)
            buffer_printf(quoted, "%s\"%s.%s\"", quoted->length ? ", " : "", section, s->keys[k]);
    }
}

char *candidate_set_groups(const struct candidate_set *set)
{
    const struct search_space *s = &set->space;
    OWNED_BUFFER kept = BUFFER_INIT, others = BUFFER_INIT, quoted = BUFFER_INIT;
    size_t least = SIZE_MAX, most = 0;
    if (s->group_count < 2)
        return NULL;
    OWNED size_t *sizes = xcalloc(s->group_count, sizeof *sizes);
    for (size_t i = 0; i < s->count; i++)
        sizes[s->candidates[i].group]++;
    for (size_t g = 0; g < s->group_count; g++) {
        least = sizes[g] < least ? sizes[g] : least;
        most = sizes[g] > most ? sizes[g] : most;
    }
    add_separating_keys(s, &kept, &others, &quoted);
    OWNED char *size = least == most ? xasprintf("%zu", most) : xasprintf("%zu to %zu", least, most);
    const char *both = kept.length && others.length ? ", " : "";
    const char *by = kept.length + others.length == 0 ? "their global batch" : "";
    return xasprintf("%zu groups of %s jobs compete separately, by %s%s%s%s; with [sweep] group_by = [%s] %s",
                     s->group_count, size, by, buffer_text(&kept), both, buffer_text(&others),
                     others.length ? buffer_text(&quoted) : "",
                     kept.length && others.length ? "they are separated only by model, cluster and global batch"
                                                  : "all jobs compete with each other");
}
