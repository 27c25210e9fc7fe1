#include "process/interrupts.h"

#include <stddef.h>
#include <time.h>

void interrupts_begin(struct interrupts *i)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&i->watched);
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++) {
        struct sigaction now;
        if (sigaction(signals[s], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&i->watched, signals[s]);
    }
    sigprocmask(SIG_BLOCK, &i->watched, &i->old);
}

void interrupts_end(struct interrupts *i)
{
    sigprocmask(SIG_SETMASK, &i->old, NULL);
}

void interrupts_wait(const struct interrupts *i, int64_t wait_ms, struct wake *wake)
{
    struct timespec limit = {(time_t)(wait_ms / 1000), (long)(wait_ms % 1000) * 1000000};
    int signal_number = sigtimedwait(&i->watched, NULL, &limit);
    if (signal_number <= 0)
        return;
    wake->bits |= signal_number == SIGINT ? WAKE_INTERRUPT : WAKE_TERMINATE;
    wake->signal = signal_number;
}
