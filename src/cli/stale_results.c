#include "cli/stale_results.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/provenance.h"

static int64_t changed_ms(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

int stale_results_read(struct db *db, struct stale_list *out, struct error *e)
{
    char *no_secrets[] = {NULL};
    char *now = provenance_json(NULL, environ, no_secrets);
    int rc = stale_read(db, now, changed_ms, out, e);
    free(now);
    return rc;
}
