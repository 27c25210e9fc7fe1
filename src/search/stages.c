/* Stage by stage ([[search.stage]]). In each stage some keys are free; all others keep the values of the group's best
 * so far or, while nothing is ok, of its first candidate that is not predicted to run out of memory. The remaining
 * candidates form a search of their own with the stage's strategy, which is first told what is known of them. The next
 * stage begins when the strategy has ended and every outcome was told. */
#include <stdlib.h>
#include <string.h>

#include "config/sweep.h"
#include "search/state.h"
#include "util/memory.h"

struct stages {
    size_t at; /* the current stage */
    /* State of that stage. NULL: it has not begun. */
    struct search *search;
    struct search_space space;
    struct candidate *candidates;
    size_t *members;       /* in the whole space */
    size_t *place_of;      /* by candidate of the whole space; NONE: not in this stage */
    struct error left_out; /* of the last stage in which the strategy had nothing to do */
};

/* --- which candidates --- */

static bool is_named(const struct search_space *space, size_t key, const char *word)
{
    const char *section = space->sections ? space->sections[key] : NULL, *dot = strchr(word, '.');
    if (section && dot && strncmp(section, word, (size_t)(dot - word)) == 0 && !section[dot - word])
        return strcmp(dot + 1, space->keys[key]) == 0;
    return strcmp(word, space->keys[key]) == 0;
}

static bool is_free(const struct search_space *space, size_t key, const struct search_stage *stage)
{
    return ANY(i, stage->free.count, is_named(space, key, stage->free.items[i].text));
}

/* By group, the candidate whose values stay: the best, or the first that may fit, or the first; NONE: not searched.
 */
static size_t *incumbents(const struct search *s)
{
    size_t *of = xcalloc(s->space->group_count + 1, sizeof *of);
    double objective;
    for (size_t g = 0; g < s->space->group_count; g++)
        if (!search_best(s, g, &of[g], &objective))
            of[g] = NONE;
    for (int any = 0; any <= 1; any++)
        for (size_t i = 0; i < s->space->count; i++) {
            const struct candidate *c = &s->space->candidates[i];
            bool may_fit = any || !(c->oom_probability >= SEARCH_HOPELESS);
            if (of[c->group] == NONE && s->trials[i].eligible && may_fit)
                of[c->group] = i;
        }
    return of;
}

static size_t choose_members(const struct search *s, struct stages *own)
{
    const struct search_space *space = s->space;
    const struct search_stage *stage = &s->options.stages[own->at];
    OWNED bool *free_keys = xcalloc(space->key_count + 1, sizeof *free_keys);
    size_t *of = incumbents(s), count = 0;
    for (size_t k = 0; k < space->key_count; k++)
        free_keys[k] = is_free(space, k, stage);
    for (size_t i = 0; i < space->count; i++) {
        size_t k = 0, incumbent = of[space->candidates[i].group];
        own->place_of[i] = NONE;
        if (!s->trials[i].eligible)
            continue;
        while (k < space->key_count &&
               (free_keys[k] || same_value(space->candidates[i].values[k], space->candidates[incumbent].values[k])))
            k++;
        if (k < space->key_count)
            continue;
        own->place_of[i] = count;
        own->members[count++] = i;
    }
    free(of);
    return count;
}

/* --- one stage --- */

static struct search_options options_of(const struct search *s, const struct search_stage *stage)
{
    struct search_options o = s->given;
    o.strategy = stage->strategy;
    o.numbers[SEARCH_MAX_TRIALS] = (double)stage->max_trials;
    o.stages = NULL;
    o.stage_count = 0;
    return o;
}

static void close_stage(struct stages *own)
{
    search_free(own->search);
    free(own->candidates);
    own->search = NULL;
    own->candidates = NULL;
}

static int open_stage(const struct search *s, struct stages *own)
{
    const struct search_options o = options_of(s, &s->options.stages[own->at]);
    size_t count = choose_members(s, own);
    subspace_make(s->space, own->members, count, &own->space, &own->candidates);
    if (search_create(&own->space, &o, &own->search, &own->left_out) < 0) {
        close_stage(own);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const struct trial *t = &s->trials[own->members[i]];
        const struct search_outcome known = search_known(t);
        if (t->state != TRIAL_NONE && t->state != TRIAL_RUNNING)
            search_tell(own->search, i, &known);
    }
    return 0;
}

