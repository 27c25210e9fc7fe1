/* Expressions of a sweep, resolved against its keys and compiled by SQLite under the guard. */
#pragma once

#include "config/problems.h"
#include "space/space.h"

/* An expression as somebody wrote it. */
struct source_text {
    const char *text;
    enum unknown_names unknown;
    const struct position *at; /* NULL: no place */
    const char *what, *name;   /* for messages: "rule", "batch-divides" */
    const char *otherwise;     /* what an unknown key may have been meant as: "; a duration is …"; NULL: nothing */
};

/* Resolves it and has SQLite compile it under the guard. A problem is added to `problems` as
 * "file:line:column: WHAT `NAME`: …"; returns -1 then. */
int compile_expression(struct space *space, const struct source_text *source, struct expression *out,
                       struct problems *problems);

/* The same for an expression of the command line: the problem is the error (ERROR_USAGE). */
int compile_alone(struct space *space, const struct source_text *source, struct expression *out, struct error *e);

/* After something has failed while combinations were looked at: when an expression is the cause, `e` names it and its
 * place instead (ERROR_USAGE). Returns -1. */
int compile_blame(struct space *space, struct error *e);

/* Releases what compile_expression has noted in the space. */
void compile_free(struct space *space);

/* Returns what unknown names are in an expression written there. */
enum unknown_names unknown_at(const struct space *space, const struct position *at);
