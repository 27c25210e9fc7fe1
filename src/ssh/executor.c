#include "ssh/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/job_file.h"
#include "process/process.h"
#include "run/local_executor.h"
#include "ssh/hosts.h"
#include "ssh/script.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"

#define FIRST_LINK (INT64_C(1) << 61) /* ids of connections, above those of attempts and below those of fixtures */

enum {
    REPORT_BYTES_MOST = 64 << 20,
    KILL_MS = 11000,     /* what a host takes for KILL, see ssh/remote.sh, and to say so */
    BEAT_PARTS = 6,      /* signs of life within a lease */
    CONNECT_MS = 60000,  /* a connection that is not there by then is given up, and tried again */
    PATIENCE_MS = 60000, /* a host that is busy is given to end a job, and to say so */
    LINK_GRACE_MS = 2000,
    DELAY_MOST_MS = 60000,
    LOOK_MS = 50,
    SHIP_MS = 1000
};

/* The one connection to a host, which others of ssh share: a process of the supervisor. */
struct link {
    const struct host *host;
    enum { LINK_DOWN = 0, LINK_CONNECTING, LINK_UP } is;
    char *base;  /* of its files here: BASE is a pipe to it, BASE.log, BASE.sock */
    char *state; /* see ssh_place */
    char *mark;  /* a file that is there as long as jobs may be running on it */
    char *run;
    int input; /* -1: none */
    int64_t epoch;
    int64_t since_ms, due_ms, delay_ms;
    int64_t lost_ms; /* when it was last up; 0: never */
    bool shared, told;
    char said[256];
};

struct remote_job {
    int64_t attempt, epoch;
    struct link *head;
    char *hosts, *job_dir, *base, *metrics;
    int input;
    struct buffer to_send;
    size_t sent;
    int64_t read_bytes, read_ms;
    struct ssh_report report;
    bool shared, dropped, cancelled;
};

/* An outcome that nobody may know yet: the job may still be running. */
struct held {
    struct outcome outcome;
    const struct link *head;
    int64_t epoch, due_ms;
    bool unexplained; /* why its connection ended may yet be said */
};

struct ssh_executor {
    struct executor base;
    struct executor *local;
    struct executor_options options; /* borrowed */
    struct host_list hosts;
    struct link *links;
    struct remote_job *jobs;
    size_t job_count;
    struct held *held;
    size_t held_count;
    char *dir, *here, *probe;
    bool *regain; /* by host: what it lost with an outcome is to be given back */
    bool cancelled, closing;
};

static struct ssh_executor *of(struct executor *x)
{
    return (struct ssh_executor *)x;
}

/* --- pipes --- */

/* One that this process writes to and ssh reads: its end comes with the end of this process. */
static int make_pipe(const char *path)
{
    unlink(path);
    int fd = mkfifo(path, 0600) < 0 ? -1 : descriptor_above_standard(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0)
        unlink(path); /* what is to read it would wait */
    return fd;
}

static void send_rest(struct remote_job *j)
{
    while (j->input >= 0 && j->sent < j->to_send.length) {
        const ssize_t n = write(j->input, j->to_send.data + j->sent, j->to_send.length - j->sent);
        if (n <= 0)
            return;
        j->sent += (size_t)n;
    }
}

static void remove_files(const char *base, const char *first, const char *second)
{
    const char *const ends[] = {"", first, second};
    for (size_t i = 0; i < LENGTH(ends); i++) {
        OWNED char *path = xasprintf("%s%s", base, ends[i]);
        unlink(path);
    }
}

/* Removes what an earlier runner, or this one, left there. */
static void empty_directory(const char *path)
{
    DIR *directory = job_directory_list(AT_FDCWD, path);
    for (struct dirent *d; directory && (d = readdir(directory));)
        unlinkat(dirfd(directory), d->d_name, 0);
    if (directory)
        closedir(directory);
}

/* --- connections --- */

static struct ssh_place place_of(const struct ssh_executor *x, const struct link *l)
{
    return (struct ssh_place){.host = l->host,
                              .state = l->state,
                              .run = l->run,
                              .here = x->here,
                              .probe = x->probe,
                              .proof = x->options.token_prefix,
                              .grace_ms = x->options.sweep->job.grace_ms,
                              .lease_ms = x->options.sweep->ssh.lease_ms};
}

