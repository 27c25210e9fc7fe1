#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/recorded_sweep.h"
#include "commands/commands.h"
#include "config/model_space.h"
#include "database/open.h"
#include "report/prediction_fields.h"
#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --- what a shell may offer --- */

#define JOBS_MOST 100

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

/* The part of the last word that is being completed: after "--name=" and an opening quote. */
static const char *typed(char *const *words)
{
    const char *word = "";
    for (; *words; words++)
        word = *words;
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    word = equals ? equals + 1 : word;
    if (strcmp(word, "=") == 0)
        return "";
    return *word == '\'' || *word == '"' ? word + 1 : word;
}

/* --- names --- */

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void add_name(struct string_list *names, const char *name)
{
    if (string_list_find(names, name) == names->count)
        string_list_add(names, xstrdup(name));
}

static void add_rows(struct db *db, const char *sql, struct sql_values values, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    OWNED_STMT *s = NULL;
    while (db_next(db, sql, values, &s, &ignored) > 0)
        add_name(names, stmt_is_null(s, 0) ? "" : stmt_text(s, 0));
}

/* The keys of an axis or, where one is given, its values. */
static void add_axis(const struct axis *axis, const char *key, struct string_list *out)
{
    for (size_t k = 0; k < axis->key_count; k++) {
        if (!key)
            add_name(out, axis->keys[k]);
        for (size_t row = 0; key && row < axis->value_count && strcmp(axis->keys[k], key) == 0; row++) {
            OWNED_BUFFER text = BUFFER_INIT;
            value_add_text(axis_value(axis, row * axis->key_count + k), &text);
            add_name(out, buffer_text(&text));
        }
    }
}

static void add_axes(const struct sweep *sweep, const char *key, struct string_list *out)
{
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(sweep, &at);)
        add_axis(at.axis, key, out);
}

static void add_keys_of_file(const struct sweep *sweep, struct string_list *names)
{
    add_axes(sweep, NULL, names);
    for (size_t i = 0; i < sweep->derived_count; i++)
        add_name(names, sweep->derived[i].name);
}

static void add_metrics_of_file(const struct sweep *sweep, struct string_list *names)
{
    for (size_t i = 0; i < sweep->job.metric_count; i++)
        add_name(names, sweep->job.metrics[i].name);
}

static void add_prediction_fields(struct string_list *names)
{
    for (int i = 0; i < FIELD_END; i++)
        add_name(names, prediction_fields[i].name);
}

/* Names that conditions on candidates may use (models/filter.h); some need a single multiset. */
static void add_of_candidates(const struct sweep *sweep, struct string_list *names)
{
    static const char *const counted[] = {"params", "flops", "base.params", "base.flops"};
    const struct model_space_table *m = sweep->model_space;
    size_t multisets = 0;
    for (size_t i = 0; m && i < m->key_count; i++) {
        add_name(names, m->keys[i].name);
        if (m->keys[i].layers_key)
            add_name(names, m->keys[i].layers_key);
        multisets += m->keys[i].kind == SPACE_KEY_MULTISET;
    }
    for (size_t i = 0; m && m->dhen && i < (m->base_count ? 4 : 2); i++)
        add_name(names, counted[i]);
    if (multisets == 1) {
        add_name(names, LAYER_COUNT_NAME);
        add_name(names, "mixers");
    }
    for (size_t i = 0; m && i < m->base_count; i++)
        string_list_add(names, xasprintf("base.%s", m->base[i].name));
}

/* --- values --- */

/* The key and the value around the "=" that is being completed. */
struct pair {
    const char *key, *value;
    size_t key_length;
    bool is_one_word; /* false: the shell makes "=" a word of its own */
};

