#include "cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/suggest.h"

static const char *const colour_words[] = {"auto", "always", "never", NULL}; /* enum colour_choice */

const struct option common_option_table[] = {
    OPTION(FLAG, "help", offsetof(struct option_words, help), NULL, "this text", .letter = 'h'),
    OPTION(FLAG, "version", offsetof(struct option_words, version), NULL, "versions of the tool and its libraries"),
    OPTION(CHOICE, "color", offsetof(struct option_words, color), "WHEN", "auto, always or never", .fallback = "auto",
           .choices = colour_words),
    OPTION(FLAG, "no-pager", offsetof(struct option_words, no_pager), NULL, "do not use a pager for long output"),
    {.name = NULL},
};

/* --- looking up --- */

/* By its name or, of length 0, its letter: the command's own, else a common one. */
static const struct option *find_option(const struct option *own, const char *name, size_t length)
{
    for (int common = 0; common < 2; common++)
        for (const struct option *o = common ? common_option_table : own; o->name; o++)
            if (length ? strncmp(o->name, name, length) == 0 && !o->name[length] : *name && o->letter == *name)
                return o;
    return NULL;
}

static bool wants_next_word(const struct option *o)
{
    return o->kind != OPTION_FLAG && !o->value_optional;
}

bool option_takes_next_word(const struct option *table, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    if (word[1] == '-') {
        const struct option *o = find_option(table, word + 2, strlen(word + 2));
        return o && wants_next_word(o);
    }
    for (const char *c = word + 1; *c; c++) {
        const struct option *o = find_option(table, c, 0);
        if (o && wants_next_word(o))
            return !c[1];
    }
    return false;
}

bool option_is_known(const struct option *table, const char *word)
{
    const bool is_long = word[1] == '-';
    return find_option(table, word + 1 + is_long, is_long ? strcspn(word + 2, "=") : 0);
}

static int unknown_long(const struct option *table, const char *name, size_t length, struct error *e)
{
    const struct option *const tables[] = {table, common_option_table};
    OWNED char *word = xstrndup(name, length);
    struct suggestion meant = suggest_for(word);
    const char *begun = NULL;
    for (size_t t = 0; t < LENGTH(tables); t++)
        for (const struct option *o = tables[t]; o->name; o++) {
            suggest_try(&meant, o->name);
            if (!begun && length > 2 && strncmp(o->name, word, length) == 0)
                begun = o->name;
        }
    meant.near = meant.near ? meant.near : begun;
    return error_set(e, ERROR_USAGE, "unknown option --%s%s", word, suggest_between(&meant, " (did you mean --", "?)"));
}

/* --- values --- */

static int refuse_choice(const struct option *o, const char *text, struct error *e)
{
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; o->choices[i]; i++) {
        if (i)
            buffer_add_text(&list, o->choices[i + 1] ? ", " : " or ");
        buffer_add_text(&list, o->choices[i]);
    }
    error_set(e, ERROR_USAGE, "--%s %s: must be %s", o->name, text, buffer_text(&list));
    return -1;
}

static int set_choice(const struct option *o, const char *text, int *out, struct error *e)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *out = i;
            return 0;
        }
    }
    return refuse_choice(o, text, e);
}

static int check_bounds(const struct option *o, const char *text, double value, struct error *e)
{
    if ((o->least == 0 && o->most == 0) || (value >= o->least && value <= o->most))
        return 0;
    if (isinf(o->most))
        return error_set(e, ERROR_USAGE, "--%s %s: must be at least %g", o->name, text, o->least);
    return error_set(e, ERROR_USAGE, "--%s %s: must be from %g to %.15g", o->name, text, o->least, o->most);
}

static int set_value(const struct option *o, const char *text, void *target, struct error *e)
{
    void *member = (char *)target + o->offset;
    int64_t integer;
    double real;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return 0;
    case OPTION_STRING:
        *(const char **)member = text;
        return 0;
    case OPTION_INT:
        if (!parse_int64(text, &integer))
            return error_set(e, ERROR_USAGE, "--%s %s: must be a whole number", o->name, text);
        if (check_bounds(o, text, (double)integer, e) < 0)
            return -1;
        *(int64_t *)member = integer;
        return 0;
    case OPTION_DOUBLE:
        if (!parse_double(text, &real))
            return error_set(e, ERROR_USAGE, "--%s %s: must be a number", o->name, text);
        if (check_bounds(o, text, real, e) < 0)
            return -1;
        *(double *)member = real;
        return 0;
    case OPTION_CHOICE:
        return set_choice(o, text, member, e);
    case OPTION_DURATION:
        if (!parse_duration_ms(text, member))
            return error_set(e, ERROR_USAGE, "--%s %s: must be a duration such as 90, 90s, 10m or 1h30m", o->name,
                             text);
        return 0;
    }
    return 0;
}

static void set_fallbacks(const struct option *table, void *target)
{
    for (const struct option *o = table; o->name; o++) {
        if (!o->fallback)
            continue;
        int rc = set_value(o, o->fallback, target, NULL);
        assert(rc == 0);
        (void)rc;
    }
}

/* --- reading --- */

/* State of the parser. */
struct cursor {
    const struct option *table;
    char *const *argv;
    size_t next; /* index of the next word in argv */
    void *target;
    struct option_words *words;
};

