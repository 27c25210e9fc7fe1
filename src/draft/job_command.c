#include "draft/job_command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/template.h"
#include "process/process.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define PROGRAM_BYTES_MOST ((size_t)64 << 20)

/* Its row in [command.launchers] of configs/knowledge/words.toml; NULL: it is none. */
static const struct toml_node *launcher_named(const char *word)
{
    return toml_child(known("command", "launchers"), path_name(word));
}

static bool is_option(const char *word)
{
    size_t dashes = strspn(word, "-");
    return (dashes == 1 || dashes == 2) && isalpha((unsigned char)word[dashes]);
}

/* The first word that is neither an option nor its value, as in `mpirun -n 4 ./program`; 0 if there is none. */
static size_t find_program(char *const *words)
{
    const struct toml_node *l = words[0] ? launcher_named(words[0]) : NULL;
    if (!l)
        return 0;
    size_t i = 1 + (words[1] && known_says(l, "verb", words[1]));
    while (words[i] && is_option(words[i]))
        i += 1 + (!strchr(words[i], '=') && words[i + 1] && !is_option(words[i + 1]));
    return words[i] ? i : 0;
}

/* The index of the script, or of a module that is not a launcher; else of the program. */
static size_t find_script(char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        bool is_module = i > 0 && strcmp(words[i - 1], "-m") == 0 && !launcher_named(words[i]);
        if (is_module || (words[i][0] != '-' && (length_before(words[i], ".py") || length_before(words[i], ".sh"))))
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

/* With one byte for another. The caller's. */
static char *with(const char *text, char from, char to)
{
    char *copy = xstrdup(text);
    for (char *c = copy; (c = strchr(c, from));)
        *c = to;
    return copy;
}

char *job_command_key(const char *name)
{
    return with(name + strspn(name, "-+"), '-', '_');
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
    OWNED char *alone = xstrndup(name, strcspn(name, "="));
    *arena_add(c->arena, c->settings, c->setting_count) = (struct command_setting){
        .key = arena_keep(c->arena, job_command_key(alone)),
        .option = option,
        .word = word,
        .start = start,
        .is_switch = word == option && !strchr(name, '='),
        .is_launchers = is_launchers,
    };
}

/* Reads the setting that begins with word i; a launcher's, before the word that is the script or behind what it is
 * told. Returns the index of the word after it. */
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

static void find_style(struct job_command *c, const struct toml_node *launcher)
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
    c->has_hyphens = (hyphens || known_says(launcher, "style", "hyphens")) && !underscores;
    c->is_assigned = (assignments && !options) || known_says(launcher, "style", "assignments");
}

/* Index of a launcher's "--", after which its last words follow; the word count if there is none. */
static size_t find_end(const struct job_command *c, const struct toml_node *launcher, size_t script)
{
    size_t end = launcher && toml_child(launcher, "ends") ? script : c->words.count;
    while (end < c->words.count && strcmp(c->words.items[end], "--") != 0)
        end++;
    return end;
}

struct job_command job_command_read(struct arena *p, char *const *words)
{
    struct job_command c = {.arena = p};
    const struct toml_node *launcher = NULL;
    words = skip_env(words, &c.variables);
    const size_t script = c.variables + find_script(words + c.variables);
    while (words[c.words.count])
        c.words.count++;
    c.words.items = arena_keep(p, xcalloc(c.words.count + 1, sizeof *c.words.items));
    for (size_t i = 0; i < c.words.count; i++)
        c.words.items[i] = arena_text(p, words[i]);
    for (size_t i = c.variables; i < script; i++)
        launcher = launcher_named(words[i]) ? launcher_named(words[i]) : launcher;
    c.launcher = launcher ? launcher->key : NULL;
    c.end = find_end(&c, launcher, script);
    for (size_t i = 0; i < c.words.count; i = i == script ? i + 1 : read_setting(&c, i, script))
        ;
    find_style(&c, launcher);
    return c;
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
    memmove(&c->words.items[word], &c->words.items[word + 1], (c->words.count-- - word) * sizeof *c->words.items);
    c->end -= c->end > word;
    c->variables -= c->variables > word;
    for (size_t i = 0; i < c->setting_count; i++) {
        c->settings[i].option -= c->settings[i].option > word;
        c->settings[i].word -= c->settings[i].word > word;
    }
}

