#include "util/library.h"

#include <dlfcn.h>
#include <string.h>

/* RTLD_DEFAULT order, as for linked libraries, so that preloaded libraries come first. */
int library_load(const char *soname, const char *package, const char *const *names, size_t count, void *out,
                 struct error *e)
{
    void *found = dlopen(soname, RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; found && i < count; i++)
        if ((found = dlsym(RTLD_DEFAULT, names[i])))
            memcpy((char *)out + i * sizeof found, &found, sizeof found);
    return found ? 0 : error_set(e, ERROR_FAILED, "%s; on Debian: apt-get install %s", dlerror(), package);
}
