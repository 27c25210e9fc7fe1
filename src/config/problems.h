/* All problems of a sweep file, collected so that they are reported at once and in the order of the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/sweep.h"
#include "util/error.h"
#include "util/string_list.h"

struct problem {
    struct position at; /* `file` is the problem's own */
    size_t order;       /* in which it was found */
    char *text;
};

struct problems {
    struct problem *items;
    size_t kept;  /* in `items`: at most PROBLEMS_KEPT */
    size_t found; /* in all */
    /* Names that were written where they could not be read: see problems_excuse. */
    struct string_list excused;
    bool all_excused;
};

#define PROBLEMS_KEPT 20000
#define PROBLEMS_SHOWN 50
#define PROBLEMS_INIT ((struct problems){0})

/* A `line` of 0: the message stands after the file's name alone; a `file` of NULL: it stands alone. Control characters
 * become "?", long texts are cut. */
void problems_add(struct problems *p, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One mistake is reported once: a name whose entry is a problem itself is not called unknown where it is used. Excuses
 * `name`, or whatever name there may be: a table that could not be read at all has keys that nobody knows. */
void problems_excuse(struct problems *p, const char *name);
void problems_excuse_all(struct problems *p);
bool problems_excused(const struct problems *p, const char *name);

/* 0 when there are none. Else fills `e` (ERROR_USAGE) with one line per problem, sorted by file (in the order of
 * `files`, NULL-terminated, then others; NULL: none is known), line and column, the last line counting those that are
 * not shown; returns -1. */
int problems_report(struct problems *p, char *const *files, struct error *e);

void problems_free(struct problems *p);
