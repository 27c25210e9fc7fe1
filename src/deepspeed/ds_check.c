#include "deepspeed/ds_check.h"

#include <string.h>

#include "deepspeed/autotuning.h"
#include "deepspeed/ds_values.h"
#include "toml/known.h"
#include "util/memory.h"

/* The first is the product of the others and the ranks. */
enum batch_key { TRAIN, MICRO, STEPS, PART_COUNT };

static const char *const batch_keys[PART_COUNT] = {
    [TRAIN] = "train_batch_size",
    [MICRO] = "train_micro_batch_size_per_gpu",
    [STEPS] = "gradient_accumulation_steps",
};

bool batch_is_key(const char *key)
{
    return ANY(i, PART_COUNT, strcmp(batch_keys[i], key) == 0);
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
    OWNED_BUFFER b = BUFFER_INIT;
    for (int i = 0; i < PART_COUNT; i++)
        if (n[i])
            buffer_printf(&b, "%s %lld, ", batch_keys[i], n[i]);
    return error_set(e, ERROR_USAGE,
                     "the batch sizes contradict each other: %sdata-parallel size %lld (the first must be the product "
                     "of the "
                     "others)",
                     buffer_text(&b), ranks);
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

int batch_complete(struct json *config, long long ranks, bool resolve, struct error *e)
{
    long long known[PART_COUNT], n[PART_COUNT];
    bool kept = false;
    for (int i = 0; i < PART_COUNT; i++) {
        const struct json *found = given(config, batch_keys[i]);
        bool is_auto = found && json_text_is(found, "auto");
        known[i] = n[i] = 0;
        if (found && !is_auto && (!json_text_integer(found, &known[i]) || known[i] <= 0))
            return error_set(e, ERROR_USAGE, "%s must be a whole number above 0", batch_keys[i]);
        n[i] = known[i];
        kept |= is_auto && !resolve;
    }
    /* Values that the job fills in itself are not guessed, but if two are known, the third is still checked. */
    if (kept && (known[TRAIN] == 0) + (known[MICRO] == 0) + (known[STEPS] == 0) > 1)
        return 0;
    if (!infer(n, ranks))
        return contradiction(known, ranks, e);
    for (int i = 0; i < PART_COUNT; i++) {
        const struct json *found = given(config, batch_keys[i]);
        if (n[i] == 0 || known[i] || (found && !resolve))
            continue;
        OWNED char *text = xasprintf("%lld", n[i]);
        json_text_set(config, batch_keys[i], text);
    }
    return 0;
}

bool ds_is_section_key(const char *key)
{
    OWNED char *head = xstrndup(key, strcspn(key, "."));
    return ds_keys_have("", head);
}

/* Returns what is wrong with a key of a section that refuses others: every job would fail at its start. */
static char *fault_of(const char *section, const char *name, int64_t release)
{
    OWNED char *key = xasprintf("%s.%s", section, name);
    const char *since = ds_key_since(key);
    struct suggestion meant = ds_keys_suggest(section, name);
    if (!meant.is_same)
        return xasprintf("DeepSpeed has no key %s \"%s\"%s", section, name, suggest_hint(&meant));
    if (ds_has_come(since, release))
        return NULL;
    return xasprintf("DeepSpeed knows the key of %s \"%s\" since %s only, and is older here", section, name, since);
}

static void check_section(const struct json *root, const char *name, const char *path, int64_t release,
                          struct problems *problems)
{
    const struct json *section = ds_model_checks(name, release) ? json_text_find(root, name) : NULL;
    for (size_t k = 0; section && section->kind == JSON_OBJECT && k < section->count; k++) {
        const struct json *m = &section->children[k];
        OWNED char *fault = fault_of(name, m->name, release);
        OWNED char *key = xasprintf("%s.%s", name, m->name);
        if (!fault && !json_text_is(m, "auto"))
            fault = ds_twice_fault(root, key, true, release);
        if (fault)
            problems_add(problems, (struct position){path, m->line, m->column}, "%s", fault);
    }
}

void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems)
{
    const struct toml_node *models = known("ds_config", "models");
    for (size_t i = 0; i < models->child_count; i++)
        check_section(root, models->children[i].key, path, release, problems);
    ds_values_check(root, path, release, problems);
}

void ds_check_sections(const struct json *root, const char *path, char *const *users_own, int64_t release,
                       struct string_list *warnings)
{
    for (size_t i = 0; i < root->count; i++) {
        const struct json *m = &root->children[i];
        const char *renamed = ds_key_renamed(m->name, release);
        struct suggestion meant = ds_keys_suggest("", m->name);
        if ((meant.is_same && !renamed) || strings_have(users_own, m->name))
            continue;
        meant.near = renamed ? renamed : meant.near;
        const char *hint = autotuning_has(m->name) ? "; it belongs in \"autotuning\"" : suggest_hint(&meant);
        string_list_add(warnings, xasprintf("%s:%d:%d: warning: DeepSpeed has no section \"%s\" and ignores it%s", path,
                                            m->line, m->column, m->name, hint));
    }
}

char *ds_check_key(const char *key, int64_t release)
{
    const struct toml_node *models = known("ds_config", "models");
    char *fault = NULL;
    for (size_t i = 0; i < models->child_count && !fault; i++) {
        const char *section = models->children[i].key;
        size_t n = strlen(section);
        if (strncmp(key, section, n) != 0 || key[n] != '.' || !ds_model_checks(section, release))
            continue;
        OWNED char *name = xstrndup(key + n + 1, strcspn(key + n + 1, "."));
        fault = fault_of(section, name, release);
    }
    return fault;
}

/* Anywhere in the ds_config but the tuner's section, which holds the mapping itself. */
static bool is_in_config(const struct json *root, const char *name)
{
    return ANY(i, root->count,
               strcmp(root->children[i].name, "autotuning") != 0 &&
                   (strcmp(root->children[i].name, name) == 0 || json_text_find_anywhere(&root->children[i], name)));
}

char *ds_check_mapped_key(const struct json *root, const char *key)
{
    const struct toml_node *models = known("ds_config", "models");
    OWNED char *head = xstrndup(key, strcspn(key, "."));
    bool known_key = ds_is_section_key(key) || is_in_config(root, head);
    for (size_t i = 0; i < models->child_count && !known_key; i++)
        known_key = ds_keys_have(models->children[i].key, key);
    struct suggestion meant = ds_keys_suggest("", head);
    return known_key ? NULL : xasprintf("a ds_config has no key \"%s\"%s", key, suggest_hint(&meant));
}
