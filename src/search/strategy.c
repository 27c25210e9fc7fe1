#include "search/strategy.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/state.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

#define SECONDS_PER_HOUR 3600.0
#define KNOWN_MOST 64 /* plus the number of candidates: how often in a row a strategy may ask for known outcomes */

#define ALGORITHM(id, name, algorithm, traits) &algorithm_##algorithm,
static const struct algorithm *const algorithms[] = {SEARCH_STRATEGIES(ALGORITHM)};
#undef ALGORITHM

static bool has(const struct search *s, enum search_trait trait)
{
    return search_strategy_has(s->options.strategy, trait);
}

/* --- what strategies ask --- */

bool search_is_open(const struct search *s, size_t candidate)
{
    return s->trials[candidate].eligible && s->trials[candidate].state == TRIAL_NONE;
}

bool search_any_open(const struct search *s)
{
    return ANY(i, s->space->count, search_is_open(s, i));
}

bool trial_runs(const struct trial *t)
{
    return t->state == TRIAL_OK || t->state == TRIAL_STOPPED;
}

bool search_is_too_large(const struct search *s, size_t candidate)
{
    const struct candidate *c = &s->space->candidates[candidate];
    return c->micro_batch >= s->smallest_oom[c->memory_class];
}

bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool *search_keys_within(const struct search_space *space, enum search_class class)
{
    bool *differs = xcalloc(space->key_count + 1, sizeof *differs);
    /* By its number: index + 1 of its first candidate; 0: none so far. */
    OWNED size_t *first = xcalloc(space->group_count + space->configuration_count + 1, sizeof *first);
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        size_t *seen = &first[class == CLASS_GROUP ? c->group : c->configuration];
        *seen = *seen ? *seen : i + 1;
        for (size_t k = 0; k < space->key_count; k++)
            differs[k] |= !same_value(c->values[k], space->candidates[*seen - 1].values[k]);
    }
    return differs;
}

bool search_better(const struct search_space *space, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    return space->maximise ? a > b : a < b;
}

double search_predicted_log(const struct search_space *space, const struct candidate *c)
{
    if (space->relation == SEARCH_UNRELATED || !(c->seconds > 0))
        return NAN;
    return (space->relation == SEARCH_RATE ? log(c->work) : 0) - log(c->seconds);
}

bool search_any_predicted(const struct search_space *space)
{
    return ANY(i, space->count, !isnan(search_predicted_log(space, &space->candidates[i])));
}

uint64_t search_draw(const struct search *s, uint64_t lineage, uint64_t index, uint64_t bound)
{
    struct rng r = rng_stream(rng_at((uint64_t)search_number(s, SEARCH_RANDOM_SEED), lineage), index);
    return rng_below(&r, bound);
}

double search_number(const struct search *s, enum search_number which)
{
    return s->options.numbers[which];
}

const struct search_options *search_options(const struct search *s)
{
    return &s->options;
}

struct search_counts search_counts(const struct search *s)
{
    return s->counts;
}

int64_t search_trials_to_come(const struct search *s)
{
    double most = search_number(s, SEARCH_MAX_TRIALS);
    if (!(most > 0) && !has(s, TRIES_ALL))
        return -1;
    return (int64_t)fmax(0, (most > 0 ? most : (double)s->space->count) - (double)s->counts.trials);
}

/* --- orders --- */

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    double own = isnan(x->merit) ? -INFINITY : x->merit, other = isnan(y->merit) ? -INFINITY : y->merit;
    if (own != other)
        return own > other ? -1 : 1;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

size_t *ranked(struct rank *ranks, size_t count)
{
    size_t *items = xcalloc(count + 1, sizeof *items);
    array_sort(ranks, count, compare_ranks);
    for (size_t i = 0; i < count; i++)
        items[i] = ranks[i].item;
    free(ranks);
    return items;
}

size_t *search_order(const struct search *s, enum search_order order)
{
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    struct rank *ranks = xcalloc(s->space->count + 1, sizeof *ranks);
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = &s->space->candidates[i];
        ranks[i] = (struct rank){i, order == SEARCH_ORDER_PREDICTED ? search_predicted_log(s->space, c) : 0,
                                 order == SEARCH_ORDER_SHUFFLED ? rng_at(seed, c->identity) : 0};
    }
    return ranked(ranks, s->space->count);
}

/* --- families --- */

