/* Rows of the view `results` in a format, for `results` and `export`. */
#pragma once

#include <stdint.h>

#include "report/render.h"
#include "results/query.h"

/* The values of `--format`; NULL-terminated. */
extern const char *const result_format_names[], *const export_format_names[];

/* How and where rows are shown. */
struct shown_rows {
    const struct report_format *format;
    struct render_options options;
    const struct report_sink *sink;
    bool has_keys; /* columns named like keys are keys, as in the views `results` and `ranking` */
};

/* Renders a statement's rows, with its columns' units and types from the database. `*count` is set to the rows read,
 * also on failure; NULL: not wanted. */
int statement_rows_render(struct db *db, struct stmt *s, const struct shown_rows *shown, uint64_t *count,
                          struct error *e);

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

/* Prints the document as JSON or, as output_said does, as text. */
int output_answer(bool json, const char *name, struct cJSON *document, const struct cJSON *beside, struct error *e);

/* A step of a larger batch does more work, so the winner across batches may not win at equal ones. Says nothing if all
 * batches are equal. Of what stands beside the document of the best. */
void batch_notice_say(const struct cJSON *beside);

/* Says so where the job (0: any job of the current sweep that is ok) was measured on devices that were slower than
 * others of their model. */
int device_notice_say(struct db *db, int64_t job_id, struct error *e);
