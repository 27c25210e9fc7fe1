#include "metrics/reading.h"

#include <cjson/cJSON.h>
#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/json_value.h"
#include "metrics/log_files.h"
#include "pattern/line_pattern.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/line_reader.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"
#include "util/utf8.h"

/* One way to read a metric: its own, or a fallback's. Samples are gathered under the reader's index, so that those of
 * fallbacks can be left out when it turns out that they are not wanted. */
struct metric_reader {
    const struct metric *source; /* how */
    const struct metric *metric; /* what */
    size_t first;                /* index of the metric's first reader */
    size_t index;
    struct line_pattern pattern; /* READER_REGEX */
    bool compiled;
};

struct reader_set {
    int64_t first_step, last_step; /* that count */
    struct metric_reader *readers;
    size_t count;
    bool has_curves; /* of some metric samples are of points */
};

/* A list that grows, and what makes that cheap. */
struct collector {
    struct sample_list list;
    const struct reader_set *set;
    double numerators[SAMPLE_NAMES_MOST]; /* of readers that have one; 0: not read */
    bool *matched;                        /* per reader: in the present line */
    size_t last;                          /* name of the last sample: jobs report the same names in the same order */
    struct hash_map by_name;              /* each name's index */
    size_t first[SAMPLE_NAMES_MOST];      /* of the metric that a name is of: its own, or that of its first reader */
    size_t own[SAMPLE_NAMES_MOST];        /* of a first reader: the name of what the job itself wrote; 0: nothing */
    bool has_ended;                       /* nothing more is written: a last line without an end is whole */
    bool any;                             /* a reader found a sample, perhaps one that cannot be reckoned with yet */
};

/* --- collecting --- */

/* The first of several entries of one name stays the one that is found. */
static void note_name(struct collector *c, const char *name, size_t index)
{
    const struct hash128 hash = hash_bytes(name, strlen(name));
    int64_t known;
    if (!hash_map_get(&c->by_name, &hash, &known))
        hash_map_put(&c->by_name, &hash, (int64_t)index);
}

/* `metric` NULL: it is not declared. All points of a curve count. */
static size_t add_name(struct collector *c, const char *name, const struct metric *metric)
{
    const struct sample_filter filter =
        metric && metric->per
            ? (struct sample_filter){0, 0, 0}
            : (struct sample_filter){metric ? metric->warmup : 0, c->set->first_step, c->set->last_step};
    size_t i = sample_list_add_name(&c->list, name, filter);
    c->first[i] = i;
    note_name(c, name, i);
    return i;
}

/* Index of `name`, made when there is room: a name per step instead of a step per line would take all memory.
 * SAMPLE_NAMES_MOST when there is none. */
static size_t name_index(struct collector *c, const char *name)
{
    const struct sample_list *l = &c->list;
    const size_t next = c->last + 1 < l->name_count ? c->last + 1 : 0;
    if (next < l->name_count && strcmp(l->names[next], name) == 0)
        return next;
    const struct hash128 hash = hash_bytes(name, strlen(name));
    int64_t known;
    if (hash_map_get(&c->by_name, &hash, &known))
        return (size_t)known;
    return l->name_count == SAMPLE_NAMES_MOST ? SAMPLE_NAMES_MOST : add_name(c, name, NULL);
}

/* `step` below 0: not stated. */
static void add_sample(struct collector *c, size_t metric, int64_t step, double value)
{
    c->last = metric;
    sample_list_add(&c->list, metric, step, value);
}

/* `step` below 0: not stated. */
static void collector_add_read(struct collector *c, const struct metric_reader *r, int64_t step, double value)
{
    if (r->index >= SAMPLE_NAMES_MOST)
        return;
    c->any = true;
    /* A line of a curve that does not say which point it is of is no sample. */
    if (r->metric->per && step < 0)
        return;
    if (r->source->numerator && !(c->numerators[r->index] > 0 && value > 0))
        return;
    if (r->source->numerator)
        value = c->numerators[r->index] / value;
    add_sample(c, r->index, step, r->source->scale > 0 ? value * r->source->scale : value);
}

/* The names begin with one for each reader. */
static void add_reader_names(struct collector *c, const struct reader_set *set)
{
    for (size_t i = 0; i < set->count && i < SAMPLE_NAMES_MOST; i++)
        c->first[add_name(c, set->readers[i].metric->name, set->readers[i].metric)] = set->readers[i].first;
}

/* Returns a name of its own for what the job wrote of a metric that readers look for, too: both tell of the same
 * steps. */
