#include "cli/table_file.h"

#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "util/file.h"
#include "util/memory.h"

#define TABLE_BYTES_MOST ((size_t)1 << 30)

static long read_bytes(void *context, void *bytes, size_t room, struct error *e)
{
    struct table_file *in = context;
    size_t left = in->bytes.length - in->given, n = left < room ? left : room;
    (void)e;
    if (n > 0)
        memcpy(bytes, in->bytes.data + in->given, n);
    in->given += n;
    return (long)n;
}

/* The cells as texts, NULL for empty ones; the array and what it holds are the caller's. */
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
    struct table_file *in = context;
    char **texts = texts_of(record);
    int rc;
    if (in->table) {
        rc = import_table_add(in->table, record->line, (const char *const *)texts, e);
        in->rows++;
    } else {
        rc = import_table_create(in->sweep, in->file, (const char *const *)texts, record->count, &in->table, e);
    }
    for (size_t i = 0; i < record->count; i++)
        free(texts[i]);
    free(texts);
    return rc;
}

int table_file_read(struct table_file *in, struct error *e)
{
    const struct csv_input source = {read_bytes, in};
    if (file_read(in->file, TABLE_BYTES_MOST, &in->bytes, e) < 0)
        return -1;
    if (csv_read_rows(&source, take_record, in, e) < 0)
        return strncmp(e->text, "line ", 5) == 0 ? error_context(e, "%s", in->file) : -1;
    if (!in->table)
        return error_set(e, ERROR_USAGE, "%s: the table is empty; its first line must name the columns", in->file);
    if (in->rows == 0)
        return error_set(e, ERROR_NOTHING, "%s: the table has a header and no rows", in->file);
    return 0;
}

void table_file_free(struct table_file *in)
{
    import_table_free(in->table);
    buffer_free(&in->bytes);
    in->table = NULL;
}
