#include "store/given_files.h"

#include <stdlib.h>

#include "util/memory.h"

void given_files_add(struct given_files *files, const char *path, char *text)
{
    *array_add(files->items, files->count) = (struct given_file){xstrdup(path), text};
}

void given_files_free(struct given_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free_all(files->items[i].path, files->items[i].text);
    free(files->items);
    *files = (struct given_files){NULL, 0};
}