static size_t own_name(struct collector *c, size_t metric)
{
    if (metric == SAMPLE_NAMES_MOST || c->first[metric] >= c->set->count)
        return metric;
    size_t first = c->first[metric];
    if (!c->own[first] && c->list.name_count < SAMPLE_NAMES_MOST) {
        c->own[first] = add_name(c, c->list.names[first], c->set->readers[first].metric);
        c->first[c->own[first]] = first;
    }
    return c->own[first] ? c->own[first] : first;
}

/* Returns what the sweep declares of that name, where it is a curve; NULL: it is none. Borrowed. */
static const struct metric *collector_curve(const struct collector *c, const char *name)
{
    for (size_t i = 0; c->set->has_curves && i < c->set->count; i++)
        if (c->set->readers[i].metric->per && strcmp(c->set->readers[i].metric->name, name) == 0)
            return c->set->readers[i].metric;
    return NULL;
}

static void collector_add_named(struct collector *c, const char *name, int64_t step, double value)
{
    size_t metric = own_name(c, name_index(c, name));
    if (metric < SAMPLE_NAMES_MOST)
        add_sample(c, metric, step, value);
    else
        c->list.nameless++;
}

static struct collector *collector_create(const struct reader_set *set)
{
    struct collector *c = xcalloc(1, sizeof *c);
    c->set = set;
    c->matched = xcalloc(set->count + 1, sizeof *c->matched);
    add_reader_names(c, set);
    return c;
}

static struct collector *collector_copy(const struct collector *c)
{
    struct collector *copy = xmalloc(sizeof *copy);
    *copy = *c;
    copy->matched = xcalloc(c->set->count + 1, sizeof *copy->matched);
    sample_list_copy(&c->list, &copy->list);
    copy->by_name = HASH_MAP_INIT;
    for (size_t i = 0; i < copy->list.name_count; i++)
        note_name(copy, copy->list.names[i], i);
    return copy;
}

static void collector_free(struct collector *c)
{
    if (!c)
        return;
    sample_list_free(&c->list);
    hash_map_free(&c->by_name);
    free_all(c->matched, c);
}

/* --- fallbacks --- */

/* Returns the source that counts: what the job itself wrote, else what the first of the metric's readers that found
 * something did. */
static size_t source_that_counts(const struct collector *c, const bool *found, size_t first)
{
    const struct reader_set *set = c->set;
    if (c->own[first] && found[c->own[first]])
        return c->own[first];
    for (size_t i = first; i < set->count && i < SAMPLE_NAMES_MOST && set->readers[i].first == first; i++)
        if (found[i])
            return i;
    return first;
}

/* Leaves one name of each metric, with the samples of the one source that counts. Called once, at the end. */
static void collector_drop_fallbacks(struct collector *c)
{
    struct sample_list *l = &c->list;
    size_t kept = 0, names = 0;
    bool found[SAMPLE_NAMES_MOST] = {false}, moved[SAMPLE_NAMES_MOST] = {false};
    size_t name[SAMPLE_NAMES_MOST], counts[SAMPLE_NAMES_MOST];
    OWNED struct series *series = xcalloc(l->name_count + 1, sizeof *series);
    for (size_t i = 0; i < l->count; i++)
        found[l->samples[i].metric] = true;
    for (size_t i = 0; i < l->name_count; i++) {
        series[i] = l->series[i];
        counts[i] = source_that_counts(c, found, i);
        name[i] = names;
        if (c->first[i] == i)
            moved[counts[i]] = true;
        if (c->first[i] == i)
            l->names[names++] = l->names[i];
        else
            free(l->names[i]);
    }
    for (size_t i = 0; i < l->name_count; i++) {
        if (c->first[i] == i)
            l->series[name[i]] = series[counts[i]];
        if (!moved[i])
            quantile_sketch_free(series[i].quantiles);
    }
    for (size_t i = 0; i < l->count; i++) {
        struct sample sample = l->samples[i];
        size_t first = c->first[sample.metric];
        if (counts[first] != sample.metric)
            continue;
        sample.metric = name[first];
        l->samples[kept++] = sample;
    }
    l->count = kept;
    l->name_count = names;
}

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
    return ANY(i, r->count, r->readers[i].source->file || r->readers[i].source->numerator);
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
    if (last == end && strspn(first, "0") >= (size_t)(begin - first))
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

/* Collects what the regular expression finds in a piece of a line, at most once in each line. */
static void collector_match(struct collector *c, const struct metric_reader *r, const struct line_piece *piece)
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

