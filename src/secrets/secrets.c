#include "secrets/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- lists of words --- */

/* Part of a text. */
struct span {
    const char *text;
    size_t length;
};

/* The next word of a list, between two of which a blank stands: `{list, 0}` before the first. */
static bool next_word(struct span *word)
{
    word->text += word->length;
    word->text += *word->text == ' ';
    word->length = strcspn(word->text, " ");
    return word->length > 0;
}

/* In any case. */
static bool is_among(const char *words, struct span s)
{
    for (struct span word = {words, 0}; next_word(&word);)
        if (word.length == s.length && strncasecmp(word.text, s.text, s.length) == 0)
            return true;
    return false;
}

static bool has_any(const char *words, const char *text)
{
    for (struct span word = {words, 0}; next_word(&word);)
        if (memmem(text, strlen(text), word.text, word.length))
            return true;
    return false;
}

/* Bytes of the word that `text` begins with; 0: none of them. */
static size_t word_at(const char *words, const char *text)
{
    for (size_t n = 0; *words; words += *words == ' ', n = 0) {
        while (words[n] == text[n] && text[n] && text[n] != ' ')
            n++;
        if (n > 0 && (words[n] == ' ' || !words[n]))
            return n;
        words += n + strcspn(words + n, " ");
    }
    return 0;
}

/* --- variables --- */

/* Words of a variable's name, between underscores. */
static const char secret_words[] = "TOKEN KEY AUTH PASS PASSPHRASE SSHPASS PAT JWT COOKIE BEARER DSN WEBHOOK";

/* Anywhere in a name. */
static const char secret_parts[] = "SECRET PASSWORD PASSWD CREDENTIAL APIKEY ACCESSKEY";

bool secrets_match_name(const char *name, char *const *listed)
{
    const size_t n = setting_name_length(name);
    OWNED char *capitals = xstrndup(name, n);
    for (size_t i = 0; i < n; i++)
        capitals[i] = (char)toupper((unsigned char)name[i]);
    if (setting_is_among(name, listed) || has_any(secret_parts, capitals))
        return true;
    for (size_t begin = 0, length; begin < n; begin += length + 1) {
        length = strcspn(capitals + begin, "_");
        const struct span word = {capitals + begin, length};
        /* PWD alone is a directory, MYSQL_PWD none. */
        if (is_among(secret_words, word) || (begin > 0 && is_among("PWD", word)) ||
            (length > 5 && strncmp(word.text + length - 5, "TOKEN", 5) == 0))
            return true;
    }
    return false;
}

/* --- options and keys --- */

/* Names of options, keys and variables, in a command or a text, whose values are secrets. */
enum secret_name {
    SECRET_NAME_NONE = 0,
    SECRET_NAME_QUERY,   /* only in an address, behind "?" or "&": "sig" */
    SECRET_NAME_LIKELY,  /* a short number behind it is not a secret: "--token 7" */
    SECRET_NAME_CERTAIN, /* whatever stands behind it is one: "--api-key", "password" */
};

/* Parts of a name without its "-", "_" and ".", anywhere in it. */
static const char option_parts[] = "SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL APIKEY ACCESSKEY PRIVATEKEY AUTHKEY"
                                   " APITOKEN AUTHTOKEN ACCESSTOKEN";

/* A name that ends in one of these words is a file's or a variable's that holds the secret. */
static const char holders[] = "FILE PATH DIR NAME ENV VAR LENGTH SIZE PY SH JSON TOML YAML YML";

/* A whole name, or the two last words of one: "pad-token" and "sort-key" are no secrets. */
static const char option_words[] =
    "TOKEN HF_TOKEN HUB_TOKEN HUGGINGFACE_TOKEN FACE_TOKEN GITHUB_TOKEN GITLAB_TOKEN GH_TOKEN WANDB_TOKEN REFRESH_TOKEN"
    " SESSION_TOKEN BEARER_TOKEN READ_TOKEN WRITE_TOKEN DEPLOY_TOKEN SLACK_TOKEN BOT_TOKEN USER_TOKEN JWT_TOKEN"
    " SECURITY_TOKEN WANDB_KEY OPENAI_KEY AWS_KEY COMET_KEY ANTHROPIC_KEY LICENSE_KEY ENCRYPTION_KEY SIGNING_KEY"
    " SSH_KEY NEPTUNE_KEY ACCOUNT_KEY DB_PASS USER_PASS SMTP_PASS REGISTRY_PASS PROXY_PASS HTTP_PASS MYSQL_PWD DB_PWD"
    " USER_PWD JWT BEARER COOKIE PAT DSN";

