#include "report/render.h"

#include <string.h>

#include "util/suggest.h"

const struct report_format report_formats[] = {
    {"table", "aligned columns for a terminal", render_table, false},
    {"csv", "RFC 4180, for spreadsheets and programs", render_csv, false},
    {"tsv", "tab-separated, with backslash escapes", render_tsv, false},
    {"json", "one array of objects", render_json, true},
    {"jsonl", "one object per line", render_jsonl, true},
    {"markdown", "a table for a document", render_markdown, false},
    {"xlsx", "a workbook for spreadsheets", render_xlsx, true},
    {NULL, NULL, NULL, false},
};

const struct report_format report_document = {"json", "a document", render_document, true};

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