/* After so long, what ran on a host that hears nothing of its runner has ended. */
static int64_t hold_ms(const struct ssh_executor *x)
{
    return x->options.sweep->ssh.lease_ms + x->options.sweep->job.grace_ms + KILL_MS;
}

static void tell_of_host(const struct ssh_executor *x, const struct link *l, const char *what)
{
    if (x->options.host_changed)
        x->options.host_changed(x->options.context, l->host->name, l->is == LINK_UP, what);
}

static char **words_of(const struct ssh_executor *x, const struct link *l, const char *script, const char *base,
                       const char *master)
{
    struct string_list words = STRING_LIST_INIT;
    string_list_add(&words, xstrdup("sh"));
    string_list_add(&words, xstrdup("-c"));
    string_list_add(&words, xstrdup(script));
    string_list_add(&words, xstrdup(base));
    ssh_add_words(&x->options.sweep->ssh, &words);
    string_list_add(&words, xasprintf("-oControlMaster=%s", master));
    string_list_add(&words, xasprintf("-oControlPath=%s.sock", l->base));
    string_list_add(&words, xstrdup("-oControlPersist=no"));
    if (master[0] == 'n')
        string_list_add(&words, xstrdup("-oLogLevel=ERROR"));
    string_list_add(&words, xstrdup("--"));
    string_list_add(&words, xstrdup(l->host->name));
    string_list_add(&words, xstrdup(SSH_REMOTE_COMMAND));
    return string_list_take(&words);
}

static void link_connect(struct ssh_executor *x, struct link *l)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *script =
        xasprintf("(n=0; while echo $n; do n=$((n + 1)); sleep %" PRId64 "; done) >\"$0\" 2>/dev/null & "
                  "exec \"$@\" <\"$0\" >\"$0.log\" 2>&1",
                  x->options.sweep->ssh.lease_ms / 1000 / BEAT_PARTS + 1);
    l->epoch++;
    text_replace(&l->run, xasprintf("%s.%" PRId64, x->options.token_prefix, l->epoch));
    remove_files(l->base, ".log", ".sock");
    descriptor_close(&l->input);
    l->input = make_pipe(l->base);
    const struct ssh_place place = place_of(x, l);
    ssh_host_script_add(&place, &text);
    if (l->input >= 0)
        (void)!write(l->input, text.data, text.length); /* what does not fit ends in a connection that fails */
    OWNED_STRINGS words = words_of(x, l, script, l->base, "yes");
    const struct launch launch = {.attempt = FIRST_LINK + (l - x->links),
                                  .argv = words,
                                  .environment = x->options.environment,
                                  .job_dir = l->base,
                                  .grace_ms = LINK_GRACE_MS};
    l->is = LINK_CONNECTING;
    l->since_ms = clock_monotonic_ms();
    x->local->methods->start(x->local, &launch, NULL);
}

/* The last line that has something in it. */
static void read_last_line(const char *text, char out[256])
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (line[strspn(line, " \r\n")] && strncmp(line, "meshsweep:ready", 15) != 0 &&
            strncmp(line, "meshsweep:shared", 16) != 0)
            snprintf(out, 256, "%.*s", (int)strcspn(line, "\r\n"), line);
}

static char *link_log(const struct link *l)
{
    char *path = xasprintf("%s.log", l->base), *text = file_text(path, 1 << 20);
    free(path);
    return text ? text : xstrdup("");
}

