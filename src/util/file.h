/* Whole files and paths. Descriptors are close-on-exec from birth. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "util/buffer.h"
#include "util/error.h"

/* Reads at most `limit_bytes`; a larger file is an error, and so is a named pipe. `out` is appended to. */
int file_read(const char *path, size_t limit_bytes, struct buffer *out, struct error *e);

/* Returns what is read so as text, the caller's; NULL where it cannot be read. */
char *file_text(const char *path, size_t limit_bytes);

/* All of `length` bytes to a descriptor; -1 with errno set when that fails. */
int file_write_all(int fd, const void *bytes, size_t length);
/* The same with what `from` holds from `start` up to `end`. */
int file_copy_range(int from, int64_t start, int64_t end, int to);
/* The same with all that the file system has of `from`: what was given back to it is none in `to` either. */
int file_copy(int from, int to);

/* Returns whether the file, which is emptied, has room for that many bytes: quotas, and what others have taken
 * meanwhile, are told by writing alone. `to_disk`: and by syncing, where a server is far away. */
bool file_has_room(int fd, size_t bytes, bool to_disk);

/* Writes `text` to a new file beside `path`, syncs it and renames it over `path`: never a torn file. */
int file_write_atomic(const char *path, const void *bytes, size_t length, struct error *e);
/* The same, to be read by those alone who may read `like`. */
int file_write_like(const char *path, const char *like, const void *bytes, size_t length, struct error *e);

/* The same in pieces: a file that stands at `path` only once it is complete. It has no name until then, so that a kill
 * leaves nothing behind; where the file system has no such files, it is "PATH.XXXXXX" meanwhile. What is there already
 * and is not a regular file (a pipe, a terminal) is written as it is. */
struct atomic_file {
    char *path;
    char *temporary; /* its name meanwhile; NULL: it has none */
    bool in_place;
    int descriptor;
    mode_t mode;
};
#define ATOMIC_FILE_INIT ((struct atomic_file){NULL, NULL, false, -1, 0})
/* Those may read it who may read `like`, and a link that leads to a file stays: a person made it. NULL: everybody, and
 * the link, perhaps a job's, is replaced. */
int atomic_file_open(const char *path, const char *like, struct atomic_file *out, struct error *e);
int atomic_file_write(struct atomic_file *f, const void *bytes, size_t length, struct error *e);
int atomic_file_commit(struct atomic_file *f, struct error *e);
/* Releases; what was not committed is gone. */
void atomic_file_close(struct atomic_file *f);

/* Lets group and others read the file, or enter and read the directory, as far as the umask lets them. Nothing happens
 * where that is not to be had. */
void file_share(const char *path);
void file_share_open(int fd);

/* Makes a directory and what is missing above it, mode 0700. An existing directory is fine. */
int file_make_directories(const char *path, struct error *e);

/* Returns the bytes of what is at `path` and below, no link being followed, and with `remove` it goes; -1 with errno.
 * `written_ms` becomes when any of it was last written, if that is later; NULL: do not say. */
int64_t file_tree_bytes(char *path, bool remove, int64_t *written_ms);

/* The last component, within `path`; "" where it ends with a slash. */
const char *path_name(const char *path);

/* "DIRECTORY of path" + "/" + name, or `name` itself when it is absolute. The caller's. */
char *path_beside(const char *path, const char *name);

/* Absolute and without links, for a path whose last component may not exist yet. The caller's; a copy when nothing
 * can be resolved. */
char *path_absolute(const char *path);

/* Returns whether two paths are one file: by name, or by device and inode where both are there. */
bool path_is_same(const char *a, const char *b);

/* Returns whether `path` is the directory or lies below it, at any depth; by name or by device and inode. */
bool path_is_within(const char *path, const char *directory);
