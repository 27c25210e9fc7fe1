/* Rows of the view `results` in a format, for `results` and `export`. */
#pragma once

#include <stdint.h>

#include "report/render.h"
#include "results/query.h"

/* The values of `--format`; NULL-terminated. */
extern const char *const result_format_names[], *const export_format_names[];

/* Renders the rows and counts them. Says if columns were left out to fit `q->width`. */
int result_output(struct db *db, const struct result_query *q, const struct report_format *format,
                  const struct report_sink *sink, uint64_t *count, struct error *e);

/* The same with one row per job and metric. */
int result_output_long(struct db *db, const struct result_query *q, const struct report_format *format,
                       const struct report_sink *sink, uint64_t *count, struct error *e);

/* Prints what "sql/answers/NAME.sql" answers: its document or, for people, what it says (`said`) and the table `shown`.
 * Its second column, if there is one and it is not NULL, says why there is no answer: ERROR_NOTHING. */
int result_answer(struct db *db, const char *name, struct sql_values values, bool json, struct error *e);

/* Prints for people what the statement "sql/texts/NAME.sql" says of a document (saying_add_text). */
struct cJSON;
int output_said(const char *name, const struct cJSON *document, const struct cJSON *beside, struct error *e);

/* Prints the document as JSON or, as output_said does, as text; takes both. */
int output_answer_take(bool json, const char *name, struct cJSON *document, struct cJSON *beside, struct error *e);
