/* The supervisor's look at all processes: which of them are whose. */
#include "run/job_slot.h"
#include "util/clock.h"

enum { SCAN_SHARE = 20 }; /* scanning takes at most a twentieth of the time, however many processes there are */

void supervisor_scan(struct supervisor *s)
{
    if (s->table_fresh)
        return;
    int64_t started_ms = clock_monotonic_ms();
    process_table_read(&s->table);
    process_table_assign(&s->table, s->runner, s->roots, s->slot_count, s->token_prefix);
    s->table_fresh = true;
    int64_t fair_ms = (clock_monotonic_ms() - started_ms) * SCAN_SHARE;
    s->scan_interval_ms = fair_ms > SCAN_INTERVAL_MS ? fair_ms : SCAN_INTERVAL_MS;
}
