#include "run/recover_output.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/classify.h"
#include "process/job_file.h"
#include "process/supervisor.h"
#include "run/recording.h"
#include "run/starter.h"
#include "util/memory.h"

/* An attempt whose runner died, and where its output lies. */
struct orphan {
    int64_t attempt, number;
    int64_t started_ms; /* no later than it was */
    bool ran;           /* a claim whose start had not been recorded may have run, or not */
    char key_hex[HASH_HEX_BYTES];
    char *log, *metrics; /* in the scratch directory; NULL: none */
    char *directory;     /* below the directory of job files; NULL: nothing was kept */
};

struct orphans {
    struct orphan *items;
    size_t count;
};

static void orphans_free(struct orphans *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free_all(o->items[i].log, o->items[i].metrics, o->items[i].directory);
    }
    free(o->items);
}

static int find_orphans(struct db *db, struct orphans *out, struct error *e)
{
    static const char sql[] =
        "SELECT attempt.id, number, lower(hex(key)), coalesce(attempt.started, runner.started),"
        " attempt.state = 'running' FROM attempt JOIN job ON job.id = job_id JOIN runner ON runner.id = "
        "runner_id WHERE attempt.state IN ('claimed', 'running') AND executor IN ('local', 'ssh', 'slurm-step') AND "
        "directory IS NULL";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        struct orphan *o = array_add(out->items, out->count);
        *o = (struct orphan){.attempt = stmt_int(s, 0),
                             .number = stmt_int(s, 1),
                             .started_ms = stmt_int(s, 3),
                             .ran = stmt_int(s, 4) != 0};
        snprintf(o->key_hex, sizeof o->key_hex, "%s", stmt_text(s, 2));
    }
    return rc;
}

static int64_t size_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
}

/* `path` when there is something in it, else NULL. Takes `path`. */
static char *unless_empty(char *path)
{
    if (size_of(path) > 0)
        return path;
    free(path);
    return NULL;
}

static void find_files(struct orphan *o, const char *scratch_dir)
{
    int slot = slot_of_attempt(scratch_dir, o->attempt);
    o->ran |= slot >= 0;
    if (slot >= 0)
        o->log = unless_empty(xasprintf("%s/slot-%d.log", scratch_dir, slot));
    o->metrics = unless_empty(xasprintf("%s/attempt-%" PRId64 ".metrics.jsonl", scratch_dir, o->attempt));
}

/* Returns whether the runner had begun to keep the attempt's files there when it died. An older directory of that name
 * is of an attempt that was deleted by hand. */
static bool was_begun(const char *job_dir, int64_t started_ms)
{
    struct stat status;
    return lstat(job_dir, &status) == 0 && S_ISDIR(status.st_mode) &&
           (int64_t)status.st_mtim.tv_sec * 1000 + 999 >= started_ms;
}

/* Names the attempt's directory: the one that was begun, else one that is not there yet. Returns whether it is
 * there. */
static bool name_directory(struct orphan *o, const char *root)
{
    for (int again = 1;; again++) {
        o->directory = attempt_directory_name(o->key_hex, o->number, again);
        OWNED char *job_dir = xasprintf("%s/%s", root, o->directory);
        struct stat status;
        bool begun = was_begun(job_dir, o->started_ms), there = lstat(job_dir, &status) == 0;
        if (begun || !there)
            return begun;
        free(o->directory);
    }
}

/* Moves a file into the directory unless there is one of its name. Takes `from`. */
static void move_file(char *from, int directory, const char *name)
{
    struct stat status;
    if (from && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        (void)!renameat(AT_FDCWD, from, directory, name); /* what cannot be moved is no reason not to go on */
    free(from);
}

static void keep_files(struct orphan *o, const char *root)
{
    bool there = name_directory(o, root);
    o->ran |= there;
    OWNED char *job_dir = xasprintf("%s/%s", root, o->directory);
    int directory = o->log || o->metrics ? job_directory_make(job_dir) : there ? job_directory_open(job_dir) : -1;
    if (directory >= 0) {
        move_file(o->log, directory, "output.log");
        move_file(o->metrics, directory, "metrics.jsonl");
        o->metrics = NULL;
        o->log = xasprintf("%s/output.log", job_dir);
    } else {
        free(o->directory);
        o->directory = NULL;
    }
    if (directory >= 0)
        close(directory);
}

static int record_orphan(struct db *db, const struct orphan *o, const struct secrets *secrets, struct error *e)
{
    OWNED char *raw = o->directory ? log_tail(o->log, TAIL_BYTES) : NULL, *tail = secrets_redact(secrets, raw);
    return db_run(db,
                  "UPDATE attempt SET state = 'running', started = coalesce(started, ?2),"
                  " directory = coalesce(?3, directory), log_bytes = ?4, log_tail = ?5 WHERE id = ?1",
                  VALUES(sql_int(o->attempt), sql_int(o->started_ms), sql_text(o->directory),
                         o->directory ? sql_int(size_of(o->log)) : sql_null(), sql_text(tail)),
                  e);
}

int recover_outputs(struct db *db, const char *scratch_dir, const char *directory, const struct secrets *secrets,
                    struct error *e)
{
    struct orphans orphans = {NULL, 0};
    int rc = find_orphans(db, &orphans, e);
    for (size_t i = 0; rc == 0 && i < orphans.count; i++) {
        struct orphan *o = &orphans.items[i];
        find_files(o, scratch_dir);
        keep_files(o, directory);
        if (o->ran)
            rc = record_orphan(db, o, secrets, e);
    }
    orphans_free(&orphans);
    return rc;
}
