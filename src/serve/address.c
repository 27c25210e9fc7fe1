#include "serve/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/memory.h"

#define BACKLOG 128

static int parse_port(const char *text, int *out)
{
    size_t digits = strspn(text, "0123456789");
    long port = digits > 0 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    *out = (int)port;
    return port >= 0 && port <= 65535 ? 0 : -1;
}

/* Splits "[::1]:8080" or "host:8080"; an IPv6 address needs brackets before a port. */
static int split(const char *text, char **host, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        if (!end || end == text + 1 || (end[1] != '\0' && end[1] != ':'))
            return -1;
        *host = xstrndup(text + 1, (size_t)(end - text - 1));
        *port = end[1] ? end + 2 : NULL;
    } else if (colon && strchr(text, ':') == colon) {
        *host = colon == text ? NULL : xstrndup(text, (size_t)(colon - text));
        *port = colon + 1;
    } else {
        *host = xstrdup(text);
        *port = NULL;
    }
    return 0;
}

int serve_address_parse(const char *text, struct serve_address *out, struct error *e)
{
    struct serve_address a = {NULL, 0};
    const char *port = NULL;
    bool only_port = text[0] != '\0' && parse_port(text, &a.port) == 0;
    if (!only_port && text[0] != '\0') {
        a.port = 0;
        if (split(text, &a.host, &port) < 0 || (port && parse_port(port, &a.port) < 0)) {
            free(a.host);
            return error_set(e, ERROR_USAGE,
                             "--serve %s: must be HOST, PORT or HOST:PORT, with a port up to 65535; an IPv6 address in "
                             "brackets",
                             text);
        }
    }
    a.host = a.host ? a.host : xstrdup("127.0.0.1");
    *out = a;
    return 0;
}

void serve_address_free(struct serve_address *a)
{
    free(a->host);
    *a = (struct serve_address){NULL, 0};
}

char *serve_address_text(const struct serve_address *a)
{
    return xasprintf(strchr(a->host, ':') ? "[%s]:%d" : "%s:%d", a->host, a->port);
}

static int port_of(int descriptor)
{
    struct sockaddr_storage name = {0};
    socklen_t length = sizeof name;
    char text[8];
    int port = 0;
    bool known = getsockname(descriptor, (struct sockaddr *)&name, &length) == 0 &&
                 getnameinfo((struct sockaddr *)&name, length, NULL, 0, text, sizeof text, NI_NUMERICSERV) == 0 &&
                 parse_port(text, &port) == 0;
    return known ? port : 0;
}

static int listen_at(const struct addrinfo *a)
{
    int descriptor = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    const int yes = 1;
    if (descriptor < 0)
        return -1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        (a->ai_family == AF_INET6 && setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) < 0) ||
        bind(descriptor, a->ai_addr, a->ai_addrlen) < 0 || listen(descriptor, BACKLOG) < 0) {
        int why = errno;
        close(descriptor);
        errno = why;
        return -1;
    }
    return descriptor;
}

static const char *advice(int why)
{
    switch (why) {
    case EADDRINUSE:
        return "; another program listens there; choose another port, or give none to use a free one";
    case EACCES:
        return "; ports below 1024 need root; choose a higher one";
    case EADDRNOTAVAIL:
        return "; this machine has no such address";
    default:
        return "";
    }
}

int serve_address_listen(struct serve_address *a, int *descriptor, struct error *e)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char *port = xasprintf("%d", a->port), *text = serve_address_text(a);
    int rc = getaddrinfo(a->host, port, &hints, &found), why = 0;
    *descriptor = -1;
    if (rc != 0)
        error_set(e, ERROR_FAILED, "--serve %s: %s", text, gai_strerror(rc));
    for (const struct addrinfo *each = found; each && *descriptor < 0; each = each->ai_next) {
        *descriptor = listen_at(each);
        why = errno;
    }
    if (*descriptor >= 0)
        a->port = port_of(*descriptor);
    else if (rc == 0)
        error_set(e, ERROR_FAILED, "--serve %s: %s%s", text, strerror(why), advice(why));
    if (found)
        freeaddrinfo(found);
    free(port);
    free(text);
    return *descriptor < 0 ? -1 : 0;
}