/* -1 (ERROR_USAGE) if no candidate has a micro-batch: the strategy has nothing to bisect. */
static int families_create(struct search *s, struct error *e)
{
    const struct search_space *space = s->space;
    struct families *out = &s->families;
    struct rank *ranks = xcalloc(space->count + 1, sizeof *ranks);
    size_t count = 0;
    bool varies = false;
    for (size_t i = 0; i < space->count; i++) {
        double micro_batch = space->candidates[i].micro_batch;
        varies |= s->trials[i].eligible && !isnan(micro_batch);
        if (s->trials[i].eligible)
            ranks[count++] = (struct rank){i, isnan(micro_batch) ? 0 : -micro_batch, 0};
    }
    if (!varies) {
        free(ranks);
        return error_set(e, ERROR_USAGE,
                         "strategy %s bisects the micro-batch, but no spec has one (micro_batch, mbs or "
                         "train_micro_batch_size_per_gpu)",
                         s->options.strategy);
    }
    /* By micro-batch first, then by family. */
    OWNED size_t *by_size = ranked(ranks, count);
    ranks = xcalloc(count + 1, sizeof *ranks);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct rank){by_size[i], -(double)space->candidates[by_size[i]].configuration, i};
    out->members = arena_keep(&s->arena, ranked(ranks, count));
    out->first = arena_keep(&s->arena, xcalloc(count + 1, sizeof *out->first));
    for (size_t i = 0; i < count; i++)
        if (i == 0 ||
            space->candidates[out->members[i]].configuration != space->candidates[out->members[i - 1]].configuration)
            out->first[out->count++] = i;
    out->first[out->count] = count;
    return 0;
}

void families_keep_first(struct search *s)
{
    const struct candidate *all = s->space->candidates;
    struct families *f = &s->families;
    size_t kept = 0;
    for (size_t family = 0; family < f->count; family++) {
        size_t first = f->first[family], end = f->first[family + 1];
        f->first[family] = kept;
        for (size_t i = first; i < end; i++)
            if (kept == f->first[family] || all[f->members[kept - 1]].micro_batch != all[f->members[i]].micro_batch)
                f->members[kept++] = f->members[i];
    }
    f->first[f->count] = kept;
}

size_t families_draw(const struct search *s, size_t stage, uint64_t lineage, uint64_t index)
{
    size_t count = 0;
    for (size_t i = 0; i < s->families.count; i++)
        count += family_stage(s, i) == stage;
    size_t chosen = count ? search_draw(s, lineage, index, count) : 0;
    for (size_t i = 0; i < s->families.count; i++)
        if (family_stage(s, i) == stage && chosen-- == 0)
            return i;
    return NONE;
}

size_t family_stage(const struct search *s, size_t family)
{
    double stage = family_candidate(s, family, 0)->zero_stage;
    return stage >= 0 && stage < FAMILY_STAGES - 1 ? (size_t)stage : FAMILY_STAGES - 1;
}

size_t family_best(const struct search *s, size_t family, size_t count)
{
    size_t best = NONE;
    for (size_t i = 0; i < count; i++)
        if (trial_runs(family_trial(s, family, i)) &&
            (best == NONE || search_better(s->space, family_trial(s, family, i)->outcome.objective,
                                           family_trial(s, family, best)->outcome.objective)))
            best = i;
    return best;
}

size_t family_at_most(const struct search *s, size_t family, double micro_batch)
{
    size_t at = family_size(s, family);
    while (at > 0 && !(family_micro_batch(s, family, at - 1) <= micro_batch))
        at--;
    return at ? at - 1 : NONE;
}

size_t family_estimate(const struct search *s, size_t family, double factor)
{
    size_t at = family_size(s, family) - 1;
    while (at > 0 && family_candidate(s, family, at)->oom_probability > 0.5)
        at--;
    size_t scaled = family_at_most(s, family, factor * family_micro_batch(s, family, at));
    return scaled == NONE ? 0 : scaled;
}

/* --- a part of a space --- */

void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates)
{
    enum { GROUPS, CONFIGURATIONS, MEMORY_CLASSES, NUMBERED };
    struct hash_index numbers[NUMBERED] = {HASH_INDEX_INIT, HASH_INDEX_INIT, HASH_INDEX_INIT};
    struct candidate *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        struct candidate *c = &all[i];
        *c = whole->candidates[members[i]];
        size_t *const numbered[NUMBERED] = {&c->group, &c->configuration, &c->memory_class};
        for (size_t n = 0; n < NUMBERED; n++) {
            const struct hash128 hash = hash_bytes(numbered[n], sizeof *numbered[n]);
            *numbered[n] = hash_index_add(&numbers[n], &hash, NULL);
        }
    }
    *out = *whole;
    out->candidates = *candidates = all;
    out->count = count;
    out->group_count = numbers[GROUPS].count;
    out->configuration_count = numbers[CONFIGURATIONS].count;
    out->memory_class_count = numbers[MEMORY_CLASSES].count;
    for (size_t n = 0; n < NUMBERED; n++)
        hash_index_free(&numbers[n]);
}

