#include "report/job_command.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/training_command.h"
#include "secrets/secrets.h"
#include "util/memory.h"
#include "util/shell_words.h"

/* Whether the value is a placeholder for a secret, which the person has to supply. */
static bool is_redacted(const char *setting)
{
    return strcmp(strchr(setting, '=') + 1, SECRET_REDACTED) == 0;
}

void job_command_train(struct job_launch *l, const char *job_files)
{
    if (!l->files)
        return;
    char *directory = l->files[0] == '/' ? xstrdup(l->files) : xasprintf("%s/%s", job_files, l->files);
    char *config = xasprintf("%s/" DS_TRAINING_FILE, directory);
    training_command(l->command, directory, config);
    free(directory);
    free(config);
}

char *job_command_line(const struct job_launch *l)
{
    struct buffer line = BUFFER_INIT;
    size_t count = 0, kept = 0;
    while (l->environment[count])
        count++;
    char **settings = xcalloc(count + 1, sizeof *settings);
    for (size_t i = 0; i < count; i++)
        if (!is_redacted(l->environment[i]))
            settings[kept++] = l->environment[i];
    if (l->working_directory) {
        buffer_add_text(&line, "cd ");
        shell_add_word(&line, l->working_directory);
        buffer_add_text(&line, " && ");
    }
    shell_add_command(&line, settings, l->command);
    free(settings);
    return buffer_take(&line);
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
    for (size_t i = 0; l->command[i]; i++)
        for (const char *at = l->command[i]; (at = strstr(at, SECRET_REDACTED)); at++)
            name_secret(&names, l->command, i, at);
    return buffer_take(&names);
}
