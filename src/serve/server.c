#include "serve/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/job_file.h"
#include "serve/gate.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/library.h"
#include "util/memory.h"

/* --- the page --- */

/* A page with a version for each line, so that readers of an older version can be sent the difference. Pure. */

struct live_line {
    size_t offset, length; /* range in the text, without the line end */
    int64_t version;       /* in which it last changed */
};

/* A run of lines that begins with "<section", "</main>" or "<script", or the first one. */
struct live_part {
    struct live_line *lines;
    size_t count;
};

struct live_page {
    struct buffer text;
    struct live_part *parts;
    size_t part_count;
    int64_t version; /* 0: no page yet */
    int64_t since;   /* versions before this one had other parts; their readers get everything */
};

#define LIVE_PAGE_INIT ((struct live_page){BUFFER_INIT, NULL, 0, 0, 0})

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && strncmp(line, with, strlen(with)) == 0;
}

static void add_line(struct live_page *p, size_t offset, size_t length)
{
    const char *line = p->text.data + offset;
    if (p->part_count == 0 || begins(line, length, "<section") || begins(line, length, "</main>") ||
        begins(line, length, "<script")) {
        *array_add(p->parts, p->part_count) = (struct live_part){NULL, 0};
    }
    struct live_part *part = &p->parts[p->part_count - 1];
    *array_add(part->lines, part->count) = (struct live_line){offset, length, p->version};
}

static struct live_page split(struct buffer *text, int64_t version)
{
    struct live_page p = {.text = *text, .version = version};
    *text = BUFFER_INIT;
    for (size_t at = 0; at < p.text.length;) {
        const char *end = memchr(p.text.data + at, '\n', p.text.length - at);
        size_t length = end ? (size_t)(end - p.text.data) - at : p.text.length - at;
        add_line(&p, at, length);
        at += length + 1;
    }
    return p;
}

static bool is_same(const struct live_page *a, const struct live_line *x, const struct live_page *b,
                    const struct live_line *y)
{
    return x->length == y->length && memcmp(a->text.data + x->offset, b->text.data + y->offset, x->length) == 0;
}

/* Lines that did not change keep their version. Returns whether another line than the footer changed. */
static bool compare_part(const struct live_page *was, const struct live_part *old, const struct live_page *is,
                         struct live_part *now)
{
    bool changed = now->count != old->count;
    for (size_t i = 0; now->count == old->count && i < now->count; i++) {
        if (is_same(was, &old->lines[i], is, &now->lines[i]))
            now->lines[i].version = old->lines[i].version;
        else
            changed |= !begins(is->text.data + now->lines[i].offset, now->lines[i].length, "<footer");
    }
    return changed;
}

static void live_page_free(struct live_page *p)
{
    for (size_t i = 0; i < p->part_count; i++)
        free(p->parts[i].lines);
    free(p->parts);
    buffer_free(&p->text);
    *p = LIVE_PAGE_INIT;
}

/* Takes over the contents of `text`. Returns whether anything but the line that begins with "<footer" changed; if not,
 * the page stays as it was. Lines of a part are compared one by one if their number is the same as before. */
static bool live_page_update(struct live_page *p, struct buffer *text)
{
    struct live_page now = split(text, p->version + 1);
    bool changed = p->version == 0 || now.part_count != p->part_count;
    now.since = changed ? now.version : p->since;
    for (size_t i = 0; now.since != now.version && i < now.part_count; i++)
        changed |= compare_part(p, &p->parts[i], &now, &now.parts[i]);
    if (!changed) {
        live_page_free(&now);
        return false;
    }
    live_page_free(p);
    *p = now;
    return true;
}