void job_command_replace(struct job_command *c, const struct command_setting *setting, const char *text)
{
    const size_t i = (size_t)(setting - c->settings), word = setting->word, option = setting->option;
    if (setting->is_switch || !text)
        for (size_t k = word + 1; k-- > option;)
            remove_word(c, k);
    else
        c->words.items[word] =
            arena_keep(c->arena, xasprintf("%.*s%s", (int)setting->start, c->words.items[word], text));
    memmove(&c->settings[i], &c->settings[i + 1], (--c->setting_count - i) * sizeof *c->settings);
}

static struct launched_devices devices_of(const struct job_command *c, const struct toml_node *row, bool is_launchers)
{
    size_t count;
    const struct toml_node *names = toml_texts(toml_child(row, "devices"), &count), *hosts = toml_child(row, "hosts");
    struct launched_devices found = {.counts_all = toml_child(row, "counts_all"),
                                     .from_first = toml_child(row, "from_first")};
    for (size_t i = 0; i < count && !found.devices; i++)
        found.devices = job_command_find(c, names[i].text, is_launchers);
    found.hosts = hosts ? job_command_find(c, hosts->text, is_launchers) : NULL;
    found.device_key = is_launchers && count ? names[0].text : NULL;
    found.host_key = is_launchers && hosts ? hosts->text : NULL;
    return found;
}

struct launched_devices job_command_devices(const struct job_command *c)
{
    const struct toml_node *scripts = known("command", "scripts");
    struct launched_devices found = {0};
    if (c->launcher)
        return devices_of(c, launcher_named(c->launcher), true);
    for (size_t i = 0; i < scripts->child_count && !found.devices && !found.hosts; i++)
        found = devices_of(c, &scripts->children[i], false);
    return found;
}

enum { SCRIPT_BYTES_MOST = 1 << 20, DECLARATION_BYTES = 200, PART_BYTES_LEAST = 4 };

static char *text_of_file(const char *path)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    struct stat is;
    bool is_file = stat(path, &is) == 0 && S_ISREG(is.st_mode);
    if (is_file && file_read(path, SCRIPT_BYTES_MOST, &text, &e) == 0 && text.length &&
        !memchr(text.data, '\0', text.length))
        return buffer_take(&text);
    return NULL;
}

/* The text of module "a.b": a/b.py or a/b/__main__.py. */
static char *text_of_module(const char *module)
{
    OWNED char *path = with(module, '.', '/');
    OWNED char *file = xasprintf("%s.py", path), *package = xasprintf("%s/__main__.py", path);
    char *text = text_of_file(file);
    text = text ? text : text_of_file(package);
    return text;
}

/* The path of a YAML, TOML or JSON file that is there: the word, or what stands behind its "=". NULL: neither. */
static const char *word_configuration(const char *word)
{
    struct stat is;
    const char *equals = strchr(word, '=');
    if (file_format_of(word) != FORMAT_NONE && stat(word, &is) == 0 && S_ISREG(is.st_mode))
        return word;
    return equals ? word_configuration(equals + 1) : NULL;
}

char *script_text(char *const *command)
{
    char *text = NULL;
    for (; *command && !text; command++)
        text = strcmp(*command, "-m") == 0 && command[1] ? text_of_module(command[1])
               : file_format_of(*command) != FORMAT_NONE ? NULL
                                                         : text_of_file(*command);
    return text;
}

