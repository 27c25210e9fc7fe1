/* Inside join: what a formula comes to in each of many rows of a variable, in one pass over the formula. It is as
 * SQLite has it where all else is bound, and within bounds otherwise. */
#ifndef MESHSWEEP_JOIN_FORMULA_ROWS_H
#define MESHSWEEP_JOIN_FORMULA_ROWS_H

#include "join/formula.h"

#define ROWS_AT_ONCE 64
#define ROWS_ROOM (768 * ROWS_AT_ONCE)

enum number_kind { NUMBER_ANY, NUMBER_INTEGER, NUMBER_REAL };

/* The cells of a key, row by row: as doubles, which hold SQL's integers within bounds. */
struct number_column {
    enum number_kind kind;
    bool any_null; /* 0 in numbers */
    double least, most;
    double *numbers; /* NULL: some are text, or not held */
};

/* Of every width-th cell. */
struct number_column number_column_make(const struct datum *cells, size_t width, size_t count);

/* Rows of values of keys, one after the other. */
struct key_rows {
    const size_t *keys; /* of the columns */
    size_t width, count;
    const struct datum *cells;
    const struct number_column *columns; /* of rows of which `first` is the first here */
    size_t first;
};

/* What the truth can come to in each row, by bit. */
struct row_truths {
    uint64_t can_be_true, can_be_false;
    bool maybe_null; /* any of them may be NULL */
    bool is_loose;   /* where it can be several formula_truth may tell less */
};

/* The other keys being as they are in `keys`. `room`: ROWS_ROOM numbers, for the time being. False where it is not told
 * this way. */
bool formula_truths(const struct formula *f, const struct range *keys, const struct key_rows *rows, double *room,
                    struct row_truths *out);

/* Which rows can meet a demand, and which can fail it. */
void demand_rows(enum demand demand, const struct row_truths *truths, uint64_t *can_meet, uint64_t *can_fail);

#endif
