#include "secrets/forms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* What stands in an address before a token: of hooks that take messages from whoever knows their address. */
static const char *const hooks[] = {
    "hooks.slack.com/services/", "/api/webhooks/", "/webhookb2/", "/webhook/", "/hooks/", "/hook/",
    "api.telegram.org/bot",
};

/* What stands behind a password in the names that drivers give to databases: "me:password@tcp(host)/db". */
static const char *const networks[] = {"tcp(", "tcp6(", "unix(", "cloudsql("};

static const char *const schemes[] = {"Bearer ", "Basic "};

/* Words of a language are shorter than this, and have no digits. */
#define WORD_BYTES 24

#define TOKEN_BYTES 16 /* at least, of a part of an address that is a secret */

bool secret_form_is_random(const char *text, size_t length)
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
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
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
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
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
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
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
    for (size_t i = 0; text[length] == '@' && length > 1 && i < sizeof networks / sizeof *networks; i++) {
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

bool secret_form_find(const char *text, struct secret_form *out)
{
    if (text[0] == ':')
        return strncmp(text, "://", 3) == 0 ? find_user(text, out) || find_hook(text, out) : find_network(text, out);
    return find_service(text, out) || find_scheme(text, out) || find_key(text, out);
}
