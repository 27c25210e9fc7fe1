#include "draft/log_readers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/table_file.h"
#include "metrics/readers.h"
#include "sweep_file/reader.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

enum { LOG_BYTES_MOST = 64 << 20, PROFILE_METRICS_LEAST = 2 };

static bool share_pattern(const struct metric *a, const struct metric *b)
{
    for (; a; a = a->fallback)
        for (const struct metric *other = b; other; other = other->fallback)
            if (a->pattern && other->pattern && strcmp(a->pattern, other->pattern) == 0)
                return true;
    return false;
}

/* Whether a metric before i was read from the same numbers, such as a step's time from steps per second. */
static bool is_same_reading(const struct job_config *job, const struct sample_list *l, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (l->series[j].tally.reported == l->series[i].tally.reported &&
            share_pattern(job_find_metric(job, l->names[j]), job_find_metric(job, l->names[i])))
            return true;
    return false;
}

/* Its patterns are whole lines of programs that nothing else prints: one of them says as much as two of others. */
#define PROFILE_OF_WHOLE_LINES "benchmarks"

/* How many of the profile's metrics the log has, counting those read from the same numbers once; sets `names` to all of
 * them. -1 if the profile cannot be used. */
static int count_metrics(const char *profile, const char *path, struct buffer *names)
{
    char *text = xasprintf("profile = \"%s\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n", profile);
    struct error e = ERROR_INIT;
    struct sweep *sweep = NULL;
    struct reader_set *readers = NULL;
    struct sample_list samples = SAMPLE_LIST_INIT;
    int count = -1;
    if (sweep_parse("sweep.toml", text, strlen(text), &sweep, &e) == 0 &&
        reader_set_create(&sweep->job, &readers, &e) == 0) {
        char *whole = path_absolute(path); /* a link of the user's is no job's */
        readers_read(readers, whole, NULL, NULL, &samples);
        free(whole);
        count = 0;
    }
    for (size_t i = 0; i < samples.name_count; i++)
        if (samples.series[i].tally.reported > 0) {
            buffer_printf(names, "%s%s", names->length ? ", " : "", samples.names[i]);
            count += !is_same_reading(&sweep->job, &samples, i);
        }
    sample_list_free(&samples);
    reader_set_free(readers);
    sweep_free(sweep);
    free(text);
    return count;
}

static void find_profile(const char *path, int least, struct log_readers *out)
{
    int most = least - 1;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f));) {
        char *profile = embedded_stem(f);
        struct buffer names = BUFFER_INIT;
        int count = count_metrics(profile, path, &names);
        count *= strcmp(profile, PROFILE_OF_WHOLE_LINES) == 0 ? PROFILE_METRICS_LEAST : 1;
        if (count > most) {
            most = count;
            free_all(out->profile, out->metrics);
            out->profile = xstrdup(profile);
            out->metrics = xstrdup(buffer_text(&names));
        }
        buffer_free(&names);
        free(profile);
    }
}

static bool has_metric(const struct log_readers *l, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = l->metrics ? l->metrics : ""; (p = strstr(p, name)); p++)
        if ((p == l->metrics || p[-1] == ' ') && (p[n] == ',' || p[n] == '\0'))
            return true;
    for (size_t i = 0; i < l->proposals.count; i++)
        if (strcmp(l->proposals.items[i].metric, name) == 0 && !l->proposals.items[i].is_mixed)
            return true;
    return false;
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
    struct buffer bytes = BUFFER_INIT;
    struct error no_table = ERROR_INIT;
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".csv") == 0 &&
        table_read_rows(path, &bytes, take_csv_row, &columns, &no_table) == 0)
        proposals_from_columns(columns.names, columns.numbers, columns.count, out);
    for (size_t i = 0; i < columns.count; i++) {
        free(columns.names[i]);
        buffer_free(&columns.numbers[i]);
    }
    free_all(columns.names, columns.numbers);
    buffer_free(&bytes);
}

static void choose_objective(struct log_readers *l)
{
    static const char *const objectives[] = {
        "max:throughput",
        "max:iops",
        "max:events_per_second",
        "max:bogo_ops_per_second",
        "max:tokens_per_second",
        "max:tokens_per_second_per_gpu",
        "max:steps_per_second",
        "max:train_steps_per_second",
        "min:step_time",
        "max:flops_per_gpu",
        "max:flops",
        "max:bandwidth",
        "min:val_loss",
        "min:logloss",
        "min:rmse",
        "max:accuracy",
        "max:auc",
        "min:perplexity",
        "min:loss",
    };
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives && !l->objective; i++)
        if (has_metric(l, objectives[i] + strlen("max:")))
            l->objective = xstrdup(objectives[i]);
}

