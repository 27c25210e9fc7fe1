#include "draft/job_command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/memory.h"

#define NAMES_MOST 2

/* By the word that stands before the script, as a program or as a module of Python's; without a name what scripts that
 * start their processes themselves are told. */
static const struct known_launcher {
    const char *name, *devices[NAMES_MOST], *hosts;
    bool counts_all;
} launchers[] = {
    {"torchrun", {"nproc_per_node"}, "nnodes", false},
    {"torch.distributed.run", {"nproc_per_node"}, "nnodes", false},
    {"torch.distributed.launch", {"nproc_per_node"}, "nnodes", false},
    {"deepspeed", {"num_gpus"}, "num_nodes", false},
    {"accelerate", {"num_processes"}, "num_machines", true},
    {"mpirun", {"np", "n"}, NULL, true},
    {"mpiexec", {"n", "np"}, NULL, true},
    {NULL, {"trainer.devices"}, "trainer.num_nodes", false},       /* Lightning, NeMo */
    {NULL, {"trainer.n_gpus_per_node"}, "trainer.nnodes", false},  /* verl */
    {NULL, {"cluster.gpus_per_node"}, "cluster.num_nodes", false}, /* NeMo-RL */
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

/* Of `mpirun -n 4 ./program` the first word that is neither an option nor an option's value; 0: there is none. */
static size_t find_program(char *const *words)
{
    size_t i = 1;
    if (!words[0] || !launcher_named(words[0]))
        return 0;
    while (words[i] && is_option(words[i]))
        i += 1 + (!strchr(words[i], '=') && words[i + 1] && !is_option(words[i + 1]));
    return words[i] ? i : 0;
}

/* The index of the word that is the script, or a module that is no launcher; where there is none, of the program. */
static size_t find_script(char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        bool is_module = i > 0 && strcmp(words[i - 1], "-m") == 0 && !launcher_named(words[i]);
        if (is_module || (words[i][0] != '-' && (ends_in(words[i], ".py") || ends_in(words[i], ".sh"))))
            return i;
    }
    return find_program(words);
}

const char *job_command_script(char *const *words)
{
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

/* The setting that begins with word i; of a launcher, before the word that is the script. Returns the index of the word
 * after it. */
static size_t read_setting(struct job_command *c, size_t i, size_t script)
{
    const bool is_launchers = i < script;
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

static void find_style(struct job_command *c)
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
    c->has_hyphens = hyphens && !underscores;
    c->is_assigned = assignments && !options;
}

struct job_command job_command_read(char *const *words)
{
    struct job_command c = {0};
    const size_t script = find_script(words);
    for (char *const *word = words; *word; word++)
        string_list_add(&c.words, xstrdup(*word));
    for (size_t i = 0; i < script; i++)
        if (launcher_named(words[i]))
            c.launcher = launcher_named(words[i])->name;
    for (size_t i = 0; i < c.words.count; i = i == script ? i + 1 : read_setting(&c, i, script))
        ;
    find_style(&c);
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

static void remove_word(struct job_command *c, size_t word)
{
    free(c->words.items[word]);
    memmove(&c->words.items[word], &c->words.items[word + 1], (c->words.count-- - word) * sizeof *c->words.items);
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
