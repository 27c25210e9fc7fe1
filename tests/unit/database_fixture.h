/* The common parts of tests that write to a database of their own. */
#pragma once

#include "database/db.h"
#include "unit_test.h"

static inline void must(struct db *db, const char *sql)
{
    struct error e = ERROR_INIT;
    if (db_exec(db, sql, &e) < 0)
        fail_msg("%s: %s", sql, e.text);
}

static inline int close_database(void **state)
{
    db_close(*state);
    return 0;
}
