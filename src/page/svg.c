#include "page/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/text.h"
#include "util/utf8.h"

/* A coordinate with at most one decimal. */
static void svg_number(struct buffer *out, double value)
{
    double rounded = round(value * 10) / 10;
    buffer_printf(out, rounded == floor(rounded) ? "%.0f" : "%.1f", rounded == 0 ? 0.0 : rounded);
}

/* --- axes --- */

static const struct scale {
    const char *unit, *shown;
    double factor;
} scales[] = {
    {"B", "GiB", 1073741824.0},     {"B", "MiB", 1048576.0},     {"B", "KiB", 1024.0},
    {"bytes", "GiB", 1073741824.0}, {"bytes", "MiB", 1048576.0}, {"bytes", "KiB", 1024.0},
    {"ms", "h", 3600000.0},         {"ms", "min", 60000.0},      {"ms", "s", 1000.0},
};

static void choose_unit(struct svg_axis *a, const char *unit)
{
    const size_t word = html_unit_length(unit);
    a->scale = 1;
    snprintf(a->unit, sizeof a->unit, "%.*s", (int)utf8_cut(unit, strlen(unit), sizeof a->unit - 1), unit);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (strlen(scales[i].unit) == word && strncmp(scales[i].unit, unit, word) == 0 &&
            a->high >= 2 * scales[i].factor) {
            a->scale = scales[i].factor;
            snprintf(a->unit, sizeof a->unit, "%s%s", scales[i].shown, unit + word);
            return;
        }
    }
}

struct svg_axis svg_axis_over(double low, double high, const char *title, const char *unit, bool from_zero)
{
    struct svg_axis a = {.low = low, .high = high, .title = title};
    double span = high - low;
    if (!(span > 0) || !isfinite(span))
        span = high != 0 && isfinite(high / 10) ? fabs(high) / 5 : 1;
    a.low = from_zero && low >= 0 ? 0 : low - span * 0.05;
    a.high = high + span * 0.05;
    if (!isfinite(a.low) || !isfinite(a.high)) {
        a.low = low;
        a.high = high;
    }
    if (!(a.high > a.low))
        a.high = a.low + 1;
    choose_unit(&a, unit);
    return a;
}

struct svg_axis svg_axis_log(double low, double high, const char *title, const char *unit)
{
    struct svg_axis a = {.low = low / 1.15, .high = high * 1.15, .log = true, .title = title};
    choose_unit(&a, unit);
    return a;
}

double svg_share(double low, double high, double value)
{
    double span = high - low;
    if (isfinite(span))
        return span > 0 ? (value - low) / span : 0.5;
    return (value / 2 - low / 2) / (high / 2 - low / 2);
}

double svg_at(const struct svg_axis *a, double value)
{
    double share = a->log ? log(value / a->low) / log(a->high / a->low) : svg_share(a->low, a->high, value);
    return a->from + share * (a->to - a->from);
}

static size_t linear_ticks(const struct svg_axis *a, double ticks[SVG_TICKS_MOST])
{
    double span = (a->high - a->low) / a->scale;
    if (!(span > 0) || !isfinite(span))
        return 0;
    double step = pow(10, floor(log10(span / 5)));
    double share = span / 5 / step;
    step *= share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1;
    size_t count = 0;
    for (double t = ceil(a->low / a->scale / step) * step; t <= a->high / a->scale && count < SVG_TICKS_MOST; t += step)
        ticks[count++] = (fabs(t) < step / 1e6 ? 0 : t) * a->scale;
    return count;
}

