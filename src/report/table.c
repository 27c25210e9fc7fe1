#include <string.h>

#include "report/render.h"
#include "report/text.h"
#include "report/writer.h"
#include "util/memory.h"

#define SAMPLE_ROWS 1000
/* Unlimited cells can be megabytes: then the sample ends early, and no column is padded to such a width. */
#define SAMPLE_BYTES ((size_t)4 << 20)
#define COLUMN_WIDTH_MAX 1000

/* A cell as it will be shown, as a range in struct table.text. */
struct shown {
    size_t offset, length;
    size_t columns; /* terminal columns */
    bool right;     /* right-aligned: a number */
};

struct table {
    struct writer writer;
    size_t column_count;
    struct cell *cells;  /* the current row */
    struct buffer text;  /* text of the cells in `shown` */
    struct shown *shown; /* rows of column_count cells */
    size_t row_count;    /* in `shown` */
    size_t *widths;      /* per column */
    bool *numeric, *text_seen, *state, *left_out;
};

static void add_shown(struct table *t, size_t column, const struct cell *cell)
{
    const struct render_options *options = t->writer.options;
    struct shown s = {.offset = t->text.length, .right = cell->kind == CELL_INT || cell->kind == CELL_FLOAT};
    if (cell->kind == CELL_TEXT)
        s.columns = text_add_printable(&t->text, cell->text, cell->length, options->cell_width, options->ascii);
    else if (s.right)
        writer_add_for_people(&t->text, cell);
    s.length = t->text.length - s.offset;
    if (s.right)
        s.columns = s.length;
    t->shown[t->row_count * t->column_count + column] = s;
}

static void add_row(struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++)
        add_shown(t, i, &t->cells[i]);
    t->row_count++;
}

/* Widths and alignment come from the sample, titles included. */
static void measure(struct table *t, bool titles)
{
    const struct shown *row = &t->shown[(t->row_count - 1) * t->column_count];
    for (size_t i = 0; i < t->column_count; i++) {
        if (row[i].columns > t->widths[i])
            t->widths[i] = row[i].columns < COLUMN_WIDTH_MAX ? row[i].columns : COLUMN_WIDTH_MAX;
        t->numeric[i] |= !titles && t->cells[i].kind != CELL_NULL && row[i].right;
        t->text_seen[i] |= !titles && t->cells[i].kind == CELL_TEXT;
    }
}

static void add_titles(struct table *t)
{
    OWNED_BUFFER title = BUFFER_INIT;
    for (size_t i = 0; i < t->column_count; i++) {
        buffer_clear(&title);
        writer_add_title(&title, t->writer.rows, i);
        t->state[i] = strcmp(buffer_text(&title), "state") == 0 || strcmp(buffer_text(&title), "failure") == 0;
        add_shown(t, i, &(struct cell){.kind = CELL_TEXT, .text = title.data, .length = title.length});
    }
    t->row_count++;
    measure(t, true);
}

static void add_repeated(struct buffer *out, const char *what, size_t times)
{
    while (times-- > 0)
        buffer_add_text(out, what);
}

static void write_cell(struct table *t, size_t column, const struct shown *s)
{
    struct buffer *out = &t->writer.text;
    const char *text = t->text.data + s->offset;
    if (!t->writer.options->colour || !t->state[column] || s->length == 0) {
        buffer_add(out, text, s->length);
        return;
    }
    OWNED char *state = xstrndup(text, s->length);
    text_add_styled(out, text_state_style(state), state);
}

static void write_row(struct table *t, const struct shown *row)
{
    struct buffer *out = &t->writer.text;
    size_t shown_count = t->column_count; /* no trailing blanks */
    while (shown_count > 0 && (row[shown_count - 1].length == 0 || t->left_out[shown_count - 1]))
        shown_count--;
    for (size_t i = 0; i < shown_count; i++) {
        if (t->left_out[i])
            continue;
        size_t pad = row[i].columns < t->widths[i] ? t->widths[i] - row[i].columns : 0;
        if (row[i].right)
            add_repeated(out, " ", pad);
        write_cell(t, i, &row[i]);
        if (i + 1 < shown_count)
            add_repeated(out, " ", (row[i].right ? 0 : pad) + 2);
    }
    buffer_add_char(out, '\n');
}

