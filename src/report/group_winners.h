/* Configurations as text: the statistics of replicates, and the winner of each group ([sweep] replicate, group_by). */
#pragma once

#include "results/best.h"

struct cJSON;

/* Appends "mean of 3 replicates (median 7, 95 % interval 6 to 8, from 6.5 to 7.5), 1 failed, 2 not ended". */
void configuration_add_text(const struct configuration *c, struct buffer *out);

/* Adds "replicates": {"ok": …, "failed": …, "open": …, "median": …, "low": …, …, "alike": …} to `o`; null if `c` is
 * NULL. */
void configuration_add_json(const struct configuration *c, size_t alike, struct cJSON *o);

/* Appends the winner of each group, with the keys in which the winners differ, on lines that begin with `indent`. `b`
 * must have groups. */
int group_winners_add_text(struct db *db, const struct best *b, const char *indent, struct buffer *out,
                           struct error *e);

/* [{"group": …, "job": …, "value": …, "per_device": …, "configurations": …, "replicates": …}, …]. The caller frees
 * it. */
struct cJSON *group_winners_json(const struct best *b);

/* The best so far, or that of each group, for `status`. `*text` stays empty and `*json` NULL if jobs rather than
 * configurations compete, or if there is no best yet. The caller frees both. */
int group_winners_read_status(struct db *db, struct buffer *text, struct cJSON **json, struct error *e);