int log_readers_find(const char *path, struct log_readers *out, struct error *e)
{
    struct buffer log = BUFFER_INIT;
    *out = (struct log_readers){.path = path};
    int rc = file_read(path, LOG_BYTES_MOST, &log, e);
    if (rc == 0)
        find_columns(path, &out->proposals);
    if (rc == 0 && out->proposals.count == 0)
        find_profile(path, PROFILE_METRICS_LEAST, out);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        proposals_from_log(buffer_text(&log), log.length, &out->proposals);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        find_profile(path, 1, out);
    if (rc == 0)
        choose_objective(out);
    buffer_free(&log);
    return rc;
}

void log_readers_free(struct log_readers *l)
{
    free_all(l->profile, l->metrics, l->objective);
    proposal_list_free(&l->proposals);
    *l = (struct log_readers){0};
}

/* --- the text --- */

static void add_mixed(struct buffer *out, const struct log_readers *l, const struct proposal *p)
{
    buffer_printf(out, "\n# not read: %zu lines of %s that name different things:", p->lines, l->path);
    for (size_t i = 0; i < p->lines && i < PROPOSAL_VALUES_MOST; i++)
        buffer_printf(out, "%s%g", i ? ", " : " ", p->values[i]);
    buffer_printf(out, "%s. If one of them is meant,\n# give a pattern of its line: [job.metrics.%s] regex = ",
                  p->lines > PROPOSAL_VALUES_MOST ? ", ..." : "", p->metric);
    buffer_add_toml_string(out, "", p->regex, "\n");
}

static void add_proposal(struct buffer *out, const struct log_readers *l, const struct proposal *p)
{
    if (p->is_mixed) {
        add_mixed(out, l, p);
        return;
    }
    const char *reader = p->column ? "csv" : "regex", *file = strrchr(l->path, '/');
    if (p->second) {
        buffer_printf(out, "# or, on %zu line%s: %s = ", p->lines, p->lines == 1 ? "" : "s", reader);
        buffer_add_toml_string(out, "", p->column ? p->column : p->regex, "");
        buffer_printf(out, "%s%s\n", p->unit[0] ? "  in " : "", p->unit);
        return;
    }
    const char *example = strcmp(p->metric, "step_time") == 0     ? "ms"
                          : strcmp(p->metric, "peak_memory") == 0 ? "MiB"
                                                                  : NULL;
    buffer_printf(out, "\n# %s: %zu line%s of %s, from %g to %g\n",
                  p->confidence == PROPOSAL_SURE ? "sure" : "likely; please check", p->lines, p->lines == 1 ? "" : "s",
                  l->path, p->least, p->most);
    buffer_printf(out, "[job.metrics.%s]\n%s = ", p->metric, reader);
    buffer_add_toml_string(out, "", p->column ? p->column : p->regex, "");
    if (p->column) {
        buffer_add_toml_string(out, "\nfile = ", file ? file + 1 : l->path,
                               "   # its place in {job_dir}; the job must write it there");
    }
    if (p->unit[0]) {
        buffer_add_toml_string(out, "\nunit = ", p->unit, "");
    }
    if (p->has_prefix)
        buffer_add_text(out, "\nwritten_unit = true         # 52.3K is 52300");
    if (!p->unit[0] && example)
        buffer_printf(out,
                      "\nmeans = \"other\"             # the log names no unit; if it is \"%s\", write\n               "
                      "             # unit = \"%s\" instead, and it is compared with the prediction",
                      example, example);
    buffer_printf(out, "\nbetter = \"%s\"\ntake = \"%s\"\n", p->higher_is_better ? "max" : "min", p->take);
    if (strcmp(p->take, "median") == 0 && p->lines > 3)
        buffer_add_text(out, "warmup = 2                  # leave out the first samples\n");
}

void log_readers_add_toml(const struct log_readers *l, const char *other, struct buffer *out)
{
    if (l->profile && other && strcmp(other, l->profile) != 0)
        buffer_printf(out, "# sure: the second reads %s of %s\nprofile = [\"%s\", \"%s\"]\n", l->metrics, l->path,
                      other, l->profile);
    else if (l->profile)
        buffer_printf(out, "# sure: it reads %s of %s\nprofile = \"%s\"\n", l->metrics, l->path, l->profile);
    for (size_t i = 0; i < l->proposals.count; i++)
        add_proposal(out, l, &l->proposals.items[i]);
    if (!l->profile && l->proposals.count == 0)
        buffer_printf(out,
                      "# Nothing in %s looks like a step time, throughput, memory or loss. To read a number, give a\n# "
                      "pattern whose first group matches it:\n# [job.metrics.throughput]\n# regex = 'samples/s: "
                      "([0-9.]+)'\n# better = \"max\"\n",
                      l->path);
}
