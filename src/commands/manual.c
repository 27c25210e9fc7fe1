#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "sweep_file/schema.h"
#include "util/embedded.h"
#include "util/memory.h"

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
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
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
        command_add_help(c, &out);
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