/* Last words of names in the query of an address. */
static const char query_words[] = "SIG SIGNATURE KEY TOKEN CODE SAS";

#define NAME_BYTES_MOST 100
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* A name in capitals: without what stands between its words, and with "_" there. */
struct option_name {
    char joined[NAME_BYTES_MOST + 1], words[NAME_BYTES_MOST + 1];
    const char *last, *two; /* the last word; the last two, or the one that there is */
};

static void take_apart(const char *name, size_t length, struct option_name *out)
{
    size_t joined = 0, n = 0;
    *out = (struct option_name){.last = out->words, .two = out->words};
    for (size_t i = 0; i < length; i++) {
        if (strchr("-_.", name[i]))
            continue;
        if (n > 0 && strchr("-_.", name[i - 1])) {
            out->words[n++] = '_';
            out->two = out->last;
            out->last = out->words + n;
        }
        out->joined[joined++] = out->words[n++] = (char)toupper((unsigned char)name[i]);
    }
}

static bool is_listed(char *const *listed, const char *joined)
{
    for (; listed && *listed; listed++) {
        const char *c = *listed, *rest = joined;
        while (*c && (strchr("-_.", *c) || toupper((unsigned char)*c) == *rest++))
            c++;
        if (!*c && !*rest)
            return true;
    }
    return false;
}

/* Returns the kind of a name without dashes before it, in any case, its words joined by "-", "_" or ".": "api-key",
 * "wandb.api_key", "HF_TOKEN", or one of `listed` (NULL-terminated, may be NULL). Stricter than secrets_match_name
 * where the name is not that of a variable: "pad-token", "num-key-value-heads" and "api-key-file" are none. */
static enum secret_name secret_name_kind(const char *name, size_t length, char *const *listed)
{
    struct option_name n;
    if (length == 0 || length > NAME_BYTES_MOST)
        return SECRET_NAME_NONE;
    take_apart(name, length, &n);
    const struct span last = {n.last, strlen(n.last)}, two = {n.two, strlen(n.two)};
    const enum secret_name kind = last.length > 0 && is_listed(listed, n.joined) ? SECRET_NAME_CERTAIN
                                  : is_among(holders, last)                      ? SECRET_NAME_NONE
                                  : has_any(option_parts, n.joined)              ? SECRET_NAME_CERTAIN
                                  : is_among(option_words, two)                  ? SECRET_NAME_LIKELY
                                  : is_among(query_words, last)                  ? SECRET_NAME_QUERY
                                                                                 : SECRET_NAME_NONE;
    OWNED char *variable = xstrndup(name, length);
    if (kind > SECRET_NAME_QUERY || variable[strspn(variable, UPPER "_")])
        return kind;
    return secrets_match_name(variable, listed) ? SECRET_NAME_LIKELY : kind;
}

/* --- forms --- */

/* Secrets that are recognised by their form, whatever their name. */

#define ALNUM UPPER "abcdefghijklmnopqrstuvwxyz"
#define URL_SAFE ALNUM "_-"
#define GITLAB URL_SAFE "."
#define BASE64 ALNUM "._~+/=-"

/* As the services document them. A prefix that a word of a language may begin with wants letters and digits behind
 * it. */
static const struct {
    const char *prefixes, *characters;
    size_t least; /* characters behind the prefix */
    bool is_a_word;
} services[] = {
    {"sk- xoxb- xoxp- xoxa- xoxs- xapp-", URL_SAFE, 10, true},
    {"sk_live_ rk_live_", ALNUM, 10, false},
    {"ghp_ gho_ ghu_ ghs_ ghr_ hf_", ALNUM, 10, true},
    {"github_pat_", ALNUM "_", 10, true},
    {"glpat- gldt- glrt- glptt- glcbt- glft- glsoat- gloas- glagent-", GITLAB, 10, false},
    {"npm_ dop_v1_", ALNUM, 20, true},
    {"pypi- AIza nvapi-", URL_SAFE, 20, true},
    {"AKIA ASIA", UPPER, 12, true},
    {"eyJ", BASE64, 20, true},
};

