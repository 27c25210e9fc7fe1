#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "config/model_space.h"
#include "database/open.h"
#include "report/saying.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"

/* --- what a shell may offer --- */

/* --- the line that is typed --- */

/* The word as a shell would pass it: without quotes, and with "~" expanded. The caller's. */
static char *unquoted(const char *word)
{
    const char *home = getenv("HOME");
    if (home && strncmp(word, "~/", 2) == 0)
        return xasprintf("%s%s", home, word + 1);
    if (*word != '\'' && *word != '"')
        return xstrdup(word);
    char *text = xstrdup(word + 1);
    size_t length = strlen(text);
    if (length && text[length - 1] == *word)
        text[length - 1] = '\0';
    return text;
}

/* The value of an option among the words before the last one, or `fallback`. The caller's. */
static char *value_of(char *const *words, const char *name, char letter, const char *fallback)
{
    const char *found = fallback;
    size_t length = strlen(name);
    for (; words[0] && words[1]; words++) {
        const char *word = words[0];
        bool is_long = strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0;
        bool is_short = word[0] == '-' && word[1] == letter;
        if (is_long && word[2 + length] == '=' && word[3 + length])
            found = word + 3 + length;
        else if (is_short && word[2])
            found = word + 2;
        else if ((is_long && !word[2 + length]) || is_short)
            found = strcmp(words[1], "=") == 0 && words[2] ? words[2] : words[1];
    }
    return unquoted(found);
}

/* --- names --- */

static void add_text(cJSON *list, const char *text)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* Keys, and with their values [key, value]. */
static void add_axis(const struct axis *axis, cJSON *keys, cJSON *values)
{
    for (size_t k = 0; k < axis->key_count; k++) {
        add_text(keys, axis->keys[k]);
        for (size_t row = 0; row < axis->value_count; row++) {
            OWNED_BUFFER text = BUFFER_INIT;
            cJSON *pair = cJSON_CreateArray();
            value_add_text(axis_value(axis, row * axis->key_count + k), &text);
            add_text(pair, axis->keys[k]);
            add_text(pair, buffer_text(&text));
            cJSON_AddItemToArray(values, pair);
        }
    }
}

/* Names that conditions on candidates may use (models/filter.h); some need a single multiset. */
static void add_of_candidates(const struct sweep *sweep, cJSON *names)
{
    static const char *const counted[] = {"params", "flops", "base.params", "base.flops"};
    const struct model_space_table *m = sweep->model_space;
    size_t multisets = 0;
    for (size_t i = 0; m && i < m->key_count; i++) {
        add_text(names, m->keys[i].name);
        if (m->keys[i].layers_key)
            add_text(names, m->keys[i].layers_key);
        multisets += m->keys[i].kind == SPACE_KEY_MULTISET;
    }
    for (size_t i = 0; m && m->dhen && i < (m->base_count ? 4 : 2); i++)
        add_text(names, counted[i]);
    if (multisets == 1) {
        add_text(names, LAYER_COUNT_NAME);
        add_text(names, "mixers");
    }
    for (size_t i = 0; m && i < m->base_count; i++) {
        OWNED char *name = xasprintf("base.%s", m->base[i].name);
        add_text(names, name);
    }
}

static void add_of_file(const struct sweep *sweep, cJSON *said)
{
    cJSON *keys = cJSON_AddArrayToObject(said, "keys"), *values = cJSON_AddArrayToObject(said, "values"),
          *metrics = cJSON_AddArrayToObject(said, "metrics");
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(sweep, &at);)
        add_axis(at.axis, keys, values);
    for (size_t i = 0; i < sweep->derived_count; i++)
        add_text(keys, sweep->derived[i].name);
    for (size_t i = 0; i < sweep->job.metric_count; i++)
        add_text(metrics, sweep->job.metrics[i].name);
    add_of_candidates(sweep, cJSON_AddArrayToObject(said, "candidates"));
}

static void add_predicted(cJSON *said)
{
    OWNED_LIST names = STRING_LIST_INIT;
    struct error ignored = ERROR_INIT;
    OWNED_DB *db = NULL;
    if (saying_open("sql/predictions.sql", &db, &ignored) == 0)
        db_query_texts(db, "SELECT name FROM field ORDER BY n", NO_VALUES, &names, &ignored);
    cJSON_AddItemToObject(said, "predicted",
                          cJSON_CreateStringArray((const char *const *)names.items, (int)names.count));
}

