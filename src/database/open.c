#include "database/open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "config/failure.h"
#include "database/backup.h"
#include "database/lock.h"
#include "database/log_watch.h"
#include "database/schema.h"
#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"
#include "util/string_list.h"

/* --- recover replaced --- */

/* A database file that is deleted, moved or replaced while it is written: SQLite would continue writing it, for nobody.
 * */

/* A file that cannot be looked at just now is not gone for that. */
static bool is_in_place(const struct db *db)
{
    struct stat status;
    if (stat(db->path, &status) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return status.st_dev == db->device && status.st_ino == db->inode;
}

/* "PATH.saved", or "PATH.saved-2" and so on: the first that is free, and the one before it (NULL: none). The
 * caller's. */
static char *free_name(const char *path, char **before)
{
    char *name = xasprintf("%s.saved", path);
    *before = NULL;
    for (int i = 2; access(name, F_OK) == 0; i++) {
        free(*before);
        *before = name;
        name = xasprintf("%s.saved-%d", path, i);
    }
    return name;
}

static int save(struct db *db, const char *name, struct error *e)
{
    /* SQLite would let everybody read it. */
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return db_run(db, "VACUUM INTO ?", VALUES(sql_text(name)), e);
}

static int check_place(struct db *db, struct error *e)
{
    struct error why = ERROR_INIT;
    if (db->is_displaced || is_in_place(db))
        return 0;
    db->is_displaced = true;
    OWNED char *last = NULL, *name = free_name(db->path, &last);
    if (save(db, name, &why) == 0)
        error_set(e, ERROR_FAILED,
                  "database %s: it was deleted, moved or replaced while in use; its contents are saved in %s; move "
                  "that file back and start again",
                  db->path, name);
    else
        error_set(e, ERROR_FAILED,
                  "database %s: it was deleted, moved or replaced while in use, and its contents cannot be saved: %s",
                  db->path, why.text);
    return -1;
}

/* From now on the file at the handle's path is the one that it writes. After each commit it is looked at: one that is
 * not there any more fails the commit, with all that the handle can read saved beside its place and the name in the
 * error. */
static void recover_replaced_watch(struct db *db)
{
    struct stat status;
    if (stat(db->path, &status) < 0)
        return;
    db->device = status.st_dev;
    db->inode = status.st_ino;
    db->after_commit = check_place;
}

/* Adds to `*notice` (NULL, or a text; the caller's) where the last content that was saved so lies: for a database
 * that was just made. Nothing where none was. */
static void recover_replaced_tell(const struct db *db, char **notice)
{
    char *last, *before = *notice;
    free(free_name(db->path, &last));
    if (!last)
        return;
    *notice = xasprintf("%s%snew database %s: %s has the contents of the earlier database of this name, which was "
                        "deleted, moved or replaced while in use; to continue from it, stop, move it to the name of "
                        "the new one and start again",
                        before ? before : "", before ? "; " : "", db->path, last);
    free_all(before, last);
}

/* --- known name --- */

/* The name by which a database was last opened for writing. Its write-ahead log is next to that name only. */

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
    OWNED char *log = xasprintf("%s-wal", name);
    return stat(log, &status) == 0 && status.st_size > 0;
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
    OWNED char *directory = path_beside(own, ".");
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int rc = 0;
    while (rc == 0 && d && (entry = readdir(d))) {
        OWNED char *name = path_beside(own, entry->d_name);
        rc = refuse_other(path, own, name, e);
    }
    if (d)
        closedir(d);
    return rc;
}

/* -1 when the file has another name in its directory beside which a log with content lies: before SQLite opens it,
 * which would find it incomplete. */
static int known_name_check_links(const char *path, struct error *e)
{
    struct stat status;
    OWNED char *own = path_absolute(path);
    return stat(own, &status) == 0 && status.st_nlink > 1 ? check_directory(path, own, e) : 0;
}

/* -1 when the file has another name (a hard link, another mount) beside which a log with content lies: opened by this
 * one, what stands in it would be missing, and both would be spoilt. Before anything is written. */
static int known_name_check(struct db *db, struct error *e)
{
    OWNED char *known = recorded(db), *own = path_absolute(db->path);
    return known ? refuse_other(db->path, own, known, e) : 0;
}

