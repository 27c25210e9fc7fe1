/* The sweep file to use if none is named: that of the database's current sweep. */
#ifndef MESHSWEEP_CLI_RECORDED_SWEEP_H
#define MESHSWEEP_CLI_RECORDED_SWEEP_H

#include "database/db.h"

/* What is taken where neither the command line nor a database names one. */
#define SWEEP_FILE "sweep.toml"

/* A relative path is looked for here, where the last runner was and beside the database, the file as it was
 * recorded first. Says on standard
 * error when it has changed since. `*path` is the caller's; NULL where the database has no sweep. ERROR_USAGE where the
 * file is gone, with how to get its text back; `db_path` is what the database is called in that. */
int recorded_sweep_find(struct db *db, const char *db_path, char **path, struct error *e);

#endif
