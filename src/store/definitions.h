/* Definitions of metrics: how their numbers are read and what they stand for. A definition is a row that never changes,
 * known by the hash of all that it says; every summary names the one that it was made under. The table
 * metric_definition has the one in force of each name, which is that of the sweep that was recorded last. */
#pragma once

#include "config/sweep.h"
#include "database/db.h"

/* Puts the sweep's definitions in force, of its metrics and of what it imports, and adds the names to `changed` whose
 * definition is another than before: in the caller's transaction, in which their numbers are made anew
 * (measures/definitions.h). */
int definitions_record(struct db *db, const struct sweep *sweep, struct string_list *changed, struct error *e);