/* --- creating --- */

static size_t mark_eligible(struct search *s)
{
    size_t eligible = 0;
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = &s->space->candidates[i];
        s->trials[i].eligible = !(c->zero_stage >= 0 && c->zero_stage < SEARCH_ZERO_STAGES) ||
                                s->options.zero_stages[(size_t)c->zero_stage];
        eligible += s->trials[i].eligible;
        if (s->trials[i].eligible && c->devices > s->devices_most)
            s->devices_most = c->devices;
    }
    return eligible;
}

static int check_space(struct search *s, struct error *e)
{
    if (s->space->count == 0)
        return error_set(e, ERROR_USAGE, "there is nothing to search: no candidate is left");
    if (mark_eligible(s) == 0)
        return error_set(e, ERROR_USAGE,
                         "there is nothing to search: no candidate has one of the requested ZeRO stages (zero_stages)");
    double slots = search_number(s, SEARCH_MAX_SLOTS);
    if (slots > 0 && s->devices_most > slots)
        return error_set(e, ERROR_USAGE, "max_slots: a trial needs %g devices, but at most %g may be in use",
                         s->devices_most, slots);
    return 0;
}

int search_create(const struct search_space *space, const struct search_options *options, struct search **out,
                  struct error *e)
{
    struct search *s = xcalloc(1, sizeof *s);
    s->space = space;
    s->given = s->options = *options;
    s->trials = arena_keep(&s->arena, xcalloc(space->count + 1, sizeof *s->trials));
    s->best = arena_keep(&s->arena, xcalloc(space->group_count + 1, sizeof *s->best));
    s->largest_fit = arena_keep(&s->arena, xcalloc(space->memory_class_count + 1, sizeof *s->largest_fit));
    s->smallest_oom = arena_keep(&s->arena, xcalloc(space->memory_class_count + 1, sizeof *s->smallest_oom));
    for (size_t i = 0; i < space->memory_class_count; i++)
        s->largest_fit[i] = s->smallest_oom[i] = NAN;
    search_options_complete(&s->options);
    s->strategy = search_strategy_named(s->options.strategy);
    assert(s->strategy < STRATEGY_COUNT);
    s->algorithm = algorithms[s->strategy];
    if (check_space(s, e) < 0 || (s->algorithm->is_of_families && families_create(s, e) < 0) ||
        (s->algorithm->check && s->algorithm->check(s, e) < 0)) {
        search_free(s);
        return -1;
    }
    s->own = arena_keep(&s->arena, xcalloc(1, s->algorithm->own_size + 1));
    if (s->algorithm->create)
        s->algorithm->create(s, s->own);
    *out = s;
    return 0;
}

void search_free(struct search *s)
{
    if (!s)
        return;
    if (s->own && s->algorithm->free)
        s->algorithm->free(s->own);
    arena_free(&s->arena);
    free_all(s->missing, s);
}

/* --- asking --- */

