#include "util/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

void out_of_memory(void)
{
    static const char text[] = "meshsweep: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _Exit(1);
}

static void *checked(void *block, size_t bytes)
{
    if (!block && bytes > 0)
        out_of_memory();
    return block;
}

void *xmalloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1), bytes);
}

void *xcalloc(size_t count, size_t bytes)
{
    return checked(calloc(count ? count : 1, bytes ? bytes : 1), 1);
}

void *xrealloc(void *block, size_t bytes)
{
    return checked(realloc(block, bytes ? bytes : 1), bytes);
}

void *xreallocarray(void *block, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        out_of_memory();
    return xrealloc(block, count * bytes);
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0)
        out_of_memory();
    return text;
}

void text_replace(char **text, char *with)
{
    free(*text);
    *text = with;
}

void *array_grow(void *array, size_t count, size_t element_bytes)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return array;
    return xreallocarray(array, count ? count * 2 : 1, element_bytes);
}

void *arena_keep(struct arena *p, void *block)
{
    p->blocks = array_grow(p->blocks, p->count, sizeof *p->blocks);
    assert(p->blocks);
    p->blocks[p->count++] = block;
    return block;
}

char *arena_text(struct arena *p, const char *text)
{
    return arena_keep(p, xstrdup(text));
}

void *arena_grow(struct arena *p, void *array, size_t count, size_t element_bytes)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return array;
    void *more = arena_keep(p, xcalloc(count ? count * 2 : 1, element_bytes));
    return count ? memcpy(more, array, count * element_bytes) : more;
}

void arena_take(struct arena *to, struct arena *from)
{
    for (size_t i = 0; i < from->count; i++)
        arena_keep(to, from->blocks[i]);
    from->count = 0;
    arena_free(from);
}

void arena_free(struct arena *p)
{
    blocks_free(p->blocks, p->count);
    free(p->blocks);
    *p = (struct arena){0};
}

void blocks_free(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

void block_release(void *at)
{
    void *block;
    memcpy(&block, at, sizeof block);
    free(block);
}

void strings_free(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

void strings_release(char ***at)
{
    strings_free(*at);
}

void json_release(struct cJSON **at)
{
    cJSON_Delete(*at);
}