/* Texts in an address before a token: those of hooks that take messages from all who know their address. */
static const char hooks[] =
    "hooks.slack.com/services/ /api/webhooks/ /webhookb2/ /webhook/ /hooks/ /hook/ api.telegram.org/bot";

/* Texts behind a password in the names that drivers give to databases: "me:password@tcp(host)/db". */
static const char networks[] = "tcp( tcp6( unix( cloudsql(";

/* Words of a language are shorter than this, and have no digits. */
#define WORD_BYTES 24

#define TOKEN_BYTES 16 /* at least, of a part of an address that is a secret */

/* Letters and digits mixed, eight at least: chosen by a machine rather than written by a person. */
static bool is_random(const char *text, size_t length)
{
    bool letter = false, digit = false;
    for (size_t i = 0; i < length; i++) {
        letter |= isalpha((unsigned char)text[i]) != 0;
        digit |= isdigit((unsigned char)text[i]) != 0;
    }
    return length >= 8 && letter && digit;
}

static bool find_service(const char *text, struct span *out)
{
    for (size_t i = 0; i < LENGTH(services); i++) {
        const size_t prefix = word_at(services[i].prefixes, text);
        size_t length = prefix ? strspn(text + prefix, services[i].characters) : 0;
        if (length < services[i].least ||
            (services[i].is_a_word && length < WORD_BYTES && !is_random(text + prefix, length)))
            continue;
        while (length > services[i].least && text[prefix + length - 1] == '.')
            length--;
        *out = (struct span){text, prefix + length};
        return true;
    }
    return false;
}

static bool find_scheme(const char *text, struct span *out)
{
    const size_t prefix = strncasecmp(text, "Bearer ", 7) == 0 ? 7 : strncasecmp(text, "Basic ", 6) == 0 ? 6 : 0;
    *out = (struct span){text + prefix, prefix ? strspn(text + prefix, BASE64) : 0};
    return out->length >= WORD_BYTES || is_random(out->text, out->length);
}

static bool is_token(struct span s)
{
    return s.length >= TOKEN_BYTES && is_random(s.text, s.length);
}

/* "://user:password@host", "://token@host" */
static bool find_user(const char *text, struct span *out)
{
    const char *begin = text + 3, *at = memrchr(begin, '@', strcspn(begin, "/ \t\r\n\"'<>?#\\"));
    if (!at)
        return false;
    const char *colon = memchr(begin, ':', (size_t)(at - begin)), *secret = colon ? colon + 1 : begin;
    *out = (struct span){secret, (size_t)(at - secret)};
    return out->length > 0 && (colon || is_token(*out));
}

/* "://hooks.slack.com/services/T0/B0/token" */
static bool find_hook(const char *text, struct span *out)
{
    const size_t end = strcspn(text, " \t\r\n\"'<>?#\\,;)]}");
    for (struct span hook = {hooks, 0}; next_word(&hook);) {
        const char *at = memmem(text, end, hook.text, hook.length), *token = at ? at + hook.length : text + end;
        const size_t rest = (size_t)(text + end - token);
        *out = (struct span){token, hook.text[hook.length - 1] == '/' ? rest : strcspn(token, "/")};
        if (at && out->length <= rest && is_token(*out))
            return true;
    }
    return false;
}

/* ":password@tcp(host)" */
static bool find_network(const char *text, struct span *out)
{
    const size_t length = strcspn(text, "@ \t\r\n\"'<>(");
    *out = (struct span){text + 1, length - 1};
    return text[length] == '@' && length > 1 && word_at(networks, text + length + 1);
}

/* "-----BEGIN RSA PRIVATE KEY-----" and what follows, up to the end of the key. */
static bool find_key(const char *text, struct span *out)
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
    *out = (struct span){end, last ? (size_t)(last - end) : strspn(end, BASE64 "\\ \r\n:,")};
    return out->length > 0;
}