static void add_part(const struct live_page *p, size_t index, int64_t since, bool *first, struct buffer *out)
{
    const struct live_part *part = &p->parts[index];
    bool none = true;
    for (size_t i = 0; i < part->count; i++) {
        const struct live_line *line = &part->lines[i];
        if (line->version <= since)
            continue;
        if (none)
            buffer_printf(out, "%s\"%zu\":{\"count\":%zu,\"lines\":{", *first ? "" : ",", index, part->count);
        buffer_printf(out, "%s\"%zu\":", none ? "" : ",", i);
        buffer_add_json_string(out, p->text.data + line->offset, line->length);
        none = *first = false;
    }
    buffer_add_text(out, none ? "" : "}}");
}

/* Appends {"version": V, "parts": N, "changed": {"PART": {"count": N, "lines": {"LINE": "TEXT"}}}}: what differs from
 * version `since` (0: everything), with parts and lines counted from 0. */
static void live_page_add_changes(const struct live_page *p, int64_t since, struct buffer *out)
{
    bool first = true;
    int64_t known = since >= p->since && since <= p->version ? since : 0;
    buffer_printf(out, "{\"version\":%lld,\"parts\":%zu,\"changed\":{", (long long)p->version, p->part_count);
    for (size_t i = 0; i < p->part_count; i++)
        add_part(p, i, known, &first, out);
    buffer_add_text(out, "}}\n");
}

/* --- rows of jobs --- */

void live_rows_put(struct live_rows *r, int64_t job, struct buffer *text)
{
    const size_t at = FIRST_SORTED(i, r->count, r->items[i].job >= job); /* its row, or where to insert it */
    char *taken = buffer_take(text);
    if (at < r->count && r->items[at].job == job) {
        if (strcmp(r->items[at].text, taken) == 0) {
            free(taken);
            return;
        }
        free(r->items[at].text);
    } else {
        r->items = array_grow(r->items, r->count, sizeof *r->items);
        memmove(&r->items[at + 1], &r->items[at], (r->count - at) * sizeof *r->items);
        r->count++;
    }
    r->items[at].job = job;
    r->items[at].change = ++r->change;
    r->items[at].text = taken;
}

void live_rows_put_search(struct live_rows *r, char *text)
{
    if (r->search ? strcmp(r->search, text) == 0 : text[0] == '\0') {
        free(text);
        return;
    }
    free(r->search);
    r->search = text;
    r->change++;
}

/* Appends the rows that changed after `since`, separated by ",". */
static void live_rows_add_changes(const struct live_rows *r, int64_t since, struct buffer *out)
{
    bool first = true;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].change <= since)
            continue;
        buffer_add_text(out, first ? "" : ",");
        buffer_add_text(out, r->items[i].text);
        first = false;
    }
}

void live_rows_clear(struct live_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->items[i].text);
    free_all(r->items, r->search);
    r->items = NULL;
    r->search = NULL;
    r->count = 0;
}

/* --- http library --- */

/* libmicrohttpd as a table of its functions, which is loaded when a page is served (util/library.h). A program that can
 * load no libraries has it in itself (configure --enable-linked-httpd). */

#define HTTP_FUNCTIONS(each)                                                                                           \
    each(add_response_header) each(create_response_from_buffer) each(create_response_from_callback)                    \
        each(create_response_from_fd64) each(destroy_response) each(get_version) each(lookup_connection_value)         \
            each(queue_response) each(resume_connection) each(set_connection_option) each(start_daemon)                \
                each(stop_daemon) each(suspend_connection)

struct http_library {
#define HTTP_FUNCTION(name) __typeof__(MHD_##name) *name;
    HTTP_FUNCTIONS(HTTP_FUNCTION)
#undef HTTP_FUNCTION
};

static int http_library_load(struct http_library *out, struct error *e)
{
#ifdef MESHSWEEP_LINKED_HTTPD
    (void)e;
#define LINKED(name) out->name = MHD_##name;
    HTTP_FUNCTIONS(LINKED)
#undef LINKED
    return 0;
#else
#define NAME(name) "MHD_" #name,
    static const char *const names[] = {HTTP_FUNCTIONS(NAME)};
#undef NAME
    /* In 0.9.71, the oldest version that configure accepts, and all later ones including 1.0. */
    return library_load("libmicrohttpd.so.12", "libmicrohttpd12", names, sizeof names / sizeof *names, out, e);
#endif
}

