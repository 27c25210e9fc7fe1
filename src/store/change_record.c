#include "store/change_record.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/memory.h"

char *change_author(void)
{
    struct utsname machine;
    struct passwd row, *found = NULL;
    char texts[4096];
    const uid_t user = geteuid();
    uname(&machine);
    if (getpwuid_r(user, &row, texts, sizeof texts, &found) != 0 || !found)
        return xasprintf("%ld@%s", (long)user, machine.nodename);
    return xasprintf("%s@%s", row.pw_name, machine.nodename);
}

int change_record(struct db *db, const char *kind, const char *why, const char *detail, int64_t *id, struct error *e)
{
    char *who = change_author();
    int rc = db_insert(db, "INSERT INTO change (kind, at, who, why, detail) VALUES (?, ?, ?, ?, ?)",
                       VALUES(sql_text(kind), sql_int(clock_wall_ms()), sql_text(who), sql_text(why), sql_text(detail)),
                       id, e);
    free(who);
    return rc;
}
