/* Expressions of a sweep, resolved (expression/expression.h), as trees that can be asked for what they come to while
 * some of their keys are not bound yet: the join cuts a branch as soon as a rule is false whatever the others will be.
 *
 * Arithmetic, comparisons, logic, CASE, IN, BETWEEN and the functions coalesce, ifnull, iif, nullif, min and max are
 * computed here, to the bit as SQLite 3.40 does it; whatever else there is (other functions, operators on bits, CAST,
 * LIKE, GLOB, ||, texts as numbers) is left to SQLite: that operation alone, once the keys
 * that it reads are bound. tests/unit/test_join.c holds the two against each other. */
#pragma once

#include "expression/expression.h"

enum datum_kind { DATUM_NULL, DATUM_INT, DATUM_REAL, DATUM_TEXT, DATUM_UNKNOWN };

/* A value as SQL has it; DATUM_UNKNOWN: any, it is not bound yet. */
struct datum {
    enum datum_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text; /* borrowed */
    };
};

/* Appends it: equal bytes, equal values. Compares them in the same way. */
void datum_add(const struct datum *d, struct buffer *out);
bool datum_equal(const struct datum *a, const struct datum *b);

/* The scope in which a formula is evaluated: the values of the keys, one per names.keys, and what asks SQLite
 * (join/evaluator.h). */
struct evaluator;
struct scope {
    struct datum *keys;
    struct evaluator *evaluator;
};

struct formula;

/* Compiles an expression over those names, resolved to columns. Never fails: what is not understood is one part. */
struct formula *formula_compile(const struct names *n, const char *sql);
void formula_free(struct formula *f);

/* The conjuncts of an expression: it is false where one of them is, and true where all are. The caller's, each and the
 * array. */
struct formula **formula_split(const struct names *n, const char *sql, size_t *count);

/* The keys that it reads. */
const size_t *formula_keys(const struct formula *f, size_t *count);

enum { CAN_BE_TRUE = 1, CAN_BE_FALSE = 2, CAN_BE_NULL = 4 };

/* Returns what the truth of the formula can come to: exactly one bit once all its keys are known, and before that where
 * the others do not matter; else all of them. */
unsigned formula_truth(struct formula *f, const struct scope *s);

/* Its value; all its keys must be known. A text is borrowed until the next evaluation. */
struct datum formula_value(struct formula *f, const struct scope *s);

/* Returns whether it is an equality that may be linear in the key, and nothing but that. */
bool formula_may_be_solved(const struct formula *f, size_t key);

/* Solves such a one, where all other keys are known and all values integers, those of the key at most `most` from 0:
 * whether there is a value for which it is true, and which; it is false for all others. Else returns false. */
bool formula_solve(struct formula *f, const struct scope *s, size_t key, double most, bool *any, int64_t *value);

/* The truth that is asked of a formula. */
enum demand { DEMAND_NOT_FALSE = 1, DEMAND_TRUE, DEMAND_FALSE };
enum outlook { OUTLOOK_OPEN, OUTLOOK_MET, OUTLOOK_FAILED };
enum outlook demand_outlook(enum demand demand, unsigned truth);

/* Appends what is left of the demand under what is bound: equal bytes, equal outlook whatever the other keys will be
 * (the same keys being known). */
void formula_add_residue(struct formula *f, const struct scope *s, enum demand demand, struct buffer *out);
