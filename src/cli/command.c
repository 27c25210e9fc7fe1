#include "cli/command.h"

#include <math.h>
#include <string.h>

#include "cli/output.h"
#include "report/saying.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/suggest.h"

const struct exit_status_text exit_status_texts[] = {
    {"0", "all well"},
    {"1", "an operation failed; with compare --fail-slower: the second database is slower"},
    {"2", "wrong usage or an invalid sweep file; also one that asks Slurm for what it does not have"},
    {"3", "finished, but some jobs failed; with stale: some results are stale; with compare --fail-slower: too few "
          "repeats to tell"},
    {"4", "nothing matched"},
    {"5", "the host could not run all jobs; those that are left have not failed"},
    {"6", "the first jobs failed the same way, and the rest were not started"},
    {"128+n", "ended by signal n"},
    {NULL, NULL},
};

const char *const offer_names[OFFER_COUNT] = {
    [OFFER_COLUMNS] = "columns",           [OFFER_KEYS] = "keys",
    [OFFER_METRICS] = "metrics",           [OFFER_JOBS] = "jobs",
    [OFFER_COMBINATIONS] = "combinations", [OFFER_PREDICTIONS] = "predictions",
    [OFFER_CANDIDATES] = "candidates",
};

/* "a b c", without what has blanks itself; NULL: there are none. The caller's. */
static char *join_words(const char *const *words)
{
    struct buffer b = BUFFER_INIT;
    if (!words)
        return NULL;
    for (; *words; words++)
        if (!strchr(*words, ' '))
            buffer_printf(&b, "%s%s", b.length ? " " : "", *words);
    return buffer_take(&b);
}

static void add_options(cJSON *object, const char *name, const struct option *table)
{
    static const char *const types[] =
        {[OPTION_FLAG] = "boolean",  [OPTION_INT] = "integer",   [OPTION_DOUBLE] = "number",
         [OPTION_STRING] = "string", [OPTION_CHOICE] = "string", [OPTION_DURATION] = "string"};
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (const struct option *o = table; o->name; o++) {
        const char *value = o->kind == OPTION_FLAG ? NULL : o->value;
        const bool has_least = o->kind == OPTION_INT && (o->least != 0 || o->most != 0);
        OWNED char *choices = join_words(o->choices);
        JSON_ITEM(list, JSON_TEXT("name", o->name), JSON_TEXT("letter", ((char[]){o->letter, '\0'})),
                  JSON_TEXT("type", types[o->kind]), JSON_REAL("minimum", has_least ? o->least : NAN),
                  JSON_TEXT("value", value), JSON_TEXT("help", o->help), JSON_TEXT("fallback", o->fallback),
                  JSON_TEXT("choices", choices), JSON_TEXT("offer", offer_names[o->offer]), JSON_TRUTH("rare", o->rare),
                  JSON_TRUTH("several", o->choices && o->kind != OPTION_CHOICE),
                  JSON_TRUTH("value_optional", o->value_optional),
                  JSON_TRUTH("file", value && (strcmp(value, "FILE") == 0 || strcmp(value, "DIR") == 0)));
    }
}

/* The table of commands as a document. */
static cJSON *commands_document(void)
{
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "commands");
    for (const struct command *const *next = commands; *next; next++) {
        const struct command *c = *next;
        OWNED char *words = join_words(c->words);
        cJSON *command = JSON_ITEM(list, JSON_TEXT("name", c->name), JSON_STRING("usage", c->usage),
                                   JSON_TEXT("summary", c->summary), JSON_TEXT("example", c->example),
                                   JSON_TEXT("words", words), JSON_TEXT("offer", offer_names[c->offer]));
        add_options(command, "options", c->options);
    }
    add_options(root, "common", common_option_table);
    list = cJSON_AddArrayToObject(root, "statuses");
    for (const struct exit_status_text *s = exit_status_texts; s->status; s++)
        cJSON_AddItemToArray(list, cJSON_CreateStringArray((const char *[]){s->status, s->meaning}, 2));
    cJSON_AddStringToObject(root, "version", MESHSWEEP_VERSION);
    return root;
}

int commands_add_text(const char *name, const struct command *c, bool all, struct buffer *out, struct error *e)
{
    OWNED_JSON *document = commands_document(), *beside = c ? cJSON_CreateObject() : NULL;
    if (c) {
        JSON_ADD(beside, JSON_STRING("command", c->name), JSON_TRUTH("all", all));
    }
    return saying_add_text(name, document, beside, out, e);
}

int commands_print(const char *name, const struct command *c, bool all, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    return commands_add_text(name, c, all, &out, e) < 0 ? -1 : output_text(buffer_text(&out), e);
}

static bool any_command(bool (*is)(const struct option *table, const char *word), const char *word)
{
    const struct command *const *c = commands;
    while (*c && !is((*c)->options, word))
        c++;
    return *c;
}

/* Options may precede the command, so their values must be recognised before the command is known. */
static size_t command_position(char *const *argv)
{
    size_t i = 0;
    while (argv[i] && strcmp(argv[i], "--") != 0) {
        if (argv[i][0] != '-')
            return i;
        bool has_value = argv[i + 1] && strncmp(argv[i + 1], "--", 2) != 0;
        i += has_value && any_command(option_takes_next_word, argv[i]) ? 2 : 1;
    }
    while (argv[i])
        i++;
    return i;
}

/* The word after an unknown option may be its value; then the option is the mistake. */
static bool follows_unknown_option(char *const *argv, size_t at)
{
    return ANY(i, at, argv[i][0] == '-' && argv[i][1] && !any_command(option_is_known, argv[i]));
}

const struct command *command_by_name(const char *word, struct error *e)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, word) == 0)
            return *c;
    struct suggestion meant = suggest_for(word);
    for (size_t i = 0; command_names[i]; i++)
        suggest_try(&meant, command_names[i]);
    error_set(e, ERROR_USAGE, "unknown command %s%s; meshsweep --help lists the commands", word,
              suggest_between(&meant, " (did you mean ", "?)"));
    return NULL;
}

const struct command *command_find(char *const *argv, size_t *at, struct error *e)
{
    *at = command_position(argv);
    const char *word = argv[*at];
    if (!word)
        return commands[0];
    if (!follows_unknown_option(argv, *at))
        return command_by_name(word, e);
    while (argv[*at])
        (*at)++;
    return commands[0];
}
