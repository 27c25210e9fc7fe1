/* Makes the views results and ranking of a database that the sqlite3 shell made: refresh_views DATABASE */
#include <stdio.h>

#include "results/views.h"

int main(int argc, char **argv)
{
    struct error e = ERROR_INIT;
    struct db *db = NULL;
    int rc = -1;
    if (argc == 2 && db_open(argv[1], DB_CREATE, &db, &e) == 0)
        rc = result_views_refresh(db, &e);
    if (rc < 0)
        fprintf(stderr, "refresh_views: %s\n", e.text);
    db_close(db);
    return rc < 0;
}
