#include "serve/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/open.h"
#include "page/page.h"
#include "process/interrupts.h"
#include "serve/address.h"
#include "serve/gate.h"
#include "serve/server.h"
#include "util/clock.h"
#include "util/memory.h"

enum {
    LOOK_MS = 200,       /* between two looks whether anything was committed */
    REST_MS = 1000,      /* between two pages, at least */
    SHARE_OF_TIME = 100, /* one in so many of the processor time that there is, for pages and readers together */
    BEAT_MS = 15000,
    LOWEST_PRIORITY = 19,
};

struct watched {
    const char *path;
    char *directory;
    struct db *db; /* NULL: it could not be opened */
    dev_t device;
    ino_t inode;
    int64_t schema;                 /* its version */
    int64_t committed;              /* SQLite's data_version of what is shown; -1: nothing is */
    int64_t rest_until_ms, used_us; /* processor time until the last rest */
};

/* --- the database --- */

static void watched_close(struct watched *w)
{
    if (w->db)
        store_close(w->db);
    w->db = NULL;
    w->committed = -1;
}

static int watched_open(struct watched *w, struct error *e)
{
    struct stat s;
    if (store_open_read_only(w->path, &w->db, e) < 0)
        return -1;
    if (stat(w->path, &s) < 0) {
        error_errno(e, errno, "database %s", w->path);
        watched_close(w);
        return -1;
    }
    w->device = s.st_dev;
    w->inode = s.st_ino;
    if (db_query_int(w->db, "PRAGMA user_version", 0, &w->schema, e) == 0)
        return 0;
    watched_close(w);
    return -1;
}

/* Opens it again where another file stands there, or a newer program has been at it. */
static int watched_follow(struct watched *w, struct error *e)
{
    struct stat s;
    int64_t schema = -1;
    bool is_there = stat(w->path, &s) == 0;
    if (w->db && is_there && s.st_dev == w->device && s.st_ino == w->inode &&
        db_query_int(w->db, "PRAGMA user_version", 0, &schema, e) == 0 && schema == w->schema)
        return 0;
    watched_close(w);
    return watched_open(w, e);
}

/* --- the page --- */

static int add_to_buffer(void *context, const void *bytes, size_t length, struct error *e)
{
    (void)e;
    buffer_add(context, bytes, length);
    return 0;
}

static int make_page(struct watched *w, struct buffer *text, struct error *e)
{
    const struct report_sink sink = {add_to_buffer, text};
    const char *slash = strrchr(w->directory, '/');
    const struct html_request request = {w->directory, slash ? slash + 1 : w->directory, clock_wall_ms(), true};
    return html_report(w->db, &request, &sink, e);
}

/* Until what was used since the last rest is a small share of the time. */
static void rest(struct watched *w)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t used_us = clock_processor_us();
    int64_t rest_ms = (used_us - w->used_us) * SHARE_OF_TIME / 1000 / (processors > 0 ? processors : 1);
    w->rest_until_ms = clock_monotonic_ms() + (rest_ms > REST_MS ? rest_ms : REST_MS);
    w->used_us = used_us;
}

/* Makes the page again where something was committed since. */
static int look(struct watched *w, struct server *server, struct error *e)
{
    int64_t committed = -1;
    if (watched_follow(w, e) < 0 || db_query_int(w->db, "PRAGMA data_version", -1, &committed, e) < 0)
        return -1;
    if (committed == w->committed)
        return 0;
    struct buffer text = BUFFER_INIT;
    int rc = make_page(w, &text, e);
    if (rc == 0) {
        w->committed = committed;
        server_show(server, &text);
    }
    buffer_free(&text);
    rest(w);
    return rc;
}

static void watch(struct watched *w, struct server *server, const struct interrupts *interrupts, struct wake *wake)
{
    int64_t beat_ms = clock_monotonic_ms();
    while (!wake->signal) {
        int64_t now_ms = clock_monotonic_ms();
        struct error e = ERROR_INIT;
        if (now_ms >= w->rest_until_ms) {
            int rc = look(w, server, &e);
            server_tell(server, rc < 0 ? e.text : NULL);
        }
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
        return error_set(e, ERROR_USAGE, "--token: letters, digits, - and _, at most 200 of them");
    return 0;
}

static void print_url(const struct serve_options *o, const struct serve_address *a, const char *token)
{
    char *address = serve_address_text(a), *url = xasprintf("http://%s/%s%s", address, token, token[0] ? "/" : "");
    o->print(url);
    free(url);
    free(address);
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
        print_url(o, a, token);
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
    struct watched w = {.path = o->db_path, .committed = -1};
    if (serve_address_parse(o->address, &a, e) < 0)
        return -1;
    w.directory = store_directory(o->db_path);
    int rc = o->token ? check_token(o->token, e) : make_token(made, e);
    if (rc == 0)
        rc = watched_open(&w, e);
    if (rc == 0)
        rc = serve_watched(&w, o, &a, o->token ? o->token : made, signal_number, e);
    watched_close(&w);
    free(w.directory);
    serve_address_free(&a);
    return rc;
}
