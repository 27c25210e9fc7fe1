/* Shared libraries that are loaded when what they do is asked for and not before: with all libraries that they want in
 * turn, loading one takes as long as all else that a short command does. */
#pragma once

#include <stddef.h>

#include "util/error.h"

/* Loads `soname` and writes its functions of these names as pointers to `out`, in their order. The library is never
 * unloaded. If it or a function is missing, returns -1; the error names the Debian package to install. */
int library_load(const char *soname, const char *package, const char *const *names, size_t count, void *out,
                 struct error *e);
