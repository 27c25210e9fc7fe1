#include "cli/recorded_sweep.h"

#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/memory.h"
#include "util/shell.h"

/* A file that cannot be read counts as changed; loading it will report the error. */
static int is_as_recorded(struct db *db, const char *path, bool *yes, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    struct error unread = ERROR_INIT;
    *yes = false;
    return sweep_load(path, &sweep, &unread) < 0 ? 0 : sweep_is_as_recorded(db, sweep, yes, e);
}

static int say_gone(const char *path, const char *db_path, struct error *e)
{
    OWNED_BUFFER name = BUFFER_INIT;
    shell_add_word(&name, db_path);
    error_set(e, ERROR_USAGE,
              "%s: the sweep file of %s no longer exists; name it with -c FILE (sqlite3 %s 'SELECT text FROM "
              "current_sweep' prints the recorded copy)",
              path, db_path, buffer_text(&name));
    return -1;
}

/* The first of the NULL-terminated `places` that is as it was recorded, else the first that exists. */
static int choose(struct db *db, const char *db_path, char *const *places, char **path, struct error *e)
{
    const char *first = NULL;
    for (char *const *place = places; *place; place++) {
        bool is_same;
        if (access(*place, F_OK) < 0)
            continue;
        if (is_as_recorded(db, *place, &is_same, e) < 0)
            return -1;
        if (is_same) {
            *path = xstrdup(*place);
            return 0;
        }
        first = first ? first : *place;
    }
    if (!first)
        return say_gone(places[0], db_path, e);
    output_message("%s, or a file that it includes, has changed since %s recorded it; using it as it is now", first,
                   db_path);
    *path = xstrdup(first);
    return 0;
}

int recorded_sweep_find(struct db *db, const char *db_path, char **path, struct error *e)
{
    OWNED char *recorded = NULL, *directory = NULL;
    *path = NULL;
    if (sweep_read_place(db, &recorded, &directory, e) < 0)
        return -1;
    bool moved = recorded && recorded[0] != '/' && directory;
    OWNED char *there = moved ? xasprintf("%s/%s", directory, recorded) : NULL;
    const char *slash = strrchr(db_path, '/');
    bool is_elsewhere = recorded && recorded[0] != '/' && slash;
    OWNED char *beside = is_elsewhere ? xasprintf("%.*s/%s", (int)(slash - db_path), db_path, recorded) : NULL;
    char *const places[] = {recorded, there ? there : beside, there ? beside : NULL, NULL};
    return recorded ? choose(db, db_path, places, path, e) : 0;
}