static size_t log_ticks(const struct svg_axis *a, double ticks[SVG_TICKS_MOST])
{
    static const double within[] = {1, 2, 5};
    double decades = log10(a->high / a->low);
    if (decades < 0.7)
        return linear_ticks(a, ticks);
    int per_decade = decades < 3 ? 3 : 1, step = decades > 10 ? (int)ceil(decades / 10) : 1;
    size_t count = 0;
    for (int d = (int)floor(log10(a->low / a->scale)); d <= ceil(log10(a->high / a->scale)); d += step)
        for (int i = 0; i < per_decade && count < SVG_TICKS_MOST; i++) {
            double t = within[i] * pow(10, d) * a->scale;
            if (t >= a->low && t <= a->high)
                ticks[count++] = t;
        }
    return count;
}

size_t svg_ticks(const struct svg_axis *a, double ticks[SVG_TICKS_MOST])
{
    return a->log ? log_ticks(a, ticks) : linear_ticks(a, ticks);
}

static void add_title(struct buffer *out, const struct svg_axis *a)
{
    html_add(out, a->title, HTML_NAME_MOST);
    html_add_unit(out, a->unit);
}

void svg_add_tick(struct buffer *out, double value)
{
    html_add_scaled(out, value, 5);
}

void svg_axis_x(struct buffer *out, const struct svg_axis *a, double top, double bottom)
{
    double ticks[SVG_TICKS_MOST];
    size_t count = svg_ticks(a, ticks);
    buffer_add_text(out, "<g class=axis>");
    for (size_t i = 0; i < count; i++) {
        double x = svg_at(a, ticks[i]);
        buffer_printf(out, "<path d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=middle>", x, top,
                      bottom, x, bottom + 16);
        svg_add_tick(out, ticks[i] / a->scale);
        buffer_add_text(out, "</text>");
    }
    buffer_printf(out, "<text class=name x=\"%.1f\" y=\"%.1f\" text-anchor=middle>", (a->from + a->to) / 2,
                  bottom + 36);
    add_title(out, a);
    buffer_add_text(out, "</text></g>\n");
}

/* --- the frame --- */

void svg_open(struct buffer *out, const char *id, double width, double height, const char *title, const char *desc)
{
    buffer_printf(out,
                  "<div class=plot tabindex=0><svg viewBox=\"0 0 %.0f %.0f\" style=\"max-width:%.0fpx\" role=img "
                  "aria-labelledby=\"%s-t %s-d\">\n<title id=\"%s-t\">",
                  width, height, width * 1.15, id, id, id);
    html_add(out, title, HTML_TEXT_MOST);
    buffer_printf(out, "</title><desc id=\"%s-d\">", id);
    html_text(out, "", desc, "</desc>\n");
}

void svg_close(struct buffer *out)
{
    buffer_add_text(out, "</svg></div>\n");
}

void svg_text(struct buffer *out, double x, double y, const char *extra, const char *text, size_t limit)
{
    buffer_add_text(out, "<text x=\"");
    svg_number(out, x);
    buffer_add_text(out, "\" y=\"");
    svg_number(out, y);
    buffer_printf(out, "\"%s>", extra);
    html_add(out, text, limit);
    buffer_add_text(out, "</text>");
}

/* --- colours --- */

/* Nine points of viridis (van der Walt and Smith, 2015; CC0), which is perceptually uniform and safe for colour
 * blindness. */
/* At a relative luminance of 0.179, black and white text have the same contrast, 4.6 (WCAG 2.2). */
bool svg_colour(double share, char out[8])
{
    static const unsigned char points[][3] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                              {44, 114, 142}, {33, 145, 140}, {40, 174, 128},
                                              {94, 201, 98},  {173, 220, 48}, {253, 231, 37}};
    double at = (share < 0 || isnan(share) ? 0 : share > 1 ? 1 : share) * 8;
    int below = at >= 8 ? 7 : (int)at;
    double part = at - below, rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = points[below][i] + part * (points[below + 1][i] - points[below][i]);
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255, (unsigned)rgb[2] & 255);
    for (int i = 0; i < 3; i++)
        rgb[i] = pow((rgb[i] / 255 + 0.055) / 1.055, 2.4);
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] > 0.179;
}
