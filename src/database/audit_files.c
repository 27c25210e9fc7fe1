#include "database/audit_files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

#define KEY_DIGITS 16 /* of a job's key, in the name of its directory */

static bool is_key_prefix(const char *name)
{
    return strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS;
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
    const struct hash128 first = hash_from_prefix(prefix, false), last = hash_from_prefix(prefix, true);
    stmt_bind(s, VALUES(sql_hash(&first), sql_hash(&last), sql_text(directory), sql_text(prefix)));
    int rc = stmt_next(s, e);
    *yes = rc > 0;
    stmt_reset(s);
    return rc < 0 ? -1 : 0;
}

struct directory_search {
    const char *directory;
    struct stmt *known;
    void (*found)(void *context, const char *name);
    void *context;
};

/* Directories PREFIX/NUMBER that no attempt has. */
static int look_below(const struct directory_search *s, const char *prefix, struct error *e)
{
    OWNED char *path = xasprintf("%s/%s", s->directory, prefix);
    DIR *directory = opendir(path);
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && directory && (entry = readdir(directory))) {
        bool yes;
        if (!is_attempt_name(entry->d_name))
            continue;
        OWNED char *name = xasprintf("%s/%s", prefix, entry->d_name);
        rc = is_known(s->known, prefix, name, &yes, e);
        if (rc == 0 && !yes)
            s->found(s->context, name);
    }
    if (directory)
        closedir(directory);
    return rc;
}

int audit_unowned_directories(struct db *db, const char *directory, void (*found)(void *context, const char *name),
                              void *context, struct error *e)
{
    struct directory_search s = {directory, NULL, found, context};
    DIR *stream = opendir(directory);
    struct dirent *entry;
    int rc = 0;
    if (!stream)
        return 0; /* none was needed so far */
    if (db_prepare(db,
                   "SELECT 1 FROM job AS j JOIN attempt AS t ON t.job_id = j.id"
                   " WHERE j.key BETWEEN ?1 AND ?2 AND coalesce(t.directory, printf('%s/%d', ?4, t.number)) = ?3"
                   " UNION ALL SELECT 1 FROM replaced AS r JOIN attempt AS t ON t.job_id = r.job_id"
                   " WHERE r.field = 'key' AND r.was BETWEEN lower(hex(?1)) AND lower(hex(?2)) AND t.directory = ?3",
                   &s.known, e) < 0)
        rc = -1;
    while (rc == 0 && (entry = readdir(stream)))
        if (is_key_prefix(entry->d_name))
            rc = look_below(&s, entry->d_name, e);
    closedir(stream);
    stmt_free(s.known);
    return rc;
}