static void link_look(struct ssh_executor *x, struct link *l)
{
    OWNED char *text = link_log(l);
    if (strstr(text, "meshsweep:ready\n")) {
        int fd = open(l->mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        descriptor_close(&fd);
        l->is = LINK_UP;
        l->shared = strstr(text, "meshsweep:shared\n");
        l->delay_ms = 0;
        OWNED char *what = l->told ? xasprintf("host %s answers again", l->host->name) : NULL;
        tell_of_host(x, l, what);
        l->told = false;
    } else if (clock_monotonic_ms() - l->since_ms > CONNECT_MS + hold_ms(x)) {
        x->local->methods->stop(x->local, FIRST_LINK + (l - x->links));
    }
}

static bool has_host(const char *hosts, const char *name)
{
    for (const char *h = hosts; *h; h += strcspn(h, ","), h += *h == ',')
        if (strncmp(h, name, strlen(name)) == 0 && (h[strlen(name)] == ',' || !h[strlen(name)]))
            return true;
    return false;
}

/* Its process has ended, and with it those that share it. */
static void link_ended(struct ssh_executor *x, struct link *l)
{
    const bool was_up = l->is == LINK_UP;
    OWNED char *text = link_log(l);
    snprintf(l->said, sizeof l->said, "ssh ended");
    read_last_line(text, l->said);
    l->is = LINK_DOWN;
    l->lost_ms = was_up ? clock_monotonic_ms() : l->lost_ms;
    l->delay_ms = l->delay_ms == 0 ? 1000 : 2 * l->delay_ms < DELAY_MOST_MS ? 2 * l->delay_ms : DELAY_MOST_MS;
    l->due_ms = clock_monotonic_ms() + l->delay_ms;
    for (size_t i = 0; was_up && i < x->job_count; i++)
        if (has_host(x->jobs[i].hosts, l->host->name)) {
            x->jobs[i].dropped = true;
            x->local->methods->stop(x->local, x->jobs[i].attempt);
        }
    OWNED char *what =
        l->told || x->closing || x->cancelled
            ? NULL
            : xasprintf("host %s does not answer: %s; it gets no jobs until it does", l->host->name, l->said);
    l->told |= what != NULL;
    tell_of_host(x, l, what);
}

/* --- jobs --- */

static struct remote_job *find_job(const struct ssh_executor *x, int64_t attempt)
{
    return FIND(i, x->job_count, x->jobs[i].attempt == attempt, &x->jobs[i]);
}

static struct link *link_of(const struct ssh_executor *x, const char *hosts)
{
    for (size_t i = 0; i < x->hosts.count; i++)
        if (strlen(x->hosts.hosts[i].name) == strcspn(hosts, ",") &&
            strncmp(x->hosts.hosts[i].name, hosts, strcspn(hosts, ",")) == 0)
            return &x->links[i];
    return &x->links[0];
}

static struct location start(struct executor *base, const struct launch *launch, const struct running_attempt *attempt)
{
    struct ssh_executor *x = of(base);
    struct link *l = link_of(x, attempt->hosts);
    struct remote_job j = {.attempt = launch->attempt,
                           .epoch = l->epoch,
                           .head = l,
                           .hosts = xstrdup(attempt->hosts),
                           .job_dir = job_directory_absolute(launch->job_dir),
                           .base = xasprintf("%s/%" PRId64, x->dir, launch->attempt),
                           .shared = l->shared};
    struct launch here = *launch;
    struct attempt_files files;
    j.input = make_pipe(j.base);
    OWNED_STRINGS words = words_of(x, l, "exec \"$@\" <\"$0\" 2>\"$0.back\"", j.base, "no");
    here.argv = words;
    here.environment = x->options.environment;
    here.directory = NULL;
    here.grace_ms = launch->grace_ms + PATIENCE_MS;
    const struct location where = x->local->methods->start(x->local, &here, attempt);
    if (where.process.pid > 0 && x->local->methods->files(x->local, launch->attempt, &files)) {
        const struct ssh_place place = place_of(x, l);
        const struct ssh_job job = {launch, attempt->hosts, attempt->devices, files.metrics_path, l->shared};
        j.metrics = xstrdup(files.metrics_path);
        ssh_job_script_add(&place, &job, &j.to_send);
        send_rest(&j);
    }
    *array_add(x->jobs, x->job_count) = j;
    return where;
}

/* Puts metrics that came over the connection where they are read; `path` NULL: where they are kept. */
static void add_metrics(const struct remote_job *j, const char *path, const struct buffer *metrics)
{
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600) : -1;
    if (!path) {
        int directory = job_directory_make(j->job_dir);
        fd = job_file_create(directory, "metrics.jsonl", 0);
        descriptor_close(&directory);
    }
    if (fd >= 0)
        (void)!file_write_all(fd, metrics->data, metrics->length);
    descriptor_close(&fd);
}

/* Reads what its ssh has brought since the last time. */
static void read_back(struct remote_job *j, struct buffer *metrics)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *path = xasprintf("%s.back", j->base);
    if (file_read(path, REPORT_BYTES_MOST, &text, NULL) == 0 && (int64_t)text.length > j->read_bytes)
        j->read_bytes += (int64_t)ssh_report_read(text.data + j->read_bytes, text.length - (size_t)j->read_bytes,
                                                  &j->report, metrics);
    j->read_ms = clock_monotonic_ms();
}

