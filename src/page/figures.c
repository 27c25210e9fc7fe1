#include "page/figures.h"

#include <math.h>

#include "page/sections.h"
#include "page/text.h"

void figures_begin(struct buffer *out, const char *caption, const struct figures_column *columns, size_t count)
{
    html_text(out, "<details class=figures><summary>", caption,
              ", as a table</summary><div class=scroll tabindex=0><table class=plain><thead><tr>");
    for (size_t i = 0; i < count; i++) {
        html_name(out, columns[i].title[0] ? "<th scope=col>" : "<td>", columns[i].title, "");
        html_add_unit(out, columns[i].unit);
    }
    buffer_add_text(out, "</thead><tbody>\n");
}

void figures_job(struct buffer *out, int64_t job)
{
    buffer_add_text(out, "<tr><td>");
    html_link_job(out, "", job);
}

void figures_number(struct buffer *out, double value)
{
    buffer_add_text(out, "<td class=n>");
    if (!isnan(value))
        html_add_number(out, value);
}

void figures_text(struct buffer *out, const char *text)
{
    html_name(out, "<td>", text, "");
}

void figures_end(struct buffer *out, size_t shown, size_t all, const char *where_others)
{
    buffer_add_text(out, "</tbody></table></div>");
    if (shown < all)
        buffer_printf(out, "<p class=note>%zu of %zu %s</p>", shown, all, where_others);
    buffer_add_text(out, "</details>\n");
}
