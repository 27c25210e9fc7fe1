#include "config/secrets.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/sweep.h"
#include "config/template.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- names --- */

/* Between underscores. */
static const char *const secret_words[] = {
    "TOKEN", "KEY", "AUTH", "PASS", "PASSPHRASE", "PAT", "JWT", "COOKIE", "BEARER",
};

/* Anywhere in a name. */
static const char *const secret_parts[] = {"SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "ACCESSKEY"};

static size_t name_length(const char *setting)
{
    return strcspn(setting, "=");
}

static bool is_listed(const char *setting, char *const *names)
{
    size_t n = name_length(setting);
    for (; names && *names; names++)
        if (strlen(*names) == n && strncmp(*names, setting, n) == 0)
            return true;
    return false;
}

static bool is_secret_word(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++)
        if (strlen(secret_words[i]) == length && strncasecmp(secret_words[i], word, length) == 0)
            return true;
    return length > 5 && strncasecmp(word + length - 5, "TOKEN", 5) == 0;
}

static bool has_secret_part(const char *setting)
{
    char *name = xstrndup(setting, name_length(setting));
    bool found = false;
    for (size_t i = 0; !found && i < sizeof secret_parts / sizeof *secret_parts; i++)
        found = strcasestr(name, secret_parts[i]) != NULL;
    free(name);
    return found;
}

bool secrets_match_name(const char *name, char *const *listed)
{
    size_t n = name_length(name);
    if (is_listed(name, listed) || has_secret_part(name))
        return true;
    for (size_t begin = 0; begin < n;) {
        size_t length = 0;
        while (begin + length < n && name[begin + length] != '_')
            length++;
        if (is_secret_word(name + begin, length))
            return true;
        begin += length + 1;
    }
    return false;
}

/* --- values --- */

void secrets_add(struct secrets *s, const char *value)
{
    size_t length = strlen(value), at = 0;
    if (length < SECRET_BYTES_LEAST)
        return;
    /* Longest first: one may be part of another. */
    while (at < s->count && strlen(s->values[at]) >= length)
        if (strcmp(s->values[at++], value) == 0)
            return;
    s->values = array_grow(s->values, s->count, sizeof *s->values);
    memmove(s->values + at + 1, s->values + at, (s->count - at) * sizeof *s->values);
    s->values[at] = xstrdup(value);
    s->count++;
}

/* As it is, and as it stands in JSON and TOML. */
static void add_forms(struct secrets *s, const char *value)
{
    struct buffer b = BUFFER_INIT;
    secrets_add(s, value);
    buffer_add_json_string(&b, value, strlen(value));
    char *inside = xstrndup(buffer_text(&b) + 1, b.length - 2);
    secrets_add(s, inside);
    free(inside);
    buffer_free(&b);
}

void secrets_add_settings(struct secrets *s, char *const *settings, char *const *listed)
{
    for (; settings && *settings; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals && secrets_match_name(*settings, listed))
            add_forms(s, equals + 1);
    }
}

static void add_parts(struct secrets *s, const char *value)
{
    struct template t = template_parse(value);
    for (size_t i = 0; i < t.count; i++)
        if (!t.parts[i].is_placeholder)
            secrets_add(s, t.parts[i].text);
    template_free(&t);
}

void secrets_add_declared(struct secrets *s, const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->job.environment_count; i++) {
        const struct setting *setting = &sweep->job.environment[i];
        if (!secrets_match_name(setting->name, sweep->job.secrets))
            continue;
        add_forms(s, setting->value);
        add_parts(s, setting->value);
    }
}

void secrets_free(struct secrets *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->values[i]);
    free(s->values);
    *s = (struct secrets)SECRETS_INIT;
}

/* The value that begins at `text`, NULL when none does. */
static const char *value_at(const struct secrets *s, const char *text)
{
    for (size_t i = 0; i < s->count; i++)
        if (strncmp(text, s->values[i], strlen(s->values[i])) == 0)
            return s->values[i];
    return NULL;
}

char *secrets_redact(const struct secrets *s, const char *text)
{
    struct buffer b = BUFFER_INIT;
    if (!text)
        return NULL;
    if (s->count == 0)
        return xstrdup(text);
    while (*text) {
        const char *value = value_at(s, text);
        if (value)
            buffer_add_text(&b, "[redacted]");
        else
            buffer_add_char(&b, *text);
        text += value ? strlen(value) : 1;
    }
    return buffer_take(&b);
}