static void ship(struct remote_job *j)
{
    OWNED_BUFFER metrics = BUFFER_INIT;
    read_back(j, &metrics);
    if (metrics.length && j->metrics)
        add_metrics(j, j->metrics, &metrics);
}

static bool terminate(void *context, int64_t attempt)
{
    struct ssh_executor *x = context;
    struct remote_job *j = find_job(x, attempt);
    if (!j || j->dropped || j->input < 0)
        return false;
    buffer_add_text(&j->to_send, "end\n");
    send_rest(j);
    return true;
}

/* --- ends --- */

/* As the host says it. */
static void take_report(struct outcome *o, const struct ssh_report *r)
{
    const bool by_signal = r->exit_code > 128 && r->exit_code < 128 + 65;
    if (o->ending == ENDING_EXITED)
        o->ending = by_signal ? ENDING_SIGNALED : ENDING_EXITED;
    o->exit_code = by_signal ? -1 : r->exit_code;
    o->signal_number = by_signal ? r->exit_code - 128 : 0;
    o->leftover_count = (int)r->leftovers;
    o->host_oom = r->oom && r->exit_code == 137;
    o->duration_ms = r->duration_ms >= 0 && r->duration_ms < o->duration_ms ? r->duration_ms : o->duration_ms;
    o->has_usage = r->user_ms >= 0 && r->system_ms >= 0;
    o->usage = (struct rusage){.ru_utime = {r->user_ms / 1000, r->user_ms % 1000 * 1000},
                               .ru_stime = {r->system_ms / 1000, r->system_ms % 1000 * 1000}};
}

static void set_lost(struct outcome *o, const struct remote_job *j)
{
    const struct link *l = j->head;
    const char *said = j->report.said[0] ? j->report.said : l->is != LINK_UP ? l->said : "";
    o->ending = ENDING_LOST;
    o->exit_code = -1;
    o->signal_number = 0;
    free(o->note);
    o->note = j->report.damaged ? xasprintf("host %s: its metrics came back damaged", j->hosts)
              : j->report.ended ? xasprintf("host %s ended it: it had no sign of life of this runner", j->hosts)
              : said[0]         ? xasprintf("host %s: %s", j->hosts, said)
                                : xasprintf("host %s: the connection ended, and the job with it", j->hosts);
}

/* When what became of the job may be told: once nothing of it can be running. */
static int64_t due_ms(const struct ssh_executor *x, const struct remote_job *j, const struct outcome *o)
{
    const int64_t now_ms = clock_monotonic_ms(), grace_ms = x->options.sweep->job.grace_ms;
    if (j->report.ended || o->ending == ENDING_SPAWN_FAILED || strstr(j->report.said, "another run has begun"))
        return 0;
    /* The host knows that ssh has ended where the connection stands. */
    return j->head->is == LINK_UP && j->head->epoch == j->epoch ? now_ms + grace_ms + 1000
                                                                : j->head->lost_ms + hold_ms(x);
}

static void forget(struct ssh_executor *x, struct remote_job *j)
{
    descriptor_close(&j->input);
    remove_files(j->base, ".back", "");
    buffer_free(&j->to_send);
    free_all(j->hosts, j->job_dir, j->base, j->metrics);
    *j = x->jobs[--x->job_count];
}

/* Fills `o`; true: it may be told. */
static bool job_ended(struct ssh_executor *x, struct remote_job *j, struct outcome *o)
{
    OWNED_BUFFER metrics = BUFFER_INIT;
    const bool by_itself = o->ending == ENDING_EXITED || o->ending == ENDING_SIGNALED || j->dropped;
    read_back(j, &metrics);
    if (metrics.length) {
        add_metrics(j, o->metrics_path, &metrics);
        if (!o->metrics_path)
            o->metrics_path = xasprintf("%s/metrics.jsonl", j->job_dir);
    }
    o->host_oom = o->has_usage = o->core_dumped = false;
    o->usage = (struct rusage){0};
    o->leftover_count = 0;
    const bool whole = j->report.ended && !j->report.damaged;
    if (o->ending != ENDING_SPAWN_FAILED) {
        o->host = xstrdup(j->hosts);
        if (by_itself)
            o->ending = ENDING_EXITED;
        else if (j->cancelled && o->ending == ENDING_STOPPED)
            o->ending = ENDING_CANCELLED;
        if (whole)
            take_report(o, &j->report);
        if (by_itself && (!whole || j->report.stopped))
            set_lost(o, j);
    }
    const int64_t due = due_ms(x, j, o);
    if (due > clock_monotonic_ms())
        *array_add(x->held, x->held_count) =
            (struct held){*o, j->head, j->epoch, due, o->ending == ENDING_LOST && !j->report.said[0]};
    forget(x, j);
    return due <= clock_monotonic_ms();
}

