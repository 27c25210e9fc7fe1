#include "database/log_watch.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/sqlite.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

enum { CHECKPOINT_FRAMES = 1000 }; /* as SQLite's */

/* The log's header, and that of each frame. */
enum { LOG_HEADER_BYTES = 32, FRAME_HEADER_BYTES = 24, FRAME_SALT_AT = 8 };

/* The index: blocks, of which the first holds a header twice, and how many frames have been copied to the database, and
 * how many the last to copy meant to. */
enum { BLOCK_BYTES = 32768, BLOCK_FRAMES = 4096, FIRST_BLOCK_FRAMES = 4062 };
struct index_header {
    uint32_t version, unused, changes;
    uint8_t is_initialised, big_endian_checksums;
    uint16_t page_bytes; /* 1: 65536 */
    uint32_t frames, pages, frame_checksum[2], salt[2], checksum[2];
};
struct index_start {
    struct index_header header, copy;
    uint32_t copied, read_marks[5];
    uint8_t locks[8];
    uint32_t meant;
};
_Static_assert(sizeof(struct index_header) == 48 && offsetof(struct index_start, copied) == 96 &&
                   offsetof(struct index_start, meant) == 128,
               "as in the file");

struct log_facts {
    int64_t frames, copied, meant, frames_there, frame_bytes;
    uint32_t salt[2]; /* of every frame, as in the file */
    bool log_is_cut, index_is_cut;
};

/* false: nothing is known, because the index is being written or is none. */
static bool read_facts(struct watched_files files, struct log_facts *out)
{
    struct index_start start;
    struct stat log, status;
    if (pread(files.index, &start, sizeof start, 0) != sizeof start || fstat(files.index, &status) < 0 ||
        fstat(files.log, &log) < 0)
        return false;
    if (memcmp(&start.header, &start.copy, sizeof start.header) != 0 || !start.header.is_initialised)
        return false;
    int64_t page = start.header.page_bytes == 1 ? 65536 : start.header.page_bytes, frame = page + FRAME_HEADER_BYTES;
    int64_t more = (int64_t)start.header.frames - FIRST_BLOCK_FRAMES;
    int64_t blocks = 1 + (more > 0 ? (more + BLOCK_FRAMES - 1) / BLOCK_FRAMES : 0);
    *out = (struct log_facts){.frames = start.header.frames,
                              .copied = start.copied,
                              .meant = start.meant,
                              .frame_bytes = frame};
    memcpy(out->salt, start.header.salt, sizeof out->salt);
    out->frames_there = log.st_size > LOG_HEADER_BYTES ? (log.st_size - LOG_HEADER_BYTES) / frame : 0;
    out->log_is_cut = out->frames_there < out->frames;
    out->index_is_cut = status.st_size < blocks * BLOCK_BYTES;
    return true;
}

/* A log that was cut and then written to is as long as it must be, with a hole: only the frames before it are there. */
static void find_hole(struct watched_files files, struct log_facts *f)
{
    uint32_t salt[2];
    int64_t most = f->frames_there < f->frames ? f->frames_there : f->frames;
    for (int64_t i = 0; i < most; i++) {
        off_t at = LOG_HEADER_BYTES + i * f->frame_bytes + FRAME_SALT_AT;
        if (pread(files.log, salt, sizeof salt, at) != sizeof salt || memcmp(salt, f->salt, sizeof salt) != 0) {
            f->frames_there = i;
            f->log_is_cut = true;
            return;
        }
    }
}

/* The rest of the log is older than what was copied from it, or was being copied: with it the file is a mixture. SQLite
 * itself finds what is newer. */
static bool is_overtaken(const struct log_facts *f)
{
    return f->log_is_cut && f->frames_there < (f->copied > f->meant ? f->copied : f->meant);
}

static void drop_overtaken(const struct log_facts *f, struct watched_files files)
{
    if (is_overtaken(f) && ftruncate(files.log, 0) < 0)
        return;
}

