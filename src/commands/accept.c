#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/open.h"
#include "report/saying.h"
#include "results/json.h"
#include "space/enumerate.h"
#include "space/formers.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"

#define JOBS_SHOWN 5

/* Each word must be a difference. One difference needs no name, several need all. */
static int check_differences(const struct arguments *a, const cJSON *differences, struct error *e)
{
    OWNED_JSON *words = cJSON_CreateArray();
    OWNED_BUFFER wrong = BUFFER_INIT;
    for (size_t i = 0; i < a->word_count; i++)
        cJSON_AddItemToArray(words, cJSON_CreateString(a->words[i]));
    saying_add_sentence("sql/texts/accept_words.sql", differences, words, &wrong);
    return wrong.length ? error_set(e, ERROR_USAGE, "accept: %s", buffer_text(&wrong)) : 0;
}

/* --- what is shown --- */

static int print_found(const struct formers *f, const char *file, struct error *e)
{
    char hex[2][HASH_HEX_BYTES];
    OWNED_JSON *found = cJSON_CreateObject();
    cJSON *jobs = cJSON_AddArrayToObject(found, "jobs");
    JSON_ADD(found, JSON_INT("results", f->count), JSON_STRING("file", file));
    cJSON_AddItemReferenceToObject(found, "differences", f->differences);
    cJSON_AddNumberToObject(found, "own", (double)f->own);
    for (size_t i = 0; i < f->count && i < JOBS_SHOWN; i++) {
        cJSON *job = cJSON_CreateArray();
        cJSON_AddItemToArray(job, cJSON_CreateNumber((double)f->items[i].job_id));
        cJSON_AddItemToArray(job, cJSON_CreateString(hash_hex(&f->items[i].was, hex[0])));
        cJSON_AddItemToArray(job, cJSON_CreateString(hash_hex(&f->items[i].now, hex[1])));
        cJSON_AddItemToArray(jobs, job);
    }
    return output_said("sql/texts/accept.sql", found, NULL, e);
}

static int say_none(const struct formers *f, const struct sweep *s, struct error *e)
{
    if (f->own > 0)
        return error_set(e, ERROR_NOTHING,
                         "accept: all jobs of %s that older results could stand for have their own (%lld)", s->path,
                         (long long)f->own);
    return error_set(e, ERROR_NOTHING,
                     "accept: no job of %s lacks results that were made with another command, environment, directory "
                     "or constant key, all else equal",
                     s->path);
}

static int find_results(struct session *s, const struct arguments *a, struct db *db, struct formers *f, struct error *e)
{
    if (formers_find(s->space, db, FORMERS_ANY, f, e) < 0)
        return -1;
    if (f->count == 0)
        return say_none(f, s->sweep, e);
    if (cJSON_GetArraySize(f->differences) == 0 && s->sweep->was_count > 0)
        return error_set(e, ERROR_NOTHING,
                         "accept: nothing differs but what [was] says; `meshsweep run` lets results stand");
    if (cJSON_GetArraySize(f->differences) == 0)
        parts_add_difference(f->differences, "identity", "made by another version of meshsweep", NULL);
    return check_differences(a, f->differences, e);
}

/* --- doing it --- */

static int enumerate(struct session *s, const struct accept_options *o, struct db *db, struct enumeration *out,
                     struct error *e)
{
    struct search_setup search = {0};
    if (search_setup_read(&o->run, s->sweep, &search, e) < 0)
        return -1;
    const struct enumerate_order order = {.draw = search_setup_draw(&search)};
    return enumerate_into(s->space, db, &order, out, e);
}

static int let_stand(struct session *s, const struct accept_options *o, struct db *db, const struct formers *f,
                     struct error *e)
{
    struct enumeration enumeration = {0};
    OWNED_BUFFER out = BUFFER_INIT;
    char *detail = formers_detail(f);
    const struct space_moves moves = {f->items, f->count, {"accept", o->why, detail}};
    s->space->moves = &moves;
    int rc = enumerate(s, o, db, &enumeration, e);
    s->space->moves = NULL;
    cJSON_free(detail);
    if (rc < 0)
        return -1;
    buffer_add_count(&out, enumeration.moved, "result");
    buffer_add_text(&out, enumeration.moved == 1 ? " stands" : " stand");
    buffer_add_text(&out, " now; `meshsweep accept --undo` takes that back\n");
    return output_people(&out, e);
}

static int ask_consent(const struct accept_options *o, const struct formers *f, bool *yes, struct error *e)
{
    *yes = o->yes;
    if (o->yes)
        return 0;
    if (!output_is_terminal(stdin) || !output_is_terminal(stderr))
        return error_set(e, ERROR_USAGE, "accept: nobody can be asked here; --yes lets the results stand");
    char question[64];
    snprintf(question, sizeof question, "let %zu %s stand?", f->count, f->count == 1 ? "result" : "results");
    if (output_flush_all(e) < 0)
        return -1;
    *yes = output_ask(question);
    if (!*yes)
        output_message("nothing was changed");
    return 0;
}

static int open_store(const struct accept_options *o, struct db **db, struct error *e)
{
    if (!store_exists(o->run.db))
        return error_set(e, ERROR_NOTHING, "accept: there is no database %s, so there are no results", o->run.db);
    return o->run.dry_run ? store_open_read_only(o->run.db, db, e) : session_open_store(o->run.db, db, e);
}

static int accept_results(const struct accept_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(session_close) struct session s = {0};
    OWNED_DB *db = NULL;
    OWNED_BY(formers_free) struct formers formers = {0};
    bool yes = false;
    if (open_store(o, &db, e) < 0 || session_open(&s, &o->run, a->program, e) < 0 || session_use_known(&s, db, e) < 0 ||
        find_results(&s, a, db, &formers, e) < 0 || print_found(&formers, s.sweep->path, e) < 0 ||
        (!o->run.dry_run && ask_consent(o, &formers, &yes, e) < 0))
        return -1;
    return o->run.dry_run ? STATUS_OK : yes ? let_stand(&s, o, db, &formers, e) : STATUS_FAILED;
}

/* --- undoing it --- */

static int undo(const struct accept_options *o, const struct arguments *a, struct error *e)
{
    OWNED_DB *db = NULL;
    int64_t id = 0, jobs = 0;
    if (a->word_count > 1 || (a->word_count == 1 && (!parse_int64(a->words[0], &id) || id <= 0)))
        return error_set(e, ERROR_USAGE, "accept: --undo takes the number of a change, or nothing for the last");
    if (open_store(o, &db, e) < 0 || db_begin(db, e) < 0 || db_end(db, change_undo(db, &id, &jobs, e), e) < 0)
        return -1;
    OWNED_BUFFER out = BUFFER_INIT;
    buffer_printf(&out, "change %lld is undone: ", (long long)id);
    buffer_add_count(&out, jobs, "job");
    buffer_add_text(&out, jobs == 1 ? " is what it was\n" : " are what they were\n");
    return output_people(&out, e);
}

int command_accept(const struct accept_options *o, const struct arguments *a, struct error *e)
{
    return o->undo ? undo(o, a, e) : accept_results(o, a, e);
}
