#include "report/render.h"

#ifdef MESHSWEEP_XLSX

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xlsxwriter.h>

#include "report/text.h"
#include "util/library.h"
#include "util/memory.h"

/* The limits of a sheet. */
#define ROWS_MOST LXW_ROW_MAX
#define TEXT_MOST 32767 /* bytes, which are no fewer than its characters */
#define EXACT_MOST ((int64_t)1 << 53)

/* libxlsxwriter as a table of its functions, which is loaded when a workbook is written (util/library.h): the version
 * that the program was built with, whose structures it hands over. */
#define XLSX_FUNCTIONS(each)                                                                                           \
    each(format_set_bold) each(format_set_num_format) each(lxw_strerror) each(workbook_add_format)                     \
        each(workbook_add_worksheet) each(workbook_close) each(workbook_new_opt) each(worksheet_freeze_panes)          \
            each(worksheet_write_boolean) each(worksheet_write_datetime) each(worksheet_write_number)                  \
                each(worksheet_write_string)

struct xlsx_library {
#define XLSX_FUNCTION(name) __typeof__(name) *name;
    XLSX_FUNCTIONS(XLSX_FUNCTION)
#undef XLSX_FUNCTION
};

static int xlsx_library_load(struct xlsx_library *out, struct error *e)
{
#define NAME(name) #name,
    static const char *const names[] = {XLSX_FUNCTIONS(NAME)};
#undef NAME
    return library_load(MESHSWEEP_XLSX, MESHSWEEP_XLSX_PACKAGE, names, sizeof names / sizeof *names, out, e);
}

struct sheet {
    struct xlsx_library xlsx;
    lxw_workbook *book;
    lxw_worksheet *page;
    lxw_format *bold, *time;
    struct buffer scratch;
};

static void add_text(struct sheet *s, lxw_row_t row, lxw_col_t column, const char *text, size_t length,
                     lxw_format *format)
{
    buffer_clear(&s->scratch);
    text_add_valid(&s->scratch, text, length);
    size_t most = s->scratch.length < TEXT_MOST ? s->scratch.length : TEXT_MOST;
    while (most < s->scratch.length && most > 0 && ((unsigned char)s->scratch.data[most] & 0xC0) == 0x80)
        most--;
    s->scratch.length = most;
    for (size_t i = 0; i < most; i++)
        if (!s->scratch.data[i])
            s->scratch.data[i] = ' ';
    s->xlsx.worksheet_write_string(s->page, row, column, buffer_text(&s->scratch), format);
}

/* The view's own times, "2026-01-31T12:00:00Z": a key's value of that form stays a text. */
static bool read_time(const char *name, const struct cell *cell, lxw_datetime *out)
{
    char copy[21] = "", end;
    if ((strcmp(name, "started") != 0 && strcmp(name, "ended") != 0) || cell->length != 20)
        return false;
    memcpy(copy, cell->text, 20);
    return sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2lf%c", &out->year, &out->month, &out->day, &out->hour, &out->min,
                  &out->sec, &end) == 7 &&
           end == 'Z';
}

static void add_cell(struct sheet *s, const char *name, lxw_row_t row, lxw_col_t column, const struct cell *cell)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    lxw_datetime time = {0};
    if (cell->kind == CELL_INT && cell->integer >= -EXACT_MOST && cell->integer <= EXACT_MOST) {
        s->xlsx.worksheet_write_number(s->page, row, column, (double)cell->integer, NULL);
    } else if (cell->kind == CELL_INT) {
        /* A spreadsheet has 15 digits. */
        char digits[32];
        add_text(s, row, column, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)cell->integer),
                 NULL);
    } else if (cell->kind == CELL_FLOAT && isfinite(cell->real)) {
        s->xlsx.worksheet_write_number(s->page, row, column, cell->real, NULL);
    } else if (cell->kind == CELL_FLOAT) {
        const char *word = words[isnan(cell->real) ? 0 : cell->real > 0 ? 1 : 2];
        add_text(s, row, column, word, strlen(word), NULL);
    } else if (cell->kind == CELL_TRUTH) {
        s->xlsx.worksheet_write_boolean(s->page, row, column, cell->integer != 0, NULL);
    } else if (cell->kind != CELL_NULL && read_time(name, cell, &time)) {
        s->xlsx.worksheet_write_datetime(s->page, row, column, &time, s->time);
    } else if (cell->kind != CELL_NULL) {
        add_text(s, row, column, cell->text, cell->length, NULL);
    }
}

