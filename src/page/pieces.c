/* Pieces that sections share. */
#include "page/sections.h"
#include "page/text.h"

void html_add_none(struct buffer *out, const char *sentence)
{
    html_text(out, "<p class=none>", sentence, "</p>\n");
}

void html_add_mark(struct buffer *out, double x, double y, int64_t job, const char *failure)
{
    if (failure[0])
        buffer_printf(out, "<path class=\"m x-%s\" data-j=%lld d=\"M%.1f %.1fl6 6m0-6l-6 6\"/>", failure,
                      (long long)job, x - 3, y - 3);
    else
        buffer_printf(out, "<circle class=\"m o\" data-j=%lld cx=%.1f cy=%.1f r=3.5 />", (long long)job, x, y);
}

void html_link_job(struct buffer *out, const char *before, int64_t job)
{
    buffer_printf(out, "<a href=\"#j%lld\">%s%lld</a>", (long long)job, before, (long long)job);
}

size_t html_stride(size_t count)
{
    return count > HTML_POINTS_MOST ? (count + HTML_POINTS_MOST - 1) / HTML_POINTS_MOST : 1;
}

void html_add_stride_note(struct buffer *out, size_t count)
{
    size_t stride = html_stride(count);
    if (stride > 1)
        buffer_printf(out, "<p class=note>There are %zu; one in %zu is drawn.</p>\n", count, stride);
}
