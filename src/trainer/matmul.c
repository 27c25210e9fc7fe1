#include "trainer/matmul.h"

/*
 * A tile of out stays in registers while `inner` is walked: 4 × 8 floats are eight 128-bit registers, which
 * every 64-bit machine has. A panel of b (DEPTH × TILE_COLUMNS floats, 8 KiB) is copied side by side first,
 * so that it stays in the first-level cache while every row of a passes over it.
 */
enum { TILE_ROWS = 4, LANES = 4, TILE_COLUMNS = 2 * LANES, DEPTH = 256 };

struct matrix matrix_rows(const real *data, size_t row_stride)
{
    return (struct matrix){.data = data, .row_stride = row_stride, .column_stride = 1};
}

struct matrix matrix_transposed(const real *data, size_t row_stride)
{
    return (struct matrix){.data = data, .row_stride = 1, .column_stride = row_stride};
}

static size_t at_most(size_t value, size_t limit)
{
    return value < limit ? value : limit;
}

/* Columns beyond the matrix are zero, so that the tile need not know its width. */
static void pack_panel(real *restrict panel, struct matrix b, size_t depth, size_t columns)
{
    for (size_t k = 0; k < depth; k++) {
        const real *row = b.data + k * b.row_stride;
        for (size_t j = 0; j < columns; j++)
            panel[k * TILE_COLUMNS + j] = row[j * b.column_stride];
        for (size_t j = columns; j < TILE_COLUMNS; j++)
            panel[k * TILE_COLUMNS + j] = 0;
    }
}

struct tile {
    real *out;
    size_t out_stride;
    size_t rows;
    size_t columns;
};

/*
 * Written out with vectors because gcc keeps the sums of plain loops in memory, which costs half of the
 * speed. No wider instruction set is chosen at run time: equal programs give equal losses on all machines of
 * a kind.
 */
typedef real lanes __attribute__((vector_size(LANES * sizeof(real)), may_alias));

/* Rows beyond the matrix repeat its last row and are not stored: one loop shape for every tile. */
static void tile_add(struct tile tile, struct matrix a, const real *panel, size_t depth)
{
    const real *row0 = a.data;
    const real *row1 = a.data + at_most(1, tile.rows - 1) * a.row_stride;
    const real *row2 = a.data + at_most(2, tile.rows - 1) * a.row_stride;
    const real *row3 = a.data + at_most(3, tile.rows - 1) * a.row_stride;
    const lanes *b = (const lanes *)panel;
    lanes sum[TILE_ROWS][2] = {{{0}}};

    for (size_t k = 0; k < depth; k++) {
        size_t at = k * a.column_stride;
        lanes left = b[2 * k], right = b[2 * k + 1];
        sum[0][0] += row0[at] * left;
        sum[0][1] += row0[at] * right;
        sum[1][0] += row1[at] * left;
        sum[1][1] += row1[at] * right;
        sum[2][0] += row2[at] * left;
        sum[2][1] += row2[at] * right;
        sum[3][0] += row3[at] * left;
        sum[3][1] += row3[at] * right;
    }
    for (size_t i = 0; i < tile.rows; i++)
        for (size_t j = 0; j < tile.columns; j++)
            tile.out[i * tile.out_stride + j] += sum[i][j / LANES][j % LANES];
}

static void panel_add(struct tile whole, struct matrix a, const real *panel, size_t depth)
{
    for (size_t i = 0; i < whole.rows; i += TILE_ROWS) {
        struct tile tile = {whole.out + i * whole.out_stride, whole.out_stride, at_most(whole.rows - i, TILE_ROWS),
                            whole.columns};
        struct matrix a_part = {a.data + i * a.row_stride, a.row_stride, a.column_stride};
        tile_add(tile, a_part, panel, depth);
    }
}

void matmul_add(real *out, size_t out_stride, struct matrix a, struct matrix b, struct matmul_size size)
{
    _Alignas(64) real panel[DEPTH * TILE_COLUMNS];

    for (size_t k = 0; k < size.inner; k += DEPTH) {
        size_t depth = at_most(size.inner - k, DEPTH);
        struct matrix a_part = {a.data + k * a.column_stride, a.row_stride, a.column_stride};
        for (size_t j = 0; j < size.columns; j += TILE_COLUMNS) {
            size_t columns = at_most(size.columns - j, TILE_COLUMNS);
            struct matrix b_part = {b.data + k * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride};
            pack_panel(panel, b_part, depth, columns);
            panel_add((struct tile){out + j, out_stride, size.rows, columns}, a_part, panel, depth);
        }
    }
}
