#include "deepspeed/ds_check.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/autotuning.h"
#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"

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

/* Reports each of the three in `config` that is not a positive integer, "auto", null or a list (taken by a tuner). */
static void batch_check(const struct json *config, const char *file, struct problems *problems)
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

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* DeepSpeed refuses unknown keys in these sections, and every job would fail at its start. */
static const char *const strict[] = {"zero_optimization", "zero_optimization.offload_param",
                                     "zero_optimization.offload_optimizer"};

static const struct toml_node *keys_of(const char *section)
{
    const char *dot = strrchr(section, '.');
    return known("ds_config", dot ? dot + 1 : section);
}

bool ds_is_section_key(const char *key)
{
    char *head = xstrndup(key, strcspn(key, "."));
    const bool is = known_has(known("ds_config", "sections"), head);
    free(head);
    return is;
}

bool ds_wants_integer(const char *key)
{
    const struct toml_node *endings = known("ds_config", "integers");
    const size_t length = strlen(key);
    for (size_t i = 0; i < endings->child_count; i++) {
        const size_t n = strlen(endings->children[i].text);
        if (length >= n && strcmp(key + length - n, endings->children[i].text) == 0)
            return true;
    }
    return false;
}

/* "; did you mean "x"?", or "". The caller frees it. */
static char *hint(const char *near)
{
    return near ? xasprintf("; did you mean \"%s\"?", near) : xstrdup("");
}

static char *fault_of(const char *section, const char *name, int64_t release)
{
    const char *near = known_nearest(keys_of(section), name);
    const struct toml_node *came_with = toml_child(known("ds_config", "since"), name);
    int64_t since;
    if (!near || strcmp(near, name) != 0) {
        char *meant = hint(near);
        char *fault = xasprintf("DeepSpeed has no key %s \"%s\"%s", section, name, meant);
        free(meant);
        return fault;
    }
    if (!release || !came_with || !parse_release(came_with->text, false, &since) || release >= since)
        return NULL;
    return xasprintf("DeepSpeed knows the key of %s \"%s\" since %s only, and is older here", section, name,
                     came_with->text);
}

void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems)
{
    for (size_t i = 0; i < LENGTH(strict); i++) {
        const struct json *section = json_text_find(root, strict[i]);
        for (size_t k = 0; section && section->kind == JSON_OBJECT && k < section->count; k++) {
            const struct json *m = &section->children[k];
            char *fault = fault_of(strict[i], m->name, release);
            if (fault)
                problems_add(problems, (struct position){path, m->line, m->column}, "%s", fault);
            free(fault);
        }
    }
    batch_check(root, path, problems);
}

void ds_check_sections(const struct json *root, const char *path, char *const *users_own, struct string_list *warnings)
{
    for (size_t i = 0; i < root->count; i++) {
        const struct json *m = &root->children[i];
        const char *near = known_nearest(known("ds_config", "sections"), m->name);
        if ((near && strcmp(near, m->name) == 0) || strings_have(users_own, m->name))
            continue;
        char *meant = autotuning_has(m->name) ? xstrdup("; it belongs in \"autotuning\"") : hint(near);
        string_list_add(warnings, xasprintf("%s:%d:%d: warning: DeepSpeed has no section \"%s\" and ignores it%s", path,
                                            m->line, m->column, m->name, meant));
        free(meant);
    }
}

char *ds_check_key(const char *key, int64_t release)
{
    char *fault = NULL;
    for (size_t i = 0; i < LENGTH(strict) && !fault; i++) {
        size_t n = strlen(strict[i]);
        if (strncmp(key, strict[i], n) != 0 || key[n] != '.')
            continue;
        char *name = xstrndup(key + n + 1, strcspn(key + n + 1, "."));
        fault = fault_of(strict[i], name, release);
        free(name);
    }
    return fault;
}

/* Anywhere in the ds_config but the tuner's section, which holds the mapping itself. */
static bool is_in_config(const struct json *root, const char *name)
{
    for (size_t i = 0; i < root->count; i++)
        if (strcmp(root->children[i].name, "autotuning") != 0 &&
            (strcmp(root->children[i].name, name) == 0 || json_text_find_anywhere(&root->children[i], name)))
            return true;
    return false;
}

char *ds_check_mapped_key(const struct json *root, const char *key)
{
    char *head = xstrndup(key, strcspn(key, ".")), *meant = NULL, *fault = NULL;
    bool known_key = ds_is_section_key(key) || is_in_config(root, head);
    for (size_t i = 0; i < LENGTH(strict) && !known_key; i++)
        known_key = known_has(keys_of(strict[i]), key);
    if (!known_key) {
        meant = hint(known_nearest(known("ds_config", "sections"), head));
        fault = xasprintf("a ds_config has no key \"%s\"%s", key, meant);
    }
    free(meant);
    free(head);
    return fault;
}
