#include <inttypes.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "commands/merging.h"
#include "database/merge.h"
#include "database/open.h"
#include "measures/definitions.h"
#include "results/json.h"
#include "results/views.h"
#include "store/jobs.h"
#include "util/file.h"
#include "util/memory.h"

/* Brings what came from several databases under one definition; a job's value is that of all its attempts. */
static int unify(struct db *db, struct error *e)
{
    const struct renewal_request request = {.in_transaction = true};
    struct renewal renewal;
    if (measures_renew(db, &request, &renewal, e) < 0)
        return -1;
    renewal_free(&renewal);
    return jobs_choose_representatives(db, "temp.merged_job", e);
}

int merge_into(struct db *db, const char *source, const char *directory, struct merge_counts *counts, struct error *e)
{
    const struct merge_steps steps = {definitions_check_source, unify, directory};
    return merge_database(db, source, &steps, counts, e) < 0 ? -1 : result_views_refresh(db, e);
}

static int merge_all(struct db *db, const char *output, const struct arguments *a, struct merge_counts *counts,
                     struct error *e)
{
    size_t i = FIRST(k, a->word_count, merge_into(db, a->words[k], NULL, counts, e) != 0);
    if (i > 0 && i < a->word_count)
        output_message("%s lacks %zu of %zu databases, from %s on; merging again adds nothing twice", output,
                       a->word_count - i, a->word_count, a->words[i]);
    return i < a->word_count ? -1 : 0;
}

/* A database must not be merged into itself, nor into a file that belongs to a source. */
static int check_sources(const struct arguments *a, const char *output, struct error *e)
{
    for (size_t i = 0; i < a->word_count; i++) {
        const struct kept_files kept = {.option = "-o", .db_path = a->words[i], .writes_database = true};
        if (path_is_same(a->words[i], output))
            return error_set(e, ERROR_USAGE,
                             "merge: %s is both a database to merge and the one to merge into; name another with -o",
                             a->words[i]);
        if (written_file_check(output, &kept, e) < 0)
            return -1;
    }
    return 0;
}

int merge_print(const char *path, const struct merge_counts *counts, bool as_json, struct error *e)
{
    cJSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", path), JSON_COUNT("new_jobs", counts->jobs),
             JSON_COUNT("attempts_added", counts->attempts));
    return output_answer_take(as_json, "sql/texts/merge.sql", root, NULL, e);
}

int command_merge(const struct merge_options *o, const struct arguments *a, struct error *e)
{
    struct merge_counts counts = {0, 0};
    struct db *db = NULL;
    if (!o->output)
        return error_set(e, ERROR_USAGE, "merge: name the database to merge into with -o FILE");
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE, "merge: name the databases to merge: meshsweep merge A.db B.db -o ALL.db");
    if (check_sources(a, o->output, e) < 0 || session_open_store(o->output, &db, e) < 0)
        return -1;
    int64_t others = 0;
    int rc = merge_all(db, o->output, a, &counts, e);
    if (rc == 0)
        rc = db_query_int(db, "SELECT count(*) FROM job WHERE sweep_id <> (SELECT id FROM current_sweep)", NO_VALUES, 0,
                          &others, e);
    store_close(db);
    if (rc < 0)
        return -1;
    rc = merge_print(o->output, &counts, o->json, e);
    if (rc == 0 && others > 0 && !o->json)
        output_message("%" PRId64 " of its jobs belong to sweeps older than the newest; they are listed by: meshsweep "
                       "results --all -d %s",
                       others, o->output);
    return rc < 0 ? -1 : STATUS_OK;
}
