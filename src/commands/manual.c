#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/recorded_sweep.h"
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

/* "columns", "keys", "metrics", "jobs", ..., indexed by enum offer; NULL for OFFER_NOTHING. */
static const char *const offer_names[OFFER_COUNT] = {
    [OFFER_COLUMNS] = "columns",           [OFFER_KEYS] = "keys",
    [OFFER_METRICS] = "metrics",           [OFFER_JOBS] = "jobs",
    [OFFER_COMBINATIONS] = "combinations", [OFFER_PREDICTIONS] = "predictions",
    [OFFER_CANDIDATES] = "candidates",
};

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

static void add_rows(struct db *db, const char *sql, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    OWNED_STMT *s = NULL;
    if (db_prepare(db, sql, &s, &ignored) == 0)
        while (stmt_next(s, &ignored) > 0)
            add_name(names, stmt_text(s, 0));
}

static void add_columns(struct db *db, struct string_list *names)
{
    add_rows(db, "SELECT name FROM pragma_table_info('results')", names);
}

/* Only from the newest specs, since reading all would take too long. */
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

static void add_prediction_fields(struct string_list *names)
{
    for (int i = 0; i < FIELD_DERIVED; i++)
        add_name(names, prediction_fields[i].name);
}

/* Names that conditions on candidates may use (models/expression.h); some need a single multiset. */
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

static void add_values_of_axis(const struct axis *axis, const char *key, struct string_list *values)
{
    for (size_t k = 0; k < axis->key_count; k++)
        for (size_t row = 0; row < axis->value_count && strcmp(axis->keys[k], key) == 0; row++) {
            OWNED_BUFFER text = BUFFER_INIT;
            value_add_text(axis_value(axis, row * axis->key_count + k), &text);
            add_name(values, buffer_text(&text));
        }
}

static void add_values_of_file(const struct sweep *sweep, const char *key, struct string_list *values)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t b = 0; b < sweep->sections[kind].block_count; b++)
            for (size_t a = 0; a < sweep->sections[kind].blocks[b].axis_count; a++)
                add_values_of_axis(&sweep->sections[kind].blocks[b].axes[a], key, values);
}

static void add_values(struct db *db, const char *key, struct string_list *values)
{
    struct error ignored = ERROR_INIT;
    OWNED_STMT *s = NULL;
    if (db_prepare(db,
                   "SELECT DISTINCT iif(k.type IN ('true', 'false'), k.type, k.value) FROM"
                   " (SELECT id, json FROM spec ORDER BY id DESC LIMIT 5000) AS s, json_each(s.json) AS k"
                   " WHERE k.key = ? ORDER BY s.id",
                   &s, &ignored) == 0) {
        stmt_bind_text(s, 1, key);
        while (stmt_next(s, &ignored) > 0)
            add_name(values, stmt_is_null(s, 0) ? "" : stmt_text(s, 0));
    }
}

/* --- numbers --- */

