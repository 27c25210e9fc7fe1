/* Inside formula*.c only: what comes of values of which only a range is known, in each of the ways in which SQLite
 * works values out. What is told covers all that SQLite may come to; of exact values it is what SQLite comes to. */
#ifndef MESHSWEEP_JOIN_FORMULA_RANGE_H
#define MESHSWEEP_JOIN_FORMULA_RANGE_H

#include "join/formula_tree.h"

extern const struct range range_anything;

static inline bool range_is_null(const struct range *r)
{
    return r->exact && r->datum.kind == DATUM_NULL;
}

static inline bool range_can_be_null(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_NULL : r->maybe_null;
}

static inline bool range_can_be_text(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_TEXT : r->maybe_text;
}

struct range range_of_integer(int64_t integer);
struct range range_of_real(double real); /* NaN: NULL, as in SQLite */
struct range range_of_null(void);

/* Bits of CAN_BE_…, and back: 1, 0 or NULL. */
unsigned range_truth(const struct range *r);
struct range range_of_truth(unsigned bits);

/* OP_ADD to OP_SHIFT_RIGHT. */
struct range range_work_out(enum formula_op op, const struct range *a, const struct range *b);

/* -1, 0, 1 as SQLite sorts; 2: it is left to SQLite. Neither is NULL. */
int datum_compare(const struct datum *a, const struct datum *b);

/* OP_LESS to OP_NOT_EQUAL. */
struct range range_compare(enum formula_op op, const struct range *a, const struct range *b);

/* IS: NULL is a value. */
struct range range_compare_is(const struct range *a, const struct range *b, bool negated);

/* IS TRUE and the like, of something with that truth: never NULL. */
struct range range_ask_truth(enum formula_op op, unsigned truth);

/* NOT and AND of truths. */
unsigned truth_swap(unsigned bits);
unsigned truth_both(unsigned a, unsigned b);

#endif
