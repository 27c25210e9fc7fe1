#include <stdlib.h>

#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/backup.h"
#include "database/open.h"
#include "results/json.h"
#include "util/memory.h"

/* An upgrade, and what it did. */
struct upgrade {
    const char *path; /* of what is upgraded now */
    int64_t version, newest;
    char *kept; /* name of the copy; NULL: none */
};

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

static int upgrade(const struct upgrade_options *o, struct upgrade *u, struct error *e)
{
    OWNED_DB *db = NULL;
    if (store_read_versions(o->db, &u->version, &u->newest, e) < 0 || (o->output && copy_to(o->db, o->output, e) < 0))
        return -1;
    u->path = o->output ? o->output : o->db;
    if (u->version == u->newest)
        return 0;
    const struct store_opening opening = {.without_copy = o->no_copy || o->output, .kept = &u->kept};
    return session_open_store_with(u->path, &opening, &db, e);
}

static int print(const struct upgrade *u, bool json, struct error *e)
{
    OWNED char *changes = store_describe_upgrade(u->version);
    cJSON *root = json_document(), *beside = cJSON_CreateObject();
    JSON_ADD(root, JSON_TEXT("path", u->path), JSON_COUNT("schema_before", u->version), JSON_COUNT("schema", u->newest),
             JSON_TEXT("copy", u->kept));
    json_add_text(beside, "changes", changes);
    return output_answer_take(json, "sql/texts/upgrade.sql", root, beside, e);
}

int command_upgrade(const struct upgrade_options *given, const struct arguments *a, struct error *e)
{
    struct upgrade_options o = *given;
    struct upgrade u = {0};
    if (a->word_count)
        o.db = a->words[0];
    int rc = upgrade(&o, &u, e);
    if (rc == 0)
        rc = print(&u, o.json, e);
    free(u.kept);
    return rc < 0 ? -1 : STATUS_OK;
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
    cJSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", a->words[0]), JSON_COUNT("jobs", counts.jobs),
             JSON_COUNT("attempt_count", counts.attempts));
    return output_answer_take(o->json, "sql/texts/backup.sql", root, NULL, e);
}
