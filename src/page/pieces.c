/* Pieces that sections share. */
#include "page/sections.h"
#include "page/text.h"

void html_add_none(struct buffer *out, const char *sentence)
{
    html_text(out, "<p class=none>", sentence, "</p>\n");
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
