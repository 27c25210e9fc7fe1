#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/table_file.h"
#include "commands/commands.h"
#include "commands/importing.h"
#include "draft/job_command.h"
#include "draft/log_readers.h"
#include "draft/new_sweep.h"
#include "draft/table_draft.h"
#include "report/hint.h"
#include "space/build.h"
#include "space/row_space.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

enum { TRIED_BYTES_MOST = 4 << 20 /* a hundred thousand rows take seconds */ };

/* The answers that were given, and what was asked for. */
struct answers {
    struct string_list command, axes;
    char *log;
    struct log_readers found; /* in the log */
};

static void answers_free(struct answers *given)
{
    string_list_free(&given->command);
    string_list_free(&given->axes);
    log_readers_free(&given->found);
    free(given->log);
}

/* With which option a file that is there would be read, by its name; NULL: by none. */
static const char *option_for_file(const char *word)
{
    static const char *const endings[][2] = {{".csv", "--from-table"}, {".tsv", "--from-table"},
                                             {".md", "--from-table"},  {".jsonl", "--from-table"},
                                             {".log", "--from-log"},   {".txt", "--from-log"}};
    const char *dot = strrchr(word, '.');
    for (size_t i = 0; dot && i < LENGTH(endings); i++)
        if (strcmp(dot, endings[i][0]) == 0 && access(word, F_OK) == 0)
            return endings[i][1];
    return NULL;
}

/* No shell reads the command's words. */
static int split_command(const char *line, struct string_list *out, struct error *e)
{
    static const char *const operators[] = {"|", "||", "&&", "&", ">", ">>", "<", "2>&1", "2>", "&>", "|&", NULL};
    if (shell_split(line, out, e) < 0)
        return -1;
    const char *found = FIND(i, out->count, strings_have((char *const *)operators, out->items[i]), out->items[i]);
    return !found ? 0
                  : error_set(e, ERROR_USAGE,
                              "init: `%s` is for a shell, and none reads the command: leave it out, as jobs' output is "
                              "kept, or name a script that ends with the program and \"$@\"",
                              found);
}

static int take_given(const struct arguments *a, const struct init_options *o, struct answers *out, struct error *e)
{
    if (split_command(o->script ? o->script : "", &out->command, e) < 0)
        return -1;
    for (char *const *word = a->program; word && *word; word++)
        string_list_add(&out->command, xstrdup(*word));
    for (size_t i = 0; i < a->word_count; i++) {
        const char *option = strchr(a->words[i], '=') ? NULL : option_for_file(a->words[i]);
        if (option)
            return error_set(e, ERROR_USAGE, "init: %s is a file; did you mean meshsweep init %s %s?", a->words[i],
                             option, a->words[i]);
        string_list_add(&out->axes, xstrdup(a->words[i]));
    }
    out->log = o->log ? xstrdup(o->log) : NULL;
    return 0;
}

/* Nothing is written that `check` would refuse. */
static int check_text(const char *path, const struct buffer *text, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED_ROWS *rows = NULL;
    OWNED_SPACE *space = NULL;
    const struct space_options options = {0};
    if (sweep_parse(path, text->data, text->length, &sweep, e) < 0)
        return -1;
    return sweep_is_imported(sweep) ? recorded_space_build(sweep, NULL, &options, &rows, &space, e)
                                    : space_build(sweep, &options, &space, e);
}

static int check_absent(const char *path, struct error *e)
{
    if (strcmp(path, "-") != 0 && access(path, F_OK) == 0)
        return error_set(e, ERROR_USAGE, "init: %s exists already; name another file with -o FILE", path);
    return 0;
}

/* `next` is the command to go on with, `table` what it is given after the sweep file; "": nothing. */
static int write_text(const char *path, const struct buffer *text, const char *next, const char *table, struct error *e)
{
    if (strcmp(path, "-") == 0)
        return output_write(text->data, text->length, e);
    if (check_absent(path, e) < 0 || file_write_atomic(path, text->data, text->length, e) < 0)
        return -1;
    OWNED_BUFFER config = BUFFER_INIT;
    OWNED char *word = *table ? shell_word(table) : xstrdup("");
    hint_add_config(&config, path);
    output_message("wrote %s; check it, then: meshsweep %s%s%s%s", path, next, buffer_text(&config), *table ? " " : "",
                   word);
    return 0;
}

/* The name of the script without directories and ending. */
static char *name_of_command(char *const *words)
{
    const char *script = path_name(job_command_script(words)), *dot = strrchr(script, '.');
    bool has_ending = dot && dot > script && (strcmp(dot, ".py") == 0 || strcmp(dot, ".sh") == 0);
    return has_ending ? xstrndup(script, (size_t)(dot - script)) : xstrdup(script);
}

