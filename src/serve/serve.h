/* Serves the report of a running sweep: the page is made again after commits, once for all readers, until a signal ends
 * the program. It only reads the database, runs at the lowest priority, and rests so that a run hardly notices. If the
 * database is replaced, deleted or migrated, readers are told, and the page continues when it can. */
#pragma once

#include "util/error.h"

struct serve_options {
    const char *db_path;
    const char *address; /* serve/address.h */
    const char *token;   /* NULL: a random one; "": none */
    void (*print)(const char *url);
    void (*tell)(void *context, const char *text); /* server_options.tell */
};

/* Returns after a signal, with its number in `*signal_number`. Fails at the start for a wrong address, a port in use,
 * or a database that is missing or cannot be read; a database without a sweep is accepted. */
int serve_report(const struct serve_options *o, int *signal_number, struct error *e);
