/* [sweep] on_end: a command that is told how a run ended. */
#pragma once

#include "config/sweep.h"

/* Runs it, if the sweep has one, with {"exit_status": …, "status": …, "best": …} on its standard input: what
 * `status --json` and `best --json` print of the database `db_path`, null where they print nothing. Waits for it for
 * [sweep] on_end_timeout. Its failure is told and has no other consequence. */
void end_command_run(const struct sweep *sweep, const char *db_path, int exit_status);
