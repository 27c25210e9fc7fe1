/* The results of replays: per strategy, over all groups and seeds, as text (a Markdown table) and as JSON. */
#ifndef MESHSWEEP_ANSWERS_REPLAY_REPORT_H
#define MESHSWEEP_ANSWERS_REPLAY_REPORT_H

#include "search/replay_load.h"
#include "util/buffer.h"

struct replay_report;

/* Both are borrowed and outlive it. */
struct replay_report *replay_report_create(const struct replay_source *source, const struct replay_group *groups,
                                           size_t seeds);
void replay_report_free(struct replay_report *r);

bool replay_report_any_runnable(const struct replay_report *r);

/* A strategy's results follow; the name is borrowed. */
void replay_report_begin(struct replay_report *r, const char *strategy);
void replay_report_add(struct replay_report *r, size_t group, size_t seed, const struct replay_result *result);

/* The share by which it found worse than `strategy` did among all keys at once with as many trials. A second one of the
 * same search is no other. */
void replay_report_add_joint(struct replay_report *r, const char *strategy, size_t group, size_t seed, double loss);

/* Processor time that one decision took, with what had to be learned from the outcome before it. */
void replay_report_decision(struct replay_report *r, int64_t us);

/* The strategy begun last is left out. */
void replay_report_withdraw(struct replay_report *r);

/* With `groups`, and where [sweep] group_by lists some, a row for each group of each strategy too, and a table of the
 * best of each. */
void replay_report_text(const struct replay_report *r, bool groups, struct buffer *out);

struct cJSON;
int replay_report_json(const struct replay_report *r, int (*print)(const struct cJSON *value, struct error *e),
                       struct error *e);

#endif
