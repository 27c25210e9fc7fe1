#include "serve/gate.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 255

/* The host of "host", "host:port", "[ipv6]" or "[ipv6]:port", without brackets; false if it is not of these forms. */
static bool host_of(const char *text, char host[HOST_BYTES + 1])
{
    size_t brackets = text[0] == '[';
    size_t length = strcspn(text + brackets, brackets ? "]" : ":");
    const char *end = text + brackets + length + brackets;
    if (length == 0 || length > HOST_BYTES || (brackets && text[1 + length] != ']') || (*end && *end != ':'))
        return false;
    memcpy(host, text + brackets, length);
    host[length] = '\0';
    return true;
}

static bool is_number(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool is_host_allowed(const struct gate *g, const char *text)
{
    char host[HOST_BYTES + 1];
    return text && host_of(text, host) &&
           (is_number(host) || strcasecmp(host, "localhost") == 0 || strcasecmp(host, g->host) == 0);
}

static bool is_from_elsewhere(const struct gate_request *r)
{
    static const char scheme[] = "http://";
    bool navigates = r->fetched && strcmp(r->fetched, "navigate") == 0;
    if (r->site && !navigates && strcmp(r->site, "same-origin") != 0 && strcmp(r->site, "none") != 0)
        return true;
    return r->origin &&
           (strncmp(r->origin, scheme, strlen(scheme)) != 0 || strcasecmp(r->origin + strlen(scheme), r->host) != 0);
}

static bool is_token(const char *token, const char *text, size_t length)
{
    unsigned char differs = length != strlen(token);
    for (size_t i = 0; i < strlen(token); i++)
        differs |= (unsigned char)(token[i] ^ (i < length ? text[i] : 0));
    return differs == 0;
}

int gate_check(const struct gate *g, const struct gate_request *r, const char **rest, bool *wrong_token)
{
    *wrong_token = false;
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
        return 405;
    if (!is_host_allowed(g, r->host) || is_from_elsewhere(r) || r->path[0] != '/')
        return 403;
    *rest = r->path + 1;
    if (!g->token[0])
        return 200;
    size_t length = strcspn(r->path + 1, "/");
    *wrong_token = !is_token(g->token, r->path + 1, length);
    if (*wrong_token)
        return 403;
    if (r->path[1 + length] == '\0')
        return 301;
    *rest = r->path + 1 + length + 1;
    return 200;
}
