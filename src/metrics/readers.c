#include "metrics/readers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metrics/reader_set.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"

enum { GROUPS_MOST = 10 }; /* of a regular expression: the unit's is the last one */

/* --- the set --- */

static int add_reader(struct reader_set *r, const struct metric *metric, const struct metric *source, struct error *e)
{
    char why[256];
    r->readers = array_grow(r->readers, r->count, sizeof *r->readers);
    struct metric_reader *reader = &r->readers[r->count];
    *reader = (struct metric_reader){.source = source, .metric = metric, .index = r->count, .first = r->count};
    if (source != metric)
        reader->first = reader[-1].first;
    r->count++;
    if (source->reader != READER_REGEX)
        return 0;
    if (line_pattern_compile(&reader->pattern, source->pattern, why) != 0)
        return error_set(e, ERROR_USAGE, "%s:%d:%d: metric `%s`: %s", source->at.file, source->at.line,
                         source->at.column, metric->name, why);
    reader->compiled = true;
    return 0;
}

int reader_set_create(const struct job_config *job, struct reader_set **out, struct error *e)
{
    struct reader_set *r = xcalloc(1, sizeof *r);
    r->first_step = job->first_step;
    r->last_step = job->last_step;
    for (size_t i = 0; i < job->metric_count; i++) {
        for (const struct metric *m = &job->metrics[i]; m; m = m->fallback) {
            if (add_reader(r, &job->metrics[i], m, e) == 0)
                continue;
            reader_set_free(r);
            return -1;
        }
    }
    *out = r;
    return 0;
}

void reader_set_free(struct reader_set *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        if (r->readers[i].compiled)
            line_pattern_free(&r->readers[i].pattern);
    free(r->readers);
    free(r);
}

bool reader_set_reads_files(const struct reader_set *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->readers[i].source->file || r->readers[i].source->numerator)
            return true;
    return false;
}

/* --- numbers in a line --- */

/* What printf makes of what is no number. */
static bool parse_special(const char *text, double *out)
{
    bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (strcasecmp(text, "nan") == 0)
        *out = NAN;
    else if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0)
        *out = negative ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

/* "1e400" is a number that no double holds. */
static bool parse_too_large(const char *text, double *out)
{
    char *end;
    const double value = strtod(text, &end);
    if (text[strspn(text, "+-.0123456789eE")] || end == text || *end || !isinf(value))
        return false;
    *out = value;
    return true;
}

/* "1,234.5": commas where they part thousands are dropped. */
static bool parse_grouped(const char *text, double *out)
{
    char digits[64];
    size_t n = 0, since = strcspn(text, ",");
    if (since == 0 || since > 3)
        return false;
    for (const char *p = text; *p; p++) {
        if (*p != ',')
            digits[n++] = *p;
        else if (strspn(p + 1, "0123456789") != 3)
            return false;
    }
    digits[n] = '\0';
    return parse_double(digits, out);
}

/* The number that a group caught. A full stop or the like may follow it; a letter or another digit may not: "1.5k" and
 * "1,5" are not what they begin with. */
bool reader_number(const char *bytes, size_t n, double *out)
{
    char text[64];
    while (n > 0 && strchr(" \t.,;:%", bytes[n - 1]))
        n--;
    while (n > 0 && (*bytes == ' ' || *bytes == '\t')) {
        bytes++;
        n--;
    }
    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, bytes, n);
    text[n] = '\0';
    return parse_double(text, out) || parse_special(text, out) || parse_too_large(text, out) ||
           parse_grouped(text, out);
}

/* The numbers of all groups together: each must be one. */
static bool add_groups(const struct metric_reader *r, const char *line, const struct text_range *at, double *out)
{
    double sum = 0, number;
    for (size_t i = 1; i <= r->pattern.group_count && i < GROUPS_MOST; i++) {
        if (at[i].begin < 0 || !reader_number(line + at[i].begin, (size_t)(at[i].end - at[i].begin), &number))
            return false;
        sum += number;
    }
    *out = sum;
    return true;
}

static const struct text_range *number_range(const struct text_range *at)
{
    return at[1].begin >= 0 ? &at[1] : &at[0];
}

/* The number in a line: of the first group, or of the whole where that took no part. With a unit written beside it, it
 * is that group's, the last one's. */