static lxw_row_t add_header(struct sheet *s, const struct row_source *rows, bool units)
{
    for (size_t i = 0; i < rows->column_count; i++)
        add_text(s, 0, (lxw_col_t)i, rows->columns[i].name, strlen(rows->columns[i].name), s->bold);
    for (size_t i = 0; units && i < rows->column_count; i++)
        if (rows->columns[i].unit && rows->columns[i].unit[0])
            add_text(s, 1, (lxw_col_t)i, rows->columns[i].unit, strlen(rows->columns[i].unit), s->bold);
    s->xlsx.worksheet_freeze_panes(s->page, units ? 2 : 1, 0);
    return units ? 2 : 1;
}

static int add_rows(struct sheet *s, const struct row_source *rows, lxw_row_t row, struct error *e)
{
    OWNED struct cell *cells = xcalloc(rows->column_count + 1, sizeof *cells);
    int rc;
    while ((rc = rows->next(rows->context, cells, e)) > 0) {
        if (row == ROWS_MOST) {
            rc = error_set(e, ERROR_FAILED, "a sheet has at most %d rows; choose fewer with --where, or write csv",
                           ROWS_MOST);
            break;
        }
        for (size_t i = 0; i < rows->column_count; i++)
            add_cell(s, rows->columns[i].name, row, (lxw_col_t)i, &cells[i]);
        row++;
    }
    return rc;
}

static int copy_out(int fd, const struct report_sink *sink, struct error *e)
{
    char block[1 << 16];
    ssize_t got;
    off_t at = 0;
    while ((got = pread(fd, block, sizeof block, at)) > 0) {
        if (sink->write(sink->context, block, (size_t)got, e) < 0)
            return -1;
        at += got;
    }
    return got < 0 ? error_errno(e, errno, "xlsx") : 0;
}

/* The library writes to a file of a name: to one in memory. */
int render_xlsx(const struct row_source *rows, const struct render_options *options, const struct report_sink *sink,
                struct error *e)
{
    char path[40];
    lxw_workbook_options constant = {.constant_memory = LXW_TRUE, .use_zip64 = LXW_TRUE};
    struct sheet s = {.scratch = BUFFER_INIT};
    if (xlsx_library_load(&s.xlsx, e) < 0)
        return error_context(e, "xlsx, unlike --format csv, cannot be written");
    const int fd = memfd_create("xlsx", MFD_CLOEXEC);
    if (fd < 0)
        return error_errno(e, errno, "xlsx");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    s.book = s.xlsx.workbook_new_opt(path, &constant);
    s.page = s.xlsx.workbook_add_worksheet(s.book, "results");
    s.bold = s.xlsx.workbook_add_format(s.book);
    s.time = s.xlsx.workbook_add_format(s.book);
    s.xlsx.format_set_bold(s.bold);
    s.xlsx.format_set_num_format(s.time, "yyyy-mm-dd hh:mm:ss");
    int rc = add_rows(&s, rows, add_header(&s, rows, options->units), e);
    const lxw_error failed = s.xlsx.workbook_close(s.book);
    if (rc == 0 && failed)
        rc = error_set(e, ERROR_FAILED, "xlsx: %s", s.xlsx.lxw_strerror(failed));
    if (rc == 0)
        rc = copy_out(fd, sink, e);
    close(fd);
    buffer_free(&s.scratch);
    return rc;
}

#else

int render_xlsx(const struct row_source *rows, const struct render_options *options, const struct report_sink *sink,
                struct error *e)
{
    (void)rows;
    (void)options;
    (void)sink;
    return error_set(e, ERROR_USAGE,
                     "xlsx: this program was built without libxlsxwriter; on Debian: apt-get install "
                     "libxlsxwriter-dev, then build it again; --format csv works");
}

#endif
