/* The processes that run jobs, and what one that died left behind. Inside the caller's write transaction. */
#pragma once

#include "database/db.h"
#include "store/states.h"

struct runner_row {
    const char *host, *boot_id, *provenance_json;
    int64_t pid, start_ticks;
};
int runner_record(struct db *db, const struct runner_row *row, int64_t *id, struct error *e);
int runner_record_end(struct db *db, int64_t id, struct error *e);

/* Who a runner is, whatever becomes of its pid. */
struct runner_process {
    int64_t id; /* of its row */
    int64_t pid, start_ticks;
    char boot_id[64];
};

/* The last runner, when it did not record its end; `*found` says whether that is so. */
int runner_find_open(struct db *db, struct runner_process *out, bool *found, struct error *e);

/* Ends the attempts that no living runner holds (the caller, `runner_id`, has the writer's lock: all but its own):
 * failed/lost, which is their runner's fault; their jobs are pending again. Claimed ones, which never started, are
 * removed.
 * A job that ran at each of the last deaths, as many as the policy has for `lost`, runs last from then on; one that
 * did not run at this death is cleared of those before. */
struct recovered_counts {
    int64_t lost;  /* attempts that had been started */
    int64_t aside; /* jobs that run last, now that this death is counted */
};
int attempts_recover(struct db *db, int64_t runner_id, const struct retry_policy *policy, struct recovered_counts *out,
                     struct error *e);
