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

void hint_add_rest_of_search(struct buffer *out, const char *lifting, const char *config, const char *db)
{
    buffer_add_text(out, "meshsweep run");
    hint_add_config(out, config);
    hint_add_db(out, db);
    buffer_printf(out, " --strategy grid%s", lifting);
}
