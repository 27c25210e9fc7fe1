#include "report/render.h"

#include <string.h>

#include "util/suggest.h"

#define FORMAT(name, is_json) {#name, render_##name, is_json},
const struct report_format report_formats[] = {
    {"table", render_table, false},
    REPORT_FORMATS(FORMAT){"markdown", render_markdown, false},
    {"xlsx", render_xlsx, true},
    {NULL, NULL, false},
};

const struct report_format report_document = {"json", render_document, true};

#define FORMAT_COUNT (sizeof report_formats / sizeof *report_formats - 1)

static int unknown_format(const char *name, struct error *e)
{
    OWNED_BUFFER list = BUFFER_INIT;
    struct suggestion meant = SUGGEST(name, i, FORMAT_COUNT, report_formats[i].name);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", report_formats[i].name);
    return error_set(e, ERROR_USAGE, "unknown format '%s'%s (%s)", name,
                     suggest_between(&meant, "; did you mean '", "'?"), buffer_text(&list));
}

int report_format_find(const char *name, const struct report_format **out, struct error *e)
{
    for (const struct report_format *f = report_formats; f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return 0;
        }
    }
    return unknown_format(name, e);
}
