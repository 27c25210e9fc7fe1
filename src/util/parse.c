#include "util/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TEN_YEARS_MS (10.0 * 366 * 86400 * 1000)

struct unit_factor {
    const char *name;
    double factor;
};

/* Longer names first: the first that matches is taken. */
static const struct unit_factor duration_units[] = {
    {"ms", 1}, {"min", 60e3}, {"m", 60e3}, {"s", 1e3}, {"h", 3600e3}, {"d", 86400e3}, {NULL, 0},
};

static const struct unit_factor size_units[] = {
    {"KiB", 1024.0},
    {"MiB", 1048576.0},
    {"GiB", 1073741824.0},
    {"TiB", 1099511627776.0},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"B", 1},
    {NULL, 0},
};

bool parse_int64(const char *text, int64_t *out)
{
    if (!isdigit((unsigned char)text[text[0] == '-' || text[0] == '+']))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

/* The decimal number that begins `text`, infinite where no double holds it; NULL when there is none. */
static const char *leading_number(const char *text, double *out)
{
    const char *p = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
        return NULL;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        return NULL;
    char *end;
    *out = strtod(text, &end);
    return end;
}

bool parse_double(const char *text, double *out)
{
    double value;
    const char *end = leading_number(text, &value);
    if (!end || *end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Returns whether `text`, behind `before` digits, goes on with a group: "," and three digits. */
static bool is_group(const char *text, char group, size_t before)
{
    return *text == group && before > 0 && before <= 3 && strspn(text + 1, DIGITS) == 3;
}

size_t parse_written_number(const char *text, char mark, char digits[static NUMBER_BYTES])
{
    const char group = mark == '.' ? ',' : '.', *p = text + (*text == '-' || *text == '+');
    size_t run = strspn(p, DIGITS), n = (size_t)(p - text) + run;
    double value;
    const bool may_group = *p != '0';
    if (n >= NUMBER_BYTES)
        return 0;
    memcpy(digits, text, n);
    for (p += run; may_group && is_group(p, group, run) && n + 4 < NUMBER_BYTES; p += 4, run = 3, n += 3)
        memcpy(digits + n, p + 1, 3);
    const size_t fraction = *p == mark ? 1 + strspn(p + 1, DIGITS) : 0;
    const char *exponent = p + fraction;
    const size_t sign = 1 + (*exponent && exponent[1] && strchr("+-", exponent[1]));
    const size_t power = *exponent == 'e' || *exponent == 'E' ? strspn(exponent + sign, DIGITS) : 0;
    const size_t rest = fraction + (power ? sign + power : 0);
    if (n + rest >= NUMBER_BYTES)
        return 0;
    memcpy(digits + n, p, rest);
    digits[n + rest] = '\0';
    if (fraction)
        digits[n] = '.';
    const bool goes_on = (p[rest] == '.' || p[rest] == ',') && isdigit((unsigned char)p[rest + 1]);
    return !goes_on && leading_number(digits, &value) ? (size_t)(p + rest - text) : 0;
}

/* Reads what printf makes of what is no number. Returns its length. */
static size_t leading_special(const char *text, double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
    const size_t sign = *text == '-' || *text == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = sign + strlen(words[i].word);
        if (strncasecmp(text + sign, words[i].word, n - sign) != 0 || isalnum((unsigned char)text[n]) || text[n] == '_')
            continue;
        *out = *text == '-' ? -words[i].value : words[i].value;
        return n;
    }
    return 0;
}

/* Returns whether what stands behind the digits of a number goes on with it: another base, a torn exponent, a fraction,
 * date, time, version, range, or digits behind a unit. */
static bool is_part(const char *number, const char *p)
{
    const char *unit_end = p + strspn(p, LETTERS "%");
    const bool is_hexadecimal = p - number == 1 && *number == '0' && (*p == 'x' || *p == 'X');
    const bool is_torn = (*p == 'e' || *p == 'E') && unit_end == p + 1 && *unit_end != '/';
    if (*p == '_' || (is_hexadecimal && isxdigit((unsigned char)p[1])) || is_torn)
        return true;
    if (unit_end > p)
        return isalnum((unsigned char)*unit_end) || *unit_end == '_' ||
               (strchr("/-+", *unit_end ? *unit_end : ' ') && isdigit((unsigned char)unit_end[1]));
    return *p == '-' ? isalnum((unsigned char)p[1])
                     : strchr("./,:+*^~'", *p ? *p : ' ') && isdigit((unsigned char)p[1]);
}

size_t parse_number_in_text(const char *text, size_t length, double *out)
{
    char start[2 * NUMBER_BYTES], digits[NUMBER_BYTES];
    double value;
    length = length < sizeof start - 1 ? length : sizeof start - 1;
    memcpy(start, text, length);
    start[length] = '\0';
    size_t n = leading_special(start, &value);
    if (n == 0) {
        n = parse_written_number(start, '.', digits);
        if (n == 0 || is_part(start + strspn(start, "+-"), start + n))
            return 0;
        value = strtod(digits, NULL);
    }
    *out = value;
    return n;
}

bool parse_number(const char *text, size_t length, double *out)
{
    double value;
    while (length > 0 && strchr(" \t.,;:%", text[length - 1]))
        length--;
    for (; length > 0 && (*text == ' ' || *text == '\t'); length--)
        text++;
    if (length == 0 || parse_number_in_text(text, length, &value) != length)
        return false;
    *out = value;
    return true;
}

static const struct unit_factor *leading_unit(const char *text, const struct unit_factor *units)
{
    for (const struct unit_factor *u = units; u->name; u++)
        if (strncmp(text, u->name, strlen(u->name)) == 0 && !isalpha((unsigned char)text[strlen(u->name)]))
            return u;
    return NULL;
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

bool parse_duration_ms(const char *text, int64_t *out)
{
    const char *p = skip_blanks(text);
    double total = 0;
    int parts = 0;
    while (*p) {
        double value;
        p = leading_number(p, &value);
        if (!p || !(value >= 0 && value < INFINITY))
            return false;
        p = skip_blanks(p);
        const struct unit_factor *unit = leading_unit(p, duration_units);
        if (!unit && (*p || parts > 0))
            return false;
        total += value * (unit ? unit->factor : 1e3);
        p = skip_blanks(p + (unit ? strlen(unit->name) : 0));
        parts++;
    }
    if (parts == 0 || total > TEN_YEARS_MS)
        return false;
    *out = llround(total);
    return true;
}

bool parse_size_bytes(const char *text, int64_t *out)
{
    double value;
    const char *p = leading_number(skip_blanks(text), &value);
    if (!p || !(value >= 0 && value < INFINITY))
        return false;
    p = skip_blanks(p);
    const struct unit_factor *unit = leading_unit(p, size_units);
    if (!unit && *p)
        return false;
    if (unit && *skip_blanks(p + strlen(unit->name)))
        return false;
    double bytes = value * (unit ? unit->factor : 1);
    if (bytes > 9e18)
        return false;
    *out = llround(bytes);
    return true;
}

char *format_duration_ms(int64_t ms, char *out, size_t out_bytes)
{
    int64_t seconds = ms / 1000;
    if (ms < 1000)
        snprintf(out, out_bytes, "%dms", (int)ms);
    else if (ms < 60000)
        snprintf(out, out_bytes, "%.1fs", (double)ms / 1e3);
    else if (seconds < 3600)
        snprintf(out, out_bytes, "%dm%02ds", (int)(seconds / 60), (int)(seconds % 60));
    else if (seconds < 86400)
        snprintf(out, out_bytes, "%dh%02dm", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    else
        snprintf(out, out_bytes, "%lldd%02dh", (long long)(seconds / 86400), (int)(seconds / 3600 % 24));
    return out;
}

char *format_size_bytes(int64_t bytes, char *out, size_t out_bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 1024 && i + 1 < sizeof names / sizeof *names; i++)
        value /= 1024;
    snprintf(out, out_bytes, i ? "%.1f %s" : "%.0f %s", value, names[i]);
    return out;
}

bool parse_release(const char *text, bool last, int64_t *out)
{
    enum { PART = 1000 };
    unsigned major, minor, patch = last ? PART - 1 : 0;
    int end = 0;
    if (strspn(text, "0123456789.") != strlen(text) || sscanf(text, "%3u.%3u%n", &major, &minor, &end) != 2)
        return false;
    if (text[end] && sscanf(text + end, ".%3u", &patch) != 1)
        return false;
    *out = ((int64_t)major * PART + minor) * PART + patch;
    return true;
}

bool json_has_nul(const char *text)
{
    for (const char *p = strstr(text, "\\u0000"); p; p = strstr(p + 1, "\\u0000")) {
        const char *first = p;
        while (first > text && first[-1] == '\\')
            first--;
        if ((p - first) % 2 == 0)
            return true;
    }
    return false;
}

char csv_delimiter(const char *text, size_t length)
{
    for (; length > 0 && (*text == '\n' || *text == '\r'); length--)
        text++;
    const char *end = memchr(text, '\n', length);
    length = end ? (size_t)(end - text) : length;
    if (memchr(text, ',', length))
        return ',';
    return memchr(text, '\t', length) ? '\t' : memchr(text, ';', length) ? ';' : ',';
}

int64_t parse_shell_time(const char **text)
{
    char *end;
    const long minutes = strtol(*text, &end, 10);
    if (end == *text || *end != 'm' || minutes < 0 || minutes > 1000000000)
        return -1;
    const char *from = end + 1;
    const double seconds = strtod(from, &end);
    if (end == from || *end != 's' || !(seconds >= 0 && seconds < 61))
        return -1;
    *text = end + 1;
    return (int64_t)minutes * 60000 + (int64_t)(seconds * 1000 + 0.5);
}
