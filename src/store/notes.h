/* What people say of jobs and attempts (sql/migrations/0021_changed_minds.sql). */
#ifndef MESHSWEEP_STORE_NOTES_H
#define MESHSWEEP_STORE_NOTES_H

#include "database/db.h"

struct note_row {
    int64_t job_id, attempt_id; /* 0: the job */
    const char *kind;           /* "note", "tag", "exclude", "include" */
    const char *text;           /* NULL: none */
};

/* Inside the caller's write transaction. Of what is excluded or included the job's values follow. */
int note_record(struct db *db, const struct note_row *note, struct error *e);

#endif
