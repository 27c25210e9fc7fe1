#include "device/models.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/line_reader.h"
#include "util/memory.h"

/* The first line of the file that begins with `word`, without it and the blanks after it; NULL when there is none. */
static char *find_line(const char *path, const char *word)
{
    struct line_reader *r = line_reader_open(path, 0);
    char *found = NULL;
    for (const char *line; r && !found && (line = line_reader_next(r));) {
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        line += strlen(word);
        found = xstrdup(line + strspn(line, " \t"));
    }
    line_reader_close(r);
    return found;
}

/* "NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5 …": the first word that is made of digits and dots. */
static void add_driver(struct buffer *b, const char *directory)
{
    OWNED char *path = xasprintf("%s/version", directory);
    OWNED char *line = find_line(path, "NVRM version:");
    const char *version = line;
    size_t length = 0;
    while (version && *version) {
        length = strspn(version, "0123456789.");
        if (length > 0 && (version[length] == ' ' || version[length] == '\0'))
            break;
        version += strcspn(version, " ");
        version += strspn(version, " ");
        length = 0;
    }
    if (length > 0)
        buffer_add_json_string(b, version, length);
    else
        buffer_add_text(b, "null");
}

static int visible(const struct dirent *d)
{
    return isxdigit((unsigned char)d->d_name[0]);
}

static void add_models(struct buffer *b, const char *directory)
{
    OWNED char *path = xasprintf("%s/gpus", directory);
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        OWNED char *file = xasprintf("%s/%s/information", path, entries[i]->d_name);
        OWNED char *model = find_line(file, "Model:");
        if (i > 0)
            buffer_add_char(b, ',');
        buffer_add_json_string(b, model ? model : "", model ? strlen(model) : 0);
        free(entries[i]);
    }
    free(entries);
}

char *gpu_models_json(const char *directory)
{
    struct buffer b = BUFFER_INIT;
    DIR *there = opendir(directory);
    if (!there)
        return xstrdup("null");
    closedir(there);
    buffer_add_text(&b, "{\"driver\":");
    add_driver(&b, directory);
    buffer_add_text(&b, ",\"models\":[");
    add_models(&b, directory);
    buffer_add_text(&b, "]}");
    return buffer_take(&b);
}
