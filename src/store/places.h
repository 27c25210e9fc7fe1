/* The places where attempts ran. */
#pragma once

#include <stdbool.h>

#include "config/failure.h"
#include "database/db.h"

struct place {
    char *host;
    char *devices; /* "0,2", as CUDA_VISIBLE_DEVICES has them; NULL: none were given */
    bool is_named; /* the host is the attempt's own, not its runner's */
    bool lost;     /* some attempt was lost there */
};

struct places {
    struct place *items;
    size_t count;
};

#define PLACES_INIT ((struct places){NULL, 0})
void places_free(struct places *p);

/* Finds where attempts of the job failed otherwise than by a person's will, or had slow devices, each place once, the
 * last first: places that another attempt is to avoid where there is a choice. `out` is appended to. */
int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e);

/* --- places that are set aside --- */

/* A device of a host, or (device NULL) a node. */
struct place_row {
    const char *host, *device, *message;
    int64_t jobs; /* that failed there and went well elsewhere */
    int64_t since_ms, until_ms, rest_ms;
};

/* "device 1 of HOST", "node n1". The caller's. */
char *place_name(const char *host, const char *device);

/* Inside the caller's write transaction, all three. */
int place_set_aside(struct db *db, const struct place_row *row, struct error *e);
int place_restore(struct db *db, const char *host, const char *device, struct error *e);

/* The attempt's failure is put down to its place. A job that stands as failed by it is pending again: `*reopened` gets
 * what its failure was; FAILURE_NONE: none was. */
int place_blame(struct db *db, int64_t attempt_id, enum failure *reopened, struct error *e);

/* Calls `found` with each; borrowed. */
int places_aside_read(struct db *db, void (*found)(void *context, const struct place_row *row), void *context,
                      struct error *e);