/* One range of numbers for each number of digits that may follow, instead of scanning all jobs. */
static void add_jobs_between(struct db *db, int64_t first, int64_t last, struct string_list *names)
{
    struct error ignored = ERROR_INIT;
    OWNED_STMT *s = NULL;
    if (db_prepare(db, "SELECT id FROM job NOT INDEXED WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3", &s,
                   &ignored) == 0) {
        stmt_bind_int(s, 1, first);
        stmt_bind_int(s, 2, last);
        stmt_bind_int(s, 3, (int64_t)(JOBS_MOST - names->count));
        while (stmt_next(s, &ignored) > 0)
            string_list_add(names, stmt_copy_text(s, 0));
    }
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

static const struct {
    void (*of_file)(const struct sweep *sweep, struct string_list *names);
    void (*of_database)(struct db *db, struct string_list *names);
    void (*of_program)(struct string_list *names);
    const char *end; /* suffix of each name */
} sources[OFFER_COUNT] = {
    [OFFER_COLUMNS] = {NULL, add_columns, NULL, ""},
    [OFFER_KEYS] = {add_keys_of_file, add_keys, NULL, ""},
    [OFFER_METRICS] = {add_metrics_of_file, add_metrics, NULL, ""},
    [OFFER_JOBS] = {NULL, NULL, NULL, ""},
    [OFFER_COMBINATIONS] = {add_keys_of_file, add_keys, NULL, "="},
    [OFFER_PREDICTIONS] = {add_keys_of_file, add_keys, add_prediction_fields, ""},
    [OFFER_CANDIDATES] = {add_of_candidates, NULL, NULL, ""},
};

static void offer_values(const struct known *known, const struct pair *pair, struct buffer *out)
{
    OWNED_LIST values = STRING_LIST_INIT;
    OWNED char *key = xstrndup(pair->key, pair->key_length);
    if (known->sweep)
        add_values_of_file(known->sweep, key, &values);
    if (known->db)
        add_values(known->db, key, &values);
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
        sources[offer].of_database(known->db, &names);
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
    struct sweep *sweep = read_file(words);
    const struct known known = {sweep, open_database(words)};
    struct pair pair;
    if (offer == OFFER_COMBINATIONS && find_pair(words, &pair)) {
        offer_values(&known, &pair, out);
    } else {
        offer_names_of(offer, &known, typed(words), out);
        if (offer == OFFER_JOBS || offer == OFFER_COMBINATIONS)
            offer_jobs(known.db, typed(words), out);
    }
    db_close(known.db);
    sweep_free(sweep);
}

/* --- the manual page and the completions, from the command table --- */

/* Escapes text for troff: backslashes, hyphens, and control characters at the beginning of a line. */
static void add_troff(struct buffer *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        bool begins = c == text || c[-1] == '\n';
        if (begins && (*c == '.' || *c == '\''))
            buffer_add_text(out, "\\&");
        if (*c == '\\')
            buffer_add_text(out, "\\e");
        else if (*c == '-')
            buffer_add_text(out, "\\-");
        else
            buffer_add_char(out, *c);
    }
}

static void add_option(struct buffer *out, const struct option *o)
{
    buffer_add_text(out, ".TP\n");
    if (o->letter)
        buffer_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    buffer_add_text(out, "\\fB\\-\\-");
    add_troff(out, o->name);
    buffer_add_text(out, "\\fR");
    if (o->kind != OPTION_FLAG) {
        buffer_add_text(out, o->value_optional ? "[=\\fI" : " \\fI");
        add_troff(out, o->value);
        buffer_add_text(out, o->value_optional ? "\\fR]" : "\\fR");
    }
    buffer_add_char(out, '\n');
    add_troff(out, o->help);
    if (o->fallback) {
        buffer_add_text(out, " (default ");
        add_troff(out, o->fallback);
        buffer_add_char(out, ')');
    }
    buffer_add_char(out, '\n');
}

static void add_command(struct buffer *out, const struct command *c)
{
    buffer_printf(out, ".SS ");
    add_troff(out, c->name);
    buffer_add_text(out, "\n\\fBmeshsweep ");
    add_troff(out, c->name);
    buffer_add_text(out, "\\fR ");
    add_troff(out, c->usage);
    buffer_add_text(out, "\n.PP\n");
    add_troff(out, c->summary);
    buffer_add_text(out, ".\n");
    for (const struct option *o = c->options; o->name; o++)
        add_option(out, o);
    buffer_add_text(out, ".PP\n.EX\n");
    add_troff(out, c->example);
    buffer_add_text(out, "\n.EE\n");
}

