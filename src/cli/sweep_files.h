/* The files that a sweep file needs. */
#pragma once

#include "database/db.h"

/* Copies into `directory`, under their own names, the files that the file of the current sweep names relative to
 * itself: what it includes, profiles, the base of ds_configs. Absolute names hold where they are. A file that is not
 * there any more, or lies above the sweep file, is reported as a message. */
int sweep_files_copy(struct db *db, const char *directory, struct error *e);
