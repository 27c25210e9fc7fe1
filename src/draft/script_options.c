#include "draft/script_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/memory.h"

enum { SCRIPT_BYTES_MOST = 1 << 20, DECLARATION_BYTES = 200 };

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
