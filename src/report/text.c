#include "report/text.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "config/failure.h"
#include "util/memory.h"
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

/* The code point at `text`, with its length in `*bytes`; U+FFFD for an invalid byte. */
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

/* Characters that would control the terminal, break the line or reorder their neighbours. */
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

static locale_t utf8;

static void open_utf8(void)
{
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Terminal columns of a character, whatever the locale of the program: 0 for what combines with the one before, 2 for
 * wide ones; 1 where the C library does not know it. */
static size_t width_of(uint32_t c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (c < 0x300)
        return 1;
    pthread_once(&once, open_utf8);
    const locale_t before = uselocale(utf8);
    const int width = wcwidth((wchar_t)c);
    uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

/* Appends one character as it will be shown. Returns the columns it takes. */
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
    size_t cut_at = start, cut_columns = 0; /* the last place where the mark fits */
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

void text_add_line(struct buffer *out, const char *text)
{
    /* Several lines become one, joined by blanks. */
    OWNED_BUFFER line = BUFFER_INIT;
    for (const char *p = text; *p;) {
        size_t blanks = strspn(p, " \t\r\n"), ends = strcspn(p, "\r\n");
        if (ends < blanks) {
            buffer_add_char(&line, ' ');
            p += blanks;
        } else {
            buffer_add_char(&line, *p++);
        }
    }
    text_add_printable(out, buffer_text(&line), line.length, TEXT_LINE_COLUMNS, false);
}

/* --- whole lines --- */

static const char *const styles[STYLE_COUNT] = {
    [STYLE_PLAIN] = "\x1b[0m", [STYLE_BOLD] = "\x1b[1m",   [STYLE_DIM] = "\x1b[2m",
    [STYLE_RED] = "\x1b[31m",  [STYLE_GREEN] = "\x1b[32m", [STYLE_YELLOW] = "\x1b[33m",
};

void text_add_styled(struct buffer *out, enum text_style style, const char *text)
{
    buffer_add_text(out, style == STYLE_PLAIN ? "" : styles[style]);
    buffer_add_text(out, text);
    buffer_add_text(out, style == STYLE_PLAIN ? "" : styles[STYLE_PLAIN]);
}

enum text_style text_state_style(const char *state)
{
    static const struct {
        const char *state;
        enum text_style style;
    } of[] = {{"ok", STYLE_GREEN},     {"done", STYLE_GREEN},  {"new", STYLE_GREEN},  {"running", STYLE_YELLOW},
              {"retry", STYLE_YELLOW}, {"pending", STYLE_DIM}, {"pruned", STYLE_DIM}, {"held", STYLE_YELLOW}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(of[i].state, state) == 0)
            return of[i].style;
    return strcmp(state, "failed") == 0 || failure_by_name(state) != FAILURE_NONE ? STYLE_RED : STYLE_PLAIN;
}

/* The length of the style sequence at `text`; 0: none. */
static size_t style_length(const char *text, size_t length)
{
    for (int i = 0; i < STYLE_COUNT; i++) {
        size_t n = strlen(styles[i]);
        if (n <= length && memcmp(text, styles[i], n) == 0)
            return n;
    }
    return 0;
}

static const char *ascii_like(uint32_t c)
{
    static const struct {
        uint32_t codepoint;
        const char *ascii;
    } like[] = {{0x2026, "..."}, {0x2500, "-"}, {0xD7, "x"}, {0x2588, "#"}, {0x2591, "."}};
    return FIND(i, sizeof like / sizeof *like, like[i].codepoint == c, like[i].ascii);
}

void text_add_terminal(struct buffer *out, const char *text, size_t length, struct text_terminal terminal)
{
    for (size_t i = 0, bytes; i < length; i += bytes) {
        uint32_t c = decode(text + i, length - i, &bytes);
        size_t style = c == 0x1B ? style_length(text + i, length - i) : 0;
        const char *like = terminal.ascii ? ascii_like(c) : NULL;
        if (style > 0) {
            bytes = style;
            buffer_add(out, text + i, terminal.colour ? style : 0);
        } else if (like) {
            buffer_add_text(out, like);
        } else if (c == '\n' || c == '\t') {
            buffer_add_char(out, (char)c);
        } else if (c != '\r' || i + 1 == length || text[i + 1] != '\n') {
            add_character(out, text + i, bytes, c, terminal.ascii);
        }
    }
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

void text_add_figure(struct buffer *out, int digits, double value)
{
    if (fabs(value) >= pow(10, digits) - 0.5 && fabs(value) < 1e15)
        buffer_printf(out, "%.0f", value);
    else
        buffer_printf(out, "%.*g", digits, value);
}

void text_add_amount(struct buffer *out, double value)
{
    char digits[32];
    if (!isfinite(value) || value >= 1e15 || value <= 0) {
        text_add_rounded(out, value);
    } else if (value < 0.001) {
        buffer_add_text(out, "under 0.001");
    } else if (value < 999.5) {
        buffer_printf(out, "%.3g", value);
    } else {
        const int count = snprintf(digits, sizeof digits, "%.0f", value);
        for (int i = 0; i < count; i++)
            buffer_printf(out, "%s%c", i && (count - i) % 3 == 0 ? "," : "", digits[i]);
    }
}
