/* SQL expressions that people write, copied token by token with their names replaced: what the expressions of a sweep
 * (expression/expression.h) and those over model candidates (models/filter.h) have in common. Pure. */
#pragma once

#include <stdbool.h>

#include "util/buffer.h"
#include "util/error.h"

#define REWRITE_LONGEST (256 * 1024) /* bytes of the result: four predictions under the profile of the most keys */

/* Both return 0, or -1 with `e` filled. */
struct rewriter {
    /* Appends what stands for a name: words joined by dots, quotes taken off. */
    int (*name)(void *context, const char *name, bool quoted, struct buffer *sql, struct error *e);
    /* Appends what stands for a function's name and its opening parenthesis; `empty`: it has no arguments. NULL: as
     * written. */
    int (*call)(void *context, const char *name, bool empty, struct buffer *sql, struct error *e);
    void *context;
};

/* Appends `text` so changed, in parentheses. Errors (ERROR_USAGE, one line, no position): those of the rewriter, a
 * string or quoted name that does not end, unbalanced parentheses, a comment, a parameter, more than one statement,
 * a result longer than REWRITE_LONGEST. `sql` is changed in any case. */
int rewrite_expression(const char *text, const struct rewriter *r, struct buffer *sql, struct error *e);

/* Returns whether SQL itself has a word of that name: a keyword, TRUE or FALSE. */
bool rewrite_is_word_of_sql(const char *name);
