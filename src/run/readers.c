#include "run/readers.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "run/json_value.h"
#include "run/line_pattern.h"
#include "run/line_reader.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"

enum {
    SAMPLES_MOST = 1000000,
    NAMES_MOST = 1000,                    /* a name per step instead of a step per line would take all memory */
    JSON_FILE_BYTES_MOST = 16 << 20,
    GROUPS_MOST = 10,                     /* of a regular expression: the unit's is the last one */
    FIRST_METRIC_BYTES_MOST = 16 << 20    /* of the log, each time it is looked for */
};

/* One way to read a metric: its own, or a fallback's. Samples are gathered under the reader's index, so that those of
 * fallbacks can be left out when it turns out that they are not wanted. */
struct reader {
    const struct metric *source; /* how */
    const struct metric *metric; /* what */
    size_t first;                /* index of the metric's first reader */
    size_t index;
    struct line_pattern pattern; /* READER_REGEX */
    bool compiled;
};

struct reader_set {
    struct reader *readers;
    size_t count;
};

/* --- the set --- */

static int add_reader(struct reader_set *r, const struct metric *metric, const struct metric *source, struct error *e)
{
    char why[256];
    r->readers = array_grow(r->readers, r->count, sizeof *r->readers);
    struct reader *reader = &r->readers[r->count];
    *reader = (struct reader){.source = source, .metric = metric, .index = r->count, .first = r->count};
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

int reader_set_create(const struct metric *metrics, size_t count, struct reader_set **out, struct error *e)
{
    struct reader_set *r = xcalloc(1, sizeof *r);
    for (size_t i = 0; i < count; i++) {
        for (const struct metric *m = &metrics[i]; m; m = m->fallback) {
            if (add_reader(r, &metrics[i], m, e) == 0)
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

/* --- the list --- */

void sample_list_free(struct sample_list *l)
{
    for (size_t i = 0; i < l->name_count; i++)
        free(l->names[i]);
    free(l->names);
    free(l->samples);
    *l = (struct sample_list)SAMPLE_LIST_INIT;
}

/* A list that grows, and what makes that cheap. */
struct collector {
    struct sample_list list;
    int64_t next_step[NAMES_MOST]; /* per name: of a sample whose step the job does not state */
    double numerators[NAMES_MOST];   /* of readers that have one; 0: not read */
    size_t last;                   /* name of the last sample: jobs report the same names in the same order */
};

static size_t add_name(struct sample_list *l, const char *name)
{
    l->names = array_grow(l->names, l->name_count, sizeof *l->names);
    l->names[l->name_count] = xstrdup(name);
    return l->name_count++;
}

void sample_list_add(struct sample_list *l, const char *name, double value)
{
    size_t metric = 0;
    int64_t step = 0;
    while (metric < l->name_count && strcmp(l->names[metric], name) != 0)
        metric++;
    if (metric == l->name_count)
        add_name(l, name);
    for (size_t i = 0; i < l->count; i++)
        step += l->samples[i].metric == metric;
    l->samples = array_grow(l->samples, l->count, sizeof *l->samples);
    l->samples[l->count++] = (struct sample){metric, step, value};
}

/* Index of `name`, made when there is room; NAMES_MOST when there is none. */
static size_t name_index(struct collector *c, const char *name)
{
    struct sample_list *l = &c->list;
    for (size_t n = 0, i = c->last; n < l->name_count; n++, i++) {
        i = i < l->name_count ? i : 0;
        if (strcmp(l->names[i], name) == 0)
            return i;
    }
    return l->name_count == NAMES_MOST ? NAMES_MOST : add_name(l, name);
}

/* `step` below 0: not stated. */
static void add_sample(struct collector *c, size_t metric, int64_t step, double value)
{
    struct sample_list *l = &c->list;
    if (l->count >= SAMPLES_MOST)
        return;
    if (step < 0)
        step = c->next_step[metric];
    c->next_step[metric] = step < INT64_MAX ? step + 1 : step;
    c->last = metric;
    l->samples = array_grow(l->samples, l->count, sizeof *l->samples);
    l->samples[l->count++] = (struct sample){metric, step, value};
}

static void add_read(struct collector *c, const struct reader *r, int64_t step, double value)
{
    if (r->index >= NAMES_MOST)
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
    for (size_t i = 0; i < set->count && i < NAMES_MOST; i++)
        add_name(&c->list, set->readers[i].metric->name);
}

/* The first reader of the metric of name `i`: itself where the name is the job's own. */
static size_t first_of(const struct reader_set *set, size_t i)
{
    return i < set->count ? set->readers[i].first : i;
}

/* The first of a metric's readers that found something. */
static size_t reader_that_counts(const struct reader_set *set, const bool *found, size_t first)
{
    for (size_t i = first; i < set->count && i < NAMES_MOST && set->readers[i].first == first; i++)
        if (found[i])
            return i;
    return first;
}

/* Leaves one name of each metric, with the samples of the one reader that counts. */
static void drop_fallbacks(struct collector *c, const struct reader_set *set)
{
    struct sample_list *l = &c->list;
    size_t kept = 0, names = 0;
    bool found[NAMES_MOST] = {false};
    size_t name[NAMES_MOST], counts[NAMES_MOST];
    for (size_t i = 0; i < l->count; i++)
        found[l->samples[i].metric] = true;
    for (size_t i = 0; i < l->name_count; i++) {
        counts[i] = reader_that_counts(set, found, i);
        name[i] = names;
        if (first_of(set, i) == i)
            l->names[names++] = l->names[i];
        else
            free(l->names[i]);
    }
    for (size_t i = 0; i < l->count; i++) {
        struct sample sample = l->samples[i];
        size_t first = first_of(set, sample.metric);
        if (counts[first] != sample.metric)
            continue;
        sample.metric = name[first];
        l->samples[kept++] = sample;
    }
    l->count = kept;
    l->name_count = names;
}

/* --- JSON --- */

static int64_t step_of(const cJSON *object)
{
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(object, "step");
    /* The largest double below 2^63 is far beyond any step, and the conversion of a larger one is undefined. */
    return cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble < 9e18 ? (int64_t)step->valuedouble : -1;
}

/* Every number at the path: one, or each of an array's. */
static void add_at_path(struct collector *c, const struct reader *r, const cJSON *root, const char *path, int64_t step)
{
    const cJSON *found = json_at(root, path), *item;
    double value;
    if (json_number(found, &value)) {
        add_read(c, r, step, value);
        return;
    }
    if (cJSON_IsArray(found))
        cJSON_ArrayForEach(item, found)
            if (json_number(item, &value))
                add_read(c, r, -1, value);
}

/* "log_history.*.loss": each element of the list, with the step that it states. */
static void add_from_json(struct collector *c, const struct reader *r, const cJSON *root, int64_t step)
{
    const char *path = r->source->path, *star = strstr(path, ".*.");
    if (!star) {
        add_at_path(c, r, root, path, step);
        return;
    }
    char *head = xstrndup(path, (size_t)(star - path));
    const cJSON *list = json_at(root, head), *item;
    free(head);
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(item, list)
            add_at_path(c, r, item, star + 3, step_of(item));
}

/* The object in a line: NULL when it holds none, with *malformed counted up unless it is blank. */
static cJSON *parse_object(const char *line, size_t *malformed)
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

static void add_named(struct collector *c, const char *name, int64_t step, double value)
{
    size_t metric = name_index(c, name);
    if (metric < NAMES_MOST)
        add_sample(c, metric, step, value);
}

static void read_metrics_line(struct collector *c, const char *line)
{
    const cJSON *item;
    double value;
    cJSON *object = parse_object(line, &c->list.malformed_lines);
    if (!object)
        return;
    cJSON_ArrayForEach(item, object)
        if (strcmp(item->string, "step") != 0 && json_number(item, &value))
            add_named(c, item->string, step_of(object), value);
    cJSON_Delete(object);
}

static void note_error(struct collector *c, int error)
{
    if (!c->list.read_error && is_machine_error(error))
        c->list.read_error = error;
}

static struct line_reader *open_lines(const char *path, int64_t bytes_most, struct collector *c)
{
    struct line_reader *r = line_reader_open(path, bytes_most);
    if (!r)
        note_error(c, errno);
    return r;
}

static void close_lines(struct line_reader *r, struct collector *c)
{
    if (r)
        note_error(c, line_reader_error(r));
    line_reader_close(r);
}

static void read_metrics_file(const char *path, struct collector *c)
{
    struct line_reader *r = open_lines(path, 0, c);
    const size_t before = c->list.malformed_lines;
    const char *line;
    while (r && (line = line_reader_next(r)))
        read_metrics_line(c, line);
    c->list.malformed_metrics = c->list.malformed_lines - before;
    close_lines(r, c);
}

static void read_json_file(const struct reader *r, const char *path, struct collector *c)
{
    struct buffer text = BUFFER_INIT;
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    errno = 0;
    if (regular && file_read(path, JSON_FILE_BYTES_MOST, &text, NULL) == 0) {
        cJSON *root = json_parse(buffer_text(&text));
        if (root)
            add_from_json(c, r, root, -1);
        cJSON_Delete(root);
    } else {
        note_error(c, errno);
    }
    buffer_free(&text);
}

static void read_jsonl_file(const struct reader *r, const char *path, struct collector *c)
{
    struct line_reader *lines = open_lines(path, 0, c);
    const char *line;
    while (lines && (line = line_reader_next(lines))) {
        cJSON *object = parse_object(line, &c->list.malformed_lines);
        if (object)
            add_from_json(c, r, object, step_of(object));
        cJSON_Delete(object);
    }
    close_lines(lines, c);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Of the files that match, the one changed last; NULL when there is none. The caller's. */
static char *newest_match(const char *directory, const char *pattern)
{
    struct buffer whole = BUFFER_INIT;
    for (const char *p = directory; *p; p++)
        buffer_printf(&whole, strchr("*?[]\\", *p) ? "\\%c" : "%c", *p);
    buffer_printf(&whole, "/%s", pattern);
    glob_t found = {0};
    struct timespec newest = {0};
    char *path = NULL;
    bool any = glob(buffer_text(&whole), 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        struct stat status;
        if (stat(found.gl_pathv[i], &status) < 0 || !S_ISREG(status.st_mode) ||
            (path && !is_newer(&status.st_mtim, &newest)))
            continue;
        newest = status.st_mtim;
        free(path);
        path = xstrdup(found.gl_pathv[i]);
    }
    globfree(&found);
    buffer_free(&whole);
    return path;
}

static void read_named_file(const struct reader *r, const char *job_dir, struct collector *c)
{
    const char *file = r->source->file;
    char *path = file[0] == '/'          ? xstrdup(file)
                 : strpbrk(file, "*?[")  ? newest_match(job_dir, file)
                                         : xasprintf("%s/%s", job_dir, file);
    if (path && r->source->reader == READER_JSON)
        read_json_file(r, path, c);
    else if (path)
        read_jsonl_file(r, path, c);
    free(path);
}

/* --- the log --- */

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
static bool number_in(const char *bytes, size_t n, double *out)
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
    return parse_double(text, out) || parse_special(text, out) || parse_grouped(text, out);
}

/* The numbers of all groups together: each must be one. */
static bool add_groups(const struct reader *r, const char *line, const regmatch_t *at, double *out)
{
    double sum = 0, number;
    for (size_t i = 1; i <= r->pattern.regex.re_nsub && i < GROUPS_MOST; i++) {
        if (at[i].rm_so < 0 || !number_in(line + at[i].rm_so, (size_t)(at[i].rm_eo - at[i].rm_so), &number))
            return false;
        sum += number;
    }
    *out = sum;
    return true;
}

/* The number in a line: of the first group, or of the whole where that took no part. With a unit written beside it, it
 * is that group's, the last one's. */
static bool match_number(const struct reader *r, const char *line, double *out)
{
    regmatch_t at[GROUPS_MOST];
    size_t unit = r->source->written_unit ? r->pattern.regex.re_nsub : 0;
    char text[32] = "";
    if (!line_pattern_match(&r->pattern, line, GROUPS_MOST, at))
        return false;
    if (r->source->sum)
        return add_groups(r, line, at, out);
    size_t group = at[1].rm_so >= 0 ? 1 : 0;
    if (!number_in(line + at[group].rm_so, (size_t)(at[group].rm_eo - at[group].rm_so), out))
        return false;
    if (unit < 2 || unit >= GROUPS_MOST || at[unit].rm_so < 0)
        return true;
    size_t n = (size_t)(at[unit].rm_eo - at[unit].rm_so);
    if (n < sizeof text)
        memcpy(text, line + at[unit].rm_so, n);
    return unit_convert(*out, text, r->metric->unit ? r->metric->unit : "", out);
}

/* Readers whose source is the attempt's own output. */
static bool reads_log(const struct reader *r)
{
    return r->source->reader == READER_REGEX || (r->source->reader == READER_JSONL && !r->source->file);
}

/* Other output between the JSON lines is no fault: only what begins like an object is taken for one. */
static cJSON *object_in_log(const struct reader_set *set, const char *line, size_t *malformed)
{
    bool wanted = false;
    for (size_t i = 0; i < set->count; i++)
        wanted |= set->readers[i].source->reader == READER_JSONL && reads_log(&set->readers[i]);
    return wanted && line[strspn(line, " \t")] == '{' ? parse_object(line, malformed) : NULL;
}

static void read_line(const struct reader_set *set, const char *line, struct collector *c)
{
    cJSON *object = object_in_log(set, line, &c->list.malformed_lines);
    double value;
    for (size_t i = 0; i < set->count; i++) {
        const struct reader *r = &set->readers[i];
        if (r->source->reader == READER_REGEX && match_number(r, line, &value))
            add_read(c, r, -1, value);
        else if (object && r->source->reader == READER_JSONL && reads_log(r))
            add_from_json(c, r, object, step_of(object));
    }
    cJSON_Delete(object);
}

static bool any_reads_log(const struct reader_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (reads_log(&set->readers[i]))
            return true;
    return false;
}

static void read_log(const struct reader_set *set, const char *path, struct collector *c)
{
    struct line_reader *r = any_reads_log(set) ? open_lines(path, 0, c) : NULL;
    const char *line;
    while (r && (line = line_reader_next(r)))
        read_line(set, line, c);
    close_lines(r, c);
}

/* The number at "FILE:PATH"; NAN where there is none. */
static double number_of_file(const char *place, const char *job_dir)
{
    struct buffer text = BUFFER_INIT;
    double number = NAN;
    const char *colon = strchr(place, ':');
    char *path = xasprintf("%s/%.*s", job_dir, (int)(colon - place), place);
    if (file_read(path, JSON_FILE_BYTES_MOST, &text, NULL) == 0) {
        cJSON *root = json_parse(buffer_text(&text));
        if (!json_number(json_at(root, colon + 1), &number))
            number = NAN;
        cJSON_Delete(root);
    }
    buffer_free(&text);
    free(path);
    return number;
}

/* `job_dir` NULL: any number will do. */
static void read_numerators(struct collector *c, const struct reader_set *set, const char *job_dir)
{
    for (size_t i = 0; i < set->count && i < NAMES_MOST; i++)
        if (set->readers[i].source->numerator)
            c->numerators[i] = job_dir ? number_of_file(set->readers[i].source->numerator, job_dir) : 1;
}

void readers_read(const struct reader_set *set, const char *log_path, const char *metrics_path, const char *job_dir,
                  struct sample_list *out)
{
    struct collector *c = xcalloc(1, sizeof *c);
    add_reader_names(c, set);
    if (job_dir)
        read_numerators(c, set, job_dir);
    read_log(set, log_path, c);
    for (size_t i = 0; i < set->count; i++) {
        const struct reader *r = &set->readers[i];
        bool json = r->source->reader == READER_JSON;
        if (json && !r->source->file && log_path)
            read_json_file(r, log_path, c);
        else if ((json || r->source->reader == READER_JSONL) && r->source->file && job_dir)
            read_named_file(r, job_dir, c);
    }
    read_metrics_file(metrics_path, c);
    drop_fallbacks(c, set);
    *out = c->list;
    free(c);
}

int readers_any(const struct reader_set *set, const char *log_path)
{
    struct collector *c = xcalloc(1, sizeof *c);
    add_reader_names(c, set);
    read_numerators(c, set, NULL);
    struct line_reader *r = any_reads_log(set) ? line_reader_open(log_path, FIRST_METRIC_BYTES_MOST) : NULL;
    const char *line;
    while (r && c->list.count == 0 && (line = line_reader_next(r)))
        read_line(set, line, c);
    line_reader_close(r);
    int any = c->list.count > 0;
    sample_list_free(&c->list);
    free(c);
    return any;
}
