#include "database/known_name.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "database/sqlite.h"
#include "util/file.h"
#include "util/memory.h"

/* NULL where none is recorded, or there is no such table yet. The caller's. */
static char *recorded(struct db *db)
{
    struct error none = ERROR_INIT;
    char *name = NULL;
    (void)db_query_text(db, "SELECT value FROM meta WHERE name = 'path'", NO_VALUES, &name, &none);
    return name;
}

static bool has_log(const char *name)
{
    struct stat status;
    char *log = xasprintf("%s-wal", name);
    bool has = stat(log, &status) == 0 && status.st_size > 0;
    free(log);
    return has;
}

/* 0 unless `name` is another one of the file, beside which a log lies. */
static int refuse_other(const char *path, const char *own, const char *name, struct error *e)
{
    if (strcmp(name, own) == 0 || !path_is_same(name, own) || !has_log(name))
        return 0;
    return error_set(e, ERROR_FAILED,
                     "database %s: it is also %s, and its newest records are next to that name; start again with -d %s",
                     path, name, name);
}

static int check_directory(const char *path, const char *own, struct error *e)
{
    char *directory = path_beside(own, ".");
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int rc = 0;
    while (rc == 0 && d && (entry = readdir(d))) {
        char *name = path_beside(own, entry->d_name);
        rc = refuse_other(path, own, name, e);
        free(name);
    }
    if (d)
        closedir(d);
    free(directory);
    return rc;
}

int known_name_check_links(const char *path, struct error *e)
{
    struct stat status;
    char *own = path_absolute(path);
    int rc = stat(own, &status) == 0 && status.st_nlink > 1 ? check_directory(path, own, e) : 0;
    free(own);
    return rc;
}

int known_name_check(struct db *db, struct error *e)
{
    char *known = recorded(db), *own = path_absolute(db->path);
    int rc = known ? refuse_other(db->path, own, known, e) : 0;
    free(known);
    free(own);
    return rc;
}

static int write_name(struct db *db, const char *name, struct error *e)
{
    if (db_run(db, "INSERT OR REPLACE INTO meta VALUES ('path', ?)", VALUES(sql_text(name)), e) < 0)
        return -1;
    /* Into the file: whoever comes by another name sees no other. A reader may keep it from that; then it is only
     * late. */
    return db_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", e);
}

int known_name_record(struct db *db, struct error *e)
{
    char *known = recorded(db), *own = path_absolute(db->path);
    int rc = known && strcmp(known, own) == 0 ? 0 : write_name(db, own, e);
    free(known);
    free(own);
    return rc;
}
