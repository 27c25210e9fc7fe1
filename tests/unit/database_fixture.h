/* The common parts of tests that write to a database of their own. */
#pragma once

#include "database/db.h"
#include "database/open.h"
#include "unit_test.h"

static inline void must(struct db *db, const char *sql)
{
    struct error e = ERROR_INIT;
    FAIL_WHERE(db_exec(db, sql, &e) < 0, "%s: %s", sql, e.text);
}

/* A database with sweep 1, "one", which wants little loss, and runner 1 on "host"; then does `more`. */
static inline struct db *database_with(const char *more)
{
    struct db *db = NULL;
    FAIL_IF(store_open_scratch(&db, &e) < 0);
    must(db, "INSERT INTO sweep (id, hash, name, path, text, profile_text, tool_version, objective, maximise,"
             " first_seen, last_seen) VALUES (1, randomblob(16), 'one', 'one.toml', '', '', '0', 'loss', 0, 1, 5);"
             "INSERT INTO runner VALUES (1, 'host', 'boot', 1, 1, 1, NULL, '0', '{}')");
    must(db, more);
    return db;
}

/* The first number of a query; -1: none. */
static inline int64_t number(struct db *db, const char *sql)
{
    int64_t value = -1;
    FAIL_IF(db_query_int(db, sql, NO_VALUES, -1, &value, &e) < 0);
    return value;
}

static inline int close_database(void **state)
{
    db_close(*state);
    return 0;
}
