/* The report over a running sweep: the page is made again as commits land, and served until a signal asks for the end.
 * One reading serves all readers. It only reads, runs at the lowest priority, and rests until pages and readers
 * together took a hundredth of the machine's processor time, so that a run hardly notices. The database may be
 * replaced, deleted and made anew, or belong to a newer program after a while: those who read the page are told, and
 * the page goes on when it can. */
#ifndef MESHSWEEP_SERVE_SERVE_H
#define MESHSWEEP_SERVE_SERVE_H

#include "util/error.h"

struct serve_options {
    const char *db_path;
    const char *address; /* serve/address.h */
    const char *token;   /* NULL: a random one; "": none */
    void (*print)(const char *url);
    void (*tell)(void *context, const char *text); /* server_options.tell */
};

/* Returns when a signal came, with its number in `*signal_number`. Fails where nothing can be served from the start: a
 * wrong address, a port in use, no database or one that cannot be read. A database without a sweep can. */
int serve_report(const struct serve_options *o, int *signal_number, struct error *e);

#endif
