#include "cli/hint.h"

#include <string.h>

#include "util/shell_words.h"

static void add(struct buffer *out, const char *option, const char *path, const char *taken_anyway)
{
    if (strcmp(path, taken_anyway) == 0)
        return;
    buffer_add_text(out, option);
    shell_add_word(out, path);
}

void hint_add_config(struct buffer *out, const char *path)
{
    add(out, " -c ", path, "sweep.toml");
}

void hint_add_db(struct buffer *out, const char *path)
{
    add(out, " -d ", path, "results.db");
}
