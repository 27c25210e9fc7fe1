/* How `ask` and `tell` begin: they enumerate the sweep of the database and read the JSON input. */
#pragma once

#include "ask/proposals.h"
#include "cli/session.h"

struct proposing {
    struct session session;
    struct db *db;
    struct measures *measures;
    struct proposal_place place; /* without runner, by and why */
};

/* Opens the database for writing and begins a transaction. Released with proposing_close in any case. */
int proposing_open(struct proposing *p, const char *config, const char *db, struct error *e);

/* Commits if `rc` is 0, else rolls back. Returns -1 if either failed. */
int proposing_end(struct proposing *p, int rc, struct error *e);
void proposing_close(struct proposing *p);

/* Parses a file, or standard input for "-". ERROR_USAGE for invalid JSON. */
int proposing_read(const char *path, cJSON **out, struct error *e);