/* --- server --- */

enum {
    CONNECTIONS_MOST = 1000,
    CONNECTIONS_OF_ADDRESS_MOST = 250, /* others get in beside one that holds all it can */
    IDLE_S = 60,
    SILENT_S = 10,       /* before a connection's first request */
    EVENT_BYTES = 2048,  /* size of one event */
    PROBLEM_BYTES = 300, /* each byte may take six in JSON */
};

/* A connection that receives events. */
struct listener {
    struct server *server;
    struct MHD_Connection *connection;
    int64_t told; /* the last change that was sent; -1: none */
    bool waits;   /* the connection is suspended */
    bool beat;    /* a keep-alive comment is due */
    struct listener *previous, *next;
};

struct server {
    struct http_library http;
    struct MHD_Daemon *daemon;
    struct server_options options;
    char *token, *host, *job_files, *job_path; /* job_path: "results.db.d/" */
    pthread_mutex_t lock;                      /* protects everything below */
    struct live_page page;
    struct live_rows rows;
    char *problem;                    /* NULL: none */
    int64_t change;                   /* number of the last change of page, rows or problem */
    struct MHD_Response *whole;       /* the page; NULL: not made yet */
    struct MHD_Response *recent;      /* changes since the previous version; NULL: not made yet */
    struct MHD_Response *recent_rows; /* rows after change `rows_since`; NULL: not made yet */
    int64_t rows_since;
    struct listener *listeners;
    bool ends, told;
};

/* --- responses --- */