/* The text after `before` and the whole word `word`; NULL if it is not there. */
static const char *behind(const char *text, const char *before, const char *word)
{
    OWNED char *whole = xasprintf("%s%s", before, word);
    const char *found = text;
    while ((found = strstr(found, whole))) {
        found += strlen(whole);
        if (!isalnum((unsigned char)*found) && !strchr("_-", *found ? *found : ' '))
            break;
    }
    return found;
}

static bool reads_variable(const char *text, const char *key)
{
    const struct toml_node *before = known("command", "reads");
    return ANY(i, before->child_count, behind(text, before->children[i].text, key));
}

/* Returns whether the option stands in "--key)" or "--key|-k)", which does not match "--key=VALUE". */
static bool is_case(const char *declaration)
{
    return declaration[strspn(declaration, "|-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] == ')';
}

/* Decides by the rest of the option's declaration. */
static enum script_way way_of_option(const char *declaration)
{
    OWNED char *rest = xstrndup(declaration, strnlen(declaration, DECLARATION_BYTES));
    char *next = strstr(rest, "add_argument");
    if (next)
        *next = '\0';
    return is_case(rest)                                                ? SCRIPT_WORDS
           : strstr(rest, "BooleanOptionalAction")                      ? SCRIPT_NEGATION
           : strstr(rest, "store_true") || strstr(rest, "is_flag=True") ? SCRIPT_SWITCH
                                                                        : SCRIPT_OPTION;
}

enum script_way script_way(const char *text, const char *key, bool has_hyphens, bool is_assigned, char **option)
{
    OWNED char *hyphenated = with(key, '_', '-');
    const char *declaration = text ? behind(text, "--", key) : NULL;
    const char *other = text && !declaration ? behind(text, "--", hyphenated) : NULL;
    const char *given = text && strchr(key, '.') && !declaration && !other ? behind(text, "", key) : NULL;
    is_assigned |= text && (strstr(text, "hydra.main") || strstr(text, "OmegaConf.from_cli"));
    is_assigned |= given && *given == '=';
    bool is_hyphenated = other || (has_hyphens && !declaration && !is_assigned);
    *option = xstrdup(is_hyphenated ? hyphenated : key);
    if (text && !declaration && reads_variable(text, key))
        return SCRIPT_VARIABLE;
    if (declaration || other)
        return way_of_option(declaration ? declaration : other);
    return is_assigned ? SCRIPT_ASSIGNMENT : SCRIPT_OPTION;
}

bool script_names(const char *text, const char *key)
{
    OWNED char *hyphenated = with(key, '_', '-');
    return text && (behind(text, "--", key) || behind(text, "--", hyphenated) || reads_variable(text, key));
}

/* --- shell scripts that ignore a setting --- */

/* The value in a line "KEY=VALUE" or "export KEY=VALUE", unless it is indented (conditional); NULL: no such line. */
static char *assigned_value(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *name = line + (strncmp(line, "export ", 7) == 0 ? 7 : 0);
        if (strncmp(name, key, length) == 0 && name[length] == '=')
            return xstrndup(name + length + 1, strcspn(name + length + 1, " \t\r\n;#"));
    }
    return NULL;
}

/* Returns whether it has ${KEY:-4}, ${KEY-4}, ${KEY=4} or a test whether KEY is set. */
static bool asks_for(const char *text, const char *key)
{
    const struct toml_node *forms = known("command", "asks");
    bool found = false;
    for (size_t i = 0; i < forms->child_count && !found; i++) {
        const struct toml_node *around = forms->children[i].children;
        OWNED char *form = xasprintf("%s%s%s", around[0].text, key, around[1].text);
        found = strstr(text, form) != NULL;
    }
    return found;
}

char *script_warning(const char *path, const char *text, const char *key, enum script_way way, bool is_first)
{
    if (!text || !length_before(path, ".sh"))
        return NULL;
    if (way != SCRIPT_VARIABLE)
        return known_within(known("command", "takes"), text) ||
                       (is_first && known_within(known("command", "takes_first"), text))
                   ? NULL
                   : xasprintf("# TO DO: %s passes no arguments on, so that it would not see %s. Write \"$@\" behind "
                               "the\n# arguments of the program that it starts.\n",
                               path, key);
    OWNED char *value = asks_for(text, key) ? NULL : assigned_value(text, key);
    return value ? xasprintf("# TO DO: %s sets %s itself, whatever its environment says. Write there:\n"
                             "#   %s=${%s:-%s}\n",
                             path, key, key, key, value)
                 : NULL;
}

/* --- options that a script does not have --- */

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

/* The options in quotes, without dashes in front. */
static void take_declared(const char *text, struct string_list *out)
{
    for (const char *found = text; (found = strstr(found, "--")); found += 2) {
        size_t length = strspn(found + 2, name_bytes);
        bool is_quoted = found > text && strchr("\"'", found[-1]) && isalpha((unsigned char)found[2]);
        if (is_quoted && found[2 + length] == found[-1])
            string_list_add(out, xstrndup(found + 2, length));
    }
}

/* Returns whether the parser named by the `length` bytes is handed to a function that may add options of its own. */
static bool is_handed_on(const char *text, const char *name, size_t length)
{
    static const char own[] = "add_config_arguments"; /* DeepSpeed's: --deepspeed and what begins so */
    const size_t own_length = strlen(own);
    for (const char *call = text; (call = strchr(call, '(')); call++) {
        bool is_own = (size_t)(call - text) >= own_length && strncmp(call - own_length, own, own_length) == 0;
        bool is_given = strncmp(call + 1, name, length) == 0 && (call[1 + length] == ')' || call[1 + length] == ',');
        if (is_given && !is_own)
            return true;
    }
    return false;
}

/* Returns whether the text has a parser of argparse that nothing but its own words adds options to. */
static bool declares_all(const char *text)
{
    static const char parser[] = " = argparse.ArgumentParser(";
    const char *made = strstr(text, parser), *name = made;
    if (known_within(known("command", "open"), text))
        return false;
    while (name && name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    return name < made && !is_handed_on(text, name, (size_t)(made - name));
}

/* "lr" of "learning-rate". */
static bool has_initials(const char *name, const char *initials)
{
    size_t count = 0;
    for (const char *c = name; *c; c++)
        if (c == name || strchr("_-.", c[-1])) {
            if (*c != initials[count])
                return false;
            count++;
        }
    return count > 1 && initials[count] == '\0';
}

static const char *of_those_initials(const struct string_list *names, const char *option)
{
    return FIND(i, names->count, has_initials(names->items[i], option) || has_initials(option, names->items[i]),
                names->items[i]);
}

/* "batch-size" of "micro-batch-size"; short words are in too many. */
static bool is_part(const char *name, const char *of)
{
    return strlen(name) >= PART_BYTES_LEAST && strstr(of, name);
}

static const char *nearest_of(const struct string_list *names, const char *option)
{
    const char *near = of_those_initials(names, option);
    near = near ? near : SUGGEST(option, k, names->count, names->items[k]).near;
    for (size_t i = 0; i < names->count && !near; i++)
        near = is_part(names->items[i], option) || is_part(option, names->items[i]) ? names->items[i] : NULL;
    return near;
}

/* argparse takes the beginning of an option that no other begins with. */
static bool is_abbreviation(const struct string_list *names, const char *option)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++)
        count += strncmp(names->items[i], option, strlen(option)) == 0;
    return count == 1;
}

