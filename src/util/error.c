#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

#define CUT_MARK "…"

/* Appends to e->text, marking what did not fit. */
static void append(struct error *e, const char *format, va_list arguments)
{
    size_t used = strlen(e->text);
    size_t room = sizeof e->text - used;
    int n = vsnprintf(e->text + used, room, format, arguments);
    if (n >= 0 && (size_t)n >= room)
        memcpy(e->text + utf8_cut(e->text, sizeof e->text, sizeof e->text - sizeof CUT_MARK), CUT_MARK,
               sizeof CUT_MARK);
}

static void append_text(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append_text(struct error *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(e, format, arguments);
    va_end(arguments);
}

int error_set(struct error *e, enum error_kind kind, const char *format, ...)
{
    if (!e)
        return -1;
    e->kind = kind;
    e->text[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    append(e, format, arguments);
    va_end(arguments);
    return -1;
}

int error_errno(struct error *e, int error_number, const char *format, ...)
{
    if (!e)
        return -1;
    e->kind = ERROR_FAILED;
    e->text[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    append(e, format, arguments);
    va_end(arguments);
    append_text(e, ": %s", strerror(error_number));
    return -1;
}

int error_context(struct error *e, const char *format, ...)
{
    if (!e)
        return -1;
    struct error inner = *e;
    e->text[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    append(e, format, arguments);
    va_end(arguments);
    append_text(e, ": %s", inner.text);
    return -1;
}

int error_add_line(struct error *e, enum error_kind kind, const char *format, ...)
{
    if (!e)
        return -1;
    e->kind = kind;
    if (e->text[0])
        append_text(e, "\n");
    va_list arguments;
    va_start(arguments, format);
    append(e, format, arguments);
    va_end(arguments);
    return -1;
}
