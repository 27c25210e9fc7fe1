#include "secrets/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secrets/forms.h"
#include "secrets/names.h"
#include "util/buffer.h"
#include "util/memory.h"

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
            secrets_add_escaped(s, equals + 1);
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

/* --- texts --- */

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
#define SHORT_NUMBER_BYTES 5
#define LOOKED_BACK 4096 /* bytes, for the program that an option is of */

/* What a text may be, and so what is looked for. */
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

/* What may be behind a name that tells of a secret, and is none. */
static bool is_no_secret(enum secret_name kind, struct span value)
{
    static const char *const words[] = {"true", "false", "yes", "no", "none", "null", "on", "off", SECRET_REDACTED};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == value.length && strncasecmp(words[i], value.text, value.length) == 0)
            return true;
    /* "$TOKEN", "${TOKEN}", "{token}": where it is, not what it is. */
    if (value.length == 0 || value.text[0] == '$' || value.text[0] == '{')
        return true;
    return kind == SECRET_NAME_LIKELY && value.length < SHORT_NUMBER_BYTES &&
           strspn(value.text, "0123456789.") >= value.length;
}

/* What stands between a name and its value. */
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

/* Whether the name at `text` is one of an address's query, and its value was made by a machine. */
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

/* Whether the program is a word of the `before` characters before `text`. */
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

static bool is_number_pair(struct span value)
{
    return strspn(value.text, "0123456789:") >= value.length;
}

/* The secret of such an option's value; no bytes where it has none. */
static struct span program_secret(const struct program_option *o, struct span value)
{
    const char *colon = memchr(value.text, ':', value.length);
    if (!o->is_pair)
        return value;
    if (!colon || is_number_pair(value))
        return (struct span){value.text, 0};
    return (struct span){colon + 1, (size_t)(value.text + value.length - colon - 1)};
}

/* "curl -u me:password", "sshpass -pPASSWORD" at `text`, which is at the option. */
static bool find_program_option(const char *text, size_t before, struct span *out)
{
    for (size_t i = 0; text[0] == '-' && i < sizeof program_options / sizeof *program_options; i++) {
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
    struct buffer line = BUFFER_INIT;
    struct span found = {words[i], 0};
    if (i == 0 || (words[i][0] != '-' && words[i - 1][0] != '-'))
        return found;
    for (size_t k = 0; k < i; k++)
        buffer_printf(&line, "%s ", words[k]);
    const size_t before = line.length, option = i > 0 ? before - strlen(words[i - 1]) - 1 : 0;
    buffer_add_text(&line, words[i]);
    const char *text = buffer_text(&line);
    for (size_t k = 0; k < sizeof program_options / sizeof *program_options; k++) {
        const struct program_option *o = &program_options[k];
        if (takes_next_word(o) && strcmp(words[i - 1], o->option) == 0 &&
            follows_program(text + option, option, o->program))
            found = program_secret(o, (struct span){words[i], strlen(words[i])});
    }
    struct span joined;
    if (!found.length && find_program_option(text + before, before, &joined) && !strpbrk(words[i], " \t\n"))
        found = (struct span){words[i] + (joined.text - text - before), joined.length};
    buffer_free(&line);
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

/* Where `given` was the word `i` of `words`; -1: nowhere. */
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
    char **redacted = secrets_redact_words(s, given);
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
    strings_free(redacted);
    return whole;
}

void secrets_add_command(struct secrets *s, char *const *words)
{
    for (size_t i = 0; words && words[i]; i++) {
        struct span found = whole_word_secret(s, words, i);
        const char *rest = words[i];
        while (found.length > 0 || find_secret(s, rest, (size_t)(rest - words[i]), AS_COMMAND, &found)) {
            char *value = xstrndup(found.text, found.length);
            secrets_add_escaped(s, value);
            rest = found.text + found.length;
            found.length = 0;
            free(value);
        }
    }
}

bool secrets_are_left_out(char *const *words)
{
    while (*words && !strstr(*words, SECRET_REDACTED))
        words++;
    return *words != NULL;
}
