/* Files where jobs write. A job may leave there what it likes: a link in place of its log, a pipe that nobody writes
 * to, another directory under the name of its own. What is read there is a regular file, opened without waiting; what
 * is written, cut or replaced is reached from the directory's own descriptor, and no link is followed on the way.
 *
 * The directory of an attempt is DIRECTORY/KEY/NUMBER. Its last two names are what a job may change; those above are
 * the user's, and may be links. All return a descriptor, the caller's, or -1 with errno: ELOOP or ENOTDIR for a link,
 * EINVAL for what is no regular file. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/buffer.h"

/* The directory, with O_PATH. job_directory_make makes it, mode 0700, and what is missing above it. */
int job_directory_open(const char *path);
int job_directory_make(const char *path);

/* Opens it for readdir; `name` is below the directory `at` (AT_FDCWD: a path as job_directory_open). NULL: errno. */
DIR *job_directory_list(int at, const char *name);

/* The same path from the root, without the user's links; the caller's. */
char *job_directory_absolute(const char *path);

/* For reading: the file at `path` (NULL: ENOENT), the last name of which may not be a link. In place of one that was
 * compressed (process/archived_file.h) what it held is read, as by the others that take a path. */
int job_file_open(const char *path);

/* The same by its name in a directory that is open. */
int job_file_open_in(int directory, const char *name);

/* The same of what the sweep file names, where a link may well be meant (wandb/latest-run/files/…). */
int job_file_open_named(const char *path);

/* The same below a directory, whose own path may hold links: neither "..", "." and empty names are taken nor links, so
 * that the path cannot leave the directory, even if someone changes it meanwhile. */
int job_file_open_below(const char *directory, const char *path);

/* A new file, 0600, for writing, in place of what has the name, unless that is a directory. `flags`: O_APPEND or 0. */
int job_file_create(int directory, const char *name, int flags);

/* Another descriptor of what is open, for writing; -1 where /proc is not to be had. */
int job_file_reopen(int fd);

/* Returns whether there is a regular file of that name (relative to `directory` unless absolute), not a link. */
bool job_file_stat(int directory, const char *name, struct stat *out);

/* Bytes of that file, compressed or not; -1: there is none. */
int64_t job_file_size(const char *path);

/* Adds to `out` what the open file holds, which is taken (-1: with errno as it is); at most `limit_bytes`. 0, or -1
 * with errno (EFBIG: it is larger). */
int job_file_read(int fd, size_t limit_bytes, struct buffer *out);

/* Returns what the file at `path` holds, as job_file_open, as text; the caller's, NULL where it cannot be read. */
char *job_file_text(const char *path, size_t limit_bytes);

/* Lets group and others read it, or enter and read the directory, as far as the umask lets them: never what a link
 * leads to. */
void job_file_share(const char *path);
