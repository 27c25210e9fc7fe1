#include "cli/written_file.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "database/open.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"

static int refuse(const char *path, const char *what, const struct kept_files *k, struct error *e)
{
    return error_set(e, ERROR_USAGE, "%s is %s; name another with %s", path, what, k->option);
}

static int check_database(const char *path, const struct kept_files *k, struct error *e)
{
    static const struct {
        const char *ending, *what;
    } files[] = {
        {"", "the database itself"},
        {"-wal", "the database's write-ahead log"},
        {"-shm", "the index of the database's write-ahead log"},
        {"-journal", "the database's journal"},
        {".lock", "the database's lock"},
    };
    OWNED char *absolute = path_absolute(k->db_path), *directory = store_directory(k->db_path);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(files); i++) {
        OWNED char *file = xasprintf("%s%s", absolute, files[i].ending);
        if (path_is_same(path, file))
            rc = refuse(path, files[i].what, k, e);
    }
    if (rc == 0 && path_is_within(path, directory))
        rc = refuse(path, "in the database's directory of job files", k, e);
    return rc;
}

static int check_file(const char *path, const char *file, const char *what, const struct kept_files *k, struct error *e)
{
    return file && path_is_same(path, file) ? refuse(path, what, k, e) : 0;
}

static int check_named(const char *path, const struct sweep *sweep, const char *name, const struct kept_files *k,
                       struct error *e)
{
    OWNED char *file = name ? path_beside(sweep->path, name) : NULL;
    return check_file(path, file, "a file that the sweep file names", k, e);
}

/* Files that the current sweep file reads; ignored if it can no longer be parsed. */
static int check_read(const char *path, const char *sweep_path, const char *text, const struct kept_files *k,
                      struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    struct error unread = ERROR_INIT;
    int rc = 0;
    if (sweep_parse(sweep_path, text, strlen(text), &sweep, &unread) == 0) {
        for (size_t i = 1; rc == 0 && sweep->files[i]; i++)
            rc = check_file(path, sweep->files[i], "a file that the sweep file reads", k, e);
        rc = rc < 0 ? rc : check_named(path, sweep, sweep->deepspeed.config, k, e);
        rc = rc < 0 ? rc : check_named(path, sweep, sweep->local.hostfile, k, e);
        for (size_t i = 0; rc == 0 && i < sweep->job.file_count; i++)
            rc = check_named(path, sweep, sweep->job.files[i].base, k, e);
    }
    return rc;
}

static int check_current_sweep(const char *path, const struct kept_files *k, struct error *e)
{
    OWNED char *sweep_path = NULL, *directory = NULL, *given = NULL, *text = NULL;
    struct error none = ERROR_INIT;
    int64_t id;
    if (sweep_read_place(k->db, &sweep_path, &directory, e) < 0)
        return -1;
    OWNED char *there =
        sweep_path && sweep_path[0] != '/' && directory ? xasprintf("%s/%s", directory, sweep_path) : NULL;
    int rc = check_file(path, there, "the sweep file", k, e);
    if (rc == 0 && sweep_path && sweep_read_current(k->db, &id, &given, &text, &none) == 0)
        rc = check_read(path, there ? there : given, text, k, e);
    return rc;
}

/* All recorded sweep files, and the scripts of the last attempt. */
static int check_recorded(const char *path, const struct kept_files *k, struct error *e)
{
    static const char sql[] =
        "SELECT path, 'a sweep file of the database' FROM sweep WHERE role IS NULL UNION ALL"
        " SELECT key, 'a file that the jobs run' FROM json_each((SELECT scripts FROM attempt WHERE scripts"
        " IS NOT NULL ORDER BY id DESC LIMIT 1))";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(k->db, sql, NO_VALUES, &s, e)) > 0)
        if (check_file(path, stmt_text(s, 0), stmt_text(s, 1), k, e) < 0) {
            rc = -1;
            break;
        }
    return rc < 0 ? -1 : check_current_sweep(path, k, e);
}

static int check_written(const char *path, const struct kept_files *k, struct error *e)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return refuse(path, "no regular file, which would be replaced by one", k, e);
    if (k->db_path && check_database(path, k, e) < 0)
        return -1;
    for (size_t i = 0; i < k->input_count; i++)
        if (check_file(path, k->inputs[i], "what is read", k, e) < 0)
            return -1;
    if (k->db && check_recorded(path, k, e) < 0)
        return -1;
    return !k->writes_database && store_is_database(path) ? refuse(path, "a database", k, e) : 0;
}

int written_file_check(const char *path, const struct kept_files *k, struct error *e)
{
    /* Atomic writing replaces this file too. */
    OWNED char *part = xasprintf("%s.part", path);
    int rc = check_written(path, k, e);
    if (rc == 0)
        rc = check_written(part, k, e);
    return rc;
}

int written_files_check(const char *directory, const char *const *names, const struct kept_files *k, struct error *e)
{
    int rc = 0;
    for (; rc == 0 && *names; names++) {
        OWNED char *path = xasprintf("%s/%s", directory, *names);
        rc = written_file_check(path, k, e);
    }
    return rc;
}

/* --- the files that a sweep file needs --- */

static int copy_file(const char *from, const char *to, struct error *e)
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
        rc = copy_file(from, to, e);
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
