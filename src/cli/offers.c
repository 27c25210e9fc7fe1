#include "cli/offers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/recorded_sweep.h"
#include "database/open.h"
#include "sweep_file/reader.h"
#include "util/memory.h"
#include "util/string_list.h"

#define JOBS_MOST 100

const char *const offer_names[OFFER_COUNT] = {
    [OFFER_COLUMNS] = "columns",
    [OFFER_KEYS] = "keys",
    [OFFER_METRICS] = "metrics",
    [OFFER_JOBS] = "jobs",
};

/* --- the line that is typed --- */

/* As a shell takes the word: without quotes around it, "~" as the home directory. The caller's. */
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

/* What of the last word is the value that is typed: what stands behind "--name=", an opening quote. */
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

static void add_rows(struct db *db, const char *sql, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    struct stmt *s = NULL;
    if (db_prepare(db, sql, &s, &ignored) == 0)
        while (stmt_next(s, &ignored) > 0)
            add_name(names, stmt_text(s, 0));
    stmt_free(s);
}

static void add_columns(struct db *db, struct string_list *names)
{
    add_rows(db, "SELECT name FROM pragma_table_info('results')", names);
}

/* Those of specs that were recorded last, for the keys of all would take reading them all. */
static void add_keys(struct db *db, struct string_list *names)
{
    add_rows(db,
             "SELECT DISTINCT k.key FROM (SELECT id, json FROM spec ORDER BY id DESC LIMIT 200) AS s, "
             "json_each(s.json) "
             "AS k ORDER BY s.id, k.id",
             names);
}

static void add_metrics(struct db *db, struct string_list *names)
{
    add_rows(db, "SELECT name FROM metric_definition ORDER BY name", names);
}

static void add_keys_of_file(const struct sweep *sweep, struct string_list *names)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t b = 0; b < sweep->sections[kind].block_count; b++) {
            const struct block *block = &sweep->sections[kind].blocks[b];
            for (size_t a = 0; a < block->axis_count; a++)
                for (size_t k = 0; k < block->axes[a].key_count; k++)
                    add_name(names, block->axes[a].keys[k]);
        }
    for (size_t i = 0; i < sweep->derived_count; i++)
        add_name(names, sweep->derived[i].name);
}

static void add_metrics_of_file(const struct sweep *sweep, struct string_list *names)
{
    for (size_t i = 0; i < sweep->job.metric_count; i++)
        add_name(names, sweep->job.metrics[i].name);
}

/* --- numbers --- */

/* One range of numbers for each count of digits that may follow: a million jobs are not looked through. */
static void add_jobs_between(struct db *db, int64_t first, int64_t last, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT id FROM job NOT INDEXED WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3", &s,
                   &ignored) == 0) {
        stmt_bind_int(s, 1, first);
        stmt_bind_int(s, 2, last);
        stmt_bind_int(s, 3, (int64_t)(JOBS_MOST - names->count));
        while (stmt_next(s, &ignored) > 0)
            string_list_add(names, stmt_copy_text(s, 0));
    }
    stmt_free(s);
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

static const struct {
    void (*of_file)(const struct sweep *sweep, struct string_list *names);
    void (*of_database)(struct db *db, struct string_list *names);
} sources[OFFER_COUNT] = {
    [OFFER_COLUMNS] = {NULL, add_columns},
    [OFFER_KEYS] = {add_keys_of_file, add_keys},
    [OFFER_METRICS] = {add_metrics_of_file, add_metrics},
};

/* The file first, which may have what was not run yet. One with mistakes has names all the same. */
static void read_file(enum offer offer, char *const *words, struct string_list *names)
{
    struct problems problems = PROBLEMS_INIT;
    struct error ignored = ERROR_INIT;
    struct sweep *sweep = NULL;
    char *path = value_of(words, "config", 'c', SWEEP_FILE);
    if (sources[offer].of_file && sweep_read(path, &sweep, &problems, &ignored) == 0)
        sources[offer].of_file(sweep, names);
    sweep_free(sweep);
    problems_free(&problems);
    free(path);
}

static void read_database(enum offer offer, char *const *words, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    struct db *db = NULL;
    char *path = value_of(words, "db", 'd', "results.db");
    if (store_exists(path) && store_open_read_only(path, &db, &ignored) == 0) {
        if (offer == OFFER_JOBS)
            add_jobs(db, typed(words), names);
        else if (sources[offer].of_database)
            sources[offer].of_database(db, names);
    }
    db_close(db);
    free(path);
}

void offers_add(enum offer offer, char *const *words, struct buffer *out)
{
    struct string_list names = STRING_LIST_INIT;
    const char *text = typed(words);
    size_t before = strlen(text);
    while (before && is_of_name(text[before - 1]))
        before--;
    read_file(offer, words, &names);
    read_database(offer, words, &names);
    for (size_t i = 0; i < names.count; i++)
        if (strncasecmp(names.items[i], text + before, strlen(text + before)) == 0)
            buffer_printf(out, "%.*s%s\n", (int)before, text, names.items[i]);
    string_list_free(&names);
}
