/* Internal to report: the row loop shared by the row formats, and the buffer before the sink. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "report/render.h"
#include "report/rows.h"
#include "util/buffer.h"
#include "util/error.h"

/* State for the functions of a row format. They append to `text`, which goes to the sink in large pieces. */
struct writer {
    struct buffer text;
    const struct row_source *rows;
    const struct render_options *options;
    const struct report_sink *sink;
    uint64_t row_count;    /* rows already written */
    struct buffer scratch; /* the format's own, kept from row to row */
};

struct row_format {
    bool has_names; /* the first row has them, the next one the units where the options ask for it: NULL without one */
    void (*header)(struct writer *w); /* may be NULL */
    void (*row)(struct writer *w, const struct cell *cells);
    void (*end)(struct writer *w); /* may be NULL */
};

/* Renders all rows. Returns as a render_function does. */
int writer_rows(const struct row_format *format, const struct row_source *rows, const struct render_options *options,
                const struct report_sink *sink, struct error *e);

/* Defines render_NAME (report/render.h), whose format has these members. */
#define ROW_RENDERER(name, ...)                                                                                        \
    int render_##name(const struct row_source *rows, const struct render_options *options,                             \
                      const struct report_sink *sink, struct error *e)                                                 \
    {                                                                                                                  \
        static const struct row_format format = {__VA_ARGS__};                                                         \
        return writer_rows(&format, rows, options, sink, e);                                                           \
    }

/* Writes `text` to the sink and empties it, if it is large or `all` is set. */
int writer_flush(struct writer *w, bool all, struct error *e);

void writer_free(struct writer *w);

/* Appends a cell's integer or float exactly. Not for text or NULL. */
void writer_add_number(struct buffer *out, const struct cell *cell);

/* The same, but a float that need not be exact as text_add_rounded has it. */
void writer_add_for_people(struct buffer *out, const struct cell *cell);

/* Appends "name (unit)" of a column, or the name if it has no unit. */
void writer_add_title(struct buffer *out, const struct row_source *rows, size_t column);
