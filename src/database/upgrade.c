#include "database/upgrade.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/backup.h"
#include "database/lock.h"
#include "database/open.h"
#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

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

int upgrade_keep_copy(struct db *db, int64_t version, char **name, struct error *e)
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

int upgrade_read_copy(struct db *source, struct db **out, struct error *e)
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

int upgrade_refuse(struct db *db, int64_t version, int64_t newest, struct error *e)
{
    static const char is_upgrading[] = "SELECT 1 FROM meta WHERE name = 'upgrading'";
    struct error none = ERROR_INIT;
    bool begun = false;
    if (db_query_bool(db, is_upgrading, NO_VALUES, &begun, &none) == 0 && begun && writer_lock_is_held(db->path))
        return error_set(e, ERROR_FAILED,
                         "database %s: upgrading from schema version %lld to %lld; try again in a moment", db->path,
                         (long long)version, (long long)newest);
    OWNED char *directory = path_beside(db->path, ".");
    bool may_write = access(db->path, W_OK) == 0 && access(directory, W_OK) == 0;
    OWNED char *advice =
        shell_fill_file(may_write ? "`meshsweep upgrade FILE` upgrades it, and keeps a copy"
                                  : "it may not be written, but `meshsweep upgrade -o NEW FILE` makes an "
                                    "upgraded copy NEW",
                        db->path);
    error_set(e, ERROR_FAILED, "database %s: its schema version %lld is older than this program's %lld; %s", db->path,
              (long long)version, (long long)newest, advice);
    return -1;
}

int upgrade_begin(struct db *db, int64_t newest, struct error *e)
{
    return db_run(db, "INSERT OR REPLACE INTO meta VALUES ('upgrading', ?)", VALUES(sql_int(newest)), e);
}

/* Up to what explains it. */
char *upgrade_sentence(const char *migration)
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
