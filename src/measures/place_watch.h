/* The watch finds broken places (devices, nodes) by how attempts on them end. Pure but for its records.
 *
 * That many jobs fail on a place says little: they may all have a key that makes them fail, and may run there because
 * of it. So a third job that fails there in a row, early, alike and in a way that a broken place may cause, or one
 * whose words name a broken device (sql/failures.sql), runs once more elsewhere before that counts, and only such pairs
 * are evidence. If a place is no worse than others, and a job fails with the probability p on either, "failed here,
 * went well there" has the probability p (1 - p), at most a quarter, whatever the job and whoever chose its place.
 * Against that quarter stands a broken place, where nine jobs in ten fail that go well elsewhere; words that name a
 * broken device are supposed to be wrong once in a hundred. Wald's likelihood ratio of the two is begun anew when it
 * falls below 1 (Page, Biometrika 41, 1954), because places break while they are in use. At a thousand the place is
 * excluded. So a sound place sees at least a thousand jobs on average before it is excluded (Lorden, Annals of
 * Mathematical Statistics 42, 1971), even if each of them fails every other time; and a broken one is excluded after
 * six such jobs, or after two whose words name it. Then what failed there in that row does not count either.
 *
 * The number of others that fail there while that is found out is bounded: a place whose open pairs would be enough, if
 * all went well elsewhere, is given no other job until one of them is known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/failure.h"
#include "database/attempt_sums.h"
#include "database/db.h"

/* Likelihoods whose ratio has the logarithm `evidence` exclude a place. */
#define PLACE_EVIDENCE_ENOUGH 6.907755278982137 /* ln 1000 */

/* The evidence after one more job: `is_pair` is that it failed there and went well elsewhere, else it went well there
 * or failed elsewhere as well; `is_named`: its words name a broken device. */
double place_evidence_after(double evidence, bool is_pair, bool is_named);

struct place_watch;
struct place_watch *place_watch_create(int64_t rest_ms); /* until a place that was set aside is tried again */
void place_watch_free(struct place_watch *w);

/* Names of places, "0,1" or "n1"; NULL in place of one: it is not known, and nothing is concluded. Times in
 * milliseconds since 1970. */
struct place_end {
    const char *places;
    int64_t job_id, attempt_id;
    bool is_void; /* says nothing of either: it was cancelled, or lost */
    bool is_ok;
    bool is_like;  /* a failure that a broken place may cause */
    bool is_named; /* one whose words name a broken device */
    bool has_elsewhere;
    const char *message; /* of a failure */
    int64_t duration_ms, now_ms;
};

enum place_answer {
    PLACE_SAYS_NOTHING = 0, /* the end is what it is */
    PLACE_DOUBTED,          /* the job is to run elsewhere before it is said to have failed */
    PLACE_BLAMED            /* the same, and it does not count against the job */
};
enum place_answer place_watch_note(struct place_watch *w, const struct place_end *end);

/* The places on which the job (0: one of which nothing is known) is not to run now, "n1,n2"; NULL: none. `is_wary`: a
 * job that is to run elsewhere is kept from what else is in doubt, too. The caller's. */
char *place_watch_kept(const struct place_watch *w, int64_t job_id, bool is_wary, int64_t now_ms);

/* Returns whether the job is one that runs elsewhere for a doubt. */
bool place_watch_is_second(const struct place_watch *w, int64_t job_id);

/* The attempt runs there now. Returns whether a place is tried again with it. */
bool place_watch_started(struct place_watch *w, const char *places, int64_t attempt_id, int64_t now_ms);

/* Drops the doubts once nothing else that could settle them comes. False: there were none. */
bool place_watch_drop_doubts(struct place_watch *w);

/* Places that are set aside are tried again now. */
void place_watch_release(struct place_watch *w, int64_t now_ms);

/* Until a place is tried again; -1: none is set aside. */
int64_t place_watch_due_ms(const struct place_watch *w, int64_t now_ms);

/* A change of a place's state. */
struct place_change {
    char *place, *message; /* of the first failure there */
    bool is_aside;         /* else it works again */
    bool is_again;         /* it has been set aside before, and failed when it was tried */
    int64_t jobs;          /* that failed there and went well elsewhere */
    int64_t since_ms, until_ms, rest_ms;
    int64_t *attempts; /* that failed there: not to count against their jobs */
    size_t attempt_count;
};
struct place_changes {
    struct place_change *items;
    size_t count;
};
void place_changes_free(struct place_changes *c);

/* Takes those that have come since the last call; the caller's. */
struct place_changes place_watch_take(struct place_watch *w);

/* Takes jobs that are to run elsewhere and have not been taken yet: at most `room`. */
size_t place_watch_take_seconds(struct place_watch *w, int64_t *job_ids, size_t room);

/* --- in the database and in words --- */

/* The watch's names for places. */
struct place_naming {
    enum { PLACES_ARE_DEVICES = 1, PLACES_ARE_DEVICES_OF_NODES, PLACES_ARE_NODES } kind; /* "0", "n1:0", "n1" */
    char host[65];                                                                       /* this one */
};

/* Tells the watch which were set aside before; `release`: they are tried at once. */
int place_record_load(struct db *db, const struct place_naming *naming, bool release, struct place_watch *w,
                      struct error *e);

/* Inside the caller's write transaction. Raises `reopened` by the jobs that had failed for
 * the places and are pending again, by what their failure was. */
struct place_target {
    struct db *db;
    const struct place_naming *naming;
    bool keeps_sums; /* see database/attempt_sums.h */
};
int place_record_write(const struct place_target *target, const struct place_changes *changes,
                       int64_t reopened[FAILURE_COUNT], struct error *e);

/* A sentence about it; the caller's. */
char *place_record_describe(const struct place_naming *naming, const struct place_change *change);