/* By this line editors find the keys, in the schema that is installed with the program. None where it is not. */
static void add_schema_line(struct buffer *out)
{
    OWNED char *program = path_absolute("/proc/self/exe");
    OWNED char *beside = path_beside(program, "../share/meshsweep/schemas/sweep.json"), *schema = path_absolute(beside);
    if (access(schema, R_OK) == 0)
        buffer_printf(out, "#:schema file://%s\n", schema);
}

/* `log` may be NULL. */
static int make_text(const struct init_options *o, const struct answers *given, const struct log_readers *log,
                     struct buffer *out, struct error *e)
{
    OWNED char *name = o->name ? xstrdup(o->name) : name_of_command(given->command.items);
    const struct new_sweep n = {.name = name,
                                .command = given->command.items,
                                .axes = given->axes.items,
                                .log = log,
                                .path = o->output,
                                .environment = environ};
    add_schema_line(out);
    int rc = new_sweep_add_toml(&n, out, e);
    return rc < 0 ? -1 : check_text(o->output, out, e);
}

/* Shows what the readers of the sweep file that was written find in the log that was given. */
static int show_readings(const char *log, const struct buffer *sweep_file, struct error *e)
{
    OWNED_BUFFER found = BUFFER_INIT;
    if (log_readers_try(log, sweep_file, &found, e) < 0)
        return -1;
    if (!found.length)
        output_message("in %s it finds no number; say in [job.metrics] how to read what counts", log);
    for (char *rest = found.data, *line; rest && (line = strtok_r(rest, "\n", &rest));)
        output_message("in %s it finds %s", log, line);
    return 0;
}

static int write_sweep(const struct init_options *o, const struct answers *given, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (make_text(o, given, given->log ? &given->found : NULL, &text, e) < 0 ||
        write_text(o->output, &text, "plan", "", e) < 0 || (given->log && show_readings(given->log, &text, e) < 0))
        return -1;
    if (given->log && !given->found.objective)
        output_message("the shortest job will win, as nothing in %s says what counts; else write objective = "
                       "\"max:NAME\" or \"min:NAME\" in [sweep]",
                       given->log);
    return 0;
}

/* --- a table --- */

struct drafted_table {
    const char *path;
    struct import_draft *draft;
};

static void drafted_table_free(struct drafted_table *t)
{
    import_draft_free(t->draft);
}

static int draft_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e)
{
    struct drafted_table *t = context;
    (void)line;
    if (t->draft) {
        import_draft_add(t->draft, cells);
        return 0;
    }
    t->draft = import_draft_create(cells, count, e);
    return t->draft ? 0 : error_context(e, "%s", t->path);
}

static int write_import(const struct init_options *o, struct error *e)
{
    OWNED_BY(drafted_table_free) struct drafted_table t = {.path = o->table};
    OWNED_BUFFER text = BUFFER_INIT;
    struct table_content content;
    const char *file = path_name(o->table);
    OWNED char *name = o->name ? xstrdup(o->name) : xstrndup(file, strcspn(file, "."));
    if (table_read_rows(o->table, &content, draft_row, &t, e) < 0)
        return -1;
    if (!t.draft)
        return error_set(e, ERROR_USAGE, "%s: the table is empty; its first line must name the columns", o->table);
    add_schema_line(&text);
    if (import_draft_write(t.draft, name, o->table, &text, e) < 0)
        return error_context(e, "%s", o->table);
    if (check_text(o->output, &text, e) < 0 || write_text(o->output, &text, "import", o->table, e) < 0)
        return -1;
    if (strcmp(o->output, "-") != 0 && content.bytes > TRIED_BYTES_MOST)
        output_message("to see which row would win, without recording it: meshsweep import --dry-run");
    else if (strcmp(o->output, "-") != 0)
        import_try(o->table, o->output, &text);
    return 0;
}

static int print_readers(const struct log_readers *log, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    log_readers_add_toml(log, &text);
    return output_people(&text, e);
}

/* --- questions --- */

/* Adds an answer to what is given; says what is wrong with it. */
typedef int take_answer(const struct init_options *o, const char *answer, struct answers *given, struct error *e);

static int take_command(const struct init_options *o, const char *answer, struct answers *given, struct error *e)
{
    (void)o;
    return split_command(answer, &given->command, e);
}

static int take_axes(const struct init_options *o, const char *answer, struct answers *given, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = shell_split(answer, &given->axes, e);
    if (rc == 0 && given->axes.count)
        rc = make_text(o, given, NULL, &text, e);
    return rc;
}

