#include "cli/stale_results.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "device/provenance.h"
#include "device/versions.h"
#include "process/environment.h"
#include "run/scripts.h"

static const char *content(void *context, const char *path)
{
    return scripts_content(context, path);
}

int stale_results_read(struct db *db, const struct job_config *job, cJSON **out, cJSON **beside, struct error *e)
{
    char *no_secrets[] = {NULL};
    char *versions = job ? versions_json(job, environ) : NULL;
    char *now = provenance_json(NULL, environ, job ? job->pass_environment : NULL, no_secrets, versions);
    struct scripts *scripts = scripts_create();
    const struct stale_today today = {now, content, scripts};
    int rc = stale_read(db, &today, out, beside, e);
    scripts_free(scripts);
    free(now);
    free(versions);
    return rc;
}

int stale_results_tell(struct db *db, const struct job_config *job, char *const *environment, struct error *e)
{
    cJSON *stale, *beside;
    char *words = NULL, *now;
    if (stale_results_read(db, job, &stale, &beside, e) < 0)
        return -1;
    if (json_count_of(stale, "stale") > 0)
        output_message("%lld of %lld results were made with a different %s than now; --stale runs them again",
                       (long long)json_count_of(stale, "stale"), (long long)json_count_of(stale, "results"),
                       json_text_of(beside, "causes"));
    cJSON_Delete(stale);
    cJSON_Delete(beside);
    now = environment_context_json(environment, job->pass_environment, job->secrets);
    int rc = stale_environment(db, now, &words, e);
    if (words)
        output_message("the environment has changed since the last run: %s", words);
    free(words);
    free(now);
    return rc;
}
