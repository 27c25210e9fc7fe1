#include "draft/job_command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/memory.h"

#define NAMES_MOST 2

/* How a launcher passes settings to its script or configuration. */
enum style { STYLE_ANY = 0, STYLE_HYPHENS, STYLE_ASSIGNMENTS };

/* Launchers by the word before the script, a program or a Python module. Those without a name are settings of scripts
 * that start their own processes. Names in capitals are environment variables. */
static const struct known_launcher {
    const char *name, *devices[NAMES_MOST], *hosts;
    bool counts_all;
    const char *verb;    /* word after the name */
    bool has_last_words; /* its own settings follow "--" */
    enum style style;
} launchers[] = {
    {.name = "torchrun", .devices = {"nproc_per_node"}, .hosts = "nnodes"},
    {.name = "torch.distributed.run", .devices = {"nproc_per_node"}, .hosts = "nnodes"},
    {.name = "torch.distributed.launch", .devices = {"nproc_per_node"}, .hosts = "nnodes"},
    {.name = "deepspeed", .devices = {"num_gpus"}, .hosts = "num_nodes"},
    {.name = "accelerate", .verb = "launch", .devices = {"num_processes"}, .hosts = "num_machines", .counts_all = true},
    {.name = "mpirun", .devices = {"np", "n"}, .counts_all = true},
    {.name = "mpiexec", .devices = {"n", "np"}, .counts_all = true},
    {.name = "colossalai", .verb = "run", .devices = {"nproc_per_node"}, .hosts = "num_nodes"},
    {.name = "composer", .devices = {"n", "nproc"}},
    {.name = "tune", .verb = "run", .devices = {"nproc_per_node"}, .hosts = "nnodes", .style = STYLE_ASSIGNMENTS},
    {.name = "axolotl",
     .verb = "train",
     .devices = {"nproc_per_node"},
     .hosts = "nnodes",
     .has_last_words = true,
     .style = STYLE_HYPHENS},
    {.name = "llamafactory-cli",
     .verb = "train",
     .devices = {"NPROC_PER_NODE"},
     .hosts = "NNODES",
     .style = STYLE_ASSIGNMENTS},
    {.name = "swift", .devices = {"NPROC_PER_NODE"}, .hosts = "NNODES"},    /* ms-swift */
    {.name = "megatron", .devices = {"NPROC_PER_NODE"}, .hosts = "NNODES"}, /* the same on Megatron */
    {.devices = {"trainer.devices"}, .hosts = "trainer.num_nodes"},         /* Lightning, NeMo */
    {.devices = {"trainer.n_gpus_per_node"}, .hosts = "trainer.nnodes"},    /* verl */
    {.devices = {"cluster.gpus_per_node"}, .hosts = "cluster.num_nodes"},   /* NeMo-RL */
};

static const struct known_launcher *launcher_named(const char *word)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (launchers[i].name && strcmp(path_name(word), launchers[i].name) == 0)
            return &launchers[i];
    return NULL;
}

static bool ends_in(const char *word, const char *ending)
{
    size_t length = strlen(word), n = strlen(ending);
    return length > n && strcmp(word + length - n, ending) == 0;
}

static bool is_option(const char *word)
{
    size_t dashes = strspn(word, "-");
    return (dashes == 1 || dashes == 2) && isalpha((unsigned char)word[dashes]);
}

/* The first word that is neither an option nor its value, as in `mpirun -n 4 ./program`; 0 if there is none. */
static size_t find_program(char *const *words)
{
    const struct known_launcher *l = words[0] ? launcher_named(words[0]) : NULL;
    if (!l)
        return 0;
    size_t i = 1 + (l->verb && words[1] && strcmp(words[1], l->verb) == 0);
    while (words[i] && is_option(words[i]))
        i += 1 + (!strchr(words[i], '=') && words[i + 1] && !is_option(words[i + 1]));
    return words[i] ? i : 0;
}

/* The index of the script, or of a module that is not a launcher; else of the program. */
static size_t find_script(char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        bool is_module = i > 0 && strcmp(words[i - 1], "-m") == 0 && !launcher_named(words[i]);
        if (is_module || (words[i][0] != '-' && (ends_in(words[i], ".py") || ends_in(words[i], ".sh"))))
            return i;
    }
    return find_program(words);
}

/* NAME=VALUE, as in a shell before a command. */
static bool is_variable(const char *word)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && !isdigit((unsigned char)*word) && word[length] == '=';
}

/* The command without "env", and the number of variables that it begins with. */
static char *const *skip_env(char *const *words, size_t *variables)
{
    words += words[0] && words[1] && strcmp(words[0], "env") == 0 && is_variable(words[1]);
    for (*variables = 0; words[*variables] && is_variable(words[*variables]); ++*variables)
        ;
    return words;
}

const char *job_command_script(char *const *words)
{
    size_t variables;
    words = skip_env(words, &variables) + variables;
    return words[0] ? words[find_script(words)] : "";
}

/* --- settings --- */

