#include "deepspeed/installed_release.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "process/process.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define BLANK " \t"

enum { ANSWER_MS = 20000, ANSWER_BYTES = 256, SCRIPT_BYTES = 1 << 20 };

static bool is_python(const char *word)
{
    return strncmp(path_name(word), "python", strlen("python")) == 0;
}

/* The first word of the line that names a Python; NULL if there is none. The caller frees it. */
static char *python_among(const char *line)
{
    char *copy = xstrndup(line, strcspn(line, "\r\n")), *rest = NULL, *found = NULL;
    for (char *word = strtok_r(copy, BLANK, &rest); word && !found; word = strtok_r(NULL, BLANK, &rest))
        if (is_python(word))
            found = xstrdup(word);
    free(copy);
    return found;
}

/* pip writes a path that is too long for the first line into the second, in quotes. */
static char *python_of_script(const char *text)
{
    static const char long_path[] = "#!/bin/sh\n'''exec' ";
    if (strncmp(text, long_path, strlen(long_path)) == 0) {
        const char *path = text + strlen(long_path);
        path += *path == '"';
        return xstrndup(path, strcspn(path, "\" \n"));
    }
    return strncmp(text, "#!", 2) == 0 ? python_among(text + 2) : NULL;
}

static char *python_of_program(const char *launcher, char *const *environment)
{
    struct buffer text = BUFFER_INIT;
    int ignored;
    const char *first = launcher + strspn(launcher, BLANK);
    char *name = xstrndup(first, strcspn(first, BLANK)), *found = NULL;
    char *path = process_find_program(name, environment, NULL, &ignored);
    if (path && file_read(path, SCRIPT_BYTES, &text, NULL) == 0)
        found = python_of_script(buffer_text(&text));
    buffer_free(&text);
    free(path);
    free(name);
    return found;
}

/* The release at the beginning of the answer; NULL if there is none. */
static char *release_in(const char *answer)
{
    int64_t ignored;
    char *release = xstrndup(answer, strspn(answer, "0123456789."));
    size_t length = strlen(release);
    while (length > 0 && release[length - 1] == '.')
        release[--length] = '\0';
    if (parse_release(release, true, &ignored))
        return release;
    free(release);
    return NULL;
}

char *installed_release(const char *launcher, char *const *environment, char **python)
{
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    char *release = NULL;
    *python = python_among(launcher);
    if (!*python)
        *python = python_of_program(launcher, environment);
    if (!*python)
        *python = xstrdup("python3");
    const char *argv[] = {*python, "-c", "from importlib.metadata import version; print(version('deepspeed'))", NULL};
    const struct external_command command = {(char *const *)argv, environment, NULL, ANSWER_MS, ANSWER_BYTES};
    if (external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0)
        release = release_in(answer.output);
    external_command_result_free(&answer);
    return release;
}