static void *target_of(const struct cursor *c, const struct option *o)
{
    return ANY(i, LENGTH(common_option_table), o == &common_option_table[i]) ? c->words : c->target;
}

/* The next word as a value; NULL with `e` filled if there is none. */
static const char *next_value(struct cursor *c, const struct option *o, struct error *e)
{
    const char *word = c->argv[c->next];
    if (!word || strncmp(word, "--", 2) == 0) {
        error_set(e, ERROR_USAGE, "option --%s needs a value: --%s %s", o->name, o->name, o->value);
        return NULL;
    }
    c->next++;
    return word;
}

/* "2 3" of "--zero-stages 2 3". */
static const char *join_words(struct cursor *c, const char *value)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, value);
    for (; c->argv[c->next] && isdigit((unsigned char)c->argv[c->next][0]); c->next++)
        buffer_printf(&b, " %s", c->argv[c->next]);
    free(c->words->joined);
    return c->words->joined = buffer_take(&b);
}

static int read_long(struct cursor *c, const char *word, struct error *e)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    const struct option *o = find_option(c->table, name, length);
    if (!o)
        return unknown_long(c->table, name, length, e);
    if (o->kind == OPTION_FLAG && value)
        return error_set(e, ERROR_USAGE, "option --%s takes no value", o->name);
    if (!value && wants_next_word(o) && !(value = next_value(c, o, e)))
        return -1;
    if (o->many)
        value = join_words(c, value);
    return set_value(o, value ? value : "", target_of(c, o), e);
}

static int read_short(struct cursor *c, const char *letters, struct error *e)
{
    for (const char *l = letters; *l; l++) {
        const struct option *o = find_option(c->table, l, 0);
        if (!o)
            return error_set(e, ERROR_USAGE, "unknown option -%c%s", *l,
                             *l == 'c' && option_is_known(c->table, "--db") ? " (-d names a database)" : "");
        if (!wants_next_word(o)) {
            if (set_value(o, "", target_of(c, o), e) < 0)
                return -1;
            continue;
        }
        const char *value = l[1] ? l + 1 : next_value(c, o, e);
        return value ? set_value(o, value, target_of(c, o), e) : -1;
    }
    return 0;
}

/* The option that a file of such a name is usually given with; NULL: there is none. */
static const struct option *option_for_file(const struct option *table, const char *file)
{
    static const struct {
        const char *ending, *option;
    } files[] = {{".toml", "config"}, {".db", "db"}};
    for (size_t i = 0; i < LENGTH(files); i++)
        if (length_before(file, files[i].ending))
            return find_option(table, files[i].option, strlen(files[i].option));
    return NULL;
}

static int add_word(const struct option_rules *rules, char *word, struct option_words *out, struct error *e)
{
    const struct option *meant = option_for_file(rules->table, word);
    if (out->count == rules->words_most && meant)
        return error_set(e, ERROR_USAGE, "unexpected word: %s (did you mean --%s %s?)", word, meant->name, word);
    if (out->count == rules->words_most)
        return error_set(e, ERROR_USAGE, rules->words_most ? "unexpected argument: %s" : "unexpected word: %s", word);
    out->items[out->count++] = word;
    return 0;
}

/* One word, or the option that begins with it. */
static int read_one(const struct option_rules *rules, struct cursor *c, bool *options_ended, struct error *e)
{
    char *word = c->argv[c->next++];
    if (*options_ended || word[0] != '-' || !word[1])
        return add_word(rules, word, c->words, e);
    if (strcmp(word, "--") == 0) {
        *options_ended = true;
        return 0;
    }
    return word[1] == '-' ? read_long(c, word, e) : read_short(c, word + 1, e);
}

int options_parse(const struct option_rules *rules, char *const *argv, void *target, struct option_words *out,
                  struct error *e)
{
    struct option_words words = {.items = xcalloc(rules->words_most + 1, sizeof *words.items)};
    struct cursor c = {rules->table, argv, 0, target, &words};
    bool options_ended = false;
    set_fallbacks(rules->table, target);
    while (argv[c.next] && !words.help && !words.version) {
        if (rules->first_word_is_program && argv[c.next][0] != '-') {
            words.program = argv + c.next;
            break;
        }
        if (read_one(rules, &c, &options_ended, e) < 0) {
            free_all(words.items, words.joined);
            return -1;
        }
        if (options_ended && rules->takes_program) {
            words.program = argv + c.next;
            break;
        }
    }
    *out = words;
    return 0;
}

int option_find_word(const char *option, const char *text, const char *const *words, struct error *e)
{
    int count = 0;
    for (; words[count]; count++)
        if (strcmp(words[count], text) == 0)
            return count;
    const char *near = SUGGEST(text, i, (size_t)count, words[i]).near;
    if (near)
        return error_set(e, ERROR_USAGE, "%s: unknown value `%s` (did you mean `%s`?)", option, text, near);
    OWNED_BUFFER all = BUFFER_INIT;
    for (int i = 0; i < count; i++)
        buffer_printf(&all, "%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", words[i]);
    error_set(e, ERROR_USAGE, "%s: unknown value `%s`; must be one of %s", option, text, buffer_text(&all));
    return -1;
}
