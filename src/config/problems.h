/* All that is wrong in a sweep file, gathered so that it is reported at once and in the order of the text. */
#ifndef MESHSWEEP_CONFIG_PROBLEMS_H
#define MESHSWEEP_CONFIG_PROBLEMS_H

#include <stddef.h>

#include "config/sweep.h"
#include "util/error.h"

struct problem {
    struct position at;
    size_t order; /* in which it was found */
    char *text;
};

struct problems {
    struct problem *items;
    size_t kept;  /* in `items`: at most PROBLEMS_KEPT */
    size_t found; /* in all */
};

#define PROBLEMS_KEPT 20000
#define PROBLEMS_SHOWN 50
#define PROBLEMS_INIT {NULL, 0, 0}

/* `at.file` is borrowed until problems_report. A `line` of 0: the message stands after the file's name alone; a
 * `file` of NULL: it stands alone. Control characters become "?", long texts are cut. */
void problems_add(struct problems *p, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 0 when there are none. Else fills `e` (ERROR_USAGE) with one line per problem, sorted by file (in the order of
 * `files`, NULL-terminated), line and column, the last line counting those that are not shown; returns -1. */
int problems_report(struct problems *p, char *const *files, struct error *e);

void problems_free(struct problems *p);

#endif
