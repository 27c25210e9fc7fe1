#include <cjson/cJSON.h>

#include "cli/result_output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "measures/learning.h"
#include "measures/measures.h"
#include "results/json.h"
#include "results/views.h"
#include "run/reread.h"
#include "space/enumerate.h"
#include "store/jobs.h"
#include "util/memory.h"
#include "util/shell.h"

extern char **environ;

/* --- the command --- */

struct reread_session {
    const struct reread_options *options;
    struct session session;
    struct db *db;
    struct measures *measures;
    int64_t sweep_id;
};

/* The jobs of the sweep that has the file's path or name. A space is matched only where there is no such sweep, or some
 * of its jobs are asked for: it may be vast. */
static int select_jobs(struct reread_session *r, struct error *e)
{
    const struct sweep *s = r->session.space->sweep;
    if (db_query_int(r->db,
                     "SELECT id FROM sweep WHERE path = ?1 OR name = ?2 ORDER BY path = ?1 DESC, last_seen DESC LIMIT "
                     "1",
                     VALUES(sql_text(s->path), sql_text(s->name)), 0, &r->sweep_id, e) < 0)
        return -1;
    if (r->sweep_id && !r->options->only) {
        return selection_begin(r->db, e) < 0
                   ? -1
                   : db_run(r->db, "INSERT INTO temp.selected SELECT id FROM job WHERE sweep_id = ?",
                            VALUES(sql_int(r->sweep_id)), e);
    }
    static const char theirs[] = "SELECT max(sweep_id) FROM job WHERE id IN (SELECT job_id FROM temp.selected)";
    if (enumerate_select(r->session.space, r->db, &r->session.only, e) < 0 ||
        (!r->sweep_id && db_query_int(r->db, theirs, NO_VALUES, 0, &r->sweep_id, e) < 0))
        return -1;
    OWNED char *config = shell_word(s->path);
    return r->sweep_id ? 0
                       : error_set(e, ERROR_NOTHING, "%s has no jobs of %s; `meshsweep run -c %s` runs them",
                                   r->options->db, s->path, config);
}

static int reread_in_transaction(struct reread_session *r, cJSON **document, struct error *e)
{
    const struct reread_options *o = r->options;
    OWNED char *directory = store_directory(o->db);
    const struct reread_request request = {.db = r->db,
                                           .space = r->session.space,
                                           .measures = r->measures,
                                           .sweep_id = r->sweep_id,
                                           .directory = directory,
                                           .environment = environ};
    OWNED_JSON *detail = cJSON_CreateObject();
    JSON_ADD(detail, JSON_TEXT("config", o->config), JSON_TEXT("only", o->only));
    OWNED char *told = cJSON_PrintUnformatted(detail);
    int rc = reread_selected(&request, told, o->dry_run, document, e);
    return rc < 0 ? rc : result_views_refresh(r->db, e);
}

static int reread_all(struct reread_session *r, cJSON **document, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    int rc = reread_in_transaction(r, document, e);
    if (rc < 0 || r->options->dry_run) {
        db_rollback(r->db);
        return rc;
    }
    if (db_commit(r->db, e) < 0)
        return -1;
    return learning_resume(r->session.space, r->db, e);
}

static int open_all(struct reread_session *r, struct error *e)
{
    const struct reread_options *o = r->options;
    const struct run_options run = {.config = o->config,
                                    .db = o->db,
                                    .only = o->only ? o->only : "1",
                                    .starts_nothing = true};
    if (!store_exists(o->db))
        return error_set(e, ERROR_USAGE, "there is no database %s", o->db);
    if (session_open_store(o->db, &r->db, e) < 0 || session_open_recorded(&r->session, &run, r->db, e) < 0 ||
        session_use_known(&r->session, r->db, e) < 0)
        return -1;
    return measures_create(r->session.space, &r->measures, e) < 0 ? -1 : select_jobs(r, e);
}

static void release(struct reread_session *r)
{
    measures_free(r->measures);
    session_close(&r->session);
    store_close(r->db);
}

int command_reread(const struct reread_options *o, struct error *e)
{
    OWNED_BY(release) struct reread_session r = {.options = o};
    OWNED_JSON *document = NULL;
    return open_all(&r, e) < 0 || reread_all(&r, &document, e) < 0
               ? -1
               : output_answer(o->json, "sql/texts/reread.sql", document, NULL, e);
}
