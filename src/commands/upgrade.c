#include <stdlib.h>

#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/backup.h"
#include "database/open.h"
#include "results/json.h"
#include "util/memory.h"

/* The copy is upgraded in place of the database. */
static int copy_to(const char *from, const char *to, struct error *e)
{
    struct backup_counts counts;
    OWNED_DB *db = NULL;
    const struct kept_files kept = {.option = "-o", .db_path = from, .writes_database = true};
    if (written_file_check(to, &kept, e) < 0)
        return -1;
    if (store_exists(to))
        return error_set(e, ERROR_USAGE, "upgrade: %s exists already; name another with -o", to);
    return store_open_reading(from, STORE_READ_AS_IT_IS, &db, e) < 0 ? -1 : database_backup(db, to, &counts, e);
}

int command_upgrade(const struct upgrade_options *o, const struct arguments *a, struct error *e)
{
    const char *from = a->word_count ? a->words[0] : o->db, *path = o->output ? o->output : from;
    OWNED char *copy = NULL; /* its name; NULL: none was kept */
    OWNED_DB *db = NULL;
    int64_t version, newest;
    const struct store_opening opening = {.without_copy = o->no_copy || o->output, .kept = &copy};
    if (store_read_versions(from, &version, &newest, e) < 0 || (o->output && copy_to(from, o->output, e) < 0) ||
        (version != newest && session_open_store_with(path, &opening, &db, e) < 0))
        return -1;
    OWNED char *changes = store_describe_upgrade(version);
    OWNED_JSON *root = json_document(), *beside = cJSON_CreateObject();
    JSON_ADD(root, JSON_TEXT("path", path), JSON_COUNT("schema_before", version), JSON_COUNT("schema", newest),
             JSON_TEXT("copy", copy));
    json_add_text(beside, "changes", changes);
    return output_answer(o->json, "sql/texts/upgrade.sql", root, beside, e);
}

/* --- a copy --- */

int command_backup(const struct backup_options *o, const struct arguments *a, struct error *e)
{
    struct backup_counts counts = {0, 0};
    int64_t version, newest;
    OWNED_DB *db = NULL;
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE,
                         "backup: no file is given; name the file to write the copy to: meshsweep backup FILE");
    if (store_read_versions(o->db, &version, &newest, e) < 0 ||
        store_open_reading(o->db, STORE_READ_AS_IT_IS, &db, e) < 0)
        return -1;
    struct db *asked = version == newest ? db : NULL;
    const struct kept_files kept = {.option = "backup FILE", .db_path = o->db, .db = asked, .writes_database = true};
    if (written_file_check(a->words[0], &kept, e) < 0 || database_backup(db, a->words[0], &counts, e) < 0)
        return -1;
    OWNED_JSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", a->words[0]), JSON_COUNT("jobs", counts.jobs),
             JSON_COUNT("attempt_count", counts.attempts));
    return output_answer(o->json, "sql/texts/backup.sql", root, NULL, e);
}