/* Returns whether one begins at `text`: a key of a well-known service ("sk-…", "ghp_…", "hf_…", "AKIA…"), a token
 * behind "Bearer" or "Basic", a JSON web token, the body of a private key or, where `text` is at ":", the password or
 * token of an address. Before `text` no letter, digit or "_" may stand, which is the caller's to see to. */
static bool find_form(const char *text, struct span *out)
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

#define NAME_CHARACTERS URL_SAFE "."
#define SHORT_NUMBER_BYTES 5
#define LOOKED_BACK 4096 /* bytes, for the program that an option is of */

/* The kind of a text, and so of what is looked for. */
enum reading_as {
    AS_VALUES,  /* known values alone */
    AS_TEXT,    /* what anybody may have written */
    AS_COMMAND, /* an option's value may be the next word */
    AS_SWEEP,   /* a sweep file, which must stay one */
};

/* Returns whether a value behind a name that tells of a secret is none. */
static bool is_no_secret(enum secret_name kind, struct span value)
{
    /* "$TOKEN", "${TOKEN}", "{token}": where it is, not what it is. */
    if (is_among("true false yes no none null on off " SECRET_REDACTED, value) || value.length == 0 ||
        value.text[0] == '$' || value.text[0] == '{')
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
        return j->quote || is_random(value.text, value.length);
    return as >= AS_COMMAND && name[0] == '-' && j->apart && value.text[0] != '-';
}

/* Returns whether the name at `text` is one of an address's query, and its value was made by a machine. */
static bool is_in_query(const char *text, size_t before, struct span value)
{
    return before > 0 && strchr("?&;", text[-1]) && is_random(value.text, value.length);
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
    const char *programs, *options;
    bool is_pair;   /* NAME:SECRET */
    bool is_beside; /* the program asks for it where it does not stand beside */
} program_options[] = {
    {"curl", "-u --user -U --proxy-user", true, false},
    {"sshpass", "-p", false, false},
    {"mysql mysqldump mysqladmin", "-p", false, true},
};

/* Returns whether one of the programs is a word of the `before` characters before `text`. */
static bool follows_program(const char *text, size_t before, const char *programs)
{
    const char *begin = text - (before < LOOKED_BACK ? before : LOOKED_BACK);
    for (struct span program = {programs, 0}; next_word(&program);)
        for (const char *p = begin; (p = memmem(p, (size_t)(text - p), program.text, program.length)); p++) {
            const bool begins = p == begin || !(isalnum((unsigned char)p[-1]) || strchr("_-.", p[-1]));
            if (begins && strchr(" \t\"',", p[program.length]))
                return true;
        }
    return false;
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
        const size_t length = word_at(o->options, text);
        if (length == 0 || !follows_program(text, before, o->programs))
            continue;
        const struct joint j = joint_at(text + length);
        const bool is_short = text[1] != '-', is_joined = j.length == 0 && is_short;
        if (!is_joined && (j.length == 0 || (is_short && !j.apart) || o->is_beside))
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
        *out = (struct span){p, value ? strlen(value) : 0};
        if (value)
            return true;
        if (as == AS_VALUES)
            continue;
        bool begins = before == 0 || (!isalnum((unsigned char)p[-1]) && p[-1] != '_');
        if (((begins || *p == ':') && find_form(p, out) && !is_no_secret(SECRET_NAME_CERTAIN, *out)) ||
            (begins && (before == 0 || p[-1] != '-') &&
             (find_named(s, p, before, as, out) || find_program_option(p, before, out))))
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
    struct span found = {words[i], 0}, joined;
    if (i == 0 || (words[i][0] != '-' && words[i - 1][0] != '-'))
        return found;
    for (size_t k = 0; k < i; k++)
        buffer_printf(&line, "%s ", words[k]);
    const size_t before = line.length, length = strlen(words[i - 1]), option = before - length - 1;
    buffer_add_text(&line, words[i]);
    const char *text = buffer_text(&line);
    for (size_t k = 0; k < LENGTH(program_options); k++) {
        const struct program_option *o = &program_options[k];
        if (!o->is_beside && length > 0 && word_at(o->options, words[i - 1]) == length &&
            follows_program(text + option, option, o->programs))
            found = program_secret(o, (struct span){words[i], strlen(words[i])});
    }
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
