#include "cli/stale_results.h"

#include <stdlib.h>
#include <unistd.h>

#include "run/provenance.h"
#include "run/scripts.h"
#include "run/versions.h"

static const char *content(void *context, const char *path)
{
    return scripts_content(context, path);
}

int stale_results_read(struct db *db, const struct job_config *job, struct stale_list *out, struct error *e)
{
    char *no_secrets[] = {NULL};
    char *versions = job ? versions_json(job, environ) : NULL;
    char *now = provenance_json(NULL, environ, no_secrets, versions);
    struct scripts *scripts = scripts_create();
    const struct stale_today today = {now, content, scripts};
    int rc = stale_read(db, &today, out, e);
    scripts_free(scripts);
    free(now);
    free(versions);
    return rc;
}
