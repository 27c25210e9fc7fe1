#include "secrets/forms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define URL_SAFE ALNUM "_-"
#define BASE64 ALNUM "._~+/=-"

/* As the services document them. */
static const struct {
    const char *prefix, *characters;
    size_t least; /* characters behind the prefix */
} services[] = {
    {"sk-", URL_SAFE, 10},    {"sk_live_", ALNUM, 10},  {"rk_live_", ALNUM, 10},
    {"ghp_", ALNUM, 10},      {"gho_", ALNUM, 10},      {"ghu_", ALNUM, 10},
    {"ghs_", ALNUM, 10},      {"ghr_", ALNUM, 10},      {"github_pat_", ALNUM "_", 10},
    {"glpat-", URL_SAFE, 10}, {"hf_", ALNUM, 10},       {"npm_", ALNUM, 20},
    {"pypi-", URL_SAFE, 20},  {"AKIA", UPPER, 12},      {"ASIA", UPPER, 12},
    {"AIza", URL_SAFE, 20},   {"xoxb-", URL_SAFE, 10},  {"xoxp-", URL_SAFE, 10},
    {"xoxa-", URL_SAFE, 10},  {"xoxs-", URL_SAFE, 10},  {"eyJ", BASE64, 20},
    {"dop_v1_", ALNUM, 20},   {"nvapi-", URL_SAFE, 20},
};

static const char *const schemes[] = {"Bearer ", "Basic "};

/* Words of a language are shorter than this, and have no digits. */
#define WORD_BYTES 24

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
        if (length < services[i].least || (length < WORD_BYTES && !secret_form_is_random(text + prefix, length)))
            continue;
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

/* "://user:password@host" */
static bool find_url(const char *text, struct secret_form *out)
{
    size_t end = strcspn(text + 3, "/ \t\r\n\"'<>?#\\") + 3, at = end;
    const char *colon = memchr(text + 3, ':', end - 3);
    while (at > 3 && text[at - 1] != '@')
        at--;
    if (!colon || at <= 3 || colon + 1 >= text + at - 1)
        return false;
    *out = (struct secret_form){(size_t)(colon + 1 - text), (size_t)(text + at - 1 - (colon + 1))};
    return true;
}

bool secret_form_find(const char *text, struct secret_form *out)
{
    if (text[0] == ':')
        return strncmp(text, "://", 3) == 0 && find_url(text, out);
    return find_service(text, out) || find_scheme(text, out);
}