/* --- json samples --- */

/* Samples from JSON as jobs write it. */

/* Returns what an object states as the step, or the point of a curve, that its numbers are of; -1: nothing. */
static int64_t json_step(const cJSON *object, const char *name)
{
    const cJSON *step = json_at(object, name);
    /* The largest double below 2^63 is far beyond any step, and the conversion of a larger one is undefined. */
    return cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble < 9e18 ? (int64_t)step->valuedouble : -1;
}

static const char *step_name(const struct metric *m)
{
    return m && m->per ? m->per : "step";
}

/* Every number at the path: one, or each of an array's. */
static void add_at_path(struct collector *c, const struct metric_reader *r, const cJSON *root, const char *path,
                        int64_t step)
{
    const cJSON *found = json_at(root, path), *item;
    double value;
    if (json_number(found, &value)) {
        collector_add_read(c, r, step, value);
        return;
    }
    if (cJSON_IsArray(found))
        cJSON_ArrayForEach(item, found) if (json_number(item, &value)) collector_add_read(c, r, -1, value);
}

/* Adds what stands at the reader's path; at "log_history.*.loss" each element of the list, with the step that it
 * states. */
static void json_samples_add(struct collector *c, const struct metric_reader *r, const cJSON *root, int64_t step)
{
    const char *path = r->source->path, *star = strstr(path, ".*.");
    if (!star) {
        add_at_path(c, r, root, path, step);
        return;
    }
    OWNED char *head = xstrndup(path, (size_t)(star - path));
    const cJSON *list = json_at(root, head), *item;
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(item, list) add_at_path(c, r, item, star + 3, json_step(item, step_name(r->metric)));
}

/* The object in a line: NULL when it holds none, with *malformed counted up unless it is blank. The caller's. */
static cJSON *json_object(const char *line, size_t *malformed)
{
    if (line[strspn(line, " \t")] == '\0')
        return NULL;
    cJSON *object = json_parse(line);
    if (cJSON_IsObject(object))
        return object;
    cJSON_Delete(object);
    (*malformed)++;
    return NULL;
}

/* --- csv samples --- */

/* Samples from CSV files as loggers of training frameworks write them: a header, then a row per step or epoch. */

struct csv_reading {
    struct collector *collector;
    const struct metric_reader *reader;
    char separator;       /* of cells */
    size_t cell, cells;   /* of the row so far, of the header */
    size_t column, steps; /* by the header; SIZE_MAX: it has none of that name */
    bool has_header, has_value;
    double value; /* of the row, where it has one */
    int64_t step; /* -1: none */
};

static void take_cell(void *bytes, size_t length, void *context)
{
    struct csv_reading *in = context;
    const char *text = bytes, *name = in->reader->source->path, *step = step_name(in->reader->metric);
    const size_t cell = in->cell++;
    const char *comma = memchr(text, ',', length);
    /* "1,500" between semicolons may be 1500 or 1.5. */
    const bool is_unsure = comma && in->separator != ',' && comma + 4 == text + length;
    double number;
    if (!in->has_header && length == strlen(name) && memcmp(text, name, length) == 0)
        in->column = cell;
    else if (!in->has_header && length == strlen(step) && memcmp(text, step, length) == 0)
        in->steps = cell;
    if (!in->has_header || is_unsure || !parse_number(text, length, &number)) {
        if (in->has_header && cell == in->column && comma && isdigit((unsigned char)text[length - 1]))
            note_cut(in->collector, in->reader, text, (size_t)(comma - text), text, length);
        return;
    }
    if (cell == in->column) {
        in->value = number;
        in->has_value = true;
    } else if (cell == in->steps && number >= 0 && number < 9e18)
        in->step = (int64_t)number;
}

static void end_row(int terminator, void *context)
{
    struct csv_reading *in = context;
    const bool is_whole = terminator >= 0 || in->cell >= in->cells;
    if (in->has_header && is_whole && in->has_value)
        collector_add_read(in->collector, in->reader, in->step, in->value);
    in->cells = in->has_header ? in->cells : in->cell;
    in->has_header |= in->cell > 0;
    in->cell = 0;
    in->has_value = false;
    in->step = -1;
}

/* Adds the numbers of the reader's column, each with its row's `step` where there is a column of that name. Cells stand
 * between commas, or what the header has in their place: tabs, semicolons. A cell that is not a number is not a sample.
 * A last row without a line end counts once nothing more is written, if it has as many cells as the header. */