/* The sweep file, which may have names that have not been run yet. Mistakes in it do not matter. */
static struct sweep *read_file(char *const *words)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    struct error ignored = ERROR_INIT;
    struct sweep *sweep = NULL;
    OWNED char *path = value_of(words, "config", 'c', SWEEP_FILE);
    if (sweep_read(path, &sweep, &problems, &ignored) < 0)
        sweep = NULL;
    return sweep;
}

/* An empty one where there is none. */
static struct db *open_database(char *const *words)
{
    struct error ignored = ERROR_INIT;
    struct db *db = NULL;
    OWNED char *path = value_of(words, "db", 'd', "results.db");
    if ((!store_exists(path) || store_open_read_only(path, &db, &ignored) < 0) && store_open_scratch(&db, &ignored) < 0)
        db = NULL;
    return db;
}

/* Prints lines, each what the last of `words` may become: those of a command line after the name of the program,
 * NULL-terminated, as they were typed: quotes and "=" by itself are taken as a shell splits them. Databases and sweep
 * files are those of -d and -c among the words, else results.db and sweep.toml. */
static int print_offers(enum offer offer, char *const *words, struct error *e)
{
    static char *const none[] = {NULL};
    OWNED_SWEEP *sweep = read_file(words ? words : none);
    OWNED_DB *db = open_database(words ? words : none);
    OWNED_JSON *said = cJSON_CreateObject();
    OWNED_BUFFER out = BUFFER_INIT;
    struct stmt *s = NULL;
    struct error ignored = ERROR_INIT;
    cJSON *list = cJSON_AddArrayToObject(said, "words");
    cJSON_AddStringToObject(said, "offer", offer_names[offer]);
    for (; words && *words; words++)
        add_text(list, *words);
    if (offer == OFFER_PREDICTIONS)
        add_predicted(said);
    if (sweep)
        add_of_file(sweep, said);
    OWNED char *json = cJSON_PrintUnformatted(said);
    while (db && answer_next(db, "sql/texts/offers.sql", NULL, VALUES(sql_text(json)), &s, &ignored) > 0)
        buffer_printf(&out, "%s\n", stmt_text(s, 0));
    stmt_free(s);
    return output_text(buffer_text(&out), e);
}

/* --- the commands --- */

int command_manual(struct error *e)
{
    return commands_print("sql/texts/manual.sql", NULL, false, e);
}

int command_completion(const struct arguments *a, struct error *e)
{
    const char *shell = a->word_count ? a->words[0] : "";
    OWNED_BUFFER out = BUFFER_INIT;
    for (const char *const *name = completion_command.words; *name; name++)
        if (strcmp(*name, shell) == 0) {
            OWNED char *script = xasprintf("sql/texts/completion_%s.sql", shell);
            return commands_print(script, NULL, false, e);
        }
    for (int offer = 1; offer < OFFER_COUNT; offer++)
        if (strcmp(offer_names[offer], shell) == 0)
            return print_offers(offer, a->program, e);
    if (strcmp(shell, "table-keys") == 0) {
        schema_add_rows(&out);
        return output_text(buffer_text(&out), e);
    }
    return error_set(e, ERROR_USAGE, "completion: name the shell: meshsweep completion bash, zsh or fish");
}

static int print_schema(const char *command, struct error *e)
{
    OWNED char *name = xasprintf("schemas/%s.json", command);
    const char *schema = embedded_text(name);
    if (!schema)
        return error_set(e, ERROR_USAGE, "%s prints no JSON; docs/json.md lists the commands that do", command);
    return output_text(schema, e);
}

int command_help(const struct help_options *o, const struct arguments *a, struct error *e)
{
    if (o->schema && a->word_count == 1 && strcmp(a->words[0], "sweep") == 0)
        return print_schema("sweep", e);
    if (o->schema && a->word_count == 0)
        return error_set(e, ERROR_USAGE, "help --schema: name the command: meshsweep help --schema COMMAND");
    const struct command *c = a->word_count ? command_by_name(a->words[0], e) : NULL;
    if (a->word_count && !c)
        return -1;
    if (o->schema)
        return print_schema(c->name, e);
    return commands_print("sql/texts/help.sql", c, true, e);
}