char *script_lacks(const char *path, const char *text, const struct string_list *given, const char *option)
{
    OWNED_LIST declared = STRING_LIST_INIT;
    const bool is_known = text && declares_all(text);
    char *warning = NULL;
    if (is_known)
        take_declared(text, &declared);
    const char *near = is_known ? nearest_of(&declared, option) : of_those_initials(given, option);
    if (is_known && !is_abbreviation(&declared, option))
        warning = xasprintf("# TO DO: %s has no option --%s%s%s.\n", path, option,
                            near ? "; the nearest that it has is --" : "", near ? near : "");
    else if (!is_known && near)
        warning = xasprintf("# TO DO: the command gives --%s. If --%s is the same, name the key so.\n", near, option);
    return warning;
}

/* --- compiled programs --- */

/* Returns whether its bytes have the option's name as a text of its own, as getopt_long() and most parsers keep it. */
static bool program_has(const struct buffer *program, const char *option)
{
    const size_t length = strlen(option);
    const char *end = program->data + program->length;
    for (const char *p = program->data; (p = memmem(p, (size_t)(end - p), option, length)); p++)
        if ((p[-1] == '\0' || p[-1] == '-') &&
            (p + length == end || !(isalnum((unsigned char)p[length]) || strchr("_-", p[length] ? p[length] : ' '))))
            return true;
    return false;
}

