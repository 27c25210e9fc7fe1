#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "commands/new_sweep.h"
#include "space/build.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"

struct init_options {
    const char *output, *log, *name, *script;
};

#define AT(member) offsetof(struct init_options, member)

static const struct option option_table[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_STRING,
     .offset = AT(output),
     .value = "FILE",
     .help = "the sweep file to write; - is standard output",
     .fallback = "sweep.toml"},
    {.name = "from-log",
     .kind = OPTION_STRING,
     .offset = AT(log),
     .value = "FILE",
     .help = "find readers for what the script printed; alone: print them"},
    {.name = "script",
     .kind = OPTION_STRING,
     .offset = AT(script),
     .value = "LINE",
     .help = "the command line, in place of the words after --"},
    {.name = "name", .kind = OPTION_STRING, .offset = AT(name), .value = "NAME", .help = "the sweep's name"},
    {.name = NULL},
};

/* What was given, and what was asked for; owns what it points to. */
struct answers {
    char **command, **axes; /* NULL-terminated */
    char *log;
};

static void add_word(char ***words, const char *word, size_t length)
{
    size_t count = 0;
    while (*words && (*words)[count])
        count++;
    *words = xreallocarray(*words, count + 2, sizeof **words);
    (*words)[count] = xstrndup(word, length);
    (*words)[count + 1] = NULL;
}

static void add_words(char ***words, const char *line)
{
    for (line += strspn(line, " \t"); *line; line += strspn(line, " \t")) {
        size_t length = strcspn(line, " \t");
        add_word(words, line, length);
        line += length;
    }
}

static void words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

static void take_given(const struct arguments *a, const struct init_options *o, struct answers *out)
{
    add_words(&out->command, o->script ? o->script : "");
    for (char *const *word = a->program; word && *word; word++)
        add_word(&out->command, *word, strlen(*word));
    for (size_t i = 0; i < a->word_count; i++)
        add_word(&out->axes, a->words[i], strlen(a->words[i]));
    out->log = o->log ? xstrdup(o->log) : NULL;
}

/* Asks for what was not given, where there is somebody to ask. */
static void ask(struct answers *out)
{
    struct buffer answer = BUFFER_INIT;
    if (!out->command && output_question("Which command trains? (python3 train.py …)", &answer))
        add_words(&out->command, buffer_text(&answer));
    if (out->command && !out->axes && output_question("Which values are to be tried? (micro_batch=1,2,4 …)", &answer))
        add_words(&out->axes, buffer_text(&answer));
    if (out->command && !out->log && output_question("A log that it printed? (a file, or nothing)", &answer) &&
        answer.length)
        out->log = xstrdup(buffer_text(&answer));
    buffer_free(&answer);
}

/* What `check` would refuse is not written. */
static int check_text(const char *path, const struct buffer *text, struct error *e)
{
    struct sweep *sweep = NULL;
    struct space *space = NULL;
    const struct space_options options = {0};
    int rc = sweep_parse(path, text->data, text->length, &sweep, e);
    if (rc == 0)
        rc = space_build(sweep, &options, &space, e);
    space_free(space);
    sweep_free(sweep);
    return rc;
}

static int write_text(const char *path, const struct buffer *text, struct error *e)
{
    if (check_text(path, text, e) < 0)
        return -1;
    if (strcmp(path, "-") == 0)
        return output_write(text->data, text->length, e);
    if (access(path, F_OK) == 0)
        return error_set(e, ERROR_USAGE, "init: %s is there already; -o FILE names another one", path);
    if (file_write_atomic(path, text->data, text->length, e) < 0)
        return -1;
    output_message("wrote %s; look at it, then: meshsweep plan%s%s", path,
                   strcmp(path, "sweep.toml") == 0 ? "" : " -c ", strcmp(path, "sweep.toml") == 0 ? "" : path);
    return 0;
}

static int write_sweep(const struct init_options *o, const struct answers *given, const struct log_readers *log,
                       struct error *e)
{
    struct buffer text = BUFFER_INIT;
    const struct new_sweep n = {.name = o->name ? o->name : "sweep",
                                .command = given->command,
                                .axes = given->axes,
                                .log = given->log ? log : NULL};
    int rc = new_sweep_add_toml(&n, &text, e);
    if (rc == 0)
        rc = write_text(o->output, &text, e);
    buffer_free(&text);
    return rc;
}

static int print_readers(const struct log_readers *log, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    log_readers_add_toml(log, &text);
    int rc = output_people(&text, e);
    buffer_free(&text);
    return rc;
}

static int init(const struct arguments *a, struct error *e)
{
    const struct init_options *o = a->options;
    struct answers given = {NULL, NULL, NULL};
    struct log_readers log = {0};
    take_given(a, o, &given);
    if (!given.log || given.command || given.axes)
        ask(&given);
    int rc = given.log ? log_readers_find(given.log, &log, e) : 0;
    if (rc == 0 && given.command && given.axes)
        rc = write_sweep(o, &given, &log, e);
    else if (rc == 0 && given.log && !given.command && !given.axes)
        rc = print_readers(&log, e);
    else if (rc == 0)
        rc = error_set(e, ERROR_USAGE, "init: %s As in: meshsweep init micro_batch=1,2,4 -- python3 train.py",
                       given.command ? "which values are to be tried?" : "which command is to be run?");
    log_readers_free(&log);
    words_free(given.command);
    words_free(given.axes);
    free(given.log);
    return rc < 0 ? -1 : STATUS_OK;
}

const struct command init_command = {
    .name = "init",
    .summary = "Write a commented sweep file for a training script",
    .usage = "[OPTIONS] KEY=VALUE,VALUE... -- PROGRAM ARGUMENT...",
    .example = "meshsweep init -o new.toml micro_batch=1,2,4 -- python3 train.py\n"
               "meshsweep init --from-log train.log",
    .options = option_table,
    .options_bytes = sizeof(struct init_options),
    .words_most = 64,
    .takes_program = true,
    .run = init,
};