/* Appends the page in troff with the man macros, as man-pages(7) has it. */
static void manual_add(struct buffer *out)
{
    buffer_add_text(out, ".\\\" Made by meshsweep manual from its command table.\n.TH MESHSWEEP 1 \"\" "
                         "\"meshsweep " MESHSWEEP_VERSION
                         "\"\n.SH NAME\nmeshsweep \\- sweep configurations of distributed training\n"
                         ".SH SYNOPSIS\n\\fBmeshsweep\\fR [\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
                         "One TOML file describes models, clusters, training and parallel specs.\nmeshsweep enumerates "
                         "the combinations that named rules accept, runs each as a job (locally or\nwith Slurm), "
                         "records everything in a SQLite database, and continues where it was stopped.\n"
                         ".PP\nThe default command is \\fB");
    add_troff(out, run_command.name);
    buffer_add_text(out, "\\fR.\n.SH COMMANDS\n");
    for (const struct command *const *c = commands; *c; c++)
        add_command(out, *c);
    buffer_add_text(out, ".SH OPTIONS OF EVERY COMMAND\n");
    for (const struct option *o = common_option_table; o->name; o++)
        add_option(out, o);
    buffer_add_text(out, ".SH EXIT STATUS\n");
    for (const struct exit_status_text *s = exit_status_texts; s->status; s++)
        buffer_printf(out, ".TP\n.B %s\n%s\n", s->status, s->meaning);
    buffer_add_text(out, ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nset and not empty: no colours (see no\\-color.org)\n"
                         ".TP\n.B COLUMNS\nwidth of the terminal\n"
                         ".TP\n.B MESHSWEEP_PAGER\npager for long output on a terminal (default: \\fBPAGER\\fR, then "
                         "less with LESS=FRX);\nempty or cat: no pager\n"
                         ".SH FILES\n.TP\n.I results.db\nthe database\n.TP\n.I results.db.d\nfiles of the attempts: "
                         "output and "
                         "metrics\n.SH SEE ALSO\n.BR meshsweep (5),\n.BR sqlite3 (1)\n");
}

/* --- completion --- */

/* Returns whether the shell should offer files for the value. */
static bool takes_file(const struct option *o)
{
    return o->value && (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0);
}

static void add_choices(struct buffer *out, const char *const *choices)
{
    bool any = false;
    for (; *choices; choices++) {
        if (strchr(*choices, ' '))
            continue;
        buffer_printf(out, "%s%s", any ? " " : "", *choices);
        any = true;
    }
}

/* Completions of the command's words; false: files. */
static bool add_words(struct buffer *out, const struct command *c)
{
    if (c != &help_command) {
        if (c->words)
            add_choices(out, c->words);
        return c->words != NULL;
    }
    for (const struct command *const *other = commands; *other; other++)
        buffer_printf(out, "%s%s", other == commands ? "" : " ", (*other)->name);
    return true;
}

/* Escapes text within single quotes. */
static void add_quoted(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            buffer_add_text(out, "'\\''");
        else
            buffer_add_char(out, *text);
    }
}

static void add_bash_options(struct buffer *out, const struct option *table)
{
    for (const struct option *o = table; o->name; o++) {
        buffer_printf(out, " --%s", o->name);
        if (o->letter)
            buffer_printf(out, " -%c", o->letter);
    }
}

/* A value stands behind a blank or "=", one that may be left out behind "=" only; the last of several with commas
 * between them is completed. */
static void add_bash_value(struct buffer *out, const struct command *c, const struct option *o)
{
    buffer_printf(out, "        %s:--%s=", c->name, o->name);
    if (!o->value_optional)
        buffer_printf(out, "|%s:--%s", c->name, o->name);
    if (!o->value_optional && o->letter)
        buffer_printf(out, "|%s:-%c", c->name, o->letter);
    buffer_add_text(out, ") COMPREPLY=(");
    if (o->choices) {
        buffer_add_text(out, o->kind == OPTION_CHOICE ? "$(compgen -W '" : "$(compgen -P \"$several\" -W '");
        add_choices(out, o->choices);
        buffer_add_text(out, o->kind == OPTION_CHOICE ? "' -- \"$current\")" : "' -- \"${current#\"$several\"}\")");
    } else if (takes_file(o)) {
        buffer_add_text(out, "$(compgen -f -- \"$current\")");
    }
    buffer_add_text(out, ")");
    if (o->offer)
        buffer_printf(out, "; _meshsweep_offer %s", offer_names[o->offer]);
    buffer_add_text(out, "; return ;;\n");
}

static void add_bash_values(struct buffer *out, const struct command *c)
{
    for (const struct option *o = c->options; o->name; o++)
        if (o->kind != OPTION_FLAG)
            add_bash_value(out, c, o);
    for (const struct option *o = common_option_table; o->name; o++)
        if (o->kind != OPTION_FLAG)
            add_bash_value(out, c, o);
}

