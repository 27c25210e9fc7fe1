#include "cli/expected_time.h"

#include <math.h>
#include <stdlib.h>

#include "database/open.h"
#include "report/countdown.h"
#include "results/status.h"
#include "util/memory.h"

#define LOOK_EVERY_MS 5000
#define SHORT_MS 1000 /* for shorter jobs, the time to start and record them matters */

struct expected_time {
    const char *db_path;
    struct db *db; /* NULL: not open yet */
    int64_t looked_ms;
    bool none_waits;
    double mean_ms; /* of waiting jobs, or if none waits, of running ones; NaN: unknown */
};

struct expected_time *expected_time_open(const char *db_path)
{
    struct expected_time *t = xcalloc(1, sizeof *t);
    t->db_path = db_path;
    t->mean_ms = NAN;
    t->looked_ms = -LOOK_EVERY_MS;
    return t;
}

void expected_time_close(struct expected_time *t)
{
    if (!t)
        return;
    store_close(t->db);
    free(t);
}

/* A database that cannot be read must not disturb a run. */
static double mean_of(struct expected_time *t, int64_t waiting)
{
    struct error none = ERROR_INIT;
    double mean;
    if ((!t->db && store_open_read_only(t->db_path, &t->db, &none) < 0) ||
        status_expected_ms(t->db, waiting, &mean, &none) < 0)
        return NAN;
    return mean;
}

int64_t expected_time_ms(struct expected_time *t, const struct run_counts *c)
{
    if (c->elapsed_ms - t->looked_ms >= LOOK_EVERY_MS || (c->pending == 0) != t->none_waits) {
        t->looked_ms = c->elapsed_ms;
        t->none_waits = c->pending == 0;
        t->mean_ms = mean_of(t, c->pending);
    }
    if (!(t->mean_ms >= SHORT_MS) || c->running <= 0)
        return -1;
    return countdown_estimate_ms(t->mean_ms, c->to_come, c->running);
}
