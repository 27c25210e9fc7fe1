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
    const char *names[FORMAT_COUNT];
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        names[i] = report_formats[i].name;
        buffer_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = suggest_nearest(name, names, FORMAT_COUNT);
    if (near)
        error_set(e, ERROR_USAGE, "unknown format '%s'; did you mean '%s'? (%s)", name, near, buffer_text(&list));
    else
        error_set(e, ERROR_USAGE, "unknown format '%s' (%s)", name, buffer_text(&list));
    return -1;
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