static void add_bash_words(struct buffer *out)
{
    for (const struct command *const *c = commands; *c; c++) {
        OWNED_BUFFER words = BUFFER_INIT;
        if ((*c)->offer)
            buffer_printf(out, "        %s) _meshsweep_offer %s ;;\n", (*c)->name, offer_names[(*c)->offer]);
        else if (add_words(&words, *c))
            buffer_printf(out, "        %s) COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n", (*c)->name,
                          buffer_text(&words));
    }
}

static void add_command_names(struct buffer *out, const char *between)
{
    for (const struct command *const *c = commands; *c; c++)
        buffer_printf(out, "%s%s", c == commands ? "" : between, (*c)->name);
}

/* Append completion scripts for commands, options, their choices and files. */
static void completion_add_bash(struct buffer *out)
{
    buffer_add_text(out,
                    "# Made by meshsweep completion bash.\n_meshsweep_offer()\n{\n"
                    "    mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" completion \"$1\" -- "
                    "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
                    /* A value follows. */
                    "    case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n}\n_meshsweep()\n{\n"
                    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word "
                    "several=\n    COMPREPLY=()\n"
                    /* bash makes "=" a word of its own. */
                    "    if [ \"$current\" = = ]; then\n        current= before=$before=\n"
                    "    elif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -ge 2 ]; then\n"
                    "        before=${COMP_WORDS[COMP_CWORD - 2]}=\n    fi\n"
                    "    case $current in *,*) several=${current%,*}, ;; esac\n"
                    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n        case $word in\n        ");
    add_command_names(out, "|");
    buffer_add_text(out, ") command=$word; break ;;\n        esac\n    done\n");
    buffer_printf(out, "    case ${command:-%s}:$before in\n", run_command.name);
    for (const struct command *const *c = commands; *c; c++)
        add_bash_values(out, *c);
    buffer_printf(out, "    esac\n    case $current in\n    -*) case ${command:-%s} in\n", run_command.name);
    for (const struct command *const *c = commands; *c; c++) {
        buffer_printf(out, "        %s) word='", (*c)->name);
        add_bash_options(out, (*c)->options);
        buffer_add_text(out, "' ;;\n");
    }
    buffer_add_text(out, "        esac\n        COMPREPLY=($(compgen -W \"$word");
    add_bash_options(out, common_option_table);
    buffer_add_text(out, "\" -- \"$current\")) ;;\n    *) case $command in\n        '') COMPREPLY=($(compgen -W '");
    add_command_names(out, " ");
    buffer_add_text(out, "' -- \"$current\")) ;;\n");
    add_bash_words(out);
    buffer_add_text(out, "        esac ;;\n    esac\n}\ncomplete -o default -F _meshsweep meshsweep\n");
}

/* In zsh's specifications a colon ends the text and a bracket the description. */
static void add_zsh_text(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (strchr(":[]\\", *text))
            buffer_add_char(out, '\\');
        if (*text == '\'')
            buffer_add_text(out, "'\\''");
        else
            buffer_add_char(out, *text);
    }
}

static void add_zsh_option(struct buffer *out, const struct option *o)
{
    static const char *const no_value = "";
    if (o->letter)
        buffer_printf(out, " \\\n        '(-%c --%s)'{-%c,--%s", o->letter, o->name, o->letter, o->name);
    else
        buffer_printf(out, " \\\n        '--%s", o->name);
    const char *equals = o->kind == OPTION_FLAG ? no_value : o->value_optional ? "=-" : "=";
    buffer_printf(out, "%s%s[", equals, o->letter ? "}'" : "");
    add_zsh_text(out, o->help);
    buffer_add_char(out, ']');
    if (o->kind != OPTION_FLAG) {
        buffer_add_text(out, o->value_optional ? "::" : ":");
        add_zsh_text(out, o->value);
        buffer_add_char(out, ':');
    }
    if (o->choices && o->kind != OPTION_CHOICE) {
        buffer_add_text(out, "_sequence compadd - ");
        add_choices(out, o->choices);
    } else if (o->choices) {
        buffer_add_char(out, '(');
        add_choices(out, o->choices);
        buffer_add_char(out, ')');
    } else if (o->offer) {
        buffer_printf(out, "{_meshsweep_offer %s}", offer_names[o->offer]);
    } else if (takes_file(o)) {
        buffer_add_text(out, "_files");
    }
    buffer_add_char(out, '\'');
}

