/* Fuzzing: any bytes as a CSV table. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "report/csv.h"

struct source {
    const uint8_t *data;
    size_t left;
};

static long give(void *context, void *bytes, size_t room, struct error *e)
{
    (void)e;
    struct source *s = context;
    size_t n = s->left < room ? s->left : room;
    if (n > 0)
        memcpy(bytes, s->data, n);
    s->data += n;
    s->left -= n;
    return (long)n;
}

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
    struct source source = {data, size};
    const struct csv_input input = {give, &source};
    size_t cells = 0;
    csv_read_rows(&input, look, &cells, &e);
    return 0;
}