static int write_name(struct db *db, const char *name, struct error *e)
{
    if (db_run(db, "INSERT OR REPLACE INTO meta VALUES ('path', ?)", VALUES(sql_text(name)), e) < 0)
        return -1;
    /* Into the file: a process that comes by another name sees no other. A reader may keep it from that; then it is
     * only late. */
    return db_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", e);
}

/* Records the name that it has now, where that is another, in the file itself. */
static int known_name_record(struct db *db, struct error *e)
{
    OWNED char *known = recorded(db), *own = path_absolute(db->path);
    return known && strcmp(known, own) == 0 ? 0 : write_name(db, own, e);
}

/* --- older versions --- */

#define COPY_MOST_BYTES (64 << 20) /* made and upgraded within a second */

int upgrade_copy(struct db *source, struct db *target, struct error *e)
{
    sqlite3_backup *b = sqlite3_backup_init(target->handle, "main", source->handle, "main");
    if (!b)
        return db_error(target, e);
    /* The end does not tell of a lock that could not be had. */
    bool is_whole = sqlite3_backup_step(b, -1) == SQLITE_DONE;
    if (sqlite3_backup_finish(b) != SQLITE_OK)
        return db_error(target, e);
    return is_whole ? 0 : error_set(e, ERROR_FAILED, "the database is locked; try again");
}

/* It says of itself that it has a log, as the original does. */
static int fill_copy(struct db *target, void *context, struct error *e)
{
    return upgrade_copy(context, target, e) < 0 || db_exec(target, "PRAGMA journal_mode = DELETE", e) < 0 ? -1 : 0;
}

/* Keeps a copy of a database as it is beside it: "<path>.schema-12", of mode 0600, or "-2" and so on after that.
 * `*name` is the caller's. */
static int upgrade_keep_copy(struct db *db, int64_t version, char **name, struct error *e)
{
    char *copy = xasprintf("%s.schema-%lld", db->path, (long long)version);
    for (int i = 2; store_exists(copy); i++) {
        free(copy);
        copy = xasprintf("%s.schema-%lld-%d", db->path, (long long)version, i);
    }
    if (database_write_whole(copy, fill_copy, db, e) == 0) {
        *name = copy;
        return 0;
    }
    OWNED char *why = xstrdup(e->text);
    OWNED char *advice = shell_fill_file("`meshsweep upgrade --no-copy FILE` upgrades it without one", db->path);
    error_set(e, ERROR_FAILED, "database %s: it is not upgraded, for no copy of it as it is can be kept: %s; %s",
              db->path, why, advice);
    free(copy);
    return -1;
}

/* A private copy of a database that is opened for reading, to be upgraded; 0 with `*out` NULL: it is too large for
 * that. Errors name the database that it is of. */
static int upgrade_read_copy(struct db *source, struct db **out, struct error *e)
{
    int64_t bytes;
    struct db *copy = NULL;
    *out = NULL;
    if (db_query_int(source, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", NO_VALUES, 0,
                     &bytes, e) < 0)
        return -1;
    if (bytes > COPY_MOST_BYTES)
        return 0;
    if (db_open(NULL, DB_TEMPORARY, &copy, e) < 0)
        return -1;
    if (upgrade_copy(source, copy, e) < 0) {
        db_close(copy);
        return -1;
    }
    copy->path = xstrdup(source->path);
    copy->is_copy = true;
    *out = copy;
    return 0;
}

static bool may_write_at(const char *path)
{
    OWNED char *directory = path_beside(path, ".");
    return access(path, W_OK) == 0 && access(directory, W_OK) == 0;
}

/* Says that a database is of an older version, and what can be done where it stands: whether a runner is upgrading it,
 * and whether it may be written. Returns -1. */
static int upgrade_refuse(struct db *db, int64_t version, int64_t newest, struct error *e)
{
    static const char is_upgrading[] = "SELECT 1 FROM meta WHERE name = 'upgrading'";
    struct error none = ERROR_INIT;
    bool begun = false;
    if (db_query_bool(db, is_upgrading, NO_VALUES, &begun, &none) == 0 && begun && writer_lock_is_held(db->path))
        return error_set(e, ERROR_FAILED,
                         "database %s: upgrading from schema version %lld to %lld; try again in a moment", db->path,
                         (long long)version, (long long)newest);
    OWNED char *advice =
        shell_fill_file(may_write_at(db->path) ? "`meshsweep upgrade FILE` upgrades it, and keeps a copy"
                                               : "it may not be written, but `meshsweep upgrade -o NEW FILE` makes an "
                                                 "upgraded copy NEW",
                        db->path);
    return error_set(e, ERROR_FAILED, "database %s: its schema version %lld is older than this program's %lld; %s",
                     db->path, (long long)version, (long long)newest, advice);
}

