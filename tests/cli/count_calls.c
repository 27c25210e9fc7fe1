/* Preloaded into a server: how often it asked the database, but for PRAGMA (the looks whether anything was committed),
 * and how many answers it wrote for those who read. COUNT_SAID=FILE gets "QUESTIONS ANSWERS" at the end. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static atomic_long questions, answers;

int sqlite3_prepare_v3(void *db, const char *sql, int bytes, unsigned flags, void **out, const char **tail);
int sqlite3_prepare_v3(void *db, const char *sql, int bytes, unsigned flags, void **out, const char **tail)
{
    int (*next)(void *, const char *, int, unsigned, void **, const char **) = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
    questions += strncasecmp(sql, "PRAGMA", 6) != 0;
    return next(db, sql, bytes, flags, out, tail);
}

void *MHD_create_response_from_buffer(size_t size, void *text, int mode);
void *MHD_create_response_from_buffer(size_t size, void *text, int mode)
{
    void *(*next)(size_t, void *, int) = dlsym(RTLD_NEXT, "MHD_create_response_from_buffer");
    answers++;
    return next(size, text, mode);
}

__attribute__((destructor)) static void say(void)
{
    const char *path = getenv("COUNT_SAID");
    FILE *said = path ? fopen(path, "w") : NULL;
    if (!said)
        return;
    fprintf(said, "%ld %ld\n", questions, answers);
    fclose(said);
}
