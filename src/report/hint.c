#include "report/hint.h"

#include <string.h>

#include "util/shell.h"

static void add_option(struct buffer *out, const char *option, const char *path, const char *taken_anyway)
{
    if (strcmp(path, taken_anyway) == 0)
        return;
    buffer_add_text(out, option);
    shell_add_word(out, path);
}

void hint_add_config(struct buffer *out, const char *path)
{
    add_option(out, " -c ", path, "sweep.toml");
}

void hint_add_db(struct buffer *out, const char *path)
{
    add_option(out, " -d ", path, "results.db");
}