static void completion_add_zsh(struct buffer *out)
{
    buffer_add_text(out, "#compdef meshsweep\n# Made by meshsweep completion zsh.\n_meshsweep_offer()\n{\n"
                         "    local -a found\n    found=(\"${(@f)$(${~program} completion $1 -- "
                         "\"${(@)words[1,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)}\")\n"
                         "    found=(${found:#})\n"
                         "    compadd -S '' -- ${(M)found:#*=}\n    compadd -- ${found:#*=}\n}\n"
                         "local program=$words[1]\nlocal -a commands\ncommands=(\n");
    for (const struct command *const *c = commands; *c; c++) {
        buffer_printf(out, "    '%s:", (*c)->name);
        add_zsh_text(out, (*c)->summary);
        buffer_add_text(out, "'\n");
    }
    buffer_printf(out,
                  ")\nif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    _describe command commands\n    "
                  "return\nfi\n"
                  "local name=%s\nif [[ $words[2] != -* ]]; then\n    name=$words[2]\n    shift words\n"
                  "    (( CURRENT-- ))\nfi\ncase $name in\n",
                  run_command.name);
    for (const struct command *const *c = commands; *c; c++) {
        buffer_printf(out, "%s)\n    _arguments", (*c)->name);
        for (const struct option *o = (*c)->options; o->name; o++)
            add_zsh_option(out, o);
        for (const struct option *o = common_option_table; o->name; o++)
            add_zsh_option(out, o);
        OWNED_BUFFER words = BUFFER_INIT;
        if ((*c)->offer)
            buffer_printf(out, " \\\n        '*:word:{_meshsweep_offer %s}'\n    ;;\n", offer_names[(*c)->offer]);
        else if (add_words(&words, *c))
            buffer_printf(out, " \\\n        '1:word:(%s)'\n    ;;\n", buffer_text(&words));
        else
            buffer_add_text(out, " \\\n        '*:file:_files'\n    ;;\n");
    }
    buffer_add_text(out, "esac\n");
}

static void add_fish_option(struct buffer *out, const char *command, const struct option *o)
{
    buffer_add_text(out, "complete -c meshsweep");
    if (command)
        buffer_printf(out, " -n '__fish_seen_subcommand_from %s'", command);
    buffer_printf(out, " -l %s", o->name);
    if (o->letter)
        buffer_printf(out, " -s %c", o->letter);
    buffer_add_text(out, " -d '");
    add_quoted(out, o->help);
    buffer_add_char(out, '\'');
    if (o->choices) {
        buffer_add_text(out, " -x -a '");
        add_choices(out, o->choices);
        buffer_add_char(out, '\'');
    } else if (o->offer) {
        buffer_printf(out, " -x -a '(__meshsweep_offer %s)'", offer_names[o->offer]);
    } else if (o->kind != OPTION_FLAG && !o->value_optional) {
        buffer_add_text(out, takes_file(o) ? " -r -F" : " -x");
    }
    buffer_add_char(out, '\n');
}

static void completion_add_fish(struct buffer *out)
{
    buffer_add_text(out, "# Made by meshsweep completion fish.\nfunction __meshsweep_offer\n"
                         "    set -l typed (commandline -opc)\n"
                         "    $typed[1] completion $argv[1] -- $typed[2..-1] (commandline -ct) 2>/dev/null\nend\n");
    for (const struct command *const *next = commands; *next; next++) {
        const struct command *c = *next;
        buffer_printf(out, "complete -c meshsweep -n __fish_use_subcommand -a %s -d '", c->name);
        add_quoted(out, c->summary);
        buffer_add_text(out, "'\n");
        for (const struct option *o = c->options; o->name; o++)
            add_fish_option(out, c->name, o);
        OWNED_BUFFER words = BUFFER_INIT;
        if (c->offer)
            buffer_printf(&words, "(__meshsweep_offer %s)", offer_names[c->offer]);
        if (c->offer || add_words(&words, c))
            buffer_printf(out, "complete -c meshsweep -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", c->name,
                          buffer_text(&words));
    }
    for (const struct option *o = common_option_table; o->name; o++)
        add_fish_option(out, NULL, o);
}

