#include <string.h>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/output.h"

static const struct option options[] = {{.name = NULL}};

static int print(void (*add)(struct buffer *out), struct error *e)
{
    struct buffer out = BUFFER_INIT;
    add(&out);
    int rc = output_write(out.data, out.length, e);
    buffer_free(&out);
    return rc;
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

static int completion(const struct arguments *a, struct error *e)
{
    const char *shell = a->word_count ? a->words[0] : "";
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, shell) == 0)
            return print(shells[i].add, e);
    return error_set(e, ERROR_USAGE, "completion: for which shell? bash, zsh or fish");
}

static int help(const struct arguments *a, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    const struct command *c = a->word_count ? command_by_name(a->words[0], e) : NULL;
    if (a->word_count && !c)
        return -1;
    if (c)
        command_add_help(c, &out);
    else
        commands_add_help(&out);
    int rc = output_write(out.data, out.length, e);
    buffer_free(&out);
    return rc;
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
    .summary = "Print what a shell reads to complete command lines",
    .usage = "bash|zsh|fish",
    .example = "meshsweep completion bash > meshsweep.bash && source ./meshsweep.bash",
    .options = options,
    .options_bytes = 1,
    .words_most = 1,
    .words = shell_names,
    .run = completion,
};

const struct command help_command = {
    .name = "help",
    .summary = "Print the help of the tool, or of a command",
    .usage = "[COMMAND]",
    .example = "meshsweep help run",
    .options = options,
    .options_bytes = 1,
    .words_most = 1,
    .pages = true,
    .run = help,
};