/* A host that ended up in an outcome as lost may answer all the same. */
static void note_lost(struct ssh_executor *x, const struct outcome *o)
{
    for (size_t i = 0; o->ending == ENDING_LOST && i < x->hosts.count; i++)
        x->regain[i] |= has_host(o->host, x->hosts.hosts[i].name);
}

static size_t let_go(struct ssh_executor *x, struct outcome *out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < x->held_count && n < room;) {
        struct held *h = &x->held[i];
        const int64_t lost_ms = h->head->is != LINK_UP && !x->cancelled ? h->head->lost_ms + hold_ms(x) : 0;
        const bool is_swept = h->head->is == LINK_UP && h->head->epoch > h->epoch;
        if (!is_swept && clock_monotonic_ms() < (lost_ms > h->due_ms ? lost_ms : h->due_ms)) {
            i++;
            continue;
        }
        if (h->unexplained && (h->head->is != LINK_UP || is_swept))
            text_replace(&h->outcome.note, xasprintf("host %s: %s", h->head->host->name, h->head->said));
        out[n++] = h->outcome;
        note_lost(x, &h->outcome);
        x->held[i] = x->held[--x->held_count];
    }
    return n;
}

/* --- waiting --- */

static int64_t least(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Does what is due; returns the time until what comes next, -1: nothing. */
static int64_t turn(struct ssh_executor *x)
{
    const int64_t now_ms = clock_monotonic_ms();
    int64_t next_ms = x->held_count > 0 ? LOOK_MS : -1;
    for (size_t i = 0; i < x->hosts.count; i++) {
        struct link *l = &x->links[i];
        if (x->regain[i] || l->is != LINK_UP)
            tell_of_host(x, l, NULL);
        x->regain[i] = false;
        if (l->is == LINK_CONNECTING)
            link_look(x, l);
        else if (l->is == LINK_DOWN && now_ms >= l->due_ms && !x->cancelled)
            link_connect(x, l);
        if (l->is != LINK_UP)
            next_ms = least(next_ms, l->is == LINK_CONNECTING ? LOOK_MS : SHIP_MS);
    }
    for (size_t i = 0; i < x->job_count; i++) {
        struct remote_job *j = &x->jobs[i];
        send_rest(j);
        if (j->sent < j->to_send.length)
            next_ms = least(next_ms, LOOK_MS);
        if (!j->shared) {
            next_ms = least(next_ms, SHIP_MS);
            if (now_ms - j->read_ms >= SHIP_MS)
                ship(j);
        }
    }
    return next_ms;
}

static size_t wait_for_ends(struct executor *base, int64_t timeout_ms, struct outcome *out, size_t room,
                            struct wake *wake)
{
    struct ssh_executor *x = of(base);
    const int64_t next_ms = turn(x);
    size_t n = let_go(x, out, room), kept = n;
    *wake = (struct wake){0, 0};
    if (n == room)
        return n;
    n += x->local->methods->wait(x->local, n > 0 ? 0 : least(timeout_ms, next_ms), out + n, room - n, wake);
    for (size_t i = kept; i < n; i++) {
        struct remote_job *j = find_job(x, out[i].attempt);
        if (out[i].attempt >= FIRST_LINK) {
            link_ended(x, &x->links[out[i].attempt - FIRST_LINK]);
            outcome_free(&out[i]);
        } else if (job_ended(x, j, &out[i])) {
            note_lost(x, &out[i]);
            out[kept++] = out[i];
        }
    }
    return kept;
}

static size_t running(const struct executor *base)
{
    const struct ssh_executor *x = (const struct ssh_executor *)base;
    size_t links = 0;
    for (size_t i = 0; i < x->hosts.count; i++)
        links += x->links[i].is != LINK_DOWN;
    return x->local->methods->running(x->local) - links + x->held_count;
}

static bool files(const struct executor *base, int64_t attempt, struct attempt_files *out)
{
    const struct ssh_executor *x = (const struct ssh_executor *)base;
    return x->local->methods->files(x->local, attempt, out);
}

static void stop(struct executor *base, int64_t attempt)
{
    of(base)->local->methods->stop(of(base)->local, attempt);
}

/* First the jobs alone, as their ends come over the connections. */
static void cancel_all(struct executor *base)
{
    struct ssh_executor *x = of(base);
    for (size_t i = 0; i < x->held_count; i++)
        x->held[i].due_ms = x->cancelled ? 0 : x->held[i].due_ms;
    for (size_t i = 0; !x->cancelled && i < x->job_count; i++) {
        x->jobs[i].cancelled = !x->jobs[i].dropped;
        x->local->methods->stop(x->local, x->jobs[i].attempt);
    }
    for (int times = 0; x->cancelled && times < 2; times++)
        x->local->methods->cancel_all(x->local);
    x->cancelled = true;
}

/* A host with which all ended well has nothing left to run. */
static void free_links(struct ssh_executor *x)
{
    for (size_t i = 0; x->links && i < x->hosts.count; i++) {
        struct link *l = &x->links[i];
        const bool is_clear = x->job_count == 0 && x->held_count == 0 &&
                              (l->is == LINK_UP || (l->lost_ms && clock_monotonic_ms() - l->lost_ms > hold_ms(x)));
        if (is_clear)
            unlink(l->mark);
        descriptor_close(&l->input);
        free_all(l->base, l->state, l->mark, l->run);
    }
    free_all(x->links, x->regain);
}

static void ssh_executor_free(struct executor *base)
{
    struct ssh_executor *x = of(base);
    if (!x)
        return;
    x->closing = true;
    if (x->local) {
        x->local->methods->cancel_all(x->local);
        x->local->methods->free(x->local);
    }
    free_links(x);
    while (x->job_count > 0)
        forget(x, &x->jobs[0]);
    for (size_t i = 0; i < x->held_count; i++)
        outcome_free(&x->held[i].outcome);
    if (x->probe)
        unlink(x->probe);
    if (x->dir) {
        empty_directory(x->dir);
        rmdir(x->dir);
    }
    host_list_free(&x->hosts);
    free_all(x->jobs, x->held, x->dir, x->here, x->probe, x);
}

static const struct executor_methods methods = {
    .name = "ssh",
    .start = start,
    .wait = wait_for_ends,
    .running = running,
    .files = files,
    .stop = stop,
    .cancel_all = cancel_all,
    .free = ssh_executor_free,
};

/* --- the beginning --- */

/* For sockets, whose names must be short: in a place of this user's. */
static int make_directory(struct ssh_executor *x, const char *token, struct error *e)
{
    char hex[HASH_HEX_BYTES];
    struct stat status;
    const size_t length = strcspn(token, ":");
    const struct hash128 hash = hash_bytes(token, length);
    x->dir = xasprintf("/tmp/meshsweep-ssh-%lld-%.12s", (long long)getuid(), hash_hex(&hash, hex));
    if (mkdir(x->dir, 0700) < 0 && errno != EEXIST)
        return error_errno(e, errno, "%s: cannot make the directory", x->dir);
    if (lstat(x->dir, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid() || status.st_mode & 077)
        return error_set(e, ERROR_FAILED, "%s: not a directory of this user alone; remove it", x->dir);
    empty_directory(x->dir);
    return 0;
}

/* A host's name as part of a path. */
static char *plain(const char *name)
{
    char *text = xstrdup(name);
    for (char *p = text; *p; p++)
        if (*p == '/')
            *p = '_';
    return text;
}

static void make_links(struct ssh_executor *x, const char *hash)
{
    x->links = xcalloc(x->hosts.count, sizeof *x->links);
    x->regain = xcalloc(x->hosts.count, sizeof *x->regain);
    for (size_t i = 0; i < x->hosts.count; i++) {
        struct link *l = &x->links[i];
        OWNED char *name = plain(x->hosts.hosts[i].name);
        l->host = &x->hosts.hosts[i];
        l->input = -1;
        l->base = xasprintf("%s/h%zu", x->dir, i);
        l->state = xasprintf("%s@%s", hash, name);
        l->mark = xasprintf("%s/.ssh-%s", x->options.directory, name);
    }
}

/* Lets `until_ms` pass, or, where that is 0, all connections come up or fail. */
static int wait_for_links(struct ssh_executor *x, int64_t until_ms, struct error *e)
{
    for (bool busy = true; busy;) {
        struct outcome outcome;
        struct wake wake;
        busy = clock_monotonic_ms() < until_ms;
        for (size_t i = 0; i < x->hosts.count; i++) {
            if (x->links[i].is == LINK_CONNECTING)
                link_look(x, &x->links[i]);
            busy |= x->links[i].is == LINK_CONNECTING;
        }
        if (busy && x->local->methods->wait(x->local, LOOK_MS, &outcome, 1, &wake) == 1) {
            struct link *l = &x->links[outcome.attempt - FIRST_LINK];
            outcome_free(&outcome);
            l->told = true; /* it is said below */
            link_ended(x, l);
        } else if (busy && wake.bits & (WAKE_INTERRUPT | WAKE_TERMINATE)) {
            return error_set(e, ERROR_FAILED, "interrupted");
        }
    }
    return 0;
}

/* A host that is not there may still run jobs of a runner that died: they end with their lease. */
static int await_ends_of_others(struct ssh_executor *x, struct error *e)
{
    int64_t until_ms = 0;
    for (size_t i = 0; i < x->hosts.count; i++) {
        struct link *l = &x->links[i];
        if (l->is == LINK_UP)
            continue;
        const bool may_run = access(l->mark, F_OK) == 0;
        OWNED char *what =
            xasprintf("host %s does not answer: %s; it gets no jobs until it does%s", l->host->name, l->said,
                      may_run ? ", and what an earlier run left on it is given time to end" : "");
        tell_of_host(x, l, what);
        until_ms = may_run ? clock_monotonic_ms() + hold_ms(x) : until_ms;
    }
    if (until_ms && wait_for_links(x, until_ms, e) < 0)
        return -1;
    for (size_t i = 0; i < x->hosts.count; i++)
        if (x->links[i].is != LINK_UP)
            unlink(x->links[i].mark);
    return 0;
}

static int connect_all(struct ssh_executor *x, struct error *e)
{
    size_t up = 0;
    for (size_t i = 0; i < x->hosts.count; i++)
        link_connect(x, &x->links[i]);
    if (wait_for_links(x, 0, e) < 0)
        return -1;
    for (size_t i = 0; i < x->hosts.count; i++) {
        const struct link *l = &x->links[i];
        up += l->is == LINK_UP;
        if (l->is != LINK_UP && ssh_is_refusal(l->said))
            return error_set(e, ERROR_USAGE, "host %s: %s", l->host->name, l->said);
    }
    if (up == 0)
        return error_set(e, ERROR_FAILED, "no host answers; %s: %s", x->hosts.hosts[0].name, x->links[0].said);
    return await_ends_of_others(x, e);
}

static int begin_sessions(struct ssh_executor *x, struct error *e)
{
    struct executor_options here = x->options;
    const struct local_proxy proxy = {.name = "ssh", .terminate = terminate, .context = x};
    char hex[HASH_HEX_BYTES];
    OWNED char *root = path_absolute(x->options.directory);
    const struct hash128 hash = hash_bytes(here.token_prefix, strcspn(here.token_prefix, ":"));
    x->here = path_absolute(".");
    x->probe = xasprintf("%s/.ssh-probe", root);
    if (ssh_hosts_read(here.sweep, &x->hosts, e) < 0 || make_directory(x, here.token_prefix, e) < 0 ||
        file_make_directories(here.directory, e) < 0 ||
        file_write_atomic(x->probe, here.token_prefix, strlen(here.token_prefix), e) < 0)
        return -1;
    /* Its pipes are open files, too. */
    here.slots += 2 * x->hosts.count + here.slots / 2;
    make_links(x, hash_hex(&hash, hex));
    return local_executor_create_proxy(&here, &proxy, &x->local, e) < 0 || connect_all(x, e) < 0 ? -1 : 0;
}

int ssh_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    struct ssh_executor *x = xcalloc(1, sizeof *x);
    x->base.methods = &methods;
    x->options = *options;
    if (begin_sessions(x, e) < 0) {
        ssh_executor_free(&x->base);
        return -1;
    }
    *out = &x->base;
    return 0;
}
