#include "store/notes.h"

#include <stdlib.h>

#include "store/change_record.h"
#include "store/jobs.h"
#include "util/clock.h"
#include "util/memory.h"

int note_record(struct db *db, const struct note_row *note, struct error *e)
{
    char *who = change_author();
    /* Of two in one millisecond the later one stands: the clock may have been set back, too. */
    int rc = db_run(db,
                    "INSERT INTO note (job_id, attempt_id, kind, text, at, who) VALUES (?1, ?2, ?3, ?4,"
                    " max(?5, coalesce((SELECT max(at) FROM note WHERE job_id = ?1), 0)), ?6)",
                    VALUES(sql_int(note->job_id), sql_positive(note->attempt_id), sql_text(note->kind),
                           sql_text(note->text), sql_int(clock_wall_ms()), sql_text(who)),
                    e);
    free(who);
    if (rc == 0)
        rc = db_run(db, "CREATE TEMP TABLE noted_job AS SELECT ?1 AS id", VALUES(sql_int(note->job_id)), e);
    if (rc == 0)
        rc = jobs_choose_representatives(db, "temp.noted_job", e);
    return rc < 0 ? -1 : db_exec(db, "DROP TABLE temp.noted_job", e);
}
