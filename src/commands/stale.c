
#include "cli/command.h"
#include "cli/output.h"
#include "cli/recorded_sweep.h"
#include "cli/stale_results.h"
#include "database/open.h"
#include "report/text.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

struct stale_options {
    const char *db, *config;
    bool json;
};

#define AT(member) offsetof(struct stale_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION(STRING, "config", AT(config), "FILE",
           "compare versions declared in [job] versions of this file (default: the one in the database)",
           .letter = 'c'),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

/* A difference, with how many jobs have it. */
static void add_alike(const cJSON *d, struct buffer *out)
{
    const char *what = json_text_of(d, "what");
    buffer_printf(out, "  %lld: ", (long long)json_count_of(d, "jobs"));
    text_add_line(out, what);
    if (what[0] == '/') {
        buffer_add_text(out, json_text_of(d, "is") ? " has changed since they ran" : " no longer exists");
    } else {
        buffer_add_text(out, " was ");
        text_add_line(out, json_text_or(d, "was", "unknown"));
        buffer_add_text(out, ", is ");
        text_add_line(out, json_text_or(d, "is", "unknown (its line in [job] versions fails)"));
    }
    buffer_printf(out, " (job %lld)\n", (long long)json_count_of(d, "job"));
}

/* "3 were accepted from another command: …, by me@host at 2026-01-31T12:00:00Z: why" */
static void add_accepted(const cJSON *c, struct buffer *out)
{
    const char *why = json_text_of(c, "why");
    buffer_printf(out, "  %lld accepted by ", (long long)json_count_of(c, "jobs"));
    text_add_line(out, json_text_of(c, "who"));
    buffer_printf(out, " at %s although they were made otherwise (change %lld)", json_text_of(c, "at"),
                  (long long)json_count_of(c, "change"));
    if (why) {
        buffer_add_text(out, ", ");
        text_add_line(out, why);
    }
    buffer_add_text(out, ": ");
    text_add_line(out, json_text_of(c, "what"));
    buffer_add_char(out, '\n');
}

static int print_text(const cJSON *stale, const cJSON *beside, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    const cJSON *d;
    buffer_printf(&out, "%lld of %lld results are stale\n", (long long)json_count_of(stale, "stale"),
                  (long long)json_count_of(stale, "results"));
    cJSON_ArrayForEach(d, cJSON_GetObjectItemCaseSensitive(beside, "alike")) add_alike(d, &out);
    cJSON_ArrayForEach(d, cJSON_GetObjectItemCaseSensitive(stale, "accepted")) add_accepted(d, &out);
    if (json_count_of(stale, "stale") > 0)
        buffer_add_text(&out, "`meshsweep run --stale` runs them again\n");
    return output_people_take(&out, e);
}

/* The recorded sweep file is only needed for its declared versions. */
static void load_recorded(const struct stale_options *o, struct db *db, struct sweep **sweep)
{
    OWNED char *path = NULL;
    struct error why = ERROR_INIT;
    if (recorded_sweep_find(db, o->db, &path, &why) < 0 || (path && sweep_load(path, sweep, &why) < 0))
        output_message("declared versions are not compared: %s", why.text);
}

static int stale(const struct arguments *a, struct error *e)
{
    const struct stale_options *o = a->options;
    cJSON *document = NULL, *beside = NULL;
    struct sweep *sweep = NULL;
    struct db *db = NULL;
    if (o->config && sweep_load(o->config, &sweep, e) < 0)
        return -1;
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0 && !o->config)
        load_recorded(o, db, &sweep);
    if (rc == 0)
        rc = stale_results_read(db, sweep ? &sweep->job : NULL, &document, &beside, e);
    if (rc == 0)
        rc = o->json ? output_json(document, e) : print_text(document, beside, e);
    if (rc == 0 && json_count_of(document, "stale") > 0)
        rc = STATUS_JOBS_FAILED;
    cJSON_Delete(document);
    cJSON_Delete(beside);
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
