/* Access control: a request is admitted by the token in its path and by the browser's headers about its origin. Pure.
 * */
#pragma once

#include <stdbool.h>

#define GATE_TOKEN_BYTES 32 /* hexadecimal digits: 128 bits */

struct gate {
    const char *token; /* "": no token is needed */
    const char *host;  /* host name that is allowed besides localhost and numeric addresses */
};

struct gate_request {
    const char *method, *path;                  /* the path decoded */
    const char *host, *origin, *site, *fetched; /* Host, Origin, Sec-Fetch-Site, Sec-Fetch-Mode; NULL: not sent */
};

/* 200 and in `*rest` what stands behind the token and its slash, "" for the page. Else the status of the refusal:
 *
 * 405 for what is neither GET nor HEAD.
 * 403 for a Host that is a name other than localhost and gate->host: a name that somebody else's DNS may point here
 *     (DNS rebinding). The port does not count, for it is another one behind a tunnel.
 * 403 for what another site asks for: an Origin other than the Host, or Sec-Fetch-Site cross-site or same-site, but for
 *     a link that somebody follows (Sec-Fetch-Mode: navigate).
 * 403 for a wrong token, compared in constant time; `*wrong_token` tells it from the others.
 * 301 where the slash behind the token is missing: relative links need it. */
int gate_check(const struct gate *g, const struct gate_request *r, const char **rest, bool *wrong_token);
