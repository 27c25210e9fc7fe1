/* Where a page is served: an address as people write it, and a socket that listens there. */
#ifndef MESHSWEEP_SERVE_ADDRESS_H
#define MESHSWEEP_SERVE_ADDRESS_H

#include "util/error.h"

struct serve_address {
    char *host; /* a name or a number, without the brackets of IPv6 */
    int port;   /* 0: one that is free */
};

/* Of "", "PORT", "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT": what is left out is 127.0.0.1 and a free port.
 * ERROR_USAGE for anything else. `*out` is the caller's: serve_address_free. */
int serve_address_parse(const char *text, struct serve_address *out, struct error *e);
void serve_address_free(struct serve_address *a);

/* Listens there and sets `port` to the one that it got. The descriptor is the caller's. An error says what is in the
 * way: a port in use, a name that is not an address, a port that needs privileges. */
int serve_address_listen(struct serve_address *a, int *descriptor, struct error *e);

/* "127.0.0.1:8080", "[::1]:8080": as it stands in a URL. The caller's. */
char *serve_address_text(const struct serve_address *a);

#endif
