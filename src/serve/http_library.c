#include "serve/http_library.h"

#ifdef MESHSWEEP_LINKED_HTTPD

int http_library_load(struct http_library *out, struct error *e)
{
    (void)e;
#define LINKED(name) out->name = MHD_##name
    HTTP_FUNCTIONS(LINKED);
#undef LINKED
    return 0;
}

#else

#include <dlfcn.h>
#include <string.h>

/* In 0.9.71, the oldest version that configure accepts, and all later ones including 1.0. */
static const char soname[] = "libmicrohttpd.so.12";

/* RTLD_DEFAULT order, as for linked libraries, so that preloaded libraries come first. */
int http_library_load(struct http_library *out, struct error *e)
{
    void *found = dlopen(soname, RTLD_NOW | RTLD_GLOBAL);
#define FIND(name)                                                                                                     \
    if (found && (found = dlsym(RTLD_DEFAULT, "MHD_" #name)))                                                          \
    memcpy(&out->name, &found, sizeof found)
    HTTP_FUNCTIONS(FIND);
#undef FIND
    return found ? 0 : error_set(e, ERROR_FAILED, "%s; on Debian: apt-get install libmicrohttpd12", dlerror());
}

#endif