static int open_beside(const char *path, const char *ending, int how)
{
    OWNED char *absolute = path_absolute(path), *name = xasprintf("%s%s", absolute, ending);
    return open(name, how | O_CLOEXEC);
}

static struct watched_files open_files(const char *path)
{
    return (struct watched_files){open_beside(path, "-wal", O_RDWR), open_beside(path, "-shm", O_RDONLY)};
}

static void close_files(struct watched_files files)
{
    if (files.log >= 0)
        close(files.log);
    if (files.index >= 0)
        close(files.index);
}

static int report(struct db *db, const struct log_facts *f, struct error *e)
{
    /* At the end SQLite would copy what it believes to be there. */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    db->is_cut = true;
    if (!f->log_is_cut)
        return error_set(e, ERROR_FAILED,
                         "database %s: another program has truncated %s-shm; no records are lost; start again",
                         db->path, db->path);
    drop_overtaken(f, db->log_files);
    return error_set(e, ERROR_FAILED,
                     "database %s: another program has truncated %s-wal; the newest records may be lost; start again, "
                     "and their jobs run again",
                     db->path, db->path);
}

int log_watch_check(struct db *db, bool closely, struct error *e)
{
    struct stat status;
    struct log_facts f = {0};
    if (db->log_files.log < 0 || db->log_files.index < 0)
        return 0;
    bool is_short = fstat(db->log_files.index, &status) == 0 && status.st_size < BLOCK_BYTES;
    bool is_known = read_facts(db->log_files, &f);
    if (is_known && closely)
        find_hole(db->log_files, &f);
    bool is_cut = db->is_cut || is_short || (is_known && (f.log_is_cut || f.index_is_cut));
    return is_cut ? report(db, &f, e) : 0;
}

/* As SQLite's own, which would copy the hole of a cut log over what is good. */
static int after_commit(void *context, sqlite3 *handle, const char *schema, int frames)
{
    struct db *db = context;
    struct error none = ERROR_INIT;
    if (frames < db->frames_tried)
        db->frames_tried = 0;
    if (frames - db->frames_tried < CHECKPOINT_FRAMES || log_watch_check(db, true, &none) < 0)
        return SQLITE_OK;
    db->frames_tried = frames;
    sqlite3_wal_checkpoint_v2(handle, schema, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

void log_watch_begin(struct db *db)
{
    db->log_files = open_files(db->path);
    sqlite3_wal_hook(db->handle, after_commit, db);
}

void log_watch_end(struct db *db)
{
    close_files(db->log_files);
}

/* SQLite copies only the newest of a page that is in the log more than once: where a reader kept that from being
 * copied, or nobody finished, the file alone may be a mixture as well. */
static int check_file(const char *path, const struct log_facts *f, struct error *e)
{
    struct db *db = NULL;
    int64_t faults = 0;
    struct error none = ERROR_INIT;
    if (!is_overtaken(f) || f->copied == f->frames)
        return 0;
    /* Not through the log and its index, so that the next reader sees the same. */
    bool is_sound = db_open(path, DB_READ_FROZEN, &db, &none) == 0 &&
                    db_query_int(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
                                 NO_VALUES, 1, &faults, &none) == 0 &&
                    faults == 0;
    db_close(db);
    if (is_sound)
        return 0;
    OWNED char *advice = shell_fill_file(db_advice(SQLITE_CORRUPT), path);
    return error_set(e, ERROR_FAILED,
                     "database %s: another program has truncated %s-wal while it was being copied into the database: "
                     "%s",
                     path, path, advice);
}

int log_watch_left(const char *path, char **notice, struct error *e)
{
    struct watched_files files = open_files(path);
    struct log_facts f = {0};
    bool is_known = files.log >= 0 && files.index >= 0 && read_facts(files, &f);
    if (is_known)
        find_hole(files, &f);
    drop_overtaken(&f, files);
    close_files(files);
    if (check_file(path, &f, e) < 0)
        return -1;
    if (f.log_is_cut)
        *notice = xasprintf("another program has truncated %s-wal since the last run; the newest records are lost, and "
                            "their jobs run again",
                            path);
    return 0;
}
