/* run: the thread that does one thing at a time for its owner. */
#include <pthread.h>
#include <signal.h>

#include "process/worker.h"
#include "unit_test.h"

struct errand {
    pthread_t by;
    int count;
    bool is_masked;
};

static void act(void *context)
{
    struct errand *errand = context;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    errand->is_masked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGCHLD);
    errand->by = pthread_self();
    errand->count++;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void act_behind_gate(void *context)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    act(context);
}

TEST(worker__many_times__each_is_done_by_another_thread_without_signals)
{
    struct worker *w = worker_create();
    struct errand errand = {.count = 0};
    assert_true(worker_is_done(w));
    for (int i = 1; i <= 100; i++) {
        worker_begin(w, act, &errand);
        worker_wait(w);
        assert_true(worker_is_done(w));
        assert_int_equal(errand.count, i);
    }
    assert_false(pthread_equal(errand.by, pthread_self()));
    assert_true(errand.is_masked);
    worker_free(w);
}

TEST(worker__not_done_yet__says_so_and_is_waited_for)
{
    struct worker *w = worker_create();
    struct errand errand = {.count = 0};
    pthread_mutex_lock(&gate);
    worker_begin(w, act_behind_gate, &errand);
    assert_false(worker_is_done(w));
    assert_false(worker_wait_within(w, 5));
    pthread_mutex_unlock(&gate);
    assert_true(worker_wait_within(w, 60000));
    worker_wait(w);
    assert_int_equal(errand.count, 1);
    worker_free(w);
}

TEST(worker_free__something_under_way__done_first)
{
    struct worker *w = worker_create();
    struct errand errand = {.count = 0};
    worker_begin(w, act, &errand);
    worker_free(w);
    assert_int_equal(errand.count, 1);
    worker_free(NULL);
}
