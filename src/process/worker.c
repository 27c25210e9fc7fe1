#include "process/worker.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/memory.h"

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t asked, done;
    void (*act)(void *context); /* NULL: nothing is under way */
    void *context;
    bool leaving, has_thread;
};

static void *work(void *context)
{
    struct worker *w = context;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (!w->act && !w->leaving)
            pthread_cond_wait(&w->asked, &w->mutex);
        if (!w->act)
            break;
        pthread_mutex_unlock(&w->mutex);
        w->act(w->context);
        pthread_mutex_lock(&w->mutex);
        w->act = NULL;
        pthread_cond_signal(&w->done);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

struct worker *worker_create(void)
{
    struct worker *w = xcalloc(1, sizeof *w);
    sigset_t all, old;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->asked, NULL);
    pthread_cond_init(&w->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->has_thread = pthread_create(&w->thread, NULL, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return w;
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->leaving = true;
    pthread_cond_signal(&w->asked);
    pthread_mutex_unlock(&w->mutex);
    if (w->has_thread)
        pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->asked);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

void worker_begin(struct worker *w, void (*act)(void *context), void *context)
{
    if (!w->has_thread) {
        act(context);
        return;
    }
    pthread_mutex_lock(&w->mutex);
    assert(!w->act);
    w->act = act;
    w->context = context;
    pthread_cond_signal(&w->asked);
    pthread_mutex_unlock(&w->mutex);
}

bool worker_is_done(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    bool done = !w->act;
    pthread_mutex_unlock(&w->mutex);
    return done;
}

void worker_wait(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->act)
        pthread_cond_wait(&w->done, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

bool worker_wait_within(struct worker *w, int64_t timeout_ms)
{
    const struct timespec until = clock_moment_in(timeout_ms);
    int rc = 0;
    pthread_mutex_lock(&w->mutex);
    while (w->act && rc == 0)
        rc = pthread_cond_timedwait(&w->done, &w->mutex, &until);
    bool done = !w->act;
    pthread_mutex_unlock(&w->mutex);
    return done;
}
