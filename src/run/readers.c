#include "run/readers.h"

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

enum {
    SAMPLES_MOST = 1000000,
    NAMES_MOST = 1000,                    /* a name per step instead of a step per line would take all memory */
    JSON_FILE_BYTES_MOST = 16 << 20,
    FIRST_METRIC_BYTES_MOST = 16 << 20    /* of the log, each time it is looked for */
};

struct reader {
    const struct metric *metric;
    struct line_pattern pattern; /* READER_REGEX */
    bool compiled;
};

struct reader_set {
    struct reader *readers;
    size_t count;
};

/* --- the set --- */

int reader_set_create(const struct metric *metrics, size_t count, struct reader_set **out, struct error *e)
{
    struct reader_set *r = xcalloc(1, sizeof *r);
    r->readers = xcalloc(count, sizeof *r->readers);
    r->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct metric *m = &metrics[i];
        char why[256];
        r->readers[i].metric = m;
        if (m->reader != READER_REGEX)
            continue;
        if (line_pattern_compile(&r->readers[i].pattern, m->pattern, why) != 0) {
            reader_set_free(r);
            return error_set(e, ERROR_USAGE, "%s:%d:%d: metric `%s`: %s", m->at.file, m->at.line, m->at.column, m->name,
                             why);
        }
        r->readers[i].compiled = true;
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
    size_t last;                   /* name of the last sample: jobs report the same names in the same order */
};

/* Index of `name`, made when there is room; NAMES_MOST when there is none. */
static size_t name_index(struct collector *c, const char *name)
{
    struct sample_list *l = &c->list;
    for (size_t n = 0, i = c->last; n < l->name_count; n++, i++) {
        i = i < l->name_count ? i : 0;
        if (strcmp(l->names[i], name) == 0)
            return i;
    }
    if (l->name_count == NAMES_MOST)
        return NAMES_MOST;
    l->names = array_grow(l->names, l->name_count, sizeof *l->names);
    l->names[l->name_count] = xstrdup(name);
    return l->name_count++;
}

/* `step` below 0: not stated. */
static void add_sample(struct collector *c, const char *name, int64_t step, double value)
{
    struct sample_list *l = &c->list;
    size_t metric = name_index(c, name);
    if (l->count >= SAMPLES_MOST || metric == NAMES_MOST)
        return;
    if (step < 0)
        step = c->next_step[metric];
    c->next_step[metric] = step < INT64_MAX ? step + 1 : step;
    c->last = metric;
    l->samples = array_grow(l->samples, l->count, sizeof *l->samples);
    l->samples[l->count++] = (struct sample){metric, step, value};
}

/* --- JSON --- */

/* Every number at the path: one, or each of an array's. */
static void add_from_json(struct collector *c, const struct metric *m, const cJSON *root, int64_t step)
{
    const cJSON *found = json_at(root, m->path), *item;
    double value;
    if (json_number(found, &value)) {
        add_sample(c, m->name, step, value);
        return;
    }
    if (cJSON_IsArray(found))
        cJSON_ArrayForEach(item, found)
            if (json_number(item, &value))
                add_sample(c, m->name, -1, value);
}

static int64_t step_of(const cJSON *object)
{
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(object, "step");
    /* The largest double below 2^63 is far beyond any step, and the conversion of a larger one is undefined. */
    return cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble < 9e18 ? (int64_t)step->valuedouble : -1;
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

static void read_metrics_line(struct collector *c, const char *line)
{
    const cJSON *item;
    double value;
    cJSON *object = parse_object(line, &c->list.malformed_lines);
    if (!object)
        return;
    cJSON_ArrayForEach(item, object)
        if (strcmp(item->string, "step") != 0 && json_number(item, &value))
            add_sample(c, item->string, step_of(object), value);
    cJSON_Delete(object);
}

static void read_metrics_file(const char *path, struct collector *c)
{
    struct line_reader *r = line_reader_open(path, 0);
    const char *line;
    while (r && (line = line_reader_next(r)))
        read_metrics_line(c, line);
    line_reader_close(r);
}

static void read_json_file(const struct metric *m, const char *path, struct collector *c)
{
    struct buffer text = BUFFER_INIT;
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && file_read(path, JSON_FILE_BYTES_MOST, &text, NULL) == 0) {
        cJSON *root = json_parse(buffer_text(&text));
        if (root)
            add_from_json(c, m, root, -1);
        cJSON_Delete(root);
    }
    buffer_free(&text);
}

