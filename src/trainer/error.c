#include "trainer/error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *e, int status, const char *format, ...)
{
    va_list arguments;

    e->status = status;
    va_start(arguments, format);
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    return -1;
}
