#include "run/spawner.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/memory.h"

struct request {
    size_t tag;
    struct process_start start;
    void *texts; /* what `start` points to, in one piece */
};

/* First in, first out; `room` places. */
struct ring {
    size_t first, count;
};

struct spawner {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t asked, done;
    size_t room;
    struct request *requests;
    struct spawned *results;
    struct ring asks, answers; /* of the two arrays */
    bool at_work;              /* a request is out of its ring and not answered yet */
    bool alert, leaving, has_thread;
    sigset_t changed_signals;
    size_t pending; /* the user's own count */
};

static size_t last(const struct spawner *s, struct ring *r)
{
    assert(r->count < s->room);
    return (r->first + r->count++) % s->room;
}

static size_t first(const struct spawner *s, struct ring *r)
{
    size_t at = r->first;
    r->first = (at + 1) % s->room;
    r->count--;
    return at;
}

/* --- texts --- */

struct packer {
    char **next;
    char *text;
};

static size_t packed_bytes(char *const *strings, size_t *pointers)
{
    size_t bytes = 0;
    for (; *strings; strings++, ++*pointers)
        bytes += strlen(*strings) + 1;
    ++*pointers;
    return bytes;
}

static char *pack(struct packer *p, const char *text)
{
    char *copy = p->text;
    p->text = stpcpy(copy, text) + 1;
    return copy;
}

static char **pack_all(struct packer *p, char *const *strings)
{
    char **copy = p->next;
    for (; *strings; strings++)
        *p->next++ = pack(p, *strings);
    *p->next++ = NULL;
    return copy;
}

static struct request request_of(size_t tag, const struct process_start *start)
{
    size_t pointers = 0;
    size_t bytes = packed_bytes(start->argv, &pointers) + packed_bytes(start->environment, &pointers) +
                   strlen(start->program) + 1 + (start->directory ? strlen(start->directory) + 1 : 0);
    struct request r = {tag, *start, xmalloc(pointers * sizeof(char *) + bytes)};
    struct packer p = {r.texts, (char *)r.texts + pointers * sizeof(char *)};
    r.start.argv = pack_all(&p, start->argv);
    r.start.environment = pack_all(&p, start->environment);
    r.start.program = pack(&p, start->program);
    r.start.directory = start->directory ? pack(&p, start->directory) : NULL;
    return r;
}

/* --- the thread --- */

static char *subject_of(const struct process_start *start, const char *stage)
{
    if (strcmp(stage, "exec") == 0)
        return xstrdup(start->argv[0]);
    return strcmp(stage, "chdir") == 0 ? xstrdup(start->directory) : NULL;
}

static struct spawned spawn(struct request *r)
{
    struct spawned made = {.tag = r->tag, .started_ms = clock_monotonic_ms()};
    made.pid = process_spawn(&r->start, &made.start_ticks, &made.failure);
    close(r->start.output_fd);
    if (made.pid < 0)
        made.subject = subject_of(&r->start, made.failure.stage);
    free(r->texts);
    return made;
}

static void answer(struct spawner *s, const struct spawned *made)
{
    s->results[last(s, &s->answers)] = *made;
    s->at_work = false;
    if (s->asks.count == 0)
        pthread_cond_signal(&s->done);
    /* Its user may be asleep, waiting for signals. */
    if (s->alert || made->pid < 0)
        kill(getpid(), SIGCHLD);
    s->alert = false;
}

static void *work(void *context)
{
    struct spawner *s = context;
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (s->asks.count == 0 && !s->leaving)
            pthread_cond_wait(&s->asked, &s->mutex);
        if (s->asks.count == 0)
            break;
        struct request r = s->requests[first(s, &s->asks)];
        s->at_work = true;
        pthread_mutex_unlock(&s->mutex);
        struct spawned made = spawn(&r);
        pthread_mutex_lock(&s->mutex);
        answer(s, &made);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* --- its user --- */

static bool start_thread(struct spawner *s)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error_number = pthread_create(&s->thread, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error_number == 0;
}

struct spawner *spawner_create(size_t room)
{
    struct spawner *s = xcalloc(1, sizeof *s);
    s->room = room;
    s->requests = xcalloc(room, sizeof *s->requests);
    s->results = xcalloc(room, sizeof *s->results);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->asked, NULL);
    pthread_cond_init(&s->done, NULL);
    s->changed_signals = process_changed_signals();
    s->has_thread = start_thread(s);
    return s;
}

void spawner_free(struct spawner *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    s->leaving = true;
    pthread_cond_signal(&s->asked);
    pthread_mutex_unlock(&s->mutex);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->asked);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->mutex);
    free(s->requests);
    free(s->results);
    free(s);
}

void spawner_start(struct spawner *s, size_t tag, const struct process_start *start)
{
    struct request r = request_of(tag, start);
    r.start.changed_signals = &s->changed_signals;
    s->pending++;
    if (!s->has_thread) {
        struct spawned made = spawn(&r);
        pthread_mutex_lock(&s->mutex);
        answer(s, &made);
        pthread_mutex_unlock(&s->mutex);
        return;
    }
    pthread_mutex_lock(&s->mutex);
    s->requests[last(s, &s->asks)] = r;
    if (!s->at_work)
        pthread_cond_signal(&s->asked);
    pthread_mutex_unlock(&s->mutex);
}

bool spawner_take(struct spawner *s, struct spawned *out)
{
    if (s->pending == 0)
        return false;
    pthread_mutex_lock(&s->mutex);
    bool any = s->answers.count > 0;
    if (any)
        *out = s->results[first(s, &s->answers)];
    pthread_mutex_unlock(&s->mutex);
    s->pending -= any;
    return any;
}

size_t spawner_pending(const struct spawner *s)
{
    return s->pending;
}

void spawner_settle(struct spawner *s)
{
    if (s->pending == 0)
        return;
    pthread_mutex_lock(&s->mutex);
    while (s->asks.count > 0 || s->at_work)
        pthread_cond_wait(&s->done, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

void spawner_alert(struct spawner *s)
{
    pthread_mutex_lock(&s->mutex);
    s->alert = true;
    /* It may just have been done. */
    if (s->answers.count > 0)
        kill(getpid(), SIGCHLD);
    pthread_mutex_unlock(&s->mutex);
}
