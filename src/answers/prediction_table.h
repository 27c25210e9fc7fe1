/* The rows of `predict`, which can be filtered, ordered and selected by column like `results`. */
#ifndef MESHSWEEP_ANSWERS_PREDICTION_TABLE_H
#define MESHSWEEP_ANSWERS_PREDICTION_TABLE_H

#include "answers/prediction_report.h"
#include "space/match.h"

struct prediction_table;

/* Creates a private database whose view `results` has a row per added combination: keys, declared derived keys, state
 * and failure, predictions and measurements, and with `is_scaled` those of struct scaled_plan. Borrows `space`. */
int prediction_table_create(struct space *space, bool is_scaled, struct prediction_table **out, struct error *e);
void prediction_table_free(struct prediction_table *t);

int prediction_table_add(struct prediction_table *t, const struct match *m, const struct predicted_row *row,
                         struct error *e);

/* To use in a result_query with `is_table`. */
struct db *prediction_table_db(struct prediction_table *t);

/* The columns for people, comma-separated: keys that differ, the state and the predictions. The caller frees it. */
char *prediction_table_brief(const struct prediction_table *t);

#endif