static void csv_samples_add(struct collector *c, const struct metric_reader *r, const char *text, size_t length)
{
    struct csv_reading in = {.collector = c, .reader = r, .column = SIZE_MAX, .steps = SIZE_MAX, .step = -1};
    const size_t start = utf8_mark_length(text, length);
    struct csv_parser parser;
    csv_init(&parser, 0);
    csv_set_realloc_func(&parser, xrealloc);
    in.separator = csv_delimiter(text, length);
    csv_set_delim(&parser, (unsigned char)in.separator);
    csv_parse(&parser, text + start, length - start, take_cell, end_row, &in);
    if (c->has_ended)
        csv_fini(&parser, take_cell, end_row, &in);
    csv_free(&parser);
}

/* --- reading --- */

enum {
    FILE_BYTES_MOST = 16 << 20,
    LINES_BYTES_MOST = 1 << 30,    /* of a file that is read line by line, half of them at either end */
    JSON_LINE_BYTES_MOST = 4 << 20 /* parsed, numbers take sixteen times as much */
};

/* A line that is put together again from its pieces. */
struct whole_line {
    struct buffer text;
    bool too_long;
};

struct output_reading {
    struct collector *collector;
    struct line_reader *log;
    struct whole_line line;
    bool log_has_json; /* a reader takes JSON lines from the output */
};

/* --- lines --- */

/* The line that ends with the piece; NULL when it goes on, or is longer than anything is that should be read as JSON,
 * which is counted. Borrowed until the next call. */
static const char *complete_line(struct whole_line *w, const struct line_piece *piece, size_t *oversized)
{
    if (piece->begins && piece->ends)
        return piece->text;
    if (piece->begins) {
        buffer_clear(&w->text);
        w->too_long = false;
    }
    w->too_long |= w->text.length + piece->length > JSON_LINE_BYTES_MOST;
    if (!w->too_long)
        buffer_add(&w->text, piece->text + piece->repeated, piece->length - piece->repeated);
    *oversized += w->too_long && piece->ends;
    return piece->ends && !w->too_long ? buffer_text(&w->text) : NULL;
}

static void note_error(struct collector *c, int error)
{
    if (!c->list.read_error && is_machine_error(error))
        c->list.read_error = error;
    c->list.irregular_files += error == EINVAL;
}

static struct line_reader *open_lines(const char *path, struct collector *c)
{
    struct line_reader *r = line_reader_of(job_file_open_named(path), LINES_BYTES_MOST);
    if (!r) {
        note_error(c, errno);
        r = line_reader_create_growing();
    }
    note_error(c, errno);
    line_reader_set_growth(r, !c->has_ended);
    return r;
}

static void close_lines(struct line_reader *r, struct collector *c)
{
    note_error(c, line_reader_error(r));
    c->list.passed_bytes += line_reader_skipped(r);
    line_reader_close(r);
}

/* Hands each line that holds an object to `take`. Returns how many held something else. */
static size_t each_object(const char *path, struct collector *c, const struct metric_reader *reader,
                          void (*take)(struct collector *c, const struct metric_reader *reader, const cJSON *object))
{
    struct line_reader *r = open_lines(path, c);
    struct whole_line whole = {BUFFER_INIT, false};
    struct line_piece piece;
    size_t malformed = 0;
    while (line_reader_next_piece(r, &piece)) {
        const char *line = complete_line(&whole, &piece, &c->list.oversized_lines);
        OWNED_JSON *object = line ? json_object(line, &malformed) : NULL;
        if (object)
            take(c, reader, object);
    }
    close_lines(r, c);
    buffer_free(&whole.text);
    c->list.malformed_lines += malformed;
    return malformed;
}

static void match_lines(const char *path, struct collector *c, const struct metric_reader *reader)
{
    struct line_reader *r = open_lines(path, c);
    struct line_piece piece;
    while (line_reader_next_piece(r, &piece))
        collector_match(c, reader, &piece);
    close_lines(r, c);
}

static void take_named(struct collector *c, const struct metric_reader *reader, const cJSON *object)
{
    const cJSON *item;
    const int64_t step = json_step(object, "step");
    double value;
    (void)reader;
    cJSON_ArrayForEach(item, object) if (strcmp(item->string, "step") != 0 && json_number(item, &value))
    {
        const struct metric *curve = collector_curve(c, item->string);
        const int64_t point = curve ? json_step(object, curve->per) : step;
        if (!curve || point >= 0)
            collector_add_named(c, item->string, point, value);
    }
}

