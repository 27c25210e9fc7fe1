/* The measured tables beside the project, for tests: rows and columns of text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct shared_table {
    char **cells; /* row_count rows of column_count, the header apart */
    char **header;
    size_t row_count, column_count;
};

/* Reads NAME of $MESHSWEEP_SHARED_DATA (../shared/data where that is not set). False, with a message, when
 * there is no such file: the test then skips. Ends the test when the file is there but is no table. */
bool shared_table_load(const char *name, struct shared_table *out);
void shared_table_free(struct shared_table *t);

/* Returns the cell of row `row`; ends the test when there is no such column. Borrowed. */
const char *shared_text(const struct shared_table *t, size_t row, const char *column);

/* 0 where the cell is empty; ends the test when it is text. */
double shared_number(const struct shared_table *t, size_t row, const char *column);
