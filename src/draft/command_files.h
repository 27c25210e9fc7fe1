/* The configuration files that a command names, and where a key stands in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "draft/job_command.h"
#include "files/document.h"
#include "util/buffer.h"
#include "util/error.h"

struct command_file {
    const char *path; /* as the command names it */
    const char *name; /* of the job's copy: the last part of the path or, where {file.NAME} does not take that,
                       * config.yaml */
    bool is_swept;    /* some axis is a key of it */
};

/* The place of a key. */
struct file_place {
    struct command_file *file;
    const char *path;
    enum doc_kind kind;
};

struct command_files {
    struct arena *arena; /* of the command */
    struct command_file **items;
    size_t count;
    struct file_place *leaves; /* of all files, one after the other */
    size_t leaf_count;
};

/* Reads those that are there, but for `except`, which may be NULL. One that cannot be read is left out. */
struct command_files command_files_open(const struct job_command *c, const char *except);

/* By the whole path or, if there is none, by the last parts of one; "-" is as good as "_". 1; 0: nowhere, `out` is
 * untouched. ERROR_USAGE where it may be several, with all of them. */
int command_files_find(const struct command_files *f, const char *key, struct file_place *out, struct error *e);

/* The path that is nearest to a key that is nowhere, "data.batch_size of a.yaml", the caller's; NULL: none is near. */
char *command_files_nearest(const struct command_files *f, const char *key);

/* Puts {file.NAME} where the command names a file that is swept. */
void command_files_place(const struct command_files *f, struct job_command *c);

/* The value that a person wrote as TOML, of the place's kind as far as it can be. False: it is of another. */
bool file_place_add_value(const struct file_place *p, const char *value, size_t length, struct buffer *out);