static void take_at_path(struct collector *c, const struct metric_reader *reader, const cJSON *object)
{
    json_samples_add(c, reader, object, json_step(object, step_name(reader->metric)));
}

/* --- files --- */

/* The output of an attempt that has ended was captured: where it cannot be opened it is lost, for whatever reason. */
static int open_log(const char *path, struct collector *c)
{
    int fd = job_file_open(path);
    if (fd < 0 && !c->list.read_error)
        c->list.read_error = errno;
    return fd;
}

/* A file that is no lines. Takes `fd`. */
static void read_whole(const struct metric_reader *r, int fd, struct collector *c)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED_JSON *root = NULL;
    if (job_file_read(fd, FILE_BYTES_MOST, &text) < 0) {
        c->list.oversized_files += errno == EFBIG;
        note_error(c, errno);
    } else if (r->source->reader == READER_CSV) {
        csv_samples_add(c, r, buffer_text(&text), text.length);
    } else if ((root = json_parse(buffer_text(&text)))) {
        json_samples_add(c, r, root, r->metric->per ? json_step(root, r->metric->per) : -1);
    }
}

/* Returns the one that was changed last of the job's files that match; NULL when there is none. The caller's. */
static char *newest_match(const char *directory, const char *pattern)
{
    OWNED_BUFFER whole = BUFFER_INIT;
    for (const char *p = directory; *p; p++)
        buffer_printf(&whole, strchr("*?[]\\", *p) ? "\\%c" : "%c", *p);
    buffer_printf(&whole, "/%s", pattern);
    glob_t found = {0};
    const size_t top = strlen(directory) + 1;
    int64_t newest_ns = 0;
    char *path = NULL;
    bool any = glob(buffer_text(&whole), 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        struct stat status;
        if (log_file_is_ours(found.gl_pathv[i] + top) || stat(found.gl_pathv[i], &status) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        const int64_t changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
        if (path && changed_ns <= newest_ns)
            continue;
        newest_ns = changed_ns;
        text_replace(&path, xstrdup(found.gl_pathv[i]));
    }
    globfree(&found);
    return path;
}

static void read_named_file(const struct metric_reader *r, const char *job_dir, struct collector *c)
{
    const char *file = r->source->file;
    OWNED char *path = file[0] == '/'         ? xstrdup(file)
                       : strpbrk(file, "*?[") ? newest_match(job_dir, file)
                                              : xasprintf("%s/%s", job_dir, file);
    if (path && (r->source->reader == READER_JSON || r->source->reader == READER_CSV))
        read_whole(r, job_file_open_named(path), c);
    else if (path && r->source->reader == READER_REGEX)
        match_lines(path, c, r);
    else if (path)
        each_object(path, c, r, take_at_path);
}

/* The number at "FILE:PATH"; NAN where there is none. */
static double number_of_file(const char *place, const char *job_dir)
{
    OWNED_BUFFER text = BUFFER_INIT;
    double number = NAN;
    const char *colon = strchr(place, ':');
    OWNED char *path = xasprintf("%s/%.*s", job_dir, (int)(colon - place), place);
    if (job_file_read(job_file_open_named(path), FILE_BYTES_MOST, &text) == 0) {
        OWNED_JSON *root = json_parse(buffer_text(&text));
        if (!json_number(json_at(root, colon + 1), &number))
            number = NAN;
    }
    return number;
}

/* Asks again for numerators that are not there yet. */
static void read_numerators(struct collector *c, const char *job_dir)
{
    for (size_t i = 0; i < c->set->count && i < SAMPLE_NAMES_MOST; i++)
        if (c->set->readers[i].source->numerator && !(c->numerators[i] > 0))
            c->numerators[i] = number_of_file(c->set->readers[i].source->numerator, job_dir);
}

static void read_files(struct collector *c, const char *log_path, const char *metrics_path, const char *job_dir)
{
    for (size_t i = 0; i < c->set->count; i++) {
        const struct metric_reader *r = &c->set->readers[i];
        if (r->source->file && job_dir)
            read_named_file(r, job_dir, c);
        else if (r->source->reader == READER_JSON && !r->source->file && log_path)
            read_whole(r, open_log(log_path, c), c);
    }
    c->list.malformed_metrics = each_object(metrics_path, c, NULL, take_named);
}

/* --- the log --- */

static bool is_of_log(const struct metric_reader *r, enum reader_kind kind)
{
    return r->source->reader == kind && !r->source->file;
}

/* Other output between the JSON lines is no fault: only what begins like an object is taken for one. */
static void take_json_line(struct collector *c, const char *line)
{
    if (line[strspn(line, " \t")] != '{')
        return;
    OWNED_JSON *object = json_object(line, &c->list.malformed_lines);
    for (size_t i = 0; object && i < c->set->count; i++)
        if (is_of_log(&c->set->readers[i], READER_JSONL))
            take_at_path(c, &c->set->readers[i], object);
}

static void take_piece(struct output_reading *r, const struct line_piece *piece)
{
    const struct reader_set *set = r->collector->set;
    size_t oversized = 0;
    for (size_t i = 0; i < set->count; i++)
        if (is_of_log(&set->readers[i], READER_REGEX))
            collector_match(r->collector, &set->readers[i], piece);
    if (!r->log_has_json)
        return;
    const char *line = complete_line(&r->line, piece, &oversized);
    if (line)
        take_json_line(r->collector, line);
    const char *begin = buffer_text(&r->line.text);
    if (oversized && begin[strspn(begin, " \t")] == '{')
        r->collector->list.oversized_lines++;
}

static bool reads_log(const struct reader_set *set)
{
    return ANY(i, set->count, is_of_log(&set->readers[i], READER_REGEX) || is_of_log(&set->readers[i], READER_JSONL));
}

struct output_reading *output_reading_create(const struct reader_set *set)
{
    struct output_reading *r = xcalloc(1, sizeof *r);
    r->collector = collector_create(set);
    r->log = reads_log(set) ? line_reader_create_growing() : NULL;
    for (size_t i = 0; i < set->count; i++)
        r->log_has_json |= is_of_log(&set->readers[i], READER_JSONL);
    return r;
}

void output_reading_free(struct output_reading *r)
{
    if (!r)
        return;
    collector_free(r->collector);
    line_reader_close(r->log);
    buffer_free(&r->line.text);
    free(r);
}

void output_reading_attach(struct output_reading *r, int log_fd)
{
    if (log_fd < 0)
        note_error(r->collector, errno);
    if (r->log)
        line_reader_attach(r->log, log_fd);
    else if (log_fd >= 0)
        close(log_fd);
}

bool output_reading_follow(struct output_reading *r, const char *job_dir, int64_t bytes_most)
{
    struct line_piece piece;
    bool any = true;
    if (!r->log)
        return false;
    if (job_dir)
        read_numerators(r->collector, job_dir);
    const int64_t most = line_reader_position(r->log) + bytes_most;
    while ((bytes_most == 0 || line_reader_position(r->log) < most) && (any = line_reader_next_piece(r->log, &piece)))
        take_piece(r, &piece);
    note_error(r->collector, line_reader_error(r->log));
    line_reader_detach(r->log);
    return any;
}

int64_t output_reading_position(const struct output_reading *r)
{
    return r->log ? line_reader_position(r->log) : INT64_MAX;
}

bool output_reading_found_any(const struct output_reading *r)
{
    return r->collector->any;
}

static void finish_reading(struct collector *c, const char *log_path, const char *metrics_path, const char *job_dir,
                           struct sample_list *out)
{
    if (job_dir)
        read_numerators(c, job_dir);
    read_files(c, log_path, metrics_path, job_dir);
    sample_list_complete(&c->list);
    collector_drop_fallbacks(c);
    *out = c->list;
    c->list = SAMPLE_LIST_INIT;
}

void output_reading_look(const struct output_reading *r, const char *log_path, const char *metrics_path,
                         const char *job_dir, struct sample_list *out)
{
    struct collector *copy = collector_copy(r->collector);
    finish_reading(copy, log_path, metrics_path, job_dir, out);
    collector_free(copy);
}

void output_reading_finish(struct output_reading *r, const char *log_path, const char *metrics_path,
                           const char *job_dir, struct sample_list *out)
{
    if (r->log)
        line_reader_set_growth(r->log, false);
    if (log_path && r->log)
        line_reader_attach(r->log, open_log(log_path, r->collector));
    output_reading_follow(r, job_dir, 0);
    if (r->log)
        r->collector->list.unread_bytes = line_reader_skipped(r->log);
    r->collector->has_ended = true;
    finish_reading(r->collector, log_path, metrics_path, job_dir, out);
}

void readers_read(const struct reader_set *set, const char *log_path, const char *metrics_path, const char *job_dir,
                  struct sample_list *out)
{
    struct output_reading *r = output_reading_create(set);
    output_reading_finish(r, log_path, metrics_path, job_dir, out);
    output_reading_free(r);
}
