/* The rows of `predict`, with conditions, orders and columns as for `results`. */
#ifndef MESHSWEEP_ANSWERS_PREDICTION_TABLE_H
#define MESHSWEEP_ANSWERS_PREDICTION_TABLE_H

#include "answers/prediction_report.h"
#include "space/match.h"

struct prediction_table;

/* A private database whose view `results` has a row per combination that is added: its keys, declared derived keys,
 * state and failure, what is predicted and what was measured; `is_scaled`: and what struct scaled_plan says of it.
 * `space` is borrowed. */
int prediction_table_create(struct space *space, bool is_scaled, struct prediction_table **out, struct error *e);
void prediction_table_free(struct prediction_table *t);

int prediction_table_add(struct prediction_table *t, const struct match *m, const struct predicted_row *row,
                         struct error *e);

/* For a result_query with `is_table`. */
struct db *prediction_table_db(struct prediction_table *t);

/* The columns for people, with commas between them: keys that differ, the state, and the predictions. The caller's. */
char *prediction_table_brief(const struct prediction_table *t);

#endif
