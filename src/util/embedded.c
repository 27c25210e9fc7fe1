#include "util/embedded.h"

#include <stddef.h>
#include <string.h>

#include "util/memory.h"

const char *embedded_text(const char *name)
{
    for (const struct embedded_file *f = embedded_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->text;
    return NULL;
}

const struct embedded_file *embedded_next(const char *prefix, const struct embedded_file *previous)
{
    for (const struct embedded_file *f = previous ? previous + 1 : embedded_files; f->name; f++)
        if (strncmp(f->name, prefix, strlen(prefix)) == 0)
            return f;
    return NULL;
}

char *embedded_stem(const struct embedded_file *file)
{
    const char *slash = strrchr(file->name, '/'), *stem = slash ? slash + 1 : file->name;
    return xstrndup(stem, strcspn(stem, "."));
}
