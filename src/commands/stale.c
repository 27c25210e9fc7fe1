
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/stale_results.h"
#include "commands/commands.h"
#include "database/open.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

/* The recorded sweep file is only needed for its declared versions. */
static void load_recorded(const struct stale_options *o, struct db *db, struct sweep **sweep)
{
    OWNED char *path = NULL;
    struct error why = ERROR_INIT;
    if (recorded_sweep_find(db, o->db, &path, &why) < 0 || (path && sweep_load(path, sweep, &why) < 0))
        output_message("declared versions are not compared: %s", why.text);
}

int command_stale(const struct stale_options *o, struct error *e)
{
    OWNED_JSON *document = NULL, *beside = NULL;
    OWNED_SWEEP *sweep = NULL;
    OWNED_DB *db = NULL;
    if ((o->config && sweep_load(o->config, &sweep, e) < 0) || store_open_read_only(o->db, &db, e) < 0)
        return -1;
    if (!o->config)
        load_recorded(o, db, &sweep);
    if (stale_results_read(db, sweep ? &sweep->job : NULL, &document, &beside, e) < 0)
        return -1;
    int rc = output_answer(o->json, "sql/texts/stale.sql", document, beside, e);
    return rc == 0 && json_count_of(document, "stale") > 0 ? STATUS_JOBS_FAILED : rc;
}
