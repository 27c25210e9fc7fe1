#include "deepspeed/autotuning.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/search_options.h"
#include "deepspeed/ds_check.h"
#include "toml/known.h"
#include "util/memory.h"
#include "util/suggest.h"

/* DeepSpeed's default, 3 to 5, leaves two samples to compare: profiling slows down the first. */
enum { STEPS_AFTER_START = 5 };

struct knob_source {
    const char *file;
    const struct json *member;
    struct problems *problems;
};

struct knob {
    const char *name;
    void (*set)(const struct knob_source *p, const struct knob *k, struct autotuning *a); /* NULL: it has no effect */
    size_t offset;
    long long least;
};

static struct position position_of(const struct knob_source *p, const struct json *j)
{
    return (struct position){p->file, j->line, j->column};
}

static void wrong(const struct knob_source *p, const char *wanted)
{
    problems_add(p->problems, position_of(p, p->member), "autotuning.%s must be %s", p->member->name, wanted);
}

static void *member_of(struct autotuning *a, const struct knob *k)
{
    return (char *)a + k->offset;
}

static bool is_number_from(const struct json *j, long long least)
{
    long long n;
    return json_text_integer(j, &n) && n >= least && n <= INT_MAX;
}

static bool has_twice(const struct json *list)
{
    long long a, b;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < i; k++)
            if (json_text_integer(&list->children[i], &a) && json_text_integer(&list->children[k], &b) && a == b)
                return true;
    return false;
}

static void set_numbers(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    const struct json *j = p->member;
    bool good = j->kind == JSON_LIST ? j->count > 0 && !has_twice(j) : is_number_from(j, k->least);
    for (size_t i = 0; j->kind == JSON_LIST && i < j->count; i++)
        good &= is_number_from(&j->children[i], k->least);
    *(const struct json **)member_of(a, k) = j;
    if (!good)
        wrong(p, "a positive integer, or a list of different positive integers");
}

static bool is_truth(const struct json *j)
{
    return j->kind == JSON_SCALAR && (strcmp(j->text, "true") == 0 || strcmp(j->text, "false") == 0);
}

static void no_key(const struct knob_source *p, const char *of, struct suggestion meant, const struct json *j)
{
    problems_add(p->problems, position_of(p, j), "%s has no key \"%s\"%s", of, j->name, suggest_hint(&meant));
}

static void check_fact(const struct knob_source *p, const struct json *fact)
{
    const struct toml_node *facts = known("autotuning", "facts");
    long long n;
    if (!toml_child(facts, fact->name))
        no_key(p, "autotuning.model_info", SUGGEST(fact->name, i, facts->child_count, facts->children[i].key), fact);
    else if (strcmp(fact->name, "profile") == 0 && !json_text_is_null(fact) && !is_truth(fact))
        problems_add(p->problems, position_of(p, fact), "autotuning.model_info.profile must be true or false");
    else if (strcmp(fact->name, "profile") != 0 && strcmp(fact->name, "rank") != 0 && !json_text_is_null(fact) &&
             (!json_text_integer(fact, &n) || n < 1))
        problems_add(p->problems, position_of(p, fact), "autotuning.model_info.%s must be a positive integer",
                     fact->name);
}

static void set_metric(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    (void)k;
    OWNED char *text = json_text_string(p->member);
    const char *metric = text ? known_text(known("autotuning", "metrics"), text) : NULL;
    if (!metric) {
        wrong(p, "\"throughput\", \"latency\", \"FLOPS\", \"FLOPS_per_gpu\", \"forward\", \"fwd\", \"backward\", "
                 "\"bwd\" or \"step\"");
        return;
    }
    a->metric = strchr(metric, ':') + 1;
    a->maximise = strncmp(metric, "max", 3) == 0;
}

static void set_tuner(const struct knob_source *p, const struct knob *knob, struct autotuning *a)
{
    (void)knob;
    static const char *const tuners[] = {"gridsearch", "random", "model_based"};
    OWNED char *text = json_text_string(p->member);
    const size_t i = text ? FIRST(k, LENGTH(tuners), strcmp(tuners[k], text) == 0) : LENGTH(tuners);
    if (i == LENGTH(tuners))
        wrong(p, "\"gridsearch\", \"random\" or \"model_based\"");
    else
        a->tuner = (enum tuner)i;
}

static void set_number(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    if (!is_number_from(p->member, k->least))
        wrong(p, k->least ? "a whole number above 0" : "a whole number");
    else
        json_text_integer(p->member, member_of(a, k));
}

static void set_text(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    char *text = json_text_string(p->member);
    if (!text || !*text || strchr(text, '\\')) {
        wrong(p, "the name of a directory");
        free(text);
        return;
    }
    text_replace(member_of(a, k), text);
}

static void set_bool(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    if (!is_truth(p->member))
        wrong(p, "true or false");
    else
        *(bool *)member_of(a, k) = p->member->text[0] == 't';
}

static void set_object(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    if (p->member->kind != JSON_OBJECT)
        wrong(p, "a table");
    else
        *(const struct json **)member_of(a, k) = p->member;
}

