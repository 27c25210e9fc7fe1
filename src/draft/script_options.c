#include "draft/script_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

enum { SCRIPT_BYTES_MOST = 1 << 20, DECLARATION_BYTES = 200, PART_BYTES_LEAST = 4 };

static char *text_of_file(const char *path)
{
    struct buffer text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    struct stat is;
    bool is_file = stat(path, &is) == 0 && S_ISREG(is.st_mode);
    if (is_file && file_read(path, SCRIPT_BYTES_MOST, &text, &e) == 0 && text.length &&
        !memchr(text.data, '\0', text.length))
        return buffer_take(&text);
    buffer_free(&text);
    return NULL;
}

/* The text of module "a.b": a/b.py or a/b/__main__.py. */
static char *text_of_module(const char *module)
{
    char *path = xstrdup(module);
    for (char *c = path; *c; c++)
        *c = (char)(*c == '.' ? '/' : *c);
    char *file = xasprintf("%s.py", path), *package = xasprintf("%s/__main__.py", path);
    char *text = text_of_file(file);
    text = text ? text : text_of_file(package);
    free(path);
    free(file);
    free(package);
    return text;
}

static bool is_configuration(const char *path)
{
    static const char *const endings[] = {".yaml", ".yml", ".json", ".toml"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

char *script_text(char *const *command)
{
    char *text = NULL;
    for (; *command && !text; command++)
        text = strcmp(*command, "-m") == 0 && command[1] ? text_of_module(command[1])
               : is_configuration(*command)              ? NULL
                                                         : text_of_file(*command);
    return text;
}

/* The text after `before` and the whole word `word`; NULL if it is not there. */
static const char *behind(const char *text, const char *before, const char *word)
{
    char *whole = xasprintf("%s%s", before, word);
    const char *found = text;
    while ((found = strstr(found, whole))) {
        found += strlen(whole);
        if (!isalnum((unsigned char)*found) && !strchr("_-", *found ? *found : ' '))
            break;
    }
    free(whole);
    return found;
}

static bool is_variable(const char *text, const char *key)
{
    static const char *const before[] =
        {"environ[\"", "environ['", "environ.get(\"", "environ.get('", "getenv(\"", "getenv('", "${", "$"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (behind(text, before[i], key))
            return true;
    return false;
}

/* Decides by the rest of the option's declaration. */
static enum script_way way_of_option(const char *declaration)
{
    char *rest = xstrndup(declaration, strnlen(declaration, DECLARATION_BYTES));
    char *next = strstr(rest, "add_argument");
    if (next)
        *next = '\0';
    enum script_way way = strstr(rest, "BooleanOptionalAction")                        ? SCRIPT_NEGATION
                          : strstr(rest, "store_true") || strstr(rest, "is_flag=True") ? SCRIPT_SWITCH
                                                                                       : SCRIPT_OPTION;
    free(rest);
    return way;
}

static char *with_hyphens(const char *key)
{
    char *hyphenated = xstrdup(key);
    for (char *c = hyphenated; *c; c++)
        *c = (char)(*c == '_' ? '-' : *c);
    return hyphenated;
}

enum script_way script_way(const char *text, const char *key, bool has_hyphens, bool is_assigned, char **option)
{
    char *hyphenated = with_hyphens(key);
    const char *declaration = text ? behind(text, "--", key) : NULL;
    const char *other = text && !declaration ? behind(text, "--", hyphenated) : NULL;
    is_assigned |= text && (strstr(text, "hydra.main") || strstr(text, "OmegaConf.from_cli"));
    bool is_hyphenated = other || (has_hyphens && !declaration && !is_assigned);
    *option = xstrdup(is_hyphenated ? hyphenated : key);
    free(hyphenated);
    if (text && !declaration && is_variable(text, key))
        return SCRIPT_VARIABLE;
    if (declaration || other)
        return way_of_option(declaration ? declaration : other);
    return is_assigned ? SCRIPT_ASSIGNMENT : SCRIPT_OPTION;
}

bool script_names(const char *text, const char *key)
{
    char *hyphenated = with_hyphens(key);
    bool names = text && (behind(text, "--", key) || behind(text, "--", hyphenated) || is_variable(text, key));
    free(hyphenated);
    return names;
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

/* Whether it has ${KEY:-4}, ${KEY-4}, ${KEY=4} or a test whether KEY is set. */
static bool asks_for(const char *text, const char *key)
{
    static const char *const forms[][2] = {{"{", ":"},      {"{", "-"},   {"{", "="},    {"-z \"$", ""},
                                           {"-z \"${", ""}, {"-z $", ""}, {"-z ${", ""}, {"-v ", ""}};
    bool found = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !found; i++) {
        char *form = xasprintf("%s%s%s", forms[i][0], key, forms[i][1]);
        found = strstr(text, form) != NULL;
        free(form);
    }
    return found;
}

static bool takes_arguments(const char *text)
{
    static const char *const signs[] = {"$@", "$*", "${@", "${*", "$1", "${1", "getopts", "shift"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

char *script_warning(const char *path, const char *text, const char *key, enum script_way way)
{
    const size_t length = strlen(path);
    char *value = NULL, *warning = NULL;
    if (!text || length < 3 || strcmp(path + length - 3, ".sh") != 0)
        return NULL;
    if (way == SCRIPT_VARIABLE) {
        value = asks_for(text, key) ? NULL : assigned_value(text, key);
        if (value)
            warning = xasprintf("# TO DO: %s sets %s itself, whatever its environment says. Write there:\n"
                                "#   %s=${%s:-%s}\n",
                                path, key, key, key, value);
    } else if (!takes_arguments(text)) {
        warning = xasprintf("# TO DO: %s passes no arguments on, so that it would not see %s. Write \"$@\" behind the\n"
                            "# arguments of the program that it starts.\n",
                            path, key);
    }
    free(value);
    return warning;
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

/* Whether the parser named by the `length` bytes is handed to a function that may add options of its own. */
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

/* Whether the text has a parser of argparse that nothing but its own words adds options to. */
static bool declares_all(const char *text)
{
    static const char *const open[] = {
        "HfArgumentParser", "parse_known",    "add_argparse_args", "parents=", "jsonargparse",
        "simple_parsing",   "add_argument(f", "add_argument(*",    "\"--\"",   "'--'",
    };
    static const char parser[] = " = argparse.ArgumentParser(";
    const char *made = strstr(text, parser), *name = made;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (strstr(text, open[i]))
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
    for (size_t i = 0; i < names->count; i++)
        if (has_initials(names->items[i], option) || has_initials(option, names->items[i]))
            return names->items[i];
    return NULL;
}

/* "batch-size" of "micro-batch-size"; short words are in too many. */
static bool is_part(const char *name, const char *of)
{
    return strlen(name) >= PART_BYTES_LEAST && strstr(of, name);
}

static const char *nearest_of(const struct string_list *names, const char *option)
{
    const char *near = of_those_initials(names, option);
    near = near ? near : suggest_nearest(option, (const char *const *)names->items, names->count);
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
    struct string_list declared = STRING_LIST_INIT;
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
    string_list_free(&declared);
    return warning;
}
