/* Plots as SVG text: a frame with two labelled axes, into which the sections draw. Coordinates are in user units;
 * colours and strokes come from the style sheet, by class. */
#ifndef MESHSWEEP_PAGE_SVG_H
#define MESHSWEEP_PAGE_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

#define SVG_TICKS_MOST 12

struct svg_axis {
    double low, high;  /* values at the ends */
    double from, to;   /* their coordinates */
    bool log;          /* logarithmic; both ends are positive */
    double scale;      /* labels show values divided by it */
    const char *title; /* what it shows; any text */
    char unit[64];     /* after scaling; "" for none */
};

/* An axis a little wider than `low` to `high`, which are finite. Bytes and milliseconds get a readable unit. With
 * `from_zero` it begins at 0, if `low` is not negative. */
struct svg_axis svg_axis_over(double low, double high, const char *title, const char *unit, bool from_zero);

/* A logarithmic axis, for positive values. */
struct svg_axis svg_axis_log(double low, double high, const char *title, const char *unit);

/* Position of `value` between `low` (0) and `high` (1), without overflow; 0.5 if these are equal. */
double svg_share(double low, double high, double value);

double svg_at(const struct svg_axis *a, double value);

/* Values of ticks. Returns their number. */
size_t svg_ticks(const struct svg_axis *a, double ticks[SVG_TICKS_MOST]);

/* "<svg …><title>…</title><desc>…</desc>": `id` is unique in the page. */
void svg_open(struct buffer *out, const char *id, double width, double height, const char *title, const char *desc);
void svg_close(struct buffer *out);

/* The label of a tick: 5 significant digits, with a decimal prefix if it is long. */
void svg_add_tick(struct buffer *out, double value);

/* The x axis: grid lines from `bottom` to `top`, tick labels, and the title with its unit. */
void svg_axis_x(struct buffer *out, const struct svg_axis *a, double top, double bottom);

/* A text element. `extra`: attributes, each after a blank, or "". Escapes the text. */
void svg_text(struct buffer *out, double x, double y, const char *extra, const char *text, size_t limit);

/* Writes the colour for `share`, from 0 (low) to 1 (high), as "#rrggbb". Returns whether text on it should be dark. */
bool svg_colour(double share, char out[8]);

#endif
