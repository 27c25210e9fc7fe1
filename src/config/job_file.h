/* [[job.file]]: a file that each job is given. */
#pragma once

#include <stddef.h>

#include "config/position.h"
#include "config/value.h"

enum file_format { FORMAT_NONE = 0, FORMAT_YAML, FORMAT_TOML, FORMAT_JSON, FORMAT_TEXT };

/* A change of one path of a file: set, which the file must have; added, which it may have; left out. */
enum doc_change_kind { DOC_SET = 1, DOC_ADD, DOC_UNSET };

struct file_change {
    enum doc_change_kind kind;
    char *path;
    char *expression; /* SQL; NULL: `value` is it */
    struct value value;
    struct position at;
};

struct job_file {
    char *path;                  /* within the job's directory */
    char *name;                  /* of the placeholder {file.NAME} */
    char *base;                  /* beside the sweep file; NULL: none */
    char *text;                  /* template; NULL: none */
    int format;                  /* enum file_format */
    struct file_change *changes; /* sorted by path */
    size_t change_count;
    struct position at, base_at, text_at;
};