static int take_log(const struct init_options *o, const char *answer, struct answers *given, struct error *e)
{
    struct log_readers found = {0};
    (void)o;
    if (!*answer)
        return 0;
    int rc = log_readers_find(answer, &found, e);
    log_readers_free(&found);
    given->log = rc == 0 ? xstrdup(answer) : NULL;
    return rc;
}

static int take_objective(const struct init_options *o, const char *answer, struct answers *given, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT, found = BUFFER_INIT;
    given->found.objective = *answer ? xstrdup(answer) : NULL;
    int rc = make_text(o, given, &given->found, &text, e);
    if (rc == 0)
        rc = log_readers_try(given->log, &text, &found, e);
    if (rc == 0 && strstr(buffer_text(&found), ", which is the objective"))
        rc = error_set(e, ERROR_USAGE, "%s: no reader finds that", answer);
    if (rc < 0) {
        free(given->found.objective);
        given->found.objective = NULL;
    }
    return rc;
}

/* Asks until the answer is accepted, and says what is wrong with one that is not. -1 at the end of input. */
static int ask_person(const char *question, take_answer *take, const struct init_options *o, struct string_list *list,
                      struct answers *given, struct error *e)
{
    OWNED_BUFFER answer = BUFFER_INIT;
    int rc = -1;
    while (rc < 0 && output_question(question, &answer)) {
        struct error wrong = ERROR_INIT;
        rc = take(o, buffer_text(&answer), given, &wrong);
        if (rc < 0)
            output_message("%s", wrong.text);
        if (list && rc < 0)
            string_list_free(list);
        else if (list && list->count == 0)
            rc = -1; /* nothing was answered, and something is needed */
    }
    return rc == 0 ? 0
                   : error_set(e, ERROR_FAILED,
                               "init: the input ended before all questions were answered; nothing was written");
}

/* Asks for what was not given, if on a terminal. */
static int ask_for_rest(const struct init_options *o, struct answers *given, struct error *e)
{
    bool is_for_log_alone = given->log && !given->command.count && !given->axes.count;
    if (is_for_log_alone || !output_is_terminal(stdin) || !output_is_terminal(stderr))
        return 0;
    if (check_absent(o->output, e) < 0)
        return -1;
    if (!given->command.count && ask_person("Which command runs the training? (python3 train.py …)", take_command, o,
                                            &given->command, given, e) < 0)
        return -1;
    if (!given->axes.count &&
        ask_person("Which values should be tried? (micro_batch=1,2,4 …)", take_axes, o, &given->axes, given, e) < 0)
        return -1;
    return given->log
               ? 0
               : ask_person("Is there a log of an earlier run? (a file, or nothing)", take_log, o, NULL, given, e);
}

/* Shows what could be one first. */
static int ask_for_objective(const struct init_options *o, struct answers *given, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = make_text(o, given, &given->found, &text, e);
    if (rc == 0)
        rc = show_readings(given->log, &text, e);
    return rc < 0 ? -1
                  : ask_person("Which metric counts? (max:NAME or min:NAME, or nothing: the shortest job wins)",
                               take_objective, o, NULL, given, e);
}

static int write_or_print(const struct init_options *o, struct answers *given, struct error *e)
{
    /* Variables alone are none. */
    const bool has_command = given->command.count && *job_command_script(given->command.items);
    const bool is_whole = has_command && given->axes.count;
    if (given->log && log_readers_find(given->log, &given->found, e) < 0)
        return -1;
    if (is_whole && given->log && !given->found.objective && output_is_terminal(stdin) && output_is_terminal(stderr) &&
        ask_for_objective(o, given, e) < 0)
        return -1;
    if (is_whole)
        return write_sweep(o, given, e);
    return given->log && !given->command.count && !given->axes.count
               ? print_readers(&given->found, e)
               : error_set(e, ERROR_USAGE, "init: %s For example: meshsweep init micro_batch=1,2,4 -- python3 train.py",
                           has_command ? "which values should be tried?" : "which command should be run?");
}

int command_init(const struct init_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(answers_free) struct answers given = {.command = STRING_LIST_INIT, .axes = STRING_LIST_INIT};
    if (o->table && (o->log || o->script || a->program || a->word_count))
        return error_set(e, ERROR_USAGE,
                         "init: --from-table cannot be combined with keys or a command: the table has been measured "
                         "already");
    if (o->table)
        return write_import(o, e);
    return take_given(a, o, &given, e) < 0 || ask_for_rest(o, &given, e) < 0 ? -1 : write_or_print(o, &given, e);
}
