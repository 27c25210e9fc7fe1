#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"

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

/* Whether the shell should offer files for the value. */
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

/* A value stands behind a blank or "=", one that may be left out behind "=" only; of several with commas between them
 * it is the last one that is completed. */
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
        struct buffer words = BUFFER_INIT;
        if ((*c)->offer)
            buffer_printf(out, "        %s) _meshsweep_offer %s ;;\n", (*c)->name, offer_names[(*c)->offer]);
        else if (add_words(&words, *c))
            buffer_printf(out, "        %s) COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n", (*c)->name,
                          buffer_text(&words));
        buffer_free(&words);
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
        struct buffer words = BUFFER_INIT;
        if ((*c)->offer)
            buffer_printf(out, " \\\n        '*:word:{_meshsweep_offer %s}'\n    ;;\n", offer_names[(*c)->offer]);
        else if (add_words(&words, *c))
            buffer_printf(out, " \\\n        '1:word:(%s)'\n    ;;\n", buffer_text(&words));
        else
            buffer_add_text(out, " \\\n        '*:file:_files'\n    ;;\n");
        buffer_free(&words);
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
        struct buffer words = BUFFER_INIT;
        if (c->offer)
            buffer_printf(&words, "(__meshsweep_offer %s)", offer_names[c->offer]);
        if (c->offer || add_words(&words, c))
            buffer_printf(out, "complete -c meshsweep -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", c->name,
                          buffer_text(&words));
        buffer_free(&words);
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
