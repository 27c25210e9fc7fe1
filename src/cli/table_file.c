#include "cli/table_file.h"

#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "util/file.h"
#include "util/memory.h"

#define TABLE_BYTES_MOST ((size_t)1 << 30)

struct rows_reading {
    const struct buffer *bytes;
    size_t given; /* of them, to the CSV reader */
    table_row *each;
    void *context;
};

static long read_bytes(void *context, void *bytes, size_t room, struct error *e)
{
    struct rows_reading *in = context;
    size_t left = in->bytes->length - in->given, n = left < room ? left : room;
    (void)e;
    if (n > 0)
        memcpy(bytes, in->bytes->data + in->given, n);
    in->given += n;
    return (long)n;
}

/* The cells as texts, NULL for empty ones; all the caller's. */
static char **texts_of(const struct csv_record *record)
{
    char **texts = xcalloc(record->count + 1, sizeof *texts);
    for (size_t i = 0; i < record->count; i++) {
        struct cell cell = csv_unescape_formula(record->cells[i]);
        if (cell.kind == CELL_TEXT && cell.length > 0)
            texts[i] = xstrndup(cell.text, cell.length);
    }
    return texts;
}

static int take_record(void *context, const struct csv_record *record, struct error *e)
{
    struct rows_reading *in = context;
    char **texts = texts_of(record);
    int rc = in->each(in->context, record->line, (const char *const *)texts, record->count, e);
    for (size_t i = 0; i < record->count; i++)
        free(texts[i]);
    free(texts);
    return rc;
}

int table_read_rows(const char *file, struct buffer *bytes, table_row *each, void *context, struct error *e)
{
    struct rows_reading in = {bytes, 0, each, context};
    const struct csv_input source = {read_bytes, &in};
    if (file_read(file, TABLE_BYTES_MOST, bytes, e) < 0)
        return -1;
    if (csv_read_rows(&source, take_record, &in, e) < 0)
        return strncmp(e->text, "line ", 5) == 0 ? error_context(e, "%s", file) : -1;
    return 0;
}

static int take_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e)
{
    struct table_file *in = context;
    if (!in->table)
        return import_table_create(in->sweep, in->file, cells, count, &in->table, e);
    in->rows++;
    return import_table_add(in->table, line, cells, e);
}

int table_file_read(struct table_file *in, struct error *e)
{
    if (table_read_rows(in->file, &in->bytes, take_row, in, e) < 0)
        return -1;
    if (!in->table)
        return error_set(e, ERROR_USAGE, "%s: the table is empty; its first line must name the columns", in->file);
    if (in->rows == 0)
        return error_set(e, ERROR_NOTHING, "%s: the table has a header but no rows", in->file);
    return 0;
}

void table_file_free(struct table_file *in)
{
    import_table_free(in->table);
    buffer_free(&in->bytes);
    in->table = NULL;
}