char *program_lacks(const struct job_command *c, char *const *environment, char **option)
{
    static const char elf[] = "\177ELF";
    int unused;
    OWNED_BUFFER bytes = BUFFER_INIT;
    struct error e = ERROR_INIT;
    const char *program = job_command_script(c->words.items + c->variables);
    char *path = process_find_program(program, environment, ".", &unused), *warning = NULL;
    if (path && file_read(path, PROGRAM_BYTES_MOST, &bytes, &e) == 0 && bytes.length > strlen(elf) &&
        memcmp(bytes.data, elf, strlen(elf)) == 0 && !program_has(&bytes, *option)) {
        for (char *p = *option; (p = strpbrk(p, "_-")); p++)
            *p = *p == '_' ? '-' : '_';
        if (!program_has(&bytes, *option))
            warning = xasprintf("# TO DO: nothing in %s shows an option --%s; see its help.\n", program, *option);
    }
    free(path);
    return warning;
}

/* --- the files that it names --- */

/* No two files have one name. */
static const char *name_for(const struct command_files *f, const char *path)
{
    const char *name = path_name(path), *ending = strrchr(path, '.');
    for (size_t number = 1;
         template_name_length(name) != strlen(name) || ANY(i, f->count, strcmp(f->items[i]->name, name) == 0); number++)
        name = arena_keep(f->arena,
                          number == 1 ? xasprintf("config%s", ending) : xasprintf("config%zu%s", number, ending));
    return name;
}

static void add_leaf(void *context, const char *path, const struct doc_node *leaf)
{
    struct command_files *f = context;
    *arena_add(f->arena, f->leaves, f->leaf_count) =
        (struct file_place){.file = f->items[f->count - 1],
                            .path = arena_text(f->arena, path),
                            .text = leaf->text ? arena_text(f->arena, leaf->text) : "",
                            .kind = leaf->kind};
}

struct command_files command_files_open(const struct job_command *c, const char *except)
{
    struct command_files f = {.arena = c->arena};
    for (size_t i = 0; i < c->words.count; i++) {
        const char *path = word_configuration(c->words.items[i]);
        struct doc read;
        if (!path || (except && strcmp(path, except) == 0) || ANY(k, f.count, strcmp(f.items[k]->path, path) == 0) ||
            document_read(path, file_format_of(path), &read, NULL) < 0)
            continue;
        struct command_file *file = arena_keep(f.arena, xcalloc(1, sizeof *file));
        file->path = arena_text(f.arena, path);
        file->name = name_for(&f, file->path);
        *arena_add(f.arena, f.items, f.count) = file;
        document_leaves(&read, add_leaf, &f);
        document_free(&read);
    }
    return f;
}

/* --- looking up --- */

static bool is_same_key(const char *a, const char *b)
{
    for (; *a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b))); a++, b++)
        ;
    return *a == *b;
}

/* The key ends the path, after a dot. */
static bool is_last_part(const char *path, const char *key)
{
    const size_t length = strlen(path), n = strlen(key);
    return length > n && path[length - n - 1] == '.' && is_same_key(path + length - n, key);
}

