#include "secrets/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secrets/secrets.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- variables --- */

/* Of a variable, between underscores. */
static const char *const secret_words[] = {
    "TOKEN", "KEY", "AUTH", "PASS", "PASSPHRASE", "SSHPASS", "PAT", "JWT", "COOKIE", "BEARER", "DSN", "WEBHOOK",
};

/* Anywhere in a name. */
static const char *const secret_parts[] = {"SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "ACCESSKEY"};

static bool is_secret_word(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++)
        if (strlen(secret_words[i]) == length && strncasecmp(secret_words[i], word, length) == 0)
            return true;
    return length > 5 && strncasecmp(word + length - 5, "TOKEN", 5) == 0;
}

static bool has_secret_part(const char *setting)
{
    char *name = xstrndup(setting, setting_name_length(setting));
    bool found = false;
    for (size_t i = 0; !found && i < sizeof secret_parts / sizeof *secret_parts; i++)
        found = strcasestr(name, secret_parts[i]) != NULL;
    free(name);
    return found;
}

bool secrets_match_name(const char *name, char *const *listed)
{
    size_t n = setting_name_length(name);
    if (setting_is_among(name, listed) || has_secret_part(name))
        return true;
    for (size_t begin = 0; begin < n;) {
        size_t length = 0;
        while (begin + length < n && name[begin + length] != '_')
            length++;
        /* PWD alone is a directory, MYSQL_PWD none. */
        if (is_secret_word(name + begin, length) ||
            (begin > 0 && length == 3 && strncasecmp(name + begin, "PWD", length) == 0))
            return true;
        begin += length + 1;
    }
    return false;
}

/* --- options and keys --- */

/* What is left of a name without "-", "_" and ".", anywhere in it. */
static const char *const option_parts[] = {"SECRET",     "PASSWORD", "PASSWD",    "PASSPHRASE",
                                           "CREDENTIAL", "APIKEY",   "ACCESSKEY", "PRIVATEKEY",
                                           "AUTHKEY",    "APITOKEN", "AUTHTOKEN", "ACCESSTOKEN"};

/* A name that ends in one of these words is a file's or a variable's that holds the secret. */
static const char *const holders[] = {"FILE", "PATH", "DIR", "NAME", "ENV",  "VAR",  "LENGTH",
                                      "SIZE", "PY",   "SH",  "JSON", "TOML", "YAML", "YML"};

/* Last words, and what must stand before them: "pad-token" and "sort-key" are no secrets. NULL: nothing need. */
static const struct {
    const char *last, *before;
} option_words[] = {
    {"TOKEN", NULL},       {"TOKEN", "HF"},     {"TOKEN", "HUB"},  {"TOKEN", "HUGGINGFACE"}, {"TOKEN", "FACE"},
    {"TOKEN", "GITHUB"},   {"TOKEN", "GITLAB"}, {"TOKEN", "GH"},   {"TOKEN", "WANDB"},       {"TOKEN", "REFRESH"},
    {"TOKEN", "SESSION"},  {"TOKEN", "BEARER"}, {"TOKEN", "READ"}, {"TOKEN", "WRITE"},       {"TOKEN", "DEPLOY"},
    {"TOKEN", "SLACK"},    {"TOKEN", "BOT"},    {"TOKEN", "USER"}, {"TOKEN", "JWT"},         {"KEY", "WANDB"},
    {"KEY", "OPENAI"},     {"KEY", "AWS"},      {"KEY", "COMET"},  {"KEY", "ANTHROPIC"},     {"KEY", "LICENSE"},
    {"KEY", "ENCRYPTION"}, {"KEY", "SIGNING"},  {"KEY", "SSH"},    {"KEY", "NEPTUNE"},       {"KEY", "ACCOUNT"},
    {"PASS", "DB"},        {"PASS", "USER"},    {"PASS", "SMTP"},  {"PASS", "REGISTRY"},     {"PASS", "PROXY"},
    {"PASS", "HTTP"},      {"JWT", NULL},       {"BEARER", NULL},  {"COOKIE", NULL},         {"PAT", NULL},
    {"PWD", "MYSQL"},      {"PWD", "DB"},       {"PWD", "USER"},   {"TOKEN", "SECURITY"},    {"DSN", NULL},
};

/* Last words of names in the query of an address. */
static const char *const query_words[] = {"SIG", "SIGNATURE", "KEY", "TOKEN", "CODE", "SAS"};

#define NAME_BYTES_MOST 100

/* A name in capitals, its words, and all of it without what stands between them. */
struct option_name {
    char joined[NAME_BYTES_MOST + 1];
    const char *last, *before; /* NULL: there is no such word */
    char words[NAME_BYTES_MOST + 1];
};

static void take_apart(const char *name, size_t length, struct option_name *out)
{
    size_t joined = 0;
    *out = (struct option_name){.last = NULL};
    for (size_t i = 0; i < length; i++) {
        bool between = strchr("-_.", name[i]) != NULL;
        out->words[i] = between ? '\0' : (char)toupper((unsigned char)name[i]);
        if (!between)
            out->joined[joined++] = out->words[i];
        if (between || (i > 0 && out->words[i - 1]))
            continue;
        out->before = out->last;
        out->last = &out->words[i];
    }
}

static enum secret_name option_kind_of(const struct option_name *n)
{
    for (size_t i = 0; i < sizeof option_parts / sizeof *option_parts; i++)
        if (strstr(n->joined, option_parts[i]))
            return SECRET_NAME_CERTAIN;
    for (size_t i = 0; i < sizeof option_words / sizeof *option_words; i++) {
        const char *before = option_words[i].before;
        if (strcmp(n->last, option_words[i].last) == 0 &&
            (before ? n->before && strcmp(n->before, before) == 0 : !n->before))
            return SECRET_NAME_LIKELY;
    }
    for (size_t i = 0; i < sizeof query_words / sizeof *query_words; i++)
        if (strcmp(n->last, query_words[i]) == 0)
            return SECRET_NAME_QUERY;
    return SECRET_NAME_NONE;
}

static bool is_same_name(const char *listed, const char *joined)
{
    for (; *listed; listed++)
        if (!strchr("-_.", *listed) && toupper((unsigned char)*listed) != *joined++)
            return false;
    return !*joined;
}

static enum secret_name name_of_option(const char *name, size_t length, char *const *listed)
{
    struct option_name n;
    take_apart(name, length, &n);
    if (!n.last)
        return SECRET_NAME_NONE;
    for (; listed && *listed; listed++)
        if (is_same_name(*listed, n.joined))
            return SECRET_NAME_CERTAIN;
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        if (strcmp(n.last, holders[i]) == 0)
            return SECRET_NAME_NONE;
    return option_kind_of(&n);
}

static bool is_variable(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isupper((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && name[i] != '_')
            return false;
    return true;
}

enum secret_name secret_name_kind(const char *name, size_t length, char *const *listed)
{
    if (length == 0 || length > NAME_BYTES_MOST)
        return SECRET_NAME_NONE;
    enum secret_name kind = name_of_option(name, length, listed);
    if (kind > SECRET_NAME_QUERY || !is_variable(name, length))
        return kind;
    char *variable = xstrndup(name, length);
    kind = secrets_match_name(variable, listed) ? SECRET_NAME_LIKELY : kind;
    free(variable);
    return kind;
}