/* Up to what explains it. */
static char *upgrade_sentence(const char *migration)
{
    struct buffer b = BUFFER_INIT;
    for (const char *line = embedded_text(migration); strncmp(line, "--", 2) == 0;) {
        size_t length = strcspn(line, "\n"), from = strspn(line, "- ");
        if (length > from)
            buffer_printf(&b, "%s%.*s", b.length ? " " : "", (int)(length - from), line + from);
        line += length + (line[length] == '\n');
    }
    char *text = buffer_take(&b);
    size_t at = strcspn(text, ".:;");
    while (text[at] && text[at + 1] && text[at + 1] != ' ')
        at += 1 + strcspn(text + at + 1, ".:;");
    text[at] = '\0';
    return text;
}

/* --- open --- */

#define SETTLE_MS 3000
#define APPLICATION_ID 0x6d736877 /* "mshw" in the file's header */

/* The schema that all migrations make of an empty file, in a tenth of the time. */
#define WHOLE_SCHEMA "sql/schema.sql"

/* 13 of "migrations/0013_blame.sql". */
static int version_of(const struct embedded_file *migration)
{
    return (int)strtol(migration->name + strlen("migrations/"), NULL, 10);
}

static int schema_version(void)
{
    int newest = 0;
    for (const struct embedded_file *m = NULL; (m = embedded_next("migrations/", m));)
        newest = version_of(m);
    return newest;
}

/* File systems on which shared memory between hosts does not work, so that WAL would corrupt (statfs(2)). */
static const struct {
    long type;
    const char *name;
} network_file_systems[] = {
    {0x6969, "NFS"},        {0x0bd00bd0, "Lustre"}, {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"}, {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"}, {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},  {0x65735546, "FUSE"}, {0x01021997, "9P"},
};

bool store_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

bool store_is_database(const char *path)
{
    static const char magic[] = "SQLite format 3"; /* with its end: https://www.sqlite.org/fileformat2.html */
    char head[sizeof magic];
    struct stat status;
    /* A pipe without a writer would keep us waiting. */
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, magic, sizeof head) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* The file that `path` belongs to by its name, where that is there; the caller's. */
static char *owner_of(const char *path)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal", ".lock"};
    char *owner = path_absolute(path);
    for (size_t i = 0, length; i < LENGTH(endings); i++) {
        if (!(length = length_before(owner, endings[i])))
            continue;
        owner[length] = '\0';
        if (store_is_database(owner))
            return owner;
        break;
    }
    free(owner);
    return NULL;
}

char *store_directory(const char *path)
{
    OWNED char *absolute = path_absolute(path);
    return xasprintf("%s.d", absolute);
}

static void add_notice(char **notice, char *text)
{
    char *both = *notice ? xasprintf("%s; %s", *notice, text) : xstrdup(text);
    free_all(*notice, text);
    *notice = both;
}

/* Returns the directory left behind by a file that was renamed, without it, since it was opened for writing; NULL: none
 * was. The caller's. */
static char *directory_left_behind(struct db *db)
{
    OWNED char *known = db->path ? recorded(db) : NULL, *own = store_directory(db->path ? db->path : "");
    char *directory = known ? store_directory(known) : NULL;
    const bool is_left = directory && !store_exists(known) && store_exists(directory) && !store_exists(own);
    if (is_left)
        return directory;
    free(directory);
    return NULL;
}

char *store_directory_of(struct db *db)
{
    char *left = directory_left_behind(db);
    return left ? left : store_directory(db->path ? db->path : "");
}

static void fetch_directory(struct db *db, char **notice)
{
    OWNED char *left = directory_left_behind(db), *own = store_directory(db->path);
    if (left)
        add_notice(notice, rename(left, own) == 0
                               ? xasprintf("database %s: it was renamed; its job files went with it, from %s to %s",
                                           db->path, left, own)
                               : xasprintf("database %s: it was renamed; its job files are in %s: move them to %s",
                                           db->path, left, own));
}