char *job_command_key(const char *name)
{
    char *key = xstrdup(name + strspn(name, "-+"));
    for (char *c = key; *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
    return key;
}

static bool is_assignment(const char *word)
{
    const char *name = word + strspn(word, "+");
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return length > 0 && isalpha((unsigned char)*name) && name[length] == '=';
}

static void add_setting(struct job_command *c, size_t option, size_t word, size_t start, bool is_launchers)
{
    const char *name = c->words.items[option];
    char *alone = xstrndup(name, strcspn(name, "="));
    c->settings = array_grow(c->settings, c->setting_count, sizeof *c->settings);
    c->settings[c->setting_count++] = (struct command_setting){
        .key = job_command_key(alone),
        .option = option,
        .word = word,
        .start = start,
        .is_switch = word == option && !strchr(name, '='),
        .is_launchers = is_launchers,
    };
    free(alone);
}

/* The setting that begins with word i; of a launcher, before the word that is the script or behind what it is told.
 * Returns the index of the word after it. */
static size_t read_setting(struct job_command *c, size_t i, size_t script)
{
    const bool is_launchers = i < script || i > c->end;
    const char *word = c->words.items[i], *next = c->words.items[i + 1], *equals = strchr(word, '=');
    if (equals && (is_option(word) || is_assignment(word))) {
        add_setting(c, i, i, (size_t)(equals + 1 - word), is_launchers);
    } else if (is_option(word)) {
        bool has_value = next && i + 1 != script && !is_option(next) && !is_assignment(next);
        add_setting(c, i, has_value ? i + 1 : i, has_value ? 0 : strlen(word), is_launchers);
        return i + 1 + has_value;
    }
    return i + 1;
}

static void find_style(struct job_command *c, enum style style)
{
    bool hyphens = false, underscores = false, assignments = false, options = false;
    for (size_t i = 0; i < c->setting_count; i++) {
        const char *option = c->words.items[c->settings[i].option], *end = strchr(option, '=');
        size_t length = end ? (size_t)(end - option) : strlen(option);
        if (c->settings[i].is_launchers)
            continue;
        assignments |= is_assignment(option);
        options |= is_option(option);
        if (strncmp(option, "--", 2) != 0)
            continue;
        hyphens |= memchr(option + 2, '-', length - 2) != NULL;
        underscores |= memchr(option + 2, '_', length - 2) != NULL;
    }
    c->has_hyphens = (hyphens || style == STYLE_HYPHENS) && !underscores;
    c->is_assigned = (assignments && !options) || style == STYLE_ASSIGNMENTS;
}

/* Index of a launcher's "--", after which its last words follow; the word count if there is none. */
static size_t find_end(const struct job_command *c, const struct known_launcher *launcher, size_t script)
{
    size_t end = launcher && launcher->has_last_words ? script : c->words.count;
    while (end < c->words.count && strcmp(c->words.items[end], "--") != 0)
        end++;
    return end;
}

struct job_command job_command_read(char *const *words)
{
    struct job_command c = {0};
    const struct known_launcher *launcher = NULL;
    words = skip_env(words, &c.variables);
    const size_t script = c.variables + find_script(words + c.variables);
    for (char *const *word = words; *word; word++)
        string_list_add(&c.words, xstrdup(*word));
    for (size_t i = c.variables; i < script; i++)
        launcher = launcher_named(words[i]) ? launcher_named(words[i]) : launcher;
    c.launcher = launcher ? launcher->name : NULL;
    c.end = find_end(&c, launcher, script);
    for (size_t i = 0; i < c.words.count; i = i == script ? i + 1 : read_setting(&c, i, script))
        ;
    find_style(&c, launcher ? launcher->style : STYLE_ANY);
    return c;
}

void job_command_free(struct job_command *c)
{
    string_list_free(&c->words);
    for (size_t i = 0; i < c->setting_count; i++)
        free(c->settings[i].key);
    free(c->settings);
    *c = (struct job_command){0};
}

const struct command_setting *job_command_find(const struct job_command *c, const char *key, bool is_launchers)
{
    for (size_t i = c->setting_count; i-- > 0;) {
        const struct command_setting *s = &c->settings[i];
        if (s->is_launchers == is_launchers && strcmp(s->key, key) == 0)
            return strchr(c->words.items[s->word] + s->start, '{') ? NULL : s;
    }
    return NULL;
}

const struct command_setting *job_command_find_variable(const struct job_command *c, const char *name)
{
    const struct command_setting *s = job_command_find(c, name, true);
    return s && s->word < c->variables ? s : NULL;
}

static void remove_word(struct job_command *c, size_t word)
{
    free(c->words.items[word]);
    memmove(&c->words.items[word], &c->words.items[word + 1], (c->words.count-- - word) * sizeof *c->words.items);
    c->end -= c->end > word;
    for (size_t i = 0; i < c->setting_count; i++) {
        c->settings[i].option -= c->settings[i].option > word;
        c->settings[i].word -= c->settings[i].word > word;
    }
}

void job_command_replace(struct job_command *c, const struct command_setting *setting, const char *text)
{
    const size_t i = (size_t)(setting - c->settings), word = setting->word;
    if (setting->is_switch) {
        remove_word(c, word);
    } else {
        char *new_word = xasprintf("%.*s%s", (int)setting->start, c->words.items[word], text);
        free(c->words.items[word]);
        c->words.items[word] = new_word;
    }
    free(c->settings[i].key);
    memmove(&c->settings[i], &c->settings[i + 1], (--c->setting_count - i) * sizeof *c->settings);
}

static struct launched_devices devices_of(const struct job_command *c, const struct known_launcher *launcher)
{
    const bool is_launchers = launcher->name != NULL;
    struct launched_devices found = {.counts_all = launcher->counts_all};
    for (size_t i = 0; i < NAMES_MOST && launcher->devices[i] && !found.devices; i++)
        found.devices = job_command_find(c, launcher->devices[i], is_launchers);
    found.hosts = launcher->hosts ? job_command_find(c, launcher->hosts, is_launchers) : NULL;
    return found;
}

struct launched_devices job_command_devices(const struct job_command *c)
{
    struct launched_devices found = {0};
    if (c->launcher)
        return devices_of(c, launcher_named(c->launcher));
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !found.devices && !found.hosts; i++)
        if (!launchers[i].name)
            found = devices_of(c, &launchers[i]);
    return found;
}
