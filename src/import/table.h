/* A measured table as [import] reads it: cells become SQLite values, the file's expressions are evaluated row by row,
 * and what is not a measurement is refused with its reason.
 *
 * A cell that is a number is one in expressions (1e3, 2.0 as 2), an empty one is NULL, every other is text. -0.0 stays
 * text: it is how some programs write "not measured". An expression gives a key's value: NULL for a spec that lacks
 * the key; the texts true and false, however capitalised, are booleans.
 *
 * Refused, in this order, and counted by reason:
 *   a row for which a [[import.refuse]] holds
 *   an ok row with a metric that is text, or negative (-1 and -0.0 stand for "not measured"; for what is no time, rate,
 *   memory or share, several numbers below 0 are measured), or an mfu or hfu of more than all of the peak (100 where
 *   its unit is %, else 1)
 * A failed row keeps those of its metrics that are numbers and none of these.
 * An ok row whose objective is NULL failed as no-metric. */
#pragma once

#include "config/sweep.h"

struct import_table;

/* Compiles every expression over columns of these names (the table's header); `file` is the table's name, for
 * messages. What does not resolve is reported at once, with its place in the sweep file. ERROR_USAGE. */
int import_table_create(const struct sweep *s, const char *file, const char *const *columns, size_t count,
                        struct import_table **out, struct error *e);
void import_table_free(struct import_table *t);

/* Adds the row that begins on that line of the file: one text per column, NULL for an empty cell. */
int import_table_add(struct import_table *t, size_t line, const char *const *cells, struct error *e);

/* Borrowed for the call. */
struct import_row {
    size_t line;
    const struct value *values; /* one per column of [import]; VALUE_NULL for metrics */
    const double *metrics;      /* one per column of [import]; NAN: none */
    const char *failure;        /* NULL: ok */
    const char *state;          /* as the table has it; NULL: [import] has no state */
    double duration_s;          /* NAN: not known */
};

/* Calls `each` for every row that is not refused, in the order of the file. -1 stops. First checks all their states:
 * those that neither [import.states] has nor are "ok" or a failure class are reported at once, with a line each
 * (ERROR_USAGE). */
int import_table_read(struct import_table *t, int (*each)(void *context, const struct import_row *row, struct error *e),
                      void *context, struct error *e);

struct refusal_count {
    char *why;
    size_t count, first_line;
};

/* Why rows were refused, in the order of the first of each, after import_table_read. Borrowed. */
const struct refusal_count *import_table_refusals(const struct import_table *t, size_t *count);

/* Metrics of failed rows that were dropped. */
size_t import_table_dropped(const struct import_table *t);

/* Names of the table's columns that [import] does not read; NULL: it reads all. Borrowed. */
const char *import_table_unused(const struct import_table *t);
