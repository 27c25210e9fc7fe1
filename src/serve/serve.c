#include "serve/serve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/open.h"
#include "page/page.h"
#include "process/interrupts.h"
#include "serve/gate.h"
#include "serve/server.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

/* --- address --- */

/* The address at which a page is served, as people write it, and a socket that listens there. */

struct serve_address {
    char *host; /* a name or a number, without the brackets of IPv6 */
    int port;   /* 0: any free port */
};

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

/* Parses "", "PORT", "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT"; the defaults are 127.0.0.1 and a free port.
 * ERROR_USAGE for anything else. `*out` is the caller's: serve_address_free. */
static int serve_address_parse(const char *text, struct serve_address *out, struct error *e)
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

static void serve_address_free(struct serve_address *a)
{
    free(a->host);
    *a = (struct serve_address){NULL, 0};
}

/* "127.0.0.1:8080" or "[::1]:8080", as in a URL. The caller's. */
static char *serve_address_text(const struct serve_address *a)
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

/* Listens at the address and sets `port` to the actual one. The descriptor is the caller's. The error says what to do
 * if the port is in use or needs privileges, or the machine does not have the address. */
static int serve_address_listen(struct serve_address *a, int *descriptor, struct error *e)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    OWNED char *port = xasprintf("%d", a->port), *text = serve_address_text(a);
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
    return *descriptor < 0 ? -1 : 0;
}

/* --- serve --- */

/* Sanitizers make a page cost several times as much, for which the server would rest for minutes. */
#ifdef __SANITIZE_ADDRESS__
#define COST_OF_SANITIZERS 10
#else
#define COST_OF_SANITIZERS 1
#endif

enum {
    LOOK_MS = 200,     /* between two checks for commits */
    REST_MS = 1000,    /* minimum time between two pages or two updates of rows */
    PAGES_SHARE = 250, /* at most 1/N of the machine's processor time, including what readers take */
    ROWS_SHARE = 600,  /* the same for rows */
    BEAT_MS = 15000,
    LOWEST_PRIORITY = 19,
};

struct watched {
    const char *path;
    char *directory;
    struct db *db; /* NULL: it could not be opened */
    dev_t device;
    ino_t inode;
    int64_t schema;                 /* user_version */
    int64_t written;                /* of the file when it was opened: see written_at */
    int64_t committed;              /* data_version of the page that is shown; -1: none */
    int64_t page_at_ms, rows_at_ms; /* earliest time of the next page or rows */
    bool early;                     /* the last page was made early, so the next one must not be */
    int64_t rows_committed;         /* data_version of the rows that were sent last */
    int64_t used_us;                /* processor time used until the last rest */
    struct html_follower follower;
};

/* --- the database --- */

static void watched_close(struct watched *w)
{
    if (w->db)
        store_close(w->db);
    w->db = NULL;
    w->committed = -1;
    html_follower_free(&w->follower);
}

/* Changes whenever the file or its log does: a private copy of a database of an older version does not follow them. */
static int64_t written_at(const char *path)
{
    struct stat s;
    OWNED char *log = xasprintf("%s-wal", path);
    const char *const files[] = {path, log};
    int64_t sum = 0;
    for (int i = 0; i < 2; i++)
        if (stat(files[i], &s) == 0)
            sum += s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec + s.st_size;
    return sum;
}

static int watched_open(struct watched *w, struct error *e)
{
    struct stat s;
    w->written = written_at(w->path);
    if (store_open_read_only(w->path, &w->db, e) < 0)
        return -1;
    if (stat(w->path, &s) < 0) {
        error_errno(e, errno, "database %s", w->path);
        watched_close(w);
        return -1;
    }
    w->device = s.st_dev;
    w->inode = s.st_ino;
    if (db_query_int(w->db, "PRAGMA user_version", NO_VALUES, 0, &w->schema, e) == 0)
        return 0;
    watched_close(w);
    return -1;
}

/* A copy is made again no more often than a page is. */
static bool is_copy_current(const struct watched *w)
{
    return !store_is_copy(w->db) || clock_monotonic_ms() < w->page_at_ms || written_at(w->path) == w->written;
}

/* Reopens the database if the file was replaced or its schema changed. */
static int watched_follow(struct watched *w, struct error *e)
{
    struct stat s;
    int64_t schema = -1;
    bool is_there = stat(w->path, &s) == 0;
    if (w->db && is_there && s.st_dev == w->device && s.st_ino == w->inode && is_copy_current(w) &&
        db_query_int(w->db, "PRAGMA user_version", NO_VALUES, 0, &schema, e) == 0 && schema == w->schema)
        return 0;
    watched_close(w);
    return watched_open(w, e);
}

/* --- the page --- */

static int make_page(struct watched *w, struct buffer *text, struct error *e)
{
    const struct report_sink sink = report_sink_of_buffer(text);
    const struct html_request request = {w->directory, path_name(w->directory), clock_wall_ms(), true,
                                         &w->follower.columns};
    return html_report(w->db, &request, &sink, e);
}

/* The time from which the processor time used since the last rest is at most 1/`share` of the time since `from_ms`, or
 * since now if that is later. */
static int64_t rested_at(struct watched *w, int64_t from_ms, int64_t share)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t used_us = clock_processor_us(), now_ms = clock_monotonic_ms();
    int64_t rest_ms = (used_us - w->used_us) / COST_OF_SANITIZERS * share / 1000 / (processors > 0 ? processors : 1);
    w->used_us = used_us;
    return (from_ms > now_ms ? from_ms : now_ms) + (rest_ms > REST_MS ? rest_ms : REST_MS);
}

