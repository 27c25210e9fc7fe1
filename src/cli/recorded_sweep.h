/* The sweep file to use if none is named: that of the database's current sweep. */
#pragma once

#include "database/db.h"

/* The default if neither the command line nor a database names one. */
#define SWEEP_FILE "sweep.toml"

/* A relative path is tried in the working directory, in that of the last runner, and beside the database; an unchanged
 * file is preferred. Says on standard error if the file has changed. `*path` is the caller's; NULL if the database has
 * no sweep. ERROR_USAGE if the file is gone, saying how to get its text from the database `db_path`. */
int recorded_sweep_find(struct db *db, const char *db_path, char **path, struct error *e);
