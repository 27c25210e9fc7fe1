#include "report/text.h"

#include <math.h>
#include <string.h>

#include "report/width.h"
#include "util/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"
#define REPLACEMENT_CODEPOINT 0xFFFDu

void text_add_valid(struct buffer *out, const char *text, size_t length)
{
    for (;;) {
        size_t valid = utf8_first_invalid(text, length);
        buffer_add(out, text, valid);
        if (valid == length)
            return;
        buffer_add_text(out, REPLACEMENT);
        text += valid + 1;
        length -= valid + 1;
    }
}

/* The code point at `text`, its bytes in `*bytes`; an invalid byte is U+FFFD. */
static uint32_t decode(const char *text, size_t length, size_t *bytes)
{
    static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t n = utf8_sequence_length(text, length);
    *bytes = n ? n : 1;
    if (n == 0)
        return REPLACEMENT_CODEPOINT;
    uint32_t codepoint = (unsigned char)text[0] & lead_mask[n];
    for (size_t i = 1; i < n; i++)
        codepoint = codepoint << 6 | ((unsigned char)text[i] & 0x3F);
    return codepoint;
}

/* Characters that would act on the terminal, break the line or reorder what stands beside them. */
static bool acts(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xE0000 && c <= 0xE007F);
}

static void add_escape(struct buffer *out, uint32_t c)
{
    if (c == '\n' || c == '\t' || c == '\r')
        buffer_printf(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    else
        buffer_printf(out, c < 0x80 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

/* Appends one character as it will be shown. Returns its columns. */
static size_t add_character(struct buffer *out, const char *text, size_t bytes, uint32_t c, bool ascii)
{
    if (acts(c) || (ascii && c >= 0x80)) {
        size_t before = out->length;
        add_escape(out, c);
        return out->length - before;
    }
    if (c == REPLACEMENT_CODEPOINT)
        buffer_add_text(out, REPLACEMENT);
    else
        buffer_add(out, text, bytes);
    return width_of(c);
}

static void truncate_to(struct buffer *b, size_t length)
{
    b->length = length;
    b->data[length] = '\0';
}

size_t text_add_printable(struct buffer *out, const char *text, size_t length, size_t limit, bool ascii)
{
    const char *mark = ascii ? "..." : "…";
    size_t mark_columns = ascii ? 3 : 1;
    size_t room = limit > mark_columns ? limit - mark_columns : 0;
    size_t start = out->length, columns = 0;
    size_t cut_at = start, cut_columns = 0; /* where the mark still fits */
    for (size_t i = 0, bytes; i < length; i += bytes) {
        uint32_t c = decode(text + i, length - i, &bytes);
        columns += add_character(out, text + i, bytes, c, ascii);
        if (limit && (columns > limit || out->length - start > limit * 16)) {
            truncate_to(out, cut_at);
            buffer_add(out, mark, limit < mark_columns ? limit : strlen(mark));
            return cut_columns + (limit < mark_columns ? limit : mark_columns);
        }
        if (columns <= room && out->length - start <= room * 16) {
            cut_at = out->length;
            cut_columns = columns;
        }
    }
    return columns;
}

size_t text_columns(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0, bytes; i < length; i += bytes)
        columns += width_of(decode(text + i, length - i, &bytes));
    return columns;
}

void text_add_rounded(struct buffer *out, double value)
{
    double magnitude = fabs(value);
    if (!isfinite(value))
        buffer_add_double(out, value);
    else if (magnitude >= 99999.5 && magnitude < 1e15)
        buffer_printf(out, "%.0f", value);
    else
        buffer_printf(out, "%.6g", value);
}
