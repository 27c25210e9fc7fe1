#include "deepspeed/batch.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

enum batch_key { TRAIN, MICRO, STEPS, PART_COUNT };

static const char *const keys[PART_COUNT] = {
    [TRAIN] = "train_batch_size",
    [MICRO] = "train_micro_batch_size_per_gpu",
    [STEPS] = "gradient_accumulation_steps",
};

bool batch_is_key(const char *key)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static long long number_at(const struct json *root, const char *path, long long otherwise)
{
    const struct json *found = json_text_find(root, path);
    long long n;
    return found && json_text_integer(found, &n) && n > 0 ? n : otherwise;
}

long long batch_ranks(const struct json *specs)
{
    long long devices =
        number_at(specs, "cluster_spec.num_hosts", 1) * number_at(specs, "cluster_spec.num_devices_per_host", 1);
    long long ranks = number_at(specs, "derived.dp", number_at(specs, "parallel_spec.dp", devices));
    long long sequence = number_at(specs, "parallel_spec.sequence_parallel_size", 1);
    return ranks / sequence > 0 ? ranks / sequence : 1;
}

static int contradiction(const long long *n, long long ranks, struct error *e)
{
    struct buffer b = BUFFER_INIT;
    for (int i = 0; i < PART_COUNT; i++)
        if (n[i])
            buffer_printf(&b, "%s %lld, ", keys[i], n[i]);
    error_set(e, ERROR_USAGE,
              "the batch sizes contradict each other: %sdata-parallel size %lld (the first must be the product of the "
              "others)",
              buffer_text(&b), ranks);
    buffer_free(&b);
    return -1;
}

/* Fills in what follows from the known numbers; false if it would not be an integer. */
static bool infer(long long *n, long long ranks)
{
    if (!n[TRAIN] && !n[MICRO])
        return true;
    if (!n[STEPS] && !(n[TRAIN] && n[MICRO]))
        n[STEPS] = 1;
    if (!n[TRAIN])
        n[TRAIN] = n[MICRO] * n[STEPS] * ranks;
    else if (!n[MICRO])
        n[MICRO] = n[TRAIN] / (n[STEPS] * ranks);
    else if (!n[STEPS])
        n[STEPS] = n[TRAIN] / (n[MICRO] * ranks);
    return n[TRAIN] == n[MICRO] * n[STEPS] * ranks && n[MICRO] > 0 && n[STEPS] > 0;
}

/* DeepSpeed takes null as not given. */
static const struct json *given(const struct json *config, const char *key)
{
    const struct json *found = json_text_find(config, key);
    return found && !json_text_is_null(found) ? found : NULL;
}

void batch_check(const struct json *config, const char *file, struct problems *problems)
{
    long long n;
    for (int i = 0; i < PART_COUNT; i++) {
        const struct json *found = given(config, keys[i]);
        if (found && found->kind == JSON_SCALAR && !json_text_is(found, "auto") &&
            (!json_text_integer(found, &n) || n <= 0))
            problems_add(problems, (struct position){file, found->line, found->column},
                         "%s must be a whole number above 0", keys[i]);
    }
}

int batch_complete(struct json *config, long long ranks, bool resolve, struct error *e)
{
    long long known[PART_COUNT], n[PART_COUNT];
    bool kept = false;
    for (int i = 0; i < PART_COUNT; i++) {
        const struct json *found = given(config, keys[i]);
        bool is_auto = found && json_text_is(found, "auto");
        known[i] = n[i] = 0;
        if (found && !is_auto && (!json_text_integer(found, &known[i]) || known[i] <= 0))
            return error_set(e, ERROR_USAGE, "%s must be a whole number above 0", keys[i]);
        n[i] = known[i];
        kept |= is_auto && !resolve;
    }
    /* Values that the job fills in itself are not guessed, but if two are known, the third is still checked. */
    if (kept && (known[TRAIN] == 0) + (known[MICRO] == 0) + (known[STEPS] == 0) > 1)
        return 0;
    if (!infer(n, ranks))
        return contradiction(known, ranks, e);
    for (int i = 0; i < PART_COUNT; i++) {
        const struct json *found = given(config, keys[i]);
        if (n[i] == 0 || known[i] || (found && !resolve))
            continue;
        char *text = xasprintf("%lld", n[i]);
        json_text_set(config, keys[i], text);
        free(text);
    }
    return 0;
}