static void set_model(const struct knob_source *p, const struct knob *k, struct autotuning *a)
{
    set_object(p, k, a);
    for (size_t i = 0; p->member->kind == JSON_OBJECT && i < p->member->count; i++)
        check_fact(p, &p->member->children[i]);
}

#define AT(member) offsetof(struct autotuning, member)

/* NULL: accepted without effect. meshsweep decides where model information and metrics are written, and
 * identifies results by their content, so that none need be thrown away (the files of the tuner's tree are rewritten
 * each time). */
static const struct knob knobs[] = {
    {"enabled", NULL, 0, 0},
    {"fast", set_bool, AT(fast), 0},
    {"start_profile_step", set_number, AT(start_step), 0},
    {"start_step", set_number, AT(start_step), 0},
    {"end_profile_step", set_number, AT(end_step), 0},
    {"end_step", set_number, AT(end_step), 0},
    {"num_nodes", set_numbers, AT(num_nodes), 1},
    {"num_gpus", set_numbers, AT(num_gpus), 1},
    {"metric", set_metric, 0, 0},
    {"metric_path", NULL, 0, 0},
    {"arg_mappings", set_object, AT(arg_mappings), 0},
    {"tuner_type", set_tuner, 0, 0},
    {"tuner_early_stopping", set_number, AT(early_stopping), 1},
    {"tuner_num_trials", set_number, AT(num_trials), 1},
    {"max_train_batch_size", set_number, AT(max_train_batch_size), 1},
    {"min_train_batch_size", set_number, AT(min_train_batch_size), 1},
    {"max_train_micro_batch_size_per_gpu", set_number, AT(max_micro_batch), 1},
    {"min_train_micro_batch_size_per_gpu", set_number, AT(min_micro_batch), 1},
    {"num_tuning_micro_batch_sizes", set_number, AT(micro_batch_sizes), 1},
    {"mp_size", set_number, AT(mp_size), 1},
    {"model_info", set_model, AT(model_info), 0},
    {"model_info_path", NULL, 0, 0},
    {"exps_dir", set_text, AT(exps_dir), 0},
    {"results_dir", set_text, AT(results_dir), 0},
    {"overwrite", NULL, 0, 0},
};

static void read_member(const struct knob_source *p, struct autotuning *a)
{
    const struct json *j = p->member;
    const struct knob *k = FIND(i, LENGTH(knobs), strcmp(knobs[i].name, j->name) == 0, &knobs[i]);
    /* DeepSpeed takes null as not given. */
    if (k && !json_text_is_null(j) && k->set)
        k->set(p, k, a);
    else if (!k && ds_is_section_key(j->name))
        problems_add(p->problems, position_of(p, j),
                     "autotuning has no key \"%s\"; it belongs at the top of the ds_config, beside \"autotuning\"",
                     j->name);
    else if (!k)
        no_key(p, "autotuning", SUGGEST(j->name, i, LENGTH(knobs), knobs[i].name), j);
}

void autotuning_read(const char *file, const struct json *section, struct autotuning *out, struct problems *problems)
{
    const size_t before = problems->found;
    struct autotuning a = {.fast = true,
                           .start_step = 3,
                           .end_step = -1,
                           .metric = "throughput",
                           .maximise = true,
                           .min_micro_batch = 1,
                           .max_micro_batch = 1024,
                           .mp_size = 1,
                           .exps_dir = xstrdup("autotuning_exps"),
                           .results_dir = xstrdup("autotuning_results")};
    const struct knob_source place = {file, section, problems};
    if (section && section->kind == JSON_LIST) /* ds_values_check() tells of anything else */
        problems_add(problems, position_of(&place, section), "autotuning must be a table, not a list");
    for (size_t i = 0; section && section->kind == JSON_OBJECT && i < section->count; i++)
        read_member(&(struct knob_source){file, &section->children[i], problems}, &a);
    if (a.end_step < 0) {
        a.end_step = a.start_step + STEPS_AFTER_START;
        a.most_step = a.start_step + PROFILE_STEPS_MORE;
    }
    if (problems->found == before && a.end_step < a.start_step)
        problems_add(problems, position_of(&place, section),
                     "autotuning: end_profile_step %lld is before start_profile_step %lld", a.end_step, a.start_step);
    if (problems->found == before && a.max_micro_batch < a.min_micro_batch)
        problems_add(problems, position_of(&place, section),
                     "autotuning: the largest micro-batch, %lld, is smaller than the smallest, %lld", a.max_micro_batch,
                     a.min_micro_batch);
    if (problems->found == before && a.max_train_batch_size && a.max_train_batch_size < a.min_train_batch_size)
        problems_add(problems, position_of(&place, section),
                     "autotuning: max_train_batch_size, %lld, is smaller than min_train_batch_size, %lld",
                     a.max_train_batch_size, a.min_train_batch_size);
    *out = a;
}

bool autotuning_has(const char *name)
{
    size_t i = FIRST(k, LENGTH(knobs), strcmp(knobs[k].name, name) == 0);
    return i < LENGTH(knobs);
}

void autotuning_free(struct autotuning *a)
{
    free(a->exps_dir);
    free(a->results_dir);
    a->exps_dir = a->results_dir = NULL;
}
