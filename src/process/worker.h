/* A thread that does one thing at a time for its owner, who continues meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* Its thread has every signal blocked. Where no process is allowed, so that there can be no thread, worker_begin does
 * what it is given: never fails. */
struct worker *worker_create(void);

/* Waits for what is under way. NULL is none. */
void worker_free(struct worker *w);

/* Has `act` called; nothing may be under way. What it touches is not the caller's until worker_wait, or until
 * worker_is_done has said so. */
void worker_begin(struct worker *w, void (*act)(void *context), void *context);

/* Returns whether nothing is under way. Never blocks. */
bool worker_is_done(struct worker *w);

/* Blocks until nothing is. */
void worker_wait(struct worker *w);

/* The same for at most so long; returns worker_is_done. */
bool worker_wait_within(struct worker *w, int64_t timeout_ms);
