#include "report/job_command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deepspeed/ds_preparation.h"
#include "secrets/secrets.h"
#include "util/memory.h"
#include "util/shell.h"

/* "" where none was kept; the caller's. */
static char *directory_of(const struct job_launch *l)
{
    return !l->files            ? xstrdup("")
           : l->files[0] == '/' ? xstrdup(l->files)
                                : xasprintf("%s/%s", l->job_files, l->files);
}

void job_command_train(struct job_launch *l)
{
    if (!l->files)
        return;
    OWNED char *directory = directory_of(l), *config = xasprintf("%s/" DS_TRAINING_FILE, directory);
    training_command(l->command, directory, config);
}

/* Stands for the attempt's directory until the line is quoted. */
#define MARK '\001'

/* Returns where the word names the attempt's directory: `exact`, or where the database was when it ran. */
static const char *find_directory(const char *word, const struct job_launch *l, const char *exact, size_t *length)
{
    const char *const names[] = {exact, l->files};
    for (size_t i = 0; i < LENGTH(names); i++) {
        const size_t n = strlen(names[i]);
        for (const char *at = strstr(word, names[i]); at; at = strstr(at + 1, names[i])) {
            const char *begin = at;
            while (begin > word && !strchr(" \t\n\"'=:,;()", begin[-1]))
                begin--;
            begin = i == 0 ? at : begin;
            *length = (size_t)(at + n - begin);
            if (*begin == '/' && (i == 0 || (at > begin && at[-1] == '/')) && !isalnum((unsigned char)at[n]))
                return begin;
        }
    }
    return NULL;
}

/* The word with MARK where it names the attempt's directory. The caller's. */
static char *marked(const char *word, const struct job_launch *l, const char *exact)
{
    struct buffer b = BUFFER_INIT;
    size_t length;
    for (const char *at; l->files && (at = find_directory(word, l, exact, &length)); word = at + length) {
        buffer_add(&b, word, (size_t)(at - word));
        buffer_add_char(&b, MARK);
    }
    buffer_add_text(&b, word);
    return buffer_take(&b);
}

/* A quoted line with "$dir" for MARK, which is always between single quotes. */
static void add_marked_line(struct buffer *out, const char *line)
{
    for (const char *p = line; *p; p++) {
        if (*p == MARK || (*p == '\'' && p[1] == MARK)) {
            buffer_add_text(out, *p == MARK ? "'\"$dir\"" : "\"$dir\"");
            p += *p == '\'';
            if (p[1] == '\'')
                p++;
            else
                buffer_add_char(out, '\'');
        } else {
            buffer_add_char(out, *p);
        }
    }
}

static bool is_usual(const char *directory, size_t length)
{
    static const char *const usual[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};
    return ANY(i, LENGTH(usual), strlen(usual[i]) == length && memcmp(usual[i], directory, length) == 0);
}

/* The path of a program that is found by the runner's PATH in a directory that others may lack. The caller's. */
static char *program_of(const struct job_launch *l)
{
    const char *name = l->command[0];
    for (const char *p = l->path; p && *p && !strchr(name, '/'); p += strcspn(p, ":"), p += *p == ':') {
        const size_t length = strcspn(p, ":");
        char *path = xasprintf("%.*s/%s", (int)length, p, name);
        if (*p == '/' && access(path, X_OK) == 0) {
            if (!is_usual(p, length))
                return path;
            free(path);
            break;
        }
        free(path);
    }
    return xstrdup(name);
}

/* The settings: the tool's, then the declared ones that are not redacted. */
static char **settings_of(const struct job_launch *l, const char *exact)
{
    size_t count = 0, kept = 0;
    while (l->environment[count])
        count++;
    char **settings = xcalloc(count + 4, sizeof *settings);
    settings[kept++] = xasprintf("MESHSWEEP_JOB_DIR=%c", MARK);
    settings[kept++] = xasprintf("MESHSWEEP_METRICS=%c/metrics.jsonl", MARK);
    if (l->spec)
        settings[kept++] = xasprintf("MESHSWEEP_SPEC=%s", l->spec);
    for (size_t i = 0; i < count; i++)
        /* A placeholder stands for a secret, which the person has to supply. */
        if (strcmp(strchr(l->environment[i], '=') + 1, SECRET_REDACTED) != 0)
            settings[kept++] = marked(l->environment[i], l, exact);
    return settings;
}

