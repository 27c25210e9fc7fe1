/* Places that are set aside (measures/place_watch.h) in the database and in words. */
#ifndef MESHSWEEP_MEASURES_PLACE_RECORD_H
#define MESHSWEEP_MEASURES_PLACE_RECORD_H

#include "config/failure.h"
#include "database/attempt_sums.h"
#include "database/db.h"
#include "measures/place_watch.h"

/* What the watch calls a place. */
struct place_naming {
    enum { PLACES_ARE_DEVICES = 1, PLACES_ARE_DEVICES_OF_NODES, PLACES_ARE_NODES } kind; /* "0", "n1:0", "n1" */
    char host[65];                                                                       /* this one */
};

/* Tells the watch which were set aside before; `release`: they are tried at once. */
int place_record_load(struct db *db, const struct place_naming *naming, bool release, struct place_watch *w,
                      struct error *e);

/* Inside the caller's write transaction. `sums` NULL: none are kept. Raises `reopened` by the jobs that had failed for
 * the places and are pending again, by what their failure was. */
struct place_target {
    struct db *db;
    const struct place_naming *naming;
    struct attempt_sums *sums;
};
int place_record_write(const struct place_target *target, const struct place_changes *changes,
                       int64_t reopened[FAILURE_COUNT], struct error *e);

/* A sentence about it; the caller's. */
char *place_record_describe(const struct place_naming *naming, const struct place_change *change);

#endif
