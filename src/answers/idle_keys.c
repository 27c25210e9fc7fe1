#include "answers/idle_keys.h"

#include <string.h>

#include "predict/inputs.h"
#include "predict/predictor.h"
#include "space/prediction.h"
#include "util/memory.h"

#define MOST_LOOKED_AT 64
#define WORDS_MOST 96
#define MOST_NAMED 64

static const double numbers[] = {0, 1, 2, 3, 4, 8, 64};

/* The values of a prediction. */
struct said {
    bool has_any, has_time;
    double numbers[8];
    char refusal[sizeof((struct error *)NULL)->text];
};

static void predict(const struct space *space, const struct input_value *values, struct said *out)
{
    const struct prediction *p;
    struct error e = ERROR_INIT;
    memset(out, 0, sizeof *out);
    out->has_any = predictor_predict(space->prediction.predictor, values, &p, &e) == 0;
    if (!out->has_any) {
        strcpy(out->refusal, e.text);
        return;
    }
    const double all[] = {p->memory.most.bytes,
                          p->memory.first.bytes,
                          p->memory.last.bytes,
                          p->memory.host_bytes,
                          p->memory.parameters,
                          p->seconds,
                          p->flops,
                          p->tokens};
    memcpy(out->numbers, all, sizeof all);
    out->has_time = p->has_time;
}

/* A word that the input does not accept says nothing about the others. */
static bool differs(const struct said *a, const struct said *b)
{
    if (strstr(b->refusal, INPUT_NOT_KNOWN))
        return false;
    bool same = strcmp(a->refusal, b->refusal) == 0;
    for (size_t i = 0; same && i < LENGTH(a->numbers); i++)
        same = a->numbers[i] == b->numbers[i];
    return !same;
}

static bool changes(const struct space *space, const struct input_value *values, size_t input, const struct said *as_is)
{
    const char *words[WORDS_MOST];
    size_t count = input_words(input, words, WORDS_MOST);
    struct input_value other[INPUT_COUNT];
    bool changed = false;
    memcpy(other, values, sizeof other);
    for (size_t k = 0; !changed && k < count + LENGTH(numbers); k++) {
        struct said said;
        other[input] = k < count ? (struct input_value){INPUT_TEXT, 0, words[k]}
                                 : (struct input_value){INPUT_NUMBER, numbers[k - count], NULL};
        predict(space, other, &said);
        changed = differs(as_is, &said);
    }
    return changed;
}

/* Keys of the model or the plan, except texts with their own syntax, and batches, which rules compare with others. */
static bool may_be_idle(const struct space *space, size_t input)
{
    const struct input_place *p = &inputs[input].place;
    bool is_own = p->member == MEMBER_OWN && input != AT_GLOBAL_BATCH && input < AT_PARAMS;
    bool is_of_plan = p->target == TO_ARCHITECTURE || p->target == TO_PLAN;
    return (is_own || (is_of_plan && p->member != MEMBER_TEXT)) && space->prediction.inputs[input] &&
           prediction_key(space, input);
}

static void look_at(const struct space *space, int64_t rank, bool *idle, bool *any)
{
    struct input_value values[INPUT_COUNT];
    struct said as_is;
    struct error ignored;
    if (prediction_inputs_at(space, rank, values, &ignored) < 0)
        return;
    predict(space, values, &as_is);
    if (!as_is.has_time)
        return;
    *any = true;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        idle[i] = idle[i] && !changes(space, values, i, &as_is);
}

void idle_keys_add(const struct space *space, struct buffer *out)
{
    bool idle[INPUT_COUNT], any = false;
    size_t before = out->length;
    int64_t all = space->prediction.asked && space->prediction.predictor ? space_combinations(space) : 0;
    int64_t looked_at = all < MOST_LOOKED_AT ? all : MOST_LOOKED_AT;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        idle[i] = may_be_idle(space, i);
    for (int64_t k = 0; k < looked_at; k++)
        look_at(space, looked_at > 1 ? (all - 1) / (looked_at - 1) * k : 0, idle, &any);
    for (size_t i = 0; any && i < INPUT_COUNT; i++)
        if (idle[i])
            buffer_printf(out, "%s%s", out->length > before ? ", " : "", prediction_key(space, i)->name);
}

/* `predicted_memory` reads every key that predictions use. */
bool key_is_read(const struct space *space, size_t key)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < n->derived_count; i++)
        for (size_t k = 0; strcmp(n->derived[i].name, "predicted_memory") == 0 && k < n->derived[i].key_count; k++)
            if (n->derived[i].keys[k] == key)
                return true;
    return false;
}

void unread_keys_add(const struct space *space, struct buffer *out)
{
    const struct names *n = &space->names;
    size_t count = 0;
    for (size_t i = 0; space->prediction.asked && i < n->key_count; i++)
        if (!n->keys[i].is_label && strcmp(n->keys[i].name, "hf_config") != 0 && strcmp(n->keys[i].name, "name") != 0 &&
            !key_is_read(space, i) && count++ < MOST_NAMED)
            buffer_printf(out, "%s%s", count > 1 ? ", " : "", n->keys[i].name);
    if (count > MOST_NAMED)
        buffer_printf(out, " and %zu more", count - MOST_NAMED);
}
