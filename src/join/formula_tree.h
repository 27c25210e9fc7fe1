/* Only for formula*.c: the nodes of a formula. */
#pragma once

#include "join/evaluator.h"

/* Beyond these a double may not hold an integer, nor what comes of a few of them. */
#define EXACT_MOST 1125899906842624.0 /* 2^50 */

enum formula_op {
    OP_CONSTANT = 1,
    OP_KEY,
    OP_PART, /* SQLite's */
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_IS,
    OP_IS_TRUE,
    OP_NOT,
    OP_AND,
    OP_OR,
    OP_CASE, /* condition, value, …, value of ELSE */
    OP_COALESCE,
    OP_MIN,
    OP_MAX,
};

struct formula_node {
    enum formula_op op;
    uint32_t first, count; /* its operands: a run of `operands` */
    uint32_t start, end;   /* its text within that of the whole; 0, 0: it stands nowhere */
    union {
        struct datum constant;
        size_t key;
        size_t part;
    };
};

struct formula {
    struct formula_node *nodes;
    size_t node_count;
    uint32_t *operands; /* into nodes */
    size_t operand_count;
    uint32_t root;
    bool decides_early;     /* some of its operations may not need all of what they read */
    struct sql_part *parts; /* the first is the whole */
    size_t part_count;
    char **texts; /* of constants */
    size_t text_count;
};
