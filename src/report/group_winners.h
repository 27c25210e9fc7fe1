/* Configurations as text: the statistics of replicates, and the winner of each group ([sweep] replicate, group_by). */
#ifndef MESHSWEEP_REPORT_GROUP_WINNERS_H
#define MESHSWEEP_REPORT_GROUP_WINNERS_H

#include "results/best.h"

struct cJSON;

/* Appends "mean of 3 replicates (median 7, 95 % interval 6 to 8, from 6.5 to 7.5), 1 failed, 2 not ended". */
void configuration_add_text(const struct configuration *c, struct buffer *out);

/* Adds "replicates": {"ok": …, "failed": …, "open": …, "median": …, "low": …, …, "alike": …} to `o`; null
 * where `c` is NULL. */
void configuration_add_json(const struct configuration *c, size_t alike, struct cJSON *o);

/* Appends for each group its winner, with the keys in which the winners differ, each on lines of its own that begin
 * with `indent`. `b` has groups. */
int group_winners_add_text(struct db *db, const struct best *b, const char *indent, struct buffer *out,
                           struct error *e);

/* [{"group": …, "job": …, "value": …, "per_device": …, "configurations": …, "replicates": …}, …]; the caller's. */
struct cJSON *group_winners_json(const struct best *b);

/* As `status` has it: the best so far, or that of each group. `*text` stays empty and `*json` NULL where jobs compete,
 * not configurations, and where nothing is best yet. Both are the caller's. */
int group_winners_read_status(struct db *db, struct buffer *text, struct cJSON **json, struct error *e);

#endif