static bool number_of_match(const struct metric_reader *r, const char *line, const struct text_range *at, double *out)
{
    size_t unit = r->source->written_unit ? r->pattern.group_count : 0;
    char text[32] = "";
    if (r->source->sum)
        return add_groups(r, line, at, out);
    const struct text_range *number = number_range(at);
    if (!reader_number(line + number->begin, (size_t)(number->end - number->begin), out))
        return false;
    if (unit < 2 || unit >= GROUPS_MOST || at[unit].begin < 0)
        return true;
    size_t n = (size_t)(at[unit].end - at[unit].begin);
    if (n < sizeof text)
        memcpy(text, line + at[unit].begin, n);
    return unit_convert(*out, text, r->metric->unit ? r->metric->unit : "", out);
}

/* --- parts of numbers --- */

static const char *skip_zeros(const char *p, const char *end)
{
    while (p < end && *p == '0')
        p++;
    return p;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && isdigit((unsigned char)*p))
        p++;
    return p;
}

/* Past ",234" of "1,234"; in "12,345,678" after a comma or at the begin of a line they may be columns. */
static const char *skip_thousands(const char *line, const char *number, const char *p, const char *end)
{
    const bool is_column = number == line || number[-1] == ',' || p - number > 3;
    while (!is_column && p < end && *p == ',' && skip_digits(p + 1, end) == p + 4)
        p += 4;
    return p;
}

/* Where the number ends of which `number` to `at` is the begin: `at`, or past "e-05", ".5", ",234". */
static const char *end_of_number(const char *line, const char *number, const char *at, const char *end)
{
    const char *p = skip_digits(at, end);
    if (skip_digits(number, p) == p) {
        p = skip_thousands(line, number, p, end);
        p = p < end && *p == '.' && skip_digits(p + 1, end) > p + 1 ? skip_digits(p + 1, end) : p;
    }
    if (end - p > 2 && strchr("eE", *p) && strchr("+-", p[1]))
        p = skip_digits(p + 2, end) > p + 2 ? skip_digits(p + 2, end) : p;
    return p;
}

/* Whether the match ends within a number, or ".*" before the group has taken all but its last digit: what is left is
 * another number, and no sample. What the expression itself goes on with, its author has seen. */
static bool is_cut(struct collector *c, const struct metric_reader *r, const struct line_piece *piece,
                   const struct text_range *at)
{
    const struct text_range *taken = number_range(at);
    const char *line = piece->text, *begin = line + taken->begin, *end = line + taken->end;
    begin += begin < end && strchr("+-", *begin) ? 1 : 0;
    if (begin == end || !isdigit((unsigned char)*begin) || !isdigit((unsigned char)end[-1]))
        return false;
    const char *first = begin;
    const char *last = taken->end == at[0].end ? end_of_number(line, begin, end, line + piece->length) : end;
    while (first > line + at[0].begin && isdigit((unsigned char)first[-1]))
        first--;
    if (last == end && skip_zeros(first, begin) == begin)
        return false;
    if (c->list.cut_numbers++ == 0)
        snprintf(c->list.cut_example, sizeof c->list.cut_example, "%.30s: %.*s of %.*s", r->metric->name,
                 (int)(end - begin), begin, (int)(last - first), first);
    return true;
}

/* A match that begins in what the next piece repeats is left to that: its end may be there. What lies around the range
 * that is searched is a byte of the same line. */
static bool match_piece(const struct metric_reader *r, const struct line_piece *piece, struct text_range *at)
{
    const struct text_range within = {!piece->begins, (ptrdiff_t)piece->length - !piece->ends};
    return line_pattern_match_within(&r->pattern, piece->text, within, GROUPS_MOST, at) &&
           (piece->ends || at[0].begin <= (ptrdiff_t)(piece->length - LINE_OVERLAP));
}

void collector_match(struct collector *c, const struct metric_reader *r, const struct line_piece *piece)
{
    struct text_range at[GROUPS_MOST];
    bool *matched = &c->matched[r->index];
    double value;
    *matched &= !piece->begins;
    if (*matched || !match_piece(r, piece, at))
        return;
    *matched = true;
    if (!r->source->sum && is_cut(c, r, piece, at))
        return;
    if (number_of_match(r, piece->text, at, &value))
        collector_add_read(c, r, -1, value);
}
