/* Makes the views results and ranking of a database that the sqlite3 shell made, and the classes of failures:
 * refresh_views DATABASE */
#include <stdio.h>

#include "config/failure.h"
#include "results/views.h"

int main(int argc, char **argv)
{
    struct error e = ERROR_INIT;
    struct db *db = NULL;
    int rc = -1;
    if (argc == 2 && db_open(argv[1], DB_CREATE, &db, &e) == 0)
        rc = result_views_refresh(db, &e);
    for (int i = 1; rc == 0 && i < FAILURE_COUNT; i++)
        rc = db_run(db, "INSERT OR IGNORE INTO failure_class VALUES (?)", VALUES(sql_text(failure_names[i])), &e);
    if (rc < 0)
        fprintf(stderr, "refresh_views: %s\n", e.text);
    db_close(db);
    return rc < 0;
}
