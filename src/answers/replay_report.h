/* The results of replays for each strategy, over all groups and seeds, as text (a Markdown table) and as JSON. */
#ifndef MESHSWEEP_ANSWERS_REPLAY_REPORT_H
#define MESHSWEEP_ANSWERS_REPLAY_REPORT_H

#include "search/replay_load.h"
#include "util/buffer.h"

struct replay_report;

/* `source` and `groups` are borrowed and must outlive the report. */
struct replay_report *replay_report_create(const struct replay_source *source, const struct replay_group *groups,
                                           size_t seeds);
void replay_report_free(struct replay_report *r);

bool replay_report_any_runnable(const struct replay_report *r);

/* Begins the results of a strategy; the name is borrowed. */
void replay_report_begin(struct replay_report *r, const char *strategy);
void replay_report_add(struct replay_report *r, size_t group, size_t seed, const struct replay_result *result);

/* Adds the relative loss against `strategy`, which searched all keys at once with as many trials. It may be added again
 * for the same search: the result is the same. */
void replay_report_add_joint(struct replay_report *r, const char *strategy, size_t group, size_t seed, double loss);

/* Adds the processor time of one decision, including what was learned from the outcome before it. */
void replay_report_decision(struct replay_report *r, int64_t us);

/* Removes the strategy begun last. */
void replay_report_withdraw(struct replay_report *r);

/* Appends the table. With `groups`, or if [sweep] group_by lists some, it also has a row for each strategy and group,
 * and a table of the best of each group follows. */
void replay_report_text(const struct replay_report *r, bool groups, struct buffer *out);

struct cJSON;
int replay_report_json(const struct replay_report *r, int (*print)(const struct cJSON *value, struct error *e),
                       struct error *e);

#endif
