#include "deepspeed/ds_arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "deepspeed/ds_check.h"
#include "deepspeed/json_text.h"
#include "util/memory.h"
#include "util/string_list.h"

static void replace(char **word, char *with)
{
    free(*word);
    *word = with;
}

/* Length of the flag at the beginning of `word`, up to "=" or the end; 0 if it is another flag. */
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

bool ds_arguments_have(char *const *words, const char *flag)
{
    while (*words && flag_length(*words, flag) == 0)
        words++;
    return *words != NULL;
}

/* Whether the word is a value rather than another option; "-1" and "-" are values. */
static bool is_value(const char *word)
{
    return word[0] != '-' || !word[1] || isdigit((unsigned char)word[1]) || word[1] == '.';
}

/* Sets the value of the flag at `i`. */
static void set_at(struct string_list *w, size_t i, size_t length, const char *value)
{
    char *flag = xstrndup(w->items[i], length);
    bool has_equals = w->items[i][length] == '=';
    bool has_next = i + 1 < w->count && is_value(w->items[i + 1]);
    if (!has_equals && has_next)
        replace(&w->items[i + 1], xstrdup(value));
    else if (has_equals || strcmp(value, "true") != 0)
        replace(&w->items[i], xasprintf("%s=%s", flag, value));
    free(flag);
}

static void map(struct string_list *w, const char *flag, const char *value)
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
    string_list_add(w, flag[0] == '-' ? xstrdup(flag) : xasprintf("--%s", flag));
    string_list_add(w, xstrdup(value));
}

/* A scalar as a script expects it: strings without quotes, integers without a fraction (it would reject "8.0"). NULL if
 * the value is not mapped. */
static char *value_text(const char *key, const struct json *j)
{
    long long whole;
    if (!j || j->kind != JSON_SCALAR || json_text_is(j, "auto") || json_text_is_null(j) ||
        (j->text[0] == '"' && strchr(j->text, '\\')))
        return NULL;
    if (ds_wants_integer(key) && json_text_integer(j, &whole))
        return xasprintf("%lld", whole);
    return json_text_plain(j);
}

/* DeepSpeed's tuner looks for a key by its last name alone. */
static const struct json *find(const struct json *config, const char *key)
{
    const struct json *found = json_text_find(config, key);
    return found || strchr(key, '.') ? found : json_text_find_anywhere(config, key);
}

char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command)
{
    struct string_list w = STRING_LIST_INIT;
    struct json config = {0};
    struct error ignored = ERROR_INIT;
    for (; *command; command++)
        string_list_add(&w, xstrdup(*command));
    if (json_text_parse("", config_json, &config, &ignored) == 0)
        for (size_t i = 0; i < d->argument_count; i++) {
            const char *key = d->arguments[i].name;
            char *value = value_text(key, find(&config, key));
            if (value)
                map(&w, d->arguments[i].value, value);
            free(value);
        }
    json_text_free(&config);
    return string_list_take(&w);
}

int ds_arguments_find_config(char *const *program, size_t *at, struct error *e)
{
    static const char *const flags[] = {"--deepspeed_config", "--deepspeed-config", "--deepspeed"};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        size_t n = strlen(flags[f]);
        for (size_t i = 1; program[0] && program[i]; i++) {
            bool attached = strncmp(program[i], flags[f], n) == 0 && program[i][n] == '=';
            bool apart = strcmp(program[i], flags[f]) == 0 && program[i + 1] && program[i + 1][0] != '-';
            if (!attached && !apart)
                continue;
            *at = attached ? i : i + 1;
            return 0;
        }
    }
    return error_set(e, ERROR_USAGE,
                     "no ds_config is given; add --deepspeed FILE or --deepspeed_config FILE to the script's "
                     "arguments");
}

char *ds_arguments_config_path(const char *word)
{
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    return xstrdup(equals ? equals + 1 : word);
}
