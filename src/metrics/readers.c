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
    r->has_curves |= metric->per != NULL;
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
    free_all(r->readers, r);
}

bool reader_set_reads_files(const struct reader_set *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->readers[i].source->file || r->readers[i].source->numerator)
            return true;
    return false;
}

/* --- numbers in a line --- */

/* The numbers of all groups together: each must be one. */
static bool add_groups(const struct metric_reader *r, const char *line, const struct text_range *at, double *out)
{
    double sum = 0, number;
    for (size_t i = 1; i <= r->pattern.group_count && i < GROUPS_MOST; i++) {
        if (at[i].begin < 0 || !parse_number(line + at[i].begin, (size_t)(at[i].end - at[i].begin), &number))
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

static bool in_own_unit(const struct metric_reader *r, const char *text, size_t length, double *value)
{
    char unit[32] = "";
    if (length < sizeof unit)
        memcpy(unit, text, length);
    return unit_convert(*value, unit, r->metric->unit ? r->metric->unit : "", value);
}

/* Reads the number in a line: the first group's, or the whole's where that took no part; with a unit written beside it,
 * the last group's. */
static bool number_of_match(const struct metric_reader *r, const char *line, const struct text_range *at, double *out)
{
    size_t unit = r->source->written_unit ? r->pattern.group_count : 0;
    if (r->source->sum)
        return add_groups(r, line, at, out);
    const struct text_range *number = number_range(at);
    if (!parse_number(line + number->begin, (size_t)(number->end - number->begin), out))
        return false;
    if (unit < 2 || unit >= GROUPS_MOST || at[unit].begin < 0)
        return true;
    return in_own_unit(r, line + at[unit].begin, (size_t)(at[unit].end - at[unit].begin), out);
}

/* The point of a curve that a match is of, its second group; -1: it says none. */
static int64_t point_of_match(const struct metric_reader *r, const char *line, const struct text_range *at)
{
    double point;
    if (!r->metric->per || at[2].begin < 0 ||
        !parse_number(line + at[2].begin, (size_t)(at[2].end - at[2].begin), &point))
        return -1;
    return point >= 0 && point < 9e18 ? (int64_t)point : -1;
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

/* Past ",234" of "1,234" and "_234" of "1_234"; in "12,345,678" after a comma or at the begin of a line they may be
 * columns, in "gpu_0_123" parts of a name. */
static const char *skip_thousands(const char *line, const char *number, const char *p, const char *end)
{
    const bool is_column = number == line || strchr(",_", number[-1]) || p - number > 3;
    while (!is_column && p < end && strchr(",_", *p) && skip_digits(p + 1, end) == p + 4)
        p += 4;
    return p;
}

/* Past ",5" of "1234,5", a decimal comma, unless they may be columns. */
static const char *skip_decimals(const char *line, const char *number, const char *p, const char *end)
{
    const char *after = p < end && *p == ',' ? skip_digits(p + 1, end) : p;
    const bool is_column = number == line || number[-1] == ',' || (after < end && *after == ',');
    return is_column || after <= p + 1 ? p : after;
}

/* Returns where the number ends that begins with the digits from `number` to `at`: `at`, or past "e-05", ".5",
 * ",234", ",5". */
static const char *end_of_number(const char *line, const char *number, const char *at, const char *end)
{
    const char *p = skip_digits(at, end);
    if (skip_digits(number, p) == p) {
        p = skip_thousands(line, number, p, end);
        p = p < end && *p == '.' && skip_digits(p + 1, end) > p + 1 ? skip_digits(p + 1, end)
                                                                    : skip_decimals(line, number, p, end);
    }
    if (end - p > 2 && strchr("eE", *p) && strchr("+-", p[1]))
        p = skip_digits(p + 2, end) > p + 2 ? skip_digits(p + 2, end) : p;
    if (p == number + 1 && *number == '0' && end - p > 1 && strchr("xX", *p))
        p += 1 + strspn(p + 1, "0123456789abcdefABCDEF");
    return p;
}

static void note_cut(struct collector *c, const struct metric_reader *r, const char *part, size_t part_length,
                     const char *whole, size_t whole_length)
{
    if (c->list.cut_numbers++ == 0)
        snprintf(c->list.cut_example, sizeof c->list.cut_example, "%.30s: %.*s of %.*s", r->metric->name,
                 (int)part_length, part, (int)whole_length, whole);
}

/* Returns whether the match ends within a number, or ".*" before the group has taken all but its last digit: what is
 * left is another number, and no sample. What the expression itself goes on with, its author has seen. */
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
    note_cut(c, r, begin, (size_t)(end - begin), first, (size_t)(last - first));
    return true;
}

/* --- a number after its name --- */

static size_t unit_length(const char *text)
{
    size_t n = 0;
    for (size_t more = 1; more; n += more)
        more = isalpha((unsigned char)text[n]) || text[n] == '%' || (n && text[n] == '/')       ? 1
               : strncmp(text + n, "\xc2\xb5", 2) == 0 || strncmp(text + n, "\xce\xbc", 2) == 0 ? 2 /* micro */
                                                                                                : 0;
    return n;
}

/* The word behind a number is its unit, unless it is the name of the next: "loss: 1.5 step: 3", "loss: 1.5 lr_0: 2". */
static bool number_of_key(struct collector *c, const struct metric_reader *r, const char *text, double *out)
{
    const size_t n = parse_number_in_text(text, strlen(text), out);
    const char *digits = text + strspn(text, "+-");
    if (n == 0 && isdigit((unsigned char)digits[*digits == '.']))
        note_cut(c, r, digits, strspn(digits, "0123456789"), digits, strcspn(digits, " \t"));
    if (n == 0)
        return false;
    const char *unit = text + n + strspn(text + n, " \t"), *end = unit + unit_length(unit);
    const char *next = end + strspn(end, " \t");
    const bool is_name = isdigit((unsigned char)*end) || *end == '_' || *next == ':' || *next == '=';
    return in_own_unit(r, unit, is_name ? 0 : (size_t)(end - unit), out);
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
    const bool is_read = r->source->is_key ? number_of_key(c, r, piece->text + at[1].begin, &value)
                         : !r->source->sum && is_cut(c, r, piece, at) ? false
                                                                      : number_of_match(r, piece->text, at, &value);
    if (is_read)
        collector_add_read(c, r, point_of_match(r, piece->text, at), value);
}
