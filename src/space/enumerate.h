/* Writes the space to results.db: specs, rules, exclusions and jobs, in one transaction. */
#pragma once

#include "space/match.h"
#include "store/sweeps.h"

#define EXCLUSIONS_KEPT 100 /* excluded combinations kept per rule; the rest is counted */

struct unlisted;

struct enumeration {
    int64_t sweep_id;
    struct sweep_counts counts;
    int64_t new_jobs;
    int64_t moved;         /* jobs that got results of others (space->moves) */
    bool was_there;        /* the sweep stood in the database as it is: nothing was enumerated */
    bool is_drawn;         /* more match than are listed: the jobs are drawn from them */
    int64_t unlisted;      /* jobs that are still to come; they are among the counted */
    struct unlisted *rest; /* those, the caller's; NULL: all are there */
};

/* A draw: if more combinations match than `most`, only `count` of them are put there, at least those of earlier draws
 * that have run; the sweep then does not count as enumerated, and the next call draws the same jobs again, and more
 * once those have run. In declared order the first ones; else each is the first that matches from a rank on that is
 * drawn with `seed`. No more is visited than is drawn. */
struct enumerate_draw {
    int64_t most, count; /* 0: all are put there */
    uint64_t seed;
    bool in_order;
};

/* What is put there, and who is told. In parts, where a great many jobs come into a database without any, and none
 * depends on how others end, only the first of them are put there, so that they can run while the others come. Until
 * those are there the sweep does not count as enumerated: the next run enumerates it again where this one dies. */
struct enumerate_order {
    void (*progress)(void *context, int64_t matched_so_far); /* now and then; NULL: nobody */
    void *context;
    struct enumerate_draw draw;
    bool in_parts;
};

/* Brings the database to hold every job of the sweep, or those of the order (NULL: all). A sweep already enumerated is
 * recognised by its hash and the number of its jobs, and left alone. */
int enumerate_into(struct space *space, struct db *db, const struct enumerate_order *order, struct enumeration *out,
                   struct error *e);

/* Puts them all there, once, and ends the caller's write transaction, in which there is nothing else: commits it, or
 * rolls it back where it fails or is stopped. In the thread that the database belongs to then; nobody else is to match
 * in the space meanwhile. */
int unlisted_put(struct unlisted *u, struct error *e);

/* From any thread: unlisted_put puts none of them there, and returns within milliseconds. */
void unlisted_stop(struct unlisted *u);

int64_t unlisted_count(const struct unlisted *u); /* those to come; NULL: 0 */
void unlisted_free(struct unlisted *u);

/* The hashes under which a space's sweep is recorded: of the file, its profiles, the built-in rules and derived keys,
 * and what the command line changed; for a space of rows, of how they were read (row_space.h); and the same without
 * what the machine excludes. */
struct sweep_identity space_identity(const struct space *space);

/* Fills the table "selected" (store/jobs.h) with the jobs whose combination satisfies `only`. ERROR_NOTHING when
 * there is none. */
int enumerate_select(struct space *space, struct db *db, const struct expression *only, struct error *e);
