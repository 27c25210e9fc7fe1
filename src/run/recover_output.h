/* Output of attempts that a dead runner left: kept with the attempt, not swept away with the slots. */
#pragma once

#include "database/db.h"
#include "secrets/secrets.h"
#include "util/error.h"

/* Moves what open attempts had written in `scratch_dir` below `directory`, into "<key>/<number>" as their own ends
 * would have, and records directory, size and tail, without secrets, with them. Claims that turn out to have run,
 * though the runner died before it could record their start, are marked as running. For after escaped processes have
 * been ended and before the attempts are marked as lost; within a transaction. */
int recover_outputs(struct db *db, const char *scratch_dir, const char *directory, const struct secrets *secrets,
                    struct error *e);