/* false: no "=" yet. */
static bool find_pair(char *const *words, struct pair *out)
{
    const char *last[] = {"", "", ""};
    for (; *words; words++) {
        last[0] = last[1];
        last[1] = last[2];
        last[2] = *words;
    }
    const char *equals = strchr(last[2], '=');
    if (strcmp(last[2], "=") == 0)
        *out = (struct pair){last[1], "", strlen(last[1]), false};
    else if (strcmp(last[1], "=") == 0)
        *out = (struct pair){last[0], last[2], strlen(last[0]), false};
    else if (equals)
        *out = (struct pair){last[2], equals + 1, (size_t)(equals - last[2]), true};
    else
        return false;
    return true;
}

static bool needs_no_quotes(const char *text)
{
    for (; *text; text++)
        if (!is_of_name(*text) && !strchr("+-,/@%:", *text))
            return false;
    return true;
}

/* --- numbers --- */

/* One range of numbers for each number of digits that may follow, instead of scanning all jobs. */
static void add_jobs_between(struct db *db, int64_t first, int64_t last, struct string_list *names)
{
    add_rows(db, "SELECT id FROM job NOT INDEXED WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
             VALUES(sql_int(first), sql_int(last), sql_int((int64_t)(JOBS_MOST - names->count))), names);
}

static void add_jobs(struct db *db, const char *begins, struct string_list *names)
{
    char *end;
    int64_t first = strtoll(begins, &end, 10), last = first;
    if (*end || first < 0 || first > INT32_MAX)
        return;
    if (!*begins) {
        add_jobs_between(db, 1, INT64_MAX, names);
        return;
    }
    for (; last < INT64_MAX / 100 && names->count < JOBS_MOST; first *= 10, last = last * 10 + 9)
        add_jobs_between(db, first, last, names);
}

/* --- all of them --- */

/* The sweep file, which may have names that have not been run yet. Mistakes in it do not matter. */
static struct sweep *read_file(char *const *words)
{
    struct problems problems = PROBLEMS_INIT;
    struct error ignored = ERROR_INIT;
    struct sweep *sweep = NULL;
    OWNED char *path = value_of(words, "config", 'c', SWEEP_FILE);
    if (sweep_read(path, &sweep, &problems, &ignored) < 0)
        sweep = NULL;
    problems_free(&problems);
    return sweep;
}

/* NULL where there is none. */
static struct db *open_database(char *const *words)
{
    struct error ignored = ERROR_INIT;
    struct db *db = NULL;
    OWNED char *path = value_of(words, "db", 'd', "results.db");
    if (!store_exists(path) || store_open_read_only(path, &db, &ignored) < 0)
        db = NULL;
    return db;
}

/* Sources of names; either may be NULL. */
struct known {
    const struct sweep *sweep;
    struct db *db;
};

/* Only from the newest specs, since reading all would take too long. */
#define KEYS_SQL                                                                                                       \
    "SELECT DISTINCT k.key FROM (SELECT id, json FROM spec ORDER BY id DESC LIMIT 200) AS s, json_each(s.json) AS k"   \
    " ORDER BY s.id, k.id"

static const struct {
    void (*of_file)(const struct sweep *sweep, struct string_list *names);
    const char *of_database; /* as SQL */
    void (*of_program)(struct string_list *names);
    const char *end; /* suffix of each name */
} sources[OFFER_COUNT] = {
    [OFFER_COLUMNS] = {NULL, "SELECT name FROM pragma_table_info('results')", NULL, ""},
    [OFFER_KEYS] = {add_keys_of_file, KEYS_SQL, NULL, ""},
    [OFFER_METRICS] = {add_metrics_of_file, "SELECT name FROM metric_definition ORDER BY name", NULL, ""},
    [OFFER_JOBS] = {NULL, NULL, NULL, ""},
    [OFFER_COMBINATIONS] = {add_keys_of_file, KEYS_SQL, NULL, "="},
    [OFFER_PREDICTIONS] = {add_keys_of_file, KEYS_SQL, add_prediction_fields, ""},
    [OFFER_CANDIDATES] = {add_of_candidates, NULL, NULL, ""},
};

