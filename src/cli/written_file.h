/* Files that no command may overwrite; checked before a command opens a file for writing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "database/db.h"

/* Files that a command uses; all borrowed. */
struct kept_files {
    const char *option;  /* option that names the written file: "-o" */
    const char *db_path; /* the database: it, what SQLite keeps beside it, its lock, and its directory of job files */
    struct db *db;       /* open for reading: the files of its sweeps too; NULL: not asked */
    char *const *inputs; /* further files that are read */
    size_t input_count;
    bool writes_database; /* what is written is a database, so that another one may stand there */
};

/* Fails (ERROR_USAGE) when `path` is one of these, by name or by device and inode (links of either kind, another
 * mount), or is any database. What is not a regular file (a pipe, a terminal) may be written. */
int written_file_check(const char *path, const struct kept_files *k, struct error *e);

/* The same for each of the `names` in a directory; NULL-terminated. */
int written_files_check(const char *directory, const char *const *names, const struct kept_files *k, struct error *e);

/* Copies into `directory`, under their own names, the files that the file of the current sweep names relative to
 * itself: what it includes, profiles, the base of ds_configs. Absolute names hold where they are. A file that is not
 * there any more, or lies above the sweep file, is reported as a message. */
int sweep_files_copy(struct db *db, const char *directory, struct error *e);
