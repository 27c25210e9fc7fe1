#include "page/figures.h"

#include <math.h>

#include "page/text.h"

void figures_begin(struct buffer *out, const char *caption, const struct figures_column *columns, size_t count)
{
    buffer_add_text(out, "<details class=figures><summary>");
    html_add(out, caption, HTML_TEXT_MOST);
    buffer_add_text(out, ", as a table</summary><div class=scroll tabindex=0><table class=plain><thead><tr>");
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, columns[i].title[0] ? "<th scope=col>" : "<td>");
        html_add(out, columns[i].title, HTML_NAME_MOST);
        html_add_unit(out, columns[i].unit);
    }
    buffer_add_text(out, "</thead><tbody>\n");
}

void figures_job(struct buffer *out, int64_t job)
{
    buffer_printf(out, "<tr><td><a href=\"#j%lld\">%lld</a>", (long long)job, (long long)job);
}

void figures_number(struct buffer *out, double value)
{
    buffer_add_text(out, "<td class=n>");
    if (!isnan(value))
        html_add_number(out, value);
}

void figures_text(struct buffer *out, const char *text)
{
    buffer_add_text(out, "<td>");
    html_add(out, text, HTML_NAME_MOST);
}

void figures_end(struct buffer *out, size_t shown, size_t all, const char *where_others)
{
    buffer_add_text(out, "</tbody></table></div>");
    if (shown < all)
        buffer_printf(out, "<p class=note>%zu of %zu %s</p>", shown, all, where_others);
    buffer_add_text(out, "</details>\n");
}