static void offer_values(const struct known *known, const struct pair *pair, struct buffer *out)
{
    OWNED_LIST values = STRING_LIST_INIT;
    OWNED char *key = xstrndup(pair->key, pair->key_length);
    if (known->sweep)
        add_axes(known->sweep, key, &values);
    if (known->db)
        add_rows(known->db,
                 "SELECT DISTINCT iif(k.type IN ('true', 'false'), k.type, k.value) FROM"
                 " (SELECT id, json FROM spec ORDER BY id DESC LIMIT 5000) AS s, json_each(s.json) AS k"
                 " WHERE k.key = ? ORDER BY s.id",
                 VALUES(sql_text(key)), &values);
    for (size_t i = 0; i < values.count; i++)
        if (strncasecmp(values.items[i], pair->value, strlen(pair->value)) == 0 && needs_no_quotes(values.items[i]))
            buffer_printf(out, "%s%s%s\n", pair->is_one_word ? key : "", pair->is_one_word ? "=" : "", values.items[i]);
}

static void offer_names_of(enum offer offer, const struct known *known, const char *text, struct buffer *out)
{
    OWNED_LIST names = STRING_LIST_INIT;
    size_t before = strlen(text);
    while (before && is_of_name(text[before - 1]))
        before--;
    if (sources[offer].of_file && known->sweep)
        sources[offer].of_file(known->sweep, &names);
    if (sources[offer].of_database && known->db)
        add_rows(known->db, sources[offer].of_database, NO_VALUES, &names);
    if (sources[offer].of_program)
        sources[offer].of_program(&names);
    for (size_t i = 0; i < names.count; i++)
        if (strncasecmp(names.items[i], text + before, strlen(text + before)) == 0)
            buffer_printf(out, "%.*s%s%s\n", (int)before, text, names.items[i], sources[offer].end);
}

static void offer_jobs(struct db *db, const char *begins, struct buffer *out)
{
    OWNED_LIST numbers = STRING_LIST_INIT;
    if (db)
        add_jobs(db, begins, &numbers);
    for (size_t i = 0; i < numbers.count; i++)
        if (strncmp(numbers.items[i], begins, strlen(begins)) == 0) /* the ranges for "0" are wrong */
            buffer_printf(out, "%s\n", numbers.items[i]);
}

/* Appends lines, each what the last of `words` may become: those of a command line after the name of the program,
 * NULL-terminated, as they were typed: quotes and "=" by itself are taken as a shell splits them. Databases and sweep
 * files are those of -d and -c among the words, else results.db and sweep.toml.
 *
 * Only the last name of a condition or a list with commas is completed: "tp = 2 AND la" becomes "tp = 2 AND layers".
 * Job numbers are those that begin with the word, the shortest first, a hundred at most. Of a combination the key is
 * completed up to its "=", then the value: "z" becomes "zero_stage=", "zero_stage=" becomes "zero_stage=3"; where "="
 * is a word by itself, "3" alone. Values that a shell would want quoted are not offered. */
static void offers_add(enum offer offer, char *const *words, struct buffer *out)
{
    OWNED_SWEEP *sweep = read_file(words);
    OWNED_DB *db = open_database(words);
    const struct known known = {sweep, db};
    struct pair pair;
    if (offer == OFFER_COMBINATIONS && find_pair(words, &pair)) {
        offer_values(&known, &pair, out);
    } else {
        offer_names_of(offer, &known, typed(words), out);
        if (offer == OFFER_JOBS || offer == OFFER_COMBINATIONS)
            offer_jobs(known.db, typed(words), out);
    }
}

/* --- the commands --- */

int command_manual(struct error *e)
{
    return commands_print("sql/texts/manual.sql", NULL, false, e);
}

static int print_offers(enum offer offer, char *const *words, struct error *e)
{
    static char *const none[] = {NULL};
    OWNED_BUFFER out = BUFFER_INIT;
    offers_add(offer, words ? words : none, &out);
    return output_text(buffer_text(&out), e);
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