static int refuse_several(const char *key, const struct file_place *const *places, size_t count, struct error *e)
{
    OWNED_BUFFER all = BUFFER_INIT;
    bool is_one_path = true;
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&all, "%s%s of %s", i ? ", " : "", places[i]->path, places[i]->file->path);
        is_one_path &= strcmp(places[i]->path, places[0]->path) == 0;
    }
    return is_one_path ? error_set(e, ERROR_USAGE, "init: %s may be %s; leave it out of all files but one", key,
                                   buffer_text(&all))
                       : error_set(e, ERROR_USAGE, "init: %s may be %s; name the whole path, for example %s=…", key,
                                   buffer_text(&all), places[0]->path);
}

int command_files_find(const struct command_files *f, const char *key, struct file_place *out, struct error *e)
{
    OWNED const struct file_place **found = xcalloc(f->leaf_count + 1, sizeof *found);
    size_t count = 0;
    for (int part = 0; part < 2 && count == 0; part++)
        for (const struct file_place *leaf = f->leaves; leaf && leaf < f->leaves + f->leaf_count; leaf++)
            if ((part ? is_last_part : is_same_key)(leaf->path, key))
                found[count++] = leaf;
    if (count > 1)
        return refuse_several(key, found, count, e);
    if (count == 1)
        *out = *found[0];
    return (int)count;
}

static char *nearest_in(const struct command_files *f, const struct command_file *file, const char *key)
{
    struct suggestion meant = suggest_for(key);
    const char *near = NULL;
    for (size_t i = 0; i < f->leaf_count; i++) {
        const char *path = f->leaves[i].path, *dot = strchr(key, '.') ? NULL : strrchr(path, '.'), *before = meant.near;
        if (f->leaves[i].file == file)
            suggest_try(&meant, dot ? dot + 1 : path);
        near = meant.near == before ? near : path;
    }
    return near ? xasprintf("%s of %s", near, file->path) : NULL;
}

char *command_files_nearest(const struct command_files *f, const char *key)
{
    char *near = NULL;
    for (size_t i = 0; i < f->count && !near; i++)
        near = nearest_in(f, f->items[i], key);
    return near;
}

/* --- what is written --- */

void command_files_place(const struct command_files *f, struct job_command *c)
{
    for (size_t i = 0; i < c->words.count; i++) {
        char *word = c->words.items[i];
        const char *path = word_configuration(word);
        for (size_t k = 0; path && k < f->count; k++)
            if (f->items[k]->is_swept && strcmp(f->items[k]->path, path) == 0) {
                c->words.items[i] =
                    arena_keep(f->arena, xasprintf("%.*s{file.%s}", (int)(path - word), word, f->items[k]->name));
                break;
            }
    }
}

static bool is_whole(const char *text)
{
    const char *digits = text + strspn(text, "+-");
    return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

static bool fits(enum doc_kind kind, const char *toml)
{
    const bool is_text = *toml == '"', is_truth = isalpha((unsigned char)*toml);
    switch (kind) {
    case DOC_INT:
        return is_whole(toml);
    case DOC_REAL:
        return !is_text && !is_truth;
    case DOC_BOOL:
        return is_truth;
    case DOC_TIME:
        return is_text;
    default:
        return true;
    }
}

bool file_place_add_value(const struct file_place *p, const char *value, size_t length, struct buffer *out)
{
    OWNED_BUFFER literal = BUFFER_INIT;
    buffer_add_toml_value(&literal, value, length);
    const char *toml = buffer_text(&literal);
    const bool is_fit = fits(p->kind, toml);
    if (p->kind == DOC_TEXT && *toml != '"')
        buffer_add_json_string(out, value, length);
    else
        buffer_printf(out, "%s%s", toml, p->kind == DOC_REAL && is_whole(toml) ? ".0" : "");
    return is_fit;
}
