#include "measures/quantities.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/db.h"
#include "util/memory.h"
#include "util/unit.h"

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool continues_name(char c)
{
    return starts_name(c) || isdigit((unsigned char)c) || c == '.';
}

/* The end of the quoted run at `p`, or of the text. */
static const char *skip_quoted(const char *p)
{
    const char *end = strchr(p + 1, *p);
    return end ? end + 1 : p + strlen(p);
}

static const char *skip_name(const char *p)
{
    while (continues_name(*p))
        p++;
    return p;
}

static const char *skip_number(const char *p)
{
    while (isdigit((unsigned char)*p) || *p == '.')
        p++;
    if (*p != 'e' && *p != 'E')
        return p;
    const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
    if (!isdigit((unsigned char)*exponent))
        return p;
    while (isdigit((unsigned char)*exponent))
        exponent++;
    return exponent;
}

/* A unit is letters, % and a slash between two of them: "tokens/s". */
static const char *skip_unit(const char *p)
{
    while (isalpha((unsigned char)*p) || *p == '%' || (*p == '/' && isalpha((unsigned char)p[1])))
        p++;
    return p;
}

/* A number that a unit follows: the unit, the caller's, and where it ends; NULL: no unit follows. */
static char *unit_behind(const char *number_end, const char **end)
{
    const char *p = number_end;
    while (*p == ' ' || *p == '\t')
        p++;
    const char *unit_end = skip_unit(p);
    char *unit = xstrndup(p, (size_t)(unit_end - p));
    bool is_percent_operator = *p == '%' && unit_end == p + 1 && p > number_end;
    if (unit_end > p && !is_percent_operator && !db_is_keyword(unit)) {
        *end = unit_end;
        return unit;
    }
    free(unit);
    return NULL;
}

static bool is_known_unit(const char *unit)
{
    double ignored;
    return !unit_convert(1, unit, "s", &ignored) || !unit_convert(1, unit, "B", &ignored);
}

/* In the unit of the first metric of the text that measures the same. */
static bool convert(double value, const char *unit, const char *text, unit_of unit_of_name, void *context, double *out)
{
    for (const char *p = text; *p;) {
        if (*p == '\'' || *p == '"') {
            p = skip_quoted(p);
        } else if (isdigit((unsigned char)*p)) {
            p = skip_unit(skip_number(p));
        } else if (starts_name(*p)) {
            const char *end = skip_name(p);
            char *name = xstrndup(p, (size_t)(end - p));
            const char *own = unit_of_name(context, name);
            free(name);
            p = end;
            if (own && (strcmp(own, unit) == 0 || (*own && is_known_unit(unit) && is_known_unit(own))) &&
                unit_convert(value, unit, own, out))
                return true;
        } else {
            p++;
        }
    }
    return false;
}

static int add_quantity(const char **p, const char *text, unit_of unit, void *context, struct buffer *out,
                        struct error *e)
{
    const char *number_end = skip_number(*p), *end = number_end;
    char *word = unit_behind(number_end, &end), *number = xstrndup(*p, (size_t)(number_end - *p));
    double value = strtod(number, NULL);
    int rc = 0;
    if (!word)
        buffer_add_text(out, number);
    else if (convert(value, word, text, unit, context, &value))
        buffer_add_double(out, value);
    else
        rc = error_set(e, ERROR_USAGE,
                       "%s %s: no metric of this condition has a unit that %s can be converted to; set unit in the "
                       "metric's table",
                       number, word, word);
    free(word);
    free(number);
    *p = end;
    return rc;
}

int quantities_convert(const char *text, unit_of unit, void *context, struct buffer *out, struct error *e)
{
    for (const char *p = text; *p;) {
        const char *start = p;
        if (isdigit((unsigned char)*p)) {
            if (add_quantity(&p, text, unit, context, out, e) < 0)
                return -1;
            continue;
        }
        p = *p == '\'' || *p == '"' ? skip_quoted(p) : starts_name(*p) ? skip_name(p) : p + 1;
        buffer_add(out, start, (size_t)(p - start));
    }
    return 0;
}

/* AND, OR, NOT, BETWEEN, CASE and so on: more than one comparison. */
static bool joins(const char *name, size_t length)
{
    static const char *const words[] = {"and", "or", "not", "between", "in", "is", "like", "case", "glob"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], name, length) == 0)
            return true;
    return false;
}

bool comparison_split(const char *text, size_t *left, size_t *operator_length)
{
    int depth = 0;
    size_t found = 0;
    for (const char *p = text; *p;) {
        const char *start = p;
        if (*p == '\'' || *p == '"') {
            p = skip_quoted(p);
        } else if (starts_name(*p)) {
            p = skip_name(p);
            if (depth == 0 && joins(start, (size_t)(p - start)))
                return false;
        } else if (depth == 0 && strchr("<>=!", *p)) {
            p += strspn(p, "<>=!");
            *left = (size_t)(start - text);
            *operator_length = (size_t)(p - start);
            bool orders = *start == '<' || *start == '>';
            if (found++ || !orders || *operator_length > 2 || (p[-1] != '=' && *operator_length == 2))
                return false;
        } else {
            depth += (*p == '(') - (*p == ')');
            p++;
        }
    }
    return found == 1;
}
