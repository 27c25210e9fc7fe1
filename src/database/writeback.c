#include "database/writeback.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "database/sqlite.h"
#include "util/memory.h"

#define INTERVAL_NS 10000000 /* what a disk of 200 MB/s writes meanwhile, 2 MB, is the least that a sync finds */

struct writeback {
    int log, file;
    atomic_bool has_ended;
    pthread_t thread;
};

/* Starts writing and waits for nothing but room in the disk's queue. */
static void send(int descriptor)
{
#ifdef SYNC_FILE_RANGE_WRITE
    if (descriptor >= 0)
        sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor;
#endif
}

static void *work(void *context)
{
    struct writeback *w = context;
    const struct timespec interval = {.tv_nsec = INTERVAL_NS};
    while (!atomic_load(&w->has_ended)) {
        nanosleep(&interval, NULL);
        send(w->log);
        send(w->file);
    }
    return NULL;
}

struct writeback *writeback_begin(const struct db *db)
{
    struct writeback *w = xcalloc(1, sizeof *w);
    sigset_t all, old;
    w->log = db->log_files.log;
    w->file = db->file_lock;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool runs = pthread_create(&w->thread, NULL, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (runs)
        return w;
    free(w);
    return NULL;
}

void writeback_end(struct writeback *w)
{
    if (!w)
        return;
    atomic_store(&w->has_ended, true);
    pthread_join(w->thread, NULL);
    free(w);
}
