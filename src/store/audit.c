#include "store/audit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/lock.h"
#include "store/open.h"
#include "util/buffer.h"
#include "util/memory.h"

#define EXAMPLES_MOST 5
#define KEY_DIGITS 16 /* of a job's key, in the name of its directory */

struct audit {
    struct db *db;
    const char *path;
    char *directory; /* of job files */
    void (*found)(void *context, const struct audit_finding *finding);
    void *context;
    size_t count;
};

/* --- collecting examples --- */

struct examples {
    struct buffer text;
    int64_t count;
};

static void add_example(struct examples *x, const char *example)
{
    if (x->count < EXAMPLES_MOST)
        buffer_printf(&x->text, "%s%s", x->count ? ", " : "", example);
    else if (x->count == EXAMPLES_MOST)
        buffer_add_text(&x->text, ", ...");
    x->count++;
}

/* Tells the finding if there is any, and releases the examples. */
static void conclude(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    if (x->count) {
        const struct audit_finding finding = {what, buffer_text(&x->text), x->count, advice};
        a->found(a->context, &finding);
        a->count++;
    }
    buffer_free(&x->text);
}

/* --- questions in SQL: each row is something wrong, its first column says where --- */

#define RUN_AGAIN "`meshsweep run` takes them up again"
#define RECOVER \
    "stop every runner, keep a copy, then: sqlite3 FILE .recover | sqlite3 NEW; `meshsweep check -d NEW` tells whether" \
    " all is there"
#define SET_PENDING \
    "to have them run again: sqlite3 FILE \"UPDATE job SET state = 'pending', failure = NULL, attempt_id = NULL WHERE" \
    " id IN (...)\""

enum when { ALWAYS, WITHOUT_RUNNER, WITH_RUNNER };

static const struct {
    const char *what, *advice, *sql;
    enum when when;
} questions[] = {
    {"damage that SQLite finds", RECOVER,
     "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'", ALWAYS},
    {"rows that refer to rows which are not there", "delete them: sqlite3 FILE \"DELETE FROM TABLE WHERE rowid = ROW\"",
     "SELECT printf('%s row %s (%s)', \"table\", coalesce(rowid, '?'), parent) FROM pragma_foreign_key_check", ALWAYS},
    {"jobs that run though no runner is at work", RUN_AGAIN, "SELECT 'job ' || id FROM job WHERE state = 'running'",
     WITHOUT_RUNNER},
    {"attempts that are open though no runner is at work", RUN_AGAIN,
     "SELECT printf('job %d attempt %d', job_id, number) FROM attempt WHERE state IN ('claimed', 'running')",
     WITHOUT_RUNNER},
    {"jobs that run without an open attempt", "wait for the runner to end; " RUN_AGAIN,
     "SELECT 'job ' || id FROM job AS j WHERE state = 'running' AND NOT EXISTS"
     " (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running'))",
     WITH_RUNNER},
    {"open attempts of jobs that do not run", "wait for the runner to end; `meshsweep run` ends them",
     "SELECT printf('job %d attempt %d', a.job_id, a.number) FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
     " WHERE a.state IN ('claimed', 'running') AND j.state <> 'running'",
     ALWAYS},
    {"ok jobs without an attempt that is ok", SET_PENDING,
     "SELECT 'job ' || j.id FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id AND a.job_id = j.id"
     " WHERE j.state = 'ok' AND a.state IS NOT 'ok'",
     ALWAYS},
    {"failed jobs whose attempt did not fail like that", SET_PENDING,
     "SELECT 'job ' || j.id FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id AND a.job_id = j.id"
     " WHERE j.state = 'failed' AND a.failure IS NOT j.failure",
     ALWAYS},
    {"failed attempts without a failure class", "give them one: sqlite3 FILE \"UPDATE attempt SET failure = 'exit' ...\"",
     "SELECT printf('job %d attempt %d', job_id, number) FROM attempt WHERE state = 'failed' AND failure IS NULL",
     ALWAYS},
};

static void ask(struct audit *a, size_t question)
{
    struct examples x = {BUFFER_INIT, 0};
    struct error e = ERROR_INIT;
    struct stmt *s = NULL;
    int rc = db_prepare(a->db, questions[question].sql, &s, &e);
    while (rc == 0 && (rc = stmt_next(s, &e)) > 0) {
        add_example(&x, stmt_text(s, 0));
        rc = 0;
    }
    stmt_free(s);
    conclude(a, &x, questions[question].what, questions[question].advice);
    if (rc < 0) {
        struct examples unread = {BUFFER_INIT, 0};
        add_example(&unread, e.text);
        conclude(a, &unread, "tables that cannot be read", RECOVER);
    }
}