static void read_jsonl_file(const struct metric *m, const char *path, struct collector *c)
{
    struct line_reader *r = line_reader_open(path, 0);
    const char *line;
    while (r && (line = line_reader_next(r))) {
        cJSON *object = parse_object(line, &c->list.malformed_lines);
        if (object)
            add_from_json(c, m, object, step_of(object));
        cJSON_Delete(object);
    }
    line_reader_close(r);
}

static void read_named_file(const struct metric *m, const char *job_dir, struct collector *c)
{
    char *path = m->file[0] == '/' ? xstrdup(m->file) : xasprintf("%s/%s", job_dir, m->file);
    if (m->reader == READER_JSON)
        read_json_file(m, path, c);
    else
        read_jsonl_file(m, path, c);
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

static bool match_number(const struct line_pattern *p, const char *line, double *out)
{
    regmatch_t at[2];
    if (!line_pattern_match(p, line, 2, at))
        return false;
    size_t group = at[1].rm_so >= 0 ? 1 : 0;
    return number_in(line + at[group].rm_so, (size_t)(at[group].rm_eo - at[group].rm_so), out);
}

/* Readers whose source is the attempt's own output. */
static bool reads_log(const struct reader *r)
{
    return r->metric->reader == READER_REGEX || (r->metric->reader == READER_JSONL && !r->metric->file);
}

/* Other output between the JSON lines is no fault: only what begins like an object is taken for one. */
static cJSON *object_in_log(const struct reader_set *set, const char *line, size_t *malformed)
{
    bool wanted = false;
    for (size_t i = 0; i < set->count; i++)
        wanted |= set->readers[i].metric->reader == READER_JSONL && reads_log(&set->readers[i]);
    return wanted && line[strspn(line, " \t")] == '{' ? parse_object(line, malformed) : NULL;
}

static void read_line(const struct reader_set *set, const char *line, struct collector *c)
{
    cJSON *object = object_in_log(set, line, &c->list.malformed_lines);
    double value;
    for (size_t i = 0; i < set->count; i++) {
        const struct reader *r = &set->readers[i];
        if (r->metric->reader == READER_REGEX && match_number(&r->pattern, line, &value))
            add_sample(c, r->metric->name, -1, value);
        else if (object && r->metric->reader == READER_JSONL && reads_log(r))
            add_from_json(c, r->metric, object, step_of(object));
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
    struct line_reader *r = any_reads_log(set) ? line_reader_open(path, 0) : NULL;
    const char *line;
    while (r && (line = line_reader_next(r)))
        read_line(set, line, c);
    line_reader_close(r);
}

void readers_read(const struct reader_set *set, const char *log_path, const char *metrics_path, const char *job_dir,
                  struct sample_list *out)
{
    struct collector *c = xcalloc(1, sizeof *c);
    for (size_t i = 0; i < set->count; i++)
        name_index(c, set->readers[i].metric->name);
    read_log(set, log_path, c);
    for (size_t i = 0; i < set->count; i++) {
        const struct metric *m = set->readers[i].metric;
        if (m->reader == READER_JSON && !m->file && log_path)
            read_json_file(m, log_path, c);
        else if ((m->reader == READER_JSON || m->reader == READER_JSONL) && m->file && job_dir)
            read_named_file(m, job_dir, c);
    }
    read_metrics_file(metrics_path, c);
    *out = c->list;
    free(c);
}

int readers_any(const struct reader_set *set, const char *log_path)
{
    struct collector *c = xcalloc(1, sizeof *c);
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