void explain(struct decision *d, const char *format, ...)
{
    size_t length = strlen(d->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(d->reason + length, sizeof d->reason - length, format, arguments);
    va_end(arguments);
}

bool search_knows(struct search *s, size_t candidate, const char *why)
{
    const struct trial *t = &s->trials[candidate];
    if (t->state != TRIAL_NONE && t->state != TRIAL_RUNNING)
        return true;
    if (!ANY(i, s->missing_count, s->missing[i].candidate == candidate))
        *array_add(s->missing, s->missing_count) = (struct missing_result){candidate, why};
    return false;
}

/* NULL: none. */
static const struct missing_result *next_missing(struct search *s)
{
    while (s->next_missing < s->missing_count && s->trials[s->missing[s->next_missing].candidate].state != TRIAL_NONE)
        s->next_missing++;
    return s->next_missing < s->missing_count ? &s->missing[s->next_missing] : NULL;
}

/* Asks for what is missing. When nothing is and nothing runs, the procedure is gone through again. */
static enum search_answer ask_procedure(struct search *s, struct decision *out)
{
    const struct missing_result *missing = next_missing(s);
    if (!missing && s->counts.running > 0) {
        explain(out, "the next trials depend on what runs");
        return SEARCH_WAIT;
    }
    if (!missing) {
        s->missing_count = s->next_missing = 0;
        s->algorithm->go_through(s, s->own);
        missing = next_missing(s);
    }
    if (!missing) {
        explain(out, "all stages are done");
        return SEARCH_FINISHED;
    }
    const struct candidate *c = &s->space->candidates[missing->candidate];
    out->candidate = missing->candidate;
    out->lineage = c->identity;
    explain(out, "ZeRO stage %g, micro-batch %g: %s", isnan(c->zero_stage) ? 0 : c->zero_stage, c->micro_batch,
            missing->why);
    return SEARCH_RUN;
}

/* Returns whether the search ends regardless of its strategy; sets the reason. */
static bool is_over(const struct search *s, struct decision *out)
{
    const struct search_counts *c = &s->counts;
    double trials = search_number(s, SEARCH_MAX_TRIALS), patience = search_number(s, SEARCH_EARLY_STOPPING);
    double budget = search_number(s, SEARCH_BUDGET);
    if (trials > 0 && (double)c->trials >= trials)
        explain(out, "max_trials: %zu trial%s made", c->trials, c->trials == 1 ? " was" : "s were");
    else if (patience > 0 && !has(s, OWN_PATIENCE) && (double)c->since_best >= patience)
        explain(out, "early_stopping: %zu trials without a better one", c->since_best);
    else if (budget > 0 && c->device_hours >= budget)
        explain(out, "budget: %.6g of %.6g device-hours have been spent", c->device_hours, budget);
    else
        return false;
    return true;
}

static bool is_full(const struct search *s, struct decision *out)
{
    double most = search_number(s, SEARCH_MAX_CONCURRENT_TRIALS), slots = search_number(s, SEARCH_MAX_SLOTS);
    if ((double)s->counts.running >= most)
        explain(out, "max_concurrent_trials: %zu are running", s->counts.running);
    else if (slots > 0 && s->devices_running + s->devices_most > slots)
        explain(out, "max_slots: %g of %g devices are in use", s->devices_running, slots);
    else
        return false;
    return true;
}

struct search_outcome search_known(const struct trial *t)
{
    struct search_outcome known = t->outcome;
    known.device_seconds = NAN;
    known.pruned = known.infeasible = false;
    return known;
}

/* Returns whether the outcome of that request is known: a run at least as long, or a failure. */
static bool is_known(const struct trial *t, double resource)
{
    return t->state == TRIAL_OK || t->state == TRIAL_FAILED ||
           (t->state == TRIAL_STOPPED && resource > 0 && t->outcome.steps >= resource);
}

void search_begin(struct search *s, size_t candidate, double resource)
{
    struct trial *t = &s->trials[candidate];
    if (t->state == TRIAL_RUNNING)
        return;
    t->state = TRIAL_RUNNING;
    t->resource = resource;
    s->counts.trials++;
    s->counts.running++;
    s->devices_running += s->space->candidates[candidate].devices;
}

enum search_answer search_ask(struct search *s, struct decision *out)
{
    *out = (struct decision){0};
    if (is_over(s, out))
        return s->counts.running > 0 ? SEARCH_WAIT : SEARCH_FINISHED;
    if (is_full(s, out))
        return SEARCH_WAIT;
    for (size_t proposals = 0;; proposals++) {
        *out = (struct decision){0};
        if (proposals > s->space->count + KNOWN_MOST) {
            explain(out, "it proposes only jobs whose results are known");
            return s->counts.running > 0 ? SEARCH_WAIT : SEARCH_FINISHED;
        }
        enum search_answer answer = s->algorithm->ask ? s->algorithm->ask(s, s->own, out) : ask_procedure(s, out);
        if (answer == SEARCH_FINISHED && s->counts.running > 0)
            answer = SEARCH_WAIT;
        if (answer != SEARCH_RUN)
            return answer;
        const struct trial *t = &s->trials[out->candidate];
        if (!is_known(t, out->resource))
            break;
        const struct search_outcome known = search_known(t);
        if (s->algorithm->tell)
            s->algorithm->tell(s, s->own, out->candidate, &known);
    }
    search_begin(s, out->candidate, out->resource);
    return SEARCH_RUN;
}

/* --- telling --- */

static void end_trial(struct search *s, size_t candidate)
{
    s->counts.running--;
    s->devices_running -= s->space->candidates[candidate].devices;
}

static void note_best(struct search *s, size_t candidate, double objective)
{
    struct group_best *b = &s->best[s->space->candidates[candidate].group];
    bool better = !b->any || search_better(s->space, objective, b->objective);
    /* The first of equals in declared order, whichever arrived first. */
    bool same = b->any && objective == b->objective && candidate < b->candidate;
    if (better)
        s->counts.since_best = 0;
    if (better || same)
        *b = (struct group_best){true, candidate, objective};
}

static const enum trial_state states[] =
    {[OUTCOME_OK] = TRIAL_OK, [OUTCOME_STOPPED] = TRIAL_STOPPED, [OUTCOME_FAILED] = TRIAL_FAILED};

static void note_memory(struct search *s, size_t candidate)
{
    const struct candidate *c = &s->space->candidates[candidate];
    const struct trial *t = &s->trials[candidate];
    double *fit = &s->largest_fit[c->memory_class], *oom = &s->smallest_oom[c->memory_class];
    if (t->outcome.out_of_memory && !isnan(c->micro_batch))
        *oom = fmin(*oom, c->micro_batch);
    if (trial_runs(t) && !isnan(c->micro_batch))
        *fit = fmax(*fit, c->micro_batch);
}

/* Outcomes known before cost this search nothing, and do not show that it has stopped improving. */
static void count_trial(struct search_counts *c, enum outcome_kind kind, const struct search_outcome *outcome)
{
    c->ok += kind == OUTCOME_OK;
    c->stopped += kind == OUTCOME_STOPPED;
    c->failed += kind == OUTCOME_FAILED && !outcome->pruned && !outcome->infeasible;
    c->infeasible += outcome->infeasible;
    c->pruned += outcome->pruned;
    c->since_best += !outcome->pruned;
    if (outcome->device_seconds > 0)
        c->device_hours += outcome->device_seconds / SECONDS_PER_HOUR;
}

void search_tell(struct search *s, size_t candidate, const struct search_outcome *outcome)
{
    assert(candidate < s->space->count);
    struct trial *t = &s->trials[candidate];
    bool known = t->state != TRIAL_RUNNING && !outcome->pruned;
    if (t->state == TRIAL_RUNNING)
        end_trial(s, candidate);
    enum outcome_kind kind = outcome->kind;
    if (kind != OUTCOME_FAILED && isnan(outcome->objective))
        kind = OUTCOME_FAILED; /* without a finite objective it cannot win */
    t->state = states[kind];
    t->outcome = *outcome;
    t->outcome.kind = kind;
    t->outcome.out_of_memory = kind == OUTCOME_FAILED && outcome->out_of_memory;
    t->outcome.objective = kind == OUTCOME_FAILED ? NAN : outcome->objective;
    t->told++;
    note_memory(s, candidate);
    s->counts.measured += kind != OUTCOME_FAILED;
    if (known)
        s->counts.known++;
    else
        count_trial(&s->counts, kind, outcome);
    if (kind == OUTCOME_OK)
        note_best(s, candidate, outcome->objective);
    if (s->algorithm->tell)
        s->algorithm->tell(s, s->own, candidate, &t->outcome);
}

void search_forget(struct search *s, size_t candidate)
{
    struct trial *t = &s->trials[candidate];
    if (t->state != TRIAL_RUNNING)
        return;
    end_trial(s, candidate);
    s->counts.trials--;
    t->state = TRIAL_NONE;
}

bool search_best(const struct search *s, size_t group, size_t *candidate, double *objective)
{
    const struct group_best *best = &s->best[group];
    if (!best->any)
        return false;
    *candidate = best->candidate;
    *objective = best->objective;
    return true;
}

/* --- every candidate once, in one order: listed, or drawn without replacement --- */

struct walk {
    size_t *order;
    size_t next;
};

static void listed_create(struct search *s, void *own)
{
    struct walk *w = own;
    w->order = arena_keep(&s->arena, search_order(s, has(s, IN_ORDER) ? (enum search_order)s->options.order
                                                                      : SEARCH_ORDER_SHUFFLED));
}

static enum search_answer listed_ask(struct search *s, void *own, struct decision *out)
{
    struct walk *w = own;
    size_t seen = 0, at = 0, count = s->space->count;
    /* Forgotten trials lie behind: one more round finds them. */
    while (seen < count && !search_is_open(s, w->order[at = (w->next + seen) % count]))
        seen++;
    if (seen == count) {
        explain(out, "all candidates have been tried");
        return SEARCH_FINISHED;
    }
    w->next = at + 1;
    out->candidate = w->order[at];
    out->index = at;
    if (has(s, IN_ORDER)) {
        explain(out, "number %zu of %zu in %s order", at + 1, count, search_order_names[s->options.order]);
    } else {
        out->lineage = s->space->candidates[out->candidate].identity;
        explain(out, "draw %zu of %zu with seed %.0f", at + 1, count, search_number(s, SEARCH_RANDOM_SEED));
    }
    return SEARCH_RUN;
}

const struct algorithm algorithm_listed = {.own_size = sizeof(struct walk), .create = listed_create, .ask = listed_ask};
