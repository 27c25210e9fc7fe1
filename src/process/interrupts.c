#include "process/interrupts.h"

#include <stddef.h>
#include <time.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

void interrupts_add(sigset_t *set)
{
    /* Whoever started us with a signal ignored (nohup, a shell's background) wants it so; blocked, it would be
     * delivered all the same. */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
    }
}

void interrupts_begin(struct interrupts *i)
{
    sigemptyset(&i->watched);
    interrupts_add(&i->watched);
    sigprocmask(SIG_BLOCK, &i->watched, &i->old);
}

void interrupts_end(struct interrupts *i)
{
    sigprocmask(SIG_SETMASK, &i->old, NULL);
}

void interrupts_note(int signal_number, struct wake *wake)
{
    if (signal_number != SIGINT && signal_number != SIGTERM && signal_number != SIGHUP)
        return;
    wake->bits |= signal_number == SIGINT ? WAKE_INTERRUPT : WAKE_TERMINATE;
    wake->signal = signal_number;
}

void interrupts_wait(const struct interrupts *i, int64_t wait_ms, struct wake *wake)
{
    struct timespec limit = {(time_t)(wait_ms / 1000), (long)(wait_ms % 1000) * 1000000};
    interrupts_note(sigtimedwait(&i->watched, NULL, &limit), wake);
}
