/*
 * Dense matrix product, which takes nearly all of the trainer's time.
 *
 * Every product of the model, forward and backward, is matmul_add() with the strides of its operands
 * swapped or not: a transposed operand is never copied by the caller.
 */
#ifndef TRAINER_MATMUL_H
#define TRAINER_MATMUL_H

#include <stddef.h>

/*
 * The element type of every tensor. The program computes in float; the gradient checks build the same
 * sources with TRAINER_DOUBLE, because finite differences in float drown in rounding errors.
 */
#ifdef TRAINER_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* A borrowed matrix: element (i, j) is data[i * row_stride + j * column_stride]. */
struct matrix {
    const real *data;
    size_t row_stride;
    size_t column_stride;
};

/* Shape of a product: out is rows × columns, a is rows × inner, b is inner × columns. */
struct matmul_size {
    size_t rows;
    size_t columns;
    size_t inner;
};

/* A row-major matrix whose rows lie row_stride elements apart. */
struct matrix matrix_rows(const real *data, size_t row_stride);

/* The transpose of a row-major matrix whose rows lie row_stride elements apart. */
struct matrix matrix_transposed(const real *data, size_t row_stride);

/*
 * out += a · b. The rows of out lie out_stride elements apart, its columns are contiguous; out must not
 * overlap a or b. The order in which one element's products are added depends on `inner` alone, so equal
 * inputs give equal bits whatever the other dimensions are.
 */
void matmul_add(real *out, size_t out_stride, struct matrix a, struct matrix b, struct matmul_size size);

#endif
