#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/recorded_sweep.h"
#include "cli/stale_results.h"
#include "database/open.h"
#include "report/text.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

struct stale_options {
    const char *db, *config;
    bool json;
};

static const struct option options[] = {
    OPTION_DB(offsetof(struct stale_options, db)),
    {.name = "config",
     .letter = 'c',
     .kind = OPTION_STRING,
     .offset = offsetof(struct stale_options, config),
     .value = "FILE",
     .help = "compare versions declared in [job] versions of this file (default: the one in the database)"},
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct stale_options, json), .help = "as JSON"},
    {.name = NULL},
};

/* A difference and how many jobs have it. */
struct stale_group {
    const struct stale_job *first;
    size_t jobs;
};

static size_t group_alike(const struct stale_list *l, struct stale_group *groups)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct stale_job *j = &l->items[i];
        size_t g = 0;
        while (g < count && (strcmp(groups[g].first->what, j->what) != 0 || strcmp(groups[g].first->was, j->was) != 0))
            g++;
        if (g == count)
            groups[count++] = (struct stale_group){j, 0};
        groups[g].jobs++;
    }
    return count;
}

static void add_group(const struct stale_group *g, struct buffer *out)
{
    const struct stale_job *d = g->first;
    buffer_printf(out, "  %zu: ", g->jobs);
    text_add_line(out, d->what);
    if (d->what[0] == '/') {
        buffer_add_text(out, d->is[0] ? " has changed since they ran" : " no longer exists");
    } else {
        buffer_add_text(out, " was ");
        text_add_line(out, d->was[0] ? d->was : "unknown");
        buffer_add_text(out, ", is ");
        text_add_line(out, d->is[0] ? d->is : "unknown (its line in [job] versions fails)");
    }
    buffer_printf(out, " (job %lld)\n", (long long)d->job_id);
}

static int print_text(const struct stale_list *l, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    struct stale_group *groups = xcalloc(l->count + 1, sizeof *groups);
    size_t count = group_alike(l, groups);
    buffer_printf(&out, "%zu of %lld results are stale\n", l->jobs, (long long)l->ended);
    for (size_t i = 0; i < count; i++)
        add_group(&groups[i], &out);
    if (l->jobs)
        buffer_add_text(&out, "`meshsweep run --stale` runs them again\n");
    int rc = output_people_take(&out, e);
    free(groups);
    return rc;
}

static int print_json(const struct stale_list *l, struct error *e)
{
    cJSON *root = json_document(), *list = NULL;
    cJSON_AddNumberToObject(root, "results", (double)l->ended);
    cJSON_AddNumberToObject(root, "stale", (double)l->jobs);
    list = cJSON_AddArrayToObject(root, "differences");
    for (size_t i = 0; i < l->count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "job", (double)l->items[i].job_id);
        cJSON_AddStringToObject(item, "what", l->items[i].what);
        json_add_text(item, "was", l->items[i].was);
        json_add_text(item, "is", l->items[i].is);
        cJSON_AddItemToArray(list, item);
    }
    return output_json_take(root, e);
}

/* The recorded sweep file is only needed for its declared versions. */
static void load_recorded(const struct stale_options *o, struct db *db, struct sweep **sweep)
{
    char *path = NULL;
    struct error why = ERROR_INIT;
    if (recorded_sweep_find(db, o->db, &path, &why) < 0 || (path && sweep_load(path, sweep, &why) < 0))
        output_message("declared versions are not compared: %s", why.text);
    free(path);
}

static int stale(const struct arguments *a, struct error *e)
{
    const struct stale_options *o = a->options;
    struct stale_list list = {0};
    struct sweep *sweep = NULL;
    struct db *db = NULL;
    if (o->config && sweep_load(o->config, &sweep, e) < 0)
        return -1;
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0 && !o->config)
        load_recorded(o, db, &sweep);
    if (rc == 0)
        rc = stale_results_read(db, sweep ? &sweep->job : NULL, &list, e);
    if (rc == 0)
        rc = o->json ? print_json(&list, e) : print_text(&list, e);
    if (rc == 0 && list.jobs > 0)
        rc = STATUS_JOBS_FAILED;
    stale_free(&list);
    store_close(db);
    sweep_free(sweep);
    return rc;
}

const struct command stale_command = {
    .name = "stale",
    .summary = "List results that come from another script, commit or device",
    .usage = "[OPTIONS]",
    .example = "meshsweep stale || meshsweep run --stale",
    .options = options,
    .options_bytes = sizeof(struct stale_options),
    .pages = true,
    .run = stale,
};
