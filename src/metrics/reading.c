#include "metrics/reading.h"

#include <cjson/cJSON.h>
#include <csv.h>
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
#include "metrics/reader_set.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

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

enum { READ_BYTES = 64 << 10 };

struct csv_reading {
    struct collector *collector;
    const struct metric_reader *reader;
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
    double number;
    if (!in->has_header && length == strlen(name) && memcmp(text, name, length) == 0)
        in->column = cell;
    else if (!in->has_header && length == strlen(step) && memcmp(text, step, length) == 0)
        in->steps = cell;
    if (!in->has_header || !parse_number(text, length, &number))
        return;
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

/* The numbers of the reader's column, each with its row's `step` where there is a column of that name. Cells stand
 * between commas, or what the header has in their place: tabs, semicolons. A cell that is not a number is not a sample.
 * A last row without a line end counts once nothing more is written, if it has as many cells as the header. 0, or the
 * errno of what could not be read. Takes `fd`. */
static int csv_samples_read(int fd, const struct metric_reader *r, struct collector *c)
{
    struct csv_reading in = {.collector = c, .reader = r, .column = SIZE_MAX, .steps = SIZE_MAX, .step = -1};
    struct csv_parser parser;
    FILE *file = fdopen(fd, "rb");
    int error = errno;
    if (!file) {
        close(fd);
        return error;
    }
    OWNED char *block = xmalloc(READ_BYTES);
    size_t n = 0;
    csv_init(&parser, 0);
    csv_set_realloc_func(&parser, xrealloc);
    for (bool first = true; (n = fread(block, 1, READ_BYTES, file)) > 0; first = false) {
        size_t start = 0;
        if (first) {
            csv_set_delim(&parser, (unsigned char)csv_delimiter(block, n));
            start = utf8_mark_length(block, n);
        }
        csv_parse(&parser, block + start, n - start, take_cell, end_row, &in);
    }
    error = ferror(file) ? errno : 0;
    if (c->has_ended)
        csv_fini(&parser, take_cell, end_row, &in);
    csv_free(&parser);
    fclose(file);
    return error;
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

/* Takes `fd`. */
static void read_json_file(const struct metric_reader *r, int fd, struct collector *c)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (job_file_read(fd, FILE_BYTES_MOST, &text) == 0) {
        OWNED_JSON *root = json_parse(buffer_text(&text));
        if (root)
            json_samples_add(c, r, root, r->metric->per ? json_step(root, r->metric->per) : -1);
    } else {
        c->list.oversized_files += errno == EFBIG;
        note_error(c, errno);
    }
}

static void read_csv_file(const struct metric_reader *r, const char *path, struct collector *c)
{
    struct stat status;
    int fd = job_file_open_named(path);
    if (fd < 0 || fstat(fd, &status) < 0) {
        note_error(c, errno);
    } else if (status.st_size > FILE_BYTES_MOST) {
        c->list.oversized_files++;
    } else {
        note_error(c, csv_samples_read(fd, r, c));
        return;
    }
    if (fd >= 0)
        close(fd);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
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
    struct timespec newest = {0};
    char *path = NULL;
    bool any = glob(buffer_text(&whole), 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        struct stat status;
        if (log_file_is_ours(found.gl_pathv[i] + top) || stat(found.gl_pathv[i], &status) < 0 ||
            !S_ISREG(status.st_mode) || (path && !is_newer(&status.st_mtim, &newest)))
            continue;
        newest = status.st_mtim;
        free(path);
        path = xstrdup(found.gl_pathv[i]);
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
    if (path && r->source->reader == READER_JSON)
        read_json_file(r, job_file_open_named(path), c);
    else if (path && r->source->reader == READER_REGEX)
        match_lines(path, c, r);
    else if (path && r->source->reader == READER_CSV)
        read_csv_file(r, path, c);
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
            read_json_file(r, open_log(log_path, c), c);
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
    for (size_t i = 0; i < set->count; i++)
        if (is_of_log(&set->readers[i], READER_REGEX) || is_of_log(&set->readers[i], READER_JSONL))
            return true;
    return false;
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
