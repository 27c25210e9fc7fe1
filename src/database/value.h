/* Values of SQL: what is bound to a statement's parameters, given to a function, or computed for a column. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

enum column_type { COLUMN_NULL, COLUMN_INT, COLUMN_FLOAT, COLUMN_TEXT, COLUMN_BLOB };

struct sql_value {
    enum column_type type;
    int64_t integer;  /* COLUMN_INT; of a COLUMN_BLOB how many bytes */
    double real;      /* COLUMN_FLOAT */
    const char *text; /* COLUMN_TEXT, COLUMN_BLOB: borrowed for the call */
};

/* The values of a statement's parameters, from the first on. Empty: NO_VALUES. */
struct sql_values {
    const struct sql_value *items;
    size_t count;
};

#define VALUES(...)                                                                                                    \
    ((struct sql_values){(const struct sql_value[]){__VA_ARGS__},                                                      \
                         sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)})
#define NO_VALUES ((struct sql_values){NULL, 0})

static inline struct sql_value sql_null(void)
{
    return (struct sql_value){.type = COLUMN_NULL};
}

static inline struct sql_value sql_int(int64_t value)
{
    return (struct sql_value){.type = COLUMN_INT, .integer = value};
}

static inline struct sql_value sql_positive(int64_t value) /* 0 and below: NULL */
{
    return value > 0 ? sql_int(value) : sql_null();
}

static inline struct sql_value sql_real(double value) /* NaN: NULL */
{
    return isnan(value) ? sql_null() : (struct sql_value){.type = COLUMN_FLOAT, .real = value};
}

static inline struct sql_value sql_finite(double value) /* NaN and infinities: NULL */
{
    return isfinite(value) ? sql_real(value) : sql_null();
}

static inline struct sql_value sql_text(const char *text) /* NULL: NULL */
{
    return text ? (struct sql_value){.type = COLUMN_TEXT, .text = text} : sql_null();
}

static inline struct sql_value sql_blob(const void *bytes, size_t length)
{
    return (struct sql_value){.type = COLUMN_BLOB, .integer = (int64_t)length, .text = bytes};
}

static inline struct sql_value sql_hash(const struct hash128 *hash) /* NULL: NULL */
{
    return hash ? sql_blob(hash->bytes, sizeof hash->bytes) : sql_null();
}
