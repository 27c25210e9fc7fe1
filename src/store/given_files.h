/* Files that an attempt is given in its directory before it starts. */
#pragma once

#include <stddef.h>

struct given_file {
    char *path; /* within the directory */
    char *text;
};

struct given_files {
    struct given_file *items;
    size_t count;
};

/* Takes `text` over. */
void given_files_add(struct given_files *files, const char *path, char *text);
void given_files_free(struct given_files *files);