/* --- directories of attempts --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int find_missing(struct audit *a, struct error *e)
{
    struct examples x = {BUFFER_INIT, 0};
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(a->db, "SELECT directory FROM attempt WHERE directory IS NOT NULL", &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        const char *name = stmt_text(s, 0);
        char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", a->directory, name);
        if (!is_directory(path))
            add_example(&x, name);
        free(path);
    }
    stmt_free(s);
    conclude(a, &x, "attempts whose files are gone",
             "nothing need be done: what they measured is in the database; their logs are lost");
    return rc;
}

static bool is_key_prefix(const char *name)
{
    return strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS;
}

/* The first or last key that begins with the prefix. */
static void bind_key(struct stmt *s, int index, const char *prefix, unsigned char rest)
{
    unsigned char key[16];
    memset(key, rest, sizeof key);
    for (size_t i = 0; i < KEY_DIGITS / 2; i++) {
        const char digits[] = {prefix[2 * i], prefix[2 * i + 1], '\0'};
        key[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    stmt_bind_blob(s, index, key, sizeof key);
}

/* "3", or "3-2": see run/starter.h. */
static bool is_attempt_name(const char *name)
{
    size_t number = strspn(name, "0123456789"), again = 0;
    if (number > 0 && name[number] == '-')
        again = 1 + strspn(name + number + 1, "0123456789");
    return number > 0 && again != 1 && name[number + again] == '\0';
}

static int is_known(struct stmt *s, const char *prefix, const char *directory, bool *yes, struct error *e)
{
    bind_key(s, 1, prefix, 0x00);
    bind_key(s, 2, prefix, 0xff);
    stmt_bind_text(s, 3, directory);
    stmt_bind_text(s, 4, prefix);
    int rc = stmt_next(s, e);
    *yes = rc > 0;
    stmt_reset(s);
    return rc < 0 ? -1 : 0;
}

/* Directories PREFIX/NUMBER that no attempt has. */
static int find_stray_attempts(struct audit *a, struct stmt *known, const char *prefix, struct examples *x,
                               struct error *e)
{
    char *path = xasprintf("%s/%s", a->directory, prefix);
    DIR *directory = opendir(path);
    free(path);
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && directory && (entry = readdir(directory))) {
        bool yes;
        if (!is_attempt_name(entry->d_name))
            continue;
        char *name = xasprintf("%s/%s", prefix, entry->d_name);
        rc = is_known(known, prefix, name, &yes, e);
        if (rc == 0 && !yes)
            add_example(x, name);
        free(name);
    }
    if (directory)
        closedir(directory);
    return rc;
}

static int find_strays(struct audit *a, struct error *e)
{
    struct examples x = {BUFFER_INIT, 0};
    struct stmt *known = NULL;
    DIR *directory = opendir(a->directory);
    struct dirent *entry;
    int rc = 0;
    if (!directory)
        return 0; /* none was needed so far */
    if (db_prepare(a->db,
                   "SELECT 1 FROM job AS j JOIN attempt AS t ON t.job_id = j.id"
                   " WHERE j.key BETWEEN ?1 AND ?2 AND coalesce(t.directory, printf('%s/%d', ?4, t.number)) = ?3",
                   &known, e) < 0)
        rc = -1;
    while (rc == 0 && (entry = readdir(directory)))
        if (is_key_prefix(entry->d_name))
            rc = find_stray_attempts(a, known, entry->d_name, &x, e);
    closedir(directory);
    stmt_free(known);
    char *advice = xasprintf("they may be deleted; they are in %s", a->directory);
    conclude(a, &x, "directories that no attempt has", advice);
    free(advice);
    return rc;
}

int audit_run(struct db *db, const char *path, void (*found)(void *context, const struct audit_finding *finding),
              void *context, size_t *count, struct error *e)
{
    struct audit a = {db, path, store_directory(path), found, context, 0};
    enum when not_now = writer_lock_is_held(path) ? WITHOUT_RUNNER : WITH_RUNNER;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (questions[i].when != not_now)
            ask(&a, i);
    int rc = find_missing(&a, e);
    /* A runner makes directories before it records them. */
    if (rc == 0 && not_now == WITH_RUNNER)
        rc = find_strays(&a, e);
    free(a.directory);
    *count = a.count;
    return rc;
}
