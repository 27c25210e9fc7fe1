#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ask/proposals.h"
#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/open.h"
#include "measures/learning.h"
#include "run/reread.h"
#include "space/enumerate.h"
#include "store/runners.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

extern char **environ;

#define JSON_MOST_BYTES (64 << 20)

/* How `ask` and `tell` begin: they enumerate the sweep of the database and read the JSON input. */
struct proposing {
    struct session session;
    struct proposal_place place; /* without runner, by and why */
};

static int open_session(struct proposing *p, const struct run_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    if ((store_exists(o->db) && store_open_read_only(o->db, &db, e) < 0) ||
        session_open_recorded(&p->session, o, db, e) < 0)
        return -1;
    return db ? model_info_use_known(&p->session, db, e) : 0;
}

/* Jobs of measured tables are in the database already; others are enumerated. */
static int list_jobs(struct proposing *p, struct error *e)
{
    struct enumeration enumeration = {0};
    OWNED char *path = NULL, *text = NULL;
    if (!sweep_is_imported(p->session.sweep)) {
        if (enumerate_into(p->session.space, p->place.db, NULL, &enumeration, e) < 0)
            return -1;
        p->place.sweep_id = enumeration.sweep_id;
        return 0;
    }
    return sweep_read_current(p->place.db, &p->place.sweep_id, &path, &text, e);
}

static int renew_measured(struct proposing *p, const char *db, struct error *e)
{
    OWNED char *directory = store_directory(db);
    const struct reread_request request = {.db = p->place.db,
                                           .space = p->session.space,
                                           .measures = p->place.measures,
                                           .sweep_id = p->place.sweep_id,
                                           .directory = directory,
                                           .environment = environ};
    struct renewal renewal;
    int rc = reread_renew(&request, &renewal, e);
    if (rc == 0)
        renewal_free(&renewal);
    return rc;
}

/* Opens the database for writing and begins a transaction. */
static int proposing_open(struct proposing *p, const char *config, const char *db, struct error *e)
{
    const struct run_options options = {.config = config, .db = db, .starts_nothing = true};
    if (open_session(p, &options, e) < 0 || session_open_store(db, &p->place.db, e) < 0 ||
        learning_resume(p->session.space, p->place.db, e) < 0 || list_jobs(p, e) < 0 ||
        measures_create(p->session.space, &p->place.measures, e) < 0 || renew_measured(p, db, e) < 0)
        return -1;
    p->place.space = p->session.space;
    return db_begin(p->place.db, e) < 0 || db_end(p->place.db, proposals_settle(&p->place, e), e) < 0
               ? -1
               : db_begin(p->place.db, e);
}

static void proposing_close(struct proposing *p)
{
    measures_free(p->place.measures);
    store_close(p->place.db);
    session_close(&p->session);
}

static int read_standard_input(struct buffer *out, struct error *e)
{
    char piece[65536];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0) {
        buffer_add(out, piece, n);
        if (out->length > JSON_MOST_BYTES)
            return error_set(e, ERROR_USAGE, "standard input: longer than %d bytes; send fewer entries at a time",
                             JSON_MOST_BYTES);
    }
    return ferror(stdin) ? error_set(e, ERROR_FAILED, "standard input: cannot be read") : 0;
}

/* Parses a file, or standard input for "-". ERROR_USAGE for invalid JSON. */
static int proposing_read(const char *path, cJSON **out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    const char *end = NULL;
    const bool is_input = strcmp(path, "-") == 0;
    const char *name = is_input ? "standard input" : path;
    if ((is_input ? read_standard_input(&text, e) : file_read(path, JSON_MOST_BYTES, &text, e)) < 0)
        return -1;
    if (json_has_nul(buffer_text(&text)))
        return error_set(e, ERROR_USAGE, "%s: a text with the character \\u0000 cannot be taken", name);
    *out = cJSON_ParseWithOpts(buffer_text(&text), &end, true);
    const size_t at = end ? (size_t)(end - buffer_text(&text)) : 0;
    return *out ? 0
                : error_set(e, ERROR_USAGE, "%s: not valid JSON at byte %zu%s", name, at + 1,
                            end && strncasecmp(end, "nan", 3) == 0 ? " (JSON has no NaN)" : "");
}

/* --- ask --- */

static int ask(const struct ask_options *o, const cJSON *proposals, cJSON **answer, struct error *e)
{
    OWNED_BY(proposing_close) struct proposing p = {.place = {.by = o->by, .why = o->why}};
    if (proposing_open(&p, o->config, o->db, e) < 0)
        return -1;
    int rc = o->open     ? proposals_open(&p.place, answer, e)
             : proposals ? proposals_ask(&p.place, proposals, answer, e)
                         : proposals_next(&p.place, (size_t)o->count, answer, e);
    return db_end(p.place.db, rc, e);
}

int command_ask(const struct ask_options *o, const struct arguments *a, struct error *e)
{
    OWNED_JSON *proposals = NULL, *answer = NULL;
    if (o->open && a->word_count > 0)
        return error_set(e, ERROR_USAGE, "ask: --open takes no proposals; leave out the file");
    if ((a->word_count > 0 && proposing_read(a->words[0], &proposals, e) < 0) || ask(o, proposals, &answer, e) < 0 ||
        output_json(answer, e) < 0)
        return -1;
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(answer, "refused")) > 0 ? STATUS_JOBS_FAILED : STATUS_OK;
}

/* --- tell --- */

static int tell(const struct tell_options *o, const cJSON *results, cJSON **answer, struct error *e)
{
    struct utsname machine;
    OWNED_BY(proposing_close) struct proposing p = {0};
    uname(&machine);
    p.place.runner = (struct runner_row){.host = machine.nodename,
                                         .boot_id = "",
                                         .provenance_json = "{\"told\": true}",
                                         .pid = getpid()};
    return proposing_open(&p, o->config, o->db, e) < 0
               ? -1
               : db_end(p.place.db, proposals_tell(&p.place, results, answer, e), e);
}

int command_tell(const struct tell_options *o, const struct arguments *a, struct error *e)
{
    OWNED_JSON *results = NULL, *answer = NULL;
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE,
                         "tell: name the file of results: meshsweep tell RESULTS.json, or - for standard input");
    return proposing_read(a->words[0], &results, e) < 0 || tell(o, results, &answer, e) < 0 ? -1
                                                                                            : output_json(answer, e);
}
