/* A supervisor in a directory of its own, and short ways to run one job under it. Every step is asserted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/supervisor.h"

enum { PATIENCE_MS = 60000 }; /* how long a test waits for what must happen */

struct bench {
    struct supervisor *supervisor;
    char directory[64], scratch[96], job_dir[96], prefix[32];
    char self[4096];
    int64_t next_attempt;
};

struct bench *bench_open(size_t slots, int64_t log_cap_bytes,
                         bool (*first_metric)(void *, int64_t, const struct attempt_files *));

/* Frees the supervisor and asserts that neither a process of its jobs nor a zombie is left. */
void bench_close(struct bench *b);

/* Processes of this bench, and children of this program, zombies included. */
int count_left(const struct bench *b);

/* A launch with the next attempt number, a small environment, no limits and 200 ms of grace. */
struct launch launch_of(struct bench *b, char *const *argv);

/* Runs one job to its end. Outcomes are the caller's. run_child plays an awkward child. */
struct outcome wait_for_one(struct bench *b);
struct outcome run_launch(struct bench *b, const struct launch *launch);
struct outcome run_argv(struct bench *b, char *const *argv);
struct outcome run_shell(struct bench *b, const char *script);
struct outcome run_child(struct bench *b, const char *name, int64_t timeout_ms);

void assert_log(const struct outcome *o, const char *expected);

/* "exit 7, 1 left", "timeout SIGTERM 100 ms": how it ended, with the limit, what was left and ended, and more. */
void assert_end(const struct outcome *o, const char *expected);

/* Awkward children, run alone with a limit: how each ends, after how long at least, with nothing left then. */
struct child_end {
    const char *name, *end, *log; /* NULL: any */
    int64_t timeout_ms, idle_timeout_ms, startup_timeout_ms, duration_ms;
};
void assert_children_end(const struct child_end *cases, size_t count);

/* Returns whether a child that vfork made shares this program's memory, as process_spawn needs. Under valgrind it does
 * not, and the supervisor's tests are skipped there. Says so. */
bool vfork_shares_memory(void);

/* A test with a bench of so many slots, `b`. */
#define BENCH_TEST(name, slots)                                                                                        \
    static void name##_at(struct bench *b);                                                                            \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        struct bench *b = bench_open(slots, 0, NULL);                                                                  \
        name##_at(b);                                                                                                  \
        bench_close(b);                                                                                                \
    }                                                                                                                  \
    static void name##_at(struct bench *b)
