#include <errno.h>

#include "report_fixture.h"
#include "unit_test.h"

int fixture_next(void *context, struct cell *cells, struct error *e)
{
    struct fixture_rows *f = context;
    f->calls++;
    if (f->given == f->fail_at)
        return error_set(e, ERROR_FAILED, "row %zu cannot be read", f->given);
    if (f->given == f->row_count)
        return 0;
    memcpy(cells, f->cells + f->given++ * f->column_count, f->column_count * sizeof *cells);
    return 1;
}

int fixture_write(void *context, const void *bytes, size_t length, struct error *e)
{
    struct fixture_sink *f = context;
    if (f->calls++ == f->fail_at)
        return error_errno(e, ENOSPC, "out.csv");
    buffer_add(&f->text, bytes, length);
    return 0;
}

struct row_source fixture_source(size_t count, const char *const *names, const char *const *units,
                                 struct fixture_rows *rows)
{
    static struct result_column columns[64];
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct result_column){.name = (char *)names[i], .unit = (char *)(units ? units[i] : NULL)};
    return (struct row_source){count, columns, fixture_next, rows};
}

char *fixture_render(render_function *render, const struct cell *cells, size_t row_count, const char *const *names,
                     const char *const *units, struct render_options options)
{
    size_t column_count = 0;
    while (names[column_count])
        column_count++;
    struct fixture_rows f = {cells, row_count, column_count, NEVER, 0, 0};
    struct fixture_sink s = {BUFFER_INIT, NEVER, 0};
    struct row_source rows = fixture_source(column_count, names, units, &f);
    struct report_sink sink = {fixture_write, &s};
    FAIL_IF(render(&rows, &options, &sink, &e));
    return buffer_take(&s.text);
}
