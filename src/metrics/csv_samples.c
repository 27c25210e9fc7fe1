#include "metrics/csv_samples.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

enum { READ_BYTES = 64 << 10 };

struct csv_reading {
    struct collector *collector;
    const struct metric_reader *reader;
    size_t cell, cells;   /* of the row so far, of the header */
    size_t column, steps; /* by the header; SIZE_MAX: it has none of that name */
    bool has_header, has_value;
    double value; /* of the row, where it has one */
    int64_t step; /* -1: none */
};

static void take_cell(void *bytes, size_t length, void *context)
{
    struct csv_reading *in = context;
    const char *text = bytes, *name = in->reader->source->path;
    const size_t cell = in->cell++;
    double number;
    if (!in->has_header && length == strlen(name) && memcmp(text, name, length) == 0)
        in->column = cell;
    else if (!in->has_header && length == 4 && memcmp(text, "step", length) == 0)
        in->steps = cell;
    if (!in->has_header || !parse_number(text, length, &number))
        return;
    if (cell == in->column) {
        in->value = number;
        in->has_value = true;
    } else if (cell == in->steps && number >= 0 && number < 9e18)
        in->step = (int64_t)number;
}

static void end_row(int terminator, void *context)
{
    struct csv_reading *in = context;
    const bool is_whole = terminator >= 0 || in->cell >= in->cells;
    if (in->has_header && is_whole && in->has_value)
        collector_add_read(in->collector, in->reader, in->step, in->value);
    in->cells = in->has_header ? in->cells : in->cell;
    in->has_header |= in->cell > 0;
    in->cell = 0;
    in->has_value = false;
    in->step = -1;
}

int csv_samples_read(int fd, const struct metric_reader *r, struct collector *c)
{
    struct csv_reading in = {.collector = c, .reader = r, .column = SIZE_MAX, .steps = SIZE_MAX, .step = -1};
    struct csv_parser parser;
    FILE *file = fdopen(fd, "rb");
    int error = errno;
    if (!file) {
        close(fd);
        return error;
    }
    char *block = xmalloc(READ_BYTES);
    size_t n = 0;
    csv_init(&parser, 0);
    csv_set_realloc_func(&parser, xrealloc);
    for (bool first = true; (n = fread(block, 1, READ_BYTES, file)) > 0; first = false) {
        size_t start = 0;
        if (first) {
            csv_set_delim(&parser, (unsigned char)csv_delimiter(block, n));
            start = utf8_mark_length(block, n);
        }
        csv_parse(&parser, block + start, n - start, take_cell, end_row, &in);
    }
    error = ferror(file) ? errno : 0;
    if (c->has_ended)
        csv_fini(&parser, take_cell, end_row, &in);
    csv_free(&parser);
    free(block);
    fclose(file);
    return error;
}
