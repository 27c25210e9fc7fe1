#include "util/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_ms(void)
{
    return clock_monotonic_us() / 1000;
}

struct timespec clock_moment_in(int64_t ms)
{
    int64_t us = read_us(CLOCK_MONOTONIC) + ms * 1000;
    return (struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
}

/* --- standing still --- */

#define LOOK_EVERY_US 100000
#define STILL_FROM_US 1000000 /* a machine under load is late by less */
#define READ_AGAIN_MOST 1000  /* in a child that was forked in the middle of a change nobody ends it */

/* Written by who has the mutex of `watch`; `change` is odd meanwhile. */
static struct {
    atomic_uint change;
    atomic_bool is_watched;
    _Atomic int64_t still_us, looked_us;
} stillness;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t leave;
    pthread_t thread;
    int users;
} watch = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Longer since the last look than a machine under load is late. */
static bool has_stood(int64_t now_us)
{
    return atomic_load(&stillness.is_watched) && now_us - atomic_load(&stillness.looked_us) >= STILL_FROM_US;
}

/* How long it has stood still at `now_us`, that before the next look included. */
static int64_t still_at(int64_t now_us)
{
    int64_t still_us, looked_us;
    unsigned before;
    int reads = 0;
    do {
        before = atomic_load(&stillness.change);
        still_us = atomic_load(&stillness.still_us);
        looked_us = atomic_load(&stillness.looked_us);
    } while ((before % 2 || atomic_load(&stillness.change) != before) && ++reads < READ_AGAIN_MOST);
    int64_t passed_us = now_us - looked_us;
    bool stood = atomic_load(&stillness.is_watched) && passed_us >= STILL_FROM_US;
    return still_us + (stood ? passed_us - LOOK_EVERY_US : 0);
}

static void note_stillness(void)
{
    int64_t now_us = read_us(CLOCK_MONOTONIC), still_us = still_at(now_us);
    atomic_fetch_add(&stillness.change, 1);
    atomic_store(&stillness.still_us, still_us);
    atomic_store(&stillness.looked_us, now_us);
    atomic_fetch_add(&stillness.change, 1);
}

static void *keep_looking(void *context)
{
    (void)context;
    pthread_mutex_lock(&watch.mutex);
    while (watch.users > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_EVERY_US * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watch.leave, &watch.mutex, &until);
        note_stillness();
    }
    pthread_mutex_unlock(&watch.mutex);
    return NULL;
}

/* The thread is not in the child. */
static void forget_watch(void)
{
    atomic_store(&stillness.is_watched, false);
}

static void prepare_watch(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.leave, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_atfork(NULL, NULL, forget_watch);
}

void clock_watch_stillness(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, old;
    pthread_once(&once, prepare_watch);
    pthread_mutex_lock(&watch.mutex);
    if (watch.users == 0) {
        atomic_store(&stillness.looked_us, read_us(CLOCK_MONOTONIC));
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        watch.users = pthread_create(&watch.thread, NULL, keep_looking, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        atomic_store(&stillness.is_watched, watch.users == 1);
    } else {
        watch.users++;
    }
    pthread_mutex_unlock(&watch.mutex);
}

void clock_unwatch_stillness(void)
{
    pthread_mutex_lock(&watch.mutex);
    bool last = watch.users > 0 && --watch.users == 0;
    if (last) {
        note_stillness();
        atomic_store(&stillness.is_watched, false);
        pthread_cond_signal(&watch.leave);
    }
    pthread_mutex_unlock(&watch.mutex);
    if (last)
        pthread_join(watch.thread, NULL);
}

/* Whoever notices first that it stood still sets down how long: what starts from here on did not. */
int64_t clock_still_us(void)
{
    int64_t now_us = read_us(CLOCK_MONOTONIC);
    if (has_stood(now_us)) {
        pthread_mutex_lock(&watch.mutex);
        note_stillness();
        pthread_mutex_unlock(&watch.mutex);
    }
    return still_at(now_us);
}

int64_t clock_monotonic_us(void)
{
    int64_t now_us = read_us(CLOCK_MONOTONIC);
    return now_us - still_at(now_us);
}

int64_t clock_processor_us(void)
{
    return read_us(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

char *clock_format_utc(int64_t wall_ms, char out[32])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(wall_ms % 1000));
    return out;
}
