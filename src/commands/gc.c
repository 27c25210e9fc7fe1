#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/audit.h"
#include "database/lock.h"
#include "database/open.h"
#include "process/archived_file.h"
#include "process/log_cap.h"
#include "process/process.h"
#include "results/json.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"

#define PULL_SUFFIX ".pull-"        /* and six characters: merge.c */
#define PULLING_MS INT64_C(3600000) /* a pull that has written nothing for so long is not at work */

/* --- what there is --- */

struct garbage {
    struct string_list paths;
    const char *files;  /* the directory of job files */
    size_t directories; /* how many of the paths, the first ones, are directories of attempts */
    int64_t bytes;
    cJSON *unowned;
};

/* Takes `path`; what is not there any more is not listed. */
static void add_removed(struct garbage *g, char *path, int64_t idle_ms)
{
    int64_t written_ms = 0;
    const int64_t bytes = file_tree_bytes(path, false, &written_ms);
    if (bytes < 0 || (idle_ms && written_ms > clock_wall_ms() - idle_ms)) {
        free(path);
        return;
    }
    JSON_ITEM(g->unowned, JSON_TEXT("path", path), JSON_COUNT("bytes", bytes));
    g->bytes += bytes;
    string_list_add(&g->paths, path);
}

/* Adds what `meshsweep archive`, or a runner that cut a log, did not live to finish. */
static void add_temporaries(struct garbage *g, const char *directory)
{
    struct stat status;
    for (size_t i = 0; archived_names[i]; i++) {
        static const char *const endings[] = {ARCHIVED_TEMPORARY, LOG_CAP_TEMPORARY};
        for (size_t k = 0; k < LENGTH(endings); k++) {
            char *path = xasprintf("%s/%s/%s%s", g->files, directory, archived_names[i], endings[k]);
            if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
                add_removed(g, path, 0);
            else
                free(path);
        }
    }
}

static int find_temporaries(struct garbage *g, struct db *db, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT directory FROM attempt WHERE directory NOT LIKE '/%' AND state IN ('ok', 'failed')"
                         " UNION ALL SELECT directory FROM fixture_start WHERE directory NOT LIKE '/%' AND ended IS "
                         "NOT NULL",
                         NO_VALUES, &s, e)) > 0)
        add_temporaries(g, stmt_text(s, 0));
    return rc;
}

/* Copies beside the database that a `meshsweep pull` did not live to remove. */
static void find_pulls(struct garbage *g, const char *db_path)
{
    OWNED char *whole = path_absolute(db_path), *above = path_beside(whole, ".");
    OWNED char *begin = xasprintf("%s" PULL_SUFFIX, path_name(whole));
    const size_t length = strlen(begin);
    DIR *directory = opendir(above);
    const struct dirent *entry;
    struct stat status;
    while (directory && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, begin, length) != 0 || strlen(entry->d_name) != length + 6 ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode))
            continue;
        add_removed(g, path_beside(whole, entry->d_name), PULLING_MS);
    }
    if (directory)
        closedir(directory);
}

/* --- removing it --- */

static int remove_all(const struct garbage *g, struct error *e)
{
    for (size_t i = 0; i < g->paths.count; i++) {
        char *path = g->paths.items[i];
        if (file_tree_bytes(path, true, NULL) < 0)
            return error_errno(e, errno, "gc: %s cannot be removed", path);
        /* The job's, where that was its last attempt. */
        *strrchr(path, '/') = '\0';
        if (i < g->directories)
            rmdir(path);
    }
    output_message("removed");
    return STATUS_OK;
}

static int ask_and_remove(const struct gc_options *o, const struct garbage *g, struct error *e)
{
    if (!o->yes && (!output_is_terminal(stdin) || !output_is_terminal(stderr)))
        return error_set(e, ERROR_USAGE, "gc: nobody can be asked here; --yes removes them");
    if (output_flush_all(e) < 0)
        return -1;
    if (o->yes || output_ask("remove them?"))
        return remove_all(g, e);
    output_message("nothing was removed");
    return STATUS_FAILED;
}

static int list(struct garbage *g, const struct gc_options *o, struct error *e)
{
    OWNED_JSON *root = json_document();
    JSON_ADD(root, JSON_TRUTH("dry_run", o->dry_run), JSON_COUNT("bytes", g->bytes));
    cJSON_AddItemReferenceToObject(root, "unowned", g->unowned);
    return output_answer(o->json, "sql/texts/gc.sql", root, NULL, e);
}

static int collect(const struct gc_options *o, struct db *db, struct garbage *g, struct error *e)
{
    OWNED_LIST unowned = STRING_LIST_INIT;
    if (audit_unowned_directories(db, g->files, &unowned, e) < 0)
        return -1;
    for (size_t i = 0; i < unowned.count; i++)
        add_removed(g, xasprintf("%s/%s", g->files, unowned.items[i]), 0);
    g->directories = g->paths.count;
    if (find_temporaries(g, db, e) < 0)
        return -1;
    find_pulls(g, o->db);
    return list(g, o, e);
}

/* Kept from runners all the while, which make directories before they record them. */
static int open_store(const struct gc_options *o, struct db **db, struct error *e)
{
    if (!store_exists(o->db))
        return error_set(e, ERROR_FAILED, "database %s: it does not exist", o->db);
    if (!o->dry_run)
        return session_open_store(o->db, db, e);
    if (writer_lock_is_held(o->db))
        return error_set(e, ERROR_FAILED,
                         "gc: a runner is using %s, whose files cannot be told from leftovers; wait for it", o->db);
    return store_open_read_only(o->db, db, e);
}

int command_gc(const struct gc_options *o, struct error *e)
{
    OWNED_JSON *unowned = cJSON_CreateArray();
    OWNED_DB *db = NULL;
    int lock = -1;
    if (open_store(o, &db, e) < 0)
        return -1;
    OWNED char *files = store_directory_of(db);
    struct garbage g = {.paths = STRING_LIST_INIT, .files = files, .unowned = unowned};
    int rc = archived_lock(files, &lock, e);
    if (rc == 0)
        rc = collect(o, db, &g, e);
    if (rc == 0 && !o->dry_run && g.paths.count)
        rc = ask_and_remove(o, &g, e);
    descriptor_close(&lock);
    string_list_free(&g.paths);
    return rc;
}
