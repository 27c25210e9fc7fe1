/* Fuzzing: any bytes as a CSV table. */
#include <stddef.h>
#include <stdint.h>

#include "report/csv.h"

static int look(void *context, const struct csv_record *record, struct error *e)
{
    (void)e;
    size_t *cells = context;
    for (size_t i = 0; i < record->count; i++)
        *cells += csv_unescape_formula(record->cells[i]).kind == CELL_TEXT;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error e = ERROR_INIT;
    size_t cells = 0;
    csv_read_rows((const char *)data, size, look, &cells, &e);
    return 0;
}