static void add_headers(const struct server *s, struct MHD_Response *r, const char *type, const char *policy)
{
    const struct {
        const char *name, *value;
    } headers[] = {{"Content-Type", type},
                   {"Content-Security-Policy", policy},
                   {"Cache-Control", "no-store"},
                   {"X-Content-Type-Options", "nosniff"},
                   {"X-Frame-Options", "DENY"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Resource-Policy", "same-origin"},
                   {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (size_t i = 0; i < LENGTH(headers); i++)
        if (headers[i].value)
            s->http.add_response_header(r, headers[i].name, headers[i].value);
}

/* For responses other than the page, which brings its own policy. */
#define NOTHING_ALLOWED "default-src 'none'; sandbox"

static enum MHD_Result answer(const struct server *s, struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    enum MHD_Result rc = r ? s->http.queue_response(c, status, r) : MHD_NO;
    if (r)
        s->http.destroy_response(r);
    return rc;
}

static struct MHD_Response *text_response(const struct server *s, const char *text, size_t length, const char *type,
                                          const char *policy)
{
    struct MHD_Response *r = s->http.create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
    if (r)
        add_headers(s, r, type, policy);
    return r;
}

static enum MHD_Result answer_text(const struct server *s, struct MHD_Connection *c, unsigned status, const char *text)
{
    return answer(s, c, status, text_response(s, text, strlen(text), "text/plain; charset=utf-8", NOTHING_ALLOWED));
}

/* Queues a response that is shared by readers. */
static enum MHD_Result answer_kept(const struct server *s, struct MHD_Connection *c, struct MHD_Response *kept)
{
    return kept ? s->http.queue_response(c, MHD_HTTP_OK, kept) : MHD_NO;
}

static void forget(const struct server *s, struct MHD_Response **kept)
{
    if (*kept)
        s->http.destroy_response(*kept);
    *kept = NULL;
}

/* --- the page and what changed; with the lock --- */

static enum MHD_Result answer_page(struct server *s, struct MHD_Connection *c)
{
    if (s->page.version == 0) {
        const char *problem = s->problem ? s->problem : "the page is being made";
        struct MHD_Response *r =
            text_response(s, problem, strlen(problem), "text/plain; charset=utf-8", NOTHING_ALLOWED);
        if (r)
            s->http.add_response_header(r, "Refresh", "2");
        return answer(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, r);
    }
    if (!s->whole) {
        OWNED_BUFFER text = BUFFER_INIT;
        buffer_add(&text, s->page.text.data, s->page.text.length);
        buffer_printf(&text, "<!--%lld-->\n", (long long)s->page.version);
        s->whole = text_response(s, text.data, text.length, "text/html; charset=utf-8", "frame-ancestors 'none'");
    }
    return answer_kept(s, c, s->whole);
}

static int64_t since_of(const struct server *s, struct MHD_Connection *c)
{
    const char *asked = s->http.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "since");
    return asked && strspn(asked, "0123456789") == strlen(asked) ? strtoll(asked, NULL, 10) : 0;
}

static enum MHD_Result answer_rows(struct server *s, struct MHD_Connection *c)
{
    int64_t since = since_of(s, c);
    if (s->recent_rows && s->rows_since == since)
        return answer_kept(s, c, s->recent_rows);
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_printf(&text, "{\"version\":%lld,\"rows\":%lld,\"changed\":[", (long long)s->page.version,
                  (long long)s->rows.change);
    live_rows_add_changes(&s->rows, since, &text);
    buffer_add_text(&text, "],\"search\":");
    buffer_add_json_string(&text, s->rows.search ? s->rows.search : "", s->rows.search ? strlen(s->rows.search) : 0);
    buffer_add_text(&text, "}\n");
    forget(s, &s->recent_rows);
    s->recent_rows = text_response(s, text.data, text.length, "application/json", NOTHING_ALLOWED);
    s->rows_since = since;
    return answer_kept(s, c, s->recent_rows);
}

static enum MHD_Result answer_changes(struct server *s, struct MHD_Connection *c)
{
    int64_t since = since_of(s, c);
    bool recent = since == s->page.version - 1;
    if (recent && s->recent)
        return answer_kept(s, c, s->recent);
    OWNED_BUFFER text = BUFFER_INIT;
    live_page_add_changes(&s->page, since, &text);
    struct MHD_Response *r = text_response(s, text.data, text.length, "application/json", NOTHING_ALLOWED);
    if (!recent)
        return answer(s, c, MHD_HTTP_OK, r);
    s->recent = r;
    return answer_kept(s, c, r);
}

static enum MHD_Result answer_file(const struct server *s, struct MHD_Connection *c, const char *path)
{
    struct stat status;
    int file = job_file_open_below(s->job_files, path);
    if (file < 0 || fstat(file, &status) < 0)
        return answer_text(s, c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
    struct MHD_Response *r = s->http.create_response_from_fd64((uint64_t)status.st_size, file);
    if (r)
        add_headers(s, r, "text/plain; charset=utf-8", NOTHING_ALLOWED);
    else
        close(file);
    return answer(s, c, MHD_HTTP_OK, r);
}

/* --- events --- */

/* Writes the current state to `out`, which has EVENT_BYTES. With the lock. */
static size_t make_event(const struct server *s, char *out)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_printf(&b, "data: {\"version\":%lld,\"rows\":%lld,\"problem\":", (long long)s->page.version,
                  (long long)s->rows.change);
    if (s->problem)
        buffer_add_json_string(&b, s->problem, strnlen(s->problem, PROBLEM_BYTES));
    else
        buffer_add_text(&b, "null");
    buffer_add_text(&b, "}\n\n");
    size_t length = b.length < EVENT_BYTES ? b.length : EVENT_BYTES;
    memcpy(out, b.data, length);
    return length;
}

static ssize_t next_event(void *context, uint64_t position, char *out, size_t room)
{
    struct listener *l = context;
    struct server *s = l->server;
    ssize_t length = 0;
    (void)position;
    pthread_mutex_lock(&s->lock);
    if (s->ends) {
        length = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (l->told != s->change && room >= EVENT_BYTES) {
        l->told = s->change;
        length = (ssize_t)make_event(s, out);
    } else if (l->beat) {
        static const char beat[] = {':', '\n', '\n'};
        memcpy(out, beat, sizeof beat);
        length = sizeof beat;
    } else {
        l->waits = true;
        s->http.suspend_connection(l->connection);
    }
    l->beat = false;
    pthread_mutex_unlock(&s->lock);
    return length;
}

static void listener_free(void *context)
{
    OWNED struct listener *l = context;
    struct server *s = l->server;
    pthread_mutex_lock(&s->lock);
    if (l->previous)
        l->previous->next = l->next;
    else
        s->listeners = l->next;
    if (l->next)
        l->next->previous = l->previous;
    pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result answer_events(struct server *s, struct MHD_Connection *c)
{
    struct listener *l = xcalloc(1, sizeof *l);
    *l = (struct listener){.server = s, .connection = c, .told = -1, .next = s->listeners};
    if (l->next)
        l->next->previous = l;
    s->listeners = l;
    struct MHD_Response *r =
        s->http.create_response_from_callback(MHD_SIZE_UNKNOWN, 2 * EVENT_BYTES, next_event, l, listener_free);
    if (r)
        add_headers(s, r, "text/event-stream", NOTHING_ALLOWED);
    else
        listener_free(l);
    return answer(s, c, MHD_HTTP_OK, r);
}

/* With the lock. */
static void wake_all(struct server *s, bool beat)
{
    for (struct listener *l = s->listeners; l; l = l->next) {
        l->beat |= beat;
        if (l->waits)
            s->http.resume_connection(l->connection);
        l->waits = false;
    }
}

/* --- requests --- */

static enum MHD_Result refuse(struct server *s, struct MHD_Connection *c, int status, bool wrong_token)
{
    if (wrong_token && !s->told) {
        s->told = true;
        s->options.tell(s->options.context, "refused a request with a wrong token; further ones are not reported");
    }
    if (status == 405)
        return answer_text(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "this page is read-only\n");
    return answer_text(s, c, MHD_HTTP_FORBIDDEN,
                       wrong_token ? "the address has no valid token; open the address that `meshsweep report --serve` "
                                     "printed\n"
                                   : "refused: the request comes from another site, or uses another host name\n");
}

static enum MHD_Result redirect(const struct server *s, struct MHD_Connection *c)
{
    OWNED char *there = xasprintf("/%s/", s->token);
    struct MHD_Response *r = text_response(s, "", 0, "text/plain", NOTHING_ALLOWED);
    if (r)
        s->http.add_response_header(r, "Location", there);
    return answer(s, c, MHD_HTTP_MOVED_PERMANENTLY, r);
}

static enum MHD_Result answer_path(struct server *s, struct MHD_Connection *c, const char *path)
{
    if (path[0] == '\0')
        return answer_page(s, c);
    if (strcmp(path, "changes") == 0)
        return answer_changes(s, c);
    if (strcmp(path, "rows") == 0)
        return answer_rows(s, c);
    if (strcmp(path, "events") == 0)
        return answer_events(s, c);
    if (strncmp(path, s->job_path, strlen(s->job_path)) == 0)
        return answer_file(s, c, path + strlen(s->job_path));
    return answer_text(s, c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

static const char *header(const struct server *s, struct MHD_Connection *c, const char *name)
{
    return s->http.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result handle_request(void *context, struct MHD_Connection *c, const char *url, const char *method,
                                      const char *version, const char *data, size_t *data_bytes, void **request)
{
    struct server *s = context;
    const struct gate gate = {s->token, s->host};
    const struct gate_request r = {method,
                                   url,
                                   header(s, c, "Host"),
                                   header(s, c, "Origin"),
                                   header(s, c, "Sec-Fetch-Site"),
                                   header(s, c, "Sec-Fetch-Mode")};
    const char *rest = "";
    bool wrong_token;
    (void)version, (void)data, (void)data_bytes;
    /* libmicrohttpd calls first before the request is complete; answering then would close the connection. */
    if (!*request && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)) {
        *request = s;
        return MHD_YES;
    }
    int status = gate_check(&gate, &r, &rest, &wrong_token);
    if (status == 200)
        s->http.set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_S);
    pthread_mutex_lock(&s->lock);
    enum MHD_Result rc = status == 200   ? answer_path(s, c, rest)
                         : status == 301 ? redirect(s, c)
                                         : refuse(s, c, status, wrong_token);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* --- the server --- */

static void server_free(struct server *s)
{
    forget(s, &s->whole);
    forget(s, &s->recent);
    forget(s, &s->recent_rows);
    live_page_free(&s->page);
    live_rows_clear(&s->rows);
    pthread_mutex_destroy(&s->lock);
    free_all(s->problem, s->token, s->host, s->job_files, s->job_path, s);
}

/* Recursive: a response that cannot be queued is freed at once within the lock, and listener_free() takes it again. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

const char *server_library_version(void)
{
    struct http_library http;
    return http_library_load(&http, NULL) == 0 ? http.get_version() : "not found";
}

int server_start(const struct server_options *o, struct server **out, struct error *e)
{
    struct http_library http;
    if (http_library_load(&http, e) < 0) {
        close(o->listening);
        return error_context(e, "--serve: the web server cannot start");
    }
    struct server *s = xcalloc(1, sizeof *s);
    s->http = http;
    s->options = *o;
    s->token = xstrdup(o->token);
    s->host = xstrdup(o->host);
    s->job_files = xstrdup(o->job_files);
    s->job_path = xasprintf("%s/", path_name(o->job_files));
    init_lock(&s->lock);
    s->daemon = s->http.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
                                     NULL, handle_request, s, MHD_OPTION_LISTEN_SOCKET, o->listening,
                                     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
                                     MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CONNECTIONS_OF_ADDRESS_MOST,
                                     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_S, MHD_OPTION_END);
    if (!s->daemon) {
        server_free(s);
        close(o->listening);
        return error_set(e, ERROR_FAILED, "--serve: the web server cannot start: libmicrohttpd %s refuses",
                         http.get_version());
    }
    *out = s;
    return 0;
}

void server_show(struct server *s, struct buffer *text)
{
    pthread_mutex_lock(&s->lock);
    if (live_page_update(&s->page, text)) {
        forget(s, &s->whole);
        forget(s, &s->recent);
        forget(s, &s->recent_rows);
        live_rows_clear(&s->rows);
        s->change++;
        wake_all(s, false);
    }
    pthread_mutex_unlock(&s->lock);
}

void server_show_rows(struct server *s, struct live_rows *rows)
{
    pthread_mutex_lock(&s->lock);
    const int64_t before = s->rows.change;
    for (size_t i = 0; i < rows->count; i++) {
        struct buffer text = BUFFER_INIT;
        buffer_add_text(&text, rows->items[i].text);
        live_rows_put(&s->rows, rows->items[i].job, &text);
    }
    if (rows->search)
        live_rows_put_search(&s->rows, xstrdup(rows->search));
    if (s->rows.change != before) {
        forget(s, &s->recent_rows);
        s->change++;
        wake_all(s, false);
    }
    pthread_mutex_unlock(&s->lock);
    live_rows_clear(rows);
}

void server_tell(struct server *s, const char *problem)
{
    pthread_mutex_lock(&s->lock);
    if (!s->problem != !problem || (problem && strcmp(s->problem, problem) != 0)) {
        free(s->problem);
        s->problem = problem ? xstrdup(problem) : NULL;
        s->change++;
        wake_all(s, false);
    }
    pthread_mutex_unlock(&s->lock);
}

void server_beat(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    wake_all(s, true);
    pthread_mutex_unlock(&s->lock);
}

void server_stop(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    wake_all(s, false);
    pthread_mutex_unlock(&s->lock);
    s->http.stop_daemon(s->daemon);
    server_free(s);
}