static const char *network_file_system(const char *path)
{
    struct statfs status;
    OWNED char *directory = path_beside(path, ".");
    int rc = statfs(directory, &status);
    for (size_t i = 0; rc == 0 && i < LENGTH(network_file_systems); i++)
        if ((unsigned)status.f_type == (unsigned)network_file_systems[i].type)
            return network_file_systems[i].name;
    return NULL;
}

/* 0 for a fresh file; refuses what is not ours. */
static int read_version(struct db *db, int64_t *version, struct error *e)
{
    int64_t application, tables;
    if (db_query_int(db, "PRAGMA application_id", NO_VALUES, 0, &application, e) < 0 ||
        db_query_int(db, "PRAGMA user_version", NO_VALUES, 0, version, e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM sqlite_schema", NO_VALUES, 0, &tables, e) < 0)
        return -1;
    if (tables > 0 && application != APPLICATION_ID)
        return error_set(e, ERROR_FAILED, "database %s: it belongs to another program; name another file with -d",
                         db->path);
    if (*version > schema_version())
        return error_set(e, ERROR_FAILED,
                         "database %s: its schema version %lld is newer than this program's %d; use a newer meshsweep",
                         db->path, (long long)*version, schema_version());
    return 0;
}

static int run_migration(struct db *db, const char *name, struct error *e)
{
    db_allow_schema_edits(db, true);
    int rc = db_exec(db, embedded_text(name), e);
    db_allow_schema_edits(db, false);
    return rc;
}

/* `user_version` becomes `version` in the transaction that runs it. */
static int apply_migration(struct db *db, const char *name, int version, struct error *e)
{
    OWNED char *pragmas =
        xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; DELETE FROM meta WHERE name = 'views'",
                  APPLICATION_ID, version);
    if (db_begin(db, e) < 0)
        return -1;
    int rc = run_migration(db, name, e) < 0 || db_exec(db, pragmas, e) < 0 ? error_context(e, "migration %s", name) : 0;
    FAULT(MIGRATION_APPLIED);
    rc = db_end(db, rc, e);
    FAULT(MIGRATED);
    return rc;
}

/* Writes the data of the program rather than of a sweep: views, classes and patterns of failures, as this version has
 * them. Views that are not as they were noted are not asked what they are: they go, and are made from what is
 * recorded. */
static int put_data(struct db *db, bool had_results, struct error *e)
{
    bool same;
    if (schema_views_are_noted(db, &same, e) < 0)
        return -1;
    if (!same && had_results &&
        db_exec(db, "DROP VIEW IF EXISTS ranking; DROP VIEW IF EXISTS configurations; DROP VIEW IF EXISTS results", e) <
            0)
        return -1;
    if (db_exec(db, embedded_text("sql/views.sql"), e) < 0 ||
        db_exec(db, "INSERT OR IGNORE INTO meta VALUES ('identity', lower(hex(randomblob(16))))", e) < 0 ||
        db_exec(db, "DELETE FROM failure_pattern", e) < 0 || db_exec(db, embedded_text("sql/failures.sql"), e) < 0)
        return -1;
    for (const char *const *name = failure_names + 1; *name; name++)
        if (db_run(db, "INSERT OR IGNORE INTO failure_class VALUES (?)", VALUES(sql_text(*name)), e) < 0)
            return -1;
    if (!same && had_results && store_make_views(db, e) < 0)
        return -1;
    return db_exec(db, "DELETE FROM meta WHERE name = 'upgrading'", e) < 0 ? -1 : schema_note_views(db, e);
}

static int refresh_data(struct db *db, bool is_new, struct error *e)
{
    if (db_begin(db, e) < 0)
        return -1;
    int rc = put_data(db, !is_new, e);
    FAULT(DATA_REFRESHED);
    return db_end(db, rc, e);
}

static int migrate(struct db *db, int64_t version, struct error *e)
{
    int rc = version == 0 ? apply_migration(db, WHOLE_SCHEMA, schema_version(), e) : 0;
    for (const struct embedded_file *m = NULL; rc == 0 && version > 0 && (m = embedded_next("migrations/", m));)
        if (version_of(m) > version)
            rc = apply_migration(db, m->name, version_of(m), e);
    return rc < 0 ? -1 : refresh_data(db, version == 0, e);
}

/* A file that is new or of this version has nothing to be upgraded; nor has one that was being made when its program
 * died, which stands at some version and holds nothing. */
static int upgrade(struct db *db, int64_t version, const struct store_opening *o, char **notice, struct error *e)
{
    char *copy = NULL;
    bool holds_any = false;
    if (version > 0 && version < schema_version() &&
        db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM sweep)", NO_VALUES, &holds_any, e) < 0)
        return -1;
    if (!holds_any)
        return migrate(db, version, e);
    /* The note is gone when all is done. */
    if ((!o->without_copy && upgrade_keep_copy(db, version, &copy, e) < 0) ||
        db_run(db, "INSERT OR REPLACE INTO meta VALUES ('upgrading', ?)", VALUES(sql_int(schema_version())), e) < 0 ||
        migrate(db, version, e) < 0) {
        free(copy);
        return -1;
    }
    add_notice(notice,
               xasprintf("database %s: upgraded from schema version %lld to %d%s%s", db->path, (long long)version,
                         schema_version(), copy ? "; as it was, it is kept in " : "", copy ? copy : ""));
    if (o->kept)
        *o->kept = copy;
    else
        free(copy);
    return 0;
}

char *store_describe_upgrade(int64_t version)
{
    struct buffer b = BUFFER_INIT;
    for (const struct embedded_file *m = NULL; (m = embedded_next("migrations/", m));) {
        if (version_of(m) <= version)
            continue;
        OWNED char *sentence = upgrade_sentence(m->name);
        buffer_printf(&b, "  %d: %s\n", version_of(m), sentence);
    }
    return buffer_take(&b);
}

int store_open_blank(int64_t version, struct db **out, struct error *e)
{
    struct db *db = NULL;
    int rc = db_open(NULL, DB_TEMPORARY, &db, e);
    if (rc == 0 && version == STORE_NEWEST)
        rc = run_migration(db, WHOLE_SCHEMA, e);
    for (const struct embedded_file *m = NULL;
         rc == 0 && version != STORE_NEWEST && (m = embedded_next("migrations/", m)) && version_of(m) <= version;)
        rc = run_migration(db, m->name, e);
    if (rc < 0)
        db_close(db);
    else
        *out = db;
    return rc;
}

int store_open_scratch(struct db **out, struct error *e)
{
    struct db *db = NULL;
    if (store_open_blank(STORE_NEWEST, &db, e) < 0)
        return -1;
    if (refresh_data(db, true, e) < 0) {
        db_close(db);
        return -1;
    }
    *out = db;
    return 0;
}

static int choose_journal(struct db *db, char **notice, struct error *e)
{
    const char *network = network_file_system(db->path);
    if (network && !*notice)
        *notice = xasprintf("%s lies on %s, where SQLite's write-ahead log is unsafe: using a rollback journal",
                            db->path, network);
    /* A journal whose removal is not synced may be there again after a power cut, and undo what was committed: hence
     * EXTRA. */
    db_set_cache(db, DB_CACHE_KIB);
    return db_exec(db,
                   network ? "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA;"
                           : "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
                   e);
}

static int check_path(const char *path, struct error *e)
{
    struct stat status;
    if (!*path)
        return error_set(e, ERROR_USAGE, "-d: the file name is empty; name a database");
    char *owner = owner_of(path);
    if (owner) {
        error_set(e, ERROR_USAGE, "database %s: it belongs to the database %s; name another file with -d", path, owner);
        free(owner);
        return -1;
    }
    if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
        return 0;
    return error_set(e, ERROR_FAILED, "database %s: it is %s; name a file with -d", path,
                     S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
}

/* SQLite would let everybody read it. What it puts beside the file has the file's mode. */
static void create_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static const char *const file_endings[] = {"-wal", "-shm", ""};

void store_share(struct db *db)
{
    for (size_t i = 0; i < LENGTH(file_endings); i++) {
        OWNED char *file = xasprintf("%s%s", db->path, file_endings[i]);
        file_share(file);
    }
}

/* The locks of a writer; see database/lock.h. */
struct locks {
    int named, file;
    bool is_new;
};

static void release_locks(const struct locks *l, const char *path)
{
    writer_lock_release(l->file);
    if (l->is_new)
        writer_lock_remove(l->named, path);
    else
        writer_lock_release(l->named);
}

static int take_locks(const char *path, struct locks *out, struct error *e)
{
    out->file = -1;
    out->named = writer_lock_take(path, &out->is_new, e);
    if (out->named < 0)
        return -1;
    FAULT(LOCKED);
    if (file_lock_take(path, &out->file, e) == 0)
        return 0;
    release_locks(out, path);
    return -1;
}

/* Looks at the version and the schema first, so that a refused file stays as it is, journal mode included. */
static int look_at_schema(struct db *db, struct string_list *restored, int64_t *version, struct error *e)
{
    if (restored)
        schema_tolerate(db);
    if (read_version(db, version, e) < 0)
        return -1;
    return restored ? schema_restore(db, *version, restored, e) : schema_check(db, *version, false, e);
}

static int open_writer(const char *path, const struct store_opening *o, struct db **db, char **notice, struct error *e)
{
    int64_t version;
    return known_name_check_links(path, e) < 0 || db_open(path, DB_CREATE, db, e) < 0 ||
                   look_at_schema(*db, o->restored, &version, e) < 0 || known_name_check(*db, e) < 0 ||
                   choose_journal(*db, notice, e) < 0 || upgrade(*db, version, o, notice, e) < 0
               ? -1
               : (fetch_directory(*db, notice), known_name_record(*db, e));
}

/* Also the log and its index, which stay while somebody reads. A link that leads to it, or nowhere, is the user's. */
static void remove_files(const char *path)
{
    OWNED char *made = realpath(path, NULL);
    for (size_t i = 0; made && i < LENGTH(file_endings); i++) {
        OWNED char *file = xasprintf("%s%s", made, file_endings[i]);
        unlink(file);
    }
}

int store_open(const char *path, const struct store_opening *o, struct db **out, char **notice, struct error *e)
{
    static const struct store_opening plain = {NULL, NULL, false};
    struct db *db = NULL;
    struct locks locks;
    *notice = NULL;
    if (check_path(path, e) < 0 || take_locks(path, &locks, e) < 0)
        return -1;
    bool is_new = !store_exists(path);
    if (is_new)
        create_private(path);
    if ((!is_new && log_watch_left(path, notice, e) < 0) || open_writer(path, o ? o : &plain, &db, notice, e) < 0 ||
        (is_new && file_lock_take(path, &locks.file, e) < 0)) {
        free(*notice);
        *notice = NULL;
        db_close(db);
        if (is_new)
            remove_files(path);
        release_locks(&locks, path);
        return -1;
    }
    FAULT(OPENED);
    db->lock = locks.named;
    db->file_lock = locks.file;
    db->is_new = is_new;
    recover_replaced_watch(db);
    log_watch_begin(db);
    if (is_new)
        recover_replaced_tell(db, notice);
    *out = db;
    return 0;
}

/* A write-ahead log means that a runner is or was at work. Without one, a reader without write access would have to
 * leave one behind. */
static enum db_mode reading_mode(const char *path)
{
    OWNED char *absolute = path_absolute(path), *log = xasprintf("%s-wal", absolute);
    return store_exists(log) ? DB_READ_ONLY : may_write_at(absolute) ? DB_READ_CLEANLY : DB_READ_FROZEN;
}

/* A reader of a write-ahead log makes an index of 32 KiB beside it, for which a full disk and a quota have no room.
 * Where nothing stands in the log, it is not needed. */
static bool only_lacks_room(const struct db *db)
{
    OWNED char *log = xasprintf("%s-wal", db->path);
    struct stat status;
    const int number = sqlite3_system_errno(db->handle);
    return db->mode != DB_READ_FROZEN && (number == ENOSPC || number == EDQUOT) &&
           (stat(log, &status) < 0 || status.st_size == 0);
}

/* Puts an upgraded copy in the place of a connection to a file of an older version. */
static int read_upgraded(struct db **db, int64_t version, struct error *e)
{
    struct db *copy = NULL;
    int rc = upgrade_read_copy(*db, &copy, e);
    if (rc == 0 && !copy)
        return upgrade_refuse(*db, version, schema_version(), e);
    if (rc == 0)
        rc = migrate(copy, version, e);
    if (rc == 0)
        rc = db_exec(copy, "PRAGMA query_only = 1", e);
    if (rc < 0) {
        db_close(copy);
        return -1;
    }
    db_close(*db);
    *db = copy;
    return 0;
}

static int prepare_reading(struct db **db, enum store_reading how, struct error *e)
{
    int64_t version;
    if (how == STORE_READ_TO_CHECK)
        schema_tolerate(*db);
    if (read_version(*db, &version, e) < 0)
        return -1;
    bool is_newest = version == schema_version();
    if ((how != STORE_READ_TO_CHECK || !is_newest) && schema_check(*db, version, is_newest, e) < 0)
        return -1;
    if (is_newest || how == STORE_READ_AS_IT_IS)
        return 0;
    return how == STORE_READ_NEWEST ? upgrade_refuse(*db, version, schema_version(), e) : read_upgraded(db, version, e);
}

int store_open_reading(const char *path, enum store_reading how, struct db **out, struct error *e)
{
    struct db *db = NULL;
    if (check_path(path, e) < 0)
        return -1;
    if (!store_exists(path)) {
        error_set(e, ERROR_FAILED, "database %s: it does not exist yet; `meshsweep run` creates it", path);
        return -1;
    }
    int rc = db_open(path, reading_mode(path), &db, e);
    if (rc == 0 && (rc = prepare_reading(&db, how, e)) < 0 && only_lacks_room(db)) {
        db_close(db);
        db = NULL;
        rc = db_open(path, DB_READ_FROZEN, &db, e);
        if (rc == 0)
            rc = prepare_reading(&db, how, e);
    }
    if (rc < 0)
        db_close(db);
    else
        *out = db;
    return rc;
}

int store_open_read_only(const char *path, struct db **out, struct error *e)
{
    return store_open_reading(path, STORE_READ_ANSWERS, out, e);
}

bool store_is_copy(const struct db *db)
{
    return db->is_copy || db->mode == DB_READ_FROZEN;
}

int store_read_versions(const char *path, int64_t *version, int64_t *newest, struct error *e)
{
    struct db *db = NULL;
    *newest = schema_version();
    int rc = store_open_reading(path, STORE_READ_AS_IT_IS, &db, e) < 0 ? -1 : read_version(db, version, e);
    db_close(db);
    return rc;
}

/* The last one to close would do it, but readers may stay. */
bool store_settle(struct db *db)
{
    struct error none = ERROR_INIT;
    int in_log = 0, copied = 0;
    if (db->lock < 0 || db->is_displaced || db->is_settled || log_watch_check(db, false, &none) < 0)
        return true;
    db->is_settled = true;
    /* Lets the planner know the tables' sizes, from part of the rows of each; a failure costs nothing. */
    sqlite3_exec(db->handle, "PRAGMA analysis_limit = 1000; PRAGMA optimize", NULL, NULL, NULL);
    sqlite3_busy_timeout(db->handle, SETTLE_MS);
    sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, &in_log, &copied);
    /* Readers of the newest state only keep the log from being cut. */
    return in_log == copied;
}

void store_close(struct db *db)
{
    if (!db)
        return;
    FAULT(CLOSING);
    const int lock = db->lock, file_lock = db->file_lock;
    store_settle(db);
    /* SQLite leaves the log of a file that is not there any more, and would take it for that of the next one. */
    if (db->is_displaced)
        sqlite3_exec(db->handle, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    db_close(db);
    writer_lock_release(file_lock);
    writer_lock_release(lock);
}

void store_release(struct db **at)
{
    store_close(*at);
}

static bool is_untouched(struct db *db)
{
    struct error none = ERROR_INIT;
    int64_t runners;
    return db->is_new && !db->is_displaced &&
           db_query_int(db, "SELECT count(*) FROM runner", NO_VALUES, -1, &runners, &none) == 0 && runners == 0;
}

void store_discard(struct db *db)
{
    if (!db || !is_untouched(db)) {
        store_close(db);
        return;
    }
    const int lock = db->lock, file_lock = db->file_lock;
    OWNED char *path = path_absolute(db->path);
    db_close(db);
    writer_lock_release(file_lock);
    remove_files(path);
    writer_lock_remove(lock, path);
}

int store_identity(struct db *db, char **out, struct error *e)
{
    if (db_query_text(db, "SELECT value FROM meta WHERE name = 'identity'", NO_VALUES, out, e) < 0)
        return -1;
    return *out ? 0 : error_set(e, ERROR_FAILED, "database %s: its identity is missing from the table meta", db->path);
}
