#include "cli/command.h"

#include <string.h>

#include "util/suggest.h"

const struct command *const commands[] = {
    &run_command, /* the default */
    &plan_command,         &status_command,     &results_command, &best_command,    &stale_command,
    &accept_command,       &reread_command,     &show_command,    &note_command,    &tail_command,
    &compare_command,      &report_command,     &why_command,     &predict_command, &deepspeed_command,
    &export_command,       &import_command,     &merge_command,   &pull_command,    &backup_command,
    &upgrade_command,      &archive_command,    &gc_command,      &check_command,   &replay_command,
    &search_model_command, &ask_command,        &tell_command,    &mcp_command,     &selftest_command,
    &init_command,         &completion_command, &manual_command,  &help_command,    NULL,
};

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

void command_add_help(const struct command *c, bool all, struct buffer *out)
{
    buffer_printf(out, "usage: meshsweep %s %s\n\n%s.\n\n", c->name, c->usage, c->summary);
    options_add_help(c->options, all ? NULL : c->name, out);
    buffer_add_text(out, "\nexample:\n");
    for (const char *line = c->example; *line;) {
        size_t length = strcspn(line, "\n");
        buffer_printf(out, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void commands_add_help(struct buffer *out)
{
    buffer_printf(out, "usage: meshsweep [COMMAND] [OPTIONS]\n\n"
                       "Run a sweep over configurations of distributed training. One TOML file says\nwhat to try; a "
                       "database keeps the results.\n\n");
    for (const struct command *const *c = commands; *c; c++)
        buffer_printf(out, "  %-12s  %s\n", (*c)->name, (*c)->summary);
    buffer_printf(out,
                  "\nThe default command is `%s`. `meshsweep COMMAND --help` shows the options that\n"
                  "people use, with an example; `meshsweep help COMMAND` explains all of them.\n"
                  "To begin: meshsweep init --help\nExit status: 0 success, 1 an operation failed, 2 wrong usage or an "
                  "invalid\nsweep file, 3 some jobs failed, 4 nothing matched, 5 the host could not run\nall jobs, 6 "
                  "the first jobs failed the same way and the rest were not started,\n128 + n ended by signal n.\n",
                  run_command.name);
}

/* Options may precede the command, so their values must be recognised before the command is known. */
static bool takes_next_word(const char *word)
{
    for (const struct command *const *c = commands; *c; c++)
        if (option_takes_next_word((*c)->options, word))
            return true;
    return false;
}

static size_t command_position(char *const *argv)
{
    size_t i = 0;
    while (argv[i] && strcmp(argv[i], "--") != 0) {
        if (argv[i][0] != '-')
            return i;
        bool has_value = argv[i + 1] && strncmp(argv[i + 1], "--", 2) != 0;
        i += has_value && takes_next_word(argv[i]) ? 2 : 1;
    }
    while (argv[i])
        i++;
    return i;
}

static bool is_known_option(const char *word)
{
    for (const struct command *const *c = commands; *c; c++)
        if (option_is_known((*c)->options, word))
            return true;
    return false;
}

/* The word after an unknown option may be its value; then the option is the mistake. */
static bool follows_unknown_option(char *const *argv, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (argv[i][0] == '-' && argv[i][1] && !is_known_option(argv[i]))
            return true;
    return false;
}

const struct command *command_by_name(const char *word, struct error *e)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, word) == 0)
            return *c;
    const char *names[COMMANDS_MOST];
    size_t count = 0;
    for (const struct command *const *c = commands; *c && count < COMMANDS_MOST; c++)
        names[count++] = (*c)->name;
    const char *near = suggest_nearest(word, names, count);
    if (near)
        error_set(e, ERROR_USAGE, "unknown command %s (did you mean %s?); meshsweep --help lists the commands", word,
                  near);
    else
        error_set(e, ERROR_USAGE, "unknown command %s; meshsweep --help lists the commands", word);
    return NULL;
}

const struct command *command_find(char *const *argv, size_t *at, struct error *e)
{
    *at = command_position(argv);
    const char *word = argv[*at];
    if (!word)
        return &run_command;
    if (!follows_unknown_option(argv, *at))
        return command_by_name(word, e);
    while (argv[*at])
        (*at)++;
    return &run_command;
}