static void write_rule(struct table *t)
{
    bool first = true;
    for (size_t i = 0; i < t->column_count; i++) {
        if (t->left_out[i])
            continue;
        add_repeated(&t->writer.text, first ? "" : "  ", 1);
        first = false;
        add_repeated(&t->writer.text, t->writer.options->ascii ? "-" : "─", t->widths[i]);
    }
    buffer_add_char(&t->writer.text, '\n');
}

/* Fits the most important columns that have a value in the sample into the line. */
static void leave_out(struct table *t)
{
    const struct render_options *options = t->writer.options;
    size_t used = 0, count = 0;
    for (size_t n = 0; options->width && n < t->column_count; n++) {
        size_t i = options->order ? options->order[n] : n;
        bool empty = !t->numeric[i] && !t->text_seen[i] && t->row_count > 1;
        t->left_out[i] = n > 0 && (empty || used + 2 + t->widths[i] > options->width);
        used += t->left_out[i] ? 0 : t->widths[i] + (n > 0 ? 2 : 0);
        count += t->left_out[i];
    }
    if (options->left_out)
        *options->left_out = count;
}

/* Writes the titles, the rule and the sample, then empties the sample. */
static int write_sample(struct table *t, struct error *e)
{
    for (size_t i = 0; i < t->column_count; i++)
        t->shown[i].right = t->numeric[i] && !t->text_seen[i];
    write_row(t, t->shown);
    write_rule(t);
    for (size_t r = 1; r < t->row_count; r++) {
        write_row(t, &t->shown[r * t->column_count]);
        if (writer_flush(&t->writer, false, e) != 0)
            return -1;
    }
    return 0;
}

/* Reads a row into the sample. Returns as row_source.next does. */
static int read_row(struct table *t, struct error *e)
{
    const struct row_source *rows = t->writer.rows;
    int more = rows->next(rows->context, t->cells, e);
    if (more > 0)
        add_row(t);
    return more;
}

static int render(struct table *t, struct error *e)
{
    int more = 1;
    add_titles(t);
    while (t->row_count <= SAMPLE_ROWS && t->text.length < SAMPLE_BYTES && (more = read_row(t, e)) > 0)
        measure(t, false);
    leave_out(t);
    if (more < 0 || write_sample(t, e) != 0)
        return -1;
    while (more > 0) {
        buffer_clear(&t->text);
        t->row_count = 0;
        more = read_row(t, e);
        if (more > 0)
            write_row(t, t->shown);
        if (more < 0 || writer_flush(&t->writer, false, e) != 0)
            return -1;
    }
    return writer_flush(&t->writer, true, e);
}

int render_table(const struct row_source *rows, const struct render_options *options, const struct report_sink *sink,
                 struct error *e)
{
    size_t n = rows->column_count;
    struct table t = {
        .writer = {.rows = rows, .options = options, .sink = sink},
        .column_count = n,
        .cells = xcalloc(n, sizeof *t.cells),
        .shown = xcalloc((SAMPLE_ROWS + 1) * n, sizeof *t.shown),
        .widths = xcalloc(n, sizeof *t.widths),
        .numeric = xcalloc(n, sizeof *t.numeric),
        .text_seen = xcalloc(n, sizeof *t.text_seen),
        .state = xcalloc(n, sizeof *t.state),
        .left_out = xcalloc(n, sizeof *t.left_out),
    };
    int rc = render(&t, e);
    free_all(t.cells, t.shown, t.widths, t.numeric, t.text_seen, t.state, t.left_out);
    buffer_free(&t.text);
    writer_free(&t.writer);
    return rc;
}
