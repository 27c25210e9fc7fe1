#include "report/job_command.h"

#include <stdlib.h>
#include <string.h>

#include "util/shell_words.h"
#include "util/memory.h"

/* What a recorded secret is in its place: the person has to give it. */
static bool is_redacted(const char *setting)
{
    return strcmp(strchr(setting, '=') + 1, "[redacted]") == 0;
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

char *job_command_redacted(const struct job_launch *l)
{
    struct buffer names = BUFFER_INIT;
    for (char *const *s = l->environment; *s; s++)
        if (is_redacted(*s))
            buffer_printf(&names, "%s%.*s", names.length ? ", " : "", (int)strcspn(*s, "="), *s);
    return buffer_take(&names);
}
