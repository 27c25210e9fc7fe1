#include "secrets/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- names --- */

/* Names of options, keys and variables, in a command or a text, whose values are secrets. */

enum secret_name {
    SECRET_NAME_NONE = 0,
    SECRET_NAME_QUERY,   /* only in an address, behind "?" or "&": "sig" */
    SECRET_NAME_LIKELY,  /* a short number behind it is not a secret: "--token 7" */
    SECRET_NAME_CERTAIN, /* whatever stands behind it is one: "--api-key", "password" */
};

/* Returns the kind of a name without dashes before it, in any case, its words joined by "-", "_" or ".": "api-key",
 * "wandb.api_key", "HF_TOKEN", or one of `listed` (NULL-terminated, may be NULL). Stricter than secrets_match_name
 * where the name is not that of a variable: "pad-token", "num-key-value-heads" and "api-key-file" are none. */
enum secret_name secret_name_kind(const char *name, size_t length, char *const *listed);

/* --- variables --- */

/* Words of a variable's name, between underscores. */
static const char *const secret_words[] = {
    "TOKEN", "KEY", "AUTH", "PASS", "PASSPHRASE", "SSHPASS", "PAT", "JWT", "COOKIE", "BEARER", "DSN", "WEBHOOK",
};

/* Anywhere in a name. */
static const char *const secret_parts[] = {"SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "ACCESSKEY"};

static bool is_secret_word(const char *word, size_t length)
{
    for (size_t i = 0; i < LENGTH(secret_words); i++)
        if (strlen(secret_words[i]) == length && strncasecmp(secret_words[i], word, length) == 0)
            return true;
    return length > 5 && strncasecmp(word + length - 5, "TOKEN", 5) == 0;
}

static bool has_secret_part(const char *setting)
{
    OWNED char *name = xstrndup(setting, setting_name_length(setting));
    bool found = false;
    for (size_t i = 0; !found && i < LENGTH(secret_parts); i++)
        found = strcasestr(name, secret_parts[i]) != NULL;
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

/* Parts of a name without its "-", "_" and ".", anywhere in it. */
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
    for (size_t i = 0; i < LENGTH(option_parts); i++)
        if (strstr(n->joined, option_parts[i]))
            return SECRET_NAME_CERTAIN;
    for (size_t i = 0; i < LENGTH(option_words); i++) {
        const char *before = option_words[i].before;
        if (strcmp(n->last, option_words[i].last) == 0 &&
            (before ? n->before && strcmp(n->before, before) == 0 : !n->before))
            return SECRET_NAME_LIKELY;
    }
    for (size_t i = 0; i < LENGTH(query_words); i++)
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
    for (size_t i = 0; i < LENGTH(holders); i++)
        if (strcmp(n.last, holders[i]) == 0)
            return SECRET_NAME_NONE;
    return option_kind_of(&n);
}

static bool is_variable(const char *name, size_t length)
{
    return !ANY(i, length, !isupper((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && name[i] != '_');
}

enum secret_name secret_name_kind(const char *name, size_t length, char *const *listed)
{
    if (length == 0 || length > NAME_BYTES_MOST)
        return SECRET_NAME_NONE;
    enum secret_name kind = name_of_option(name, length, listed);
    if (kind > SECRET_NAME_QUERY || !is_variable(name, length))
        return kind;
    OWNED char *variable = xstrndup(name, length);
    kind = secrets_match_name(variable, listed) ? SECRET_NAME_LIKELY : kind;
    return kind;
}

/* --- forms --- */

/* Secrets that are recognised by their form, whatever their name. */

/* Bytes from `text` on that stay visible, and bytes behind them that are the secret. */
struct secret_form {
    size_t visible, hidden;
};

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define URL_SAFE ALNUM "_-"
#define GITLAB URL_SAFE "."
#define BASE64 ALNUM "._~+/=-"

/* As the services document them. A prefix that a word of a language may begin with wants letters and digits behind
 * it. */
static const struct {
    const char *prefix, *characters;
    size_t least; /* characters behind the prefix */
    bool is_a_word;
} services[] = {
    {"sk-", URL_SAFE, 10, true},    {"sk_live_", ALNUM, 10, false}, {"rk_live_", ALNUM, 10, false},
    {"ghp_", ALNUM, 10, true},      {"gho_", ALNUM, 10, true},      {"ghu_", ALNUM, 10, true},
    {"ghs_", ALNUM, 10, true},      {"ghr_", ALNUM, 10, true},      {"github_pat_", ALNUM "_", 10, true},
    {"glpat-", GITLAB, 10, false},  {"gldt-", GITLAB, 10, false},   {"glrt-", GITLAB, 10, false},
    {"glptt-", GITLAB, 10, false},  {"glcbt-", GITLAB, 10, false},  {"glft-", GITLAB, 10, false},
    {"glsoat-", GITLAB, 10, false}, {"gloas-", GITLAB, 10, false},  {"glagent-", GITLAB, 10, false},
    {"hf_", ALNUM, 10, true},       {"npm_", ALNUM, 20, true},      {"pypi-", URL_SAFE, 20, true},
    {"AKIA", UPPER, 12, true},      {"ASIA", UPPER, 12, true},      {"AIza", URL_SAFE, 20, true},
    {"xoxb-", URL_SAFE, 10, true},  {"xoxp-", URL_SAFE, 10, true},  {"xoxa-", URL_SAFE, 10, true},
    {"xoxs-", URL_SAFE, 10, true},  {"xapp-", URL_SAFE, 10, true},  {"eyJ", BASE64, 20, true},
    {"dop_v1_", ALNUM, 20, true},   {"nvapi-", URL_SAFE, 20, true},
};

/* Texts in an address before a token: those of hooks that take messages from all who know their address. */
static const char *const hooks[] = {
    "hooks.slack.com/services/", "/api/webhooks/", "/webhookb2/", "/webhook/", "/hooks/", "/hook/",
    "api.telegram.org/bot",
};

/* Texts behind a password in the names that drivers give to databases: "me:password@tcp(host)/db". */
static const char *const networks[] = {"tcp(", "tcp6(", "unix(", "cloudsql("};

static const char *const schemes[] = {"Bearer ", "Basic "};

/* Words of a language are shorter than this, and have no digits. */
#define WORD_BYTES 24

#define TOKEN_BYTES 16 /* at least, of a part of an address that is a secret */

/* Letters and digits mixed, eight at least: chosen by a machine rather than written by a person. */
static bool secret_form_is_random(const char *text, size_t length)
{
    bool letter = false, digit = false;
    for (size_t i = 0; i < length; i++) {
        letter |= isalpha((unsigned char)text[i]) != 0;
        digit |= isdigit((unsigned char)text[i]) != 0;
    }
    return length >= 8 && letter && digit;
}

static bool find_service(const char *text, struct secret_form *out)
{
    for (size_t i = 0; i < LENGTH(services); i++) {
        size_t prefix = strlen(services[i].prefix);
        if (strncmp(text, services[i].prefix, prefix) != 0)
            continue;
        size_t length = strspn(text + prefix, services[i].characters);
        if (length < services[i].least ||
            (services[i].is_a_word && length < WORD_BYTES && !secret_form_is_random(text + prefix, length)))
            continue;
        while (length > services[i].least && text[prefix + length - 1] == '.')
            length--;
        *out = (struct secret_form){0, prefix + length};
        return true;
    }
    return false;
}

static bool find_scheme(const char *text, struct secret_form *out)
{
    for (size_t i = 0; i < LENGTH(schemes); i++) {
        size_t prefix = strlen(schemes[i]);
        if (strncasecmp(text, schemes[i], prefix) != 0)
            continue;
        size_t length = strspn(text + prefix, BASE64);
        *out = (struct secret_form){prefix, length};
        return length >= WORD_BYTES || secret_form_is_random(text + prefix, length);
    }
    return false;
}

static bool is_token(const char *text, size_t length)
{
    return length >= TOKEN_BYTES && secret_form_is_random(text, length);
}

/* "://user:password@host", "://token@host" */
static bool find_user(const char *text, struct secret_form *out)
{
    size_t end = strcspn(text + 3, "/ \t\r\n\"'<>?#\\") + 3, at = end;
    const char *colon = memchr(text + 3, ':', end - 3);
    while (at > 3 && text[at - 1] != '@')
        at--;
    if (at <= 3)
        return false;
    const char *secret = colon && colon < text + at - 1 ? colon + 1 : text + 3;
    *out = (struct secret_form){(size_t)(secret - text), (size_t)(text + at - 1 - secret)};
    return out->hidden > 0 && (secret != text + 3 || is_token(secret, out->hidden));
}

/* "://hooks.slack.com/services/T0/B0/token" */
static bool find_hook(const char *text, struct secret_form *out)
{
    const size_t end = strcspn(text, " \t\r\n\"'<>?#\\,;)]}");
    for (size_t i = 0; i < LENGTH(hooks); i++) {
        const char *hook = memmem(text, end, hooks[i], strlen(hooks[i]));
        const size_t visible = hook ? (size_t)(hook - text) + strlen(hooks[i]) : end;
        const size_t hidden = hooks[i][strlen(hooks[i]) - 1] == '/' ? end - visible : strcspn(text + visible, "/");
        if (hook && visible + hidden <= end && is_token(text + visible, hidden)) {
            *out = (struct secret_form){visible, hidden};
            return true;
        }
    }
    return false;
}

/* ":password@tcp(host)" */
static bool find_network(const char *text, struct secret_form *out)
{
    const size_t length = strcspn(text, "@ \t\r\n\"'<>(");
    for (size_t i = 0; text[length] == '@' && length > 1 && i < LENGTH(networks); i++) {
        *out = (struct secret_form){1, length - 1};
        if (strncmp(text + length + 1, networks[i], strlen(networks[i])) == 0)
            return true;
    }
    return false;
}

/* "-----BEGIN RSA PRIVATE KEY-----" and what follows, up to the end of the key. */
static bool find_key(const char *text, struct secret_form *out)
{
    static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY", rule[] = "-----";
    if (strncmp(text, begin, strlen(begin)) != 0)
        return false;
    const size_t name = strspn(text + strlen(begin), UPPER " ");
    const char *end = text + strlen(begin) + name;
    if (name < strlen(kind) || strncmp(end, rule, strlen(rule)) != 0 ||
        !memmem(text, (size_t)(end - text), kind, strlen(kind)))
        return false;
    end += strlen(rule);
    const char *last = strstr(end, "-----END ");
    *out = (struct secret_form){(size_t)(end - text), last ? (size_t)(last - end) : strspn(end, BASE64 "\\ \r\n:,")};
    return out->hidden > 0;
}

/* Returns whether one begins at `text`: a key of a well-known service ("sk-…", "ghp_…", "hf_…", "AKIA…"), a token
 * behind "Bearer" or "Basic", a JSON web token, the body of a private key or, where `text` is at ":", the password or
 * token of an address. Before `text` no letter, digit or "_" may stand, which is the caller's to see to. */
static bool secret_form_find(const char *text, struct secret_form *out)
{
    if (text[0] == ':')
        return strncmp(text, "://", 3) == 0 ? find_user(text, out) || find_hook(text, out) : find_network(text, out);
    return find_service(text, out) || find_scheme(text, out) || find_key(text, out);
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

void secrets_add_escaped(struct secrets *s, const char *value)
{
    OWNED_BUFFER b = BUFFER_INIT;
    secrets_add(s, value);
    buffer_add_json_string(&b, value, strlen(value));
    OWNED char *inside = xstrndup(buffer_text(&b) + 1, b.length - 2);
    secrets_add(s, inside);
}

void secrets_add_settings(struct secrets *s, char *const *settings, char *const *listed)
{
    for (; settings && *settings; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals && secrets_match_name(*settings, listed))
            secrets_add_escaped(s, equals + 1);
    }
}

void secrets_free(struct secrets *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->values[i]);
    free(s->values);
    *s = SECRETS_INIT;
}

/* The value that begins at `text`, NULL when none does. */
static const char *value_at(const struct secrets *s, const char *text)
{
    return FIND(i, s->count, strncmp(text, s->values[i], strlen(s->values[i])) == 0, s->values[i]);
}

/* --- texts --- */

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
#define SHORT_NUMBER_BYTES 5
#define LOOKED_BACK 4096 /* bytes, for the program that an option is of */

/* The kind of a text, and so of what is looked for. */
enum reading_as {
    AS_VALUES,  /* known values alone */
    AS_TEXT,    /* what anybody may have written */
    AS_COMMAND, /* an option's value may be the next word */
    AS_SWEEP,   /* a sweep file, which must stay one */
};

/* Part of a text. */
struct span {
    const char *text;
    size_t length;
};

/* Returns whether a value behind a name that tells of a secret is none. */
static bool is_no_secret(enum secret_name kind, struct span value)
{
    static const char *const words[] = {"true", "false", "yes", "no", "none", "null", "on", "off", SECRET_REDACTED};
    for (size_t i = 0; i < LENGTH(words); i++)
        if (strlen(words[i]) == value.length && strncasecmp(words[i], value.text, value.length) == 0)
            return true;
    /* "$TOKEN", "${TOKEN}", "{token}": where it is, not what it is. */
    if (value.length == 0 || value.text[0] == '$' || value.text[0] == '{')
        return true;
    return kind == SECRET_NAME_LIKELY && value.length < SHORT_NUMBER_BYTES &&
           strspn(value.text, "0123456789.") >= value.length;
}

/* The text between a name and its value. */
struct joint {
    size_t length;
    bool equals, colon, comma, apart; /* apart: a blank or a comma */
    char quote;                       /* that opens the value; 0: none */
    bool is_escaped;                  /* by a backslash */
};

static struct joint joint_at(const char *text)
{
    enum { BYTES_MOST = 64 };
    struct joint j = {0};
    for (; j.length < BYTES_MOST && text[j.length] && strchr(" \t\r\n,=:\"'\\", text[j.length]); j.length++) {
        const char c = text[j.length];
        bool ends = (c == '=' || c == ':') && (j.equals || j.colon);
        /* The words of a list may stand on lines of their own. */
        if (ends || ((c == '\n' || c == '\r') && !j.comma))
            break;
        j.equals |= c == '=';
        j.colon |= c == ':';
        j.comma |= c == ',';
        j.apart |= c == ' ' || c == '\t' || c == ',';
        j.is_escaped = j.length > 0 && text[j.length - 1] == '\\';
        j.quote = c == '"' || c == '\'' ? c : '\0';
    }
    return j;
}

/* Up to the quote that closes what `quote` has opened. A quote that was itself behind a backslash is closed by such. */
static size_t quoted_length(const char *text, char quote, bool is_escaped)
{
    size_t n = 0;
    for (; text[n] && text[n] != '\n' && text[n] != quote; n++) {
        if (text[n] != '\\' || quote == '\'' || !text[n + 1])
            continue;
        if (is_escaped && text[n + 1] == quote)
            break;
        n++;
    }
    return n;
}

/* The value behind a joint: up to its closing quote, else as far as a word goes. */
static struct span value_span(const char *text, const struct joint *j)
{
    if (j->quote)
        return (struct span){text, quoted_length(text, j->quote, j->is_escaped)};
    /* "${TOKEN}" and "{token}" are words too. */
    bool is_reference = text[0] == '$' || text[0] == '{';
    return (struct span){text, strcspn(text, is_reference ? " \t\r\n\"'" : " \t\r\n\"'\\,;&|<>()[]{}")};
}

/* A number or a boolean of a sweep file cannot become a text. */
static bool is_bare(const struct joint *j, const char *name, struct span value)
{
    return j->equals && !j->quote && name[0] != '-' && strspn(value.text, "0123456789.+-eE_") >= value.length;
}

static bool joins(const struct joint *j, const char *name, struct span value, enum reading_as as)
{
    if (j->equals)
        return !j->comma && !(as == AS_SWEEP && is_bare(j, name, value));
    if (j->colon)
        return j->quote || secret_form_is_random(value.text, value.length);
    return as >= AS_COMMAND && name[0] == '-' && j->apart && value.text[0] != '-';
}

/* Returns whether the name at `text` is one of an address's query, and its value was made by a machine. */
static bool is_in_query(const char *text, size_t before, struct span value)
{
    return before > 0 && strchr("?&;", text[-1]) && secret_form_is_random(value.text, value.length);
}

/* A value behind a name that begins at `text`, which has `before` characters before it. */
static bool find_named(const struct secrets *s, const char *text, size_t before, enum reading_as as, struct span *out)
{
    size_t dashes = strspn(text, "-"), length = strspn(text + dashes, NAME_CHARACTERS);
    const char *name = text + dashes;
    struct joint j = joint_at(name + length);
    struct span value = value_span(name + length + j.length, &j);
    if (length == 0 || j.length == 0 || !joins(&j, text, value, as))
        return false;
    enum secret_name kind = secret_name_kind(name, length, s->names);
    const char *known = value_at(s, value.text);
    if (known && strlen(known) > value.length)
        value.length = strlen(known);
    *out = value;
    return kind && !is_no_secret(kind, value) && (kind != SECRET_NAME_QUERY || is_in_query(text, before, value));
}

/* --- options of programs --- */

/* Options whose names say nothing; the value stands beside them or is the next word. */
static const struct program_option {
    const char *program, *option;
    bool is_pair; /* NAME:SECRET */
} program_options[] = {
    {"curl", "-u", true},     {"curl", "--user", true}, {"curl", "-U", true},       {"curl", "--proxy-user", true},
    {"sshpass", "-p", false}, {"mysql", "-p", false},   {"mysqldump", "-p", false}, {"mysqladmin", "-p", false},
};

/* Returns whether the program is a word of the `before` characters before `text`. */
static bool follows_program(const char *text, size_t before, const char *program)
{
    const size_t length = strlen(program), looked_at = before < LOOKED_BACK ? before : LOOKED_BACK;
    const char *begin = text - looked_at, *p = begin;
    while ((p = memmem(p, (size_t)(text - p), program, length))) {
        const bool begins = p == begin || !(isalnum((unsigned char)p[-1]) || strchr("_-.", p[-1]));
        if (begins && strchr(" \t\"',", p[length]))
            return true;
        p++;
    }
    return false;
}

/* mysql's -p asks for the password where none is joined to it. */
static bool takes_next_word(const struct program_option *o)
{
    return strncmp(o->program, "mysql", 5) != 0;
}

/* The secret of such an option's value; no bytes where it has none. */
static struct span program_secret(const struct program_option *o, struct span value)
{
    const char *colon = memchr(value.text, ':', value.length);
    if (!o->is_pair)
        return value;
    if (!colon || strspn(value.text, "0123456789:") >= value.length)
        return (struct span){value.text, 0};
    return (struct span){colon + 1, (size_t)(value.text + value.length - colon - 1)};
}

/* "curl -u me:password", "sshpass -pPASSWORD" at `text`, which is at the option. */
static bool find_program_option(const char *text, size_t before, struct span *out)
{
    for (size_t i = 0; text[0] == '-' && i < LENGTH(program_options); i++) {
        const struct program_option *o = &program_options[i];
        const size_t length = strlen(o->option);
        if (strncmp(text, o->option, length) != 0 || !follows_program(text, before, o->program))
            continue;
        const struct joint j = joint_at(text + length);
        const bool is_joined = j.length == 0 && o->option[1] != '-';
        if (!is_joined && (j.length == 0 || (text[0] == '-' && o->option[1] != '-' && !j.apart)))
            continue;
        if (!is_joined && !takes_next_word(o))
            continue;
        *out = program_secret(o, value_span(text + length + j.length, &j));
        if (out->length > 0 && out->text[0] != '-' && !is_no_secret(SECRET_NAME_CERTAIN, *out))
            return true;
    }
    return false;
}

/* The first secret in `text`, which has `before` characters before it. */
static bool find_secret(const struct secrets *s, const char *text, size_t before, enum reading_as as, struct span *out)
{
    for (const char *p = text; *p; p++, before++) {
        const char *value = value_at(s, p);
        struct secret_form form;
        *out = (struct span){p, value ? strlen(value) : 0};
        if (value)
            return true;
        if (as == AS_VALUES)
            continue;
        bool begins = before == 0 || (!isalnum((unsigned char)p[-1]) && p[-1] != '_');
        if ((begins || *p == ':') && secret_form_find(p, &form)) {
            *out = (struct span){p + form.visible, form.hidden};
            if (!is_no_secret(SECRET_NAME_CERTAIN, *out))
                return true;
        }
        if (begins && (before == 0 || p[-1] != '-') &&
            (find_named(s, p, before, as, out) || find_program_option(p, before, out)))
            return true;
    }
    return false;
}

static char *redact(const struct secrets *s, const char *text, enum reading_as as)
{
    struct buffer b = BUFFER_INIT;
    struct span secret;
    const char *p = text;
    while (find_secret(s, p, (size_t)(p - text), as, &secret)) {
        buffer_add(&b, p, (size_t)(secret.text - p));
        buffer_add_text(&b, SECRET_REDACTED);
        p = secret.text + secret.length;
    }
    buffer_add_text(&b, p);
    return buffer_take(&b);
}

char *secrets_redact(const struct secrets *s, const char *text)
{
    return text ? redact(s, text, AS_TEXT) : NULL;
}

char *secrets_redact_sweep(const struct secrets *s, const char *text)
{
    return redact(s, text, AS_SWEEP);
}

char *secrets_redact_values(const struct secrets *s, const char *text)
{
    return redact(s, text, AS_VALUES);
}

/* --- commands --- */

/* The secret of word `i` by the program's own option before it or in it; no bytes where it has none. */
static struct span secret_of_program(char *const *words, size_t i)
{
    OWNED_BUFFER line = BUFFER_INIT;
    struct span found = {words[i], 0};
    if (i == 0 || (words[i][0] != '-' && words[i - 1][0] != '-'))
        return found;
    for (size_t k = 0; k < i; k++)
        buffer_printf(&line, "%s ", words[k]);
    const size_t before = line.length, option = i > 0 ? before - strlen(words[i - 1]) - 1 : 0;
    buffer_add_text(&line, words[i]);
    const char *text = buffer_text(&line);
    for (size_t k = 0; k < LENGTH(program_options); k++) {
        const struct program_option *o = &program_options[k];
        if (takes_next_word(o) && strcmp(words[i - 1], o->option) == 0 &&
            follows_program(text + option, option, o->program))
            found = program_secret(o, (struct span){words[i], strlen(words[i])});
    }
    struct span joined;
    if (!found.length && find_program_option(text + before, before, &joined) && !strpbrk(words[i], " \t\n"))
        found = (struct span){words[i] + (joined.text - text - before), joined.length};
    return found;
}

/* The secret of word `i`, or no bytes: all of it behind an option, else what stands behind "=". */
static struct span whole_word_secret(const struct secrets *s, char *const *words, size_t i)
{
    const char *option = i > 0 ? words[i - 1] : "", *word = words[i];
    size_t dashes = strspn(option, "-"), own = strspn(word, "-"), name = strcspn(word + own, "=");
    bool is_option = dashes && !strchr(option, '=');
    enum secret_name kind = is_option ? secret_name_kind(option + dashes, strlen(option + dashes), s->names) : 0;
    struct span value = {word, strlen(word)};
    if (kind > SECRET_NAME_QUERY && word[0] != '-' && !is_no_secret(kind, value))
        return value;
    const struct span of_program = secret_of_program(words, i);
    if (of_program.length > 0)
        return of_program;
    /* "TOKEN=… train …" is a line for the shell. */
    bool is_line = own == 0 && strpbrk(word, " \t\n");
    if (is_line || word[own + name] != '=' || strspn(word + own, NAME_CHARACTERS) < name)
        return (struct span){word, 0};
    kind = secret_name_kind(word + own, name, s->names);
    value = (struct span){word + own + name + 1, strlen(word + own + name + 1)};
    return kind > SECRET_NAME_QUERY && !is_no_secret(kind, value) ? value : (struct span){word, 0};
}

char **secrets_redact_words(const struct secrets *s, char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    char **out = xcalloc(count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        struct span whole = whole_word_secret(s, words, i);
        out[i] = whole.length ? xasprintf("%.*s" SECRET_REDACTED, (int)(whole.text - words[i]), words[i])
                              : redact(s, words[i], AS_COMMAND);
    }
    return out;
}

/* Returns where `given` was the word `i` of `words`; -1: nowhere. */
static long find_place(char *const *words, size_t i, char *const *redacted)
{
    for (long k = 0; redacted[k]; k++)
        if (strcmp(redacted[k], words[i]) == 0 && (i == 0 || k == 0 || strcmp(redacted[k - 1], words[i - 1]) == 0))
            return k;
    return -1;
}

bool secrets_restore_words(const struct secrets *s, char **words, char *const *given)
{
    bool whole = true;
    size_t count = 0;
    OWNED_STRINGS redacted = secrets_redact_words(s, given);
    while (words[count])
        count++;
    /* From behind, so that the word before is as it was recorded. */
    for (size_t i = count; i-- > 0;) {
        if (!strstr(words[i], SECRET_REDACTED))
            continue;
        long k = find_place(words, i, redacted);
        whole &= k >= 0;
        if (k < 0)
            continue;
        free(words[i]);
        words[i] = xstrdup(given[k]);
    }
    return whole;
}

void secrets_add_command(struct secrets *s, char *const *words)
{
    for (size_t i = 0; words && words[i]; i++) {
        struct span found = whole_word_secret(s, words, i);
        const char *rest = words[i];
        while (found.length > 0 || find_secret(s, rest, (size_t)(rest - words[i]), AS_COMMAND, &found)) {
            OWNED char *value = xstrndup(found.text, found.length);
            secrets_add_escaped(s, value);
            rest = found.text + found.length;
            found.length = 0;
        }
    }
}

bool secrets_are_left_out(char *const *words)
{
    while (*words && !strstr(*words, SECRET_REDACTED))
        words++;
    return *words != NULL;
}
