/* The value of an expression in the combinations of a sweep file. */
#pragma once

#include <math.h>

#include "space/compile.h"
#include "space_fixture.h"
#include "util/buffer.h"

/* "BEFORE expression AFTER" over all combinations; NAN where it is NULL. Ends the test where it cannot be had. */
static inline double ask(struct built *b, const char *before, const char *expression, const char *after)
{
    struct expression x = {.sql = NULL};
    const struct source_text source = {expression, UNKNOWN_IS_ERROR, NULL, "test", expression, NULL};
    HELD(buffer) sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    FAIL_IF(compile_alone(b->space, &source, &x, &e) < 0);
    buffer_printf(&sql, "SELECT %s%s%s", before, x.sql, after);
    space_add_from(b->space, ~0U, &sql);
    FAIL_IF(db_prepare(b->space->db, buffer_text(&sql), &s, &e) < 0 || stmt_next(s, &e) != 1);
    double value = stmt_is_null(s, 0) ? NAN : stmt_double(s, 0);
    return value;
}

/* Returns the value in the one combination. */
static inline double value_of(struct built *b, const char *expression)
{
    return ask(b, "", expression, "");
}
