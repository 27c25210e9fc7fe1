#include "deepspeed/ds_check.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/autotuning.h"
#include "deepspeed/batch.h"
#include "deepspeed/ds_keys.h"
#include "util/memory.h"
#include "util/parse.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* DeepSpeed refuses unknown keys in these sections, and every job would fail at its start. */
static const struct strict_section {
    const char *path;
    const char *const *known;
} strict[] = {{"zero_optimization", ds_zero_keys},
              {"zero_optimization.offload_param", ds_offload_param_keys},
              {"zero_optimization.offload_optimizer", ds_offload_optimizer_keys}};

/* "; did you mean "x"?", or "". The caller frees it. */
static char *hint(const char *near)
{
    return near ? xasprintf("; did you mean \"%s\"?", near) : xstrdup("");
}

static char *fault_of(const struct strict_section *s, const char *name, int64_t release)
{
    const char *near = ds_nearest_key(name, s->known), *came_with = ds_key_came_with(name);
    int64_t since;
    if (!near || strcmp(near, name) != 0) {
        char *meant = hint(near);
        char *fault = xasprintf("DeepSpeed has no key %s \"%s\"%s", s->path, name, meant);
        free(meant);
        return fault;
    }
    if (!release || !came_with || !parse_release(came_with, false, &since) || release >= since)
        return NULL;
    return xasprintf("DeepSpeed knows the key of %s \"%s\" since %s only, and is older here", s->path, name, came_with);
}

void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems)
{
    for (size_t i = 0; i < LENGTH(strict); i++) {
        const struct json *section = json_text_find(root, strict[i].path);
        for (size_t k = 0; section && section->kind == JSON_OBJECT && k < section->count; k++) {
            const struct json *m = &section->children[k];
            char *fault = fault_of(&strict[i], m->name, release);
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
        const char *near = ds_nearest_key(m->name, ds_sections);
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
        size_t n = strlen(strict[i].path);
        if (strncmp(key, strict[i].path, n) != 0 || key[n] != '.')
            continue;
        char *name = xstrndup(key + n + 1, strcspn(key + n + 1, "."));
        fault = fault_of(&strict[i], name, release);
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
    bool known = ds_is_section_key(key) || is_in_config(root, head);
    for (size_t i = 0; i < LENGTH(strict) && !known; i++)
        known = strings_have((char *const *)strict[i].known, key);
    if (!known) {
        meant = hint(ds_nearest_key(head, ds_sections));
        fault = xasprintf("a ds_config has no key \"%s\"%s", key, meant);
    }
    free(meant);
    free(head);
    return fault;
}