/* Tells the stage's search what a person had run and what was given up. */
static void follow(const struct search *s, struct stages *own)
{
    for (size_t i = 0; i < own->space.count; i++) {
        const struct trial *t = &s->trials[own->members[i]];
        const bool runs = own->search->trials[i].state == TRIAL_RUNNING;
        if (t->state == TRIAL_RUNNING && !runs)
            search_begin(own->search, i, t->resource);
        else if (t->state == TRIAL_NONE && runs)
            search_forget(own->search, i);
    }
}

/* --- the strategy --- */

static enum search_answer stages_ask(struct search *s, void *own_state, struct decision *out)
{
    struct stages *own = own_state;
    for (; own->at < s->options.stage_count; own->at++) {
        if (!own->search && open_stage(s, own) < 0)
            continue;
        follow(s, own);
        struct decision said;
        enum search_answer answer = search_ask(own->search, &said);
        if (answer == SEARCH_FINISHED && s->counts.running > 0)
            answer = SEARCH_WAIT;
        if (answer != SEARCH_FINISHED) {
            *out = said;
            out->candidate = answer == SEARCH_RUN ? own->members[said.candidate] : 0;
            out->reason[0] = '\0';
            explain(out, "stage %zu of %zu, %.*s: %s", own->at + 1, s->options.stage_count, SEARCH_REASON_BYTES / 3,
                    s->options.stages[own->at].name, said.reason);
            return answer;
        }
        close_stage(own);
    }
    explain(out, "all %zu stages are done%s%.*s", s->options.stage_count,
            own->left_out.text[0] ? "; one was left out: " : "", SEARCH_REASON_BYTES / 2, own->left_out.text);
    return SEARCH_FINISHED;
}

static void stages_tell(struct search *s, void *own_state, size_t candidate, const struct search_outcome *outcome)
{
    struct stages *own = own_state;
    if (!own->search)
        return;
    follow(s, own);
    if (own->place_of[candidate] != NONE)
        search_tell(own->search, own->place_of[candidate], outcome);
}

static void stages_free(void *own_state)
{
    close_stage(own_state);
}

/* --- what cannot be --- */

static bool is_free_somewhere(const struct search *s, size_t key)
{
    return ANY(i, s->options.stage_count, is_free(s->space, key, &s->options.stages[i]));
}

/* A key that differs within a group but is never free would never vary. */
static int check_keys(const struct search *s, struct error *e)
{
    OWNED bool *differs = search_keys_within(s->space, CLASS_GROUP);
    const size_t fixed = FIRST(k, s->space->key_count, differs[k] && !is_free_somewhere(s, k));
    if (fixed == s->space->key_count)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "[[search.stage]]: `%s` differs between jobs but is not free in any stage; add it to `free` of a "
                     "stage",
                     s->space->keys[fixed]);
}

/* Checks that the stage's strategy can search such a space. */
static int check_stage(const struct search *s, const struct search_stage *stage, struct error *e)
{
    const struct search_options o = options_of(s, stage);
    struct search *probe = NULL;
    int rc = search_create(s->space, &o, &probe, e);
    search_free(probe);
    return rc < 0 ? error_context(e, "[[search.stage]] %s", stage->name) : 0;
}

static int stages_check(const struct search *s, struct error *e)
{
    if (s->options.stage_count == 0)
        return error_set(e, ERROR_USAGE, "strategy stage-by-stage: the sweep file has no [[search.stage]]");
    int rc = check_keys(s, e);
    for (size_t i = 0; rc == 0 && i < s->options.stage_count; i++)
        rc = check_stage(s, &s->options.stages[i], e);
    return rc;
}

static void stages_create(struct search *s, void *own_state)
{
    struct stages *own = own_state;
    own->members = arena_keep(&s->arena, xcalloc(s->space->count + 1, sizeof *own->members));
    own->place_of = arena_keep(&s->arena, xcalloc(s->space->count + 1, sizeof *own->place_of));
}

const struct algorithm algorithm_stages = {.own_size = sizeof(struct stages),
                                           .check = stages_check,
                                           .create = stages_create,
                                           .free = stages_free,
                                           .ask = stages_ask,
                                           .tell = stages_tell};
