#include "results/cause_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util/buffer.h"
#include "util/utf8.h"

#define HEXADECIMAL "0123456789abcdefABCDEF"

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Each returns the bytes at `text` that are such a thing; 0: none. */

/* Hexadecimal digits in groups of 8, 4, 4, 4 and 12. */
static size_t uuid_length(const char *text)
{
    static const size_t groups[] = {8, 4, 4, 4, 12};
    size_t n = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if ((i > 0 && text[n++] != '-') || strspn(text + n, HEXADECIMAL) != groups[i])
            return 0;
        n += groups[i];
    }
    return n;
}

/* "0x7f21", "c0ffee1234ab", a UUID. What is not marked as hexadecimal has digits of both kinds. */
static size_t identifier_length(const char *text)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && isxdigit((unsigned char)text[2]))
        return 2 + strspn(text + 2, HEXADECIMAL);
    size_t n = strspn(text, HEXADECIMAL), uuid = uuid_length(text);
    if (uuid || n < 8 || is_word(text[n]) || strcspn(text, "0123456789") >= n || strspn(text, "0123456789") >= n)
        return uuid;
    return n;
}

static size_t number_length(const char *text)
{
    size_t n = 0;
    while (is_digit(text[n]) || (n > 0 && text[n] == '.' && is_digit(text[n + 1])))
        n++;
    if (n > 0 && (text[n] == 'e' || text[n] == 'E')) {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t digits = strspn(text + n + 1 + sign, "0123456789");
        n += digits && !is_word(text[n + 1 + sign + digits]) ? 1 + sign + digits : 0;
    }
    return n;
}

/* Returns the length of a unit behind a number, which makes it a duration or an amount of memory. */
static size_t unit_length(const char *text)
{
    static const char *const units[] = {"KiB",          "MiB",         "GiB",     "TiB",    "KB",      "MB",
                                        "GB",           "TB",          "kB",      "bytes",  "byte",    "B",
                                        "milliseconds", "millisecond", "seconds", "second", "minutes", "minute",
                                        "hours",        "hour",        "days",    "day",    "ms",      "us",
                                        "ns",           "min",         "s",       "m",      "h",       "d"};
    size_t blank = *text == ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i]);
        /* "1m30s" is one duration. */
        if (strncmp(text + blank, units[i], n) == 0 && (!is_word(text[blank + n]) || (!blank && is_digit(text[n]))))
            return blank + n;
    }
    return 0;
}

/* A number with its unit, or an identifier. */
static size_t amount_length(const char *text)
{
    size_t n = identifier_length(text);
    if (n)
        return n;
    n = number_length(text);
    return n ? n + unit_length(text + n) : 0;
}

/* Returns the length of what joins amounts to one: a date, a time, a list, a shape, a range, an address with its
 * port. */
static size_t joint_length(const char *text)
{
    static const char *const joints[] = {", ", "-", ":", ".", ",", "/", "x", "T", " x ", " ", "_"};
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++) {
        size_t n = strlen(joints[i]);
        if (strncmp(text, joints[i], n) == 0 && amount_length(text + n))
            return n;
    }
    return 0;
}

static size_t amounts_length(const char *text)
{
    size_t n = amount_length(text);
    while (n && amount_length(text + n + joint_length(text + n)))
        n += joint_length(text + n) + amount_length(text + n + joint_length(text + n));
    return n;
}

/* "[rank3]: " or "[default3]:". */
static size_t rank_mark_length(const char *text)
{
    static const char *const names[] = {"[rank", "[default"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        size_t digits = strncmp(text, names[i], n) == 0 ? strspn(text + n, "0123456789") : 0;
        if (digits && strncmp(text + n + digits, "]:", 2) == 0)
            return n + digits + 2 + (text[n + digits + 2] == ' ');
    }
    return 0;
}

char *cause_text(const char *message)
{
    static const char scratch[] = "/tmp/";
    struct buffer b = BUFFER_INIT;
    for (const char *c = message; *c && b.length < CAUSE_BYTES;) {
        bool begins_word = c == message || !is_word(c[-1]);
        size_t n = rank_mark_length(c);
        if (n == 0 && (n = begins_word || is_digit(*c) ? amounts_length(c) : 0) > 0)
            buffer_add_char(&b, '#');
        if (n == 0 && strncmp(c, scratch, strlen(scratch)) == 0) {
            buffer_add_text(&b, "/tmp/#");
            n = strlen(scratch) + strcspn(c + strlen(scratch), "/ '\"):,");
        }
        if (n == 0)
            buffer_add_char(&b, *c);
        c += n ? n : 1;
    }
    char *cause = buffer_take(&b);
    cause[utf8_cut(cause, strlen(cause), CAUSE_BYTES)] = '\0';
    return cause;
}
