#include "cli/sweep_files.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"

static int copy(const char *from, const char *to, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (path_is_same(from, to))
        return 0;
    OWNED char *parent = path_beside(to, ".");
    int rc = file_make_directories(parent, e);
    if (rc == 0)
        rc = file_read(from, SIZE_MAX / 2, &text, e);
    if (rc == 0)
        rc = file_write_atomic(to, text.data, text.length, e);
    return rc;
}

/* `name`: as the sweep file has it. */
static int copy_named(const struct sweep *sweep, const char *name, const char *directory, struct error *e)
{
    if (name[0] == '/')
        return 0;
    OWNED char *from = path_beside(sweep->path, name), *to = xasprintf("%s/%s", directory, name);
    int rc = 0;
    if (strncmp(name, "../", 3) == 0 || strstr(name, "/../") || access(from, R_OK) < 0)
        output_message("%s/sweep.toml needs %s, which was not copied; copy it yourself", directory, from);
    else
        rc = copy(from, to, e);
    return rc;
}

/* Copies a file that the sweep file includes; built-in profiles are no files. */
static int copy_read(const struct sweep *sweep, const char *file, const char *directory, struct error *e)
{
    OWNED char *beside = path_beside(sweep->path, "");
    size_t length = strlen(beside);
    int rc = 0;
    if (strncmp(file, "profile ", 8) != 0 && strncmp(file, beside, length) == 0)
        rc = copy_named(sweep, file + length, directory, e);
    return rc;
}

int sweep_files_copy(struct db *db, const char *directory, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED char *path = NULL, *text = NULL;
    struct error missing = ERROR_INIT;
    int64_t id;
    if (sweep_read_current(db, &id, &path, &text, e) < 0)
        return -1;
    int rc = sweep_parse(path, text, strlen(text), &sweep, &missing);
    if (rc < 0)
        output_message("%s/sweep.toml needs files that were not copied; copy them yourself: %s", directory,
                       missing.text);
    else if (sweep->deepspeed.config)
        rc = copy_named(sweep, sweep->deepspeed.config, directory, e);
    for (size_t i = 1; rc == 0 && sweep->files[i]; i++)
        rc = copy_read(sweep, sweep->files[i], directory, e);
    return missing.text[0] ? 0 : rc;
}
