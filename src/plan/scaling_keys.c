#include "plan/scaling_keys.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"

/* Inputs that count devices, or groups of them; the second is not made more by more devices of a host. */
enum { GROWING_RANKS, GROWING_HOSTS };
static const char *const growing[] = {[GROWING_RANKS] = "dp", [GROWING_HOSTS] = "nodes"};

/* The key that an input is; false: none is, or the scaled one. */
static bool find_input_key(const struct space *space, const char *name, const struct scaling *x, struct scaled_key *out)
{
    size_t index;
    if (names_resolve(&space->names, name, &index) != RESOLVED_KEY)
        return false;
    const struct key *key = &space->names.keys[index];
    *out = (struct scaled_key){key->section, key->name};
    return !scaling_is_key(x, key->section, key->name) && !scaling_follower(x, key->section, key->name);
}

/* What [predict.keys] says of the input; NULL: nothing. */
static const char *declared_key(const struct space *space, const char *input)
{
    const struct predict_config *c = &space->sweep->predict;
    for (size_t i = 0; i < c->key_count; i++)
        if (!c->keys[i].is_default && strcmp(c->keys[i].name, input) == 0)
            return c->keys[i].expression;
    return NULL;
}

/* An expression that is more than a key follows what it reads. `*out` borrows its name. */
static bool find_input(const struct space *space, const char *input, const struct scaling *x, struct scaled_key *out)
{
    const char *declared = declared_key(space, input);
    if (declared)
        return find_input_key(space, declared, x, out);
    char *names = xasprintf("%s %s", input, inputs[input_find(input)].synonyms), *rest = NULL;
    bool found = false;
    for (char *name = strtok_r(names, " ", &rest); name && !found; name = strtok_r(NULL, " ", &rest))
        found = find_input_key(space, name, x, out);
    free(names);
    return found;
}

static struct scaled_key own(struct scaled_key key)
{
    return (struct scaled_key){key.section, xstrdup(key.name)};
}

static void add_follower(struct scaling *x, struct scaled_key key, bool falls)
{
    *array_add(x->followers, x->follower_count) = (struct scaled_follower){own(key), falls};
}

static bool is_input(const struct space *space, const char *input, const struct scaled_key *key)
{
    static const struct scaling nothing = {.key = {0, (char *)""}};
    struct scaling passed = nothing;
    struct scaled_key found;
    bool yes = false;
    while (!yes && find_input(space, input, &passed, &found)) {
        yes = found.section == key->section && strcmp(found.name, key->name) == 0;
        add_follower(&passed, found, false);
    }
    passed.key.name = NULL;
    scaling_free(&passed);
    return yes;
}

static void add_followers(const struct space *space, struct scaling *x)
{
    struct scaled_key key, batch;
    size_t count = is_input(space, "devices_per_node", &x->key) ? GROWING_HOSTS : LENGTH(growing);
    for (size_t i = 0; i < count; i++)
        while (find_input(space, growing[i], x, &key))
            add_follower(x, key, false);
    if (find_input(space, "global_batch", x, &batch) && find_input(space, "gradient_accumulation", x, &key)) {
        add_follower(x, key, true);
        x->batch = own(batch);
    }
}

static int is_derived(const struct names *n, size_t index, struct error *e)
{
    const struct derived_key *derived = &n->derived[index];
    struct buffer list = BUFFER_INIT;
    for (size_t i = 0; i < derived->key_count; i++)
        buffer_printf(&list, "%s`%s`", i ? ", " : "", n->keys[derived->keys[i]].name);
    error_set(e, ERROR_USAGE, "`%s` is derived%s%s; scale a key of the specs", derived->name,
              derived->key_count ? " from " : "", buffer_text(&list));
    buffer_free(&list);
    return -1;
}

static int find_key(const struct space *space, const char *name, struct scaled_key *out, struct error *e)
{
    size_t index;
    enum resolution found = names_resolve(&space->names, name, &index);
    if (found == RESOLVED_KEY) {
        const struct key *key = &space->names.keys[index];
        *out = (struct scaled_key){key->section, xstrdup(key->name)};
        return 0;
    }
    if (found == RESOLVED_DERIVED)
        return is_derived(&space->names, index, e);
    char *hint = names_hint(&space->names, name, NULL, 0);
    error_set(e, ERROR_USAGE,
              found == RESOLVED_AMBIGUOUS ? "several sections have a key `%s`%s" : "no spec has a key `%s`%s", name,
              hint);
    free(hint);
    return -1;
}

/* Whether the number of devices follows from the key. */
static bool counts_devices(const struct space *space, const struct scaled_key *key)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < space->devices.key_count; i++) {
        const struct key *read = &n->keys[space->devices.keys[i]];
        if (read->section == key->section && strcmp(read->name, key->name) == 0)
            return true;
    }
    for (size_t i = 0; i < LENGTH(growing); i++)
        if (is_input(space, growing[i], key))
            return true;
    return false;
}

static int read_scaling(const struct space *space, const char *text, struct scaling *out, struct error *e)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        error_set(e, ERROR_USAGE, "`%s` is not of the form KEY=VALUE, such as num_hosts=64", text);
        return -1;
    }
    if (!parse_int64(equals + 1, &out->value) || out->value < 1) {
        error_set(e, ERROR_USAGE, "`%s` is not a positive integer", equals + 1);
        return -1;
    }
    char *name = xstrndup(text, (size_t)(equals - text));
    int rc = find_key(space, name, &out->key, e);
    free(name);
    if (rc == 0 && !counts_devices(space, &out->key))
        return error_set(e, ERROR_USAGE, "`%s` does not determine the number of devices", out->key.name);
    return rc;
}

int scaling_read(const struct space *space, const char *text, struct scaling *out, struct error *e)
{
    struct scaling x = {.value = 0};
    if (read_scaling(space, text, &x, e) < 0) {
        scaling_free(&x);
        return error_context(e, "--scale-to");
    }
    add_followers(space, &x);
    *out = x;
    return 0;
}
