
#include "database/backup.h"
#include "cli/result_output.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/open.h"
#include "results/json.h"

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
