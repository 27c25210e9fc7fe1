/* The changes that people make afterwards to what was recorded, and what they say of it (tables change, replaced and
 * note of sql/migrations/0021_changed_minds.sql). Every function runs inside the caller's write transaction. */
#pragma once

#include "database/db.h"
#include "util/hash.h"

/* Records a change of this moment by "user@host"; `*id` is what its rows of `replaced` refer to. `why` and `detail`
 * (JSON) may be NULL. */
int change_record(struct db *db, const char *kind, const char *why, const char *detail, int64_t *id, struct error *e);

struct note_row {
    int64_t job_id, attempt_id; /* 0: the job */
    const char *kind;           /* "note", "tag", "exclude", "include" */
    const char *text;           /* NULL: none */
};

/* Records the note; the values of a job that is excluded or included follow. */
int note_record(struct db *db, const struct note_row *note, struct error *e);

struct change {
    const char *kind;   /* "accept", "was" */
    const char *why;    /* what they said; NULL: nothing */
    const char *detail; /* JSON: {"differences": [{"what", "was", "now"}, …]} of what is moved */
};

/* A job with attempts that is to have another identity, with all that hangs on it. */
struct job_move {
    int64_t job_id;
    struct hash128 was, now;
};

/* Gives the jobs their new keys. Who stands there under one without having been tried goes; what a search or a person
 * said of it is said of the job that takes its place. */
int jobs_move(struct db *db, const struct job_move *moves, size_t count, struct error *e);

/* Once the sweep was enumerated: records the change and what it replaced; jobs that the sweep did not take after all
 * get their keys back. `*count` gets how many have moved; 0: nothing was recorded. */
int jobs_moved(struct db *db, int64_t sweep_id, const struct change *c, int64_t *count, struct error *e);

/* Takes back change `*id` (0: the last accept that stands, and `*id` gets which), `*jobs` gets how many jobs have their
 * former identity again: each leaves a job that is to run in its place. ERROR_NOTHING where there is none, ERROR_USAGE
 * where it does not stand as it was made: a job has run or moved since, or another has taken its former place. */
int change_undo(struct db *db, int64_t *id, int64_t *jobs, struct error *e);
