#include "draft/log_readers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_file.h"
#include "metrics/readers.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "toml/known.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

enum { LOG_BYTES_MOST = 64 << 20, PROFILE_METRICS_LEAST = 2 };

static bool share_pattern(const struct metric *a, const struct metric *b)
{
    for (; a; a = a->fallback)
        for (const struct metric *other = b; other; other = other->fallback)
            if (a->pattern && other->pattern && strcmp(a->pattern, other->pattern) == 0)
                return true;
    return false;
}

/* Returns whether a metric before i was read from the same numbers, such as a step's time from steps per second. */
static bool is_same_reading(const struct job_config *job, const struct sample_list *l, size_t i)
{
    return ANY(j, i,
               l->series[j].tally.reported == l->series[i].tally.reported &&
                   share_pattern(job_find_metric(job, l->names[j]), job_find_metric(job, l->names[i])));
}

/* Its patterns are whole lines of programs that nothing else prints: one of them says as much as two of others. */
#define PROFILE_OF_WHOLE_LINES "benchmarks"

/* --- what readers find --- */

struct reading_trial {
    struct sweep *sweep;
    struct reader_set *readers;
    struct sample_list samples;
};

static void trial_free(struct reading_trial *t)
{
    sample_list_free(&t->samples);
    reader_set_free(t->readers);
    sweep_free(t->sweep);
}

/* `job_dir` NULL: files beside the log are not read. trial_free() in either case. */
static int try(const char *sweep_file, size_t length, const char *path, const char *job_dir, struct reading_trial *t,
               struct error *e)
{
    *t = (struct reading_trial){.samples = SAMPLE_LIST_INIT};
    if (sweep_parse("sweep.toml", sweep_file, length, &t->sweep, e) < 0 ||
        reader_set_create(&t->sweep->job, &t->readers, e) < 0)
        return -1;
    OWNED char *whole = path_absolute(path); /* a link of the user's is no job's */
    readers_read(t->readers, whole, NULL, job_dir, &t->samples);
    return 0;
}

/* ": 1, 2, 3, 4, ...": the first of `count`, of which `known` are there. */
static void add_values(struct buffer *out, size_t count, const double *values, size_t known)
{
    size_t i = 0;
    for (; i < known && i < PROPOSAL_VALUES_MOST; i++) {
        buffer_add_text(out, i ? ", " : ": ");
        text_add_rounded(out, values[i]);
    }
    buffer_add_text(out, count > i ? ", ..." : "");
}

static void add_series(struct buffer *out, const struct sample_list *l, size_t metric)
{
    double first[PROPOSAL_VALUES_MOST];
    size_t known = 0;
    for (size_t i = 0; i < l->count && known < PROPOSAL_VALUES_MOST; i++)
        if (l->samples[i].metric == metric)
            first[known++] = l->samples[i].value;
    buffer_add_count(out, l->series[metric].tally.reported, "number");
    add_values(out, (size_t)l->series[metric].tally.reported, first, known);
}

/* How many of the profile's metrics the log has, counting those read from the same numbers once; sets `names` to all of
 * them, and `numbers`. -1 if the profile cannot be used. */
static int count_metrics(const char *profile, const char *path, struct buffer *names, struct buffer *numbers)
{
    OWNED char *text = xasprintf("profile = \"%s\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n", profile);
    struct error e = ERROR_INIT;
    struct reading_trial t;
    int count = try(text, strlen(text), path, NULL, &t, &e);
    for (size_t i = 0; i < t.samples.name_count; i++)
        if (t.samples.series[i].tally.reported > 0) {
            buffer_printf(names, "%s%s", names->length ? ", " : "", t.samples.names[i]);
            buffer_printf(numbers, "# %s, ", t.samples.names[i]);
            add_series(numbers, &t.samples, i);
            buffer_add_char(numbers, '\n');
            count += !is_same_reading(&t.sweep->job, &t.samples, i);
        }
    trial_free(&t);
    return count;
}

static void add_found(struct buffer *out, const struct reading_trial *t, size_t i)
{
    const struct metric *m = job_find_metric(&t->sweep->job, t->samples.names[i]);
    const enum take take = m && m->take ? m->take : TAKE_MEDIAN;
    const struct summary s = sample_list_summarise(&t->samples, i, take);
    if (s.reported == 0)
        return;
    buffer_printf(out, "%s ", t->samples.names[i]);
    text_add_rounded(out, s.value);
    buffer_printf(out, "%s%s, the %s of ", m && m->unit[0] ? " " : "", m ? m->unit : "", take_names[take]);
    add_series(out, &t->samples, i);
    if (m && m->warmup > 0 && s.reported > s.count + s.not_finite)
        buffer_printf(out, " (without the first %" PRId64 ")", m->warmup);
    buffer_add_char(out, '\n');
}