#define AT(member) offsetof(struct help_options, member)

static const struct option options[] = {{.name = NULL}};

static int print(void (*add)(struct buffer *out), struct error *e)
{
    struct buffer out = BUFFER_INIT;
    add(&out);
    return output_write_take(&out, e);
}

static int manual(const struct arguments *a, struct error *e)
{
    (void)a;
    return print(manual_add, e);
}

static const struct {
    const char *name;
    void (*add)(struct buffer *out);
} shells[] = {{"bash", completion_add_bash}, {"zsh", completion_add_zsh}, {"fish", completion_add_fish}};

static int print_offers(enum offer offer, char *const *words, struct error *e)
{
    static char *const none[] = {NULL};
    struct buffer out = BUFFER_INIT;
    offers_add(offer, words ? words : none, &out);
    return output_write_take(&out, e);
}

static int completion(const struct arguments *a, struct error *e)
{
    const char *shell = a->word_count ? a->words[0] : "";
    for (size_t i = 0; i < LENGTH(shells); i++)
        if (strcmp(shells[i].name, shell) == 0)
            return print(shells[i].add, e);
    for (int offer = 1; offer < OFFER_COUNT; offer++)
        if (strcmp(offer_names[offer], shell) == 0)
            return print_offers(offer, a->program, e);
    if (strcmp(shell, "table-keys") == 0)
        return print(schema_add_rows, e);
    return error_set(e, ERROR_USAGE, "completion: name the shell: meshsweep completion bash, zsh or fish");
}

struct help_options {
    bool schema;
};

static const struct option help_option_table[] = {
    OPTION(FLAG, "schema", AT(schema), NULL, "print the JSON Schema of the command's --json output"),
    {.name = NULL},
};

static int print_schema(const char *command, struct error *e)
{
    char *name = xasprintf("schemas/%s.json", command);
    const char *schema = embedded_text(name);
    free(name);
    if (!schema)
        return error_set(e, ERROR_USAGE, "%s prints no JSON; docs/json.md lists the commands that do", command);
    return output_text(schema, e);
}

static int help(const struct arguments *a, struct error *e)
{
    const struct help_options *o = a->options;
    struct buffer out = BUFFER_INIT;
    if (o->schema && a->word_count == 1 && strcmp(a->words[0], "sweep") == 0)
        return print_schema("sweep", e);
    if (o->schema && a->word_count == 0)
        return error_set(e, ERROR_USAGE, "help --schema: name the command: meshsweep help --schema COMMAND");
    const struct command *c = a->word_count ? command_by_name(a->words[0], e) : NULL;
    if (a->word_count && !c)
        return -1;
    if (o->schema)
        return print_schema(c->name, e);
    if (c)
        command_add_help(c, true, &out);
    else
        commands_add_help(&out);
    return output_write_take(&out, e);
}

static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

const struct command manual_command = {
    .name = "manual",
    .summary = "Print the manual page",
    .usage = "",
    .example = "meshsweep manual | man -l -",
    .options = options,
    .options_bytes = 1,
    .run = manual,
};

const struct command completion_command = {
    .name = "completion",
    .summary = "Print the completion script for a shell",
    .usage = "bash|zsh|fish|columns|keys|metrics|jobs [-- WORD...]",
    .example = "meshsweep completion bash > meshsweep.bash && source ./meshsweep.bash",
    .options = options,
    .options_bytes = 1,
    .words_most = 1,
    .words = shell_names,
    .takes_program = true,
    .run = completion,
};

const struct command help_command = {
    .name = "help",
    .summary = "Print help for the tool, or for one command",
    .usage = "[--schema] [COMMAND]",
    .example = "meshsweep help run\nmeshsweep help --schema status",
    .options = help_option_table,
    .options_bytes = sizeof(struct help_options),
    .words_most = 1,
    .pages = true,
    .run = help,
};