static int show_page(struct watched *w, struct server *server, int64_t committed, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    const bool early = w->page_at_ms > clock_monotonic_ms();
    int rc = html_follow_begin(w->db, &w->follower, e) < 0 ? -1 : make_page(w, &text, e);
    if (rc == 0) {
        w->committed = w->rows_committed = committed;
        server_show(server, &text);
    }
    w->early = early;
    w->page_at_ms = rested_at(w, w->page_at_ms, PAGES_SHARE);
    return rc;
}

static void take_row(void *context, int64_t job, struct buffer *row)
{
    live_rows_put(context, job, row);
}

/* An outdated page is replaced early; the next one is then delayed by as much. */
static int show_rows(struct watched *w, struct server *server, int64_t committed, struct error *e)
{
    struct live_rows rows = LIVE_ROWS_INIT;
    const struct html_rows_sink sink = {take_row, &rows};
    int rc = html_follow(w->db, &w->follower, path_name(w->path), &sink, e);
    if (rc == 0) {
        live_rows_put_search(&rows, xstrdup(buffer_text(&w->follower.search)));
        w->rows_committed = w->follower.more ? -1 : committed;
        server_show_rows(server, &rows);
    }
    live_rows_clear(&rows);
    w->rows_at_ms = rested_at(w, 0, ROWS_SHARE);
    return rc == 0 && w->follower.outdated && !w->early ? show_page(w, server, committed, e) : rc;
}

/* Makes a new page after a commit, or while that would be too often, sends rows of changed jobs. Returns 1 if it did
 * neither in order to rest. */
static int serve_changes(struct watched *w, struct server *server, struct error *e)
{
    int64_t now_ms = clock_monotonic_ms(), committed = -1;
    if (w->committed < 0 && now_ms < w->page_at_ms)
        return 1;
    if (watched_follow(w, e) < 0 || db_query_int(w->db, "PRAGMA data_version", NO_VALUES, -1, &committed, e) < 0)
        return -1;
    if (committed == w->committed)
        return 0;
    if (now_ms >= w->page_at_ms)
        return show_page(w, server, committed, e);
    if (w->committed < 0 || committed == w->rows_committed || now_ms < w->rows_at_ms ||
        w->page_at_ms - now_ms <= REST_MS)
        return 1;
    return show_rows(w, server, committed, e);
}

static void watch(struct watched *w, struct server *server, const struct interrupts *interrupts, struct wake *wake)
{
    int64_t beat_ms = clock_monotonic_ms();
    while (!wake->signal) {
        struct error e = ERROR_INIT;
        int rc = serve_changes(w, server, &e);
        if (rc <= 0)
            server_tell(server, rc < 0 ? e.text : NULL);
        int64_t now_ms = clock_monotonic_ms();
        if (now_ms - beat_ms >= BEAT_MS) {
            server_beat(server);
            beat_ms = now_ms;
        }
        interrupts_wait(interrupts, LOOK_MS, wake);
    }
}

/* --- all of it --- */

static int make_token(char out[GATE_TOKEN_BYTES + 1], struct error *e)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[GATE_TOKEN_BYTES / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(e, ERROR_FAILED, "--serve: no random numbers for the token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[GATE_TOKEN_BYTES] = '\0';
    return 0;
}

static int check_token(const char *token, struct error *e)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (token[strspn(token, allowed)] != '\0' || strlen(token) > 200)
        return error_set(e, ERROR_USAGE, "--token: use letters, digits, - and _, at most 200");
    return 0;
}

static int serve_watched(struct watched *w, const struct serve_options *o, struct serve_address *a, const char *token,
                         int *signal_number, struct error *e)
{
    struct interrupts interrupts;
    struct wake wake = {0, 0};
    struct server *server = NULL;
    struct server_options options = {.token = token,
                                     .host = a->host,
                                     .job_files = w->directory,
                                     .tell = o->tell,
                                     .context = NULL};
    if (serve_address_listen(a, &options.listening, e) < 0)
        return -1;
    setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
    interrupts_begin(&interrupts);
    int rc = server_start(&options, &server, e);
    if (rc == 0) {
        OWNED char *address = serve_address_text(a);
        OWNED char *url = xasprintf("http://%s/%s%s", address, token, token[0] ? "/" : "");
        o->print(url);
        watch(w, server, &interrupts, &wake);
        server_stop(server);
        *signal_number = wake.signal;
    }
    interrupts_end(&interrupts);
    return rc;
}

int serve_report(const struct serve_options *o, int *signal_number, struct error *e)
{
    char made[GATE_TOKEN_BYTES + 1];
    struct serve_address a = {NULL, 0};
    struct watched w = {.path = o->db_path, .committed = -1, .follower = HTML_FOLLOWER_INIT};
    if (serve_address_parse(o->address, &a, e) < 0)
        return -1;
    int rc = o->token ? check_token(o->token, e) : make_token(made, e);
    if (rc == 0)
        rc = watched_open(&w, e);
    w.directory = rc == 0 ? store_directory_of(w.db) : NULL;
    if (rc == 0)
        rc = serve_watched(&w, o, &a, o->token ? o->token : made, signal_number, e);
    watched_close(&w);
    free(w.directory);
    serve_address_free(&a);
    return rc;
}
