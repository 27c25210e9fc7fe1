/* The address at which a page is served, as people write it, and a socket that listens there. */
#ifndef MESHSWEEP_SERVE_ADDRESS_H
#define MESHSWEEP_SERVE_ADDRESS_H

#include "util/error.h"

struct serve_address {
    char *host; /* a name or a number, without the brackets of IPv6 */
    int port;   /* 0: any free port */
};

/* Parses "", "PORT", "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT"; the defaults are 127.0.0.1 and a free port.
 * ERROR_USAGE for anything else. `*out` is the caller's: serve_address_free. */
int serve_address_parse(const char *text, struct serve_address *out, struct error *e);
void serve_address_free(struct serve_address *a);

/* Listens at the address and sets `port` to the actual one. The descriptor is the caller's. The error says what to do
 * if the port is in use or needs privileges, or the machine does not have the address. */
int serve_address_listen(struct serve_address *a, int *descriptor, struct error *e);

/* "127.0.0.1:8080" or "[::1]:8080", as in a URL. The caller's. */
char *serve_address_text(const struct serve_address *a);

#endif