static bool has_number(const struct sample_list *l, const char *name)
{
    return ANY(i, l->name_count, strcmp(l->names[i], name) == 0 && l->series[i].tally.reported > 0);
}

int log_readers_try(const char *path, const struct buffer *sweep_file, struct buffer *out, struct error *e)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    OWNED char *directory = slash ? xstrndup(path, (size_t)(slash - path + 1)) : xstrdup("."),
               *job = path_absolute(directory);
    struct reading_trial t;
    int rc = try(sweep_file->data, sweep_file->length, path, dot && strcmp(dot, ".csv") == 0 ? job : NULL, &t, e);
    for (size_t i = 0; rc == 0 && i < t.samples.name_count; i++)
        add_found(out, &t, i);
    for (size_t i = 0; rc == 0 && i < t.sweep->objective_count; i++)
        if (strcmp(t.sweep->objectives[i].metric, "duration") != 0 &&
            !has_number(&t.samples, t.sweep->objectives[i].metric))
            buffer_printf(out, "no %s, which is the objective\n", t.sweep->objectives[i].metric);
    trial_free(&t);
    return rc;
}

/* --- choosing --- */

static void find_profile(const char *path, int least, struct log_readers *out)
{
    int most = least - 1;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f));) {
        OWNED char *profile = embedded_stem(f);
        OWNED_BUFFER names = BUFFER_INIT, numbers = BUFFER_INIT;
        int count = count_metrics(profile, path, &names, &numbers);
        count *= strcmp(profile, PROFILE_OF_WHOLE_LINES) == 0 ? PROFILE_METRICS_LEAST : 1;
        if (count > most) {
            most = count;
            free_all(out->profile, out->metrics, out->numbers);
            out->profile = xstrdup(profile);
            out->metrics = xstrdup(buffer_text(&names));
            out->numbers = xstrdup(buffer_text(&numbers));
        }
    }
}

static bool has_metric(const struct log_readers *l, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = l->metrics ? l->metrics : ""; (p = strstr(p, name)); p++)
        if ((p == l->metrics || p[-1] == ' ') && (p[n] == ',' || p[n] == '\0'))
            return true;
    return ANY(i, l->proposals.count,
               strcmp(l->proposals.items[i].metric, name) == 0 && !l->proposals.items[i].is_mixed &&
                   !l->proposals.items[i].is_coloured);
}

/* A profile that reads losses alone is not the program's where lines tell how fast it is. */
static void prefer_speed(const struct buffer *log, struct log_readers *l)
{
    const struct toml_node *objectives = known("log", "objectives");
    struct log_readers lines = {.path = l->path};
    bool profile_tells = false, line_tells = false;
    proposals_from_log(buffer_text(log), log->length, &lines.proposals);
    for (const struct toml_node *o = objectives->children; !strstr(o->text, "loss"); o++) {
        const char *name = o->text + strlen("max:");
        profile_tells |= has_metric(l, name);
        for (size_t i = 0; i < lines.proposals.count && has_metric(&lines, name); i++)
            line_tells |= strcmp(lines.proposals.items[i].metric, name) == 0 && lines.proposals.items[i].lines > 1;
    }
    if (profile_tells || !line_tells) {
        log_readers_free(&lines);
        return;
    }
    log_readers_free(l);
    *l = lines;
}

struct csv_columns {
    char **names;
    struct buffer *numbers;
    size_t count;
};

