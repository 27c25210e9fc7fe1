#include "cli/expected_time.h"

#include <math.h>
#include <stdlib.h>

#include "database/open.h"
#include "report/countdown.h"
#include "results/durations.h"
#include "util/memory.h"

#define LOOK_EVERY_MS 5000
#define SHORT_MS 1000 /* below, starting and recording count, too */

struct expected_time {
    const char *db_path;
    struct db *db; /* NULL: not open yet */
    int64_t looked_ms;
    double waiting_ms; /* mean of those that wait; NaN: unknown */
};

struct expected_time *expected_time_open(const char *db_path)
{
    struct expected_time *t = xcalloc(1, sizeof *t);
    t->db_path = db_path;
    t->waiting_ms = NAN;
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

/* What cannot be read is not known: no reason to disturb a run. */
static double mean_of_waiting(struct expected_time *t, int64_t waiting)
{
    struct error none = ERROR_INIT;
    int64_t sweep;
    double mean = NAN;
    if (!t->db && store_open_read_only(t->db_path, &t->db, &none) < 0)
        return NAN;
    if (db_query_int(t->db, "SELECT id FROM current_sweep", 0, &sweep, &none) < 0 ||
        durations_of_waiting(t->db, sweep, waiting, &mean, &none) < 0)
        return NAN;
    return mean;
}

int64_t expected_time_ms(struct expected_time *t, const struct run_counts *c)
{
    if (c->elapsed_ms - t->looked_ms >= LOOK_EVERY_MS) {
        t->looked_ms = c->elapsed_ms;
        t->waiting_ms = c->pending > 0 ? mean_of_waiting(t, c->pending) : NAN;
    }
    if (!(t->waiting_ms >= SHORT_MS) || c->running <= 0)
        return -1;
    return countdown_estimate_ms(t->waiting_ms, c->pending, c->running);
}
