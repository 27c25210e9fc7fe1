/* Allocation that aborts with one message when memory is gone: the only place where that is decided.
 * What these return is the caller's, released with free(). */
#ifndef MESHSWEEP_UTIL_MEMORY_H
#define MESHSWEEP_UTIL_MEMORY_H

#include <stddef.h>

void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes); /* zeroed */
void *xrealloc(void *block, size_t bytes);
void *xreallocarray(void *block, size_t count, size_t bytes); /* aborts on overflow */
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element in a growing array: `array` holds `count` elements and was grown only through
 * this. Capacities are powers of two, so none needs to be stored. Returns the array, moved if need be. */
void *array_grow(void *array, size_t count, size_t element_bytes);

#endif
