/* Builds a space from a checked sweep: fills the spec tables and compiles every expression. */
#pragma once

#include "config/problems.h"
#include "config/scaling.h"
#include "space/space.h"

/* A constant that a file beside the sweep file gives for every job: a key that no spec has, or that a spec lacks, has
 * this value in expressions. */
struct space_constant {
    char *name;
    char *sql; /* literal */
};

struct space_base {
    struct space_constant *constants;
    size_t count;
    struct hash128 hash; /* of all that the file's content does to a job; counts towards identity */
};

struct space_options {
    int64_t manual_timeout_ms; /* for combinations that bind a parallel plan; 0: 600 s where the file says nothing */
    char *const *command;      /* replaces [job] command when not NULL; NULL-terminated, borrowed */
    bool command_is_line;      /* of `command`, as in struct command_words */
    const struct space_base *base; /* NULL: none; only needed while the space is built */
    /* Facts of the model (sweep_file/model_info_sweep.h), NAN for what is not known; NULL: those that the file gives.
     * Keys that no spec has, or that a spec lacks, have these values where the file has [model_info]. They do not count
     * towards identity. */
    const double *facts;
    bool is_single;                /* combinations are asked for one at a time, not as a product */
    const struct scaling *scaling; /* of recorded_space_build: jobs as they would be so scaled; NULL: as they are */
};

/* Builds. Every expression and placeholder that does not resolve is added to `problems`, with its place. Where there
 * are any, from before (sweep_read) or found now, `*out` is NULL; a sweep with problems is not expanded. -1: it could
 * not be found out. */
int space_build_noting(const struct sweep *s, const struct space_options *options, struct problems *problems,
                       struct space **out, struct error *e);

/* The same of a sweep without problems: those that are found are the error (ERROR_USAGE). */
int space_build(const struct sweep *s, const struct space_options *options, struct space **out, struct error *e);
void space_free(struct space *space);

/* A local one, which is released where its scope ends: `OWNED_SPACE *space = NULL;` after what it borrows. */
#define OWNED_SPACE __attribute__((cleanup(space_release))) struct space
void space_release(struct space **at);

/* SQL function duration_ms(X) for a connection: what a limit says, in milliseconds; NULL for none. */
int limits_add_function(struct db *db, struct error *e);
