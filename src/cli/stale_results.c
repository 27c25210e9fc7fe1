#include "cli/stale_results.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "device/provenance.h"
#include "device/versions.h"
#include "process/environment.h"
#include "run/scripts.h"
#include "util/buffer.h"

static const char *content(void *context, const char *path)
{
    return scripts_content(context, path);
}

int stale_results_read(struct db *db, const struct job_config *job, struct stale_list *out, struct error *e)
{
    char *no_secrets[] = {NULL};
    char *versions = job ? versions_json(job, environ) : NULL;
    char *now = provenance_json(NULL, environ, job ? job->pass_environment : NULL, no_secrets, versions);
    struct scripts *scripts = scripts_create();
    const struct stale_today today = {now, content, scripts};
    int rc = stale_read(db, &today, out, e);
    scripts_free(scripts);
    free(now);
    free(versions);
    return rc;
}

#define DIFFERENCES_TOLD 5

static const char *value_of(const char *text)
{
    return *text ? text : "not set";
}

/* "X was 1, is 2; Y was not set, is 3; and 4 more". */
static void add_differences(const struct stale_list *l, struct buffer *text)
{
    for (size_t i = 0; i < l->count && i < DIFFERENCES_TOLD; i++) {
        buffer_printf(text, "%s%s", i ? "; " : "", l->items[i].what);
        buffer_printf(text, " was %s, is %s", value_of(l->items[i].was), value_of(l->items[i].is));
    }
    if (l->count > DIFFERENCES_TOLD)
        buffer_printf(text, "; and %zu more", l->count - DIFFERENCES_TOLD);
}

static int tell_environment(struct db *db, const struct job_config *job, char *const *environment, struct error *e)
{
    struct stale_list list = {0};
    struct buffer text = BUFFER_INIT;
    char *now = environment_context_json(environment, job->pass_environment, job->secrets);
    int rc = stale_environment(db, now, &list, e);
    add_differences(&list, &text);
    if (rc == 0 && list.count > 0)
        output_message("the environment has changed since the last run: %s", buffer_text(&text));
    buffer_free(&text);
    stale_free(&list);
    free(now);
    return rc;
}

/* The names of what differs, each once, up to a limit. */
static void add_causes(const struct stale_list *l, struct buffer *text)
{
    for (size_t i = 0, told = 0; i < l->count && told < DIFFERENCES_TOLD; i++) {
        size_t before = 0;
        while (before < i && strcmp(l->items[before].what, l->items[i].what) != 0)
            before++;
        if (before == i)
            buffer_printf(text, "%s%s", told++ ? ", " : "", l->items[i].what);
    }
}

int stale_results_tell(struct db *db, const struct job_config *job, char *const *environment, struct error *e)
{
    struct stale_list list = {0};
    struct buffer causes = BUFFER_INIT;
    if (stale_results_read(db, job, &list, e) < 0)
        return -1;
    add_causes(&list, &causes);
    if (list.count > 0)
        output_message("%zu of %lld results were made with a different %s than now; --stale runs them again", list.jobs,
                       (long long)list.ended, buffer_text(&causes));
    buffer_free(&causes);
    stale_free(&list);
    return tell_environment(db, job, environment, e);
}
