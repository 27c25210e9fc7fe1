/* Errors travel in a caller's buffer. A function that can fail takes `struct error *e` last, returns 0 or -1,
 * and on -1 has filled `e` and left its outputs untouched. Each floor may add one line of context on the way up. */
#pragma once

#include <stddef.h>

enum error_kind {
    ERROR_NONE = 0,
    ERROR_FAILED,  /* an operation failed: exit status 1 */
    ERROR_USAGE,   /* wrong use or a wrong sweep file: exit status 2 */
    ERROR_NOTHING, /* nothing matched: exit status 4 */
};

struct error {
    enum error_kind kind;
    char text[16384]; /* one or more lines, without a final newline; cut with "…" when too long */
};

#define ERROR_INIT ((struct error){ERROR_NONE, {0}})

/* Fills `e` and returns -1, so that callers can `return error_set(...)`. `e` may be NULL. */
int error_set(struct error *e, enum error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set with ERROR_FAILED and ": " plus strerror(error_number) appended. */
int error_errno(struct error *e, int error_number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " before the text; the kind stays. Returns -1. */
int error_context(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends another line, so that all that is wrong in a file is reported at once. Sets the kind. Returns -1. */
int error_add_line(struct error *e, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