static void add_word(struct buffer *line, const char *before, const char *word)
{
    buffer_add_text(line, before);
    shell_add_word(line, word);
}

/* Adds a copy of a file of the attempt's directory, to the same place in the new one. */
static void add_copy(struct buffer *line, const char *exact, const char *path)
{
    const char *slash = strrchr(path, '/');
    OWNED char *from = xasprintf("%s/%s", exact, path);
    OWNED char *to = xasprintf("%c%s%.*s", MARK, slash ? "/" : "", slash ? (int)(slash - path) : 0, path);
    if (access(from, R_OK) < 0)
        return;
    if (slash)
        add_word(line, "mkdir -p ", to);
    add_word(line, slash ? " && cp " : "cp ", from);
    add_word(line, " ", to);
    buffer_add_text(line, " && ");
}

/* Adds copies of what meshsweep itself put into the attempt's directory: a ds_config where the command names that. */
static void add_copies(struct buffer *line, const struct job_launch *l, char *const *words, const char *exact)
{
    char *const names[] = {(char *)DS_CONFIG_FILE, (char *)DS_TRAINING_FILE, NULL};
    bool named = false;
    for (; *words; words++)
        named |= strchr(*words, MARK) != NULL;
    for (size_t i = 0; named && names[i]; i++)
        add_copy(line, exact, names[i]);
    for (char *const *path = l->given; *path; path++)
        if (!strings_have(names, *path))
            add_copy(line, exact, *path);
}

char *job_command_line(const struct job_launch *l, bool has_directory)
{
    struct buffer line = BUFFER_INIT, out = BUFFER_INIT;
    OWNED char *exact = directory_of(l);
    char **settings = settings_of(l, exact), **words = strings_copy(l->command);
    free(words[0]);
    words[0] = program_of(l);
    for (char **word = words; *word; word++) {
        char *with_mark = marked(*word, l, exact);
        free(*word);
        *word = with_mark;
    }
    if (!has_directory)
        add_copies(&line, l, words, exact);
    if (l->working_directory) {
        OWNED char *directory = marked(l->working_directory, l, exact);
        add_word(&line, "cd ", directory);
        buffer_add_text(&line, " && ");
    }
    shell_add_command(&line, settings, words);
    if (!has_directory)
        buffer_add_text(&out, "dir=$(mktemp -d) && ");
    add_marked_line(&out, buffer_text(&line));
    buffer_free(&line);
    strings_free(settings);
    strings_free(words);
    return buffer_take(&out);
}

static void add_name(struct buffer *names, const char *name, size_t length)
{
    if (names->length)
        buffer_add_text(names, ", ");
    buffer_add(names, name, length);
}

/* Names the secret at `at` in word `i` by what precedes it (an option, a variable, the beginning of a URL) or by
 * number. */
static void name_secret(struct buffer *names, char *const *words, size_t i, const char *at)
{
    const char *end = at, *begin;
    while (end > words[i] && strchr(" \t\"'\\=:,", end[-1]))
        end--;
    for (begin = end; begin > words[i] && !strchr(" \t\"'\\,", begin[-1]);)
        begin--;
    if (begin < end)
        add_name(names, begin, (size_t)(end - begin));
    else if (i > 0 && words[i - 1][0] == '-')
        add_name(names, words[i - 1], strlen(words[i - 1]));
    else
        buffer_printf(names, "%sargument %zu", names->length ? ", " : "", i);
}

char *job_command_redacted(const struct job_launch *l)
{
    struct buffer names = BUFFER_INIT;
    for (char *const *s = l->environment; *s; s++)
        if (strstr(*s, SECRET_REDACTED))
            add_name(&names, *s, strcspn(*s, "="));
    if (l->spec && strstr(l->spec, SECRET_REDACTED))
        add_name(&names, "MESHSWEEP_SPEC", strlen("MESHSWEEP_SPEC"));
    for (size_t i = 0; l->command[i]; i++)
        for (const char *at = l->command[i]; (at = strstr(at, SECRET_REDACTED)); at++)
            name_secret(&names, l->command, i, at);
    return buffer_take(&names);
}
