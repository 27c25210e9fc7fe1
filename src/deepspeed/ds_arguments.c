#include "deepspeed/ds_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/json_text.h"
#include "util/memory.h"

struct words {
    char **items; /* NULL-terminated */
    size_t count;
};

static void append(struct words *w, char *text)
{
    w->items = xreallocarray(w->items, w->count + 2, sizeof *w->items);
    w->items[w->count++] = text;
    w->items[w->count] = NULL;
}

static void replace(char **word, char *with)
{
    free(*word);
    *word = with;
}

/* Bytes of the flag at the beginning of `word`, up to "=" or the end; 0 when it is another. */
static size_t flag_length(const char *word, const char *flag)
{
    const char *p = word + strspn(word, "-");
    flag += strspn(flag, "-");
    if (p == word)
        return 0;
    for (; *flag; flag++, p++)
        if (*p != *flag && !(strchr("-_", *flag) && *p && strchr("-_", *p)))
            return 0;
    return *p == '=' || !*p ? (size_t)(p - word) : 0;
}

/* Puts the value to the flag at `i`. */
static void set_at(struct words *w, size_t i, size_t length, const char *value)
{
    char *flag = xstrndup(w->items[i], length);
    bool has_equals = w->items[i][length] == '=';
    bool has_next = i + 1 < w->count && strncmp(w->items[i + 1], "--", 2) != 0;
    if (!has_equals && has_next)
        replace(&w->items[i + 1], xstrdup(value));
    else if (has_equals || strcmp(value, "true") != 0)
        replace(&w->items[i], xasprintf("%s=%s", flag, value));
    free(flag);
}

static void map(struct words *w, const char *flag, const char *value)
{
    bool found = false;
    for (size_t i = 1; i < w->count; i++) {
        size_t length = flag_length(w->items[i], flag);
        if (length == 0)
            continue;
        set_at(w, i, length, value);
        found = true;
    }
    if (found)
        return;
    append(w, flag[0] == '-' ? xstrdup(flag) : xasprintf("--%s", flag));
    append(w, xstrdup(value));
}

/* A scalar as a script wants it: strings without quotes. NULL for what maps to nothing. */
static char *value_text(const struct json *j)
{
    if (!j || j->kind != JSON_SCALAR || json_text_is(j, "auto") || strcmp(j->text, "null") == 0 ||
        (j->text[0] == '"' && strchr(j->text, '\\')))
        return NULL;
    return j->text[0] == '"' ? xstrndup(j->text + 1, strlen(j->text) - 2) : xstrdup(j->text);
}

char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command)
{
    struct words w = {xcalloc(1, sizeof *w.items), 0};
    struct json config = {0};
    struct error ignored = ERROR_INIT;
    for (; *command; command++)
        append(&w, xstrdup(*command));
    if (json_text_parse("", config_json, &config, &ignored) == 0)
        for (size_t i = 0; i < d->argument_count; i++) {
            char *value = value_text(json_text_find(&config, d->arguments[i].name));
            if (value)
                map(&w, d->arguments[i].value, value);
            free(value);
        }
    json_text_free(&config);
    return w.items;
}
