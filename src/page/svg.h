/* Plots as SVG text: a frame with two labelled axes, into which others draw. Coordinates are in user units, of which
 * the plot is `width` wide; colours and strokes are the style sheet's, by class. */
#ifndef MESHSWEEP_PAGE_SVG_H
#define MESHSWEEP_PAGE_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

#define SVG_TICKS_MOST 12

struct svg_axis {
    double low, high;  /* values at the ends */
    double from, to;   /* where these lie */
    bool log;          /* logarithmic: both ends positive */
    double scale;      /* values are divided by it in labels */
    const char *title; /* what it shows; any text */
    char unit[64];     /* after scaling; "" for none */
};

/* An axis over values from `low` to `high` (finite; equal ones are widened), its ends a little beyond them. Bytes and
 * milliseconds get a readable unit. With `from_zero` it begins at 0. */
struct svg_axis svg_axis_over(double low, double high, const char *title, const char *unit, bool from_zero);

/* The same, logarithmic, for positive values. */
struct svg_axis svg_axis_log(double low, double high, const char *title, const char *unit);

/* How far `value` is from `low` to `high`, 0 to 1, whatever their sizes; 0.5 where these are equal. */
double svg_share(double low, double high, double value);

double svg_at(const struct svg_axis *a, double value);

/* Where ticks are, at most SVG_TICKS_MOST of them: their number. */
size_t svg_ticks(const struct svg_axis *a, double ticks[SVG_TICKS_MOST]);

/* "<svg …><title>…</title><desc>…</desc>": `id` is unique in the page. */
void svg_open(struct buffer *out, const char *id, double width, double height, const char *title, const char *desc);
void svg_close(struct buffer *out);

/* A tick's number: 5 significant digits, with a prefix for thousands where it is long. */
void svg_add_tick(struct buffer *out, double value);

/* Grid lines, tick labels and the title with its unit: of the x axis below y = `bottom`, its grid up to `top`. */
void svg_axis_x(struct buffer *out, const struct svg_axis *a, double top, double bottom);

/* svg_open with a plot of one quantity against another in it: sets where both axes lie and draws them. The lower left
 * corner is (x->from, y->from). */
void svg_open_plot(struct buffer *out, const char *id, const char *title, const char *desc, struct svg_axis *x,
                   struct svg_axis *y);

/* A text element; `extra` are attributes with a blank in front, or "". The text is escaped. */
void svg_text(struct buffer *out, double x, double y, const char *extra, const char *text, size_t limit);

/* A colour of a scale for `share` from 0 (low) to 1 (high), as "#rrggbb" into `out`; whether text on it is to be
 * dark. */
bool svg_colour(double share, char out[8]);

#endif