static int take_csv_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e)
{
    struct csv_columns *c = context;
    double number;
    (void)line, (void)e;
    if (!c->names) {
        c->names = xcalloc(count + 1, sizeof *c->names);
        c->numbers = xcalloc(count + 1, sizeof *c->numbers);
        for (; c->count < count; c->count++)
            c->names[c->count] = xstrdup(cells[c->count] ? cells[c->count] : "");
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (cells[i] && parse_double(cells[i], &number))
            buffer_printf(&c->numbers[i], "%s\n", cells[i]);
    return 0;
}

/* Proposals for a logger's CSV file; none if it is not one. */
static void find_columns(const char *path, struct proposal_list *out)
{
    struct csv_columns columns = {0};
    struct table_content content;
    struct error no_table = ERROR_INIT;
    if (length_before(path, ".csv") && table_read_rows(path, &content, take_csv_row, &columns, &no_table) == 0)
        proposals_from_columns(columns.names, columns.numbers, columns.count, out);
    for (size_t i = 0; i < columns.count; i++) {
        free(columns.names[i]);
        buffer_free(&columns.numbers[i]);
    }
    free_all(columns.names, columns.numbers);
}

static void choose_objective(struct log_readers *l)
{
    const struct toml_node *objectives = known("log", "objectives");
    const struct proposal *first = l->proposals.items;
    if (l->proposals.count && l->proposals.objective)
        l->objective = xstrdup(l->proposals.objective);
    else if (l->proposals.count && first->is_of_program)
        l->objective = xasprintf("%s:%s", first->higher_is_better ? "max" : "min", first->metric);
    for (size_t i = 0; i < objectives->child_count && !l->objective; i++)
        if (has_metric(l, objectives->children[i].text + strlen("max:")))
            l->objective = xstrdup(objectives->children[i].text);
}

/* Readers see the colours that proposals pass over. */
static void mark_coloured(struct log_readers *l)
{
    static const char head[] = "[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n";
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    struct reading_trial t;
    buffer_add_text(&text, head);
    log_readers_add_toml(l, &text);
    if (try(text.data, text.length, l->path, NULL, &t, &e) == 0)
        for (size_t i = 0; i < l->proposals.count; i++)
            l->proposals.items[i].is_coloured = !has_number(&t.samples, l->proposals.items[i].metric);
    trial_free(&t);
}

int log_readers_find(const char *path, struct log_readers *out, struct error *e)
{
    OWNED_BUFFER log = BUFFER_INIT;
    *out = (struct log_readers){.path = path};
    int rc = file_read(path, LOG_BYTES_MOST, &log, e);
    if (rc < 0 && strstr(e->text, "larger than"))
        error_set(e, ERROR_USAGE, "%s is larger than 64 MiB; give its begin: head -c 64M %s >short.log", path, path);
    if (rc == 0 && (strncmp(buffer_text(&log), "\xff\xfe", 2) == 0 || strncmp(buffer_text(&log), "\xfe\xff", 2) == 0))
        rc = error_set(e, ERROR_USAGE,
                       "%s is in UTF-16, in which no job's output is read; give it in UTF-8: iconv -f "
                       "UTF-16 -t UTF-8 %s >plain.log",
                       path, path);
    if (rc == 0)
        find_columns(path, &out->proposals);
    if (rc == 0 && out->proposals.count == 0)
        find_profile(path, PROFILE_METRICS_LEAST, out);
    if (rc == 0 && out->profile)
        prefer_speed(&log, out);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        proposals_of_program(buffer_text(&log), log.length, &out->proposals);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        proposals_from_log(buffer_text(&log), log.length, &out->proposals);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        find_profile(path, 1, out);
    if (rc == 0 && out->proposals.count && memchr(log.data, '\x1b', log.length))
        mark_coloured(out);
    if (rc == 0)
        choose_objective(out);
    return rc;
}

void log_readers_free(struct log_readers *l)
{
    free_all(l->profile, l->metrics, l->numbers, l->objective);
    proposal_list_free(&l->proposals);
    *l = (struct log_readers){0};
}

/* --- the text --- */

cJSON *log_readers_document(const struct log_readers *l)
{
    cJSON *document = cJSON_CreateObject(), *proposals = cJSON_AddArrayToObject(document, "proposals");
    JSON_ADD(document, JSON_STRING("path", l->path), JSON_TEXT("profile", l->profile),
             JSON_STRING("metrics", l->metrics ? l->metrics : ""), JSON_STRING("numbers", l->numbers ? l->numbers : ""),
             JSON_TEXT("objective", l->objective), JSON_TRUTH("has_decimal_commas", l->proposals.has_decimal_commas));
    for (const struct proposal *p = l->proposals.items; p < l->proposals.items + l->proposals.count; p++) {
        OWNED_BUFFER values = BUFFER_INIT;
        OWNED char *range = xasprintf(", from %g to %g", p->least, p->most);
        add_values(&values, p->lines, p->values, p->lines);
        JSON_ITEM(proposals, JSON_STRING("metric", p->metric), JSON_STRING("reader", p->column ? "csv" : "regex"),
                  JSON_STRING("found_by", p->column ? p->column : p->regex), JSON_STRING("unit", p->unit),
                  JSON_TRUTH("has_prefix", p->has_prefix), JSON_STRING("take", p->take),
                  JSON_STRING("better", p->higher_is_better ? "max" : "min"),
                  JSON_TRUTH("is_sure", p->confidence == PROPOSAL_SURE), JSON_INT("lines", p->lines),
                  JSON_STRING("values", buffer_text(&values)),
                  JSON_TEXT("range", p->lines > PROPOSAL_VALUES_MOST ? range : NULL),
                  JSON_TRUTH("is_of_program", p->is_of_program), JSON_TRUTH("is_mixed", p->is_mixed),
                  JSON_TRUTH("is_coloured", p->is_coloured), JSON_TRUTH("second", p->second));
    }
    return document;
}

void log_readers_add_toml(const struct log_readers *l, struct buffer *out)
{
    OWNED_JSON *document = log_readers_document(l);
    struct error none = ERROR_INIT;
    saying_add_text("sql/texts/log_readers.sql", document, NULL, out, &none);
}
