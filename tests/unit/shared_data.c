#include "shared_data.h"

#include <csv.h>

#include "unit_test.h"
#include "util/file.h"
#include "util/parse.h"

#define TABLE_BYTES_MOST (16u << 20)

struct reader {
    struct shared_table *table;
    char **row; /* cells of the line being read */
    size_t filled;
};

static void on_cell(void *cell, size_t length, void *user)
{
    struct reader *r = user;
    r->row = array_grow(r->row, r->filled, sizeof *r->row);
    r->row[r->filled++] = xstrndup(cell ? cell : "", length);
}

static void on_row(int end, void *user)
{
    struct reader *r = user;
    struct shared_table *t = r->table;
    (void)end;
    if (!t->header) {
        t->header = r->row;
        t->column_count = r->filled;
    } else {
        if (r->filled != t->column_count)
            fail_msg("row %zu has %zu cells, not %zu", t->row_count + 1, r->filled, t->column_count);
        for (size_t i = 0; i < r->filled; i++) {
            size_t count = t->row_count * t->column_count + i;
            t->cells = array_grow(t->cells, count, sizeof *t->cells);
            t->cells[count] = r->row[i];
        }
        t->row_count++;
        free(r->row);
    }
    r->row = NULL;
    r->filled = 0;
}

static void parse(const struct buffer *text, struct shared_table *out)
{
    struct reader r = {.table = out};
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL) ||
        csv_parse(&parser, text->data, text->length, on_cell, on_row, &r) != text->length ||
        csv_fini(&parser, on_cell, on_row, &r))
        fail_msg("not a table: %s", csv_strerror(csv_error(&parser)));
    csv_free(&parser);
}

bool shared_table_load(const char *name, struct shared_table *out)
{
    const char *directory = getenv("MESHSWEEP_SHARED_DATA");
    OWNED_BUFFER path = BUFFER_INIT, text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    buffer_printf(&path, "%s/%s", directory ? directory : "../shared/data", name);
    bool found = file_read(buffer_text(&path), TABLE_BYTES_MOST, &text, &e) == 0;
    *out = (struct shared_table){0};
    if (found)
        parse(&text, out);
    else
        print_message("skipped: %s\n", e.text);
    return found;
}

void shared_table_free(struct shared_table *t)
{
    for (size_t i = 0; i < t->row_count * t->column_count; i++)
        free(t->cells[i]);
    for (size_t i = 0; i < t->column_count; i++)
        free(t->header[i]);
    free(t->cells);
    free(t->header);
    *t = (struct shared_table){0};
}

const char *shared_text(const struct shared_table *t, size_t row, const char *column)
{
    for (size_t i = 0; i < t->column_count; i++)
        if (strcmp(t->header[i], column) == 0)
            return t->cells[row * t->column_count + i];
    fail_msg("no column %s", column);
    return "";
}

double shared_number(const struct shared_table *t, size_t row, const char *column)
{
    double value = 0;
    const char *text = shared_text(t, row, column);
    FAIL_WHERE(*text && !parse_double(text, &value), "row %zu: %s is no number: %s", row, column, text);
    return value;
}
