#include <string.h>

#include "report/render.h"
#include "report/text.h"
#include "report/writer.h"

/* A backslash makes any ASCII punctuation literal in CommonMark. */
#define ACTIVE "\\`*_[]<>&|~$"

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* An underscore within a word needs no escape, and names are full of them. */
static bool needs_escape(const char *text, size_t length, size_t i)
{
    if (text[i] == '_' && i > 0 && i + 1 < length)
        return !is_word(text[i - 1]) || !is_word(text[i + 1]);
    return strchr(ACTIVE, text[i]) != NULL;
}

/* One line: `text` has no line ends. */
static void add_line(struct buffer *out, const char *text, size_t length)
{
    OWNED_BUFFER line = BUFFER_INIT;
    text_add_printable(&line, text, length, 0, false);
    for (size_t i = 0; i < line.length; i++) {
        if (needs_escape(line.data, line.length, i))
            buffer_add_char(out, '\\');
        buffer_add_char(out, line.data[i]);
    }
}

void markdown_add_text(struct buffer *out, const char *text, size_t length)
{
    const char *end = text + length, *newline;
    while (length && (newline = memchr(text, '\n', (size_t)(end - text)))) {
        size_t n = (size_t)(newline - text);
        add_line(out, text, n > 0 && text[n - 1] == '\r' ? n - 1 : n);
        buffer_add_text(out, "<br>");
        text = newline + 1;
    }
    add_line(out, text, (size_t)(end - text));
}

static void add_cell(struct writer *w, const struct cell *cell)
{
    if (cell->kind == CELL_TEXT)
        markdown_add_text(&w->text, cell->text, cell->length);
    else if (cell->kind != CELL_NULL)
        writer_add_for_people(&w->text, cell);
}

static void markdown_row(struct writer *w, const struct cell *cells)
{
    buffer_add_char(&w->text, '|');
    for (size_t i = 0; i < w->rows->column_count; i++) {
        buffer_add_char(&w->text, ' ');
        add_cell(w, &cells[i]);
        buffer_add_text(&w->text, " |");
    }
    buffer_add_char(&w->text, '\n');
}

static void markdown_header(struct writer *w)
{
    OWNED_BUFFER title = BUFFER_INIT;
    buffer_add_char(&w->text, '|');
    for (size_t i = 0; i < w->rows->column_count; i++) {
        buffer_clear(&title);
        writer_add_title(&title, w->rows, i);
        buffer_add_char(&w->text, ' ');
        markdown_add_text(&w->text, title.data, title.length);
        buffer_add_text(&w->text, " |");
    }
    buffer_add_text(&w->text, "\n|");
    for (size_t i = 0; i < w->rows->column_count; i++)
        buffer_add_text(&w->text, " --- |");
    buffer_add_char(&w->text, '\n');
}

ROW_RENDERER(markdown, .header = markdown_header, .row = markdown_row)
