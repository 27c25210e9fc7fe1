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

/* Of "a.b": a/b.py or a/b/__main__.py. */
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

char *script_text(char *const *command)
{
    char *text = NULL;
    for (; *command && !text; command++)
        text = strcmp(*command, "-m") == 0 && command[1] ? text_of_module(command[1]) : text_of_file(*command);
    return text;
}

/* Behind `before` and `word`, which is a whole one; NULL: not in the text. */
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

/* What the declaration of the option goes on with. */
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

enum script_way script_way(const char *text, const char *key, bool has_hyphens, char **option)
{
    char *hyphenated = with_hyphens(key);
    const char *declaration = text ? behind(text, "--", key) : NULL;
    const char *other = text && !declaration ? behind(text, "--", hyphenated) : NULL;
    bool is_assigned = text && (strstr(text, "hydra.main") || strstr(text, "OmegaConf.from_cli"));
    bool is_hyphenated = other || (has_hyphens && !declaration && !is_assigned);
    *option = xstrdup(is_hyphenated ? hyphenated : key);
    free(hyphenated);
    if (text && !declaration && is_variable(text, key))
        return SCRIPT_VARIABLE;
    if (declaration || other)
        return way_of_option(declaration ? declaration : other);
    return is_assigned ? SCRIPT_ASSIGNMENT : SCRIPT_OPTION;
}
